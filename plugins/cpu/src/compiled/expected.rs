//! What a kernel is most likely compiled for, so that people can look at that code before there is a launch.

use offkit_compile::{Facts, Variant};
use offkit_image::target::triples;
use offkit_kernel::ir::Module;
use offkit_llvm::Effort;

use super::shape::{Widths, preferred};
use crate::processor::{self, Level};
use crate::sub_group_size;

offkit_image::named! {
    /// A processor that kernels are compiled for.
    pub enum Processor, "LLVM's name, or `native`." {
        /// This machine's.
        Native => "native",
        /// x86 of 64 bits with SSE4.2.
        X86V2 => "x86-64-v2",
        /// x86 of 64 bits with AVX2.
        X86V3 => "x86-64-v3",
        /// x86 of 64 bits with AVX-512.
        X86V4 => "x86-64-v4",
        /// Arm of 64 bits with NEON.
        NeoverseN1 => "neoverse-n1",
    }
}

impl Processor {
    /// The triple and the processor that the worker is told, as LLVM names them; no name is that of the worker's own.
    pub fn target(self) -> (&'static str, &'static str) {
        match self {
            Processor::Native => ("", processor::name()),
            Processor::X86V2 | Processor::X86V3 | Processor::X86V4 => (triples::X86_64_LINUX, self.name()),
            Processor::NeoverseN1 => (triples::AARCH64_LINUX, self.name()),
        }
    }

    /// Work-items of 32 bits that two vectors have.
    fn lanes(self) -> u32 {
        match self {
            Processor::Native => preferred(),
            // NEON's registers are as long as those of SSE4.2.
            Processor::X86V2 | Processor::NeoverseN1 => 2 * Level::V2.lanes(),
            Processor::X86V3 => 2 * Level::V3.lanes(),
            Processor::X86V4 => 2 * Level::V4.lanes(),
        }
    }
}

/// What most launches of a kernel need, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Vectors that lie along rows, all of them full, in a range of fewer than 2^31 work-items.
    pub variant: Variant,
    /// Why vectors have so many work-items.
    pub reason: String,
    /// Whether the kernel sees its sub-groups: then it has vectors of that size or none.
    pub sees_sub_groups: bool,
}

/// What most launches of a kernel of a module need on a processor, in code that LLVM is to optimize so much.
///
/// # Errors
/// Why the kernel is interpreted.
pub fn expected(
    module: &Module,
    kernel: usize,
    processor: Processor,
    effort: Effort,
) -> Result<Expected, String> {
    let required = module.kernels[kernel].sub_group_size;
    let size = required.unwrap_or_else(|| match processor {
        Processor::Native => sub_group_size(),
        // As many as a register has, as `sub_group_size` counts.
        other => (other.lanes() / 2).max(8),
    });
    let facts = Facts::of(module, kernel);
    let widths = Widths::with_lanes(facts, required, size, processor.lanes());
    let widths = widths.as_ref().ok_or_else(|| {
        format!("sub-groups of {size} work-items cannot be compiled; powers of two up to 64 can")
    })?;
    // Without what a program's build options add: these are not known of a module alone.
    let (_, mut variant) = widths.likely();
    let registers = match effort {
        Effort::Light => {
            variant.width = widths.light(variant.width);
            "one register"
        }
        Effort::Full => "two registers",
    };
    let reason = match (required, facts.sub_groups) {
        (Some(_), _) => "as many as the sub-groups that the kernel requires".to_owned(),
        (None, true) => "as many as its sub-groups, which the kernel sees".to_owned(),
        (None, false) => format!("{registers} of 32-bit numbers ({})", processor.name()),
    };
    Ok(Expected {
        variant,
        reason,
        sees_sub_groups: facts.sub_groups,
    })
}
