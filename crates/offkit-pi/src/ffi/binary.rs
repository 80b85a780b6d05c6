//! Device images as they lie in the memory of a program: what `clang-offload-wrapper` writes and
//! `piextDeviceSelectBinary` is given. Little can be said about them in types; [`DeviceImage`](offkit_image::DeviceImage) is the
//! safe view.

use core::ffi::{c_char, c_void};

/// An entry of a device image: a kernel's name, and fields of no meaning on the device. 32 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_offload_entry_struct {
    /// Unused for device images.
    pub addr: *mut c_void,
    /// The name, NUL-terminated.
    pub name: *mut c_char,
    /// Unused for device images.
    pub size: usize,
    /// Unused for device images.
    pub flags: i32,
    /// Always 0.
    pub reserved: i32,
}

/// A named value. 32 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_device_binary_property_struct {
    /// The name, NUL-terminated.
    pub Name: *mut c_char,
    /// The value, where it does not fit `ValSize`; otherwise null.
    pub ValAddr: *mut c_void,
    /// A `PI_PROPERTY_TYPE_*` value.
    pub Type: u32,
    /// The value's size in bytes, or the value itself for [`PI_PROPERTY_TYPE_UINT32`].
    pub ValSize: u64,
}

/// Pointer to a named value.
pub type pi_device_binary_property = *mut pi_device_binary_property_struct;

/// A named list of properties. 24 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_device_binary_property_set_struct {
    /// The name, NUL-terminated.
    pub Name: *mut c_char,
    /// First property.
    pub PropertiesBegin: *mut pi_device_binary_property_struct,
    /// One past the last property.
    pub PropertiesEnd: *mut pi_device_binary_property_struct,
}

/// A device image, version 2: PI 1.2 and later, DPC++ from the middle of 2020 to 2025.0. 96 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_device_binary_struct {
    /// 2 in images written by compilers; runtimes of the PI era do not check it.
    pub Version: u16,
    /// [`PI_DEVICE_BINARY_OFFLOAD_KIND_SYCL`].
    pub Kind: u8,
    /// A `PI_DEVICE_BINARY_TYPE_*` value.
    pub Format: u8,
    /// Target such as `spir64`, NUL-terminated.
    pub DeviceTargetSpec: *const c_char,
    /// Options for compiling on the device, NUL-terminated.
    pub CompileOptions: *const c_char,
    /// Options for linking on the device, NUL-terminated.
    pub LinkOptions: *const c_char,
    /// First byte of the manifest.
    pub ManifestStart: *const c_char,
    /// One past the last byte of the manifest.
    pub ManifestEnd: *const c_char,
    /// First byte of the device code.
    pub BinaryStart: *const u8,
    /// One past the last byte of the device code.
    pub BinaryEnd: *const u8,
    /// First entry.
    pub EntriesBegin: *mut pi_offload_entry_struct,
    /// One past the last entry.
    pub EntriesEnd: *mut pi_offload_entry_struct,
    /// First property set.
    pub PropertySetsBegin: *mut pi_device_binary_property_set_struct,
    /// One past the last property set.
    pub PropertySetsEnd: *mut pi_device_binary_property_set_struct,
}

/// Pointer to a device image.
pub type pi_device_binary = *mut pi_device_binary_struct;

/// What a program registers: its device images. 32 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct pi_device_binaries_struct {
    /// 1.
    pub Version: u16,
    /// Number of images.
    pub NumDeviceBinaries: u16,
    /// The images, one after the other.
    pub DeviceBinaries: *mut pi_device_binary_struct,
    /// Unused.
    pub HostEntriesBegin: *mut pi_offload_entry_struct,
    /// Unused.
    pub HostEntriesEnd: *mut pi_offload_entry_struct,
}

/// `Kind` of every image of a SYCL program.
pub const PI_DEVICE_BINARY_OFFLOAD_KIND_SYCL: u8 = 4;
/// The format is not said; look at the first bytes.
pub const PI_DEVICE_BINARY_TYPE_NONE: u8 = 0;
/// Machine code of one device.
pub const PI_DEVICE_BINARY_TYPE_NATIVE: u8 = 1;
/// SPIR-V.
pub const PI_DEVICE_BINARY_TYPE_SPIRV: u8 = 2;
/// LLVM bitcode.
pub const PI_DEVICE_BINARY_TYPE_LLVMIR_BITCODE: u8 = 3;
/// Compressed with zstd; what is inside is found out after decompression (2025 and later).
pub const PI_DEVICE_BINARY_TYPE_COMPRESSED_NONE: u8 = 4;

/// Not a known kind of value.
pub const PI_PROPERTY_TYPE_UNKNOWN: u32 = 0;
/// A 32-bit integer, kept in `ValSize`.
pub const PI_PROPERTY_TYPE_UINT32: u32 = 1;
/// Bytes: an 8-byte little-endian count of bits, then the data.
pub const PI_PROPERTY_TYPE_BYTE_ARRAY: u32 = 2;
/// NUL-terminated text.
pub const PI_PROPERTY_TYPE_STRING: u32 = 3;
