//! Programs in Python on offkit's CPU device: pyopencl, and dpctl on the newest libsycl and on the last one that has
//! plugins. The own tests of dpnp and others are a command of their own, `./dev hosts`.

use std::path::PathBuf;
use std::process::Command;

use offkit_tests::packages::python;
use offkit_tests::pi_releases::PI_RELEASES;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need, opencl_driver, root, shared_library, tool};

/// An interpreter with pyopencl and dpctl of 2026.
fn newest() -> Option<PathBuf> {
    let packages = [
        "dpctl==0.22.1",
        "pyopencl==2026.1.4",
        "numpy==2.3.5",
        "pytools==2026.1.1",
        "platformdirs==4.14.7",
        "siphash24==1.9",
        "typing_extensions==4.16.0",
        "mako==1.4.3",
        "markupsafe==3.0.4",
    ];
    python("python-2026", &packages)
}

/// An interpreter that finds the device as OpenCL's only one.
fn on_offkit(python: PathBuf, folder: &Folder) -> Command {
    let mut command = Command::new(python);
    command
        .env("OCL_ICD_VENDORS", folder.drivers(&opencl_driver()))
        .env("XDG_CACHE_HOME", folder.path("cache"))
        .env_remove("OCL_ICD_FILENAMES")
        .env_remove("ONEAPI_DEVICE_SELECTOR");
    command
}

/// Runs a program of `tests/python` and returns what it prints.
#[track_caller]
fn run(folder: &Folder, command: &mut Command, program: &str, arguments: &[&str]) -> String {
    let program = root().join("tests/python").join(program);
    let printed = folder.run_command(command.arg(program).args(arguments)).ok();
    let is_right = printed.contains("all right on offkit CPU on ");
    assert!(is_right, "{printed}");
    printed
}

#[test]
fn pyopencl_computes_with_its_arrays() {
    need!("clang-22");
    let Some(python) = newest() else { return };
    let folder = Folder::new();
    run(&folder, &mut on_offkit(python, &folder), "arrays.py", &[]);
}

#[test]
fn dpctl_runs_spirv_on_the_newest_libsycl() {
    need!("clang-22");
    let Some(runtime) = SyclRuntime::get() else { return };
    let Some(python) = newest() else { return };
    let folder = Folder::new();
    let source = "kernel void saxpy(float a, global const float *x, global float *y) {
        size_t i = get_global_id(0);
        y[i] = a * x[i] + y[i];
    }";
    folder.write("saxpy.cl", source);
    let options = "--target=spirv64v1.2 -O1 -c saxpy.cl -o saxpy.spv";
    folder.run(tool("clang-22").unwrap(), options.split(' ')).ok();
    let mut command = on_offkit(python, &folder);
    command.env("LD_LIBRARY_PATH", runtime.library_folder());
    let printed = run(&folder, &mut command, "program.py", &["saxpy.spv"]);
    assert!(printed.starts_with("offkit CPU OpenCL 3.0"), "{printed}");
}

#[test]
fn arrays_of_dpctl_compute_on_the_last_libsycl_with_plugins() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let Some(python) = python("python-2024", &["dpctl==0.17.0", "numpy==1.26.4"]) else {
        return;
    };
    let release = PI_RELEASES[3];
    let Some(opencl_plugin) = release.opencl_plugin() else {
        return;
    };
    for (plugin, has_driver) in [
        (opencl_plugin, true),
        (shared_library("offkit_plugin_cpu"), false),
    ] {
        let folder = Folder::new();
        let Some(host) = release.with_plugin(&folder, &plugin) else {
            return;
        };
        let mut command = on_offkit(python.clone(), &folder);
        host.prepare(&mut command, runtime);
        if !has_driver {
            // The device is that of the plugin itself.
            command.env("OCL_ICD_VENDORS", "/nowhere/");
        }
        run(&folder, &mut command, "tensor.py", &[]);
    }
}
