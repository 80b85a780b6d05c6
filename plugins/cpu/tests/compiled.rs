//! Kernels that a worker compiles: which launches they run, and what becomes of them when the worker fails.
//!
//! The worker here is a script that has objects of C ready, whose results tell them from the interpreter's.

#![cfg(target_os = "linux")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use offkit_cache::{Cache, Limits};
use offkit_llvm::{PROTOCOL_VERSION, WORKER_VARIABLE};
use offkit_pi::ffi::PI_DEVICE_TYPE_ALL;
use offkit_pi::host::{Buffer, Context, Device, NdRange, Plugin, Program, Queue, QueueProperties};

/// What the device runs: each kernel doubles.
const KERNELS: &str = "
    constant float table[4] = {100, 200, 300, 400};
    kernel void ready(global float *p) { p[get_global_id(0)] *= 2; }
    kernel void outside(global float *p) { p[get_global_id(0)] *= table[0] / 50; }
    kernel void seen(global float *p) { p[get_global_id(0)] *= 2; p[get_local_id(0)] += 0; }
    kernel void unseen(global float *p) { p[get_global_id(0)] *= 2; }
    kernel void refused(global float *p) { p[get_global_id(0)] *= 2; }
    kernel void partly(global float *p) { p[get_global_id(0)] *= 2; }
    kernel void broken(global float *p) { p[get_global_id(0)] *= 2; }
    kernel void crash(global float *p) { p[get_global_id(0)] *= 2; }
    kernel void hang(global float *p) { p[get_global_id(0)] *= 2; }
";

/// What the worker has for some of them: triples, or what else is said there.
const CODE: &str = "
    #include <stdint.h>
    struct launch {
        const uint64_t *arguments; const char *cancel; uint64_t dimensions, offset[3], global[3], local[3], groups[3];
        uint64_t scratch; const uint64_t *externals;
    };
    #define EACH(value) \
        float *p = (float *)launch->arguments[0]; \
        for (uint64_t group = first; group < end; ++group) \
            for (uint64_t i = group * launch->local[0]; i < (group + 1) * launch->local[0] && i < launch->global[0]; ++i) \
                p[i] = value;
    void ready(const struct launch *launch, uint64_t first, uint64_t end, char *local) { EACH(p[i] * 3) }
    void partly(const struct launch *launch, uint64_t first, uint64_t end, char *local) { EACH(p[i] * 3) }
    void seen(const struct launch *launch, uint64_t first, uint64_t end, char *local) { EACH(launch->local[0]) }
    void unseen(const struct launch *launch, uint64_t first, uint64_t end, char *local) { EACH(launch->local[0]) }

    /* p + the variable's second element, rounded down by the library, kept in memory of its own meanwhile */
    struct shape { uint32_t scalar, lanes; };
    static const struct { uint32_t op, operands; struct shape shapes[8]; } floor_call = {25, 1, {{6, 1}, {6, 1}}};
    typedef void builtin(const void *call, const uint64_t *arguments, uint64_t *result, uint64_t *second);
    static float floored(const struct launch *launch, float x, char *local) {
        uint64_t *words = (uint64_t *)(local + launch->scratch);
        float result;
        words[0] = 0;
        __builtin_memcpy(words, &x, 4);
        ((builtin *)launch->externals[1])(&floor_call, words, words + 1, 0);
        __builtin_memcpy(&result, words + 1, 4);
        return result;
    }
    void outside(const struct launch *launch, uint64_t first, uint64_t end, char *local) {
        const float *table = (const float *)launch->externals[0];
        EACH(floored(launch, p[i] + table[1] + 0.75f, local))
    }
";

const WORKER: &str = r#"#!/bin/sh
folder=$(dirname "$0")
echo $$ >> "$folder/workers"
take() {
    count=$(printf '%s' "$line" | sed -n 's/^{"blocks":\[\([0-9]*\)\].*/\1/p')
    [ -z "$count" ] || head -c "$count" > /dev/null
}
while read -r line; do
    case $line in
    *'"hello"'*) echo '{"body":{"hello":{"protocol":VERSION,"llvm":"22.1.8"}}}'; continue ;;
    *'"kernel":"crash"'*) echo 'LLVM ERROR: no' >&2; exit 3 ;;
    *'"kernel":"hang"'*) exec cat 3>&1 >&2 ;;
    esac
    take
    symbol=$(printf '%s' "$line" | sed 's/.*"kernel":"\([a-z]*\)".*/\1/')
    echo "$line" >> "$folder/requests"
    case $symbol in
    refused) echo '{"body":{"failed":{"message":"there is no code for it"}}}'; continue ;;
    partly)
        case $line in
        *'"full":false'*) echo '{"body":{"failed":{"message":"there is no code for that"}}}'; continue ;;
        esac
        rest='"scratch":0,"shared":0,"externals":[]' ;;
    outside) rest='"scratch":16,"shared":64,"externals":["global:0","builtin"]' ;;
    *) rest='"scratch":0,"shared":0,"externals":[]' ;;
    esac
    size=$(stat -c %s "$folder/code.o")
    printf '{"blocks":[%d],"body":{"compiled":{"symbol":"%s",%s}}}\n' "$size" "$symbol" "$rest"
    cat "$folder/code.o"
done
"#;

/// Runs a test in a process of its own, with the worker, where there is a compiler for what it needs.
fn with_worker(test: &str, variables: &[(&str, &str)], inside: impl FnOnce(&Path)) {
    if let Some(folder) = std::env::var_os("OFFKIT_TEST_FOLDER") {
        inside(Path::new(&folder));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let object = [
        "-xc",
        "-O1",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-asynchronous-unwind-tables",
    ];
    let Some(object) = clang(&object, CODE) else {
        return;
    };
    let spirv = ["-xcl", "--target=spirv64", "-cl-std=CL3.0", "-O1"];
    let Some(spirv) = clang(&spirv, KERNELS) else {
        return;
    };
    std::fs::write(path("code.o"), object).unwrap();
    std::fs::write(path("kernels.spv"), spirv).unwrap();
    let worker = WORKER.replace("VERSION", &PROTOCOL_VERSION.to_string());
    std::fs::write(path("worker"), worker).unwrap();
    let executable = Command::new("chmod").arg("755").arg(path("worker")).status();
    assert!(executable.unwrap().success());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env("OFFKIT_TEST_FOLDER", folder.path())
        .env("OFFKIT_CPU_COMPILE", "1")
        .env("OFFKIT_CPU_THREADS", "2")
        .env(WORKER_VARIABLE, path("worker"))
        .env("XDG_CACHE_HOME", path("cache"))
        .envs(variables.iter().copied());
    assert!(command.status().unwrap().success(), "see above");
}

/// Compiles with clang. `None` where there is none, which is an error when tools are required.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn clang(arguments: &[&str], source: &str) -> Option<Vec<u8>> {
    let mut command = Command::new("clang-22");
    command.args(arguments).args(["-c", "-", "-o", "-"]);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            let required = std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
            assert!(!required, "clang-22 is required: {error}");
            eprintln!("SKIPPED: clang-22 does not start: {error}");
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    Some(output.stdout)
}

/// The device that compiles kernels, and the one that checks accesses.
fn devices() -> [Device; 2] {
    let plugin = Plugin::built_in(&offkit_plugin_cpu::plugin::BUILT_IN).unwrap();
    let platforms = plugin.platforms().unwrap().into_iter();
    let devices = platforms.flat_map(|platform| platform.devices(PI_DEVICE_TYPE_ALL).unwrap());
    devices.collect::<Vec<_>>().try_into().unwrap()
}

/// A device in a context, with the kernels built.
struct Machine {
    device: Device,
    context: Context,
    program: Program,
}

impl Machine {
    fn new(folder: &Path) -> Machine {
        Machine::with_options(folder, "")
    }

    fn with_options(folder: &Path, options: &str) -> Machine {
        let [compiles, _] = devices();
        Machine::of(compiles, folder, options)
    }

    fn of(device: Device, folder: &Path, options: &str) -> Machine {
        let context = Context::new(&[&device]).unwrap();
        let spirv = std::fs::read(folder.join("kernels.spv")).unwrap();
        let program = context.program_with_il(&spirv).unwrap();
        program.build(options).unwrap();
        Machine {
            device,
            context,
            program,
        }
    }

    fn queue(&self) -> Queue {
        let properties = QueueProperties::default();
        self.context.queue(&self.device, properties).unwrap()
    }

    /// What a kernel makes of ones.
    fn run(&self, kernel: &str, range: NdRange) -> Vec<f32> {
        let queue = self.queue();
        let mut kernel = self.program.kernel(kernel).unwrap();
        let ones: Vec<u8> = vec![1.0f32; range.global[0]]
            .iter()
            .flat_map(|one| one.to_ne_bytes())
            .collect();
        let buffer: Buffer = self.context.buffer(ones.len()).unwrap();
        queue.write_buffer(&buffer, 0, &ones, &[]).unwrap();
        kernel.set_argument(0, &buffer).unwrap();
        queue.launch(&kernel, &range, &[]).unwrap().wait().unwrap();
        let mut bytes = vec![0; ones.len()];
        queue.read_buffer(&buffer, 0, &mut bytes, &[]).unwrap();
        let floats = bytes.as_chunks().0.iter();
        floats.map(|bytes| f32::from_ne_bytes(*bytes)).collect()
    }

    fn is(&self, kernel: &str, count: usize, expected: f32) {
        let found = self.run(kernel, NdRange::new([count]));
        let wrong = found.iter().position(|value| *value != expected);
        assert!(
            wrong.is_none(),
            "{kernel}: {} at {wrong:?}",
            found[wrong.unwrap()]
        );
    }

    fn log(&self) -> String {
        self.program.build_log(&self.device).unwrap()
    }
}

/// What the worker was asked for at first; more comes later.
fn requests(folder: &Path) -> Vec<String> {
    let mut requests = lines(folder, "requests");
    requests.retain(|request| request.contains(r#""level":"light""#));
    requests
}

fn lines(folder: &Path, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn one_device_runs_compiled_code_and_the_other_checks() {
    with_worker(
        "one_device_runs_compiled_code_and_the_other_checks",
        &[],
        |folder| {
            let [machine, checks] = devices().map(|device| Machine::of(device, folder, ""));
            let names = [&machine, &checks].map(|machine| machine.device.name().unwrap());
            assert!(
                names[0].starts_with("offkit CPU on") || names[0] == "offkit CPU",
                "{names:?}"
            );
            assert!(names[1].starts_with("offkit CPU (checked)"), "{names:?}");
            for count in [100_000, 12_345, 500_000] {
                machine.is("ready", count, 3.0);
                checks.is("ready", count, 2.0);
            }
            // Once for the kind of launch that is no multiple of the width, once for the other.
            assert_eq!(requests(folder).len(), 2);
            assert_eq!(lines(folder, "workers").len(), 1);
            assert_eq!(machine.log(), "");
        },
    );
}

#[test]
fn compiled_code_reaches_variables_functions_and_memory() {
    with_worker(
        "compiled_code_reaches_variables_functions_and_memory",
        &[],
        |folder| {
            let [machine, checks] = devices().map(|device| Machine::of(device, folder, ""));
            machine.is("outside", 10_000, 201.0);
            checks.is("outside", 10_000, 2.0);
        },
    );
}

#[test]
fn groups_are_long_rows_where_nobody_sees_them() {
    with_worker("groups_are_long_rows_where_nobody_sees_them", &[], |folder| {
        let machine = Machine::new(folder);
        machine.is("seen", 1 << 16, 256.0);
        machine.is("unseen", 1 << 16, 1024.0);
        let groups_of = |size| NdRange {
            local: Some([size, 1, 1]),
            ..NdRange::new([4096])
        };
        // This code says how groups are cut. What a kernel sees of those that the caller has cut very small comes beside it.
        assert!(machine.run("seen", groups_of(4))[0] >= 64.0);
        assert!(machine.run("unseen", groups_of(4))[0] >= 64.0);
        // Others stay as they are where they are seen.
        assert_eq!(machine.run("seen", groups_of(32))[0], 32.0);
        let requests = requests(folder);
        let whole = r#""rows":true,"full":true,"narrow_ids":true"#;
        assert!(
            requests.iter().all(|request| request.contains(whole)),
            "{requests:?}"
        );
        let merged = |request: &String| request.contains(r#""cut":"merged""#);
        let merged: Vec<_> = requests.iter().map(merged).collect();
        assert_eq!(merged, [false, false, true], "{requests:?}");
    });
}

/// Code that checks its accesses and code that doesn't are kept apart, and asked for as the program was built.
#[test]
fn accesses_are_checked_as_programs_ask_for_it() {
    with_worker("accesses_are_checked_as_programs_ask_for_it", &[], |folder| {
        let option = offkit_plugin_cpu::CHECK_BOUNDS_OPTION;
        let checks = || {
            let requests = requests(folder).into_iter();
            let checks = requests.map(|request| request.contains(r#""check_bounds":true"#));
            checks.collect::<Vec<_>>()
        };
        for (options, asked) in [
            ("-w", &[false][..]),
            (option, &[false, true]),
            // Both are kept.
            ("", &[false, true]),
            (option, &[false, true]),
        ] {
            Machine::with_options(folder, options).is("ready", 10_000, 3.0);
            assert_eq!(checks(), asked, "{options}");
        }
        // It is enough that one of the programs that are linked was compiled so.
        let machine = Machine::new(folder);
        let spirv = std::fs::read(folder.join("kernels.spv")).unwrap();
        let part = machine.context.program_with_il(&spirv).unwrap();
        part.compile(option).unwrap();
        let program = machine.context.link(&[&part], "").unwrap();
        Machine { program, ..machine }.is("unseen", 1 << 16, 1024.0);
        assert_eq!(checks(), [false, true, true]);
    });
}

#[test]
fn options_of_arithmetic_make_other_code() {
    with_worker("options_of_arithmetic_make_other_code", &[], |folder| {
        let arithmetic = |zeros: bool, relaxed: bool, exact: bool| {
            format!(
                r#""arithmetic":{{"no_signed_zeros":{zeros},"relaxed":{relaxed},"exact_quotients":{exact}}}"#
            )
        };
        let exact = "-cl-fp32-correctly-rounded-divide-sqrt";
        for (count, (options, expected)) in [
            (
                "-cl-mad-enable -cl-finite-math-only -cl-denorms-are-zero",
                arithmetic(false, false, false),
            ),
            ("-cl-no-signed-zeros", arithmetic(true, false, false)),
            ("-cl-fast-relaxed-math", arithmetic(false, true, false)),
            (
                &format!("-cl-unsafe-math-optimizations {exact}"),
                arithmetic(false, true, true),
            ),
            (exact, arithmetic(false, false, true)),
        ]
        .into_iter()
        .enumerate()
        {
            Machine::with_options(folder, options).is("ready", 10_000, 3.0);
            let requests = requests(folder);
            assert_eq!(requests.len(), count + 1, "{options}");
            assert!(
                requests[count].contains(&expected),
                "{options}: {}",
                requests[count]
            );
        }
        // Better code comes for the second, which is asked for later, and so would for the first.
        let first = Machine::with_options(folder, "-cl-opt-disable");
        first.is("seen", 1 << 16, 256.0);
        let second = Machine::new(folder);
        second.is("unseen", 1 << 16, 1024.0);
        let is_better = |kernel: &str| {
            let asked = |request: &String| {
                request.contains(r#""level":"full""#) && request.contains(&format!(r#""kernel":"{kernel}""#))
            };
            lines(folder, "requests").iter().any(asked)
        };
        while !is_better("unseen") {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!is_better("seen"));
    });
}

#[test]
fn what_is_not_compiled_is_interpreted_and_the_log_says_why() {
    with_worker(
        "what_is_not_compiled_is_interpreted_and_the_log_says_why",
        &[],
        |folder| {
            let machine = Machine::new(folder);
            machine.is("refused", 10_000, 2.0);
            machine.is("broken", 10_000, 2.0);
            machine.is("ready", 10_000, 3.0);
            let log = machine.log();
            assert!(
                log.contains("kernel `refused` is interpreted: there is no code for it"),
                "{log}"
            );
            assert!(
                log.contains("kernel `broken` is interpreted: the compiled code has no function `broken`"),
                "{log}"
            );
            assert!(!log.contains("`ready`"), "{log}");
            // Asked once, however often it is launched.
            machine.is("refused", 10_000, 2.0);
            assert_eq!(requests(folder).len(), 3);
            // One kind of launch is not compiled, and another is.
            machine.is("partly", 12_345, 2.0);
            machine.is("partly", 1 << 16, 3.0);
            let log = machine.log();
            assert!(
                log.contains("kernel `partly` is interpreted for some launches: there is no code for that"),
                "{log}"
            );
        },
    );
}

#[test]
fn a_worker_that_crashes_costs_one_kernel() {
    with_worker("a_worker_that_crashes_costs_one_kernel", &[], |folder| {
        let machine = Machine::new(folder);
        machine.is("ready", 10_000, 3.0);
        machine.is("crash", 10_000, 2.0);
        let log = machine.log();
        assert!(
            log.contains("kernel `crash` is interpreted: LLVM stopped while compiling kernel `crash`"),
            "{log}"
        );
        assert!(log.contains("LLVM ERROR: no"), "{log}");
        machine.is("outside", 10_000, 201.0);
        machine.is("ready", 10_000, 3.0);
        // Two for the kernel, which is asked for once more, and one for the others.
        let workers = lines(folder, "workers");
        assert_eq!(workers.len(), 3);
        assert!(!Path::new("/proc").join(&workers[0]).exists(), "a zombie is left");
    });
}

#[test]
fn a_worker_that_is_lost_once_is_asked_again() {
    with_worker("a_worker_that_is_lost_once_is_asked_again", &[], |folder| {
        let whole = std::fs::read_to_string(folder.join("worker")).unwrap();
        // The first one is ended in the middle of a kernel, as where memory is short.
        let lost = whole.replace(
            "'\"kernel\":\"hang\"'*) exec cat 3>&1 >&2",
            "'\"kernel\":\"ready\"'*) [ -e \"$folder/lost\" ] || { touch \"$folder/lost\"; kill -9 $$; }",
        );
        assert_ne!(lost, whole);
        std::fs::write(folder.join("worker"), lost).unwrap();
        let machine = Machine::new(folder);
        machine.is("ready", 10_000, 3.0);
        assert_eq!(machine.log(), "");
        assert_eq!(lines(folder, "workers").len(), 2);
    });
}

#[test]
fn a_worker_that_hangs_is_not_waited_for_long() {
    with_worker("a_worker_that_hangs_is_not_waited_for_long", &[], |folder| {
        let machine = Machine::new(folder);
        machine.is("hang", 10_000, 2.0);
        // Nobody waits behind it either.
        machine.is("ready", 10_000, 2.0);
        let log = machine.log();
        for kernel in ["hang", "ready"] {
            let said = format!("kernel `{kernel}` is interpreted as long as LLVM does not answer");
            assert!(log.contains(&said), "{log}");
        }
        // The others have their code when the worker has been ended, and this one has a reason.
        while machine.run("ready", NdRange::new([10_000]))[0] != 3.0 {
            std::thread::sleep(Duration::from_millis(100));
        }
        assert!(!machine.log().contains("`ready`"));
        let reason = "kernel `hang` is interpreted: LLVM was not done compiling kernel `hang` after";
        while !machine.log().contains(reason) {
            std::thread::sleep(Duration::from_millis(100));
        }
        machine.is("outside", 10_000, 201.0);
        assert_eq!(lines(folder, "workers").len(), 3);
    });
}

#[test]
fn a_worker_that_somebody_ends_is_started_again() {
    with_worker("a_worker_that_somebody_ends_is_started_again", &[], |folder| {
        let machine = Machine::new(folder);
        machine.is("ready", 10_000, 3.0);
        let worker: i32 = lines(folder, "workers")[0].parse().unwrap();
        // SAFETY: it is a number, and the worker is a child of this process.
        let groups = unsafe { [libc::getpgid(worker), libc::getpgrp()] };
        assert_ne!(groups[0], groups[1], "what a terminal sends reaches the worker");
        // SAFETY: nobody has waited for it, so that no other process has its number.
        assert_eq!(unsafe { libc::kill(worker, libc::SIGKILL) }, 0);
        machine.is("outside", 10_000, 201.0);
        assert_eq!(machine.log(), "");
    });
}

#[test]
fn a_program_that_signals_of_pipes_end_goes_on() {
    with_worker("a_program_that_signals_of_pipes_end_goes_on", &[], |folder| {
        // As it is in programs that are not in Rust.
        // SAFETY: no handler is set.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let machine = Machine::new(folder);
        for _ in 0..3 {
            machine.is("crash", 10_000, 2.0);
            machine.is("ready", 10_000, 3.0);
        }
        // It leaves as soon as it is there, with a request on its way.
        let worker = "#!/bin/sh\nread -r line; echo '{\"body\":{\"hello\":{\"protocol\":VERSION,\"llvm\":\"\"}}}'; exec 0<&-";
        let worker = worker.replace("VERSION", &PROTOCOL_VERSION.to_string());
        std::fs::write(folder.join("worker"), worker + "; sleep 0.2").unwrap();
        let old: i32 = lines(folder, "workers").last().unwrap().parse().unwrap();
        // SAFETY: as above.
        unsafe { libc::kill(old, libc::SIGKILL) };
        machine.is("outside", 10_000, 2.0);
        let log = machine.log();
        assert!(
            log.contains("kernel `outside` is interpreted: LLVM stopped"),
            "{log}"
        );
    });
}

#[test]
fn a_cache_that_cannot_be_written_keeps_nothing_from_being_compiled() {
    let nowhere = [("XDG_CACHE_HOME", "/proc/nowhere"), ("HOME", "/proc/nowhere")];
    with_worker(
        "a_cache_that_cannot_be_written_keeps_nothing_from_being_compiled",
        &nowhere,
        |folder| {
            let machine = Machine::new(folder);
            machine.is("ready", 10_000, 3.0);
            assert_eq!(machine.log(), "");
        },
    );
}

#[test]
fn a_program_that_ends_takes_the_worker_along() {
    with_worker("a_program_that_ends_takes_the_worker_along", &[], |folder| {
        let is_hanging = |number: &String| {
            let words = std::fs::read(Path::new("/proc").join(number).join("cmdline"));
            words.is_ok_and(|words| words.starts_with(b"cat\0"))
        };
        if std::env::var_os("OFFKIT_TEST_LEAVES").is_some() {
            let machine = Machine::new(folder);
            let kernel = machine.program.kernel("hang").unwrap();
            let queue = machine.queue();
            let mut kernel = kernel;
            kernel
                .set_argument(0, &machine.context.buffer(1 << 20).unwrap())
                .unwrap();
            let _launch = queue.launch(&kernel, &NdRange::new([1 << 18]), &[]).unwrap();
            while !lines(folder, "workers").iter().any(is_hanging) {
                std::thread::sleep(Duration::from_millis(5));
            }
            std::process::exit(0);
        }
        let mut leaves = Command::new(std::env::current_exe().unwrap());
        leaves.args(["--exact", "a_program_that_ends_takes_the_worker_along"]);
        assert!(leaves.env("OFFKIT_TEST_LEAVES", "1").status().unwrap().success());
        let workers = lines(folder, "workers");
        assert_eq!(workers.len(), 1);
        while workers.iter().any(is_hanging) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}

#[test]
fn without_a_worker_kernels_are_interpreted() {
    let nowhere = [(WORKER_VARIABLE, "/nonexistent/worker")];
    with_worker("without_a_worker_kernels_are_interpreted", &nowhere, |folder| {
        let machine = Machine::new(folder);
        machine.is("ready", 10_000, 2.0);
        let log = machine.log();
        assert!(
            log.contains("kernel `ready` is interpreted: cannot start `/nonexistent/worker`"),
            "{log}"
        );
    });
}

#[test]
fn what_was_compiled_once_needs_no_worker() {
    let test = "what_was_compiled_once_needs_no_worker";
    with_worker(test, &[], |folder| {
        // Not the first kernel of the program, of which nothing is kept.
        let machine = Machine::new(folder);
        machine.is("outside", 16_000, 201.0);
        // Code, better code when it comes, and that the module was built.
        let cache = Cache::at(folder.join("cache/offkit"), Limits::default());
        let kept = || cache.entries().len() / 3;
        while kept() == 0 || requests(folder).len() != kept() {
            std::thread::sleep(Duration::from_millis(5));
        }
        let requests_and_workers = [requests(folder).len(), lines(folder, "workers").len()];
        const WORKER_IS: &str = "OFFKIT_TEST_WORKER_IS";
        match std::env::var(WORKER_IS).as_deref() {
            Err(_) => {}
            Ok("the same") => return assert_eq!(requests_and_workers, [1, 1]),
            Ok(_) => return assert_eq!(requests_and_workers, [2, 2]),
        }
        // In other processes; and another worker has code of its own.
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", test, "--nocapture"]);
        assert!(again.env(WORKER_IS, "the same").status().unwrap().success());
        let worker = std::fs::OpenOptions::new()
            .append(true)
            .open(folder.join("worker"));
        worker.unwrap().write_all(b"# changed\n").unwrap();
        assert!(again.env(WORKER_IS, "another").status().unwrap().success());
    });
}

#[test]
fn threads_that_launch_at_once_ask_once() {
    with_worker("threads_that_launch_at_once_ask_once", &[], |folder| {
        let machine = Machine::new(folder);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| machine.is("ready", 64_000, 3.0));
            }
        });
        assert_eq!(requests(folder).len(), 1);
    });
}

/// The pipes that this process has open.
fn pipes() -> Vec<PathBuf> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    let open = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let mut pipes: Vec<_> = open
        .filter(|target| target.to_string_lossy().starts_with("pipe:"))
        .collect();
    pipes.sort();
    pipes
}

/// Runs something in a process that is forked off this one.
fn in_child(inside: impl FnOnce()) {
    // SAFETY: the child only runs kernels, and leaves.
    match unsafe { libc::fork() } {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(inside));
            // SAFETY: ends the child without what the test program does at its end.
            unsafe { libc::_exit(i32::from(done.is_err())) };
        }
        child => {
            let mut status = 0;
            // SAFETY: waits for the child, with a place to write to.
            unsafe { libc::waitpid(child, &raw mut status, 0) };
            assert_eq!(status, 0);
        }
    }
}

#[test]
fn children_run_kernels_whatever_the_compiler_is_at() {
    let test = "children_run_kernels_whatever_the_compiler_is_at";
    with_worker(test, &[], |folder| {
        for pause in 0..30 {
            // Better code is made and kept while the children start.
            let machine = Machine::new(folder);
            machine.is("ready", 10_000, 3.0);
            std::thread::sleep(Duration::from_micros(pause * 100));
            in_child(|| machine.is("ready", 10_001 + pause as usize, 3.0));
            std::fs::remove_dir_all(folder.join("cache")).unwrap_or_default();
        }
    });
}

#[test]
fn a_child_has_a_worker_of_its_own() {
    with_worker("a_child_has_a_worker_of_its_own", &[], |folder| {
        let before = pipes();
        let machine = Machine::new(folder);
        machine.is("ready", 10_000, 3.0);
        assert_eq!(pipes().len(), before.len() + 3);
        in_child(|| {
            assert_eq!(pipes(), before, "pipes to the parent's worker");
            machine.is("ready", 10_000, 3.0);
            machine.is("outside", 10_000, 201.0);
            assert_eq!(lines(folder, "workers").len(), 2);
        });
        // The parent's is still there.
        machine.is("seen", 1 << 16, 256.0);
        assert_eq!(lines(folder, "workers").len(), 2);
    });
}

/// As it is where one package was updated and the other was not.
#[test]
fn the_full_worker_does_the_work_of_a_small_one_of_another_release() {
    let test = "the_full_worker_does_the_work_of_a_small_one_of_another_release";
    with_worker(test, &[], |folder| {
        if std::env::var_os(WORKER_VARIABLE).is_some() {
            // Once more, with programs that are looked for.
            let stale = r#"#!/bin/sh
                read -r line; echo '{"body":{"hello":{"protocol":1,"llvm":"21.1.0"}}}'; exec cat > /dev/null"#;
            let bin = folder.join("installed");
            std::fs::create_dir(&bin).unwrap();
            let small = bin.join("offkit-cpu-worker");
            std::fs::write(&small, stale).unwrap();
            let full = bin.join("offkit-llvm-worker");
            // It looks for its code beside itself.
            let worker = format!("#!/bin/sh\nexec '{}'\n", folder.join("worker").display());
            std::fs::write(&full, worker).unwrap();
            for program in [small, full] {
                let executable = Command::new("chmod").arg("755").arg(program).status();
                assert!(executable.unwrap().success());
            }
            let path = std::env::var("PATH").unwrap();
            let again = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", test, "--nocapture"])
                .env_remove(WORKER_VARIABLE)
                .env("PATH", format!("{}:{path}", bin.display()))
                .status();
            assert!(again.unwrap().success(), "see above");
            return;
        }
        let machine = Machine::new(folder);
        machine.is("ready", 100_000, 3.0);
        let log = machine.log();
        let says = [
            "installed/offkit-llvm-worker`",
            "installed/offkit-cpu-worker` answers in another protocol",
            "one release",
        ];
        assert!(says.iter().all(|part| log.contains(part)), "{log}");
        // What is kept goes with the program that has made it.
        let kept = Cache::user().entries();
        let files = kept
            .iter()
            .flat_map(|entry| &entry.header.as_ref().unwrap().files);
        assert!(
            files
                .into_iter()
                .any(|file| file.path.ends_with("offkit-llvm-worker"))
        );
    });
}
