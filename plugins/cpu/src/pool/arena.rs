//! What a thread keeps from one launch to the next.

#![expect(unsafe_code, reason = "memory of an alignment is taken from the host")]

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// Alignment of a work-group's local memory, which is that of the largest type of OpenCL C.
pub(crate) const LOCAL_ALIGNMENT: usize = 128;

/// The most memory that a thread keeps. What is larger is given back when the launch is done.
const MOST_KEPT: usize = 16 << 20;

/// Local memory of a thread for native code. It only grows.
#[derive(Default)]
pub(crate) struct Arena {
    local: Option<Local>,
}

/// Local memory of native code.
struct Local {
    start: NonNull<u8>,
    layout: Layout,
}

thread_local! {
    static ARENA: Cell<Option<Box<Arena>>> = const { Cell::new(None) };
}

impl Arena {
    /// Calls a function with this thread's arena. A launch within a launch, from a function that takes the text of
    /// a printf for one, gets another.
    pub(crate) fn with<T>(function: impl FnOnce(&mut Arena) -> T) -> T {
        // A thread that is about to end has none any more.
        let mut arena = ARENA.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let result = function(&mut arena);
        if arena
            .local
            .as_ref()
            .is_some_and(|local| local.layout.size() > MOST_KEPT)
        {
            arena.local = None;
        }
        _ = ARENA.try_with(|place| place.set(Some(arena)));
        result
    }

    /// Local memory of a size at least, with whatever is in it: null if none is asked for. `None` if there isn't so
    /// much.
    pub(crate) fn local(&mut self, size: usize) -> Option<*mut u8> {
        if size == 0 {
            return Some(null_mut());
        }
        match &self.local {
            Some(local) if local.layout.size() >= size => Some(local.start.as_ptr()),
            _ => {
                // The old one goes first: both need not be there at once.
                self.local = None;
                let local = self.local.insert(Local::new(size)?);
                Some(local.start.as_ptr())
            }
        }
    }
}

impl Local {
    fn new(size: usize) -> Option<Local> {
        let size = match size {
            // A power of two, so that kernels which need a little more each time make few of them.
            ..=MOST_KEPT => size.next_power_of_two().max(4096),
            // It is not kept, so nothing is gained by more.
            _ => size,
        };
        let layout = Layout::from_size_align(size, LOCAL_ALIGNMENT).ok()?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start)?;
        Some(Local { start, layout })
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> usize {
        Arena::with(|arena| arena.local.as_ref().map_or(0, |local| local.layout.size()))
    }

    #[test]
    fn a_thread_keeps_what_is_small_and_gives_back_what_is_large() {
        Arena::with(|arena| assert!(arena.local(5000).is_some_and(|start| !start.is_null())));
        assert_eq!(kept(), 8192);
        Arena::with(|arena| assert!(arena.local(MOST_KEPT + 1).is_some()));
        assert_eq!(kept(), 0);
    }

    #[test]
    fn more_than_there_is_is_none() {
        for size in [usize::MAX, usize::MAX / 2, isize::MAX as usize / 2] {
            Arena::with(|arena| assert_eq!(arena.local(size), None));
        }
        Arena::with(|arena| assert!(arena.local(1).is_some()));
    }
}
