//! Single precision by the approximate instructions of NVIDIA's GPUs, where OpenCL leaves the error open, or bounds it by no
//! less than the instruction's own.

use offkit_kernel::builtins::Scalar;
use offkit_spirv::grammar::OpenclStd100Op as Op;

use super::Lanes;
use crate::compile::builder::Value;

impl<'m> Lanes<'_, 'm> {
    /// The errors of `native_` functions are the implementation's choice, and `rsqrt` may be off by two units in the last
    /// place. `half_` functions stay as they are: for angles far from zero these instructions are not exact enough.
    pub(super) fn approximate(&self, op: Op, words: &[Value<'m>]) -> Option<Value<'m>> {
        let b = self.builder;
        let ty = words.first()?.ty();
        if !self.options.processor.nvidia || ty.scalar() != Scalar::F32 || ty.width().is_some() {
            return None;
        }
        let number = |value| b.float(ty, value);
        let call = |name: &str, words: &[Value<'m>]| b.intrinsic(&format!("llvm.nvvm.{name}"), &[], words);
        let exp2 = |x| b.intrinsic("llvm.nvvm.ex2.approx", &[ty], &[x]);
        let log2 = |x| call("lg2.approx.f", &[x]);
        Some(match (op, words) {
            (Op::native_exp, [x]) => exp2(b.fmul(*x, number(std::f64::consts::LOG2_E))),
            (Op::native_exp2, [x]) => exp2(*x),
            (Op::native_exp10, [x]) => exp2(b.fmul(*x, number(std::f64::consts::LOG2_10))),
            (Op::native_log, [x]) => b.fmul(log2(*x), number(std::f64::consts::LN_2)),
            (Op::native_log2, [x]) => log2(*x),
            (Op::native_log10, [x]) => b.fmul(log2(*x), number(std::f64::consts::LOG10_2)),
            // Of a negative base the logarithm is NaN, which is what `powr` gives.
            (Op::native_powr, [x, y]) => exp2(b.fmul(*y, log2(*x))),
            (Op::native_sin, [_]) => call("sin.approx.f", words),
            (Op::native_cos, [_]) => call("cos.approx.f", words),
            (Op::native_tan, [_]) => {
                let quotient = [call("sin.approx.f", words), call("cos.approx.f", words)];
                call("div.approx.f", &quotient)
            }
            // LLVM has it only for what takes subnormal numbers for zero.
            (Op::native_recip, [_]) => call("rcp.approx.ftz.f", words),
            (Op::native_divide, [_, _]) => call("div.approx.f", words),
            (Op::native_sqrt, [_]) => call("sqrt.approx.f", words),
            (Op::rsqrt | Op::half_rsqrt | Op::native_rsqrt, [_]) => call("rsqrt.approx.f", words),
            _ => return None,
        })
    }
}
