//! The targets that LLVM is told of, each when it is needed: all of them would take several milliseconds.
//!
//! This machine's is always there. A program that generates code for others names them with [`target!`](crate::target)
//! and [`offer`]s them; what no program names is not linked into it.

use std::sync::{Once, OnceLock};

use offkit_image::Family;

/// A target of LLVM's.
#[derive(Debug)]
pub struct Target {
    is_for: fn(Family) -> bool,
    tell: fn(),
    told: Once,
}

impl Target {
    /// A target for some families; `tell` tells LLVM of it.
    pub const fn new(is_for: fn(Family) -> bool, tell: fn()) -> Self {
        Self {
            is_for,
            tell,
            told: Once::new(),
        }
    }
}

/// A [`Target`] for some families, by the functions that tell LLVM of it. Parsers are for assembly inside of code; where
/// there is none, such assembly is printed as it is. Those that may be this machine's have names.
#[macro_export]
macro_rules! target {
    (x86) => {
        $crate::target!(
            offkit_image::Family::Host(offkit_image::target::HostCpu::X86_64) =>
                LLVMInitializeX86TargetInfo LLVMInitializeX86Target LLVMInitializeX86TargetMC LLVMInitializeX86AsmPrinter
                LLVMInitializeX86AsmParser
        )
    };
    (arm) => {
        $crate::target!(
            offkit_image::Family::Host(offkit_image::target::HostCpu::Aarch64) =>
                LLVMInitializeAArch64TargetInfo LLVMInitializeAArch64Target LLVMInitializeAArch64TargetMC
                LLVMInitializeAArch64AsmPrinter LLVMInitializeAArch64AsmParser
        )
    };
    ($families:pat => $($function:ident)+) => {{
        // llvm-sys declares them for some targets only.
        unsafe extern "C" {
            $(fn $function();)+
        }
        $crate::targets::Target::new(
            |family| matches!(family, $families),
            // SAFETY: it has no conditions beyond happening once at a time.
            || unsafe { $($function();)+ },
        )
    }};
}

#[cfg(target_arch = "x86_64")]
static HOST: [Target; 1] = [crate::target!(x86)];

#[cfg(target_arch = "aarch64")]
static HOST: [Target; 1] = [crate::target!(arm)];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
static HOST: [Target; 0] = [];

static OTHERS: OnceLock<&[Target]> = OnceLock::new();

/// Adds targets to this machine's; once in a process.
pub fn offer(targets: &'static [Target]) {
    _ = OTHERS.set(targets);
}

/// Makes the target of a triple known to LLVM, if this program has it.
pub(crate) fn register(triple: &str) {
    let family = Family::of(triple);
    let others = OTHERS.get().copied().unwrap_or_default();
    if let Some(target) = HOST.iter().chain(others).find(|target| (target.is_for)(family)) {
        target.told.call_once(target.tell);
    }
}
