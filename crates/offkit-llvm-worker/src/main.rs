//! `offkit-llvm-worker`: runs LLVM for offkit, as a process of its own.
//!
//! Not meant to be started by hand: it answers requests on its standard input, messages
//! line (crate `offkit-llvm`).

use std::io;
use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Stands in for the allocator of C and C++ too: LLVM makes 35,000 small allocations to read a library of 4 MB, which
/// takes a fifth less time than with the system's.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    take_signals();
    match offkit_llvm_worker::serve::serve(io::stdin().lock(), io::stdout().lock()) {
        // SAFETY: ends the process without taking LLVM down piece by piece, which takes milliseconds that the user
        // would wait for: everything is written, and the system takes the memory back.
        Ok(()) => unsafe { libc::_exit(0) },
        // A user that is gone needs no answer.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The thread that has started this process may take none, and that is inherited: then `kill` would not end it.
#[cfg(unix)]
fn take_signals() {
    let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read, and only this process's signals change.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
    }
}

#[cfg(not(unix))]
fn take_signals() {}
