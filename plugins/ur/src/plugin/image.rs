//! Images and samplers: Unified Runtime's numbers for those of the plugin interface, which are OpenCL's.

use offkit_pi::ffi::*;
use offkit_pi::plugin::{Error, ImageRequest, Info, Pitches, Result, Sampler, SamplerRequest};
use offkit_ur::*;

use super::UnifiedRuntime;
use crate::adapter::{Owned, Sampling, Shape, number};

/// The orders of channels from OpenCL's first, `CL_R`, on; those after them that Unified Runtime has.
const ORDERS: [u32; 13] = [
    UR_IMAGE_CHANNEL_ORDER_R,
    UR_IMAGE_CHANNEL_ORDER_A,
    UR_IMAGE_CHANNEL_ORDER_RG,
    UR_IMAGE_CHANNEL_ORDER_RA,
    UR_IMAGE_CHANNEL_ORDER_RGB,
    UR_IMAGE_CHANNEL_ORDER_RGBA,
    UR_IMAGE_CHANNEL_ORDER_BGRA,
    UR_IMAGE_CHANNEL_ORDER_ARGB,
    UR_IMAGE_CHANNEL_ORDER_INTENSITY,
    UR_IMAGE_CHANNEL_ORDER_LUMINANCE,
    UR_IMAGE_CHANNEL_ORDER_RX,
    UR_IMAGE_CHANNEL_ORDER_RGX,
    UR_IMAGE_CHANNEL_ORDER_RGBX,
];
// `CL_sRGBA` and `CL_ABGR`; the orders between them have no counterpart.
const LATER_ORDERS: [(u32, u32); 2] = [
    (0x10c1, UR_IMAGE_CHANNEL_ORDER_SRGBA),
    (0x10c3, UR_IMAGE_CHANNEL_ORDER_ABGR),
];

/// OpenCL's first order of channels, and its first type of a channel. Types come in the same order here and there, as do
/// what is outside of images and what is between their elements.
const FIRST_ORDER: u32 = 0x10b0;
const FIRST_TYPE: u32 = 0x10d0;
const FIRST_ADDRESSING: u32 = 0x1130;
const FIRST_FILTER: u32 = 0x1140;

/// Orders of channels, there and here.
fn orders() -> impl Iterator<Item = (u32, u32)> {
    (FIRST_ORDER..).zip(ORDERS).chain(LATER_ORDERS)
}

/// How far a number is from the first of its kind, if it is one of the kind.
fn after(number: u32, first: u32, last: u32) -> Option<u32> {
    number.checked_sub(first).filter(|distance| *distance <= last)
}

/// What an image's elements are.
pub(super) fn format(format: pi_image_format) -> Result<ur_image_format_t> {
    let (order, kind) = (format.image_channel_order, format.image_channel_data_type);
    let channel_order = orders()
        .find(|(theirs, _)| *theirs == order)
        .map(|(_, ours)| ours);
    let channel_type = after(kind, FIRST_TYPE, UR_IMAGE_CHANNEL_TYPE_FLOAT);
    let unknown = || {
        let message = format!("Unified Runtime has no image format of order {order:#x} and type {kind:#x}");
        Error::new(PI_IMAGE_FORMAT_NOT_SUPPORTED, message)
    };
    let (channel_order, channel_type) = channel_order.zip(channel_type).ok_or_else(unknown)?;
    Ok(ur_image_format_t {
        channel_order,
        channel_type,
    })
}

/// An image's kind and size.
pub(super) fn shape(request: &ImageRequest<'_, UnifiedRuntime>) -> Result<Shape> {
    let shape = request.shape;
    if request.source.is_some() {
        return Err(Error::unsupported("an image in the memory of another object"));
    }
    let kind = match shape.image_type {
        PI_MEM_TYPE_IMAGE2D => UR_MEM_TYPE_IMAGE2D,
        PI_MEM_TYPE_IMAGE3D => UR_MEM_TYPE_IMAGE3D,
        PI_MEM_TYPE_IMAGE2D_ARRAY => UR_MEM_TYPE_IMAGE2D_ARRAY,
        PI_MEM_TYPE_IMAGE1D => UR_MEM_TYPE_IMAGE1D,
        PI_MEM_TYPE_IMAGE1D_ARRAY => UR_MEM_TYPE_IMAGE1D_ARRAY,
        _ => return Err(Error::unsupported("this kind of image")),
    };
    Ok(Shape {
        kind,
        extent: [shape.image_width, shape.image_height, shape.image_depth],
        array_size: shape.image_array_size,
        pitches: Pitches {
            row: shape.image_row_pitch,
            slice: shape.image_slice_pitch,
        },
    })
}

/// Answers a query about an image.
pub(super) fn info(image: &Owned<_ur_mem>, name: pi_image_info) -> Result<Info> {
    let last = UR_IMAGE_INFO_DEPTH;
    let theirs = after(name, PI_IMAGE_INFO_FORMAT, last).ok_or_else(|| Error::unknown_query(name))?;
    let answer = image.image_info(theirs)?;
    if theirs != UR_IMAGE_INFO_FORMAT {
        return Ok(answer.into());
    }
    let (order, kind) = answer.split_at_checked(4).unwrap_or_default();
    let (order, kind) = (number(order), number(kind));
    let order = orders().find(|(_, ours)| Some(*ours) == order);
    // The type is whatever the adapter says, and must not overflow.
    let words = [
        order.map_or(0, |(theirs, _)| theirs),
        kind.map_or(0, |kind| FIRST_TYPE.saturating_add(kind)),
    ];
    Ok(words.map(u32::to_ne_bytes).as_flattened().to_vec().into())
}

/// A sampler of an adapter.
pub(crate) struct UrSampler(Owned<_ur_sampler>);

impl UrSampler {
    pub(super) fn new(context: &Owned<_ur_context>, request: &SamplerRequest) -> Result<UrSampler> {
        let last = UR_SAMPLER_ADDRESSING_MODE_MIRRORED_REPEAT;
        let addressing = after(request.addressing, FIRST_ADDRESSING, last);
        let filter = after(request.filter, FIRST_FILTER, UR_SAMPLER_FILTER_MODE_LINEAR);
        let unknown = || {
            let SamplerRequest {
                addressing, filter, ..
            } = request;
            let message =
                format!("OpenCL has no sampler of addressing {addressing:#x} and filter {filter:#x}");
            Error::new(PI_INVALID_VALUE, message)
        };
        let (addressing, filter) = addressing.zip(filter).ok_or_else(unknown)?;
        Ok(UrSampler(context.create_sampler(&Sampling {
            normalized: request.normalized,
            addressing,
            filter,
        })?))
    }
}

impl AsRef<Owned<_ur_sampler>> for offkit_pi::plugin::Ref<UrSampler> {
    fn as_ref(&self) -> &Owned<_ur_sampler> {
        &self.0
    }
}

impl Sampler<UnifiedRuntime> for UrSampler {}
