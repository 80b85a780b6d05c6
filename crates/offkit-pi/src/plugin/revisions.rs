//! What later versions add to the interface, and later revisions of its functions, in terms of the first ones.

use super::error::last_error;
use super::event::{piEventCreate, piEventSetStatus};
use super::kernel::piextKernelSetArgMemObj;
use super::program::piProgramCreateWithBinary;
use super::queue::piQueueCreate;
use super::shim::{give, non_null, properties, text};
use super::state::{self, Registered};
use super::usm::piextUSMEnqueueMemAdvise as piextUSMEnqueueMemAdvise_c;
use super::{Error, Plugin, Result};
use crate::ffi::*;
use core::ffi::{c_char, c_void};

/// Flags that ask for nothing a plugin must do.
const QUEUE_HINTS: pi_queue_properties = PI_EXT_ONEAPI_QUEUE_DISCARD_EVENTS
    | PI_EXT_ONEAPI_QUEUE_PRIORITY_LOW
    | PI_EXT_ONEAPI_QUEUE_PRIORITY_HIGH
    | PI_EXT_QUEUE_FLAG_SUBMISSION_NO_IMMEDIATE
    | PI_EXT_QUEUE_FLAG_SUBMISSION_IMMEDIATE;

/// The flags of a list of queue properties.
///
/// # Safety
///
/// `list` must be null, or keys and values that end with the key 0.
unsafe fn queue_flags(list: *const pi_queue_properties) -> Result<pi_queue_properties> {
    let mut flags = 0;
    // SAFETY: by the caller's promise.
    for property in unsafe { properties(list) } {
        match property {
            (PI_QUEUE_FLAGS, value) => flags = value & !QUEUE_HINTS,
            // All queues of a device are alike here.
            (PI_QUEUE_COMPUTE_INDEX, 0) => {}
            (key, value) => {
                return Err(Error::new(
                    PI_INVALID_QUEUE_PROPERTIES,
                    format_args!("queue property {key:#x} with value {value:#x}"),
                ));
            }
        }
    }
    Ok(flags)
}

pub(super) unsafe fn piextQueueCreate<P: Registered>(
    context: pi_context,
    device: pi_device,
    properties: *mut pi_queue_properties,
    queue: *mut pi_queue,
) -> Result<()> {
    non_null(queue, "queue")?;
    // SAFETY: the host passes a list of properties, or null.
    let flags = unsafe { queue_flags(properties) }?;
    let record = piQueueCreate::<P>(context, device, flags)?;
    // SAFETY: not null, so valid for writing.
    unsafe { give(queue, record) };
    Ok(())
}

pub(super) use piextQueueCreate as piextQueueCreate2;

pub(super) unsafe fn piProgramCreateWithBinary_b<P: Registered>(
    context: pi_context,
    num_devices: pi_uint32,
    device_list: *const pi_device,
    lengths: *const usize,
    binaries: *mut *const u8,
    // Hints for drivers that do not read them from the code.
    _num_metadata_entries: usize,
    _metadata: *const pi_device_binary_property,
    binary_status: *mut pi_int32,
    ret_program: *mut pi_program,
) -> Result<()> {
    non_null(ret_program, "ret_program")?;
    // SAFETY: the host passes what the first revision takes as that takes it, and `ret_program` is not null.
    unsafe {
        let create = piProgramCreateWithBinary::<P>;
        let record = create(
            context,
            num_devices,
            device_list,
            lengths,
            binaries,
            binary_status,
        )?;
        give(ret_program, record);
    }
    Ok(())
}

pub(super) unsafe fn piextKernelSetArgMemObj_b<P: Registered>(
    kernel: pi_kernel,
    index: pi_uint32,
    // How the kernel uses the memory. A hint: the kernel says that as well.
    _properties: *const pi_mem_obj_property,
    value: *const pi_mem,
) -> Result<()> {
    // SAFETY: the host passes the value as the first revision takes it.
    unsafe { piextKernelSetArgMemObj::<P>(kernel, index, value) }
}

/// An event that is complete from the start.
pub(super) unsafe fn piEventCreate_b<P: Registered>(
    context: pi_context,
    ret_event: *mut pi_event,
) -> Result<()> {
    non_null(ret_event, "ret_event")?;
    // Plugins make events of the first revision alone, which the host would complete by itself.
    let record = piEventCreate::<P>(context)?;
    // SAFETY: not null, so valid for writing, and written before it is read.
    let event = unsafe {
        give(ret_event, record);
        ret_event.read()
    };
    piEventSetStatus::<P>(event, PI_EVENT_COMPLETE)
}

pub(super) fn piTearDown<P: Plugin>(_: *mut c_void) -> Result<()> {
    P::tear_down()
}

/// With a `bool` to set: calls from here on are the host's to hold back.
pub(super) unsafe fn piTearDown_b<P: Plugin>(is_torn_down: *mut c_void) -> Result<()> {
    P::tear_down()?;
    if !is_torn_down.is_null() {
        // SAFETY: not null, so the host passes a place for a `bool`, which is a byte.
        unsafe { is_torn_down.cast::<u8>().write(1) };
    }
    Ok(())
}

/// The hints up to 12.27 as the bits they are later.
fn advice_of_number(number: u32) -> Option<pi_mem_advice> {
    let index = number.checked_sub(101)?;
    // Those of HIP came later, and never had numbers.
    let last = PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY_HOST.trailing_zeros();
    (index <= last).then(|| 1 << index)
}

pub(super) unsafe fn piextUSMEnqueueMemAdvise<P: Registered>(
    queue: pi_queue,
    pointer: *const c_void,
    length: usize,
    number: u32,
    event: *mut pi_event,
) -> Result<()> {
    let advice = advice_of_number(number).unwrap_or(PI_MEM_ADVICE_UNKNOWN);
    // SAFETY: the host passes an event as the interface says.
    unsafe { piextUSMEnqueueMemAdvise_c::<P>(queue, pointer, length, advice, event) }
}

pub(super) unsafe fn piextUSMEnqueueMemAdvise_b<P: Registered>(
    queue: pi_queue,
    pointer: *const c_void,
    length: usize,
    number: u32,
    event: *mut pi_event,
) -> Result<()> {
    let advice = match number {
        0 => PI_MEM_ADVICE_RESET,
        number => advice_of_number(number).unwrap_or(PI_MEM_ADVICE_UNKNOWN),
    };
    // SAFETY: the host passes an event as the interface says.
    unsafe { piextUSMEnqueueMemAdvise_c::<P>(queue, pointer, length, advice, event) }
}

/// What went wrong in this thread's last failing call: the words here, the code as the result.
pub(super) unsafe fn piPluginGetLastError(message: *mut *mut c_char) -> pi_result {
    let (code, text) = last_error();
    if message.is_null() {
        return PI_INVALID_VALUE;
    }
    // SAFETY: not null, so valid for writing. The host does not write to the text.
    unsafe { message.write(text.cast_mut()) };
    code
}

/// The plugin's spelling of a compiler's option. Programs are optimised the same whatever is asked for.
pub(super) unsafe fn piPluginGetBackendOption<P: Registered>(
    platform: pi_platform,
    frontend_option: *const c_char,
    backend_option: *mut *const c_char,
) -> Result<()> {
    non_null(backend_option, "backend_option")?;
    state::platform::<P>(platform)?;
    // SAFETY: the host passes a NUL-terminated string.
    match unsafe { text(frontend_option, "frontend_option") }? {
        "" | "-O0" | "-O1" | "-O2" | "-O3" => {}
        option => {
            return Err(Error::new(
                PI_INVALID_VALUE,
                format_args!("unknown option {option}"),
            ));
        }
    }
    // SAFETY: not null, so valid for writing.
    unsafe { backend_option.write(c"".as_ptr()) };
    Ok(())
}
