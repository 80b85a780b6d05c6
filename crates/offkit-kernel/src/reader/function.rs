//! Function bodies: blocks, control flow, and the numbering of values.

use offkit_spirv::dr::{self, Operand as Source};
use offkit_spirv::grammar::{Op, Word};

use super::ids::IdMap;
use super::{Reader, Result, id, ids, literal, result_id};
use crate::builtins::Scalar;
use crate::ir::{
    Attributes, Block, BlockId, Constant, FastMath, FunctionId, Instruction, LARGEST_VALUE, Line, Operand,
    Operation, Order, Phi, Terminator, Type, TypeId, Types, ValueId, Variable,
};

/// A function body being read.
pub(super) struct FunctionReader<'r, 'a> {
    pub(super) reader: &'r mut Reader<'a>,
    ids: IdMap<ValueId>,
    labels: IdMap<BlockId>,
    values: Vec<TypeId>,
    pub(super) variables: Vec<Variable>,
    /// Of the block being read.
    instructions: Vec<Instruction>,
    line: Option<Line>,
    /// What may be assumed of the arithmetic of the instruction being read.
    math: FastMath,
    /// What an atomic function that the instruction being read calls guarantees.
    pub(super) order_of_call: Option<Order>,
}

/// What an instruction does, and with what.
pub(super) type Code = (Operation, Vec<Operand>);

/// Reads the body of a function that has been declared.
pub(super) fn read(reader: &mut Reader<'_>, source: &dr::Function, function: FunctionId) -> Result<()> {
    let index = function.0 as usize;
    let mut body = FunctionReader {
        values: reader.module.functions[index].values.clone(),
        reader,
        ids: IdMap::default(),
        labels: IdMap::default(),
        variables: Vec::new(),
        instructions: Vec::new(),
        line: None,
        math: FastMath::default(),
        order_of_call: None,
    };
    for (index, parameter) in source.parameters.iter().enumerate() {
        body.ids.insert(result_id(parameter)?, ValueId(index as u32));
    }
    body.number(source)?;
    let blocks = source
        .blocks
        .iter()
        .map(|block| body.block(block))
        .collect::<Result<Vec<_>>>()?;
    let (values, variables) = (body.values, body.variables);
    let function = &mut reader.module.functions[index];
    function.values = values;
    function.variables = variables;
    function.blocks = blocks;
    Ok(())
}

impl FunctionReader<'_, '_> {
    /// Gives every result a number before any is used.
    // Phis read values of blocks that come later.
    fn number(&mut self, source: &dr::Function) -> Result<()> {
        for (index, block) in source.blocks.iter().enumerate() {
            let label = block.label.as_ref().and_then(|label| label.result_id);
            let label = label.ok_or_else(|| malformed!("a block without a label"))?;
            self.labels.insert(label, BlockId(index as u32));
            for instruction in &block.instructions {
                if let (Some(result), Some(kind)) = (instruction.result_id, instruction.result_type) {
                    let kind = self.reader.type_id(kind)?;
                    // A call has a result id also where the function returns nothing.
                    if !matches!(self.types().get(kind), Type::Void) {
                        let value = self.new_value(kind)?;
                        self.ids.insert(result, value);
                    }
                }
            }
        }
        Ok(())
    }

    fn new_value(&mut self, kind: TypeId) -> Result<ValueId> {
        let lanes = self.types().layout(kind).lanes;
        if lanes > LARGEST_VALUE {
            return Err(unsupported!("values of {lanes} components"));
        }
        self.values.push(kind);
        Ok(ValueId(self.values.len() as u32 - 1))
    }

    fn block(&mut self, source: &dr::Block) -> Result<Block> {
        let mut phis = Vec::new();
        let (mut merge, mut terminator, mut end_line) = (None, None, None);
        for instruction in &source.instructions {
            match instruction.opcode {
                Op::Line => self.line = self.read_line(instruction),
                Op::NoLine => self.line = None,
                _ if self.reader.is_without_effect(instruction) => {}
                Op::Phi => phis.push(self.phi(instruction)?),
                Op::Variable => self.variable(instruction)?,
                Op::LoopMerge | Op::LoopControlINTEL | Op::SelectionMerge => {
                    merge = Some(self.merge(instruction)?);
                }
                _ => {
                    terminator = self.terminator(instruction)?;
                    end_line = self.line;
                    if terminator.is_none() {
                        self.instruction(instruction)?;
                    }
                }
            }
        }
        let terminator = terminator.ok_or_else(|| malformed!("a block without an end"))?;
        // A line of SPIR-V holds up to the end of its block.
        self.line = None;
        Ok(Block {
            phis,
            instructions: std::mem::take(&mut self.instructions),
            merge,
            terminator,
            line: end_line,
        })
    }

    fn read_line(&self, instruction: &dr::Instruction) -> Option<Line> {
        let file = *self.reader.files.get(&id(instruction, 0).ok()?)?;
        Some(Line {
            file,
            line: literal(instruction, 1).ok()?,
        })
    }

    fn phi(&mut self, instruction: &dr::Instruction) -> Result<Phi> {
        let result = self.value(result_id(instruction)?)?;
        let sources = ids(instruction, 0)?;
        let incoming = sources
            .chunks_exact(2)
            .map(|pair| Ok((self.label(pair[1])?, self.operand(pair[0])?)));
        Ok(Phi {
            result,
            incoming: incoming.collect::<Result<_>>()?,
        })
    }

    pub(super) fn label(&self, word: Word) -> Result<BlockId> {
        let missing = || malformed!("%{word} is not a label of this function");
        self.labels.get(&word).copied().ok_or_else(missing)
    }

    fn terminator(&mut self, instruction: &dr::Instruction) -> Result<Option<Terminator>> {
        Ok(Some(match instruction.opcode {
            Op::Branch => Terminator::Jump(self.label(id(instruction, 0)?)?),
            Op::BranchConditional => Terminator::Branch {
                condition: self.operand_at(instruction, 0)?,
                accept: self.label(id(instruction, 1)?)?,
                reject: self.label(id(instruction, 2)?)?,
                weights: match instruction.operands.get(3..) {
                    Some([Source::LiteralBit32(accept), Source::LiteralBit32(reject)]) => {
                        Some((*accept, *reject))
                    }
                    _ => None,
                },
            },
            Op::Switch => {
                let selector = self.operand_at(instruction, 0)?;
                let default = self.label(id(instruction, 1)?)?;
                let mut cases = Vec::new();
                for pair in instruction.operands.get(2..).unwrap_or_default().chunks(2) {
                    let (value, target) = match pair {
                        [Source::LiteralBit32(value), Source::IdRef(target)] => (u64::from(*value), *target),
                        [Source::LiteralBit64(value), Source::IdRef(target)] => (*value, *target),
                        _ => {
                            return Err(malformed!("a case of OpSwitch without value or target"));
                        }
                    };
                    let scalar = self.types().scalar(self.type_of(selector)).unwrap_or(Scalar::I64);
                    // A narrow literal may be filled up with its sign; words are filled with zeros here.
                    cases.push((crate::builtins::truncate(scalar, value), self.label(target)?));
                }
                Terminator::Switch {
                    selector,
                    cases,
                    default,
                }
            }
            Op::Return => Terminator::Return(None),
            Op::ReturnValue => Terminator::Return(Some(self.operand_at(instruction, 0)?)),
            Op::Unreachable => Terminator::Unreachable,
            _ => return Ok(None),
        }))
    }

    /// The value that an id of this function names.
    pub(super) fn value(&self, word: Word) -> Result<ValueId> {
        let missing = || malformed!("%{word} is not a value of this function");
        self.ids.get(&word).copied().ok_or_else(missing)
    }

    /// What an id names as an operand: a value of the function or a constant.
    pub(super) fn operand(&mut self, word: Word) -> Result<Operand> {
        if let Some(value) = self.ids.get(&word) {
            return Ok(Operand::Value(*value));
        }
        let constant = self.reader.constant(word)?;
        // A larger constant may still be what a variable begins with: it goes to memory, and is no
        // value that anything handles whole.
        let lanes = self
            .types()
            .layout(self.reader.module.constants[constant.0 as usize].kind)
            .lanes;
        if lanes > LARGEST_VALUE {
            return Err(unsupported!("values of {lanes} components"));
        }
        Ok(Operand::Constant(constant))
    }

    pub(super) fn operand_at(&mut self, instruction: &dr::Instruction, index: usize) -> Result<Operand> {
        self.operand(id(instruction, index)?)
    }

    /// The operands that are ids, from an index on.
    pub(super) fn operands_from(
        &mut self,
        instruction: &dr::Instruction,
        from: usize,
    ) -> Result<Vec<Operand>> {
        ids(instruction, from)?
            .into_iter()
            .map(|word| self.operand(word))
            .collect()
    }

    pub(super) fn types(&self) -> &Types {
        &self.reader.module.types
    }

    pub(super) fn type_of(&self, operand: Operand) -> TypeId {
        match operand {
            Operand::Value(value) => self.values[value.0 as usize],
            Operand::Constant(constant) => self.reader.module.constants[constant.0 as usize].kind,
        }
    }

    pub(super) fn scalar_of(&self, operand: Operand) -> Result<Scalar> {
        let scalar = self.types().scalar(self.type_of(operand));
        scalar.ok_or_else(|| malformed!("a scalar or vector operand is a composite"))
    }

    /// A scalar constant that the module itself may not have.
    pub(super) fn new_constant(&mut self, scalar: Scalar, word: u64) -> Result<Operand> {
        let kind = self.reader.scalar_type_or_new(scalar)?;
        let constants = &mut self.reader.module.constants;
        constants.push(Constant::plain(kind, vec![word]));
        Ok(Operand::Constant(crate::ir::ConstantId(
            constants.len() as u32 - 1,
        )))
    }

    /// A value of zeros.
    pub(super) fn zero(&mut self, kind: TypeId) -> Operand {
        let zero = self.reader.zero(kind);
        let constants = &mut self.reader.module.constants;
        constants.push(zero);
        Operand::Constant(crate::ir::ConstantId(constants.len() as u32 - 1))
    }

    /// Adds an instruction whose result has no id in the module.
    pub(super) fn emit(&mut self, kind: TypeId, operation: Operation, operands: Vec<Operand>) -> Operand {
        self.values.push(kind);
        let result = ValueId(self.values.len() as u32 - 1);
        self.instructions.push(Instruction {
            result: Some(result),
            operation,
            operands,
            attributes: Attributes {
                math: self.math,
                ..Attributes::default()
            },
            line: self.line,
        });
        Operand::Value(result)
    }

    /// Adds the instruction that stands in the module, as what `read` makes of it.
    pub(super) fn push(
        &mut self,
        instruction: &dr::Instruction,
        read: impl FnOnce(&mut Self) -> Result<Code>,
    ) -> Result<()> {
        let mut attributes = self.attributes(instruction)?;
        // OpenCL has it computed with fused products or without, whatever the kernel asks for its own arithmetic.
        attributes.math.allow_contract |= instruction.opcode == Op::Dot && !attributes.no_contraction;
        // What `read` emits on the way is part of this instruction, and may assume the same.
        self.math = attributes.math;
        let (operation, operands) = read(self)?;
        self.math = FastMath::default();
        if matches!(operation, Operation::Atomic { .. }) {
            attributes.order = match instruction.opcode {
                Op::FunctionCall => self.order_of_call.take(),
                _ => self.reader.order(instruction, 1),
            };
        }
        let result = instruction
            .result_id
            .and_then(|word| self.ids.get(&word).copied());
        self.instructions.push(Instruction {
            result,
            operation,
            operands,
            attributes,
            line: self.line,
        });
        Ok(())
    }
}
