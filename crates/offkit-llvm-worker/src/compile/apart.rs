//! What is done for one work-item after the other: atomics, and functions that have no vector form.

use llvm_sys::core::{
    LLVMBuildAtomicCmpXchg, LLVMBuildAtomicRMW, LLVMBuildExtractValue, LLVMBuildFence, LLVMSetOrdering,
};
use llvm_sys::{
    LLVMAtomicOrdering, LLVMAtomicRMWBinOp, LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode,
};
use offkit_compile::{Shape, bounds};
use offkit_kernel::builtins::{self, Scalar};
use offkit_kernel::ir::{
    AtomicOperation, CollectiveKind, Instruction, Operand, Operation, Reduction, Type as Kind, scalar_size,
};
use offkit_spirv::grammar::{Op, StorageClass};

use super::bounds::Checked;
use super::builder::{Type, Value};
use super::kernel::{Emitter, Result, refuse};
use super::values::alignment_of;

/// A word whose lanes are read one by one.
#[derive(Clone, Copy)]
pub(super) struct Apart<'m> {
    word: Value<'m>,
    /// Its lanes in memory; single bits have no places there.
    slot: Option<Value<'m>>,
}

impl<'m> Emitter<'_, 'm> {
    /// Runs code once for each work-item of a mask: it gets the lane's number, as 64 bits.
    pub(super) fn each(
        &mut self,
        mask: Option<Value<'m>>,
        code: &mut dyn FnMut(&mut Self, Value<'m>) -> Result<()>,
    ) -> Result<()> {
        let b = self.b;
        let Some(width) = self.width else {
            let zero = self.word(0);
            return code(self, zero);
        };
        let mask = mask.unwrap_or_else(|| b.truth(Some(width), true));
        let bits = b.zext_or_trunc(b.mask_bits(mask), b.int(64));
        let (head, body) = (
            b.block(self.function, "each"),
            b.block(self.function, "each.body"),
        );
        let done = b.block(self.function, "each.done");
        let before = b.current();
        b.jump(head);
        b.at_end(head);
        // The mask's bits are what is left to do: the lowest names the lane, and is cleared below.
        let left = b.phi(b.int(64));
        b.incoming(left, bits, before);
        b.branch(b.icmp(IntPredicate::LLVMIntNE, left, self.word(0)), body, done);
        b.at_end(body);
        let lane = b.intrinsic("llvm.cttz", &[b.int(64)], &[left, b.truth(None, false)]);
        // The width is a power of two: the lane is one of the vector's, whatever LLVM knows of the mask.
        let lane = b.and(lane, self.word(u64::from(width) - 1));
        code(self, lane)?;
        let rest = b.and(left, b.sub(left, self.word(1)));
        b.incoming(left, rest, b.current());
        b.jump(head);
        b.at_end(done);
        Ok(())
    }

    /// Puts a vector into memory, where single lanes are read from: LLVM would write all of it for each lane that is
    /// extracted.
    pub(super) fn apart(&self, word: Value<'m>) -> Apart<'m> {
        let ty = word.ty();
        // A vector of truths has a bit for each in memory, where none can be read alone.
        let has_bytes = ty.lane().is_pointer() || ty.lane().bits() >= 8;
        let slot = (ty.width().is_some() && has_bytes).then(|| {
            let slot = self.slot(ty);
            self.b.store(word, slot, alignment_of(ty));
            slot
        });
        Apart { word, slot }
    }

    /// A word for the work-item of a lane.
    fn of_lane(&self, word: Apart<'m>, lane: Value<'m>) -> Value<'m> {
        let ty = word.word.ty();
        match (word.slot, ty.width()) {
            (Some(slot), _) => self.b.load(ty.lane(), self.b.element(ty.lane(), slot, lane), 1),
            (None, Some(_)) => self.b.extract_at(word.word, lane),
            (None, None) => word.word,
        }
    }

    /// A word for the work-item of a lane, as 64 bits: of a number its bits.
    pub(super) fn word_of_lane(&self, word: Apart<'m>, lane: Value<'m>) -> Value<'m> {
        let b = self.b;
        let (value, wide) = (self.of_lane(word, lane), b.int(64));
        let bits = match value.ty().is_float() {
            true => b.bit_cast(value, b.int(value.ty().bits())),
            false => self.coerce(value, wide),
        };
        b.zext_or_trunc(bits, wide)
    }

    /// Has the device copy many bytes, or a number of them that is not known: destination, source, size.
    pub(super) fn copy_apart(&mut self, instruction: &Instruction, mask: Option<Value<'m>>) -> Result<()> {
        let b = self.b;
        let shapes = instruction
            .operands
            .iter()
            .map(|operand| self.shapes(*operand)[0]);
        // From one place to one place: all would copy the same, and once is enough.
        let is_one = shapes.into_iter().all(|shape| shape == Shape::Uniform);
        let mut words = Vec::new();
        for operand in &instruction.operands {
            let word = self.vectors(*operand)[0];
            words.push(self.apart(word));
        }
        let function = self.external("copy");
        let (pointer, size) = (b.pointer(), b.int(64));
        let ty = b.function_type(b.void(), &[pointer, pointer, size]);
        let mask = if is_one { Some(self.one_lane()) } else { mask };
        self.each(mask, &mut |emitter, lane| {
            let [to, from] = [0, 1].map(|index| emitter.of_lane(words[index], lane));
            let [to, from] = [to, from].map(|place| emitter.coerce(place, pointer));
            let size = emitter.word_of_lane(words[2], lane);
            let line = instruction.line;
            emitter.check_range(bounds::LOAD, instruction.operands[1], line, [from, size, lane]);
            emitter.check_range(bounds::STORE, instruction.operands[0], line, [to, size, lane]);
            b.call(ty, function, &[to, from, size]);
            Ok(())
        })
    }

    /// The mask of the first lane, for what is done once for all.
    fn one_lane(&self) -> Value<'m> {
        let b = self.b;
        match self.width {
            Some(_) => b.insert(b.truth(self.width, false), b.truth(None, true), 0),
            None => b.truth(None, true),
        }
    }

    pub(super) fn fence(&mut self) {
        // SAFETY: the builder writes at the end of a block.
        unsafe {
            LLVMBuildFence(
                self.b.as_raw(),
                LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent,
                0,
                c"".as_ptr(),
            );
        }
    }

    pub(super) fn atomic(
        &mut self,
        instruction: &Instruction,
        operation: AtomicOperation,
        scalar: Scalar,
        mask: Option<Value<'m>>,
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let operands = instruction.operands.clone();
        // A group runs on one thread, so nobody comes between a load and a store of its own memory.
        let is_local = matches!(
            self.module
                .types
                .get(self.module.operand_type(self.code, operands[0])),
            Kind::Pointer {
                class: StorageClass::Workgroup,
                ..
            }
        );
        let mut words = Vec::new();
        for operand in &operands {
            let word = self.vectors(*operand)[0];
            words.push(self.apart(word));
        }
        let place = self.vectors(operands[0])[0];
        self.check(&Checked {
            kind: bounds::ATOMIC,
            pointer: operands[0],
            line: instruction.line,
            place,
            shape: Shape::Varying,
            mask,
            pieces: vec![(0, scalar_size(scalar))],
        })?;
        if let Some(reduction) = self.reduction(operands[0], operation, scalar) {
            return self.update_once(instruction, operation, reduction, is_local, mask);
        }
        let ty = b.scalar(scalar);
        let form = ty.vector(self.width);
        let slot = instruction.result.map(|_| {
            let slot = self.slot(form);
            // For those who take no part: what is read of memory that nobody wrote is undefined.
            b.store(b.zero(form), slot, alignment_of(form));
            slot
        });
        self.each(mask, &mut |emitter, lane| {
            let place = emitter.of_lane(words[0], lane);
            let place = emitter.coerce(place, b.pointer());
            // A pointer is exchanged as the number that it is, of the type of the access.
            let operand = |index: usize| {
                let word = emitter.of_lane(words[index], lane);
                if word.ty().is_pointer() {
                    emitter.coerce(word, b.int(64))
                } else {
                    word
                }
            };
            // As SPIR-V has it: of less LLVM makes calls of a library that nobody has here.
            let align = scalar_size(scalar) as u32;
            let old = match operation {
                AtomicOperation::Load if is_local => b.load(ty, place, align),
                AtomicOperation::Load => {
                    let loaded = b.load(ty, place, align);
                    // SAFETY: a load.
                    unsafe { LLVMSetOrdering(loaded.as_raw(), SEQUENTIAL) };
                    loaded
                }
                AtomicOperation::Store | AtomicOperation::Clear => {
                    let value = match operation {
                        AtomicOperation::Store => operand(1),
                        _ => b.zero(ty),
                    };
                    let stored = b.store(value, place, align);
                    if !is_local {
                        // SAFETY: a store.
                        unsafe { LLVMSetOrdering(stored.as_raw(), SEQUENTIAL) };
                    }
                    return Ok(());
                }
                AtomicOperation::CompareExchange => {
                    // Floating-point numbers are compared by their bits.
                    let bits = b.int(ty.bits());
                    let (new, expected) = (b.bit_cast(operand(1), bits), b.bit_cast(operand(2), bits));
                    if is_local {
                        let old = b.load(bits, place, align);
                        let is_same = b.icmp(IntPredicate::LLVMIntEQ, old, expected);
                        b.store(b.select(is_same, new, old), place, align);
                        b.bit_cast(old, ty)
                    } else {
                        // SAFETY: a pointer and two integers of one type.
                        unsafe {
                            let pair = LLVMBuildAtomicCmpXchg(
                                b.as_raw(),
                                place.as_raw(),
                                expected.as_raw(),
                                new.as_raw(),
                                SEQUENTIAL,
                                SEQUENTIAL,
                                0,
                            );
                            let old =
                                Value::from_raw(LLVMBuildExtractValue(b.as_raw(), pair, 0, c"".as_ptr()));
                            b.bit_cast(old, ty)
                        }
                    }
                }
                AtomicOperation::Exchange | AtomicOperation::TestAndSet | AtomicOperation::Update(_) => {
                    let value = match operation {
                        AtomicOperation::TestAndSet => b.integer(ty, 1),
                        _ => operand(1),
                    };
                    let Some(update) = update_of(operation) else {
                        return refuse(format!("the atomic operation {operation:?}"));
                    };
                    emitter.update(update, place, value, align, is_local)
                }
            };
            if let Some(slot) = slot {
                let (place, align) = match form.width() {
                    None => (slot, alignment_of(form)),
                    Some(_) => (b.element(ty, slot, lane), 1),
                };
                b.store(old, place, align);
            }
            Ok(())
        })?;
        let Some(slot) = slot else { return Ok(Vec::new()) };
        let old = b.load(form, slot, alignment_of(form));
        Ok(vec![match operation {
            // Whether the flag was set.
            AtomicOperation::TestAndSet => b.icmp(IntPredicate::LLVMIntNE, old, b.zero(form)),
            _ => old,
        }])
    }

    /// What the values of all work-items come to, where they update one place: it is the same to update it once, with that.
    /// 16 work-items of a vector that add to one counter, on each of two threads, take a 28th of the time then; one of the 16
    /// that adds by itself takes half.
    fn reduction(&self, place: Operand, operation: AtomicOperation, scalar: Scalar) -> Option<Reduction> {
        let op = match operation {
            // What is subtracted is a sum.
            AtomicOperation::Update(Op::IAdd | Op::ISub) => Op::IAdd,
            AtomicOperation::Update(
                op @ (Op::BitwiseAnd
                | Op::BitwiseOr
                | Op::BitwiseXor
                | Op::GroupSMin
                | Op::GroupSMax
                | Op::GroupUMin
                | Op::GroupUMax),
            ) => op,
            // Sums of numbers depend on their order.
            _ => return None,
        };
        let is_one = self.width.is_some() && self.shapes(place)[0] == Shape::Uniform;
        is_one.then_some(Reduction { op, scalar })
    }

    /// Updates one place with the values of all work-items, as if they came one after the other.
    fn update_once(
        &mut self,
        instruction: &Instruction,
        operation: AtomicOperation,
        reduction: Reduction,
        is_local: bool,
        mask: Option<Value<'m>>,
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let scalar = reduction.scalar;
        let shape = builtins::Shape { scalar, lanes: 1 };
        let value = self.vectors(instruction.operands[1])[0];
        let place = self.vectors(instruction.operands[0])[0];
        let place = self.apart(place);
        let of_all = |kind| self.lanes.collective(kind, mask, &[&[value]], shape);
        let (total, before) = (
            of_all(CollectiveKind::Reduce(reduction)),
            of_all(CollectiveKind::ExclusiveScan(reduction)),
        );
        let (Some(total), Some(before), Some(update)) = (total, before, update_of(operation)) else {
            return refuse(format!("the atomic operation {operation:?}"));
        };
        let ty = b.scalar(scalar);
        let slot = self.slot(ty);
        b.store(b.zero(ty), slot, alignment_of(ty));
        let first = match mask {
            Some(mask) => {
                // A number and its negative have one bit in common: the lowest. In an empty mask
                // there is none, and nothing is updated.
                let bits = b.mask_bits(mask);
                b.bit_cast(b.and(bits, b.sub(b.zero(bits.ty()), bits)), mask.ty())
            }
            None => self.one_lane(),
        };
        self.each(Some(first), &mut |emitter, lane| {
            let place = emitter.of_lane(place, lane);
            let place = emitter.coerce(place, b.pointer());
            let old = emitter.update(update, place, total[0], scalar_size(scalar) as u32, is_local);
            b.store(old, slot, alignment_of(ty));
            Ok(())
        })?;
        if instruction.result.is_none() {
            return Ok(Vec::new());
        }
        let old = b.broadcast(b.load(ty, slot, alignment_of(ty)), self.width);
        let found = match operation {
            AtomicOperation::Update(Op::ISub) => Some(b.sub(old, before[0])),
            _ => self.lanes.combine(reduction, old, before[0]),
        };
        found.map_or_else(
            || refuse(format!("the atomic operation {operation:?}")),
            |old| Ok(vec![old]),
        )
    }

    /// Reads, combines and writes; a group's own memory is seen by one thread only.
    fn update(
        &self,
        update: LLVMAtomicRMWBinOp,
        place: Value<'m>,
        value: Value<'m>,
        align: u32,
        is_local: bool,
    ) -> Value<'m> {
        use LLVMAtomicRMWBinOp as U;
        let b = self.b;
        if !is_local {
            // SAFETY: a pointer and a value of the type that is updated.
            return unsafe {
                Value::from_raw(LLVMBuildAtomicRMW(
                    b.as_raw(),
                    update,
                    place.as_raw(),
                    value.as_raw(),
                    SEQUENTIAL,
                    0,
                ))
            };
        }
        let old = b.load(value.ty(), place, align);
        let least = |predicate| b.select(b.icmp(predicate, old, value), old, value);
        let new = match update {
            U::LLVMAtomicRMWBinOpAdd => b.add(old, value),
            U::LLVMAtomicRMWBinOpSub => b.sub(old, value),
            U::LLVMAtomicRMWBinOpAnd => b.and(old, value),
            U::LLVMAtomicRMWBinOpOr => b.or(old, value),
            U::LLVMAtomicRMWBinOpXor => b.xor(old, value),
            U::LLVMAtomicRMWBinOpMin => least(IntPredicate::LLVMIntSLT),
            U::LLVMAtomicRMWBinOpMax => least(IntPredicate::LLVMIntSGT),
            U::LLVMAtomicRMWBinOpUMin => least(IntPredicate::LLVMIntULT),
            U::LLVMAtomicRMWBinOpUMax => least(IntPredicate::LLVMIntUGT),
            U::LLVMAtomicRMWBinOpFAdd => b.binary(Opcode::LLVMFAdd, old, value),
            U::LLVMAtomicRMWBinOpFMin => b.intrinsic("llvm.minnum", &[value.ty()], &[old, value]),
            U::LLVMAtomicRMWBinOpFMax => b.intrinsic("llvm.maxnum", &[value.ty()], &[old, value]),
            _ => value,
        };
        b.store(new, place, align);
        old
    }

    /// Calls the device's own function for an instruction of OpenCL.std, lane by lane.
    pub(super) fn call_builtin(
        &mut self,
        instruction: &Instruction,
        operands: &[Vec<Value<'m>>],
        result: builtins::Shape,
        has_second: bool,
        mask: Option<Value<'m>>,
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let Operation::Extended(op) = instruction.operation else {
            return refuse(format!("{:?}", instruction.operation));
        };
        // The CPU device reads what is called as its `BuiltinCall`, with the shapes of a result and seven operands.
        if operands.len() > 7 {
            return refuse(format!("{op:?} of {} operands", operands.len()));
        }
        let function = self.external("builtin");
        // What is called, and with what shapes: the result's first.
        let describe = |scalar: Scalar, lanes: u32| [scalar as u32, lanes];
        let mut words = vec![op.0, operands.len() as u32];
        words.extend(describe(result.scalar, result.lanes));
        for (operand, given) in instruction.operands.iter().zip(operands) {
            let kind = self.module.operand_type(self.code, *operand);
            let scalar = self.module.types.scalar(kind).unwrap_or(Scalar::I64);
            words.extend(describe(scalar, given.len() as u32));
        }
        // As large as the device's structure, which has room for a result and seven operands.
        words.resize(2 + 2 * 8, 0);
        let i32 = b.int(32);
        let word = b.int(64);
        let call = self.slot(i32.vector(Some(words.len() as u32)));
        for (index, value) in words.iter().enumerate() {
            b.store(
                b.integer(i32, u64::from(*value)),
                b.offset(call, self.word(index as u64 * 4)),
                4,
            );
        }
        let room = |count: usize| self.slot(word.vector(Some(count.max(1) as u32)));
        let total: usize = operands.iter().map(Vec::len).sum();
        let given = room(total);
        let count = result.lanes as usize;
        let (first, second) = (room(count), room(count));
        // The results that go through the pointer come behind the others, as `extended` takes them apart.
        let scalars = if has_second { 2 * count } else { count };
        // The second result's type is that of what the pointer leads to.
        let second_scalar = instruction.operands.last().and_then(|last| {
            let Kind::Pointer { pointee, .. } =
                *self.module.types.get(self.module.operand_type(self.code, *last))
            else {
                return None;
            };
            self.module.types.scalar(pointee)
        });
        let form = |scalar: Scalar| b.scalar(scalar).vector(self.width);
        let (vector, second_vector) = (form(result.scalar), form(second_scalar.unwrap_or(result.scalar)));
        let is_scalar = operands.iter().flatten().all(|word| word.ty().width().is_none());
        let results: Vec<(Value<'m>, Type<'m>)> = (0..scalars)
            .map(|index| {
                let vector = if index < count { vector } else { second_vector };
                let slot = self.slot(vector);
                b.store(b.zero(vector), slot, alignment_of(vector));
                (slot, vector)
            })
            .collect();
        let ty = b.function_type(b.void(), &[b.pointer(), b.pointer(), b.pointer(), b.pointer()]);
        // The first, whoever takes part: the function only computes, and its operands are there.
        let one_lane = is_scalar.then(|| self.one_lane());
        let operands: Vec<Apart<'m>> = operands.iter().flatten().map(|word| self.apart(*word)).collect();
        self.each(one_lane.or(mask), &mut |emitter, lane| {
            for (index, operand) in operands.iter().enumerate() {
                let wide = emitter.word_of_lane(*operand, lane);
                b.store(wide, b.offset(given, emitter.word(index as u64 * 8)), 8);
            }
            b.call(ty, function, &[call, given, first, second]);
            for (index, (slot, vector)) in results.iter().enumerate() {
                let from = if index < count { first } else { second };
                let at = emitter.word((index % count) as u64 * 8);
                let bits = b.load(word, b.offset(from, at), 8);
                let lane_type = vector.lane();
                let narrow = b.zext_or_trunc(bits, b.int(lane_type.bits()));
                let value = if lane_type.is_float() {
                    b.bit_cast(narrow, lane_type)
                } else {
                    narrow
                };
                match vector.width() {
                    None => _ = b.store(value, *slot, alignment_of(*vector)),
                    Some(_) => _ = b.store(value, b.element(lane_type, *slot, lane), 1),
                }
            }
            Ok(())
        })?;
        Ok(results
            .into_iter()
            .map(|(slot, vector)| b.load(vector, slot, alignment_of(vector)))
            .collect())
    }
}

// Whatever order a module asks for: the strongest keeps the promises of all.
const SEQUENTIAL: LLVMAtomicOrdering = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;

/// LLVM's name for what an atomic access does.
pub(super) fn update_of(operation: AtomicOperation) -> Option<LLVMAtomicRMWBinOp> {
    use LLVMAtomicRMWBinOp as U;
    Some(match operation {
        AtomicOperation::Exchange | AtomicOperation::TestAndSet => U::LLVMAtomicRMWBinOpXchg,
        AtomicOperation::Update(op) => match op {
            Op::IAdd => U::LLVMAtomicRMWBinOpAdd,
            Op::ISub => U::LLVMAtomicRMWBinOpSub,
            Op::BitwiseAnd => U::LLVMAtomicRMWBinOpAnd,
            Op::BitwiseOr => U::LLVMAtomicRMWBinOpOr,
            Op::BitwiseXor => U::LLVMAtomicRMWBinOpXor,
            Op::GroupSMin => U::LLVMAtomicRMWBinOpMin,
            Op::GroupSMax => U::LLVMAtomicRMWBinOpMax,
            Op::GroupUMin => U::LLVMAtomicRMWBinOpUMin,
            Op::GroupUMax => U::LLVMAtomicRMWBinOpUMax,
            Op::FAdd => U::LLVMAtomicRMWBinOpFAdd,
            Op::GroupFMin => U::LLVMAtomicRMWBinOpFMin,
            Op::GroupFMax => U::LLVMAtomicRMWBinOpFMax,
            _ => return None,
        },
        _ => return None,
    })
}
