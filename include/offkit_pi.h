// offkit_pi.h: the plugin interface between runtimes and devices, for plugins and hosts in C and C++.
//
// A plugin is a shared library with one function, piPluginInit. It is given a record that begins with the version of
// the interface that the host speaks, and fills in its own version and a table of functions. There are four versions:
// each has a record (pi_plugin_2_3) and a table (pi_functions_2_3). A null pointer in a table is a function that the
// plugin does not have; offkit takes that, other hosts call every function without looking.
//
// Every function has a type named after it (piQueueFinish_fn), with which one's own can be declared:
//
//   static piQueueFinish_fn finish;
//
// Where versions have other parameters, or mean something else by them, the later type has a letter:
// piextMemGetNativeHandle_b_fn. Three have the same parameters and another meaning:
//
//   piEventCreate             the host completes the event; b: it is complete from the start
//   piTearDown                the parameter is null; b: it points to a bool that the plugin sets
//   piextUSMEnqueueMemAdvise  hints are numbers, 0 for none; b: numbers, 0 to reset; c: bits
//
// docs/plugins.md shows how a plugin is written. This file is made from crates/offkit-pi; do not edit it:
//
//   OFFKIT_UPDATE=1 cargo test -p offkit-tests --test pi_header
#ifndef OFFKIT_PI_H
#define OFFKIT_PI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define OFFKIT_PI_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define OFFKIT_PI_EXPORT __attribute__((visibility("default")))
#else
#define OFFKIT_PI_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

// What a function of the interface returns: OpenCL's error numbers, and a few of its own from -995 down.
//
// The numbers are the same in all versions. The names here are those up to 6.8; later headers have PI_ERROR_ where
// these have PI_ alone.
typedef int32_t pi_result;

// Signed 32-bit integer of the interface.
typedef int32_t pi_int32;

// Unsigned 32-bit integer of the interface.
typedef uint32_t pi_uint32;

// Unsigned 64-bit integer of the interface.
typedef uint64_t pi_uint64;

// Truth value: PI_FALSE or PI_TRUE.
typedef pi_uint32 pi_bool;

// Set of flags.
typedef pi_uint64 pi_bitfield;

// Handle of the driver below the plugin, an integer wide enough for a pointer.
typedef uintptr_t pi_native_handle;

// One word of a zero-terminated property list given to piContextCreate.
typedef intptr_t pi_context_properties;

// One word of a zero-terminated property list given to piSamplerCreate.
typedef pi_bitfield pi_sampler_properties;

// One word of a zero-terminated property list given to the USM allocation functions.
typedef pi_bitfield pi_usm_mem_properties;

// One word of a zero-terminated property list given to piMemBufferCreate.
typedef pi_bitfield pi_mem_properties;

// A point in a command buffer that later commands can wait for.
typedef pi_uint32 pi_ext_sync_point;

// A bindless image, as kernels see it.
typedef uint64_t pi_image_handle;

// Memory of another interface.
typedef uint64_t pi_interop_mem_handle;

// A semaphore of another interface.
typedef uint64_t pi_interop_semaphore_handle;

// A group of devices served by one driver.
typedef struct _pi_platform *pi_platform;

// Something that runs kernels.
typedef struct _pi_device *pi_device;

// Devices that share memory objects and programs.
typedef struct _pi_context *pi_context;

// Where commands for one device are submitted.
typedef struct _pi_queue *pi_queue;

// A buffer or an image.
typedef struct _pi_mem *pi_mem;

// Device code in some state between intermediate language and executable.
typedef struct _pi_program *pi_program;

// An entry point of a program together with its arguments.
typedef struct _pi_kernel *pi_kernel;

// The progress of one command.
typedef struct _pi_event *pi_event;

// How an image is sampled.
typedef struct _pi_sampler *pi_sampler;

// Commands that are submitted together.
typedef struct _pi_ext_command_buffer *pi_ext_command_buffer;

// Memory of a bindless image.
typedef struct _pi_image_mem *pi_image_mem_handle;

// Done.
#define PI_SUCCESS ((pi_result)0)
// No device of the wanted type.
#define PI_DEVICE_NOT_FOUND ((pi_result)(-1))
// The device exists but cannot be used now.
#define PI_DEVICE_NOT_AVAILABLE ((pi_result)(-2))
// The plugin cannot compile from this form.
#define PI_COMPILER_NOT_AVAILABLE ((pi_result)(-3))
// No memory for a buffer, an image or a USM allocation.
#define PI_MEM_OBJECT_ALLOCATION_FAILURE ((pi_result)(-4))
// The device ran out of something.
#define PI_OUT_OF_RESOURCES ((pi_result)(-5))
// The host ran out of memory.
#define PI_OUT_OF_HOST_MEMORY ((pi_result)(-6))
// Profiling was not asked for, or the command is not complete.
#define PI_PROFILING_INFO_NOT_AVAILABLE ((pi_result)(-7))
// Source and destination of a copy overlap.
#define PI_MEM_COPY_OVERLAP ((pi_result)(-8))
// Images of unlike formats.
#define PI_IMAGE_FORMAT_MISMATCH ((pi_result)(-9))
// The device does not know the image format.
#define PI_IMAGE_FORMAT_NOT_SUPPORTED ((pi_result)(-10))
// A build failed; the build log says why.
#define PI_BUILD_PROGRAM_FAILURE ((pi_result)(-11))
// A region could not be mapped.
#define PI_MAP_FAILURE ((pi_result)(-12))
// A sub-buffer starts at an address the device cannot use.
#define PI_MISALIGNED_SUB_BUFFER_OFFSET ((pi_result)(-13))
// A command waited for has failed.
#define PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST ((pi_result)(-14))
// A compile failed; the build log says why.
#define PI_COMPILE_PROGRAM_FAILURE ((pi_result)(-15))
// The plugin has no linker.
#define PI_LINKER_NOT_AVAILABLE ((pi_result)(-16))
// A link failed; the build log of the new program says why.
#define PI_LINK_PROGRAM_FAILURE ((pi_result)(-17))
// The device cannot be partitioned as asked.
#define PI_DEVICE_PARTITION_FAILED ((pi_result)(-18))
// No information about a kernel's arguments.
#define PI_KERNEL_ARG_INFO_NOT_AVAILABLE ((pi_result)(-19))
// A value is out of range, a pointer is null, or a query's destination is too small.
#define PI_INVALID_VALUE ((pi_result)(-30))
// Not a device type.
#define PI_INVALID_DEVICE_TYPE ((pi_result)(-31))
// Not a platform.
#define PI_INVALID_PLATFORM ((pi_result)(-32))
// Not a device, or not one of this context.
#define PI_INVALID_DEVICE ((pi_result)(-33))
// Not a context, or objects of unlike contexts.
#define PI_INVALID_CONTEXT ((pi_result)(-34))
// Queue properties that do not exist or do not go together.
#define PI_INVALID_QUEUE_PROPERTIES ((pi_result)(-35))
// Not a queue.
#define PI_INVALID_QUEUE ((pi_result)(-36))
// A host pointer without the flag that says what it is for, or the flag without the pointer.
#define PI_INVALID_HOST_PTR ((pi_result)(-37))
// Not a memory object.
#define PI_INVALID_MEM_OBJECT ((pi_result)(-38))
// Not an image format.
#define PI_INVALID_IMAGE_FORMAT_DESCRIPTOR ((pi_result)(-39))
// An image of a size the device does not do.
#define PI_INVALID_IMAGE_SIZE ((pi_result)(-40))
// Not a sampler.
#define PI_INVALID_SAMPLER ((pi_result)(-41))
// Device code in a form the device does not take.
#define PI_INVALID_BINARY ((pi_result)(-42))
// Build options that make no sense.
#define PI_INVALID_BUILD_OPTIONS ((pi_result)(-43))
// Not a program.
#define PI_INVALID_PROGRAM ((pi_result)(-44))
// The program is not built.
#define PI_INVALID_PROGRAM_EXECUTABLE ((pi_result)(-45))
// No kernel of that name in the program.
#define PI_INVALID_KERNEL_NAME ((pi_result)(-46))
// The kernel is defined differently for two devices.
#define PI_INVALID_KERNEL_DEFINITION ((pi_result)(-47))
// Not a kernel.
#define PI_INVALID_KERNEL ((pi_result)(-48))
// The kernel has fewer arguments.
#define PI_INVALID_ARG_INDEX ((pi_result)(-49))
// The value does not fit the argument's kind.
#define PI_INVALID_ARG_VALUE ((pi_result)(-50))
// The value's size is not the argument's.
#define PI_INVALID_ARG_SIZE ((pi_result)(-51))
// An argument was not set before the launch.
#define PI_INVALID_KERNEL_ARGS ((pi_result)(-52))
// Not one, two or three dimensions.
#define PI_INVALID_WORK_DIMENSION ((pi_result)(-53))
// A work-group size the device or the kernel does not do, or one that does not divide the range.
#define PI_INVALID_WORK_GROUP_SIZE ((pi_result)(-54))
// A work-group too long in one dimension.
#define PI_INVALID_WORK_ITEM_SIZE ((pi_result)(-55))
// An offset that runs out of the index space.
#define PI_INVALID_GLOBAL_OFFSET ((pi_result)(-56))
// A wait list that is null or holds something that is no event.
#define PI_INVALID_EVENT_WAIT_LIST ((pi_result)(-57))
// Not an event.
#define PI_INVALID_EVENT ((pi_result)(-58))
// The object is in no state for this, or the plugin does not support it.
#define PI_INVALID_OPERATION ((pi_result)(-59))
// Not an object of OpenGL.
#define PI_INVALID_GL_OBJECT ((pi_result)(-60))
// A buffer of size 0, or larger than the device has.
#define PI_INVALID_BUFFER_SIZE ((pi_result)(-61))
// A mip level the image does not have.
#define PI_INVALID_MIP_LEVEL ((pi_result)(-62))
// A range of size 0 or too large.
#define PI_INVALID_GLOBAL_WORK_SIZE ((pi_result)(-63))
// A property that does not exist.
#define PI_INVALID_PROPERTY ((pi_result)(-64))
// An image description that makes no sense.
#define PI_INVALID_IMAGE_DESCRIPTOR ((pi_result)(-65))
// Compiler options that make no sense.
#define PI_INVALID_COMPILER_OPTIONS ((pi_result)(-66))
// Linker options that make no sense.
#define PI_INVALID_LINKER_OPTIONS ((pi_result)(-67))
// A device cannot be divided into so many parts.
#define PI_INVALID_DEVICE_PARTITION_COUNT ((pi_result)(-68))
// The specialization constant does not exist, or has another size.
#define PI_INVALID_SPEC_ID ((pi_result)(-71))
// A feature that the plugin does not have (since 15.47).
#define PI_UNSUPPORTED_FEATURE ((pi_result)(-995))
// piPluginGetLastError has the real result, and words for it (since 12.27).
#define PI_PLUGIN_SPECIFIC_ERROR ((pi_result)(-996))
// A command failed while it ran.
#define PI_COMMAND_EXECUTION_FAILURE ((pi_result)(-997))
// The function exists but has no address on the device.
#define PI_FUNCTION_ADDRESS_IS_NOT_AVAILABLE ((pi_result)(-998))
// Anything else; a plugin that panics returns this.
#define PI_ERROR_UNKNOWN ((pi_result)(-999))
// False.
#define PI_FALSE ((uint32_t)0)
// True.
#define PI_TRUE ((uint32_t)1)

// Execution status of a command. A negative value is the error the command failed with.
typedef int32_t pi_event_status;
#define PI_EVENT_COMPLETE ((pi_event_status)0)
#define PI_EVENT_RUNNING ((pi_event_status)1)
#define PI_EVENT_SUBMITTED ((pi_event_status)2)
#define PI_EVENT_QUEUED ((pi_event_status)3)

// What piPlatformGetInfo can be asked.
typedef uint32_t pi_platform_info;
#define PI_PLATFORM_INFO_PROFILE ((pi_platform_info)0x900)
#define PI_PLATFORM_INFO_VERSION ((pi_platform_info)0x901)
#define PI_PLATFORM_INFO_NAME ((pi_platform_info)0x902)
#define PI_PLATFORM_INFO_VENDOR ((pi_platform_info)0x903)
#define PI_PLATFORM_INFO_EXTENSIONS ((pi_platform_info)0x904)
#define PI_EXT_PLATFORM_INFO_BACKEND ((pi_platform_info)0x21000)

// What is below a platform (since 15.47).
typedef uint32_t pi_platform_backend;
#define PI_EXT_PLATFORM_BACKEND_UNKNOWN ((pi_platform_backend)0)
#define PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO ((pi_platform_backend)1)
#define PI_EXT_PLATFORM_BACKEND_OPENCL ((pi_platform_backend)2)
#define PI_EXT_PLATFORM_BACKEND_CUDA ((pi_platform_backend)3)
#define PI_EXT_PLATFORM_BACKEND_HIP ((pi_platform_backend)4)
#define PI_EXT_PLATFORM_BACKEND_ESIMD ((pi_platform_backend)5)
#define PI_EXT_PLATFORM_BACKEND_NATIVE_CPU ((pi_platform_backend)6)

// Kind of device; a set when devices are asked for.
typedef uint64_t pi_device_type;
#define PI_DEVICE_TYPE_DEFAULT ((pi_device_type)1)
#define PI_DEVICE_TYPE_CPU ((pi_device_type)2)
#define PI_DEVICE_TYPE_GPU ((pi_device_type)4)
#define PI_DEVICE_TYPE_ACC ((pi_device_type)8)
#define PI_DEVICE_TYPE_ALL ((pi_device_type)0xffffffff)

// What piDeviceGetInfo can be asked.
typedef uint32_t pi_device_info;
#define PI_DEVICE_INFO_TYPE ((pi_device_info)0x1000)
#define PI_DEVICE_INFO_VENDOR_ID ((pi_device_info)0x1001)
#define PI_DEVICE_INFO_MAX_COMPUTE_UNITS ((pi_device_info)0x1002)
#define PI_DEVICE_INFO_MAX_WORK_ITEM_DIMENSIONS ((pi_device_info)0x1003)
#define PI_DEVICE_INFO_MAX_WORK_GROUP_SIZE ((pi_device_info)0x1004)
#define PI_DEVICE_INFO_MAX_WORK_ITEM_SIZES ((pi_device_info)0x1005)
#define PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_CHAR ((pi_device_info)0x1006)
#define PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_SHORT ((pi_device_info)0x1007)
#define PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_INT ((pi_device_info)0x1008)
#define PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_LONG ((pi_device_info)0x1009)
#define PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_FLOAT ((pi_device_info)0x100a)
#define PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_DOUBLE ((pi_device_info)0x100b)
#define PI_DEVICE_INFO_MAX_CLOCK_FREQUENCY ((pi_device_info)0x100c)
#define PI_DEVICE_INFO_ADDRESS_BITS ((pi_device_info)0x100d)
#define PI_DEVICE_INFO_MAX_READ_IMAGE_ARGS ((pi_device_info)0x100e)
#define PI_DEVICE_INFO_MAX_WRITE_IMAGE_ARGS ((pi_device_info)0x100f)
#define PI_DEVICE_INFO_MAX_MEM_ALLOC_SIZE ((pi_device_info)0x1010)
#define PI_DEVICE_INFO_IMAGE2D_MAX_WIDTH ((pi_device_info)0x1011)
#define PI_DEVICE_INFO_IMAGE2D_MAX_HEIGHT ((pi_device_info)0x1012)
#define PI_DEVICE_INFO_IMAGE3D_MAX_WIDTH ((pi_device_info)0x1013)
#define PI_DEVICE_INFO_IMAGE3D_MAX_HEIGHT ((pi_device_info)0x1014)
#define PI_DEVICE_INFO_IMAGE3D_MAX_DEPTH ((pi_device_info)0x1015)
#define PI_DEVICE_INFO_IMAGE_SUPPORT ((pi_device_info)0x1016)
#define PI_DEVICE_INFO_MAX_PARAMETER_SIZE ((pi_device_info)0x1017)
#define PI_DEVICE_INFO_MAX_SAMPLERS ((pi_device_info)0x1018)
#define PI_DEVICE_INFO_MEM_BASE_ADDR_ALIGN ((pi_device_info)0x1019)
#define PI_DEVICE_INFO_SINGLE_FP_CONFIG ((pi_device_info)0x101b)
#define PI_DEVICE_INFO_GLOBAL_MEM_CACHE_TYPE ((pi_device_info)0x101c)
#define PI_DEVICE_INFO_GLOBAL_MEM_CACHELINE_SIZE ((pi_device_info)0x101d)
#define PI_DEVICE_INFO_GLOBAL_MEM_CACHE_SIZE ((pi_device_info)0x101e)
#define PI_DEVICE_INFO_GLOBAL_MEM_SIZE ((pi_device_info)0x101f)
#define PI_DEVICE_INFO_MAX_CONSTANT_BUFFER_SIZE ((pi_device_info)0x1020)
#define PI_DEVICE_INFO_MAX_CONSTANT_ARGS ((pi_device_info)0x1021)
#define PI_DEVICE_INFO_LOCAL_MEM_TYPE ((pi_device_info)0x1022)
#define PI_DEVICE_INFO_LOCAL_MEM_SIZE ((pi_device_info)0x1023)
#define PI_DEVICE_INFO_ERROR_CORRECTION_SUPPORT ((pi_device_info)0x1024)
#define PI_DEVICE_INFO_PROFILING_TIMER_RESOLUTION ((pi_device_info)0x1025)
#define PI_DEVICE_INFO_ENDIAN_LITTLE ((pi_device_info)0x1026)
#define PI_DEVICE_INFO_AVAILABLE ((pi_device_info)0x1027)
#define PI_DEVICE_INFO_COMPILER_AVAILABLE ((pi_device_info)0x1028)
#define PI_DEVICE_INFO_EXECUTION_CAPABILITIES ((pi_device_info)0x1029)
#define PI_DEVICE_INFO_QUEUE_PROPERTIES ((pi_device_info)0x102a)
#define PI_DEVICE_INFO_NAME ((pi_device_info)0x102b)
#define PI_DEVICE_INFO_VENDOR ((pi_device_info)0x102c)
#define PI_DEVICE_INFO_DRIVER_VERSION ((pi_device_info)0x102d)
#define PI_DEVICE_INFO_PROFILE ((pi_device_info)0x102e)
#define PI_DEVICE_INFO_VERSION ((pi_device_info)0x102f)
#define PI_DEVICE_INFO_EXTENSIONS ((pi_device_info)0x1030)
#define PI_DEVICE_INFO_PLATFORM ((pi_device_info)0x1031)
#define PI_DEVICE_INFO_DOUBLE_FP_CONFIG ((pi_device_info)0x1032)
#define PI_DEVICE_INFO_HALF_FP_CONFIG ((pi_device_info)0x1033)
#define PI_DEVICE_INFO_PREFERRED_VECTOR_WIDTH_HALF ((pi_device_info)0x1034)
#define PI_DEVICE_INFO_HOST_UNIFIED_MEMORY ((pi_device_info)0x1035)
#define PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_CHAR ((pi_device_info)0x1036)
#define PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_SHORT ((pi_device_info)0x1037)
#define PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_INT ((pi_device_info)0x1038)
#define PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_LONG ((pi_device_info)0x1039)
#define PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_FLOAT ((pi_device_info)0x103a)
#define PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_DOUBLE ((pi_device_info)0x103b)
#define PI_DEVICE_INFO_NATIVE_VECTOR_WIDTH_HALF ((pi_device_info)0x103c)
#define PI_DEVICE_INFO_OPENCL_C_VERSION ((pi_device_info)0x103d)
#define PI_DEVICE_INFO_LINKER_AVAILABLE ((pi_device_info)0x103e)
#define PI_DEVICE_INFO_BUILT_IN_KERNELS ((pi_device_info)0x103f)
#define PI_DEVICE_INFO_IMAGE_MAX_BUFFER_SIZE ((pi_device_info)0x1040)
#define PI_DEVICE_INFO_IMAGE_MAX_ARRAY_SIZE ((pi_device_info)0x1041)
#define PI_DEVICE_INFO_PARENT_DEVICE ((pi_device_info)0x1042)
#define PI_DEVICE_INFO_PARTITION_MAX_SUB_DEVICES ((pi_device_info)0x1043)
#define PI_DEVICE_INFO_PARTITION_PROPERTIES ((pi_device_info)0x1044)
#define PI_DEVICE_INFO_PARTITION_AFFINITY_DOMAIN ((pi_device_info)0x1045)
#define PI_DEVICE_INFO_PARTITION_TYPE ((pi_device_info)0x1046)
#define PI_DEVICE_INFO_REFERENCE_COUNT ((pi_device_info)0x1047)
#define PI_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC ((pi_device_info)0x1048)
#define PI_DEVICE_INFO_PRINTF_BUFFER_SIZE ((pi_device_info)0x1049)
#define PI_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES ((pi_device_info)0x104e)
#define PI_DEVICE_INFO_IL_VERSION ((pi_device_info)0x105b)
#define PI_DEVICE_INFO_MAX_NUM_SUB_GROUPS ((pi_device_info)0x105c)
#define PI_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS ((pi_device_info)0x105d)
#define PI_DEVICE_INFO_UUID ((pi_device_info)0x106a)
#define PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL ((pi_device_info)0x4108)
#define PI_DEVICE_INFO_USM_HOST_SUPPORT ((pi_device_info)0x4190)
#define PI_DEVICE_INFO_USM_DEVICE_SUPPORT ((pi_device_info)0x4191)
#define PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT ((pi_device_info)0x4192)
#define PI_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT ((pi_device_info)0x4193)
#define PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT ((pi_device_info)0x4194)
#define PI_EXT_ONEAPI_DEVICE_INFO_IP_VERSION ((pi_device_info)0x4250)
#define PI_DEVICE_INFO_DEVICE_ID ((pi_device_info)0x4251)
#define PI_DEVICE_INFO_PCI_ADDRESS ((pi_device_info)0x10020)
#define PI_DEVICE_INFO_GPU_EU_COUNT ((pi_device_info)0x10021)
#define PI_DEVICE_INFO_GPU_EU_SIMD_WIDTH ((pi_device_info)0x10022)
#define PI_DEVICE_INFO_GPU_SLICES ((pi_device_info)0x10023)
#define PI_DEVICE_INFO_GPU_SUBSLICES_PER_SLICE ((pi_device_info)0x10024)
#define PI_DEVICE_INFO_GPU_EU_COUNT_PER_SUBSLICE ((pi_device_info)0x10025)
#define PI_DEVICE_INFO_MAX_MEM_BANDWIDTH ((pi_device_info)0x10026)
#define PI_DEVICE_INFO_IMAGE_SRGB ((pi_device_info)0x10027)
#define PI_DEVICE_INFO_BUILD_ON_SUBDEVICE ((pi_device_info)0x10028)
#define PI_EXT_INTEL_DEVICE_INFO_FREE_MEMORY ((pi_device_info)0x10029)
#define PI_EXT_INTEL_DEVICE_INFO_MEMORY_CLOCK_RATE ((pi_device_info)0x10030)
#define PI_EXT_INTEL_DEVICE_INFO_MEMORY_BUS_WIDTH ((pi_device_info)0x10031)
#define PI_EXT_INTEL_DEVICE_INFO_MAX_COMPUTE_QUEUE_INDICES ((pi_device_info)0x10032)
#define PI_DEVICE_INFO_ATOMIC_64 ((pi_device_info)0x10110)
#define PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES ((pi_device_info)0x10111)
#define PI_DEVICE_INFO_GPU_HW_THREADS_PER_EU ((pi_device_info)0x10112)
#define PI_DEVICE_INFO_BACKEND_VERSION ((pi_device_info)0x10113)
#define PI_EXT_DEVICE_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES ((pi_device_info)0x11000)
#define PI_EXT_ONEAPI_DEVICE_INFO_BFLOAT16_MATH_FUNCTIONS ((pi_device_info)0x1ffff)
#define PI_EXT_ONEAPI_DEVICE_INFO_MAX_GLOBAL_WORK_GROUPS ((pi_device_info)0x20000)
#define PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_1D ((pi_device_info)0x20001)
#define PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_2D ((pi_device_info)0x20002)
#define PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_3D ((pi_device_info)0x20003)
#define PI_EXT_ONEAPI_DEVICE_INFO_CUDA_ASYNC_BARRIER ((pi_device_info)0x20004)
#define PI_EXT_DEVICE_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES ((pi_device_info)0x20006)
#define PI_EXT_DEVICE_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES ((pi_device_info)0x20007)

// What a device's floating-point units do.
typedef uint64_t pi_fp_capabilities;
#define PI_FP_DENORM ((pi_fp_capabilities)1)
#define PI_FP_INF_NAN ((pi_fp_capabilities)2)
#define PI_FP_ROUND_TO_NEAREST ((pi_fp_capabilities)4)
#define PI_FP_ROUND_TO_ZERO ((pi_fp_capabilities)8)
#define PI_FP_ROUND_TO_INF ((pi_fp_capabilities)16)
#define PI_FP_FMA ((pi_fp_capabilities)32)
#define PI_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ((pi_fp_capabilities)128)

// Cache between a device and its global memory.
typedef uint32_t pi_device_mem_cache_type;
#define PI_DEVICE_MEM_CACHE_TYPE_NONE ((pi_device_mem_cache_type)0)
#define PI_DEVICE_MEM_CACHE_TYPE_READ_ONLY_CACHE ((pi_device_mem_cache_type)1)
#define PI_DEVICE_MEM_CACHE_TYPE_READ_WRITE_CACHE ((pi_device_mem_cache_type)2)

// Where a device keeps local memory.
typedef uint32_t pi_device_local_mem_type;
#define PI_DEVICE_LOCAL_MEM_TYPE_LOCAL ((pi_device_local_mem_type)1)
#define PI_DEVICE_LOCAL_MEM_TYPE_GLOBAL ((pi_device_local_mem_type)2)

// What a device can execute.
typedef uint64_t pi_device_exec_capabilities;
#define PI_DEVICE_EXEC_CAPABILITIES_KERNEL ((pi_device_exec_capabilities)1)
#define PI_DEVICE_EXEC_CAPABILITIES_NATIVE_KERNEL ((pi_device_exec_capabilities)2)

// One word of a list given to piDevicePartition: a key, its values, and zeros at the end.
typedef intptr_t pi_device_partition_property;
#define PI_DEVICE_PARTITION_EQUALLY ((pi_device_partition_property)0x1086)
#define PI_DEVICE_PARTITION_BY_COUNTS ((pi_device_partition_property)0x1087)
#define PI_DEVICE_PARTITION_BY_COUNTS_LIST_END ((pi_device_partition_property)0)
#define PI_DEVICE_PARTITION_BY_AFFINITY_DOMAIN ((pi_device_partition_property)0x1088)

// What piContextGetInfo can be asked.
typedef uint32_t pi_context_info;
#define PI_CONTEXT_INFO_REFERENCE_COUNT ((pi_context_info)0x1080)
#define PI_CONTEXT_INFO_DEVICES ((pi_context_info)0x1081)
#define PI_CONTEXT_INFO_PROPERTIES ((pi_context_info)0x1082)
#define PI_CONTEXT_INFO_NUM_DEVICES ((pi_context_info)0x1083)
#define PI_CONTEXT_INFO_PLATFORM ((pi_context_info)0x1084)
#define PI_EXT_CONTEXT_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES ((pi_context_info)0x10010)
#define PI_EXT_CONTEXT_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES ((pi_context_info)0x10011)
#define PI_CONTEXT_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES ((pi_context_info)0x10012)
#define PI_CONTEXT_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES ((pi_context_info)0x10013)
#define PI_EXT_ONEAPI_CONTEXT_INFO_USM_FILL2D_SUPPORT ((pi_context_info)0x30000)
#define PI_EXT_ONEAPI_CONTEXT_INFO_USM_MEMSET2D_SUPPORT ((pi_context_info)0x30001)
#define PI_EXT_ONEAPI_CONTEXT_INFO_USM_MEMCPY2D_SUPPORT ((pi_context_info)0x30002)

// What piQueueGetInfo can be asked.
typedef uint32_t pi_queue_info;
#define PI_QUEUE_INFO_CONTEXT ((pi_queue_info)0x1090)
#define PI_QUEUE_INFO_DEVICE ((pi_queue_info)0x1091)
#define PI_QUEUE_INFO_REFERENCE_COUNT ((pi_queue_info)0x1092)
#define PI_QUEUE_INFO_PROPERTIES ((pi_queue_info)0x1093)
#define PI_QUEUE_INFO_SIZE ((pi_queue_info)0x1094)
#define PI_QUEUE_INFO_DEVICE_DEFAULT ((pi_queue_info)0x1095)
#define PI_EXT_ONEAPI_QUEUE_INFO_EMPTY ((pi_queue_info)0x2096)

// How a queue works: flags, which piQueueCreate takes by value. piextQueueCreate takes a list: a key, its value,
// …, 0.
typedef uint64_t pi_queue_properties;
#define PI_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE ((pi_queue_properties)1)
#define PI_QUEUE_PROFILING_ENABLE ((pi_queue_properties)2)
#define PI_QUEUE_ON_DEVICE ((pi_queue_properties)4)
#define PI_QUEUE_ON_DEVICE_DEFAULT ((pi_queue_properties)8)
#define PI_EXT_ONEAPI_QUEUE_DISCARD_EVENTS ((pi_queue_properties)0x10)
#define PI_EXT_ONEAPI_QUEUE_PRIORITY_LOW ((pi_queue_properties)0x20)
#define PI_EXT_ONEAPI_QUEUE_PRIORITY_HIGH ((pi_queue_properties)0x40)
#define PI_EXT_QUEUE_FLAG_SUBMISSION_NO_IMMEDIATE ((pi_queue_properties)0x80)
#define PI_EXT_QUEUE_FLAG_SUBMISSION_IMMEDIATE ((pi_queue_properties)0x100)
#define PI_QUEUE_FLAGS ((pi_queue_properties)0xffffffffffffffff)
#define PI_QUEUE_COMPUTE_INDEX ((pi_queue_properties)0xfffffffffffffffe)

// How a buffer is made.
typedef uint64_t pi_mem_flags;
#define PI_MEM_FLAGS_ACCESS_RW ((pi_mem_flags)1)
#define PI_MEM_FLAGS_HOST_PTR_USE ((pi_mem_flags)8)
#define PI_MEM_FLAGS_HOST_PTR_ALLOC ((pi_mem_flags)16)
#define PI_MEM_FLAGS_HOST_PTR_COPY ((pi_mem_flags)32)

// Why a buffer is mapped.
typedef uint64_t pi_map_flags;
#define PI_MAP_READ ((pi_map_flags)1)
#define PI_MAP_WRITE ((pi_map_flags)2)
#define PI_MAP_WRITE_INVALIDATE_REGION ((pi_map_flags)4)

// Kind of memory object.
typedef uint32_t pi_mem_type;
#define PI_MEM_TYPE_BUFFER ((pi_mem_type)0x10f0)
#define PI_MEM_TYPE_IMAGE2D ((pi_mem_type)0x10f1)
#define PI_MEM_TYPE_IMAGE3D ((pi_mem_type)0x10f2)
#define PI_MEM_TYPE_IMAGE2D_ARRAY ((pi_mem_type)0x10f3)
#define PI_MEM_TYPE_IMAGE1D ((pi_mem_type)0x10f4)
#define PI_MEM_TYPE_IMAGE1D_ARRAY ((pi_mem_type)0x10f5)
#define PI_MEM_TYPE_IMAGE1D_BUFFER ((pi_mem_type)0x10f6)

// What piMemGetInfo can be asked. PI 2.3 has no names for these and uses OpenCL's.
typedef uint32_t pi_mem_object_info;
#define PI_MEM_INFO_TYPE ((pi_mem_object_info)0x1100)
#define PI_MEM_INFO_FLAGS ((pi_mem_object_info)0x1101)
#define PI_MEM_INFO_SIZE ((pi_mem_object_info)0x1102)
#define PI_MEM_INFO_HOST_PTR ((pi_mem_object_info)0x1103)
#define PI_MEM_INFO_MAP_COUNT ((pi_mem_object_info)0x1104)
#define PI_MEM_INFO_REFERENCE_COUNT ((pi_mem_object_info)0x1105)
#define PI_MEM_INFO_CONTEXT ((pi_mem_object_info)0x1106)
#define PI_MEM_INFO_ASSOCIATED_MEMOBJECT ((pi_mem_object_info)0x1107)
#define PI_MEM_INFO_OFFSET ((pi_mem_object_info)0x1108)

// What piMemImageGetInfo can be asked.
typedef uint32_t pi_image_info;
#define PI_IMAGE_INFO_FORMAT ((pi_image_info)0x1110)
#define PI_IMAGE_INFO_ELEMENT_SIZE ((pi_image_info)0x1111)
#define PI_IMAGE_INFO_ROW_PITCH ((pi_image_info)0x1112)
#define PI_IMAGE_INFO_SLICE_PITCH ((pi_image_info)0x1113)
#define PI_IMAGE_INFO_WIDTH ((pi_image_info)0x1114)
#define PI_IMAGE_INFO_HEIGHT ((pi_image_info)0x1115)
#define PI_IMAGE_INFO_DEPTH ((pi_image_info)0x1116)

// How piMemBufferPartition is told the part.
typedef uint32_t pi_buffer_create_type;
#define PI_BUFFER_CREATE_TYPE_REGION ((pi_buffer_create_type)0x1220)

// What piProgramGetInfo can be asked.
typedef uint32_t pi_program_info;
#define PI_PROGRAM_INFO_REFERENCE_COUNT ((pi_program_info)0x1160)
#define PI_PROGRAM_INFO_CONTEXT ((pi_program_info)0x1161)
#define PI_PROGRAM_INFO_NUM_DEVICES ((pi_program_info)0x1162)
#define PI_PROGRAM_INFO_DEVICES ((pi_program_info)0x1163)
#define PI_PROGRAM_INFO_SOURCE ((pi_program_info)0x1164)
#define PI_PROGRAM_INFO_BINARY_SIZES ((pi_program_info)0x1165)
#define PI_PROGRAM_INFO_BINARIES ((pi_program_info)0x1166)
#define PI_PROGRAM_INFO_NUM_KERNELS ((pi_program_info)0x1167)
#define PI_PROGRAM_INFO_KERNEL_NAMES ((pi_program_info)0x1168)

// What piProgramGetBuildInfo can be asked.
typedef uint32_t pi_program_build_info;
#define PI_PROGRAM_BUILD_INFO_STATUS ((pi_program_build_info)0x1181)
#define PI_PROGRAM_BUILD_INFO_OPTIONS ((pi_program_build_info)0x1182)
#define PI_PROGRAM_BUILD_INFO_LOG ((pi_program_build_info)0x1183)
#define PI_PROGRAM_BUILD_INFO_BINARY_TYPE ((pi_program_build_info)0x1184)

// How far the last compile, link or build of a program got.
typedef int32_t pi_program_build_status;
#define PI_PROGRAM_BUILD_STATUS_SUCCESS ((pi_program_build_status)0)
#define PI_PROGRAM_BUILD_STATUS_NONE ((pi_program_build_status)(-1))
#define PI_PROGRAM_BUILD_STATUS_ERROR ((pi_program_build_status)(-2))
#define PI_PROGRAM_BUILD_STATUS_IN_PROGRESS ((pi_program_build_status)(-3))

// State of a program's code.
typedef uint32_t pi_program_binary_type;
#define PI_PROGRAM_BINARY_TYPE_NONE ((pi_program_binary_type)0)
#define PI_PROGRAM_BINARY_TYPE_COMPILED_OBJECT ((pi_program_binary_type)1)
#define PI_PROGRAM_BINARY_TYPE_LIBRARY ((pi_program_binary_type)2)
#define PI_PROGRAM_BINARY_TYPE_EXECUTABLE ((pi_program_binary_type)4)

// What piKernelGetInfo can be asked.
typedef uint32_t pi_kernel_info;
#define PI_KERNEL_INFO_FUNCTION_NAME ((pi_kernel_info)0x1190)
#define PI_KERNEL_INFO_NUM_ARGS ((pi_kernel_info)0x1191)
#define PI_KERNEL_INFO_REFERENCE_COUNT ((pi_kernel_info)0x1192)
#define PI_KERNEL_INFO_CONTEXT ((pi_kernel_info)0x1193)
#define PI_KERNEL_INFO_PROGRAM ((pi_kernel_info)0x1194)
#define PI_KERNEL_INFO_ATTRIBUTES ((pi_kernel_info)0x1195)

// What piKernelGetGroupInfo can be asked.
typedef uint32_t pi_kernel_group_info;
#define PI_KERNEL_GROUP_INFO_WORK_GROUP_SIZE ((pi_kernel_group_info)0x11b0)
#define PI_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE ((pi_kernel_group_info)0x11b1)
#define PI_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE ((pi_kernel_group_info)0x11b2)
#define PI_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE ((pi_kernel_group_info)0x11b3)
#define PI_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE ((pi_kernel_group_info)0x11b4)
#define PI_KERNEL_GROUP_INFO_GLOBAL_WORK_SIZE ((pi_kernel_group_info)0x11b5)

// What piKernelGetSubGroupInfo can be asked.
typedef uint32_t pi_kernel_sub_group_info;
#define PI_KERNEL_MAX_SUB_GROUP_SIZE ((pi_kernel_sub_group_info)0x2033)
#define PI_KERNEL_MAX_NUM_SUB_GROUPS ((pi_kernel_sub_group_info)0x11b9)
#define PI_KERNEL_COMPILE_NUM_SUB_GROUPS ((pi_kernel_sub_group_info)0x11ba)
#define PI_KERNEL_COMPILE_SUB_GROUP_SIZE_INTEL ((pi_kernel_sub_group_info)0x410a)

// What piKernelSetExecInfo can be told.
typedef uint32_t pi_kernel_exec_info;
#define PI_USM_INDIRECT_ACCESS ((pi_kernel_exec_info)0)
#define PI_USM_PTRS ((pi_kernel_exec_info)0x4203)
#define PI_EXT_KERNEL_EXEC_INFO_CACHE_CONFIG ((pi_kernel_exec_info)0x4204)

// Which record of piextKernelSetArgMemObj it is.
typedef uint32_t pi_mem_obj_property_type;
#define PI_KERNEL_ARG_MEM_OBJ_ACCESS ((pi_mem_obj_property_type)27)

// What a kernel does with a memory object.
typedef uint32_t pi_mem_obj_access;
#define PI_ACCESS_READ_WRITE ((pi_mem_obj_access)1)
#define PI_ACCESS_WRITE_ONLY ((pi_mem_obj_access)2)
#define PI_ACCESS_READ_ONLY ((pi_mem_obj_access)4)

// What piEventGetInfo can be asked.
typedef uint32_t pi_event_info;
#define PI_EVENT_INFO_COMMAND_QUEUE ((pi_event_info)0x11d0)
#define PI_EVENT_INFO_COMMAND_TYPE ((pi_event_info)0x11d1)
#define PI_EVENT_INFO_REFERENCE_COUNT ((pi_event_info)0x11d2)
#define PI_EVENT_INFO_COMMAND_EXECUTION_STATUS ((pi_event_info)0x11d3)
#define PI_EVENT_INFO_CONTEXT ((pi_event_info)0x11d4)

// Kind of command an event stands for.
typedef uint32_t pi_command_type;
#define PI_COMMAND_TYPE_NDRANGE_KERNEL ((pi_command_type)0x11f0)
#define PI_COMMAND_TYPE_NATIVE_KERNEL ((pi_command_type)0x11f2)
#define PI_COMMAND_TYPE_MEM_BUFFER_READ ((pi_command_type)0x11f3)
#define PI_COMMAND_TYPE_MEM_BUFFER_WRITE ((pi_command_type)0x11f4)
#define PI_COMMAND_TYPE_MEM_BUFFER_COPY ((pi_command_type)0x11f5)
#define PI_COMMAND_TYPE_IMAGE_READ ((pi_command_type)0x11f6)
#define PI_COMMAND_TYPE_IMAGE_WRITE ((pi_command_type)0x11f7)
#define PI_COMMAND_TYPE_IMAGE_COPY ((pi_command_type)0x11f8)
#define PI_COMMAND_TYPE_COPY_IMAGE_TO_BUFFER ((pi_command_type)0x11f9)
#define PI_COMMAND_TYPE_COPY_BUFFER_TO_IMAGE ((pi_command_type)0x11fa)
#define PI_COMMAND_TYPE_MEM_BUFFER_MAP ((pi_command_type)0x11fb)
#define PI_COMMAND_TYPE_MAP_IMAGE ((pi_command_type)0x11fc)
#define PI_COMMAND_TYPE_MEM_BUFFER_UNMAP ((pi_command_type)0x11fd)
#define PI_COMMAND_TYPE_MARKER ((pi_command_type)0x11fe)
#define PI_COMMAND_TYPE_MEM_BUFFER_READ_RECT ((pi_command_type)0x1201)
#define PI_COMMAND_TYPE_MEM_BUFFER_WRITE_RECT ((pi_command_type)0x1202)
#define PI_COMMAND_TYPE_MEM_BUFFER_COPY_RECT ((pi_command_type)0x1203)
#define PI_COMMAND_TYPE_USER ((pi_command_type)0x1204)
#define PI_COMMAND_TYPE_BARRIER ((pi_command_type)0x1205)
#define PI_COMMAND_TYPE_MIGRATE_MEM_OBJECTS ((pi_command_type)0x1206)
#define PI_COMMAND_TYPE_MEM_BUFFER_FILL ((pi_command_type)0x1207)
#define PI_COMMAND_TYPE_FILL_IMAGE ((pi_command_type)0x1208)
#define PI_COMMAND_TYPE_SVM_FREE ((pi_command_type)0x1209)
#define PI_COMMAND_TYPE_SVM_MEMCPY ((pi_command_type)0x120a)
#define PI_COMMAND_TYPE_SVM_MEMFILL ((pi_command_type)0x120b)
#define PI_COMMAND_TYPE_SVM_MAP ((pi_command_type)0x120c)
#define PI_COMMAND_TYPE_SVM_UNMAP ((pi_command_type)0x120d)

// What piEventGetProfilingInfo can be asked; each is a time in nanoseconds.
typedef uint32_t pi_profiling_info;
#define PI_PROFILING_INFO_COMMAND_QUEUED ((pi_profiling_info)0x1280)
#define PI_PROFILING_INFO_COMMAND_SUBMIT ((pi_profiling_info)0x1281)
#define PI_PROFILING_INFO_COMMAND_START ((pi_profiling_info)0x1282)
#define PI_PROFILING_INFO_COMMAND_END ((pi_profiling_info)0x1283)

// What piSamplerGetInfo can be asked.
typedef uint32_t pi_sampler_info;
#define PI_SAMPLER_INFO_REFERENCE_COUNT ((pi_sampler_info)0x1150)
#define PI_SAMPLER_INFO_CONTEXT ((pi_sampler_info)0x1151)
#define PI_SAMPLER_INFO_NORMALIZED_COORDS ((pi_sampler_info)0x1152)
#define PI_SAMPLER_INFO_ADDRESSING_MODE ((pi_sampler_info)0x1153)
#define PI_SAMPLER_INFO_FILTER_MODE ((pi_sampler_info)0x1154)
#define PI_SAMPLER_INFO_MIP_FILTER_MODE ((pi_sampler_info)0x1155)
#define PI_SAMPLER_INFO_LOD_MIN ((pi_sampler_info)0x1156)
#define PI_SAMPLER_INFO_LOD_MAX ((pi_sampler_info)0x1157)

// What a device can do with one kind of USM allocation.
typedef uint64_t pi_usm_capabilities;
#define PI_USM_ACCESS ((pi_usm_capabilities)1)
#define PI_USM_ATOMIC_ACCESS ((pi_usm_capabilities)2)
#define PI_USM_CONCURRENT_ACCESS ((pi_usm_capabilities)4)
#define PI_USM_CONCURRENT_ATOMIC_ACCESS ((pi_usm_capabilities)8)

// What piextUSMGetMemAllocInfo can be asked.
typedef uint32_t pi_mem_info;
#define PI_MEM_ALLOC_TYPE ((pi_mem_info)0x419a)
#define PI_MEM_ALLOC_BASE_PTR ((pi_mem_info)0x419b)
#define PI_MEM_ALLOC_SIZE ((pi_mem_info)0x419c)
#define PI_MEM_ALLOC_DEVICE ((pi_mem_info)0x419d)

// Kind of USM allocation.
typedef uint32_t pi_usm_type;
#define PI_MEM_TYPE_UNKNOWN ((pi_usm_type)0x4196)
#define PI_MEM_TYPE_HOST ((pi_usm_type)0x4197)
#define PI_MEM_TYPE_DEVICE ((pi_usm_type)0x4198)
#define PI_MEM_TYPE_SHARED ((pi_usm_type)0x4199)

// A hint about a USM allocation, one bit each. That is 15.47; earlier versions have numbers from 101 on, in the same
// order.
typedef uint32_t pi_mem_advice;
#define PI_MEM_ADVICE_RESET ((pi_mem_advice)0)
#define PI_MEM_ADVICE_CUDA_SET_READ_MOSTLY ((pi_mem_advice)0x1)
#define PI_MEM_ADVICE_CUDA_UNSET_READ_MOSTLY ((pi_mem_advice)0x2)
#define PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION ((pi_mem_advice)0x4)
#define PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION ((pi_mem_advice)0x8)
#define PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY ((pi_mem_advice)0x10)
#define PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY ((pi_mem_advice)0x20)
#define PI_MEM_ADVICE_CUDA_SET_PREFERRED_LOCATION_HOST ((pi_mem_advice)0x40)
#define PI_MEM_ADVICE_CUDA_UNSET_PREFERRED_LOCATION_HOST ((pi_mem_advice)0x80)
#define PI_MEM_ADVICE_CUDA_SET_ACCESSED_BY_HOST ((pi_mem_advice)0x100)
#define PI_MEM_ADVICE_CUDA_UNSET_ACCESSED_BY_HOST ((pi_mem_advice)0x200)
#define PI_MEM_ADVICE_HIP_SET_COARSE_GRAINED ((pi_mem_advice)0x400)
#define PI_MEM_ADVICE_HIP_UNSET_COARSE_GRAINED ((pi_mem_advice)0x800)
#define PI_MEM_ADVICE_UNKNOWN ((pi_mem_advice)0x7fffffff)

// What piextPeerAccessGetInfo can be asked.
typedef uint32_t pi_peer_attr;
#define PI_PEER_ACCESS_SUPPORTED ((pi_peer_attr)0)
#define PI_PEER_ATOMICS_SUPPORTED ((pi_peer_attr)1)

// Where a bindless image is copied.
typedef uint32_t pi_image_copy_flags;
#define PI_IMAGE_COPY_HOST_TO_DEVICE ((pi_image_copy_flags)0)
#define PI_IMAGE_COPY_DEVICE_TO_HOST ((pi_image_copy_flags)1)
#define PI_IMAGE_COPY_DEVICE_TO_DEVICE ((pi_image_copy_flags)2)

// How USM memory is prefetched.
typedef uint64_t pi_usm_migration_flags;
#define PI_USM_MIGRATION_TBD0 ((pi_usm_migration_flags)1)

// A byte range of a buffer, for piMemBufferPartition.
typedef struct pi_buffer_region_struct {
  // First byte, counted from the start of the buffer.
  size_t origin;
  // Length in bytes.
  size_t size;
} pi_buffer_region_struct;

// Where a box starts within a buffer seen as a three-dimensional array of bytes.
typedef struct pi_buff_rect_offset_struct {
  // First column, in bytes.
  size_t x_bytes;
  // First row.
  size_t y_scalar;
  // First slice.
  size_t z_scalar;
} pi_buff_rect_offset_struct;

// The extent of a box within a buffer seen as a three-dimensional array of bytes.
typedef struct pi_buff_rect_region_struct {
  // Columns, in bytes.
  size_t width_bytes;
  // Rows.
  size_t height_scalar;
  // Slices.
  size_t depth_scalar;
} pi_buff_rect_region_struct;

// Where a box starts within an image, in elements.
typedef struct pi_image_offset_struct {
  // First column.
  size_t x;
  // First row.
  size_t y;
  // First slice.
  size_t z;
} pi_image_offset_struct;

// The extent of a box within an image, in elements.
typedef struct pi_image_region_struct {
  // Columns.
  size_t width;
  // Rows.
  size_t height;
  // Slices.
  size_t depth;
} pi_image_region_struct;

// Pointer to where a box starts in a buffer.
typedef pi_buff_rect_offset_struct *pi_buff_rect_offset;

// Pointer to the extent of a box in a buffer.
typedef pi_buff_rect_region_struct *pi_buff_rect_region;

// Pointer to where a box starts in an image.
typedef pi_image_offset_struct *pi_image_offset;

// Pointer to the extent of a box in an image.
typedef pi_image_region_struct *pi_image_region;

// Channel order and channel type of an image (OpenCL's numbers).
typedef struct pi_image_format {
  // Which channels there are, and in what order.
  pi_uint32 image_channel_order;
  // How one channel is stored.
  pi_uint32 image_channel_data_type;
} pi_image_format;

// Shape of an image.
typedef struct pi_image_desc {
  // Dimensionality (a PI_MEM_TYPE_* value).
  pi_uint32 image_type;
  // Columns.
  size_t image_width;
  // Rows.
  size_t image_height;
  // Slices.
  size_t image_depth;
  // Images of an array.
  size_t image_array_size;
  // Bytes from one row to the next, 0 for tightly packed.
  size_t image_row_pitch;
  // Bytes from one slice to the next, 0 for tightly packed.
  size_t image_slice_pitch;
  // Mip levels.
  pi_uint32 num_mip_levels;
  // Samples of a multi-sampled image.
  pi_uint32 num_samples;
  // The buffer an image is made from, or null.
  pi_mem buffer;
} pi_image_desc;

// What a kernel does with a memory object, for piextKernelSetArgMemObj since 15.47.
typedef struct pi_mem_obj_property {
  // PI_KERNEL_ARG_MEM_OBJ_ACCESS.
  pi_uint32 property_type;
  // The next record, or null.
  void *next;
  // A PI_ACCESS_* value.
  pi_mem_obj_access mem_access;
} pi_mem_obj_property;

// How a command buffer is made.
typedef struct pi_ext_command_buffer_desc {
  // 0.
  pi_uint32 structure_type;
  // The next record, or null.
  const void *next;
  // A list of properties, or null.
  uint64_t *properties;
} pi_ext_command_buffer_desc;

// Called when something goes wrong in a context.
typedef void (*pi_context_notify)(const char *, const void *, size_t, void *);

// Called when a compile, link or build is done.
typedef void (*pi_program_notify)(pi_program, void *);

// Called when an event reaches a status.
typedef void (*pi_event_notify)(pi_event, pi_int32, void *);

// Called when a context goes away.
typedef void (*pi_context_extended_deleter)(void *);

// A function of the host run as a command.
typedef void (*pi_native_function)(void *);

// An entry of a device image: a kernel's name, and fields of no meaning on the device. 32 bytes.
typedef struct pi_offload_entry_struct {
  // Unused for device images.
  void *addr;
  // The name, NUL-terminated.
  char *name;
  // Unused for device images.
  size_t size;
  // Unused for device images.
  int32_t flags;
  // Always 0.
  int32_t reserved;
} pi_offload_entry_struct;

// A named value. 32 bytes.
typedef struct pi_device_binary_property_struct {
  // The name, NUL-terminated.
  char *Name;
  // The value, where it does not fit ValSize; otherwise null.
  void *ValAddr;
  // A PI_PROPERTY_TYPE_* value.
  uint32_t Type;
  // The value's size in bytes, or the value itself for PI_PROPERTY_TYPE_UINT32.
  uint64_t ValSize;
} pi_device_binary_property_struct;

// Pointer to a named value.
typedef pi_device_binary_property_struct *pi_device_binary_property;

// A named list of properties. 24 bytes.
typedef struct pi_device_binary_property_set_struct {
  // The name, NUL-terminated.
  char *Name;
  // First property.
  pi_device_binary_property_struct *PropertiesBegin;
  // One past the last property.
  pi_device_binary_property_struct *PropertiesEnd;
} pi_device_binary_property_set_struct;

// A device image, version 2: PI 1.2 and later, DPC++ from the middle of 2020 to 2025.0. 96 bytes.
typedef struct pi_device_binary_struct {
  // 2 in images written by compilers; runtimes of the PI era do not check it.
  uint16_t Version;
  // PI_DEVICE_BINARY_OFFLOAD_KIND_SYCL.
  uint8_t Kind;
  // A PI_DEVICE_BINARY_TYPE_* value.
  uint8_t Format;
  // Target such as spir64, NUL-terminated.
  const char *DeviceTargetSpec;
  // Options for compiling on the device, NUL-terminated.
  const char *CompileOptions;
  // Options for linking on the device, NUL-terminated.
  const char *LinkOptions;
  // First byte of the manifest.
  const char *ManifestStart;
  // One past the last byte of the manifest.
  const char *ManifestEnd;
  // First byte of the device code.
  const uint8_t *BinaryStart;
  // One past the last byte of the device code.
  const uint8_t *BinaryEnd;
  // First entry.
  pi_offload_entry_struct *EntriesBegin;
  // One past the last entry.
  pi_offload_entry_struct *EntriesEnd;
  // First property set.
  pi_device_binary_property_set_struct *PropertySetsBegin;
  // One past the last property set.
  pi_device_binary_property_set_struct *PropertySetsEnd;
} pi_device_binary_struct;

// Pointer to a device image.
typedef pi_device_binary_struct *pi_device_binary;

// What a program registers: its device images. 32 bytes.
typedef struct pi_device_binaries_struct {
  // 1.
  uint16_t Version;
  // Number of images.
  uint16_t NumDeviceBinaries;
  // The images, one after the other.
  pi_device_binary_struct *DeviceBinaries;
  // Unused.
  pi_offload_entry_struct *HostEntriesBegin;
  // Unused.
  pi_offload_entry_struct *HostEntriesEnd;
} pi_device_binaries_struct;

// Kind of every image of a SYCL program.
#define PI_DEVICE_BINARY_OFFLOAD_KIND_SYCL ((uint8_t)4)
// The format is not said; look at the first bytes.
#define PI_DEVICE_BINARY_TYPE_NONE ((uint8_t)0)
// Machine code of one device.
#define PI_DEVICE_BINARY_TYPE_NATIVE ((uint8_t)1)
// SPIR-V.
#define PI_DEVICE_BINARY_TYPE_SPIRV ((uint8_t)2)
// LLVM bitcode.
#define PI_DEVICE_BINARY_TYPE_LLVMIR_BITCODE ((uint8_t)3)
// Compressed with zstd; what is inside is found out after decompression (2025 and later).
#define PI_DEVICE_BINARY_TYPE_COMPRESSED_NONE ((uint8_t)4)
// Not a known kind of value.
#define PI_PROPERTY_TYPE_UNKNOWN ((uint32_t)0)
// A 32-bit integer, kept in ValSize.
#define PI_PROPERTY_TYPE_UINT32 ((uint32_t)1)
// Bytes: an 8-byte little-endian count of bits, then the data.
#define PI_PROPERTY_TYPE_BYTE_ARRAY ((uint32_t)2)
// NUL-terminated text.
#define PI_PROPERTY_TYPE_STRING ((uint32_t)3)

// The functions, with the versions that have them like this.

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piPlatformsGet_fn(pi_uint32 num_entries, pi_platform *platforms, pi_uint32 *num_platforms);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piPlatformGetInfo_fn(pi_platform platform, pi_platform_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextPlatformGetNativeHandle_fn(pi_platform platform, pi_native_handle *native_handle);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextPlatformCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_platform *platform);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piDevicesGet_fn(pi_platform platform, pi_device_type device_type, pi_uint32 num_entries,
    pi_device *devices, pi_uint32 *num_devices);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piDeviceGetInfo_fn(pi_device device, pi_device_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piDevicePartition_fn(pi_device device, const pi_device_partition_property *properties,
    pi_uint32 num_devices, pi_device *out_devices, pi_uint32 *out_num_devices);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piDeviceRetain_fn(pi_device device);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piDeviceRelease_fn(pi_device device);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextDeviceSelectBinary_fn(pi_device device, pi_device_binary *binaries, pi_uint32 num_binaries,
    pi_uint32 *selected_binary_ind);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextGetDeviceFunctionPointer_fn(pi_device device, pi_program program, const char *function_name,
    pi_uint64 *function_pointer_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextDeviceGetNativeHandle_fn(pi_device device, pi_native_handle *native_handle);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextDeviceCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_platform platform,
    pi_device *device);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piContextCreate_fn(const pi_context_properties *properties, pi_uint32 num_devices,
    const pi_device *devices, pi_context_notify pfn_notify, void *user_data, pi_context *ret_context);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piContextGetInfo_fn(pi_context context, pi_context_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piContextRetain_fn(pi_context context);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piContextRelease_fn(pi_context context);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextContextSetExtendedDeleter_fn(pi_context context, pi_context_extended_deleter func,
    void *user_data);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextContextGetNativeHandle_fn(pi_context context, pi_native_handle *native_handle);

// 2.3
typedef pi_result piextContextCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_uint32 num_devices,
    const pi_device *devices, pi_context *context);

// 6.8, 12.27, 15.47
typedef pi_result piextContextCreateWithNativeHandle_b_fn(pi_native_handle native_handle, pi_uint32 num_devices,
    const pi_device *devices, bool plugin_owns_native_handle, pi_context *context);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piQueueCreate_fn(pi_context context, pi_device device, pi_queue_properties properties,
    pi_queue *queue);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piQueueGetInfo_fn(pi_queue command_queue, pi_queue_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piQueueFinish_fn(pi_queue command_queue);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piQueueRetain_fn(pi_queue command_queue);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piQueueRelease_fn(pi_queue command_queue);

// 2.3, 6.8, 12.27
typedef pi_result piextQueueGetNativeHandle_fn(pi_queue queue, pi_native_handle *native_handle);

// 15.47
typedef pi_result piextQueueGetNativeHandle_b_fn(pi_queue queue, pi_native_handle *native_handle,
    int32_t *native_handle_desc);

// 2.3
typedef pi_result piextQueueCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_context context,
    pi_queue *queue);

// 6.8
typedef pi_result piextQueueCreateWithNativeHandle_b_fn(pi_native_handle native_handle, pi_context context,
    pi_queue *queue, bool plugin_owns_native_handle);

// 12.27
typedef pi_result piextQueueCreateWithNativeHandle_c_fn(pi_native_handle native_handle, pi_context context,
    pi_device device, bool plugin_owns_native_handle, pi_queue *queue);

// 15.47
typedef pi_result piextQueueCreateWithNativeHandle_d_fn(pi_native_handle native_handle, int32_t native_handle_desc,
    pi_context context, pi_device device, bool plugin_owns_native_handle, pi_queue_properties *properties,
    pi_queue *queue);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piMemBufferCreate_fn(pi_context context, pi_mem_flags flags, size_t size, void *host_ptr,
    pi_mem *ret_mem, const pi_mem_properties *properties);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piMemImageCreate_fn(pi_context context, pi_mem_flags flags, const pi_image_format *image_format,
    const pi_image_desc *image_desc, void *host_ptr, pi_mem *ret_mem);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piMemGetInfo_fn(pi_mem mem, pi_mem_object_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piMemImageGetInfo_fn(pi_mem image, pi_image_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piMemRetain_fn(pi_mem mem);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piMemRelease_fn(pi_mem mem);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piMemBufferPartition_fn(pi_mem buffer, pi_mem_flags flags,
    pi_buffer_create_type buffer_create_type, void *buffer_create_info, pi_mem *ret_mem);

// 2.3, 6.8, 12.27
typedef pi_result piextMemGetNativeHandle_fn(pi_mem mem, pi_native_handle *native_handle);

// 15.47
typedef pi_result piextMemGetNativeHandle_b_fn(pi_mem mem, pi_device device, pi_native_handle *native_handle);

// 2.3, 6.8
typedef pi_result piextMemCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_mem *mem);

// 12.27, 15.47
typedef pi_result piextMemCreateWithNativeHandle_b_fn(pi_native_handle native_handle, pi_context context,
    bool own_native_handle, pi_mem *mem);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramCreate_fn(pi_context context, const void *il, size_t length, pi_program *res_program);

// 2.3, 6.8, 12.27
typedef pi_result piclProgramCreateWithSource_fn(pi_context context, pi_uint32 count, const char **strings,
    const size_t *lengths, pi_program *ret_program);

// 2.3
typedef pi_result piProgramCreateWithBinary_fn(pi_context context, pi_uint32 num_devices,
    const pi_device *device_list, const size_t *lengths, const uint8_t **binaries, pi_int32 *binary_status,
    pi_program *ret_program);

// 6.8, 12.27, 15.47
typedef pi_result piProgramCreateWithBinary_b_fn(pi_context context, pi_uint32 num_devices,
    const pi_device *device_list, const size_t *lengths, const uint8_t **binaries, size_t num_metadata_entries,
    const pi_device_binary_property *metadata, pi_int32 *binary_status, pi_program *ret_program);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramGetInfo_fn(pi_program program, pi_program_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramCompile_fn(pi_program program, pi_uint32 num_devices, const pi_device *device_list,
    const char *options, pi_uint32 num_input_headers, const pi_program *input_headers,
    const char **header_include_names, pi_program_notify pfn_notify, void *user_data);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramBuild_fn(pi_program program, pi_uint32 num_devices, const pi_device *device_list,
    const char *options, pi_program_notify pfn_notify, void *user_data);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramLink_fn(pi_context context, pi_uint32 num_devices, const pi_device *device_list,
    const char *options, pi_uint32 num_input_programs, const pi_program *input_programs,
    pi_program_notify pfn_notify, void *user_data, pi_program *ret_program);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramGetBuildInfo_fn(pi_program program, pi_device device, pi_program_build_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramRetain_fn(pi_program program);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piProgramRelease_fn(pi_program program);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextProgramSetSpecializationConstant_fn(pi_program prog, pi_uint32 spec_id, size_t spec_size,
    const void *spec_value);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextProgramGetNativeHandle_fn(pi_program program, pi_native_handle *native_handle);

// 2.3
typedef pi_result piextProgramCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_context context,
    pi_program *program);

// 6.8, 12.27, 15.47
typedef pi_result piextProgramCreateWithNativeHandle_b_fn(pi_native_handle native_handle, pi_context context,
    bool plugin_owns_native_handle, pi_program *program);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelCreate_fn(pi_program program, const char *kernel_name, pi_kernel *ret_kernel);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelSetArg_fn(pi_kernel kernel, pi_uint32 arg_index, size_t arg_size, const void *arg_value);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelGetInfo_fn(pi_kernel kernel, pi_kernel_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelGetGroupInfo_fn(pi_kernel kernel, pi_device device, pi_kernel_group_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelGetSubGroupInfo_fn(pi_kernel kernel, pi_device device, pi_kernel_sub_group_info param_name,
    size_t input_value_size, const void *input_value, size_t param_value_size, void *param_value,
    size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelRetain_fn(pi_kernel kernel);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelRelease_fn(pi_kernel kernel);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextKernelSetArgPointer_fn(pi_kernel kernel, pi_uint32 arg_index, size_t arg_size,
    const void *arg_value);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piKernelSetExecInfo_fn(pi_kernel kernel, pi_kernel_exec_info value_name, size_t param_value_size,
    const void *param_value);

// 2.3, 6.8
typedef pi_result piEventCreate_fn(pi_context context, pi_event *ret_event);

// 12.27, 15.47
typedef pi_result piEventCreate_b_fn(pi_context context, pi_event *ret_event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEventGetInfo_fn(pi_event event, pi_event_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEventGetProfilingInfo_fn(pi_event event, pi_profiling_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEventsWait_fn(pi_uint32 num_events, const pi_event *event_list);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEventSetCallback_fn(pi_event event, pi_int32 command_exec_callback_type,
    pi_event_notify pfn_notify, void *user_data);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEventSetStatus_fn(pi_event event, pi_int32 execution_status);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEventRetain_fn(pi_event event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEventRelease_fn(pi_event event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextEventGetNativeHandle_fn(pi_event event, pi_native_handle *native_handle);

// 2.3
typedef pi_result piextEventCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_event *event);

// 6.8, 12.27, 15.47
typedef pi_result piextEventCreateWithNativeHandle_b_fn(pi_native_handle native_handle, pi_context context,
    bool own_native_handle, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piSamplerCreate_fn(pi_context context, const pi_sampler_properties *sampler_properties,
    pi_sampler *result_sampler);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piSamplerGetInfo_fn(pi_sampler sampler, pi_sampler_info param_name, size_t param_value_size,
    void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piSamplerRetain_fn(pi_sampler sampler);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piSamplerRelease_fn(pi_sampler sampler);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueKernelLaunch_fn(pi_queue queue, pi_kernel kernel, pi_uint32 work_dim,
    const size_t *global_work_offset, const size_t *global_work_size, const size_t *local_work_size,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27
typedef pi_result piEnqueueNativeKernel_fn(pi_queue queue, pi_native_function user_func, void *args, size_t cb_args,
    pi_uint32 num_mem_objects, const pi_mem *mem_list, const void **args_mem_loc, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueEventsWait_fn(pi_queue command_queue, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueEventsWaitWithBarrier_fn(pi_queue command_queue, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferRead_fn(pi_queue queue, pi_mem buffer, pi_bool blocking_read, size_t offset,
    size_t size, void *ptr, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferReadRect_fn(pi_queue command_queue, pi_mem buffer, pi_bool blocking_read,
    pi_buff_rect_offset buffer_offset, pi_buff_rect_offset host_offset, pi_buff_rect_region region,
    size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, void *ptr,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferWrite_fn(pi_queue command_queue, pi_mem buffer, pi_bool blocking_write,
    size_t offset, size_t size, const void *ptr, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list,
    pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferWriteRect_fn(pi_queue command_queue, pi_mem buffer, pi_bool blocking_write,
    pi_buff_rect_offset buffer_offset, pi_buff_rect_offset host_offset, pi_buff_rect_region region,
    size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
    const void *ptr, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferCopy_fn(pi_queue command_queue, pi_mem src_buffer, pi_mem dst_buffer,
    size_t src_offset, size_t dst_offset, size_t size, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferCopyRect_fn(pi_queue command_queue, pi_mem src_buffer, pi_mem dst_buffer,
    pi_buff_rect_offset src_origin, pi_buff_rect_offset dst_origin, pi_buff_rect_region region, size_t src_row_pitch,
    size_t src_slice_pitch, size_t dst_row_pitch, size_t dst_slice_pitch, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferFill_fn(pi_queue command_queue, pi_mem buffer, const void *pattern,
    size_t pattern_size, size_t offset, size_t size, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemImageRead_fn(pi_queue command_queue, pi_mem image, pi_bool blocking_read,
    pi_image_offset origin, pi_image_region region, size_t row_pitch, size_t slice_pitch, void *ptr,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemImageWrite_fn(pi_queue command_queue, pi_mem image, pi_bool blocking_write,
    pi_image_offset origin, pi_image_region region, size_t input_row_pitch, size_t input_slice_pitch,
    const void *ptr, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemImageCopy_fn(pi_queue command_queue, pi_mem src_image, pi_mem dst_image,
    pi_image_offset src_origin, pi_image_offset dst_origin, pi_image_region region,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemImageFill_fn(pi_queue command_queue, pi_mem image, const void *fill_color,
    const size_t *origin, const size_t *region, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list,
    pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemBufferMap_fn(pi_queue command_queue, pi_mem buffer, pi_bool blocking_map,
    pi_map_flags map_flags, size_t offset, size_t size, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event, void **ret_map);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piEnqueueMemUnmap_fn(pi_queue command_queue, pi_mem memobj, void *mapped_ptr,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMHostAlloc_fn(void **result_ptr, pi_context context, pi_usm_mem_properties *properties,
    size_t size, pi_uint32 alignment);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMDeviceAlloc_fn(void **result_ptr, pi_context context, pi_device device,
    pi_usm_mem_properties *properties, size_t size, pi_uint32 alignment);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMSharedAlloc_fn(void **result_ptr, pi_context context, pi_device device,
    pi_usm_mem_properties *properties, size_t size, pi_uint32 alignment);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMFree_fn(pi_context context, void *ptr);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMEnqueueMemset_fn(pi_queue queue, void *ptr, pi_int32 value, size_t count,
    pi_uint32 num_events_in_waitlist, const pi_event *events_waitlist, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMEnqueueMemcpy_fn(pi_queue queue, pi_bool blocking, void *dst_ptr, const void *src_ptr,
    size_t size, pi_uint32 num_events_in_waitlist, const pi_event *events_waitlist, pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMEnqueuePrefetch_fn(pi_queue queue, const void *ptr, size_t size,
    pi_usm_migration_flags flags, pi_uint32 num_events_in_waitlist, const pi_event *events_waitlist, pi_event *event);

// 2.3, 6.8
typedef pi_result piextUSMEnqueueMemAdvise_fn(pi_queue queue, const void *ptr, size_t length, pi_mem_advice advice,
    pi_event *event);

// 12.27
typedef pi_result piextUSMEnqueueMemAdvise_b_fn(pi_queue queue, const void *ptr, size_t length, pi_mem_advice advice,
    pi_event *event);

// 15.47
typedef pi_result piextUSMEnqueueMemAdvise_c_fn(pi_queue queue, const void *ptr, size_t length, pi_mem_advice advice,
    pi_event *event);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextUSMGetMemAllocInfo_fn(pi_context context, const void *ptr, pi_mem_info param_name,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret);

// 2.3, 6.8, 12.27
typedef pi_result piextKernelSetArgMemObj_fn(pi_kernel kernel, pi_uint32 arg_index, const pi_mem *arg_value);

// 15.47
typedef pi_result piextKernelSetArgMemObj_b_fn(pi_kernel kernel, pi_uint32 arg_index,
    const pi_mem_obj_property *arg_properties, const pi_mem *arg_value);

// 2.3, 6.8, 12.27, 15.47
typedef pi_result piextKernelSetArgSampler_fn(pi_kernel kernel, pi_uint32 arg_index, const pi_sampler *arg_value);

// 2.3, 6.8, 12.27
typedef pi_result piTearDown_fn(void *plugin_parameter);

// 15.47
typedef pi_result piTearDown_b_fn(void *plugin_parameter);

// 6.8, 12.27, 15.47
typedef pi_result piQueueFlush_fn(pi_queue command_queue);

// 6.8, 12.27, 15.47
typedef pi_result piextKernelCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_context context,
    pi_program program, bool plugin_owns_native_handle, pi_kernel *kernel);

// 6.8, 12.27, 15.47
typedef pi_result piextKernelGetNativeHandle_fn(pi_kernel kernel, pi_native_handle *native_handle);

// 6.8, 12.27, 15.47
typedef pi_result piextPluginGetOpaqueData_fn(void *opaque_data_param, void **opaque_data_return);

// 12.27, 15.47
typedef pi_result piextQueueCreate_fn(pi_context context, pi_device device, pi_queue_properties *properties,
    pi_queue *queue);

// 12.27, 15.47
typedef pi_result piextEnqueueReadHostPipe_fn(pi_queue queue, pi_program program, const char *pipe_symbol,
    pi_bool blocking, void *ptr, size_t size, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list,
    pi_event *event);

// 12.27, 15.47
typedef pi_result piextEnqueueWriteHostPipe_fn(pi_queue queue, pi_program program, const char *pipe_symbol,
    pi_bool blocking, void *ptr, size_t size, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list,
    pi_event *event);

// 12.27, 15.47
typedef pi_result piPluginGetLastError_fn(char **message);

// 12.27, 15.47
typedef pi_result piextUSMEnqueueFill2D_fn(pi_queue queue, void *ptr, size_t pitch, size_t pattern_size,
    const void *pattern, size_t width, size_t height, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 12.27, 15.47
typedef pi_result piextUSMEnqueueMemset2D_fn(pi_queue queue, void *ptr, size_t pitch, int value, size_t width,
    size_t height, pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 12.27, 15.47
typedef pi_result piextUSMEnqueueMemcpy2D_fn(pi_queue queue, pi_bool blocking, void *dst_ptr, size_t dst_pitch,
    const void *src_ptr, size_t src_pitch, size_t width, size_t height, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 12.27, 15.47
typedef pi_result piGetDeviceAndHostTimer_fn(pi_device device, uint64_t *device_time, uint64_t *host_time);

// 12.27, 15.47
typedef pi_result piextEnqueueDeviceGlobalVariableWrite_fn(pi_queue queue, pi_program program, const char *name,
    pi_bool blocking_write, size_t count, size_t offset, const void *src, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 12.27, 15.47
typedef pi_result piextEnqueueDeviceGlobalVariableRead_fn(pi_queue queue, pi_program program, const char *name,
    pi_bool blocking_read, size_t count, size_t offset, void *dst, pi_uint32 num_events_in_wait_list,
    const pi_event *event_wait_list, pi_event *event);

// 12.27
typedef pi_result piextQueueCreate2_fn(pi_context context, pi_device device, pi_queue_properties *properties,
    pi_queue *queue);

// 12.27
typedef pi_result piextQueueGetNativeHandle2_fn(pi_queue queue, pi_native_handle *native_handle,
    int32_t *native_handle_desc);

// 12.27
typedef pi_result piextQueueCreateWithNativeHandle2_fn(pi_native_handle native_handle, int32_t native_handle_desc,
    pi_context context, pi_device device, bool plugin_owns_native_handle, pi_queue_properties *properties,
    pi_queue *queue);

// 15.47
typedef pi_result piextGetGlobalVariablePointer_fn(pi_device device, pi_program program,
    const char *global_variable_name, size_t *global_variable_size, void **global_variable_pointer_ret);

// 15.47
typedef pi_result piextMemImageCreateWithNativeHandle_fn(pi_native_handle native_handle, pi_context context,
    bool own_native_handle, const pi_image_format *image_format, const pi_image_desc *image_desc, pi_mem *img);

// 15.47
typedef pi_result piextKernelSuggestMaxCooperativeGroupCount_fn(pi_kernel kernel, size_t local_work_size,
    size_t dynamic_shared_memory_size, pi_uint32 *group_count_ret);

// 15.47
typedef pi_result piextEnqueueCooperativeKernelLaunch_fn(pi_queue queue, pi_kernel kernel, pi_uint32 work_dim,
    const size_t *global_work_offset, const size_t *global_work_size, const size_t *local_work_size,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 15.47
typedef pi_result piPluginGetBackendOption_fn(pi_platform platform, const char *frontend_option,
    const char **backend_option);

// 15.47
typedef pi_result piextEnablePeerAccess_fn(pi_device command_device, pi_device peer_device);

// 15.47
typedef pi_result piextDisablePeerAccess_fn(pi_device command_device, pi_device peer_device);

// 15.47
typedef pi_result piextPeerAccessGetInfo_fn(pi_device command_device, pi_device peer_device, pi_peer_attr attr,
    size_t param_value_size, void *param_value, size_t *param_value_size_ret);

// 15.47
typedef pi_result piextUSMImport_fn(const void *ptr, size_t size, pi_context context);

// 15.47
typedef pi_result piextUSMRelease_fn(const void *ptr, pi_context context);

// 15.47
typedef pi_result piextCommandBufferCreate_fn(pi_context context, pi_device device,
    const pi_ext_command_buffer_desc *desc, pi_ext_command_buffer *ret_command_buffer);

// 15.47
typedef pi_result piextCommandBufferRetain_fn(pi_ext_command_buffer command_buffer);

// 15.47
typedef pi_result piextCommandBufferRelease_fn(pi_ext_command_buffer command_buffer);

// 15.47
typedef pi_result piextCommandBufferFinalize_fn(pi_ext_command_buffer command_buffer);

// 15.47
typedef pi_result piextCommandBufferNDRangeKernel_fn(pi_ext_command_buffer command_buffer, pi_kernel kernel,
    pi_uint32 work_dim, const size_t *global_work_offset, const size_t *global_work_size,
    const size_t *local_work_size, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemcpyUSM_fn(pi_ext_command_buffer command_buffer, void *dst_ptr,
    const void *src_ptr, size_t size, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemBufferCopy_fn(pi_ext_command_buffer command_buffer, pi_mem src_buffer,
    pi_mem dst_buffer, size_t src_offset, size_t dst_offset, size_t size, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemBufferCopyRect_fn(pi_ext_command_buffer command_buffer, pi_mem src_buffer,
    pi_mem dst_buffer, pi_buff_rect_offset src_origin, pi_buff_rect_offset dst_origin, pi_buff_rect_region region,
    size_t src_row_pitch, size_t src_slice_pitch, size_t dst_row_pitch, size_t dst_slice_pitch,
    pi_uint32 num_sync_points_in_wait_list, const pi_ext_sync_point *sync_point_wait_list,
    pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemBufferWrite_fn(pi_ext_command_buffer command_buffer, pi_mem buffer,
    size_t offset, size_t size, const void *ptr, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemBufferWriteRect_fn(pi_ext_command_buffer command_buffer, pi_mem buffer,
    pi_buff_rect_offset buffer_offset, pi_buff_rect_offset host_offset, pi_buff_rect_region region,
    size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
    const void *ptr, pi_uint32 num_sync_points_in_wait_list, const pi_ext_sync_point *sync_point_wait_list,
    pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemBufferRead_fn(pi_ext_command_buffer command_buffer, pi_mem buffer,
    size_t offset, size_t size, void *dst, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemBufferReadRect_fn(pi_ext_command_buffer command_buffer, pi_mem buffer,
    pi_buff_rect_offset buffer_offset, pi_buff_rect_offset host_offset, pi_buff_rect_region region,
    size_t buffer_row_pitch, size_t buffer_slice_pitch, size_t host_row_pitch, size_t host_slice_pitch, void *ptr,
    pi_uint32 num_sync_points_in_wait_list, const pi_ext_sync_point *sync_point_wait_list,
    pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferMemBufferFill_fn(pi_ext_command_buffer command_buffer, pi_mem buffer,
    const void *pattern, size_t pattern_size, size_t offset, size_t size, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferFillUSM_fn(pi_ext_command_buffer command_buffer, void *ptr, const void *pattern,
    size_t pattern_size, size_t size, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferPrefetchUSM_fn(pi_ext_command_buffer command_buffer, const void *ptr,
    size_t size, pi_usm_migration_flags flags, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextCommandBufferAdviseUSM_fn(pi_ext_command_buffer command_buffer, const void *ptr,
    size_t length, pi_mem_advice advice, pi_uint32 num_sync_points_in_wait_list,
    const pi_ext_sync_point *sync_point_wait_list, pi_ext_sync_point *sync_point);

// 15.47
typedef pi_result piextEnqueueCommandBuffer_fn(pi_ext_command_buffer command_buffer, pi_queue queue,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 15.47
typedef pi_result piextUSMPitchedAlloc_fn(void **result_ptr, size_t *result_pitch, pi_context context,
    pi_device device, pi_usm_mem_properties *properties, size_t width_in_bytes, size_t height,
    unsigned int element_size_bytes);

// 15.47
typedef pi_result piextMemUnsampledImageHandleDestroy_fn(pi_context context, pi_device device,
    pi_image_handle handle);

// 15.47
typedef pi_result piextMemSampledImageHandleDestroy_fn(pi_context context, pi_device device, pi_image_handle handle);

// 15.47
typedef pi_result piextBindlessImageSamplerCreate_fn(pi_context context,
    const pi_sampler_properties *sampler_properties, float min_mipmap_level_clamp, float max_mipmap_level_clamp,
    float max_anisotropy, pi_sampler *result_sampler);

// 15.47
typedef pi_result piextMemImageAllocate_fn(pi_context context, pi_device device, pi_image_format *image_format,
    pi_image_desc *image_desc, pi_image_mem_handle *ret_mem);

// 15.47
typedef pi_result piextMemImageFree_fn(pi_context context, pi_device device, pi_image_mem_handle memory_handle);

// 15.47
typedef pi_result piextMemUnsampledImageCreate_fn(pi_context context, pi_device device, pi_image_mem_handle img_mem,
    pi_image_format *image_format, pi_image_desc *image_desc, pi_mem *ret_mem, pi_image_handle *ret_handle);

// 15.47
typedef pi_result piextMemSampledImageCreate_fn(pi_context context, pi_device device, pi_image_mem_handle img_mem,
    pi_image_format *image_format, pi_image_desc *image_desc, pi_sampler sampler, pi_mem *ret_mem,
    pi_image_handle *ret_handle);

// 15.47
typedef pi_result piextMemImageCopy_fn(pi_queue command_queue, void *dst_ptr, void *src_ptr,
    const pi_image_format *image_format, const pi_image_desc *image_desc, pi_image_copy_flags flags,
    pi_image_offset src_offset, pi_image_offset dst_offset, pi_image_region copy_extent, pi_image_region host_extent,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 15.47
typedef pi_result piextMemImageGetInfo_fn(pi_image_mem_handle mem_handle, pi_image_info param_name,
    void *param_value, size_t *param_value_size_ret);

// 15.47
typedef pi_result piextMemMipmapGetLevel_fn(pi_context context, pi_device device, pi_image_mem_handle mip_mem,
    unsigned int level, pi_image_mem_handle *ret_mem);

// 15.47
typedef pi_result piextMemMipmapFree_fn(pi_context context, pi_device device, pi_image_mem_handle memory_handle);

// 15.47
typedef pi_result piextMemImportOpaqueFD_fn(pi_context context, pi_device device, size_t size, int file_descriptor,
    pi_interop_mem_handle *ret_handle);

// 15.47
typedef pi_result piextMemReleaseInterop_fn(pi_context context, pi_device device,
    pi_interop_mem_handle memory_handle);

// 15.47
typedef pi_result piextMemMapExternalArray_fn(pi_context context, pi_device device, pi_image_format *image_format,
    pi_image_desc *image_desc, pi_interop_mem_handle mem_handle, pi_image_mem_handle *ret_mem);

// 15.47
typedef pi_result piextImportExternalSemaphoreOpaqueFD_fn(pi_context context, pi_device device, int file_descriptor,
    pi_interop_semaphore_handle *ret_handle);

// 15.47
typedef pi_result piextDestroyExternalSemaphore_fn(pi_context context, pi_device device,
    pi_interop_semaphore_handle sem_handle);

// 15.47
typedef pi_result piextWaitExternalSemaphore_fn(pi_queue command_queue, pi_interop_semaphore_handle sem_handle,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// 15.47
typedef pi_result piextSignalExternalSemaphore_fn(pi_queue command_queue, pi_interop_semaphore_handle sem_handle,
    pi_uint32 num_events_in_wait_list, const pi_event *event_wait_list, pi_event *event);

// The functions of PI 2.3, which is that of release 2021.2 of DPC++.
typedef struct pi_functions_2_3 {
  piPlatformsGet_fn *piPlatformsGet;
  piPlatformGetInfo_fn *piPlatformGetInfo;
  piextPlatformGetNativeHandle_fn *piextPlatformGetNativeHandle;
  piextPlatformCreateWithNativeHandle_fn *piextPlatformCreateWithNativeHandle;
  piDevicesGet_fn *piDevicesGet;
  piDeviceGetInfo_fn *piDeviceGetInfo;
  piDevicePartition_fn *piDevicePartition;
  piDeviceRetain_fn *piDeviceRetain;
  piDeviceRelease_fn *piDeviceRelease;
  piextDeviceSelectBinary_fn *piextDeviceSelectBinary;
  piextGetDeviceFunctionPointer_fn *piextGetDeviceFunctionPointer;
  piextDeviceGetNativeHandle_fn *piextDeviceGetNativeHandle;
  piextDeviceCreateWithNativeHandle_fn *piextDeviceCreateWithNativeHandle;
  piContextCreate_fn *piContextCreate;
  piContextGetInfo_fn *piContextGetInfo;
  piContextRetain_fn *piContextRetain;
  piContextRelease_fn *piContextRelease;
  piextContextSetExtendedDeleter_fn *piextContextSetExtendedDeleter;
  piextContextGetNativeHandle_fn *piextContextGetNativeHandle;
  piextContextCreateWithNativeHandle_fn *piextContextCreateWithNativeHandle;
  piQueueCreate_fn *piQueueCreate;
  piQueueGetInfo_fn *piQueueGetInfo;
  piQueueFinish_fn *piQueueFinish;
  piQueueRetain_fn *piQueueRetain;
  piQueueRelease_fn *piQueueRelease;
  piextQueueGetNativeHandle_fn *piextQueueGetNativeHandle;
  piextQueueCreateWithNativeHandle_fn *piextQueueCreateWithNativeHandle;
  piMemBufferCreate_fn *piMemBufferCreate;
  piMemImageCreate_fn *piMemImageCreate;
  piMemGetInfo_fn *piMemGetInfo;
  piMemImageGetInfo_fn *piMemImageGetInfo;
  piMemRetain_fn *piMemRetain;
  piMemRelease_fn *piMemRelease;
  piMemBufferPartition_fn *piMemBufferPartition;
  piextMemGetNativeHandle_fn *piextMemGetNativeHandle;
  piextMemCreateWithNativeHandle_fn *piextMemCreateWithNativeHandle;
  piProgramCreate_fn *piProgramCreate;
  piclProgramCreateWithSource_fn *piclProgramCreateWithSource;
  piProgramCreateWithBinary_fn *piProgramCreateWithBinary;
  piProgramGetInfo_fn *piProgramGetInfo;
  piProgramCompile_fn *piProgramCompile;
  piProgramBuild_fn *piProgramBuild;
  piProgramLink_fn *piProgramLink;
  piProgramGetBuildInfo_fn *piProgramGetBuildInfo;
  piProgramRetain_fn *piProgramRetain;
  piProgramRelease_fn *piProgramRelease;
  piextProgramSetSpecializationConstant_fn *piextProgramSetSpecializationConstant;
  piextProgramGetNativeHandle_fn *piextProgramGetNativeHandle;
  piextProgramCreateWithNativeHandle_fn *piextProgramCreateWithNativeHandle;
  piKernelCreate_fn *piKernelCreate;
  piKernelSetArg_fn *piKernelSetArg;
  piKernelGetInfo_fn *piKernelGetInfo;
  piKernelGetGroupInfo_fn *piKernelGetGroupInfo;
  piKernelGetSubGroupInfo_fn *piKernelGetSubGroupInfo;
  piKernelRetain_fn *piKernelRetain;
  piKernelRelease_fn *piKernelRelease;
  piextKernelSetArgPointer_fn *piextKernelSetArgPointer;
  piKernelSetExecInfo_fn *piKernelSetExecInfo;
  piEventCreate_fn *piEventCreate;
  piEventGetInfo_fn *piEventGetInfo;
  piEventGetProfilingInfo_fn *piEventGetProfilingInfo;
  piEventsWait_fn *piEventsWait;
  piEventSetCallback_fn *piEventSetCallback;
  piEventSetStatus_fn *piEventSetStatus;
  piEventRetain_fn *piEventRetain;
  piEventRelease_fn *piEventRelease;
  piextEventGetNativeHandle_fn *piextEventGetNativeHandle;
  piextEventCreateWithNativeHandle_fn *piextEventCreateWithNativeHandle;
  piSamplerCreate_fn *piSamplerCreate;
  piSamplerGetInfo_fn *piSamplerGetInfo;
  piSamplerRetain_fn *piSamplerRetain;
  piSamplerRelease_fn *piSamplerRelease;
  piEnqueueKernelLaunch_fn *piEnqueueKernelLaunch;
  piEnqueueNativeKernel_fn *piEnqueueNativeKernel;
  piEnqueueEventsWait_fn *piEnqueueEventsWait;
  piEnqueueEventsWaitWithBarrier_fn *piEnqueueEventsWaitWithBarrier;
  piEnqueueMemBufferRead_fn *piEnqueueMemBufferRead;
  piEnqueueMemBufferReadRect_fn *piEnqueueMemBufferReadRect;
  piEnqueueMemBufferWrite_fn *piEnqueueMemBufferWrite;
  piEnqueueMemBufferWriteRect_fn *piEnqueueMemBufferWriteRect;
  piEnqueueMemBufferCopy_fn *piEnqueueMemBufferCopy;
  piEnqueueMemBufferCopyRect_fn *piEnqueueMemBufferCopyRect;
  piEnqueueMemBufferFill_fn *piEnqueueMemBufferFill;
  piEnqueueMemImageRead_fn *piEnqueueMemImageRead;
  piEnqueueMemImageWrite_fn *piEnqueueMemImageWrite;
  piEnqueueMemImageCopy_fn *piEnqueueMemImageCopy;
  piEnqueueMemImageFill_fn *piEnqueueMemImageFill;
  piEnqueueMemBufferMap_fn *piEnqueueMemBufferMap;
  piEnqueueMemUnmap_fn *piEnqueueMemUnmap;
  piextUSMHostAlloc_fn *piextUSMHostAlloc;
  piextUSMDeviceAlloc_fn *piextUSMDeviceAlloc;
  piextUSMSharedAlloc_fn *piextUSMSharedAlloc;
  piextUSMFree_fn *piextUSMFree;
  piextUSMEnqueueMemset_fn *piextUSMEnqueueMemset;
  piextUSMEnqueueMemcpy_fn *piextUSMEnqueueMemcpy;
  piextUSMEnqueuePrefetch_fn *piextUSMEnqueuePrefetch;
  piextUSMEnqueueMemAdvise_fn *piextUSMEnqueueMemAdvise;
  piextUSMGetMemAllocInfo_fn *piextUSMGetMemAllocInfo;
  piextKernelSetArgMemObj_fn *piextKernelSetArgMemObj;
  piextKernelSetArgSampler_fn *piextKernelSetArgSampler;
  piTearDown_fn *piTearDown;
} pi_functions_2_3;

#define PI_VERSION_2_3 "2.3"

// What piPluginInit is given by hosts of PI 2.3.
typedef struct pi_plugin_2_3 {
  // The host's version.
  char PiVersion[4];
  // The plugin's version, which the plugin writes.
  char PluginVersion[4];
  // Unused.
  char *Targets;
  // The functions, which the plugin writes.
  pi_functions_2_3 PiFunctionTable;
} pi_plugin_2_3;

// The functions of PI 6.8, which is that of release 2022.1 of DPC++.
typedef struct pi_functions_6_8 {
  piPlatformsGet_fn *piPlatformsGet;
  piPlatformGetInfo_fn *piPlatformGetInfo;
  piextPlatformGetNativeHandle_fn *piextPlatformGetNativeHandle;
  piextPlatformCreateWithNativeHandle_fn *piextPlatformCreateWithNativeHandle;
  piDevicesGet_fn *piDevicesGet;
  piDeviceGetInfo_fn *piDeviceGetInfo;
  piDevicePartition_fn *piDevicePartition;
  piDeviceRetain_fn *piDeviceRetain;
  piDeviceRelease_fn *piDeviceRelease;
  piextDeviceSelectBinary_fn *piextDeviceSelectBinary;
  piextGetDeviceFunctionPointer_fn *piextGetDeviceFunctionPointer;
  piextDeviceGetNativeHandle_fn *piextDeviceGetNativeHandle;
  piextDeviceCreateWithNativeHandle_fn *piextDeviceCreateWithNativeHandle;
  piContextCreate_fn *piContextCreate;
  piContextGetInfo_fn *piContextGetInfo;
  piContextRetain_fn *piContextRetain;
  piContextRelease_fn *piContextRelease;
  piextContextSetExtendedDeleter_fn *piextContextSetExtendedDeleter;
  piextContextGetNativeHandle_fn *piextContextGetNativeHandle;
  piextContextCreateWithNativeHandle_b_fn *piextContextCreateWithNativeHandle;
  piQueueCreate_fn *piQueueCreate;
  piQueueGetInfo_fn *piQueueGetInfo;
  piQueueFinish_fn *piQueueFinish;
  piQueueFlush_fn *piQueueFlush;
  piQueueRetain_fn *piQueueRetain;
  piQueueRelease_fn *piQueueRelease;
  piextQueueGetNativeHandle_fn *piextQueueGetNativeHandle;
  piextQueueCreateWithNativeHandle_b_fn *piextQueueCreateWithNativeHandle;
  piMemBufferCreate_fn *piMemBufferCreate;
  piMemImageCreate_fn *piMemImageCreate;
  piMemGetInfo_fn *piMemGetInfo;
  piMemImageGetInfo_fn *piMemImageGetInfo;
  piMemRetain_fn *piMemRetain;
  piMemRelease_fn *piMemRelease;
  piMemBufferPartition_fn *piMemBufferPartition;
  piextMemGetNativeHandle_fn *piextMemGetNativeHandle;
  piextMemCreateWithNativeHandle_fn *piextMemCreateWithNativeHandle;
  piProgramCreate_fn *piProgramCreate;
  piclProgramCreateWithSource_fn *piclProgramCreateWithSource;
  piProgramCreateWithBinary_b_fn *piProgramCreateWithBinary;
  piProgramGetInfo_fn *piProgramGetInfo;
  piProgramCompile_fn *piProgramCompile;
  piProgramBuild_fn *piProgramBuild;
  piProgramLink_fn *piProgramLink;
  piProgramGetBuildInfo_fn *piProgramGetBuildInfo;
  piProgramRetain_fn *piProgramRetain;
  piProgramRelease_fn *piProgramRelease;
  piextProgramSetSpecializationConstant_fn *piextProgramSetSpecializationConstant;
  piextProgramGetNativeHandle_fn *piextProgramGetNativeHandle;
  piextProgramCreateWithNativeHandle_b_fn *piextProgramCreateWithNativeHandle;
  piKernelCreate_fn *piKernelCreate;
  piKernelSetArg_fn *piKernelSetArg;
  piKernelGetInfo_fn *piKernelGetInfo;
  piKernelGetGroupInfo_fn *piKernelGetGroupInfo;
  piKernelGetSubGroupInfo_fn *piKernelGetSubGroupInfo;
  piKernelRetain_fn *piKernelRetain;
  piKernelRelease_fn *piKernelRelease;
  piextKernelSetArgPointer_fn *piextKernelSetArgPointer;
  piKernelSetExecInfo_fn *piKernelSetExecInfo;
  piextKernelCreateWithNativeHandle_fn *piextKernelCreateWithNativeHandle;
  piextKernelGetNativeHandle_fn *piextKernelGetNativeHandle;
  piEventCreate_fn *piEventCreate;
  piEventGetInfo_fn *piEventGetInfo;
  piEventGetProfilingInfo_fn *piEventGetProfilingInfo;
  piEventsWait_fn *piEventsWait;
  piEventSetCallback_fn *piEventSetCallback;
  piEventSetStatus_fn *piEventSetStatus;
  piEventRetain_fn *piEventRetain;
  piEventRelease_fn *piEventRelease;
  piextEventGetNativeHandle_fn *piextEventGetNativeHandle;
  piextEventCreateWithNativeHandle_b_fn *piextEventCreateWithNativeHandle;
  piSamplerCreate_fn *piSamplerCreate;
  piSamplerGetInfo_fn *piSamplerGetInfo;
  piSamplerRetain_fn *piSamplerRetain;
  piSamplerRelease_fn *piSamplerRelease;
  piEnqueueKernelLaunch_fn *piEnqueueKernelLaunch;
  piEnqueueNativeKernel_fn *piEnqueueNativeKernel;
  piEnqueueEventsWait_fn *piEnqueueEventsWait;
  piEnqueueEventsWaitWithBarrier_fn *piEnqueueEventsWaitWithBarrier;
  piEnqueueMemBufferRead_fn *piEnqueueMemBufferRead;
  piEnqueueMemBufferReadRect_fn *piEnqueueMemBufferReadRect;
  piEnqueueMemBufferWrite_fn *piEnqueueMemBufferWrite;
  piEnqueueMemBufferWriteRect_fn *piEnqueueMemBufferWriteRect;
  piEnqueueMemBufferCopy_fn *piEnqueueMemBufferCopy;
  piEnqueueMemBufferCopyRect_fn *piEnqueueMemBufferCopyRect;
  piEnqueueMemBufferFill_fn *piEnqueueMemBufferFill;
  piEnqueueMemImageRead_fn *piEnqueueMemImageRead;
  piEnqueueMemImageWrite_fn *piEnqueueMemImageWrite;
  piEnqueueMemImageCopy_fn *piEnqueueMemImageCopy;
  piEnqueueMemImageFill_fn *piEnqueueMemImageFill;
  piEnqueueMemBufferMap_fn *piEnqueueMemBufferMap;
  piEnqueueMemUnmap_fn *piEnqueueMemUnmap;
  piextUSMHostAlloc_fn *piextUSMHostAlloc;
  piextUSMDeviceAlloc_fn *piextUSMDeviceAlloc;
  piextUSMSharedAlloc_fn *piextUSMSharedAlloc;
  piextUSMFree_fn *piextUSMFree;
  piextUSMEnqueueMemset_fn *piextUSMEnqueueMemset;
  piextUSMEnqueueMemcpy_fn *piextUSMEnqueueMemcpy;
  piextUSMEnqueuePrefetch_fn *piextUSMEnqueuePrefetch;
  piextUSMEnqueueMemAdvise_fn *piextUSMEnqueueMemAdvise;
  piextUSMGetMemAllocInfo_fn *piextUSMGetMemAllocInfo;
  piextKernelSetArgMemObj_fn *piextKernelSetArgMemObj;
  piextKernelSetArgSampler_fn *piextKernelSetArgSampler;
  piextPluginGetOpaqueData_fn *piextPluginGetOpaqueData;
  piTearDown_fn *piTearDown;
} pi_functions_6_8;

#define PI_VERSION_6_8 "6.8"

// What piPluginInit is given by hosts of PI 6.8.
typedef struct pi_plugin_6_8 {
  // The host's version.
  char PiVersion[4];
  // The plugin's version, which the plugin writes.
  char PluginVersion[4];
  // Unused.
  char *Targets;
  // The functions, which the plugin writes.
  pi_functions_6_8 PiFunctionTable;
} pi_plugin_6_8;

// The functions of PI 12.27, which is that of release 2023.2 of DPC++.
typedef struct pi_functions_12_27 {
  piPlatformsGet_fn *piPlatformsGet;
  piPlatformGetInfo_fn *piPlatformGetInfo;
  piextPlatformGetNativeHandle_fn *piextPlatformGetNativeHandle;
  piextPlatformCreateWithNativeHandle_fn *piextPlatformCreateWithNativeHandle;
  piDevicesGet_fn *piDevicesGet;
  piDeviceGetInfo_fn *piDeviceGetInfo;
  piDevicePartition_fn *piDevicePartition;
  piDeviceRetain_fn *piDeviceRetain;
  piDeviceRelease_fn *piDeviceRelease;
  piextDeviceSelectBinary_fn *piextDeviceSelectBinary;
  piextGetDeviceFunctionPointer_fn *piextGetDeviceFunctionPointer;
  piextDeviceGetNativeHandle_fn *piextDeviceGetNativeHandle;
  piextDeviceCreateWithNativeHandle_fn *piextDeviceCreateWithNativeHandle;
  piContextCreate_fn *piContextCreate;
  piContextGetInfo_fn *piContextGetInfo;
  piContextRetain_fn *piContextRetain;
  piContextRelease_fn *piContextRelease;
  piextContextSetExtendedDeleter_fn *piextContextSetExtendedDeleter;
  piextContextGetNativeHandle_fn *piextContextGetNativeHandle;
  piextContextCreateWithNativeHandle_b_fn *piextContextCreateWithNativeHandle;
  piQueueCreate_fn *piQueueCreate;
  piextQueueCreate_fn *piextQueueCreate;
  piQueueGetInfo_fn *piQueueGetInfo;
  piQueueFinish_fn *piQueueFinish;
  piQueueFlush_fn *piQueueFlush;
  piQueueRetain_fn *piQueueRetain;
  piQueueRelease_fn *piQueueRelease;
  piextQueueGetNativeHandle_fn *piextQueueGetNativeHandle;
  piextQueueCreateWithNativeHandle_c_fn *piextQueueCreateWithNativeHandle;
  piMemBufferCreate_fn *piMemBufferCreate;
  piMemImageCreate_fn *piMemImageCreate;
  piMemGetInfo_fn *piMemGetInfo;
  piMemImageGetInfo_fn *piMemImageGetInfo;
  piMemRetain_fn *piMemRetain;
  piMemRelease_fn *piMemRelease;
  piMemBufferPartition_fn *piMemBufferPartition;
  piextMemGetNativeHandle_fn *piextMemGetNativeHandle;
  piextMemCreateWithNativeHandle_b_fn *piextMemCreateWithNativeHandle;
  piProgramCreate_fn *piProgramCreate;
  piclProgramCreateWithSource_fn *piclProgramCreateWithSource;
  piProgramCreateWithBinary_b_fn *piProgramCreateWithBinary;
  piProgramGetInfo_fn *piProgramGetInfo;
  piProgramCompile_fn *piProgramCompile;
  piProgramBuild_fn *piProgramBuild;
  piProgramLink_fn *piProgramLink;
  piProgramGetBuildInfo_fn *piProgramGetBuildInfo;
  piProgramRetain_fn *piProgramRetain;
  piProgramRelease_fn *piProgramRelease;
  piextProgramSetSpecializationConstant_fn *piextProgramSetSpecializationConstant;
  piextProgramGetNativeHandle_fn *piextProgramGetNativeHandle;
  piextProgramCreateWithNativeHandle_b_fn *piextProgramCreateWithNativeHandle;
  piKernelCreate_fn *piKernelCreate;
  piKernelSetArg_fn *piKernelSetArg;
  piKernelGetInfo_fn *piKernelGetInfo;
  piKernelGetGroupInfo_fn *piKernelGetGroupInfo;
  piKernelGetSubGroupInfo_fn *piKernelGetSubGroupInfo;
  piKernelRetain_fn *piKernelRetain;
  piKernelRelease_fn *piKernelRelease;
  piextKernelSetArgPointer_fn *piextKernelSetArgPointer;
  piKernelSetExecInfo_fn *piKernelSetExecInfo;
  piextKernelCreateWithNativeHandle_fn *piextKernelCreateWithNativeHandle;
  piextKernelGetNativeHandle_fn *piextKernelGetNativeHandle;
  piEventCreate_b_fn *piEventCreate;
  piEventGetInfo_fn *piEventGetInfo;
  piEventGetProfilingInfo_fn *piEventGetProfilingInfo;
  piEventsWait_fn *piEventsWait;
  piEventSetCallback_fn *piEventSetCallback;
  piEventSetStatus_fn *piEventSetStatus;
  piEventRetain_fn *piEventRetain;
  piEventRelease_fn *piEventRelease;
  piextEventGetNativeHandle_fn *piextEventGetNativeHandle;
  piextEventCreateWithNativeHandle_b_fn *piextEventCreateWithNativeHandle;
  piSamplerCreate_fn *piSamplerCreate;
  piSamplerGetInfo_fn *piSamplerGetInfo;
  piSamplerRetain_fn *piSamplerRetain;
  piSamplerRelease_fn *piSamplerRelease;
  piEnqueueKernelLaunch_fn *piEnqueueKernelLaunch;
  piEnqueueNativeKernel_fn *piEnqueueNativeKernel;
  piEnqueueEventsWait_fn *piEnqueueEventsWait;
  piEnqueueEventsWaitWithBarrier_fn *piEnqueueEventsWaitWithBarrier;
  piEnqueueMemBufferRead_fn *piEnqueueMemBufferRead;
  piEnqueueMemBufferReadRect_fn *piEnqueueMemBufferReadRect;
  piEnqueueMemBufferWrite_fn *piEnqueueMemBufferWrite;
  piEnqueueMemBufferWriteRect_fn *piEnqueueMemBufferWriteRect;
  piEnqueueMemBufferCopy_fn *piEnqueueMemBufferCopy;
  piEnqueueMemBufferCopyRect_fn *piEnqueueMemBufferCopyRect;
  piEnqueueMemBufferFill_fn *piEnqueueMemBufferFill;
  piEnqueueMemImageRead_fn *piEnqueueMemImageRead;
  piEnqueueMemImageWrite_fn *piEnqueueMemImageWrite;
  piEnqueueMemImageCopy_fn *piEnqueueMemImageCopy;
  piEnqueueMemImageFill_fn *piEnqueueMemImageFill;
  piEnqueueMemBufferMap_fn *piEnqueueMemBufferMap;
  piEnqueueMemUnmap_fn *piEnqueueMemUnmap;
  piextUSMHostAlloc_fn *piextUSMHostAlloc;
  piextUSMDeviceAlloc_fn *piextUSMDeviceAlloc;
  piextUSMSharedAlloc_fn *piextUSMSharedAlloc;
  piextUSMFree_fn *piextUSMFree;
  piextUSMEnqueueMemset_fn *piextUSMEnqueueMemset;
  piextUSMEnqueueMemcpy_fn *piextUSMEnqueueMemcpy;
  piextUSMEnqueuePrefetch_fn *piextUSMEnqueuePrefetch;
  piextUSMEnqueueMemAdvise_b_fn *piextUSMEnqueueMemAdvise;
  piextUSMGetMemAllocInfo_fn *piextUSMGetMemAllocInfo;
  piextEnqueueReadHostPipe_fn *piextEnqueueReadHostPipe;
  piextEnqueueWriteHostPipe_fn *piextEnqueueWriteHostPipe;
  piextKernelSetArgMemObj_fn *piextKernelSetArgMemObj;
  piextKernelSetArgSampler_fn *piextKernelSetArgSampler;
  piextPluginGetOpaqueData_fn *piextPluginGetOpaqueData;
  piPluginGetLastError_fn *piPluginGetLastError;
  piTearDown_fn *piTearDown;
  piextUSMEnqueueFill2D_fn *piextUSMEnqueueFill2D;
  piextUSMEnqueueMemset2D_fn *piextUSMEnqueueMemset2D;
  piextUSMEnqueueMemcpy2D_fn *piextUSMEnqueueMemcpy2D;
  piGetDeviceAndHostTimer_fn *piGetDeviceAndHostTimer;
  piextEnqueueDeviceGlobalVariableWrite_fn *piextEnqueueDeviceGlobalVariableWrite;
  piextEnqueueDeviceGlobalVariableRead_fn *piextEnqueueDeviceGlobalVariableRead;
  piextQueueCreate2_fn *piextQueueCreate2;
  piextQueueGetNativeHandle2_fn *piextQueueGetNativeHandle2;
  piextQueueCreateWithNativeHandle2_fn *piextQueueCreateWithNativeHandle2;
} pi_functions_12_27;

#define PI_VERSION_12_27 "12.27"

// What piPluginInit is given by hosts of PI 12.27.
typedef struct pi_plugin_12_27 {
  // The host's version.
  char PiVersion[20];
  // The plugin's version, which the plugin writes.
  char PluginVersion[20];
  // Unused.
  char *Targets;
  // The functions, which the plugin writes.
  pi_functions_12_27 PiFunctionTable;
} pi_plugin_12_27;

// The functions of PI 15.47, which is that of release 2024.2 of DPC++.
typedef struct pi_functions_15_47 {
  piPlatformsGet_fn *piPlatformsGet;
  piPlatformGetInfo_fn *piPlatformGetInfo;
  piextPlatformGetNativeHandle_fn *piextPlatformGetNativeHandle;
  piextPlatformCreateWithNativeHandle_fn *piextPlatformCreateWithNativeHandle;
  piDevicesGet_fn *piDevicesGet;
  piDeviceGetInfo_fn *piDeviceGetInfo;
  piDevicePartition_fn *piDevicePartition;
  piDeviceRetain_fn *piDeviceRetain;
  piDeviceRelease_fn *piDeviceRelease;
  piextDeviceSelectBinary_fn *piextDeviceSelectBinary;
  piextGetDeviceFunctionPointer_fn *piextGetDeviceFunctionPointer;
  piextGetGlobalVariablePointer_fn *piextGetGlobalVariablePointer;
  piextDeviceGetNativeHandle_fn *piextDeviceGetNativeHandle;
  piextDeviceCreateWithNativeHandle_fn *piextDeviceCreateWithNativeHandle;
  piContextCreate_fn *piContextCreate;
  piContextGetInfo_fn *piContextGetInfo;
  piContextRetain_fn *piContextRetain;
  piContextRelease_fn *piContextRelease;
  piextContextSetExtendedDeleter_fn *piextContextSetExtendedDeleter;
  piextContextGetNativeHandle_fn *piextContextGetNativeHandle;
  piextContextCreateWithNativeHandle_b_fn *piextContextCreateWithNativeHandle;
  piQueueCreate_fn *piQueueCreate;
  piextQueueCreate_fn *piextQueueCreate;
  piQueueGetInfo_fn *piQueueGetInfo;
  piQueueFinish_fn *piQueueFinish;
  piQueueFlush_fn *piQueueFlush;
  piQueueRetain_fn *piQueueRetain;
  piQueueRelease_fn *piQueueRelease;
  piextQueueGetNativeHandle_b_fn *piextQueueGetNativeHandle;
  piextQueueCreateWithNativeHandle_d_fn *piextQueueCreateWithNativeHandle;
  piMemBufferCreate_fn *piMemBufferCreate;
  piMemImageCreate_fn *piMemImageCreate;
  piMemGetInfo_fn *piMemGetInfo;
  piMemImageGetInfo_fn *piMemImageGetInfo;
  piMemRetain_fn *piMemRetain;
  piMemRelease_fn *piMemRelease;
  piMemBufferPartition_fn *piMemBufferPartition;
  piextMemGetNativeHandle_b_fn *piextMemGetNativeHandle;
  piextMemCreateWithNativeHandle_b_fn *piextMemCreateWithNativeHandle;
  piextMemImageCreateWithNativeHandle_fn *piextMemImageCreateWithNativeHandle;
  piProgramCreate_fn *piProgramCreate;
  piProgramCreateWithBinary_b_fn *piProgramCreateWithBinary;
  piProgramGetInfo_fn *piProgramGetInfo;
  piProgramCompile_fn *piProgramCompile;
  piProgramBuild_fn *piProgramBuild;
  piProgramLink_fn *piProgramLink;
  piProgramGetBuildInfo_fn *piProgramGetBuildInfo;
  piProgramRetain_fn *piProgramRetain;
  piProgramRelease_fn *piProgramRelease;
  piextProgramSetSpecializationConstant_fn *piextProgramSetSpecializationConstant;
  piextProgramGetNativeHandle_fn *piextProgramGetNativeHandle;
  piextProgramCreateWithNativeHandle_b_fn *piextProgramCreateWithNativeHandle;
  piKernelCreate_fn *piKernelCreate;
  piKernelSetArg_fn *piKernelSetArg;
  piKernelGetInfo_fn *piKernelGetInfo;
  piKernelGetGroupInfo_fn *piKernelGetGroupInfo;
  piKernelGetSubGroupInfo_fn *piKernelGetSubGroupInfo;
  piKernelRetain_fn *piKernelRetain;
  piKernelRelease_fn *piKernelRelease;
  piextKernelSetArgPointer_fn *piextKernelSetArgPointer;
  piKernelSetExecInfo_fn *piKernelSetExecInfo;
  piextKernelCreateWithNativeHandle_fn *piextKernelCreateWithNativeHandle;
  piextKernelGetNativeHandle_fn *piextKernelGetNativeHandle;
  piextKernelSuggestMaxCooperativeGroupCount_fn *piextKernelSuggestMaxCooperativeGroupCount;
  piEventCreate_b_fn *piEventCreate;
  piEventGetInfo_fn *piEventGetInfo;
  piEventGetProfilingInfo_fn *piEventGetProfilingInfo;
  piEventsWait_fn *piEventsWait;
  piEventSetCallback_fn *piEventSetCallback;
  piEventSetStatus_fn *piEventSetStatus;
  piEventRetain_fn *piEventRetain;
  piEventRelease_fn *piEventRelease;
  piextEventGetNativeHandle_fn *piextEventGetNativeHandle;
  piextEventCreateWithNativeHandle_b_fn *piextEventCreateWithNativeHandle;
  piSamplerCreate_fn *piSamplerCreate;
  piSamplerGetInfo_fn *piSamplerGetInfo;
  piSamplerRetain_fn *piSamplerRetain;
  piSamplerRelease_fn *piSamplerRelease;
  piEnqueueKernelLaunch_fn *piEnqueueKernelLaunch;
  piextEnqueueCooperativeKernelLaunch_fn *piextEnqueueCooperativeKernelLaunch;
  piEnqueueEventsWait_fn *piEnqueueEventsWait;
  piEnqueueEventsWaitWithBarrier_fn *piEnqueueEventsWaitWithBarrier;
  piEnqueueMemBufferRead_fn *piEnqueueMemBufferRead;
  piEnqueueMemBufferReadRect_fn *piEnqueueMemBufferReadRect;
  piEnqueueMemBufferWrite_fn *piEnqueueMemBufferWrite;
  piEnqueueMemBufferWriteRect_fn *piEnqueueMemBufferWriteRect;
  piEnqueueMemBufferCopy_fn *piEnqueueMemBufferCopy;
  piEnqueueMemBufferCopyRect_fn *piEnqueueMemBufferCopyRect;
  piEnqueueMemBufferFill_fn *piEnqueueMemBufferFill;
  piEnqueueMemImageRead_fn *piEnqueueMemImageRead;
  piEnqueueMemImageWrite_fn *piEnqueueMemImageWrite;
  piEnqueueMemImageCopy_fn *piEnqueueMemImageCopy;
  piEnqueueMemImageFill_fn *piEnqueueMemImageFill;
  piEnqueueMemBufferMap_fn *piEnqueueMemBufferMap;
  piEnqueueMemUnmap_fn *piEnqueueMemUnmap;
  piextUSMHostAlloc_fn *piextUSMHostAlloc;
  piextUSMDeviceAlloc_fn *piextUSMDeviceAlloc;
  piextUSMSharedAlloc_fn *piextUSMSharedAlloc;
  piextUSMFree_fn *piextUSMFree;
  piextUSMEnqueueMemset_fn *piextUSMEnqueueMemset;
  piextUSMEnqueueMemcpy_fn *piextUSMEnqueueMemcpy;
  piextUSMEnqueuePrefetch_fn *piextUSMEnqueuePrefetch;
  piextUSMEnqueueMemAdvise_c_fn *piextUSMEnqueueMemAdvise;
  piextUSMGetMemAllocInfo_fn *piextUSMGetMemAllocInfo;
  piextEnqueueReadHostPipe_fn *piextEnqueueReadHostPipe;
  piextEnqueueWriteHostPipe_fn *piextEnqueueWriteHostPipe;
  piextKernelSetArgMemObj_b_fn *piextKernelSetArgMemObj;
  piextKernelSetArgSampler_fn *piextKernelSetArgSampler;
  piextPluginGetOpaqueData_fn *piextPluginGetOpaqueData;
  piPluginGetLastError_fn *piPluginGetLastError;
  piTearDown_b_fn *piTearDown;
  piextUSMEnqueueFill2D_fn *piextUSMEnqueueFill2D;
  piextUSMEnqueueMemset2D_fn *piextUSMEnqueueMemset2D;
  piextUSMEnqueueMemcpy2D_fn *piextUSMEnqueueMemcpy2D;
  piGetDeviceAndHostTimer_fn *piGetDeviceAndHostTimer;
  piextEnqueueDeviceGlobalVariableWrite_fn *piextEnqueueDeviceGlobalVariableWrite;
  piextEnqueueDeviceGlobalVariableRead_fn *piextEnqueueDeviceGlobalVariableRead;
  piPluginGetBackendOption_fn *piPluginGetBackendOption;
  piextEnablePeerAccess_fn *piextEnablePeerAccess;
  piextDisablePeerAccess_fn *piextDisablePeerAccess;
  piextPeerAccessGetInfo_fn *piextPeerAccessGetInfo;
  piextUSMImport_fn *piextUSMImport;
  piextUSMRelease_fn *piextUSMRelease;
  piextCommandBufferCreate_fn *piextCommandBufferCreate;
  piextCommandBufferRetain_fn *piextCommandBufferRetain;
  piextCommandBufferRelease_fn *piextCommandBufferRelease;
  piextCommandBufferFinalize_fn *piextCommandBufferFinalize;
  piextCommandBufferNDRangeKernel_fn *piextCommandBufferNDRangeKernel;
  piextCommandBufferMemcpyUSM_fn *piextCommandBufferMemcpyUSM;
  piextCommandBufferMemBufferCopy_fn *piextCommandBufferMemBufferCopy;
  piextCommandBufferMemBufferCopyRect_fn *piextCommandBufferMemBufferCopyRect;
  piextCommandBufferMemBufferWrite_fn *piextCommandBufferMemBufferWrite;
  piextCommandBufferMemBufferWriteRect_fn *piextCommandBufferMemBufferWriteRect;
  piextCommandBufferMemBufferRead_fn *piextCommandBufferMemBufferRead;
  piextCommandBufferMemBufferReadRect_fn *piextCommandBufferMemBufferReadRect;
  piextCommandBufferMemBufferFill_fn *piextCommandBufferMemBufferFill;
  piextCommandBufferFillUSM_fn *piextCommandBufferFillUSM;
  piextCommandBufferPrefetchUSM_fn *piextCommandBufferPrefetchUSM;
  piextCommandBufferAdviseUSM_fn *piextCommandBufferAdviseUSM;
  piextEnqueueCommandBuffer_fn *piextEnqueueCommandBuffer;
  piextUSMPitchedAlloc_fn *piextUSMPitchedAlloc;
  piextMemUnsampledImageHandleDestroy_fn *piextMemUnsampledImageHandleDestroy;
  piextMemSampledImageHandleDestroy_fn *piextMemSampledImageHandleDestroy;
  piextBindlessImageSamplerCreate_fn *piextBindlessImageSamplerCreate;
  piextMemImageAllocate_fn *piextMemImageAllocate;
  piextMemImageFree_fn *piextMemImageFree;
  piextMemUnsampledImageCreate_fn *piextMemUnsampledImageCreate;
  piextMemSampledImageCreate_fn *piextMemSampledImageCreate;
  piextMemImageCopy_fn *piextMemImageCopy;
  piextMemImageGetInfo_fn *piextMemImageGetInfo;
  piextMemMipmapGetLevel_fn *piextMemMipmapGetLevel;
  piextMemMipmapFree_fn *piextMemMipmapFree;
  piextMemImportOpaqueFD_fn *piextMemImportOpaqueFD;
  piextMemReleaseInterop_fn *piextMemReleaseInterop;
  piextMemMapExternalArray_fn *piextMemMapExternalArray;
  piextImportExternalSemaphoreOpaqueFD_fn *piextImportExternalSemaphoreOpaqueFD;
  piextDestroyExternalSemaphore_fn *piextDestroyExternalSemaphore;
  piextWaitExternalSemaphore_fn *piextWaitExternalSemaphore;
  piextSignalExternalSemaphore_fn *piextSignalExternalSemaphore;
} pi_functions_15_47;

#define PI_VERSION_15_47 "15.47"

// What piPluginInit is given by hosts of PI 15.47.
typedef struct pi_plugin_15_47 {
  // The host's version.
  char PiVersion[20];
  // The plugin's version, which the plugin writes.
  char PluginVersion[20];
  // Unused.
  char *Targets;
  // The functions, which the plugin writes.
  pi_functions_15_47 PiFunctionTable;
  // Which sanitizer the host works with, and padding.
  unsigned char Trailer[8];
} pi_plugin_15_47;

// What a plugin exports: fills in the record of the version that its first bytes name, and refuses others.
OFFKIT_PI_EXPORT pi_result piPluginInit(void *record);

// What a plugin may export for hosts of versions without piPluginGetLastError: what went wrong in this thread's last
// failing call, as text that stays until the thread's next call.
OFFKIT_PI_EXPORT pi_result offkitPluginGetLastError(const char **message);

// Says in a plugin's file which versions it speaks, separated by spaces, so that hosts know before they load it:
// OFFKIT_PI_NOTE("2.3");
#if defined(__ELF__)
#define OFFKIT_PI_NOTE(versions) \
  static const struct { \
    uint32_t owner_size, size, kind; \
    char owner[8], text[(sizeof(versions) + 3) / 4 * 4]; \
  } offkit_pi_note __attribute__((used, aligned(4), section(".note.offkit.pi"))) = \
    {7, sizeof(versions), 1, "offkit", versions}
#else
#define OFFKIT_PI_NOTE(versions) struct offkit_pi_note
#endif

#ifdef __cplusplus
}
#endif

#endif
