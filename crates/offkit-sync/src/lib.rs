//! What threads share: atomics, locks, cells, parking.
//!
//! Whatever several threads touch goes through here, so that it can be checked. As it is, these are the standard
//! library's types. Built with `--cfg loom`, what is modelled (atomics, [`Arc`], [`Mutex`], [`Condvar`], [`Cell`], threads)
//! is the model checker's, which tries every order in which threads can see each other's writes (`./dev loom`). Built
//! with `--cfg tsan`, the locks are wrapped so that the thread sanitizer sees who waited for whom: it has no eyes for the
//! standard library, which is not built for it (`./dev race`).
//!
//! ```
//! use offkit_sync::{Arc, Mutex, PoisonError, thread};
//!
//! let sum = Arc::new(Mutex::new(0));
//! let threads: Vec<_> = (1..=4)
//!     .map(|part| {
//!         let sum = Arc::clone(&sum);
//!         thread::spawn(move || *sum.lock().unwrap_or_else(PoisonError::into_inner) += part)
//!     })
//!     .collect();
//! for thread in threads {
//!     thread.join().expect("adds");
//! }
//! assert_eq!(*sum.lock().unwrap_or_else(PoisonError::into_inner), 10);
//! ```

#[cfg(tsan)]
mod released;
#[cfg(tsan)]
mod seen;

#[cfg(loom)]
pub use loom::{
    cell::UnsafeCell as Cell,
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard},
    thread::{self, Thread},
};
#[cfg(not(loom))]
pub use std::{
    hint::spin_loop,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{self, Thread},
};

#[cfg(tsan)]
pub use seen::{Condvar, LazyLock, Mutex, MutexGuard, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(any(loom, tsan)))]
pub use std::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
// In models too: the checker has neither of them.
#[cfg(not(tsan))]
pub use std::sync::{LazyLock, OnceLock};

pub use std::sync::{PoisonError, TryLockError};

/// A place that several threads use one at a time: who may is settled by other means. As `loom`'s.
#[cfg(not(loom))]
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct Cell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Cell<T> {
    /// A cell that holds `value`.
    pub const fn new(value: T) -> Cell<T> {
        Cell(std::cell::UnsafeCell::new(value))
    }

    /// Calls a function with a pointer to the value, for reading.
    #[inline]
    pub fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Calls a function with a pointer to the value, for writing.
    #[inline]
    pub fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
