//! Traces of calls into plugins: the lines of `SYCL_PI_TRACE`, on the standard error of `offkit`'s own commands.

use std::process::Command;

use offkit_tests::{Folder, need, npy_i32, offkit};

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
            "SYCL_PI_TRACE[all]: Selected device: ->\nSYCL_PI_TRACE[all]:   platform: offkit CPU\n"
        ),
        "{chosen}"
    );
    assert_eq!(traced(&folder, "OFFKIT_TRACE", "0"), "");
}
