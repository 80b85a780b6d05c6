//! Questions about ballots: four words of 32 bits, a bit for each work-item of the sub-group.

use llvm_sys::{LLVMIntPredicate as IntPredicate, LLVMOpcode as Opcode};
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::BallotQuery;

use super::Lanes;
use crate::compile::builder::Value;

impl<'m> Lanes<'_, 'm> {
    /// The answer for each work-item of a sub-group, which are the lanes of a vector; a scalar is one of its own. The index
    /// is the query's second operand.
    pub(crate) fn ballot(
        &self,
        query: BallotQuery,
        ballot: &[Value<'m>],
        index: Option<Value<'m>>,
    ) -> Option<Value<'m>> {
        let b = self.builder;
        let low = ballot.first()?;
        let size = low.ty().width().unwrap_or(1);
        let lane = match low.ty().width() {
            Some(width) => self.lane_numbers(width),
            None => b.zero(b.int(32)),
        };
        let wide = self.like(*low, Scalar::I64);
        let lanes = b.integer(wide, u64::MAX >> (64 - size.clamp(1, 64)));
        self.ballot_of(query, ballot, index, (lane, lanes))
    }

    /// The same for work-items that know their lane, as 32 bits, and which lanes there may be, as 64 bits.
    pub(crate) fn ballot_of(
        &self,
        query: BallotQuery,
        ballot: &[Value<'m>],
        index: Option<Value<'m>>,
        (lane, lanes): (Value<'m>, Value<'m>),
    ) -> Option<Value<'m>> {
        let b = self.builder;
        let [low, high, ..] = ballot else { return None };
        if query == BallotQuery::Inverse {
            return self.bit(ballot, lane);
        }
        if query == BallotQuery::Bit {
            return self.bit(ballot, index?);
        }
        let (wide, narrow) = (self.like(*low, Scalar::I64), self.like(*low, Scalar::I32));
        let half = b.shl(b.zext_or_trunc(*high, wide), b.integer(wide, 32));
        let bits = b.or(b.zext_or_trunc(*low, wide), half);
        // OpenCL has bits beyond the sub-group's size ignored, whoever made the ballot.
        let members = b.and(bits, lanes);
        let below = |end: Value<'m>| {
            let ones = b.signed(wide, -1);
            b.and(members, b.not(self.shift(Opcode::LLVMShl, ones, end)))
        };
        let count = |bits| b.zext_or_trunc(b.intrinsic("llvm.ctpop", &[wide], &[bits]), narrow);
        let none = self.is(members, 0);
        // The intrinsics know zero as well.
        let no = b.truth(None, false);
        let zeros = |name| b.zext_or_trunc(b.intrinsic(name, &[wide], &[members, no]), narrow);
        Some(match query {
            BallotQuery::Count => count(members),
            BallotQuery::CountInclusive => count(below(b.add(lane, b.integer(lane.ty(), 1)))),
            BallotQuery::CountExclusive => count(below(lane)),
            BallotQuery::FindLow => b.select(none, b.integer(narrow, 127), zeros("llvm.cttz")),
            _ => b.select(
                none,
                b.zero(narrow),
                b.sub(b.integer(narrow, 63), zeros("llvm.ctlz")),
            ),
        })
    }

    /// The bit of that number, or the last beyond it.
    fn bit(&self, ballot: &[Value<'m>], number: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        let narrow = self.like(number, Scalar::I32);
        let last = b.integer(number.ty(), 127);
        let number = b.intrinsic("llvm.umin", &[number.ty()], &[number, last]);
        let number = b.zext_or_trunc(number, narrow);
        let word = self.pick(ballot, b.lshr(number, b.integer(narrow, 5)))?;
        let bit = b.lshr(word, b.and(number, b.integer(narrow, 31)));
        let bit = b.and(bit, b.integer(narrow, 1));
        Some(b.icmp(IntPredicate::LLVMIntNE, bit, b.zero(narrow)))
    }
}
