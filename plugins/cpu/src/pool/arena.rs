//! What a thread keeps from one launch to the next.

#![expect(unsafe_code, reason = "memory of an alignment is taken from the host")]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// Alignment of a work-group's local memory, which is that of the largest type of OpenCL C.
pub(crate) const LOCAL_ALIGNMENT: usize = 128;

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
        _ = ARENA.try_with(|place| place.set(Some(arena)));
        result
    }

    /// Local memory of a size at least, with whatever is in it. Null if none is asked for.
    pub(crate) fn local(&mut self, size: usize) -> *mut u8 {
        if size == 0 {
            return null_mut();
        }
        match &self.local {
            Some(local) if local.layout.size() >= size => local.start.as_ptr(),
            _ => {
                let local = self.local.insert(Local::new(size));
                local.start.as_ptr()
            }
        }
    }
}

impl Local {
    fn new(size: usize) -> Local {
        let size = size.next_power_of_two().max(4096);
        let Ok(layout) = Layout::from_size_align(size, LOCAL_ALIGNMENT) else {
            unreachable!("local memory is limited");
        };
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Local { start, layout }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
