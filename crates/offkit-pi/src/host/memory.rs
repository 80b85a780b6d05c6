//! Buffers and USM allocations.

use super::argument::{Argument, ValueType};
use super::context::Context;
use super::device::Device;
use super::handle::Owned;
use super::plugin::{call, create};
use super::{PiError, Result};
use crate::ffi::*;
use crate::table::Function;
use core::ffi::c_void;
use std::sync::Arc;

/// Memory a kernel reaches through an argument. The device may keep it anywhere, and move it.
#[derive(Clone, Debug)]
pub struct Buffer {
    handle: Arc<Owned<pi_mem>>,
    size: usize,
    context: Context,
    /// Of a part: the buffer that it is a part of, and where it begins there.
    whole: Option<(Arc<Owned<pi_mem>>, usize)>,
}

impl Buffer {
    pub(crate) fn create(
        context: &Context,
        flags: pi_mem_flags,
        size: usize,
        data: *const u8,
    ) -> Result<Buffer> {
        let mut memory = core::ptr::null_mut();
        // SAFETY: `data` is null, or the flags say that `size` bytes are copied from it (all callers are
        // above).
        let handle = unsafe {
            call!(
                context.plugin(),
                piMemBufferCreate(
                    context.raw(),
                    flags,
                    size,
                    data.cast_mut().cast::<c_void>(),
                    &raw mut memory,
                    core::ptr::null(),
                )
            )?;
            Owned::new(context.plugin().clone(), memory)
        };
        Ok(Buffer {
            handle: Arc::new(handle),
            size,
            context: context.clone(),
            whole: None,
        })
    }

    pub(crate) fn raw(&self) -> pi_mem {
        self.handle.raw()
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// A part of this buffer, sharing its memory. Not every device takes every `origin`.
    ///
    /// # Errors
    ///
    /// [`PiError`] if the part is empty, not within the buffer, or not aligned as the device wants it.
    pub fn part(&self, origin: usize, size: usize) -> Result<Buffer> {
        let mut region = pi_buffer_region_struct { origin, size };
        let plugin = self.handle.plugin();
        // SAFETY: for this kind of partition the information is a region.
        let handle = unsafe {
            create!(
                plugin,
                piMemBufferPartition(
                    self.raw(),
                    PI_MEM_FLAGS_ACCESS_RW,
                    PI_BUFFER_CREATE_TYPE_REGION,
                    (&raw mut region).cast()
                )
            )
        }?;
        let (whole, start) = self.place();
        Ok(Buffer {
            handle: Arc::new(handle),
            size,
            context: self.context.clone(),
            whole: Some((Arc::clone(whole), start.saturating_add(origin))),
        })
    }

    /// Whose memory this is, and where it begins there.
    fn place(&self) -> (&Arc<Owned<pi_mem>>, usize) {
        let whole = self.whole.as_ref();
        whole.map_or((&self.handle, 0), |(whole, start)| (whole, *start))
    }

    /// Whether two buffers, or parts, have bytes in common, of `size` each from the offsets on.
    pub(crate) fn overlap(from: (&Buffer, usize), to: (&Buffer, usize), size: usize) -> bool {
        let ((one, start), (other, other_start)) = (from.0.place(), to.0.place());
        // Whether the ranges are within the buffers is the plugin's to check, after this: here sums
        // may be out of range.
        let start = start.saturating_add(from.1);
        Arc::ptr_eq(one, other) && start.abs_diff(other_start.saturating_add(to.1)) < size
    }
}

/// Who can reach a USM allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsmKind {
    /// Host memory the device can reach.
    Host,
    /// Device memory the host cannot reach.
    Device,
    /// Memory both can reach, and that may move between them.
    Shared,
}

/// Memory with an address that is the same for kernels and host (unified shared memory).
///
/// Dropping the last clone does not wait: the memory is freed when the commands that were given it are done.
#[derive(Clone, Debug)]
pub struct Usm {
    inner: Arc<Allocation>,
}

#[derive(Debug)]
pub(crate) struct Allocation {
    context: Context,
    kind: UsmKind,
    address: usize,
    size: usize,
}

impl Usm {
    pub(crate) fn allocate(
        context: &Context,
        kind: UsmKind,
        device: &Device,
        size: usize,
        alignment: u32,
    ) -> Result<Usm> {
        let function = match kind {
            UsmKind::Host => Function::piextUSMHostAlloc,
            UsmKind::Device => Function::piextUSMDeviceAlloc,
            UsmKind::Shared => Function::piextUSMSharedAlloc,
        };
        let plugin = context.plugin();
        plugin.check_same(device.plugin(), function, PI_INVALID_DEVICE)?;
        let (context_handle, device) = (context.raw(), device.raw());
        // A list without properties, which all versions take; up to 6.8 null is usual as well.
        let none: *mut pi_usm_mem_properties = &mut 0;
        let mut address = core::ptr::null_mut();
        let to = &raw mut address;
        // SAFETY: the handles are valid, and the list of properties has its end.
        unsafe {
            match kind {
                UsmKind::Host => {
                    call!(
                        plugin,
                        piextUSMHostAlloc(to, context_handle, none, size, alignment)
                    )
                }
                UsmKind::Device => {
                    call!(
                        plugin,
                        piextUSMDeviceAlloc(to, context_handle, device, none, size, alignment)
                    )
                }
                UsmKind::Shared => {
                    call!(
                        plugin,
                        piextUSMSharedAlloc(to, context_handle, device, none, size, alignment)
                    )
                }
            }
        }?;
        Ok(Usm {
            inner: Arc::new(Allocation {
                context: context.clone(),
                kind,
                address: address.addr(),
                size,
            }),
        })
    }

    pub(crate) fn context(&self) -> &Context {
        &self.inner.context
    }

    /// What a command holds while it uses the memory.
    pub(crate) fn allocation(&self) -> Arc<Allocation> {
        Arc::clone(&self.inner)
    }

    /// The address of the first byte, for kernels.
    pub fn address(&self) -> usize {
        self.inner.address
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.inner.size
    }

    /// An argument: the address of the byte at `offset`.
    pub fn at(&self, offset: usize) -> Argument {
        Argument::Usm {
            allocation: self.clone(),
            offset,
            element: ValueType::Bytes,
        }
    }

    /// Who can reach it.
    pub fn kind(&self) -> UsmKind {
        self.inner.kind
    }

    /// The address of a range, if the range is within the allocation.
    pub(crate) fn range(&self, function: Function, offset: usize, size: usize) -> Result<*mut c_void> {
        match offset.checked_add(size) {
            Some(end) if end <= self.size() => Ok(core::ptr::without_provenance_mut(self.address() + offset)),
            _ => Err(PiError::refused(
                function,
                PI_INVALID_VALUE,
                format!(
                    "{size} bytes at {offset} are not within an allocation of {} bytes",
                    self.size()
                ),
            )),
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        self.context.free(self.address);
    }
}
