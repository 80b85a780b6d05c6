//! `examples/wrapped`: built by its script, run on offkit's CPU device and on OpenCL drivers, with its library linked,
//! loaded, preloaded and missing.

use std::env;
use std::process::Command;

use offkit_tests::c_program::liboffkit;
use offkit_tests::documentation::blocks;
use offkit_tests::drivers::{intel, with_drivers};
use offkit_tests::{Folder, Outcome, library, need, programs, root};

/// Builds the example; `app` and `linked` are in the folder.
fn built() -> Folder {
    let folder = Folder::new();
    let library = liboffkit();
    let place = library.parent().expect("a folder").display().to_string();
    let include = root().join("include").display().to_string();
    let mut path = programs().into_os_string();
    path.push(":");
    path.push(env::var_os("PATH").unwrap_or_default());
    let mut script = Command::new(root().join("examples/wrapped/build.sh"));
    script
        .arg(folder.path("."))
        .env("PATH", path)
        .env("XDG_CACHE_HOME", folder.path("cache"))
        .env(
            "OFFKIT_FLAGS",
            format!("-I{include} -L{place} -Wl,-rpath,{place} -loffkit"),
        );
    folder.run_command(&mut script).ok();
    folder
}

/// What the program says of a library, for host and device; the same on every device.
fn told(name: &str, program: &str) -> String {
    let page = blocks("examples/wrapped/README.md");
    let mut outputs = page.iter().flat_map(|(_, code)| code.split("\n$ "));
    let picture = outputs.find(|output| output.contains(&format!("host: {name}\n")));
    let (_, picture) = picture
        .and_then(|picture| picture.split_once(".so!sycl/0/0\n"))
        .expect("it is shown");
    let picture = picture.trim_end_matches('\n');
    format!("host: {name}\nimage: {program}!sycl/0/0\nimage: lib{name}.so!sycl/0/0\n{picture}\n")
}

/// Runs a program of the folder in all ways.
fn check(folder: &Folder, prepare: &dyn Fn(&mut Command)) {
    let run = |words: &[&str], preloaded: Option<&str>| -> Outcome {
        let mut command = Command::new(folder.path(words[0]));
        prepare(
            command
                .args(&words[1..])
                .env("XDG_CACHE_HOME", programs().join("test-cache")),
        );
        if let Some(library) = preloaded {
            command.env("LD_PRELOAD", library);
        }
        folder.run_command(&mut command)
    };
    assert_eq!(run(&["linked"], None).ok(), told("negative", "linked"));
    assert_eq!(
        run(&["linked"], Some("./libposter.so")).ok(),
        told("poster", "linked")
    );
    for name in ["negative", "poster"] {
        let file = format!("./lib{name}.so");
        assert_eq!(run(&["app", &file], None).ok(), told(name, "app"));
        assert_eq!(run(&["app"], Some(&file)).ok(), told(name, "app"));
    }
    // The first that is loaded counts, and the preloaded one before it.
    assert_eq!(
        run(&["app", "./libposter.so", "./libnegative.so"], None).ok(),
        told("poster", "app")
    );
    assert_eq!(
        run(&["app", "./libposter.so"], Some("./libnegative.so")).ok(),
        told("negative", "app")
    );
    let missing = run(&["app"], None);
    assert_eq!(missing.stdout, "host: no tones\n");
    let message = missing.fails(1);
    assert!(
        message.contains("app: kernel `draw` needs `tone`, which `/"),
        "{message}"
    );
    assert!(
        message.contains("/app!sycl/0/0` imports and no image exports"),
        "{message}"
    );
}

#[test]
fn the_example_runs_on_the_cpu_device() {
    need!("clang-22", "llvm-config-22");
    let folder = built();
    check(&folder, &|command| {
        command
            .env("OCL_ICD_VENDORS", "/nowhere/")
            .env("APP_DEVICE", "cpu");
    });
}

#[test]
fn the_example_runs_on_an_opencl_driver() {
    need!("clang-22", "llvm-config-22");
    let Some(intel) = intel() else { return };
    let folder = built();
    check(&folder, &|command| {
        with_drivers(command, &[("OCL_ICD_VENDORS", &intel)])
            .env("OFFKIT_PLUGINS", library("offkit_plugin_opencl"))
            .env("APP_DEVICE", "opencl");
    });
}
