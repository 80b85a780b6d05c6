//! Tells profilers and debuggers what code there is, when they ask for it.
//!
//! perf reads the names of functions from a file that is called after the process. gdb stops in a function of this library
//! and looks at a list of object files, which has the code's own, with the addresses that its sections are loaded at: so
//! it knows names, and lines where the object has them.

use std::io::Write;
use std::ptr::NonNull;

use super::Function;
use crate::sync::OnceLock;

/// Set to 1, has the functions that are loaded listed for perf, in `/tmp/perf-PID.map`.
pub const PERF_VARIABLE: &str = "OFFKIT_PERF_MAP";

/// Set to 1, has debuggers told of objects that are loaded, and kernels compiled with their source lines.
pub const GDB_VARIABLE: &str = "OFFKIT_GDB";

/// Whether code is to have its source lines: somebody is told of them.
pub(crate) fn wants_lines() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| is_asked(GDB_VARIABLE))
}

pub(super) use debugger::Registered;

fn is_asked(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// Adds functions to the list for perf.
pub(super) fn tell_perf(start: NonNull<u8>, functions: &[Function]) {
    if !is_asked(PERF_VARIABLE) {
        return;
    }
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let start = start.as_ptr() as usize;
    let lines = functions.iter().map(|function| {
        let Function { name, offset, size } = function;
        format!("{:x} {size:x} {name}\n", start + offset)
    });
    let text: String = lines.collect();
    let mut options = std::fs::OpenOptions::new();
    // perf has one list for each process: other compilers in this one may have written to it.
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Somebody else's link in a folder of everybody's is not followed.
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    }
    let written = options
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    if let Err(error) = written {
        tracing::warn!(path, %error, "perf is not told of functions");
    }
}

#[cfg(target_os = "linux")]
mod debugger {
    #![expect(unsafe_code, reason = "a list in memory that debuggers read")]

    use std::cell::UnsafeCell;
    use std::ptr::null_mut;

    use super::{GDB_VARIABLE, is_asked};
    // The model checker's locks cannot be in statics.
    use std::sync::{Mutex, PoisonError};

    /// An object in the debuggers' list.
    #[repr(C)]
    struct Entry {
        next: *mut Entry,
        previous: *mut Entry,
        object: *const u8,
        size: u64,
    }

    /// The list, by the name that debuggers know.
    #[repr(C)]
    struct Descriptor {
        version: u32,
        /// What is done to the entry: 1 added, 2 removed.
        action: u32,
        relevant: *mut Entry,
        first: *mut Entry,
    }

    // Not exported: a library that has its own would be given this one.
    // Weak: LLVM's just-in-time compiler defines the same names, and may be in the same program.
    std::arch::global_asm!(
        ".pushsection .text.offkit_gdb, \"ax\"",
        ".weak __jit_debug_register_code",
        ".hidden __jit_debug_register_code",
        ".type __jit_debug_register_code, @function",
        "__jit_debug_register_code:",
        "ret",
        ".size __jit_debug_register_code, . - __jit_debug_register_code",
        ".popsection",
        ".pushsection .data.offkit_gdb, \"aw\"",
        ".weak __jit_debug_descriptor",
        ".hidden __jit_debug_descriptor",
        ".type __jit_debug_descriptor, @object",
        ".balign 8",
        "__jit_debug_descriptor:",
        ".long 1",
        ".long 0",
        ".quad 0",
        ".quad 0",
        ".size __jit_debug_descriptor, 24",
        ".popsection",
    );

    unsafe extern "C" {
        /// Where debuggers stop.
        fn __jit_debug_register_code();
        static __jit_debug_descriptor: Shared;
    }

    #[repr(transparent)]
    struct Shared(UnsafeCell<Descriptor>);

    // SAFETY: it is used with the lock held.
    unsafe impl Sync for Shared {}

    static LOCK: Mutex<()> = Mutex::new(());

    /// An object that debuggers know, until this is dropped.
    #[derive(Debug)]
    pub(in crate::code) struct Registered {
        entry: *mut Entry,
        /// Read by debuggers.
        _object: Box<[u8]>,
    }

    // SAFETY: the entry is touched with the lock held only.
    unsafe impl Send for Registered {}
    // SAFETY: as above.
    unsafe impl Sync for Registered {}

    impl Registered {
        /// Tells debuggers of an object, if that is asked for.
        pub(in crate::code) fn new(object: impl FnOnce() -> Vec<u8>) -> Option<Registered> {
            if !is_asked(GDB_VARIABLE) {
                return None;
            }
            let object = object().into_boxed_slice();
            let entry = Box::into_raw(Box::new(Entry {
                next: null_mut(),
                previous: null_mut(),
                object: object.as_ptr(),
                size: object.len() as u64,
            }));
            let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: with the lock held nobody else changes the list, all of whose entries are alive.
            unsafe {
                let list = __jit_debug_descriptor.0.get();
                (*entry).next = (*list).first;
                if !(*list).first.is_null() {
                    (*(*list).first).previous = entry;
                }
                ((*list).first, (*list).relevant, (*list).action) = (entry, entry, 1);
                __jit_debug_register_code();
            }
            Some(Registered {
                entry,
                _object: object,
            })
        }
    }

    impl Drop for Registered {
        fn drop(&mut self) {
            let _lock = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the entry was made in `new` and is in the list; with the lock held nobody else changes that.
            unsafe {
                let (list, entry) = (__jit_debug_descriptor.0.get(), self.entry);
                let Entry { next, previous, .. } = *entry;
                match previous.is_null() {
                    true => (*list).first = next,
                    false => (*previous).next = next,
                }
                if !next.is_null() {
                    (*next).previous = previous;
                }
                ((*list).relevant, (*list).action) = (entry, 2);
                __jit_debug_register_code();
                // Behind the stop, at which debuggers read it.
                drop(Box::from_raw(entry));
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod debugger {
    /// No debugger knows how to be told.
    #[derive(Debug)]
    pub(in crate::code) struct Registered;

    impl Registered {
        pub(in crate::code) fn new(_: impl FnOnce() -> Vec<u8>) -> Option<Registered> {
            None
        }
    }
}
