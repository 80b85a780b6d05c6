//! Reciprocal square roots: by an estimate that steps make exact, where AVX-512 has one; both a root and a division take
//! several times as long.

use llvm_sys::LLVMRealPredicate as RealPredicate;

use super::Lanes;
use crate::compile::builder::Value;

impl<'m> Lanes<'_, 'm> {
    /// Within one unit in the last place.
    pub(super) fn reciprocal_root(&self, x: Value<'m>) -> Value<'m> {
        let b = self.builder;
        let ty = x.ty();
        let number = |value| b.float(ty, value);
        let estimate = match self.options.processor.avx512 {
            true => self.estimated_root(x),
            false => None,
        };
        let Some(estimate) = estimate else {
            return b.fdiv(number(1.0), b.intrinsic("llvm.sqrt", &[ty], &[x]));
        };
        let fused = |x, y, z| b.intrinsic("llvm.fma", &[ty], &[x, y, z]);
        let (mut root, mut error) = (estimate, estimate);
        // Of 14 bits, each step makes twice as many.
        let steps = if ty.bits() == 32 { 1 } else { 2 };
        for _ in 0..steps {
            error = fused(b.fneg(b.fmul(x, root)), root, number(1.0));
            root = fused(b.fmul(root, number(0.5)), error, root);
        }
        // Of zero and infinity the estimate is exact, and the error is no number.
        let is_known = b.fcmp(RealPredicate::LLVMRealORD, error, error);
        b.select(is_known, root, estimate)
    }

    /// The instruction's result; `None` where vectors are shorter than it takes them.
    fn estimated_root(&self, x: Value<'m>) -> Option<Value<'m>> {
        let b = self.builder;
        let ty = x.ty();
        let width = ty.width()?;
        let bits = width * ty.bits();
        if bits > 512 {
            let [low, high] = b.halves(x);
            return Some(b.joined([self.estimated_root(low)?, self.estimated_root(high)?]));
        }
        if !matches!(bits, 128 | 256 | 512) {
            return None;
        }
        let kind = if ty.bits() == 32 { "ps" } else { "pd" };
        // The intrinsics of two and four lanes take a mask of eight bits as well.
        let all = b.signed(b.int(width.max(8)), -1);
        let name = format!("llvm.x86.avx512.rsqrt14.{kind}.{bits}");
        Some(b.intrinsic(&name, &[], &[x, b.zero(ty), all]))
    }
}
