//! What C hosts use and the safe host side does not offer, through the table.

use crate::hosts::{alone, passes};
use crate::support::{with_both, with_checked};
use core::ffi::c_void;
use offkit_pi::ffi::*;
use offkit_pi::table::Api;
use std::ptr::{null, null_mut};

/// A context and a queue by their handles.
pub(crate) struct Raw {
    pub(crate) api: Api,
    pub(crate) context: pi_context,
    pub(crate) queue: pi_queue,
}

/// Calls a function of the table, which must succeed.
macro_rules! call {
    ($raw:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = $raw.api.$function.unwrap();
        // SAFETY: the tests pass valid handles, and memory as large as they say.
        let result = unsafe { function($($argument),*) };
        assert_eq!(result, PI_SUCCESS, stringify!($function));
    }};
}
pub(crate) use call;

impl Raw {
    pub(crate) fn new(api: &Api) -> Raw {
        let mut raw = Raw {
            api: *api,
            context: null_mut(),
            queue: null_mut(),
        };
        let (mut platform, mut device) = (null_mut(), null_mut());
        call!(raw, piPlatformsGet(1, &raw mut platform, null_mut()));
        call!(
            raw,
            piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
        );
        let (mut context, mut queue) = (null_mut(), null_mut());
        call!(
            raw,
            piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
        );
        call!(raw, piQueueCreate(context, device, 0, &raw mut queue));
        (raw.context, raw.queue) = (context, queue);
        raw
    }

    pub(crate) fn buffer(&self, flags: pi_mem_flags, size: usize, data: *mut u8) -> pi_mem {
        let mut memory = null_mut();
        call!(
            self,
            piMemBufferCreate(self.context, flags, size, data.cast(), &raw mut memory, null())
        );
        memory
    }

    pub(crate) fn release(self, memory: pi_mem) {
        call!(self, piMemRelease(memory));
        call!(self, piQueueRelease(self.queue));
        call!(self, piContextRelease(self.context));
    }
}

#[test]
fn a_buffer_uses_the_hosts_memory_and_can_be_mapped() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let mut data = vec![1u8; 64];
        let start = data.as_mut_ptr();
        let memory = raw.buffer(PI_MEM_FLAGS_HOST_PTR_USE, 64, start);
        let mut known: *mut c_void = null_mut();
        call!(
            raw,
            piMemGetInfo(
                memory,
                PI_MEM_INFO_HOST_PTR,
                8,
                (&raw mut known).cast(),
                null_mut()
            )
        );
        assert_eq!(known, start.cast());

        let pattern = [5u8];
        call!(
            raw,
            piEnqueueMemBufferFill(
                raw.queue,
                memory,
                pattern.as_ptr().cast(),
                1,
                8,
                16,
                0,
                null(),
                null_mut()
            )
        );
        let mut mapped: *mut c_void = null_mut();
        let (queue, blocking, flags) = (raw.queue, PI_TRUE, PI_MAP_READ | PI_MAP_WRITE);
        call!(
            raw,
            piEnqueueMemBufferMap(
                queue,
                memory,
                blocking,
                flags,
                8,
                16,
                0,
                null(),
                null_mut(),
                &raw mut mapped
            )
        );
        assert_eq!(mapped, start.wrapping_add(8).cast());
        // SAFETY: the range is mapped, and the queue has nothing else to do.
        let range = unsafe { core::slice::from_raw_parts_mut(mapped.cast::<u8>(), 16) };
        assert_eq!(range, [5; 16]);
        range[0] = 6;
        let mut event = null_mut();
        call!(
            raw,
            piEnqueueMemUnmap(raw.queue, memory, mapped, 0, null(), &raw mut event)
        );
        call!(raw, piEventsWait(1, &raw const event));
        call!(raw, piEventRelease(event));

        let mut out = [0u8; 64];
        let to = out.as_mut_ptr().cast();
        call!(
            raw,
            piEnqueueMemBufferRead(raw.queue, memory, PI_TRUE, 0, 64, to, 0, null(), null_mut())
        );
        assert_eq!((out[7], out[8], out[9], out[24]), (1, 6, 5, 1));
        raw.release(memory);
        assert_eq!(data, out);
    });
}

#[test]
fn boxes_are_read_and_written() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let mut data: Vec<u8> = (0..64).collect();
        let memory = raw.buffer(PI_MEM_FLAGS_HOST_PTR_COPY, 64, data.as_mut_ptr());
        // The buffer is 8 rows of 8 bytes; the box 3 bytes of rows 2 and 3.
        let mut offset = pi_buff_rect_offset_struct {
            x_bytes: 1,
            y_scalar: 2,
            z_scalar: 0,
        };
        let mut origin = pi_buff_rect_offset_struct {
            x_bytes: 0,
            y_scalar: 0,
            z_scalar: 0,
        };
        let mut region = pi_buff_rect_region_struct {
            width_bytes: 3,
            height_scalar: 2,
            depth_scalar: 1,
        };
        let (at, host, size) = (&raw mut offset, &raw mut origin, &raw mut region);
        let mut out = [0u8; 6];
        let to = out.as_mut_ptr().cast();
        let (queue, wait) = (raw.queue, PI_TRUE);
        call!(
            raw,
            piEnqueueMemBufferReadRect(
                queue,
                memory,
                wait,
                at,
                host,
                size,
                8,
                0,
                0,
                0,
                to,
                0,
                null(),
                null_mut()
            )
        );
        assert_eq!(out, [17, 18, 19, 25, 26, 27]);

        let from = [0xffu8; 6].as_ptr().cast();
        call!(
            raw,
            piEnqueueMemBufferWriteRect(
                queue,
                memory,
                wait,
                at,
                host,
                size,
                8,
                0,
                0,
                0,
                from,
                0,
                null(),
                null_mut()
            )
        );
        let mut all = [0u8; 64];
        call!(
            raw,
            piEnqueueMemBufferRead(
                queue,
                memory,
                wait,
                0,
                64,
                all.as_mut_ptr().cast(),
                0,
                null(),
                null_mut()
            )
        );
        let changed: Vec<usize> = (0..64).filter(|at| all[*at] == 0xff).collect();
        assert_eq!(changed, [17, 18, 19, 25, 26, 27]);
        raw.release(memory);
    });
}

#[test]
fn allocations_are_found_by_any_address_in_them() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let mut address = null_mut();
        call!(
            raw,
            piextUSMHostAlloc(&raw mut address, raw.context, null_mut(), 100, 0)
        );
        let inside = address.wrapping_byte_add(99);
        let (mut kind, mut size, mut base) = (0u32, 0usize, 0usize);
        let info = |at: *mut c_void, name, size, value: *mut c_void| {
            call!(
                raw,
                piextUSMGetMemAllocInfo(raw.context, at, name, size, value, null_mut())
            );
        };
        info(inside, PI_MEM_ALLOC_TYPE, 4, (&raw mut kind).cast());
        info(inside, PI_MEM_ALLOC_SIZE, 8, (&raw mut size).cast());
        info(inside, PI_MEM_ALLOC_BASE_PTR, 8, (&raw mut base).cast());
        assert_eq!((kind, size, base), (PI_MEM_TYPE_HOST, 100, address.addr()));
        info(
            inside.wrapping_byte_add(1),
            PI_MEM_ALLOC_TYPE,
            4,
            (&raw mut kind).cast(),
        );
        assert_eq!(kind, PI_MEM_TYPE_UNKNOWN);

        let free = raw.api.piextUSMFree.unwrap();
        // SAFETY: addresses that are not the start of an allocation are refused.
        assert_eq!(unsafe { free(raw.context, inside) }, PI_INVALID_VALUE);
        call!(raw, piextUSMFree(raw.context, address));
        // SAFETY: as above.
        assert_eq!(unsafe { free(raw.context, address) }, PI_INVALID_VALUE);
        let memory = raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 4, null_mut());
        raw.release(memory);
    });
}

/// Python's arrays are handed on by the devices of their addresses.
#[test]
fn an_allocation_is_the_devices_that_it_was_made_for() {
    passes(&alone("raw::allocations_are_of_two_devices", &[], Some("2")));
}

#[test]
#[ignore = "run by an_allocation_is_the_devices_that_it_was_made_for, with two threads"]
fn allocations_are_of_two_devices() {
    with_checked(|machine| {
        let mut raw = Raw::new(machine.device.plugin().api());
        let (mut whole, mut devices): (pi_device, _) = (null_mut(), [null_mut(); 2]);
        let (name, to) = (PI_CONTEXT_INFO_DEVICES, (&raw mut whole).cast());
        call!(raw, piContextGetInfo(raw.context, name, 8, to, null_mut()));
        let ones = [PI_DEVICE_PARTITION_EQUALLY, 1, 0];
        let into = devices.as_mut_ptr();
        call!(raw, piDevicePartition(whole, ones.as_ptr(), 2, into, null_mut()));
        call!(raw, piContextRelease(raw.context));
        let context = &raw mut raw.context;
        call!(
            raw,
            piContextCreate(null(), 2, devices.as_ptr(), None, null_mut(), context)
        );
        // The second round gets addresses that the first gave back, for the other device.
        for number in [0, 1, 1, 0, 1, 0] {
            let (device, mut addresses) = (devices[number], [null_mut(); 2]);
            let [of_device, shared] = &mut addresses;
            call!(
                raw,
                piextUSMDeviceAlloc(of_device, raw.context, device, null_mut(), 64, 0)
            );
            call!(
                raw,
                piextUSMSharedAlloc(shared, raw.context, device, null_mut(), 64, 0)
            );
            for address in addresses {
                let mut found: pi_device = null_mut();
                let (inside, to) = (address.wrapping_byte_add(63), (&raw mut found).cast());
                let name = PI_MEM_ALLOC_DEVICE;
                call!(
                    raw,
                    piextUSMGetMemAllocInfo(
                        raw.context,
                        inside,
                        name,
                        size_of::<pi_device>(),
                        to,
                        null_mut()
                    )
                );
                assert_eq!(found, device, "device {number}");
            }
            for address in addresses {
                call!(raw, piextUSMFree(raw.context, address));
            }
        }
        call!(raw, piQueueRelease(raw.queue));
        call!(raw, piContextRelease(raw.context));
        for device in devices {
            call!(raw, piDeviceRelease(device));
        }
    });
}

#[test]
fn the_largest_sub_group_is_that_of_the_work_group_that_is_asked_for() {
    let il = crate::support::spirv!(
        "kernel void k(global uint *out) {
            if (get_local_id(0) == 0) out[get_group_id(0)] = get_max_sub_group_size();
        }"
    );
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let (mut program, mut kernel, mut device): (_, _, pi_device) = (null_mut(), null_mut(), null_mut());
        let (start, size) = (il.as_ptr().cast(), il.len());
        call!(raw, piProgramCreate(raw.context, start, size, &raw mut program));
        call!(raw, piProgramBuild(program, 0, null(), null(), None, null_mut()));
        call!(raw, piKernelCreate(program, c"k".as_ptr(), &raw mut kernel));
        let (name, to) = (PI_CONTEXT_INFO_DEVICES, (&raw mut device).cast());
        call!(raw, piContextGetInfo(raw.context, name, 8, to, null_mut()));
        let memory = raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 4, null_mut());
        call!(raw, piextKernelSetArgMemObj(kernel, 0, &raw const memory));
        let ask = |name, local: &[usize]| {
            let (mut answer, size) = (0_u32, size_of_val(local));
            let local = match local {
                [] => null(),
                local => local.as_ptr().cast(),
            };
            let to = (&raw mut answer).cast();
            call!(
                raw,
                piKernelGetSubGroupInfo(kernel, device, name, size, local, 4, to, null_mut())
            );
            answer
        };
        let most = ask(PI_KERNEL_MAX_SUB_GROUP_SIZE, &[]);
        for local in [1, 2, 8, 64] {
            let mut seen = [0u8; 4];
            let (sizes, queue) = ([local, 1, 1], raw.queue);
            let to = seen.as_mut_ptr().cast();
            let range = sizes.as_ptr();
            call!(
                raw,
                piEnqueueKernelLaunch(queue, kernel, 1, null(), range, range, 0, null(), null_mut())
            );
            call!(
                raw,
                piEnqueueMemBufferRead(queue, memory, PI_TRUE, 0, 4, to, 0, null(), null_mut())
            );
            let answer = ask(PI_KERNEL_MAX_SUB_GROUP_SIZE, &sizes);
            assert_eq!(answer, u32::from_ne_bytes(seen), "{local}");
            assert_eq!(answer, most.min(local as u32));
            let count = ask(PI_KERNEL_MAX_NUM_SUB_GROUPS, &sizes);
            assert_eq!(count, (local as u32).div_ceil(most));
        }
        call!(raw, piKernelRelease(kernel));
        call!(raw, piProgramRelease(program));
        raw.release(memory);
    });
}
