//! `offkit cc` and `offkit c++`, with clang 22 and the linkers of this machine.

use std::path::Path;
use std::process::Command;

use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, Outcome, has_openmp, need, npy_f32, offkit, read_f32, tool};

/// A kernel in C++ that calls a function of another file.
const KERNEL: &str = r#"
#include <offkit/device.h>
OFFKIT_C OFFKIT_EXTERNAL float axpy(float a, float x, float y);
OFFKIT_C OFFKIT_KERNEL void saxpy(float a, OFFKIT_GLOBAL const float *x, OFFKIT_GLOBAL float *y) {
  auto i = offkit_global_id(0);
  y[i] = axpy(a, x[i], y[i]);
}
int on_both_sides(int x) { return x; }
"#;

/// That function in OpenCL C, and others that are nobody's business.
const LIBRARY: &str = r#"
#include <offkit/device.h>
static float unseen(float x) { return x; }
float merely_external(float x) { return unseen(x); }
OFFKIT_EXPORT float axpy(float a, float x, float y) { return merely_external(fma(a, x, y)); }
"#;

/// Runs the driver with the words of a command line; what it caches stays in the folder.
fn driver(folder: &Folder, line: &str) -> Outcome {
    let mut command = Command::new(offkit());
    command
        .args(line.split_whitespace())
        .env("XDG_CACHE_HOME", folder.path("cache"));
    folder.run_command(&mut command)
}

fn sources() -> Folder {
    let folder = Folder::new();
    folder.write("kernel.cpp", KERNEL);
    folder.write("library.cl", LIBRARY);
    folder
}

/// Launches `saxpy` of a file and checks what comes out.
fn run_saxpy(folder: &Folder, file: &str, options: &str) {
    folder.write("x.npy", npy_f32("(4,)", [1.0, 2.0, 3.0, 4.0]));
    folder.write("y.npy", npy_f32("(4,)", [10.0, 20.0, 30.0, 40.0]));
    let run =
        format!("run {file} saxpy {options} --global 4 --arg f32:2 --arg x.npy --arg y.npy --out 2=out.npy");
    folder.offkit(&run).ok();
    assert_eq!(read_f32(&folder.read("out.npy")), [12.0, 24.0, 36.0, 48.0]);
}

#[test]
fn sources_of_several_languages_make_one_file() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    driver(&folder, "c++ -fsyclbin kernel.cpp library.cl -o all.syclbin").ok();
    run_saxpy(&folder, "all.syclbin", "");
    // Each by itself, to be linked when the kernel is loaded.
    driver(&folder, "c++ -fsyclbin=object kernel.cpp").ok();
    driver(&folder, "c++ -fsyclbin=object library.cl").ok();
    run_saxpy(&folder, "kernel.syclbin", "--link library.syclbin");
    // The same function in the third language.
    folder.write(
        "library.clcpp",
        "#include <offkit/device.h>
         template <typename T> T twice(T x) { return x + x; }
         OFFKIT_C OFFKIT_EXPORT float axpy(float a, float x, float y) { return twice(a * x / 2) + y; }",
    );
    driver(&folder, "c++ -fsyclbin=object library.clcpp -o clcpp.syclbin").ok();
    run_saxpy(&folder, "kernel.syclbin", "--link clcpp.syclbin");
}

#[test]
fn what_is_marked_is_exported_and_nothing_else() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    driver(&folder, "c++ -fsyclbin=object library.cl").ok();
    driver(&folder, "c++ -fsyclbin=object kernel.cpp").ok();
    let listing = folder.offkit("ls --json library.syclbin kernel.syclbin").json();
    assert_eq!(listing[0]["exports"], serde_json::json!(["axpy"]));
    assert_eq!(listing[1]["imports"], serde_json::json!(["axpy"]));
    assert_eq!(listing[1]["kernels"], serde_json::json!(["saxpy"]));
    // The mark is gone: the two sides of a symbol must look the same to whoever links SPIR-V.
    for name in ["library.syclbin", "kernel.syclbin"] {
        let content = String::from_utf8_lossy(&folder.read(name)).into_owned();
        assert!(!content.contains("offkit_export"), "{name}");
    }
    // Where nothing is marked and nothing is a kernel, what is external is exported, as `offkit link` has it.
    folder.write(
        "plain.cpp",
        "extern \"C\" [[clang::sycl_external]] int plain(int x) { return x; }",
    );
    driver(&folder, "c++ -fsyclbin=object plain.cpp").ok();
    let listing = folder.offkit("ls --json plain.syclbin").json();
    assert_eq!(listing[0]["exports"], serde_json::json!(["plain"]));
}

#[test]
fn objects_hold_device_code_that_other_tools_find() {
    need!("clang-22", "llvm-config-22", "llvm-objdump");
    let folder = sources();
    driver(
        &folder,
        "c++ -fsycl -O1 -Wall -Werror -fPIC -march=native -std=c++17 -c kernel.cpp library.cl",
    )
    .ok();
    for (object, kernels) in [
        ("kernel.o", serde_json::json!(["saxpy"])),
        ("library.o", serde_json::json!([])),
    ] {
        let found = folder
            .run(tool("llvm-objdump").expect("asked for"), ["--offloading", object])
            .ok();
        assert!(
            found.contains("sycl") && found.contains("spirv64-unknown-unknown"),
            "{found}"
        );
        let listing = folder.offkit(&format!("ls --json {object}")).json();
        assert_eq!(listing.len(), 1);
        assert_eq!(listing[0]["kernels"], kernels, "{object}");
    }
    // The host's code is there where the language has any, without the kernel, which calls what no host has.
    let symbols = |object: &str| folder.run(tool("llvm-nm").expect("LLVM"), [object]).ok();
    assert!(symbols("kernel.o").contains("on_both_sides") && !symbols("kernel.o").contains("axpy"));
    assert!(!symbols("library.o").contains("axpy"));
}

#[test]
fn code_is_compiled_for_every_target() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    let targets =
        "-fsycl-targets=spir64,nvptx64-nvidia-cuda --offload-arch=sm_70 -fsycl-targets=amd_gpu_gfx90a";
    driver(&folder, &format!("c++ -fsycl {targets} -c kernel.cpp")).ok();
    driver(&folder, "c++ -fsycl --offload-arch=gfx90a,sm_80 -c library.cl").ok();
    let targets = |object: &str| -> Vec<String> {
        let images = folder.offkit(&format!("ls --json {object}")).json();
        let target =
            |image: &serde_json::Value| format!("{} {}", image["triple"], image["arch"]).replace('"', "");
        images.iter().map(target).collect()
    };
    assert_eq!(
        targets("kernel.o"),
        [
            "spirv64-unknown-unknown generic",
            "amdgcn-amd-amdhsa gfx90a",
            "nvptx64-nvidia-cuda sm_70"
        ]
    );
    assert_eq!(
        targets("library.o"),
        ["amdgcn-amd-amdhsa gfx90a", "nvptx64-nvidia-cuda sm_80"]
    );
}

#[test]
fn the_plan_can_be_typed() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write(
        "with space.cl",
        "#include <offkit/device.h>\nOFFKIT_EXPORT int spaced(int x) { return x; }",
    );
    let mut command = Command::new(offkit());
    command
        .env("XDG_CACHE_HOME", folder.path("cache"))
        .env("TMPDIR", folder.path(""));
    command.args([
        "c++",
        "-fsyclbin=object",
        "-DQUOTED=\"a $b\"",
        "kernel.cpp",
        "with space.cl",
        "-o",
        "out.syclbin",
        "-###",
    ]);
    let plan = folder.run_command(&mut command);
    assert_eq!((plan.code, &*plan.stdout), (0, ""));
    let lines: Vec<_> = plan.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{lines:#?}");
    assert!(lines.iter().all(|line| line.starts_with(" \"/")), "{lines:#?}");
    assert!(!folder.path("out.syclbin").exists());
    for line in &lines {
        folder.run("sh", ["-c", line]).ok();
    }
    let listing = folder.offkit("ls --json out.syclbin").json();
    assert!(
        listing
            .iter()
            .any(|image| image["kernels"] == serde_json::json!(["saxpy"])),
        "{listing:#?}"
    );
    assert!(
        listing
            .iter()
            .any(|image| image["exports"] == serde_json::json!(["spaced"])),
        "{listing:#?}"
    );
}

#[test]
fn temporary_files_stay_when_asked_to() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    driver(&folder, "c++ -fsycl -save-temps -c kernel.cpp").ok();
    let files = folder.list();
    for name in [
        "kernel-sycl-spirv64-unknown-unknown.bc",
        "kernel-sycl-spirv64-unknown-unknown.marked.bc",
        "kernel-sycl.out",
        "kernel.o",
    ] {
        assert!(
            files.iter().any(|file| file == name),
            "{name} is not among {files:?}"
        );
    }
    let clean = sources();
    driver(&clean, "c++ -fsycl -c kernel.cpp").ok();
    assert_eq!(clean.list(), ["cache", "kernel.cpp", "kernel.o", "library.cl"]);
}

#[test]
fn without_offloading_it_is_clang() {
    need!("clang-22");
    let folder = Folder::new();
    folder.write("a.c", "int f(int x) { return x + ADDED; }\n");
    folder.write("broken.c", "int f( { return }\n");
    folder.write(
        "main.cpp",
        "#include <string>\nint main() { return std::string(\"four\").size(); }\n",
    );
    let clang = tool("clang-22").expect("asked for");
    for line in [
        "--version",
        "-print-resource-dir",
        "-dumpmachine",
        "-E -DADDED=1 a.c",
        "-M a.c",
        "-S -O2 -DADDED=1 a.c -o -",
        "-c broken.c",
        "-c a.c -unknown-option",
        "-c a.c -lm -DADDED=1",
        "missing.c",
        "",
    ] {
        let ours = driver(&folder, &format!("cc {line}"));
        let theirs = folder.run(&clang, line.split_whitespace());
        assert_eq!(
            (ours.code, ours.stdout, ours.stderr),
            (theirs.code, theirs.stdout, theirs.stderr),
            "{line}"
        );
    }
    driver(&folder, "c++ main.cpp -o main").ok();
    assert_eq!(folder.run(folder.path("main"), [""; 0]).code, 4);
    // Nothing was written beside what clang writes.
    assert!(!folder.path("cache").exists());
}

#[test]
fn build_systems_learn_what_objects_depend_on() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("inner.h", "#define INNER 1\n");
    for source in ["kernel.cpp", "library.cl"] {
        let text = String::from_utf8(folder.read(source)).expect("text");
        folder.write(source, format!("#include \"inner.h\"\n{text}"));
    }
    driver(&folder, "c++ -fsycl -MMD -c kernel.cpp -o k.o").ok();
    driver(&folder, "c++ -fsycl -MMD -c library.cl -o l.o").ok();
    driver(
        &folder,
        "c++ -fsycl -MD -MF l.dep -MT target -c library.cl -o m.o",
    )
    .ok();
    for (file, target) in [("k.d", "k.o:"), ("l.d", "l.o:"), ("l.dep", "target:")] {
        let content = String::from_utf8(folder.read(file)).expect("text");
        assert!(
            content.starts_with(target) && content.contains("inner.h"),
            "{file}: {content}"
        );
    }
}

#[test]
fn arguments_come_from_files() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("arguments", "-fsyclbin=object \"kernel.cpp\"\n-o out.syclbin");
    driver(&folder, "c++ @arguments").ok();
    assert!(folder.path("out.syclbin").exists());
    // More than a system takes on a command line, for clang to read from a file as well.
    let many: String = (0..5_000)
        .map(|number| format!("-DA_RATHER_LONG_NAME_OF_A_MACRO_{number}='a {number}'\n"))
        .collect();
    folder.write("many", many);
    driver(&folder, "c++ -fsycl -c kernel.cpp @many").ok();
    // And for the device's link; with so small a stack the system takes 128 KiB.
    driver(&folder, "c++ -fsycl -c library.cl").ok();
    let ar = tool("ar").expect("installed with the linker");
    folder.run(ar, ["rcs", "liblibrary.a", "library.o"]).ok();
    let again = format!("{}liblibrary.a\n", "./".repeat(100));
    folder.write("many", again.repeat(1_000));
    let link = format!(
        "ulimit -s 512; exec {} c++ -fsyclbin kernel.o @many -o many.syclbin",
        offkit().display()
    );
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &link])
        .env("XDG_CACHE_HOME", folder.path("cache"));
    folder.run_command(&mut shell).ok();
    assert!(folder.path("many.syclbin").exists());
}

#[test]
fn commands_are_timed() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    let timed = driver(
        &folder,
        "c++ -fsyclbin -time kernel.cpp library.cl -o out.syclbin",
    );
    assert_eq!(timed.code, 0, "{timed:?}");
    let lines: Vec<_> = timed.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "{timed:?}");
    assert!(
        lines[0].contains(" kernel.cpp → kernel-") && lines[4].ends_with("offkit link → out.syclbin"),
        "{timed:?}"
    );
}

#[test]
fn failures_are_told_once() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    folder.write("broken.cpp", "int f( { return }\n");
    let outcome = driver(&folder, "c++ -fsyclbin broken.cpp library.cl -o out.syclbin");
    let message = outcome.fails(1);
    assert!(
        message.contains("broken.cpp:1:10: error: expected expression"),
        "{message}"
    );
    assert_eq!(message.matches("expected expression").count(), 1, "{message}");
    assert!(!folder.path("out.syclbin").exists());

    for (line, expected) in [
        (
            "c++ -fsyclbin=some kernel.cpp",
            "invalid value 'some' in '-fsyclbin='",
        ),
        (
            "c++ -fsycl -c kernel.cpp library.cl -o x.o",
            "cannot specify -o when generating multiple output files",
        ),
        (
            "c++ -fsyclbin=input -fno-sycl-allow-device-image-dependencies kernel.cpp",
            "'-fno-sycl-allow-device-image-dependencies' not allowed with '-fsyclbin=input'",
        ),
    ] {
        let message = driver(&folder, line).fails(2);
        assert!(message.contains(expected), "{line}: {message}");
    }
}

#[test]
fn errors_speak_of_what_was_typed() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    const FILL: &str = "kernel void fill(global int *p) { p[get_global_id(0)] = 1; }\n";
    folder.write("one.cl", FILL);
    folder.write("two.cl", FILL);
    folder.write("main.cpp", "int missing();\nint main() { return missing(); }\n");
    let said = |line: &str| {
        let outcome = driver(&folder, line);
        assert_ne!(outcome.code, 0, "{line}");
        // Neither temporary files nor the options of what the driver calls.
        for foreign in [
            ".marked.bc",
            "-host.o",
            "--state",
            "--allow-undefined",
            "--target",
        ] {
            assert!(!outcome.stderr.contains(foreign), "{line}: {}", outcome.stderr);
        }
        outcome.stderr
    };
    let twice = said("c++ -fsyclbin one.cl two.cl");
    assert!(twice.contains("(one.cl and two.cl)"), "{twice}");
    let undefined = said("c++ -fsyclbin kernel.cpp");
    assert!(undefined.contains("`-fsyclbin=object`"), "{undefined}");
    let undefined = said("c++ -fsycl kernel.cpp main.cpp");
    assert!(
        undefined.contains("`-fsycl-allow-device-image-dependencies`"),
        "{undefined}"
    );
    let linked = said("c++ -fsycl one.cl main.cpp");
    assert!(
        linked.contains("main.cpp: in function") && linked.contains("hint: a SYCL runtime"),
        "{linked}"
    );
    let processor = said("c++ -fsyclbin -fsycl-targets=nvptx64-nvidia-cuda one.cl");
    assert!(processor.contains("--offload-arch=sm_80"), "{processor}");
    let native = said("c++ -fsyclbin -fsycl-targets=native_cpu one.cl");
    assert!(native.contains("`native_cpu` is a target of DPC++"), "{native}");
    let work_items = said("c++ -fsyclbin -fsycl-targets=x86_64-unknown-linux-gnu kernel.cpp");
    assert!(
        work_items.contains("'offkit_global_id' is unavailable"),
        "{work_items}"
    );
    // Host and device say the same of a source, once; and of what is written, its own name is said.
    let unknown = said("c++ -fsycl -fsycl-nonsense kernel.cpp");
    assert_eq!(unknown.matches("-fsycl-nonsense").count(), 1, "{unknown}");
    let itself = said("c++ -fsyclbin one.cl -o one.cl");
    assert!(itself.contains("`one.cl` is read"), "{itself}");
    assert_eq!(folder.read("one.cl"), FILL.as_bytes());
    // Files that stay are known by their own names.
    let kept = driver(&folder, "c++ -fsyclbin -save-temps one.cl two.cl").fails(2);
    assert!(kept.contains("marked.bc"), "{kept}");
}

#[test]
fn options_without_effect_are_told() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    let unused = "argument unused during compilation: '-fsyclbin=object' [-Wunused-command-line-argument]";
    let line = "c++ -fsycl -fsycl-device-only -fsyclbin=object -c library.cl -o library.bc";
    let outcome = driver(&folder, line);
    assert!(outcome.stderr.contains(unused), "{outcome:#?}");
    outcome.ok();
    let outcome = driver(&folder, &format!("{line} -Wno-unused-command-line-argument"));
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""));
    let outcome = driver(
        &folder,
        "c++ -fsyclbin -fsycl-allow-device-image-dependencies -### library.cl",
    );
    let ignored = "'-fsycl-allow-device-image-dependencies' has no effect with '-fsyclbin=executable' [-Woption-ignored]";
    assert!(outcome.stderr.contains(ignored), "{outcome:#?}");
    // What `-fsycl-device-only` leaves is linked like any bitcode, by its marks.
    folder.offkit("link library.bc -o library.syclbin").ok();
    let listing = folder.offkit("ls --json library.syclbin").json();
    assert_eq!(listing[0]["exports"], serde_json::json!(["axpy"]));
}

#[test]
fn files_are_known_by_what_is_in_them() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    driver(&folder, "c++ -fsycl -fsycl-device-only -c library.cl -o bitcode").ok();
    driver(&folder, "c++ -fsycl -c kernel.cpp -o object").ok();
    driver(&folder, "c++ -fsyclbin=object library.cl -o container").ok();
    driver(&folder, "cc -c -emit-llvm -x c /dev/null -o host.bc").ok();
    let plan = driver(
        &folder,
        "c++ -fsycl bitcode object container host.bc missing -###",
    )
    .stderr;
    let plan: Vec<_> = plan.lines().collect();
    assert!(
        plan[0].contains("\"mark\"") && plan[0].contains("\"--only-annotated\" \"bitcode\""),
        "{plan:#?}"
    );
    assert!(plan[1].contains("\"-c\" \"host.bc\""), "{plan:#?}");
    let words = |line: &str| -> Vec<String> {
        let names = ["object", "container", "missing", "host.bc", "bitcode"];
        let words = line
            .split_whitespace()
            .map(|word| word.trim_matches('"').to_owned());
        words.filter(|word| names.contains(&&**word)).collect()
    };
    assert_eq!(words(plan[2]), ["object", "container", "missing"]);
    assert_eq!(words(plan[4]), ["object", "missing"]);
}

#[test]
fn a_missing_compiler_is_the_machines_fault() {
    let folder = sources();
    let mut command = Command::new(offkit());
    command
        .args(["cc", "-c", "kernel.cpp"])
        .env("OFFKIT_CLANG", "/nonexistent/clang");
    let message = folder.run_command(&mut command).fails(3);
    assert!(
        message.contains("/nonexistent/clang") && message.contains("OFFKIT_CLANG"),
        "{message}"
    );
}

#[test]
fn tools_come_from_a_folder_that_nobody_else_writes_to() {
    use std::os::unix::fs::PermissionsExt;
    need!("clang-22");
    let folder = sources();
    let temporary = folder.path("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    let without_home = || {
        let mut command = Command::new(offkit());
        command
            .args(["c++", "-fsycl", "-###", "-c", "kernel.cpp"])
            .env_remove("HOME")
            .env_remove("XDG_CACHE_HOME")
            .env("TMPDIR", &temporary);
        folder.run_command(&mut command)
    };
    without_home().ok();
    let mut made = std::fs::read_dir(&temporary).expect("it is there");
    let made = made
        .next()
        .expect("the folder of tools")
        .expect("an entry")
        .path();
    let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&made), 0o700);
    without_home().ok();

    std::fs::set_permissions(&made, PermissionsExt::from_mode(0o777)).expect("it is ours");
    let message = without_home().fails(3);
    for part in ["others can write to it", "XDG_CACHE_HOME"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn libraries_come_from_named_folders_only() {
    need!("clang-22", "llvm-config-22", "ar");
    let folder = sources();
    driver(&folder, "c++ -fsycl -c library.cl").ok();
    folder
        .run(
            tool("ar").expect("asked for before"),
            ["rcs", "libstray.a", "library.o"],
        )
        .ok();
    let link = |variable: Option<&str>| {
        let mut command = Command::new(offkit());
        command
            .args(["c++", "-fsyclbin", "kernel.cpp", "-lstray"])
            .env("XDG_CACHE_HOME", folder.path("cache"))
            .env_remove("LIBRARY_PATH");
        command.envs(variable.map(|value| ("LIBRARY_PATH", value)));
        folder.run_command(&mut command)
    };
    link(Some(".")).ok();
    for variable in [None, Some(""), Some("/nonexistent:")] {
        let outcome = link(variable);
        assert_eq!(outcome.code, 2, "{variable:?}: {outcome:?}");
    }
}

#[test]
fn device_code_in_c_is_refused_in_one_error() {
    need!("clang-22");
    let folder = Folder::new();
    folder.write(
        "a.c",
        "#include <offkit/device.h>\nOFFKIT_EXPORT int f(int x) { return x; }\n",
    );
    let message = driver(&folder, "cc -fsycl -c a.c").fails(1);
    assert!(
        message.contains("compile the file as C++ or as OpenCL C"),
        "{message}"
    );
    assert_eq!(message.matches("error:").count(), 1, "{message}");
}

#[test]
fn a_compiler_of_one_word_is_a_link() {
    need!("clang-22");
    let folder = Folder::new();
    std::os::unix::fs::symlink(offkit(), folder.path("offkit-c++")).expect("a link");
    folder.write(
        "main.cpp",
        "#include <string>\nint main() { return std::string(\"four\").size(); }\n",
    );
    folder
        .run(folder.path("offkit-c++"), ["main.cpp", "-o", "main"])
        .ok();
    assert_eq!(folder.run(folder.path("main"), [""; 0]).code, 4);
}

#[test]
fn another_clang_is_used_when_named() {
    need!("clang-22");
    let folder = Folder::new();
    let other = folder.script("other-clang", "echo \"called with $*\"");
    let mut command = Command::new(offkit());
    command.args(["c++", "-c", "a.cpp"]).env("OFFKIT_CLANG", other);
    assert_eq!(
        folder.run_command(&mut command).ok(),
        "called with --driver-mode=g++ -c a.cpp\n"
    );
}

#[test]
fn openmp_regions_are_linked_by_offkit_and_run_on_the_device() {
    need!("clang-22", "llvm-config-22");
    if !has_openmp() {
        return;
    }
    let folder = Folder::new();
    folder.write(
        "main.c",
        "#include <omp.h>
         #include <stdio.h>
         int thrice(int);
         #pragma omp declare target to(thrice)
         int main() {
           int x = 14, host = 1;
           #pragma omp target map(tofrom : x, host)
           { x = thrice(x); host = omp_is_initial_device(); }
           printf(\"%d %s\\n\", x, host ? \"host\" : \"device\");
         }",
    );
    folder.write(
        "library.c",
        "#pragma omp declare target
         int thrice(int x) { return 3 * x; }
         #pragma omp end declare target",
    );
    let openmp = "-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -O1";
    driver(&folder, &format!("cc {openmp} -c library.c")).ok();
    folder.run("ar", ["rcs", "libthrice.a", "library.o"]).ok();
    driver(&folder, &format!("cc {openmp} main.c -L. -lthrice -o main")).ok();
    let mut command = Command::new(folder.path("main"));
    command
        .env("OMP_TARGET_OFFLOAD", "MANDATORY")
        .env("LD_LIBRARY_PATH", "/usr/lib/llvm-22/lib");
    assert_eq!(folder.run_command(&mut command).ok(), "42 device\n");
    // It is offkit that linked it, under the name that clang calls.
    let plan = driver(&folder, &format!("cc {openmp} main.c -L. -lthrice -###"));
    let last = plan.stderr.lines().last().unwrap_or_default();
    assert!(
        last.contains("/cache/offkit/") && last.contains("/bin/clang-linker-wrapper\""),
        "{last}"
    );
}

#[test]
fn device_code_is_linked_alone() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    driver(&folder, "c++ -fsyclbin=object kernel.cpp").ok();
    driver(&folder, "c++ -fsyclbin=input library.cl").ok();
    driver(
        &folder,
        "c++ -fsycl-link kernel.syclbin library.syclbin -o linked.syclbin",
    )
    .ok();
    run_saxpy(&folder, "linked.syclbin", "");
    let state = folder.offkit("ls linked.syclbin").ok();
    assert!(state.contains("executable state"), "{state}");
    // Half of it cannot be complete.
    let message = driver(&folder, "c++ -fsycl-link kernel.syclbin -o half.syclbin").fails(2);
    assert!(message.contains("axpy"), "{message}");
    assert!(!folder.path("half.syclbin").exists());

    // Objects become one that registers the images and is linked by any linker.
    driver(&folder, "c++ -fsycl -c kernel.cpp library.cl").ok();
    driver(&folder, "c++ -fsycl -fsycl-link kernel.o library.o -o images.o").ok();
    run_saxpy(&folder, "images.o", "");
    let symbols = folder.run(tool("llvm-nm").expect("LLVM"), ["images.o"]).ok();
    assert!(symbols.contains("U __sycl_register_lib"), "{symbols}");
}

#[test]
fn options_of_devices_travel_with_their_images() {
    need!("clang-22", "llvm-config-22");
    let folder = sources();
    let options =
        "-Xsycl-target-backend -cl-fast-relaxed-math -Xsycl-target-linker=spir64 -cl-no-signed-zeros";
    driver(
        &folder,
        &format!("c++ -fsycl -fsycl-link {options} kernel.cpp library.cl -o images.o"),
    )
    .ok();
    let shown = folder.offkit("show images.o").ok();
    assert!(
        shown.contains("-cl-fast-relaxed-math") && shown.contains("-cl-no-signed-zeros"),
        "{shown}"
    );
}

#[test]
fn the_real_sycl_runtime_runs_what_the_driver_links() {
    need!("clang-22", "llvm-config-22");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    folder.write(
        "app.cpp",
        "#include <offkit/device.h>
         OFFKIT_C OFFKIT_EXTERNAL int library_function(int x);
         OFFKIT_C OFFKIT_KERNEL void app_kernel(OFFKIT_GLOBAL int *numbers) {
           auto i = offkit_global_id(0);
           numbers[i] = library_function(numbers[i]) + 1;
         }",
    );
    folder.write(
        "library.cl",
        "#include <offkit/device.h>
         OFFKIT_EXPORT int library_function(int x) { return x * 7; }",
    );
    // Compiled by another compiler, with the headers of its SYCL implementation.
    let main = runtime.registered_object().display().to_string();
    let libraries = runtime.library_folder().display().to_string();
    let sycl = format!("-L{libraries} -l:libsycl.so.9 -ldl -Wl,-rpath,{libraries}");
    let printed = "8 15 22 29 36 43 50 57 registered\n";

    driver(
        &folder,
        &format!("c++ -fsycl {main} app.cpp library.cl {sycl} -o together"),
    )
    .ok();
    assert_eq!(runtime.run_linked(&folder, "together", &[]).ok(), printed);

    // The function in a shared library, whose image is found when the kernel is.
    let open = "-fsycl -fsycl-allow-device-image-dependencies";
    driver(
        &folder,
        &format!("c++ {open} -shared library.cl {sycl} -o liblibrary.so"),
    )
    .ok();
    let missing = driver(&folder, &format!("c++ -fsycl {main} app.cpp {sycl} -o closed"));
    assert!(missing.fails(2).contains("library_function"));
    let linked = format!(
        "c++ {open} {main} app.cpp -L. -Wl,--no-as-needed -llibrary {sycl} -Wl,-rpath,$ORIGIN -o apart"
    );
    driver(&folder, &linked).ok();
    assert_eq!(runtime.run_linked(&folder, "apart", &[]).ok(), printed);
}
