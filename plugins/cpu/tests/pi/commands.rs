//! Queues, commands, events, and memory.

use crate::support::{spirv, with_both, with_checked};
use offkit_pi::ffi::*;
use offkit_pi::host::{Argument, NdRange, UsmKind};

const ADD: &str = "kernel void add(int n, global int *p) { p[get_global_id(0)] += n; }";

#[test]
fn parts_of_buffers_start_where_the_device_can_use_them() {
    with_both(|machine| {
        let whole = machine.context.buffer(512).unwrap();
        let part = whole.part(128, 4).unwrap();
        drop(part);
        assert_eq!(
            whole.part(100, 4).unwrap_err().result(),
            PI_MISALIGNED_SUB_BUFFER_OFFSET
        );
    });
}

#[test]
fn a_user_event_that_is_abandoned_fails_what_waits_for_it() {
    with_both(|machine| {
        let gate = machine.context.user_event().unwrap();
        let marker = machine.queue.marker(&[gate.event()]).unwrap();
        drop(gate);
        let error = marker.wait().unwrap_err();
        assert_eq!(error.result(), PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        machine.queue.barrier(&[]).unwrap().wait().unwrap();
    });
}

#[test]
fn memory_of_another_context_is_out_of_bounds() {
    let spirv = spirv!(ADD);
    with_checked(|machine| {
        let other = offkit_pi::host::Context::new(&[&machine.device]).unwrap();
        let foreign = other.usm(UsmKind::Shared, &machine.device, 64, 0).unwrap();
        let mut kernel = machine.build(&spirv).kernel("add").unwrap();
        kernel.set_argument(0, Argument::bytes(&[0; 4])).unwrap();
        kernel
            .set_argument(1, Argument::Address(foreign.address()))
            .unwrap();
        let error = machine
            .queue
            .launch(&kernel, &NdRange::new([1]), &[])
            .unwrap()
            .wait()
            .unwrap_err();
        assert_eq!(error.result(), PI_COMMAND_EXECUTION_FAILURE);
    });
}
