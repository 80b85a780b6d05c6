//! Where an ELF file ends that is followed by padding.

use crate::elf;
use crate::layout::is_zero;
use crate::source::Source;

/// The size of the ELF file at the start of `bytes`, if all that is behind it is the zeros that make the size a
/// multiple of 8.
pub(super) fn without_padding(bytes: &[u8]) -> Option<usize> {
    let end = usize::try_from(elf::extent(Source::new(bytes))?).ok()?;
    let padding = bytes.get(end..)?;
    // More is no padding to a multiple of 8, and may be something that no header names.
    (padding.len() < 8 && is_zero(padding)).then_some(end)
}
