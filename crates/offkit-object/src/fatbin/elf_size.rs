//! Where an ELF file ends that is followed by padding.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use crate::source::Source;

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Header {
    ident: [u8; 16],
    start: [u8; 24],
    segments_offset: U64,
    sections_offset: U64,
    flags: U32,
    header_size: U16,
    segment_size: U16,
    segment_count: U16,
    section_size: U16,
    section_count: U16,
    names: U16,
}

#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Section {
    name: U32,
    kind: U32,
    flags: U64,
    address: U64,
    offset: U64,
    size: U64,
    rest: [u8; 24],
}

const NO_BITS: u32 = 8;

/// The size of the 64-bit ELF file at the start of `bytes`, if all that is behind it is the zeros that make the
/// size a multiple of 8.
pub(super) fn without_padding(bytes: &[u8]) -> Option<usize> {
    let source = Source::new(bytes);
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let header = source.record::<Header>(0)?;
    let table_end = |offset: &U64, size: &U16, count: &U16| {
        let size = u64::from(size.get()).saturating_mul(count.get().into());
        offset.get().saturating_add(size)
    };
    let segments = table_end(
        &header.segments_offset,
        &header.segment_size,
        &header.segment_count,
    );
    let sections = table_end(
        &header.sections_offset,
        &header.section_size,
        &header.section_count,
    );
    let records =
        source.records::<Section>(header.sections_offset.get(), header.section_count.get().into())?;
    let contents = records
        .iter()
        .filter(|section| section.kind.get() != NO_BITS)
        .map(|section| section.offset.get().saturating_add(section.size.get()));
    let end = contents.chain([segments, sections]).max()?;
    let end = usize::try_from(end).ok()?;
    let padding = bytes.get(end..)?;
    (padding.len() < 8 && padding.iter().all(|byte| *byte == 0)).then_some(end)
}
