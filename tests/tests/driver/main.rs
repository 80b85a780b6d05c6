//! `offkit cc` and `offkit c++`, with clang 22 and the linkers of this machine.

mod archives;
mod debug_information;
mod errors;
mod like_clang;
mod processes;

use std::path::Path;
use std::process::Command;

use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, Outcome, has_openmp, need, npy_f32, offkit, programs, read_f32, tool};

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
    let outcome = folder.run_command(&mut command);
    folder.check_output_of(line, &outcome);
    outcome
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
    assert_eq!(words(plan[3]), ["object", "missing"]);
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
