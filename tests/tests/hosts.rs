//! offkit's CPU device below hosts that know nothing of offkit: programs of OpenCL, of PI 2.3 and of SYCL, and the
//! libsycl of every release that has plugins.

use std::path::{Path, PathBuf};
use std::process::Command;

use offkit_tests::pi_releases::PI_RELEASES;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, example, need, opencl_driver, root, shared_library, tool};

const RIGHT: &str = "1024 elements are right on offkit CPU on ";

/// Compiles a source of the repository in a folder.
#[track_caller]
fn compile(folder: &Folder, compiler: &str, options: &str, source: &str, libraries: &str) {
    let source = root().join(source).display().to_string();
    let words = options.split_whitespace().chain([source.as_str()]);
    let words = words.chain(libraries.split_whitespace());
    folder.run(tool(compiler).expect("asked for before"), words).ok();
}

/// The worked example's two sources as SPIR-V.
#[track_caller]
fn modules(folder: &Folder) {
    folder.write("library.h", example("library.h"));
    for name in ["app", "library"] {
        folder.spirv(name, &example(&format!("{name}.cl")));
    }
}

/// A command that finds offkit's OpenCL driver and no other.
fn on_offkit<'a>(folder: &Folder, command: &'a mut Command) -> &'a mut Command {
    command
        .env("OCL_ICD_VENDORS", folder.drivers(&opencl_driver()))
        .env_remove("OCL_ICD_FILENAMES")
        .env_remove("ONEAPI_DEVICE_SELECTOR")
}

#[track_caller]
fn is_right(folder: &Folder, command: &mut Command) {
    let printed = folder.run_command(command).ok();
    assert!(printed.starts_with(RIGHT), "{printed}");
}

#[test]
fn a_program_that_knows_opencl_alone_runs_saxpy() {
    need!("cc", "clang-22", "clinfo");
    let folder = Folder::new();
    modules(&folder);
    let options = "-std=c99 -Wall -Wextra -Werror -o opencl";
    compile(
        &folder,
        "cc",
        options,
        "examples/hosts/opencl.c",
        "-lm -l:libOpenCL.so.1",
    );
    let mut command = Command::new(folder.path("opencl"));
    is_right(
        &folder,
        on_offkit(&folder, command.args(["app.spv", "library.spv"])),
    );
}

#[test]
fn a_program_that_knows_pi_2_3_alone_runs_saxpy() {
    need!("cc", "clang-22");
    let folder = Folder::new();
    modules(&folder);
    let include = root().join("include");
    let options = format!("-std=c99 -Wall -Wextra -Werror -I{} -o pi", include.display());
    compile(&folder, "cc", &options, "examples/hosts/pi.c", "-lm -ldl");
    let run = |plugin: &Path| {
        let mut command = Command::new(folder.path("pi"));
        command.arg(plugin).args(["app.spv", "library.spv"]);
        command
    };
    is_right(&folder, &mut run(&shared_library("offkit_plugin_cpu")));
    // It is a program of PI, and not of offkit: the real plugin does as well.
    let Some(runtime) = SyclRuntime::get() else { return };
    let Some(plugin) = PI_RELEASES[0].opencl_plugin() else {
        return;
    };
    let real = folder.run_command(run(&plugin).envs(runtime.environment())).ok();
    // Intel's runtime names its device after the processor, whoever made it.
    assert!(real.starts_with("1024 elements are right on "), "{real}");
    assert!(!real.starts_with(RIGHT), "{real}");
}

#[test]
fn a_program_that_knows_libsycl_alone_runs_saxpy() {
    need!("g++", "clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    for name in ["app", "library"] {
        let options = format!(
            "--target=spirv64 -cl-std=CL3.0 -O1 -Dsaxpy=__sycl_kernel_saxpy -emit-llvm -c -o {name}.bc"
        );
        let source = format!("examples/shared-library/{name}.cl");
        compile(&folder, "clang-22", &options, &source, "");
        folder.offkit(&format!("link {name}.bc -o {name}.syclbin")).ok();
    }
    let libraries = runtime.library_folder();
    let (include, libraries) = (libraries.with_file_name("include"), libraries.display());
    let options = format!("-std=c++17 -w -I{} -o sycl", include.display());
    let libraries = format!("-L{libraries} -l:libsycl.so.9 -Wl,-rpath,{libraries}");
    compile(&folder, "g++", &options, "examples/hosts/sycl.cpp", &libraries);
    let mut command = Command::new(folder.path("sycl"));
    command.args(["app.syclbin", "library.syclbin"]);
    is_right(&folder, on_offkit(&folder, &mut command));
}

/// `dpctl_host.c`, and a module with saxpy.
fn dpctl_host(folder: &Folder) -> PathBuf {
    let source = "kernel void saxpy(float a, global const float *x, global float *y) {
        size_t i = get_global_id(0);
        y[i] = fma(a, x[i], y[i]);
    }";
    folder.spirv("saxpy", source);
    compile(
        folder,
        "cc",
        "-Wall -Wextra -Werror -o dpctl_host",
        "tests/sycl-runtime/dpctl_host.c",
        "-lm -ldl",
    );
    folder.path("dpctl_host")
}

#[test]
fn every_libsycl_with_plugins_runs_spirv_on_the_device_through_its_own_plugin() {
    need!("cc", "clang-22");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    let program = dpctl_host(&folder);
    for release in PI_RELEASES {
        let place = Folder::new();
        let Some(plugin) = release.opencl_plugin() else {
            return;
        };
        let Some(host) = release.with_plugin(&place, &plugin) else {
            return;
        };
        let mut command = host.dpctl_host(&program, runtime);
        is_right(&folder, on_offkit(&folder, command.arg("saxpy.spv")));
    }
}

#[test]
fn every_libsycl_with_plugins_takes_the_cpu_plugin_for_its_own() {
    need!("cc", "clang-22");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    let program = dpctl_host(&folder);
    for release in PI_RELEASES {
        let place = Folder::new();
        let Some(host) = release.with_plugin(&place, &shared_library("offkit_plugin_cpu")) else {
            return;
        };
        let mut command = host.dpctl_host(&program, runtime);
        // No OpenCL driver: what is found is found through the plugin.
        command.env("OCL_ICD_VENDORS", "/nowhere/");
        is_right(&folder, &mut command);
    }
}
