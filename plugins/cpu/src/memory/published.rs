//! A value that many read without a lock while one replaces it.

#![expect(unsafe_code, reason = "a count of references is handled by hand")]

use crate::sync::thread::yield_now;
use crate::sync::{Arc, AtomicPtr, AtomicUsize, Ordering};

/// How often a writer looks for readers that have the old value in their hands, before it leaves the value alone
/// for good. Readers take nanoseconds, unless they are threads that a fork has left behind.
const PATIENCE: usize = if cfg!(loom) { usize::MAX } else { 10_000 };

/// A shared value, and the readers that are just about to share it.
#[derive(Debug)]
pub(crate) struct Published<T> {
    current: AtomicPtr<T>,
    readers: AtomicUsize,
}

impl<T: Send + Sync> Published<T> {
    pub(crate) fn new(value: T) -> Published<T> {
        Published {
            current: AtomicPtr::new(Arc::into_raw(Arc::new(value)).cast_mut()),
            readers: AtomicUsize::new(0),
        }
    }

    /// The value of this moment. Never waits.
    pub(crate) fn load(&self) -> Arc<T> {
        // The writer changes the same word after it has replaced the value. So one comes after the other: either
        // the writer sees this reader, or this reader sees what it wrote.
        self.readers.fetch_add(1, Ordering::AcqRel);
        let current = self.current.load(Ordering::Acquire);
        // SAFETY: `current` is from `Arc::into_raw`, and its count was 1 at least when it was read. A writer
        // that replaces it gives up its count only after it has seen no readers since, and this is one.
        let value = unsafe {
            Arc::increment_strong_count(current);
            Arc::from_raw(current)
        };
        self.readers.fetch_sub(1, Ordering::Release);
        value
    }

    /// Replaces the value. Of several that do so at once each gets its turn; who must build on the last value
    /// holds a lock meanwhile.
    pub(crate) fn store(&self, value: T) {
        let value = Arc::into_raw(Arc::new(value)).cast_mut();
        let old = self.current.swap(value, Ordering::AcqRel);
        for _ in 0..PATIENCE {
            if self.readers.fetch_add(0, Ordering::AcqRel) == 0 {
                // SAFETY: the count that the cell had, which nobody else gives up; and readers that may have
                // read the pointer have counted for themselves by now.
                drop(unsafe { Arc::from_raw(old) });
                return;
            }
            yield_now();
        }
    }
}

impl<T> Drop for Published<T> {
    fn drop(&mut self) {
        // SAFETY: the count that the cell has, and nobody else refers to the cell.
        drop(unsafe { Arc::from_raw(self.current.load(Ordering::Relaxed)) });
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;

    /// Readers get one value or the other, whole, and nothing is freed that somebody has.
    #[test]
    fn readers_get_whole_values_while_one_writes() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let cell = Arc::new(Published::new((1, 1)));
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    let cell = Arc::clone(&cell);
                    loom::thread::spawn(move || {
                        let value = cell.load();
                        assert_eq!(value.0, value.1);
                    })
                })
                .collect();
            cell.store((2, 2));
            for reader in readers {
                reader.join().unwrap();
            }
            assert_eq!(*cell.load(), (2, 2));
        });
    }
}
