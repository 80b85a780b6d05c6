//! Buffers, images and samplers.

use core::ptr::null_mut;
use offkit_opencl::{_cl_context, _cl_mem, _cl_sampler, cl_image_desc, cl_image_format};
use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRequest, HostTarget, ImageRequest, Info, Memory, Ref, Result, Sampler};

use super::OpenCl;
use crate::cl::{Buffer, Owned};

/// The flags that OpenCL has as well.
// Drivers refuse those that they do not know.
const FLAGS: pi_mem_flags = 0x3f;

/// A buffer of a driver, a part of one, or an image.
pub(crate) struct ClMemory {
    object: Owned<_cl_mem>,
    /// The host's memory, if that is what it uses. A part keeps the buffer: the driver does.
    _host: Option<HostTarget>,
}

/// What the memory is at first.
fn content<'a>(storage: Option<&'a HostTarget>, copy: Option<&'a [u8]>) -> Buffer<'a> {
    match (storage, copy) {
        (Some(host), _) => Buffer::Storage(host),
        (None, Some(bytes)) => Buffer::Copy(bytes),
        (None, None) => Buffer::Fresh,
    }
}

impl ClMemory {
    pub(super) fn new(context: &Owned<_cl_context>, request: BufferRequest<'_>) -> Result<ClMemory> {
        let content = content(request.storage.as_ref(), request.copy);
        let object = context.create_buffer(request.flags & FLAGS, request.size, &content)?;
        Ok(ClMemory {
            object,
            _host: request.storage,
        })
    }

    /// An image. The interface has OpenCL's numbers and structures.
    pub(super) fn image(context: &Owned<_cl_context>, request: ImageRequest<'_, OpenCl>) -> Result<ClMemory> {
        let (format, shape) = (request.format, request.shape);
        let format = cl_image_format {
            image_channel_order: format.image_channel_order,
            image_channel_data_type: format.image_channel_data_type,
        };
        let shape = cl_image_desc {
            image_type: shape.image_type,
            image_width: shape.image_width,
            image_height: shape.image_height,
            image_depth: shape.image_depth,
            image_array_size: shape.image_array_size,
            image_row_pitch: shape.image_row_pitch,
            image_slice_pitch: shape.image_slice_pitch,
            num_mip_levels: shape.num_mip_levels,
            num_samples: shape.num_samples,
            mem_object: null_mut(),
        };
        let source = request.source.as_ref().map(|source| &source.object);
        let content = content(request.storage.as_ref(), request.copy);
        let object = context.create_image(request.flags & FLAGS, format, shape, source, &content)?;
        Ok(ClMemory {
            object,
            _host: request.storage,
        })
    }

    /// A buffer of the driver's that a host gives.
    pub(super) fn of(object: Owned<_cl_mem>) -> ClMemory {
        ClMemory { object, _host: None }
    }

    pub(super) fn object(&self) -> &Owned<_cl_mem> {
        &self.object
    }
}

impl Memory<OpenCl> for ClMemory {
    fn part(buffer: &Ref<Self>, flags: pi_mem_flags, origin: usize, size: usize) -> Result<ClMemory> {
        Ok(ClMemory {
            // Where the memory comes from is the buffer's affair.
            object: buffer.object.part(flags & 0x7, origin, size)?,
            _host: None,
        })
    }

    fn image_info(&self, name: pi_image_info) -> Result<Info> {
        // OpenCL's queries, by number and answer.
        Ok(self.object.image_info(name)?.into())
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native())
    }
}

/// A sampler of a driver.
pub(crate) struct ClSampler(Owned<_cl_sampler>);

impl ClSampler {
    pub(super) fn new(object: Owned<_cl_sampler>) -> ClSampler {
        ClSampler(object)
    }

    pub(super) fn object(&self) -> &Owned<_cl_sampler> {
        &self.0
    }
}

impl Sampler<OpenCl> for ClSampler {}
