//! Handles and records.

use core::ffi::{c_char, c_void};

macro_rules! handles {
    ($($object:ident, $handle:ident, $what:literal;)*) => {$(
        #[doc = concat!("What a handle of ", $what, " points to.")]
        #[derive(Debug)]
        #[repr(C)]
        pub struct $object {
            _private: [u8; 0],
        }

        #[doc = concat!("A handle of ", $what, ".")]
        pub type $handle = *mut $object;
    )*};
}

handles! {
    _ur_adapter, ur_adapter_handle_t, "an adapter";
    _ur_platform, ur_platform_handle_t, "a platform";
    _ur_device, ur_device_handle_t, "a device";
    _ur_context, ur_context_handle_t, "a context";
    _ur_queue, ur_queue_handle_t, "a queue";
    _ur_mem, ur_mem_handle_t, "a memory object";
    _ur_sampler, ur_sampler_handle_t, "a sampler";
    _ur_program, ur_program_handle_t, "a program";
    _ur_kernel, ur_kernel_handle_t, "a kernel";
    _ur_event, ur_event_handle_t, "an event";
    _ur_usm_pool, ur_usm_pool_handle_t, "a pool of shared memory";
}

/// The handle of a driver's own object.
pub type ur_native_handle_t = usize;

/// What is called when an event reaches a status.
pub type ur_event_callback_t = Option<unsafe extern "C" fn(ur_event_handle_t, u32, *mut c_void)>;

/// How a queue is to be made.
#[derive(Debug)]
#[repr(C)]
pub struct ur_queue_properties_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// `UR_QUEUE_FLAG_*`
    pub flags: u32,
}

/// What a buffer is to be made of.
#[derive(Debug)]
#[repr(C)]
pub struct ur_buffer_properties_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// Memory of the host.
    pub host: *mut c_void,
}

/// A part of a buffer.
#[derive(Debug)]
#[repr(C)]
pub struct ur_buffer_region_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// First byte.
    pub origin: usize,
    /// Number of bytes.
    pub size: usize,
}

/// What an image's elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct ur_image_format_t {
    /// `UR_IMAGE_CHANNEL_ORDER_*`
    pub channel_order: u32,
    /// `UR_IMAGE_CHANNEL_TYPE_*`
    pub channel_type: u32,
}

/// An image's kind and size.
#[derive(Debug)]
#[repr(C)]
pub struct ur_image_desc_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// `UR_MEM_TYPE_*`
    pub kind: u32,
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices.
    pub depth: usize,
    /// Images of an array.
    pub array_size: usize,
    /// Bytes from row to row of the host's memory.
    pub row_pitch: usize,
    /// Bytes from slice to slice of the host's memory.
    pub slice_pitch: usize,
    /// 0.
    pub num_mip_level: u32,
    /// 0.
    pub num_samples: u32,
}

/// How a sampler reads images.
#[derive(Debug)]
#[repr(C)]
pub struct ur_sampler_desc_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// Whether coordinates go from 0 to 1.
    pub normalized_coords: bool,
    /// `UR_SAMPLER_ADDRESSING_MODE_*`
    pub addressing_mode: u32,
    /// `UR_SAMPLER_FILTER_MODE_*`
    pub filter_mode: u32,
}

/// A way to divide a device, or a part to make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct ur_device_partition_property_t {
    /// `UR_DEVICE_PARTITION_*`
    pub kind: u32,
    /// Compute units of each part or of this one, or what the parts share.
    pub value: u32,
}

/// How a device is to be divided.
#[derive(Debug)]
#[repr(C)]
pub struct ur_device_partition_properties_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *mut c_void,
    /// The way, or the parts.
    pub properties: *const ur_device_partition_property_t,
    /// How many there are.
    pub prop_count: usize,
}

/// How shared memory is to be allocated.
#[derive(Debug)]
#[repr(C)]
pub struct ur_usm_desc_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// What it will be used for.
    pub hints: u32,
    /// In bytes; 0 for any.
    pub align: u32,
}

/// What a device image is for.
#[derive(Debug)]
#[repr(C)]
pub struct ur_device_binary_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// Its target: `spir64`.
    pub target: *const c_char,
}

/// The value of a specialization constant.
#[derive(Debug)]
#[repr(C)]
pub struct ur_specialization_constant_info_t {
    /// Its number.
    pub id: u32,
    /// Size of the value in bytes.
    pub size: usize,
    /// The value.
    pub value: *const c_void,
}

/// Where a box begins.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ur_rect_offset_t {
    /// In bytes.
    pub x: u64,
    /// In rows.
    pub y: u64,
    /// In slices.
    pub z: u64,
}

/// How large a box is.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct ur_rect_region_t {
    /// In bytes.
    pub width: u64,
    /// In rows.
    pub height: u64,
    /// In slices.
    pub depth: u64,
}

/// Who owns a driver's own object. The records for the kinds of objects differ by their first field alone.
#[derive(Debug)]
#[repr(C)]
pub struct ur_native_properties_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// Whether it is given away.
    pub owned: bool,
}

/// An argument of a kernel, for a launch that brings its own.
#[derive(Debug)]
#[repr(C)]
pub struct ur_exp_kernel_arg_properties_t {
    /// Which record this is.
    pub stype: u32,
    /// More records.
    pub next: *const c_void,
    /// `UR_EXP_KERNEL_ARG_TYPE_*`
    pub kind: u32,
    /// Its number.
    pub index: u32,
    /// Size of a value or of local memory in bytes.
    pub size: usize,
    // C has a union of these here, of which every kind begins with a word of a pointer's size; that
    // of a memory object has the flags behind it.
    /// A pointer to the value, an address, or the handle of a memory object.
    pub value: *const c_void,
    /// `UR_MEM_FLAG_*`, for a memory object.
    pub flags: u32,
}
