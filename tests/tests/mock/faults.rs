//! Whichever call of a driver fails: nothing leaks, nothing waits for ever, and what is written already stays.

use std::error::Error;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use offkit_image::DeviceImage;
use offkit_image::property_set::names;
use offkit_object::Limits;
use offkit_pi::NdRange;
use offkit_pi::ffi::*;
use offkit_pi::host::{Context, Device, Plugin, Queue, QueueProperties, UsmKind};
use offkit_runtime::{Buffer, Executable, ImageRegistry, Input, Kernel, KernelBundle, Object, Runtime, Usm};
use offkit_tests::{Folder, mock, need, offkit};
use pi_mock::{BUILT_IN, SCRIPT_VARIABLE, play};

use crate::{FILL, Outcome, image, is_clean, run, words};

/// Runs a program as it is, and then with each of its calls failing in turn: it fails with what the driver says, or ends
/// as if nothing had happened; whichever it does, nothing is left.
#[track_caller]
fn fails_in_turn(script: &str, expected: &[u8], program: impl Fn() -> Outcome) {
    each_call_failing(
        script,
        expected,
        program,
        |outcome, function, about| match outcome {
            Ok(bytes) => assert_eq!(bytes, expected, "{about}"),
            Err(error) => {
                let text = words(&*error);
                let said = format!("{function}: PI_OUT_OF_RESOURCES (-5): out of luck");
                assert!(text.contains(&said), "{about}: {text}");
            }
        },
    );
}

/// The same with a program that tries again what has failed: it always ends as if nothing had happened.
#[track_caller]
fn recovers_in_turn(script: &str, expected: &[u8], program: impl Fn() -> Outcome) {
    each_call_failing(script, expected, program, |outcome, _, about| {
        let bytes = outcome.unwrap_or_else(|error| panic!("{about}: {}", words(&*error)));
        assert_eq!(bytes, expected, "{about}");
    });
}

#[track_caller]
fn each_call_failing(
    script: &str,
    expected: &[u8],
    program: impl Fn() -> Outcome,
    judge: impl Fn(Outcome, &str, &str),
) {
    let whole = play(script).unwrap();
    assert_eq!(program().unwrap(), expected);
    is_clean(&whole, "all is well");
    let calls = whole.calls();
    drop(whole);
    assert!(calls.len() > 20, "{calls:?}");

    for (number, call) in (1..).zip(&calls) {
        let about = format!("call {number}, {}", call.function);
        let failing = format!("fail any#{number} PI_OUT_OF_RESOURCES \"out of luck\"\n{script}");
        let play = play(&failing).unwrap();
        let outcome = program();
        assert_eq!(
            play.calls()[number - 1].result,
            Some(PI_OUT_OF_RESOURCES),
            "{about}"
        );
        is_clean(&play, &about);
        judge(outcome, call.function.name(), &about);
    }
}

/// Does a step, and once more if it fails.
fn again<T, E: Error + 'static>(mut step: impl FnMut() -> Result<T, E>) -> Result<T, Box<dyn Error>> {
    Ok(step().or_else(|_| step())?)
}

/// The mock's device, with a context and a queue.
fn machine() -> Result<(Device, Context, Queue), Box<dyn Error>> {
    let plugin = Plugin::built_in(&BUILT_IN)?;
    let platform = again(|| plugin.platforms())?.remove(0);
    let device = again(|| platform.devices(PI_DEVICE_TYPE_ALL))?.remove(0);
    let context = again(|| Context::new(&[&device]))?;
    let queue = again(|| context.queue(&device, QueueProperties::default()))?;
    Ok((device, context, queue))
}

/// An application that needs a library, both registered: the application's kernel has a specialization constant.
fn registered() -> ImageRegistry {
    let registry = ImageRegistry::new();
    let mut app = image("app");
    app.kernels = vec!["fill".to_owned()];
    app.imports = vec!["helper".to_owned()];
    // One scalar: its number, its place in the value, its size.
    let parts = [5_u32, 0, 4];
    app.properties
        .insert(names::SPECIALIZATION_CONSTANTS, "scale", parts.as_slice());
    registry.add(app);
    registry.add(library());
    registry
}

fn library() -> DeviceImage<'static> {
    let mut library = image("library");
    library.exports = vec!["helper".to_owned()];
    library
}

/// Launches the kernel, and reads what it wrote.
fn launched(kernel: &mut Kernel, context: &Context, queue: &Queue) -> Outcome {
    let bytes = again(|| Buffer::from_slice(context, &[1_u8; 4]))?;
    let arguments = [(&bytes).into(), 0_i32.into()];
    let launch = again(|| kernel.launch(queue, &NdRange::new([4]), &arguments, &[]))?;
    again(|| kernel.wait(&launch))?;
    again(|| bytes.read(queue, &[&launch]))
}

#[test]
fn every_call_of_a_launch_may_fail() {
    for images in [1, 2] {
        fails_in_turn(FILL, &[7; 4], || run(images));
    }
    // Where there are no buffers, shared memory stands in. The mock's kernels fill buffers alone.
    let unbuffered = format!("{FILL}fail piMemBufferCreate PI_UNSUPPORTED_FEATURE");
    fails_in_turn(&unbuffered, &[1; 4], || run(1));
}

#[test]
fn every_call_of_a_bundle_may_fail() {
    fails_in_turn(FILL, &[7; 4], || {
        let plugin = Plugin::built_in(&BUILT_IN)?;
        let device = plugin
            .platforms()?
            .remove(0)
            .devices(PI_DEVICE_TYPE_ALL)?
            .remove(0);
        let devices = [device.clone()];
        let context = Context::new(&[&device])?;
        let queue = context.queue(&device, QueueProperties::default())?;

        let (app, others) = (registered(), ImageRegistry::new());
        let input = KernelBundle::<Input>::registered(&context, &devices, &app)?;
        // By way of a file.
        let file = Arc::new(input.content()?);
        let mut input =
            KernelBundle::<Input>::from_bytes(&context, &devices, "file", file, &Limits::default())?;
        input.set_specialization_constant("scale", &7_u32.to_le_bytes())?;
        assert_eq!(
            input.specialization_constant("scale").as_deref(),
            Some(&7_u32.to_le_bytes()[..])
        );
        let object = input.compile()?;
        let mut other = image("other");
        other.kernels = vec!["other".to_owned()];
        others.add(other);
        let other = KernelBundle::<Object>::registered(&context, &devices, &others)?;
        let executable = KernelBundle::link(&[&object, &other], None)?;
        executable
            .kernel("other", &device)
            .map(drop)
            .or_else(|error| match words(&error) {
                // The mock has the one kernel that its script names.
                text if text.contains("PI_INVALID_KERNEL_NAME") => Ok(()),
                _ => Err(error),
            })?;
        let mut kernel = executable.kernel("fill", &device)?;
        let bytes = Buffer::from_slice(&context, &[1_u8; 4])?;
        let arguments = [(&bytes).into(), 0_i32.into()];
        let launch = kernel.launch(&queue, &NdRange::new([4]), &arguments, &[])?;
        kernel.wait(&launch)?;
        Ok(bytes.read(&queue, &[])?)
    });
}

#[test]
fn what_failed_may_be_tried_again() {
    // What was asked for by one call does not hang on the failure of another.
    recovers_in_turn(FILL, &[7; 4], || {
        let registry = registered();
        let found = registry.find_kernel("fill", |_| true)?;
        let mut chosen = Err("no runtime".into());
        for _ in 0..2 {
            let mut runtime = Runtime::with_plugins(&[&BUILT_IN], &[]);
            chosen = runtime
                .choose(None, &registry, &found)
                .map_err(Box::<dyn Error>::from);
            if chosen.is_ok() {
                break;
            }
        }
        let (device, kernel) = chosen?;
        let context = again(|| Context::new(&[&device]))?;
        let queue = again(|| context.queue(&device, QueueProperties::default()))?;
        let collection = registry.collect(&kernel)?;
        let mut kernel = again(|| registry.build(&collection, &context, &device))?;
        launched(&mut kernel, &context, &queue)
    });
    recovers_in_turn(FILL, &[7; 4], || {
        let (device, context, queue) = machine()?;
        let devices = [device.clone()];
        let registry = registered();
        let input = again(|| KernelBundle::<Input>::registered(&context, &devices, &registry))?;
        let object = again(|| input.compile())?;
        let executable = again(|| KernelBundle::link(&[&object], None))?;
        let mut kernel = again(|| executable.kernel("fill", &device))?;
        launched(&mut kernel, &context, &queue)
    });
    // What is built when it is first asked for is built when it is asked for again.
    recovers_in_turn(FILL, &[7; 4], || {
        let (device, context, queue) = machine()?;
        let registry = registered();
        let devices = [device.clone()];
        let executable = again(|| KernelBundle::<Executable>::registered(&context, &devices, &registry))?;
        let mut kernel = again(|| executable.kernel("fill", &device))?;
        launched(&mut kernel, &context, &queue)
    });
}

#[test]
fn a_build_that_fails_for_one_thread_is_there_for_the_next() {
    let play = play(&format!(
        "{FILL}delay piProgramCreate 20\nfail piProgramLink#1 PI_OUT_OF_RESOURCES"
    ))
    .unwrap();
    let (device, context, queue) = machine().unwrap();
    let executable =
        KernelBundle::<Executable>::registered(&context, std::slice::from_ref(&device), &registered())
            .unwrap();
    let ask = || executable.kernel("fill", &device);
    let built = thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(ask));
        threads.map(|thread| thread.join().unwrap())
    });
    let (built, failed): (Vec<_>, Vec<_>) = built.into_iter().partition(Result::is_ok);
    assert_eq!((built.len(), failed.len()), (3, 1));
    for kernel in built {
        assert_eq!(launched(&mut kernel.unwrap(), &context, &queue).unwrap(), [7; 4]);
    }
    let links = play
        .calls()
        .into_iter()
        .filter(|call| call.function.name() == "piProgramLink");
    assert_eq!(
        links.count(),
        2,
        "the one that failed, and the one that all others share"
    );
    drop((failed, executable, queue, context, device));
    is_clean(&play, "all are gone");
}

#[test]
fn kernels_outlive_their_library_whatever_fails() {
    recovers_in_turn(FILL, &[7; 4], || {
        let (device, context, queue) = machine()?;
        let registry = registered();
        let helper = registry.exporters("helper").remove(0);
        let found = registry.find_kernel("fill", |_| true)?;
        let kernel = again(|| registry.select(&found, &device))?;
        let collection = registry.collect(&kernel)?;
        let mut built = again(|| registry.build(&collection, &context, &device))?;
        // The library is unloaded, and another one takes its place.
        assert!(registry.withdraw(registry.library(helper).ok_or("it is there")?));
        assert!(registry.collect(&kernel).is_err());
        registry.add(library());
        let bytes = launched(&mut built, &context, &queue)?;
        let collection = registry.collect(&kernel)?;
        let mut built = again(|| registry.build(&collection, &context, &device))?;
        assert_eq!(launched(&mut built, &context, &queue)?, bytes);
        Ok(bytes)
    });
}

#[test]
fn what_is_written_stays_whatever_fails_later() {
    recovers_in_turn(FILL, &[7, 7, 9, 7, 2, 3, 4, 5, 7, 7, 7, 7], || {
        let (device, context, queue) = machine()?;
        let registry = registered();
        let found = registry.find_kernel("fill", |_| true)?;
        let kernel = again(|| registry.select(&found, &device))?;
        let collection = registry.collect(&kernel)?;
        let mut kernel = again(|| registry.build(&collection, &context, &device))?;

        let first = again(|| Buffer::from_slice(&context, &[1_u8; 4]))?;
        let shared = again(|| Usm::<u8>::new(&context, UsmKind::Shared, &device, 4))?;
        again(|| shared.write(&queue, 0, &[2, 3, 4, 5], &[]))?;
        let arguments = [(&first).into(), (&shared).into()];
        let launch = again(|| kernel.launch(&queue, &NdRange::new([4]), &arguments, &[]))?;
        again(|| kernel.wait(&launch))?;
        again(|| first.write(&queue, 2, &[9], &[]))?;
        let mut host = [0; 2];
        again(|| first.read_to(&queue, 0, &mut host, &[]))?;
        assert_eq!(host, [7; 2]);

        // A second launch, other arguments, more memory: the first buffer keeps what it has.
        let second = again(|| Buffer::from_slice(&context, &[1_u8; 4]))?;
        let arguments = [(&second).into(), (&shared).into()];
        let launch = again(|| kernel.launch(&queue, &NdRange::new([4]), &arguments, &[]))?;
        again(|| kernel.wait(&launch))?;
        assert_eq!(host, [7; 2]);
        let all = [
            again(|| first.read(&queue, &[]))?,
            again(|| shared.read(&queue, &[]))?,
            again(|| second.read(&queue, &[]))?,
        ];
        Ok(all.concat())
    });
}

#[test]
fn files_stay_as_they_were_unless_all_results_are_there() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin(
        "app",
        "kernel void fill(global int *a, global int *b) { a[0] = b[0] = 1; }",
        "",
    );
    let run = |script: &str| {
        folder.write("script", script);
        folder.write("a.npy", "old a");
        folder.write("b.npy", "old b");
        let mut command = Command::new(offkit());
        let line = "run app.syclbin fill --global 1 --arg i32[1] --arg i32[1] --device mock --out 0=a.npy --out 1=b.npy";
        command
            .args(line.split(' '))
            .env("OFFKIT_PLUGINS", mock())
            .env("OCL_ICD_VENDORS", "/nowhere/")
            .env("OFFKIT_CACHE", "off")
            .env(SCRIPT_VARIABLE, "script");
        folder.run_command(&mut command)
    };
    let script = "kernel fill 2 0 7\n";
    run(script).ok();
    assert!(
        folder.read("a.npy").ends_with(&[7; 4]),
        "the first buffer is filled"
    );
    for fault in [
        "fail piEnqueueMemBufferRead#1 PI_OUT_OF_RESOURCES",
        "fail piEnqueueMemBufferRead#2 PI_OUT_OF_RESOURCES",
        "fail launch PI_OUT_OF_RESOURCES",
        "fail piProgramBuild PI_BUILD_PROGRAM_FAILURE",
    ] {
        let error = run(&format!("{script}{fault}")).fails(2);
        assert!(error.contains("PI_"), "{fault}: {error}");
        assert_eq!(
            [folder.read("a.npy"), folder.read("b.npy")],
            [b"old a", b"old b"],
            "{fault}"
        );
    }
}
