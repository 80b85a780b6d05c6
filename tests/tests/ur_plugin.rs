//! The plugin over adapters of Unified Runtime: the OpenCL adapters of two releases over Intel's driver for CPUs, and an
//! adapter of our own in every form of the tables.

use offkit_image::DeviceImage;
use offkit_opencl::cl_context;
use offkit_pi::ffi::*;
use offkit_pi::host::{
    Argument, BinaryType, BuildStatus, CommandStatus, Context, Device, NdRange, Plugin, Program, Queue,
    QueueProperties, UsmKind,
};
use offkit_plugin_ur::Outcome;
use offkit_tests::packages::Package;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need, npy_f32, offkit, read_f32, root, tool};
use offkit_ur::{FUNCTIONS, Form, Table};
use std::collections::HashMap;
use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{null, null_mut};

/// A plugin finds its adapters once in a process, by the environment. So the part of a test that uses the plugin runs in
/// a process of its own: this program again, told so by a variable.
const INSIDE: &str = "OFFKIT_TEST_INSIDE";

/// Runs the rest of a test in a process with these variables; `true` in that process.
#[track_caller]
fn is_inside(test: &str, variables: &[(&str, OsString)]) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    let outcome = Folder::new().run_command(command.envs(variables.iter().cloned()));
    let text = outcome.ok();
    assert!(text.contains("1 passed"), "{text}");
    false
}

/// Adapters of a release.
struct Release {
    package: Package,
    file: &'static str,
    /// A library that the adapter needs and the runtime's folder does not have.
    memory: Option<(Package, &'static str)>,
    version: &'static str,
    form: Form,
    /// What there is to say of a link that lacks `seven`: later adapters give no log.
    unresolved: &'static str,
}

const fn package(name: &'static str) -> Package {
    Package { name, python: "3.11" }
}

const RELEASES: [Release; 2] = [
    Release {
        package: package("intel-cmplr-lib-ur==2025.1.1"),
        file: "/libur_adapter_opencl.so.0.11.10",
        memory: Some((package("umf==0.10.0"), "/libumf.so.0")),
        version: "UR 0.11",
        form: Form::V2025_1,
        unresolved: "seven",
    },
    Release {
        package: package("intel-cmplr-lib-ur==2025.3.1"),
        file: "/libur_adapter_opencl.so.0.12.0",
        memory: None,
        version: "UR 0.12",
        form: Form::V2025_3,
        unresolved: "urProgramLink: UR_RESULT_ERROR_PROGRAM_LINK_FAILURE (42)",
    },
];

impl Release {
    /// The adapter, and the variables by which it is found and finds Intel's driver.
    fn get(&self) -> Option<(PathBuf, Vec<(&'static str, OsString)>)> {
        let [(vendors, drivers), (path, libraries)] = SyclRuntime::get()?.environment();
        let adapter = self.package.file(self.file)?;
        let mut folders = vec![libraries];
        if let Some((package, file)) = self.memory {
            folders.push(package.file(file)?.parent()?.to_owned());
        }
        let folders = std::env::join_paths(folders).unwrap();
        let named = ("UR_ADAPTERS_FORCE_LOAD", adapter.clone().into_os_string());
        Some((
            adapter,
            vec![(vendors, drivers.into_os_string()), (path, folders), named],
        ))
    }
}

/// The plugin as a library.
fn library() -> PathBuf {
    let name = format!("{DLL_PREFIX}offkit_plugin_ur{DLL_SUFFIX}");
    // It is built with this program, beside it.
    std::env::current_exe().unwrap().with_file_name(name)
}

fn first_device() -> Device {
    let plugin = Plugin::built_in(&offkit_plugin_ur::BUILT_IN).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0)
}

/// OpenCL C as SPIR-V.
fn spirv(source: &str) -> Vec<u8> {
    let folder = Folder::new();
    folder.write("k.cl", source);
    let options = ["--target=spirv64v1.1", "-O1", "-c", "k.cl", "-o", "k.spv"];
    folder.run(tool("clang-22").unwrap(), options).ok();
    folder.read("k.spv")
}

fn bytes(value: f32) -> Vec<u8> {
    value.to_ne_bytes().repeat(64)
}

const SAXPY: &str =
    "kernel void saxpy(float a, global const float *x, global float *y, local float *scratch) {
    size_t i = get_local_id(0);
    scratch[i] = a * x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] += scratch[i];
}";

#[test]
fn kernels_run_through_the_adapter_of_2025_1() {
    kernels_run_through("kernels_run_through_the_adapter_of_2025_1", &RELEASES[0]);
}

#[test]
fn kernels_run_through_the_adapter_of_2025_3() {
    kernels_run_through("kernels_run_through_the_adapter_of_2025_3", &RELEASES[1]);
}

#[track_caller]
fn kernels_run_through(test: &str, release: &Release) {
    need!("clang-22");
    let Some((_, variables)) = release.get() else {
        return;
    };
    if !is_inside(test, &variables) {
        return;
    }
    let device = first_device();
    assert!(device.il_version().unwrap().contains("SPIR-V"));
    assert!(device.max_work_item_sizes().unwrap()[0] >= 32);
    assert!(device.driver_version().unwrap().contains(release.version));
    device.extensions().unwrap();

    let context = Context::new(&[&device]).unwrap();
    let properties = QueueProperties {
        profiling: true,
        out_of_order: false,
    };
    let queue = context.queue(&device, properties).unwrap();
    let program = context.program_with_il(&spirv(SAXPY)).unwrap();
    program.build("").unwrap();
    assert_eq!(program.build_status(&device).unwrap(), BuildStatus::Success);
    assert_eq!(program.kernel_names().unwrap(), ["saxpy"]);
    let error = program.kernel("taxpy").unwrap_err().to_string();
    assert!(
        error.contains("there is no kernel taxpy; the program has saxpy"),
        "{error}"
    );

    let mut kernel = program.kernel("saxpy").unwrap();
    assert_eq!(
        (kernel.name().unwrap().as_str(), kernel.num_args().unwrap()),
        ("saxpy", 4)
    );
    assert!(kernel.work_group_size(&device).unwrap() >= 16);
    let range = NdRange::new([64]).with_local([16]);
    kernel.set_argument(0, 2.0f32).unwrap();
    kernel.set_argument(3, Argument::Local(16 * 4)).unwrap();
    let error = kernel.set_argument(4, 2.0f32).unwrap_err().to_string();
    assert!(error.contains("kernel saxpy has 4 arguments"), "{error}");

    // With buffers, which go before the command that reads one is done.
    let [x, y] = [3.0, 1.0].map(|value| context.buffer_from(&bytes(value)).unwrap());
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
    let launch = queue.launch(&kernel, &range, &[]).unwrap();
    let read = queue.read_buffer_later(&y, 0, 256, &[&launch]).unwrap();
    drop((x, y));
    assert_eq!(read.wait().unwrap(), bytes(7.0));
    let profile = launch.profile().unwrap();
    assert!(profile.queued <= profile.started && profile.started <= profile.ended);

    // With unified shared memory.
    let [x, y] = [UsmKind::Device, UsmKind::Shared].map(|kind| context.usm(kind, &device, 256, 0).unwrap());
    queue.write_usm(&x, 0, &bytes(0.5), &[]).unwrap();
    queue.write_usm(&y, 0, &bytes(4.0), &[]).unwrap();
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
    kernel.set_indirect_access(true).unwrap();
    queue.launch(&kernel, &range, &[]).unwrap().wait().unwrap();
    let mut out = [0; 256];
    queue.read_usm(&y, 0, &mut out, &[]).unwrap();
    assert_eq!(out[..], bytes(5.0));

    // A kernel of two programs, one of which exports what the other imports.
    let app = "int seven(int x);
        kernel void k(global int *a) { a[get_global_id(0)] = seven(a[get_global_id(0)]); }";
    let sources = [app, "int seven(int x) { return 7 * x; }"];
    let programs = sources.map(|source| {
        let program = context.program_with_il(&spirv(source)).unwrap();
        program.compile("").unwrap();
        assert_eq!(program.binary_type(&device).unwrap(), BinaryType::Object);
        program
    });
    let linked = context.link(&[&programs[0], &programs[1]], "").unwrap();
    let mut kernel = linked.kernel("k").unwrap();
    let buffer = context.buffer_from(&6i32.to_ne_bytes()).unwrap();
    kernel.set_argument(0, &buffer).unwrap();
    queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap();
    let mut out = [0; 4];
    queue.read_buffer(&buffer, 0, &mut out, &[]).unwrap();
    assert_eq!(i32::from_ne_bytes(out), 42);
    let error = context.link(&[&programs[0]], "").unwrap_err().to_string();
    assert!(error.contains(release.unresolved), "{error}");
    let machine = Machine {
        device,
        context,
        queue,
    };
    programs_are_built(&machine);
    memory_is_moved(&machine);
    native_objects_go_both_ways(&machine);
    machine.queue.finish().unwrap();
}

/// The first device, with a context and a queue.
struct Machine {
    device: Device,
    context: Context,
    queue: Queue,
}

impl Machine {
    /// Runs a kernel `k` that writes a number to its only argument.
    fn number(&self, program: &Program) -> i32 {
        let out = self.context.buffer(4).unwrap();
        let mut kernel = program.kernel("k").unwrap();
        kernel.set_argument(0, &out).unwrap();
        let launch = self.queue.launch(&kernel, &NdRange::new([1]), &[]).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        launch
            .on_completion(move |status| tell.send(status).unwrap())
            .unwrap();
        assert_eq!(told.recv().unwrap(), CommandStatus::Complete);
        let mut bytes = [0; 4];
        self.queue.read_buffer(&out, 0, &mut bytes, &[]).unwrap();
        i32::from_ne_bytes(bytes)
    }
}

fn programs_are_built(machine: &Machine) {
    let Machine { context, device, .. } = machine;
    let il = spirv(
        "int __spirv_SpecConstant(int, int);
         kernel void k(global int *p) { p[0] = __spirv_SpecConstant(7, 11); }",
    );
    let image = DeviceImage::new(&il);
    assert_eq!(device.select_binary(&[&image]).unwrap(), Some(0));
    let program = context.program_with_il(&il).unwrap();
    let constant = 42_i32.to_ne_bytes();
    program.set_specialization_constant(7, &constant).unwrap();
    program.build("").unwrap();
    assert_eq!(machine.number(&program), 42);
    // Its machine code is a program of its own.
    let binary = program.binaries().unwrap().remove(0);
    let reloaded = context.program_with_binary(device, &binary).unwrap();
    reloaded.build("").unwrap();
    assert_eq!(machine.number(&reloaded), 42);
    // What is built alone and lacks a function has a log.
    let app = "int seven(void); kernel void k(global int *p) { p[0] = seven(); }";
    let error = context
        .program_with_il(&spirv(app))
        .unwrap()
        .build("")
        .unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("PI_BUILD_PROGRAM_FAILURE") && error.contains("seven"),
        "{error}"
    );
}

fn memory_is_moved(machine: &Machine) {
    let Machine {
        context,
        queue,
        device,
    } = machine;
    let (from, to) = (
        context.buffer_from(&[1; 1024]).unwrap(),
        context.buffer(1024).unwrap(),
    );
    let filled = queue.fill_buffer(&to, &[2, 3], 0, 1024, &[]).unwrap();
    let part = to.part(512, 256).unwrap();
    queue.copy_buffer((&from, 0), (&part, 0), 16, &[&filled]).unwrap();
    let mut bytes = [0; 20];
    queue.read_buffer(&to, 510, &mut bytes, &[]).unwrap();
    assert_eq!(bytes[..3], [2, 3, 1]);
    assert_eq!(bytes[17..], [1, 2, 3]);
    queue.write_buffer(&part, 254, &[8, 9], &[]).unwrap();
    queue.read_buffer(&to, 766, &mut bytes[..3], &[]).unwrap();
    assert_eq!(bytes[..3], [8, 9, 2]);

    let [a, b] = [UsmKind::Host, UsmKind::Shared].map(|kind| context.usm(kind, device, 64, 0).unwrap());
    queue.set_usm(&a, 0, 7, 64, &[]).unwrap();
    queue.copy_usm((&a, 0), (&b, 32), 32, &[]).unwrap();
    queue.write_usm(&b, 0, &[1; 32], &[]).unwrap();
    let marker = queue.marker(&[]).unwrap();
    queue.barrier(&[&marker]).unwrap().wait().unwrap();
    let mut bytes = [0; 64];
    queue.read_usm(&b, 0, &mut bytes, &[]).unwrap();
    assert_eq!(bytes, [[1; 32], [7; 32]].concat()[..]);
}

/// Calls a function of a plugin's table, which must succeed.
macro_rules! done {
    ($plugin:expr, $function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the arguments are as the interface says.
        let result = unsafe { $plugin.api().$function.unwrap()($($argument),*) };
        assert_eq!(result, PI_SUCCESS, stringify!($function));
    };
}

/// What a host does that talks to the driver as well: it makes a program of the driver's own, has the plugin build it,
/// and maps what it writes.
fn native_objects_go_both_ways(machine: &Machine) {
    let plugin = machine.device.plugin();
    let (mut platform, mut device, mut context) = (null_mut(), null_mut(), null_mut());
    done!(plugin, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        plugin,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut device, null_mut())
    );
    done!(
        plugin,
        piContextCreate(null(), 1, &raw const device, None, null_mut(), &raw mut context)
    );
    let mut native = 0;
    done!(plugin, piextContextGetNativeHandle(context, &raw mut native));
    let native_context: cl_context = std::ptr::with_exposed_provenance_mut(native);
    let il = spirv("kernel void k(global int *p) { p[get_global_id(0)] = 3; }");
    // SAFETY: every handle of OpenCL's begins with a pointer to the table of its driver.
    let native_program = unsafe {
        let create = (*(*native_context).dispatch).clCreateProgramWithIL.unwrap();
        create(native_context, il.as_ptr().cast(), il.len(), null_mut())
    };
    let (mut program, mut kernel, mut queue) = (null_mut(), null_mut(), null_mut());
    let address = native_program.expose_provenance();
    done!(
        plugin,
        piextProgramCreateWithNativeHandle(address, context, &raw mut program)
    );
    done!(
        plugin,
        piProgramBuild(program, 0, null(), null(), None, null_mut())
    );
    done!(plugin, piKernelCreate(program, c"k".as_ptr(), &raw mut kernel));
    done!(plugin, piQueueCreate(context, device, 0, &raw mut queue));
    let (mut buffer, mut mapped) = (null_mut(), null_mut());
    let (flags, written) = (PI_MEM_FLAGS_ACCESS_RW, PI_MAP_READ | PI_MAP_WRITE);
    done!(
        plugin,
        piMemBufferCreate(context, flags, 16, null_mut(), &raw mut buffer, null())
    );
    done!(plugin, piextKernelSetArgMemObj(kernel, 0, &raw const buffer));
    let (global, none) = ([3_usize], null());
    done!(
        plugin,
        piEnqueueKernelLaunch(
            queue,
            kernel,
            1,
            null(),
            global.as_ptr(),
            null(),
            0,
            none,
            null_mut()
        )
    );
    done!(
        plugin,
        piEnqueueMemBufferMap(
            queue,
            buffer,
            PI_TRUE,
            written,
            4,
            8,
            0,
            none,
            null_mut(),
            &raw mut mapped
        )
    );
    // SAFETY: mapped, as many bytes.
    assert_eq!(unsafe { mapped.cast::<[i32; 2]>().read_unaligned() }, [3, 3]);
    done!(
        plugin,
        piEnqueueMemUnmap(queue, buffer, mapped, 0, null(), null_mut())
    );
    // Devices of the driver are found again.
    let mut found = null_mut();
    done!(plugin, piextDeviceGetNativeHandle(device, &raw mut native));
    done!(
        plugin,
        piextDeviceCreateWithNativeHandle(native, null_mut(), &raw mut found)
    );
    assert_eq!(found, device);
    done!(plugin, piMemRelease(buffer));
    done!(plugin, piQueueRelease(queue));
    done!(plugin, piKernelRelease(kernel));
    done!(plugin, piProgramRelease(program));
    done!(plugin, piContextRelease(context));
}

#[test]
fn offkit_lists_and_uses_the_devices_of_an_adapter() {
    need!("clang-22");
    let Some((adapter, variables)) = RELEASES[1].get() else {
        return;
    };
    let folder = Folder::new();
    folder.write(
        "saxpy.spv",
        spirv(
            "kernel void saxpy(float a, global const float *x, global float *y) {
                y[get_global_id(0)] += a * x[get_global_id(0)];
            }",
        ),
    );
    folder.write("x.npy", npy_f32("(4,)", [1.0, 2.0, 3.0, 4.0]));
    let run = |line: &str| {
        let mut command = Command::new(offkit());
        command
            .args(line.split_whitespace())
            .env("OFFKIT_PLUGINS", library())
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
        doctor.contains("Unified Runtime") && doctor.contains(&format!("{file}: in use")),
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

/// The number that answers a query, and its size in bytes.
fn answer(device: &Device, name: pi_device_info) -> (u64, usize) {
    let plugin = device.plugin();
    let (mut platform, mut handle) = (null_mut(), null_mut());
    done!(plugin, piPlatformsGet(1, &raw mut platform, null_mut()));
    done!(
        plugin,
        piDevicesGet(platform, PI_DEVICE_TYPE_ALL, 1, &raw mut handle, null_mut())
    );
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
            let options = format!("-DFORM={form} -DODD=0 -DVERSION={version}");
            let adapter = own(&folder, &format!("form{form}"), &options);
            is_inside(TEST, &[("UR_ADAPTERS_FORCE_LOAD", adapter.into_os_string())]);
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
    kernel.set_argument(0, 2.0f32).unwrap();
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
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
    if !is_inside(test, &[("UR_ADAPTERS_FORCE_LOAD", all.join(",").into())]) {
        // Where none can be used, the reasons are there for users.
        let mut command = Command::new(offkit());
        command.args(["devices", "-v"]).env("OFFKIT_PLUGINS", library());
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
    for release in &RELEASES {
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
            let place = function.places[release.form as usize];
            let Some(found) = place.and_then(|place| places.get(&(function.table, place))) else {
                continue;
            };
            let name = function.name.split('_').next().unwrap();
            assert!(found.contains(&name), "{name}: {found:?} of {:?}", release.form);
            checked += 1;
        }
        assert!(checked > 75, "{checked} functions of {:?}", release.form);
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
fn adapters_are_looked_for_where_unified_runtime_does() {
    need!("clang-22");
    let folder = Folder::new();
    for name in ["cuda", "opencl"] {
        own(&folder, name, "-DFORM=2 -DODD=0 -DVERSION=12");
    }
    // Nothing but what is told here.
    let alone = || {
        let mut command = Command::new(offkit());
        command
            .env("OFFKIT_PLUGINS", library())
            .env("OCL_ICD_VENDORS", "/nowhere/")
            .env("SYCL_PI_CONFIG", "/dev/null")
            .env("XDG_CACHE_HOME", folder.path("cache"))
            .env_remove("ONEAPI_DEVICE_SELECTOR");
        command
    };
    let find = |variable: &str, value: &Path| {
        let mut command = alone();
        command
            .args(["doctor", "--json"])
            .env_remove("UR_ADAPTERS_FORCE_LOAD")
            .env(variable, value);
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
        let mut command = alone();
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
    let doctor = folder.run_command(alone().arg("doctor").env("LD_LIBRARY_PATH", &path));
    assert!(
        doctor.stdout.contains("no device is seen through it") && doctor.stderr.is_empty(),
        "{doctor:#?}"
    );
    let opencl = folder.path("libur_adapter_opencl.so.0");
    assert_eq!(find("UR_ADAPTERS_FORCE_LOAD", &opencl), [false, true]);
}
