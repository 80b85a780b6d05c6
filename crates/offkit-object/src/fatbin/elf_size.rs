//! Where an ELF file ends that is followed by padding.

use crate::elf;
use crate::layout::is_zero;
use crate::source::Source;

/// The size of the 64-bit ELF file at the start of `bytes`, if all that is behind it is the zeros that make the
/// size a multiple of 8.
pub(super) fn without_padding(bytes: &[u8]) -> Option<usize> {
    let source = Source::new(bytes);
    let header = source
        .record::<elf::Header>(0)
        .filter(|header| header.ident.starts_with(&elf::IDENT))?;
    let sections_offset = header.sections_offset.get();
    let section_count = u64::from(header.section_count.get());
    let sections = source.records::<elf::Section>(sections_offset, section_count)?;
    let tables = [
        (sections_offset, header.section_size, header.section_count),
        (
            header.segments_offset.get(),
            header.segment_size,
            header.segment_count,
        ),
    ]
    .map(|(offset, size, count)| {
        let size = u64::from(size.get()).saturating_mul(count.get().into());
        offset.saturating_add(size)
    });
    let contents = sections
        .iter()
        .filter(|section| section.section_type != elf::SECTION_NO_BITS)
        .map(|section| section.offset.get().saturating_add(section.size.get()));
    let end = usize::try_from(contents.chain(tables).max()?).ok()?;
    let padding = bytes.get(end..)?;
    (padding.len() < 8 && is_zero(padding)).then_some(end)
}
