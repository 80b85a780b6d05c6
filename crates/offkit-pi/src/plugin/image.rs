//! Images and samplers.

use super::command::Command;
use super::enqueue::{Submission, queue_in, same_context};
use super::host_memory::{HostSource, HostTarget};
use super::memory::host_content;
use super::shim::{non_null, properties};
use super::slab::Ref;
use super::state::{self, MemoryDetails, MemoryRecord, Registered, SamplerDetails, SamplerRecord};
use super::{Context, Error, Info, Memory, Plugin, Result};
use crate::ffi::*;
use core::ffi::c_void;

/// What an image is to be.
#[non_exhaustive]
pub struct ImageRequest<'a, P: Plugin> {
    /// How it is to be made (`PI_MEM_FLAGS_*`).
    pub flags: pi_mem_flags,
    /// What its elements are.
    pub format: pi_image_format,
    /// Its kind and size. The handle in it is null: see [`source`](Self::source).
    pub shape: pi_image_desc,
    /// The buffer or image whose memory it is.
    pub source: Option<Ref<P::Memory>>,
    /// What it starts as a copy of.
    pub copy: Option<&'a [u8]>,
    /// Host memory to use as its storage; stays valid until the image is released.
    pub storage: Option<HostTarget>,
}

/// A box within an image, in elements: where it starts, and its extent. In an array, the last number that counts is
/// that of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageBox {
    /// Where it starts: column, row, slice.
    pub origin: [usize; 3],
    /// Columns, rows, slices; none is 0.
    pub region: [usize; 3],
}

/// How a box lies in the host's memory: bytes from one row to the next, and from one slice to the next; 0 for tightly
/// packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pitches {
    /// From row to row.
    pub row: usize,
    /// From slice to slice.
    pub slice: usize,
}

/// How images are read where a kernel asks for what is between their elements, or outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplerRequest {
    /// Whether coordinates go from 0 to 1.
    pub normalized: bool,
    /// What is outside (OpenCL's numbers).
    pub addressing: u32,
    /// What is between (OpenCL's numbers).
    pub filter: u32,
}

/// A sampler. What it was made from, hosts are told without it.
pub trait Sampler<P: Plugin>: Send + Sync + 'static {}

/// What the interface remembers of an image.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image {
    pub(crate) kind: pi_uint32,
    /// Bytes of an element.
    element: usize,
    /// Columns, rows, slices, as boxes count them.
    extent: [usize; 3],
}

/// OpenCL's numbers: the channels of each order, and the bytes of each type; types from 0x10d4 to 0x10d6 and 0x10e0 have
/// all channels in one number.
fn element_size(format: &pi_image_format) -> Option<usize> {
    let channels = match format.image_channel_order {
        0x10b0 | 0x10b1 | 0x10b8 | 0x10b9 | 0x10bd => 1,
        0x10b2 | 0x10b3 | 0x10ba => 2,
        0x10b4 | 0x10bb | 0x10bf => 3,
        0x10b5..=0x10b7 | 0x10bc | 0x10c0..=0x10c3 => 4,
        _ => return None,
    };
    match format.image_channel_data_type {
        0x10d4 | 0x10d5 => Some(2),
        0x10d6 | 0x10e0 => Some(4),
        0x10d0 | 0x10d2 | 0x10d7 | 0x10da => Some(channels),
        0x10d1 | 0x10d3 | 0x10d8 | 0x10db | 0x10dd => Some(2 * channels),
        0x10d9 | 0x10dc | 0x10de => Some(4 * channels),
        _ => None,
    }
}

impl Image {
    fn new(format: &pi_image_format, shape: &pi_image_desc) -> Result<Image> {
        let unknown = || {
            let message = format_args!(
                "an image format of order {:#x} and type {:#x}",
                format.image_channel_order, format.image_channel_data_type
            );
            Error::new(PI_INVALID_IMAGE_FORMAT_DESCRIPTOR, message)
        };
        let element = element_size(format).ok_or_else(unknown)?;
        let (width, height) = (shape.image_width, shape.image_height);
        let extent = match shape.image_type {
            PI_MEM_TYPE_IMAGE1D | PI_MEM_TYPE_IMAGE1D_BUFFER => [width, 1, 1],
            PI_MEM_TYPE_IMAGE1D_ARRAY => [width, shape.image_array_size, 1],
            PI_MEM_TYPE_IMAGE2D => [width, height, 1],
            PI_MEM_TYPE_IMAGE2D_ARRAY => [width, height, shape.image_array_size],
            PI_MEM_TYPE_IMAGE3D => [width, height, shape.image_depth],
            kind => {
                let message = format_args!("{kind:#x} is no kind of image");
                return Err(Error::new(PI_INVALID_IMAGE_DESCRIPTOR, message));
            }
        };
        if extent.contains(&0) {
            let message = format_args!("an image of {extent:?} elements");
            return Err(Error::new(PI_INVALID_IMAGE_SIZE, message));
        }
        Ok(Image {
            kind: shape.image_type,
            element,
            extent,
        })
    }

    /// How many bytes of the host's memory a box takes.
    fn size(&self, region: [usize; 3], pitches: Pitches) -> Result<usize> {
        let size = || {
            let [width, height, depth] = region;
            let line = width.checked_mul(self.element)?;
            let row = if pitches.row == 0 { line } else { pitches.row };
            // The images of an array of lines are as far apart as slices.
            let (row, slice) = match (self.kind, pitches.slice) {
                (PI_MEM_TYPE_IMAGE1D_ARRAY, slice @ 1..) => (slice, slice),
                (_, 0) => (row, row.checked_mul(height)?),
                (_, slice) => (row, slice),
            };
            // Nothing has to be behind the last line, however far the next one would be. No side is 0: images and
            // boxes that have one are refused.
            let (rows, slices) = ((height - 1).checked_mul(row)?, (depth - 1).checked_mul(slice)?);
            (pitches.row == 0 || pitches.row >= line).then_some(())?;
            slices.checked_add(rows)?.checked_add(line)
        };
        let message = || {
            format!(
                "a box of {region:?} elements of {} bytes with {pitches:?}",
                self.element
            )
        };
        size().ok_or_else(|| Error::new(PI_INVALID_VALUE, message()))
    }

    /// A box that is within the image and not empty.
    fn within(&self, origin: [usize; 3], region: [usize; 3]) -> Result<ImageBox> {
        let fits = |axis: usize| {
            let end = origin[axis].checked_add(region[axis]);
            region[axis] > 0 && end.is_some_and(|end| end <= self.extent[axis])
        };
        if (0..3).all(fits) {
            return Ok(ImageBox { origin, region });
        }
        let message = format_args!(
            "{region:?} at {origin:?} is not within an image of {:?}",
            self.extent
        );
        Err(Error::new(PI_INVALID_VALUE, message))
    }
}

/// A box within an image, from pointers.
///
/// # Safety
///
/// The pointers must be null or valid for reading.
unsafe fn box_of(image: &Image, origin: pi_image_offset, region: pi_image_region) -> Result<ImageBox> {
    non_null(origin, "origin")?;
    non_null(region, "region")?;
    // SAFETY: not null, so valid by the caller's promise.
    let (origin, region) = unsafe { (origin.read(), region.read()) };
    image.within(
        [origin.x, origin.y, origin.z],
        [region.width, region.height, region.depth],
    )
}

/// A memory object that must be an image.
fn image<P: Registered>(handle: pi_mem) -> Result<(MemoryRecord<P>, Image)> {
    let record = state::memory::<P>(handle)?;
    let buffer = || Error::new(PI_INVALID_MEM_OBJECT, "a buffer, not an image");
    let image = record.details().image.ok_or_else(buffer)?;
    Ok((record, image))
}

pub(super) unsafe fn piMemImageCreate<P: Registered>(
    context: pi_context,
    flags: pi_mem_flags,
    image_format: *const pi_image_format,
    image_desc: *const pi_image_desc,
    host_ptr: *mut c_void,
) -> Result<MemoryRecord<P>> {
    let context = state::context::<P>(context)?;
    non_null(image_format.cast_mut(), "image_format")?;
    non_null(image_desc.cast_mut(), "image_desc")?;
    // SAFETY: not null, so valid for reading.
    let (format, mut shape) = unsafe { (image_format.read(), image_desc.read()) };
    let image = Image::new(&format, &shape)?;
    let source = match shape.buffer.is_null() {
        true => None,
        false => Some(state::memory::<P>(shape.buffer)?),
    };
    if source
        .as_ref()
        .is_some_and(|source| source.details().context != context)
    {
        let message = "the memory that the image is to be in is of another context";
        return Err(Error::new(PI_INVALID_CONTEXT, message));
    }
    // The plugin gets the object itself: a handle is of no use to it.
    shape.buffer = core::ptr::null_mut();
    let pitches = Pitches {
        row: shape.image_row_pitch,
        slice: shape.image_slice_pitch,
    };
    let size = image.size(image.extent, pitches)?;
    // SAFETY: the host passes as many bytes as the image has with its pitches.
    let (copy, storage) = unsafe { host_content(flags, host_ptr, size) }?;
    let uses = storage.is_some();
    let request = ImageRequest {
        flags,
        format,
        shape,
        source: source.as_ref().map(|source| source.object().clone()),
        copy,
        storage,
    };
    let memory = P::Context::create_image(context.object(), request)?;
    let details = MemoryDetails {
        context,
        flags,
        size,
        host_pointer: if uses { host_ptr.addr() } else { 0 },
        // The image is in its memory, and keeps it there when the host has released it.
        parent: source.map(|source| (source, 0)),
        image: Some(image),
    };
    state::insert(&P::state().memories, memory, details)
}

pub(super) fn piMemImageGetInfo<P: Registered>(handle: pi_mem, name: pi_image_info) -> Result<Info> {
    let (record, image) = image::<P>(handle)?;
    match name {
        PI_IMAGE_INFO_ELEMENT_SIZE => Ok(image.element.into()),
        name => record.object().image_info(name),
    }
}

pub(super) unsafe fn piEnqueueMemImageRead<P: Registered>(
    queue: pi_queue,
    handle: pi_mem,
    blocking: pi_bool,
    origin: pi_image_offset,
    region: pi_image_region,
    row: usize,
    slice: usize,
    pointer: *mut c_void,
) -> Result<Submission<P>> {
    non_null(pointer, "ptr")?;
    let (record, image) = image::<P>(handle)?;
    let queue = queue_in(queue, &record.details().context)?;
    let pitches = Pitches { row, slice };
    // SAFETY: the host passes a box, and memory that has room for it with these pitches until the command is complete.
    let (area, target) = unsafe {
        let area = box_of(&image, origin, region)?;
        (
            area,
            HostTarget::new(pointer.cast(), image.size(area.region, pitches)?),
        )
    };
    let image = record.into_object();
    let command = Command::ReadImage {
        image,
        area,
        target,
        pitches,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}

pub(super) unsafe fn piEnqueueMemImageWrite<P: Registered>(
    queue: pi_queue,
    handle: pi_mem,
    blocking: pi_bool,
    origin: pi_image_offset,
    region: pi_image_region,
    row: usize,
    slice: usize,
    pointer: *const c_void,
) -> Result<Submission<P>> {
    non_null(pointer.cast_mut(), "ptr")?;
    let (record, image) = image::<P>(handle)?;
    let queue = queue_in(queue, &record.details().context)?;
    let pitches = Pitches { row, slice };
    // SAFETY: the host passes a box, and memory that has it with these pitches until the command is complete.
    let (area, source) = unsafe {
        let area = box_of(&image, origin, region)?;
        (
            area,
            HostSource::new(pointer.cast(), image.size(area.region, pitches)?),
        )
    };
    let image = record.into_object();
    let command = Command::WriteImage {
        image,
        area,
        source,
        pitches,
    };
    Ok(Submission::new(queue, command).blocking(blocking))
}

pub(super) unsafe fn piEnqueueMemImageCopy<P: Registered>(
    queue: pi_queue,
    from: pi_mem,
    to: pi_mem,
    source_origin: pi_image_offset,
    target_origin: pi_image_offset,
    region: pi_image_region,
) -> Result<Submission<P>> {
    let ((from, source), (to, target)) = (image::<P>(from)?, image::<P>(to)?);
    let queue = queue_in(queue, &from.details().context)?;
    same_context(&queue, &to.details().context)?;
    // SAFETY: the host passes two boxes of one extent.
    let (source_area, target_area) = unsafe {
        (
            box_of(&source, source_origin, region)?,
            box_of(&target, target_origin, region)?,
        )
    };
    let command = Command::CopyImage {
        source: from.into_object(),
        source_area,
        target: to.into_object(),
        target_origin: target_area.origin,
    };
    Ok(Submission::new(queue, command))
}

pub(super) unsafe fn piEnqueueMemImageFill<P: Registered>(
    queue: pi_queue,
    handle: pi_mem,
    color: *const c_void,
    origin: *const usize,
    region: *const usize,
) -> Result<Submission<P>> {
    non_null(color.cast_mut(), "fill_color")?;
    non_null(origin.cast_mut(), "origin")?;
    non_null(region.cast_mut(), "region")?;
    let (record, image) = image::<P>(handle)?;
    let queue = queue_in(queue, &record.details().context)?;
    // SAFETY: not null, so the host passes three numbers each, and a colour of four of 32 bits.
    let (area, color) = unsafe {
        let (origin, region) = (origin.cast::<[usize; 3]>(), region.cast::<[usize; 3]>());
        let area = image.within(origin.read_unaligned(), region.read_unaligned())?;
        (area, color.cast::<[u8; 16]>().read_unaligned())
    };
    let image = record.into_object();
    Ok(Submission::new(queue, Command::FillImage { image, color, area }))
}

/// OpenCL's numbers, for what a list of properties leaves out.
const CLAMP: u32 = 0x1132;
const NEAREST: u32 = 0x1140;

pub(super) unsafe fn piSamplerCreate<P: Registered>(
    context: pi_context,
    list: *const pi_sampler_properties,
) -> Result<SamplerRecord<P>> {
    let context = state::context::<P>(context)?;
    let mut request = SamplerRequest {
        normalized: true,
        addressing: CLAMP,
        filter: NEAREST,
    };
    // SAFETY: the host passes null, or keys and values with the key 0 at the end.
    for (key, value) in unsafe { properties(list) } {
        match u32::try_from(key) {
            Ok(PI_SAMPLER_INFO_NORMALIZED_COORDS) => request.normalized = value != u64::from(PI_FALSE),
            Ok(PI_SAMPLER_INFO_ADDRESSING_MODE) => request.addressing = value as u32,
            Ok(PI_SAMPLER_INFO_FILTER_MODE) => request.filter = value as u32,
            _ => {
                let message = format_args!("sampler property {key:#x}");
                return Err(Error::new(PI_INVALID_VALUE, message));
            }
        }
    }
    let sampler = P::Context::create_sampler(context.object(), &request)?;
    let details = SamplerDetails { context, request };
    state::insert(&P::state().samplers, sampler, details)
}

pub(super) fn piSamplerGetInfo<P: Registered>(sampler: pi_sampler, name: pi_sampler_info) -> Result<Info> {
    let sampler = state::sampler::<P>(sampler)?;
    let SamplerDetails { context, request } = sampler.details();
    Ok(match name {
        PI_SAMPLER_INFO_REFERENCE_COUNT => sampler.references().into(),
        PI_SAMPLER_INFO_CONTEXT => context.handle().into(),
        PI_SAMPLER_INFO_NORMALIZED_COORDS => request.normalized.into(),
        PI_SAMPLER_INFO_ADDRESSING_MODE => request.addressing.into(),
        PI_SAMPLER_INFO_FILTER_MODE => request.filter.into(),
        name => return Err(Error::unknown_query(name)),
    })
}
