//! What compiled code tells of its work-items: what they print, and that one can't go on.
//!
//! Work-items of a vector come to a printf together; the interpreter runs one after the other. So that both print the same,
//! texts are kept until a vector has come to its end or to where its work-items meet, and are then printed in the order of
//! the work-items.

#![expect(unsafe_code, reason = "machine code calls, with pointers")]

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use offkit_kernel::builtins::{Scalar, Shape};

use super::NativeLaunch;
use super::bounds::Bounds;
use crate::LaunchError;
use crate::launch::access::{Meant, NULL_PAGE};
use crate::launch::{Fault, Geometry, KernelFault, Print, printf};
use crate::memory::{AccessKind, Hint, Reason, Violation};
use crate::sync::{Mutex, PoisonError};

/// Bytes of text that a thread keeps at most.
const MOST_KEPT: usize = 1 << 16;

/// Where the printfs of a launch go, and how it fails.
#[derive(Debug)]
pub(crate) struct Printing<'l> {
    to: To<'l>,
    kernel: &'l str,
    files: &'l [String],
    /// The range as the code runs it.
    geometry: &'l Geometry,
    /// The same as errors tell it.
    asked: &'l Geometry,
    /// Has the launch stop.
    stop: &'l AtomicBool,
    /// What accesses are checked against, where they are.
    pub(super) bounds: Option<Bounds<'l>>,
    failure: Mutex<Option<Failure>>,
    /// When the launch began, if it may be given up.
    started: Option<Instant>,
}

/// Takes texts.
struct To<'l>(&'l Print<'l>);

impl std::fmt::Debug for To<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("To")
    }
}

#[derive(Debug)]
enum Failure {
    /// Of a work-group.
    Error(u64, LaunchError),
    /// Of who takes the texts.
    Panic(Box<dyn Any + Send>),
}

/// A printf that a work-item has come to.
struct Text {
    group: u64,
    /// The work-item's number there.
    item: u64,
    line: Line,
    text: Result<String, Fault>,
}

/// A source file's number and a line of it; zero where there is none.
type Line = [u32; 2];

/// What a thread has not printed yet.
#[derive(Default)]
struct Kept {
    texts: Vec<Text>,
    bytes: usize,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

impl<'l> Printing<'l> {
    pub(crate) fn new(
        to: &'l Print<'l>,
        kernel: &'l str,
        files: &'l [String],
        [geometry, asked]: [&'l Geometry; 2],
        stop: &'l AtomicBool,
        bounds: Option<Bounds<'l>>,
        started: Option<Instant>,
    ) -> Printing<'l> {
        Printing {
            to: To(to),
            kernel,
            files,
            geometry,
            asked,
            stop,
            bounds,
            failure: Mutex::new(None),
            started,
        }
    }

    /// Whether all went well.
    pub(crate) fn outcome(self) -> Result<(), LaunchError> {
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(Failure::Error(_, error)) => Err(error),
            Some(Failure::Panic(payload)) => resume_unwind(payload),
        }
    }

    /// Prints what the thread has kept. Once the launch is to end nobody wants more, but what has failed counts.
    fn print(&self, kept: Kept) {
        let mut texts = kept.texts;
        // Those of one work-item stay in their order.
        texts.sort_by_key(|text| text.item);
        for Text {
            group,
            item,
            line,
            text,
        } in texts
        {
            let printed = text.and_then(|text| {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                // An unwinding must not come to compiled code.
                match catch_unwind(AssertUnwindSafe(|| (self.to.0)(&text))) {
                    Ok(Ok(())) => Ok(None),
                    Ok(Err(failure)) => Err(Fault::of_print(failure)),
                    Err(payload) => Ok(Some(payload)),
                }
            });
            let failure = match printed {
                Ok(None) => continue,
                Ok(Some(payload)) => Failure::Panic(payload),
                Err(fault) => Failure::Error(group, self.error(group, item, line, fault)),
            };
            return self.fail(failure);
        }
    }

    /// Has the launch end; the failure of the lowest work-group counts.
    fn fail(&self, failure: Failure) {
        self.stop.store(true, Ordering::Relaxed);
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let comes_first = match (&*first, &failure) {
            (None, _) => true,
            (Some(Failure::Error(other, _)), Failure::Error(group, _)) => group < other,
            (Some(_), _) => false,
        };
        if comes_first {
            *first = Some(failure);
        }
    }

    fn error(&self, group: u64, item: u64, [file, line]: Line, fault: Fault) -> LaunchError {
        let file = (file as usize)
            .checked_sub(1)
            .and_then(|file| self.files.get(file));
        let (what, address) = match fault {
            Fault::Access(violation) => {
                let what = match &self.bounds {
                    Some(bounds) => bounds.reachable.describe(violation, Meant::Global),
                    None => format!("printf reads a string at {:#x}: null pointer", violation.address),
                };
                (what, Some(violation.address))
            }
            Fault::Undefined(what) => (what, None),
            other => (format!("printf: {other:?}"), None),
        };
        let location = match file {
            Some(file) => format!("at {file}:{line}"),
            None => "in compiled code".to_owned(),
        };
        self.fault((group, item), what, location, address)
    }

    /// The error of a launch that was given up in a work-group.
    pub(super) fn cancelled(&self, group: u64) -> LaunchError {
        let group = self.geometry.group(group);
        let ends = [[0; 3], group.size.map(|size| size - 1)];
        LaunchError::Cancelled {
            kernel: self.kernel.to_owned(),
            after: self.started.map(|started| started.elapsed()).unwrap_or_default(),
            groups: ends.map(|end| self.asked.find(self.geometry.global_id(group, end)).0.id),
        }
    }

    /// What a work-item did, and where.
    fn fault(
        &self,
        (group, item): (u64, u64),
        what: String,
        location: String,
        address: Option<u64>,
    ) -> LaunchError {
        let group = self.geometry.group(group);
        let global_id = self.geometry.global_id(group, group.local_id(item));
        let (group, local_id) = self.asked.find(global_id);
        LaunchError::Kernel(Box::new(KernelFault {
            kernel: self.kernel.to_owned(),
            what,
            global_id,
            local_id,
            group_id: group.id,
            location,
            address,
        }))
    }

    /// Has the launch fail, since a work-item, by its group and its number there, must not make an access.
    pub(super) fn refuse(&self, item: (u64, u64), what: String, location: String, address: u64) {
        let error = self.fault(item, what, location, Some(address));
        self.fail(Failure::Error(item.0, error));
    }
}

/// Keeps the text of a printf that a work-item has come to.
///
/// # Safety
/// `launch` is that of the code that calls. `call` is among the constants of the code: a source file's number and a line in
/// it; the number of operands; and for each the number of its scalar among [`Scalar::ALL`] in the low half and of its
/// components in the high half. `words` are the words of all operands. Addresses of strings lead to such.
pub(crate) unsafe extern "C" fn print(
    launch: *const NativeLaunch,
    call: *const u64,
    words: *const u64,
    group: u64,
    item: u64,
) {
    // SAFETY: the caller's.
    let (line, count) = unsafe { ([*call, *call.add(1)], *call.add(2) as usize) };
    // SAFETY: the caller's: a word for each operand.
    let shapes = unsafe { slice::from_raw_parts(call.add(3), count) };
    let mut next = words;
    let given = shapes.iter().map(|shape| {
        let scalar = Scalar::ALL.get((*shape & 0xffff_ffff) as usize);
        let shape = Shape {
            scalar: scalar.copied().unwrap_or(Scalar::I64),
            lanes: (*shape >> 32) as u32,
        };
        // SAFETY: the caller's: the words of all operands are there.
        unsafe {
            let words = slice::from_raw_parts(next, shape.lanes as usize);
            next = next.add(words.len());
            (words, shape)
        }
    });
    let given: Vec<_> = given.collect();
    // SAFETY: the caller's; it lives as long as the launch.
    let bounds = unsafe { &(*(*launch).printing).bounds };
    let mut hint = Hint::default();
    let mut read = |address: u64| {
        if let Some(bounds) = bounds {
            let byte = bounds.reachable.global.load(address, 1, &mut hint);
            return byte.map(|byte| byte as u8).map_err(Fault::Access);
        }
        // Without checks, a string that is null is all that can be told from others.
        if address >= NULL_PAGE {
            // SAFETY: the caller's: a string is there.
            return Ok(unsafe { (address as *const u8).read() });
        }
        Err(Fault::Access(Violation {
            kind: AccessKind::Load,
            address,
            size: 1,
            reason: Reason::OutOfBounds,
        }))
    };
    // Made now, as a string may be another by the time that it is printed.
    let mut text = Some(Text {
        group,
        item,
        line: line.map(|word| word as u32),
        text: printf::format(&given, &mut read),
    });
    let is_much = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        if let Some(text) = text.take() {
            // Empty texts count as well: a loop of them would fill memory like any other.
            kept.bytes += size_of::<Text>() + text.text.as_ref().map_or(0, String::len);
            kept.texts.push(text);
        }
        kept.bytes > MOST_KEPT
    });
    match is_much {
        Ok(false) => {}
        // SAFETY: the caller's.
        Ok(true) => unsafe { printed(launch) },
        // The thread ends, and launches from what it runs then: nothing is kept any more.
        Err(_) => {
            let kept = Kept {
                texts: text.into_iter().collect(),
                bytes: 0,
            };
            // SAFETY: the caller's; it lives as long as the launch.
            unsafe { &*(*launch).printing }.print(kept);
        }
    }
}

/// Prints what this thread has kept.
///
/// # Safety
/// `launch` is that of the code that calls.
pub(crate) unsafe extern "C" fn printed(launch: *const NativeLaunch) {
    // Taken first: who gets the texts may launch kernels that print.
    let kept = KEPT.try_with(RefCell::take).unwrap_or_default();
    // SAFETY: the caller's; it lives as long as the launch.
    let printing = unsafe { &*(*launch).printing };
    printing.print(kept);
}

/// Has the launch fail, since a work-item's stack has no room for one more call.
///
/// # Safety
/// `launch` is that of the code that calls.
pub(crate) unsafe extern "C" fn overflow(launch: *const NativeLaunch, group: u64, item: u64) {
    // SAFETY: the caller's.
    unsafe { fail(launch, group, item, Fault::overflow()) };
}

/// Has the launch fail, since a work-item would store to the null pointer: a failed assertion ends like this.
///
/// # Safety
/// `launch` is that of the code that calls.
pub(crate) unsafe extern "C" fn nowhere(launch: *const NativeLaunch, group: u64, item: u64) {
    // SAFETY: the caller's.
    unsafe { fail(launch, group, item, Fault::nowhere()) };
}

/// Has the launch fail, since a work-item calls by an address that no function has.
///
/// # Safety
/// `launch` is that of the code that calls.
pub(crate) unsafe extern "C" fn no_function(launch: *const NativeLaunch, group: u64, item: u64) {
    // SAFETY: the caller's.
    unsafe { fail(launch, group, item, Fault::no_function()) };
}

/// # Safety
/// `launch` is that of the code that calls.
unsafe fn fail(launch: *const NativeLaunch, group: u64, item: u64, fault: Fault) {
    // SAFETY: the caller's; it lives as long as the launch. What was printed before comes first, since nothing is
    // behind a failure.
    let printing = unsafe {
        printed(launch);
        &*(*launch).printing
    };
    let error = printing.error(group, item, [0; 2], fault);
    printing.fail(Failure::Error(group, error));
}

/// Notes that a work-group is left before it is done, since the launch is given up, or has failed elsewhere.
///
/// # Safety
/// `launch` is that of the code that calls.
pub(crate) unsafe extern "C" fn cancelled(launch: *const NativeLaunch, group: u64) {
    // SAFETY: the caller's. They live as long as the launch.
    let (printing, cancel) = unsafe {
        printed(launch);
        (&*(*launch).printing, &*(*launch).cancel)
    };
    // Otherwise a work-item has failed, and whoever noted that has said why.
    if cancel.load(Ordering::Relaxed) {
        printing.fail(Failure::Error(group, printing.cancelled(group)));
    }
}
