//! Offload binaries without some of their entries.

use offkit_image::{Error, Limits};

use super::sequence::{Binary, Sequence};
use super::{OffloadBinary, OffloadBinaryVersion, write};
use crate::edits::{Change, Edited, Edits, Room};
use crate::layout::pad_to_8;
use crate::reading::Reading;
use crate::source::Source;

/// The binaries without the entries that go, counted as [`parts`](super::parts()) counts. A binary whose last entry
/// goes, goes too.
pub(super) fn edit<'data>(
    source: Source<'data>,
    edits: &Edits<'_, 'data>,
    limits: &Limits,
) -> Result<Edited<'data>, Error> {
    let mut reading = Reading::strict(limits).for_file_of(source.len());
    let mut sequence = Sequence::new(source);
    let mut out = Vec::new();
    let mut number = 0_usize;
    let mut current = sequence.next(&mut reading)?;
    let mut is_first = true;
    while let Some(binary) = current {
        // One ahead, as parts are counted: whether a binary is alone decides if it is one part.
        let next = sequence.next(&mut reading)?;
        let is_alone = is_first && next.is_none();
        is_first = false;
        // LLVM's readers refuse a binary that is not at a multiple of 8, and the one before may
        // have been copied without the zeros that followed it.
        pad_to_8(&mut out);
        match &binary {
            Binary::Compressed(old) => {
                match edits.parts.get(&number) {
                    Some(Change::Remove) => {}
                    Some(Change::Replace(new)) => {
                        let new = write::compress(&new.bytes.slices(), old.compression)?;
                        out.extend_from_slice(&new.into_bytes());
                    }
                    None => out.extend_from_slice(old.whole.bytes()),
                }
                number = number.saturating_add(1);
            }
            Binary::Plain(outline) if outline.is_syclbin() && (is_alone || outline.version >= 2) => {
                match edits.parts.get(&number) {
                    Some(Change::Remove) => {}
                    Some(Change::Replace(new)) => out.extend_from_slice(&new.bytes.joined()),
                    None => out.extend_from_slice(outline.source.bytes()),
                }
                number = number.saturating_add(1);
            }
            Binary::Plain(outline) => {
                let found = outline.decode(&mut reading)?;
                let count = found.binary.entries.len();
                let ids = number..number.saturating_add(count);
                number = ids.end;
                if !ids.clone().any(|id| edits.parts.contains_key(&id)) {
                    out.extend_from_slice(outline.source.bytes());
                } else {
                    let version = version_of(outline.version)?;
                    let mut entries = Vec::new();
                    for (id, mut entry) in ids.zip(found.binary.entries) {
                        match edits.parts.get(&id) {
                            Some(Change::Remove) => continue,
                            Some(Change::Replace(new)) => entry.image = new.bytes.joined().into(),
                            None => {}
                        }
                        entries.push(entry);
                    }
                    if !entries.is_empty() {
                        out.extend_from_slice(&OffloadBinary { entries }.write(version)?);
                    }
                }
            }
        }
        current = next;
    }
    if edits.room == Room::Fixed {
        let size = usize::try_from(source.len()).unwrap_or_default();
        if out.len() > size {
            return Err(
                Error::unrepresentable("the offload binary does not become smaller").at(source.at(0)),
            );
        }
        out.resize(size, 0);
    }
    Ok(Edited::whole(out))
}

fn version_of(number: u32) -> Result<OffloadBinaryVersion, Error> {
    match number {
        1 => Ok(OffloadBinaryVersion::V1),
        2 => Ok(OffloadBinaryVersion::V2),
        3 => Ok(OffloadBinaryVersion::V3(None)),
        other => Err(Error::unsupported("offload binary has an unknown version").finding(other)),
    }
}
