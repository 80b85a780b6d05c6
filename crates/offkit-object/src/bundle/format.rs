//! Bundles among the formats of containers.

use offkit_image::{ContainerKind, Limits};

use super::binary;
use super::check::check;
use super::compressed::CompressedHeader;
#[cfg(feature = "write")]
use super::edit::{edit, edit_single};
use super::parts::{has_magic, parts, single_parts, text_parts};
use super::replace::{replace, replace_single, replace_text};
use super::{COMPRESSED_MAGIC, is_text};
use crate::chunks::Chunks;
use crate::format::{ContainerFormat, Standing};
use crate::reading::Reading;
use crate::source::Source;

/// How many bytes the bundle at the start of `rest` takes, if its header holds together. A compressed one of version 1
/// does not say it.
pub(crate) fn extent(rest: Source<'_>) -> Option<u64> {
    if rest.bytes().starts_with(&COMPRESSED_MAGIC) {
        let size = CompressedHeader::read(rest).ok()?.file_size?;
        return (size <= rest.len()).then_some(size);
    }
    let entries = binary::read(rest, &mut Reading::strict(&Limits::default())).ok()?;
    let ends = entries.iter().map(binary::Entry::end);
    // The search through any bytes asks this: real IDs have a kind and a target, and so a dash.
    ends.max()
        .filter(|_| entries.iter().all(|entry| entry.id.contains('-')))
}

/// Bundles one after the other, compressed or not.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Bundle,
    is: has_magic,
    parts,
    replace: |source, id, new, limits| replace(source, id, &new.joined(), limits).map(Chunks::from),
    #[cfg(feature = "write")]
    edit,
    check,
    ..ContainerFormat::USUAL
};

/// One of these, decompressed.
pub(crate) static SINGLE_FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::SingleBundle,
    standing: Standing::Named,
    is: has_magic,
    parts: single_parts,
    replace: |source, id, new, limits| replace_single(source, id, &new.joined(), limits).map(Chunks::from),
    #[cfg(feature = "write")]
    edit: edit_single,
    ..ContainerFormat::USUAL
};

/// A bundle in text form.
pub(crate) static TEXT_FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::TextBundle,
    standing: Standing::File,
    is: is_text,
    parts: text_parts,
    replace: |source, id, new, limits| replace_text(source, id, &new.joined(), limits).map(Chunks::from),
    ..ContainerFormat::USUAL
};
