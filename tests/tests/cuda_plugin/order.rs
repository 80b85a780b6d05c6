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
fn a_marker_covers_what_another_thread_waits_for() {
    need!("clang-22");
    let test = "order::a_marker_covers_what_another_thread_waits_for";
    if !is_inside(test, &[], &[("STANDIN_DEVICES", "2")]) {
        return;
    }
    let (stand_in, devices) = (StandIn::new(), devices());
    let all: Vec<&Device> = devices.iter().collect();
    let context = Context::new(&all).unwrap();
    let free = QueueProperties {
        out_of_order: true,
        ..QueueProperties::default()
    };
    let other = context.queue(&devices[1], QueueProperties::default()).unwrap();
    for seed in 0..20 {
        stand_in.seed(seed);
        let free = context.queue(&devices[0], free).unwrap();
        let (one, to) = (context.buffer(64).unwrap(), context.buffer(64).unwrap());
        drop(free.fill_buffer(&one, &[5], 0, 64, &[]).unwrap());
        // The driver keeps the thread for good.
        stand_in.fail("cuStreamSynchronize:1:-1");
        let before = stand_in.calls("cuStreamSynchronize");
        let waiting = free.clone();
        std::thread::spawn(move || waiting.finish());
        while stand_in.calls("cuStreamSynchronize") == before {
            std::thread::yield_now();
        }
        let marker = free.marker(&[]).unwrap();
        let copied = other.copy_buffer((&one, 0), (&to, 0), 64, &[&marker]).unwrap();
        let mut out = vec![0; 64];
        other.read_buffer(&to, 0, &mut out, &[&copied]).unwrap();
        assert_eq!((out[0], out[63]), (5, 5), "seed {seed}");
    }
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
    let queue = |is_profiled| {
        let properties = QueueProperties {
            profiling: is_profiled,
            ..QueueProperties::default()
        };
        context.queue(&device, properties).unwrap()
    };
    let (plain, profiled) = (queue(false), queue(true));
    let buffer = context.buffer_from(&[1; 64]).unwrap();
    for seed in 0..100 {
        stand_in.seed(seed);
        // The copy is submitted, and not the event behind it.
        stand_in.fail("cuEventRecord:2:2");
        let mut out = [0; 64];
        let error = profiled.read_buffer(&buffer, 0, &mut out, &[]).unwrap_err();
        assert!(error.to_string().contains("CUDA_ERROR_OUT_OF_MEMORY"), "{error}");
        // The memory is the host's again.
        out.fill(2);
        profiled.finish().unwrap();
        assert_eq!(out, [2; 64], "seed {seed}");
        // Where times are not asked for, what was submitted is waited for without an event.
        stand_in.fail("cuEventRecord:1:2");
        plain.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
        plain.finish().unwrap();
        assert_eq!(out, [1; 64], "seed {seed}");
    }
    drop((plain, profiled, buffer, context));
    assert_eq!(left(&stand_in), "");
}

/// The driver's calls that something costs, and how many of them are about events.
fn calls(stand_in: &StandIn, what: impl FnOnce()) -> (i64, i64) {
    let counts = || {
        let events = ["Create", "Record", "Query", "Synchronize", "Destroy_v2"];
        let events = events.map(|name| stand_in.calls(&format!("cuEvent{name}")));
        (stand_in.calls(""), events.iter().sum::<i64>())
    };
    let before = counts();
    what();
    let after = counts();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn a_launch_costs_no_event_that_nobody_asks_for() {
    need!("clang-22");
    if !is_inside("order::a_launch_costs_no_event_that_nobody_asks_for", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = context.program_with_binary(&device, &ptx("83")).unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    let (x, y) = (context.buffer(16).unwrap(), context.buffer(16).unwrap());
    kernel.set_argument(0, 1.0f32).unwrap();
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
    let launch = || {
        queue
            .launch(&kernel, &NdRange::new([4]).with_local([4]), &[])
            .unwrap()
    };
    queue.fill_buffer(&x, &[0], 0, 16, &[]).unwrap();
    drop(launch());
    queue.finish().unwrap();
    // Makes the context current, launches, and makes it what it was; the same for waiting.
    assert_eq!(calls(&stand_in, || drop(launch())), (3, 0));
    assert_eq!(calls(&stand_in, || queue.finish().unwrap()), (3, 0));
    // Many in a row: an event now and then, to let go of what they use.
    let (all, events) = calls(&stand_in, || (0..256).for_each(|_| drop(launch())));
    assert!(
        all <= 256 * 3 + 4 * 8 && (4..=16).contains(&events),
        "{all} {events}"
    );
    queue.finish().unwrap();
    // One that is waited for has an event, however late it is asked.
    let event = launch();
    let (_, events) = calls(&stand_in, || event.wait().unwrap());
    assert_eq!(events, 3);
    // One that is kept has it before the next command, and is over before that.
    let first = launch();
    let before = stand_in.calls("cuEventRecord");
    let second = launch();
    assert_eq!(stand_in.calls("cuEventRecord"), before + 1);
    first.wait().unwrap();
    second.wait().unwrap();
    // One that a wait for the queue covers needs none.
    let event = launch();
    queue.finish().unwrap();
    let (all, _) = calls(&stand_in, || {
        assert_eq!(event.status().unwrap(), CommandStatus::Complete)
    });
    assert_eq!(all, 0);
    // What nobody records waits for the stream.
    let event = launch();
    stand_in.fail("cuEventRecord:1:2");
    event.wait().unwrap();
    stand_in.fail("");
    assert_eq!(event.status().unwrap(), CommandStatus::Complete);
}

#[test]
fn the_event_of_a_command_is_its_own_however_late_it_is_asked_for() {
    need!("clang-22");
    let test = "order::the_event_of_a_command_is_its_own_however_late_it_is_asked_for";
    if !is_inside(test, &[], &[]) {
        return;
    }
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    for seed in 0..50 {
        StandIn::new().seed(seed);
        let queue = |properties| context.queue(&device, properties).unwrap();
        let (one, other) = (
            queue(QueueProperties::default()),
            queue(QueueProperties::default()),
        );
        let (from, to) = (context.buffer(64).unwrap(), context.buffer(64).unwrap());
        // Another queue waits for what is not the last command any more; the one behind it waits for that queue.
        let filled = one.fill_buffer(&from, &[1], 0, 64, &[]).unwrap();
        let copied = other.copy_buffer((&from, 0), (&to, 0), 64, &[&filled]).unwrap();
        drop(one.fill_buffer(&from, &[2], 0, 64, &[&copied]).unwrap());
        drop(filled);
        let mut out = vec![0; 64];
        other.read_buffer(&to, 0, &mut out, &[]).unwrap();
        assert_eq!((out[0], out[63]), (1, 1));
        // An event outlives its queue.
        let last = one.fill_buffer(&from, &[3], 0, 64, &[]).unwrap();
        drop(one);
        last.wait().unwrap();
        other.read_buffer(&from, 0, &mut out, &[]).unwrap();
        assert_eq!((out[0], out[63]), (3, 3));
    }
}

#[test]
fn what_a_command_used_is_given_back_when_it_is_known_to_be_over() {
    need!("clang-22");
    let test = "order::what_a_command_used_is_given_back_when_it_is_known_to_be_over";
    if !is_inside(test, &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    for out_of_order in [false, true] {
        let properties = QueueProperties {
            out_of_order,
            ..QueueProperties::default()
        };
        let queue = context.queue(&device, properties).unwrap();
        let fill = |count: usize| {
            let fill = |_| {
                let buffer = context.buffer(64).unwrap();
                queue.fill_buffer(&buffer, &[1], 0, 64, &[]).unwrap()
            };
            (0..count).map(fill).collect::<Vec<_>>()
        };
        let allocated = || stand_in.calls("cuMemAlloc_v2") - stand_in.calls("cuMemFree_v2");
        let before = allocated();
        // Nobody submits more, nor waits for the queue.
        let events = fill(12);
        events.iter().for_each(|event| event.wait().unwrap());
        assert_eq!(allocated(), before, "waited for");
        // Those before one that is waited for are over, too, in a queue that keeps their order.
        if !out_of_order {
            let last = fill(12).pop().unwrap();
            last.wait().unwrap();
            assert_eq!(allocated(), before, "in order");
        }
        let events = fill(12);
        for event in &events {
            while event.status().unwrap() != CommandStatus::Complete {}
        }
        assert_eq!(allocated(), before, "asked for");
        // An event outlives its queue.
        drop(queue);
        events.iter().for_each(|event| event.wait().unwrap());
    }
}
