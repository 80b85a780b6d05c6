//! The entry points of a SPIR-V module, without reading more of it than what comes before them.

use std::collections::HashSet;

const MAGIC: u32 = 0x0723_0203;
const HEADER_WORDS: usize = 5;

const OP_ENTRY_POINT: u16 = 15;
/// What a module may have before its entry points: no operation, source extension, extension, import of
/// extended instructions, memory model, capability.
const BEFORE: [u16; 6] = [0, 4, 10, 11, 14, 17];

/// The names of all entry points, and how many bytes were looked at; no names when this is no whole
/// little-endian module up to there.
pub(super) fn entry_points(module: &[u8]) -> (Option<HashSet<&[u8]>>, u64) {
    let (words, _) = module.as_chunks::<4>();
    let mut position = HEADER_WORDS;
    let names = read(words, &mut position);
    (names, position.saturating_mul(4) as u64)
}

fn read<'data>(words: &'data [[u8; 4]], position: &mut usize) -> Option<HashSet<&'data [u8]>> {
    if u32::from_le_bytes(*words.first()?) != MAGIC {
        return None;
    }
    let mut names = HashSet::new();
    while let Some([opcode @ .., length_low, length_high]) = words.get(*position) {
        let opcode = u16::from_le_bytes(*opcode);
        let length = u16::from_le_bytes([*length_low, *length_high]);
        let instruction = words.get(*position..position.checked_add(length.into())?)?;
        if opcode == OP_ENTRY_POINT {
            // Execution model and ID come before the name.
            let operands = instruction.get(3..)?.as_flattened();
            let end = memchr::memchr(0, operands)?;
            names.insert(operands.get(..end)?);
        } else if !BEFORE.contains(&opcode) {
            // The order of a module's parts is fixed: behind the first other instruction there are
            // no entry points any more.
            break;
        }
        // It would be read again for ever.
        if length == 0 {
            return None;
        }
        *position = position.checked_add(length.into())?;
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(instructions: &[&[u32]]) -> Vec<u8> {
        let mut words = vec![MAGIC, 0x1_0100, 0, 10, 0];
        for instruction in instructions {
            let opcode = instruction[0] | (instruction.len() as u32) << 16;
            words.push(opcode);
            words.extend(&instruction[1..]);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    const A_NUL: u32 = u32::from_le_bytes(*b"a\0\0\0");

    #[test]
    fn names_up_to_the_first_other_instruction() {
        let memory_model = [14, 2, 2];
        let entry = [15, 6, 1, A_NUL, 7];
        let long = [15, 6, 2, u32::from_le_bytes(*b"long"), 0];
        let bytes = module(&[&[17, 4], &memory_model, &entry, &long, &[5, 1, 0], &entry]);
        let (names, looked_at) = entry_points(&bytes);
        assert_eq!(names.unwrap(), HashSet::from([b"a".as_slice(), b"long"]));
        assert_eq!(looked_at, (5 + 2 + 3 + 5 + 5) * 4);
    }

    #[test]
    fn other_bytes_have_none() {
        fn names(bytes: &[u8]) -> Option<HashSet<&[u8]>> {
            entry_points(bytes).0
        }
        assert_eq!(names(b"\x7fELF and more"), None);
        assert_eq!(names(&module(&[&[15, 6, 1, u32::MAX]])), None);
        let mut cut = module(&[&[15, 6, 1, A_NUL]]);
        cut.truncate(cut.len() - 4);
        assert_eq!(names(&cut), None);
        assert_eq!(names(&[module(&[]), vec![0; 4]].concat()), None);
        assert_eq!(names(&module(&[])), Some(HashSet::new()));
    }
}
