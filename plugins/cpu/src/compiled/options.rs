//! What the options that a program is built with mean for its kernels.

use offkit_compile::{Arithmetic, Variant};

use crate::sync::OnceLock;

/// The environment variable that has compiled kernels check their accesses if it is 1.
pub const CHECK_BOUNDS_VARIABLE: &str = "OFFKIT_CPU_CHECK_BOUNDS";

/// The build option that has the compiled kernels of a program check their accesses.
pub const CHECK_BOUNDS_OPTION: &str = "-offkit-check-bounds";

/// The signs of zeros don't matter.
const NO_SIGNED_ZEROS: &str = "-cl-no-signed-zeros";

/// Sums, products and quotients are computed as real numbers would be.
const UNSAFE_MATH: &str = "-cl-unsafe-math-optimizations";

/// The same; and nothing is infinite or no number, of which no use is made.
const FAST_MATH: &str = "-cl-fast-relaxed-math";

/// Quotients of single precision are the nearest numbers.
const EXACT_QUOTIENTS: &str = "-cl-fp32-correctly-rounded-divide-sqrt";

/// Code is made with few passes.
const NOT_OPTIMIZED: &str = "-cl-opt-disable";

/// The options that make another code of the same kernels. A licence for them holds where a program is linked if all parts
/// have it; anything else if one has it.
const OPTIONS: [(&str, bool); 6] = [
    (CHECK_BOUNDS_OPTION, false),
    (NO_SIGNED_ZEROS, true),
    (UNSAFE_MATH, true),
    (FAST_MATH, true),
    (EXACT_QUOTIENTS, false),
    (NOT_OPTIMIZED, false),
];

/// Of the options that a program is built or linked with, those that its compiled kernels depend on: the program's own, and
/// what becomes of those that the parts were compiled with that it is linked of.
pub fn kernel_options(own: &str, parts: &[&str]) -> String {
    let has = |options: &str, option: &str| options.split_ascii_whitespace().any(|word| word == option);
    let holds = |(option, is_licence): &(&str, bool)| {
        let mut parts = parts.iter().map(|part| has(part, option));
        has(own, option)
            || match is_licence {
                true => parts.len() > 0 && parts.all(|has| has),
                false => parts.any(|has| has),
            }
    };
    let options = OPTIONS.iter().filter(|option| holds(option));
    options.map(|(option, _)| *option).collect::<Vec<_>>().join(" ")
}

/// How the kernels of a program are compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KernelOptions {
    /// Accesses are checked before they are made.
    pub(super) check_bounds: bool,
    pub(super) arithmetic: Arithmetic,
    /// Code that is made with few passes isn't followed by better code.
    pub(super) is_final: bool,
}

impl KernelOptions {
    /// By the options that a program is built with.
    pub(crate) fn of(options: &str) -> KernelOptions {
        // Read once: it is for all programs of a process, whatever becomes of it meanwhile.
        static ALWAYS: OnceLock<bool> = OnceLock::new();
        let has = |option: &str| options.split_ascii_whitespace().any(|word| word == option);
        let checks = || std::env::var_os(CHECK_BOUNDS_VARIABLE).is_some_and(|value| value == "1");
        KernelOptions {
            check_bounds: has(CHECK_BOUNDS_OPTION) || *ALWAYS.get_or_init(checks),
            arithmetic: Arithmetic {
                no_signed_zeros: has(NO_SIGNED_ZEROS),
                relaxed: has(UNSAFE_MATH) || has(FAST_MATH),
                exact_quotients: has(EXACT_QUOTIENTS),
            },
            is_final: has(NOT_OPTIMIZED),
        }
    }

    /// A variant as these options have it.
    pub(super) fn of_variant(self, variant: Variant) -> Variant {
        let KernelOptions {
            check_bounds,
            arithmetic,
            is_final: _,
        } = self;
        Variant {
            check_bounds,
            arithmetic,
            ..variant
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_linked_bring_what_they_ask_for_and_keep_what_others_do_not_allow() {
        let fast = "-cl-fast-relaxed-math -DX=1";
        assert_eq!(kernel_options("-cl-mad-enable -w", &[]), "");
        assert_eq!(kernel_options(fast, &[]), FAST_MATH);
        assert_eq!(kernel_options("", &[fast, ""]), "");
        assert_eq!(kernel_options("", &[fast, fast]), FAST_MATH);
        assert_eq!(
            kernel_options(fast, &["", CHECK_BOUNDS_OPTION]),
            "-offkit-check-bounds -cl-fast-relaxed-math"
        );
        assert_eq!(kernel_options("", &["", EXACT_QUOTIENTS]), EXACT_QUOTIENTS);
    }
}
