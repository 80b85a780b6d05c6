//! `offkit-cpu-worker`: what `offkit-llvm-worker` does for the CPU device, and nothing else.
//!
//! It has LLVM's code for this machine alone, and starts in two thirds of the time.

use mimalloc::MiMalloc;
use offkit_llvm_worker::compile::warm::warm_up;
use offkit_llvm_worker::rest::requests;
use offkit_llvm_worker::serve::{run, serve_kernels};
use offkit_llvm_worker::targets::{HOST, offer};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() {
    // First: the thread that this starts looks for its target among those that are offered.
    offer(&HOST);
    warm_up();
    run(|| serve_kernels(requests(give_back)?, std::io::stdout().lock()))
}

fn give_back() {
    // SAFETY: the system gets what is free, of this thread and of those that have ended; nothing that is in use moves.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
