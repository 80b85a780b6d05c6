//! What offkit calls of the driver: types by their names in `cuda.h`, numbers, and a table of functions.
//!
//! A test compares all of it with NVIDIA's header. Names have the suffix of the revision that is meant, as the library
//! exports them and the header's macros hide them.

use core::ffi::{c_char, c_int, c_uint, c_void};
use offkit_pi::driver::Library;
use std::ffi::CString;

/// Declares types of the driver, all of one shape.
macro_rules! types {
    ($($name:ident = $shape:ty),* $(,)?) => {
        $(#[doc = concat!("`", stringify!($name), "` of the header.")]
        pub(crate) type $name = $shape;)*
    };
}

// Handles are pointers, which offkit never follows.
types! {
    CUresult = c_int, CUdevice = c_int, CUcontext = usize, CUmodule = usize, CUfunction = usize, CUstream = usize,
    CUevent = usize, CUlinkState = usize, CUdeviceptr = usize, CUjitInputType = c_uint, CUmemorytype = c_uint,
}

/// A number of a device (`CUdevice_attribute`).
#[expect(non_camel_case_types, reason = "the driver's own name")]
pub(crate) type CUdevice_attribute = c_uint;
/// An option of the compiler and the linker (`CUjit_option`).
#[expect(non_camel_case_types, reason = "the driver's own name")]
pub(crate) type CUjit_option = c_uint;
/// A number of a function (`CUfunction_attribute`).
#[expect(non_camel_case_types, reason = "the driver's own name")]
pub(crate) type CUfunction_attribute = c_uint;
/// A hint about memory (`CUmem_advise`).
#[expect(non_camel_case_types, reason = "the driver's own name")]
pub(crate) type CUmem_advise = c_uint;

/// `CUuuid` of the header.
#[repr(C)]
#[derive(Default)]
pub(crate) struct CUuuid {
    pub(crate) bytes: [u8; 16],
}

/// `CUDA_MEMCPY2D` of the header: rows to be copied, and where they are.
#[repr(C)]
#[derive(Default)]
pub(crate) struct CUDA_MEMCPY2D {
    pub(crate) source: Rows,
    pub(crate) target: Rows,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

// The header writes these fields out twice, for the source and for the target, in the same order.
/// Where rows are.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Rows {
    pub(crate) x: usize,
    pub(crate) y: usize,
    pub(crate) kind: CUmemorytype,
    pub(crate) host: usize,
    pub(crate) device: CUdeviceptr,
    pub(crate) array: usize,
    pub(crate) pitch: usize,
}

/// Declares numbers, and a list of them with their names.
macro_rules! numbers {
    ($($name:ident: $type:ty = $value:literal,)*) => {
        $(pub(crate) const $name: $type = $value;)*

        /// The numbers that are used, by their names in the header.
        pub const ENUMERATORS: &[(&str, u32)] = &[$((stringify!($name), $value as u32)),*];
    };
}

numbers! {
    CUDA_SUCCESS: CUresult = 0,
    CUDA_ERROR_INVALID_VALUE: CUresult = 1,
    CUDA_ERROR_OUT_OF_MEMORY: CUresult = 2,
    CUDA_ERROR_STUB_LIBRARY: CUresult = 34,
    CUDA_ERROR_DEVICE_UNAVAILABLE: CUresult = 46,
    CUDA_ERROR_NO_DEVICE: CUresult = 100,
    CUDA_ERROR_INVALID_IMAGE: CUresult = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU: CUresult = 209,
    CUDA_ERROR_ECC_UNCORRECTABLE: CUresult = 214,
    CUDA_ERROR_INVALID_PTX: CUresult = 218,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION: CUresult = 222,
    CUDA_ERROR_NOT_FOUND: CUresult = 500,
    CUDA_ERROR_NOT_READY: CUresult = 600,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: CUresult = 701,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED: CUresult = 704,
    CUDA_ERROR_NOT_SUPPORTED: CUresult = 801,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: CUresult = 803,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: CUresult = 804,
    CUDA_ERROR_UNKNOWN: CUresult = 999,
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: CUdevice_attribute = 1,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: CUdevice_attribute = 2,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: CUdevice_attribute = 3,
    CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: CUdevice_attribute = 4,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: CUdevice_attribute = 5,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: CUdevice_attribute = 6,
    CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: CUdevice_attribute = 7,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: CUdevice_attribute = 8,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: CUdevice_attribute = 97,
    CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: CUdevice_attribute = 9,
    CU_DEVICE_ATTRIBUTE_WARP_SIZE: CUdevice_attribute = 10,
    CU_DEVICE_ATTRIBUTE_CLOCK_RATE: CUdevice_attribute = 13,
    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: CUdevice_attribute = 16,
    CU_DEVICE_ATTRIBUTE_INTEGRATED: CUdevice_attribute = 18,
    CU_DEVICE_ATTRIBUTE_ECC_ENABLED: CUdevice_attribute = 32,
    CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: CUdevice_attribute = 33,
    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: CUdevice_attribute = 34,
    CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: CUdevice_attribute = 36,
    CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: CUdevice_attribute = 37,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: CUdevice_attribute = 38,
    CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: CUdevice_attribute = 50,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: CUdevice_attribute = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: CUdevice_attribute = 76,
    CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: CUdevice_attribute = 83,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: CUdevice_attribute = 88,
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: CUdevice_attribute = 89,
    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: CUfunction_attribute = 0,
    CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: CUfunction_attribute = 1,
    CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: CUfunction_attribute = 3,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: CUfunction_attribute = 8,
    CU_JIT_MAX_REGISTERS: CUjit_option = 0,
    CU_JIT_INFO_LOG_BUFFER: CUjit_option = 3,
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: CUjit_option = 4,
    CU_JIT_ERROR_LOG_BUFFER: CUjit_option = 5,
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: CUjit_option = 6,
    CU_JIT_OPTIMIZATION_LEVEL: CUjit_option = 7,
    CU_JIT_GENERATE_DEBUG_INFO: CUjit_option = 11,
    CU_JIT_LOG_VERBOSE: CUjit_option = 12,
    CU_JIT_GENERATE_LINE_INFO: CUjit_option = 13,
    CU_JIT_INPUT_CUBIN: CUjitInputType = 0,
    CU_JIT_INPUT_PTX: CUjitInputType = 1,
    CU_MEMORYTYPE_HOST: CUmemorytype = 1,
    CU_MEMORYTYPE_DEVICE: CUmemorytype = 2,
    CU_STREAM_NON_BLOCKING: c_uint = 1,
    CU_EVENT_DEFAULT: c_uint = 0,
    CU_EVENT_DISABLE_TIMING: c_uint = 2,
    CU_MEM_ATTACH_GLOBAL: c_uint = 1,
    CU_MEMHOSTALLOC_PORTABLE: c_uint = 1,
    CU_MEMHOSTALLOC_DEVICEMAP: c_uint = 2,
    CU_MEMHOSTREGISTER_PORTABLE: c_uint = 1,
    CU_MEMHOSTREGISTER_DEVICEMAP: c_uint = 2,
    CU_MEM_ADVISE_SET_READ_MOSTLY: CUmem_advise = 1,
    CU_MEM_ADVISE_UNSET_READ_MOSTLY: CUmem_advise = 2,
    CU_MEM_ADVISE_SET_PREFERRED_LOCATION: CUmem_advise = 3,
    CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: CUmem_advise = 4,
    CU_MEM_ADVISE_SET_ACCESSED_BY: CUmem_advise = 5,
    CU_MEM_ADVISE_UNSET_ACCESSED_BY: CUmem_advise = 6,
}

/// The processor as the place of memory (`CU_DEVICE_CPU`).
pub(crate) const HOST: CUdevice = -1;

/// Declares the table: functions that every driver has, and those that newer ones have.
macro_rules! functions {
    (
        needed { $($name:ident($($argument:ident: $type:ty),*);)* }
        newer { $($new:ident($($new_argument:ident: $new_type:ty),*);)* }
    ) => {
        /// The functions of a driver.
        #[expect(non_snake_case, reason = "the driver's own names")]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument: $type),*) -> CUresult,)*
            $(pub(crate) $new: Option<unsafe extern "C" fn($($new_argument: $new_type),*) -> CUresult>,)*
        }

        impl Functions {
            /// Takes them from a library.
            ///
            /// # Errors
            ///
            /// The name of one that is needed and missing.
            ///
            /// # Safety
            ///
            /// The library is NVIDIA's driver, or has the same functions.
            pub(crate) unsafe fn of(library: &'static Library) -> Result<Functions, &'static str> {
                // SAFETY: by the caller's promise, functions of these names have these types.
                unsafe {
                    Ok(Functions {
                        $($name: find(library, stringify!($name)).ok_or(stringify!($name))?,)*
                        $($new: find(library, stringify!($new)),)*
                    })
                }
            }
        }

        /// Every function that is used, with the types of its parameters as they are written here.
        pub const DECLARATIONS: &[(&str, &[&str])] = &[
            $((stringify!($name), &[$(stringify!($type)),*]),)*
            $((stringify!($new), &[$(stringify!($new_type)),*]),)*
        ];
    };
}

/// A function of the library.
///
/// # Safety
///
/// The function of that name has the type `F`.
unsafe fn find<F: Copy>(library: &'static Library, name: &str) -> Option<F> {
    let name = CString::new(name).ok()?;
    // SAFETY: by the caller's promise.
    let symbol = unsafe { library.get::<F>(name.as_bytes_with_nul()) };
    symbol.ok().map(|symbol| *symbol)
}

functions! {
    needed {
    cuInit(flags: c_uint);
    cuDriverGetVersion(version: *mut c_int);
    cuGetErrorName(error: CUresult, text: *mut *const c_char);
    cuGetErrorString(error: CUresult, text: *mut *const c_char);
    cuDeviceGetCount(count: *mut c_int);
    cuDeviceGet(device: *mut CUdevice, ordinal: c_int);
    cuDeviceGetName(name: *mut c_char, size: c_int, device: CUdevice);
    cuDeviceGetAttribute(value: *mut c_int, attribute: CUdevice_attribute, device: CUdevice);
    cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice);
    cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice);
    cuDevicePrimaryCtxRelease_v2(device: CUdevice);
    cuCtxDestroy_v2(context: CUcontext);
    cuCtxPushCurrent_v2(context: CUcontext);
    cuCtxPopCurrent_v2(context: *mut CUcontext);
    cuModuleLoadDataEx(module: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void);
    cuModuleUnload(module: CUmodule);
    cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char);
    cuModuleGetGlobal_v2(address: *mut CUdeviceptr, size: *mut usize, module: CUmodule, name: *const c_char);
    cuLinkCreate_v2(count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void, state: *mut CUlinkState);
    cuLinkAddData_v2(state: CUlinkState, kind: CUjitInputType, data: *mut c_void, size: usize, name: *const c_char, count: c_uint, options: *mut CUjit_option, values: *mut *mut c_void);
    cuLinkComplete(state: CUlinkState, cubin: *mut *mut c_void, size: *mut usize);
    cuLinkDestroy(state: CUlinkState);
    cuFuncGetAttribute(value: *mut c_int, attribute: CUfunction_attribute, function: CUfunction);
    cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: c_int);
    cuLaunchKernel(function: CUfunction, x: c_uint, y: c_uint, z: c_uint, width: c_uint, height: c_uint, depth: c_uint, shared: c_uint, stream: CUstream, arguments: *mut *mut c_void, extra: *mut *mut c_void);
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize);
    cuMemAlloc_v2(address: *mut CUdeviceptr, size: usize);
    cuMemFree_v2(address: CUdeviceptr);
    cuMemHostAlloc(address: *mut *mut c_void, size: usize, flags: c_uint);
    cuMemFreeHost(address: *mut c_void);
    cuMemAllocManaged(address: *mut CUdeviceptr, size: usize, flags: c_uint);
    cuMemHostRegister_v2(address: *mut c_void, size: usize, flags: c_uint);
    cuMemHostUnregister(address: *mut c_void);
    cuMemHostGetDevicePointer_v2(address: *mut CUdeviceptr, host: *mut c_void, flags: c_uint);
    cuMemGetAddressRange_v2(base: *mut CUdeviceptr, size: *mut usize, address: CUdeviceptr);
    cuMemcpyAsync(target: CUdeviceptr, source: CUdeviceptr, size: usize, stream: CUstream);
    cuMemcpyHtoDAsync_v2(target: CUdeviceptr, source: *const c_void, size: usize, stream: CUstream);
    cuMemcpyDtoHAsync_v2(target: *mut c_void, source: CUdeviceptr, size: usize, stream: CUstream);
    cuMemcpyDtoDAsync_v2(target: CUdeviceptr, source: CUdeviceptr, size: usize, stream: CUstream);
    cuMemcpyPeerAsync(target: CUdeviceptr, target_context: CUcontext, source: CUdeviceptr, source_context: CUcontext, size: usize, stream: CUstream);
    cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream);
    cuMemsetD8Async(address: CUdeviceptr, value: u8, count: usize, stream: CUstream);
    cuMemsetD16Async(address: CUdeviceptr, value: u16, count: usize, stream: CUstream);
    cuMemsetD32Async(address: CUdeviceptr, value: c_uint, count: usize, stream: CUstream);
    cuMemsetD2D8Async(address: CUdeviceptr, pitch: usize, value: u8, width: usize, height: usize, stream: CUstream);
    cuMemsetD2D32Async(address: CUdeviceptr, pitch: usize, value: c_uint, width: usize, height: usize, stream: CUstream);
    cuStreamCreate(stream: *mut CUstream, flags: c_uint);
    cuStreamDestroy_v2(stream: CUstream);
    cuStreamSynchronize(stream: CUstream);
    cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint);
    cuEventCreate(event: *mut CUevent, flags: c_uint);
    cuEventDestroy_v2(event: CUevent);
    cuEventRecord(event: CUevent, stream: CUstream);
    cuEventQuery(event: CUevent);
    cuEventSynchronize(event: CUevent);
    cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent);
    cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice);
    cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint);
    }
    // The second function for the UUID came with CUDA 11.4, that for parameters with 12.4.
    newer {
    cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice);
    cuDeviceGetUuid_v2(uuid: *mut CUuuid, device: CUdevice);
    cuFuncGetParamInfo(function: CUfunction, index: usize, offset: *mut usize, size: *mut usize);
    cuMemPrefetchAsync(address: CUdeviceptr, size: usize, device: CUdevice, stream: CUstream);
    cuMemAdvise(address: CUdeviceptr, size: usize, advice: CUmem_advise, device: CUdevice);
    }
}
