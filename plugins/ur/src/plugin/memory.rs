//! Buffers and images.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{BufferRequest, HostTarget, ImageRequest, Info, Memory, Ref, Result};
use offkit_ur::_ur_mem;

use super::context::UrContext;
use super::{UnifiedRuntime, image};
use crate::adapter::{Buffer, DeviceId, Owned};

/// The flags that Unified Runtime has as well, by the same bits.
const FLAGS: pi_mem_flags = 0x3f;

/// A buffer of an adapter, a part of one, or an image.
pub(crate) struct UrMemory {
    object: Owned<_ur_mem>,
    /// Of the context; what the native handle is asked for.
    device: DeviceId,
    /// The host's memory, if that is what it uses.
    _host: Option<HostTarget>,
    /// The buffer that it is a part of.
    _whole: Option<Ref<UrMemory>>,
}

// Storage goes before a copy: with the flag to use the host's memory there is nothing to be copied.
/// What the memory is at first.
fn content<'a>(storage: Option<&'a HostTarget>, copy: Option<&'a [u8]>) -> Buffer<'a> {
    match (storage, copy) {
        (Some(host), _) => Buffer::Storage(host),
        (None, Some(bytes)) => Buffer::Copy(bytes),
        (None, None) => Buffer::Fresh,
    }
}

impl UrMemory {
    pub(super) fn new(context: &UrContext, request: BufferRequest<'_>) -> Result<UrMemory> {
        let content = content(request.storage.as_ref(), request.copy);
        let flags = (request.flags & FLAGS) as u32;
        let object = context.object().create_buffer(flags, request.size, &content)?;
        Ok(UrMemory {
            object,
            device: context.device(),
            _host: request.storage,
            _whole: None,
        })
    }

    pub(super) fn image(context: &UrContext, request: ImageRequest<'_, UnifiedRuntime>) -> Result<UrMemory> {
        let (format, shape) = (image::format(request.format)?, image::shape(&request)?);
        let content = content(request.storage.as_ref(), request.copy);
        let flags = (request.flags & FLAGS) as u32;
        let object = context.object().create_image(flags, format, &shape, &content)?;
        Ok(UrMemory {
            object,
            device: context.device(),
            _host: request.storage,
            _whole: None,
        })
    }

    /// A buffer of a driver's own that a host gives.
    pub(super) fn of(object: Owned<_ur_mem>, device: DeviceId) -> UrMemory {
        UrMemory {
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

impl AsRef<Owned<_ur_mem>> for Ref<UrMemory> {
    fn as_ref(&self) -> &Owned<_ur_mem> {
        self.object()
    }
}

impl Memory<UnifiedRuntime> for UrMemory {
    fn part(buffer: &Ref<Self>, flags: pi_mem_flags, origin: usize, size: usize) -> Result<UrMemory> {
        Ok(UrMemory {
            // Where the memory comes from is the buffer's affair.
            object: buffer.object.part((flags & 0x7) as u32, origin, size)?,
            device: buffer.device,
            _host: None,
            _whole: Some(buffer.clone()),
        })
    }

    fn image_info(&self, name: pi_image_info) -> Result<Info> {
        image::info(&self.object, name)
    }

    fn native_handle(&self) -> Result<pi_native_handle> {
        Ok(self.object.native(self.device)?)
    }
}
