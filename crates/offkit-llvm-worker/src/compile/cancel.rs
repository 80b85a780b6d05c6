//! Launches that are to end before their work is done: code looks whether it is to go on, before each work-group and in loops
//! of which nobody knows how often they go round.

use llvm_sys::LLVMAtomicOrdering;
use llvm_sys::LLVMIntPredicate as IntPredicate;
use llvm_sys::core::LLVMSetOrdering;
use offkit_compile::Region;
use offkit_kernel::ir::BlockId;

use super::builder::{Block, Value};
use super::kernel::Emitter;

/// Where a function goes whose launch is to end.
pub(super) struct Cancel<'m> {
    block: Block<'m>,
    /// The number of the work-group that it is at.
    group: Value<'m>,
}

impl<'m> Emitter<'_, 'm> {
    /// At a work-group: leaves if the launch is given up.
    pub(super) fn begin_looks(&mut self, group: Value<'m>) {
        let block = self.b.block(self.function, "cancelled");
        self.cancel = Some(Cancel { block, group });
        if let Some(launch) = &self.launch {
            let is_over = self.is_set(launch.cancel);
            self.leave_if(is_over);
        }
    }

    /// On the way back to the head of a loop: leaves if the launch is given up or has failed, unless the loop comes to its
    /// end by itself.
    ///
    /// What goes round through the entry of a region is another loop there than in the whole kernel.
    pub(super) fn look_before(&mut self, head: BlockId, region: &Region) {
        if head == region.entry || !self.plan.is_counted(head) {
            self.look_for_end();
        }
    }

    pub(super) fn look_for_end(&mut self) {
        if let Some(launch) = &self.launch {
            let mut is_over = self.flag(launch.cancel);
            // With checks, groups before the one that has failed are gone through, for one of them may fail too.
            if !self.plan.variant.check_bounds {
                is_over = self.b.or(is_over, self.flag(launch.stop));
            }
            let is_over = self
                .b
                .icmp(IntPredicate::LLVMIntNE, is_over, self.b.zero(is_over.ty()));
            self.leave_if(is_over);
        }
    }

    /// Writes what is done by those who leave.
    pub(super) fn end_looks(&mut self) {
        let b = self.b;
        let Some(Cancel { block, group }) = self.cancel.take() else {
            return;
        };
        b.at_end(block);
        let function = self.external("cancelled");
        let ty = b.function_type(b.void(), &[b.pointer(), b.int(64)]);
        b.call(ty, function, &[b.parameter(self.function, 0), group]);
        b.return_void();
    }

    /// A flag that other threads set, as it is now.
    fn flag(&self, place: Value<'m>) -> Value<'m> {
        let flag = self.b.load(self.b.int(8), place, 1);
        // Atomic, or LLVM would read it once in front of a loop. Without an order, as nothing else
        // is read by it: who sees it late goes round once more.
        // SAFETY: a load.
        unsafe { LLVMSetOrdering(flag.as_raw(), LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic) };
        flag
    }

    fn is_set(&self, place: Value<'m>) -> Value<'m> {
        let flag = self.flag(place);
        self.b.icmp(IntPredicate::LLVMIntNE, flag, self.b.zero(flag.ty()))
    }

    fn leave_if(&self, is_over: Value<'m>) {
        let Some(cancel) = &self.cancel else { return };
        let b = self.b;
        let on = b.block(self.function, "on");
        b.branch(is_over, cancel.block, on);
        b.at_end(on);
    }
}
