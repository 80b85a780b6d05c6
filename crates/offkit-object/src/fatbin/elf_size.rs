//! Where an ELF file ends that is followed by padding.

use crate::elf::Header;
use crate::layout::is_zero;
use crate::source::Source;

/// The size of the ELF file at the start of `bytes`, if all that is behind it is the zeros that make the size a
/// multiple of 8.
pub(super) fn without_padding(bytes: &[u8]) -> Option<usize> {
    let source = Source::new(bytes);
    let header = Header::read(source)?;
    let sections = header.sections(source)?;
    let count = sections.count();
    if count > sections.room() {
        return None;
    }
    let tables = [
        [sections.offset, sections.header_size, count],
        header.segments(source)?,
    ]
    .map(|[offset, size, count]| offset.saturating_add(size.saturating_mul(count)));
    let contents = sections
        .iter()
        .filter(|section| section.is_in_file)
        .map(|section| section.offset.saturating_add(section.size));
    let end = usize::try_from(contents.chain(tables).max()?).ok()?;
    let padding = bytes.get(end..)?;
    (padding.len() < 8 && is_zero(padding)).then_some(end)
}
