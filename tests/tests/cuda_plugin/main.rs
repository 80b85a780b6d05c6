//! The plugin over NVIDIA's driver, on a stand-in for the driver (`tests/cuda-driver`).

mod faults;
mod found;
mod header;
mod link;
mod lto;
mod native;
mod order;
mod spirv;

use offkit_image::DeviceImage;
use offkit_pi::ffi::*;
use offkit_pi::host::{
    BuildStatus, CommandStatus, Context, Device, NdRange, PiError, Plugin, Queue, QueueProperties, UsmKind,
};
use offkit_plugin_tests::Outcome;
use offkit_tests::cuda::Cuda;
use offkit_tests::cuda_driver::{KERNELS, StandIn, is_inside, with_cuda};
use offkit_tests::{Folder, need, npy_f32, offkit, read_f32, tool};
use std::process::Command;

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

/// What is left of the driver's objects in the end: what a queue that is gone has still to do is looked after by a thread.
fn left(stand_in: &StandIn) -> String {
    let waits = (0..2000).take_while(|_| !stand_in.live().is_empty());
    waits.for_each(|_| std::thread::sleep(std::time::Duration::from_millis(5)));
    stand_in.live()
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
    // As the driver counts them, from x on: SYCL's runtime turns them round itself.
    let groups = [2_147_483_647_usize, 65_535, 65_535]
        .map(usize::to_ne_bytes)
        .concat();
    assert_eq!(
        device.info(PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_3D).unwrap(),
        groups
    );
    assert_eq!(
        device.info(PI_EXT_ONEAPI_DEVICE_INFO_MAX_WORK_GROUPS_2D).unwrap(),
        groups[..16]
    );
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
    // One that the code names and the driver does not have.
    let folder = Folder::new();
    let others = folder.ptx(
        "k",
        "kernel void draw(global int *out) { *out = 1; }",
        "sm_80",
        "83",
    );
    let others = context
        .program_with_binary(&device, &std::fs::read(others).unwrap())
        .unwrap();
    others.build("").unwrap();
    let error = others.kernel("draw").unwrap_err().to_string();
    assert!(
        error.contains("the program's code names kernel draw, and the driver has not made it"),
        "{error}"
    );
    drop(others);
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
    // More local memory than can be counted.
    for index in [0, 1] {
        let all = offkit_pi::host::Argument::Local(usize::MAX);
        kernel.set_argument(index, all).unwrap();
    }
    let error = queue.launch(&kernel, &NdRange::new([4]), &[]).unwrap_err();
    assert_eq!(error.result(), PI_OUT_OF_RESOURCES, "{error}");
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
