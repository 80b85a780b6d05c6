//! Kernels, their arguments, and launches.

use std::ffi::{CString, c_char, c_int};
use std::ptr;

use offkit_pi::NdRange;
use offkit_pi::host::Argument as HostArgument;
use offkit_sync::Mutex;

use crate::c::{
    Array, In, New, Objects, Owned, Result, Status, attempt, c_text, free, given, lock, make_if_wanted, tell,
};
use crate::context::Queue;
use crate::error::Failure;
use crate::event::{Event, events};
use crate::memory::{Buffer, Usm};

/// `offkit_kernel`.
pub(crate) struct Kernel {
    /// Its arguments are those of one launch at a time.
    kernel: Mutex<offkit_runtime::Kernel>,
    name: CString,
    signature: CString,
}

impl From<offkit_runtime::Kernel> for Kernel {
    fn from(kernel: offkit_runtime::Kernel) -> Self {
        let signature = kernel.description().map(|kernel| kernel.signature());
        Self {
            name: c_text(kernel.name()),
            signature: c_text(&signature.unwrap_or_default()),
            kernel: Mutex::new(kernel),
        }
    }
}

/// `offkit_argument`.
#[repr(C)]
pub(crate) struct Argument {
    kind: c_int,
    size: usize,
    pointer: *const u8,
}

impl Argument {
    /// The argument with a number, as the runtime has it.
    ///
    /// # Safety
    ///
    /// The pointer must be null or to what the kind says.
    unsafe fn get(&self, number: usize) -> Result<HostArgument> {
        let name = format!("argument {number}");
        // SAFETY: by the caller's promise. References to objects are only made for their kinds.
        unsafe {
            Ok(match self.kind {
                // Before the pointer is looked at, which may be null for no bytes.
                0 if self.size == 0 => HostArgument::bytes(&[]),
                0 if self.pointer.is_null() => {
                    return Err(Failure::invalid(format!("{name} is a null pointer")));
                }
                0 => HostArgument::bytes(std::slice::from_raw_parts(self.pointer, self.size)),
                1 => (&given(self.pointer.cast::<Buffer>().as_ref(), &name)?.0).into(),
                2 => given(self.pointer.cast::<Usm>().as_ref(), &name)?.0.at(self.size),
                3 => HostArgument::Address(self.pointer.addr()),
                4 => HostArgument::Local(self.size),
                other => {
                    return Err(Failure::invalid(format!(
                        "{name} is of kind {other}: expected one of OFFKIT_ARGUMENT_..."
                    )));
                }
            })
        }
    }
}

/// `offkit_range`.
#[repr(C)]
pub(crate) struct Range {
    dimensions: u32,
    offset: [usize; 3],
    global: [usize; 3],
    local: [usize; 3],
}

impl Range {
    fn get(&self) -> Result<NdRange> {
        let dimensions = self.dimensions as usize;
        if !(1..=3).contains(&dimensions) {
            return Err(Failure::invalid(format!(
                "the range has {dimensions} dimensions: expected 1, 2 or 3"
            )));
        }
        // What is behind the dimensions may be anything.
        let padded = |sizes: &[usize; 3], padding| {
            let mut padded = [padding; 3];
            padded[..dimensions].copy_from_slice(&sizes[..dimensions]);
            padded
        };
        let has_local = self.local[..dimensions].iter().any(|size| *size != 0);
        Ok(NdRange {
            dimensions: self.dimensions,
            offset: padded(&self.offset, 0),
            global: padded(&self.global, 1),
            local: has_local.then(|| padded(&self.local, 1)),
        })
    }
}

#[unsafe(no_mangle)]
extern "C" fn offkit_kernel_name(kernel: In<'_, Kernel>) -> *const c_char {
    tell(kernel, ptr::null(), |kernel| kernel.name.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_kernel_signature(kernel: In<'_, Kernel>) -> *const c_char {
    tell(kernel, ptr::null(), |kernel| kernel.signature.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_kernel_set_indirect_access(kernel: In<'_, Kernel>, indirect: bool) -> Status {
    attempt(|| {
        let kernel = given(kernel, "the kernel")?;
        Ok(lock(&kernel.kernel).set_indirect_access(indirect)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_kernel_launch(
    kernel: In<'_, Kernel>,
    queue: In<'_, Queue>,
    range: In<'_, Range>,
    arguments: Array<'_, Argument>,
    argument_count: usize,
    wait: Objects<'_, Event>,
    wait_count: usize,
    event: New<'_, Event>,
) -> Status {
    make_if_wanted(event, || {
        let (kernel, queue) = (given(kernel, "the kernel")?, given(queue, "the queue")?);
        let range = given(range, "the range")?.get()?;
        // SAFETY: the caller says how many arguments and events there are, and what pointers are.
        let (arguments, wait) = unsafe {
            let arguments = arguments.get(argument_count, "the arguments")?;
            let arguments = arguments.iter().enumerate();
            let arguments = arguments.map(|(number, argument)| argument.get(number));
            (arguments.collect::<Result<Vec<_>>>()?, events(wait, wait_count)?)
        };
        // Held over both steps of a launch: no other thread's arguments may come between.
        let mut kernel = lock(&kernel.kernel);
        let event = kernel.launch(&queue.0, &range, &arguments, &wait)?;
        Ok(Event::new(event, format!("kernel `{}`", kernel.name())))
    })
}

#[unsafe(no_mangle)]
extern "C" fn offkit_kernel_free(kernel: Owned<Kernel>) {
    free(kernel);
}
