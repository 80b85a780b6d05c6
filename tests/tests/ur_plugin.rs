//! The plugin over adapters of Unified Runtime: the OpenCL adapters of two releases over Intel's driver for CPUs, and an
//! adapter of our own in every form of the tables.

use offkit_image::DeviceImage;
use offkit_pi::ffi::*;
use offkit_pi::host::{BuildStatus, Context, Device, NdRange, Plugin, QueueProperties, UsmKind};
use offkit_plugin_ur::Outcome;
use offkit_tests::drivers::{INSIDE, alone, is_inside};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::ur_adapters::{RELEASES, Release};
use offkit_tests::{Folder, library, need, npy_f32, offkit, read_f32, root, spirv, tool};
use offkit_ur::{FUNCTIONS, Form, Table};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut};

/// The plugin's library.
const PLUGIN: &str = "offkit_plugin_ur";

fn first_device() -> Device {
    let plugin = Plugin::built_in(&offkit_plugin_ur::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0)
}

fn bytes(value: f32) -> Vec<u8> {
    value.to_ne_bytes().repeat(64)
}

#[test]
fn programs_are_built_through_the_adapter_of_2025_1() {
    programs_are_built("programs_are_built_through_the_adapter_of_2025_1", &RELEASES[0]);
}

#[test]
fn programs_are_built_through_the_adapter_of_2025_3() {
    programs_are_built("programs_are_built_through_the_adapter_of_2025_3", &RELEASES[1]);
}

/// What there is to say of programs and kernels, whatever the adapter says. (What any plugin does with them is in
/// `offkit-plugin-tests`.)
#[track_caller]
fn programs_are_built(test: &str, release: &Release) {
    need!("clang-22");
    if !release.is_inside(test) {
        return;
    }
    let device = first_device();
    assert!(device.il_version().unwrap().contains("SPIR-V"));
    assert!(device.max_work_item_sizes().unwrap()[0] >= 32);
    assert!(device.driver_version().unwrap().contains(release.version));
    device.extensions().unwrap();
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let il = spirv("kernel void k(global int *p) { p[0] = 3; }");
    let image = DeviceImage::new(&il);
    assert_eq!(device.select_binary(&[&image]).unwrap(), Some(0));
    let program = context.program_with_il(&il).unwrap();
    program.build("").unwrap();
    assert_eq!(program.build_status(&device).unwrap(), BuildStatus::Success);
    assert_eq!(program.kernel_names().unwrap(), ["k"]);
    let error = program.kernel("l").unwrap_err().to_string();
    assert!(
        error.contains("there is no kernel l; the program has k"),
        "{error}"
    );
    let mut kernel = program.kernel("k").unwrap();
    assert_eq!(kernel.name().unwrap(), "k");
    assert!(kernel.work_group_size(&device).unwrap() >= 16);
    let error = kernel.set_argument(1, 2.0f32).unwrap_err().to_string();
    assert!(error.contains("kernel k has 1 arguments"), "{error}");
    let error = queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap_err();
    assert!(
        error.to_string().contains("argument 0 of kernel k is not set"),
        "{error}"
    );
    // What is built or linked without a function says which.
    let app = context
        .program_with_il(&spirv(
            "int seven(void); kernel void k(global int *p) { p[0] = seven(); }",
        ))
        .unwrap();
    let error = app.build("").unwrap_err().to_string();
    assert!(
        error.contains("PI_BUILD_PROGRAM_FAILURE") && error.contains("seven"),
        "{error}"
    );
}

#[test]
fn offkit_lists_and_uses_the_devices_of_an_adapter() {
    need!("clang-22");
    let Some((adapter, variables)) = RELEASES[1].get() else {
        return;
    };
    let folder = Folder::new();
    folder.spirv(
        "saxpy",
        "kernel void saxpy(float a, global const float *x, global float *y) {
            y[get_global_id(0)] += a * x[get_global_id(0)];
        }",
    );
    folder.write("x.npy", npy_f32("(4,)", [1.0, 2.0, 3.0, 4.0]));
    let run = |line: &str| {
        let mut command = Command::new(offkit());
        command
            .args(line.split_whitespace())
            .env("OFFKIT_PLUGINS", library(PLUGIN))
            .envs(variables.iter().cloned())
            // The plugin of OpenCL's drivers has the same devices.
            .env("ONEAPI_DEVICE_SELECTOR", "offkit:*;opencl:*;cuda:*");
        folder.run_command(&mut command)
    };
    let devices = run("devices").ok();
    let file = adapter.file_name().unwrap().to_str().unwrap();
    assert!(
        devices.contains(&format!("({file}, UR 0.12)")) && devices.contains("opencl:"),
        "{devices}"
    );
    let doctor = run("doctor").stdout;
    assert!(
        doctor.contains("Unified Runtime")
            && doctor.contains(&format!("{file}, UR 0.12, "))
            && doctor.contains("; 1 device"),
        "{doctor}"
    );
    let devices = run("devices --json").json();
    let number = devices
        .iter()
        .position(|device| device.to_string().contains("offkit_plugin_ur"))
        .unwrap_or_else(|| panic!("{devices:?}"));
    run(&format!(
        "run saxpy.spv saxpy --device {number} --global 4 --arg f32:2.5 --arg x.npy --arg x.npy --out 2=y.npy"
    ))
    .ok();
    assert_eq!(read_f32(&folder.read("y.npy")), [3.5, 7.0, 10.5, 14.0]);
}

/// Our own adapter, compiled.
fn own(folder: &Folder, name: &str, options: &str) -> PathBuf {
    let output = folder.path(&format!("libur_adapter_{name}.so.0"));
    let mut command = Command::new(tool("clang-22").unwrap());
    command
        .args("-std=c11 -shared -fPIC -fvisibility=hidden -o".split(' '))
        .arg(&output)
        .args(options.split(' '))
        .arg(root().join("tests/ur-adapter/adapter.c"));
    folder.run_command(&mut command).ok();
    output
}

/// Calls a function of a plugin's table, which must succeed.
macro_rules! done {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are as the interface says.
        let result = unsafe { $plugin.api().$function.unwrap()($($argument),*) };
        assert_eq!(result, PI_SUCCESS, stringify!($function));
    };
}

/// The number that answers a query, and its size in bytes.
fn answer(device: &Device, name: pi_device_info) -> (u64, usize) {
    let plugin = device.plugin();
    let handle = handle(plugin);
    let (mut number, mut size) = (0_u64, 0);
    let place = (&raw mut number).cast();
    done!(
        plugin,
        piDeviceGetInfo(handle, name, size_of::<u64>(), place, &raw mut size)
    );
    (number, size)
}

#[test]
fn the_tables_of_every_form_are_understood() {
    need!("clang-22");
    const TEST: &str = "the_tables_of_every_form_are_understood";
    let folder = Folder::new();
    if std::env::var_os(INSIDE).is_none() {
        for (form, version) in [11, 12, 12, 12].into_iter().enumerate() {
            for cuda in ["", " -DCUDA"] {
                let options = format!("-DFORM={form} -DODD=0 -DVERSION={version}{cuda}");
                let adapter = own(&folder, &format!("form{form}"), &options);
                is_inside(TEST, &[("UR_ADAPTERS_FORCE_LOAD", adapter)]);
            }
        }
        return;
    }
    let missing = |error: String, function: &str| {
        let words = format!("{function}: the adapter does not have this function");
        assert!(error.contains(&words), "{error}");
    };
    let device = first_device();
    assert_eq!(device.name().unwrap(), "Toaster");
    assert_eq!(device.max_compute_units().unwrap(), 2);
    // The answers are the plugin interface's: its bits, and its sizes.
    let floats = PI_FP_DENORM | PI_FP_INF_NAN | PI_FP_ROUND_TO_NEAREST | PI_FP_FMA;
    assert_eq!(answer(&device, PI_DEVICE_INFO_SINGLE_FP_CONFIG), (floats, 8));
    assert_eq!(answer(&device, PI_DEVICE_INFO_HOST_UNIFIED_MEMORY), (1, 4));
    assert_eq!(answer(&device, PI_DEVICE_INFO_USM_HOST_SUPPORT), (5, 8));
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = context.program_with_il(b"SPIR-V").unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    let [x, y] = [3.0, 1.0].map(|value| context.buffer_from(&bytes(value)).unwrap());
    // Not in their order; an adapter that knows no number of arguments has no last one.
    kernel.set_argument(2, &y).unwrap();
    kernel.set_argument(1, &x).unwrap();
    let error = queue.launch(&kernel, &NdRange::new([64]), &[]).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("argument 0 of kernel saxpy is not set"), "{error}");
    kernel.set_argument(0, 2.0f32).unwrap();
    assert_eq!(kernel.num_args().unwrap(), 3);
    let error = kernel.set_argument(70_000, 1_u32).unwrap_err().to_string();
    assert!(error.contains("PI_INVALID_ARG_INDEX"), "{error}");
    queue.launch(&kernel, &NdRange::new([64]), &[]).unwrap();
    let mut out = [0; 256];
    queue.read_buffer(&y, 0, &mut out, &[]).unwrap();
    assert_eq!(out[..], bytes(7.0));
    let error = kernel.work_group_size(&device).unwrap_err().to_string();
    missing(error, "urKernelGetGroupInfo");

    // What a command uses is there until it is done, although nobody else has it; the adapter says if not.
    queue.launch(&kernel, &NdRange::new([64]), &[]).unwrap();
    drop((x, y, kernel));
    queue.finish().unwrap();

    let plugin = device.plugin();
    images_are_read_outside_through_samplers(plugin);
    devices_have_parts(plugin);

    // What the adapter says itself.
    let error = program.build("--burn").unwrap_err().to_string();
    let words = "the toaster is on fire (the adapter's error 451)";
    assert!(error.contains(words), "{error}");
    // What it does not have: a place that is null, one that is never written to, one behind the end of its table.
    missing(queue.marker(&[]).unwrap_err().to_string(), "urEnqueueEventsWait");
    let error = context
        .usm(UsmKind::Shared, &device, 4, 0)
        .unwrap_err()
        .to_string();
    missing(error, "urUSMSharedAlloc");
}

#[test]
fn what_a_command_uses_stays_where_the_adapter_does_not_say_how_far_it_is() {
    need!("clang-22");
    let test = "what_a_command_uses_stays_where_the_adapter_does_not_say_how_far_it_is";
    let folder = Folder::new();
    let adapter = own(&folder, "mute", "-DFORM=2 -DODD=0 -DVERSION=12 -DMUTE");
    if !is_inside(test, &[("UR_ADAPTERS_FORCE_LOAD", adapter)]) {
        return;
    }
    let device = first_device();
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = context.program_with_il(b"SPIR-V").unwrap();
    program.build("").unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    let [x, y, other] = [3.0, 1.0, 0.0].map(|value| context.buffer_from(&bytes(value)).unwrap());
    kernel.set_argument(0, 2.0f32).unwrap();
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
    let event = queue.launch(&kernel, &NdRange::new([64]), &[]).unwrap();
    // That it does not tell is not that the command is over: what the host itself keeps hangs on it.
    event.status().unwrap_err();
    drop(event);
    drop((x, y, kernel));
    // Behind another command it is looked at which are over.
    let mut out = [1; 256];
    queue.read_buffer(&other, 0, &mut out, &[]).unwrap();
    queue.finish().unwrap();
    // The adapter says if a buffer went too early.
    let error = program.build("--burn").unwrap_err().to_string();
    assert!(error.contains("the toaster is on fire"), "{error}");
}

#[test]
fn offkits_own_devices_are_not_there_a_second_time() {
    need!("clang-22");
    let test = "offkits_own_devices_are_not_there_a_second_time";
    let folder = Folder::new();
    // As the driver says in the tests of its own.
    let adapter = |file: &str, name: &str| {
        let header = folder.write(&format!("{file}.h"), format!("#define NAME \"{name}\"\n"));
        let options = format!("-DFORM=2 -DODD=0 -DVERSION=12 -include {}", header.display());
        own(&folder, file, &options).display().to_string()
    };
    let adapters = [("compiles", "offkit CPU"), ("checks", "offkit CPU (checked)")];
    let adapters = adapters.map(|(file, name)| adapter(file, name)).join(",");
    if !is_inside(test, &[("UR_ADAPTERS_FORCE_LOAD", adapters)]) {
        return;
    }
    let [compiles, checks] = offkit_plugin_ur::adapters() else {
        panic!("{:?}", offkit_plugin_ur::adapters());
    };
    for found in [compiles, checks] {
        assert!(matches!(found.outcome, Outcome::LeftOut(_)), "{found}");
    }
}

/// The handle of the first device.
fn handle(plugin: &Plugin) -> pi_device {
    let (mut platform, mut handle) = (null_mut(), null_mut());
    done!(plugin, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        plugin,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut handle, null_mut())
    );
    handle
}

fn images_are_read_outside_through_samplers(plugin: &Plugin) {
    let (device, mut context, mut queue) = (handle(plugin), null_mut(), null_mut());
    done!(
        plugin,
        piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
    );
    done!(plugin, piQueueCreate(context, device, 0, &raw mut queue));
    let format = pi_image_format {
        image_channel_order: 0x10b5,
        image_channel_data_type: 0x10da,
    };
    let shape = pi_image_desc {
        image_type: PI_MEM_TYPE_IMAGE2D,
        image_width: 4,
        image_height: 3,
        image_depth: 1,
        image_array_size: 0,
        image_row_pitch: 0,
        image_slice_pitch: 0,
        num_mip_levels: 0,
        num_samples: 0,
        buffer: null_mut(),
    };
    let (mut image, mut sampler) = (null_mut(), null_mut());
    done!(
        plugin,
        piMemImageCreate(
            context,
            PI_MEM_FLAGS_ACCESS_RW,
            &raw const format,
            &raw const shape,
            null_mut(),
            &raw mut image
        )
    );
    let (mut told, mut width) = ([0_u32; 2], 0_usize);
    for (name, size, to) in [
        (PI_IMAGE_INFO_FORMAT, 8, (&raw mut told).cast()),
        (PI_IMAGE_INFO_WIDTH, 8, (&raw mut width).cast()),
    ] {
        done!(plugin, piMemImageGetInfo(image, name, size, to, null_mut()));
    }
    assert_eq!((told, width), ([0x10b5, 0x10da], 4));
    let properties = [
        (PI_SAMPLER_INFO_NORMALIZED_COORDS, 0),
        (PI_SAMPLER_INFO_ADDRESSING_MODE, 0x1134),
        (PI_SAMPLER_INFO_FILTER_MODE, 0x1140),
        (0, 0),
    ];
    let properties = properties.map(|(name, value)| [u64::from(name), value]);
    done!(
        plugin,
        piSamplerCreate(context, properties.as_ptr().cast(), &raw mut sampler)
    );
    let (il, mut program, mut kernel) = (b"SPIR-V", null_mut(), null_mut());
    done!(
        plugin,
        piProgramCreate(context, il.as_ptr().cast(), il.len(), &raw mut program)
    );
    done!(
        plugin,
        piProgramBuild(program, 0, null(), null(), None, null_mut())
    );
    done!(
        plugin,
        piKernelCreate(program, c"outside".as_ptr(), &raw mut kernel)
    );
    done!(plugin, piextKernelSetArgMemObj(kernel, 0, &raw const image));
    done!(plugin, piextKernelSetArgSampler(kernel, 1, &raw const sampler));
    let one = [1_usize];
    done!(
        plugin,
        piEnqueueKernelLaunch(
            queue,
            kernel,
            1,
            null(),
            one.as_ptr(),
            null(),
            0,
            null(),
            null_mut()
        )
    );
    // They are there until the command is done; the adapter says if not.
    done!(plugin, piSamplerRelease(sampler));
    done!(plugin, piKernelRelease(kernel));
    let mut origin = pi_image_offset_struct { x: 0, y: 0, z: 0 };
    let mut region = pi_image_region_struct {
        width: 2,
        height: 2,
        depth: 1,
    };
    let mut bytes = [9_u8; 20];
    done!(
        plugin,
        piEnqueueMemImageRead(
            queue,
            image,
            PI_FALSE,
            &raw mut origin,
            &raw mut region,
            12,
            0,
            bytes.as_mut_ptr().cast(),
            0,
            null(),
            null_mut()
        )
    );
    done!(plugin, piQueueFinish(queue));
    // Mirrored, in Unified Runtime's number; and bytes between rows are left as they are.
    assert_eq!(bytes[..9], [4, 0, 0, 0, 0, 0, 0, 0, 9]);
    assert_eq!(bytes[11..], [9, 0, 0, 0, 0, 0, 0, 0, 0]);
    done!(plugin, piMemRelease(image));
    done!(plugin, piProgramRelease(program));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piContextRelease(context));
}

fn devices_have_parts(plugin: &Plugin) {
    let whole = handle(plugin);
    let answer = |device: pi_device, name: pi_device_info| {
        let (mut words, mut size) = ([0_usize; 4], 0);
        let to = (&raw mut words).cast();
        done!(
            plugin,
            piDeviceGetInfo(device, name, size_of_val(&words), to, &raw mut size)
        );
        (words, size)
    };
    let left = || answer(whole, PI_DEVICE_INFO_PARTITION_MAX_SUB_DEVICES).0[0];
    assert_eq!(
        answer(whole, PI_DEVICE_INFO_PARTITION_PROPERTIES),
        ([0x1086, 0, 0, 0], 8)
    );
    let (equally, mut parts) = ([PI_DEVICE_PARTITION_EQUALLY, 1, 0], [null_mut(); 2]);
    done!(
        plugin,
        piDevicePartition(whole, equally.as_ptr(), 2, parts.as_mut_ptr(), null_mut())
    );
    assert_eq!(left(), 0);
    for part in parts {
        assert_eq!(answer(part, PI_DEVICE_INFO_MAX_COMPUTE_UNITS), ([1, 0, 0, 0], 4));
        let made = answer(part, PI_DEVICE_INFO_PARTITION_TYPE);
        assert_eq!(made, ([0x1086, 1, 0, 0], 24));
        done!(plugin, piDeviceRelease(part));
    }
    assert_eq!(left(), 2);
}

#[test]
fn ptx_says_what_arguments_its_kernels_take_and_is_linked_as_it_is() {
    need!("clang-22");
    let folder = Folder::new();
    let adapter = own(&folder, "cuda", "-DFORM=2 -DODD=0 -DVERSION=12 -DCUDA");
    let test = "ptx_says_what_arguments_its_kernels_take_and_is_linked_as_it_is";
    if !is_inside(test, &[("UR_ADAPTERS_FORCE_LOAD", adapter)]) {
        return;
    }
    let device = first_device();
    let context = Context::new(&[&device]).unwrap();
    let ptx = ".version 8.0\n.target sm_75\n.address_size 64\n\
        .visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y) { ret; }\n";
    // What the host has it in goes at once.
    let part = |ptx: String| context.program_with_binary(&device, ptx.as_bytes()).unwrap();
    let parts = [(); 2].map(|()| part(ptx.to_owned()));
    for part in &parts {
        part.compile("").unwrap();
    }
    let program = context.link(&parts.each_ref(), "").unwrap();
    let mut kernel = program.kernel("saxpy").unwrap();
    drop((parts, program));
    assert_eq!(kernel.num_args().unwrap(), 3);
    let error = kernel.set_argument(3, 2.0f32).unwrap_err().to_string();
    assert!(error.contains("kernel saxpy has 3 arguments"), "{error}");
    let error = kernel.set_argument(0, 2.0f64).unwrap_err().to_string();
    assert!(
        error.contains("argument 0 of kernel saxpy has 4 bytes"),
        "{error}"
    );
    kernel.set_argument(0, 2.0f32).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let error = queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap_err();
    let words = "argument 1 of kernel saxpy is not set";
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn what_nvidias_adapter_says_of_its_device_is_understood() {
    need!("clang-22");
    let folder = Folder::new();
    let adapter = own(&folder, "cuda", "-DFORM=3 -DODD=0 -DVERSION=12 -DCUDA");
    let run = |line: &str| {
        let mut command = Command::new(offkit());
        command
            .args(line.split_whitespace())
            .env("OFFKIT_PLUGINS", library(PLUGIN))
            .env("UR_ADAPTERS_FORCE_LOAD", &adapter)
            .env("ONEAPI_DEVICE_SELECTOR", "cuda:*");
        folder.run_command(&mut command).ok()
    };
    let devices = run("devices");
    assert!(
        devices.contains("gpu, sm_90, ") && devices.contains(", takes PTX 9.0, driver CUDA 13.0 ("),
        "{devices}"
    );
    assert!(!devices.contains("SPIR-V"), "{devices}");
    let doctor = run("doctor");
    let words = "driver 580 takes PTX up to 9.0, and is too old for newer: PTX 9.1 needs driver 590.44.01";
    assert!(doctor.contains(words), "{doctor}");
}

#[test]
fn threads_that_ask_at_once_find_the_same_devices() {
    need!("clang-22");
    let folder = Folder::new();
    let adapter = own(&folder, "busy", "-DFORM=2 -DODD=0 -DVERSION=12 -DBUSY");
    let test = "threads_that_ask_at_once_find_the_same_devices";
    if !is_inside(test, &[("UR_ADAPTERS_FORCE_LOAD", adapter)]) {
        return;
    }
    let plugin = Plugin::built_in(&offkit_plugin_ur::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let together = std::sync::Barrier::new(4);
    let count = || {
        together.wait();
        platform.devices(PI_DEVICE_TYPE_ALL).unwrap().len()
    };
    let counts = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(count));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(counts, [1; 4]);
}

#[test]
fn adapters_that_cannot_be_used_are_named_with_the_reason_and_harm_no_other() {
    need!("clang-22");
    let folder = Folder::new();
    let old = own(&folder, "old", "-DFORM=0 -DODD=0 -DVERSION=10");
    let odd = own(&folder, "odd", "-DFORM=2 -DODD=1 -DVERSION=12");
    let good = own(&folder, "good", "-DFORM=1 -DODD=0 -DVERSION=12");
    let other = own(&folder, "other", "-DFORM=3 -DODD=0 -DVERSION=12");
    let none = folder.path("none.so");
    folder.write("none.c", "int nothing;");
    let options = ["-shared", "-fPIC", "none.c", "-o", "none.so"];
    folder.run(tool("clang-22").unwrap(), options).ok();
    let missing = folder.path("missing.so");
    let text = folder.write("text.so", "this is no library");
    let all = [&old, &odd, &none, &missing, &text, &good, &other].map(|path| path.to_str().unwrap());
    let test = "adapters_that_cannot_be_used_are_named_with_the_reason_and_harm_no_other";
    if !is_inside(test, &[("UR_ADAPTERS_FORCE_LOAD", all.join(","))]) {
        // Where none can be used, the reasons are there for users.
        let mut command = Command::new(offkit());
        alone(command.args(["devices", "-v"])).env("OFFKIT_PLUGINS", library(PLUGIN));
        let outcome = folder.run_command(command.env("UR_ADAPTERS_FORCE_LOAD", &old));
        assert!(
            outcome
                .stderr
                .contains("it speaks UR 0.10; offkit speaks 0.11 and 0.12"),
            "{outcome:#?}"
        );
        return;
    }
    let outcomes: Vec<&Outcome> = offkit_plugin_ur::adapters()
        .iter()
        .map(|found| &found.outcome)
        .collect();
    let [old, odd, none, missing, text, good, other] = outcomes.as_slice() else {
        panic!("{outcomes:?}");
    };
    for (outcome, words) in [
        (old, "it speaks UR 0.10; offkit speaks 0.11 and 0.12"),
        (
            odd,
            "UR 0.12 with 18 functions of kernels and 26 that submit commands",
        ),
        (none, "it has no `urGetPlatformProcAddrTable`"),
        (missing, "No such file or directory"),
        (text, "file too short"),
    ] {
        assert!(
            matches!(outcome, Outcome::Unusable(reason) if reason.contains(words)),
            "{outcome:?}"
        );
    }
    for outcome in [good, other] {
        assert_eq!(**outcome, Outcome::Used(vec!["Kitchen".to_owned()]));
    }
    let first = first_device();
    assert_eq!(first.name().unwrap(), "Toaster");
    // The platforms of both are there, and what is of one is not mixed with what is of the other.
    let platforms = first.plugin().platforms().unwrap();
    let [_, other] = platforms.as_slice() else {
        panic!("{platforms:?}");
    };
    let second = other.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let error = Context::new(&[&first, &second]).unwrap_err().to_string();
    let words = "devices of several adapters of Unified Runtime cannot share a context";
    assert!(error.contains(words), "{error}");
}

/// What fills in an adapter's tables, and prints the offsets of the functions in its file.
const TABLES: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments) {
  void *library = dlopen(arguments[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  for (int i = 2; i < count; i++) {
    int (*get)(unsigned, void **) = dlsym(library, arguments[i]);
    for (unsigned version = 11; get && version <= 12; version++) {
      void *table[256] = {0};
      Dl_info info;
      if (!get(version, table))
        for (int slot = 0; slot < 256; slot++)
          if (table[slot] && dladdr(table[slot], &info))
            printf("%s %d %lx\n", arguments[i], slot, (char *)table[slot] - (char *)info.dli_fbase);
    }
  }
}
"#;

#[test]
fn functions_are_where_the_adapters_of_both_releases_put_them() {
    need!("clang-22", "llvm-nm");
    let folder = Folder::new();
    folder.write("tables.c", TABLES);
    folder
        .run(tool("clang-22").unwrap(), ["tables.c", "-o", "tables"])
        .ok();
    for (release, form) in RELEASES.iter().zip([Form::V2025_1, Form::V2025_3]) {
        let Some((adapter, variables)) = release.get() else {
            return;
        };
        let getters: HashMap<&str, Table> = Table::ALL
            .into_iter()
            .map(|table| (table.getter(), table))
            .chain([(Table::GLOBAL_GETTER, Table::Adapter)])
            .collect();
        let symbols = folder.run(tool("llvm-nm").unwrap(), [&adapter]).ok();
        let mut names: HashMap<u64, Vec<&str>> = HashMap::new();
        for line in symbols.lines() {
            if let [address, _, name] = line.split_whitespace().collect::<Vec<_>>()[..] {
                let address = u64::from_str_radix(address, 16).unwrap();
                names.entry(address).or_default().push(name);
            }
        }
        let mut command = Command::new(folder.path("tables"));
        command.arg(&adapter).args(getters.keys());
        let printed = folder.run_command(command.envs(variables.iter().cloned())).ok();
        let mut places = HashMap::new();
        for line in printed.lines() {
            let [getter, slot, offset] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let offset = u64::from_str_radix(offset, 16).unwrap();
            let slot: usize = slot.parse().unwrap();
            places.insert(
                (getters[getter], slot),
                names.get(&offset).cloned().unwrap_or_default(),
            );
        }
        let mut checked = 0;
        for function in FUNCTIONS {
            let place = function.places[form as usize];
            let Some(found) = place.and_then(|place| places.get(&(function.table, place))) else {
                continue;
            };
            let name = function.name.split('_').next().unwrap();
            assert!(found.contains(&name), "{name}: {found:?} of {form:?}");
            checked += 1;
        }
        assert!(checked > 75, "{checked} functions of {form:?}");
    }
}

#[test]
fn functions_are_where_the_newest_header_puts_them() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = runtime.library_folder().with_file_name("include/unified-runtime");
    let header = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (tables, functions) = (header("ur_ddi.h"), header("ur_api.h"));
    let without_comments = |text: &str| -> String {
        let lines = text.lines().map(|line| line.split("//").next().unwrap());
        lines.collect::<Vec<_>>().join(" ")
    };
    let (tables, functions) = (without_comments(&tables), without_comments(&functions));
    for function in FUNCTIONS {
        let Some(place) = function.places[Form::V2026_2 as usize] else {
            continue;
        };
        let short = function.name.strip_prefix("ur").unwrap();
        let name = match function.table {
            Table::Usm => "usm".to_owned(),
            Table::EnqueueExp => "enqueue_exp".to_owned(),
            table => format!("{table:?}").to_lowercase(),
        };
        let start = tables
            .find(&format!("typedef struct ur_{name}_dditable_t {{"))
            .unwrap();
        let entries = &tables[start..];
        let entries = &entries[..entries.find('}').unwrap()];
        let entry = entries.split("ur_pfn").nth(place + 1).unwrap();
        assert!(entry.starts_with(&format!("{short}_t")), "{short}: {entry}");

        let start = functions.find(&format!(" {}(", function.name)).unwrap();
        let parameters = &functions[start..];
        let parameters = &parameters[..parameters.find(");").unwrap()];
        assert_eq!(
            parameters.split(',').count(),
            function.parameters.len(),
            "{parameters}"
        );
    }
}

#[test]
fn an_adapter_that_the_loader_finds_is_tried_again_when_its_file_changes() {
    need!("clang-22");
    let folder = Folder::new();
    let devices = |options: &str| {
        own(&folder, "cuda", options);
        let mut command = Command::new(offkit());
        alone(command.args(["devices", "-v"]))
            .env("OFFKIT_PLUGINS", library(PLUGIN))
            .env("UR_ADAPTERS_FORCE_LOAD", "libur_adapter_cuda.so.0")
            .env("LD_LIBRARY_PATH", folder.path(""));
        folder.run_command(&mut command)
    };
    let good = devices("-DFORM=2 -DODD=0 -DVERSION=12").ok();
    assert!(good.contains("Toaster"), "{good}");
    let outcome = devices("-DFORM=2 -DODD=0 -DVERSION=12 -DCRASH");
    assert!(outcome.stderr.contains("it crashes while"), "{outcome:#?}");
    assert!(outcome.ok().contains("offkit CPU"));
}

#[test]
fn adapters_are_looked_for_where_unified_runtime_does() {
    need!("clang-22");
    let folder = Folder::new();
    for name in ["cuda", "opencl"] {
        own(&folder, name, "-DFORM=2 -DODD=0 -DVERSION=12");
    }
    // Nothing but what is told here.
    let offkit = || {
        let mut command = Command::new(offkit());
        alone(&mut command)
            .env("OFFKIT_PLUGINS", library(PLUGIN))
            .env_remove("UR_ADAPTERS_FORCE_LOAD");
        command
    };
    let find = |variable: &str, value: &Path| {
        let mut command = offkit();
        command.args(["doctor", "--json"]).env(variable, value);
        let text = folder.run_command(&mut command).stdout;
        ["cuda", "opencl"].map(|name| text.contains(&format!("libur_adapter_{name}.so.0")))
    };
    let path = folder.path("");
    assert_eq!(find("UR_ADAPTERS_SEARCH_PATH", &path), [true, true]);
    // OpenCL's devices are there by offkit's own plugin.
    assert_eq!(find("LD_LIBRARY_PATH", &path), [true, false]);
    assert_eq!(
        find("UR_ADAPTERS_SEARCH_PATH", Path::new("/nowhere")),
        [false, false]
    );
    // A device is of the backend that its adapter says, and the plugin is loaded for that alone.
    let select = |selector: &str, line: &str| {
        let mut command = offkit();
        command
            .arg(line)
            .env("UR_ADAPTERS_SEARCH_PATH", &path)
            .env("ONEAPI_DEVICE_SELECTOR", selector);
        folder.run_command(&mut command).stdout
    };
    assert!(select("cuda:gpu", "devices").contains("Toaster  cuda:0"));
    assert!(select("hip:gpu", "devices").is_empty());
    let doctor = select("offkit:*", "doctor");
    assert!(
        doctor.contains("ONEAPI_DEVICE_SELECTOR wants none of its devices"),
        "{doctor}"
    );
    // What lies in a folder and cannot be used is no problem of anybody's.
    own(&folder, "cuda", "-DFORM=2 -DODD=1 -DVERSION=12");
    let doctor = folder.run_command(offkit().arg("doctor").env("LD_LIBRARY_PATH", &path));
    assert!(
        doctor
            .stdout
            .contains("its tables are of no release that offkit knows")
            && doctor.stderr.is_empty(),
        "{doctor:#?}"
    );
    let opencl = folder.path("libur_adapter_opencl.so.0");
    assert_eq!(find("UR_ADAPTERS_FORCE_LOAD", &opencl), [false, true]);
}
