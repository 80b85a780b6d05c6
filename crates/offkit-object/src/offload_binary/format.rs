//! Offload binaries among the formats of containers.

use std::borrow::Cow;

use offkit_image::ContainerKind;

use super::check::check;
#[cfg(feature = "write")]
use super::edit::edit;
use super::parts::parts;
use super::read::read_header;
use super::replace::replace;
use super::{MAGIC, inflated};
use crate::chunks::Chunks;
use crate::format::ContainerFormat;
use crate::source::Source;

/// How many bytes the offload binary at the start of `rest` takes, if its header holds together.
pub(crate) fn extent(rest: Source<'_>) -> Option<u64> {
    let header = read_header(rest).ok()?;
    (header.size.get() <= rest.len()).then_some(header.size.get())
}

/// One or several offload binaries, but not a SYCLBIN in one.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::OffloadBinary,
    is: |bytes| bytes.starts_with(&MAGIC),
    parts,
    replace: |source, id, new, limits| replace(source, id, &new.joined(), limits).map(Chunks::from),
    #[cfg(feature = "write")]
    edit,
    // The header is not compressed, and says how the rest is.
    inflate: |stored, _, most| inflated(stored, most).map(Cow::into_owned),
    version: |bytes| Some(u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?)),
    check,
    ..ContainerFormat::USUAL
};
