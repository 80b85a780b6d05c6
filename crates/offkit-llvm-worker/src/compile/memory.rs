//! Memory: which accesses are one of a vector, which are one for all, and which are one for each work-item.

use std::iter;

use llvm_sys::LLVMIntPredicate as IntPredicate;
use offkit_compile::{MOST_PIECES, Shape, bounds};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Instruction, Leaf, Operand, Type as Kind, TypeId, scalar_size};

use super::bounds::Checked;
use super::builder::{Type, Value};
use super::kernel::{Emitter, Result, refuse};

/// An access of work-items to scalars at their offsets from addresses.
#[derive(Clone, Copy)]
pub(super) struct Access<'l, 'm> {
    pub(super) leaves: &'l [Leaf],
    /// The addresses, which are of the shape.
    pub(super) place: Value<'m>,
    pub(super) shape: Shape,
    /// Of the addresses, in bytes.
    pub(super) align: u64,
    /// Who takes part, if not everybody.
    pub(super) mask: Option<Value<'m>>,
}

impl Access<'_, '_> {
    /// The alignment of a scalar.
    fn alignment(&self, leaf: &Leaf) -> u32 {
        let at = match leaf.offset {
            0 => self.align,
            offset => self.align.min(1 << offset.trailing_zeros().min(12)),
        };
        u32::try_from(at.clamp(1, 4096)).unwrap_or(1)
    }
}

impl<'m> Emitter<'_, 'm> {
    /// Who takes part, as a mask.
    fn everybody(&self, mask: Option<Value<'m>>) -> Value<'m> {
        mask.unwrap_or_else(|| self.b.truth(self.width, true))
    }

    /// The type of a scalar in memory.
    fn memory_type(&self, scalar: Scalar) -> Type<'m> {
        match scalar {
            Scalar::Bool => self.b.int(8),
            scalar => self.b.scalar(scalar),
        }
    }

    /// What is in memory as a value.
    fn as_value(&self, scalar: Scalar, value: Value<'m>) -> Value<'m> {
        match scalar {
            Scalar::Bool => self
                .b
                .icmp(IntPredicate::LLVMIntNE, value, self.b.zero(value.ty())),
            _ => value,
        }
    }

    fn as_stored(&self, scalar: Scalar, value: Value<'m>) -> Value<'m> {
        let ty = self.memory_type(scalar).vector(value.ty().width());
        match scalar {
            Scalar::Bool => self.b.zext_or_trunc(value, ty),
            _ => self.coerce(value, ty),
        }
    }

    fn align_of(&self, instruction: &Instruction, pointer: Operand, kind: TypeId) -> u64 {
        if let Some(part) = self.plan.interleaved.part(pointer) {
            return part;
        }
        // What the module doesn't tell is the alignment that OpenCL demands of the type.
        instruction
            .attributes
            .align
            .map_or_else(|| self.module.types.layout(kind).align, u64::from)
    }

    /// Where scalars are, which a work-item has side by side, in memory that may be interleaved.
    pub(super) fn laid_out(&self, pointer: Operand, mut leaves: Vec<Leaf>) -> Vec<Leaf> {
        if self.plan.interleaved.part(pointer).is_some() {
            // Each scalar of a work-item is followed by the same one of all the other lanes, so
            // its next one lies a whole vector further on.
            for leaf in &mut leaves {
                leaf.offset *= u64::from(self.plan.variant.width);
            }
        }
        leaves
    }

    pub(super) fn load(
        &mut self,
        instruction: &Instruction,
        mask: Option<Value<'m>>,
    ) -> Result<Vec<Value<'m>>> {
        let Some(result) = instruction.result else {
            return Ok(Vec::new());
        };
        let kind = self.code.values[result.0 as usize];
        let pointer = instruction.operands[0];
        let leaves = self.laid_out(pointer, self.module.types.leaves(kind));
        let access = Access {
            leaves: &leaves,
            place: self.place(pointer, mask),
            shape: self.shapes(pointer)[0],
            align: self.align_of(instruction, pointer, kind),
            mask,
        };
        self.check(&Checked::new(bounds::LOAD, pointer, instruction, access))?;
        let words = match self.possible_stride(pointer, &leaves, mask) {
            Some(stride) => self.load_perhaps_side_by_side(access, stride),
            None => self.load_leaves(access),
        };
        // In memory an address is a number like others; as a value it is a pointer.
        let types = self.scalar_types(kind);
        Ok(words
            .into_iter()
            .zip(types)
            .map(|(word, ty)| self.coerce(word, ty))
            .collect())
    }

    /// The scalars, one after the other.
    pub(super) fn load_leaves(&mut self, access: Access<'_, 'm>) -> Vec<Value<'m>> {
        let b = self.b;
        let Access {
            leaves,
            place,
            shape,
            mask,
            ..
        } = access;
        if let (Shape::Strided(stride), None, Some(width)) = (shape, mask, self.width)
            && let Some(words) = self.load_interleaved(access, stride, width)
        {
            return words;
        }
        if self.are_apart(leaves, shape) {
            return words(leaves)
                .flat_map(|word| self.gather_word(access, word))
                .collect();
        }
        leaves
            .iter()
            .map(|leaf| {
                let ty = self.memory_type(leaf.scalar);
                let at = access.alignment(leaf);
                let offset = self.word(leaf.offset);
                let size = scalar_size(leaf.scalar) as i64;
                let value = match (shape, self.width) {
                    // No mask is needed: a block that nobody has come to is passed over.
                    (Shape::Uniform, _) | (_, None) => b.load(ty, b.offset(place, offset), at),
                    (Shape::Strided(stride), Some(_)) if stride == size => {
                        let place = b.offset(place, offset);
                        match mask {
                            None => b.load(ty.vector(self.width), place, at),
                            Some(mask) => b.masked_load(place, at, mask, b.zero(ty.vector(self.width))),
                        }
                    }
                    (_, Some(_)) => b.gather(
                        self.places(access, leaf),
                        at,
                        self.everybody(mask),
                        b.zero(ty.vector(self.width)),
                    ),
                };
                self.as_value(leaf.scalar, value)
            })
            .collect()
    }

    /// Whether each work-item has a place of its own, with more than one scalar.
    fn are_apart(&self, leaves: &[Leaf], shape: Shape) -> bool {
        let [first, _, ..] = leaves else { return false };
        let is_apart = match shape {
            Shape::Uniform => false,
            Shape::Strided(stride) => stride != scalar_size(first.scalar) as i64,
            Shape::Varying => true,
        };
        self.width.is_some() && is_apart
    }

    /// Loads the scalars of a word for each work-item.
    fn gather_word(&self, access: Access<'_, 'm>, word: &[Leaf]) -> Vec<Value<'m>> {
        let b = self.b;
        let (width, count) = (self.width.unwrap_or(1), word.len() as u32);
        let scalar = word[0].scalar;
        let found = b.gather(
            self.places(access, &word[0]),
            access.alignment(&word[0]),
            self.everybody(access.mask),
            b.zero(self.word_type(word)),
        );
        let found = b.bit_cast(found, self.memory_type(scalar).vector(Some(count * width)));
        let part = |part| {
            let lanes: Vec<_> = (0..width).map(|lane| Some(count * lane + part)).collect();
            self.as_value(scalar, b.shuffle(found, found, &lanes))
        };
        match word {
            [_] => vec![self.as_value(scalar, found)],
            _ => (0..count).map(part).collect(),
        }
    }

    /// Stores them.
    fn scatter_word(&self, access: Access<'_, 'm>, word: &[Leaf], values: &[(Value<'m>, Shape)], width: u32) {
        let parts: Vec<_> = values
            .iter()
            .map(|(value, shape)| self.as_stored(word[0].scalar, self.spread(*value, *shape)))
            .collect();
        let all = self.interleave(&parts, width);
        self.b.scatter(
            self.b.bit_cast(all, self.word_type(word)),
            self.places(access, &word[0]),
            access.alignment(&word[0]),
            self.everybody(access.mask),
        );
    }

    /// The type of a word of each work-item.
    fn word_type(&self, word: &[Leaf]) -> Type<'m> {
        match word {
            [leaf] => self.memory_type(leaf.scalar),
            _ => self
                .b
                .int(8 * scalar_size(word[0].scalar) as u32 * word.len() as u32),
        }
        .vector(self.width)
    }

    /// The addresses of a scalar, one for each work-item.
    fn places(&self, access: Access<'_, 'm>, leaf: &Leaf) -> Value<'m> {
        let offset = self.word(leaf.offset);
        let offset = match access.place.ty().width() {
            Some(_) => self.b.broadcast(offset, self.width),
            None => offset,
        };
        self.spread(self.b.offset(access.place, offset), access.shape)
    }

    /// Scalars of one kind, side by side and without gaps from one work-item to the next: one access, taken apart.
    fn load_interleaved(&self, access: Access<'_, 'm>, stride: i64, width: u32) -> Option<Vec<Value<'m>>> {
        let b = self.b;
        let count = dense(access.leaves, stride)?;
        let first = &access.leaves[0];
        let scalar = first.scalar;
        let ty = self.memory_type(scalar).vector(Some(width * count));
        let all = b.load(ty, access.place, access.alignment(first));
        let words = (0..count).map(|part| {
            let lanes: Vec<_> = (0..width).map(|lane| Some(lane * count + part)).collect();
            self.as_value(scalar, b.shuffle(all, all, &lanes))
        });
        Some(words.collect())
    }

    pub(super) fn store(&mut self, instruction: &Instruction, mask: Option<Value<'m>>) -> Result<()> {
        let [pointer, value] = [instruction.operands[0], instruction.operands[1]];
        let kind = self.module.operand_type(self.code, value);
        let leaves = self.laid_out(pointer, self.module.types.leaves(kind));
        let access = Access {
            leaves: &leaves,
            place: self.place(pointer, mask),
            shape: self.shapes(pointer)[0],
            align: self.align_of(instruction, pointer, kind),
            mask,
        };
        self.check(&Checked::new(bounds::STORE, pointer, instruction, access))?;
        let shapes = self.shapes(value);
        let words: Vec<_> = self.operand(value).into_iter().zip(shapes).collect();
        match self.possible_stride(pointer, &leaves, mask) {
            Some(stride) => self.store_perhaps_side_by_side(access, stride, &words),
            None => self.store_words(access, &words),
        }
        Ok(())
    }

    /// Stores scalars, each of a shape.
    pub(super) fn store_words(&mut self, access: Access<'_, 'm>, words: &[(Value<'m>, Shape)]) {
        let b = self.b;
        let leaves = access.leaves;
        if let (Shape::Strided(stride), None, Some(width)) = (access.shape, access.mask, self.width)
            && let Some(count) = dense(leaves, stride)
            && count <= 4
        {
            let scalar = leaves[0].scalar;
            let parts: Vec<_> = words
                .iter()
                .map(|(word, shape)| self.as_stored(scalar, self.spread(*word, *shape)))
                .collect();
            let all = self.interleave(&parts, width);
            b.store(all, access.place, access.alignment(&leaves[0]));
            return;
        }
        if let (true, Some(width)) = (self.are_apart(leaves, access.shape), self.width) {
            let mut rest = words;
            for word in self::words(leaves) {
                let (values, after) = rest.split_at(word.len());
                self.scatter_word(access, word, values, width);
                rest = after;
            }
            return;
        }
        for (leaf, (word, shape)) in leaves.iter().zip(words) {
            self.store_word(access, leaf, *word, *shape);
        }
    }

    /// Vectors woven into one.
    fn interleave(&self, parts: &[Value<'m>], width: u32) -> Value<'m> {
        let b = self.b;
        // Pairs are laid side by side until there is one.
        let mut all: Vec<Value<'m>> = parts.to_vec();
        let count = all.len() as u32;
        let mut length = width;
        // There are a power of two of them, as `dense` and `words` see to, so that both of a pair are equally long.
        while all.len() > 1 {
            let pairs: Vec<Value<'m>> = all
                .chunks(2)
                .map(|pair| {
                    let lanes: Vec<_> = (0..2 * length).map(Some).collect();
                    b.shuffle(pair[0], pair[1], &lanes)
                })
                .collect();
            all = pairs;
            length *= 2;
        }
        let lanes: Vec<_> = (0..width * count)
            // One shuffle of all: lane after lane takes its scalar of each part.
            .map(|index| Some(index % count * width + index / count))
            .collect();
        b.shuffle(all[0], all[0], &lanes)
    }

    /// Stores one of the scalars.
    pub(super) fn store_word(&self, access: Access<'_, 'm>, leaf: &Leaf, word: Value<'m>, shape: Shape) {
        let b = self.b;
        let place = || b.offset(access.place, self.word(leaf.offset));
        let (align, mask) = (access.alignment(leaf), access.mask);
        let size = scalar_size(leaf.scalar) as i64;
        match (access.shape, self.width) {
            (_, None) => _ = b.store(self.as_stored(leaf.scalar, word), place(), align),
            (Shape::Uniform, Some(width)) => {
                // All write to one place: the last prevails.
                let value = match shape {
                    Shape::Uniform => word,
                    shape => {
                        let vector = self.spread(word, shape);
                        match mask {
                            None => b.extract(vector, width - 1),
                            Some(mask) => b.extract_at(vector, self.last(mask, width)),
                        }
                    }
                };
                b.store(self.as_stored(leaf.scalar, value), place(), align);
            }
            (Shape::Strided(stride), Some(_)) if stride == size => {
                let value = self.as_stored(leaf.scalar, self.spread(word, shape));
                match mask {
                    None => _ = b.store(value, place(), align),
                    Some(mask) => b.masked_store(value, place(), align, mask),
                }
            }
            (_, Some(_)) => {
                let value = self.as_stored(leaf.scalar, self.spread(word, shape));
                b.scatter(value, self.places(access, leaf), align, self.everybody(mask));
            }
        }
    }

    /// The number of the last work-item of a mask that somebody is in.
    fn last(&self, mask: Value<'m>, width: u32) -> Value<'m> {
        let b = self.b;
        let bits = b.zext_or_trunc(b.mask_bits(mask), b.int(64));
        let zeros = b.intrinsic("llvm.ctlz", &[b.int(64)], &[bits, b.truth(None, false)]);
        let last = b.sub(self.word(63), zeros);
        // Where nobody takes part, there is still a lane of that number, and nothing is poison.
        b.and(last, self.word(u64::from(width) - 1))
    }

    /// Stores the second result of a function where its pointer leads.
    pub(super) fn store_second(
        &mut self,
        instruction: &Instruction,
        pointer: Operand,
        words: Vec<Value<'m>>,
        mask: Option<Value<'m>>,
    ) -> Result<()> {
        let Kind::Pointer { pointee, .. } = *self
            .module
            .types
            .get(self.module.operand_type(self.code, pointer))
        else {
            return refuse("a second result without a pointer");
        };
        let leaves = self.module.types.leaves(pointee);
        let access = Access {
            leaves: &leaves,
            place: self.operand(pointer)[0],
            shape: self.shapes(pointer)[0],
            align: self.module.types.layout(pointee).align,
            mask,
        };
        self.check(&Checked::new(bounds::STORE, pointer, instruction, access))?;
        for (leaf, word) in leaves.iter().zip(words) {
            self.store_word(access, leaf, word, Shape::Varying);
        }
        Ok(())
    }

    /// Destination, source, size.
    pub(super) fn copy(&mut self, instruction: &Instruction, mask: Option<Value<'m>>) -> Result<()> {
        let [to, from, size] = [
            instruction.operands[0],
            instruction.operands[1],
            instruction.operands[2],
        ];
        // A constant, or else pieces can't be written down: the device copies as many bytes
        // as it turns out.
        let size = self.firsts(size)[0].as_integer();
        // What is interleaved is copied part by part.
        let parts = [to, from].map(|pointer| self.plan.interleaved.part(pointer));
        let told = u64::from(instruction.attributes.align.unwrap_or(1)).clamp(1, 8);
        let align = parts[0].or(parts[1]).unwrap_or(told);
        let Some(size) = size.filter(|size| size.div_ceil(align) <= MOST_PIECES) else {
            return self.copy_apart(instruction, mask);
        };
        let mut leaves = Vec::new();
        let mut at = 0;
        while at < size {
            let mut piece = align;
            // The last bytes take ever smaller pieces, down to one.
            while piece > size - at {
                piece /= 2;
            }
            let scalar = match piece {
                8 => Scalar::I64,
                4 => Scalar::I32,
                2 => Scalar::I16,
                _ => Scalar::I8,
            };
            leaves.push(Leaf { offset: at, scalar });
            at += piece;
        }
        let [source_leaves, target_leaves] = [from, to].map(|pointer| self.laid_out(pointer, leaves.clone()));
        let [source, target] =
            [(from, &source_leaves), (to, &target_leaves)].map(|(pointer, leaves)| Access {
                leaves,
                place: self.place(pointer, mask),
                shape: self.shapes(pointer)[0],
                align: self.plan.interleaved.part(pointer).unwrap_or(told),
                mask,
            });
        for (kind, pointer, access) in [(bounds::LOAD, from, source), (bounds::STORE, to, target)] {
            let mut checked = Checked::new(kind, pointer, instruction, access);
            // All of it, as one.
            checked.pieces = (size > 0).then_some((0, size)).into_iter().collect();
            self.check(&checked)?;
        }
        // All of it before anything is stored, as if each work-item's copy was one step.
        let words = self.load_leaves(source);
        for (leaf, word) in target.leaves.iter().zip(words) {
            let shape = if word.ty().width().is_some() {
                Shape::Varying
            } else {
                Shape::Uniform
            };
            self.store_word(target, leaf, word, shape);
        }
        Ok(())
    }
}

/// Scalars in words: as many of one kind as lie side by side in 64 bits, or a power of two of them. A gather takes as long as
/// it has elements, and of elements of less than 32 bits there is none: one core with AVX-512 copies `char16` 10 times as
/// fast, `short4` 4 times (rows of 13 of a work-item, 2026-11-26).
fn words(mut leaves: &[Leaf]) -> impl Iterator<Item = &[Leaf]> {
    iter::from_fn(move || {
        let size = scalar_size(leaves.first()?.scalar);
        let are_beside = |pair: &[Leaf]| {
            pair[0].scalar == pair[1].scalar && pair[0].offset.checked_add(size) == Some(pair[1].offset)
        };
        let fits = |count: &usize| (leaves.get(..*count)).is_some_and(|word| word.windows(2).all(are_beside));
        let counts = [8, 4, 2].map(|bytes| (bytes / size) as usize);
        let count = (counts.into_iter()).find(|count| *count > 1 && fits(count));
        let (word, rest) = leaves.split_at(count.unwrap_or(1));
        leaves = rest;
        Some(word)
    })
}

/// How many scalars of one kind lie side by side, if work-items' parts touch each other.
pub(super) fn dense(leaves: &[Leaf], stride: i64) -> Option<u32> {
    let first = leaves.first()?;
    let size = scalar_size(first.scalar);
    let count = leaves.len() as u64;
    let is_dense = leaves
        .iter()
        .enumerate()
        .all(|(index, leaf)| leaf.scalar == first.scalar && leaf.offset == index as u64 * size);
    (is_dense && (2..=16).contains(&count) && count.is_power_of_two() && stride == (count * size) as i64)
        .then_some(count as u32)
}
