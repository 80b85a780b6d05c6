//! What the threads of the device have in common: atomics, parking, cells.
//!
//! Everything that several threads touch goes through here, for one reason: built with `--cfg loom`, these are
//! the model checker's, which tries every order in which threads can see each other's writes (`./dev loom`).

#[cfg(loom)]
pub(crate) use modelled::*;
#[cfg(not(loom))]
pub(crate) use real::*;

#[cfg(not(loom))]
#[allow(unused_imports, reason = "one list for all users")]
mod real {
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic;
    pub(crate) use std::sync::atomic::{
        AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
    pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::thread::{self, Thread};

    /// A place that several threads use, one at a time: who may is settled by other means.
    #[derive(Debug, Default)]
    pub(crate) struct Cell<T>(std::cell::UnsafeCell<T>);

    impl<T> Cell<T> {
        pub(crate) const fn new(value: T) -> Cell<T> {
            Cell(std::cell::UnsafeCell::new(value))
        }

        /// Calls a function with a pointer to the value, for writing.
        #[inline]
        pub(crate) fn with_mut<R>(&self, use_it: impl FnOnce(*mut T) -> R) -> R {
            use_it(self.0.get())
        }
    }
}

#[cfg(loom)]
#[allow(unused_imports, reason = "one list for all users")]
mod modelled {
    pub(crate) use loom::cell::UnsafeCell as Cell;
    pub(crate) use loom::hint::spin_loop;
    pub(crate) use loom::sync::atomic;
    pub(crate) use loom::sync::atomic::{
        AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
    };
    pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use loom::thread::{self, Thread};
}
