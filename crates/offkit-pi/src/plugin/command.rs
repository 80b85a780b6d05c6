//! What is submitted to queues.

use super::memory_span::{HostSource, HostTarget};
use super::{Error, Plugin, Result};
use crate::NdRange;
use crate::ffi::*;
use std::sync::Arc;

/// A command, with its arguments checked as far as the interface can: ranges are within buffers, sizes are not 0,
/// an index space has one to three dimensions.
#[non_exhaustive]
pub enum Command<P: Plugin> {
    /// Run a kernel.
    Launch {
        /// The kernel; the arguments are those of this moment.
        kernel: Arc<P::Kernel>,
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
        buffer: Arc<P::Memory>,
        /// First byte.
        offset: usize,
        /// Where the bytes go.
        target: HostTarget,
    },
    /// Write to a buffer.
    WriteBuffer {
        /// The buffer.
        buffer: Arc<P::Memory>,
        /// First byte.
        offset: usize,
        /// Where the bytes come from.
        source: HostSource,
    },
    /// Copy between buffers, or within one.
    CopyBuffer {
        /// From this buffer,
        source: Arc<P::Memory>,
        /// and this byte on,
        source_offset: usize,
        /// to this buffer,
        target: Arc<P::Memory>,
        /// and this byte on,
        target_offset: usize,
        /// so many bytes.
        size: usize,
    },
    /// Read a box from a buffer.
    ReadBufferRect {
        /// The buffer.
        buffer: Arc<P::Memory>,
        /// The rows of the box: offset in the buffer, offset in the target, bytes.
        rect: BufferRect,
        /// Where the bytes go.
        target: HostTarget,
    },
    /// Write a box to a buffer.
    WriteBufferRect {
        /// The buffer.
        buffer: Arc<P::Memory>,
        /// The rows of the box: offset in the source, offset in the buffer, bytes.
        rect: BufferRect,
        /// Where the bytes come from.
        source: HostSource,
    },
    /// Copy a box between buffers, or within one.
    CopyBufferRect {
        /// The buffer to copy from.
        source: Arc<P::Memory>,
        /// The buffer to copy to.
        target: Arc<P::Memory>,
        /// The rows of the box: offset in the source, offset in the target, bytes.
        rect: BufferRect,
    },
    /// Fill a range of a buffer. Offset and size are multiples of the pattern's length.
    FillBuffer {
        /// The buffer.
        buffer: Arc<P::Memory>,
        /// What to repeat.
        pattern: Vec<u8>,
        /// First byte.
        offset: usize,
        /// Number of bytes.
        size: usize,
    },
    /// Make a range of a buffer visible to the host.
    Map {
        /// The buffer.
        buffer: Arc<P::Memory>,
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
        buffer: Arc<P::Memory>,
        /// The address it was mapped to.
        address: usize,
    },
    /// Set unified shared memory to a byte.
    SetUsm {
        /// First byte.
        address: usize,
        /// The value.
        value: u8,
        /// Number of bytes.
        count: usize,
    },
    /// Copy between unified shared memory and memory of either the device or the host.
    CopyUsm {
        /// From here, a device's address or the host's,
        source: HostSource,
        /// to here, likewise, as many bytes.
        target: HostTarget,
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
            Command::Map { .. } => PI_COMMAND_TYPE_MEM_BUFFER_MAP,
            Command::Unmap { .. } => PI_COMMAND_TYPE_MEM_BUFFER_UNMAP,
            Command::SetUsm { .. } => PI_COMMAND_TYPE_SVM_MEMFILL,
            Command::CopyUsm { .. } => PI_COMMAND_TYPE_SVM_MEMCPY,
            Command::PrefetchUsm { .. } | Command::AdviseUsm { .. } => PI_COMMAND_TYPE_MIGRATE_MEM_OBJECTS,
        }
    }
}

/// A three-dimensional box of bytes, in two places with pitches of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferRect {
    source: Corner,
    target: Corner,
    region: pi_buff_rect_region_struct,
}

/// Where a box starts, and how its rows and slices lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Corner {
    pub(super) offset: pi_buff_rect_offset_struct,
    /// Bytes from one row to the next; 0 for tightly packed.
    pub(super) row_pitch: usize,
    /// Bytes from one slice to the next; 0 for tightly packed.
    pub(super) slice_pitch: usize,
}

impl Corner {
    /// With the pitches filled in that were left to default, and the offset of the first byte.
    fn resolve(self, region: &pi_buff_rect_region_struct) -> Option<(Corner, usize)> {
        let row_pitch = if self.row_pitch == 0 {
            region.width_bytes
        } else {
            self.row_pitch
        };
        let rows = row_pitch.checked_mul(region.height_scalar)?;
        let slice_pitch = if self.slice_pitch == 0 {
            rows
        } else {
            self.slice_pitch
        };
        let y = self.offset.y_scalar.checked_mul(row_pitch)?;
        let z = self.offset.z_scalar.checked_mul(slice_pitch)?;
        let first = self.offset.x_bytes.checked_add(y)?.checked_add(z)?;
        let valid = row_pitch >= region.width_bytes && slice_pitch >= rows;
        valid.then_some((
            Corner {
                row_pitch,
                slice_pitch,
                ..self
            },
            first,
        ))
    }

    /// The end of the last byte.
    fn end(&self, first: usize, region: &pi_buff_rect_region_struct) -> Option<usize> {
        let rows = (region.height_scalar - 1).checked_mul(self.row_pitch)?;
        let slices = (region.depth_scalar - 1).checked_mul(self.slice_pitch)?;
        first
            .checked_add(slices)?
            .checked_add(rows)?
            .checked_add(region.width_bytes)
    }
}

impl BufferRect {
    /// A box that is not empty, with pitches that fit it.
    pub(super) fn new(
        source: Corner,
        target: Corner,
        region: pi_buff_rect_region_struct,
    ) -> Result<BufferRect> {
        let resolved = || {
            if region.width_bytes == 0 || region.height_scalar == 0 || region.depth_scalar == 0 {
                return None;
            }
            let ((source, source_first), (target, target_first)) =
                (source.resolve(&region)?, target.resolve(&region)?);
            source.end(source_first, &region)?;
            target.end(target_first, &region)?;
            Some(BufferRect {
                source,
                target,
                region,
            })
        };
        resolved().ok_or_else(|| {
            Error::new(
                PI_INVALID_VALUE,
                "the box is empty, its pitches are smaller than it, or it is too far out",
            )
        })
    }

    /// Bytes from the start of the source, and of the target, to the end of the box.
    pub fn extents(&self) -> (usize, usize) {
        let end = |corner: &Corner| {
            let (corner, first) = corner.resolve(&self.region)?;
            corner.end(first, &self.region)
        };
        // Both were found to exist when the box was made.
        (
            end(&self.source).unwrap_or(usize::MAX),
            end(&self.target).unwrap_or(usize::MAX),
        )
    }

    /// The rows: offset in the source, offset in the target, bytes.
    pub fn rows(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let BufferRect {
            source,
            target,
            region,
        } = *self;
        let at = move |corner: &Corner, y: usize, z: usize| {
            let (y, z) = (corner.offset.y_scalar + y, corner.offset.z_scalar + z);
            corner.offset.x_bytes + y * corner.row_pitch + z * corner.slice_pitch
        };
        let rows = (0..region.depth_scalar).flat_map(move |z| (0..region.height_scalar).map(move |y| (y, z)));
        rows.map(move |(y, z)| (at(&source, y, z), at(&target, y, z), region.width_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corner(x: usize, y: usize, z: usize, row_pitch: usize, slice_pitch: usize) -> Corner {
        let offset = pi_buff_rect_offset_struct {
            x_bytes: x,
            y_scalar: y,
            z_scalar: z,
        };
        Corner {
            offset,
            row_pitch,
            slice_pitch,
        }
    }

    fn region(width_bytes: usize, height_scalar: usize, depth_scalar: usize) -> pi_buff_rect_region_struct {
        pi_buff_rect_region_struct {
            width_bytes,
            height_scalar,
            depth_scalar,
        }
    }

    #[test]
    fn rows_follow_the_pitches_of_both_sides() {
        // 2 x 2 x 2 bytes at (1, 1, 0) of slices of 3 rows of 8 bytes, to a packed box.
        let rect = BufferRect::new(corner(1, 1, 0, 8, 24), corner(0, 0, 0, 0, 0), region(2, 2, 2)).unwrap();
        let rows: Vec<_> = rect.rows().collect();
        assert_eq!(rows, [(9, 0, 2), (17, 2, 2), (33, 4, 2), (41, 6, 2)]);
        assert_eq!(rect.extents(), (43, 8));
    }

    #[test]
    fn boxes_that_cannot_be_are_refused() {
        let packed = corner(0, 0, 0, 0, 0);
        for (source, region) in [
            (packed, region(0, 1, 1)),
            (corner(0, 0, 0, 1, 0), region(2, 1, 1)),
            (corner(0, 0, 0, 4, 4), region(2, 2, 1)),
            (corner(usize::MAX, 1, 0, 8, 0), region(2, 2, 1)),
            (corner(0, 0, 0, usize::MAX / 2, 0), region(2, 3, 1)),
        ] {
            assert_eq!(
                BufferRect::new(source, packed, region).unwrap_err().code,
                PI_INVALID_VALUE
            );
        }
    }
}
