//! The standard library's locks with what the thread sanitizer can see: a number that is raised as a lock is given up
//! and read as it is taken.
//!
//! Public through the crate's root under the standard library's names, with what is used of them.

#![allow(missing_docs, reason = "as the standard library's")]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult, WaitTimeoutResult};
use std::time::Duration;

/// A lock's guard, which tells of its end. Without the lock only while a condition is waited for.
#[derive(Debug)]
pub struct Guard<'l, G> {
    lock: Option<G>,
    turns: &'l AtomicU32,
}

pub type MutexGuard<'l, T> = Guard<'l, std::sync::MutexGuard<'l, T>>;
pub type RwLockReadGuard<'l, T> = Guard<'l, std::sync::RwLockReadGuard<'l, T>>;
pub type RwLockWriteGuard<'l, T> = Guard<'l, std::sync::RwLockWriteGuard<'l, T>>;

impl<'l, G> Guard<'l, G> {
    fn taken(lock: G, turns: &'l AtomicU32) -> Guard<'l, G> {
        // What it reads doesn't matter: as it acquires, the sanitizer sees that this comes after
        // whoever gave the lock up.
        turns.load(Ordering::Acquire);
        Guard {
            lock: Some(lock),
            turns,
        }
    }
}

fn taken<'l, G>(lock: LockResult<G>, turns: &'l AtomicU32) -> LockResult<Guard<'l, G>> {
    match lock {
        Ok(lock) => Ok(Guard::taken(lock, turns)),
        Err(poisoned) => Err(PoisonError::new(Guard::taken(poisoned.into_inner(), turns))),
    }
}

fn perhaps_taken<'l, G>(lock: TryLockResult<G>, turns: &'l AtomicU32) -> TryLockResult<Guard<'l, G>> {
    match lock {
        Ok(lock) => Ok(Guard::taken(lock, turns)),
        Err(TryLockError::WouldBlock) => Err(TryLockError::WouldBlock),
        Err(TryLockError::Poisoned(poisoned)) => {
            let guard = Guard::taken(poisoned.into_inner(), turns);
            Err(TryLockError::Poisoned(PoisonError::new(guard)))
        }
    }
}

impl<G> Drop for Guard<'_, G> {
    fn drop(&mut self) {
        // The lock is open only when the field is dropped, behind this: who takes it then sees the
        // new number. Without a lock, `Condvar` has raised it already.
        if self.lock.is_some() {
            self.turns.fetch_add(1, Ordering::Release);
        }
    }
}

impl<G: Deref> Deref for Guard<'_, G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        self.lock.as_deref().expect("locked")
    }
}

impl<G: DerefMut> DerefMut for Guard<'_, G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        self.lock.as_deref_mut().expect("locked")
    }
}

#[derive(Debug, Default)]
pub struct Mutex<T> {
    turns: AtomicU32,
    lock: std::sync::Mutex<T>,
}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Mutex<T> {
        Mutex {
            turns: AtomicU32::new(0),
            lock: std::sync::Mutex::new(value),
        }
    }

    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        taken(self.lock.lock(), &self.turns)
    }

    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        perhaps_taken(self.lock.try_lock(), &self.turns)
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        self.lock.get_mut()
    }

    pub fn into_inner(self) -> LockResult<T> {
        self.lock.into_inner()
    }
}

#[derive(Debug, Default)]
pub struct RwLock<T> {
    turns: AtomicU32,
    lock: std::sync::RwLock<T>,
}

impl<T> RwLock<T> {
    pub const fn new(value: T) -> RwLock<T> {
        RwLock {
            turns: AtomicU32::new(0),
            lock: std::sync::RwLock::new(value),
        }
    }

    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        taken(self.lock.read(), &self.turns)
    }

    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        taken(self.lock.write(), &self.turns)
    }

    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        perhaps_taken(self.lock.try_read(), &self.turns)
    }

    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        perhaps_taken(self.lock.try_write(), &self.turns)
    }
}

#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

impl Condvar {
    pub const fn new() -> Condvar {
        Condvar(std::sync::Condvar::new())
    }

    pub fn wait<'l, T>(&self, mut guard: MutexGuard<'l, T>) -> LockResult<MutexGuard<'l, T>> {
        let turns = guard.turns;
        // Waiting opens the lock, and the guard, which has none by then, doesn't tell of that.
        turns.fetch_add(1, Ordering::Release);
        let lock = guard.lock.take().expect("locked");
        taken(self.0.wait(lock), turns)
    }

    pub fn wait_timeout<'l, T>(
        &self,
        mut guard: MutexGuard<'l, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'l, T>, WaitTimeoutResult)> {
        let turns = guard.turns;
        turns.fetch_add(1, Ordering::Release);
        let lock = guard.lock.take().expect("locked");
        match self.0.wait_timeout(lock, time) {
            Ok((lock, outcome)) => Ok((Guard::taken(lock, turns), outcome)),
            Err(poisoned) => {
                let (lock, outcome) = poisoned.into_inner();
                Err(PoisonError::new((Guard::taken(lock, turns), outcome)))
            }
        }
    }

    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A value made once: behind a pointer, since the standard library's own mark of being made cannot be seen.
pub struct OnceLock<T> {
    made: AtomicPtr<T>,
    making: Mutex<()>,
}

impl<T> OnceLock<T> {
    pub const fn new() -> OnceLock<T> {
        OnceLock {
            made: AtomicPtr::new(ptr::null_mut()),
            making: Mutex::new(()),
        }
    }

    pub fn get(&self) -> Option<&T> {
        let made = NonNull::new(self.made.load(Ordering::Acquire))?;
        // SAFETY: the pointer is null or comes from `Box::into_raw` in `get_or_init`, and lives as long as the lock; nothing
        // but `drop`, which has the lock to itself, takes it back.
        Some(unsafe { made.as_ref() })
    }

    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if self.get().is_none() {
            let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have made it while this one waited for the lock.
            if self.get().is_none() {
                let value = Box::into_raw(Box::new(make()));
                self.made.store(value, Ordering::Release);
            }
        }
        self.get().expect("made")
    }

    pub fn set(&self, value: T) -> Result<(), T> {
        let mut value = Some(value);
        self.get_or_init(|| value.take().expect("made once"));
        value.map_or(Ok(()), Err)
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> OnceLock<T> {
        OnceLock::new()
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> OnceLock<T> {
        let clone = OnceLock::new();
        if let Some(value) = self.get() {
            clone.get_or_init(|| value.clone());
        }
        clone
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnceLock").field(&self.get()).finish()
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        if let Some(made) = NonNull::new(*self.made.get_mut()) {
            // SAFETY: it comes from `Box::into_raw`, and nobody else has the lock any more.
            drop(unsafe { Box::from_raw(made.as_ptr()) });
        }
    }
}

#[derive(Debug)]
pub struct LazyLock<T> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T> LazyLock<T> {
    pub const fn new(make: fn() -> T) -> LazyLock<T> {
        LazyLock {
            value: OnceLock::new(),
            make,
        }
    }
}

impl<T> Deref for LazyLock<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.get_or_init(self.make)
    }
}
