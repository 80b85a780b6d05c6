//! Accesses whose addresses only turn out to be side by side when the code runs: those of `in[i ^ distance]`, or of
//! `in[2 * i - (i & mask)]`. One look at them all is cheaper than an access for each.

use llvm_sys::LLVMIntPredicate as IntPredicate;
use offkit_compile::Shape;
use offkit_kernel::ir::{Leaf, Operand, scalar_size};
use offkit_llvm::Effort;

use super::builder::{Block, Value};
use super::kernel::Emitter;
use super::memory::{Access, dense};

/// A way for addresses that are side by side, one for others, and where both end.
struct Ways<'l, 'm> {
    /// The access from the first work-item's address on.
    together: Access<'l, 'm>,
    side_by_side: Block<'m>,
    apart: Block<'m>,
    end: Block<'m>,
}

impl<'m> Emitter<'_, 'm> {
    /// How far addresses are from each other if they are side by side, where that may be and is worth a look.
    pub(super) fn possible_stride(
        &self,
        pointer: Operand,
        leaves: &[Leaf],
        mask: Option<Value<'m>>,
    ) -> Option<i64> {
        // With full effort alone: two ways are more code, which a launch that waits would wait for.
        let (Operand::Value(value), Some(_), Effort::Full) = (pointer, self.width, self.effort) else {
            return None;
        };
        let is_varying = self.plan.shapes.word(value, 0) == Shape::Varying;
        // What work-items choose of their own arrays is seldom in one row of them all.
        let is_own = self.plan.interleaved.part(pointer).is_some();
        if is_own || !is_varying || !self.plan.shapes.is_from_ids(value) {
            return None;
        }
        let size = scalar_size(leaves.first()?.scalar);
        let stride = (size * leaves.len() as u64) as i64;
        // Only what is one access then: `store_words` weaves four parts at most, and none with a mask.
        let is_one = leaves.len() == 1 && leaves[0].offset == 0;
        let are_one = mask.is_none() && dense(leaves, stride).is_some_and(|count| count <= 4);
        (is_one || are_one).then_some(stride)
    }

    /// Loads from addresses that may be so far from each other.
    pub(super) fn load_perhaps_side_by_side(
        &mut self,
        access: Access<'_, 'm>,
        stride: i64,
    ) -> Vec<Value<'m>> {
        let b = self.b;
        let ways = self.look(access, stride);
        b.at_end(ways.side_by_side);
        let together = self.load_leaves(ways.together);
        let from_together = b.current();
        b.jump(ways.end);
        b.at_end(ways.apart);
        let apart = self.load_leaves(access);
        let from_apart = b.current();
        b.jump(ways.end);
        b.at_end(ways.end);
        let words = together.into_iter().zip(apart).map(|(together, apart)| {
            let word = b.phi(together.ty());
            b.incoming(word, together, from_together);
            b.incoming(word, apart, from_apart);
            word
        });
        words.collect()
    }

    /// Stores to addresses that may be so far from each other.
    pub(super) fn store_perhaps_side_by_side(
        &mut self,
        access: Access<'_, 'm>,
        stride: i64,
        words: &[(Value<'m>, Shape)],
    ) {
        let b = self.b;
        let ways = self.look(access, stride);
        b.at_end(ways.side_by_side);
        self.store_words(ways.together, words);
        b.jump(ways.end);
        b.at_end(ways.apart);
        self.store_words(access, words);
        b.jump(ways.end);
        b.at_end(ways.end);
    }

    /// Looks whether the addresses of those that take part are so far from each other.
    fn look<'l>(&self, access: Access<'l, 'm>, stride: i64) -> Ways<'l, 'm> {
        let b = self.b;
        let [side_by_side, apart, end] =
            ["side_by_side", "apart", "accessed"].map(|name| b.block(self.function, name));
        // The first may not take part: then it is where it would be, and nothing depends on what it is if it is nothing.
        let first = b.freeze(b.extract(access.place, 0));
        let expected = self.spread(first, Shape::Strided(stride));
        let differ = b.icmp(IntPredicate::LLVMIntNE, access.place, expected);
        // Chosen, so that an address that is nothing counts only where a work-item takes part.
        let differ = match access.mask {
            Some(mask) => b.select(mask, differ, b.truth(differ.ty().width(), false)),
            None => differ,
        };
        b.branch(b.freeze(self.any(differ)), apart, side_by_side);
        Ways {
            together: Access {
                place: first,
                shape: Shape::Strided(stride),
                ..access
            },
            side_by_side,
            apart,
            end,
        }
    }
}
