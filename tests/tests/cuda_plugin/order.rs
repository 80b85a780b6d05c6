//! Commands on several streams, which the stand-in does in any order that the waits between them leave open.

use super::*;

/// What a scene reads in the end, and what that has to be.
type Read = (Vec<u8>, [u8; 2]);

/// Events of one queue without order, among them one that something is overwritten behind.
fn by_events(context: &Context, [free, _]: &[Queue; 2]) -> Result<Read, PiError> {
    let (from, to) = (context.buffer(64)?, context.buffer(128)?);
    let one = free.fill_buffer(&from, &[1], 0, 64, &[])?;
    let copied = free.copy_buffer((&from, 0), (&to, 0), 64, &[&one])?;
    let two = free.fill_buffer(&from, &[2], 0, 64, &[&copied])?;
    let copied = free.copy_buffer((&from, 0), (&to, 64), 64, &[&two])?;
    let mut out = vec![0; 128];
    free.read_buffer(&to, 0, &mut out, &[&copied])?;
    Ok((vec![out[0], out[64]], [1, 2]))
}

/// A barrier, which what comes later waits for, and which waits for what came before.
fn by_a_barrier(context: &Context, [free, _]: &[Queue; 2]) -> Result<Read, PiError> {
    let (from, to) = (context.buffer(64)?, context.buffer(128)?);
    for value in [3, 4] {
        drop(free.fill_buffer(&from, &[value], 0, 64, &[])?);
        drop(free.barrier(&[])?);
        let place = if value == 3 { 0 } else { 64 };
        drop(free.copy_buffer((&from, 0), (&to, place), 64, &[])?);
        drop(free.barrier(&[])?);
    }
    let mut out = vec![0; 128];
    free.read_buffer(&to, 0, &mut out, &[])?;
    Ok((vec![out[0], out[64]], [3, 4]))
}

/// A marker behind what one queue has, which a queue of another device waits for.
fn by_a_marker(context: &Context, [free, other]: &[Queue; 2]) -> Result<Read, PiError> {
    let (one, two, to) = (context.buffer(64)?, context.buffer(64)?, context.buffer(128)?);
    drop(free.fill_buffer(&one, &[5], 0, 64, &[])?);
    drop(free.fill_buffer(&two, &[6], 0, 64, &[])?);
    let marker = free.marker(&[])?;
    drop(other.copy_buffer((&one, 0), (&to, 0), 64, &[&marker])?);
    drop(other.copy_buffer((&two, 0), (&to, 64), 64, &[])?);
    let mut out = vec![0; 128];
    other.read_buffer(&to, 0, &mut out, &[])?;
    Ok((vec![out[0], out[64]], [5, 6]))
}

/// A queue that is given up with commands in it, of which another one waits for the last.
fn of_a_queue_that_is_gone(context: &Context, [_, other]: &[Queue; 2]) -> Result<Read, PiError> {
    let queue = context.queue(other.device(), QueueProperties::default())?;
    let (from, to) = (context.buffer(64)?, context.buffer(64)?);
    drop(queue.fill_buffer(&from, &[7], 0, 64, &[])?);
    let copied = queue.copy_buffer((&from, 0), (&to, 0), 64, &[])?;
    drop((queue, from));
    let mut out = vec![0; 64];
    other.read_buffer(&to, 0, &mut out, &[&copied])?;
    Ok((vec![out[0], out[63]], [7, 7]))
}

type Scene = fn(&Context, &[Queue; 2]) -> Result<Read, PiError>;

const SCENES: [(&str, Scene); 4] = [
    ("events", by_events),
    ("a barrier", by_a_barrier),
    ("a marker", by_a_marker),
    ("a queue that is gone", of_a_queue_that_is_gone),
];

/// Runs a scene in some orders; the first one that gives something else.
fn wrong(stand_in: &StandIn, devices: &[Device], scene: Scene) -> Option<String> {
    (0..100).find_map(|seed| {
        stand_in.seed(seed);
        let all: Vec<&Device> = devices.iter().collect();
        let context = Context::new(&all).unwrap();
        let free = QueueProperties {
            out_of_order: true,
            ..QueueProperties::default()
        };
        let queues = [
            context.queue(&devices[0], free).unwrap(),
            context.queue(&devices[1], QueueProperties::default()).unwrap(),
        ];
        let (read, expected) = scene(&context, &queues).unwrap();
        (read != expected).then(|| format!("seed {seed}: {read:?}, not {expected:?}"))
    })
}

#[test]
fn what_waits_for_something_comes_behind_it() {
    need!("clang-22");
    let test = "order::what_waits_for_something_comes_behind_it";
    if !is_inside(test, &[], &[("STANDIN_DEVICES", "2")]) {
        return;
    }
    let (stand_in, devices) = (StandIn::new(), devices());
    for (name, scene) in SCENES {
        assert_eq!(wrong(&stand_in, &devices, scene), None, "{name}");
    }
    // A driver that leaves out what the plugin asks it to wait for is found out: so would be a plugin that does not ask.
    stand_in.forget("cuStreamWaitEvent");
    for (name, scene) in SCENES {
        assert!(wrong(&stand_in, &devices, scene).is_some(), "{name}");
    }
    stand_in.forget("");
    assert_eq!(left(&stand_in), "");
}

#[test]
fn what_a_host_is_told_has_failed_is_over() {
    need!("clang-22");
    let test = "order::what_a_host_is_told_has_failed_is_over";
    if !is_inside(test, &[], &[]) {
        return;
    }
    let (stand_in, device) = (StandIn::new(), devices().remove(0));
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let buffer = context.buffer_from(&[1; 64]).unwrap();
    for seed in 0..100 {
        stand_in.seed(seed);
        // The copy is submitted, and not the event behind it.
        stand_in.fail("cuEventRecord:1:2");
        let mut out = [0; 64];
        let error = queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap_err();
        assert!(error.to_string().contains("CUDA_ERROR_OUT_OF_MEMORY"), "{error}");
        // The memory is the host's again.
        out.fill(2);
        queue.finish().unwrap();
        assert_eq!(out, [2; 64], "seed {seed}");
    }
    drop((queue, buffer, context));
    assert_eq!(left(&stand_in), "");
}
