//! What the threads of the device have in common: atomics, locks, parking, cells.
//!
//! Everything that several threads touch goes through here. Built with `--cfg loom`, these are the model checker's, which
//! tries every order in which threads can see each other's writes (`./dev loom`); with `--cfg tsan`, the thread sanitizer
//! sees what the standard library does inside (`./dev race`).

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell as Cell,
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{self, Thread},
};
#[cfg(not(loom))]
pub(crate) use std::{
    hint::spin_loop,
    sync::Arc,
    sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{self, Thread},
};

#[cfg(tsan)]
pub(crate) use seen::{Condvar, Mutex, MutexGuard};
#[cfg(not(any(loom, tsan)))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

/// A place that several threads use one at a time: who may is settled by other means. As `loom`'s.
#[cfg(not(loom))]
pub(crate) struct Cell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Cell<T> {
    pub(crate) const fn new(value: T) -> Cell<T> {
        Cell(std::cell::UnsafeCell::new(value))
    }

    /// Calls a function with a pointer to the value, for writing.
    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}

/// Locks as the thread sanitizer can see them: the standard library's are not built for that.
#[cfg(tsan)]
mod seen {
    use std::ops::{Deref, DerefMut};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{LockResult, PoisonError};

    #[derive(Debug, Default)]
    pub(crate) struct Mutex<T> {
        lock: std::sync::Mutex<T>,
        turns: AtomicU32,
    }

    /// Without its lock only while it is given up.
    pub(crate) struct MutexGuard<'m, T> {
        guard: Option<std::sync::MutexGuard<'m, T>>,
        turns: &'m AtomicU32,
    }

    #[derive(Debug, Default)]
    pub(crate) struct Condvar(std::sync::Condvar);

    fn locked<'m, T>(
        result: LockResult<std::sync::MutexGuard<'m, T>>,
        turns: &'m AtomicU32,
    ) -> LockResult<MutexGuard<'m, T>> {
        turns.load(Ordering::Acquire);
        let guard = |guard| MutexGuard {
            guard: Some(guard),
            turns,
        };
        result
            .map(guard)
            .map_err(|poisoned| PoisonError::new(guard(poisoned.into_inner())))
    }

    impl<T> Mutex<T> {
        pub(crate) const fn new(value: T) -> Mutex<T> {
            Mutex {
                lock: std::sync::Mutex::new(value),
                turns: AtomicU32::new(0),
            }
        }

        pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
            locked(self.lock.lock(), &self.turns)
        }
    }

    impl<T> Drop for MutexGuard<'_, T> {
        fn drop(&mut self) {
            if self.guard.is_some() {
                self.turns.fetch_add(1, Ordering::Release);
            }
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.guard.as_deref().expect("locked")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.guard.as_deref_mut().expect("locked")
        }
    }

    impl Condvar {
        pub(crate) const fn new() -> Condvar {
            Condvar(std::sync::Condvar::new())
        }

        pub(crate) fn wait<'m, T>(&self, mut guard: MutexGuard<'m, T>) -> LockResult<MutexGuard<'m, T>> {
            let turns = guard.turns;
            turns.fetch_add(1, Ordering::Release);
            let inner = guard.guard.take().expect("locked");
            locked(self.0.wait(inner), turns)
        }

        pub(crate) fn notify_one(&self) {
            self.0.notify_one();
        }

        pub(crate) fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
