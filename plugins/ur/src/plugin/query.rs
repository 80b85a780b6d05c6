//! Queries about devices: which of Unified Runtime's is which of the plugin interface's, and how answers differ.

use offkit_pi::ffi::*;
use offkit_pi::plugin::Info;
use offkit_ur::*;

use crate::adapter::number;

/// How an answer is given.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// The same bytes.
    Same,
    /// A byte here, four there.
    Bool,
    /// Flags of 32 bits here, of 64 there, with the same meaning.
    Flags,
    /// What floating-point numbers can do: other bits.
    Floats,
    /// The first numbers of an array.
    First(usize),
}
use Answer::*;

impl Answer {
    pub(super) fn translate(self, bytes: Vec<u8>) -> Info {
        let bits = || number(&bytes).unwrap_or(0);
        match self {
            Same => bytes.into(),
            Bool => bytes.iter().any(|byte| *byte != 0).into(),
            Flags => u64::from(bits()).into(),
            Floats => floats(bits()).into(),
            First(count) => bytes[..bytes.len().min(count * size_of::<usize>())]
                .to_vec()
                .into(),
        }
    }
}

fn floats(theirs: u32) -> u64 {
    let pairs = [
        (UR_DEVICE_FP_CAPABILITY_FLAG_DENORM, PI_FP_DENORM),
        (UR_DEVICE_FP_CAPABILITY_FLAG_INF_NAN, PI_FP_INF_NAN),
        (
            UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_NEAREST,
            PI_FP_ROUND_TO_NEAREST,
        ),
        (UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_ZERO, PI_FP_ROUND_TO_ZERO),
        (UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_INF, PI_FP_ROUND_TO_INF),
        (UR_DEVICE_FP_CAPABILITY_FLAG_FMA, PI_FP_FMA),
        (
            UR_DEVICE_FP_CAPABILITY_FLAG_CORRECTLY_ROUNDED_DIVIDE_SQRT,
            PI_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT,
        ),
    ];
    let set = pairs.into_iter().filter(|(flag, _)| theirs & flag != 0);
    set.fold(0, |all, (_, flag)| all | flag)
}

/// Unified Runtime's query, and how its answer is given.
pub(super) fn of_device(name: pi_device_info) -> Option<(u32, Answer)> {
    let found = QUERIES.iter().find(|(known, ..)| *known == name)?;
    Some((found.1, found.2))
}

const QUERIES: &[(pi_device_info, u32, Answer)] = &[
    (PI_DEVICE_INFO_VENDOR_ID, UR_DEVICE_INFO_VENDOR_ID, Same),
    (
        PI_DEVICE_INFO_MAX_COMPUTE_UNITS,
        UR_DEVICE_INFO_MAX_COMPUTE_UNITS,
        Same,
    ),
    (
        PI_DEVICE_INFO_MAX_WORK_ITEM_DIMENSIONS,
        UR_DEVICE_INFO_MAX_WORK_ITEM_DIMENSIONS,
        Same,
    ),
    (
        PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES,
        UR_DEVICE_INFO_MAX_WORK_ITEM_SIZES,
        Same,
    ),
    (
        PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE,
        UR_DEVICE_INFO_MAX_WORK_GROUP_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_CHAR,
        UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_CHAR,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_SHORT,
        UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_SHORT,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_INT,
        UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_INT,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_LONG,
        UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_LONG,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_FLOAT,
        UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_FLOAT,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_DOUBLE,
        UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_DOUBLE,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_HALF,
        UR_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_HALF,
        Same,
    ),
    (
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_CHAR,
        UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_CHAR,
        Same,
    ),
    (
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_SHORT,
        UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_SHORT,
        Same,
    ),
    (
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_INT,
        UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_INT,
        Same,
    ),
    (
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_LONG,
        UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_LONG,
        Same,
    ),
    (
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_FLOAT,
        UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_FLOAT,
        Same,
    ),
    (
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_DOUBLE,
        UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_DOUBLE,
        Same,
    ),
    (
        PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_HALF,
        UR_DEVICE_INFO_NATIVE_VECTOR_WIDTH_HALF,
        Same,
    ),
    (
        PI_DEVICE_INFO_SINGLE_FP_CONFIG,
        UR_DEVICE_INFO_SINGLE_FP_CONFIG,
        Floats,
    ),
    (
        PI_DEVICE_INFO_HALF_FP_CONFIG,
        UR_DEVICE_INFO_HALF_FP_CONFIG,
        Floats,
    ),
    (
        PI_DEVICE_INFO_DOUBLE_FP_CONFIG,
        UR_DEVICE_INFO_DOUBLE_FP_CONFIG,
        Floats,
    ),
    (
        PI_DEVICE_INFO_MAX_CLOCK_FREQUENCY,
        UR_DEVICE_INFO_MAX_CLOCK_FREQUENCY,
        Same,
    ),
    (PI_DEVICE_INFO_ADDRESS_BITS, UR_DEVICE_INFO_ADDRESS_BITS, Same),
    (
        PI_DEVICE_INFO_MAX_MEM_ALLOC_SIZE,
        UR_DEVICE_INFO_MAX_MEM_ALLOC_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_MAX_PARAMETER_SIZE,
        UR_DEVICE_INFO_MAX_PARAMETER_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_MEM_BASE_ADDR_ALIGN,
        UR_DEVICE_INFO_MEM_BASE_ADDR_ALIGN,
        Same,
    ),
    (
        PI_DEVICE_INFO_GLOBAL_MEM_CACHE_TYPE,
        UR_DEVICE_INFO_GLOBAL_MEM_CACHE_TYPE,
        Same,
    ),
    (
        PI_DEVICE_INFO_GLOBAL_MEM_CACHELINE_SIZE,
        UR_DEVICE_INFO_GLOBAL_MEM_CACHELINE_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_GLOBAL_MEM_CACHE_SIZE,
        UR_DEVICE_INFO_GLOBAL_MEM_CACHE_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_GLOBAL_MEM_SIZE,
        UR_DEVICE_INFO_GLOBAL_MEM_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_MAX_CONSTANT_BUFFER_SIZE,
        UR_DEVICE_INFO_MAX_CONSTANT_BUFFER_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_MAX_CONSTANT_ARGS,
        UR_DEVICE_INFO_MAX_CONSTANT_ARGS,
        Same,
    ),
    (PI_DEVICE_INFO_LOCAL_MEM_TYPE, UR_DEVICE_INFO_LOCAL_MEM_TYPE, Same),
    (PI_DEVICE_INFO_LOCAL_MEM_SIZE, UR_DEVICE_INFO_LOCAL_MEM_SIZE, Same),
    (
        PI_DEVICE_INFO_ERROR_CORRECTION_SUPPORT,
        UR_DEVICE_INFO_ERROR_CORRECTION_SUPPORT,
        Bool,
    ),
    (
        PI_DEVICE_INFO_HOST_UNIFIED_MEMORY,
        UR_DEVICE_INFO_HOST_UNIFIED_MEMORY,
        Bool,
    ),
    (
        PI_DEVICE_INFO_PROFILING_TIMER_RESOLUTION,
        UR_DEVICE_INFO_PROFILING_TIMER_RESOLUTION,
        Same,
    ),
    (PI_DEVICE_INFO_ENDIAN_LITTLE, UR_DEVICE_INFO_ENDIAN_LITTLE, Bool),
    (PI_DEVICE_INFO_AVAILABLE, UR_DEVICE_INFO_AVAILABLE, Bool),
    (
        PI_DEVICE_INFO_COMPILER_AVAILABLE,
        UR_DEVICE_INFO_COMPILER_AVAILABLE,
        Bool,
    ),
    (
        PI_DEVICE_INFO_LINKER_AVAILABLE,
        UR_DEVICE_INFO_LINKER_AVAILABLE,
        Bool,
    ),
    (
        PI_DEVICE_INFO_EXECUTION_CAPABILITIES,
        UR_DEVICE_INFO_EXECUTION_CAPABILITIES,
        Flags,
    ),
    (
        PI_DEVICE_INFO_QUEUE_PROPERTIES,
        UR_DEVICE_INFO_QUEUE_PROPERTIES,
        Flags,
    ),
    (
        PI_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES,
        UR_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES,
        Flags,
    ),
    (
        PI_DEVICE_INFO_BUILT_IN_KERNELS,
        UR_DEVICE_INFO_BUILT_IN_KERNELS,
        Same,
    ),
    (PI_DEVICE_INFO_NAME, UR_DEVICE_INFO_NAME, Same),
    (PI_DEVICE_INFO_VENDOR, UR_DEVICE_INFO_VENDOR, Same),
    (PI_DEVICE_INFO_PROFILE, UR_DEVICE_INFO_PROFILE, Same),
    (PI_DEVICE_INFO_VERSION, UR_DEVICE_INFO_VERSION, Same),
    (
        PI_DEVICE_INFO_PRINTF_BUFFER_SIZE,
        UR_DEVICE_INFO_PRINTF_BUFFER_SIZE,
        Same,
    ),
    (
        PI_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC,
        UR_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC,
        Bool,
    ),
    (
        PI_DEVICE_INFO_MAX_NUM_SUB_GROUPS,
        UR_DEVICE_INFO_MAX_NUM_SUB_GROUPS,
        Same,
    ),
    (
        PI_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
        UR_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS,
        Bool,
    ),
    (
        PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL,
        UR_DEVICE_INFO_SUB_GROUP_SIZES_INTEL,
        Same,
    ),
    (
        PI_DEVICE_INFO_USM_HOST_SUPPORT,
        UR_DEVICE_INFO_USM_HOST_SUPPORT,
        Flags,
    ),
    (
        PI_DEVICE_INFO_USM_DEVICE_SUPPORT,
        UR_DEVICE_INFO_USM_DEVICE_SUPPORT,
        Flags,
    ),
    (
        PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT,
        UR_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT,
        Flags,
    ),
    (
        PI_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT,
        UR_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT,
        Flags,
    ),
    (
        PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT,
        UR_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT,
        Flags,
    ),
    (PI_DEVICE_INFO_UUID, UR_DEVICE_INFO_UUID, Same),
    (PI_DEVICE_INFO_DEVICE_ID, UR_DEVICE_INFO_DEVICE_ID, Same),
    (PI_DEVICE_INFO_PCI_ADDRESS, UR_DEVICE_INFO_PCI_ADDRESS, Same),
    (PI_DEVICE_INFO_GPU_EU_COUNT, UR_DEVICE_INFO_GPU_EU_COUNT, Same),
    (
        PI_DEVICE_INFO_GPU_EU_SIMD_WIDTH,
        UR_DEVICE_INFO_GPU_EU_SIMD_WIDTH,
        Same,
    ),
    (
        PI_DEVICE_INFO_GPU_EU_COUNT_PER_SUBSLICE,
        UR_DEVICE_INFO_GPU_EU_COUNT_PER_SUBSLICE,
        Same,
    ),
    (
        PI_DEVICE_INFO_GPU_SUBSLICES_PER_SLICE,
        UR_DEVICE_INFO_GPU_SUBSLICES_PER_SLICE,
        Same,
    ),
    (
        PI_DEVICE_INFO_GPU_HW_THREADS_PER_EU,
        UR_DEVICE_INFO_GPU_HW_THREADS_PER_EU,
        Same,
    ),
    (PI_DEVICE_INFO_ATOMIC_64, UR_DEVICE_INFO_ATOMIC_64, Bool),
    (PI_DEVICE_INFO_GPU_SLICES, UR_DEVICE_INFO_GPU_EU_SLICES, Same),
    (
        PI_DEVICE_INFO_MAX_MEM_BANDWIDTH,
        UR_DEVICE_INFO_MAX_MEMORY_BANDWIDTH,
        Same,
    ),
    (
        PI_DEVICE_INFO_BACKEND_VERSION,
        UR_DEVICE_INFO_BACKEND_RUNTIME_VERSION,
        Same,
    ),
    (
        PI_EXT_ONEAPI_DEVICE_INFO_IP_VERSION,
        UR_DEVICE_INFO_IP_VERSION,
        Same,
    ),
    (
        PI_EXT_INTEL_DEVICE_INFO_FREE_MEMORY,
        UR_DEVICE_INFO_GLOBAL_MEM_FREE,
        Same,
    ),
    (
        PI_EXT_INTEL_DEVICE_INFO_MEMORY_CLOCK_RATE,
        UR_DEVICE_INFO_MEMORY_CLOCK_RATE,
        Same,
    ),
    (
        PI_EXT_INTEL_DEVICE_INFO_MEMORY_BUS_WIDTH,
        UR_DEVICE_INFO_MEMORY_BUS_WIDTH,
        Same,
    ),
    (
        PI_EXT_INTEL_DEVICE_INFO_MAX_COMPUTE_QUEUE_INDICES,
        UR_DEVICE_INFO_MAX_COMPUTE_QUEUE_INDICES,
        Same,
    ),
    (
        PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES,
        UR_DEVICE_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES,
        Flags,
    ),
    (
        PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES,
        UR_DEVICE_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES,
        Flags,
    ),
    (
        PI_EXT_DEVICE_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES,
        UR_DEVICE_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES,
        Flags,
    ),
    (
        PI_EXT_DEVICE_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES,
        UR_DEVICE_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES,
        Flags,
    ),
    (
        PI_EXT_ONEAPI_DEVICE_INFO_BFLOAT16_MATH_FUNCTIONS,
        UR_DEVICE_INFO_BFLOAT16,
        Bool,
    ),
    (
        PI_EXT_ONEAPI_DEVICE_INFO_CUDA_ASYNC_BARRIER,
        UR_DEVICE_INFO_ASYNC_BARRIER,
        Bool,
    ),
    (
        PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_1D,
        UR_DEVICE_INFO_MAX_WORK_GROUPS_3D,
        First(1),
    ),
    (
        PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_2D,
        UR_DEVICE_INFO_MAX_WORK_GROUPS_3D,
        First(2),
    ),
    (
        PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_3D,
        UR_DEVICE_INFO_MAX_WORK_GROUPS_3D,
        Same,
    ),
];
