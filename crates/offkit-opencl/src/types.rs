//! Scalar types, handles, structs and callbacks, under the names C uses for them.

use core::ffi::{c_char, c_void};

/// Signed 32-bit integer.
pub type cl_int = i32;
/// Unsigned 32-bit integer.
pub type cl_uint = u32;
/// Unsigned 64-bit integer.
pub type cl_ulong = u64;

macro_rules! handles {
    ($($handle:ident = $object:ident, $what:literal;)*) => {$(
        #[doc = concat!("What a [`", stringify!($handle), "`] points to; only its driver knows more than the table.")]
        #[repr(C)]
        pub struct $object {
            /// The table of the driver that the object belongs to, for loaders.
            pub dispatch: *const crate::Dispatch,
            /// What a loader has put there, if the driver is of version 2 of `cl_khr_icd`.
            pub loader: *mut c_void,
        }

        #[doc = concat!("Handle of ", $what, ".")]
        pub type $handle = *mut $object;
    )*};
}

handles! {
    cl_platform_id = _cl_platform_id, "a platform";
    cl_device_id = _cl_device_id, "a device";
    cl_context = _cl_context, "a context";
    cl_command_queue = _cl_command_queue, "a queue";
    cl_mem = _cl_mem, "a buffer, an image or a pipe";
    cl_program = _cl_program, "a program";
    cl_kernel = _cl_kernel, "a kernel";
    cl_event = _cl_event, "an event";
    cl_sampler = _cl_sampler, "a sampler";
}

macro_rules! numbers {
    ($($name:ident = $type:ident;)*) => {$(
        #[doc = concat!("C's `", stringify!($name), "`.")]
        pub type $name = $type;
    )*};
}

numbers! {
    cl_bool = cl_uint;
    cl_bitfield = cl_ulong;
    cl_properties = cl_ulong;
    cl_device_type = cl_bitfield;
    cl_platform_info = cl_uint;
    cl_device_info = cl_uint;
    cl_device_fp_config = cl_bitfield;
    cl_device_mem_cache_type = cl_uint;
    cl_device_local_mem_type = cl_uint;
    cl_device_exec_capabilities = cl_bitfield;
    cl_device_svm_capabilities = cl_bitfield;
    cl_command_queue_properties = cl_bitfield;
    cl_device_partition_property = isize;
    cl_device_affinity_domain = cl_bitfield;
    // As wide as a pointer, for lists have handles and pointers in them.
    cl_context_properties = isize;
    cl_context_info = cl_uint;
    cl_queue_properties = cl_properties;
    cl_command_queue_info = cl_uint;
    cl_channel_order = cl_uint;
    cl_channel_type = cl_uint;
    cl_mem_flags = cl_bitfield;
    cl_svm_mem_flags = cl_bitfield;
    cl_mem_object_type = cl_uint;
    cl_mem_info = cl_uint;
    cl_mem_migration_flags = cl_bitfield;
    cl_image_info = cl_uint;
    cl_buffer_create_type = cl_uint;
    cl_addressing_mode = cl_uint;
    cl_filter_mode = cl_uint;
    cl_sampler_info = cl_uint;
    cl_map_flags = cl_bitfield;
    cl_pipe_properties = isize;
    cl_pipe_info = cl_uint;
    cl_program_info = cl_uint;
    cl_program_build_info = cl_uint;
    cl_program_binary_type = cl_uint;
    cl_build_status = cl_int;
    cl_kernel_info = cl_uint;
    cl_kernel_arg_info = cl_uint;
    cl_kernel_arg_address_qualifier = cl_uint;
    cl_kernel_arg_access_qualifier = cl_uint;
    cl_kernel_arg_type_qualifier = cl_bitfield;
    cl_kernel_work_group_info = cl_uint;
    cl_kernel_sub_group_info = cl_uint;
    cl_event_info = cl_uint;
    cl_command_type = cl_uint;
    cl_profiling_info = cl_uint;
    cl_sampler_properties = cl_properties;
    cl_kernel_exec_info = cl_uint;
    cl_device_atomic_capabilities = cl_bitfield;
    cl_device_device_enqueue_capabilities = cl_bitfield;
    cl_khronos_vendor_id = cl_uint;
    cl_mem_properties = cl_properties;
    cl_version = cl_uint;
    cl_device_integer_dot_product_capabilities = cl_bitfield;
    cl_mem_info_intel = cl_uint;
    cl_mem_alloc_flags_intel = cl_bitfield;
    cl_unified_shared_memory_type_intel = cl_uint;
    cl_device_unified_shared_memory_capabilities_intel = cl_bitfield;
    cl_device_fp_atomic_capabilities_ext = cl_bitfield;
    cl_mem_properties_intel = cl_properties;
    cl_mem_advice_intel = cl_uint;
    cl_queue_properties_khr = cl_properties;
}

/// Format of an image.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct cl_image_format {
    /// Which channels there are.
    pub image_channel_order: cl_channel_order,
    /// What a channel is.
    pub image_channel_data_type: cl_channel_type,
}

/// Kind and size of an image.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct cl_image_desc {
    /// Kind.
    pub image_type: cl_mem_object_type,
    /// Width in pixels.
    pub image_width: usize,
    /// Height in pixels.
    pub image_height: usize,
    /// Depth in pixels.
    pub image_depth: usize,
    /// Images of an array.
    pub image_array_size: usize,
    /// Bytes from row to row.
    pub image_row_pitch: usize,
    /// Bytes from slice to slice.
    pub image_slice_pitch: usize,
    /// Levels.
    pub num_mip_levels: cl_uint,
    /// Samples of a pixel.
    pub num_samples: cl_uint,
    /// The buffer or image it shows.
    pub mem_object: cl_mem,
}

/// A part of a buffer.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct cl_buffer_region {
    /// Where it begins, in bytes.
    pub origin: usize,
    /// Its size in bytes.
    pub size: usize,
}

/// A name and a version, such as those of an extension.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct cl_name_version {
    /// As [`make_version`] packs it.
    pub version: cl_version,
    /// With a NUL at its end.
    pub name: [c_char; 64],
}

/// Which dot products of integers are fast.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct cl_device_integer_dot_product_acceleration_properties {
    /// Of signed numbers.
    pub signed_accelerated: cl_bool,
    /// Of unsigned numbers.
    pub unsigned_accelerated: cl_bool,
    /// Of signed with unsigned numbers.
    pub mixed_signedness_accelerated: cl_bool,
    /// Added up with saturation, of signed numbers.
    pub accumulating_saturating_signed_accelerated: cl_bool,
    /// Added up with saturation, of unsigned numbers.
    pub accumulating_saturating_unsigned_accelerated: cl_bool,
    /// Added up with saturation, of signed with unsigned numbers.
    pub accumulating_saturating_mixed_signedness_accelerated: cl_bool,
}

/// Packs a version into a number.
///
/// ```
/// assert_eq!(offkit_opencl::make_version(3, 0, 0), 0x00c0_0000);
/// ```
pub const fn make_version(major: u32, minor: u32, patch: u32) -> cl_version {
    (major & 0x3ff) << 22 | (minor & 0x3ff) << 12 | patch & 0xfff
}

/// Told of errors of a context.
pub type ContextNotify = Option<
    unsafe extern "C" fn(
        errinfo: *const c_char,
        private_info: *const c_void,
        cb: usize,
        user_data: *mut c_void,
    ),
>;
/// Told that a context is gone.
pub type ContextNotifyEnd = Option<unsafe extern "C" fn(context: cl_context, user_data: *mut c_void)>;
/// Told that a program is built, or gone.
pub type ProgramNotify = Option<unsafe extern "C" fn(program: cl_program, user_data: *mut c_void)>;
/// Told that a memory object is gone.
pub type MemoryNotify = Option<unsafe extern "C" fn(memory: cl_mem, user_data: *mut c_void)>;
/// Told how far a command is.
pub type EventNotify = Option<unsafe extern "C" fn(event: cl_event, status: cl_int, user_data: *mut c_void)>;
/// Frees SVM allocations.
pub type SvmNotify = Option<
    unsafe extern "C" fn(
        queue: cl_command_queue,
        count: cl_uint,
        pointers: *mut *mut c_void,
        user_data: *mut c_void,
    ),
>;
/// A function of the host as a command.
pub type NativeKernel = Option<unsafe extern "C" fn(arguments: *mut c_void)>;
