//! Memory objects: buffers, and parts of them.

use crate::answer::Place;
use crate::c::{Callback, In, Out};
use crate::context::Context;
use crate::device::Device;
use crate::failure::{Failure, Result, fail, require};
use crate::handle::{Handle, Handled, Object};
use crate::pi::{own, pi};
use crate::usm;
use cl::*;
use core::ffi::c_void;
use offkit_pi::ffi::{PI_BUFFER_CREATE_TYPE_REGION, pi_buffer_region_struct, pi_mem};
use offkit_pi::host::{Owned, Plugin};
use offkit_sync::{Arc, Mutex, MutexGuard, PoisonError};
use offkit_sync::{AtomicU32, AtomicUsize, Ordering};

/// A buffer, or a part of one.
pub(crate) struct Memory {
    /// Gone only while the object is dropped.
    pi: Option<Owned<pi_mem>>,
    pub(crate) context: Object<Context>,
    flags: cl_mem_flags,
    pub(crate) size: usize,
    /// As given, with the flag to use it.
    host_pointer: usize,
    /// The buffer that this is a part of, and where the part begins.
    pub(crate) parent: Option<(Object<Memory>, usize)>,
    /// As given, if it was made by such a list.
    properties: Vec<cl_mem_properties>,
    uses_svm: bool,
    /// Addresses at which the host sees it now.
    mapped: Mutex<Vec<usize>>,
    map_count: AtomicU32,
    /// Called when the object is gone, and the commands that may use it.
    destructors: Mutex<Vec<Callback<_cl_mem>>>,
    /// The handle, which they are called with.
    pub(crate) name: AtomicUsize,
}

/// Functions of the caller's that are called when this is dropped, the last one first.
struct Destructors {
    callbacks: Vec<Callback<_cl_mem>>,
    name: usize,
    /// Its own functions are called behind those of what is in it.
    _context: Object<Context>,
}

impl Drop for Destructors {
    fn drop(&mut self) {
        for callback in core::mem::take(&mut self.callbacks).into_iter().rev() {
            callback.call(core::ptr::with_exposed_provenance_mut(self.name));
        }
    }
}

/// Flags that say what kernels do with memory; one of them at most.
const KERNEL_ACCESS: cl_mem_flags = CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY;

/// Flags that say what the host does with memory; one of them at most.
const HOST_ACCESS: cl_mem_flags = CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS;

/// Flags that say where memory is.
const PLACE: cl_mem_flags = CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR;

impl Memory {
    pub(crate) fn plugin(&self) -> &Plugin {
        self.context.object().plugin()
    }

    pub(crate) fn raw(&self) -> pi_mem {
        self.pi.as_ref().map_or(core::ptr::null_mut(), Owned::raw)
    }

    /// Refuses a range that is not within the memory.
    pub(crate) fn check_range(&self, offset: usize, size: usize) -> Result<()> {
        let end = offset.checked_add(size);
        require(end.is_some_and(|end| end <= self.size), CL_INVALID_VALUE)
    }

    /// Refuses what the host said it would not do.
    pub(crate) fn check_host_access(&self, refused: cl_mem_flags) -> Result<()> {
        require(
            self.flags & (refused | CL_MEM_HOST_NO_ACCESS) == 0,
            CL_INVALID_OPERATION,
        )
    }

    fn mapped(&self) -> MutexGuard<'_, Vec<usize>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_mapped(&self, address: usize) {
        self.mapped().push(address);
        // Beside the list, so that CL_MEM_MAP_COUNT takes no lock.
        self.map_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets that an address is mapped; whether it was.
    pub(crate) fn forget_mapped(&self, address: usize) -> bool {
        let mut mapped = self.mapped();
        // An address is there once for each mapping that begins at it, and one of them goes.
        let Some(index) = mapped.iter().position(|known| *known == address) else {
            return false;
        };
        mapped.swap_remove(index);
        self.map_count.fetch_sub(1, Ordering::Relaxed);
        true
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // The host may free what the buffer used when it is told that it is gone.
        self.pi = None;
        let destructors = self.destructors.get_mut();
        let callbacks = core::mem::take(destructors.unwrap_or_else(PoisonError::into_inner));
        if !callbacks.is_empty() {
            let destructors = Destructors {
                callbacks,
                name: self.name.load(Ordering::Relaxed),
                _context: self.context.clone(),
            };
            self.context.object().drop_behind_commands(&Arc::new(destructors));
        }
    }
}

fn check_flags(flags: cl_mem_flags) -> Result<()> {
    let valid = flags & !(KERNEL_ACCESS | HOST_ACCESS | PLACE) == 0
        && (flags & KERNEL_ACCESS).count_ones() <= 1
        && (flags & HOST_ACCESS).count_ones() <= 1
        && (flags & CL_MEM_USE_HOST_PTR == 0 || flags & (CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR) == 0);
    require(valid, CL_INVALID_VALUE)
}

/// Flags with the default filled in.
fn with_access(flags: cl_mem_flags) -> cl_mem_flags {
    if flags & KERNEL_ACCESS == 0 {
        flags | CL_MEM_READ_WRITE
    } else {
        flags
    }
}

fn create(
    context: Out<_cl_context>,
    properties: Vec<cl_mem_properties>,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: Out<c_void>,
) -> Result<cl_mem> {
    let context = Context::of(context)?;
    check_flags(flags)?;
    require(size > 0, CL_INVALID_BUFFER_SIZE)?;
    let most = |device: &Object<Device>| {
        let [most] = device.object().sizes(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
        most
    };
    let devices = &context.object().devices;
    // Any, not all: OpenCL refuses what is too large for every device of the context.
    let fits = devices.iter().any(|device| size <= most(device));
    require(fits, CL_INVALID_BUFFER_SIZE)?;
    let (uses, copies) = (
        flags & CL_MEM_USE_HOST_PTR != 0,
        flags & CL_MEM_COPY_HOST_PTR != 0,
    );
    require((uses || copies) != host_ptr.is_null(), CL_INVALID_HOST_PTR)?;
    let flags = with_access(flags);
    // What the plugin is told are the flags it has a use for.
    let told = flags & (KERNEL_ACCESS | CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR);
    let raw = context.object().pi.raw();
    let behind = match uses || copies {
        true => usm::bytes_behind(context.object(), host_ptr.addr())?,
        false => None,
    };
    // Of an SVM allocation it is known where it ends; of other memory the caller vouches for the
    // size.
    require(behind.is_none_or(|behind| size <= behind), CL_INVALID_BUFFER_SIZE)?;
    let pi = own(
        context.object().plugin(),
        |memory| {
            pi!(
                context.object().plugin(),
                piMemBufferCreate(raw, told, size, host_ptr.raw(), memory, core::ptr::null())
            )
        },
        core::ptr::null_mut(),
    )?;
    let memory = Memory {
        pi: Some(pi),
        context,
        flags,
        size,
        host_pointer: if uses { host_ptr.addr() } else { 0 },
        parent: None,
        properties,
        uses_svm: uses && behind.is_some(),
        mapped: Mutex::default(),
        map_count: AtomicU32::new(0),
        destructors: Mutex::default(),
        name: AtomicUsize::new(0),
    };
    memory.create()
}

pub(crate) fn clCreateBuffer(
    context: Out<_cl_context>,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: Out<c_void>,
) -> Result<cl_mem> {
    create(context, Vec::new(), flags, size, host_ptr)
}

pub(crate) fn clCreateBufferWithProperties(
    context: Out<_cl_context>,
    properties: In<cl_mem_properties>,
    flags: cl_mem_flags,
    size: usize,
    host_ptr: Out<c_void>,
) -> Result<cl_mem> {
    // There are none that a buffer could have.
    let properties = properties.pairs();
    require(properties.len() <= 1, CL_INVALID_PROPERTY)?;
    create(context, properties, flags, size, host_ptr)
}

pub(crate) fn clCreateSubBuffer(
    buffer: Out<_cl_mem>,
    flags: cl_mem_flags,
    buffer_create_type: cl_buffer_create_type,
    buffer_create_info: In<c_void>,
) -> Result<cl_mem> {
    let parent = Memory::of(buffer)?;
    let whole = parent.object();
    require(whole.parent.is_none(), CL_INVALID_MEM_OBJECT)?;
    check_flags(flags)?;
    require(flags & PLACE == 0, CL_INVALID_VALUE)?;
    require(
        buffer_create_type == CL_BUFFER_CREATE_TYPE_REGION,
        CL_INVALID_VALUE,
    )?;
    let region = buffer_create_info.value::<cl_buffer_region>();
    let region = region.ok_or(Failure(CL_INVALID_VALUE))?;
    require(region.size > 0, CL_INVALID_BUFFER_SIZE)?;
    whole.check_range(region.origin, region.size)?;
    let flags = part_flags(whole.flags, flags)?;
    let mut wanted = pi_buffer_region_struct {
        origin: region.origin,
        size: region.size,
    };
    let pi = own(
        whole.plugin(),
        |memory| {
            let region = (&raw mut wanted).cast();
            pi!(
                whole.plugin(),
                piMemBufferPartition(
                    whole.raw(),
                    flags & KERNEL_ACCESS,
                    PI_BUFFER_CREATE_TYPE_REGION,
                    region,
                    memory
                )
            )
        },
        core::ptr::null_mut(),
    )?;
    let memory = Memory {
        pi: Some(pi),
        context: whole.context.clone(),
        flags,
        size: region.size,
        host_pointer: match whole.host_pointer {
            0 => 0,
            start => start + region.origin,
        },
        properties: Vec::new(),
        uses_svm: whole.uses_svm,
        mapped: Mutex::default(),
        map_count: AtomicU32::new(0),
        destructors: Mutex::default(),
        name: AtomicUsize::new(0),
        parent: Some((parent.clone(), region.origin)),
    };
    memory.create()
}

/// The flags of a part: its own, and where it has none those of the whole, which it must not go beyond.
fn part_flags(whole: cl_mem_flags, part: cl_mem_flags) -> Result<cl_mem_flags> {
    let forbidden = |own: cl_mem_flags, others: cl_mem_flags| whole & own != 0 && part & others != 0;
    let beyond = forbidden(CL_MEM_WRITE_ONLY, CL_MEM_READ_WRITE | CL_MEM_READ_ONLY)
        || forbidden(CL_MEM_READ_ONLY, CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY)
        || forbidden(CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY)
        || forbidden(CL_MEM_HOST_READ_ONLY, CL_MEM_HOST_WRITE_ONLY)
        || forbidden(
            CL_MEM_HOST_NO_ACCESS,
            CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY,
        );
    require(!beyond, CL_INVALID_VALUE)?;
    let or_whole = |mask: cl_mem_flags| {
        if part & mask == 0 {
            whole & mask
        } else {
            part & mask
        }
    };
    Ok(or_whole(KERNEL_ACCESS) | or_whole(HOST_ACCESS) | whole & PLACE)
}

pub(crate) fn clRetainMemObject(memobj: Out<_cl_mem>) -> Result<()> {
    Memory::retain(memobj)
}

pub(crate) fn clReleaseMemObject(memobj: Out<_cl_mem>) -> Result<()> {
    Memory::release(memobj)
}

pub(crate) fn clSetMemObjectDestructorCallback(
    memobj: Out<_cl_mem>,
    pfn_notify: MemoryNotify,
    user_data: Out<c_void>,
) -> Result<()> {
    let memory = Memory::of(memobj)?;
    let callback = Callback::new(pfn_notify, user_data).ok_or(Failure(CL_INVALID_VALUE))?;
    let destructors = &memory.object().destructors;
    destructors
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(callback);
    Ok(())
}

pub(crate) fn clGetMemObjectInfo(
    memobj: Out<_cl_mem>,
    param_name: cl_mem_info,
    param_value_size: usize,
    param_value: Out<c_void>,
    param_value_size_ret: Out<usize>,
) -> Result<()> {
    let record = Memory::of(memobj)?;
    let memory = record.object();
    let place = Place::new(param_value_size, param_value, param_value_size_ret);
    let parent = memory.parent.as_ref();
    match param_name {
        CL_MEM_TYPE => place.number(CL_MEM_OBJECT_BUFFER),
        CL_MEM_FLAGS => place.number(memory.flags),
        CL_MEM_SIZE => place.number(memory.size),
        CL_MEM_HOST_PTR => place.number(memory.host_pointer),
        CL_MEM_MAP_COUNT => place.number(memory.map_count.load(Ordering::Relaxed)),
        CL_MEM_REFERENCE_COUNT => place.number(record.references()),
        CL_MEM_CONTEXT => place.number(memory.context.c()),
        CL_MEM_ASSOCIATED_MEMOBJECT => {
            place.number(parent.map_or(core::ptr::null_mut(), |(whole, _)| whole.c()))
        }
        CL_MEM_OFFSET => place.number(parent.map_or(0, |(_, origin)| *origin)),
        CL_MEM_USES_SVM_POINTER => place.number(memory.uses_svm),
        CL_MEM_PROPERTIES => place.numbers(&memory.properties),
        _ => fail(CL_INVALID_VALUE),
    }
}

/// There are no images, and so no formats of images.
pub(crate) fn clGetSupportedImageFormats(
    context: Out<_cl_context>,
    _flags: cl_mem_flags,
    _image_type: cl_mem_object_type,
    _num_entries: cl_uint,
    _image_formats: Out<cl_image_format>,
    num_image_formats: Out<cl_uint>,
) -> Result<()> {
    Context::of(context)?;
    num_image_formats.write(0);
    Ok(())
}

/// A memory object is a buffer, and no image or pipe.
pub(crate) fn clGetImageInfo(
    _image: Out<_cl_mem>,
    _param_name: cl_image_info,
    _param_value_size: usize,
    _param_value: Out<c_void>,
    _param_value_size_ret: Out<usize>,
) -> Result<()> {
    fail(CL_INVALID_MEM_OBJECT)
}

/// As for images.
pub(crate) fn clGetPipeInfo(
    _pipe: Out<_cl_mem>,
    _param_name: cl_pipe_info,
    _param_value_size: usize,
    _param_value: Out<c_void>,
    _param_value_size_ret: Out<usize>,
) -> Result<()> {
    fail(CL_INVALID_MEM_OBJECT)
}
