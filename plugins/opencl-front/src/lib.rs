//! offkit's devices as an OpenCL driver.
//!
//! `liboffkit_opencl.so` is what a program that knows only OpenCL finds: loaders (ICD loaders) open it, take the one
//! function it exports, and reach all others through the table that every object begins with. Below, everything goes
//! through the plugin interface to a device: `clEnqueueNDRangeKernel` is `piEnqueueKernelLaunch` with other handles.
//!
//! ```text
//!  program ──▶ loader ──▶ entry (the table) ──▶ context, queue, memory, program, kernel, event ──▶ offkit-pi ──▶ device
//! ```
//!
//! What the driver reports and what it does not is described in `docs/opencl-driver.md`.

#![expect(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "functions that OpenCL names have its names and parameters"
)]

mod answer;
mod binary;
mod build;
mod c;
mod context;
mod device;
mod entry;
mod event;
mod failure;
mod handle;
mod kernel;
mod kernel_info;
mod launch;
mod memory;
mod pi;
mod platform;
mod program;
mod program_info;
mod queue;
mod source;
mod source_info;
mod svm;
mod transfer;
mod unsupported;
mod usm;

pub use entry::clGetExtensionFunctionAddress;

/// The functions of the table: those that a module has, and for the rest those that refuse.
mod api {
    pub(crate) use crate::build::{clBuildProgram, clCompileProgram, clLinkProgram};
    pub(crate) use crate::context::{
        clCreateContext, clCreateContextFromType, clGetContextInfo, clReleaseContext, clRetainContext,
        clSetContextDestructorCallback,
    };
    pub(crate) use crate::device::{
        clCreateSubDevices, clGetDeviceAndHostTimer, clGetDeviceInfo, clGetHostTimer, clReleaseDevice,
        clRetainDevice,
    };
    pub(crate) use crate::event::{
        clCreateUserEvent, clGetEventInfo, clGetEventProfilingInfo, clReleaseEvent, clRetainEvent,
        clSetEventCallback, clSetUserEventStatus, clWaitForEvents,
    };
    pub(crate) use crate::kernel::{
        clCloneKernel, clCreateKernel, clCreateKernelsInProgram, clReleaseKernel, clRetainKernel,
        clSetKernelArg, clSetKernelExecInfo,
    };
    pub(crate) use crate::kernel_info::{
        clGetKernelArgInfo, clGetKernelInfo, clGetKernelSubGroupInfo, clGetKernelSubGroupInfoKHR,
        clGetKernelWorkGroupInfo,
    };
    pub(crate) use crate::launch::{
        clEnqueueNDRangeKernel, clEnqueueTask, clGetKernelSuggestedLocalWorkSize,
        clGetKernelSuggestedLocalWorkSizeKHR,
    };
    pub(crate) use crate::memory::{
        clCreateBuffer, clCreateBufferWithProperties, clCreateSubBuffer, clGetImageInfo, clGetMemObjectInfo,
        clGetPipeInfo, clGetSupportedImageFormats, clReleaseMemObject, clRetainMemObject,
        clSetMemObjectDestructorCallback,
    };
    pub(crate) use crate::platform::{
        clGetDeviceIDs, clGetExtensionFunctionAddress, clGetExtensionFunctionAddressForPlatform,
        clGetPlatformIDs, clGetPlatformInfo, clIcdGetFunctionAddressForPlatformKHR, clIcdGetPlatformIDsKHR,
        clIcdSetPlatformDispatchDataKHR, clUnloadCompiler, clUnloadPlatformCompiler,
    };
    pub(crate) use crate::program::{
        clCreateProgramWithBinary, clCreateProgramWithBuiltInKernels, clCreateProgramWithIL,
        clCreateProgramWithILKHR, clCreateProgramWithSource, clReleaseProgram, clRetainProgram,
        clSetProgramSpecializationConstant,
    };
    pub(crate) use crate::program_info::{clGetProgramBuildInfo, clGetProgramInfo};
    pub(crate) use crate::queue::{
        clCreateCommandQueue, clCreateCommandQueueWithProperties, clCreateCommandQueueWithPropertiesKHR,
        clEnqueueBarrier, clEnqueueBarrierWithWaitList, clEnqueueMarker, clEnqueueMarkerWithWaitList,
        clEnqueueWaitForEvents, clFinish, clFlush, clGetCommandQueueInfo, clReleaseCommandQueue,
        clRetainCommandQueue,
    };
    pub(crate) use crate::svm::{
        clEnqueueSVMFree, clEnqueueSVMMap, clEnqueueSVMMemFill, clEnqueueSVMMemcpy, clEnqueueSVMMigrateMem,
        clEnqueueSVMUnmap, clSVMAlloc, clSVMFree, clSetKernelArgSVMPointer,
    };
    pub(crate) use crate::transfer::{
        clEnqueueCopyBuffer, clEnqueueCopyBufferRect, clEnqueueFillBuffer, clEnqueueMapBuffer,
        clEnqueueMigrateMemObjects, clEnqueueReadBuffer, clEnqueueReadBufferRect, clEnqueueUnmapMemObject,
        clEnqueueWriteBuffer, clEnqueueWriteBufferRect,
    };
    // With an asterisk, for such a name gives way to one that is written out.
    pub(crate) use crate::unsupported::*;
    pub(crate) use crate::usm::{
        clDeviceMemAllocINTEL, clEnqueueMemAdviseINTEL, clEnqueueMemFillINTEL, clEnqueueMemcpyINTEL,
        clEnqueueMemsetINTEL, clEnqueueMigrateMemINTEL, clGetMemAllocInfoINTEL, clHostMemAllocINTEL,
        clMemBlockingFreeINTEL, clMemFreeINTEL, clSetKernelArgMemPointerINTEL, clSharedMemAllocINTEL,
    };
}
