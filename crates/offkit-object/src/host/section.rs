//! Which sections hold device code.

use offkit_image::{ContainerKind, Error};

use crate::bundle;
use crate::reading::Reading;
use crate::source::Source;

/// What a section holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionContent {
    /// A container, or several of one kind, one after the other.
    Container(ContainerKind),
    /// One entry of a bundle whose entries are sections, with the entry's ID.
    BundleEntry(String),
}

/// A section with device code.
#[derive(Debug)]
pub(crate) struct Found<'data> {
    /// How the reader of the format finds the section again.
    pub(crate) id: usize,
    /// Empty, or the names of the parts between the file and the section.
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
    pub(crate) content: SectionContent,
    pub(crate) source: Source<'data>,
    /// Whether it is in memory when the program runs.
    pub(crate) is_loaded: bool,
}

/// What sections of bundled objects are called; the entry's ID follows.
pub(super) const BUNDLE_PREFIX: &[u8] = &bundle::MAGIC;

/// Section names are cut here; there are no longer ones with device code.
pub(super) const LONGEST_NAME: usize = 1 << 10;

/// What the name of a section says about its content.
///
/// COFF programs may have only the first 8 bytes of a name; no host has another section that begins like these.
pub(super) fn content_of(name: &[u8]) -> Option<SectionContent> {
    const CONTAINERS: &[(&[u8], ContainerKind)] = &[
        // Also `.llvm.offloading.relocatable`, where `clang-linker-wrapper -r` keeps them.
        (b".llvm.offloading", ContainerKind::OffloadBinary),
        // 8 bytes that are left of `.hip_fatbin` in PE files, and of `.nv_fatbin` and `__nv_relfatbin` below.
        (b".hip_fat", ContainerKind::Bundle),
        (b".nv_fatb", ContainerKind::Fatbin),
        // What Mach-O calls it, in the segment `__NV_CUDA`.
        (b"__nv_fatbin", ContainerKind::Fatbin),
        (b"__nv_rel", ContainerKind::Fatbin),
    ];
    if let Some(id) = name.strip_prefix(BUNDLE_PREFIX) {
        return Some(SectionContent::BundleEntry(
            String::from_utf8_lossy(id).into_owned(),
        ));
    }
    CONTAINERS
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map(|(_, kind)| SectionContent::Container(*kind))
}

impl SectionContent {
    /// Whether the section holds offload binaries.
    pub(crate) fn is_offloading(&self) -> bool {
        *self == Self::Container(ContainerKind::OffloadBinary)
    }
}

/// The content of the section `name`, whose header has the place and size in `fields`. Of a section that was cut
/// off, a tolerant reading takes what is there.
pub(super) fn bytes_of<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    offset: u64,
    size: u64,
    fields: &'static str,
    name: &str,
) -> Result<Source<'data>, Error> {
    let whole = source
        .need(offset, size, "section reaches past the end of the file", fields)
        .map_err(|error| error.within(name));
    Ok(reading.accept(whole)?.unwrap_or_else(|| source.from(offset)))
}

/// The bytes of a table of strings from `offset` up to a zero byte.
pub(super) fn name_at(table: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = table.get(usize::try_from(offset).ok()?..)?;
    let rest = rest.get(..LONGEST_NAME).unwrap_or(rest);
    let length = memchr::memchr(0, rest).unwrap_or(rest.len());
    rest.get(..length)
}
