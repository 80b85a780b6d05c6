//! What the plugin refuses, and what it takes, of hosts that pass handles themselves.

use crate::raw::{Raw, call};
use crate::support::{spirv, with_both};
use offkit_pi::ffi::*;
use std::ptr::{null, null_mut};

/// Calls a function of the table and evaluates to what it returns.
macro_rules! result {
    ($raw:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let function = $raw.api.$function.unwrap();
        // SAFETY: the tests pass valid handles, and memory as large as they say.
        unsafe { function($($argument),*) }
    }};
}

#[test]
fn objects_of_another_context_than_the_queues_are_refused() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let other = Raw::new(machine.device.plugin().api());
        let [own, foreign] = [&raw, &other].map(|raw| raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 16, null_mut()));
        let mut out = [0u8; 16];
        let to = out.as_mut_ptr().cast();
        let (queue, none) = (raw.queue, null_mut());
        let read = |memory| {
            result!(
                raw,
                piEnqueueMemBufferRead(queue, memory, PI_TRUE, 0, 16, to, 0, null(), none)
            )
        };
        assert_eq!(read(foreign), PI_INVALID_CONTEXT);
        assert_eq!(read(own), PI_SUCCESS);
        for (from, to) in [(own, foreign), (foreign, own)] {
            let copied = result!(
                raw,
                piEnqueueMemBufferCopy(queue, from, to, 0, 0, 8, 0, null(), none)
            );
            assert_eq!(copied, PI_INVALID_CONTEXT);
        }
        other.release(foreign);
        raw.release(own);
    });
}

#[test]
fn an_event_of_the_host_is_set_once() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let mut event = null_mut();
        call!(raw, piEventCreate(raw.context, &raw mut event));
        let (handle, set) = (event.addr(), raw.api.piEventSetStatus.unwrap());
        let successes = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(move || {
                        let event = std::ptr::without_provenance_mut(handle);
                        // SAFETY: a valid event.
                        unsafe { set(event, PI_EVENT_COMPLETE) }.is_success()
                    })
                })
                .collect();
            let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
            outcomes.filter(|success| *success).count()
        });
        assert_eq!(successes, 1);
        call!(raw, piEventRelease(event));
        let memory = raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 4, null_mut());
        raw.release(memory);
    });
}

#[test]
fn two_buffers_use_the_same_host_memory() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let mut data = vec![1u8; 64];
        let start = data.as_mut_ptr();
        let [first, second] = [(); 2].map(|()| raw.buffer(PI_MEM_FLAGS_HOST_PTR_USE, 64, start));
        call!(raw, piMemRelease(first));
        let mut out = [0u8; 64];
        let to = out.as_mut_ptr().cast();
        call!(
            raw,
            piEnqueueMemBufferRead(raw.queue, second, PI_TRUE, 0, 64, to, 0, null(), null_mut())
        );
        assert_eq!(out, [1; 64]);
        raw.release(second);
    });
}

#[test]
fn boxes_that_overlap_are_not_copied() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let memory = raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 64, null_mut());
        // Boxes of 2 rows of 3 bytes in rows of 8.
        let copy = |x_bytes, y_scalar| {
            let at = |x_bytes, y_scalar| pi_buff_rect_offset_struct {
                x_bytes,
                y_scalar,
                z_scalar: 0,
            };
            let (mut from, mut to) = (at(0, 0), at(x_bytes, y_scalar));
            let mut region = pi_buff_rect_region_struct {
                width_bytes: 3,
                height_scalar: 2,
                depth_scalar: 1,
            };
            let (from, to, size) = (&raw mut from, &raw mut to, &raw mut region);
            let (queue, none) = (raw.queue, null_mut());
            result!(
                raw,
                piEnqueueMemBufferCopyRect(
                    queue,
                    memory,
                    memory,
                    from,
                    to,
                    size,
                    8,
                    0,
                    8,
                    0,
                    0,
                    null(),
                    none
                )
            )
        };
        assert_eq!(copy(2, 1), PI_MEM_COPY_OVERLAP);
        assert_eq!(copy(3, 0), PI_SUCCESS);
        assert_eq!(copy(0, 2), PI_SUCCESS);
        call!(raw, piQueueFinish(raw.queue));
        raw.release(memory);
    });
}

#[test]
fn a_null_value_is_a_null_pointer_and_il_has_no_source() {
    let spirv = spirv!("kernel void store(global int *p, global int *q) { *q = p == 0; }");
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let memory = raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 4, null_mut());
        let (mut program, mut kernel) = (null_mut(), null_mut());
        let il = spirv.as_ptr().cast();
        call!(
            raw,
            piProgramCreate(raw.context, il, spirv.len(), &raw mut program)
        );
        let mut source = [1u8; 8];
        let mut size = 0;
        call!(
            raw,
            piProgramGetInfo(
                program,
                PI_PROGRAM_INFO_SOURCE,
                8,
                source.as_mut_ptr().cast(),
                &raw mut size
            )
        );
        assert_eq!((size, source[0]), (1, 0));
        call!(raw, piProgramBuild(program, 0, null(), null(), None, null_mut()));
        call!(raw, piKernelCreate(program, c"store".as_ptr(), &raw mut kernel));
        call!(raw, piKernelSetArg(kernel, 0, 8, null()));
        assert_eq!(
            result!(raw, piKernelSetArg(kernel, 0, 4, null())),
            PI_INVALID_ARG_VALUE
        );
        call!(raw, piextKernelSetArgMemObj(kernel, 1, &raw const memory));
        let (one, queue, none) = ([1usize], raw.queue, null_mut());
        call!(
            raw,
            piEnqueueKernelLaunch(queue, kernel, 1, null(), one.as_ptr(), null(), 0, null(), none)
        );
        let mut out = 0u32;
        let to = (&raw mut out).cast();
        call!(
            raw,
            piEnqueueMemBufferRead(queue, memory, PI_TRUE, 0, 4, to, 0, null(), none)
        );
        assert_eq!(out, 1);
        call!(raw, piKernelRelease(kernel));
        call!(raw, piProgramRelease(program));
        raw.release(memory);
    });
}

#[test]
fn memory_freed_before_its_copy_runs_is_not_taken_for_the_hosts() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let (mut address, mut gate, mut copied) = (null_mut(), null_mut(), null_mut());
        call!(
            raw,
            piextUSMHostAlloc(&raw mut address, raw.context, null_mut(), 16, 0)
        );
        call!(raw, piEventCreate(raw.context, &raw mut gate));
        let mut out = [0u8; 16];
        let to = out.as_mut_ptr().cast();
        call!(
            raw,
            piextUSMEnqueueMemcpy(
                raw.queue,
                PI_FALSE,
                to,
                address,
                16,
                1,
                &raw const gate,
                &raw mut copied
            )
        );
        // A mistake of the host, which must end in an error.
        call!(raw, piextUSMFree(raw.context, address));
        call!(raw, piEventSetStatus(gate, PI_EVENT_COMPLETE));
        let waited = result!(raw, piEventsWait(1, &raw const copied));
        assert_eq!(waited, PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        call!(raw, piEventRelease(gate));
        call!(raw, piEventRelease(copied));
        let memory = raw.buffer(PI_MEM_FLAGS_ACCESS_RW, 4, null_mut());
        raw.release(memory);
    });
}
