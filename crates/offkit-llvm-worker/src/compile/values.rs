//! Words of values: in slots, as constants, for one work-item or for all.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_compile::Shape;
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{self, Operand, TypeId, ValueId};

use super::builder::{Type, Value};
use super::kernel::Emitter;

impl<'m> Emitter<'_, 'm> {
    /// The slots of a value's words.
    pub(super) fn slots_of(&mut self, value: ValueId) -> Vec<Value<'m>> {
        if let Some(slots) = self.slots.get(&value) {
            return slots.clone();
        }
        let slots: Vec<_> = self
            .types_of(value)
            .into_iter()
            .map(|ty| self.fresh_slot(ty))
            .collect();
        self.slots.insert(value, slots.clone());
        slots
    }

    /// The types of a value's words, in the form of their shapes.
    pub(super) fn types_of(&self, value: ValueId) -> Vec<Type<'m>> {
        let scalars = self.scalar_types(self.code.values[value.0 as usize]);
        let shapes = self.plan.shapes.of(value);
        scalars
            .into_iter()
            .zip(shapes)
            .map(|(ty, shape)| {
                if shape == Shape::Varying {
                    ty.vector(self.width)
                } else {
                    ty
                }
            })
            .collect()
    }

    /// The types of the words of a value of this type.
    pub(super) fn scalar_types(&self, kind: TypeId) -> Vec<Type<'m>> {
        if self.module.types.is_pointer(kind) {
            return vec![self.b.pointer()];
        }
        let leaves = self.module.types.leaves(kind);
        leaves.iter().map(|leaf| self.b.scalar(leaf.scalar)).collect()
    }

    /// The numbers of the lanes, as a vector.
    pub(super) fn lane_numbers(&self, ty: Type<'m>) -> Value<'m> {
        let numbers: Vec<_> = (0..self.plan.variant.width)
            .map(|lane| self.b.integer(ty, u64::from(lane)))
            .collect();
        self.b.constants(&numbers)
    }

    /// A word in the form of a vector, from the form of its shape.
    pub(super) fn spread(&self, word: Value<'m>, shape: Shape) -> Value<'m> {
        let b = self.b;
        if self.width.is_none() || word.ty().width().is_some() {
            return word;
        }
        match shape {
            Shape::Uniform | Shape::Varying => b.broadcast(word, self.width),
            Shape::Strided(by) => {
                let ty = if word.ty().is_pointer() {
                    b.int(64)
                } else {
                    word.ty()
                };
                let steps: Vec<_> = (0..i64::from(self.plan.variant.width))
                    .map(|lane| b.signed(ty, lane.wrapping_mul(by)))
                    .collect();
                let steps = b.constants(&steps);
                if word.ty().is_pointer() {
                    return b.offset(word, steps);
                }
                b.add(b.broadcast(word, self.width), steps)
            }
        }
    }

    /// The words of a constant.
    pub(super) fn constant(&mut self, constant: ir::ConstantId) -> Vec<Value<'m>> {
        let b = self.b;
        let constant = &self.module.constants[constant.0 as usize];
        let leaves = self.module.types.all_leaves(constant.kind);
        let is_pointer = self.module.types.is_pointer(constant.kind);
        let mut words: Vec<Value<'m>> = leaves
            .iter()
            .enumerate()
            .map(|(index, leaf)| {
                b.word(
                    b.scalar(leaf.scalar),
                    constant.words.get(index).copied().unwrap_or(0),
                )
            })
            .collect();
        for (index, global) in constant.relocations.clone() {
            let base = self.global(global.0);
            if let Some(word) = words.get_mut(index as usize) {
                *word = b.add(*word, b.cast(Opcode::LLVMPtrToInt, base, b.int(64)));
            }
        }
        if is_pointer {
            for word in &mut words {
                *word = self.coerce(*word, b.pointer());
            }
        }
        words
    }

    /// The address of a program-scope variable.
    fn global(&mut self, number: u32) -> Value<'m> {
        let b = self.b;
        // Local variables are memory of the thread that runs the group; others are the program's,
        // wherever the device has put them.
        if let (Some(at), Some(base)) = (self.locals.get(&number), self.group_scratch) {
            return b.offset(base, self.word(*at));
        }
        self.external(&format!("global:{number}"))
    }

    /// The address of something outside.
    pub(super) fn external(&mut self, name: &str) -> Value<'m> {
        // The number is the place in the launch's table, which the device fills in the order of `Emitted::externals`.
        let known = self.externals.iter().position(|other| other == name);
        let index = known.unwrap_or_else(|| {
            self.externals.push(name.to_owned());
            self.externals.len() - 1
        });
        let b = self.b;
        let table = self
            .launch
            .as_ref()
            .map_or(b.parameter(self.function, 0), |launch| launch.externals);
        let address = b.load(b.pointer(), b.offset(table, self.word(index as u64 * 8)), 8);
        b.name(address, name);
        address
    }

    /// A pointer as a number, or the other way round.
    pub(super) fn coerce(&self, value: Value<'m>, to: Type<'m>) -> Value<'m> {
        let (from, to) = (value.ty(), to.lane().vector(value.ty().width()));
        if from == to {
            return value;
        }
        match (from.lane().is_pointer(), to.lane().is_pointer()) {
            (true, false) => self.b.cast(Opcode::LLVMPtrToInt, value, to),
            (false, true) => self.b.cast(Opcode::LLVMIntToPtr, value, to),
            _ => value,
        }
    }

    /// A scalar of a kind in memory.
    pub(super) fn load_scalar(&self, scalar: Scalar, place: Value<'m>, align: u32) -> Value<'m> {
        let b = self.b;
        match scalar {
            Scalar::Bool => {
                let byte = b.load(b.int(8), place, align);
                b.icmp(IntPredicate::LLVMIntNE, byte, b.zero(b.int(8)))
            }
            scalar => b.load(b.scalar(scalar), place, align),
        }
    }

    /// The words of an operand, in the form of their shapes.
    pub(super) fn operand(&mut self, operand: Operand) -> Vec<Value<'m>> {
        match operand {
            Operand::Constant(constant) => self.constant(constant),
            Operand::Value(value) => {
                // What the block has already: `words` is emptied where another begins, as control
                // may come there without passing this one.
                if let Some(words) = self.fixed.get(&value).or_else(|| self.words.get(&value)) {
                    return words.clone();
                }
                let slots = self.slots_of(value);
                let types = self.types_of(value);
                let words: Vec<_> = slots
                    .into_iter()
                    .zip(types)
                    .map(|(slot, ty)| self.b.load(ty, slot, alignment_of(ty)))
                    .collect();
                self.words.insert(value, words.clone());
                words
            }
        }
    }

    /// The shapes of an operand's words.
    pub(super) fn shapes(&self, operand: Operand) -> Vec<Shape> {
        match operand {
            Operand::Constant(_) => {
                vec![Shape::Uniform; self.module.operand_lanes(self.code, operand) as usize]
            }
            Operand::Value(value) => self.plan.shapes.of(value).collect(),
        }
    }

    /// The words of an operand, each as a vector.
    pub(super) fn vectors(&mut self, operand: Operand) -> Vec<Value<'m>> {
        // By its shape alone, the others' values would be those of numbers that don't wrap.
        if matches!(operand, Operand::Value(value) if self.plan.shapes.may_wrap(value)) {
            return vec![self.of_all(operand)];
        }
        let shapes = self.shapes(operand);
        let words = self.operand(operand);
        words
            .into_iter()
            .zip(shapes)
            .map(|(word, shape)| self.spread(word, shape))
            .collect()
    }
}

/// Bytes of a value of this type in slots and scratch memory.
pub(super) fn size_of(ty: Type<'_>) -> u64 {
    let bits = if ty.lane().is_pointer() {
        64
    } else {
        ty.lane().bits()
    };
    // Of all lanes together, as a vector of truths has a bit for each in memory.
    (u64::from(bits) * u64::from(ty.width().unwrap_or(1))).div_ceil(8)
}

/// The alignment of a value of this type in slots and scratch memory: its size, at most a cache
/// line.
pub(super) fn alignment_of(ty: Type<'_>) -> u32 {
    u32::try_from(size_of(ty).next_power_of_two().clamp(1, 64)).unwrap_or(64)
}
