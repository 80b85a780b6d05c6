//! The C side of the plugin interface: scalar types, handles, structs and constants under the names C uses
//! for them.
//!
//! Nothing here has behaviour. Handles are pointers to types only the plugin knows; hosts copy and compare
//! them.

#![expect(
    non_camel_case_types,
    non_snake_case,
    reason = "these are the names of the C interface"
)]

mod binary;
mod info;
mod result;

pub use binary::*;
pub use info::*;
pub use result::*;

use core::ffi::{c_char, c_void};

/// Signed 32-bit integer of the interface.
pub type pi_int32 = i32;
/// Unsigned 32-bit integer of the interface.
pub type pi_uint32 = u32;
/// Unsigned 64-bit integer of the interface.
pub type pi_uint64 = u64;
/// Truth value: [`PI_FALSE`] or [`PI_TRUE`].
pub type pi_bool = pi_uint32;
/// C++'s `bool` as a parameter: the lowest byte of its register. The bytes above it may hold anything, which rules
/// out `bool` and `u8`, whose callers extend them.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct cxx_bool(u32);

impl From<bool> for cxx_bool {
    fn from(value: bool) -> cxx_bool {
        cxx_bool(value.into())
    }
}

impl From<cxx_bool> for bool {
    fn from(cxx_bool(register): cxx_bool) -> bool {
        register as u8 != 0
    }
}

/// Set of flags.
pub type pi_bitfield = pi_uint64;
/// Handle of the driver below the plugin, an integer wide enough for a pointer.
pub type pi_native_handle = usize;
/// One word of a zero-terminated property list given to `piContextCreate`.
pub type pi_context_properties = isize;
/// One word of a zero-terminated property list given to `piSamplerCreate`.
pub type pi_sampler_properties = pi_bitfield;
/// One word of a zero-terminated property list given to the USM allocation functions.
pub type pi_usm_mem_properties = pi_bitfield;
/// One word of a zero-terminated property list given to `piMemBufferCreate`.
pub type pi_mem_properties = pi_bitfield;
/// A point in a command buffer that later commands can wait for.
pub type pi_ext_sync_point = pi_uint32;
/// A bindless image, as kernels see it.
pub type pi_image_handle = u64;
/// Memory of another interface.
pub type pi_interop_mem_handle = u64;
/// A semaphore of another interface.
pub type pi_interop_semaphore_handle = u64;

macro_rules! handles {
    ($($(#[$doc:meta])* $handle:ident = $object:ident;)*) => {$(
        #[doc = concat!("What a [`", stringify!($handle), "`] points to; only the plugin knows its contents.")]
        #[repr(C)]
        pub struct $object {
            opaque: [u8; 0],
        }

        $(#[$doc])*
        pub type $handle = *mut $object;
    )*};
}

handles! {
    /// A group of devices served by one driver.
    pi_platform = _pi_platform;
    /// Something that runs kernels.
    pi_device = _pi_device;
    /// Devices that share memory objects and programs.
    pi_context = _pi_context;
    /// Where commands for one device are submitted.
    pi_queue = _pi_queue;
    /// A buffer or an image.
    pi_mem = _pi_mem;
    /// Device code in some state between intermediate language and executable.
    pi_program = _pi_program;
    /// An entry point of a program together with its arguments.
    pi_kernel = _pi_kernel;
    /// The progress of one command.
    pi_event = _pi_event;
    /// How an image is sampled.
    pi_sampler = _pi_sampler;
    /// Commands that are submitted together.
    pi_ext_command_buffer = _pi_ext_command_buffer;
    /// Memory of a bindless image.
    pi_image_mem_handle = _pi_image_mem;
}

/// A byte range of a buffer, for `piMemBufferPartition`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pi_buffer_region_struct {
    /// First byte, counted from the start of the buffer.
    pub origin: usize,
    /// Length in bytes.
    pub size: usize,
}

/// Where a box starts within a buffer seen as a three-dimensional array of bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pi_buff_rect_offset_struct {
    /// First column, in bytes.
    pub x_bytes: usize,
    /// First row.
    pub y_scalar: usize,
    /// First slice.
    pub z_scalar: usize,
}

/// The extent of a box within a buffer seen as a three-dimensional array of bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pi_buff_rect_region_struct {
    /// Columns, in bytes.
    pub width_bytes: usize,
    /// Rows.
    pub height_scalar: usize,
    /// Slices.
    pub depth_scalar: usize,
}

/// Where a box starts within an image, in elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pi_image_offset_struct {
    /// First column.
    pub x: usize,
    /// First row.
    pub y: usize,
    /// First slice.
    pub z: usize,
}

/// The extent of a box within an image, in elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pi_image_region_struct {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

/// Pointer to where a box starts in a buffer.
pub type pi_buff_rect_offset = *mut pi_buff_rect_offset_struct;
/// Pointer to the extent of a box in a buffer.
pub type pi_buff_rect_region = *mut pi_buff_rect_region_struct;
/// Pointer to where a box starts in an image.
pub type pi_image_offset = *mut pi_image_offset_struct;
/// Pointer to the extent of a box in an image.
pub type pi_image_region = *mut pi_image_region_struct;

/// Channel order and channel type of an image (OpenCL's numbers).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct pi_image_format {
    /// Which channels there are, and in what order.
    pub image_channel_order: pi_uint32,
    /// How one channel is stored.
    pub image_channel_data_type: pi_uint32,
}

/// Shape of an image.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_image_desc {
    /// Dimensionality (a `PI_MEM_TYPE_*` value).
    pub image_type: pi_uint32,
    /// Columns.
    pub image_width: usize,
    /// Rows.
    pub image_height: usize,
    /// Slices.
    pub image_depth: usize,
    /// Images of an array.
    pub image_array_size: usize,
    /// Bytes from one row to the next, 0 for tightly packed.
    pub image_row_pitch: usize,
    /// Bytes from one slice to the next, 0 for tightly packed.
    pub image_slice_pitch: usize,
    /// Mip levels.
    pub num_mip_levels: pi_uint32,
    /// Samples of a multi-sampled image.
    pub num_samples: pi_uint32,
    /// The buffer an image is made from, or null.
    pub buffer: pi_mem,
}

/// What a kernel does with a memory object, for `piextKernelSetArgMemObj` since 15.47.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_mem_obj_property {
    /// [`PI_KERNEL_ARG_MEM_OBJ_ACCESS`].
    pub property_type: pi_uint32,
    /// The next record, or null.
    pub next: *mut c_void,
    /// A `PI_ACCESS_*` value.
    pub mem_access: pi_mem_obj_access,
}

/// How a command buffer is made.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_ext_command_buffer_desc {
    /// 0.
    pub structure_type: pi_uint32,
    /// The next record, or null.
    pub next: *const c_void,
    /// A list of properties, or null.
    pub properties: *mut u64,
}

/// Called when something goes wrong in a context.
pub type pi_context_notify = Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
/// Called when a compile, link or build is done.
pub type pi_program_notify = Option<unsafe extern "C" fn(pi_program, *mut c_void)>;
/// Called when an event reaches a status.
pub type pi_event_notify = Option<unsafe extern "C" fn(pi_event, pi_int32, *mut c_void)>;
/// Called when a context goes away.
pub type pi_context_extended_deleter = Option<unsafe extern "C" fn(*mut c_void)>;
/// A function of the host run as a command.
pub type pi_native_function = Option<unsafe extern "C" fn(*mut c_void)>;
