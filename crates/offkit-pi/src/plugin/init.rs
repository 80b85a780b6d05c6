//! `piPluginInit`, and the table it fills in.

use super::error::guard;
use super::state::Registered;
use super::{Error, Plugin, Result};
use super::{context, device, enqueue, event, kernel, memory, program, queue, rect, usm};
use crate::ffi::*;
use crate::functions::for_each_function;
use crate::table::{Api, Function, Layout, PluginRecordV2_3, signature, version_text};
use core::ffi::{c_char, c_void};

macro_rules! define_stubs {
    ($($name:ident($($parameter:ident: $type:ty),*);)*) => {
        /// Functions that say that they are not supported, one for each slot.
        #[expect(non_snake_case, reason = "these are the names of the C interface")]
        mod stub {
            use super::*;
            $(
                pub(super) unsafe extern "C" fn $name<P: Plugin>($($parameter: $type),*) -> pi_result {
                    $(let _ = $parameter;)*
                    refuse::<P>(Function::$name)
                }
            )*
        }

        /// A table in which every function says that it is not supported.
        fn unsupported<P: Plugin>() -> Api {
            Api { $($name: Some(stub::$name::<P> as signature::$name),)* }
        }
    };
}

for_each_function!(define_stubs);

fn refuse<P: Plugin>(function: Function) -> pi_result {
    let message = format!("{function} is not supported by plugin {}", P::NAME);
    // No function of its own to be blamed on: the host knows which one it called.
    super::error::set_last_error(&message);
    PI_INVALID_OPERATION
}

unsafe extern "C" fn tear_down<P: Plugin>(_parameter: *mut c_void) -> pi_result {
    guard(Function::piTearDown, P::tear_down)
}

/// The functions of a plugin.
fn api<P: Registered>() -> Api {
    Api {
        piPlatformsGet: Some(device::platforms_get::<P>),
        piPlatformGetInfo: Some(device::platform_info::<P>),
        piDevicesGet: Some(device::devices_get::<P>),
        piDeviceGetInfo: Some(device::device_info::<P>),
        piDeviceRetain: Some(device::device_retain::<P>),
        piDeviceRelease: Some(device::device_release::<P>),
        piextDeviceSelectBinary: Some(device::select_binary::<P>),
        piContextCreate: Some(context::create::<P>),
        piContextGetInfo: Some(context::info::<P>),
        piContextRetain: Some(context::retain::<P>),
        piContextRelease: Some(context::release::<P>),
        piQueueCreate: Some(queue::create::<P>),
        piQueueGetInfo: Some(queue::info::<P>),
        piQueueFinish: Some(queue::finish::<P>),
        piQueueRetain: Some(queue::retain::<P>),
        piQueueRelease: Some(queue::release::<P>),
        piMemBufferCreate: Some(memory::create::<P>),
        piMemGetInfo: Some(memory::info::<P>),
        piMemRetain: Some(memory::retain::<P>),
        piMemRelease: Some(memory::release::<P>),
        piMemBufferPartition: Some(memory::partition::<P>),
        piProgramCreate: Some(program::create::<P>),
        piProgramCreateWithBinary: Some(program::create_with_binary::<P>),
        piProgramGetInfo: Some(program::info::<P>),
        piProgramCompile: Some(program::compile::<P>),
        piProgramBuild: Some(program::build::<P>),
        piProgramLink: Some(program::link::<P>),
        piProgramGetBuildInfo: Some(program::build_info::<P>),
        piProgramRetain: Some(program::retain::<P>),
        piProgramRelease: Some(program::release::<P>),
        piextProgramSetSpecializationConstant: Some(program::set_specialization_constant::<P>),
        piKernelCreate: Some(kernel::create::<P>),
        piKernelSetArg: Some(kernel::set_arg::<P>),
        piKernelGetInfo: Some(kernel::info::<P>),
        piKernelGetGroupInfo: Some(kernel::group_info::<P>),
        piKernelGetSubGroupInfo: Some(kernel::sub_group_info::<P>),
        piKernelRetain: Some(kernel::retain::<P>),
        piKernelRelease: Some(kernel::release::<P>),
        piextKernelSetArgPointer: Some(kernel::set_arg_pointer::<P>),
        piextKernelSetArgMemObj: Some(kernel::set_arg_memory::<P>),
        piKernelSetExecInfo: Some(kernel::set_exec_info::<P>),
        piEventCreate: Some(event::create::<P>),
        piEventGetInfo: Some(event::info::<P>),
        piEventGetProfilingInfo: Some(event::profiling_info::<P>),
        piEventsWait: Some(event::wait::<P>),
        piEventSetCallback: Some(event::set_callback::<P>),
        piEventSetStatus: Some(event::set_status::<P>),
        piEventRetain: Some(event::retain::<P>),
        piEventRelease: Some(event::release::<P>),
        piEnqueueKernelLaunch: Some(enqueue::kernel_launch::<P>),
        piEnqueueEventsWait: Some(enqueue::events_wait::<P>),
        piEnqueueEventsWaitWithBarrier: Some(enqueue::events_wait_with_barrier::<P>),
        piEnqueueMemBufferRead: Some(enqueue::buffer_read::<P>),
        piEnqueueMemBufferReadRect: Some(rect::read::<P>),
        piEnqueueMemBufferWrite: Some(enqueue::buffer_write::<P>),
        piEnqueueMemBufferWriteRect: Some(rect::write::<P>),
        piEnqueueMemBufferCopy: Some(enqueue::buffer_copy::<P>),
        piEnqueueMemBufferCopyRect: Some(rect::copy::<P>),
        piEnqueueMemBufferFill: Some(enqueue::buffer_fill::<P>),
        piEnqueueMemBufferMap: Some(enqueue::buffer_map::<P>),
        piEnqueueMemUnmap: Some(enqueue::unmap::<P>),
        piextUSMHostAlloc: Some(usm::host_alloc::<P>),
        piextUSMDeviceAlloc: Some(usm::device_alloc::<P>),
        piextUSMSharedAlloc: Some(usm::shared_alloc::<P>),
        piextUSMFree: Some(usm::free::<P>),
        piextUSMEnqueueMemset: Some(usm::memset::<P>),
        piextUSMEnqueueMemcpy: Some(usm::memcpy::<P>),
        piextUSMEnqueuePrefetch: Some(usm::prefetch::<P>),
        piextUSMEnqueueMemAdvise: Some(usm::mem_advise::<P>),
        piextUSMGetMemAllocInfo: Some(usm::info::<P>),
        piTearDown: Some(tear_down::<P>),
        ..unsupported::<P>()
    }
}

/// `piPluginInit` of a plugin: takes a record of the one version there is a layout for, fills in its own
/// version and the table, and refuses all others with [`PI_INVALID_OPERATION`]. (Real plugins take hosts
/// newer than themselves, by comparing versions as text, although their tables differ; a host that then calls
/// a function calls another one.)
///
/// # Safety
///
/// `record` must be null, or point to the plugin record of the version that its first bytes name.
pub unsafe extern "C" fn initialise<P: Registered>(record: *mut c_void) -> pi_result {
    let fill = || -> Result<()> {
        let layout = Layout::V2_3;
        if record.is_null() {
            return Err(Error::null("the plugin record"));
        }
        // SAFETY: the record of every version starts with at least as many bytes of version text.
        let offered = unsafe { record.cast::<[u8; 4]>().read() };
        if offered.as_slice() != layout.version.to_bytes_with_nul() {
            let message = format!(
                "plugin {} speaks PI {}, the host offers {:?}",
                P::NAME,
                layout.version.to_string_lossy(),
                version_text(&offered)
            );
            return Err(Error::new(PI_INVALID_OPERATION, message));
        }
        // SAFETY: the record names this version, so it is a record of this version.
        let record = unsafe { &mut *record.cast::<PluginRecordV2_3>() };
        record.plugin_version = offered;
        record.functions = *api::<P>().slots();
        Ok(())
    };
    guard("piPluginInit", fill)
}
