//! Instructions: scalar code where all work-items of a vector get the same, vector code elsewhere.

use offkit_compile::Shape;
use offkit_kernel::builtins::{self, Scalar};
use offkit_kernel::ir::{BallotQuery, CollectiveKind, GroupScope, Instruction, Operand, Operation, ValueId};

use super::builder::Value;
use super::kernel::{Emitter, Result, refuse};
use super::values::alignment_of;

impl<'m> Emitter<'_, 'm> {
    /// Emits an instruction for the work-items of a mask, all of them without one. The result outlives the block for
    /// those who take part in it no more.
    pub(super) fn instruction(
        &mut self,
        instruction: &Instruction,
        mask: Option<Value<'m>>,
        outlives: bool,
    ) -> Result<()> {
        self.come_from(instruction.line);
        let words = self.compute(instruction, mask)?;
        let Some(result) = instruction.result else {
            return Ok(());
        };
        let types = self.types_of(result);
        // Words and types are gone through side by side: a word too few would leave a slot unset.
        if words.len() != types.len() {
            return refuse(format!("{:?} gives {} words", instruction.operation, words.len()));
        }
        let b = self.b;
        let shapes: Vec<Shape> = self.plan.shapes.of(result).collect();
        // Every word in the form of its shape.
        let words: Vec<Value<'m>> = words
            .into_iter()
            .zip(types.iter().zip(shapes))
            .map(|(word, (ty, shape))| {
                let word = match (shape, word.ty().width()) {
                    (Shape::Varying, None) => b.broadcast(word, self.width),
                    (Shape::Uniform | Shape::Strided(_), Some(_)) => b.extract(word, 0),
                    _ => word,
                };
                self.coerce(word, *ty)
            })
            .collect();
        if self.is_shared(result) {
            let slots = self.slots_of(result);
            for (slot, word) in slots.into_iter().zip(&words) {
                let align = alignment_of(word.ty());
                let word = match mask {
                    Some(mask) if outlives && word.ty().width().is_some() => {
                        b.select(mask, *word, b.load(word.ty(), slot, align))
                    }
                    _ => *word,
                };
                b.store(word, slot, align);
            }
        }
        self.words.insert(result, words);
        Ok(())
    }

    /// The words of an instruction's result, scalars or vectors.
    fn compute(&mut self, instruction: &Instruction, mask: Option<Value<'m>>) -> Result<Vec<Value<'m>>> {
        let operands = &instruction.operands;
        match &instruction.operation {
            Operation::Extract(first) => {
                let count = self.count(instruction.result);
                let words = self.whole(operands[0], instruction);
                let first = *first as usize;
                match words.get(first..first + count) {
                    Some(words) => Ok(words.to_vec()),
                    None => refuse("it takes a part of a value that has none"),
                }
            }
            Operation::Insert(first) => {
                let mut words = self.whole(operands[0], instruction);
                let part = self.whole(operands[1], instruction);
                for (index, word) in part.into_iter().enumerate() {
                    if let Some(place) = words.get_mut(*first as usize + index) {
                        *place = word;
                    }
                }
                Ok(words)
            }
            Operation::Construct => Ok(operands
                .iter()
                .flat_map(|operand| self.whole(*operand, instruction))
                .collect()),
            Operation::Shuffle(lanes) => {
                let both: Vec<_> = operands
                    .iter()
                    .flat_map(|operand| self.whole(*operand, instruction))
                    .collect();
                // An undefined component may be any, and the first is there at no cost.
                let pick = |lane: &Option<u32>| both.get(lane.unwrap_or(0) as usize).copied();
                match lanes.iter().map(pick).collect() {
                    Some(words) => Ok(words),
                    None => refuse("it shuffles what is not there"),
                }
            }
            Operation::Expect => Ok(self.whole(operands[0], instruction)),
            Operation::Assume => Ok(Vec::new()),
            Operation::Input(global) => {
                let (words, natural) = self.input(*global)?;
                // Strided words come as the first of them, where they are known as strided.
                let shapes: Vec<Shape> = match instruction.result {
                    Some(result) => self.plan.shapes.of(result).collect(),
                    None => Vec::new(),
                };
                let words = words.into_iter().zip(natural).zip(shapes);
                let words = words.map(|((word, natural), shape)| match shape {
                    Shape::Varying => self.spread(word, natural),
                    _ => word,
                });
                Ok(words.collect())
            }
            Operation::Address { offset, strides } => self.address(instruction, *offset, strides),
            Operation::Load => self.load(instruction, mask),
            Operation::Store => self.store(instruction, mask).map(|()| Vec::new()),
            Operation::Copy => self.copy(instruction, mask).map(|()| Vec::new()),
            Operation::Atomic { operation, scalar } => self.atomic(instruction, *operation, *scalar, mask),
            Operation::Fence => {
                self.fence();
                Ok(Vec::new())
            }
            Operation::GenericCast(class) => self.generic_cast(instruction, *class),
            Operation::PointerSemantics => self.pointer_semantics(instruction),
            Operation::Print => self.print(instruction, mask),
            Operation::Overflow => self.fail("overflow", mask),
            Operation::Nowhere => self.fail("nowhere", mask),
            Operation::NoFunction => self.fail("no_function", mask),
            Operation::Collective(collective) => match (collective.kind, collective.scope) {
                // The end of a region, or of nothing: a vector's work-items are never apart.
                (CollectiveKind::Barrier, _) => Ok(Vec::new()),
                (CollectiveKind::WaitEvents, _) => Ok(Vec::new()),
                (kind, GroupScope::SubGroup) => self.together(instruction, kind, mask),
                (kind, GroupScope::WorkGroup) => refuse(format!("{kind:?} of a work-group")),
            },
            Operation::Ballot(query) => self.ballot(instruction, *query),
            // Not by `lanes`, where a pointer becomes a number: LLVM can't follow that.
            Operation::Reinterpret if self.is_same_word(instruction) => {
                Ok(self.whole(operands[0], instruction))
            }
            Operation::Extended(_) => self.extended(instruction, mask),
            Operation::Elementwise(_)
            | Operation::Fold(_)
            | Operation::Select
            | Operation::Convert { .. }
            | Operation::Reinterpret
            | Operation::ExtractDynamic
            | Operation::InsertDynamic => {
                match instruction
                    .result
                    .and_then(|result| Some((result, self.plan.shapes.global_id(result)?)))
                {
                    Some((result, axis)) => self.id_in_range(result, axis),
                    None => self.pure(instruction),
                }
            }
            other => refuse(format!("{other:?}")),
        }
    }

    /// What the work-items of a vector, a sub-group, do together.
    fn together(
        &mut self,
        instruction: &Instruction,
        kind: CollectiveKind,
        mask: Option<Value<'m>>,
    ) -> Result<Vec<Value<'m>>> {
        // What was printed before comes before what others print then.
        self.flush_printed();
        let operands: Vec<_> = (instruction.operands.iter())
            .map(|operand| self.vectors(*operand))
            .collect();
        let operands: Vec<&[Value<'m>]> = operands.iter().map(Vec::as_slice).collect();
        let shape = self.result_shape(instruction);
        // Without operands the mask tells how many there are.
        let mask = match operands.is_empty() {
            true => Some(mask.unwrap_or_else(|| self.b.truth(self.width, true))),
            false => mask,
        };
        match self.lanes.collective(kind, mask, &operands, shape) {
            Some(words) => Ok(words),
            None => refuse(format!("{kind:?} of a sub-group")),
        }
    }

    /// A question about a ballot of a vector's work-items.
    fn ballot(&mut self, instruction: &Instruction, query: BallotQuery) -> Result<Vec<Value<'m>>> {
        let operands: Vec<_> = (instruction.operands.iter())
            .map(|operand| self.vectors(*operand))
            .collect();
        let index = operands.get(1).and_then(|index| index.first()).copied();
        let answer = operands
            .first()
            .and_then(|ballot| self.lanes.ballot(query, ballot, index));
        match answer {
            Some(answer) => Ok(vec![answer]),
            None => refuse(format!("{query:?} of a ballot")),
        }
    }

    fn count(&self, result: Option<ValueId>) -> usize {
        result.map_or(0, |result| self.plan.shapes.of(result).count())
    }

    /// The words of an operand that become words of an instruction's result: strided ones as vectors where the result
    /// varies.
    fn whole(&mut self, operand: Operand, instruction: &Instruction) -> Vec<Value<'m>> {
        let varies = instruction
            .result
            .is_some_and(|result| self.plan.shapes.of(result).any(|shape| shape == Shape::Varying));
        let shapes = self.shapes(operand);
        let words = self.operand(operand);
        words
            .into_iter()
            .zip(shapes)
            .map(|(word, shape)| match shape {
                Shape::Strided(_) if varies => self.spread(word, shape),
                _ => word,
            })
            .collect()
    }

    /// Whether a value is the same under another type: the words of both have the same types, or are pointers on
    /// one side and numbers of their size on the other.
    fn is_same_word(&self, instruction: &Instruction) -> bool {
        let Some(result) = instruction.result else {
            return false;
        };
        let to = self.scalar_types(self.code.values[result.0 as usize]);
        let from = self.scalar_types(self.module.operand_type(self.code, instruction.operands[0]));
        let bits = |ty: &super::builder::Type<'m>| if ty.is_pointer() { 64 } else { ty.bits() };
        from.len() == to.len()
            && from
                .iter()
                .zip(&to)
                .all(|(from, to)| !from.is_float() && !to.is_float() && bits(from) == bits(to))
    }

    /// What only computes.
    fn pure(&mut self, instruction: &Instruction) -> Result<Vec<Value<'m>>> {
        let Some(result) = instruction.result else {
            return Ok(Vec::new());
        };
        let shape = self.result_shape(instruction);
        // Scalar code gives the first work-item's result: all that is needed of what is the same or strided.
        let is_scalar = self.plan.shapes.of(result).all(|shape| shape != Shape::Varying);
        let operands = self.arguments(&instruction.operands, is_scalar);
        let operands: Vec<&[Value<'m>]> = operands.iter().map(Vec::as_slice).collect();
        match self
            .lanes
            .operation(&instruction.operation, &instruction.attributes, &operands, shape)
        {
            Some(words) => Ok(words),
            None => refuse(format!("{:?}", instruction.operation)),
        }
    }

    /// The words of operands, for the first work-item or as vectors.
    fn arguments(&mut self, operands: &[Operand], is_scalar: bool) -> Vec<Vec<Value<'m>>> {
        let words = |operand: &Operand| match is_scalar {
            true => self.firsts(*operand),
            false => self.vectors(*operand),
        };
        operands.iter().map(words).collect()
    }

    /// The words of an operand for the first work-item.
    pub(super) fn firsts(&mut self, operand: Operand) -> Vec<Value<'m>> {
        let words = self.operand(operand);
        let first = |word: Value<'m>| match word.ty().width() {
            Some(_) => self.b.extract(word, 0),
            None => word,
        };
        words.into_iter().map(first).collect()
    }

    /// The shape of a result as functions on words know it.
    fn result_shape(&self, instruction: &Instruction) -> builtins::Shape {
        let kind = instruction
            .result
            .map(|result| self.code.values[result.0 as usize]);
        builtins::Shape {
            scalar: kind
                .and_then(|kind| self.module.types.scalar(kind))
                .unwrap_or(Scalar::I64),
            lanes: kind.map_or(0, |kind| self.module.types.lanes(kind)),
        }
    }

    /// A function of OpenCL.std; the second result, where there is one, goes through the last operand.
    fn extended(&mut self, instruction: &Instruction, mask: Option<Value<'m>>) -> Result<Vec<Value<'m>>> {
        let Some(result) = instruction.result else {
            return Ok(Vec::new());
        };
        let shape = self.result_shape(instruction);
        let last = instruction.operands.last().copied();
        let pointer = last.filter(|last| {
            self.module
                .types
                .is_pointer(self.module.operand_type(self.code, *last))
        });
        let values = instruction.operands.len() - usize::from(pointer.is_some());
        // The second result has no shape in the plan: it is stored as one that varies.
        let is_scalar = pointer.is_none() && self.plan.shapes.of(result).all(|shape| shape != Shape::Varying);
        let operands = self.arguments(&instruction.operands[..values], is_scalar);
        let borrowed: Vec<&[Value<'m>]> = operands.iter().map(Vec::as_slice).collect();
        let found = self
            .vector_function(instruction, &operands, shape, mask)
            .or_else(|| {
                self.lanes
                    .operation(&instruction.operation, &instruction.attributes, &borrowed, shape)
            });
        let mut words = match found {
            Some(words) => words,
            None => self.call_builtin(instruction, &operands, shape, pointer.is_some(), mask)?,
        };
        if let Some(pointer) = pointer {
            let second = words.split_off(shape.lanes as usize);
            self.store_second(instruction, pointer, second, mask)?;
        }
        Ok(words)
    }
}
