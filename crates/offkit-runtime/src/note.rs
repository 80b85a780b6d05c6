//! What a plugin's file says about it before it is loaded: see [`offkit_pi::note`].

use offkit_host::files;
use offkit_object::elf_note;
use offkit_pi::note::{KIND, OWNER};

use crate::search::Place;

/// The versions that a plugin says it speaks; none where it does not say, or its file cannot be read.
pub(crate) fn versions(place: &Place) -> Option<String> {
    let Place::File(path) = place else {
        return None;
    };
    let file = files::open_regular(path).ok()?;
    let text = String::from_utf8_lossy(elf_note(&file, OWNER, KIND)?);
    Some(text.trim_end_matches('\0').to_owned())
}
