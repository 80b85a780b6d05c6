//! The runtime for C and C++: `include/offkit.h`, `include/offkit.hpp` and `liboffkit.so`, by programs that are compiled
//! against them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use offkit_tests::c_program::{compile, liboffkit as library};
use offkit_tests::documentation::blocks;
use offkit_tests::drivers::alone;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::valgrind::VALGRIND;
use offkit_tests::{Folder, Outcome, mock, need, root, tool};

/// What programs with wrapped images call.
const REGISTRATION: [&str; 4] = [
    "__sycl_register_lib",
    "__sycl_unregister_lib",
    "__tgt_register_lib",
    "__tgt_unregister_lib",
];

const STRICT: &str = "-Wall -Wextra -Wpedantic -Werror -g";

/// A source of `examples/c-api`.
fn source(name: &str) -> String {
    root().join("examples/c-api").join(name).display().to_string()
}

/// Runs a program that sees no devices but those of offkit itself.
fn run(folder: &Folder, program: &str, arguments: &[&str]) -> Outcome {
    run_under(folder, &[], program, arguments)
}

/// The same by another program, with its options.
fn run_under(folder: &Folder, under: &[&str], program: &str, arguments: &[&str]) -> Outcome {
    let program = folder.path(program).display().to_string();
    let words: Vec<_> = under.iter().copied().chain([program.as_str()]).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(arguments);
    folder.run_command(alone(&mut command))
}

/// A folder with `app.syclbin`, which has saxpy, and `library.syclbin`, which has axpy.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.linked_example();
    folder
}

const FILL: &str = "kernel void fill(int value, global int *numbers) {
      numbers[get_global_id(0)] = value + (int)get_global_id(0);
    }";

/// Wraps the two files: `app.o`, and `liblibrary.so`.
fn wrap(folder: &Folder, runtime: &str) {
    for name in ["app", "library"] {
        let line = format!("wrap -q {name}.syclbin -o {name}.o --runtime {runtime}");
        folder.offkit(&line).ok();
    }
    compile(folder, "cc", "-shared library.o", "liblibrary.so");
}

#[test]
fn the_header_declares_what_the_library_exports() {
    need!("llvm-nm");
    let header = fs::read_to_string(root().join("include/offkit.h")).expect("the header");
    let declared = header.lines().filter(|line| line.starts_with("OFFKIT_API "));
    let name = |line: &str| {
        let (before, _) = line.split_once('(').expect("a function");
        before.rsplit([' ', '*']).next().unwrap_or_default().to_owned()
    };
    let declared: BTreeSet<String> = declared
        .map(name)
        .chain(REGISTRATION.map(str::to_owned))
        .collect();
    let folder = Folder::new();
    let mut nm = Command::new(tool("llvm-nm").expect("asked for before"));
    nm.args(["-D", "--defined-only", "-j"]).arg(library());
    let exported = folder.run_command(&mut nm).ok();
    let mut exported: BTreeSet<String> = exported.lines().map(str::to_owned).collect();
    // What OpenMP's programs call is declared by clang and in its <omp.h>.
    let is_openmps = |name: &String| {
        ["__tgt_", "omp_", "llvm_omp_"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    exported.retain(|name| !is_openmps(name) || REGISTRATION.contains(&name.as_str()));
    assert_eq!(declared, exported);
    assert!(declared.len() > 70, "{declared:?}");
}

#[test]
fn the_headers_are_clean_in_every_language_and_compiler() {
    need!("cc", "c++", "clang-22", "clang++-22");
    let folder = Folder::new();
    folder.write("plain.c", "#include <offkit.h>\nint main(void) { return 0; }\n");
    folder.write("plain.cpp", "#include <offkit.h>\nint main() {}\n");
    folder.write("raii.cpp", "#include <offkit.hpp>\nint main() {}\n");
    for (compilers, standard, file) in [
        (["cc", "clang-22"], "c99", "plain.c"),
        (["cc", "clang-22"], "c23", "plain.c"),
        (["c++", "clang++-22"], "c++11", "plain.cpp"),
        (["c++", "clang++-22"], "c++17", "raii.cpp"),
        (["c++", "clang++-22"], "c++20", "raii.cpp"),
    ] {
        for compiler in compilers {
            // The system's compiler may not know the name of the newest.
            let standard = if standard == "c23" { "c2x" } else { standard };
            compile(
                &folder,
                compiler,
                &format!("{STRICT} -std={standard} {file}"),
                "program",
            );
        }
    }
}

#[test]
fn saxpy_runs_from_c_and_from_cpp() {
    need!("cc", "c++", "clang-22", "llvm-config-22", "valgrind");
    let folder = prepared();
    let files = ["app.syclbin", "library.syclbin"];
    for (compiler, options) in [
        ("cc", format!("-std=c99 {STRICT} {}", source("saxpy.c"))),
        ("c++", format!("-std=c++17 {STRICT} {}", source("saxpy.cpp"))),
    ] {
        compile(&folder, compiler, &options, "saxpy");
        let expected = "on offkit CPU on ";
        for outcome in [
            run(&folder, "saxpy", &files),
            run_under(&folder, &VALGRIND, "saxpy", &files),
        ] {
            let printed = outcome.ok();
            assert!(printed.starts_with(expected), "{printed}");
            let rest = printed.split_once('\n').map(|(_, rest)| rest);
            assert_eq!(
                rest,
                Some("saxpy(f32, global const f32*, global f32*), of 2 images\n2.5 * 1023 + 1 = 2558.5\n")
            );
        }
        let message = run(&folder, "saxpy", &files[..1]).fails(1);
        for part in [
            "saxpy: kernel `saxpy` needs `axpy`, which `app.syclbin!",
            "(error 5)",
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}

#[test]
fn errors_bundles_memory_and_threads_are_what_the_header_says() {
    need!("cc", "clang-22", "llvm-config-22", "valgrind");
    let folder = prepared();
    folder.syclbin("input", FILL, "--state input");
    folder.syclbin(
        "rival",
        "float axpy(float a, float x, float y) { return a - x - y; }",
        "",
    );
    folder.offkit("extract -q input.syclbin!0/ir/0 -o out").ok();
    fs::rename(
        folder.path("out/input.syclbin.0.ir.0.spv"),
        folder.path("kernel.spv"),
    )
    .expect("the module");
    let behaviour = root().join("tests/c-api/behaviour.c").display().to_string();
    compile(
        &folder,
        "cc",
        &format!("-std=c99 {STRICT} {behaviour}"),
        "behaviour",
    );
    assert_eq!(run(&folder, "behaviour", &["."]).ok(), "done\n");
    assert_eq!(run_under(&folder, &VALGRIND, "behaviour", &["."]).ok(), "done\n");
}

#[test]
fn the_cpp_header_covers_bundles_memory_and_wait_lists() {
    need!("c++", "clang-22", "llc", "llvm-config-22", "valgrind");
    let folder = prepared();
    folder.constants("constants.syclbin");

    let raii = root().join("tests/c-api/raii.cpp").display().to_string();
    compile(&folder, "c++", &format!("-std=c++17 {STRICT} {raii}"), "raii");
    for under in [&[][..], &VALGRIND] {
        assert_eq!(run_under(&folder, under, "raii", &["."]).ok(), "done\n");
    }
}

#[test]
fn devices_are_divided() {
    need!("c++");
    let folder = Folder::new();
    let parts = root().join("tests/c-api/parts.cpp").display().to_string();
    compile(&folder, "c++", &format!("-std=c++17 {STRICT} {parts}"), "parts");
    let names = ["1", "2", "3"].map(|number| format!("Mock GPU, part {number}\n"));
    let mut command = Command::new(folder.path("parts"));
    // A script without a word: one device.
    folder.write("script", "");
    alone(&mut command)
        .env("OFFKIT_PLUGINS", mock())
        .env("OFFKIT_CPU_THREADS", "4")
        .env(pi_mock::SCRIPT_VARIABLE, folder.path("script"));
    assert_eq!(folder.run_command(&mut command).ok(), names.concat());
}

#[test]
fn descriptors_of_all_versions_are_registered_and_let_go() {
    need!("cc", "clang-22", "llc", "valgrind");
    let folder = Folder::new();
    folder.spirv("fill", FILL);
    let descriptors = root().join("tests/c-api/descriptors.c").display().to_string();
    compile(
        &folder,
        "cc",
        &format!("-std=c11 {STRICT} {descriptors}"),
        "descriptors",
    );
    for under in [&[][..], &VALGRIND] {
        let printed = run_under(&folder, under, "descriptors", &["fill.spv"]).ok();
        assert_eq!(printed, "done\n");
    }
}

#[test]
fn wrapped_programs_and_libraries_register_what_they_have() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = prepared();
    for runtime in ["sycl-v2", "sycl-v3", "sycl-llvm", "offload"] {
        wrap(&folder, runtime);
        let program = format!("-std=c99 {STRICT} {} app.o", source("wrapped.c"));
        compile(&folder, "cc", &program, "wrapped");

        // A library that comes and goes.
        let printed = run(&folder, "wrapped", &["./liblibrary.so"]).ok();
        let lines: Vec<_> = printed.lines().collect();
        assert_eq!(lines.len(), 4, "{runtime}: {printed}");
        assert!(lines[0].contains("/wrapped!"), "{runtime}: {printed}");
        assert!(lines[1].contains("/liblibrary.so!"), "{runtime}: {printed}");
        assert_eq!(lines[2..], ["1 3 5 7 9 11 13 15 ", "2 images stay"], "{runtime}");
        // Where an image is said to be, the command line finds it in the file, if it knows that form there.
        if runtime != "offload" {
            folder.offkit(&format!("show {}", lines[0])).ok();
        }
        // Without it the kernel lacks a function.
        let outcome = run(&folder, "wrapped", &[]);
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (1, "2 images stay\n"),
            "{outcome:?}"
        );
        assert!(
            outcome.stderr.contains("kernel `saxpy` needs `axpy`, which `/"),
            "{}",
            outcome.stderr
        );
        // Linked with it the program has it from the start, and so with the library loaded before.
        let linked = format!("{program} -L. -Wl,--no-as-needed -llibrary -Wl,-rpath,$ORIGIN");
        compile(&folder, "cc", &linked, "linked");
        let printed = run(&folder, "linked", &[]).ok();
        assert!(
            printed.ends_with("1 3 5 7 9 11 13 15 \n3 images stay\n"),
            "{runtime}: {printed}"
        );
    }
}

#[test]
fn images_of_openmp_are_registered() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = prepared();
    folder
        .offkit("extract -q app.syclbin!0/ir/0 app.syclbin!1/ir/0 -o .")
        .ok();
    let line = "wrap -q app.syclbin.1.ir.0.spv -o app.o --runtime openmp --triple spirv64-unknown-unknown";
    folder.offkit(line).ok();
    folder
        .offkit("wrap -q library.syclbin -o library.o --runtime sycl-v3")
        .ok();
    compile(&folder, "cc", "-shared library.o app.o", "libboth.so");
    compile(
        &folder,
        "cc",
        &format!("-std=c99 {STRICT} {}", source("wrapped.c")),
        "wrapped",
    );
    // Both forms work together.
    let printed = run(&folder, "wrapped", &["./libboth.so"]).ok();
    assert!(
        printed.ends_with("1 3 5 7 9 11 13 15 \n0 images stay\n"),
        "{printed}"
    );
}

#[test]
fn programs_of_the_driver_find_their_own_kernels() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "kernel.cpp",
        "#include <offkit/device.h>
         OFFKIT_C OFFKIT_EXTERNAL float axpy(float a, float x, float y);
         OFFKIT_C OFFKIT_KERNEL void saxpy(float a, const OFFKIT_GLOBAL float *x, OFFKIT_GLOBAL float *y) {
           y[offkit_global_id(0)] = axpy(a, x[offkit_global_id(0)], y[offkit_global_id(0)]);
         }",
    );
    folder.write(
        "axpy.cpp",
        "#include <offkit/device.h>
         OFFKIT_C OFFKIT_EXTERNAL float axpy(float a, float x, float y) { return a * x + y; }",
    );
    let library = library();
    let place = library.parent().expect("a folder").display();
    let include = root().join("include").display().to_string();
    let link = format!("-I{include} -L{place} -Wl,-rpath,{place} -loffkit -ldl");
    let shared = "-fsycl -fsycl-allow-device-image-dependencies";
    folder
        .offkit(&format!(
            "c++ {shared} -shared -fPIC axpy.cpp {link} -o libaxpy.so"
        ))
        .ok();
    folder
        .offkit(&format!("c++ {shared} -c kernel.cpp -o kernel.o"))
        .ok();
    folder
        .run(
            tool("clang-22").expect("asked for before"),
            [
                "-c",
                &source("wrapped.c"),
                &format!("-I{include}"),
                "-o",
                "main.o",
            ],
        )
        .ok();
    folder
        .offkit(&format!("c++ {shared} main.o kernel.o {link} -o app"))
        .ok();
    let printed = run(&folder, "app", &["./libaxpy.so"]).ok();
    assert!(printed.contains("1 3 5 7 9 11 13 15 \n"), "{printed}");
    let message = run(&folder, "app", &[]).fails(1);
    assert!(message.contains("needs `axpy`"), "{message}");
}

/// Stands in for a SYCL runtime, and says what it is given.
const OTHER_RUNTIME: &str = r#"
#include <stdio.h>
void __sycl_register_lib(const void *images) { printf("another runtime's: %d\n", *(const short *)images); }
void __sycl_unregister_lib(const void *images) { (void)images; printf("another runtime's again\n"); }
"#;

#[test]
fn registrations_for_another_runtime_reach_it() {
    need!("cc", "clang-22", "llvm-config-22");
    let folder = prepared();
    wrap(&folder, "sycl-v3");
    folder.write("runtime.c", OTHER_RUNTIME);
    let run_cc = |words: &str| {
        folder
            .run(tool("cc").expect("asked for before"), words.split(' '))
            .ok()
    };
    run_cc("-shared -fPIC runtime.c -Wl,-soname,libsycl.so.8 -o libsycl.so.8");
    run_cc("-shared library.o -L. -l:libsycl.so.8 -Wl,-rpath,$ORIGIN -o libother.so");
    let program = format!("-std=c99 {STRICT} {} app.o", source("wrapped.c"));
    compile(&folder, "cc", &program, "wrapped");
    // The library's call finds offkit's function first, for the program was linked with that.
    let outcome = run(&folder, "wrapped", &["./liblibrary.so", "./libother.so"]);
    let printed = outcome.ok();
    assert!(printed.starts_with("another runtime's: 1\n"), "{printed}");
    assert!(
        printed.contains("1 3 5 7 9 11 13 15 \n"),
        "one `axpy`, not two: {printed}"
    );
    assert!(printed.contains("another runtime's again\n"), "{printed}");
    assert!(printed.ends_with("2 images stay\n"), "{printed}");
}

#[test]
fn the_real_sycl_runtime_keeps_its_registrations() {
    need!("cc", "clang-22", "llc", "llvm-config-22");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    let app = "kernel void app_kernel(global int *n) { size_t i = get_global_id(0); n[i] = n[i] * 7 + 1; }";
    folder.syclbin("app", app, "");
    folder
        .offkit("wrap -q app.syclbin -o app.o --runtime sycl-v3")
        .ok();
    runtime.link(&folder, "clang-22", "app.so", &["-shared", "app.o"]);
    // The program is linked with both runtimes, and offkit's functions are the first.
    let main = runtime.registered_object().display().to_string();
    let library = library();
    let place = library.parent().expect("a folder").display();
    let (search, find) = (format!("-L{place}"), format!("-Wl,-rpath,{place}"));
    let arguments = [main.as_str(), &search, &find, "-Wl,--no-as-needed", "-loffkit"];
    runtime.link(&folder, "cc", "loader", &arguments);
    let printed = runtime.run_linked(&folder, "loader", &["./app.so"]).ok();
    assert_eq!(printed, "8 15 22 29 36 43 50 57 gone\n");
}

#[test]
fn libraries_come_and_go_while_others_look() {
    need!("cc", "clang-22", "llvm-config-22", "valgrind");
    let folder = prepared();
    wrap(&folder, "sycl-v3");
    // A library without a symbol for others serves itself alone.
    folder.write("symbol.c", "int symbol;");
    compile(&folder, "cc", "-shared -fPIC library.o symbol.c", "liblibrary.so");
    let races = root().join("tests/c-api/races.c").display().to_string();
    compile(
        &folder,
        "cc",
        &format!("-std=c11 {STRICT} {races} app.o"),
        "races",
    );
    for under in [&[][..], &VALGRIND] {
        let printed = run_under(&folder, under, "races", &["./liblibrary.so"]).ok();
        assert_eq!(printed, "done\n");
    }
}

#[test]
fn installed_packages_are_found_by_cmake_and_pkg_config() {
    need!(
        "cc",
        "c++",
        "cmake",
        "pkg-config",
        "readelf",
        "clang-22",
        "llvm-config-22"
    );
    let folder = prepared();
    // As docs/c-api.md says.
    let commands = blocks("docs/c-api.md");
    let install = commands.iter().find(|(_, code)| code.contains("install -D"));
    let (_, install) = install.expect("how it is installed");
    let install: Vec<_> = install
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    let prefix = folder.path("prefix").display().to_string();
    let built = library();
    let place = built.parent().expect("a folder").display().to_string();
    let script = install.join("\n").replace("target/release", &place);
    let mut shell = Command::new("sh");
    shell
        .args(["-euc", &format!("cd \"$ROOT\"\n{script}")])
        .env("ROOT", root())
        .env("PREFIX", &prefix);
    folder.run_command(&mut shell).ok();

    let mut pkg_config = Command::new("pkg-config");
    pkg_config
        .args(["--cflags", "--libs", "offkit >= 0.1"])
        .env("PKG_CONFIG_PATH", format!("{prefix}/lib/pkgconfig"));
    let flags = folder.run_command(&mut pkg_config).ok();
    let mut words = vec![source("saxpy.c")];
    words.extend(flags.split_whitespace().map(str::to_owned));
    words.extend([
        format!("-Wl,-rpath,{prefix}/lib"),
        "-o".to_owned(),
        "by-pkg-config".to_owned(),
    ]);
    folder.run("cc", words).ok();

    folder.write(
        "CMakeLists.txt",
        format!(
            "cmake_minimum_required(VERSION 3.16)
             project(saxpy C CXX)
             find_package(offkit 0.1 REQUIRED)
             add_executable(by-cmake {})
             target_compile_features(by-cmake PRIVATE cxx_std_17)
             target_link_libraries(by-cmake offkit::offkit)",
            source("saxpy.cpp")
        ),
    );
    let prefix = format!("-DCMAKE_PREFIX_PATH={prefix}");
    folder.run("cmake", ["-S", ".", "-B", "build", &prefix]).ok();
    folder.run("cmake", ["--build", "build"]).ok();
    for program in ["by-pkg-config", "build/by-cmake"] {
        let printed = run(&folder, program, &["app.syclbin", "library.syclbin"]).ok();
        assert!(printed.ends_with("= 2558.5\n"), "{program}: {printed}");
        let needed = folder.run("readelf", ["-d", program]).ok();
        assert!(needed.contains("[liboffkit.so.0]"), "{program}: {needed}");
    }
}

#[test]
fn the_page_shows_the_example_as_it_is() {
    let page = blocks("docs/c-api.md");
    for (language, file) in [("c", "saxpy.c"), ("cpp", "saxpy.cpp")] {
        let example = fs::read_to_string(source(file)).expect("the example");
        let shown: Vec<_> = page.iter().filter(|(shown, _)| shown == language).collect();
        assert!(!shown.is_empty(), "the page shows nothing of {file}");
        for (_, code) in shown {
            assert!(example.contains(code.trim_end()), "not in {file}:\n{code}");
        }
    }
}
