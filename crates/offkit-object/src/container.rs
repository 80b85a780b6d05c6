//! Telling containers apart, and the code for each.

use offkit_image::{ContainerKind, Error, ImageFormat, Limits};

use crate::part::{Content, Visit};
use crate::reading::Reading;
use crate::source::Source;
use crate::{archive, bundle, fatbin, host, offload_binary, sycl_wrapped, syclbin, zip};

/// What a part is that has these bytes; `None` for an image and for what is not known.
pub(crate) fn kind_of(content: Content, bytes: &[u8]) -> Option<ContainerKind> {
    match content {
        Content::Image => None,
        Content::Container(kind) => Some(kind),
        Content::Entry => of_entry(bytes),
        Content::File => of_entry(bytes).or_else(|| of_host(bytes)),
    }
}

fn of_entry(bytes: &[u8]) -> Option<ContainerKind> {
    if syclbin::has_magic(bytes) {
        Some(ContainerKind::SyclBin)
    } else if bytes.starts_with(&offload_binary::MAGIC) {
        Some(match offload_binary::is_syclbin(bytes) {
            true => ContainerKind::SyclBin,
            false => ContainerKind::OffloadBinary,
        })
    } else if bundle::has_magic(bytes) {
        Some(ContainerKind::Bundle)
    } else if fatbin::has_magic(bytes) {
        Some(ContainerKind::Fatbin)
    } else {
        None
    }
}

fn of_host(bytes: &[u8]) -> Option<ContainerKind> {
    if archive::has_magic(bytes) {
        Some(ContainerKind::Archive)
    } else if zip::has_magic(bytes) {
        Some(ContainerKind::Zip)
    } else if host::is_host(bytes) {
        Some(ContainerKind::Host)
    } else if bundle::is_text(bytes) {
        Some(ContainerKind::TextBundle)
    } else {
        None
    }
}

/// Hands over the parts of a container of this kind.
pub(crate) fn parts<'data>(
    kind: ContainerKind,
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    match kind {
        ContainerKind::OffloadBinary => offload_binary::parts(source, reading, visit),
        ContainerKind::SyclBin => syclbin::parts(source, reading, visit),
        ContainerKind::Bundle => bundle::parts(source, reading, visit),
        ContainerKind::SingleBundle => bundle::single_parts(source, reading, visit),
        ContainerKind::TextBundle => bundle::text_parts(source, reading, visit),
        ContainerKind::Fatbin => fatbin::parts(source, reading, visit),
        ContainerKind::SyclWrapped => sycl_wrapped::parts(source, reading, visit),
        ContainerKind::Host => host::parts(source, reading, visit),
        ContainerKind::Archive => archive::parts(source, reading, visit),
        ContainerKind::Zip => zip::parts(source, reading, visit),
        _ => Ok(()),
    }
}

/// A container of this kind with another part `id`. For a compressed part, `new` is not compressed.
pub(crate) fn replace(
    kind: ContainerKind,
    source: Source<'_>,
    id: usize,
    new: &[u8],
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    match kind {
        ContainerKind::OffloadBinary => offload_binary::replace(source, id, new, limits),
        ContainerKind::SyclBin => syclbin::replace(source, id, new, limits),
        ContainerKind::Bundle => bundle::replace(source, id, new, limits),
        ContainerKind::SingleBundle => bundle::replace_single(source, id, new, limits),
        ContainerKind::TextBundle => bundle::replace_text(source, id, new, limits),
        ContainerKind::Fatbin => fatbin::replace(source, id, new, limits),
        ContainerKind::SyclWrapped => sycl_wrapped::replace(source, id, new, limits),
        ContainerKind::Host => host::replace(source, id, new, limits),
        ContainerKind::Archive => archive::replace(source, id, new, limits),
        ContainerKind::Zip => zip::replace(source, id, new, limits),
        _ => Err(Error::unrepresentable("not a container")),
    }
}

/// The version in the header of a container of this kind.
pub(crate) fn version_of(kind: ContainerKind, bytes: &[u8]) -> Option<u32> {
    match kind {
        ContainerKind::OffloadBinary => bytes
            .get(4..8)
            .and_then(|field| field.try_into().ok())
            .map(u32::from_le_bytes),
        _ => None,
    }
}

/// Whether the beginning of a file may be that of a container or of a device image, so that it is worth to
/// look at all of it.
#[must_use]
pub fn looks_like_device_code(head: &[u8]) -> bool {
    kind_of(Content::File, head).is_some() || ImageFormat::detect(head) != ImageFormat::Unknown
}
