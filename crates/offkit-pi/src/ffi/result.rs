//! Result codes.

use core::fmt;

/// What a function of the interface returns: OpenCL's error numbers, and a few of its own from -995 down.
///
/// The numbers are the same in all versions. The names here are those up to 6.8; later headers have `PI_ERROR_` where
/// these have `PI_` alone.
///
/// ```
/// use offkit_pi::ffi::*;
/// assert_eq!(PI_INVALID_KERNEL_NAME.to_string(), "PI_INVALID_KERNEL_NAME (-46)");
/// assert_eq!(pi_result(-12345).to_string(), "result -12345");
/// ```
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub struct pi_result(pub i32);

macro_rules! results {
    ($($(#[$doc:meta])* $name:ident = $value:literal;)*) => {
        $($(#[$doc])* pub const $name: pi_result = pi_result($value);)*

        impl pi_result {
            /// The constant's name, where the code is a known one.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            /// The code with that name.
            pub fn from_name(name: &str) -> Option<pi_result> {
                match name {
                    $(stringify!($name) => Some(pi_result($value)),)*
                    _ => None,
                }
            }
        }
    };
}

results! {
    /// Done.
    PI_SUCCESS = 0;
    /// No device of the wanted type.
    PI_DEVICE_NOT_FOUND = -1;
    /// The device exists but cannot be used now.
    PI_DEVICE_NOT_AVAILABLE = -2;
    /// The plugin cannot compile from this form.
    PI_COMPILER_NOT_AVAILABLE = -3;
    /// No memory for a buffer, an image or a USM allocation.
    PI_MEM_OBJECT_ALLOCATION_FAILURE = -4;
    /// The device ran out of something.
    PI_OUT_OF_RESOURCES = -5;
    /// The host ran out of memory.
    PI_OUT_OF_HOST_MEMORY = -6;
    /// Profiling was not asked for, or the command is not complete.
    PI_PROFILING_INFO_NOT_AVAILABLE = -7;
    /// Source and destination of a copy overlap.
    PI_MEM_COPY_OVERLAP = -8;
    /// Images of unlike formats.
    PI_IMAGE_FORMAT_MISMATCH = -9;
    /// The device does not know the image format.
    PI_IMAGE_FORMAT_NOT_SUPPORTED = -10;
    /// A build failed; the build log says why.
    PI_BUILD_PROGRAM_FAILURE = -11;
    /// A region could not be mapped.
    PI_MAP_FAILURE = -12;
    /// A sub-buffer starts at an address the device cannot use.
    PI_MISALIGNED_SUB_BUFFER_OFFSET = -13;
    /// A command waited for has failed.
    PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST = -14;
    /// A compile failed; the build log says why.
    PI_COMPILE_PROGRAM_FAILURE = -15;
    /// The plugin has no linker.
    PI_LINKER_NOT_AVAILABLE = -16;
    /// A link failed; the build log of the new program says why.
    PI_LINK_PROGRAM_FAILURE = -17;
    /// The device cannot be partitioned as asked.
    PI_DEVICE_PARTITION_FAILED = -18;
    /// No information about a kernel's arguments.
    PI_KERNEL_ARG_INFO_NOT_AVAILABLE = -19;
    /// A value is out of range, a pointer is null, or a query's destination is too small.
    PI_INVALID_VALUE = -30;
    /// Not a device type.
    PI_INVALID_DEVICE_TYPE = -31;
    /// Not a platform.
    PI_INVALID_PLATFORM = -32;
    /// Not a device, or not one of this context.
    PI_INVALID_DEVICE = -33;
    /// Not a context, or objects of unlike contexts.
    PI_INVALID_CONTEXT = -34;
    /// Queue properties that do not exist or do not go together.
    PI_INVALID_QUEUE_PROPERTIES = -35;
    /// Not a queue.
    PI_INVALID_QUEUE = -36;
    /// A host pointer without the flag that says what it is for, or the flag without the pointer.
    PI_INVALID_HOST_PTR = -37;
    /// Not a memory object.
    PI_INVALID_MEM_OBJECT = -38;
    /// Not an image format.
    PI_INVALID_IMAGE_FORMAT_DESCRIPTOR = -39;
    /// An image of a size the device does not do.
    PI_INVALID_IMAGE_SIZE = -40;
    /// Not a sampler.
    PI_INVALID_SAMPLER = -41;
    /// Device code in a form the device does not take.
    PI_INVALID_BINARY = -42;
    /// Build options that make no sense.
    PI_INVALID_BUILD_OPTIONS = -43;
    /// Not a program.
    PI_INVALID_PROGRAM = -44;
    /// The program is not built.
    PI_INVALID_PROGRAM_EXECUTABLE = -45;
    /// No kernel of that name in the program.
    PI_INVALID_KERNEL_NAME = -46;
    /// The kernel is defined differently for two devices.
    PI_INVALID_KERNEL_DEFINITION = -47;
    /// Not a kernel.
    PI_INVALID_KERNEL = -48;
    /// The kernel has fewer arguments.
    PI_INVALID_ARG_INDEX = -49;
    /// The value does not fit the argument's kind.
    PI_INVALID_ARG_VALUE = -50;
    /// The value's size is not the argument's.
    PI_INVALID_ARG_SIZE = -51;
    /// An argument was not set before the launch.
    PI_INVALID_KERNEL_ARGS = -52;
    /// Not one, two or three dimensions.
    PI_INVALID_WORK_DIMENSION = -53;
    /// A work-group size the device or the kernel does not do, or one that does not divide the range.
    PI_INVALID_WORK_GROUP_SIZE = -54;
    /// A work-group too long in one dimension.
    PI_INVALID_WORK_ITEM_SIZE = -55;
    /// An offset that runs out of the index space.
    PI_INVALID_GLOBAL_OFFSET = -56;
    /// A wait list that is null or holds something that is no event.
    PI_INVALID_EVENT_WAIT_LIST = -57;
    /// Not an event.
    PI_INVALID_EVENT = -58;
    /// The object is in no state for this, or the plugin does not support it.
    PI_INVALID_OPERATION = -59;
    /// Not an object of OpenGL.
    PI_INVALID_GL_OBJECT = -60;
    /// A buffer of size 0, or larger than the device has.
    PI_INVALID_BUFFER_SIZE = -61;
    /// A mip level the image does not have.
    PI_INVALID_MIP_LEVEL = -62;
    /// A range of size 0 or too large.
    PI_INVALID_GLOBAL_WORK_SIZE = -63;
    /// A property that does not exist.
    PI_INVALID_PROPERTY = -64;
    /// An image description that makes no sense.
    PI_INVALID_IMAGE_DESCRIPTOR = -65;
    /// Compiler options that make no sense.
    PI_INVALID_COMPILER_OPTIONS = -66;
    /// Linker options that make no sense.
    PI_INVALID_LINKER_OPTIONS = -67;
    /// A device cannot be divided into so many parts.
    PI_INVALID_DEVICE_PARTITION_COUNT = -68;
    /// The specialization constant does not exist, or has another size.
    PI_INVALID_SPEC_ID = -71;
    /// A feature that the plugin does not have (since 15.47).
    PI_UNSUPPORTED_FEATURE = -995;
    /// `piPluginGetLastError` has the real result, and words for it (since 12.27).
    PI_PLUGIN_SPECIFIC_ERROR = -996;
    /// A command failed while it ran.
    PI_COMMAND_EXECUTION_FAILURE = -997;
    /// The function exists but has no address on the device.
    PI_FUNCTION_ADDRESS_IS_NOT_AVAILABLE = -998;
    /// Anything else; a plugin that panics returns this.
    PI_ERROR_UNKNOWN = -999;
}

impl pi_result {
    /// Whether this is [`PI_SUCCESS`].
    pub fn is_success(self) -> bool {
        self == PI_SUCCESS
    }
}

impl fmt::Display for pi_result {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(formatter, "{name} ({})", self.0),
            None => write!(formatter, "result {}", self.0),
        }
    }
}
