//! Buffers, and what they have in common with images.

use super::host_memory::HostTarget;
use super::shim::{array, give, non_null};
use super::slab::Ref;
use super::state::{self, MemoryDetails, MemoryRecord, Registered};
use super::{Context, Error, Info, Plugin, Result};
use crate::ffi::*;
use core::ffi::c_void;

/// What a buffer is to be.
#[derive(Debug)]
#[non_exhaustive]
pub struct BufferRequest<'a> {
    /// Size in bytes.
    pub size: usize,
    /// How it is to be made (`PI_MEM_FLAGS_*`).
    pub flags: pi_mem_flags,
    /// What it starts as a copy of.
    pub copy: Option<&'a [u8]>,
    /// Host memory to use as its storage; stays valid until the buffer is released.
    pub storage: Option<HostTarget>,
}

/// A buffer or an image.
#[expect(
    unused_variables,
    reason = "what is left out takes the arguments that are documented"
)]
pub trait Memory<P: Plugin>: Sized + Send + Sync + 'static {
    /// A part of the buffer, sharing its memory. The part is within the buffer, and not empty.
    ///
    /// # Errors
    ///
    /// [`Error`] if there are no such parts, or the device cannot start one there
    /// ([`PI_MISALIGNED_SUB_BUFFER_OFFSET`]).
    fn part(buffer: &Ref<Self>, flags: pi_mem_flags, origin: usize, size: usize) -> Result<Self> {
        Err(Error::unsupported("a part of a buffer"))
    }

    /// The address at which the host sees a range of the buffer while it is mapped. The range is within the
    /// buffer.
    ///
    /// # Errors
    ///
    /// [`Error`] if buffers cannot be mapped.
    fn map_address(&self, offset: usize, size: usize) -> Result<usize> {
        Err(Error::unsupported("mapping a buffer"))
    }

    /// Answers a query about an image (`PI_IMAGE_INFO_*`), except for the size of an element.
    ///
    /// # Errors
    ///
    /// [`Error::unknown_query`] for one that is not known.
    fn image_info(&self, name: pi_image_info) -> Result<Info> {
        Err(Error::unknown_query(name))
    }

    /// The handle of the driver's own object, for hosts that talk to the driver as well. It stays the plugin's.
    ///
    /// # Errors
    ///
    /// [`Error`] if there is no driver below the plugin, or the host is not to know.
    fn native_handle(&self) -> Result<pi_native_handle> {
        Err(Error::unsupported("a native handle"))
    }
}

/// What a memory object starts as a copy of, and what is to be its storage: the host's memory, as the flags say.
///
/// # Safety
///
/// `host_ptr` must be null or valid for reading `size` bytes during `'a`, and with the flag to use them for reading and
/// writing them for as long as the object exists.
pub(super) unsafe fn host_content<'a>(
    flags: pi_mem_flags,
    host_ptr: *mut c_void,
    size: usize,
) -> Result<(Option<&'a [u8]>, Option<HostTarget>)> {
    let (uses, copies) = (
        flags & PI_MEM_FLAGS_HOST_PTR_USE != 0,
        flags & PI_MEM_FLAGS_HOST_PTR_COPY != 0,
    );
    if (uses || copies) == host_ptr.is_null() {
        let message =
            "a host pointer goes with the flag to use it or the flag to copy it, and these with a pointer";
        return Err(Error::new(PI_INVALID_HOST_PTR, message));
    }
    // SAFETY: not null where it is used, so by the caller's promise.
    unsafe {
        Ok(match (uses, copies) {
            (true, _) => (None, Some(HostTarget::new(host_ptr.cast(), size))),
            (false, true) => (Some(array(host_ptr.cast::<u8>(), size, "host_ptr")?), None),
            (false, false) => (None, None),
        })
    }
}

pub(super) unsafe fn piMemBufferCreate<P: Registered>(
    context: pi_context,
    flags: pi_mem_flags,
    size: usize,
    host_ptr: *mut c_void,
    ret_mem: *mut pi_mem,
    _properties: *const pi_mem_properties,
) -> Result<()> {
    non_null(ret_mem, "ret_mem")?;
    let context = state::context::<P>(context)?;
    if size == 0 {
        return Err(Error::new(PI_INVALID_BUFFER_SIZE, "a buffer of 0 bytes"));
    }
    // SAFETY: the host passes `size` bytes.
    let (copy, storage) = unsafe { host_content(flags, host_ptr, size) }?;
    let uses = storage.is_some();
    let request = BufferRequest {
        size,
        flags,
        copy,
        storage,
    };
    let memory = P::Context::create_buffer(context.object(), request)?;
    // As OpenCL has it: queries do not tell what the content was copied from.
    let host_pointer = if uses { host_ptr.addr() } else { 0 };
    let details = MemoryDetails {
        context,
        flags,
        size,
        host_pointer,
        parent: None,
        image: None,
    };
    let record = state::insert(&P::state().memories, memory, details)?;
    // SAFETY: not null, so valid for writing.
    unsafe { give(ret_mem, record) };
    Ok(())
}

pub(super) unsafe fn piMemBufferPartition<P: Registered>(
    buffer: pi_mem,
    flags: pi_mem_flags,
    create_type: pi_buffer_create_type,
    create_info: *mut c_void,
) -> Result<MemoryRecord<P>> {
    non_null(create_info, "buffer_create_info")?;
    let parent = buffer_record::<P>(buffer)?;
    if create_type != PI_BUFFER_CREATE_TYPE_REGION || parent.details().parent.is_some() {
        let message = "only a whole buffer can be divided, and only into regions";
        return Err(Error::new(PI_INVALID_VALUE, message));
    }
    // SAFETY: not null, and for this kind of partition a region.
    let pi_buffer_region_struct { origin, size } =
        unsafe { create_info.cast::<pi_buffer_region_struct>().read() };
    if size == 0 {
        return Err(Error::new(PI_INVALID_BUFFER_SIZE, "a part of 0 bytes"));
    }
    check_range(parent.details(), origin, size)?;
    let memory = P::Memory::part(parent.object(), flags, origin, size)?;
    let details = MemoryDetails {
        context: parent.details().context.clone(),
        // As `clCreateSubBuffer` has it: without flags of its own a part has those of the buffer.
        flags: if flags == 0 { parent.details().flags } else { flags },
        size,
        host_pointer: match parent.details().host_pointer {
            0 => 0,
            // No overflow: the part is within the buffer, and all of that is the host's memory.
            start => start + origin,
        },
        parent: Some((parent, origin)),
        image: None,
    };
    state::insert(&P::state().memories, memory, details)
}

/// A memory object that must be a buffer.
pub(super) fn buffer_record<P: Registered>(handle: pi_mem) -> Result<MemoryRecord<P>> {
    let record = state::memory::<P>(handle)?;
    match record.details().image {
        None => Ok(record),
        Some(_) => Err(Error::new(PI_INVALID_MEM_OBJECT, "an image, not a buffer")),
    }
}

/// Refuses a range that is not within a buffer.
pub(super) fn check_range<P: Plugin>(details: &MemoryDetails<P>, offset: usize, size: usize) -> Result<()> {
    match offset.checked_add(size) {
        Some(end) if end <= details.size => Ok(()),
        _ => {
            let message = format!(
                "{size} bytes at {offset} are not within a buffer of {} bytes",
                details.size
            );
            Err(Error::new(PI_INVALID_VALUE, message))
        }
    }
}

pub(super) fn piMemGetInfo<P: Registered>(memory: pi_mem, name: pi_mem_object_info) -> Result<Info> {
    let memory = state::memory::<P>(memory)?;
    let details = &memory.details();
    let parent = details.parent.as_ref();
    Ok(match name {
        PI_MEM_INFO_TYPE => details
            .image
            .map_or(PI_MEM_TYPE_BUFFER, |image| image.kind)
            .into(),
        PI_MEM_INFO_FLAGS => details.flags.into(),
        PI_MEM_INFO_SIZE => details.size.into(),
        PI_MEM_INFO_HOST_PTR => details.host_pointer.into(),
        PI_MEM_INFO_REFERENCE_COUNT => memory.references().into(),
        PI_MEM_INFO_CONTEXT => details.context.handle().into(),
        PI_MEM_INFO_ASSOCIATED_MEMOBJECT => parent.map_or(0, |(parent, _)| parent.handle()).into(),
        PI_MEM_INFO_OFFSET => parent.map_or(0, |(_, origin)| *origin).into(),
        name => return Err(Error::unknown_query(name)),
    })
}
