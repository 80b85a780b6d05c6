//! What each work-item of a group takes from others: all leave their values in local memory.

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::ir::{Attributes, CollectiveKind as Kind, Operand, Operation, Reduction, arithmetic};
use offkit_spirv::grammar::{BuiltIn, Op};

use super::Lowering;

/// Bits of a ballot.
// SPIR-V's ballots are four words of 32 bits: work-items beyond have no bit.
const BALLOT: u64 = 128;

impl Lowering<'_> {
    /// Whether this is the first work-item.
    pub(super) fn elect(&mut self) -> Option<Operand> {
        let (wide, bool) = (self.wide()?, self.truth()?);
        let own = self.input(BuiltIn::LocalInvocationIndex, 1)?;
        let zero = self.number(wide, 0);
        Some(self.elementwise(bool, Op::IEqual, vec![own, zero]))
    }

    pub(super) fn all_equal(&mut self, value: Operand) -> Option<Operand> {
        let is_first = self.elect()?;
        let first = self.broadcast_from(value, is_first)?;
        let same = self.is_same(value, first)?;
        self.reduce(Kind::All, Op::LogicalAnd, same)
    }

    /// Whether all scalars of two values are equal.
    fn is_same(&mut self, a: Operand, b: Operand) -> Option<Operand> {
        let bool = self.truth()?;
        let scalar = self.body.module.types.scalar(self.body.kind(a))?;
        let part = self.body.scalar_kind(scalar)?;
        let mut all: Option<Operand> = None;
        for lane in 0..self.body.lanes(a) {
            let [a, b] = [a, b].map(|value| self.emit().value(part, Operation::Extract(lane), vec![value]));
            let same = self.elementwise(bool, arithmetic::equality(scalar), vec![a, b]);
            all = Some(match all {
                Some(all) => self.elementwise(bool, Op::LogicalAnd, vec![all, same]),
                None => same,
            });
        }
        all
    }

    /// Four words with a bit of each work-item.
    pub(super) fn ballot(&mut self, predicate: Operand) -> Option<Operand> {
        let (wide, bool) = (self.wide()?, self.truth()?);
        let word = self.body.scalar_kind(Scalar::I32)?;
        let four = self.body.vector_kind(Scalar::I32, 4)?;
        let own = self.input(BuiltIn::LocalInvocationIndex, 1)?;
        let narrow = Operation::Convert {
            kind: Conversion::Unsigned,
            saturate: false,
            rounding: None,
        };
        let lane = self.emit().value(word, narrow, vec![own]);
        let (one, last) = (self.number(word, 1), self.number(word, 31));
        let place = self.elementwise(word, Op::BitwiseAnd, vec![lane, last]);
        let bit = self.elementwise(word, Op::ShiftLeftLogical, vec![one, place]);
        let none = self.number(word, 0);
        let mut words = Vec::new();
        for first in (0..BALLOT).step_by(32) {
            let (low, high) = (self.number(wide, first), self.number(wide, first + 32));
            let reached = self.elementwise(bool, Op::UGreaterThanEqual, vec![own, low]);
            let below = self.elementwise(bool, Op::ULessThan, vec![own, high]);
            let here = self.elementwise(bool, Op::LogicalAnd, vec![reached, below]);
            let holds = self.elementwise(bool, Op::LogicalAnd, vec![here, predicate]);
            words.push(self.emit().value(word, Operation::Select, vec![holds, bit, none]));
        }
        let bits = self.emit().value(four, Operation::Construct, words);
        let reduction = Reduction {
            op: Op::BitwiseOr,
            scalar: Scalar::I32,
        };
        self.reduce(Kind::Reduce(reduction), Op::BitwiseOr, bits)
    }

    /// The value of another work-item, or its own where there is none with that number.
    pub(super) fn exchange(
        &mut self,
        kind: Kind,
        value: Operand,
        argument: Option<Operand>,
    ) -> Option<Operand> {
        let (wide, bool) = (self.wide()?, self.truth()?);
        let of = self.body.kind(value);
        let argument = match argument {
            Some(argument) => self.widened(argument, Conversion::Unsigned)?,
            None => self.number(wide, 0),
        };
        let own = self.input(BuiltIn::LocalInvocationIndex, 1)?;
        let count = self.group_size()?;
        let number = |lowering: &mut Self, number| lowering.number(wide, number);
        let source = match kind {
            Kind::Shuffle => argument,
            Kind::ShuffleXor => self.elementwise(wide, Op::BitwiseXor, vec![own, argument]),
            // Below the first wraps, which no work-item has.
            Kind::ShuffleUp => self.elementwise(wide, Op::ISub, vec![own, argument]),
            Kind::ShuffleDown => self.elementwise(wide, Op::IAdd, vec![own, argument]),
            Kind::QuadSwap(direction) => {
                // Horizontal, vertical, diagonal, in SPIR-V's order.
                let mask = number(self, [1, 2, 3][direction.min(2) as usize]);
                self.elementwise(wide, Op::BitwiseXor, vec![own, mask])
            }
            Kind::QuadBroadcast => {
                let (quad, place) = (number(self, !3), number(self, 3));
                let quad = self.elementwise(wide, Op::BitwiseAnd, vec![own, quad]);
                let place = self.elementwise(wide, Op::BitwiseAnd, vec![argument, place]);
                self.elementwise(wide, Op::BitwiseOr, vec![quad, place])
            }
            Kind::Rotate(cluster) => {
                let size = match cluster {
                    0 => count,
                    cluster => number(self, cluster.into()),
                };
                let place = self.elementwise(wide, Op::UMod, vec![own, size]);
                let start = self.elementwise(wide, Op::ISub, vec![own, place]);
                let moved = self.elementwise(wide, Op::IAdd, vec![place, argument]);
                let moved = self.elementwise(wide, Op::UMod, vec![moved, size]);
                self.elementwise(wide, Op::IAdd, vec![start, moved])
            }
            _ => return None,
        };
        let (room, stride) = self.leave(value, own)?;
        // The value of who isn't there is undefined in OpenCL, but the address has to be one in the array.
        let exists = self.elementwise(bool, Op::ULessThan, vec![source, count]);
        let source = self
            .emit()
            .value(wide, Operation::Select, vec![exists, source, own]);
        let address = self.place(room, source, stride);
        Some(self.emit().load(address, of, Attributes::default()))
    }

    /// Neighbours, as many as that, combine their values.
    pub(super) fn reduce_clusters(
        &mut self,
        reduction: Reduction,
        size: u32,
        value: Operand,
    ) -> Option<Operand> {
        let wide = self.wide()?;
        let kind = self.body.kind(value);
        let own = self.input(BuiltIn::LocalInvocationIndex, 1)?;
        let count = self.group_size()?;
        let (room, stride) = self.leave(value, own)?;
        let (size, one) = (self.number(wide, size.into()), self.number(wide, 1));
        let place = self.elementwise(wide, Op::UMod, vec![own, size]);
        let start = self.elementwise(wide, Op::ISub, vec![own, place]);
        let end = self.elementwise(wide, Op::IAdd, vec![start, size]);
        let bool = self.truth()?;
        // The last cluster has as many as are left: behind them nobody has left a value.
        let is_whole = self.elementwise(bool, Op::ULessThan, vec![end, count]);
        let end = self
            .emit()
            .value(wide, Operation::Select, vec![is_whole, end, count]);
        let address = self.place(room, start, stride);
        let first = self.emit().load(address, kind, Attributes::default());
        let second = self.elementwise(wide, Op::IAdd, vec![start, one]);
        self.combine_up_to(reduction.op, (room, stride), [second, end], first)
    }

    /// Leaves a value for the others, at the work-item's own number, and waits for theirs: their address, and the bytes from
    /// one to the next.
    fn leave(&mut self, value: Operand, own: Operand) -> Option<(Operand, u64)> {
        let (room, stride) = self.room(self.body.kind(value))?;
        // Values of the last time may still be read.
        self.barrier();
        let address = self.place(room, own, stride);
        self.emit().store(address, value, Attributes::default());
        self.barrier();
        Some((room, stride))
    }
}
