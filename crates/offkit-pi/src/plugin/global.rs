//! Program-scope variables, read and written by name.

use super::command::Command;
use super::context::device_of;
use super::enqueue::{Submission, queue_in};
use super::shim::{non_null, text};
use super::state::{self, DeviceRecord, ProgramRecord, QueueRecord, Registered};
use super::{Error, Program, Result};
use crate::ffi::*;
use core::ffi::{c_char, c_void};

/// A program-scope variable on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalVariable {
    /// Address of its first byte, as commands on unified shared memory take it.
    pub address: usize,
    /// Size in bytes.
    pub size: usize,
}

/// Finds a variable of a program on a device.
///
/// # Safety
///
/// `name` must be null or NUL-terminated.
unsafe fn find<P: Registered>(
    program: &ProgramRecord<P>,
    device: &DeviceRecord<P>,
    name: *const c_char,
) -> Result<GlobalVariable> {
    // SAFETY: by the caller's promise.
    let name = unsafe { text(name, "name") }?;
    program.object().global_variable(device.object(), name)
}

pub(super) unsafe fn piextGetGlobalVariablePointer<P: Registered>(
    device: pi_device,
    program: pi_program,
    name: *const c_char,
    size: *mut usize,
    pointer: *mut *mut c_void,
) -> Result<()> {
    non_null(pointer, "global_variable_pointer_ret")?;
    let program = state::program::<P>(program)?;
    let device = device_of(&program.details().context, device)?;
    // SAFETY: the host passes a name, and places for both answers; that for the size may be null.
    unsafe {
        let variable = find(&program, &device, name)?;
        pointer.write(core::ptr::with_exposed_provenance_mut(variable.address));
        if !size.is_null() {
            size.write(variable.size);
        }
    }
    Ok(())
}

/// The queue, and the address of a part of a variable on its device.
///
/// # Safety
///
/// `name` must be null or NUL-terminated.
unsafe fn part<P: Registered>(
    queue: pi_queue,
    program: pi_program,
    name: *const c_char,
    count: usize,
    offset: usize,
) -> Result<(QueueRecord<P>, usize)> {
    let program = state::program::<P>(program)?;
    let queue = queue_in(queue, &program.details().context)?;
    // SAFETY: by the caller's promise.
    let GlobalVariable { address, size } = unsafe { find(&program, &queue.details().device, name) }?;
    // Checked here, for the command that comes of it has addresses alone: behind the variable is
    // something else.
    let end = offset.checked_add(count).filter(|end| *end <= size);
    let start = end.and(address.checked_add(offset)).ok_or_else(|| {
        let message = format_args!("{count} bytes at {offset} are not within a variable of {size} bytes");
        Error::new(PI_INVALID_VALUE, message)
    })?;
    Ok((queue, start))
}

pub(super) unsafe fn piextEnqueueDeviceGlobalVariableWrite<P: Registered>(
    queue: pi_queue,
    program: pi_program,
    name: *const c_char,
    blocking: pi_bool,
    count: usize,
    offset: usize,
    source: *const c_void,
) -> Result<Submission<P>> {
    non_null(source.cast_mut(), "src")?;
    // SAFETY: the host passes a name.
    let (queue, target) = unsafe { part::<P>(queue, program, name, count, offset) }?;
    let command = Command::CopyUsm {
        source: source.expose_provenance(),
        target,
        size: count,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}

pub(super) unsafe fn piextEnqueueDeviceGlobalVariableRead<P: Registered>(
    queue: pi_queue,
    program: pi_program,
    name: *const c_char,
    blocking: pi_bool,
    count: usize,
    offset: usize,
    target: *mut c_void,
) -> Result<Submission<P>> {
    non_null(target, "dst")?;
    // SAFETY: the host passes a name.
    let (queue, source) = unsafe { part::<P>(queue, program, name, count, offset) }?;
    let command = Command::CopyUsm {
        source,
        target: target.expose_provenance(),
        size: count,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}
