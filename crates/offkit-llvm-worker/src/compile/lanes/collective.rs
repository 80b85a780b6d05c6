//! What the work-items of a sub-group do together: they are the lanes of a vector.
//!
//! Results that are the same for all come as scalars.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode, LLVMRealPredicate as RealPredicate};
use offkit_kernel::builtins::float::Format;
use offkit_kernel::builtins::{Scalar, Shape};
use offkit_kernel::ir::{Attributes, CollectiveKind as Kind, Reduction, arithmetic, scalar_size};
use offkit_spirv::grammar::Op;

use super::Lanes;
use crate::compile::builder::Value;

/// The lanes that take part.
struct Members<'m> {
    width: u32,
    /// None when all do.
    mask: Option<Value<'m>>,
}

/// Where each lane takes a value from, as 32-bit numbers, and whether there is such a lane.
struct Sources<'m> {
    lanes: Value<'m>,
    exist: Value<'m>,
}

impl<'m> Lanes<'_, 'm> {
    /// The components of what a sub-group computes, those of its lanes that a mask holds for. `None` when it has no
    /// lowering here.
    ///
    /// Operands are vectors; without vectors a sub-group is one work-item.
    pub(crate) fn collective(
        &self,
        kind: Kind,
        mask: Option<Value<'m>>,
        operands: &[&[Value<'m>]],
        result: Shape,
    ) -> Option<Vec<Value<'m>>> {
        let b = self.builder;
        let form = operands.iter().copied().flatten().chain(&mask);
        let width = form.map(|value| value.ty().width()).max().flatten();
        let lifted: Vec<Vec<_>> = (operands.iter())
            .map(|operand| operand.iter().map(|value| self.lifted(*value)).collect())
            .collect();
        let operands: Vec<&[Value<'m>]> = lifted.iter().map(Vec::as_slice).collect();
        let members = Members {
            width: width.unwrap_or(1),
            mask: mask.map(|mask| self.lifted(mask)),
        };
        let results = self.of_vectors(kind, &members, &operands, result)?;
        let lowered = |value: Value<'m>| match (width, value.ty().width()) {
            (None, Some(_)) => b.extract(value, 0),
            _ => value,
        };
        Some(results.into_iter().map(lowered).collect())
    }

    /// A scalar as a vector of one lane.
    fn lifted(&self, value: Value<'m>) -> Value<'m> {
        match value.ty().width() {
            Some(_) => value,
            None => self.builder.broadcast(value, Some(1)),
        }
    }

    fn of_vectors(
        &self,
        kind: Kind,
        members: &Members<'m>,
        operands: &[&[Value<'m>]],
        result: Shape,
    ) -> Option<Vec<Value<'m>>> {
        let b = self.builder;
        let first_operand = operands.first().copied().unwrap_or_default();
        let each = |lower: &dyn Fn(Value<'m>) -> Option<Value<'m>>| -> Option<Vec<Value<'m>>> {
            first_operand.iter().map(|value| lower(*value)).collect()
        };
        let argument = || operands.get(1)?.first().map(|value| self.number(*value));
        // Where the low bits are all that counts.
        let low_bits = || operands.get(1)?.first().map(|value| self.word(*value));
        let lanes = self.lane_numbers(members.width);
        let constant = |value| b.integer(lanes.ty(), value);
        let exchange =
            |sources: Value<'m>| self.exchange(members, first_operand, self.sources(members, sources));
        Some(match (kind, operands) {
            (Kind::Reduce(reduction), [_]) => each(&|value| self.reduce(members, reduction, value))?,
            // One cluster, and a result that is the same for all, which comes as a scalar.
            (Kind::ClusteredReduce(reduction, size), [_]) if size >= members.width => {
                each(&|value| self.reduce(members, reduction, value))?
            }
            (Kind::ClusteredReduce(reduction, size), [_]) if size.is_power_of_two() => {
                each(&|value| self.reduce_clusters(members, reduction, size, value))?
            }
            (Kind::InclusiveScan(reduction), [_]) => each(&|value| self.scan(members, reduction, value))?,
            (Kind::ExclusiveScan(reduction), [_]) => {
                each(&|value| self.exclusive_scan(members, reduction, value))?
            }
            (Kind::Any, [[value]]) => {
                let holds = b.mask_bits(self.among(members, *value));
                vec![b.icmp(IntPredicate::LLVMIntNE, holds, b.zero(holds.ty()))]
            }
            (Kind::All, [[value]]) => vec![self.all(members, *value)],
            (Kind::AllEqual, [_]) => {
                let is_equal = |value: Value<'m>| {
                    let value = self.plain(value);
                    let first = b.broadcast(self.of_first(members, value), Some(members.width));
                    self.is_equal(value, first)
                };
                let equal = first_operand.iter().map(|value| is_equal(*value));
                vec![self.all(members, equal.reduce(|all, equal| b.and(all, equal))?)]
            }
            (Kind::Elect, []) => {
                let first = b.broadcast(self.first(members), Some(members.width));
                vec![b.icmp(IntPredicate::LLVMIntEQ, lanes, first)]
            }
            (Kind::Broadcast, [_, [_]]) => {
                let lane = self.of_first(members, argument()?);
                // Beyond the last the standard leaves it open.
                let lane = b.and(lane, b.integer(lane.ty(), u64::from(members.width) - 1));
                each(&|value| Some(b.extract_at(value, lane)))?
            }
            (Kind::BroadcastFirst, [_]) => each(&|value| Some(self.of_first(members, value)))?,
            (Kind::Ballot, [[value]]) => {
                let long = b.int(64);
                let bits = b.zext_or_trunc(b.mask_bits(self.among(members, *value)), long);
                let high = b.lshr(bits, b.integer(long, 32));
                let word = b.int(32);
                let zero = b.zero(word);
                vec![
                    b.zext_or_trunc(bits, word),
                    b.zext_or_trunc(high, word),
                    zero,
                    zero,
                ]
            }
            (Kind::Shuffle, [_, [_]]) => exchange(argument()?),
            (Kind::ShuffleXor, [_, [_]]) => exchange(b.xor(lanes, argument()?)),
            // Below the first lane wraps, which no lane has.
            (Kind::ShuffleUp, [_, [_]]) => exchange(b.sub(lanes, argument()?)),
            (Kind::ShuffleDown, [_, [_]]) => exchange(b.add(lanes, argument()?)),
            (Kind::QuadBroadcast, [_, [_]]) => {
                let place = b.and(low_bits()?, constant(3));
                exchange(b.or(b.and(lanes, b.signed(lanes.ty(), !3)), place))
            }
            (Kind::QuadSwap(direction), [_]) => {
                // Sideways, down, and across: a quad has its four lanes in two rows.
                let mask = [1, 2, 3][direction.min(2) as usize];
                exchange(b.xor(lanes, constant(mask)))
            }
            (Kind::Rotate(cluster), [_, [_]]) => exchange(self.rotated(members, lanes, cluster, low_bits()?)),
            (Kind::ShuffleDownPair | Kind::ShuffleUpPair, [near, far, [delta]]) => {
                let delta = self.word(*delta);
                // Counted from the first of the two values.
                let index = match kind {
                    Kind::ShuffleDownPair => b.add(lanes, delta),
                    _ => b.sub(b.add(lanes, constant(members.width.into())), delta),
                };
                let is_near = self.below(index, members.width.into());
                let lane = b.and(index, constant(u64::from(members.width) - 1));
                let near = self.exchange(members, near, self.sources(members, lane));
                let far = self.exchange(members, far, self.sources(members, lane));
                let pairs = near.into_iter().zip(far);
                pairs.map(|(near, far)| b.select(is_near, near, far)).collect()
            }
            (Kind::BlockRead, [[pointer]]) => {
                let components = 0..u64::from(result.lanes);
                let read =
                    components.map(|component| self.read_block(members, *pointer, component, result.scalar));
                read.collect()
            }
            (Kind::BlockWrite, [[pointer], values]) => {
                for (component, value) in (0..).zip(*values) {
                    self.write_block(members, *pointer, component, *value);
                }
                Vec::new()
            }
            _ => return None,
        })
    }

    pub(super) fn lane_numbers(&self, width: u32) -> Value<'m> {
        let b = self.builder;
        let numbers: Vec<_> = (0..width).map(|lane| b.integer(b.int(32), lane.into())).collect();
        b.constants(&numbers)
    }

    /// The low 32 bits of an integer.
    fn word(&self, value: Value<'m>) -> Value<'m> {
        self.builder.zext_or_trunc(value, self.like(value, Scalar::I32))
    }

    /// An unsigned integer in 32 bits; what is beyond every lane stays so, also added to or subtracted from one.
    fn number(&self, value: Value<'m>) -> Value<'m> {
        let b = self.builder;
        if value.ty().bits() < 32 {
            return self.word(value);
        }
        let bound = b.integer(value.ty(), 1 << 30);
        self.word(b.intrinsic("llvm.umin", &[value.ty()], &[value, bound]))
    }

    /// A truth, if it is a member's.
    fn among(&self, members: &Members<'m>, value: Value<'m>) -> Value<'m> {
        let b = self.builder;
        match members.mask {
            Some(mask) => b.select(mask, value, b.zero(value.ty())),
            None => value,
        }
    }

    fn all(&self, members: &Members<'m>, value: Value<'m>) -> Value<'m> {
        let b = self.builder;
        // By those for whom it fails, among whom lanes that take no part, as zeros, are not.
        let fails = b.mask_bits(self.among(members, b.not(value)));
        b.icmp(IntPredicate::LLVMIntEQ, fails, b.zero(fails.ty()))
    }

    /// The lowest member's number, as a scalar of 32 bits.
    fn first(&self, members: &Members<'m>) -> Value<'m> {
        let b = self.builder;
        let Some(mask) = members.mask else {
            return b.zero(b.int(32));
        };
        let bits = b.zext_or_trunc(b.mask_bits(mask), b.int(64));
        let first = b.intrinsic("llvm.cttz", &[b.int(64)], &[bits, b.truth(None, false)]);
        // Where nobody takes part the result is nobody's.
        let first = b.and(first, b.integer(b.int(64), u64::from(members.width) - 1));
        b.zext_or_trunc(first, b.int(32))
    }

    /// The value of the lowest member, a scalar.
    fn of_first(&self, members: &Members<'m>, value: Value<'m>) -> Value<'m> {
        match members.mask {
            Some(_) => self.builder.extract_at(value, self.first(members)),
            None => self.builder.extract(value, 0),
        }
    }

    /// Whether numbers or integers are equal, as [`arithmetic::equality`] has it.
    pub(crate) fn is_equal(&self, one: Value<'m>, two: Value<'m>) -> Value<'m> {
        match one.ty().is_float() {
            true => self.builder.fcmp(RealPredicate::LLVMRealOEQ, one, two),
            false => self.builder.icmp(IntPredicate::LLVMIntEQ, one, two),
        }
    }

    /// What changes nothing that it is combined with.
    pub(crate) fn neutral(&self, reduction: Reduction, value: Value<'m>) -> Option<Value<'m>> {
        let Reduction { op, scalar } = reduction;
        let word = match (op, Format::of(scalar)) {
            // A zero with a sign: one without, added to -0, would make it +0. And of a number and NaN, the
            // least and the greatest are the number.
            (Op::FAdd, Some(format)) => format.sign(),
            (Op::GroupFMin | Op::GroupFMax, Some(format)) => format.quiet_nan(),
            _ => arithmetic::identity(op, scalar)?,
        };
        Some(self.builder.word(value.ty(), word))
    }

    /// The value where a lane takes part, and what is neutral elsewhere.
    fn padded(&self, members: &Members<'m>, reduction: Reduction, value: Value<'m>) -> Option<Value<'m>> {
        match members.mask {
            Some(mask) => Some(self.builder.select(mask, value, self.neutral(reduction, value)?)),
            None => Some(value),
        }
    }

    pub(crate) fn combine(&self, reduction: Reduction, x: Value<'m>, y: Value<'m>) -> Option<Value<'m>> {
        self.elementwise(reduction.op, &Attributes::default(), &[x, y], reduction.scalar)
    }

    /// Halves are combined until one lane is left.
    fn reduce(&self, members: &Members<'m>, reduction: Reduction, value: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        let mut value = self.padded(members, reduction, value)?;
        let mut width = members.width;
        while width > 1 {
            width /= 2;
            let half = |from: u32| {
                let lanes: Vec<_> = (from..from + width).map(Some).collect();
                b.shuffle(value, value, &lanes)
            };
            value = self.combine(reduction, half(0), half(width))?;
        }
        Some(b.extract(value, 0))
    }

    /// Each lane is combined with the one whose number differs in one bit, bit after bit.
    fn reduce_clusters(
        &self,
        members: &Members<'m>,
        reduction: Reduction,
        size: u32,
        value: Value<'m>,
    ) -> Option<Value<'m>> {
        let mut value = self.padded(members, reduction, value)?;
        let mut bit = 1;
        while bit < size {
            let lanes: Vec<_> = (0..members.width).map(|lane| Some(lane ^ bit)).collect();
            let other = self.builder.shuffle(value, value, &lanes);
            value = self.combine(reduction, value, other)?;
            bit *= 2;
        }
        Some(value)
    }

    /// The lanes moved up; below them come those of another value.
    fn moved_up(&self, value: Value<'m>, by: u32, below: Value<'m>) -> Value<'m> {
        let width = value.ty().width().unwrap_or(1);
        let lanes: Vec<_> = (0..width).map(|lane| Some(width + lane - by)).collect();
        self.builder.shuffle(below, value, &lanes)
    }

    fn scan(&self, members: &Members<'m>, reduction: Reduction, value: Value<'m>) -> Option<Value<'m>> {
        let neutral = self.neutral(reduction, value)?;
        let mut value = self.padded(members, reduction, value)?;
        let mut by = 1;
        while by < members.width {
            value = self.combine(reduction, self.moved_up(value, by, neutral), value)?;
            by *= 2;
        }
        Some(value)
    }

    fn exclusive_scan(
        &self,
        members: &Members<'m>,
        reduction: Reduction,
        value: Value<'m>,
    ) -> Option<Value<'m>> {
        let b = self.builder;
        let identity = arithmetic::identity(reduction.op, reduction.scalar)?;
        let identity = b.word(value.ty(), identity);
        let scanned = self.moved_up(self.scan(members, reduction, value)?, 1, identity);
        if members.mask.is_none() {
            return Some(scanned);
        }
        // What is neutral is not always what a scan begins with.
        let first = b.broadcast(self.first(members), Some(members.width));
        let is_first = b.icmp(IntPredicate::LLVMIntULE, self.lane_numbers(members.width), first);
        Some(b.select(is_first, identity, scanned))
    }

    /// The lanes that values are taken from, where they take part.
    fn sources(&self, members: &Members<'m>, lanes: Value<'m>) -> Sources<'m> {
        let b = self.builder;
        let inside = self.below(lanes, members.width.into());
        // Cut to a lane that there is: what is taken from beyond the last is poison.
        let lanes = b.and(lanes, b.integer(lanes.ty(), u64::from(members.width) - 1));
        let Some(mask) = members.mask else {
            return Sources { lanes, exist: inside };
        };
        let long = self.like(lanes, Scalar::I64);
        let bits = b.zext_or_trunc(b.mask_bits(mask), b.int(64));
        let bits = b.broadcast(bits, Some(members.width));
        let bit = b.lshr(bits, b.zext_or_trunc(lanes, long));
        let takes_part = b.cast(Opcode::LLVMTrunc, bit, mask.ty());
        Sources {
            lanes,
            exist: b.and(inside, takes_part),
        }
    }

    /// Each lane's value from another lane, or its own.
    fn exchange(&self, members: &Members<'m>, values: &[Value<'m>], sources: Sources<'m>) -> Vec<Value<'m>> {
        let b = self.builder;
        let take = |value: &Value<'m>| {
            let taken = match sources.lanes.as_integers() {
                Some(lanes) => {
                    let lanes: Vec<_> = lanes.into_iter().map(|lane| u32::try_from(lane).ok()).collect();
                    b.shuffle(*value, *value, &lanes)
                }
                // Processors have an instruction for it, which LLVM finds.
                None => (0..members.width).fold(b.poison(value.ty()), |all, lane| {
                    let from = b.extract(sources.lanes, lane);
                    b.insert(all, b.extract_at(*value, from), lane)
                }),
            };
            b.select(sources.exist, taken, *value)
        };
        values.iter().map(take).collect()
    }

    /// The lanes so many further on in clusters of that size; 0 for all that take part.
    fn rotated(&self, members: &Members<'m>, lanes: Value<'m>, cluster: u32, delta: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let size = match (cluster, members.mask) {
            (0, Some(mask)) => {
                let bits = b.zext_or_trunc(b.mask_bits(mask), b.int(64));
                let count = b.intrinsic("llvm.ctpop", &[b.int(64)], &[bits]);
                b.broadcast(b.zext_or_trunc(count, b.int(32)), Some(members.width))
            }
            (0, None) => b.integer(lanes.ty(), members.width.into()),
            _ => b.integer(lanes.ty(), cluster.into()),
        };
        let place = self.remainder(lanes, size, false);
        let start = b.sub(lanes, place);
        b.add(start, self.remainder(b.add(place, delta), size, false))
    }

    /// Where a component of a block is, and how it is aligned.
    fn block_place(
        &self,
        members: &Members<'m>,
        pointer: Value<'m>,
        component: u64,
        scalar: Scalar,
    ) -> (Value<'m>, u32) {
        let b = self.builder;
        let size = scalar_size(scalar);
        // All give the same pointer: the standard asks for that.
        let base = self.of_first(members, pointer);
        let base = match base.ty().is_pointer() {
            true => base,
            false => b.cast(Opcode::LLVMIntToPtr, base, b.pointer()),
        };
        let offset = b.integer(b.int(64), component * u64::from(members.width) * size);
        (b.offset(base, offset), size as u32)
    }

    fn read_block(
        &self,
        members: &Members<'m>,
        pointer: Value<'m>,
        component: u64,
        scalar: Scalar,
    ) -> Value<'m> {
        let b = self.builder;
        let (place, align) = self.block_place(members, pointer, component, scalar);
        let ty = b.scalar(scalar).vector(Some(members.width));
        match members.mask {
            Some(mask) => b.masked_load(place, align, mask, b.zero(ty)),
            None => b.load(ty, place, align),
        }
    }

    fn write_block(&self, members: &Members<'m>, pointer: Value<'m>, component: u64, value: Value<'m>) {
        let b = self.builder;
        let (place, align) = self.block_place(members, pointer, component, value.ty().scalar());
        match members.mask {
            Some(mask) => b.masked_store(value, place, align, mask),
            None => _ = b.store(value, place, align),
        }
    }
}
