//! Built-in variables: where in its range a work-item is.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_compile::Shape;
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{GlobalId, Home, ValueId};
use offkit_spirv::grammar::BuiltIn;

use super::builder::{Type, Value};
use super::kernel::{Emitter, Result, refuse};

impl<'m> Emitter<'_, 'm> {
    /// The id of the group with a number. The next group's follows from it without a division: one takes as long as several
    /// vectors of a simple kernel.
    pub(super) fn group_id(&self, number: Value<'m>) -> [Value<'m>; 3] {
        let b = self.b;
        let Some(launch) = &self.launch else {
            return [number; 3];
        };
        let x = b.binary(Opcode::LLVMURem, number, launch.groups[0]);
        let rest = b.binary(Opcode::LLVMUDiv, number, launch.groups[0]);
        let y = b.binary(Opcode::LLVMURem, rest, launch.groups[1]);
        let z = b.binary(Opcode::LLVMUDiv, rest, launch.groups[1]);
        [x, y, z]
    }

    /// The id of the group behind one.
    pub(super) fn next_group_id(&self, id: [Value<'m>; 3]) -> [Value<'m>; 3] {
        match &self.launch {
            Some(launch) => self.advance(id, [self.word(1), self.word(0), self.word(0)], launch.groups),
            None => id,
        }
    }

    /// How far the local ids of one vector are from those of the one before, in a group of a size.
    pub(super) fn local_step(&self, size: [Value<'m>; 3]) -> [Value<'m>; 3] {
        let b = self.b;
        let zero = b.integer(b.int(32), 0);
        let width = b.integer(b.int(32), self.plan.variant.width.into());
        if self.is_along_rows() {
            return [width, zero, zero];
        }
        let [size_x, size_y, _] = size.map(|size| b.zext_or_trunc(size, b.int(32)));
        let rows = b.binary(Opcode::LLVMUDiv, width, size_x);
        [
            b.binary(Opcode::LLVMURem, width, size_x),
            b.binary(Opcode::LLVMURem, rows, size_y),
            b.binary(Opcode::LLVMUDiv, rows, size_y),
        ]
    }

    /// The local ids of a group's first vector, as 32 bits: of its first work-item alone where vectors lie along rows.
    pub(super) fn first_local_id(&self) -> [Value<'m>; 3] {
        let b = self.b;
        let zero = b.integer(b.int(32), 0);
        let group = match &self.group {
            Some(group) if !self.is_along_rows() => group,
            _ => return [zero; 3],
        };
        // No processor divides vectors of integers. From the middle between two numbers, no quotient is rounded to the next.
        let float = b.scalar(Scalar::F32);
        let size = |axis: usize| {
            let size = b.zext_or_trunc(group.size[axis], b.int(32));
            b.broadcast(b.cast(Opcode::LLVMUIToFP, size, float), self.width)
        };
        // Lanes are few: by a size so large that single precision rounds it, quotients are zero.
        let whole = b.int(32).vector(self.width);
        let divide = |number: Value<'m>, axis: usize| {
            let middle = b.broadcast(b.float(float, 0.5), self.width);
            let number = b.cast(Opcode::LLVMUIToFP, number, float.vector(self.width));
            let quotient = b.binary(
                Opcode::LLVMFDiv,
                b.binary(Opcode::LLVMFAdd, number, middle),
                size(axis),
            );
            b.cast(Opcode::LLVMFPToSI, quotient, whole)
        };
        let remainder = |number: Value<'m>, quotient: Value<'m>, axis: usize| {
            let size = b.zext_or_trunc(group.size[axis], b.int(32));
            b.sub(number, b.mul(quotient, b.broadcast(size, self.width)))
        };
        let lane = self.lane_numbers(b.int(32));
        let row = divide(lane, 0);
        let z = divide(row, 1);
        [remainder(lane, row, 0), remainder(row, z, 1), z]
    }

    /// The local ids of the vector behind one.
    pub(super) fn next_local_id(&self, id: [Value<'m>; 3]) -> [Value<'m>; 3] {
        let b = self.b;
        let Some(group) = &self.group else { return id };
        let form = id[0].ty().width();
        let spread = |value: Value<'m>| match form {
            Some(_) => b.broadcast(value, form),
            None => value,
        };
        let size = group.size.map(|size| spread(b.zext_or_trunc(size, b.int(32))));
        self.advance(id, group.step.map(spread), size)
    }

    /// Ids that are a step further, with what is beyond the end of one dimension carried to the next.
    fn advance(&self, id: [Value<'m>; 3], step: [Value<'m>; 3], size: [Value<'m>; 3]) -> [Value<'m>; 3] {
        let b = self.b;
        let wrap = |id: Value<'m>, size: Value<'m>| {
            // Once is enough: with step and carry, the id of a vector that there is stays below twice the size.
            let is_beyond = b.icmp(IntPredicate::LLVMIntUGE, id, size);
            let wrapped = b.select(is_beyond, b.sub(id, size), id);
            (wrapped, b.zext_or_trunc(is_beyond, id.ty()))
        };
        let (x, carry) = wrap(b.add(id[0], step[0]), size[0]);
        let (y, carry) = wrap(b.add(b.add(id[1], step[1]), carry), size[1]);
        [x, y, b.add(b.add(id[2], step[2]), carry)]
    }

    /// Whether a vector has the work-items of one row alone, side by side.
    fn is_along_rows(&self) -> bool {
        self.plan.variant.rows || self.width.is_none()
    }

    /// The words of a built-in variable, in the form of their own shapes, which come with them.
    pub(super) fn input(&mut self, global: GlobalId) -> Result<(Vec<Value<'m>>, [Shape; 4])> {
        let b = self.b;
        let global = &self.module.globals[global.0 as usize];
        let Home::Input(built_in) = global.home else {
            return refuse("it reads a variable that is no built-in one as such");
        };
        let words = match self.seen(built_in) {
            Some(words) => words,
            None => self.place_of(built_in)?,
        };
        let scalar = self.module.types.scalar(global.kind).unwrap_or(Scalar::I64);
        let ty: Type<'m> = b.scalar(scalar);
        let words = words
            .into_iter()
            .map(|word| b.zext_or_trunc(word, ty.vector(word.ty().width())));
        Ok((words.collect(), Shape::of_input(built_in, self.plan.variant)))
    }

    /// A value that is the global id in one dimension without the offset.
    pub(super) fn id_in_range(&mut self, result: ValueId, axis: u32) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let axis = axis as usize;
        let id = self.place_of(BuiltIn::GlobalInvocationId)?[axis];
        let Some(launch) = &self.launch else {
            return refuse("it reads a built-in variable outside of a kernel");
        };
        let form = id.ty().width();
        let offset = match form {
            Some(_) => b.broadcast(launch.offset[axis], form),
            None => launch.offset[axis],
        };
        let id = b.sub(id, offset);
        let scalar = self.module.types.scalar(self.code.values[result.0 as usize]);
        let ty: Type<'m> = b.scalar(scalar.unwrap_or(Scalar::I64));
        let id = b.zext_or_trunc(id, ty.vector(form));
        let natural = Shape::of_input(BuiltIn::GlobalInvocationId, self.plan.variant)[axis];
        Ok(vec![match self.plan.shapes.word(result, 0) {
            Shape::Varying => self.spread(id, natural),
            _ => id,
        }])
    }

    /// The same before they have the variable's type, of work-items in the groups that there are.
    fn place_of(&self, built_in: BuiltIn) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let (Some(launch), Some(group), Some(current)) = (&self.launch, &self.group, &self.current) else {
            return refuse("it reads a built-in variable outside of a kernel");
        };
        let form = current.local_id[0].ty().width();
        let spread = |value: Value<'m>| {
            if form.is_some() {
                b.broadcast(value, form)
            } else {
                value
            }
        };
        let global_id = |axis: usize| {
            let base = b.add(b.mul(group.id[axis], launch.local[axis]), launch.offset[axis]);
            b.add(spread(base), current.local_id[axis])
        };
        let width = u64::from(self.plan.variant.width);
        let sub_group_size = || {
            let left = b.sub(group.count, current.first);
            let is_less = b.icmp(IntPredicate::LLVMIntULT, left, self.word(width));
            b.select(is_less, left, self.word(width))
        };
        let words = match built_in {
            BuiltIn::NumWorkgroups => launch.groups.to_vec(),
            // OpenCL tells both: the size of this group, which may be a smaller one at the end of
            // the range, and the size that was asked for.
            BuiltIn::WorkgroupSize => group.size.to_vec(),
            BuiltIn::EnqueuedWorkgroupSize => launch.local.to_vec(),
            BuiltIn::WorkgroupId => group.id.to_vec(),
            BuiltIn::LocalInvocationId => current.local_id.to_vec(),
            BuiltIn::GlobalInvocationId => (0..3).map(global_id).collect(),
            BuiltIn::GlobalSize => launch.global.to_vec(),
            BuiltIn::GlobalOffset => launch.offset.to_vec(),
            // The first lane's: its shape tells that each of the others is one more.
            BuiltIn::LocalInvocationIndex => vec![current.first],
            BuiltIn::WorkDim => vec![launch.dimensions],
            BuiltIn::GlobalLinearId => {
                let [x, y, z] = [0, 1, 2].map(|axis| b.sub(global_id(axis), spread(launch.offset[axis])));
                let row = b.add(b.mul(z, spread(launch.global[1])), y);
                vec![b.add(b.mul(row, spread(launch.global[0])), x)]
            }
            BuiltIn::SubgroupSize => vec![sub_group_size()],
            BuiltIn::SubgroupMaxSize => {
                let most = b.mul(b.mul(launch.local[0], launch.local[1]), launch.local[2]);
                let is_less = b.icmp(IntPredicate::LLVMIntULT, most, self.word(width));
                vec![b.select(is_less, most, self.word(width))]
            }
            BuiltIn::NumSubgroups => vec![group.vectors],
            BuiltIn::NumEnqueuedSubgroups => {
                let most = b.mul(b.mul(launch.local[0], launch.local[1]), launch.local[2]);
                vec![b.binary(
                    Opcode::LLVMUDiv,
                    b.add(most, self.word(width - 1)),
                    self.word(width),
                )]
            }
            BuiltIn::SubgroupId => vec![current.number],
            // Likewise: work-items of a sub-group are the lanes in their order.
            BuiltIn::SubgroupLocalInvocationId => vec![self.word(0)],
            BuiltIn::SubgroupEqMask
            | BuiltIn::SubgroupGeMask
            | BuiltIn::SubgroupGtMask
            | BuiltIn::SubgroupLeMask
            | BuiltIn::SubgroupLtMask => self.sub_group_mask(built_in, sub_group_size()),
            _ => return refuse(format!("built-in variable {built_in:?}")),
        };
        Ok(words)
    }

    /// The four words of a mask of the sub-group's work-items, of which there are so many, that have a certain place to each
    /// of them.
    fn sub_group_mask(&self, built_in: BuiltIn, size: Value<'m>) -> Vec<Value<'m>> {
        let b = self.b;
        let form = b.int(64).vector(self.width);
        let lane = |number: u64| {
            let (own, below) = (1 << number, (1u64 << number) - 1);
            match built_in {
                BuiltIn::SubgroupEqMask => own,
                BuiltIn::SubgroupGeMask => !below,
                BuiltIn::SubgroupGtMask => !(below | own),
                BuiltIn::SubgroupLeMask => below | own,
                _ => below,
            }
        };
        let lanes: Vec<_> = (0..u64::from(self.plan.variant.width))
            .map(|number| self.word(lane(number)))
            .collect();
        let bits = match self.width {
            Some(_) => b.constants(&lanes),
            None => lanes[0],
        };
        // A vector that is run has a work-item at least, so that the shift is less than 64.
        let members = b.lshr(self.word(u64::MAX), b.sub(self.word(64), size));
        let bits = b.and(bits, b.broadcast(members, self.width));
        let low = b.and(bits, b.integer(form, 0xffff_ffff));
        let high = b.lshr(bits, b.integer(form, 32));
        vec![low, high, self.word(0), self.word(0)]
    }
}
