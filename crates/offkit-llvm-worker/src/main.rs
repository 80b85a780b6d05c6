//! `offkit-llvm-worker`: runs LLVM for offkit, as a process of its own.
//!
//! Not meant to be started by hand: it answers requests on its standard input, messages
//! line (crate `offkit-llvm`).

use mimalloc::MiMalloc;
use offkit_image::Family;
use offkit_image::target::HostCpu;
use offkit_llvm_worker::serve::{run, serve};
use offkit_llvm_worker::target;
use offkit_llvm_worker::targets::{Target, offer};

/// Stands in for the allocator of C and C++ too: LLVM makes 35,000 small allocations to read a library of 4 MB, which
/// takes a fifth less time than with the system's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

static TARGETS: [Target; 7] = [
    target!(
        Family::Spirv64 | Family::Spirv32 | Family::SpirvLogical =>
            LLVMInitializeSPIRVTargetInfo LLVMInitializeSPIRVTarget LLVMInitializeSPIRVTargetMC LLVMInitializeSPIRVAsmPrinter
    ),
    target!(nvptx),
    target!(
        Family::Amdgcn =>
            LLVMInitializeAMDGPUTargetInfo LLVMInitializeAMDGPUTarget LLVMInitializeAMDGPUTargetMC
            LLVMInitializeAMDGPUAsmPrinter LLVMInitializeAMDGPUAsmParser
    ),
    target!(x86),
    target!(arm),
    target!(
        Family::Host(HostCpu::Riscv64) =>
            LLVMInitializeRISCVTargetInfo LLVMInitializeRISCVTarget LLVMInitializeRISCVTargetMC LLVMInitializeRISCVAsmPrinter
            LLVMInitializeRISCVAsmParser
    ),
    target!(
        Family::Host(HostCpu::LoongArch64) =>
            LLVMInitializeLoongArchTargetInfo LLVMInitializeLoongArchTarget LLVMInitializeLoongArchTargetMC
            LLVMInitializeLoongArchAsmPrinter LLVMInitializeLoongArchAsmParser
    ),
];

fn main() {
    offer(&TARGETS);
    run(|| serve(std::io::stdin().lock(), std::io::stdout().lock()))
}
