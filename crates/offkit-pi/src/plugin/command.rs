//! What is submitted to queues.

use super::Plugin;
use super::host_memory::{HostSource, HostTarget};
use super::image::{ImageBox, Pitches};
use super::pattern::Pattern;
use super::rect::BufferRect;
use super::slab::Ref;
use crate::NdRange;
use crate::ffi::*;

/// A command, with its arguments checked as far as the interface can: ranges are within buffers, sizes are
/// not 0, an index space has one to three dimensions.
#[non_exhaustive]
pub enum Command<P: Plugin> {
    /// Run a kernel.
    Launch {
        /// The kernel; the arguments are those of this moment.
        kernel: Ref<P::Kernel>,
        /// The index space.
        range: NdRange,
    },
    /// Do nothing. Without a wait list: after all commands submitted before.
    Marker,
    /// As a marker, and hold up the commands submitted later.
    Barrier,
    /// Read from a buffer.
    ReadBuffer {
        /// The buffer.
        buffer: Ref<P::Memory>,
        /// First byte.
        offset: usize,
        /// Where the bytes go.
        target: HostTarget,
    },
    /// Write to a buffer.
    WriteBuffer {
        /// The buffer.
        buffer: Ref<P::Memory>,
        /// First byte.
        offset: usize,
        /// Where the bytes come from.
        source: HostSource,
    },
    /// Copy between buffers, or within one.
    CopyBuffer {
        /// From this buffer,
        source: Ref<P::Memory>,
        /// and this byte on,
        source_offset: usize,
        /// to this buffer,
        target: Ref<P::Memory>,
        /// and this byte on,
        target_offset: usize,
        /// so many bytes.
        size: usize,
    },
    /// Read a box from a buffer.
    ReadBufferRect {
        /// The buffer.
        buffer: Ref<P::Memory>,
        /// The rows of the box: offset in the buffer, offset in the target, bytes.
        rect: BufferRect,
        /// Where the bytes go.
        target: HostTarget,
    },
    /// Write a box to a buffer.
    WriteBufferRect {
        /// The buffer.
        buffer: Ref<P::Memory>,
        /// The rows of the box: offset in the source, offset in the buffer, bytes.
        rect: BufferRect,
        /// Where the bytes come from.
        source: HostSource,
    },
    /// Copy a box between buffers, or within one.
    CopyBufferRect {
        /// The buffer to copy from.
        source: Ref<P::Memory>,
        /// The buffer to copy to.
        target: Ref<P::Memory>,
        /// The rows of the box: offset in the source, offset in the target, bytes.
        rect: BufferRect,
    },
    /// Fill a range of a buffer. Offset and size are multiples of the pattern's length.
    FillBuffer {
        /// The buffer.
        buffer: Ref<P::Memory>,
        /// What to repeat.
        pattern: Pattern,
        /// First byte.
        offset: usize,
        /// Number of bytes.
        size: usize,
    },
    /// Read a box from an image.
    ReadImage {
        /// The image.
        image: Ref<P::Memory>,
        /// The box.
        area: ImageBox,
        /// Where it goes,
        target: HostTarget,
        /// and how it lies there.
        pitches: Pitches,
    },
    /// Write a box to an image.
    WriteImage {
        /// The image.
        image: Ref<P::Memory>,
        /// The box.
        area: ImageBox,
        /// Where it comes from,
        source: HostSource,
        /// and how it lies there.
        pitches: Pitches,
    },
    /// Copy a box between images, or within one.
    CopyImage {
        /// The image to copy from.
        source: Ref<P::Memory>,
        /// The box in it.
        source_area: ImageBox,
        /// The image to copy to.
        target: Ref<P::Memory>,
        /// Where the box starts there.
        target_origin: [usize; 3],
    },
    /// Fill a box of an image.
    FillImage {
        /// The image.
        image: Ref<P::Memory>,
        /// The colour: four numbers of 32 bits, of the kind that kernels read from the image.
        color: [u8; 16],
        /// The box.
        area: ImageBox,
    },
    /// Make a range of a buffer visible to the host.
    Map {
        /// The buffer.
        buffer: Ref<P::Memory>,
        /// Why (`PI_MAP_*`).
        flags: pi_map_flags,
        /// First byte.
        offset: usize,
        /// Number of bytes.
        size: usize,
        /// Where the host sees it, as answered by [`Memory::map_address`](super::Memory::map_address).
        address: usize,
    },
    /// Make what the host wrote to a mapped range visible to the device.
    Unmap {
        /// The buffer.
        buffer: Ref<P::Memory>,
        /// The address it was mapped to.
        address: usize,
    },
    /// Fill unified shared memory. The size is a multiple of the pattern's length.
    FillUsm {
        /// First byte.
        address: usize,
        /// What to repeat.
        pattern: Pattern,
        /// Number of bytes.
        size: usize,
    },
    /// Copy between unified shared memory and memory of either the device or the host. Addresses that are not
    /// of the device are the host's, and valid until the command is complete.
    CopyUsm {
        /// From this address on,
        source: usize,
        /// to this address,
        target: usize,
        /// so many bytes.
        size: usize,
    },
    /// Bring unified shared memory close to the device. A hint.
    PrefetchUsm {
        /// First byte.
        address: usize,
        /// Number of bytes.
        size: usize,
    },
    /// Say something about the use of unified shared memory. A hint.
    AdviseUsm {
        /// First byte.
        address: usize,
        /// Number of bytes.
        size: usize,
        /// What is said.
        advice: pi_mem_advice,
    },
}

/// A range of a buffer that the host wants to see.
pub struct Mapping<P: Plugin> {
    /// The buffer.
    pub buffer: Ref<P::Memory>,
    /// Why (`PI_MAP_*`).
    pub flags: pi_map_flags,
    /// First byte.
    pub offset: usize,
    /// Number of bytes.
    pub size: usize,
}

impl<P: Plugin> Command<P> {
    /// What queries call this kind of command (`PI_COMMAND_TYPE_*`).
    pub fn command_type(&self) -> pi_command_type {
        match self {
            Command::Launch { .. } => PI_COMMAND_TYPE_NDRANGE_KERNEL,
            Command::Marker => PI_COMMAND_TYPE_MARKER,
            Command::Barrier => PI_COMMAND_TYPE_BARRIER,
            Command::ReadBuffer { .. } => PI_COMMAND_TYPE_MEM_BUFFER_READ,
            Command::WriteBuffer { .. } => PI_COMMAND_TYPE_MEM_BUFFER_WRITE,
            Command::CopyBuffer { .. } => PI_COMMAND_TYPE_MEM_BUFFER_COPY,
            Command::ReadBufferRect { .. } => PI_COMMAND_TYPE_MEM_BUFFER_READ_RECT,
            Command::WriteBufferRect { .. } => PI_COMMAND_TYPE_MEM_BUFFER_WRITE_RECT,
            Command::CopyBufferRect { .. } => PI_COMMAND_TYPE_MEM_BUFFER_COPY_RECT,
            Command::FillBuffer { .. } => PI_COMMAND_TYPE_MEM_BUFFER_FILL,
            Command::ReadImage { .. } => PI_COMMAND_TYPE_IMAGE_READ,
            Command::WriteImage { .. } => PI_COMMAND_TYPE_IMAGE_WRITE,
            Command::CopyImage { .. } => PI_COMMAND_TYPE_IMAGE_COPY,
            Command::FillImage { .. } => PI_COMMAND_TYPE_FILL_IMAGE,
            Command::Map { .. } => PI_COMMAND_TYPE_MEM_BUFFER_MAP,
            Command::Unmap { .. } => PI_COMMAND_TYPE_MEM_BUFFER_UNMAP,
            Command::FillUsm { .. } => PI_COMMAND_TYPE_SVM_MEMFILL,
            Command::CopyUsm { .. } => PI_COMMAND_TYPE_SVM_MEMCPY,
            // There is no type for hints; they are about where memory is, as this one is.
            Command::PrefetchUsm { .. } | Command::AdviseUsm { .. } => PI_COMMAND_TYPE_MIGRATE_MEM_OBJECTS,
        }
    }
}
