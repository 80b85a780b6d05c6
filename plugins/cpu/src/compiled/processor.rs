//! What code may be made of: the instructions that this process can execute.

/// The processor to compile for, as LLVM names it: empty for this machine's, which the worker knows best; or, where this
/// process sees less of it, as under valgrind or an emulator, the level that it sees.
pub(super) fn processor() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        static NAME: crate::sync::OnceLock<&str> = crate::sync::OnceLock::new();
        NAME.get_or_init(|| levels::less_than(offkit_host::processor()).unwrap_or_default())
    }
    #[cfg(not(target_arch = "x86_64"))]
    ""
}

#[cfg(target_arch = "x86_64")]
mod levels {
    use std::arch::is_x86_feature_detected as has;

    /// The level of x86-64 that this process sees, if the system tells of a higher one.
    pub(super) fn less_than(system: &str) -> Option<&'static str> {
        let told = |feature: &str| system.split_ascii_whitespace().any(|word| word == feature);
        let (fourth, third) = (
            has!("avx512f") && has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl"),
            has!("avx2") && has!("bmi1") && has!("bmi2") && has!("fma") && has!("f16c") && has!("lzcnt"),
        );
        match (fourth, third) {
            (true, _) => None,
            (false, true) => told("avx512f").then_some("x86-64-v3"),
            (false, false) => (told("avx2") || told("avx")).then(|| match has!("sse4.2") && has!("popcnt") {
                true => "x86-64-v2",
                false => "x86-64",
            }),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn what_the_system_tells_of_and_this_process_lacks_is_not_used() {
            assert_eq!(less_than("flags : sse2 ssse3"), None);
            if !has!("avx512f") {
                assert!(less_than("flags : avx2 avx512f").is_some());
            }
            assert_eq!(
                less_than(offkit_host::processor()),
                None,
                "unless under an emulator"
            );
        }
    }
}
