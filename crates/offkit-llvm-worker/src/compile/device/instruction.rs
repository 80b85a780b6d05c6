//! Instructions of one thread.

use offkit_kernel::builtins::{Scalar, Shape};
use offkit_kernel::ir::{CollectiveKind, GroupScope, Instruction, Operation};
use offkit_spirv::grammar::Scope;

use super::super::builder::Value;
use super::super::kernel::refuse;
use super::kernel::{Emitter, Result};

impl<'m> Emitter<'_, '_, 'm> {
    pub(super) fn instruction(&mut self, instruction: &Instruction) -> Result<()> {
        let words = self.compute(instruction)?;
        let Some(result) = instruction.result else {
            return Ok(());
        };
        let types = self.types_of(self.code.values[result.0 as usize]);
        if words.len() != types.len() {
            return refuse(format!("{:?} gives {} words", instruction.operation, words.len()));
        }
        let words = words.into_iter().zip(types);
        let words = words.map(|(word, ty)| self.coerce(word, ty)).collect();
        self.define(result, words);
        Ok(())
    }

    fn compute(&mut self, instruction: &Instruction) -> Result<Vec<Value<'m>>> {
        match (&instruction.operation, instruction.result) {
            (Operation::Load, Some(result)) => self.load(instruction, result),
            (Operation::Store, _) => self.store(instruction).map(|()| Vec::new()),
            (Operation::Copy, _) => self.copy(instruction).map(|()| Vec::new()),
            (Operation::Address { offset, strides }, _) => self.address(instruction, *offset, strides),
            (Operation::Atomic { operation, scalar }, _) => self.atomic(instruction, *operation, *scalar),
            (Operation::Fence, _) => {
                self.fence(&instruction.attributes);
                Ok(Vec::new())
            }
            (Operation::GenericCast(class), _) => self.generic_cast(instruction, *class),
            (Operation::PointerSemantics, _) => self.pointer_semantics(instruction),
            (Operation::Input(global), _) => self.input(*global),
            (Operation::Print, _) => self.print(instruction),
            // A thread has nobody to tell why it can't go on: the launch fails.
            (Operation::Overflow | Operation::Nowhere | Operation::NoFunction, _) => {
                self.b.intrinsic("llvm.trap", &[], &[]);
                Ok(Vec::new())
            }
            (Operation::Ballot(query), _) => self.ballot(instruction, *query),
            (Operation::Collective(collective), _) => match (collective.kind, collective.scope) {
                (CollectiveKind::Barrier, GroupScope::WorkGroup) => {
                    self.group_barrier(instruction);
                    Ok(Vec::new())
                }
                (CollectiveKind::WaitEvents, _) => Ok(Vec::new()),
                (_, GroupScope::SubGroup) => self.together(instruction, *collective),
                (kind, GroupScope::WorkGroup) => refuse(format!("{kind:?} of a work-group")),
            },
            (Operation::Call(_) | Operation::Memory(_), _) => refuse(format!("{:?}", instruction.operation)),
            (Operation::Extended(_), Some(_)) => self.extended(instruction),
            _ => {
                let words = self.lowered(instruction, instruction.operands.len())?;
                match (words, instruction.result) {
                    (Some(words), _) => Ok(words),
                    (None, None) => Ok(Vec::new()),
                    (None, Some(_)) => refuse(format!("{:?}", instruction.operation)),
                }
            }
        }
    }

    /// What an operation makes of its first operands, where there is code for it.
    fn lowered(&mut self, instruction: &Instruction, operands: usize) -> Result<Option<Vec<Value<'m>>>> {
        let mut given = Vec::new();
        for operand in &instruction.operands[..operands] {
            given.push(self.operand(*operand)?);
        }
        // Not by `lanes`, where a pointer becomes a number: LLVM can't follow where that leads.
        if let (Operation::Reinterpret, [words]) = (&instruction.operation, given.as_slice())
            && self.is_same_word(instruction, words)
        {
            return Ok(Some(words.clone()));
        }
        let given: Vec<&[Value<'m>]> = given.iter().map(Vec::as_slice).collect();
        let (operation, attributes) = (&instruction.operation, &instruction.attributes);
        let shape = self.result_shape(instruction);
        Ok(self.lanes.operation(operation, attributes, &given, shape))
    }

    /// Whether a value is the same under another type: words of the same types, or pointers on one side and numbers of
    /// their size on the other.
    fn is_same_word(&self, instruction: &Instruction, words: &[Value<'m>]) -> bool {
        let Some(result) = instruction.result else {
            return false;
        };
        let to = self.types_of(self.code.values[result.0 as usize]);
        let is_same = |(word, to): (&Value<'m>, _)| {
            let from = word.ty();
            !from.is_float() && !super::super::builder::Type::is_float(to) && from.bits() == to.bits()
        };
        words.len() == to.len() && words.iter().zip(to).all(is_same)
    }

    /// The shape of a result as functions on words know it.
    pub(super) fn result_shape(&self, instruction: &Instruction) -> Shape {
        let kind = instruction
            .result
            .map(|result| self.code.values[result.0 as usize]);
        Shape {
            scalar: kind
                .and_then(|kind| self.module.types.scalar(kind))
                .unwrap_or(Scalar::I64),
            lanes: kind.map_or(0, |kind| self.module.types.lanes(kind)),
        }
    }

    /// A function of OpenCL.std; the second result, where there is one, goes through the last operand.
    fn extended(&mut self, instruction: &Instruction) -> Result<Vec<Value<'m>>> {
        let last = instruction.operands.last().copied();
        let pointer = last.filter(|last| self.class_of(*last).is_some());
        let count = instruction.operands.len() - usize::from(pointer.is_some());
        let Some(mut words) = self.lowered(instruction, count)? else {
            return refuse(format!("{:?}", instruction.operation));
        };
        if let Some(pointer) = pointer {
            let second = words.split_off(self.result_shape(instruction).lanes as usize);
            self.store_second(pointer, &second)?;
        }
        Ok(words)
    }

    fn group_barrier(&self, instruction: &Instruction) {
        let meet = || self.gpu.group_barrier(self.b);
        self.meet(&instruction.attributes, Scope::Workgroup, meet);
    }
}
