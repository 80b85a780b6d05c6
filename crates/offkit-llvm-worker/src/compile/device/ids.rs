//! Built-in variables.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{GlobalId, Home};
use offkit_spirv::grammar::BuiltIn;

use super::super::builder::Value;
use super::super::kernel::refuse;
use super::gpu::Place;
use super::kernel::{Emitter, Result};

impl<'m> Emitter<'_, '_, 'm> {
    /// A number of the device's for a dimension, as 64 bits.
    fn number(&self, place: Place, axis: usize) -> Value<'m> {
        let required = self.module.kernels[0].required_local_size;
        match (place, required) {
            // A constant, and so is what is computed from it: the number of sub-groups, or whether
            // all of them are full.
            (Place::Threads, Some(size)) => self.word(size[axis]),
            _ => {
                let number = self.gpu.place(self.b, place, axis);
                self.b.zext_or_trunc(number, self.b.int(64))
            }
        }
    }

    /// Where ids begin.
    fn begin(&mut self, axis: usize) -> Value<'m> {
        let b = self.b;
        if let Some(begin) = self.gpu.begin(b, axis) {
            return begin;
        }
        self.facts.offset = true;
        match self.offset {
            Some(offset) => {
                // Three numbers of 32 bits, and the number of dimensions behind them.
                let place = b.offset(offset, self.word(4 * axis as u64));
                b.zext_or_trunc(b.load(b.int(32), place, 4), b.int(64))
            }
            None => self.word(0),
        }
    }

    /// The number of the work-item among all, in a dimension, counted from zero.
    fn item(&self, axis: usize) -> Value<'m> {
        let b = self.b;
        let [group, size] = [Place::Group, Place::Threads].map(|place| self.number(place, axis));
        b.add(b.mul(group, size), self.number(Place::Thread, axis))
    }

    fn all_items(&self, axis: usize) -> Value<'m> {
        let [groups, size] = [Place::Groups, Place::Threads].map(|place| self.number(place, axis));
        self.b.mul(groups, size)
    }

    /// The number of dimensions, where the device does not tell. A kernel that is not told takes the least that the launch
    /// can have.
    fn work_dimensions(&self) -> Value<'m> {
        let b = self.b;
        if let Some(begin) = self.offset {
            return b.load(b.int(32), b.offset(begin, self.word(3 * 4)), 4);
        }
        let is_more = |axis| b.icmp(IntPredicate::LLVMIntUGT, self.all_items(axis), self.word(1));
        let flat = b.select(is_more(1), self.short(2), self.short(1));
        b.select(is_more(2), self.short(3), flat)
    }

    /// The number of the work-item in its group, as 64 bits.
    pub(super) fn index_in_group(&self) -> Value<'m> {
        let b = self.b;
        let [x, y, z] = [0, 1, 2].map(|axis| self.number(Place::Thread, axis));
        let [columns, rows] = [0, 1].map(|axis| self.number(Place::Threads, axis));
        b.add(b.mul(b.add(b.mul(z, rows), y), columns), x)
    }

    /// Work-items of the group, as 64 bits.
    pub(super) fn group_size(&self) -> Value<'m> {
        let [x, y, z] = [0, 1, 2].map(|axis| self.number(Place::Threads, axis));
        self.b.mul(self.b.mul(x, y), z)
    }

    /// Work-items of the sub-group, as 64 bits.
    pub(super) fn sub_group_size(&self) -> Value<'m> {
        let b = self.b;
        let most = self.word(self.gpu.table().sub_group.into());
        let count = self.group_size();
        // Only the last sub-group of a group may have fewer, and here none has.
        if count
            .as_integer()
            .is_some_and(|count| count.is_multiple_of(self.gpu.table().sub_group.into()))
        {
            return most;
        }
        let first = b.mul(self.sub_group_id(), most);
        self.lesser(b.sub(count, first), most)
    }

    fn sub_group_id(&self) -> Value<'m> {
        let size = self.word(self.gpu.table().sub_group.into());
        self.b.binary(Opcode::LLVMUDiv, self.index_in_group(), size)
    }

    fn lesser(&self, one: Value<'m>, two: Value<'m>) -> Value<'m> {
        let is_less = self.b.icmp(IntPredicate::LLVMIntULT, one, two);
        self.b.select(is_less, one, two)
    }

    /// The words of a built-in variable.
    pub(super) fn input(&mut self, global: GlobalId) -> Result<Vec<Value<'m>>> {
        use BuiltIn as B;
        let b = self.b;
        let global = &self.module.globals[global.0 as usize];
        let Home::Input(built_in) = global.home else {
            return refuse("it reads a variable that is no built-in one as such");
        };
        let three = |place: Place| [0, 1, 2].map(|axis| self.number(place, axis)).to_vec();
        let words: Vec<Value<'m>> = match built_in {
            B::NumWorkgroups => three(Place::Groups),
            B::WorkgroupSize | B::EnqueuedWorkgroupSize => three(Place::Threads),
            B::WorkgroupId => three(Place::Group),
            B::LocalInvocationId => three(Place::Thread),
            B::GlobalInvocationId => (0..3)
                .map(|axis| match self.begin(axis) {
                    begin if begin.as_integer() == Some(0) => self.item(axis),
                    begin => b.add(self.item(axis), begin),
                })
                .collect(),
            B::GlobalSize => (0..3).map(|axis| self.all_items(axis)).collect(),
            B::GlobalOffset => (0..3).map(|axis| self.begin(axis)).collect(),
            B::LocalInvocationIndex => vec![self.index_in_group()],
            B::WorkDim => vec![self.gpu.dimensions(b).unwrap_or_else(|| self.work_dimensions())],
            B::GlobalLinearId => {
                let [x, y, z] = [0, 1, 2].map(|axis| self.item(axis));
                let row = b.add(b.mul(z, self.all_items(1)), y);
                vec![b.add(b.mul(row, self.all_items(0)), x)]
            }
            B::SubgroupSize => vec![self.sub_group_size()],
            B::SubgroupMaxSize => {
                let most = self.word(self.gpu.table().sub_group.into());
                vec![self.lesser(self.group_size(), most)]
            }
            B::NumSubgroups | B::NumEnqueuedSubgroups => {
                let size = u64::from(self.gpu.table().sub_group);
                let sum = b.add(self.group_size(), self.word(size - 1));
                vec![b.binary(Opcode::LLVMUDiv, sum, self.word(size))]
            }
            B::SubgroupId => vec![self.sub_group_id()],
            B::SubgroupLocalInvocationId => vec![b.zext_or_trunc(self.gpu.lane(b), b.int(64))],
            B::SubgroupEqMask
            | B::SubgroupGeMask
            | B::SubgroupGtMask
            | B::SubgroupLeMask
            | B::SubgroupLtMask => self.sub_group_mask(built_in),
            _ => return refuse(format!("built-in variable {built_in:?}")),
        };
        let scalar = self.module.types.scalar(global.kind).unwrap_or(Scalar::I64);
        let ty = b.scalar(scalar);
        Ok(words.into_iter().map(|word| b.zext_or_trunc(word, ty)).collect())
    }

    /// The four words of a mask of the sub-group's work-items that have a certain place to this one.
    fn sub_group_mask(&self, built_in: BuiltIn) -> Vec<Value<'m>> {
        let b = self.b;
        let lane = b.zext_or_trunc(self.gpu.lane(b), b.int(64));
        let own = b.shl(self.word(1), lane);
        let below = b.sub(own, self.word(1));
        let bits = match built_in {
            BuiltIn::SubgroupEqMask => own,
            BuiltIn::SubgroupGeMask => b.not(below),
            BuiltIn::SubgroupGtMask => b.not(b.or(below, own)),
            BuiltIn::SubgroupLeMask => b.or(below, own),
            _ => below,
        };
        // One work-item at least is there, so it is shifted by less than 64 bits.
        let members = b.lshr(self.word(u64::MAX), b.sub(self.word(64), self.sub_group_size()));
        let bits = b.and(bits, members);
        let low = b.zext_or_trunc(bits, b.int(32));
        let high = b.zext_or_trunc(b.lshr(bits, self.word(32)), b.int(32));
        vec![low, high, self.short(0), self.short(0)]
    }
}
