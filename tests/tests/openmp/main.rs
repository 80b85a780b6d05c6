//! OpenMP programs on offkit's devices: compiled by clang 22 for SPIR-V, linked with offkit's device runtime, and run by
//! `liboffkit.so` in the place of LLVM's `libomptarget.so`.

use std::process::Command;

use offkit_tests::documentation::{blocks, examples};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, Outcome, has_openmp, library, need, offkit, programs};

/// Where LLVM's OpenMP runtime for the host is, which programs need besides.
const HOST_RUNTIME: &str = "/usr/lib/llvm-22/lib";

const SOURCES: [(&str, &str); 6] = [
    ("check.h", include_str!("check.h")),
    ("saxpy.c", include_str!("saxpy.c")),
    ("regions.c", include_str!("regions.c")),
    ("data.c", include_str!("data.c")),
    ("variables.c", include_str!("variables.c")),
    ("classes.cpp", include_str!("classes.cpp")),
];

fn folder() -> Folder {
    let folder = Folder::new();
    for (name, source) in SOURCES {
        folder.write(name, source);
    }
    folder
}

/// The folder of `liboffkit.so`.
fn runtime() -> String {
    programs().display().to_string()
}

/// Runs the driver.
fn driver(folder: &Folder, line: &str) -> Outcome {
    let mut command = Command::new(offkit());
    folder.run_command(command.args(line.split_whitespace()))
}

/// Compiles and links a program for offkit's devices.
#[track_caller]
fn build(folder: &Folder, line: &str) {
    let place = runtime();
    let (command, words) = line.split_once(' ').expect("a command and words");
    let options = "-fopenmp -fopenmp-targets=spirv64-intel";
    let line = format!("{command} {options} {words} -L{place} -Wl,-rpath,{place} -loffkit -lm");
    let said = driver(folder, &line);
    assert_eq!(said.stderr, "", "{line}");
    said.ok();
}

/// A program that runs its regions on the CPU device, or fails.
fn program(folder: &Folder, name: &str) -> Command {
    let mut command = Command::new(folder.path(name));
    command
        .env("OMP_TARGET_OFFLOAD", "MANDATORY")
        .env("LD_LIBRARY_PATH", HOST_RUNTIME)
        .env("ONEAPI_DEVICE_SELECTOR", "offkit:*");
    command
}

#[test]
fn a_program_runs_on_the_device_without_llvms_runtime_for_devices() {
    need!("clang-22", "llvm-config-22", "readelf");
    let folder = folder();
    build(&folder, "cc -O2 saxpy.c -o saxpy");
    let text = folder.run_command(&mut program(&folder, "saxpy")).ok();
    assert_eq!(text, "1999 666166500 on the device\n");
    let needed = folder.run("readelf", ["-d", "saxpy"]).ok();
    assert!(
        needed.contains("[liboffkit.so.0]") && !needed.contains("libomptarget"),
        "{needed}"
    );
    let text = folder
        .run_command(program(&folder, "saxpy").env("OMP_TARGET_OFFLOAD", "DISABLED"))
        .ok();
    assert_eq!(text, "1999 666166500 on the host\n");
}

#[test]
fn regions_mean_the_same_however_they_are_optimised() {
    need!("clang-22", "llvm-config-22");
    let folder = folder();
    for level in ["-O0", "-O1", "-O3 -g"] {
        for line in ["cc regions.c", "cc data.c", "cc variables.c", "c++ classes.cpp"] {
            build(&folder, &format!("{line} {level} -o program"));
            let text = folder.run_command(&mut program(&folder, "program")).ok();
            assert_eq!(text, "0 failures\n", "{line} {level}");
        }
    }
}

/// What these programs expect is what LLVM's runtime does.
#[test]
fn llvms_own_runtime_agrees() {
    need!("clang-22", "llvm-config-22");
    if !has_openmp() {
        return;
    }
    let folder = folder();
    for line in ["cc data.c", "cc variables.c", "c++ classes.cpp"] {
        driver(
            &folder,
            &format!("{line} -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -O1 -o real"),
        )
        .ok();
        let text = folder.run_command(&mut program(&folder, "real")).ok();
        assert_eq!(text, "0 failures\n", "{line}");
        // It stays with that runtime where ours is in the process, too.
        let ours = format!("{}/liboffkit.so", runtime());
        let text = folder
            .run_command(program(&folder, "real").env("LD_PRELOAD", ours))
            .ok();
        assert_eq!(text, "0 failures\n", "{line}");
    }
}

#[test]
fn regions_run_on_an_opencl_driver() {
    need!("clang-22", "llvm-config-22");
    let Some(driver) = SyclRuntime::get() else { return };
    let plugin = library("offkit_plugin_opencl");
    let folder = folder();
    for line in ["cc regions.c", "cc data.c", "cc variables.c"] {
        build(&folder, &format!("{line} -O2 -o program"));
        let mut command = program(&folder, "program");
        command
            .envs(driver.environment())
            .env(
                "LD_LIBRARY_PATH",
                format!("{}:{HOST_RUNTIME}", driver.library_folder().display()),
            )
            .env("OFFKIT_PLUGINS", &plugin)
            .env("ONEAPI_DEVICE_SELECTOR", "opencl:*");
        assert_eq!(folder.run_command(&mut command).ok(), "0 failures\n", "{line}");
    }
}

#[test]
fn device_code_of_several_files_and_archives_is_one_program() {
    need!("clang-22", "llvm-config-22", "ar");
    let folder = Folder::new();
    folder.write(
        "thrice.c",
        "#pragma omp declare target
         int thrice(int x) { return 3 * x; }
         #pragma omp end declare target",
    );
    folder.write(
        "main.c",
        "#include <stdio.h>
         int thrice(int);
         #pragma omp declare target to(thrice)
         int main() {
           int x[2] = {14, 1};
         #pragma omp target parallel for
           for (int i = 0; i < 2; i++) x[i] = thrice(x[i]);
           printf(\"%d\\n\", x[0] + x[1]);
         }",
    );
    let options = "-fopenmp -fopenmp-targets=spirv64-intel -O1 -c";
    driver(&folder, &format!("cc {options} thrice.c main.c")).ok();
    folder.run("ar", ["rcs", "libthrice.a", "thrice.o"]).ok();
    build(&folder, "cc main.o -L. -lthrice -o program");
    assert_eq!(folder.run_command(&mut program(&folder, "program")).ok(), "45\n");
}

#[test]
fn libraries_with_regions_come_and_go() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "library.c",
        "int add(int x) {
         #pragma omp target map(tofrom : x)
           x += NUMBER;
           return x;
         }",
    );
    build(&folder, "cc -fPIC -shared -DNUMBER=1 library.c -o libone.so");
    build(&folder, "cc -fPIC -shared -DNUMBER=10 library.c -o libten.so");
    folder.write(
        "main.c",
        "#include <dlfcn.h>
         #include <stdio.h>
         int main() {
           int x = 0;
           for (int i = 0; i < 4; i++) {
             void *library = dlopen(i % 2 ? \"./libten.so\" : \"./libone.so\", RTLD_NOW | RTLD_LOCAL);
             if (!library) return puts(dlerror()), 1;
             x = ((int (*)(int))dlsym(library, \"add\"))(x);
             dlclose(library);
           }
           printf(\"%d\\n\", x);
         }",
    );
    driver(&folder, "cc main.c -ldl -o program").ok();
    assert_eq!(folder.run_command(&mut program(&folder, "program")).ok(), "22\n");
}

#[test]
fn a_fault_in_a_region_ends_the_program_and_says_where() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "fault.c",
        "int main(int count, char **arguments) {
           int x[4] = {0}, at = 4 * count;
         #pragma omp target map(tofrom : x)
           x[at] = 1;
         }",
    );
    build(&folder, "cc -O1 -g fault.c -o fault");
    // On the device that checks every access.
    let outcome = folder.run_command(program(&folder, "fault").env("ONEAPI_DEVICE_SELECTOR", "offkit:1"));
    let said = &outcome.stderr;
    assert!(
        said.starts_with("offkit: OpenMP: region: kernel `__omp_offloading_"),
        "{said}"
    );
    assert!(
        said.contains("out of bounds") && said.contains("fault.c:4"),
        "{said}"
    );
}

#[test]
fn wrong_calls_end_the_program_with_words() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "absent.c",
        "int main() {
           int x[4] = {0};
         #pragma omp target map(present, tofrom : x)
           x[0] = 1;
         }",
    );
    folder.write(
        "more.c",
        "int main() {
           int x[4] = {0};
         #pragma omp target data map(tofrom : x[0 : 2])
         #pragma omp target map(tofrom : x[0 : 4])
           x[0] = 1;
         }",
    );
    let functions = ["omp_target_free(x, 7)", "omp_target_memset(x, 1, 4, 7)"];
    for (name, function) in ["free", "memset"].into_iter().zip(functions) {
        let source = format!(
            "#include <omp.h>
             #include <stdlib.h>
             int main() {{
               void *x = malloc(4);
             #pragma omp target
               ;
               {function};
             }}"
        );
        folder.write(&format!("{name}.c"), source);
    }
    for (name, text) in [
        ("free", "omp_target_free: there is no device 7"),
        ("memset", "omp_target_memset: there is no device 7"),
        (
            "absent",
            "(16 bytes) is not on the device, although it must be `present`",
        ),
        ("more", "(16 bytes) cannot be mapped: of it, 0x"),
    ] {
        build(&folder, &format!("cc -O1 {name}.c -o program"));
        let said = folder.run_command(&mut program(&folder, "program")).stderr;
        assert!(
            said.starts_with("offkit: OpenMP: ") && said.contains(text),
            "{said}"
        );
    }
}

#[test]
fn a_program_without_regions_is_linked_like_any_other() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    let source = "#include <omp.h>
         int main() {
           int x = 7, device = omp_get_default_device();
         #pragma omp target enter data map(to : x)
           x = 0;
           int is_there = omp_target_is_present(&x, device);
         #pragma omp target exit data map(from : x)
           return !(is_there && x == 7);
         }";
    folder.write("none.c", source);
    build(&folder, "cc none.c -o none");
    folder.run_command(&mut program(&folder, "none")).ok();
}

/// A region that has code for other devices only is the host's, unless the user wants it on a device.
#[test]
fn regions_without_code_for_a_device_run_on_the_host() {
    need!("clang-22", "llvm-config-22");
    let folder = folder();
    let place = runtime();
    let line = "cc -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -O1 saxpy.c";
    driver(
        &folder,
        &format!("{line} -L{place} -Wl,-rpath,{place} -loffkit -o host"),
    )
    .ok();
    let mut default = program(&folder, "host");
    let text = folder
        .run_command(default.env("OMP_TARGET_OFFLOAD", "DEFAULT"))
        .ok();
    assert_eq!(text, "1999 666166500 on the host\n");
    let said = folder.run_command(&mut program(&folder, "host")).stderr;
    assert!(
        said.contains("OMP_TARGET_OFFLOAD=MANDATORY, and `__omp_offloading_"),
        "{said}"
    );
}

#[test]
fn the_commands_of_the_page_do_what_it_says() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("prefix/lib")).expect("a folder");
    for name in ["liboffkit.so", "liboffkit.so.0"] {
        let library = format!("{}/{name}", runtime());
        std::os::unix::fs::symlink(library, folder.path("prefix/lib").join(name)).expect("a link");
    }
    let prefix = folder.path("prefix").display().to_string();
    let mut commands = 0;
    for (language, content) in blocks("docs/openmp.md") {
        if language == "c" {
            folder.write("saxpy.c", &content);
        }
        for mut example in examples(&content) {
            example.line = format!("PREFIX='{prefix}' LLVM='{HOST_RUNTIME}'; {}", example.line);
            example.check(&folder);
            commands += 1;
        }
    }
    assert_eq!(commands, 2);
}
