//! `offkit-nvptx-worker`: what `offkit-llvm-worker` does with SPIR-V for NVIDIA's GPUs, and nothing else.
//!
//! It has LLVM's code for them alone, and is a third as large: for machines that everything has to be carried to.

use mimalloc::MiMalloc;
use offkit_llvm_worker::serve::{run, serve_devices};
use offkit_llvm_worker::target;
use offkit_llvm_worker::targets::{Target, offer};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

static TARGETS: [Target; 1] = [target!(nvptx)];

fn main() {
    offer(&TARGETS);
    run(|| serve_devices(std::io::stdin().lock(), std::io::stdout().lock()))
}
