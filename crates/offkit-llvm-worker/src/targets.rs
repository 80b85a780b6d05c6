//! The targets that LLVM is told of, each when it is needed: all of them would take several milliseconds.
//!
//! A program names those that it generates code for with [`target!`](crate::target), or takes this machine's ([`HOST`]),
//! and [`offer`]s them; what it does not name is not linked into it.

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
/// there is none, such assembly is printed as it is. Those that several programs have, or may be this machine's, have names.
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
    (nvptx) => {
        $crate::target!(
            offkit_image::Family::Nvptx64 | offkit_image::Family::Nvptx32 =>
                LLVMInitializeNVPTXTargetInfo LLVMInitializeNVPTXTarget LLVMInitializeNVPTXTargetMC
                LLVMInitializeNVPTXAsmPrinter
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

/// This machine's.
#[cfg(target_arch = "x86_64")]
pub static HOST: [Target; 1] = [crate::target!(x86)];

/// This machine's.
#[cfg(target_arch = "aarch64")]
pub static HOST: [Target; 1] = [crate::target!(arm)];

/// This machine's.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub static HOST: [Target; 0] = [];

static OFFERED: OnceLock<&[Target]> = OnceLock::new();

/// Says which targets there are; once in a process.
pub fn offer(targets: &'static [Target]) {
    _ = OFFERED.set(targets);
}

/// Makes the target of a triple known to LLVM, if this program has it.
pub(crate) fn register(triple: &str) {
    let family = Family::of(triple);
    let offered = OFFERED.get().copied().unwrap_or_default();
    // Of one that this program lacks nothing is said here: LLVM says so when it is asked for code.
    if let Some(target) = offered.iter().find(|target| (target.is_for)(family)) {
        target.told.call_once(target.tell);
    }
}
