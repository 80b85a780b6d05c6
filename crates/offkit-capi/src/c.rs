//! What C passes and gets back.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use offkit_sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Code, Error, Failure};

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// What functions return: null for success.
pub(crate) type Status = Option<Box<Error>>;
/// An object that stays C's.
pub(crate) type In<'a, T> = Option<&'a T>;
/// An object that C gives back.
pub(crate) type Owned<T> = Option<Box<T>>;
/// Where an answer goes.
pub(crate) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;
/// Where a new object goes.
pub(crate) type New<'a, T> = Out<'a, Option<Box<T>>>;

/// Does something, and keeps panics in.
pub(crate) fn attempt(work: impl FnOnce() -> Result<()>) -> Status {
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return None,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let message = format!("a defect of offkit: {}", text.unwrap_or("it panicked"));
            // A payload may panic again when it is dropped.
            std::mem::forget(panic);
            Failure::new(Code::Internal, message)
        }
    };
    Some(Box::new(failure.into()))
}

/// Makes an object, for C to keep; null if that fails.
pub(crate) fn make<T>(out: New<'_, T>, work: impl FnOnce() -> Result<T>) -> Status {
    attempt(|| {
        let out = out.ok_or_else(|| null("the place for the new object"))?;
        // Before the work, which may fail or panic: the header promises a null pointer there then.
        out.write(None);
        out.write(Some(Box::new(work()?)));
        Ok(())
    })
}

/// Makes an object, if C wants to have it.
pub(crate) fn make_if_wanted<T>(out: New<'_, T>, work: impl FnOnce() -> Result<T>) -> Status {
    match out {
        Some(out) => make(Some(out), work),
        None => attempt(|| work().map(drop)),
    }
}

/// Answers a question.
pub(crate) fn answer<T>(out: Out<'_, T>, work: impl FnOnce() -> Result<T>) -> Status {
    attempt(|| {
        let out = out.ok_or_else(|| null("the place for the answer"))?;
        out.write(work()?);
        Ok(())
    })
}

/// Answers a question that cannot fail; `otherwise` for a null pointer.
pub(crate) fn tell<T, A>(object: In<'_, T>, otherwise: A, work: impl FnOnce(&T) -> A) -> A {
    let told = object.and_then(|object| catch_unwind(AssertUnwindSafe(|| work(object))).ok());
    told.unwrap_or(otherwise)
}

/// Frees an object.
pub(crate) fn free<T>(object: Owned<T>) {
    // Nobody is there to be told.
    let _ = attempt(|| {
        drop(object);
        Ok(())
    });
}

/// An object that must be there.
pub(crate) fn given<'a, T>(object: In<'a, T>, name: &str) -> Result<&'a T> {
    object.ok_or_else(|| null(name))
}

fn null(name: &str) -> Failure {
    Failure::new(Code::Invalid, format!("{name} is a null pointer"))
}

/// A text of C's, or null. Only C makes one: the header says that a text ends with a zero byte and stays for the call.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> Text<'a> {
    pub(crate) fn get(self, name: &str) -> Result<&'a str> {
        self.if_given(name)?.ok_or_else(|| null(name))
    }

    pub(crate) fn if_given(self, name: &str) -> Result<Option<&'a str>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: see the type.
        let text = unsafe { CStr::from_ptr(self.0) };
        let text = text.to_str().map_err(|_| {
            let message = format!("{name} is not UTF-8: {:?}", text.to_string_lossy());
            Failure::new(Code::Invalid, message)
        });
        text.map(Some)
    }
}

/// The first of several elements of C's, or null. Only C makes one: the header says that they stay for the call.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Array<'a, T>(*const T, PhantomData<&'a [T]>);

impl<'a, T> Array<'a, T> {
    /// The elements; without any, the pointer does not matter.
    ///
    /// # Safety
    ///
    /// If the pointer is not null, there must be so many.
    pub(crate) unsafe fn get(self, count: usize, name: &str) -> Result<&'a [T]> {
        match (count, self.0.is_null()) {
            (0, _) => Ok(&[]),
            (_, true) => Err(null(name)),
            // SAFETY: by the caller's promise.
            _ => Ok(unsafe { std::slice::from_raw_parts(self.0, count) }),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// Room of C's for bytes, or null. Only C makes one.
#[repr(transparent)]
pub(crate) struct Room<'a>(*mut u8, PhantomData<&'a mut [u8]>);

impl<'a> Room<'a> {
    /// The bytes.
    ///
    /// # Safety
    ///
    /// If the pointer is not null, there must be so many.
    pub(crate) unsafe fn get(self, size: usize, name: &str) -> Result<&'a mut [u8]> {
        // Slices must not be made of a null pointer, not even those of no bytes.
        match (size, self.0.is_null()) {
            (0, _) => Ok(&mut []),
            (_, true) => Err(null(name)),
            // SAFETY: by the caller's promise.
            _ => Ok(unsafe { std::slice::from_raw_parts_mut(self.0, size) }),
        }
    }
}

/// Objects in an array of pointers.
pub(crate) type Objects<'a, T> = Array<'a, Option<&'a T>>;

/// The objects, none of which may be null.
///
/// # Safety
///
/// If the array is not null, there must be so many.
pub(crate) unsafe fn objects<'a, T>(array: Objects<'a, T>, count: usize, name: &str) -> Result<Vec<&'a T>> {
    // SAFETY: by the caller's promise.
    let array = unsafe { array.get(count, name) }?;
    let each = array.iter().enumerate();
    each.map(|(number, object)| given(*object, &format!("element {number} of {name}")))
        .collect()
}

/// Texts that an object has told C, and keeps as long as it is there.
#[derive(Default)]
pub(crate) struct Texts(Mutex<BTreeSet<CString>>);

impl Texts {
    pub(crate) fn keep(&self, text: &str) -> *const c_char {
        let text = c_text(text);
        let mut texts = lock(&self.0);
        // Each text once: programs that ask again and again must not fill the memory.
        if let Some(kept) = texts.get(&text) {
            return kept.as_ptr();
        }
        // The bytes of a text stay where they are when the set moves it.
        let pointer = text.as_ptr();
        texts.insert(text);
        pointer
    }
}

/// A text for C; what is behind a zero byte would be lost, so there are none.
pub(crate) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "")).unwrap_or_default()
}

/// The text with a number; null if there are not so many.
pub(crate) fn nth(texts: &[CString], number: usize) -> *const c_char {
    texts.get(number).map_or(ptr::null(), |text| text.as_ptr())
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
