//! What comes from C: pointers that the caller vouches for.
//!
//! OpenCL says for every pointer what it has to point to. The functions of the table take callers at their word in one
//! place, when they make an [`In`] or an [`Out`] of it; from there on nothing unsafe is needed to use it.

use cl::*;
use core::ffi::{CStr, c_char, c_void};

/// A pointer to read from, or null.
#[derive(Debug)]
pub(crate) struct In<T>(*const T);

/// A pointer to write to, or null.
#[derive(Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

/// An argument as C passes it.
pub(crate) trait Argument {
    type Safe;

    /// # Safety
    ///
    /// The argument must be what OpenCL says of it, until the function returns, and longer where OpenCL says so.
    unsafe fn trust(self) -> Self::Safe;
}

impl<T> Argument for *const T {
    type Safe = In<T>;

    unsafe fn trust(self) -> In<T> {
        In(self)
    }
}

impl<T> Argument for *mut T {
    type Safe = Out<T>;

    unsafe fn trust(self) -> Out<T> {
        Out(self)
    }
}

macro_rules! plain {
    ($($type:ty),* $(,)?) => {$(
        impl Argument for $type {
            type Safe = $type;

            unsafe fn trust(self) -> $type {
                self
            }
        }
    )*};
}

plain!(
    i32,
    u32,
    u64,
    usize,
    ContextNotify,
    ContextNotifyEnd,
    ProgramNotify,
    MemoryNotify,
    EventNotify,
    SvmNotify,
    NativeKernel,
);

impl<T> In<T> {
    pub(crate) const fn null() -> In<T> {
        In(core::ptr::null())
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn addr(self) -> usize {
        self.0.expose_provenance()
    }

    pub(crate) fn raw(self) -> *const T {
        self.0
    }

    /// As many elements as a count says; `None` for a null pointer.
    pub(crate) fn slice(&self, count: usize) -> Option<&[T]> {
        // Borrowed from `self`, which no call keeps: so nothing of the list outlives the caller's
        // promise.
        if self.0.is_null() {
            return None;
        }
        // SAFETY: by the promise of `trust`.
        Some(unsafe { core::slice::from_raw_parts(self.0, count) })
    }

    /// A list that is either null with a count of 0, or neither.
    pub(crate) fn list(&self, count: cl_uint) -> Option<&[T]> {
        match (self.0.is_null(), count) {
            (true, 0) => Some(&[]),
            (true, _) | (false, 0) => None,
            (false, count) => self.slice(count as usize),
        }
    }
}

impl<T: Copy + Default + PartialEq> In<T> {
    /// A list of pairs with a 0 in the place of a name at its end, which is kept; empty if there is none.
    pub(crate) fn pairs(self) -> Vec<T> {
        self.through_zero(2)
    }

    /// What comes before the first zero, of a list that ends with one.
    pub(crate) fn before_zero(self) -> Vec<T> {
        let mut found = self.through_zero(1);
        found.pop();
        found
    }

    /// A list up to its end, which is a 0 in the first of so many places.
    fn through_zero(self, places: usize) -> Vec<T> {
        let mut found = Vec::new();
        while !self.0.is_null() {
            let is_first = found.len().is_multiple_of(places);
            // SAFETY: by the promise of `trust`, the list goes on until a 0.
            let value = unsafe { self.0.add(found.len()).read() };
            found.push(value);
            if is_first && value == T::default() {
                break;
            }
        }
        found
    }
}

impl<T> In<T> {
    /// A pointer out of a list, which the caller vouches for as for the list.
    pub(crate) fn from_pointer(pointer: *const T) -> In<T> {
        In(pointer)
    }
}

impl In<c_char> {
    /// The same, for bytes.
    pub(crate) fn as_bytes(self) -> In<u8> {
        In(self.0.cast())
    }

    /// Text with a NUL at its end.
    pub(crate) fn text(&self) -> Option<&CStr> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: by the promise of `trust`.
        Some(unsafe { CStr::from_ptr(self.0) })
    }
}

impl In<c_void> {
    /// As many bytes as a size says.
    pub(crate) fn bytes(&self, size: usize) -> Option<&[u8]> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: by the promise of `trust`.
        Some(unsafe { core::slice::from_raw_parts(self.0.cast(), size) })
    }

    /// A value that may lie at any address.
    pub(crate) fn value<T: Copy>(&self) -> Option<T> {
        if self.0.is_null() {
            return None;
        }
        // SAFETY: by the promise of `trust`.
        Some(unsafe { self.0.cast::<T>().read_unaligned() })
    }
}

impl In<c_void> {
    /// Values that may lie at any address; none for a null pointer.
    pub(crate) fn values<T: Copy>(self, count: usize) -> Vec<T> {
        let start = self.0.cast::<T>();
        // SAFETY: by the promise of `trust`.
        let at = |index| unsafe { start.add(index).read_unaligned() };
        let count = if start.is_null() { 0 } else { count };
        (0..count).map(at).collect()
    }
}

impl<T> Out<T> {
    /// A pointer out of a list, which the caller vouches for as for the list.
    pub(crate) fn from_pointer(pointer: *mut T) -> Out<T> {
        Out(pointer)
    }

    pub(crate) const fn null() -> Out<T> {
        Out(core::ptr::null_mut())
    }

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(crate) fn addr(self) -> usize {
        self.0.expose_provenance()
    }

    pub(crate) fn raw(self) -> *mut T {
        self.0
    }

    /// Where a value of this crate's own is.
    pub(crate) fn to(value: &mut T) -> Out<T> {
        Out(value)
    }

    /// The same, to read from.
    pub(crate) fn as_in(self) -> In<T> {
        In(self.0)
    }

    /// Writes unless it is null.
    pub(crate) fn write(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not null, so valid by the promise of `trust`.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

impl Out<c_void> {
    /// The same, for bytes.
    pub(crate) fn bytes(self) -> Out<u8> {
        Out(self.0.cast())
    }

    /// The same, for the bytes behind so many others; null stays null.
    pub(crate) fn bytes_at(self, offset: usize) -> Out<u8> {
        match self.0.is_null() {
            true => self.bytes(),
            false => Out(self.0.cast::<u8>().wrapping_add(offset)),
        }
    }
}

impl<T: Copy> Out<T> {
    /// Writes as many values as there is room for, unless it is null.
    pub(crate) fn fill(self, values: &[T], room: usize) {
        self.fill_with(values.iter().copied(), room);
    }

    /// The same, with values that are made one after the other.
    pub(crate) fn fill_with(self, values: impl Iterator<Item = T>, room: usize) {
        if !self.0.is_null() {
            for (index, value) in values.take(room).enumerate() {
                // SAFETY: there is room for so many by the promise of `trust`.
                unsafe { self.0.add(index).write_unaligned(value) };
            }
        }
    }
}

/// Data of the caller's that goes to a function of the caller's, on whichever thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UserData(*mut c_void);

// SAFETY: the caller asks for the data to be handed to its function on any thread.
unsafe impl Send for UserData {}
// SAFETY: as above; nobody looks at it here.
unsafe impl Sync for UserData {}

impl UserData {
    pub(crate) fn new(data: Out<c_void>) -> UserData {
        UserData(data.0)
    }
}

/// A function of the caller's with a handle and data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Callback<H> {
    function: unsafe extern "C" fn(*mut H, *mut c_void),
    data: UserData,
}

impl<H> Callback<H> {
    pub(crate) fn new(
        function: Option<unsafe extern "C" fn(*mut H, *mut c_void)>,
        data: Out<c_void>,
    ) -> Option<Callback<H>> {
        let data = UserData::new(data);
        function.map(|function| Callback { function, data })
    }

    pub(crate) fn call(self, handle: *mut H) {
        // SAFETY: the caller gave the function to be called like this.
        unsafe { (self.function)(handle, self.data.0) };
    }
}

/// A function of the caller's that is told of errors in a context.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ErrorNotify {
    function: unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void),
    data: UserData,
}

impl ErrorNotify {
    pub(crate) fn new(function: ContextNotify, data: Out<c_void>) -> Option<ErrorNotify> {
        let data = UserData::new(data);
        function.map(|function| ErrorNotify { function, data })
    }

    pub(crate) fn call(self, text: &CStr) {
        // SAFETY: the caller gave the function to be called like this, on any thread.
        unsafe { (self.function)(text.as_ptr(), core::ptr::null(), 0, self.data.0) };
    }
}

/// Calls a function of the caller's for an event.
pub(crate) fn call_event(
    function: unsafe extern "C" fn(cl_event, cl_int, *mut c_void),
    event: cl_event,
    status: cl_int,
    data: UserData,
) {
    // SAFETY: the caller gave the function to be called like this.
    unsafe { function(event, status, data.0) };
}

/// Calls a function of the caller's that frees allocations.
pub(crate) fn call_free(
    function: unsafe extern "C" fn(cl_command_queue, cl_uint, *mut *mut c_void, *mut c_void),
    queue: cl_command_queue,
    pointers: &mut [*mut c_void],
    data: UserData,
) {
    // OpenCL declares a list that the function may write to: it gets a copy, not the list of the
    // caller.
    // SAFETY: the caller gave the function to be called like this.
    unsafe { function(queue, pointers.len() as cl_uint, pointers.as_mut_ptr(), data.0) };
}
