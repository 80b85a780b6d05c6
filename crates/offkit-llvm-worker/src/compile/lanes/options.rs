//! What the processor has, and what the kernel allows.

use offkit_compile::Arithmetic;
use offkit_image::target::{Family, HostCpu};

use crate::compile::math;

/// What decides between instructions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// Products and sums may be made one operation where an instruction doesn't forbid it.
    pub(crate) contract: bool,
    /// What else is allowed of all instructions.
    pub(crate) arithmetic: Arithmetic,
    /// There are instructions for conversions between half and single precision.
    pub(crate) half: bool,
    /// There is an instruction for a product and sum of half precision that rounds once.
    pub(crate) half_fma: bool,
    /// What else there is.
    pub(crate) processor: math::Processor,
}

impl Options {
    /// For a processor as LLVM names it, and features beside its own (`+fma,-avx512f`); no name and no triple is this
    /// machine's.
    pub(crate) fn of(triple: &str, processor: &str, features: &str, contract: bool) -> Self {
        let has = |feature: &str, level: u32| {
            // From the end, as the last word on a feature is the one that LLVM heeds.
            let told = features.split(',').rev().find_map(|told| {
                let (sign, name) = told.split_at_checked(1)?;
                (name == feature).then_some(sign == "+")
            });
            told.unwrap_or_else(|| match processor.strip_prefix("x86-64-v") {
                Some(version) => version.parse().is_ok_and(|version: u32| version >= level),
                None => triple.is_empty() && processor.is_empty() && is_here(feature),
            })
        };
        // No level has it.
        const NONE: u32 = u32::MAX;
        // Every AArch64 has both.
        let is_arm = match triple {
            "" => cfg!(target_arch = "aarch64"),
            triple => Family::of(triple) == Family::Host(HostCpu::Aarch64),
        };
        Self {
            contract,
            arithmetic: Arithmetic::default(),
            half: is_arm || has("f16c", 3),
            // ARM has one from v8.2 on, which the code here isn't told of.
            half_fma: has("avx512fp16", NONE),
            processor: math::Processor {
                fma: is_arm || has("fma", 3),
                avx512: has("avx512f", 4) && has("avx512vl", 4),
                nvidia: false,
            },
        }
    }
}

/// Whether this machine has a feature.
fn is_here(feature: &str) -> bool {
    #[cfg(target_arch = "x86_64")]
    return match feature {
        "f16c" => std::arch::is_x86_feature_detected!("f16c"),
        "fma" => std::arch::is_x86_feature_detected!("fma"),
        "avx512f" => std::arch::is_x86_feature_detected!("avx512f"),
        "avx512vl" => std::arch::is_x86_feature_detected!("avx512vl"),
        "avx512fp16" => std::arch::is_x86_feature_detected!("avx512fp16"),
        _ => false,
    };
    #[cfg(not(target_arch = "x86_64"))]
    {
        _ = feature;
        false
    }
}
