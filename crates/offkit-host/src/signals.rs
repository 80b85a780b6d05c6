//! Signals of this process.

/// Leaves the process's signals to other threads than this one: for threads that a library makes in somebody's program. A
/// host's handlers are not made for them, and the signal for a pipe that nobody reads, which ends programs that are not in
/// Rust, stays with the thread that has written.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the system is asked")]
pub fn leave_to_others() {
    let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set is written before it is read, and only this thread's signals change.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Leaves the process's signals to other threads than this one.
#[cfg(not(unix))]
pub fn leave_to_others() {}
