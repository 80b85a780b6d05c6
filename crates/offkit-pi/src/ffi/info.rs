//! Names for numbers: what can be asked about each kind of object, and flags. The values are OpenCL's where
//! OpenCL has the same thing, otherwise the interface's own.

/// False.
pub const PI_FALSE: u32 = 0;
/// True.
pub const PI_TRUE: u32 = 1;

macro_rules! constants {
    ($($(#[$doc:meta])* $type:ident: $repr:ty { $($name:ident = $value:literal,)* })*) => {$(
        $(#[$doc])*
        pub type $type = $repr;
        $(
            #[doc = concat!("A [`", stringify!($type), "`].")]
            pub const $name: $type = $value;
        )*
    )*

    /// The constants of a type, which is none of the others: their names and bits.
    pub fn constant_names(type_name: &str) -> &'static [(&'static str, u64)] {
        match type_name {
            $(stringify!($type) => &[$((stringify!($name), $value as $repr as u64)),*],)*
            _ => &[],
        }
    }
    };
}

constants! {
    /// Execution status of a command. A negative value is the error the command failed with.
    pi_event_status: i32 {
        PI_EVENT_COMPLETE = 0,
        PI_EVENT_RUNNING = 1,
        PI_EVENT_SUBMITTED = 2,
        PI_EVENT_QUEUED = 3,
    }
    /// What `piPlatformGetInfo` can be asked.
    pi_platform_info: u32 {
        PI_PLATFORM_INFO_PROFILE = 0x900,
        PI_PLATFORM_INFO_VERSION = 0x901,
        PI_PLATFORM_INFO_NAME = 0x902,
        PI_PLATFORM_INFO_VENDOR = 0x903,
        PI_PLATFORM_INFO_EXTENSIONS = 0x904,
        PI_EXT_PLATFORM_INFO_BACKEND = 0x21000,
    }
    /// What is below a platform (since 15.47).
    pi_platform_backend: u32 {
        PI_EXT_PLATFORM_BACKEND_UNKNOWN = 0,
        PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO = 1,
        PI_EXT_PLATFORM_BACKEND_OPENCL = 2,
        PI_EXT_PLATFORM_BACKEND_CUDA = 3,
        PI_EXT_PLATFORM_BACKEND_HIP = 4,
        PI_EXT_PLATFORM_BACKEND_ESIMD = 5,
        PI_EXT_PLATFORM_BACKEND_NATIVE_CPU = 6,
    }
    /// Kind of device; a set when devices are asked for.
    pi_device_type: u64 {
        PI_DEVICE_TYPE_DEFAULT = 1,
        PI_DEVICE_TYPE_CPU = 2,
        PI_DEVICE_TYPE_GPU = 4,
        PI_DEVICE_TYPE_ACC = 8,
        PI_DEVICE_TYPE_ALL = 0xffffffff,
    }
    /// What `piDeviceGetInfo` can be asked.
    pi_device_info: u32 {
        PI_DEVICE_INFO_TYPE = 0x1000,
        PI_DEVICE_INFO_VENDOR_ID = 0x1001,
        PI_DEVICE_INFO_MAX_COMPUTE_UNITS = 0x1002,
        PI_DEVICE_INFO_MAX_WORK_ITEM_DIMENSIONS = 0x1003,
        PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE = 0x1004,
        PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES = 0x1005,
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_CHAR = 0x1006,
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_SHORT = 0x1007,
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_INT = 0x1008,
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_LONG = 0x1009,
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_FLOAT = 0x100a,
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_DOUBLE = 0x100b,
        PI_DEVICE_INFO_MAX_CLOCK_FREQUENCY = 0x100c,
        PI_DEVICE_INFO_ADDRESS_BITS = 0x100d,
        PI_DEVICE_INFO_MAX_READ_IMAGE_ARGS = 0x100e,
        PI_DEVICE_INFO_MAX_WRITE_IMAGE_ARGS = 0x100f,
        PI_DEVICE_INFO_MAX_MEM_ALLOC_SIZE = 0x1010,
        PI_DEVICE_INFO_IMAGE2D_MAX_WIDTH = 0x1011,
        PI_DEVICE_INFO_IMAGE2D_MAX_HEIGHT = 0x1012,
        PI_DEVICE_INFO_IMAGE3D_MAX_WIDTH = 0x1013,
        PI_DEVICE_INFO_IMAGE3D_MAX_HEIGHT = 0x1014,
        PI_DEVICE_INFO_IMAGE3D_MAX_DEPTH = 0x1015,
        PI_DEVICE_INFO_IMAGE_SUPPORT = 0x1016,
        PI_DEVICE_INFO_MAX_PARAMETER_SIZE = 0x1017,
        PI_DEVICE_INFO_MAX_SAMPLERS = 0x1018,
        PI_DEVICE_INFO_MEM_BASE_ADDR_ALIGN = 0x1019,
        PI_DEVICE_INFO_SINGLE_FP_CONFIG = 0x101b,
        PI_DEVICE_INFO_GLOBAL_MEM_CACHE_TYPE = 0x101c,
        PI_DEVICE_INFO_GLOBAL_MEM_CACHELINE_SIZE = 0x101d,
        PI_DEVICE_INFO_GLOBAL_MEM_CACHE_SIZE = 0x101e,
        PI_DEVICE_INFO_GLOBAL_MEM_SIZE = 0x101f,
        PI_DEVICE_INFO_MAX_CONSTANT_BUFFER_SIZE = 0x1020,
        PI_DEVICE_INFO_MAX_CONSTANT_ARGS = 0x1021,
        PI_DEVICE_INFO_LOCAL_MEM_TYPE = 0x1022,
        PI_DEVICE_INFO_LOCAL_MEM_SIZE = 0x1023,
        PI_DEVICE_INFO_ERROR_CORRECTION_SUPPORT = 0x1024,
        PI_DEVICE_INFO_PROFILING_TIMER_RESOLUTION = 0x1025,
        PI_DEVICE_INFO_ENDIAN_LITTLE = 0x1026,
        PI_DEVICE_INFO_AVAILABLE = 0x1027,
        PI_DEVICE_INFO_COMPILER_AVAILABLE = 0x1028,
        PI_DEVICE_INFO_EXECUTION_CAPABILITIES = 0x1029,
        PI_DEVICE_INFO_QUEUE_PROPERTIES = 0x102a,
        PI_DEVICE_INFO_NAME = 0x102b,
        PI_DEVICE_INFO_VENDOR = 0x102c,
        PI_DEVICE_INFO_DRIVER_VERSION = 0x102d,
        PI_DEVICE_INFO_PROFILE = 0x102e,
        PI_DEVICE_INFO_VERSION = 0x102f,
        PI_DEVICE_INFO_EXTENSIONS = 0x1030,
        PI_DEVICE_INFO_PLATFORM = 0x1031,
        PI_DEVICE_INFO_DOUBLE_FP_CONFIG = 0x1032,
        PI_DEVICE_INFO_HALF_FP_CONFIG = 0x1033,
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_HALF = 0x1034,
        PI_DEVICE_INFO_HOST_UNIFIED_MEMORY = 0x1035,
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_CHAR = 0x1036,
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_SHORT = 0x1037,
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_INT = 0x1038,
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_LONG = 0x1039,
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_FLOAT = 0x103a,
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_DOUBLE = 0x103b,
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_HALF = 0x103c,
        PI_DEVICE_INFO_OPENCL_C_VERSION = 0x103d,
        PI_DEVICE_INFO_LINKER_AVAILABLE = 0x103e,
        PI_DEVICE_INFO_BUILT_IN_KERNELS = 0x103f,
        PI_DEVICE_INFO_IMAGE_MAX_BUFFER_SIZE = 0x1040,
        PI_DEVICE_INFO_IMAGE_MAX_ARRAY_SIZE = 0x1041,
        PI_DEVICE_INFO_PARENT_DEVICE = 0x1042,
        PI_DEVICE_INFO_PARTITION_MAX_SUB_DEVICES = 0x1043,
        PI_DEVICE_INFO_PARTITION_PROPERTIES = 0x1044,
        PI_DEVICE_INFO_PARTITION_AFFINITY_DOMAIN = 0x1045,
        PI_DEVICE_INFO_PARTITION_TYPE = 0x1046,
        PI_DEVICE_INFO_REFERENCE_COUNT = 0x1047,
        PI_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC = 0x1048,
        PI_DEVICE_INFO_PRINTF_BUFFER_SIZE = 0x1049,
        PI_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES = 0x104e,
        PI_DEVICE_INFO_IL_VERSION = 0x105b,
        PI_DEVICE_INFO_MAX_NUM_SUB_GROUPS = 0x105c,
        PI_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS = 0x105d,
        PI_DEVICE_INFO_UUID = 0x106a,
        PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL = 0x4108,
        PI_DEVICE_INFO_USM_HOST_SUPPORT = 0x4190,
        PI_DEVICE_INFO_USM_DEVICE_SUPPORT = 0x4191,
        PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT = 0x4192,
        PI_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT = 0x4193,
        PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT = 0x4194,
        PI_EXT_ONEAPI_DEVICE_INFO_IP_VERSION = 0x4250,
        PI_DEVICE_INFO_DEVICE_ID = 0x4251,
        PI_DEVICE_INFO_PCI_ADDRESS = 0x10020,
        PI_DEVICE_INFO_GPU_EU_COUNT = 0x10021,
        PI_DEVICE_INFO_GPU_EU_SIMD_WIDTH = 0x10022,
        PI_DEVICE_INFO_GPU_SLICES = 0x10023,
        PI_DEVICE_INFO_GPU_SUBSLICES_PER_SLICE = 0x10024,
        PI_DEVICE_INFO_GPU_EU_COUNT_PER_SUBSLICE = 0x10025,
        PI_DEVICE_INFO_MAX_MEM_BANDWIDTH = 0x10026,
        PI_DEVICE_INFO_IMAGE_SRGB = 0x10027,
        PI_DEVICE_INFO_BUILD_ON_SUBDEVICE = 0x10028,
        PI_EXT_INTEL_DEVICE_INFO_FREE_MEMORY = 0x10029,
        // No mistake: the header goes from 0x10029 to 0x10030, as if these were decimal.
        PI_EXT_INTEL_DEVICE_INFO_MEMORY_CLOCK_RATE = 0x10030,
        PI_EXT_INTEL_DEVICE_INFO_MEMORY_BUS_WIDTH = 0x10031,
        PI_EXT_INTEL_DEVICE_INFO_MAX_COMPUTE_QUEUE_INDICES = 0x10032,
        PI_DEVICE_INFO_ATOMIC_64 = 0x10110,
        PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES = 0x10111,
        PI_DEVICE_INFO_GPU_HW_THREADS_PER_EU = 0x10112,
        PI_DEVICE_INFO_BACKEND_VERSION = 0x10113,
        PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES = 0x11000,
        PI_EXT_ONEAPI_DEVICE_INFO_BFLOAT16_MATH_FUNCTIONS = 0x1ffff,
        PI_EXT_ONEAPI_DEVICE_INFO_MAX_GLOBAL_WORK_GROUPS = 0x20000,
        PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_1D = 0x20001,
        PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_2D = 0x20002,
        PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_3D = 0x20003,
        PI_EXT_ONEAPI_DEVICE_INFO_CUDA_ASYNC_BARRIER = 0x20004,
        PI_EXT_DEVICE_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES = 0x20006,
        PI_EXT_DEVICE_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES = 0x20007,
    }
    /// What a device's floating-point units do.
    pi_fp_capabilities: u64 {
        PI_FP_DENORM = 1,
        PI_FP_INF_NAN = 2,
        PI_FP_ROUND_TO_NEAREST = 4,
        PI_FP_ROUND_TO_ZERO = 8,
        PI_FP_ROUND_TO_INF = 16,
        PI_FP_FMA = 32,
        PI_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT = 128,
    }
    /// Cache between a device and its global memory.
    pi_device_mem_cache_type: u32 {
        PI_DEVICE_MEM_CACHE_TYPE_NONE = 0,
        PI_DEVICE_MEM_CACHE_TYPE_READ_ONLY_CACHE = 1,
        PI_DEVICE_MEM_CACHE_TYPE_READ_WRITE_CACHE = 2,
    }
    /// Where a device keeps local memory.
    pi_device_local_mem_type: u32 {
        PI_DEVICE_LOCAL_MEM_TYPE_LOCAL = 1,
        PI_DEVICE_LOCAL_MEM_TYPE_GLOBAL = 2,
    }
    /// What a device can execute.
    pi_device_exec_capabilities: u64 {
        PI_DEVICE_EXEC_CAPABILITIES_KERNEL = 1,
        PI_DEVICE_EXEC_CAPABILITIES_NATIVE_KERNEL = 2,
    }
    /// One word of a list given to `piDevicePartition`: a key, its values, and zeros at the end.
    pi_device_partition_property: isize {
        PI_DEVICE_PARTITION_EQUALLY = 0x1086,
        PI_DEVICE_PARTITION_BY_COUNTS = 0x1087,
        PI_DEVICE_PARTITION_BY_COUNTS_LIST_END = 0,
        PI_DEVICE_PARTITION_BY_AFFINITY_DOMAIN = 0x1088,
    }
    /// What `piContextGetInfo` can be asked.
    pi_context_info: u32 {
        PI_CONTEXT_INFO_REFERENCE_COUNT = 0x1080,
        PI_CONTEXT_INFO_DEVICES = 0x1081,
        PI_CONTEXT_INFO_PROPERTIES = 0x1082,
        PI_CONTEXT_INFO_NUM_DEVICES = 0x1083,
        PI_CONTEXT_INFO_PLATFORM = 0x1084,
        PI_EXT_CONTEXT_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES = 0x10010,
        PI_EXT_CONTEXT_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES = 0x10011,
        PI_CONTEXT_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES = 0x10012,
        PI_CONTEXT_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES = 0x10013,
        PI_EXT_ONEAPI_CONTEXT_INFO_USM_FILL2D_SUPPORT = 0x30000,
        PI_EXT_ONEAPI_CONTEXT_INFO_USM_MEMSET2D_SUPPORT = 0x30001,
        PI_EXT_ONEAPI_CONTEXT_INFO_USM_MEMCPY2D_SUPPORT = 0x30002,
    }
    /// What `piQueueGetInfo` can be asked.
    pi_queue_info: u32 {
        PI_QUEUE_INFO_CONTEXT = 0x1090,
        PI_QUEUE_INFO_DEVICE = 0x1091,
        PI_QUEUE_INFO_REFERENCE_COUNT = 0x1092,
        PI_QUEUE_INFO_PROPERTIES = 0x1093,
        PI_QUEUE_INFO_SIZE = 0x1094,
        PI_QUEUE_INFO_DEVICE_DEFAULT = 0x1095,
        PI_EXT_ONEAPI_QUEUE_INFO_EMPTY = 0x2096,
    }
    /// How a queue works: flags, which `piQueueCreate` takes by value. `piextQueueCreate` takes a list: a key, its value,
    /// …, 0.
    pi_queue_properties: u64 {
        PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE = 1,
        PI_QUEUE_PROFILING_ENABLE = 2,
        PI_QUEUE_ON_DEVICE = 4,
        PI_QUEUE_ON_DEVICE_DEFAULT = 8,
        PI_EXT_ONEAPI_QUEUE_DISCARD_EVENTS = 0x10,
        PI_EXT_ONEAPI_QUEUE_PRIORITY_LOW = 0x20,
        PI_EXT_ONEAPI_QUEUE_PRIORITY_HIGH = 0x40,
        PI_EXT_QUEUE_FLAG_SUBMISSION_NO_IMMEDIATE = 0x80,
        PI_EXT_QUEUE_FLAG_SUBMISSION_IMMEDIATE = 0x100,
        // Keys of a list: in C they are -1 and -2, which no flag is.
        PI_QUEUE_FLAGS = 0xffff_ffff_ffff_ffff,
        PI_QUEUE_COMPUTE_INDEX = 0xffff_ffff_ffff_fffe,
    }
    /// How a buffer is made.
    pi_mem_flags: u64 {
        PI_MEM_FLAGS_ACCESS_RW = 1,
        PI_MEM_FLAGS_HOST_PTR_USE = 8,
        PI_MEM_FLAGS_HOST_PTR_ALLOC = 16,
        PI_MEM_FLAGS_HOST_PTR_COPY = 32,
    }
    /// Why a buffer is mapped.
    pi_map_flags: u64 {
        PI_MAP_READ = 1,
        PI_MAP_WRITE = 2,
        PI_MAP_WRITE_INVALIDATE_REGION = 4,
    }
    /// Kind of memory object.
    pi_mem_type: u32 {
        PI_MEM_TYPE_BUFFER = 0x10f0,
        PI_MEM_TYPE_IMAGE2D = 0x10f1,
        PI_MEM_TYPE_IMAGE3D = 0x10f2,
        PI_MEM_TYPE_IMAGE2D_ARRAY = 0x10f3,
        PI_MEM_TYPE_IMAGE1D = 0x10f4,
        PI_MEM_TYPE_IMAGE1D_ARRAY = 0x10f5,
        PI_MEM_TYPE_IMAGE1D_BUFFER = 0x10f6,
    }
    /// What `piMemGetInfo` can be asked. PI 2.3 has no names for these and uses OpenCL's.
    pi_mem_object_info: u32 {
        PI_MEM_INFO_TYPE = 0x1100,
        PI_MEM_INFO_FLAGS = 0x1101,
        PI_MEM_INFO_SIZE = 0x1102,
        PI_MEM_INFO_HOST_PTR = 0x1103,
        PI_MEM_INFO_MAP_COUNT = 0x1104,
        PI_MEM_INFO_REFERENCE_COUNT = 0x1105,
        PI_MEM_INFO_CONTEXT = 0x1106,
        PI_MEM_INFO_ASSOCIATED_MEMOBJECT = 0x1107,
        PI_MEM_INFO_OFFSET = 0x1108,
    }
    /// What `piMemImageGetInfo` can be asked.
    pi_image_info: u32 {
        PI_IMAGE_INFO_FORMAT = 0x1110,
        PI_IMAGE_INFO_ELEMENT_SIZE = 0x1111,
        PI_IMAGE_INFO_ROW_PITCH = 0x1112,
        PI_IMAGE_INFO_SLICE_PITCH = 0x1113,
        PI_IMAGE_INFO_WIDTH = 0x1114,
        PI_IMAGE_INFO_HEIGHT = 0x1115,
        PI_IMAGE_INFO_DEPTH = 0x1116,
    }
    /// How `piMemBufferPartition` is told the part.
    pi_buffer_create_type: u32 {
        PI_BUFFER_CREATE_TYPE_REGION = 0x1220,
    }
    /// What `piProgramGetInfo` can be asked.
    pi_program_info: u32 {
        PI_PROGRAM_INFO_REFERENCE_COUNT = 0x1160,
        PI_PROGRAM_INFO_CONTEXT = 0x1161,
        PI_PROGRAM_INFO_NUM_DEVICES = 0x1162,
        PI_PROGRAM_INFO_DEVICES = 0x1163,
        PI_PROGRAM_INFO_SOURCE = 0x1164,
        PI_PROGRAM_INFO_BINARY_SIZES = 0x1165,
        PI_PROGRAM_INFO_BINARIES = 0x1166,
        PI_PROGRAM_INFO_NUM_KERNELS = 0x1167,
        PI_PROGRAM_INFO_KERNEL_NAMES = 0x1168,
    }
    /// What `piProgramGetBuildInfo` can be asked.
    pi_program_build_info: u32 {
        PI_PROGRAM_BUILD_INFO_STATUS = 0x1181,
        PI_PROGRAM_BUILD_INFO_OPTIONS = 0x1182,
        PI_PROGRAM_BUILD_INFO_LOG = 0x1183,
        PI_PROGRAM_BUILD_INFO_BINARY_TYPE = 0x1184,
    }
    /// How far the last compile, link or build of a program got.
    pi_program_build_status: i32 {
        PI_PROGRAM_BUILD_STATUS_SUCCESS = 0,
        PI_PROGRAM_BUILD_STATUS_NONE = -1,
        PI_PROGRAM_BUILD_STATUS_ERROR = -2,
        PI_PROGRAM_BUILD_STATUS_IN_PROGRESS = -3,
    }
    /// State of a program's code.
    pi_program_binary_type: u32 {
        PI_PROGRAM_BINARY_TYPE_NONE = 0,
        PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT = 1,
        PI_PROGRAM_BINARY_TYPE_LIBRARY = 2,
        PI_PROGRAM_BINARY_TYPE_EXECUTABLE = 4,
    }
    /// What `piKernelGetInfo` can be asked.
    pi_kernel_info: u32 {
        PI_KERNEL_INFO_FUNCTION_NAME = 0x1190,
        PI_KERNEL_INFO_NUM_ARGS = 0x1191,
        PI_KERNEL_INFO_REFERENCE_COUNT = 0x1192,
        PI_KERNEL_INFO_CONTEXT = 0x1193,
        PI_KERNEL_INFO_PROGRAM = 0x1194,
        PI_KERNEL_INFO_ATTRIBUTES = 0x1195,
    }
    /// What `piKernelGetGroupInfo` can be asked.
    pi_kernel_group_info: u32 {
        PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE = 0x11b0,
        PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE = 0x11b1,
        PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE = 0x11b2,
        PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x11b3,
        PI_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE = 0x11b4,
        PI_KERNEL_GROUP_INFO_GLOBAL_WORK_SIZE = 0x11b5,
    }
    /// What `piKernelGetSubGroupInfo` can be asked.
    pi_kernel_sub_group_info: u32 {
        // OpenCL's `CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE`: hence the query's input value.
        PI_KERNEL_MAX_SUB_GROUP_SIZE = 0x2033,
        PI_KERNEL_MAX_NUM_SUB_GROUPS = 0x11b9,
        PI_KERNEL_COMPILE_NUM_SUB_GROUPS = 0x11ba,
        PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL = 0x410a,
    }
    /// What `piKernelSetExecInfo` can be told.
    pi_kernel_exec_info: u32 {
        PI_USM_INDIRECT_ACCESS = 0,
        PI_USM_PTRS = 0x4203,
        PI_EXT_KERNEL_EXEC_INFO_CACHE_CONFIG = 0x4204,
    }
    /// Which record of `piextKernelSetArgMemObj` it is.
    pi_mem_obj_property_type: u32 {
        PI_KERNEL_ARG_MEM_OBJ_ACCESS = 27,
    }
    /// What a kernel does with a memory object.
    pi_mem_obj_access: u32 {
        PI_ACCESS_READ_WRITE = 1,
        PI_ACCESS_WRITE_ONLY = 2,
        PI_ACCESS_READ_ONLY = 4,
    }
    /// What `piEventGetInfo` can be asked.
    pi_event_info: u32 {
        PI_EVENT_INFO_COMMAND_QUEUE = 0x11d0,
        PI_EVENT_INFO_COMMAND_TYPE = 0x11d1,
        PI_EVENT_INFO_REFERENCE_COUNT = 0x11d2,
        PI_EVENT_INFO_COMMAND_EXECUTION_STATUS = 0x11d3,
        PI_EVENT_INFO_CONTEXT = 0x11d4,
    }
    /// Kind of command an event stands for.
    pi_command_type: u32 {
        PI_COMMAND_TYPE_NDRANGE_KERNEL = 0x11f0,
        PI_COMMAND_TYPE_NATIVE_KERNEL = 0x11f2,
        PI_COMMAND_TYPE_MEM_BUFFER_READ = 0x11f3,
        PI_COMMAND_TYPE_MEM_BUFFER_WRITE = 0x11f4,
        PI_COMMAND_TYPE_MEM_BUFFER_COPY = 0x11f5,
        PI_COMMAND_TYPE_IMAGE_READ = 0x11f6,
        PI_COMMAND_TYPE_IMAGE_WRITE = 0x11f7,
        PI_COMMAND_TYPE_IMAGE_COPY = 0x11f8,
        PI_COMMAND_TYPE_COPY_IMAGE_TO_BUFFER = 0x11f9,
        PI_COMMAND_TYPE_COPY_BUFFER_TO_IMAGE = 0x11fa,
        PI_COMMAND_TYPE_MEM_BUFFER_MAP = 0x11fb,
        PI_COMMAND_TYPE_MAP_IMAGE = 0x11fc,
        PI_COMMAND_TYPE_MEM_BUFFER_UNMAP = 0x11fd,
        PI_COMMAND_TYPE_MARKER = 0x11fe,
        PI_COMMAND_TYPE_MEM_BUFFER_READ_RECT = 0x1201,
        PI_COMMAND_TYPE_MEM_BUFFER_WRITE_RECT = 0x1202,
        PI_COMMAND_TYPE_MEM_BUFFER_COPY_RECT = 0x1203,
        PI_COMMAND_TYPE_USER = 0x1204,
        PI_COMMAND_TYPE_BARRIER = 0x1205,
        PI_COMMAND_TYPE_MIGRATE_MEM_OBJECTS = 0x1206,
        PI_COMMAND_TYPE_MEM_BUFFER_FILL = 0x1207,
        PI_COMMAND_TYPE_FILL_IMAGE = 0x1208,
        PI_COMMAND_TYPE_SVM_FREE = 0x1209,
        PI_COMMAND_TYPE_SVM_MEMCPY = 0x120a,
        PI_COMMAND_TYPE_SVM_MEMFILL = 0x120b,
        PI_COMMAND_TYPE_SVM_MAP = 0x120c,
        PI_COMMAND_TYPE_SVM_UNMAP = 0x120d,
    }
    /// What `piEventGetProfilingInfo` can be asked; each is a time in nanoseconds.
    pi_profiling_info: u32 {
        PI_PROFILING_INFO_COMMAND_QUEUED = 0x1280,
        PI_PROFILING_INFO_COMMAND_SUBMIT = 0x1281,
        PI_PROFILING_INFO_COMMAND_START = 0x1282,
        PI_PROFILING_INFO_COMMAND_END = 0x1283,
    }
    /// What `piSamplerGetInfo` can be asked.
    pi_sampler_info: u32 {
        PI_SAMPLER_INFO_REFERENCE_COUNT = 0x1150,
        PI_SAMPLER_INFO_CONTEXT = 0x1151,
        PI_SAMPLER_INFO_NORMALIZED_COORDS = 0x1152,
        PI_SAMPLER_INFO_ADDRESSING_MODE = 0x1153,
        PI_SAMPLER_INFO_FILTER_MODE = 0x1154,
        PI_SAMPLER_INFO_MIP_FILTER_MODE = 0x1155,
        PI_SAMPLER_INFO_LOD_MIN = 0x1156,
        PI_SAMPLER_INFO_LOD_MAX = 0x1157,
    }
    /// What a device can do with one kind of USM allocation.
    pi_usm_capabilities: u64 {
        PI_USM_ACCESS = 1,
        PI_USM_ATOMIC_ACCESS = 2,
        PI_USM_CONCURRENT_ACCESS = 4,
        PI_USM_CONCURRENT_ATOMIC_ACCESS = 8,
    }
    /// What `piextUSMGetMemAllocInfo` can be asked.
    pi_mem_info: u32 {
        PI_MEM_ALLOC_TYPE = 0x419a,
        PI_MEM_ALLOC_BASE_PTR = 0x419b,
        PI_MEM_ALLOC_SIZE = 0x419c,
        PI_MEM_ALLOC_DEVICE = 0x419d,
    }
    /// Kind of USM allocation.
    pi_usm_type: u32 {
        PI_MEM_TYPE_UNKNOWN = 0x4196,
        PI_MEM_TYPE_HOST = 0x4197,
        PI_MEM_TYPE_DEVICE = 0x4198,
        PI_MEM_TYPE_SHARED = 0x4199,
    }
    /// A hint about a USM allocation, one bit each. That is 15.47; earlier versions have numbers from 101 on, in the same
    /// order.
    pi_mem_advice: u32 {
        PI_MEM_ADVICE_RESET = 0,
        PI_MEM_ADVICE_CUDA_SET_READ_MOSTLY = 0x1,
        PI_MEM_ADVICE_CUDA_UNSET_READ_MOSTLY = 0x2,
        PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION = 0x4,
        PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION = 0x8,
        PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY = 0x10,
        PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY = 0x20,
        PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION_HOST = 0x40,
        PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION_HOST = 0x80,
        PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY_HOST = 0x100,
        PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY_HOST = 0x200,
        PI_MEM_ADVICE_HIP_SET_COARSE_GRAINED = 0x400,
        PI_MEM_ADVICE_HIP_UNSET_COARSE_GRAINED = 0x800,
        PI_MEM_ADVICE_UNKNOWN = 0x7fff_ffff,
    }
    /// What `piextPeerAccessGetInfo` can be asked.
    pi_peer_attr: u32 {
        PI_PEER_ACCESS_SUPPORTED = 0,
        PI_PEER_ATOMICS_SUPPORTED = 1,
    }
    /// Where a bindless image is copied.
    pi_image_copy_flags: u32 {
        PI_IMAGE_COPY_HOST_TO_DEVICE = 0,
        PI_IMAGE_COPY_DEVICE_TO_HOST = 1,
        PI_IMAGE_COPY_DEVICE_TO_DEVICE = 2,
    }
    /// How USM memory is prefetched.
    pi_usm_migration_flags: u64 {
        PI_USM_MIGRATION_TBD0 = 1,
    }
}
