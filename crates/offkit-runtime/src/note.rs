//! What a plugin's file says about it before it is loaded: see [`offkit_pi::note`] and [`offkit_pi::below`].

use offkit_host::files;
use offkit_object::elf_note;
use offkit_pi::below;
use offkit_pi::note::{self, OWNER};

use crate::search::Place;

/// The versions that a plugin says it speaks; none where it does not say, or its file cannot be read.
pub(crate) fn versions(place: &Place) -> Option<String> {
    let text = content(place, note::KIND)?;
    Some(String::from_utf8_lossy(&text).trim_end_matches('\0').to_owned())
}

/// What is below a plugin, as it says; none where it does not say.
pub(crate) fn below(place: &Place) -> Option<below::Kind> {
    below::Kind::of(&content(place, below::KIND)?)
}

fn content(place: &Place, kind: u32) -> Option<Vec<u8>> {
    let Place::File(path) = place else {
        return None;
    };
    // A configuration may name anything: a pipe or a device would be read for ever.
    let file = files::open_regular(path).ok()?;
    elf_note(&file, OWNER, kind).map(<[u8]>::to_vec)
}
