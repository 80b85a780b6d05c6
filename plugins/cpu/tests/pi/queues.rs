//! The order of commands: queues without one, markers and barriers, callbacks, and commands that are given up.

use crate::raw::{Raw, call};
use crate::support::{spirv, with_both};
use core::ffi::c_void;
use offkit_pi::ffi::*;
use offkit_pi::host::{CommandStatus, Context, Event, NdRange, Queue, QueueProperties};
use std::ptr::{null, null_mut};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Long enough for a test that would otherwise hang.
const LIMIT: Duration = Duration::from_secs(60);

fn out_of_order(machine: &crate::support::Machine) -> Queue {
    let properties = QueueProperties {
        out_of_order: true,
        ..QueueProperties::default()
    };
    machine.context.queue(&machine.device, properties).unwrap()
}

/// Waits for a command, but not for ever.
fn is_done(event: &Event) -> CommandStatus {
    let (sender, receiver) = channel();
    event
        .on_completion(move |status| {
            let _ = sender.send(status);
        })
        .unwrap();
    receiver.recv_timeout(LIMIT).expect("the command never ends")
}

#[test]
fn a_command_does_not_wait_for_others_of_a_queue_without_order() {
    let spirv = spirv!("kernel void add(int n, global int *p) { p[get_global_id(0)] += n; }");
    with_both(|machine| {
        let queue = out_of_order(machine);
        let gate = machine.context.user_event().unwrap();
        let buffer = machine.context.buffer_from(&[0; 4]).unwrap();
        let mut kernel = machine.build(&spirv).kernel("add").unwrap();
        kernel.set_argument(0, 1i32).unwrap();
        kernel.set_argument(1, &buffer).unwrap();
        // The first command waits for what the second one leads to.
        let first = queue
            .launch(&kernel, &NdRange::new([1]), &[gate.event()])
            .unwrap();
        let second = queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap();
        assert_eq!(is_done(&second), CommandStatus::Complete);
        assert!(matches!(
            first.status().unwrap(),
            CommandStatus::Queued | CommandStatus::Submitted
        ));
        gate.complete().unwrap();
        queue.finish().unwrap();
        let mut out = [0; 4];
        queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
        assert_eq!(i32::from_ne_bytes(out), 2);
    });
}

#[test]
fn markers_come_after_what_is_there_and_barriers_before_what_comes() {
    with_both(|machine| {
        let queue = out_of_order(machine);
        let gate = machine.context.user_event().unwrap();
        let buffer = machine.context.buffer(16).unwrap();
        let fill = |value: u8, wait: &[&Event]| queue.fill_buffer(&buffer, &[value], 0, 16, wait).unwrap();
        let held = fill(1, &[gate.event()]);
        let marker = queue.marker(&[]).unwrap();
        let free = fill(2, &[]);
        assert_eq!(is_done(&free), CommandStatus::Complete);
        // One with a list waits for the list alone.
        assert_eq!(is_done(&queue.marker(&[&free]).unwrap()), CommandStatus::Complete);
        let barrier = queue.barrier(&[]).unwrap();
        let behind = [fill(3, &[]), queue.marker(&[]).unwrap()];
        for event in [&held, &marker, &barrier].into_iter().chain(&behind) {
            assert!(matches!(
                event.status().unwrap(),
                CommandStatus::Queued | CommandStatus::Submitted
            ));
        }
        gate.complete().unwrap();
        for event in [&held, &marker, &barrier].into_iter().chain(&behind) {
            assert_eq!(is_done(event), CommandStatus::Complete);
        }
        queue.finish().unwrap();
        let mut out = [0; 16];
        queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
        assert_eq!(out, [3; 16]);
    });
}

#[test]
fn a_failure_goes_along_wait_lists_and_not_along_queues() {
    with_both(|machine| {
        for queue in [machine.queue.clone(), out_of_order(machine)] {
            let gate = machine.context.user_event().unwrap();
            let failed = queue.marker(&[gate.event()]).unwrap();
            let with_it = queue.marker(&[&failed]).unwrap();
            let barrier = queue.barrier(&[&failed]).unwrap();
            let after = queue.marker(&[]).unwrap();
            drop(gate);
            for event in [failed, with_it, barrier] {
                let error = event.wait().unwrap_err();
                assert_eq!(error.result(), PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
                assert_eq!(error.to_string().matches("not started").count(), 1, "{error}");
            }
            after.wait().unwrap();
            queue.finish().unwrap();
        }
    });
}

#[test]
fn a_callback_may_submit_and_wait() {
    with_both(|machine| {
        for queue in [machine.queue.clone(), out_of_order(machine)] {
            let gate = machine.context.user_event().unwrap();
            let buffer = machine.context.buffer(1 << 20).unwrap();
            let marker = queue.marker(&[gate.event()]).unwrap();
            // Large, so that it is not for the thread that submits it.
            let behind = queue.fill_buffer(&buffer, &[1], 0, 1 << 20, &[&marker]).unwrap();
            let (sender, called) = channel();
            let (own, of_callback) = (queue.clone(), buffer.clone());
            marker
                .on_completion(move |_| {
                    behind.wait().unwrap();
                    own.fill_buffer(&of_callback, &[2], 0, 1 << 20, &[])
                        .unwrap()
                        .wait()
                        .unwrap();
                    own.finish().unwrap();
                    sender.send(()).unwrap();
                })
                .unwrap();
            gate.complete().unwrap();
            called.recv_timeout(LIMIT).expect("the callback ends");
            let mut out = [0];
            queue.read_buffer(&buffer, (1 << 20) - 1, &mut out, &[]).unwrap();
            assert_eq!(out, [2]);
        }
    });
}

#[test]
fn commands_wait_for_events_of_other_contexts() {
    with_both(|machine| {
        let other = Context::new(&[&machine.device]).unwrap();
        for queue in [machine.queue.clone(), out_of_order(machine)] {
            let gate = other.user_event().unwrap();
            let marker = queue.marker(&[gate.event()]).unwrap();
            let behind = other
                .queue(&machine.device, QueueProperties::default())
                .unwrap()
                .marker(&[&marker])
                .unwrap();
            for event in [&marker, &behind] {
                assert_ne!(event.status().unwrap(), CommandStatus::Complete);
            }
            gate.complete().unwrap();
            assert_eq!(is_done(&behind), CommandStatus::Complete);
            assert_eq!(is_done(&marker), CommandStatus::Complete);

            let failing = queue.marker(&[other.user_event().unwrap().event()]).unwrap();
            assert!(matches!(is_done(&failing), CommandStatus::Failed(_)));
        }
    });
}

#[test]
fn events_of_several_contexts_are_waited_for_at_once() {
    with_both(|machine| {
        let other = Context::new(&[&machine.device]).unwrap();
        let queue = other.queue(&machine.device, QueueProperties::default()).unwrap();
        let events = [machine.queue.marker(&[]).unwrap(), queue.marker(&[]).unwrap()];
        Event::wait_all(&events).unwrap();
    });
}

unsafe extern "C" fn note(_: pi_event, status: pi_int32, sender: *mut c_void) {
    // SAFETY: the test passes this, and it is there until the test ends.
    let sender = unsafe { &*sender.cast::<Mutex<Sender<pi_int32>>>() };
    sender.lock().unwrap().send(status).unwrap();
}

#[test]
fn callbacks_are_called_for_every_status_and_an_event_released_unset_fails_its_waiters() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let (sender, receiver) = channel();
        let sender = Mutex::new(sender);
        let (mut gate, mut marker) = (null_mut(), null_mut());
        call!(raw, piEventCreate(raw.context, &raw mut gate));
        call!(
            raw,
            piEnqueueEventsWait(raw.queue, 1, &raw const gate, &raw mut marker)
        );
        let data = (&raw const sender).cast_mut().cast();
        for status in [PI_EVENT_RUNNING, PI_EVENT_SUBMITTED, PI_EVENT_COMPLETE] {
            call!(raw, piEventSetCallback(marker, status, Some(note), data));
        }
        assert!(receiver.try_recv().is_err());
        call!(raw, piEventRelease(gate));
        for _ in 0..3 {
            assert_eq!(
                receiver.recv_timeout(LIMIT),
                Ok(PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0)
            );
        }
        call!(raw, piQueueFinish(raw.queue));
        call!(raw, piEventRelease(marker));
        call!(raw, piQueueRelease(raw.queue));
        call!(raw, piContextRelease(raw.context));
    });
}

#[test]
fn a_command_that_is_given_up_fails_in_its_turn() {
    with_both(|machine| {
        let raw = Raw::new(machine.device.plugin().api());
        let set_status = raw.api.piEventSetStatus.unwrap();
        let mut data = [1u8; 8];
        let memory = raw.buffer(PI_MEM_FLAGS_HOST_PTR_COPY, 8, data.as_mut_ptr());
        let (mut gate, mut read, mut marker) = (null_mut(), null_mut(), null_mut());
        call!(raw, piEventCreate(raw.context, &raw mut gate));
        let mut out = [0u8; 8];
        call!(
            raw,
            piEnqueueMemBufferRead(
                raw.queue,
                memory,
                PI_FALSE,
                0,
                8,
                out.as_mut_ptr().cast(),
                1,
                &raw const gate,
                &raw mut read
            )
        );
        call!(raw, piEnqueueEventsWait(raw.queue, 0, null(), &raw mut marker));
        // SAFETY: handles as they are wanted.
        unsafe {
            assert_eq!(set_status(read, 1), PI_INVALID_VALUE);
            assert_eq!(set_status(read, PI_EVENT_COMPLETE), PI_INVALID_EVENT);
            assert_eq!(set_status(read, PI_OUT_OF_RESOURCES.0), PI_SUCCESS);
        }
        call!(raw, piEventSetStatus(gate, PI_EVENT_COMPLETE));
        call!(raw, piEventsWait(1, &raw const marker));
        let mut status = 0;
        call!(
            raw,
            piEventGetInfo(
                read,
                PI_EVENT_INFO_COMMAND_EXECUTION_STATUS,
                4,
                (&raw mut status).cast(),
                null_mut()
            )
        );
        assert_eq!((status, out), (PI_OUT_OF_RESOURCES.0, [0; 8]));
        // SAFETY: as above.
        let again = unsafe { set_status(read, PI_OUT_OF_RESOURCES.0) };
        assert_eq!(again, PI_INVALID_OPERATION);
        for event in [gate, read, marker] {
            call!(raw, piEventRelease(event));
        }
        raw.release(memory);
    });
}
