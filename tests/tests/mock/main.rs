//! The runtime on a device that fails, waits and lacks functions as a script says (`plugins/mock`).

mod faults;

use std::error::Error;
use std::process::Command;
use std::time::Duration;

use offkit_image::property_set::{ByteArray, names};
use offkit_image::target::triples;
use offkit_image::{DeviceImage, Target};
use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::host::{Context, Device, Partition, Plugin, Queue, QueueProperties, UsmKind};
use offkit_runtime::{Buffer, ImageRegistry, Input, KernelBundle, Runtime, Usm};
use offkit_tests::drivers::alone;
use offkit_tests::{Folder, mock, need, offkit};
use pi_mock::{BUILT_IN, Play, SCRIPT_VARIABLE, play};

type Outcome = Result<Vec<u8>, Box<dyn Error>>;

/// An error and its causes, in one line.
fn words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

/// An image of no code: the mock has whatever kernel it is asked for.
fn image(name: &str) -> DeviceImage<'static> {
    let mut image = DeviceImage::new([b"\x03\x02\x23\x07", name.as_bytes()].concat());
    image.target = Target::new(triples::SPIRV64, "");
    image
}

/// What a program does with the runtime: it finds a device and a kernel, which calls a function of another image if there
/// are `images` of them, launches it, and reads what it wrote.
fn run(images: usize) -> Outcome {
    let registry = ImageRegistry::new();
    let mut app = image("app");
    app.kernels = vec!["fill".to_owned()];
    if images == 2 {
        app.imports = vec!["helper".to_owned()];
        let mut library = image("library");
        library.exports = vec!["helper".to_owned()];
        registry.add(library);
    }
    registry.add(app);
    let found = registry.find_kernel("fill", |_| true)?;

    let mut runtime = Runtime::with_plugins(&[&BUILT_IN], &[]);
    let chosen = runtime.choose(None, &registry, &found);
    if let Some(failure) = runtime.failures().next() {
        return Err(words(failure).into());
    }
    let (device, kernel) = chosen?;
    let context = Context::new(&[&device])?;
    let queue = context.queue(&device, QueueProperties::default())?;
    let mut kernel = registry.build(&registry.collect(&kernel)?, &context, &device)?;
    let bytes = Buffer::from_slice(&context, &[1_u8; 4])?;
    let shared = Usm::<u8>::new(&context, UsmKind::Shared, &device, 4)?;
    let arguments = [(&bytes).into(), (&shared).into()];
    let launch = kernel.launch(&queue, &NdRange::new([4]), &arguments, &[])?;
    kernel.wait(&launch)?;
    shared.write(&queue, 0, &[2, 3, 4, 5], &[&launch])?;
    assert_eq!(shared.read(&queue, &[])?, [2, 3, 4, 5]);
    let bytes = bytes.read(&queue, &[&launch])?;
    queue.finish()?;
    Ok(bytes)
}

/// Nothing is left, and nothing was used that was gone.
#[track_caller]
fn is_clean(play: &Play, about: &str) {
    assert!(
        play.objects().is_empty(),
        "{about}: {:?} are left",
        play.objects()
    );
    assert!(play.misused().is_empty(), "{about}: {:?}", play.misused());
}

const FILL: &str = "kernel fill 2 0 7\n";

#[test]
fn what_is_missing_is_done_without_or_named() {
    let whole = play(FILL).unwrap();
    run(1).unwrap();
    let mut functions: Vec<_> = whole.calls().iter().map(|call| call.function).collect();
    drop(whole);
    functions.sort_by_key(|function| function.name());
    functions.dedup();

    let mut needed = Vec::new();
    for function in functions {
        let play = play(&format!("{FILL}missing {function}")).unwrap();
        let outcome = run(1);
        assert!(
            play.misused().is_empty(),
            "without {function}: {:?}",
            play.misused()
        );
        match outcome {
            Ok(bytes) => assert_eq!(bytes, [7; 4], "without {function}"),
            Err(error) => {
                let text = words(&*error);
                let expected = format!("{function} is not provided by plugin mock");
                assert!(text.contains(&expected), "without {function}: {text}");
                needed.push(function.name());
            }
        }
        if !function.name().ends_with("Release") && !function.name().ends_with("Free") {
            assert!(
                play.objects().is_empty(),
                "without {function}: {:?}",
                play.objects()
            );
        }
    }
    // What `docs/plugins.md` lists, less what can be done in two ways, and what the program above uses besides.
    assert_eq!(
        needed,
        [
            "piContextCreate",
            "piDevicesGet",
            "piEnqueueKernelLaunch",
            "piEnqueueMemBufferRead",
            "piEventsWait",
            "piKernelCreate",
            "piMemBufferCreate",
            "piPlatformsGet",
            "piProgramBuild",
            "piProgramCreate",
            "piQueueFinish",
            "piextKernelSetArgMemObj",
            "piextKernelSetArgPointer",
            "piextUSMEnqueueMemcpy",
            "piextUSMSharedAlloc",
        ]
    );
}

/// The mock's device, with a context and a queue.
fn machine() -> (Device, Context, Queue) {
    let plugin = Plugin::built_in(&BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    (device, context, queue)
}

/// Launches a kernel that fills a buffer; what the buffer has in the end, or what the launch failed with.
fn launch(after: impl FnOnce(&offkit_pi::host::Event)) -> Result<Vec<u8>, String> {
    let (_, context, queue) = machine();
    let program = context.program_with_il(b"code").unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("fill").unwrap();
    let buffer = context.buffer_from(&[0; 4]).unwrap();
    kernel.set_argument(0, &buffer).unwrap();
    kernel.set_argument(1, 0_i32).unwrap();
    let launch = queue.launch(&kernel, &NdRange::new([4]), &[]).unwrap();
    // Everything but the event and the buffer may go before the launch is over.
    drop((kernel, program));
    after(&launch);
    launch.wait().map_err(|error| error.to_string())?;
    let mut bytes = vec![1; 4];
    queue.read_buffer(&buffer, 0, &mut bytes, &[&launch]).unwrap();
    Ok(bytes)
}

#[test]
fn what_is_submitted_while_a_thread_waits_comes_behind_what_it_waits_for() {
    let play = play(&format!("{FILL}delay launch 100")).unwrap();
    let (_, context, queue) = machine();
    let program = context.program_with_il(b"code").unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("fill").unwrap();
    let buffer = context.buffer_from(&[0; 4]).unwrap();
    kernel.set_argument(0, &buffer).unwrap();
    kernel.set_argument(1, 0_i32).unwrap();
    let launch = queue.launch(&kernel, &NdRange::new([4]), &[]).unwrap();
    let bytes = std::thread::scope(|scope| {
        scope.spawn(|| queue.finish().unwrap());
        std::thread::sleep(Duration::from_millis(30));
        let filled = queue.fill_buffer(&buffer, &[9], 0, 4, &[]).unwrap();
        filled.wait().unwrap();
        launch.wait().unwrap();
        let mut bytes = vec![1; 4];
        queue.read_buffer(&buffer, 0, &mut bytes, &[]).unwrap();
        bytes
    });
    assert_eq!(bytes, [9; 4]);
    drop((launch, buffer, kernel, program, queue, context));
    is_clean(&play, "two threads");
}

#[test]
fn launches_may_take_time_fail_or_never_end() {
    let play_of = |line: &str| play(&format!("{FILL}{line}")).unwrap();
    let late = play_of("delay launch 50");
    assert_eq!(launch(|_| ()), Ok(vec![7; 4]));
    is_clean(&late, "late");
    drop(late);

    let failing = play_of("fail launch PI_OUT_OF_RESOURCES \"too hot\"");
    let failure = launch(|_| ()).unwrap_err();
    assert_eq!(failure, "piEventsWait: PI_OUT_OF_RESOURCES (-5): too hot");
    is_clean(&failing, "failing");
    drop(failing);

    let endless = play_of("hang launch");
    let failure = launch(|launch| {
        assert_eq!(launch.wait_for(Duration::from_millis(20)), Ok(false));
        launch.cancel().unwrap();
    });
    let failure = failure.unwrap_err();
    assert!(failure.contains("the host has ended it"), "{failure}");
    is_clean(&endless, "endless");
}

#[test]
fn devices_take_what_the_script_says() {
    let play_of = |lines: &str| play(&format!("{FILL}{lines}")).unwrap();
    let native = play_of("device gpu \"Native GPU\"\ntakes sm_80\ndevice acc Other\ntakes gfx90a");
    let failure = words(&*run(1).unwrap_err());
    let expected = "no device here takes SPIR-V for spirv64-unknown-unknown; \
                    the devices are 0 (Native GPU, gpu), 1 (Other, accelerator)";
    assert!(failure.starts_with(expected), "{failure}");
    is_clean(&native, "native");
    drop(native);

    let unresolved = play_of("unresolved far_away");
    for images in [1, 2] {
        let failure = words(&*run(images).unwrap_err());
        assert!(failure.contains("undefined symbol `far_away`"), "{failure}");
        is_clean(&unresolved, "unresolved");
    }
}

#[test]
fn copies_within_memory_are_refused_where_they_overlap() {
    // Where there are no buffers, shared memory stands in for them.
    for script in [FILL, "fail piMemBufferCreate PI_UNSUPPORTED_FEATURE"] {
        let play = play(script).unwrap();
        let (device, context, queue) = machine();
        let numbers = Buffer::from_slice(&context, &[1, 2, 3, 4, 5, 6]).unwrap();
        let again = numbers.clone();
        for to in [0, 1, 2] {
            let error = numbers.copy_to(&queue, 0, &again, to, 3, &[]).unwrap_err();
            assert_eq!(error.result(), PI_MEM_COPY_OVERLAP, "{error}");
            let expected = format!("12 bytes at 0 cannot be copied to {} of the same memory", to * 4);
            assert!(error.to_string().contains(&expected), "{error}");
        }
        let copied = numbers.copy_to(&queue, 0, &again, 3, 3, &[]).unwrap();
        assert_eq!(numbers.read(&queue, &[&copied]).unwrap(), [1, 2, 3, 1, 2, 3]);
        numbers
            .copy_to(&queue, 2, &again, 2, 0, &[])
            .unwrap()
            .wait()
            .unwrap();

        let usm = context.usm(UsmKind::Shared, &device, 8, 0).unwrap();
        let error = queue.copy_usm((&usm, 4), (&usm, 1), 4, &[]).unwrap_err();
        assert_eq!(error.result(), PI_MEM_COPY_OVERLAP, "{error}");
        drop((copied, numbers, again, usm, queue, context, device));
        is_clean(&play, script);
    }

    let play = play(FILL).unwrap();
    let (_, context, queue) = machine();
    let whole = context.buffer_from(&[0; 512]).unwrap();
    let part = whole.part(128, 256).unwrap();
    let error = queue.copy_buffer((&part, 0), (&whole, 130), 4, &[]).unwrap_err();
    assert!(error.to_string().contains("they overlap"), "{error}");
    queue
        .copy_buffer((&part, 0), (&whole, 132), 4, &[])
        .unwrap()
        .wait()
        .unwrap();
    drop((whole, part, queue, context));
    is_clean(&play, "parts");
}

/// Builds a bundle with a device global, `counter`, writes it, and reads it again.
fn use_global() -> Outcome {
    let (device, context, queue) = machine();
    let registry = ImageRegistry::new();
    let mut app = image("app");
    app.kernels = vec!["fill".to_owned()];
    let size_and_scope = [4_u32, 0].map(u32::to_le_bytes).concat();
    app.properties
        .insert(names::DEVICE_GLOBALS, "counter", ByteArray::new(size_and_scope));
    registry.add(app);
    let built = KernelBundle::<Input>::registered(&context, &[device], &registry)?.build()?;
    built.write_device_global("counter", &queue, 1, &[7, 8])?;
    let mut bytes = vec![1; 4];
    built.read_device_global("counter", &queue, 0, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn device_globals_are_placed_where_a_program_has_them() {
    let variable = "variable counter 16\n";
    let unable = "missing piextGetGlobalVariablePointer\n";
    for script in [variable, &format!("{variable}{unable}")] {
        let play = play(script).unwrap();
        assert_eq!(use_global().unwrap(), [0, 7, 8, 0], "{script}");
        is_clean(&play, script);
    }
    // A program without the variable is one that nothing uses it in; what cannot be done with it is an error.
    let write = "piextEnqueueDeviceGlobalVariableWrite";
    for script in ["", unable] {
        let play = play(script).unwrap();
        let text = words(&*use_global().unwrap_err());
        assert!(
            text.contains(write) && text.contains("no variable counter"),
            "{text}"
        );
        is_clean(&play, script);
    }
    for function in [write, "piextEnqueueDeviceGlobalVariableRead"] {
        let play = play(&format!(
            "{variable}fail {function} PI_INVALID_VALUE \"out of range\""
        ))
        .unwrap();
        let text = words(&*use_global().unwrap_err());
        let expected = format!("cannot reach device global `counter`: {function}: PI_INVALID_VALUE");
        assert!(text.contains(&expected), "{text}");
        is_clean(&play, function);
    }
}

#[test]
fn bundles_are_for_parts_of_a_contexts_device() {
    let play = play(&format!("{FILL}device gpu Whole\ndevice gpu Other")).unwrap();
    let plugin = Plugin::built_in(&BUILT_IN).unwrap();
    let devices = plugin.platforms().unwrap().remove(0).devices(PI_DEVICE_TYPE_ALL);
    let [whole, other] = devices.unwrap().try_into().unwrap();
    let context = Context::new(&[&whole]).unwrap();
    let parts = whole.partition(&Partition::ByCounts(vec![1, 1])).unwrap();
    let [first, second] = parts.try_into().unwrap();
    assert_eq!(first.whole(), Some(&whole));
    assert_eq!(second.name().unwrap(), "Whole, part 2");
    assert!(whole.partition(&Partition::Equally(1)).is_err());
    let inner = second.partition(&Partition::ByCounts(vec![1])).unwrap().remove(0);

    let registry = ImageRegistry::new();
    let mut app = image("app");
    app.kernels = vec!["fill".to_owned()];
    registry.add(app);
    let devices = [first.clone(), inner.clone()];
    let input = KernelBundle::<Input>::registered(&context, &devices, &registry).unwrap();
    let linked = KernelBundle::link(&[&input.compile().unwrap()], Some(&devices[1..])).unwrap();
    assert!(linked.has_kernel_for("fill", &inner) && !linked.has_kernel_for("fill", &first));
    for (bundle, device) in [(&input.build().unwrap(), &first), (&linked, &inner)] {
        assert!(bundle.has_kernel_for("fill", device) && !bundle.has_kernel_for("fill", &whole));
        let queue = context.queue(device, QueueProperties::default()).unwrap();
        let mut kernel = bundle.kernel("fill", device).unwrap();
        let bytes = Buffer::from_slice(&context, &[1_u8; 4]).unwrap();
        let arguments = [(&bytes).into(), 0_i32.into()];
        let launch = kernel
            .launch(&queue, &NdRange::new([4]), &arguments, &[])
            .unwrap();
        assert_eq!(bytes.read(&queue, &[&launch]).unwrap(), [7; 4]);
    }
    let foreign = other.partition(&Partition::ByCounts(vec![1])).unwrap();
    for devices in [&[other][..], &foreign] {
        let refused = KernelBundle::<Input>::registered(&context, devices, &registry);
        let text = words(&refused.unwrap_err());
        assert!(text.contains("is not among the devices of the context"), "{text}");
    }
    // A context of a part knows nothing of the whole.
    let of_part = Context::new(&[&first]).unwrap();
    assert!(of_part.has(&first) && !of_part.has(&whole) && !of_part.has(&second));
    drop((
        input, linked, devices, foreign, first, second, inner, of_part, context,
    ));
    is_clean(&play, "parts");
}

#[test]
fn offkit_itself_copes() {
    let folder = Folder::new();
    let run = |script: &str, line: &str| {
        folder.write("script", script);
        let mut command = Command::new(offkit());
        alone(command.args(line.split(' ')))
            .env("OFFKIT_PLUGINS", mock())
            .env(SCRIPT_VARIABLE, "script");
        folder.run_command(&mut command)
    };
    let devices = run("device acc \"Thing of tests\"\ninfo VENDOR Nobody", "devices").ok();
    assert!(devices.contains("Thing of tests"), "{devices}");
    let outcome = run(
        "fail piDevicesGet PI_DEVICE_NOT_AVAILABLE \"the cable is out\"",
        "devices",
    );
    for part in ["piDevicesGet: PI_DEVICE_NOT_AVAILABLE", "the cable is out"] {
        assert!(outcome.stderr.contains(part), "{outcome:#?}");
    }
    let outcome = run("once upon a time", "devices");
    assert!(
        outcome
            .stderr
            .contains("line 1 of the mock's script, `once upon a time`"),
        "{outcome:#?}"
    );
}

#[test]
fn launches_that_take_too_long_are_stopped() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin("app", "kernel void fill(global int *a) { a[0] = 1; }", "");
    let run = |script: &str, time: &str| {
        folder.write("script", script);
        let mut command = Command::new(offkit());
        let line = format!("run app.syclbin fill --global 1 --arg i32[1] --device mock --timeout {time}");
        alone(command.args(line.split(' ')))
            .env("OFFKIT_PLUGINS", mock())
            .env(SCRIPT_VARIABLE, "script");
        folder.run_command(&mut command)
    };
    run("kernel fill 1\ndelay launch 50", "60s").ok();
    let stopped = run("kernel fill 1\nhang launch", "0.2s").fails(1);
    assert!(stopped.contains("`fill`"), "{stopped}");
    // One that cannot be stopped is not waited for either.
    let left = run(
        "kernel fill 1\nhang launch\nfail piEventSetStatus PI_INVALID_OPERATION",
        "0.2s",
    )
    .fails(1);
    assert!(left.contains("`fill`"), "{left}");
}
