//! The names of the predefined property sets, exactly as they are on disk, and of the keys in SYCLBIN's own
//! sets.

/// Layout of each specialization constant: bytes, an array of 32-bit ID, offset and size.
pub const SPECIALIZATION_CONSTANTS: &str = "SYCL/specialization constants";
/// Default values of all specialization constants, one after the other, under the key `all`.
pub const SPECIALIZATION_CONSTANT_DEFAULTS: &str = "SYCL/specialization constants default values";
/// Bit mask of fallback device libraries (`DeviceLibReqMask`); no longer written by the newest toolchains.
pub const DEVICELIB_REQUIREMENT_MASK: &str = "SYCL/devicelib req mask";
/// Which device library an image is.
pub const DEVICELIB_METADATA: &str = "SYCL/devicelib metadata";
/// Eliminated arguments: a bit for each argument of the kernel that is the key.
pub const KERNEL_PARAMETER_OPTIMIZATION: &str = "SYCL/kernel param opt";
/// Attributes of kernels, keys `KERNEL@ATTRIBUTE`, and names of device globals.
pub const PROGRAM_METADATA: &str = "SYCL/program metadata";
/// Single facts about an image, such as `optLevel`.
pub const MISC_PROPERTIES: &str = "SYCL/misc properties";
/// Kernels that use `assert`; no longer written by the newest toolchains.
pub const ASSERT_USED: &str = "SYCL/assert used";
/// Symbols that other images may use.
pub const EXPORTED_SYMBOLS: &str = "SYCL/exported symbols";
/// Symbols that another image must define.
pub const IMPORTED_SYMBOLS: &str = "SYCL/imported symbols";
/// Device globals: 32-bit size and scope.
pub const DEVICE_GLOBALS: &str = "SYCL/device globals";
/// What a device must support for the image to run there.
pub const DEVICE_REQUIREMENTS: &str = "SYCL/device requirements";
/// Host pipes: 32-bit size.
pub const HOST_PIPES: &str = "SYCL/host pipes";
/// Sets of virtual functions the image defines or uses.
pub const VIRTUAL_FUNCTIONS: &str = "SYCL/virtual functions";
/// The position of the work-group memory argument of a kernel.
pub const IMPLICIT_LOCAL_ARGUMENT: &str = "SYCL/implicit local arg";
/// Mangled names of free-function kernels.
pub const REGISTERED_KERNELS: &str = "SYCL/registered kernels";
/// The kernels of the image; written by the newest toolchains.
pub const KERNEL_NAMES: &str = "SYCL/kernel names";

/// Global metadata of a SYCLBIN file.
pub const SYCLBIN_GLOBAL_METADATA: &str = "SYCLBIN/global metadata";
/// Metadata of one IR module of a SYCLBIN file.
pub const SYCLBIN_IR_MODULE_METADATA: &str = "SYCLBIN/ir module metadata";
/// Metadata of one native device code image of a SYCLBIN file.
pub const SYCLBIN_NATIVE_IMAGE_METADATA: &str = "SYCLBIN/native device code image metadata";
/// The same by the name that the format's description has and no known writer writes; read, never written.
pub const SYCLBIN_NATIVE_IMAGE_MODULE_METADATA: &str = "SYCLBIN/native device code image module metadata";

/// Key in [`SYCLBIN_GLOBAL_METADATA`]: the state of the bundle, a number.
pub const STATE: &str = "state";
/// Key in [`SYCLBIN_IR_MODULE_METADATA`]: the kind of IR, a number.
pub const TYPE: &str = "type";
/// Key in the metadata of IR modules and native images: the target triple.
pub const TARGET: &str = "target";
/// Key in [`SYCLBIN_NATIVE_IMAGE_METADATA`]: the architecture.
pub const ARCH: &str = "arch";
