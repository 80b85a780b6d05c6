//! printf, by CUDA's `vprintf`: it knows neither vectors nor all of OpenCL's lengths, so the format is written anew for values
//! of 64 bits each, and characters.

use llvm_sys::LLVMOpcode as Opcode;
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{self, Instruction, Operand};

use super::super::builder::Value;
use super::super::kernel::refuse;
use super::gpu::Space;
use super::kernel::{Emitter, Result};

/// CUDA's device takes no more for a format.
const MOST_VALUES: usize = 32;

/// A value for a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// A number of 64 bits, or the address of a string.
    Wide,
    /// A character, which C makes 32 bits.
    Character,
    /// The lowest of these bits, with the sign of a signed number or without.
    Bits { count: u32, signed: bool },
}

impl<'m> Emitter<'_, '_, 'm> {
    /// Format, values. The result is that of success.
    pub(super) fn print(&mut self, instruction: &Instruction) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let Some(vprintf) = self.gpu.table().vprintf else {
            return refuse("printf");
        };
        let Some((format, values)) = instruction.operands.split_first() else {
            return refuse("a printf without a format");
        };
        let Some(format) = self.text(*format) else {
            return refuse("a printf whose format isn't known before the launch");
        };
        let mut given = Vec::new();
        for value in values {
            let kind = self.module.operand_type(self.code, *value);
            let scalar = self.module.types.scalar(kind).unwrap_or(Scalar::I64);
            given.push((self.operand(*value)?, scalar));
        }
        let shapes: Vec<_> = given
            .iter()
            .map(|(words, scalar)| (words.len(), *scalar))
            .collect();
        let (mut text, wanted) = rewritten(&format, &shapes);
        if wanted.len() > MOST_VALUES {
            return refuse(format!("a printf of more than {MOST_VALUES} numbers"));
        }
        text.push(0);
        let words: Vec<Value<'m>> = (wanted.iter())
            .map(|(value, component, wanted)| self.printed(given[*value].0[*component], *wanted))
            .collect();
        // Each where C has an argument of its size.
        let mut used = 0u64;
        let places: Vec<u64> = (words.iter())
            .map(|word| {
                let size = u64::from(word.ty().bits() / 8);
                let place = used.next_multiple_of(size);
                used = place + size;
                place
            })
            .collect();
        let room = self.room(used.max(8));
        for (word, place) in words.into_iter().zip(places) {
            b.store(word, b.offset(room, self.word(place)), word.ty().bits() / 8);
        }
        // In global memory: `vprintf` does not look for a format where NVIDIA's constant memory is.
        let space = self.gpu.space(Space::Global);
        let variable = b.variable("printf.format", text.len() as u64, &[], (space, 1));
        b.fill(variable, &text, &[]);
        b.set_constant(variable);
        let ty = b.function_type(b.int(32), &[b.pointer(), b.pointer()]);
        let function = b.declared(vprintf, ty);
        b.call(ty, function, &[b.space_cast(variable, b.pointer()), room]);
        let result = instruction
            .result
            .map(|result| self.code.values[result.0 as usize]);
        let types = result.map(|kind| self.types_of(kind)).unwrap_or_default();
        Ok(types.into_iter().map(|ty| b.zero(ty)).collect())
    }

    /// A word as the device's printf takes it: of 64 bits, but for characters.
    fn printed(&self, word: Value<'m>, wanted: Wanted) -> Value<'m> {
        let b = self.b;
        let (ty, wide) = (word.ty(), b.int(64));
        // As C promotes what is behind a format: there are no arguments of single precision.
        if ty.is_float() {
            let double = b.scalar(Scalar::F64);
            return match ty == double {
                true => word,
                false => b.cast(Opcode::LLVMFPExt, word, double),
            };
        }
        match wanted {
            Wanted::Wide => b.zext_or_trunc(self.coerce(word, wide), wide),
            Wanted::Character => b.zext_or_trunc(self.coerce(word, wide), b.int(32)),
            Wanted::Bits { count, signed } => {
                let word = self.coerce(word, wide);
                let low = b.zext_or_trunc(word, b.int(count.min(word.ty().bits())));
                match signed {
                    true => b.sext_or_trunc(low, wide),
                    false => b.zext_or_trunc(low, wide),
                }
            }
        }
    }

    /// The bytes of constant text up to a zero.
    fn text(&self, pointer: Operand) -> Option<Vec<u8>> {
        let Operand::Constant(id) = pointer else {
            return None;
        };
        let constant = &self.module.constants[id.0 as usize];
        let [(0, global)] = constant.relocations[..] else {
            return None;
        };
        let global = &self.module.globals[global.0 as usize];
        let content = &self.module.constants[global.initializer?.0 as usize];
        let is_text = |leaf: &ir::Leaf| leaf.scalar == Scalar::I8;
        // None of a type that is too large: zeros may be of one that fits into no memory.
        let leaves = self.module.types.leaves(global.kind);
        if global.home != ir::Home::Constant || leaves.is_empty() || !leaves.iter().all(is_text) {
            return None;
        }
        let start = usize::try_from(constant.words.first().copied().unwrap_or(0)).ok()?;
        let byte = |index: usize| content.words.get(index).copied().unwrap_or(0) as u8;
        let bytes = (start..leaves.len()).map(byte);
        Some(bytes.take_while(|byte| *byte != 0).collect())
    }
}

/// A format for values of 64 bits and characters, and which these are: a value's number, its component, and what is wanted of it. Of the
/// values there are known how many components they have, and of what kind.
fn rewritten(format: &[u8], values: &[(usize, Scalar)]) -> (Vec<u8>, Vec<(usize, usize, Wanted)>) {
    let (mut text, mut wanted) = (Vec::new(), Vec::new());
    let mut values = values.iter().enumerate();
    let mut rest = format;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            text.push(*byte);
            continue;
        }
        // Flags, width and precision stay as they are.
        let is_before = |byte: &&u8| b"-+ #0123456789.".contains(byte);
        let before = &rest[..rest.iter().take_while(is_before).count()];
        rest = &rest[before.len()..];
        if let Some(after) = rest.strip_prefix(b"v") {
            // The number of components is that of the value.
            let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest = &after[digits..];
        }
        // Longer ones before those that they begin with. `hl`, 32 bits, is OpenCL's own, for vectors.
        let lengths = [(&b"hh"[..], 8), (b"hl", 32), (b"h", 16), (b"ll", 64), (b"l", 64)];
        let length = lengths.iter().find(|(name, _)| rest.starts_with(name));
        let bits = length.map_or(64, |(_, bits)| *bits);
        rest = &rest[length.map_or(0, |(name, _)| name.len())..];
        let Some((conversion, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        if *conversion == b'%' {
            text.extend(b"%%");
            continue;
        }
        // Without a value for it nothing more is printed, as on the CPU.
        let Some((number, (count, scalar))) = values.next() else {
            break;
        };
        for component in 0..*count {
            if component > 0 {
                text.push(b',');
            }
            text.push(b'%');
            text.extend(before);
            let count = u32::min(bits, scalar.bits());
            let (length, how) = match *conversion {
                b'd' | b'i' => (&b"ll"[..], Wanted::Bits { count, signed: true }),
                b'c' => (&b""[..], Wanted::Character),
                b'o' | b'u' | b'x' | b'X' => (&b"ll"[..], Wanted::Bits { count, signed: false }),
                _ => (&b""[..], Wanted::Wide),
            };
            text.extend(length);
            text.push(*conversion);
            wanted.push((number, component, how));
        }
    }
    (text, wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: &str, values: &[(usize, Scalar)]) -> (String, Vec<(usize, usize, Wanted)>) {
        let (text, wanted) = rewritten(format.as_bytes(), values);
        (String::from_utf8(text).unwrap(), wanted)
    }

    #[test]
    fn vectors_become_their_components() {
        let (text, wanted) = text("a %5.2v4hlf 100%%\n", &[(4, Scalar::F32)]);
        assert_eq!(text, "a %5.2f,%5.2f,%5.2f,%5.2f 100%%\n");
        assert_eq!(wanted.len(), 4);
        assert_eq!(wanted[2], (0, 2, Wanted::Wide));
    }

    #[test]
    fn integers_keep_the_bits_that_their_length_tells() {
        let (text, wanted) = text(
            "%hhd %#lx %s",
            &[(1, Scalar::I32), (1, Scalar::I64), (1, Scalar::I64)],
        );
        assert_eq!(text, "%lld %#llx %s");
        let signed = Wanted::Bits {
            count: 8,
            signed: true,
        };
        let unsigned = Wanted::Bits {
            count: 64,
            signed: false,
        };
        assert_eq!(wanted, [(0, 0, signed), (1, 0, unsigned), (2, 0, Wanted::Wide)]);
    }

    #[test]
    fn what_has_no_value_ends_the_text() {
        assert_eq!(text("%d and %d", &[(1, Scalar::I32)]).0, "%lld and ");
        assert_eq!(text("%", &[]).0, "");
    }
}
