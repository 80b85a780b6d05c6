//! Events, and the order of commands.

use std::sync::mpsc::channel;
use std::thread;

use offkit_pi::ffi::*;
use offkit_pi::host::{CommandStatus, Event, PiError, QueueProperties, UsmKind};

use crate::machine::{LIMIT, Machine, end_of, flush, refused};

type Result = core::result::Result<(), PiError>;

fn is_waiting(event: &Event) -> core::result::Result<bool, PiError> {
    Ok(matches!(
        event.status()?,
        CommandStatus::Queued | CommandStatus::Submitted
    ))
}

pub(crate) fn events_order_commands_of_different_queues(machine: &Machine<'_>) -> Result {
    let other = machine.out_of_order()?;
    let (first, second) = (machine.context.buffer(4)?, machine.context.buffer(4)?);
    // Nothing can start before the host says so.
    let gate = machine.context.user_event()?;
    let write = machine
        .queue
        .write_buffer_later(&first, 0, vec![1, 2, 3, 4], &[gate.event()])?;
    let copy = other.copy_buffer((&first, 0), (&second, 0), 4, &[write.event()])?;
    let read = machine.queue.read_buffer_later(&second, 0, 4, &[&copy])?;
    assert!(
        is_waiting(&copy)?,
        "a command starts before what it waits for is done"
    );
    gate.complete()?;
    assert_eq!(read.wait()?, [1, 2, 3, 4]);
    write.wait()?;
    copy.wait()
}

pub(crate) fn an_event_that_is_abandoned_fails_what_waits_for_it(machine: &Machine<'_>) -> Result {
    let gate = machine.context.user_event()?;
    let buffer = machine.context.buffer(4)?;
    let fill = machine.queue.fill_buffer(&buffer, &[1], 0, 4, &[gate.event()])?;
    let read = machine.queue.read_buffer_later(&buffer, 0, 4, &[gate.event()])?;
    drop(gate);
    assert!(fill.wait().is_err(), "a wait for what never ran succeeds");
    assert!(matches!(fill.status()?, CommandStatus::Failed(_)));
    assert!(matches!(end_of(&fill)?, CommandStatus::Failed(_)));
    assert!(read.wait().is_err(), "a read that never ran succeeds");

    let gate = machine.context.user_event()?;
    let marker = machine.queue.marker(&[gate.event()])?;
    drop(gate);
    assert!(matches!(end_of(&marker)?, CommandStatus::Failed(_)));
    Ok(())
}

pub(crate) fn callbacks_are_called_when_a_command_is_over(machine: &Machine<'_>) -> Result {
    let gate = machine.context.user_event()?;
    let marker = machine.queue.marker(&[gate.event()])?;
    let (sender, receiver) = channel();
    let later = sender.clone();
    marker.on_completion(move |status| later.send(status).unwrap_or(()))?;
    flush(&machine.queue)?;
    assert!(receiver.try_recv().is_err(), "a callback before its time");
    gate.complete()?;
    assert_eq!(receiver.recv_timeout(LIMIT), Ok(CommandStatus::Complete));
    marker.on_completion(move |status| sender.send(status).unwrap_or(()))?;
    assert_eq!(receiver.recv_timeout(LIMIT), Ok(CommandStatus::Complete));
    Ok(())
}

pub(crate) fn profiled_commands_know_their_times(machine: &Machine<'_>) -> Result {
    let properties = QueueProperties {
        profiling: true,
        ..QueueProperties::default()
    };
    let queue = machine.context.queue(&machine.device, properties)?;
    let buffer = machine.context.buffer(1 << 16)?;
    let fill = queue.fill_buffer(&buffer, &[3], 0, 1 << 16, &[])?;
    fill.wait()?;
    let profile = fill.profile()?;
    assert!(
        profile.queued <= profile.submitted
            && profile.submitted <= profile.started
            && profile.started <= profile.ended,
        "{profile:?}"
    );
    let marker = machine.queue.marker(&[])?;
    marker.wait()?;
    refused(
        "asking for times that are not taken",
        marker.profile(),
        PI_PROFILING_INFO_NOT_AVAILABLE,
    )
}

pub(crate) fn markers_come_after_what_is_there_and_barriers_before_what_comes(
    machine: &Machine<'_>,
) -> Result {
    let queue = machine.out_of_order()?;
    let gate = machine.context.user_event()?;
    let buffer = machine.context.buffer(16)?;
    let fill = |value: u8, wait: &[&Event]| queue.fill_buffer(&buffer, &[value], 0, 16, wait);
    let held = fill(1, &[gate.event()])?;
    let marker = queue.marker(&[])?;
    let barrier = queue.barrier(&[])?;
    let behind = fill(3, &[])?;
    flush(&queue)?;
    for event in [&held, &marker, &barrier, &behind] {
        assert!(is_waiting(event)?, "a command comes before the barrier");
    }
    gate.complete()?;
    for event in [&held, &marker, &barrier, &behind] {
        assert_eq!(end_of(event)?, CommandStatus::Complete);
    }
    assert_eq!(machine.read(&buffer)?, [3; 16]);
    Ok(())
}

pub(crate) fn many_threads_share_a_queue_without_order(machine: &Machine<'_>) -> Result {
    let queue = machine.out_of_order()?;
    let work = |thread: u8| {
        let buffer = machine.context.buffer(64)?;
        for turn in 0..50 {
            // Each of its own, and with 4 threads of 50 turns below 256.
            let value = thread * 50 + turn;
            let fill = queue.fill_buffer(&buffer, &[value], 0, 64, &[])?;
            if turn % 10 == 0 {
                queue.barrier(&[])?;
            }
            let mut out = [0; 64];
            queue.read_buffer(&buffer, 0, &mut out, &[&fill])?;
            assert_eq!(out, [value; 64]);
            if turn % 7 == 0 {
                queue.finish()?;
                assert_eq!(fill.status()?, CommandStatus::Complete);
            }
        }
        Ok(())
    };
    in_threads(4, work)
}

/// Does something in several threads at a time.
pub(crate) fn in_threads(count: u8, work: impl Fn(u8) -> Result + Sync) -> Result {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .map(|number| scope.spawn(move || work(number)))
            .collect();
        let outcomes = threads.into_iter().map(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        outcomes.collect()
    })
}

pub(crate) fn drops_do_not_wait(machine: &Machine<'_>) -> Result {
    let (context, device) = (&machine.context, &machine.device);
    let gate = context.user_event()?;
    let usm = context.usm(UsmKind::Shared, device, 64, 0)?;
    let buffer = context.buffer(4)?;
    let (sender, dropped) = channel();
    let (queue, wait) = (machine.queue.clone(), gate.event().try_clone()?);
    // On another thread, so that a drop that waits fails the test, when its gate is dropped.
    thread::spawn(move || {
        let submit = || {
            let set = queue.set_usm(&usm, 0, 1, 64, &[&wait])?;
            let write = queue.write_buffer_later(&buffer, 0, vec![1; 4], &[&wait])?;
            let read = queue.read_buffer_later(&buffer, 0, 4, &[&wait])?;
            drop((usm, buffer, write, read, queue));
            Ok::<_, PiError>(set)
        };
        // Nobody may be waiting any more.
        let _ = sender.send(submit());
    });
    let set = dropped.recv_timeout(LIMIT).expect("a drop waits")?;
    gate.complete()?;
    set.wait()?;
    machine.queue.finish()
}
