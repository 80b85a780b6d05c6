//! Buffers.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRequest, HostTarget, Memory, Ref, Result};
use offkit_ur::_ur_mem;

use super::UnifiedRuntime;
use super::context::UrContext;
use crate::adapter::{Buffer, DeviceId, Owned};

/// The flags that Unified Runtime has as well, by the same bits.
const FLAGS: pi_mem_flags = 0x3f;

/// A buffer of an adapter, or a part of one.
pub(crate) struct UrBuffer {
    object: Owned<_ur_mem>,
    /// Of the context; what the native handle is asked for.
    device: DeviceId,
    /// The host's memory, if that is what the buffer uses.
    _host: Option<HostTarget>,
    /// The buffer that it is a part of.
    _whole: Option<Ref<UrBuffer>>,
}

impl UrBuffer {
    pub(super) fn new(context: &UrContext, request: BufferRequest<'_>) -> Result<UrBuffer> {
        let content = match (&request.storage, request.copy) {
            (Some(host), _) => Buffer::Storage(host),
            (None, Some(bytes)) => Buffer::Copy(bytes),
            (None, None) => Buffer::Fresh,
        };
        let flags = (request.flags & FLAGS) as u32;
        let object = context.object().create_buffer(flags, request.size, &content)?;
        Ok(UrBuffer {
            object,
            device: context.device(),
            _host: request.storage,
            _whole: None,
        })
    }

    /// A buffer of a driver's own that a host gives.
    pub(super) fn of(object: Owned<_ur_mem>, device: DeviceId) -> UrBuffer {
        UrBuffer {
            object,
            device,
            _host: None,
            _whole: None,
        }
    }

    pub(super) fn object(&self) -> &Owned<_ur_mem> {
        &self.object
    }
}

impl AsRef<Owned<_ur_mem>> for Ref<UrBuffer> {
    fn as_ref(&self) -> &Owned<_ur_mem> {
        self.object()
    }
}

impl Memory<UnifiedRuntime> for UrBuffer {
    fn part(buffer: &Ref<Self>, flags: pi_mem_flags, origin: usize, size: usize) -> Result<UrBuffer> {
        Ok(UrBuffer {
            // Where the memory comes from is the buffer's affair.
            object: buffer.object.part((flags & 0x7) as u32, origin, size)?,
            device: buffer.device,
            _host: None,
            _whole: Some(buffer.clone()),
        })
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native(self.device)?)
    }
}
