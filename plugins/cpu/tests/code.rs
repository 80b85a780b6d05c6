//! Objects that clang makes, loaded and run.

use std::process::{Command, Stdio};

use offkit_plugin_cpu::code::{GDB_VARIABLE, Image, LoadError, Loaded, Machine, PERF_VARIABLE};

const PAGE: usize = 4096;

/// A function with constants, a table of jumps and a function that it calls.
const PROGRAM: &str = "
    static const float table[64] = {1, 2, 3, 4, 5, 6, 7};
    __attribute__((noinline)) static float helper(float x, int n) {
        for (int i = 0; i < n; ++i) x = x * table[i & 63] + 0.5f;
        return x;
    }
    float pick(int which, int n) {
        switch (which) {
        case 0: return helper(2.0f, n);
        case 1: return table[n & 63];
        case 2: return 17.25f;
        case 3: return helper(4.0f, n) * 0.1f;
        case 4: return -1.0f;
        case 5: return helper(n, 3);
        default: return n * 3.0f;
        }
    }
    float sum(const float *numbers, int count) {
        float sum = 0;
        for (int i = 0; i < count; ++i) sum += numbers[i] * table[i & 63];
        return sum;
    }
";

/// Compiles C for a machine. `None` where there is no clang 22, which is an error when tools are required.
fn compile(source: &str, machine: Machine) -> Option<Vec<u8>> {
    compile_with(&[], source, machine)
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn compile_with(options: &[&str], source: &str, machine: Machine) -> Option<Vec<u8>> {
    let target = match machine {
        Machine::X86_64 => "--target=x86_64-linux-gnu",
        _ => "--target=aarch64-linux-gnu",
    };
    let mut command = Command::new("clang-22");
    command.args([
        target,
        "-x",
        "c",
        "-c",
        "-O2",
        "-fPIC",
        "-mcmodel=small",
        "-ffreestanding",
        "-fno-asynchronous-unwind-tables",
        "-fvisibility=hidden",
    ]);
    command.args(options).args(["-", "-o", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let required = std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
            assert!(!required, "clang-22 is required: {error}");
            eprintln!("SKIPPED: clang-22 does not start: {error}");
            return None;
        }
    };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), source.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "clang refuses the source");
    Some(output.stdout)
}

/// Set for what a test runs in another process.
const INSIDE: &str = "OFFKIT_TEST_INSIDE";

/// This program, to run one of its tests in another process.
fn again(test: &str) -> Vec<String> {
    let program = std::env::current_exe().unwrap().display().to_string();
    [&program, "--exact", test, "--nocapture"]
        .map(str::to_owned)
        .to_vec()
}

#[test]
#[cfg(target_os = "linux")]
fn perf_is_told_the_names_of_functions() {
    let Some(object) = Machine::HOST.and_then(|machine| compile(PROGRAM, machine)) else {
        return;
    };
    if std::env::var_os(INSIDE).is_some() {
        let loaded = Loaded::of_object(&object).unwrap();
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let map = std::fs::read_to_string(&path);
        _ = std::fs::remove_file(path);
        let map = map.unwrap();
        let mut lines = map.lines().filter_map(|line| line.split_once(' '));
        let (address, rest) = lines.find(|(_, rest)| rest.ends_with(" pick")).unwrap();
        let pick = loaded.function("pick").unwrap().as_ptr() as usize;
        assert_eq!(usize::from_str_radix(address, 16).unwrap(), pick);
        assert!(usize::from_str_radix(&rest[..rest.len() - 5], 16).unwrap() > 16);
        return;
    }
    let command = again("perf_is_told_the_names_of_functions");
    let mut run = Command::new(&command[0]);
    run.args(&command[1..]).env(INSIDE, "1").env(PERF_VARIABLE, "1");
    assert!(run.status().unwrap().success());
}

#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn debuggers_know_functions_and_lines() {
    let Some(machine) = Machine::HOST else { return };
    let Some(object) = compile_with(&["-g"], PROGRAM, machine) else {
        return;
    };
    if std::env::var_os(INSIDE).is_some() {
        let loaded = Loaded::of_object(&object).unwrap();
        // Others that come and go are no trouble.
        let others = [(); 3].map(|()| Loaded::of_object(&object).unwrap());
        let [first, middle, last] = others;
        drop(middle);
        drop(first);
        drop(last);
        let pick = loaded.function("pick").unwrap();
        // SAFETY: a function of that type, which stays as long as `loaded`.
        let pick = unsafe { std::mem::transmute::<*mut u8, extern "C" fn(i32, i32) -> f32>(pick.as_ptr()) };
        assert_eq!(pick(2, 0), 17.25);
        return;
    }
    let mut gdb = Command::new("gdb");
    gdb.args([
        "-batch",
        "-nx",
        "-ex",
        "set breakpoint pending on",
        "-ex",
        "break pick",
        "-ex",
        "run",
    ]);
    gdb.args(["-ex", "backtrace 1", "-ex", "continue", "--args"])
        .args(again("debuggers_know_functions_and_lines"));
    let Ok(output) = gdb.env(INSIDE, "1").env(GDB_VARIABLE, "1").output() else {
        eprintln!("SKIPPED: gdb does not start");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.contains("test result") {
        eprintln!("SKIPPED: gdb cannot run programs here: {text}");
        return;
    }
    let stopped = text.lines().find(|line| line.contains("pick (which=2, n=0) at "));
    assert!(stopped.is_some_and(|line| line.contains("<stdin>:")), "{text}");
}

fn both() -> [Machine; 2] {
    [Machine::X86_64, Machine::Aarch64]
}

#[test]
fn code_that_is_loaded_can_be_called_from_any_thread() {
    let Some(machine) = Machine::HOST else { return };
    let Some(object) = compile(PROGRAM, machine) else {
        return;
    };
    let loaded = Loaded::of_object(&object).unwrap();
    assert!(loaded.function("helper").is_some());
    assert!(loaded.function("absent").is_none());
    let pick = loaded.function("pick").unwrap();
    let sum = loaded.function("sum").unwrap();
    // SAFETY: functions of these types, which stay as long as `loaded`.
    let (pick, sum) = unsafe {
        (
            std::mem::transmute::<*mut u8, extern "C" fn(i32, i32) -> f32>(pick.as_ptr()),
            std::mem::transmute::<*mut u8, extern "C" fn(*const f32, i32) -> f32>(sum.as_ptr()),
        )
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let picked: Vec<f32> = (0..7).map(|which| pick(which, 2)).collect();
                assert_eq!(picked, [5.5, 3.0, 17.25, 0.95, -1.0, 17.0, 6.0]);
                assert_eq!(sum([1.0f32; 8].as_ptr(), 8), 28.0);
            });
        }
    });
}

#[test]
#[cfg(target_os = "linux")]
fn code_is_never_writable_and_goes_with_its_owner() {
    let Some(object) = Machine::HOST.and_then(|machine| compile(PROGRAM, machine)) else {
        return;
    };
    let loaded = Loaded::of_object(&object).unwrap();
    let address = loaded.function("pick").unwrap().as_ptr() as usize;
    let mapping = |address: usize| {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut maps = maps.lines().map(|line| {
            let (range, rest) = line.split_once(' ').unwrap();
            let (start, end) = range.split_once('-').unwrap();
            let parse = |text| usize::from_str_radix(text, 16).unwrap();
            (parse(start)..parse(end), rest[..4].to_owned())
        });
        maps.find(|(range, _)| range.contains(&address))
    };
    let (range, protection) = mapping(address).unwrap();
    assert_eq!(protection, "r-xp");
    assert_eq!(mapping(range.end).unwrap().1, "r--p");
    drop(loaded);
    let left = mapping(address);
    assert!(left.is_none_or(|(_, protection)| protection != "r-xp"));
}

#[test]
fn what_a_kernel_must_not_have_is_refused_by_name() {
    for machine in both() {
        for (source, expected) in [
            (
                "int other(void); int f(void) { return other(); }",
                "`other` is not defined",
            ),
            (
                "int count; int f(void) { return ++count; }",
                ".bss is memory to write to",
            ),
            (
                "int count = 7; int f(void) { return ++count; }",
                ".data is memory to write to",
            ),
            (
                "static int a, b; int *const table[] = {&a, &b}; int f(int i) { return *table[i]; }",
                "memory to write to",
            ),
            (
                "int f(void) { return 1; } int g(void) { return 2; }
                 int (*const table[])(void) = {f, g}; int h(int i) { return table[i](); }",
                match machine {
                    Machine::X86_64 => "R_X86_64_64 at .data.rel.ro+0x0 of `f`",
                    _ => "R_AARCH64_ABS64 at .data.rel.ro+0x0 of `f`",
                },
            ),
            ("_Thread_local int own = 5; int f(void) { return own; }", ".tdata"),
        ] {
            let Some(object) = compile(source, machine) else {
                return;
            };
            let error = Image::of_object(&object, machine, PAGE).unwrap_err();
            assert!(matches!(error, LoadError::Refused(_)), "{source}: {error:?}");
            assert!(error.to_string().contains(expected), "{source}: {error}");
        }
    }
}

#[test]
fn objects_for_another_machine_are_refused() {
    let Some(object) = compile(PROGRAM, Machine::Aarch64) else {
        return;
    };
    let error = Image::of_object(&object, Machine::X86_64, PAGE).unwrap_err();
    assert!(
        error.to_string().contains("no relocatable object for X86_64"),
        "{error}"
    );
}

/// Arm's linker puts the same object at the same distances.
#[test]
fn code_for_arm_is_what_a_linker_makes_of_it() {
    let Some(object) = compile(PROGRAM, Machine::Aarch64) else {
        return;
    };
    let image = Image::of_object(&object, Machine::Aarch64, PAGE).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.o"), &object).unwrap();
    let linked = Command::new("ld.lld")
        .args(["-e", "pick", "--no-relax", "--section-start=.text=0x400000"])
        .arg(format!(
            "--section-start=.rodata={:#x}",
            0x40_0000 + image.code_size()
        ))
        .args([path("a.o").as_os_str(), "-o".as_ref(), path("a").as_os_str()])
        .status();
    let Ok(linked) = linked else {
        assert!(std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|value| value != "1"));
        return;
    };
    assert!(linked.success());
    for (section, ours) in [
        (".text", &image.bytes()[..image.code_size()]),
        (".rodata", &image.bytes()[image.code_size()..]),
    ] {
        let copied = Command::new("llvm-objcopy")
            .args(["-O", "binary", "--only-section", section])
            .args([path("a"), path("section")])
            .status();
        assert!(copied.unwrap().success());
        let theirs = std::fs::read(path("section")).unwrap();
        assert!(!theirs.is_empty());
        assert_eq!(ours[..theirs.len()], theirs, "{section}");
    }
}

#[test]
fn damaged_objects_are_errors() {
    for machine in both() {
        let Some(object) = compile(PROGRAM, machine) else {
            return;
        };
        assert!(Image::of_object(&object, machine, PAGE).is_ok());
        for length in 0..object.len() {
            let error = Image::of_object(&object[..length], machine, PAGE).unwrap_err();
            assert!(!error.to_string().is_empty());
        }
        // Whatever a byte becomes: what comes out, if anything, has its functions in its code.
        let mut damaged = object.clone();
        for index in 0..damaged.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                damaged[index] = byte;
                if let Ok(image) = Image::of_object(&damaged, machine, PAGE) {
                    assert!(image.code_size() <= image.bytes().len());
                    for function in image.functions() {
                        assert!(function.offset + function.size <= image.code_size());
                    }
                }
            }
            damaged[index] = object[index];
        }
    }
}
