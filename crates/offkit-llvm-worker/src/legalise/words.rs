//! SPIR-V as words: what repairs of it look at.

/// How many words come before the first instruction, and which of them is the number of ids.
pub(super) const HEADER_WORDS: usize = 5;
pub(super) const BOUND: usize = 3;

// The opcodes that matter, as SPIR-V numbers them.
pub(super) const UNDEF: u32 = 1;
pub(super) const NAME: u32 = 5;
pub(super) const MEMORY_MODEL: u32 = 14;
pub(super) const ENTRY_POINT: u32 = 15;
pub(super) const TYPE_INT: u32 = 21;
pub(super) const TYPE_FLOAT: u32 = 22;
pub(super) const TYPE_VECTOR: u32 = 23;
pub(super) const TYPE_ARRAY: u32 = 28;
pub(super) const TYPE_STRUCT: u32 = 30;
pub(super) const TYPE_POINTER: u32 = 32;
pub(super) const CONSTANT: u32 = 43;
pub(super) const CONSTANT_COMPOSITE: u32 = 44;
pub(super) const CONSTANT_NULL: u32 = 46;
pub(super) const SPEC_CONSTANT_COMPOSITE: u32 = 51;
pub(super) const SPEC_CONSTANT_OP: u32 = 52;
pub(super) const FUNCTION: u32 = 54;
pub(super) const VARIABLE: u32 = 59;
pub(super) const IN_BOUNDS_PTR_ACCESS_CHAIN: u32 = 70;
pub(super) const DECORATE: u32 = 71;
pub(super) const BITCAST: u32 = 124;

/// The opcodes and words of the instructions before the first function, as far as they are whole.
pub(super) fn globals(words: &[u32]) -> impl Iterator<Item = (u32, &[u32])> {
    let mut rest = words.get(HEADER_WORDS..).unwrap_or_default();
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let (opcode, length) = (first & 0xffff, (first >> 16) as usize);
        // A length of zero is damage, and would be gone round for ever.
        let (instruction, after) = rest.split_at_checked(length.max(1))?;
        rest = after;
        (opcode != FUNCTION).then_some((opcode, instruction))
    })
}

/// A text that takes these words.
pub(super) fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The variables that an entry point names, behind the rest of it.
pub(super) fn entry_point(instruction: &[u32]) -> Option<(&[u32], &[u32])> {
    let name = instruction.get(3..)?;
    let has_end = |word: &u32| word.to_le_bytes().contains(&0);
    let end = name.iter().position(has_end)?;
    instruction.split_at_checked(end + 4)
}

/// An instruction, for tests.
#[cfg(test)]
pub(super) fn op(opcode: u32, words: &[u32]) -> Vec<u32> {
    let mut all = vec![(words.len() as u32 + 1) << 16 | opcode];
    all.extend(words);
    all
}
