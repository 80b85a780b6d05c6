//! Functions that several versions have with unlike parameters, under one form: that of the newest. A plugin's version
//! says what its own revision is given of it.
//!
//! What a revision has no parameter for is left out where it is a hint, and refused where it is not.

use super::plugin::{Plugin, call};
use super::{PiError, Result};
use crate::ffi::*;
use crate::table::{Function, Revision};

/// Calls the first of some revisions that a plugin has. The condition behind `if` is a `Result<()>`: whether that
/// revision can say what is asked for.
macro_rules! newest {
    ($plugin:expr, $function:ident, $($revision:ident($($argument:expr),*) $(if $expressible:expr)?;)*) => {
        $(if let Some(function) = $plugin.api().$revision {
            $($expressible?;)?
            $plugin.call(Revision::$revision, function, ($($argument,)*))
        } else)* {
            Err($plugin.not_provided(Function::$function))
        }
    };
}

/// A native queue to make a queue of.
#[derive(Debug, Clone, Copy)]
pub struct NativeQueue {
    /// The native handle.
    pub handle: pi_native_handle,
    /// What kind of native object it is, in the driver's numbers; 0 where there is one kind.
    pub kind: i32,
    /// The queue's context.
    pub context: pi_context,
    /// The queue's device; null for the context's.
    pub device: pi_device,
    /// Whether the native object is to be closed with the new one.
    pub owned: bool,
    /// How the queue works (`PI_QUEUE_*` flags).
    pub flags: pi_queue_properties,
}

/// A list of queue properties that has flags alone.
fn queue_properties(flags: pi_queue_properties) -> [pi_queue_properties; 3] {
    [PI_QUEUE_FLAGS, flags, 0]
}

impl Plugin {
    /// The first revision of a function that makes an object of a native handle always takes the native object over.
    fn takes_over(&self, function: Function, owned: bool) -> Result<()> {
        let refused = || self.inexpressible(function, "leave the native object to the host");
        if owned { Ok(()) } else { Err(refused()) }
    }

    fn inexpressible(&self, function: Function, what: &str) -> PiError {
        let message = format!("{} cannot {what}: it speaks PI {}", self.name(), self.version());
        PiError::refused(function, PI_INVALID_OPERATION, message)
    }

    /// Makes a queue, in the way of the plugin's version.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not make it.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn create_queue(
        &self,
        context: pi_context,
        device: pi_device,
        flags: pi_queue_properties,
    ) -> Result<pi_queue> {
        let mut queue = core::ptr::null_mut();
        let (to, mut list) = (&raw mut queue, queue_properties(flags));
        let properties = list.as_mut_ptr();
        // SAFETY: the handles are valid by the caller's promise, and the list has its end. Where there are queues by
        // list, the function that takes flags is there as well and not used by hosts.
        unsafe {
            newest! { self, piQueueCreate,
                piextQueueCreate2(context, device, properties, to);
                piextQueueCreate(context, device, properties, to);
                piQueueCreate(context, device, flags, to);
            }
        }?;
        Ok(queue)
    }

    /// Makes an event that the host completes.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not make it, or its version has no such events.
    ///
    /// # Safety
    ///
    /// The context must be valid.
    pub unsafe fn create_user_event(&self, context: pi_context) -> Result<pi_event> {
        if self.api().piEventCreate_b.is_some() {
            return Err(self.inexpressible(Function::piEventCreate, "make an event that the host completes"));
        }
        let mut event = core::ptr::null_mut();
        // SAFETY: by the caller's promise.
        unsafe { call!(self, piEventCreate(context, &raw mut event)) }?;
        Ok(event)
    }

    /// Makes a program of the machine code for a device. The metadata is what the image's property set
    /// `SYCL/program metadata` has.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not take it.
    ///
    /// # Safety
    ///
    /// The handles must be valid, and the metadata lead to valid properties.
    pub unsafe fn create_program_with_binary(
        &self,
        context: pi_context,
        device: pi_device,
        binary: &[u8],
        metadata: &[pi_device_binary_property],
    ) -> Result<pi_program> {
        let (devices, sizes, mut starts) = ([device], [binary.len()], [binary.as_ptr()]);
        let (devices, sizes, starts) = (devices.as_ptr(), sizes.as_ptr(), starts.as_mut_ptr());
        let (mut status, mut program) = (0, core::ptr::null_mut());
        let (status, to) = (&raw mut status, &raw mut program);
        let entries = match metadata {
            [] => core::ptr::null(),
            metadata => metadata.as_ptr(),
        };
        // SAFETY: there is one device, one length, one binary of that length, and room for one status.
        unsafe {
            newest! { self, piProgramCreateWithBinary,
                piProgramCreateWithBinary_b(context, 1, devices, sizes, starts, metadata.len(), entries, status, to);
                piProgramCreateWithBinary(context, 1, devices, sizes, starts, status, to);
            }
        }?;
        Ok(program)
    }

    /// Sets a memory object as a kernel's argument. The property says what the kernel does with it.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the kernel does not take it.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn set_memory_argument(
        &self,
        kernel: pi_kernel,
        index: u32,
        property: Option<&pi_mem_obj_property>,
        memory: pi_mem,
    ) -> Result<()> {
        let (property, value) = (
            property.map_or(core::ptr::null(), core::ptr::from_ref),
            &raw const memory,
        );
        // SAFETY: the functions take a pointer to the handle, as `clSetKernelArg` does, and read it during the call.
        unsafe {
            newest! { self, piextKernelSetArgMemObj,
                piextKernelSetArgMemObj_b(kernel, index, property, value);
                piextKernelSetArgMemObj(kernel, index, value);
            }
        }
    }

    /// Gives a hint about a USM allocation (a `PI_MEM_ADVICE_*` value).
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not take it, or its version has no number for it.
    ///
    /// # Safety
    ///
    /// The queue must be valid, and the range be of an allocation.
    pub unsafe fn advise_usm(
        &self,
        queue: pi_queue,
        start: *const core::ffi::c_void,
        size: usize,
        advice: pi_mem_advice,
    ) -> Result<pi_event> {
        let function = Function::piextUSMEnqueueMemAdvise;
        let mut event = core::ptr::null_mut();
        let to = &raw mut event;
        // A hint is one bit, and bits and numbers are in the same order.
        // Up to 12.27 the hints have numbers from 101 on.
        let number = match advice {
            PI_MEM_ADVICE_CUDA_SET_READ_MOSTLY..=PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY_HOST => {
                101 + advice.trailing_zeros()
            }
            _ => 0,
        };
        let has_number = |number| match number {
            0 => Err(self.inexpressible(function, &format!("take the hint {advice:#x}"))),
            _ => Ok(()),
        };
        // SAFETY: by the caller's promise.
        unsafe {
            newest! { self, piextUSMEnqueueMemAdvise,
                piextUSMEnqueueMemAdvise_c(queue, start, size, advice, to);
                piextUSMEnqueueMemAdvise_b(queue, start, size, number, to)
                    if if advice == PI_MEM_ADVICE_RESET { Ok(()) } else { has_number(number) };
                piextUSMEnqueueMemAdvise(queue, start, size, number, to) if has_number(number);
            }
        }?;
        Ok(event)
    }

    /// Makes a context of a native one.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not make it.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn create_context_with_native_handle(
        &self,
        native: pi_native_handle,
        devices: &[pi_device],
        owned: bool,
    ) -> Result<pi_context> {
        let function = Function::piextContextCreateWithNativeHandle;
        let (count, list) = (devices.len() as pi_uint32, devices.as_ptr());
        let mut context = core::ptr::null_mut();
        let to = &raw mut context;
        // SAFETY: there are as many devices as the count says, all valid by the caller's promise.
        unsafe {
            newest! { self, piextContextCreateWithNativeHandle,
                piextContextCreateWithNativeHandle_b(native, count, list, owned.into(), to);
                piextContextCreateWithNativeHandle(native, count, list, to) if self.takes_over(function, owned);
            }
        }?;
        Ok(context)
    }

    /// The native handle of a queue, and what kind of object it is, in the driver's numbers.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin has none.
    ///
    /// # Safety
    ///
    /// The queue must be valid.
    pub unsafe fn native_handle_of_queue(&self, queue: pi_queue) -> Result<(pi_native_handle, i32)> {
        let (mut native, mut kind) = (0, 0);
        let (to, kind_to) = (&raw mut native, &raw mut kind);
        // SAFETY: by the caller's promise.
        unsafe {
            newest! { self, piextQueueGetNativeHandle,
                piextQueueGetNativeHandle2(queue, to, kind_to);
                piextQueueGetNativeHandle_b(queue, to, kind_to);
                piextQueueGetNativeHandle(queue, to);
            }
        }?;
        Ok((native, kind))
    }

    /// Makes a queue of a native one.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not make it, or its version cannot be told all of this.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn create_queue_with_native_handle(&self, native: &NativeQueue) -> Result<pi_queue> {
        let function = Function::piextQueueCreateWithNativeHandle;
        let NativeQueue {
            handle,
            kind,
            context,
            device,
            owned,
            flags,
        } = *native;
        let mut list = queue_properties(flags);
        let properties = list.as_mut_ptr();
        let plain = || match (kind, flags) {
            (0, 0) => Ok(()),
            _ => Err(self.inexpressible(function, "be told the kind of a native queue, or how it works")),
        };
        let mut queue = core::ptr::null_mut();
        let to = &raw mut queue;
        // SAFETY: the handles are valid by the caller's promise, and the list has its end.
        unsafe {
            newest! { self, piextQueueCreateWithNativeHandle,
                piextQueueCreateWithNativeHandle2(handle, kind, context, device, owned.into(), properties, to);
                piextQueueCreateWithNativeHandle_d(handle, kind, context, device, owned.into(), properties, to);
                piextQueueCreateWithNativeHandle_c(handle, context, device, owned.into(), to) if plain();
                piextQueueCreateWithNativeHandle_b(handle, context, to, owned.into()) if plain();
                piextQueueCreateWithNativeHandle(handle, context, to)
                    if plain().and_then(|()| self.takes_over(function, owned));
            }
        }?;
        Ok(queue)
    }

    /// The native handle of a memory object, on a device where it has several; null for any.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin has none.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn native_handle_of_memory(
        &self,
        memory: pi_mem,
        device: pi_device,
    ) -> Result<pi_native_handle> {
        let mut native = 0;
        let to = &raw mut native;
        // SAFETY: by the caller's promise.
        unsafe {
            newest! { self, piextMemGetNativeHandle,
                piextMemGetNativeHandle_b(memory, device, to);
                piextMemGetNativeHandle(memory, to);
            }
        }?;
        Ok(native)
    }

    /// Makes a memory object of a native one.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not make it.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn create_memory_with_native_handle(
        &self,
        native: pi_native_handle,
        context: pi_context,
        owned: bool,
    ) -> Result<pi_mem> {
        let function = Function::piextMemCreateWithNativeHandle;
        let mut memory = core::ptr::null_mut();
        let to = &raw mut memory;
        // SAFETY: by the caller's promise.
        unsafe {
            newest! { self, piextMemCreateWithNativeHandle,
                piextMemCreateWithNativeHandle_b(native, context, owned.into(), to);
                piextMemCreateWithNativeHandle(native, to) if self.takes_over(function, owned);
            }
        }?;
        Ok(memory)
    }

    /// Makes a program of a native one.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not make it.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn create_program_with_native_handle(
        &self,
        native: pi_native_handle,
        context: pi_context,
        owned: bool,
    ) -> Result<pi_program> {
        let function = Function::piextProgramCreateWithNativeHandle;
        let mut program = core::ptr::null_mut();
        let to = &raw mut program;
        // SAFETY: by the caller's promise.
        unsafe {
            newest! { self, piextProgramCreateWithNativeHandle,
                piextProgramCreateWithNativeHandle_b(native, context, owned.into(), to);
                piextProgramCreateWithNativeHandle(native, context, to) if self.takes_over(function, owned);
            }
        }?;
        Ok(program)
    }

    /// Makes an event of a native one.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the plugin does not make it.
    ///
    /// # Safety
    ///
    /// The handles must be valid.
    pub unsafe fn create_event_with_native_handle(
        &self,
        native: pi_native_handle,
        context: pi_context,
        owned: bool,
    ) -> Result<pi_event> {
        let function = Function::piextEventCreateWithNativeHandle;
        let mut event = core::ptr::null_mut();
        let to = &raw mut event;
        // SAFETY: by the caller's promise.
        unsafe {
            newest! { self, piextEventCreateWithNativeHandle,
                piextEventCreateWithNativeHandle_b(native, context, owned.into(), to);
                piextEventCreateWithNativeHandle(native, to) if self.takes_over(function, owned);
            }
        }?;
        Ok(event)
    }
}
