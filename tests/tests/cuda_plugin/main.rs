//! The plugin over NVIDIA's driver, on a stand-in for the driver (`tests/cuda-driver`).

mod link;
mod lto;
mod order;
mod spirv;

use offkit_image::DeviceImage;
use offkit_pi::ffi::*;
use offkit_pi::host::{
    BuildStatus, CommandStatus, Context, Device, NdRange, PiError, Plugin, Queue, QueueProperties, UsmKind,
};
use offkit_plugin_tests::Outcome;
use offkit_tests::cuda::{Cuda, RUNTIME};
use offkit_tests::cuda_driver::{KERNELS, StandIn, is_inside, with_cuda};
use offkit_tests::{Folder, need, npy_f32, offkit, read_f32, tool};
use std::fmt::Write as _;
use std::process::Command;
use std::ptr::{null, null_mut};

fn plugin() -> Plugin {
    Plugin::built_in(&offkit_plugin_cuda::BUILT_IN).unwrap()
}

fn devices() -> Vec<Device> {
    let platforms = plugin().platforms().unwrap();
    let [platform] = platforms.as_slice() else {
        panic!("{platforms:?}");
    };
    assert_eq!(platform.backend().unwrap(), PI_EXT_PLATFORM_BACKEND_CUDA);
    platform.devices(PI_DEVICE_TYPE_ALL).unwrap()
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

fn ptx(version: &str) -> Vec<u8> {
    let folder = Folder::new();
    std::fs::read(folder.ptx("k", KERNELS, "sm_80", version)).unwrap()
}

/// Runs saxpy with buffers.
fn saxpy(device: &Device, code: &[u8]) -> Result<Vec<f32>, PiError> {
    let context = Context::new(&[device])?;
    let queue = context.queue(device, QueueProperties::default())?;
    let program = context.program_with_binary(device, code)?;
    program.build("")?;
    let mut kernel = program.kernel("saxpy")?;
    let x = context.buffer_from(&bytes(&[1.0, 2.0, 3.0, 4.0]))?;
    let y = context.buffer_from(&bytes(&[10.0; 4]))?;
    kernel.set_argument(0, 2.5f32)?;
    kernel.set_argument(1, &x)?;
    kernel.set_argument(2, &y)?;
    queue.launch(&kernel, &NdRange::new([4]), &[])?.wait()?;
    let mut out = vec![0; 16];
    queue.read_buffer(&y, 0, &mut out, &[])?;
    queue.finish()?;
    Ok(read_f32_raw(&out))
}

fn read_f32_raw(bytes: &[u8]) -> Vec<f32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| f32::from_ne_bytes(*word)).collect()
}

const SUM: [f32; 4] = [12.5, 15.0, 17.5, 20.0];

#[test]
fn ptx_runs_and_the_device_says_what_it_is() {
    need!("clang-22");
    if !is_inside("ptx_runs_and_the_device_says_what_it_is", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let device = devices().remove(0);
    assert_eq!(device.name().unwrap(), "NVIDIA Stand-in 0");
    // By the name of the driver's library.
    assert_eq!(device.driver_version().unwrap(), "570.26");
    assert_eq!(device.max_compute_units().unwrap(), 132);
    assert_eq!(device.max_work_item_sizes().unwrap(), [1024, 1024, 64]);
    assert_eq!(device.info(PI_DEVICE_INFO_UUID).unwrap(), [0x40; 16]);
    let code = ptx("83");
    assert_eq!(
        device.select_binary(&[&DeviceImage::new(&*code)]).unwrap(),
        Some(0)
    );
    assert_eq!(saxpy(&device, &code).unwrap(), SUM);
    assert_eq!(stand_in.live(), "", "what is left of the driver's objects");

    let context = Context::new(&[&device]).unwrap();
    let program = context.program_with_binary(&device, &code).unwrap();
    program.build("-O3 -cl-fast").unwrap();
    assert_eq!(
        program.build_log(&device).unwrap().trim(),
        "compiled by the stand-in\nnot for NVIDIA's driver: -cl-fast"
    );
    assert_eq!(program.kernel_names().unwrap(), ["saxpy", "shape"]);
    let error = program.kernel("missing").unwrap_err().to_string();
    assert!(
        error.contains("there is no kernel missing; the program has saxpy, shape"),
        "{error}"
    );
    // Sizes are the driver's.
    let mut kernel = program.kernel("saxpy").unwrap();
    assert_eq!(kernel.num_args().unwrap(), 3);
    let error = kernel.set_argument(0, 2.5f64).unwrap_err();
    assert_eq!(error.result(), PI_INVALID_ARG_SIZE, "{error}");
    let error = kernel.set_argument(3, 2.5f32).unwrap_err();
    assert_eq!(error.result(), PI_INVALID_ARG_INDEX, "{error}");
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let error = queue
        .launch(&kernel, &NdRange::new([4]), &[])
        .unwrap_err()
        .to_string();
    assert!(error.contains("argument 0 of kernel saxpy is not set"), "{error}");
    // A variable of the program.
    queue
        .write_global(&program, "counter", 0, &7i32.to_ne_bytes(), &[])
        .unwrap();
    let mut counter = [0; 4];
    queue
        .read_global(&program, "counter", 0, &mut counter, &[])
        .unwrap();
    assert_eq!(i32::from_ne_bytes(counter), 7);
    let error = program.global_size(&device, "missing").unwrap_err().to_string();
    assert!(error.contains("the program has none of that name"), "{error}");
}

#[test]
fn launches_have_blocks_threads_and_local_memory() {
    need!("clang-22");
    if !is_inside("launches_have_blocks_threads_and_local_memory", &[], &[]) {
        return;
    }
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = context.program_with_binary(&device, &ptx("83")).unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("shape").unwrap();
    let out = context.buffer(32).unwrap();
    kernel.set_argument(0, &out).unwrap();
    kernel
        .set_argument(1, offkit_pi::host::Argument::Local(100))
        .unwrap();
    let shape = |range: &NdRange| -> Result<Vec<u32>, PiError> {
        queue.launch(&kernel, range, &[])?;
        let mut bytes = vec![0; 32];
        queue.read_buffer(&out, 0, &mut bytes, &[])?;
        Ok(bytes
            .as_chunks()
            .0
            .iter()
            .map(|word| u32::from_ne_bytes(*word))
            .collect())
    };
    let range = NdRange::new([64, 32, 4]).with_local([8, 8, 2]);
    assert_eq!(shape(&range).unwrap(), [8, 4, 2, 8, 8, 2, 100, 0]);
    // The largest part of the range that is one.
    assert_eq!(shape(&NdRange::new([300])).unwrap()[..4], [2, 1, 1, 150]);
    for (range, result) in [
        (NdRange::new([10]).with_local([4]), PI_INVALID_WORK_GROUP_SIZE),
        (
            NdRange::new([2048]).with_local([2048]),
            PI_INVALID_WORK_GROUP_SIZE,
        ),
        (NdRange::new([4]).with_offset([4]), PI_INVALID_GLOBAL_OFFSET),
    ] {
        let error = shape(&range).unwrap_err();
        assert_eq!(error.result(), result, "{error}");
    }
}

#[test]
fn what_any_plugin_does_with_memory_and_events_this_one_does() {
    let test = "what_any_plugin_does_with_memory_and_events_this_one_does";
    need!("clang-22");
    if !is_inside(test, &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let plugin = plugin();
    for (name, outcome) in offkit_plugin_tests::run(&plugin, None) {
        match outcome {
            Outcome::Passed => {}
            Outcome::Unsupported(what) => assert!(
                what.contains("an event of the host's own is not supported")
                    || what.contains("there is no device code to run"),
                "{name}: {what}"
            ),
            Outcome::Failed(what) => panic!("{name}: {what}"),
        }
    }
    assert_eq!(stand_in.live(), "");
}

#[test]
fn unified_shared_memory_is_of_three_kinds() {
    need!("clang-22");
    if !is_inside("unified_shared_memory_is_of_three_kinds", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    {
        let device = devices().remove(0);
        let context = Context::new(&[&device]).unwrap();
        let queue = context.queue(&device, QueueProperties::default()).unwrap();
        let program = context.program_with_binary(&device, &ptx("83")).unwrap();
        program.build("").unwrap();
        for kind in [UsmKind::Device, UsmKind::Host, UsmKind::Shared] {
            let mut kernel = program.kernel("saxpy").unwrap();
            let x = context.usm(kind, &device, 16, 4096).unwrap();
            let y = context.usm(kind, &device, 16, 0).unwrap();
            assert!(x.address().is_multiple_of(4096));
            queue
                .write_usm(&x, 0, &bytes(&[1.0, 2.0, 3.0, 4.0]), &[])
                .unwrap();
            queue.write_usm(&y, 0, &bytes(&[10.0; 4]), &[]).unwrap();
            kernel.set_argument(0, 2.5f32).unwrap();
            kernel.set_argument(1, x.at(0)).unwrap();
            kernel.set_argument(2, y.at(0)).unwrap();
            queue.launch(&kernel, &NdRange::new([4]), &[]).unwrap();
            let mut out = vec![0; 16];
            queue.read_usm(&y, 0, &mut out, &[]).unwrap();
            assert_eq!(read_f32_raw(&out), SUM, "{kind:?}");
        }
        // Patterns of any length.
        let usm = context.usm(UsmKind::Device, &device, 64, 0).unwrap();
        for length in [1usize, 2, 4, 8, 16] {
            let pattern: Vec<u8> = (1..=length as u8).collect();
            let buffer = context.buffer(64).unwrap();
            queue.fill_buffer(&buffer, &pattern, 0, 64, &[]).unwrap();
            let mut out = vec![0; 64];
            queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
            assert_eq!(out, pattern.repeat(64 / length));
        }
        drop(usm);
    }
    assert_eq!(stand_in.live(), "");
}

#[test]
fn several_devices_copy_to_each_other_and_share_buffers() {
    let test = "several_devices_copy_to_each_other_and_share_buffers";
    need!("clang-22");
    if !is_inside(test, &[], &[("STANDIN_DEVICES", "2")]) {
        return;
    }
    let stand_in = StandIn::new();
    {
        let devices = devices();
        let [first, second] = devices.as_slice() else {
            panic!("{devices:?}");
        };
        let context = Context::new(&[first, second]).unwrap();
        assert_eq!(stand_in.calls("cuCtxEnablePeerAccess"), 2);
        let queues = [first, second].map(|device| context.queue(device, QueueProperties::default()).unwrap());
        let from = context.usm(UsmKind::Device, first, 64, 0).unwrap();
        let to = context.usm(UsmKind::Device, second, 64, 0).unwrap();
        queues[0].write_usm(&from, 0, &[5; 64], &[]).unwrap();
        let copied = queues[0].copy_usm((&from, 0), (&to, 0), 64, &[]).unwrap();
        assert_eq!(stand_in.calls("cuMemcpyPeerAsync"), 1);
        let mut out = [0; 64];
        queues[1].read_usm(&to, 0, &mut out, &[&copied]).unwrap();
        assert_eq!(out, [5; 64]);
        // A buffer goes where it is used.
        let buffer = context.buffer_from(&bytes(&[10.0; 4])).unwrap();
        let x = context.buffer_from(&bytes(&[1.0, 2.0, 3.0, 4.0])).unwrap();
        assert_eq!(stand_in.calls("cuMemAllocManaged"), 2);
        for (device, queue) in devices.iter().zip(&queues) {
            let program = context.program_with_binary(device, &ptx("83")).unwrap();
            program.build("").unwrap();
            let mut kernel = program.kernel("saxpy").unwrap();
            kernel.set_argument(0, 1.25f32).unwrap();
            kernel.set_argument(1, &x).unwrap();
            kernel.set_argument(2, &buffer).unwrap();
            queue
                .launch(&kernel, &NdRange::new([4]), &[])
                .unwrap()
                .wait()
                .unwrap();
        }
        let mut out = vec![0; 16];
        queues[0].read_buffer(&buffer, 0, &mut out, &[]).unwrap();
        assert_eq!(read_f32_raw(&out), SUM);
    }
    assert_eq!(stand_in.live(), "");
}

#[test]
fn a_load_that_fails_has_the_drivers_log() {
    need!("clang-22");
    if !is_inside("a_load_that_fails_has_the_drivers_log", &[], &[]) {
        return;
    }
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let damaged = String::from_utf8(ptx("83")).unwrap().replace("ret;", "nonsense;");
    let program = context.program_with_binary(&device, damaged.as_bytes()).unwrap();
    let error = program.build("").unwrap_err();
    assert_eq!(error.result(), PI_BUILD_PROGRAM_FAILURE);
    let log = program.build_log(&device).unwrap();
    for words in [&error.to_string(), &log] {
        assert!(
            words.contains("Parsing error near 'nonsense'") && words.contains("CUDA_ERROR_INVALID_PTX"),
            "{words}"
        );
    }
    assert_eq!(program.build_status(&device).unwrap(), BuildStatus::Error);
    let error = program.kernel("saxpy").unwrap_err();
    assert_eq!(error.result(), PI_INVALID_PROGRAM_EXECUTABLE);

    // What no driver of this version takes is refused before it is loaded, in the words of `offkit check`.
    let new = String::from_utf8(ptx("83"))
        .unwrap()
        .replace(".version 8.3", ".version 8.8");
    let error = context
        .program_with_binary(&device, new.as_bytes())
        .unwrap_err()
        .to_string();
    let expected = "PTX 8.8 for sm_80: its driver is 570.26, and it needs 575.51.03 or later";
    assert!(error.contains(expected), "{error}");
    let newer = String::from_utf8(ptx("83"))
        .unwrap()
        .replace(".target sm_80", ".target sm_100");
    let error = context
        .program_with_binary(&device, newer.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("PTX 8.3 for sm_100: it is for newer processors"),
        "{error}"
    );
    let error = context
        .program_with_binary(&device, b"something else")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("neither PTX, a cubin, LTO-IR, a fatbin nor an offload binary"),
        "{error}"
    );
}

#[test]
fn profiled_commands_are_timed_by_the_device() {
    need!("clang-22");
    if !is_inside("profiled_commands_are_timed_by_the_device", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    {
        let device = devices().remove(0);
        let context = Context::new(&[&device]).unwrap();
        let properties = QueueProperties {
            profiling: true,
            ..QueueProperties::default()
        };
        let queue = context.queue(&device, properties).unwrap();
        let buffer = context.buffer(64).unwrap();
        let fills = [1u8, 2].map(|value| queue.fill_buffer(&buffer, &[value], 0, 64, &[]).unwrap());
        fills[1].wait().unwrap();
        let [one, two] = fills.map(|fill| fill.profile().unwrap());
        assert!(
            one.submitted <= one.started && one.started <= one.ended,
            "{one:?}"
        );
        assert!(
            one.queued <= two.queued && one.started <= two.started,
            "{one:?} {two:?}"
        );
        assert!(stand_in.calls("cuEventElapsedTime") > 0);
    }
    assert_eq!(stand_in.live(), "");
}

/// What is left of the driver's objects in the end: what a queue that is gone has still to do is looked after by a thread.
fn left(stand_in: &StandIn) -> String {
    let waits = (0..2000).take_while(|_| !stand_in.live().is_empty());
    waits.for_each(|_| std::thread::sleep(std::time::Duration::from_millis(5)));
    stand_in.live()
}

/// Everything that a program does, up to the first failure.
fn everything(devices: &[Device], code: &[u8], app: &[&[u8]; 2]) -> Result<(), PiError> {
    let device = &devices[0];
    assert_eq!(saxpy(device, code)?, SUM);
    let all: Vec<&Device> = devices.iter().collect();
    let context = Context::new(&all)?;
    let properties = QueueProperties {
        out_of_order: true,
        profiling: true,
    };
    let queue = context.queue(device, properties)?;
    let programs = app.map(|code| context.program_with_binary(device, code));
    let [app, library] = programs;
    context.link(&[&app?, &library?], "")?;
    let buffer = context.buffer_from(&[7; 64])?;
    let filled = queue.fill_buffer(&buffer, &[1, 2, 3, 4, 5, 6, 7, 8], 0, 64, &[])?;
    let usm = context.usm(UsmKind::Shared, device, 64, 0)?;
    let host = context.usm(UsmKind::Host, device, 64, 0)?;
    let set = queue.set_usm(&usm, 0, 1, 64, &[])?;
    let copied = queue.copy_usm((&usm, 0), (&host, 0), 64, &[&filled, &set])?;
    queue.barrier(&[])?;
    queue.write_buffer(&buffer, 0, &[9; 8], &[])?;
    copied.wait()?;
    queue.finish()?;
    let profile = filled.profile()?;
    assert!(profile.started <= profile.ended);
    Ok(())
}

#[test]
fn a_fault_at_any_call_is_an_error_and_leaves_nothing_behind() {
    let test = "a_fault_at_any_call_is_an_error_and_leaves_nothing_behind";
    need!("clang-22");
    if !is_inside(test, &[], &[("STANDIN_DEVICES", "2")]) {
        return;
    }
    let folder = Folder::new();
    let [app, library] = link::parts(&folder);
    let (code, app) = (ptx("83"), [app.as_slice(), library.as_slice()]);
    let stand_in = StandIn::new();
    let devices = devices();
    everything(&devices, &code, &app).unwrap();
    assert_eq!(stand_in.live(), "");
    // What comes later than discovery, and is not giving something back.
    let functions = offkit_plugin_cuda::DECLARATIONS.iter().map(|(name, _)| *name);
    let functions: Vec<&str> = functions.filter(|name| stand_in.calls(name) > 0).collect();
    let mut failures = 0;
    for function in functions {
        // No memory, a fault of a kernel, a device that is gone: once, and for good.
        for (code_of_fault, is_lost) in [(2, false), (700, true), (214, true)] {
            for nth in 1..=3 {
                let fault = format!("{function}:{nth}:{code_of_fault}");
                match is_lost {
                    true => stand_in.lose(&fault),
                    false => stand_in.fail(&fault),
                }
                if let Err(error) = everything(&devices, &code, &app) {
                    failures += 1;
                    let words = error.to_string();
                    let name = match code_of_fault {
                        2 => "CUDA_ERROR_OUT_OF_MEMORY",
                        700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
                        _ => "CUDA_ERROR_ECC_UNCORRECTABLE",
                    };
                    assert!(words.contains(name), "{fault}: {words}");
                    assert_eq!(
                        words.contains("is lost to this process"),
                        is_lost,
                        "{fault}: {words}"
                    );
                }
                stand_in.fail("");
                assert_eq!(left(&stand_in), "", "{fault}");
            }
        }
    }
    assert!(failures > 150, "{failures} faults were noticed");
    // And all is well again.
    everything(&devices, &code, &app).unwrap();
}

#[test]
fn a_kernel_that_faults_fails_its_event_and_what_was_read_stays() {
    let test = "a_kernel_that_faults_fails_its_event_and_what_was_read_stays";
    need!("clang-22");
    if !is_inside(test, &[], &[]) {
        return;
    }
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = context.program_with_binary(&device, &ptx("83")).unwrap();
    program.build("").unwrap();
    let buffer = context.buffer_from(&[3; 16]).unwrap();
    let read = queue.read_buffer_later(&buffer, 0, 16, &[]).unwrap();
    let before = read.event().try_clone().unwrap();
    assert_eq!(read.wait().unwrap(), [3; 16]);
    let mut kernel = program.kernel("saxpy").unwrap();
    kernel.set_argument(0, 1.0f32).unwrap();
    kernel
        .set_argument(1, offkit_pi::host::Argument::bytes(&16u64.to_ne_bytes()))
        .unwrap();
    kernel.set_argument(2, &buffer).unwrap();
    let error = queue
        .launch(&kernel, &NdRange::new([4]), &[])
        .and_then(|event| event.wait())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("an illegal memory access") && error.contains("is lost to this process"),
        "{error}"
    );
    let error = queue
        .finish()
        .and_then(|()| context.buffer(4).map(drop))
        .unwrap_err();
    assert!(
        error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{error}"
    );
    // What was done before is still known to be done.
    assert_eq!(before.status().unwrap(), CommandStatus::Complete);
}

#[test]
fn an_older_driver_runs_what_it_can() {
    need!("clang-22");
    let test = "an_older_driver_runs_what_it_can";
    let variables = [("STANDIN_CAPABILITY", "80"), ("STANDIN_CUDA", "12020")];
    if !is_inside(test, &["-DOLD"], &variables) {
        return;
    }
    let device = devices().remove(0);
    // By its version of CUDA, where nothing else says it.
    if !std::path::Path::new("/sys/module/nvidia").exists() {
        assert_eq!(device.driver_version().unwrap(), "535.54");
        let context = Context::new(&[&device]).unwrap();
        let error = context.program_with_binary(&device, &ptx("83")).unwrap_err();
        let expected = "its driver is 535.54, and it needs 545.23 or later";
        assert!(error.to_string().contains(expected), "{error}");
    }
    let code = ptx("78");
    assert_eq!(saxpy(&device, &code).unwrap(), SUM);
    let context = Context::new(&[&device]).unwrap();
    let program = context.program_with_binary(&device, &code).unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    // The image says how many arguments there are.
    assert_eq!(kernel.num_args().unwrap(), 3);
    let error = kernel.set_argument(3, 1.0f32).unwrap_err();
    assert_eq!(error.result(), PI_INVALID_ARG_INDEX);
}

#[test]
fn a_fat_binary_runs_with_the_code_that_fits() {
    need!("clang-22");
    let Some(cuda) = Cuda::get() else { return };
    if !is_inside("a_fat_binary_runs_with_the_code_that_fits", &[], &[]) {
        return;
    }
    let folder = Folder::new();
    folder.ptx("k", KERNELS, "sm_80", "83");
    for arch in ["sm_80", "sm_90"] {
        cuda.cubin(&folder, "k.ptx", arch, &format!("{arch}.cubin"), &[]);
    }
    cuda.fatbin(
        &folder,
        "k.fatbin",
        &[],
        &[
            ("elf", "sm_80", "sm_80.cubin".to_owned()),
            ("elf", "sm_90", "sm_90.cubin".to_owned()),
            ("ptx", "sm_80", "k.ptx".to_owned()),
        ],
    );
    let stand_in = StandIn::new();
    let device = devices().remove(0);
    let (fatbin, cubin) = (folder.read("k.fatbin"), folder.read("sm_90.cubin"));
    for code in [&fatbin, &cubin] {
        assert_eq!(saxpy(&device, code).unwrap(), SUM);
    }
    let context = Context::new(&[&device]).unwrap();
    let program = context.program_with_binary(&device, &fatbin).unwrap();
    program.build("").unwrap();
    // The cubin for this very device.
    assert_eq!(program.binaries().unwrap(), std::slice::from_ref(&cubin));
    let images = [folder.read("sm_80.cubin"), folder.read("k.ptx"), cubin];
    let images = images.each_ref().map(|bytes| DeviceImage::new(bytes.as_slice()));
    let references: Vec<&DeviceImage<'_>> = images.iter().collect();
    assert_eq!(device.select_binary(&references).unwrap(), Some(2));
    // Machine code of 8.0 does not run on 9.0, PTX does.
    assert_eq!(device.select_binary(&references[..2]).unwrap(), Some(1));
    assert_eq!(device.select_binary(&references[..1]).unwrap(), None);
    drop((program, context));
    assert_eq!(stand_in.live(), "");
}

#[test]
fn offkit_lists_and_uses_the_devices() {
    need!("clang-22");
    let folder = Folder::new();
    let driver = folder.cuda_driver(&[]);
    folder.ptx("k", KERNELS, "sm_80", "83");
    folder.write("x.npy", npy_f32("(4,)", [1.0, 2.0, 3.0, 4.0]));
    folder.write("y.npy", npy_f32("(4,)", [10.0; 4]));
    let run = |line: &str| {
        let mut command = Command::new(offkit());
        command.args(line.split_whitespace());
        folder.run_command(with_cuda(&mut command, &driver))
    };
    let devices = run("devices").ok();
    assert!(
        devices.contains("NVIDIA Stand-in 0")
            && devices.contains("sm_90")
            && devices.contains("driver 570.26"),
        "{devices}"
    );
    run("pack --image=file=k.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda -o k.bin").ok();
    for (file, device) in [("k.ptx", "gpu"), ("k.ptx", "cuda"), ("k.bin", "gpu")] {
        run(&format!(
            "run {file} saxpy --device {device} --global 4 --arg f32:2.5 --arg x.npy --arg y.npy --out 2=z.npy"
        ))
        .ok();
        assert_eq!(read_f32(&folder.read("z.npy")), SUM);
        std::fs::remove_file(folder.path("z.npy")).unwrap();
    }
    let doctor = run("doctor").stdout;
    assert!(doctor.contains("cuda:0 NVIDIA Stand-in 0"), "{doctor}");
    // What the driver is too old for.
    let new = String::from_utf8(folder.read("k.ptx"))
        .unwrap()
        .replace(".version 8.3", ".version 8.8");
    folder.write("new.ptx", new);
    let error =
        run("run new.ptx saxpy --device gpu --global 4 --arg f32:2.5 --arg x.npy --arg y.npy").fails(3);
    let expected = "its driver is 570.26, and it needs 575.51.03 or later";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_driver_without_devices_says_why() {
    need!("clang-22");
    let folder = Folder::new();
    let driver = folder.cuda_driver(&[]);
    let doctor = |name: &str, value: &str| {
        let mut command = Command::new(offkit());
        command.arg("doctor");
        folder
            .run_command(with_cuda(&mut command, &driver).env(name, value))
            .stdout
    };
    for (name, value, words) in [
        (
            "CUDA_VISIBLE_DEVICES",
            "",
            "CUDA_VISIBLE_DEVICES is empty, which hides all",
        ),
        ("STANDIN_INIT", "100", "NVIDIA's driver shows no device"),
        (
            "STANDIN_INIT",
            "803",
            "libcuda.so.1 and the kernel's driver are of different versions",
        ),
        ("STANDIN_FAIL", "cuInit:1:46", "CUDA_ERROR_DEVICE_UNAVAILABLE"),
        ("STANDIN_DEVICES", "0", "NVIDIA's driver shows no device"),
    ] {
        let text = doctor(name, value);
        assert!(text.contains(words), "{name}={value}: {text}");
    }
    // A library that only has the name.
    let stub = folder.path("stub");
    std::fs::create_dir(&stub).unwrap();
    folder.write("stub.c", "int nothing;");
    let options = ["-shared", "-o", "stub/libcuda.so.1", "stub.c"];
    folder.run(tool("clang-22").unwrap(), options).ok();
    let mut command = Command::new(offkit());
    command.arg("doctor");
    let text = folder.run_command(with_cuda(&mut command, &stub)).stdout;
    assert!(text.contains("libcuda.so.1 has no function `cuInit`"), "{text}");
    // Without anything of NVIDIA's the plugin beside the program is not even loaded, and there is nothing to say.
    let text = folder.offkit("doctor").stdout;
    let is_here = std::path::Path::new("/dev/nvidiactl").exists();
    assert!(
        is_here || text.contains("not loaded: this machine has no libcuda.so.1"),
        "{text}"
    );
    let mut command = Command::new(offkit());
    command.arg("devices");
    let outcome = folder.run_command(with_cuda(&mut command, &folder.path("")));
    assert!(
        !outcome.stderr.contains("NVIDIA") && outcome.code == 0,
        "{outcome:?}"
    );
}

/// Calls a function of a plugin's table, which must succeed.
macro_rules! done {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are as the interface says.
        let result = unsafe { $plugin.api().$function.unwrap()($($argument),*) };
        assert_eq!(result, PI_SUCCESS, stringify!($function));
    };
}

/// A context of the first device, and a queue.
fn machine(plugin: &Plugin) -> (pi_device, pi_context, pi_queue) {
    let (mut platform, mut device) = (null_mut(), null_mut());
    let (mut context, mut queue) = (null_mut(), null_mut());
    done!(plugin, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        plugin,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
    );
    done!(
        plugin,
        piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
    );
    done!(plugin, piQueueCreate(context, device, 0, &raw mut queue));
    (device, context, queue)
}

#[test]
fn hosts_see_buffers_that_are_mapped() {
    need!("clang-22");
    if !is_inside("hosts_see_buffers_that_are_mapped", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let plugin = plugin();
    let (_, context, queue) = machine(&plugin);
    let mut storage: Vec<u8> = (0..64).collect();
    let start = storage.as_mut_ptr();
    for (flags, host) in [
        (PI_MEM_FLAGS_HOST_PTR_COPY, start),
        (PI_MEM_FLAGS_HOST_PTR_USE, start),
        (PI_MEM_FLAGS_HOST_PTR_ALLOC | PI_MEM_FLAGS_HOST_PTR_COPY, start),
        // Memory that cannot be registered is copied.
        (PI_MEM_FLAGS_HOST_PTR_USE, start),
    ] {
        storage.copy_from_slice(&(0..64).collect::<Vec<u8>>());
        let is_last = stand_in.calls("cuMemHostRegister_v2") == 1;
        if is_last {
            stand_in.fail("cuMemHostRegister_v2:1:801");
        }
        let (mut buffer, mut address) = (null_mut(), null_mut());
        let all = PI_MEM_FLAGS_ACCESS_RW | flags;
        done!(
            plugin,
            piMemBufferCreate(context, all, 64, host.cast(), &raw mut buffer, null())
        );
        done!(
            plugin,
            piEnqueueMemBufferMap(
                queue,
                buffer,
                PI_TRUE,
                PI_MAP_READ | PI_MAP_WRITE,
                16,
                8,
                0,
                null(),
                null_mut(),
                &raw mut address
            )
        );
        // SAFETY: 8 bytes are mapped there.
        let mapped = unsafe { std::slice::from_raw_parts_mut(address.cast::<u8>(), 8) };
        assert_eq!(mapped, [16, 17, 18, 19, 20, 21, 22, 23]);
        mapped[0] = 99;
        done!(
            plugin,
            piEnqueueMemUnmap(queue, buffer, address, 0, null(), null_mut())
        );
        // A box of 2 x 2 bytes at (1, 2) of rows of 8, to rows of 4.
        let mut out = [0u8; 8];
        let offset = |x, y| pi_buff_rect_offset_struct {
            x_bytes: x,
            y_scalar: y,
            z_scalar: 0,
        };
        let (mut from, mut to) = (offset(0, 2), offset(1, 0));
        let mut region = pi_buff_rect_region_struct {
            width_bytes: 2,
            height_scalar: 2,
            depth_scalar: 1,
        };
        done!(
            plugin,
            piEnqueueMemBufferReadRect(
                queue,
                buffer,
                PI_TRUE,
                &raw mut from,
                &raw mut to,
                &raw mut region,
                8,
                0,
                4,
                0,
                out.as_mut_ptr().cast(),
                0,
                null(),
                null_mut()
            )
        );
        assert_eq!(out, [0, 99, 17, 0, 0, 24, 25, 0]);
        done!(plugin, piMemRelease(buffer));
    }
    assert_eq!(stand_in.calls("cuMemHostRegister_v2"), 2);
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    assert_eq!(stand_in.live(), "");
}

#[test]
fn native_handles_go_both_ways() {
    need!("clang-22");
    if !is_inside("native_handles_go_both_ways", &[], &[]) {
        return;
    }
    let stand_in = StandIn::new();
    let plugin = plugin();
    let (device, context, queue) = machine(&plugin);
    let (mut native_device, mut native_context, mut native_queue) = (9, 0, 0);
    done!(plugin, piextDeviceGetNativeHandle(device, &raw mut native_device));
    assert_eq!(native_device, 0, "the driver's number");
    done!(
        plugin,
        piextContextGetNativeHandle(context, &raw mut native_context)
    );
    done!(plugin, piextQueueGetNativeHandle(queue, &raw mut native_queue));
    assert_ne!(native_queue, 0);
    // In this version of the interface native objects are given away; a primary context is nobody's to destroy.
    let given = stand_in.stream(native_context);
    let (mut other_context, mut other_queue) = (null_mut(), null_mut());
    done!(
        plugin,
        piextContextCreateWithNativeHandle(native_context, 1, &raw const device, &raw mut other_context)
    );
    done!(
        plugin,
        piextQueueCreateWithNativeHandle(given, other_context, &raw mut other_queue)
    );
    let mut buffer = null_mut();
    done!(
        plugin,
        piMemBufferCreate(
            other_context,
            PI_MEM_FLAGS_ACCESS_RW,
            64,
            null_mut(),
            &raw mut buffer,
            null()
        )
    );
    let bytes = [4u8; 64];
    done!(
        plugin,
        piEnqueueMemBufferWrite(
            other_queue,
            buffer,
            PI_TRUE,
            0,
            64,
            bytes.as_ptr().cast(),
            0,
            null(),
            null_mut()
        )
    );
    let mut native_buffer = 0;
    done!(plugin, piextMemGetNativeHandle(buffer, &raw mut native_buffer));
    // SAFETY: the stand-in's memory is the host's.
    let first = unsafe { *std::ptr::with_exposed_provenance::<u8>(native_buffer) };
    assert_eq!(first, 4);
    done!(plugin, piMemRelease(buffer));
    done!(plugin, piQueueRelease(other_queue));
    done!(plugin, piContextRelease(other_context));
    assert_eq!(stand_in.live(), "stream context ");
    done!(plugin, piQueueFinish(queue));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
    assert_eq!(stand_in.live(), "");
}

#[test]
fn declarations_are_those_of_nvidias_header() {
    need!("clang-22");
    let Some(header) = RUNTIME.file("/cuda.h") else {
        return;
    };
    let folder = Folder::new();
    let c_type = |rust: &str| {
        let (mut rust, mut pointers) = (rust.replace(' ', ""), String::new());
        let mut is_const = false;
        loop {
            let (rest, constant) = match (rust.strip_prefix("*mut"), rust.strip_prefix("*const")) {
                (Some(rest), _) => (rest.to_owned(), false),
                (_, Some(rest)) => (rest.to_owned(), true),
                _ => break,
            };
            is_const = constant;
            pointers.push('*');
            rust = rest;
        }
        let base = match rust.as_str() {
            "c_int" => "int",
            "c_uint" => "unsigned int",
            "c_char" => "char",
            "c_void" => "void",
            "usize" => "size_t",
            "u8" => "unsigned char",
            "u16" => "unsigned short",
            "f32" => "float",
            name => name,
        };
        let constant = if is_const { "const " } else { "" };
        format!("{constant}{base} {pointers}")
    };
    let mut source = String::from("#define __CUDA_API_VERSION_INTERNAL\n#include \"cuda.h\"\n");
    for (name, types) in offkit_plugin_cuda::DECLARATIONS {
        let types: Vec<String> = types.iter().map(|rust| c_type(rust)).collect();
        writeln!(source, "CUresult (*check_{name})({}) = {name};", types.join(", ")).unwrap();
    }
    for (name, value) in offkit_plugin_cuda::ENUMERATORS {
        writeln!(source, "_Static_assert({name} == {value}u, \"{name}\");").unwrap();
    }
    let sizes =
        "_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, \"\");\n_Static_assert(sizeof(CUuuid) == 16, \"\");\n";
    source.push_str(sizes);
    folder.write("check.c", &source);
    let include = format!("-I{}", header.parent().unwrap().display());
    let options = ["-std=c11", "-Werror", "-fsyntax-only", &include, "check.c"];
    folder.run(tool("clang-22").unwrap(), options).ok();
}
