//! Memory, and the commands that move it.

use offkit_pi::ffi::*;
use offkit_pi::host::{CommandStatus, Context, Event, PiError, QueueProperties, UsmKind};

use crate::machine::{Machine, refused};

type Result = core::result::Result<(), PiError>;

pub(crate) fn buffers_are_written_filled_copied_and_read(machine: &Machine<'_>) -> Result {
    let (context, queue) = (&machine.context, &machine.queue);
    let first = context.buffer(512)?;
    queue.fill_buffer(&first, &[1, 2], 0, 512, &[])?;
    queue.write_buffer(&first, 3, &[9, 9], &[])?;
    let second = context.buffer_from(&[0; 16])?;
    queue.copy_buffer((&first, 2), (&second, 4), 4, &[])?;
    let expected = [0, 0, 0, 0, 1, 9, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(machine.read(&second)?, expected);
    assert_eq!(queue.read_buffer_later(&first, 4, 2, &[])?.wait()?, [9, 2]);
    Ok(())
}

pub(crate) fn a_part_of_a_buffer_shares_its_memory(machine: &Machine<'_>) -> Result {
    let align = machine.device.info_integer(PI_DEVICE_INFO_MEM_BASE_ADDR_ALIGN);
    // In bits; where nobody says, this is enough for all that are known.
    let at = align.map_or(4096, |bits| bits as usize / 8).max(1);
    let whole = machine.context.buffer_from(&vec![1; 2 * at])?;
    let part = whole.part(at, 4.min(at))?;
    machine.queue.write_buffer(&part, 0, &[7], &[])?;
    drop(part);
    let bytes = machine.read(&whole)?;
    assert_eq!((bytes[at - 1], bytes[at]), (1, 7));
    let outside = whole.part(at, 2 * at);
    refused("a part that is not within the buffer", outside, PI_INVALID_VALUE)
}

pub(crate) fn unified_shared_memory_is_copied(machine: &Machine<'_>) -> Result {
    let (context, device, queue) = (&machine.context, &machine.device, &machine.queue);
    let from = context.usm(UsmKind::Device, device, 64, 0)?;
    let to = context.usm(UsmKind::Shared, device, 64, 0)?;
    queue.write_usm(&from, 0, &[8; 64], &[])?;
    queue.set_usm(&to, 0, 1, 64, &[])?;
    queue.copy_usm((&from, 0), (&to, 32), 32, &[])?.wait()?;
    let mut out = [0; 64];
    queue.read_usm(&to, 0, &mut out, &[])?;
    assert_eq!(out[..32], [1; 32]);
    assert_eq!(out[32..], [8; 32]);
    Ok(())
}

pub(crate) fn sizes_and_alignments_that_make_no_sense_are_refused(machine: &Machine<'_>) -> Result {
    let (context, device) = (&machine.context, &machine.device);
    refused("a buffer of nothing", context.buffer(0), PI_INVALID_BUFFER_SIZE)?;
    // A right one first: a plugin without such memory counts as unsupported, not as failed.
    context.usm(UsmKind::Host, device, 8, 0)?;
    let empty = context.usm(UsmKind::Host, device, 0, 0);
    refused("an allocation of nothing", empty, PI_INVALID_BUFFER_SIZE)?;
    let odd = context.usm(UsmKind::Host, device, 8, 3);
    refused("an alignment that is no power of two", odd, PI_INVALID_VALUE)
}

pub(crate) fn finish_waits_for_everything(machine: &Machine<'_>) -> Result {
    // Many and large, so that the last ones are not done yet when `finish` is called.
    let buffer = machine.context.buffer(1 << 20)?;
    let fill = |n| machine.queue.fill_buffer(&buffer, &[n], 0, 1 << 20, &[]);
    let fills: Vec<Event> = (0..20).map(fill).collect::<core::result::Result<_, _>>()?;
    machine.queue.finish()?;
    for fill in fills {
        assert_eq!(fill.status()?, CommandStatus::Complete);
    }
    Ok(())
}

pub(crate) fn commands_go_on_when_their_queue_is_released(machine: &Machine<'_>) -> Result {
    let buffer = machine.context.buffer(4096)?;
    let gate = machine.context.user_event()?;
    let queue = machine
        .context
        .queue(&machine.device, QueueProperties::default())?;
    let fill = queue.fill_buffer(&buffer, &[6], 0, 4096, &[gate.event()])?;
    drop(queue);
    gate.complete()?;
    fill.wait()?;
    assert!(machine.read(&buffer)?.iter().all(|byte| *byte == 6));
    Ok(())
}

pub(crate) fn memory_that_is_dropped_stays_until_its_commands_are_done(machine: &Machine<'_>) -> Result {
    let (context, device) = (&machine.context, &machine.device);
    let size = 1 << 20;
    let usm = || context.usm(UsmKind::Device, device, size, 0);
    let (from, to, set) = (usm()?, usm()?, usm()?);
    machine.queue.write_usm(&from, 0, &vec![7; size], &[])?;
    let queue = context.queue(device, QueueProperties::default())?;
    let gate = context.user_event()?;
    let copy = queue.copy_usm((&from, 0), (&to, 0), size, &[gate.event()])?;
    let filled = queue.set_usm(&set, 0, 1, size, &[gate.event()])?;
    // Before the gate opens, so that the commands are sure not to have begun.
    drop((queue, from, set));
    gate.complete()?;
    copy.wait()?;
    filled.wait()?;
    let mut out = vec![0; size];
    machine.queue.read_usm(&to, 0, &mut out, &[])?;
    assert!(out.iter().all(|byte| *byte == 7));
    Ok(())
}

pub(crate) fn objects_of_another_context_are_refused(machine: &Machine<'_>) -> Result {
    let other = Context::new(&[&machine.device])?;
    let (own, foreign) = (machine.context.buffer(64)?, other.buffer(64)?);
    let queue = &machine.queue;
    let read = queue.read_buffer(&foreign, 0, &mut [0], &[]);
    refused("reading it", read, PI_INVALID_CONTEXT)?;
    let written = queue.write_buffer(&foreign, 0, &[0], &[]);
    refused("writing it", written, PI_INVALID_CONTEXT)?;
    let copied = queue.copy_buffer((&own, 0), (&foreign, 0), 1, &[]);
    refused("copying to it", copied, PI_INVALID_CONTEXT)
}
