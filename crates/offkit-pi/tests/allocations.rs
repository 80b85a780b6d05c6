//! What the framework allocates where hosts are in a hurry: nothing.

mod mock;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use mock::ADDER;
use offkit_pi::ffi::*;
use offkit_pi::host::Plugin;
use std::alloc::System;
use std::ptr::{null, null_mut};

/// The system's allocator, which counts for each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Calls a function of the table, which must succeed.
macro_rules! call {
    ($api:expr, $function:ident($($argument:expr),*)) => {{
        // SAFETY: the test passes valid handles, and memory as large as it says.
        let result = unsafe { $api.$function.unwrap()($($argument),*) };
        assert_eq!(result, PI_SUCCESS, stringify!($function));
    }};
}

#[test]
fn commands_and_their_events_allocate_nothing() {
    let api = *Plugin::built_in(&ADDER).unwrap().api();
    let (mut platform, mut device, mut context) = (null_mut(), null_mut(), null_mut());
    let (mut queue, mut program, mut kernel, mut memory) = (null_mut(), null_mut(), null_mut(), null_mut());
    call!(api, piPlatformsGet(1, &raw mut platform, null_mut()));
    call!(
        api,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
    );
    call!(
        api,
        piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
    );
    call!(api, piQueueCreate(context, device, 0, &raw mut queue));
    let flags = PI_MEM_FLAGS_ACCESS_RW;
    call!(
        api,
        piMemBufferCreate(context, flags, 4, null_mut(), &raw mut memory, null())
    );
    call!(
        api,
        piProgramCreate(context, c"add".as_ptr().cast(), 3, &raw mut program)
    );
    call!(api, piProgramBuild(program, 0, null(), null(), None, null_mut()));
    call!(api, piKernelCreate(program, c"add".as_ptr(), &raw mut kernel));

    let range = [4usize];
    let launch = |wait: &[pi_event]| {
        let (count, list, mut event) = (wait.len() as u32, wait.as_ptr(), null_mut());
        let size = range.as_ptr();
        call!(
            api,
            piEnqueueKernelLaunch(
                queue,
                kernel,
                1,
                null(),
                size,
                null(),
                count,
                list,
                &raw mut event
            )
        );
        event
    };
    let mut bytes = [0u8; 4];
    let mut round = || {
        let one = 1u8;
        call!(api, piextKernelSetArgMemObj(kernel, 0, &raw const memory));
        call!(api, piKernelSetArg(kernel, 1, 1, (&raw const one).cast()));
        let first = launch(&[]);
        let second = launch(&[first; 16]);
        call!(api, piEventsWait(16, [second; 16].as_ptr()));
        let (pattern, no_list) = ([1u8; 4].as_ptr().cast(), null());
        call!(
            api,
            piEnqueueMemBufferFill(queue, memory, pattern, 4, 0, 4, 0, no_list, null_mut())
        );
        let allocation = (&raw mut bytes).cast();
        call!(
            api,
            piextUSMEnqueueMemset(queue, allocation, 1, 4, 0, no_list, null_mut())
        );
        call!(api, piEventRetain(second));
        for event in [first, second, second] {
            call!(api, piEventRelease(event));
        }
        call!(api, piQueueFinish(queue));
    };
    round();
    let before = ALLOCATIONS.get();
    (0..1000).for_each(|_| round());
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
