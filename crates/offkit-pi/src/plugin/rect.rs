//! Boxes within buffers, and the functions that read, write and copy them.

use super::command::Command;
use super::enqueue::{Submission, buffer, place, queue_in, same_context};
use super::host_memory::{HostSource, HostTarget};
use super::shim::non_null;
use super::state::Registered;
use super::{Error, Result};
use crate::ffi::*;
use core::ffi::c_void;

/// A three-dimensional box of bytes, in two places with pitches of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferRect {
    source: Corner,
    target: Corner,
    region: pi_buff_rect_region_struct,
}

/// Where a box starts, and how its rows and slices lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corner {
    /// Where it starts.
    pub offset: pi_buff_rect_offset_struct,
    /// Bytes from one row to the next; 0 for tightly packed.
    pub row_pitch: usize,
    /// Bytes from one slice to the next; 0 for tightly packed.
    pub slice_pitch: usize,
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
        // No side is 0, for a box that is empty is refused before.
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
    fn new(source: Corner, target: Corner, region: pi_buff_rect_region_struct) -> Result<BufferRect> {
        let resolved = || {
            if region.width_bytes == 0 || region.height_scalar == 0 || region.depth_scalar == 0 {
                return None;
            }
            let ((source, source_first), (target, target_first)) =
                (source.resolve(&region)?, target.resolve(&region)?);
            // Not kept: that there is an end is what lets `rows` compute without checks.
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

    /// Where the box lies in the source.
    pub fn source(&self) -> &Corner {
        &self.source
    }

    /// Where the box lies in the target.
    pub fn target(&self) -> &Corner {
        &self.target
    }

    /// How large it is.
    pub fn region(&self) -> &pi_buff_rect_region_struct {
        &self.region
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
            // None of this overflows: the end of the box was computed when it was made, and is behind every row.
            let (y, z) = (corner.offset.y_scalar + y, corner.offset.z_scalar + z);
            corner.offset.x_bytes + y * corner.row_pitch + z * corner.slice_pitch
        };
        let rows = (0..region.depth_scalar).flat_map(move |z| (0..region.height_scalar).map(move |y| (y, z)));
        rows.map(move |(y, z)| (at(&source, y, z), at(&target, y, z), region.width_bytes))
    }

    /// Whether the boxes have bytes in common where both are in the same memory, starting at these offsets. (Both
    /// have been found to be within it.)
    fn overlaps(&self, source_origin: usize, target_origin: usize) -> bool {
        let width = self.region.width_bytes;
        // Rows follow each other in memory on both sides, as pitches are not smaller than what they are for.
        let mut sources = self
            .rows()
            .map(|(source, _, _)| source_origin + source)
            .peekable();
        let mut targets = self
            .rows()
            .map(|(_, target, _)| target_origin + target)
            .peekable();
        while let (Some(source), Some(target)) = (sources.peek(), targets.peek()) {
            if source.abs_diff(*target) < width {
                return true;
            }
            // As in a merge: the rows behind on the other side are yet farther from the one that is first.
            if source < target {
                sources.next();
            } else {
                targets.next();
            }
        }
        false
    }
}

/// What C has for a corner of a box: the offset, and the pitches of rows and slices.
type RawCorner = (pi_buff_rect_offset, usize, usize);

/// A box from its corners.
///
/// # Safety
///
/// The offsets and `region` must be null or valid for reading.
unsafe fn rect(source: RawCorner, target: RawCorner, region: pi_buff_rect_region) -> Result<BufferRect> {
    let corner = |(offset, row_pitch, slice_pitch): RawCorner| {
        // SAFETY: by the caller's promise.
        let offset = *unsafe { offset.as_ref() }.ok_or_else(|| Error::null("an offset"))?;
        Ok(Corner {
            offset,
            row_pitch,
            slice_pitch,
        })
    };
    let (source, target) = (corner(source)?, corner(target)?);
    // SAFETY: by the caller's promise.
    let region = *unsafe { region.as_ref() }.ok_or_else(|| Error::null("region"))?;
    BufferRect::new(source, target, region)
}

pub(super) unsafe fn piEnqueueMemBufferReadRect<P: Registered>(
    queue: pi_queue,
    memory: pi_mem,
    blocking: pi_bool,
    buffer_offset: pi_buff_rect_offset,
    host_offset: pi_buff_rect_offset,
    region: pi_buff_rect_region,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    pointer: *mut c_void,
) -> Result<Submission<P>> {
    non_null(pointer, "ptr")?;
    let source = (buffer_offset, buffer_row_pitch, buffer_slice_pitch);
    let target = (host_offset, host_row_pitch, host_slice_pitch);
    // SAFETY: the host passes structs, and memory that holds the box until the command is complete.
    let (rect, target) = unsafe {
        let rect = rect(source, target, region)?;
        (rect, HostTarget::new(pointer.cast(), rect.extents().1))
    };
    // Where the box ends is enough to know whether it is within the buffer.
    let memory = buffer::<P>(memory, 0, rect.extents().0)?;
    let queue = queue_in(queue, &memory.details().context)?;
    let command = Command::ReadBufferRect {
        buffer: memory.into_object(),
        rect,
        target,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}

pub(super) unsafe fn piEnqueueMemBufferWriteRect<P: Registered>(
    queue: pi_queue,
    memory: pi_mem,
    blocking: pi_bool,
    buffer_offset: pi_buff_rect_offset,
    host_offset: pi_buff_rect_offset,
    region: pi_buff_rect_region,
    buffer_row_pitch: usize,
    buffer_slice_pitch: usize,
    host_row_pitch: usize,
    host_slice_pitch: usize,
    pointer: *const c_void,
) -> Result<Submission<P>> {
    non_null(pointer.cast_mut(), "ptr")?;
    let source = (host_offset, host_row_pitch, host_slice_pitch);
    let target = (buffer_offset, buffer_row_pitch, buffer_slice_pitch);
    // SAFETY: the host passes structs, and memory that holds the box until the command is complete.
    let (rect, source) = unsafe {
        let rect = rect(source, target, region)?;
        (rect, HostSource::new(pointer.cast(), rect.extents().0))
    };
    let memory = buffer::<P>(memory, 0, rect.extents().1)?;
    let queue = queue_in(queue, &memory.details().context)?;
    let command = Command::WriteBufferRect {
        buffer: memory.into_object(),
        rect,
        source,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}

pub(super) unsafe fn piEnqueueMemBufferCopyRect<P: Registered>(
    queue: pi_queue,
    source: pi_mem,
    target: pi_mem,
    source_origin: pi_buff_rect_offset,
    target_origin: pi_buff_rect_offset,
    region: pi_buff_rect_region,
    source_row_pitch: usize,
    source_slice_pitch: usize,
    target_row_pitch: usize,
    target_slice_pitch: usize,
) -> Result<Submission<P>> {
    let from = (source_origin, source_row_pitch, source_slice_pitch);
    let to = (target_origin, target_row_pitch, target_slice_pitch);
    // SAFETY: the host passes structs.
    let rect = unsafe { rect(from, to, region) }?;
    let (source_end, target_end) = rect.extents();
    let (from, to) = (
        buffer::<P>(source, 0, source_end)?,
        buffer::<P>(target, 0, target_end)?,
    );
    let ((source_base, source_origin), (target_base, target_origin)) = (place(&from), place(&to));
    if source_base == target_base && rect.overlaps(source_origin, target_origin) {
        return Err(Error::new(PI_MEM_COPY_OVERLAP, "the boxes overlap"));
    }
    let queue = queue_in(queue, &from.details().context)?;
    same_context(&queue, &to.details().context)?;
    let (source, target) = (from.into_object(), to.into_object());
    let command = Command::CopyBufferRect { source, target, rect };
    Ok(Submission::new(queue, command))
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
    fn boxes_overlap_where_rows_do() {
        // 2 x 2 bytes in rows of 8.
        let overlap = |x: usize, y: usize, origins: (usize, usize)| {
            let rect =
                BufferRect::new(corner(0, 0, 0, 8, 0), corner(x, y, 0, 8, 0), region(2, 2, 1)).unwrap();
            rect.overlaps(origins.0, origins.1)
        };
        assert!(overlap(1, 0, (0, 0)) && overlap(0, 1, (0, 0)) && overlap(1, 1, (0, 0)));
        // Side by side, one below the other, and in parts of the buffer that are apart.
        assert!(!overlap(2, 0, (0, 0)) && !overlap(0, 2, (0, 0)) && !overlap(0, 0, (0, 16)));
        assert!(overlap(0, 0, (16, 8)));
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
