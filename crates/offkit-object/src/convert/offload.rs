//! Entries into offload binaries.

use offkit_image::{Error, Strings};

use super::{Item, Losses};
use crate::chunks::Chunks;
use crate::offload_binary::{OffloadBinary, OffloadBinaryVersion};

pub(super) fn write<'data>(
    items: Vec<Item<'data>>,
    version: OffloadBinaryVersion,
    losses: &mut Losses,
) -> Result<Chunks<'data>, Error> {
    let mut binary = OffloadBinary::default();
    for Item { location, mut entry } in items {
        if !version.holds_any_value() {
            if entry.is_metadata_only() {
                losses.add(&location, "an entry that has strings but no image");
                continue;
            }
            let mut kept = Strings::new();
            for (key, value) in entry.strings.iter() {
                if value.contains(&0) {
                    losses.add(
                        &location,
                        format!("the string '{}', which has zero bytes", key.escape_debug()),
                    );
                } else {
                    // Not `set`: a repeated key would be lost, and nobody told.
                    kept.push(key.to_owned(), value.to_owned());
                }
            }
            // Else those of the entry stay, which are borrowed from the file.
            if kept.len() < entry.strings.len() {
                entry.strings = kept;
            }
        }
        binary.entries.push(entry);
    }
    if version.holds_any_value() {
        binary.write_chunks(version)
    } else {
        binary.write_v1_sequence_chunks()
    }
}
