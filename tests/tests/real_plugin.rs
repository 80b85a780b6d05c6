//! The host side with plugins that somebody else made: the OpenCL plugins of the releases that speak PI 2.3, 6.8, 12.27
//! and 15.47, on top of a real OpenCL driver.

use std::path::PathBuf;
use std::process::Command;

use offkit_pi::ffi::{PI_DEVICE_TYPE_ALL, PI_LINK_PROGRAM_FAILURE, PI_UNSUPPORTED_FEATURE};
use offkit_pi::host::{
    Argument, BinaryType, BuildStatus, Context, Device, NdRange, Plugin, Program, QueueProperties, UsmKind,
};
use offkit_tests::drivers::alone;
use offkit_tests::pi_releases::PI_RELEASES;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need, npy_i32, offkit, read_i32, spirv, tool};

const SAXPY: &str =
    "kernel void saxpy(float a, global const float *x, global float *y, local float *scratch) {
    size_t i = get_local_id(0);
    scratch[i] = a * x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] += scratch[i];
}";

fn bytes(value: f32) -> Vec<u8> {
    value.to_ne_bytes().repeat(64)
}

/// A plugin uses the driver that the environment of its process names, so the part of a test that loads one runs in
/// a process of its own: this program again, told of the plugin by a variable.
const INSIDE: &str = "OFFKIT_TEST_INSIDE";

/// Runs the rest of a test in a process for each release; there, it is the plugin to load.
#[track_caller]
fn inside(test: &str) -> Option<PathBuf> {
    if let Some(plugin) = std::env::var_os(INSIDE) {
        return Some(plugin.into());
    }
    let runtime = SyclRuntime::get()?;
    for release in PI_RELEASES {
        let mut command = Command::new(std::env::current_exe().unwrap());
        alone(command.args([test, "--exact", "--nocapture"]))
            .env(INSIDE, release.opencl_plugin()?)
            .envs(runtime.environment());
        let text = Folder::new().run_command(&mut command).ok();
        assert!(text.contains("1 passed"), "{release:?}: {text}");
    }
    None
}

/// Checks that a program says that it is built.
#[track_caller]
fn is_built(program: &Program, device: &Device) {
    // The one of 2024.2 takes OpenCL's number of success for its own number of `none`.
    let expected = match device.plugin().version() {
        "15.47" => BuildStatus::None,
        _ => BuildStatus::Success,
    };
    assert_eq!(program.build_status(device).unwrap(), expected);
}

#[test]
fn a_kernel_runs_through_real_plugins() {
    need!("clang-22");
    let Some(plugin) = inside("a_kernel_runs_through_real_plugins") else {
        return;
    };
    let plugin = Plugin::load(plugin).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    assert!(device.il_version().unwrap().contains("SPIR-V"));
    assert!(device.max_work_item_sizes().unwrap()[0] >= 32);
    device.extensions().unwrap();

    let context = Context::new(&[&device]).unwrap();
    let queue = context
        .queue(
            &device,
            QueueProperties {
                profiling: true,
                out_of_order: false,
            },
        )
        .unwrap();
    let program = context.program_with_il(&spirv(SAXPY)).unwrap();
    program.build("").unwrap();
    is_built(&program, &device);
    assert_eq!(program.kernel_names().unwrap(), ["saxpy"]);
    let error = program.kernel("taxpy").unwrap_err();
    assert_eq!(error.to_string(), "piKernelCreate: PI_INVALID_KERNEL_NAME (-46)");

    let mut kernel = program.kernel("saxpy").unwrap();
    assert_eq!(
        (kernel.name().unwrap().as_str(), kernel.num_args().unwrap()),
        ("saxpy", 4)
    );
    assert!(kernel.work_group_size(&device).unwrap() >= 16);
    let range = NdRange::new([64]).with_local([16]);
    kernel.set_argument(0, 2.0f32).unwrap();
    kernel.set_argument(3, Argument::Local(16 * 4)).unwrap();

    // With buffers. The plugin of 2024.2 has none on this driver, which lacks an extension that it needs for them.
    if plugin.version() == "15.47" {
        let refused = context.buffer(256).unwrap_err();
        assert_eq!(refused.result(), PI_UNSUPPORTED_FEATURE, "{refused}");
    } else {
        let [x, y] = [3.0, 1.0].map(|value| context.buffer_from(&bytes(value)).unwrap());
        kernel.set_argument(1, &x).unwrap();
        kernel.set_argument(2, &y).unwrap();
        let launch = queue.launch(&kernel, &range, &[]).unwrap();
        let read = queue.read_buffer_later(&y, 0, 256, &[&launch]).unwrap();
        assert_eq!(read.wait().unwrap(), bytes(7.0));
    }

    // With unified shared memory.
    let [x, y] = [UsmKind::Device, UsmKind::Shared].map(|kind| context.usm(kind, &device, 256, 0).unwrap());
    queue.write_usm(&x, 0, &bytes(0.5), &[]).unwrap();
    queue.write_usm(&y, 0, &bytes(4.0), &[]).unwrap();
    kernel.set_argument(1, &x).unwrap();
    kernel.set_argument(2, &y).unwrap();
    kernel.set_indirect_access(true).unwrap();
    let launch = queue.launch(&kernel, &range, &[]).unwrap();
    launch.wait().unwrap();
    let profile = launch.profile().unwrap();
    assert!(profile.queued <= profile.started && profile.started <= profile.ended);
    let mut out = [0; 256];
    queue.read_usm(&y, 0, &mut out, &[]).unwrap();
    assert_eq!(out[..], bytes(5.0));
    queue.finish().unwrap();
}

#[test]
fn real_plugins_link_a_kernel_with_the_function_that_it_imports() {
    need!("clang-22");
    let Some(plugin) = inside("real_plugins_link_a_kernel_with_the_function_that_it_imports") else {
        return;
    };
    let plugin = Plugin::load(plugin).unwrap();
    let release = PI_RELEASES
        .iter()
        .find(|release| release.interface == plugin.version());
    assert_eq!(release.unwrap().opencl_plugin().as_deref(), plugin.path());
    let platform = plugin.platforms().unwrap().remove(0);
    let device = platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let sources = [
        "int times_seven(int x);
         kernel void k(global int *a) { size_t i = get_global_id(0); a[i] = times_seven(a[i]) + 1; }",
        "int times_seven(int x) { return x * 7; }",
    ];
    let [app, library] = sources.map(|source| {
        let program = context.program_with_il(&spirv(source)).unwrap();
        program.compile("").unwrap();
        assert_eq!(program.binary_type(&device).unwrap(), BinaryType::Object);
        program
    });
    let linked = context.link(&[&app, &library], "").unwrap();
    is_built(&linked, &device);
    assert_eq!(linked.binary_type(&device).unwrap(), BinaryType::Executable);
    let error = context.link(&[&app], "").unwrap_err();
    assert_eq!(error.result(), PI_LINK_PROGRAM_FAILURE, "{error}");

    let numbers = |range: std::ops::Range<i32>| range.flat_map(i32::to_ne_bytes).collect::<Vec<u8>>();
    let memory = context.usm(UsmKind::Device, &device, 32, 0).unwrap();
    queue.write_usm(&memory, 0, &numbers(1..9), &[]).unwrap();
    let mut kernel = linked.kernel("k").unwrap();
    kernel.set_argument(0, &memory).unwrap();
    queue
        .launch(&kernel, &NdRange::new([8]), &[])
        .unwrap()
        .wait()
        .unwrap();
    let mut out = [0; 32];
    queue.read_usm(&memory, 0, &mut out, &[]).unwrap();
    let expected = [8, 15, 22, 29, 36, 43, 50, 57].map(i32::to_ne_bytes);
    assert_eq!(out[..], expected.concat());
}

#[test]
fn a_plugin_that_cannot_be_loaded_is_told_of_in_the_words_of_the_loader() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.syclbin("app", "kernel void k(global int *a) { a[0] = 1; }", "");
    folder.write("broken.so", "this is no library");
    folder.write(
        "lost.c",
        "int missing(void); int piPluginInit(void *record) { return missing(); }",
    );
    let options = ["-shared", "-fPIC", "-nostdlib", "lost.c", "-o", "lost.so"];
    folder.run(tool("clang-22").unwrap(), options).ok();
    for (library, words) in [
        ("broken.so", "file too short"),
        // Found when the library is opened, and not when the function is called.
        ("lost.so", "undefined symbol: missing"),
        ("./nowhere.so", "No such file or directory"),
    ] {
        let path = folder.path(library);
        let error = Plugin::load(&path).unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(library), "{error}");

        let mut command = Command::new(offkit());
        command.args("run app.syclbin k --global 1 --arg i32[1] --device gpu".split(' '));
        let outcome = folder.run_command(alone(&mut command).env("OFFKIT_PLUGINS", &path));
        assert!(
            outcome.stderr.contains("warning: a plugin is left out"),
            "{}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn offkit_runs_kernels_on_a_real_driver_through_real_plugins() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    folder.syclbin(
        "app",
        "int times_seven(int x);
         kernel void k(global int *a) { size_t i = get_global_id(0); a[i] = times_seven(a[i]) + 1; }",
        "",
    );
    folder.syclbin(
        "library",
        "int times_seven(int x) { return x * 7; }",
        "--format syclbin,v2",
    );
    folder.write("a.npy", npy_i32("(8,)", 1..9));
    for release in PI_RELEASES {
        let Some(plugin) = release.opencl_plugin() else {
            return;
        };
        let run = |line: &str| {
            let mut command = Command::new(offkit());
            alone(command.args(line.split_whitespace()))
                .env("OFFKIT_PLUGINS", &plugin)
                .envs(runtime.environment());
            folder.run_command(&mut command)
        };
        let kernel = "run app.syclbin k --link library.syclbin --global 8 --arg a.npy --out b.npy";
        // Devices 0 and 1 are built in; the plugin's comes after them.
        for device in ["0", "2"] {
            run(&format!("{kernel} --device {device}")).ok();
            let computed = read_i32(&folder.read("b.npy"));
            assert_eq!(computed, [8, 15, 22, 29, 36, 43, 50, 57], "device {device}");
        }
        let devices = run("devices --json").json();
        assert_eq!(devices[2]["plugin_version"], release.interface);
        assert_eq!(devices[2]["backend"], "opencl");
        let missing = run(&format!("{kernel} --device gpu")).fails(3);
        assert!(
            missing.contains("no device is `gpu`") && missing.contains("2 ("),
            "{missing}"
        );
    }
}
