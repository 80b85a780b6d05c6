//! Images and samplers.

use super::context::{Buffer, create};
use super::queue::submit;
use super::{Event, Order, Owned, Result, ask, call, pointer};
use core::ptr::{null, null_mut};
use offkit_pi::plugin::{HostSource, HostTarget, ImageBox, Pitches};
use offkit_ur::*;

/// What an image is to be, in Unified Runtime's numbers.
pub(crate) struct Shape {
    /// `UR_MEM_TYPE_*`
    pub(crate) kind: u32,
    /// Columns, rows, slices.
    pub(crate) extent: [usize; 3],
    /// Images of an array.
    pub(crate) array_size: usize,
    /// How it lies in the host's memory.
    pub(crate) pitches: Pitches,
}

/// What is outside of an image, and between its elements, in Unified Runtime's numbers.
pub(crate) struct Sampling {
    pub(crate) normalized: bool,
    /// `UR_SAMPLER_ADDRESSING_MODE_*`
    pub(crate) addressing: u32,
    /// `UR_SAMPLER_FILTER_MODE_*`
    pub(crate) filter: u32,
}

/// The host's side of a transfer.
pub(crate) enum HostSide<'a> {
    /// The image is read.
    To(&'a HostTarget),
    /// The image is written.
    From(&'a HostSource),
}

fn offset([x, y, z]: [usize; 3]) -> ur_rect_offset_t {
    let [x, y, z] = [x as u64, y as u64, z as u64];
    ur_rect_offset_t { x, y, z }
}

fn region([width, height, depth]: [usize; 3]) -> ur_rect_region_t {
    let [width, height, depth] = [width as u64, height as u64, depth as u64];
    ur_rect_region_t { width, height, depth }
}

impl Owned<_ur_context> {
    pub(crate) fn create_image(
        &self,
        flags: u32,
        format: ur_image_format_t,
        shape: &Shape,
        content: &Buffer<'_>,
    ) -> Result<Owned<_ur_mem>> {
        let [width, height, depth] = shape.extent;
        let desc = ur_image_desc_t {
            stype: UR_STRUCTURE_TYPE_IMAGE_DESC,
            next: null(),
            kind: shape.kind,
            width,
            height,
            depth,
            array_size: shape.array_size,
            row_pitch: shape.pitches.row,
            slice_pitch: shape.pitches.slice,
            num_mip_level: 0,
            num_samples: 0,
        };
        // SAFETY: the memory of the host has as many bytes as an image of that shape, as the plugin interface has seen
        // to; it is read during the call, or the host has given it to the image.
        unsafe {
            create!(
                self.adapter(),
                urMemImageCreate(
                    self.handle(),
                    flags,
                    &raw const format,
                    &raw const desc,
                    content.pointer()
                )
            )
        }
    }

    pub(crate) fn create_sampler(&self, sampling: &Sampling) -> Result<Owned<_ur_sampler>> {
        let desc = ur_sampler_desc_t {
            stype: UR_STRUCTURE_TYPE_SAMPLER_DESC,
            next: null(),
            normalized_coords: sampling.normalized,
            addressing_mode: sampling.addressing,
            filter_mode: sampling.filter,
        };
        // SAFETY: the record is read during the call.
        unsafe { create!(self.adapter(), urSamplerCreate(self.handle(), &raw const desc)) }
    }
}

impl Owned<_ur_mem> {
    /// The answer to a query about an image.
    pub(crate) fn image_info(&self, name: u32) -> Result<Vec<u8>> {
        // SAFETY: the memory object is the adapter's.
        ask!(self.adapter(), unsafe urMemImageGetInfo(self.handle(), name))
    }
}

impl Owned<_ur_queue> {
    /// Reads a box from an image, or writes one to it.
    pub(crate) fn transfer_image(
        &self,
        image: &Owned<_ur_mem>,
        area: &ImageBox,
        host: &HostSide<'_>,
        pitches: Pitches,
        order: &Order<'_>,
    ) -> Result<Event> {
        let (origin, region) = (offset(area.origin), region(area.region));
        let Pitches { row, slice } = pitches;
        // SAFETY: the memory of the host is given to the command until it is complete, and has the box with these pitches,
        // as the plugin interface has seen to.
        unsafe {
            match host {
                HostSide::To(target) => {
                    let target = pointer(target.address());
                    submit!(
                        self,
                        order,
                        urEnqueueMemImageRead(image.handle(), false, origin, region, row, slice, target)
                    )
                }
                HostSide::From(source) => {
                    let source = pointer(source.address());
                    submit!(
                        self,
                        order,
                        urEnqueueMemImageWrite(image.handle(), false, origin, region, row, slice, source)
                    )
                }
            }
        }
    }

    pub(crate) fn copy_image(
        &self,
        source: (&Owned<_ur_mem>, &ImageBox),
        target: (&Owned<_ur_mem>, &[usize; 3]),
        order: &Order<'_>,
    ) -> Result<Event> {
        let ((from, area), (to, origin)) = (source, target);
        // SAFETY: the images are of the queue's context, and the boxes within them, as the plugin interface has checked.
        unsafe {
            submit!(
                self,
                order,
                urEnqueueMemImageCopy(
                    from.handle(),
                    to.handle(),
                    offset(area.origin),
                    offset(*origin),
                    region(area.region)
                )
            )
        }
    }
}
