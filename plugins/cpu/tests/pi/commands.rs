//! Queues, commands, events, and memory.

use crate::support::{spirv, with_both};
use offkit_pi::ffi::*;
use offkit_pi::host::{Argument, CommandStatus, Event, NdRange, QueueProperties, UsmKind};

const ADD: &str = "kernel void add(int n, global int *p) { p[get_global_id(0)] += n; }";

#[test]
fn buffers_are_written_filled_copied_divided_and_read() {
    with_both(|machine| {
        let (context, queue) = (&machine.context, &machine.queue);
        let first = context.buffer(512).unwrap();
        queue.fill_buffer(&first, &[1, 2], 0, 512, &[]).unwrap();
        queue.write_buffer(&first, 3, &[9, 9], &[]).unwrap();
        let second = context.buffer_from(&[0; 16]).unwrap();
        queue.copy_buffer((&first, 2), (&second, 4), 4, &[]).unwrap();
        let mut out = [0; 16];
        queue.read_buffer(&second, 0, &mut out, &[]).unwrap();
        assert_eq!(out, [0, 0, 0, 0, 1, 9, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0]);

        let part = first.part(128, 4).unwrap();
        queue.write_buffer(&part, 1, &[7], &[]).unwrap();
        drop(part);
        assert_eq!(
            queue
                .read_buffer_later(&first, 128, 3, &[])
                .unwrap()
                .wait()
                .unwrap(),
            [1, 7, 1]
        );
        assert_eq!(
            first.part(100, 4).unwrap_err().result(),
            PI_MISALIGNED_SUB_BUFFER_OFFSET
        );
        assert_eq!(first.part(384, 256).unwrap_err().result(), PI_INVALID_VALUE);
    });
}

#[test]
fn an_in_order_queue_keeps_the_order() {
    let spirv = spirv!(ADD);
    with_both(|machine| {
        let buffer = machine.context.buffer_from(&[0; 64]).unwrap();
        let mut kernel = machine.build(&spirv).kernel("add").unwrap();
        kernel.set_argument(1, &buffer).unwrap();
        for n in 0..50i32 {
            kernel.set_argument(0, n).unwrap();
            machine.queue.launch(&kernel, &NdRange::new([16]), &[]).unwrap();
            machine.queue.fill_buffer(&buffer, &[0; 4], 0, 4, &[]).unwrap();
        }
        let mut out = [0xff; 64];
        machine.queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
        let values: Vec<i32> = out
            .as_chunks()
            .0
            .iter()
            .map(|word| i32::from_ne_bytes(*word))
            .collect();
        assert_eq!(values[0], 0);
        assert_eq!(values[1..], [49 * 50 / 2; 15]);
    });
}

#[test]
fn events_order_commands_of_different_queues() {
    let spirv = spirv!(ADD);
    with_both(|machine| {
        let other = machine
            .context
            .queue(
                &machine.device,
                QueueProperties {
                    out_of_order: true,
                    profiling: false,
                },
            )
            .unwrap();
        let buffer = machine.context.buffer(4).unwrap();
        let mut kernel = machine.build(&spirv).kernel("add").unwrap();
        kernel.set_argument(0, 5i32).unwrap();
        kernel.set_argument(1, &buffer).unwrap();

        // Nothing can start before the host says so.
        let gate = machine.context.user_event().unwrap();
        let write = machine
            .queue
            .write_buffer_later(&buffer, 0, 37i32.to_ne_bytes().to_vec(), &[gate.event()])
            .unwrap();
        let launch = other
            .launch(&kernel, &NdRange::new([1]), &[write.event()])
            .unwrap();
        let read = machine
            .queue
            .read_buffer_later(&buffer, 0, 4, &[&launch])
            .unwrap();
        assert!(matches!(
            launch.status().unwrap(),
            CommandStatus::Queued | CommandStatus::Submitted
        ));
        assert_eq!(gate.event().status().unwrap(), CommandStatus::Submitted);
        gate.complete().unwrap();
        assert_eq!(read.wait().unwrap(), 42i32.to_ne_bytes());
        write.wait().unwrap();
        Event::wait_all([&launch]).unwrap();
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
fn callbacks_are_called_when_a_command_is_over() {
    with_both(|machine| {
        let gate = machine.context.user_event().unwrap();
        let marker = machine.queue.marker(&[gate.event()]).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        let later = sender.clone();
        marker
            .on_completion(move |status| later.send(status).unwrap())
            .unwrap();
        assert!(receiver.try_recv().is_err());
        gate.complete().unwrap();
        let limit = std::time::Duration::from_secs(60);
        assert_eq!(receiver.recv_timeout(limit), Ok(CommandStatus::Complete));
        marker
            .on_completion(move |status| sender.send(status).unwrap())
            .unwrap();
        assert_eq!(receiver.recv_timeout(limit), Ok(CommandStatus::Complete));
    });
}

#[test]
fn profiled_commands_know_their_times() {
    with_both(|machine| {
        let buffer = machine.context.buffer(1 << 16).unwrap();
        let fill = machine.queue.fill_buffer(&buffer, &[3], 0, 1 << 16, &[]).unwrap();
        fill.wait().unwrap();
        let profile = fill.profile().unwrap();
        assert!(
            profile.queued <= profile.submitted
                && profile.submitted <= profile.started
                && profile.started <= profile.ended
        );

        let plain = machine
            .context
            .queue(&machine.device, QueueProperties::default())
            .unwrap();
        let marker = plain.marker(&[]).unwrap();
        marker.wait().unwrap();
        assert_eq!(
            marker.profile().unwrap_err().result(),
            PI_PROFILING_INFO_NOT_AVAILABLE
        );
    });
}

#[test]
fn finish_waits_for_everything() {
    with_both(|machine| {
        let buffer = machine.context.buffer(1 << 20).unwrap();
        let fills: Vec<Event> = (0..20)
            .map(|n| machine.queue.fill_buffer(&buffer, &[n], 0, 1 << 20, &[]).unwrap())
            .collect();
        machine.queue.finish().unwrap();
        assert!(
            fills
                .iter()
                .all(|fill| fill.status().unwrap() == CommandStatus::Complete)
        );
    });
}

#[test]
fn commands_go_on_when_their_queue_is_released() {
    with_both(|machine| {
        let buffer = machine.context.buffer(4096).unwrap();
        let gate = machine.context.user_event().unwrap();
        let queue = machine
            .context
            .queue(&machine.device, QueueProperties::default())
            .unwrap();
        let fill = queue
            .fill_buffer(&buffer, &[6], 0, 4096, &[gate.event()])
            .unwrap();
        drop(queue);
        gate.complete().unwrap();
        fill.wait().unwrap();
        assert_eq!(
            machine
                .queue
                .read_buffer_later(&buffer, 4095, 1, &[])
                .unwrap()
                .wait()
                .unwrap(),
            [6]
        );
    });
}

#[test]
fn unified_shared_memory_is_copied_and_checked() {
    with_both(|machine| {
        let [from, to] = [UsmKind::Device, UsmKind::Shared]
            .map(|kind| machine.context.usm(kind, &machine.device, 64, 0).unwrap());
        machine.queue.write_usm(&from, 0, &[8; 64], &[]).unwrap();
        machine.queue.set_usm(&to, 0, 1, 64, &[]).unwrap();
        machine
            .queue
            .copy_usm((&from, 0), (&to, 32), 32, &[])
            .unwrap()
            .wait()
            .unwrap();
        let mut out = [0; 64];
        machine.queue.read_usm(&to, 0, &mut out, &[]).unwrap();
        assert_eq!(out[..32], [1; 32]);
        assert_eq!(out[32..], [8; 32]);
        assert!(machine.queue.read_usm(&to, 1, &mut out, &[]).is_err());
        assert_eq!(
            machine
                .context
                .usm(UsmKind::Host, &machine.device, 0, 0)
                .unwrap_err()
                .result(),
            PI_INVALID_BUFFER_SIZE
        );
        assert_eq!(
            machine
                .context
                .usm(UsmKind::Host, &machine.device, 8, 3)
                .unwrap_err()
                .result(),
            PI_INVALID_VALUE
        );
    });
}

#[test]
fn memory_of_another_context_is_out_of_bounds() {
    let spirv = spirv!(ADD);
    with_both(|machine| {
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

#[test]
fn several_threads_use_one_context() {
    let spirv = spirv!(ADD);
    with_both(|machine| {
        let program = machine.build(&spirv);
        std::thread::scope(|scope| {
            for thread in 0..6i32 {
                let (machine, program) = (&machine, &program);
                scope.spawn(move || {
                    let queue = machine
                        .context
                        .queue(&machine.device, QueueProperties::default())
                        .unwrap();
                    let mut kernel = program.kernel("add").unwrap();
                    let buffer = machine.context.buffer_from(&[0; 400]).unwrap();
                    kernel.set_argument(0, thread).unwrap();
                    kernel.set_argument(1, &buffer).unwrap();
                    for _ in 0..20 {
                        queue.launch(&kernel, &NdRange::new([100]), &[]).unwrap();
                    }
                    let mut out = [0; 400];
                    queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
                    for word in out.as_chunks().0 {
                        assert_eq!(i32::from_ne_bytes(*word), thread * 20);
                    }
                });
            }
        });
    });
}
