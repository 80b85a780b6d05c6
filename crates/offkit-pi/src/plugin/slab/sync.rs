//! What the slabs take from the standard library to share memory, or from `loom` where they are model-checked.

#[cfg(loom)]
pub(super) use loom::{
    cell::UnsafeCell,
    sync::{
        Mutex,
        atomic::{AtomicPtr, AtomicU32, AtomicU64},
    },
};
#[cfg(not(loom))]
pub(super) use std::sync::{
    Mutex,
    atomic::{AtomicPtr, AtomicU32, AtomicU64},
};

/// The standard library's cell with the interface of `loom`'s.
#[cfg(not(loom))]
#[repr(transparent)]
pub(super) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(super) fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(core::cell::UnsafeCell::new(value))
    }

    /// Gives a function a pointer to read through.
    pub(super) fn with<R>(&self, read: impl FnOnce(*const T) -> R) -> R {
        read(self.0.get())
    }

    /// Gives a function a pointer to write through.
    pub(super) fn with_mut<R>(&self, write: impl FnOnce(*mut T) -> R) -> R {
        write(self.0.get())
    }
}
