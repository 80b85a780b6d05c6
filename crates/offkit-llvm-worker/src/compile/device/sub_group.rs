//! What the work-items of a sub-group do together: each is a thread of one warp or wave.
//!
//! Who takes part is told by a mask, a bit for each: all that the sub-group has where the kernel promises that all come,
//! else those that are here now. Where that is the whole sub-group, which it nearly always is, values are combined in
//! five or six steps; else each member looks at the others in their order.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_kernel::ir::{
    BallotQuery, Collective, CollectiveKind as Kind, Instruction, Reduction, arithmetic,
};
use offkit_spirv::grammar::Scope;

use super::super::builder::Value;
use super::super::kernel::refuse;
use super::gpu::From;
use super::kernel::{Emitter, Result};

/// Whose values are combined with one's own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Range {
    /// Those of all in clusters of that size.
    Cluster(u32),
    /// Those before, and one's own.
    Inclusive,
    /// Those before.
    Exclusive,
}

impl<'m> Emitter<'_, '_, 'm> {
    /// A mask of those who take part.
    fn members(&self, is_uniform: bool) -> Value<'m> {
        let b = self.b;
        if !is_uniform {
            return self.gpu.active(b);
        }
        let missing = b.sub(self.word(64), self.sub_group_size());
        let mask = b.int(self.gpu.table().sub_group);
        b.zext_or_trunc(b.lshr(self.word(u64::MAX), missing), mask)
    }

    pub(super) fn together(
        &mut self,
        instruction: &Instruction,
        collective: Collective,
    ) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let mut operands = Vec::new();
        for operand in &instruction.operands {
            operands.push(self.operand(*operand)?);
        }
        let operands: Vec<&[Value<'m>]> = operands.iter().map(Vec::as_slice).collect();
        let members = self.members(collective.uniform);
        let size = self.gpu.table().sub_group;
        let first = operands.first().copied().unwrap_or_default();
        // Lanes beyond 32 bits don't exist.
        let argument = || match operands.get(1) {
            Some([number, ..]) => Ok(self.low(*number)),
            _ => refuse(format!("{:?} without a place", collective.kind)),
        };
        let take = |from: From<'m>| -> Vec<Value<'m>> {
            (first.iter())
                .map(|value| self.exchange(members, *value, from))
                .collect()
        };
        let lane = || self.gpu.lane(b);
        let kind = collective.kind;
        Ok(match kind {
            Kind::Barrier => {
                let meet = || self.gpu.sub_group_barrier(b, members);
                self.meet(&instruction.attributes, Scope::Subgroup, meet);
                Vec::new()
            }
            Kind::Reduce(reduction) => self.combined(members, reduction, Range::Cluster(size), first)?,
            Kind::ClusteredReduce(reduction, cluster) if cluster.is_power_of_two() => {
                let range = Range::Cluster(cluster.min(size));
                self.combined(members, reduction, range, first)?
            }
            Kind::InclusiveScan(reduction) => self.combined(members, reduction, Range::Inclusive, first)?,
            Kind::ExclusiveScan(reduction) => self.combined(members, reduction, Range::Exclusive, first)?,
            Kind::Any => vec![self.is_nonzero(self.gpu.vote(b, members, first[0]))],
            Kind::All => vec![self.all(members, first[0])],
            Kind::AllEqual => {
                let others = take(From::Same(self.lowest(members)));
                let mut equal = b.truth(None, true);
                for (own, other) in first.iter().zip(others) {
                    equal = b.and(equal, self.lanes.is_equal(*own, other));
                }
                vec![self.all(members, equal)]
            }
            Kind::Elect => vec![b.icmp(IntPredicate::LLVMIntEQ, lane(), self.lowest(members))],
            Kind::Ballot => {
                let bits = b.zext_or_trunc(self.gpu.vote(b, members, first[0]), b.int(64));
                let [low, high] =
                    [bits, b.lshr(bits, self.word(32))].map(|bits| b.zext_or_trunc(bits, b.int(32)));
                vec![low, high, self.short(0), self.short(0)]
            }
            Kind::Broadcast => take(From::Same(argument()?)),
            Kind::Shuffle => take(From::Lane(argument()?)),
            Kind::BroadcastFirst => take(From::Same(self.lowest(members))),
            Kind::ShuffleXor => take(From::Xor(argument()?)),
            Kind::ShuffleUp => take(From::Below(argument()?)),
            Kind::ShuffleDown => take(From::Above(argument()?)),
            Kind::QuadBroadcast => {
                let quad = b.and(lane(), b.signed(b.int(32), !3));
                take(From::Lane(b.or(quad, b.and(argument()?, self.short(3)))))
            }
            Kind::QuadSwap(direction) => {
                // Sideways, down, and across: a quad has its four lanes in two rows.
                let mask = [1, 2, 3][direction.min(2) as usize];
                take(From::Xor(self.short(mask)))
            }
            Kind::Rotate(cluster) => {
                let cluster = match cluster {
                    // All that take part.
                    0 => {
                        let count = b.intrinsic("llvm.ctpop", &[members.ty()], &[members]);
                        b.zext_or_trunc(count, b.int(32))
                    }
                    cluster => self.short(cluster.into()),
                };
                let rest = |value: Value<'m>| b.binary(Opcode::LLVMURem, value, cluster);
                let place = rest(lane());
                let start = b.sub(lane(), place);
                take(From::Lane(b.add(start, rest(b.add(place, rest(argument()?))))))
            }
            Kind::ShuffleDownPair | Kind::ShuffleUpPair => {
                let [near, far, [delta]] = operands.as_slice() else {
                    return refuse(format!("{kind:?} without a place"));
                };
                let (delta, count) = (self.low(*delta), self.short(size.into()));
                // Counted from the first of the two values.
                let index = match kind {
                    Kind::ShuffleDownPair => b.add(lane(), delta),
                    _ => b.sub(b.add(lane(), count), delta),
                };
                let is_near = b.icmp(IntPredicate::LLVMIntULT, index, count);
                let from = From::Lane(b.and(index, self.short(u64::from(size) - 1)));
                let pairs = near.iter().zip(far.iter()).map(|(near, far)| {
                    let [near, far] = [near, far].map(|value| self.exchange(members, *value, from));
                    b.select(is_near, near, far)
                });
                pairs.collect()
            }
            kind => return refuse(format!("{kind:?} of a sub-group")),
        })
    }

    /// A question about a ballot of the sub-group's work-items.
    pub(super) fn ballot(&mut self, instruction: &Instruction, query: BallotQuery) -> Result<Vec<Value<'m>>> {
        let b = self.b;
        let ballot = self.operand(instruction.operands[0])?;
        let index = match instruction.operands.get(1) {
            Some(index) => Some(self.operand(*index)?[0]),
            None => None,
        };
        let missing = b.sub(self.word(64), self.sub_group_size());
        let lanes = b.lshr(self.word(u64::MAX), missing);
        let lane = self.gpu.lane(b);
        match self.lanes.ballot_of(query, &ballot, index, (lane, lanes)) {
            Some(answer) => Ok(vec![answer]),
            None => refuse(format!("{query:?} of a ballot")),
        }
    }

    /// The low 32 bits of an integer; what is beyond every lane stays so.
    fn low(&self, value: Value<'m>) -> Value<'m> {
        let b = self.b;
        let narrow = b.int(32);
        if value.ty().bits() <= 32 {
            return b.zext_or_trunc(value, narrow);
        }
        let most = b.integer(value.ty(), u32::MAX.into());
        b.zext_or_trunc(b.intrinsic("llvm.umin", &[value.ty()], &[value, most]), narrow)
    }

    fn is_nonzero(&self, bits: Value<'m>) -> Value<'m> {
        self.b.icmp(IntPredicate::LLVMIntNE, bits, self.b.zero(bits.ty()))
    }

    fn all(&self, members: Value<'m>, condition: Value<'m>) -> Value<'m> {
        let b = self.b;
        let fails = self.gpu.vote(b, members, b.not(condition));
        b.icmp(IntPredicate::LLVMIntEQ, fails, b.zero(fails.ty()))
    }

    /// The lane of the first in a mask that isn't empty.
    fn lowest(&self, mask: Value<'m>) -> Value<'m> {
        let b = self.b;
        let lane = b.intrinsic("llvm.cttz", &[mask.ty()], &[mask, b.truth(None, false)]);
        b.zext_or_trunc(lane, b.int(32))
    }

    /// The bits of a word, as an integer.
    fn bits(&self, value: Value<'m>) -> Value<'m> {
        let b = self.b;
        let ty = value.ty();
        match ty.is_pointer() {
            true => self.coerce(value, b.int(64)),
            false => b.bit_cast(value, b.int(ty.bits())),
        }
    }

    /// The word of another member, of any type.
    fn exchange(&self, members: Value<'m>, value: Value<'m>, from: From<'m>) -> Value<'m> {
        let b = self.b;
        let (ty, bits) = (value.ty(), self.bits(value));
        let narrow = b.int(32);
        let take = |word: Value<'m>| self.gpu.exchange(b, members, word, from);
        let taken = match bits.ty().bits() {
            // Shuffles of GPUs move 32 bits at a time.
            64 => {
                let [low, high] = [bits, b.lshr(bits, self.word(32))];
                let [low, high] = [low, high].map(|word| {
                    let taken = take(b.zext_or_trunc(word, narrow));
                    b.zext_or_trunc(taken, b.int(64))
                });
                b.or(low, b.shl(high, self.word(32)))
            }
            _ => b.zext_or_trunc(take(b.zext_or_trunc(bits, narrow)), bits.ty()),
        };
        match ty.is_pointer() {
            true => self.coerce(taken, ty),
            false => b.bit_cast(taken, ty),
        }
    }

    /// Values combined with those of others.
    fn combined(
        &self,
        members: Value<'m>,
        reduction: Reduction,
        range: Range,
        values: &[Value<'m>],
    ) -> Result<Vec<Value<'m>>> {
        let combine = |value: &Value<'m>| {
            let combined = self.combine_one(members, reduction, range, *value);
            combined.map_or_else(|| refuse(format!("{:?} of a sub-group", reduction.op)), Ok)
        };
        values.iter().map(combine).collect()
    }

    fn combine_one(
        &self,
        members: Value<'m>,
        reduction: Reduction,
        range: Range,
        value: Value<'m>,
    ) -> Option<Value<'m>> {
        let b = self.b;
        let everybody = b.integer(members.ty(), u64::MAX);
        // Known where the kernel demands a size of groups that sub-groups fill.
        if members == everybody {
            return self.combine_steps(members, reduction, range, value);
        }
        let whole = b.block(self.function, "sub_group.whole");
        let part = b.block(self.function, "sub_group.part");
        let done = b.block(self.function, "sub_group.done");
        b.branch(b.icmp(IntPredicate::LLVMIntEQ, members, everybody), whole, part);
        b.at_end(whole);
        let quick = self.combine_steps(everybody, reduction, range, value)?;
        let whole = b.current();
        b.jump(done);
        b.at_end(part);
        let slow = self.combine_in_turn(members, reduction, range, value)?;
        let part = b.current();
        b.jump(done);
        b.at_end(done);
        let result = b.phi(value.ty());
        b.incoming(result, quick, whole);
        b.incoming(result, slow, part);
        Some(result)
    }

    /// Where the whole sub-group takes part: by distances that double.
    fn combine_steps(
        &self,
        members: Value<'m>,
        reduction: Reduction,
        range: Range,
        value: Value<'m>,
    ) -> Option<Value<'m>> {
        let b = self.b;
        let mut all = value;
        let mut distance = 1;
        if let Range::Cluster(size) = range {
            while distance < size {
                let other = self.exchange(members, all, From::Xor(self.short(distance.into())));
                all = self.lanes.combine(reduction, all, other)?;
                distance *= 2;
            }
            return Some(all);
        }
        let lane = self.gpu.lane(b);
        while distance < self.gpu.table().sub_group {
            let by = self.short(distance.into());
            let other = self.exchange(members, all, From::Below(by));
            let sum = self.lanes.combine(reduction, other, all)?;
            // The first lanes have nobody so far below: they got their own value, or anybody's.
            all = b.select(b.icmp(IntPredicate::LLVMIntUGE, lane, by), sum, all);
            distance *= 2;
        }
        if range == Range::Inclusive {
            return Some(all);
        }
        let identity = b.word(value.ty(), arithmetic::identity(reduction.op, reduction.scalar)?);
        let before = self.exchange(members, all, From::Below(self.short(1)));
        let is_first = b.icmp(IntPredicate::LLVMIntEQ, lane, self.short(0));
        Some(b.select(is_first, identity, before))
    }

    /// For any members: one after the other tells its value.
    fn combine_in_turn(
        &self,
        members: Value<'m>,
        reduction: Reduction,
        range: Range,
        value: Value<'m>,
    ) -> Option<Value<'m>> {
        let b = self.b;
        let neutral = self.lanes.neutral(reduction, value)?;
        let lane = self.gpu.lane(b);
        let (head, body) = (
            b.block(self.function, "sub_group.next"),
            b.block(self.function, "sub_group.turn"),
        );
        let done = b.block(self.function, "sub_group.last");
        let before = b.current();
        b.jump(head);
        b.at_end(head);
        // The same for all members: they go round together, so that all are there at each exchange.
        let left = b.phi(members.ty());
        let all = b.phi(value.ty());
        b.incoming(left, members, before);
        b.incoming(all, neutral, before);
        b.branch(self.is_nonzero(left), body, done);
        b.at_end(body);
        let turn = self.lowest(left);
        let other = self.exchange(members, value, From::Same(turn));
        let counts = match range {
            Range::Inclusive => b.icmp(IntPredicate::LLVMIntULE, turn, lane),
            Range::Exclusive => b.icmp(IntPredicate::LLVMIntULT, turn, lane),
            Range::Cluster(size) => {
                let start = b.signed(b.int(32), -i64::from(size));
                b.icmp(IntPredicate::LLVMIntEQ, b.and(turn, start), b.and(lane, start))
            }
        };
        let sum = self.lanes.combine(reduction, all, other)?;
        b.incoming(all, b.select(counts, sum, all), b.current());
        // Without the lowest, whose turn it was.
        let rest = b.and(left, b.sub(left, b.integer(left.ty(), 1)));
        b.incoming(left, rest, b.current());
        b.jump(head);
        b.at_end(done);
        if range != Range::Exclusive {
            return Some(all);
        }
        // What is neutral is not always what a scan begins with.
        let identity = b.word(value.ty(), arithmetic::identity(reduction.op, reduction.scalar)?);
        let is_first = b.icmp(IntPredicate::LLVMIntEQ, lane, self.lowest(members));
        Some(b.select(is_first, identity, all))
    }
}
