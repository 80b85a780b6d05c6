//! Instructions of OpenCL.std.

use offkit_spirv::dr::{self, Operand as Source};
use offkit_spirv::grammar::{FPRoundingMode, Op, OpenclStd100Op as Extended};

use super::function::{Code, FunctionReader};
use super::{Result, id};
use crate::builtins::{self, Shape};
use crate::ir::{MemoryFunction, Operand, Operation, TypeId};

/// Whether an instruction only tells what will be needed soon.
pub(super) fn is_prefetch(instruction: &dr::Instruction) -> bool {
    let number = Source::LiteralExtInstInteger(Extended::prefetch.0);
    instruction.opcode == Op::ExtInst && instruction.operands.get(1) == Some(&number)
}

/// A mode of rounding that is executed.
pub(super) fn rounding_mode(mode: FPRoundingMode) -> Result<FPRoundingMode> {
    // The parser lets numbers through that have no name, and whoever rounds would take one for
    // `RTE`.
    match mode.name() {
        Some(_) => Ok(mode),
        None => Err(unsupported!("rounding mode {mode}")),
    }
}

impl FunctionReader<'_, '_> {
    pub(super) fn extended(&mut self, instruction: &dr::Instruction) -> Result<Code> {
        let set = id(instruction, 0)?;
        if self.reader.open_cl != Some(set) {
            return Err(malformed!("%{set} is not an extended instruction set"));
        }
        let Some(Source::LiteralExtInstInteger(number)) = instruction.operands.get(1) else {
            return Err(malformed!("OpExtInst without an instruction number"));
        };
        let op = Extended(*number);
        if op.name().is_none() {
            return Err(unsupported!("OpenCL.std instruction {number}"));
        }
        let (last, rounding) = match (op, instruction.operands.last()) {
            // The number of components, which the type of the result tells.
            (Extended::vloadn | Extended::vload_halfn | Extended::vloada_halfn, _) => (1, None),
            (
                Extended::vstore_half_r | Extended::vstore_halfn_r | Extended::vstorea_halfn_r,
                Some(Source::FPRoundingMode(mode)),
            ) => (1, Some(rounding_mode(*mode)?)),
            _ => (0, None),
        };
        let count = instruction.operands.len().saturating_sub(last);
        let words = (2..count).map(|index| id(instruction, index));
        let words = words.collect::<Result<Vec<_>>>()?;
        let operands = words
            .into_iter()
            .map(|word| self.operand(word))
            .collect::<Result<Vec<_>>>()?;
        let memory = |function| Ok((Operation::Memory(function), operands.clone()));
        // The default of OpenCL C, which the names without a mode mean.
        let nearest = FPRoundingMode::RTE;
        match op {
            Extended::printf => Ok((Operation::Print, operands)),
            Extended::vloadn => memory(MemoryFunction::LoadVector),
            Extended::vload_half | Extended::vload_halfn => {
                memory(MemoryFunction::LoadHalf { aligned: false })
            }
            Extended::vloada_halfn => memory(MemoryFunction::LoadHalf { aligned: true }),
            Extended::vstoren => memory(MemoryFunction::StoreVector),
            Extended::vstore_half | Extended::vstore_halfn => memory(MemoryFunction::StoreHalf {
                aligned: false,
                rounding: nearest,
            }),
            Extended::vstorea_halfn => memory(MemoryFunction::StoreHalf {
                aligned: true,
                rounding: nearest,
            }),
            Extended::vstore_half_r | Extended::vstore_halfn_r | Extended::vstorea_halfn_r => {
                let aligned = op == Extended::vstorea_halfn_r;
                let missing = || malformed!("OpenCL.std {op:?} without a rounding mode");
                memory(MemoryFunction::StoreHalf {
                    aligned,
                    rounding: rounding.ok_or_else(missing)?,
                })
            }
            _ => self.pure(op, instruction, operands),
        }
    }

    /// An instruction that computes, perhaps with a second result through its last operand.
    fn pure(&mut self, op: Extended, instruction: &dr::Instruction, operands: Vec<Operand>) -> Result<Code> {
        let last = operands.last().map(|operand| self.type_of(*operand));
        // `fract`, `frexp` and their like store the second result themselves: their pointer is no
        // value that a function is chosen by.
        let has_out = last.is_some_and(|kind| self.types().is_pointer(kind));
        let values = &operands[..operands.len() - usize::from(has_out)];
        let unsupported = || unsupported!("OpenCL.std {op:?} on these types");
        let shape = |kind: TypeId| {
            let types = &self.reader.module.types;
            let scalar = types.scalar(kind).ok_or_else(unsupported)?;
            Ok(Shape {
                scalar,
                lanes: types.lanes(kind),
            })
        };
        let shapes = values
            .iter()
            .map(|operand| shape(self.type_of(*operand)))
            .collect::<Result<Vec<_>>>()?;
        let result = shape(self.reader.result_type(instruction)?)?;
        builtins::resolve(op, result, &shapes).ok_or_else(unsupported)?;
        Ok((Operation::Extended(op), operands))
    }
}
