//! Buffers.

use offkit_opencl::_cl_context;
use offkit_opencl::_cl_mem;
use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRequest, HostTarget, Memory, Ref, Result};

use super::OpenCl;
use crate::cl::{Buffer, Owned};

/// The flags that OpenCL has as well.
const FLAGS: pi_mem_flags = 0x3f;

/// A buffer of a driver, or a part of one.
pub(crate) struct ClBuffer {
    object: Owned<_cl_mem>,
    /// The host's memory, if that is what the buffer uses. A part keeps the buffer: the driver does.
    _host: Option<HostTarget>,
}

impl ClBuffer {
    pub(super) fn new(context: &Owned<_cl_context>, request: BufferRequest<'_>) -> Result<ClBuffer> {
        let content = match (&request.storage, request.copy) {
            (Some(host), _) => Buffer::Storage(host),
            (None, Some(bytes)) => Buffer::Copy(bytes),
            (None, None) => Buffer::Fresh,
        };
        let object = context.create_buffer(request.flags & FLAGS, request.size, &content)?;
        Ok(ClBuffer {
            object,
            _host: request.storage,
        })
    }

    /// A buffer of the driver's that a host gives.
    pub(super) fn of(object: Owned<_cl_mem>) -> ClBuffer {
        ClBuffer { object, _host: None }
    }

    pub(super) fn object(&self) -> &Owned<_cl_mem> {
        &self.object
    }
}

impl Memory<OpenCl> for ClBuffer {
    fn part(buffer: &Ref<Self>, flags: pi_mem_flags, origin: usize, size: usize) -> Result<ClBuffer> {
        Ok(ClBuffer {
            // Where the memory comes from is the buffer's affair.
            object: buffer.object.part(flags & 0x7, origin, size)?,
            _host: None,
        })
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native())
    }
}
