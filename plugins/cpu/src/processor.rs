//! What code may be made of: the instructions that this process can execute, or fewer where that is asked for.

use crate::sync::OnceLock;

/// The environment variable with the level of x86-64 that kernels are compiled for, `x86-64-v2` to `x86-64-v4`, instead of for all that
/// the processor has: then those of different kinds run the same code.
pub const PROCESSOR_VARIABLE: &str = "OFFKIT_CPU_PROCESSOR";

offkit_image::named! {
    /// A level of x86-64, by what vectors may be made of.
    pub enum Level, "LLVM's name for it." {
        /// Less than the next; or another processor, of which all have the same vectors.
        Basic => "x86-64",
        /// SSE4.2.
        V2 => "x86-64-v2",
        /// AVX2, with fused products.
        V3 => "x86-64-v3",
        /// AVX-512.
        V4 => "x86-64-v4",
    }
}

impl Level {
    /// Numbers of 32 bits in a vector.
    pub(crate) fn lanes(self) -> u32 {
        match self {
            Level::V4 => 16,
            Level::V3 => 8,
            Level::V2 | Level::Basic => 4,
        }
    }

    /// What this process sees of the processor.
    fn seen() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            // LLVM's names stand for sets of instructions, which code may have without being asked:
            // AVX2 alone makes no `x86-64-v3`, whose code has fused products as well.
            if !(has!("ssse3") && has!("sse4.2") && has!("popcnt") && has!("cmpxchg16b")) {
                return Level::Basic;
            }
            if !(has!("avx2") && has!("bmi1") && has!("bmi2") && has!("fma") && has!("f16c"))
                || !(has!("lzcnt") && has!("movbe"))
            {
                return Level::V2;
            }
            match has!("avx512f")
                && has!("avx512bw")
                && has!("avx512cd")
                && has!("avx512dq")
                && has!("avx512vl")
            {
                true => Level::V4,
                false => Level::V3,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Level::Basic
    }

    /// The one that is asked for.
    fn asked() -> Option<Level> {
        static ASKED: OnceLock<Option<Level>> = OnceLock::new();
        *ASKED.get_or_init(|| {
            let value = std::env::var_os(PROCESSOR_VARIABLE)?;
            let level = value.to_str().and_then(Level::from_name);
            let level = level.filter(|level| (Level::V2..=Level::seen()).contains(level));
            if level.is_none() {
                tracing::warn!(
                    ?value,
                    "{PROCESSOR_VARIABLE} is ignored: expected x86-64-v2, x86-64-v3 or x86-64-v4, as far as this processor goes"
                );
            }
            level
        })
    }
}

/// The level that kernels are compiled for.
pub(crate) fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| Level::asked().unwrap_or_else(Level::seen))
}

/// The processor to compile for, as LLVM names it: empty for this machine's, which the worker knows best; or, where this
/// process sees less of it, as under valgrind or an emulator, or a level is asked for, that.
pub(crate) fn name() -> &'static str {
    static NAME: OnceLock<&str> = OnceLock::new();
    NAME.get_or_init(|| {
        let is_all = Level::asked().is_none() && level() >= told(offkit_host::processor());
        if is_all { "" } else { level().name() }
    })
}

/// The level that the system tells of.
fn told(system: &str) -> Level {
    let has = |feature: &str| system.split_ascii_whitespace().any(|word| word == feature);
    match (has("avx512f"), has("avx2") || has("avx")) {
        (true, _) => Level::V4,
        // Without AVX2 nothing of it is used: an emulator may lack the first AVX as well.
        (_, true) => Level::V3,
        _ => Level::Basic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_that_the_system_tells_of_is_in_its_flags() {
        assert_eq!(told("flags : sse2 ssse3"), Level::Basic);
        assert_eq!(told("flags : avx avx2 fma"), Level::V3);
        assert_eq!(told("flags : avx avx2 avx512f"), Level::V4);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn this_process_has_all_of_its_processor() {
        assert_eq!(name(), "", "unless under an emulator");
    }
}
