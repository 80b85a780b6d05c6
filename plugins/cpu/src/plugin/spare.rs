//! Boxes to use again.

#![expect(unsafe_code, reason = "boxes are kept as pointers")]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A few boxes that any thread takes and gives back, without a lock.
pub(super) struct Spare<T>([AtomicPtr<T>; 16]);

impl<T: Default + Send> Spare<T> {
    pub(super) const fn new() -> Spare<T> {
        Spare([const { AtomicPtr::new(null_mut()) }; 16])
    }

    /// One that was given back, or a new one.
    pub(super) fn take(&self) -> Box<T> {
        let spare = self
            .0
            .iter()
            .map(|place| place.swap(null_mut(), Ordering::Acquire));
        match spare.into_iter().find(|spare| !spare.is_null()) {
            // SAFETY: it was a box, and only this thread has taken it.
            Some(spare) => unsafe { Box::from_raw(spare) },
            None => Box::default(),
        }
    }

    /// Gives one back.
    pub(super) fn give(&self, used: Box<T>) {
        let used = Box::into_raw(used);
        // Into an empty place alone: whatever a swap put out would have to go somewhere as well.
        let keep = |place: &AtomicPtr<T>| {
            place
                .compare_exchange(null_mut(), used, Ordering::Release, Ordering::Relaxed)
                .is_ok()
        };
        if !self.0.iter().any(keep) {
            // SAFETY: a box, and nobody else has seen it.
            drop(unsafe { Box::from_raw(used) });
        }
    }
}
