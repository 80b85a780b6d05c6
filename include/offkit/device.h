// offkit/device.h: one spelling for device code, whichever of clang's front ends compiles it: SYCL's device
// mode, OpenCL C, C++ for OpenCL, or C and C++ for a device triple. On the host functions are functions, so
// that files with them can be shared; kernels are not made there.
//
//   OFFKIT_EXTERNAL   a device function that other files define or call. On a definition it exports the
//                     function; on a declaration it says that another file, or a library found at run time,
//                     defines it. Functions without it stay private to their device image.
//   OFFKIT_EXPORT     the same word, for definitions.
//   OFFKIT_KERNEL     a function that the host launches.
//   OFFKIT_GLOBAL     the address space of what a kernel's pointer points to.
//   OFFKIT_C          a symbol without C++'s mangling, so that C++ and OpenCL C mean the same function.
//
//   OFFKIT_C OFFKIT_EXTERNAL float axpy(float a, float x, float y);
//
//   OFFKIT_C OFFKIT_KERNEL void saxpy(float a, OFFKIT_GLOBAL const float *x, OFFKIT_GLOBAL float *y) {
//     size_t i = offkit_global_id(0);
//     y[i] = axpy(a, x[i], y[i]);
//   }
//
// `offkit cc` finds this header by itself and turns the marks into what its device linker reads; its
// documentation, docs/driver.md, says more.
#ifndef OFFKIT_DEVICE_H
#define OFFKIT_DEVICE_H

#if !defined(__cplusplus) && !defined(__OPENCL_C_VERSION__) && !defined(_OPENMP) \
    && (defined(__SYCL_DEVICE_ONLY__) || defined(__SPIRV__))
// clang's builtins for SPIR-V and its attributes for SYCL are for C++.
#error "offkit/device.h: C is not compiled for SYCL devices and SPIR-V: compile the file as C++ or as OpenCL C (-x cl)"
#define OFFKIT_ON_DEVICE 0
#define OFFKIT_KERNEL
#define OFFKIT_GLOBAL
#define OFFKIT_EXTERNAL

#elif defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)
#define OFFKIT_ON_DEVICE 1
#define OFFKIT_KERNEL kernel
#define OFFKIT_GLOBAL global
#define OFFKIT_EXTERNAL __attribute__((annotate("offkit_export")))

#elif defined(__SYCL_DEVICE_ONLY__)
#define OFFKIT_ON_DEVICE 1
#define OFFKIT_KERNEL [[clang::sycl_external]] __attribute__((device_kernel))
#define OFFKIT_GLOBAL __attribute__((opencl_global))
#define OFFKIT_EXTERNAL [[clang::sycl_external]] __attribute__((annotate("offkit_export")))

// OpenMP, CUDA and HIP say by themselves what is for the device and what is exported.
#elif (defined(__SPIRV__) || defined(__NVPTX__) || defined(__AMDGCN__)) && !defined(_OPENMP) && !defined(__CUDA__) \
    && !defined(__HIP__)
#define OFFKIT_ON_DEVICE 1
#define OFFKIT_KERNEL __attribute__((device_kernel))
#define OFFKIT_GLOBAL __attribute__((opencl_global))
#define OFFKIT_EXTERNAL __attribute__((annotate("offkit_export")))

#else
#define OFFKIT_ON_DEVICE 0
// Not made unless host code calls it: what it calls may be for devices only.
#define OFFKIT_KERNEL inline
#define OFFKIT_GLOBAL
#define OFFKIT_EXTERNAL
#endif

#define OFFKIT_EXPORT OFFKIT_EXTERNAL

// The name that SYCL sources use; the headers of a SYCL implementation come first.
#if defined(SYCL_LANGUAGE_VERSION) && !defined(SYCL_EXTERNAL)
#define SYCL_EXTERNAL OFFKIT_EXTERNAL
#endif

#ifdef __cplusplus
#define OFFKIT_C extern "C"
#else
#define OFFKIT_C
#endif

// Where in its launch a work-item is; `dimension` is 0, 1 or 2 and must be a constant.
#if defined(__OPENCL_C_VERSION__) || defined(__OPENCL_CPP_VERSION__)
#define offkit_global_id(dimension) get_global_id(dimension)
#define offkit_global_size(dimension) get_global_size(dimension)
#define offkit_local_id(dimension) get_local_id(dimension)
#define offkit_local_size(dimension) get_local_size(dimension)
#define offkit_group_id(dimension) get_group_id(dimension)
#define offkit_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#elif OFFKIT_ON_DEVICE && defined(__SPIRV__)
#include <__clang_spirv_builtins.h>
#define offkit_global_id(dimension) __spirv_BuiltInGlobalInvocationId(dimension)
#define offkit_global_size(dimension) __spirv_BuiltInGlobalSize(dimension)
#define offkit_local_id(dimension) __spirv_BuiltInLocalInvocationId(dimension)
#define offkit_local_size(dimension) __spirv_BuiltInWorkgroupSize(dimension)
#define offkit_group_id(dimension) __spirv_BuiltInWorkgroupId(dimension)
#define offkit_barrier() __builtin_spirv_group_barrier()

#elif OFFKIT_ON_DEVICE && (defined(__NVPTX__) || defined(__AMDGCN__))
#include <gpuintrin.h>
#define offkit_local_id(dimension) ((__SIZE_TYPE__)__gpu_thread_id(dimension))
#define offkit_local_size(dimension) ((__SIZE_TYPE__)__gpu_num_threads(dimension))
#define offkit_group_id(dimension) ((__SIZE_TYPE__)__gpu_block_id(dimension))
#define offkit_global_id(dimension) \
  (offkit_group_id(dimension) * offkit_local_size(dimension) + offkit_local_id(dimension))
#define offkit_global_size(dimension) ((__SIZE_TYPE__)__gpu_num_blocks(dimension) * offkit_local_size(dimension))
#define offkit_barrier() __gpu_sync_threads()

#elif OFFKIT_ON_DEVICE
// Device code for a host's processor, where only OpenCL C has work-items: functions of the program that loads it.
#define OFFKIT_NO_WORK_ITEMS \
  __attribute__((unavailable("work-items are there for SPIR-V, NVPTX and AMDGPU, and in OpenCL C")))
OFFKIT_C OFFKIT_NO_WORK_ITEMS __SIZE_TYPE__ offkit_global_id(int dimension);
OFFKIT_C OFFKIT_NO_WORK_ITEMS __SIZE_TYPE__ offkit_global_size(int dimension);
OFFKIT_C OFFKIT_NO_WORK_ITEMS __SIZE_TYPE__ offkit_local_id(int dimension);
OFFKIT_C OFFKIT_NO_WORK_ITEMS __SIZE_TYPE__ offkit_local_size(int dimension);
OFFKIT_C OFFKIT_NO_WORK_ITEMS __SIZE_TYPE__ offkit_group_id(int dimension);
OFFKIT_C OFFKIT_NO_WORK_ITEMS void offkit_barrier(void);

#else
// A kernel that host code calls is one work-item.
#define offkit_global_id(dimension) ((__SIZE_TYPE__)0)
#define offkit_global_size(dimension) ((__SIZE_TYPE__)1)
#define offkit_local_id(dimension) ((__SIZE_TYPE__)0)
#define offkit_local_size(dimension) ((__SIZE_TYPE__)1)
#define offkit_group_id(dimension) ((__SIZE_TYPE__)0)
#define offkit_barrier() ((void)0)
#endif

#endif
