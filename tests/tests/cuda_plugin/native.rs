//! What programs do that use the driver beside the plugin: native handles, and buffers that are mapped.

use super::*;
use core::ffi::{CStr, c_void};
use offkit_pi::BuiltIn;
use offkit_pi::host::NativeQueue;
use std::ptr::{null, null_mut};

/// Calls a function of a plugin's table, which must succeed.
macro_rules! done {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are as the interface says.
        let result = unsafe { $plugin.api().$function.unwrap()($($argument),*) };
        assert_eq!(result, PI_SUCCESS, stringify!($function));
    };
}

/// A context of the first device, and a queue.
fn machine(plugin: &Plugin) -> (pi_device, pi_context, pi_queue) {
    let (mut platform, mut device) = (null_mut(), null_mut());
    let (mut context, mut queue) = (null_mut(), null_mut());
    done!(plugin, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        plugin,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
    );
    done!(
        plugin,
        piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
    );
    done!(plugin, piQueueCreate(context, device, 0, &raw mut queue));
    (device, context, queue)
}

#[test]
fn hosts_see_buffers_that_are_mapped() {
    need!("clang-22");
    if !is_inside("native::hosts_see_buffers_that_are_mapped", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let plugin = plugin();
    let (_, context, queue) = machine(&plugin);
    let mut storage: Vec<u8> = (0..64).collect();
    let start = storage.as_mut_ptr();
    for (flags, host) in [
        (PI_MEM_FLAGS_HOST_PTR_COPY, start),
        (PI_MEM_FLAGS_HOST_PTR_USE, start),
        (PI_MEM_FLAGS_HOST_PTR_ALLOC | PI_MEM_FLAGS_HOST_PTR_COPY, start),
        // Memory that cannot be registered is copied.
        (PI_MEM_FLAGS_HOST_PTR_USE, start),
    ] {
        storage.copy_from_slice(&(0..64).collect::<Vec<u8>>());
        let is_last = stand_in.calls("cuMemHostRegister_v2") == 1;
        if is_last {
            stand_in.fail("cuMemHostRegister_v2:1:801");
        }
        let (mut buffer, mut address) = (null_mut(), null_mut());
        let all = PI_MEM_FLAGS_ACCESS_RW | flags;
        done!(
            plugin,
            piMemBufferCreate(context, all, 64, host.cast(), &raw mut buffer, null())
        );
        done!(
            plugin,
            piEnqueueMemBufferMap(
                queue,
                buffer,
                PI_TRUE,
                PI_MAP_READ | PI_MAP_WRITE,
                16,
                8,
                0,
                null(),
                null_mut(),
                &raw mut address
            )
        );
        // SAFETY: 8 bytes are mapped there.
        let mapped = unsafe { std::slice::from_raw_parts_mut(address.cast::<u8>(), 8) };
        assert_eq!(mapped, [16, 17, 18, 19, 20, 21, 22, 23]);
        mapped[0] = 99;
        done!(
            plugin,
            piEnqueueMemUnmap(queue, buffer, address, 0, null(), null_mut())
        );
        // A box of 2 x 2 bytes at (1, 2) of rows of 8, to rows of 4.
        let mut out = [0u8; 8];
        let offset = |x, y| pi_buff_rect_offset_struct {
            x_bytes: x,
            y_scalar: y,
            z_scalar: 0,
        };
        let (mut from, mut to) = (offset(0, 2), offset(1, 0));
        let mut region = pi_buff_rect_region_struct {
            width_bytes: 2,
            height_scalar: 2,
            depth_scalar: 1,
        };
        done!(
            plugin,
            piEnqueueMemBufferReadRect(
                queue,
                buffer,
                PI_TRUE,
                &raw mut from,
                &raw mut to,
                &raw mut region,
                8,
                0,
                4,
                0,
                out.as_mut_ptr().cast(),
                0,
                null(),
                null_mut()
            )
        );
        assert_eq!(out, [0, 99, 17, 0, 0, 24, 25, 0]);
        done!(plugin, piMemRelease(buffer));
    }
    assert_eq!(stand_in.calls("cuMemHostRegister_v2"), 2);
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    assert_eq!(stand_in.live(), "");
}

#[test]
fn native_handles_go_both_ways() {
    need!("clang-22");
    if !is_inside("native::native_handles_go_both_ways", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let plugin = plugin();
    let (device, context, queue) = machine(&plugin);
    let (mut native_device, mut native_context, mut native_queue) = (9, 0, 0);
    done!(plugin, piextDeviceGetNativeHandle(device, &raw mut native_device));
    assert_eq!(native_device, 0, "the driver's number");
    done!(
        plugin,
        piextContextGetNativeHandle(context, &raw mut native_context)
    );
    done!(plugin, piextQueueGetNativeHandle(queue, &raw mut native_queue));
    assert_ne!(native_queue, 0);
    // In this version of the interface native objects are given away; a primary context is nobody's to destroy.
    let given = stand_in.stream(native_context);
    let (mut other_context, mut other_queue) = (null_mut(), null_mut());
    done!(
        plugin,
        piextContextCreateWithNativeHandle(native_context, 1, &raw const device, &raw mut other_context)
    );
    done!(
        plugin,
        piextQueueCreateWithNativeHandle(given, other_context, &raw mut other_queue)
    );
    let mut buffer = null_mut();
    done!(
        plugin,
        piMemBufferCreate(
            other_context,
            PI_MEM_FLAGS_ACCESS_RW,
            64,
            null_mut(),
            &raw mut buffer,
            null()
        )
    );
    let bytes = [4u8; 64];
    done!(
        plugin,
        piEnqueueMemBufferWrite(
            other_queue,
            buffer,
            PI_TRUE,
            0,
            64,
            bytes.as_ptr().cast(),
            0,
            null(),
            null_mut()
        )
    );
    let mut native_buffer = 0;
    done!(plugin, piextMemGetNativeHandle(buffer, &raw mut native_buffer));
    // SAFETY: the stand-in's memory is the host's.
    let first = unsafe { *std::ptr::with_exposed_provenance::<u8>(native_buffer) };
    assert_eq!(first, 4);
    done!(plugin, piMemRelease(buffer));
    done!(plugin, piQueueRelease(other_queue));
    done!(plugin, piContextRelease(other_context));
    assert_eq!(stand_in.live(), "stream context ");
    done!(plugin, piQueueFinish(queue));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    assert_eq!(stand_in.live(), "");
}

#[test]
fn a_mapping_that_cannot_be_given_back_is_still_there() {
    need!("clang-22");
    let test = "native::a_mapping_that_cannot_be_given_back_is_still_there";
    if !is_inside(test, &[], &[]) {
        return;
    }
    let (stand_in, plugin) = (StandIn::new(), plugin());
    let (_, context, queue) = machine(&plugin);
    let (mut buffer, mut address) = (null_mut(), null_mut());
    done!(
        plugin,
        piMemBufferCreate(
            context,
            PI_MEM_FLAGS_ACCESS_RW,
            64,
            null_mut(),
            &raw mut buffer,
            null()
        )
    );
    done!(
        plugin,
        piEnqueueMemBufferMap(
            queue,
            buffer,
            PI_TRUE,
            PI_MAP_WRITE,
            0,
            64,
            0,
            null(),
            null_mut(),
            &raw mut address
        )
    );
    stand_in.fail("cuMemcpyHtoDAsync_v2:1:2");
    // SAFETY: the arguments are as the interface says.
    let failed =
        unsafe { plugin.api().piEnqueueMemUnmap.unwrap()(queue, buffer, address, 0, null(), null_mut()) };
    assert_ne!(failed, PI_SUCCESS);
    done!(
        plugin,
        piEnqueueMemUnmap(queue, buffer, address, 0, null(), null_mut())
    );
    done!(plugin, piQueueFinish(queue));
    done!(plugin, piMemRelease(buffer));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    assert_eq!(left(&stand_in), "");
}

#[test]
fn a_queue_of_a_native_one_is_of_the_device_that_the_host_says() {
    need!("clang-22");
    let test = "native::a_queue_of_a_native_one_is_of_the_device_that_the_host_says";
    if !is_inside(test, &[], &[("STANDIN_DEVICES", "2")]) {
        return;
    }
    let (stand_in, plugin, newest) = (StandIn::new(), plugin(), newest());
    let (mut platform, mut devices) = (null_mut(), [null_mut(); 2]);
    let (mut context, mut queue) = (null_mut(), null_mut());
    done!(plugin, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        plugin,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 2, devices.as_mut_ptr(), null_mut())
    );
    done!(
        plugin,
        piContextCreate(null(), 2, devices.as_ptr(), None, null_mut(), &raw mut context)
    );
    done!(plugin, piQueueCreate(context, devices[1], 0, &raw mut queue));
    let mut handle = 0;
    done!(plugin, piextQueueGetNativeHandle(queue, &raw mut handle));
    let native = NativeQueue {
        handle,
        kind: 0,
        context,
        device: devices[1],
        owned: false,
        flags: 0,
    };
    // SAFETY: all handles are there.
    let same = unsafe { newest.create_queue_with_native_handle(&native) }.unwrap();
    // The driver takes no event of another device.
    let mut event = null_mut();
    done!(plugin, piEnqueueEventsWait(same, 0, null(), &raw mut event));
    done!(plugin, piEventsWait(1, &raw const event));
    let mut native_event = 0;
    done!(plugin, piextEventGetNativeHandle(event, &raw mut native_event));
    assert_ne!(native_event, 0);
    done!(plugin, piEventRelease(event));
    done!(plugin, piQueueRelease(same));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    assert_eq!(left(&stand_in), "");
}

/// Starts the plugin for hosts of the newest interface alone: only there native objects can stay their owner's.
///
/// # Safety
///
/// That of `piPluginInit`.
unsafe extern "C" fn init_newest(record: *mut c_void) -> pi_result {
    // SAFETY: the version that is offered stands at the start.
    let offered = unsafe { CStr::from_ptr(record.cast()) };
    match offered.to_bytes() {
        // SAFETY: by the caller's promise.
        b"15.47" => unsafe { offkit_plugin_cuda::BUILT_IN.init()(record) },
        _ => PI_INVALID_OPERATION,
    }
}

fn newest() -> Plugin {
    // SAFETY: it does what the plugin's own function does.
    let built_in = unsafe { BuiltIn::new("the newest", init_newest, None) };
    Plugin::built_in(&built_in).unwrap()
}

#[test]
fn native_programs_and_events_go_both_ways() {
    need!("clang-22");
    let test = "native::native_programs_and_events_go_both_ways";
    if !is_inside(test, &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    // Handles are the same in all versions of the interface.
    let (plugin, newest) = (plugin(), newest());
    let (device, context, queue) = machine(&plugin);
    let code = ptx("83");
    let (mut status, mut size, mut start) = (0, code.len(), code.as_ptr());
    let mut program = null_mut();
    done!(
        plugin,
        piProgramCreateWithBinary(
            context,
            1,
            &raw const device,
            &raw mut size,
            &raw mut start,
            &raw mut status,
            &raw mut program
        )
    );
    done!(
        plugin,
        piProgramBuild(program, 1, &raw const device, c"".as_ptr(), None, null_mut())
    );
    let mut native_program = 0;
    done!(
        plugin,
        piextProgramGetNativeHandle(program, &raw mut native_program)
    );
    assert_ne!(native_program, 0);
    // The module stays its first owner's, and has the same kernels.
    // SAFETY: both handles are there.
    let other = unsafe { newest.create_program_with_native_handle(native_program, context, false) }.unwrap();
    let mut kernel = null_mut();
    done!(plugin, piKernelCreate(other, c"shape".as_ptr(), &raw mut kernel));
    let (mut buffer, mut event) = (null_mut(), null_mut());
    let flags = PI_MEM_FLAGS_ACCESS_RW;
    done!(
        plugin,
        piMemBufferCreate(context, flags, 32, null_mut(), &raw mut buffer, null())
    );
    done!(plugin, piextKernelSetArgMemObj(kernel, 0, &raw const buffer));
    done!(plugin, piKernelSetArg(kernel, 1, 64, null()));
    let (global, local) = (8usize, 4usize);
    done!(
        plugin,
        piEnqueueKernelLaunch(
            queue,
            kernel,
            1,
            null(),
            &raw const global,
            &raw const local,
            0,
            null(),
            &raw mut event
        )
    );
    let mut native_event = 0;
    done!(plugin, piextEventGetNativeHandle(event, &raw mut native_event));
    assert_ne!(native_event, 0);
    // SAFETY: both handles are there.
    let same = unsafe { newest.create_event_with_native_handle(native_event, context, false) }.unwrap();
    done!(plugin, piEventsWait(1, &raw const same));
    let mut out = [0u32; 8];
    let target = out.as_mut_ptr().cast();
    done!(
        plugin,
        piEnqueueMemBufferRead(
            queue,
            buffer,
            PI_TRUE,
            0,
            32,
            target,
            1,
            &raw const same,
            null_mut()
        )
    );
    assert_eq!(out, [2, 1, 1, 4, 1, 1, 64, 0]);
    done!(plugin, piEventRelease(same));
    done!(plugin, piEventRelease(event));
    done!(plugin, piKernelRelease(kernel));
    done!(plugin, piProgramRelease(other));
    assert!(
        stand_in.live().contains("module"),
        "it is not the second program's"
    );
    done!(plugin, piProgramRelease(program));
    done!(plugin, piMemRelease(buffer));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    assert_eq!(left(&stand_in), "");
}
