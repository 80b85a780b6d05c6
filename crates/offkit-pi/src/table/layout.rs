//! The released versions: which function, in which revision, each has in which place.

use super::{Revision, Slot};
use core::ffi::{CStr, c_char};

/// One version of the interface: its functions, and where they are in the plugin record.
///
/// The record (`_pi_plugin` of the C header) has, one after the other:
///
/// * two version strings of equal, fixed length: the host's, by which the plugin decides, and the plugin's;
/// * a pointer nobody uses;
/// * the function table;
/// * in 15.47, what sanitizer the host works with, and padding.
///
/// Tables of different versions are not prefixes of each other, so a record is only ever read and written through
/// the layout of its version. A further version is a further layout here, and its new functions and revisions in the
/// list that [`Revision`] is made from.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The version as the strings have it, `major.minor`.
    pub version: &'static CStr,
    /// Bytes each version string takes.
    pub version_length: usize,
    /// Bytes behind the table.
    pub trailer: usize,
    /// The functions, in the order of the table.
    pub functions: &'static [Revision],
}

macro_rules! functions {
    ($($revision:ident),* $(,)?) => {
        &[$(Revision::$revision),*]
    };
}

impl Layout {
    /// The released versions, the oldest first.
    pub const ALL: [&'static Layout; 4] = [&Self::V2_3, &Self::V6_8, &Self::V12_27, &Self::V15_47];

    /// PI 2.3: release 2021.2 of DPC++.
    pub const V2_3: Layout = Layout {
        version: c"2.3",
        version_length: 4,
        trailer: 0,
        functions: functions! {
            piPlatformsGet, piPlatformGetInfo, piextPlatformGetNativeHandle,
            piextPlatformCreateWithNativeHandle,
            piDevicesGet, piDeviceGetInfo, piDevicePartition, piDeviceRetain, piDeviceRelease,
            piextDeviceSelectBinary,
            piextGetDeviceFunctionPointer,
            piextDeviceGetNativeHandle, piextDeviceCreateWithNativeHandle,
            piContextCreate, piContextGetInfo, piContextRetain, piContextRelease,
            piextContextSetExtendedDeleter, piextContextGetNativeHandle, piextContextCreateWithNativeHandle,
            piQueueCreate, piQueueGetInfo, piQueueFinish, piQueueRetain, piQueueRelease,
            piextQueueGetNativeHandle, piextQueueCreateWithNativeHandle,
            piMemBufferCreate, piMemImageCreate, piMemGetInfo, piMemImageGetInfo, piMemRetain, piMemRelease,
            piMemBufferPartition, piextMemGetNativeHandle, piextMemCreateWithNativeHandle,
            piProgramCreate, piclProgramCreateWithSource, piProgramCreateWithBinary, piProgramGetInfo,
            piProgramCompile, piProgramBuild, piProgramLink, piProgramGetBuildInfo, piProgramRetain,
            piProgramRelease, piextProgramSetSpecializationConstant, piextProgramGetNativeHandle,
            piextProgramCreateWithNativeHandle,
            piKernelCreate, piKernelSetArg, piKernelGetInfo, piKernelGetGroupInfo, piKernelGetSubGroupInfo,
            piKernelRetain, piKernelRelease, piextKernelSetArgPointer, piKernelSetExecInfo,
            piEventCreate, piEventGetInfo, piEventGetProfilingInfo, piEventsWait, piEventSetCallback,
            piEventSetStatus, piEventRetain, piEventRelease, piextEventGetNativeHandle,
            piextEventCreateWithNativeHandle,
            piSamplerCreate, piSamplerGetInfo, piSamplerRetain, piSamplerRelease,
            piEnqueueKernelLaunch, piEnqueueNativeKernel, piEnqueueEventsWait, piEnqueueEventsWaitWithBarrier,
            piEnqueueMemBufferRead, piEnqueueMemBufferReadRect, piEnqueueMemBufferWrite,
            piEnqueueMemBufferWriteRect, piEnqueueMemBufferCopy, piEnqueueMemBufferCopyRect,
            piEnqueueMemBufferFill, piEnqueueMemImageRead, piEnqueueMemImageWrite, piEnqueueMemImageCopy,
            piEnqueueMemImageFill, piEnqueueMemBufferMap, piEnqueueMemUnmap,
            piextUSMHostAlloc, piextUSMDeviceAlloc, piextUSMSharedAlloc, piextUSMFree, piextUSMEnqueueMemset,
            piextUSMEnqueueMemcpy, piextUSMEnqueuePrefetch, piextUSMEnqueueMemAdvise, piextUSMGetMemAllocInfo,
            piextKernelSetArgMemObj, piextKernelSetArgSampler,
            piTearDown,
        },
    };

    /// PI 6.8: release 2022.1 of DPC++.
    pub const V6_8: Layout = Layout {
        version: c"6.8",
        version_length: 4,
        trailer: 0,
        functions: functions! {
            piPlatformsGet, piPlatformGetInfo, piextPlatformGetNativeHandle,
            piextPlatformCreateWithNativeHandle,
            piDevicesGet, piDeviceGetInfo, piDevicePartition, piDeviceRetain, piDeviceRelease,
            piextDeviceSelectBinary,
            piextGetDeviceFunctionPointer,
            piextDeviceGetNativeHandle, piextDeviceCreateWithNativeHandle,
            piContextCreate, piContextGetInfo, piContextRetain, piContextRelease,
            piextContextSetExtendedDeleter, piextContextGetNativeHandle, piextContextCreateWithNativeHandle_b,
            piQueueCreate, piQueueGetInfo, piQueueFinish, piQueueFlush, piQueueRetain, piQueueRelease,
            piextQueueGetNativeHandle, piextQueueCreateWithNativeHandle_b,
            piMemBufferCreate, piMemImageCreate, piMemGetInfo, piMemImageGetInfo, piMemRetain, piMemRelease,
            piMemBufferPartition, piextMemGetNativeHandle, piextMemCreateWithNativeHandle,
            piProgramCreate, piclProgramCreateWithSource, piProgramCreateWithBinary_b, piProgramGetInfo,
            piProgramCompile, piProgramBuild, piProgramLink, piProgramGetBuildInfo, piProgramRetain,
            piProgramRelease, piextProgramSetSpecializationConstant, piextProgramGetNativeHandle,
            piextProgramCreateWithNativeHandle_b,
            piKernelCreate, piKernelSetArg, piKernelGetInfo, piKernelGetGroupInfo, piKernelGetSubGroupInfo,
            piKernelRetain, piKernelRelease, piextKernelSetArgPointer, piKernelSetExecInfo,
            piextKernelCreateWithNativeHandle, piextKernelGetNativeHandle,
            piEventCreate, piEventGetInfo, piEventGetProfilingInfo, piEventsWait, piEventSetCallback,
            piEventSetStatus, piEventRetain, piEventRelease, piextEventGetNativeHandle,
            piextEventCreateWithNativeHandle_b,
            piSamplerCreate, piSamplerGetInfo, piSamplerRetain, piSamplerRelease,
            piEnqueueKernelLaunch, piEnqueueNativeKernel, piEnqueueEventsWait, piEnqueueEventsWaitWithBarrier,
            piEnqueueMemBufferRead, piEnqueueMemBufferReadRect, piEnqueueMemBufferWrite,
            piEnqueueMemBufferWriteRect, piEnqueueMemBufferCopy, piEnqueueMemBufferCopyRect,
            piEnqueueMemBufferFill, piEnqueueMemImageRead, piEnqueueMemImageWrite, piEnqueueMemImageCopy,
            piEnqueueMemImageFill, piEnqueueMemBufferMap, piEnqueueMemUnmap,
            piextUSMHostAlloc, piextUSMDeviceAlloc, piextUSMSharedAlloc, piextUSMFree, piextUSMEnqueueMemset,
            piextUSMEnqueueMemcpy, piextUSMEnqueuePrefetch, piextUSMEnqueueMemAdvise, piextUSMGetMemAllocInfo,
            piextKernelSetArgMemObj, piextKernelSetArgSampler,
            piextPluginGetOpaqueData, piTearDown,
        },
    };

    /// PI 12.27: release 2023.2 of DPC++.
    pub const V12_27: Layout = Layout {
        version: c"12.27",
        // With its end it does not fit into the 4 bytes that versions had before.
        version_length: 20,
        trailer: 0,
        functions: functions! {
            piPlatformsGet, piPlatformGetInfo, piextPlatformGetNativeHandle,
            piextPlatformCreateWithNativeHandle,
            piDevicesGet, piDeviceGetInfo, piDevicePartition, piDeviceRetain, piDeviceRelease,
            piextDeviceSelectBinary,
            piextGetDeviceFunctionPointer,
            piextDeviceGetNativeHandle, piextDeviceCreateWithNativeHandle,
            piContextCreate, piContextGetInfo, piContextRetain, piContextRelease,
            piextContextSetExtendedDeleter, piextContextGetNativeHandle, piextContextCreateWithNativeHandle_b,
            piQueueCreate, piextQueueCreate, piQueueGetInfo, piQueueFinish, piQueueFlush, piQueueRetain,
            piQueueRelease, piextQueueGetNativeHandle, piextQueueCreateWithNativeHandle_c,
            piMemBufferCreate, piMemImageCreate, piMemGetInfo, piMemImageGetInfo, piMemRetain, piMemRelease,
            piMemBufferPartition, piextMemGetNativeHandle, piextMemCreateWithNativeHandle_b,
            piProgramCreate, piclProgramCreateWithSource, piProgramCreateWithBinary_b, piProgramGetInfo,
            piProgramCompile, piProgramBuild, piProgramLink, piProgramGetBuildInfo, piProgramRetain,
            piProgramRelease, piextProgramSetSpecializationConstant, piextProgramGetNativeHandle,
            piextProgramCreateWithNativeHandle_b,
            piKernelCreate, piKernelSetArg, piKernelGetInfo, piKernelGetGroupInfo, piKernelGetSubGroupInfo,
            piKernelRetain, piKernelRelease, piextKernelSetArgPointer, piKernelSetExecInfo,
            piextKernelCreateWithNativeHandle, piextKernelGetNativeHandle,
            piEventCreate_b, piEventGetInfo, piEventGetProfilingInfo, piEventsWait, piEventSetCallback,
            piEventSetStatus, piEventRetain, piEventRelease, piextEventGetNativeHandle,
            piextEventCreateWithNativeHandle_b,
            piSamplerCreate, piSamplerGetInfo, piSamplerRetain, piSamplerRelease,
            piEnqueueKernelLaunch, piEnqueueNativeKernel, piEnqueueEventsWait, piEnqueueEventsWaitWithBarrier,
            piEnqueueMemBufferRead, piEnqueueMemBufferReadRect, piEnqueueMemBufferWrite,
            piEnqueueMemBufferWriteRect, piEnqueueMemBufferCopy, piEnqueueMemBufferCopyRect,
            piEnqueueMemBufferFill, piEnqueueMemImageRead, piEnqueueMemImageWrite, piEnqueueMemImageCopy,
            piEnqueueMemImageFill, piEnqueueMemBufferMap, piEnqueueMemUnmap,
            piextUSMHostAlloc, piextUSMDeviceAlloc, piextUSMSharedAlloc, piextUSMFree, piextUSMEnqueueMemset,
            piextUSMEnqueueMemcpy, piextUSMEnqueuePrefetch, piextUSMEnqueueMemAdvise_b, piextUSMGetMemAllocInfo,
            piextEnqueueReadHostPipe, piextEnqueueWriteHostPipe,
            piextKernelSetArgMemObj, piextKernelSetArgSampler,
            piextPluginGetOpaqueData, piPluginGetLastError, piTearDown,
            piextUSMEnqueueFill2D, piextUSMEnqueueMemset2D, piextUSMEnqueueMemcpy2D,
            piGetDeviceAndHostTimer,
            piextEnqueueDeviceGlobalVariableWrite, piextEnqueueDeviceGlobalVariableRead,
            // Functions of queues got more parameters while 12 lasted: under new names, at the end,
            // so that the places of all others stayed.
            piextQueueCreate2, piextQueueGetNativeHandle2, piextQueueCreateWithNativeHandle2,
        },
    };

    /// PI 15.47: release 2024.2 of DPC++.
    pub const V15_47: Layout = Layout {
        version: c"15.47",
        version_length: 20,
        trailer: 8,
        // Source text and native kernels are gone. So are the functions of queues with a 2 in their
        // names: those without it have their parameters now.
        functions: functions! {
            piPlatformsGet, piPlatformGetInfo, piextPlatformGetNativeHandle,
            piextPlatformCreateWithNativeHandle,
            piDevicesGet, piDeviceGetInfo, piDevicePartition, piDeviceRetain, piDeviceRelease,
            piextDeviceSelectBinary,
            piextGetDeviceFunctionPointer, piextGetGlobalVariablePointer,
            piextDeviceGetNativeHandle, piextDeviceCreateWithNativeHandle,
            piContextCreate, piContextGetInfo, piContextRetain, piContextRelease,
            piextContextSetExtendedDeleter, piextContextGetNativeHandle, piextContextCreateWithNativeHandle_b,
            piQueueCreate, piextQueueCreate, piQueueGetInfo, piQueueFinish, piQueueFlush, piQueueRetain,
            piQueueRelease, piextQueueGetNativeHandle_b, piextQueueCreateWithNativeHandle_d,
            piMemBufferCreate, piMemImageCreate, piMemGetInfo, piMemImageGetInfo, piMemRetain, piMemRelease,
            piMemBufferPartition, piextMemGetNativeHandle_b, piextMemCreateWithNativeHandle_b,
            piextMemImageCreateWithNativeHandle,
            piProgramCreate, piProgramCreateWithBinary_b, piProgramGetInfo, piProgramCompile, piProgramBuild,
            piProgramLink, piProgramGetBuildInfo, piProgramRetain, piProgramRelease,
            piextProgramSetSpecializationConstant, piextProgramGetNativeHandle,
            piextProgramCreateWithNativeHandle_b,
            piKernelCreate, piKernelSetArg, piKernelGetInfo, piKernelGetGroupInfo, piKernelGetSubGroupInfo,
            piKernelRetain, piKernelRelease, piextKernelSetArgPointer, piKernelSetExecInfo,
            piextKernelCreateWithNativeHandle, piextKernelGetNativeHandle,
            piextKernelSuggestMaxCooperativeGroupCount,
            piEventCreate_b, piEventGetInfo, piEventGetProfilingInfo, piEventsWait, piEventSetCallback,
            piEventSetStatus, piEventRetain, piEventRelease, piextEventGetNativeHandle,
            piextEventCreateWithNativeHandle_b,
            piSamplerCreate, piSamplerGetInfo, piSamplerRetain, piSamplerRelease,
            piEnqueueKernelLaunch, piextEnqueueCooperativeKernelLaunch, piEnqueueEventsWait,
            piEnqueueEventsWaitWithBarrier, piEnqueueMemBufferRead, piEnqueueMemBufferReadRect,
            piEnqueueMemBufferWrite, piEnqueueMemBufferWriteRect, piEnqueueMemBufferCopy,
            piEnqueueMemBufferCopyRect, piEnqueueMemBufferFill, piEnqueueMemImageRead, piEnqueueMemImageWrite,
            piEnqueueMemImageCopy, piEnqueueMemImageFill, piEnqueueMemBufferMap, piEnqueueMemUnmap,
            piextUSMHostAlloc, piextUSMDeviceAlloc, piextUSMSharedAlloc, piextUSMFree, piextUSMEnqueueMemset,
            piextUSMEnqueueMemcpy, piextUSMEnqueuePrefetch, piextUSMEnqueueMemAdvise_c, piextUSMGetMemAllocInfo,
            piextEnqueueReadHostPipe, piextEnqueueWriteHostPipe,
            piextKernelSetArgMemObj_b, piextKernelSetArgSampler,
            piextPluginGetOpaqueData, piPluginGetLastError, piTearDown_b,
            piextUSMEnqueueFill2D, piextUSMEnqueueMemset2D, piextUSMEnqueueMemcpy2D,
            piGetDeviceAndHostTimer,
            piextEnqueueDeviceGlobalVariableWrite, piextEnqueueDeviceGlobalVariableRead,
            piPluginGetBackendOption, piextEnablePeerAccess, piextDisablePeerAccess, piextPeerAccessGetInfo,
            piextUSMImport, piextUSMRelease,
            piextCommandBufferCreate, piextCommandBufferRetain, piextCommandBufferRelease,
            piextCommandBufferFinalize, piextCommandBufferNDRangeKernel, piextCommandBufferMemcpyUSM,
            piextCommandBufferMemBufferCopy, piextCommandBufferMemBufferCopyRect,
            piextCommandBufferMemBufferWrite, piextCommandBufferMemBufferWriteRect,
            piextCommandBufferMemBufferRead, piextCommandBufferMemBufferReadRect,
            piextCommandBufferMemBufferFill, piextCommandBufferFillUSM, piextCommandBufferPrefetchUSM,
            piextCommandBufferAdviseUSM,
            piextEnqueueCommandBuffer,
            piextUSMPitchedAlloc,
            piextMemUnsampledImageHandleDestroy, piextMemSampledImageHandleDestroy,
            piextBindlessImageSamplerCreate,
            piextMemImageAllocate, piextMemImageFree, piextMemUnsampledImageCreate, piextMemSampledImageCreate,
            piextMemImageCopy, piextMemImageGetInfo, piextMemMipmapGetLevel, piextMemMipmapFree,
            piextMemImportOpaqueFD, piextMemReleaseInterop, piextMemMapExternalArray,
            piextImportExternalSemaphoreOpaqueFD, piextDestroyExternalSemaphore, piextWaitExternalSemaphore,
            piextSignalExternalSemaphore,
        },
    };

    /// Offset of the function table from the start of the record.
    pub const fn table_offset(&self) -> usize {
        (2 * self.version_length).next_multiple_of(align_of::<*mut c_char>()) + size_of::<*mut c_char>()
    }

    /// Size of the whole record in bytes.
    pub const fn record_size(&self) -> usize {
        self.table_offset() + size_of::<Slot>() * self.functions.len() + self.trailer
    }

    /// The version as text.
    pub const fn version(&self) -> &'static str {
        match self.version.to_str() {
            Ok(version) => version,
            Err(_) => "",
        }
    }

    /// The layout of a version, given as `major.minor` with anything behind that (plugins add a number of their own:
    /// `12.27.1`).
    pub fn of_version(version: &str) -> Option<&'static Layout> {
        let is_of = |layout: &&Layout| match version.strip_prefix(layout.version()) {
            // So that `2.30` is not taken for `2.3`.
            Some(rest) => !rest.starts_with(|next: char| next.is_ascii_digit()),
            None => false,
        };
        Self::ALL.into_iter().find(is_of)
    }
}
