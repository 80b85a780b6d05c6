//! What threads share memory with: the standard library's, or `loom`'s where a model of them is checked.
//!
//! `./dev loom` tries every order in which threads can get to the operations of what is built on these.

#[cfg(not(loom))]
pub(crate) use std::{
    sync::{Arc, Mutex, atomic},
    thread,
};

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell as Cell,
    sync::{Arc, Mutex, atomic},
    thread,
};

/// A place that several threads use one at a time: who may is settled by other means. As `loom`'s.
#[cfg(not(loom))]
pub(crate) struct Cell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> Cell<T> {
    pub(crate) fn new(value: T) -> Cell<T> {
        Cell(std::cell::UnsafeCell::new(value))
    }

    /// Calls a function with a pointer to the value, for writing.
    #[inline]
    pub(crate) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
