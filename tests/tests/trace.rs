//! Traces of calls into plugins: the lines of `SYCL_PI_TRACE`, on the standard error of `offkit`'s own commands.

use std::process::Command;

use offkit_tests::{Folder, mock, need, npy_i32, offkit, tool};

fn traced(folder: &Folder, variable: &str, bits: &str) -> String {
    let mut command = Command::new(offkit());
    command.args("run k.spv twice --global 4 --arg a.npy --out -".split(' '));
    command.env_remove("SYCL_PI_TRACE").env(variable, bits);
    let outcome = folder.run_command(&mut command);
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    assert!(!outcome.stdout.contains("--->"), "the output is the array alone");
    // The last line says what was written.
    outcome.stderr.replace("-: 4 elements of i32\n", "")
}

/// Whether the lines are calls, each as `---> name(`, its arguments, its result, what it wrote, and an empty line.
fn calls(trace: &str) -> Vec<&str> {
    let blocks = trace.split_terminator("\n\n");
    blocks
        .map(|block| {
            let (head, result) = block.split_once("\n) ---> \tpi_result : ").expect(block);
            let mut lines = head.lines();
            let name = lines
                .next()
                .and_then(|line| line.strip_prefix("---> ")?.strip_suffix('('));
            for argument in lines {
                let text = argument.strip_prefix('\t').expect(block);
                assert!(
                    text == "<nullptr>" || text.contains(" : ") || text.starts_with("<const char *>: "),
                    "{block}"
                );
            }
            let mut lines = result.lines();
            assert!(
                lines.next().is_some_and(|code| code.starts_with("PI_")),
                "{block}"
            );
            assert!(lines.all(|line| line.starts_with("\t[out]")), "{block}");
            name.expect(block)
        })
        .collect()
}

#[test]
fn calls_are_printed_with_their_arguments_by_type() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.spirv(
        "k",
        "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }",
    );
    folder.write("a.npy", npy_i32("(4,)", [1, 2, 3, 4]));

    let trace = traced(&folder, "SYCL_PI_TRACE", "2");
    let names = calls(&trace);
    for name in [
        "piPlatformsGet",
        "piProgramBuild",
        "piKernelCreate",
        "piEnqueueKernelLaunch",
        "piQueueRelease",
    ] {
        assert!(names.contains(&name), "no {name} in {names:?}");
    }
    for part in [
        "\t<const char *>: twice\n",
        "(PI_EVENT_INFO_COMMAND_EXECUTION_STATUS)",
        "\t[out]pi_kernel * : 0x",
        "\tconst size_t * : 0x",
    ] {
        assert!(trace.contains(part), "no {part:?} in {trace}");
    }

    let trace = traced(&folder, "OFFKIT_TRACE", "1");
    let (loaded, chosen) = trace.split_once('\n').expect("lines");
    assert_eq!(
        loaded,
        "SYCL_PI_TRACE[basic]: Plugin found and successfully loaded: cpu"
    );
    assert!(
        chosen.starts_with(
            "SYCL_PI_TRACE[all]: Selected device ->\nSYCL_PI_TRACE[all]:   platform: offkit CPU\n"
        ),
        "{chosen}"
    );
    assert_eq!(traced(&folder, "OFFKIT_TRACE", "0"), "");
}

/// A plugin that speaks one version alone, with a number of its own behind it as the real ones have: the mock, which
/// speaks all.
fn speaks_only(folder: &Folder, version: &str) -> String {
    let source = format!(
        "#include <dlfcn.h>\n#include <string.h>\n\
         int piPluginInit(char *record) {{\n\
           if (strcmp(record, \"{version}\")) return -59;\n\
           void *mock = dlopen(\"{}\", RTLD_NOW);\n\
           int result = ((int (*)(void *))dlsym(mock, \"piPluginInit\"))(record);\n\
           if (strlen(record) > 3) strcat(record + 20, \".1\");\n\
           return result;\n\
         }}",
        mock().display()
    );
    folder.write("plugin.c", source);
    let file = format!("libspeaks_{version}.so");
    let options = format!("-shared -fPIC -o {file} plugin.c");
    folder.run(tool("cc").unwrap(), options.split(' ')).ok();
    file
}

#[test]
fn lines_are_those_of_the_release_whose_version_the_plugin_speaks() {
    need!("cc", "clang-22");
    let folder = Folder::new();
    folder.spirv("k", "kernel void twice(global int *a) { *a *= 2; }");
    folder.write(
        "script",
        "platform Mock\ndevice cpu Processor\nkernel twice 1 0 7\n",
    );
    let longer = "SYCL_PI_TRACE[all]: Requested device_type: info::device_type::automatic\n\
                  SYCL_PI_TRACE[all]: Selected device: -> final score = 1300\n";
    for (version, answer, selected) in [
        ("6.8", "", "SYCL_PI_TRACE[all]: Selected device ->\n"),
        ("12.27", " [ PluginVersion: 12.27.1 ]", longer),
        ("15.47", " [ PluginVersion: 15.47.1 ]", longer),
    ] {
        let plugin = speaks_only(&folder, version);
        let run = |device: &str| {
            let mut command = Command::new(offkit());
            command
                .args("run k.spv twice --global 1 --arg f32[1] --device".split(' '))
                .arg(device)
                .env("OFFKIT_PLUGINS", folder.path(&plugin))
                .env(pi_mock::SCRIPT_VARIABLE, folder.path("script"))
                // The kind chooses among the mock's devices.
                .env("ONEAPI_DEVICE_SELECTOR", "!offkit:*")
                .env_remove("OFFKIT_TRACE")
                .env("SYCL_PI_TRACE", "1");
            folder.run_command(&mut command)
        };
        let outcome = run(&plugin);
        let expected = format!(
            "SYCL_PI_TRACE[basic]: Plugin found and successfully loaded: {plugin}{answer}\n{selected}\
             SYCL_PI_TRACE[all]:   platform: Mock\nSYCL_PI_TRACE[all]:   device: Processor\n"
        );
        assert!(outcome.stderr.contains(&expected), "{outcome:#?}");
        let outcome = run("cpu");
        let by_kind = "Requested device_type: info::device_type::cpu\n\
                       SYCL_PI_TRACE[all]: Selected device: -> final score = 2000\n";
        assert_eq!(outcome.stderr.contains(by_kind), version != "6.8", "{outcome:#?}");
    }
}

#[test]
fn a_variable_that_is_no_number_is_named() {
    let folder = Folder::new();
    let devices = |own: &str, usual: &str| {
        let mut command = Command::new(offkit());
        command
            .arg("devices")
            .env("OFFKIT_TRACE", own)
            .env("SYCL_PI_TRACE", usual);
        folder.run_command(&mut command).stderr
    };
    let loaded = "Plugin found and successfully loaded: cpu";
    // An empty variable is as one that is not set.
    assert!(devices("", "1").contains(loaded));
    let said = devices("", "all");
    assert!(
        said.contains("warning: SYCL_PI_TRACE=all is ignored: it is no number"),
        "{said}"
    );
    let said = devices("yes", "1");
    assert!(
        said.contains("OFFKIT_TRACE=yes is ignored") && said.contains(loaded),
        "{said}"
    );
}
