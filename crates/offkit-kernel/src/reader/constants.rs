//! Constants and specialization constants.

use offkit_spirv::dr::{self, Operand};
use offkit_spirv::grammar::{Op, Word};

use super::{Reader, Result, id, result_id, unexpected};
use crate::builtins::truncate;
use crate::ir::{Constant, ConstantId, LARGEST_VALUE, Type, TypeId};

/// Constants may be larger than other values: they are the tables that programs keep.
const LARGEST_CONSTANT: usize = 1 << 22;

/// Most words of all constants. A few words of a module stand for very many, where its constants have parts of zeros.
const MOST_WORDS: usize = 1 << 25;

impl Reader<'_> {
    pub(super) fn push_constant(&mut self, word: Word, constant: Constant) -> Result<ConstantId> {
        let words = self.words_of_constants.checked_add(constant.words.len());
        let words = words.filter(|words| *words <= MOST_WORDS);
        self.words_of_constants =
            words.ok_or_else(|| unsupported!("constants of more than 2^25 components in all"))?;
        let index = ConstantId(self.module.constants.len() as u32);
        self.module.constants.push(constant);
        self.constants.insert(word, index);
        Ok(index)
    }

    pub(super) fn constant_instruction(&mut self, instruction: &dr::Instruction) -> Result<()> {
        let word = result_id(instruction)?;
        let kind = self.result_type(instruction)?;
        let constant = match instruction.opcode {
            Op::Undef | Op::ConstantNull => self.zero(kind),
            // Whoever has values for specialization constants has made ordinary constants of them: what is
            // left has its default.
            Op::ConstantTrue | Op::SpecConstantTrue => self.scalar_constant(kind, 1)?,
            Op::ConstantFalse | Op::SpecConstantFalse => self.scalar_constant(kind, 0)?,
            Op::Constant | Op::SpecConstant => {
                let value = match instruction.operands.as_slice() {
                    [Operand::LiteralBit32(value)] => u64::from(*value),
                    [Operand::LiteralBit64(value)] => *value,
                    _ => return Err(malformed!("constant %{word} has no value")),
                };
                self.scalar_constant(kind, value)?
            }
            Op::ConstantComposite | Op::SpecConstantComposite => {
                let parts =
                    (0..instruction.operands.len()).map(|index| self.constant(id(instruction, index)?));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                self.composite(kind, &parts)?
            }
            Op::ConstantFunctionPointerINTEL => self.function_address(instruction, kind)?,
            Op::SpecConstantOp => self.operation(instruction, kind)?,
            _ => return Err(unsupported!("Op{}", instruction.opcode)),
        };
        self.push_constant(word, constant)?;
        Ok(())
    }

    /// A constant of zeros only; a scalar says so with a word, as others of its type do.
    pub(super) fn zero(&self, kind: TypeId) -> Constant {
        let is_scalar = matches!(self.module.types.get(kind), Type::Scalar(_));
        Constant::plain(kind, if is_scalar { vec![0] } else { Vec::new() })
    }

    fn operation(&self, instruction: &dr::Instruction, kind: TypeId) -> Result<Constant> {
        let Some((Operand::LiteralSpecConstantOpInteger(operation), operands)) =
            instruction.operands.split_first()
        else {
            return Err(malformed!("OpSpecConstantOp without an opcode"));
        };
        // Which words are ids and which are numbers, such as the lanes of a shuffle, depends on the
        // operation: `fold` takes each for what it has to be.
        let operands = operands.iter().enumerate().map(|(index, operand)| match operand {
            Operand::IdRef(word) | Operand::LiteralBit32(word) => Ok(*word),
            other => Err(unexpected(
                instruction,
                index + 1,
                "an id or a literal",
                Some(other),
            )),
        });
        self.fold(*operation, kind, &operands.collect::<Result<Vec<Word>>>()?)
    }

    fn scalar_constant(&self, kind: TypeId, value: u64) -> Result<Constant> {
        let Type::Scalar(scalar) = self.module.types.get(kind) else {
            return Err(malformed!("a scalar constant whose type is not a scalar"));
        };
        Ok(Constant::plain(kind, vec![truncate(*scalar, value)]))
    }

    /// A composite of constants.
    pub(super) fn composite(&self, kind: TypeId, parts: &[ConstantId]) -> Result<Constant> {
        let lanes = self.module.types.layout(kind).lanes;
        let mut constant = Constant::plain(kind, Vec::new());
        let mut end = 0_usize;
        for part in parts {
            let part = &self.module.constants[part.0 as usize];
            let start = end;
            let length = self.module.types.layout(part.kind).lanes;
            let after = usize::try_from(length)
                .ok()
                .and_then(|length| length.checked_add(start));
            let after = after.filter(|end| *end <= LARGEST_CONSTANT);
            end = after.ok_or_else(|| unsupported!("constants of more than 2^22 components"))?;
            // A part of zeros has no words whatever its type. Those are filled in where others come behind them.
            if part.words.is_empty() {
                continue;
            }
            constant.words.resize(start, 0);
            constant.words.extend_from_slice(&part.words);
            constant.relocations.extend(
                part.relocations
                    .iter()
                    .map(|(word, global)| (start as u32 + word, *global)),
            );
        }
        if end as u64 != lanes {
            return Err(malformed!(
                "a composite constant has {end} components, its type {lanes}"
            ));
        }
        if !constant.words.is_empty() {
            constant.words.resize(end, 0);
        }
        Ok(constant)
    }

    /// All words of a constant, for use as a value.
    pub(super) fn constant_words(&self, constant: ConstantId) -> Result<Vec<u64>> {
        let constant = &self.module.constants[constant.0 as usize];
        let lanes = self.module.types.layout(constant.kind).lanes;
        if lanes > LARGEST_VALUE {
            return Err(unsupported!("values of {lanes} components"));
        }
        let mut words = constant.words.clone();
        words.resize(lanes as usize, 0);
        Ok(words)
    }
}
