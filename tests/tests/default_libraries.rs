//! The device libraries that come with offkit: what a program's code needs is there without a `-l`.

use std::path::Path;
use std::process::Command;

use offkit_cache::Kind;
use offkit_tests::{Folder, Outcome, kept, npy_f64, offkit, read_f64, read_i32, tool};
use offkit_tests::{need, skip};

/// What the headers of C++ make of these lines are calls of functions that no header has.
const KERNELS: &str = "
#include <offkit/device.h>
#include <cassert>
#include <cmath>
#include <complex>
extern \"C\" unsigned short __devicelib_ConvertFToBF16INTEL(const float &);
extern \"C\" double exp10(double);
OFFKIT_C OFFKIT_KERNEL void k(OFFKIT_GLOBAL double *a) {
  std::complex<double> z(a[0], a[1]), w(a[2], a[3]), product = z * w, quotient = product / w;
  std::complex<float> f((float)a[0], (float)a[1]);
  float single = 1.00390625f;
  int exponent;
  a[4] = product.real(); a[5] = product.imag(); a[6] = quotient.real(); a[7] = quotient.imag();
  a[8] = std::sin(a[0]); a[9] = std::pow(a[0], a[1]); a[10] = std::abs(z); a[11] = std::exp(z).imag();
  a[12] = (f * f).real(); a[13] = __devicelib_ConvertFToBF16INTEL(single);
  a[14] = std::frexp(a[1], &exponent) + exponent; a[15] = exp10(a[0]);
}
OFFKIT_C OFFKIT_KERNEL void fails(OFFKIT_GLOBAL int *a) { assert(a[0] == 1); }
";

/// Runs offkit with a cache of the test's own.
fn alone(folder: &Folder, line: &str) -> Outcome {
    let mut command = Command::new(offkit());
    command.args(line.split_whitespace());
    command.env("XDG_CACHE_HOME", folder.path("cache"));
    let outcome = folder.run_command(&mut command);
    folder.check_output_of(line, &outcome);
    outcome
}

/// The device libraries in the cache.
fn built(folder: &Folder) -> Vec<String> {
    kept(&folder.path("cache"), Kind::DeviceLibrary)
}

#[test]
fn a_program_has_what_its_headers_and_its_compiler_call() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write("k.cpp", KERNELS);
    alone(&folder, "c++ -fsyclbin k.cpp -o k.syclbin").ok();
    folder.write(
        "in.npy",
        npy_f64("(16,)", [1.5, 2.25, -3.0, 0.5].into_iter().chain([0.0; 12])),
    );
    let run = "run k.syclbin k --global 1 --arg in.npy --out 0=out.npy";
    alone(&folder, run).ok();
    let (x, y) = (1.5f64, 2.25f64);
    let expected = [
        -5.625,
        -6.0,
        x,
        y,
        x.sin(),
        x.powf(y),
        x.hypot(y),
        x.exp() * y.sin(),
        x * x - y * y,
        f64::from(0x3f80), // half way between two: the even one
        0.5625 + 2.0,
        10f64.powf(x),
    ];
    let results = read_f64(&folder.read("out.npy"));
    for (number, (is, expected)) in results.iter().skip(4).zip(expected).enumerate() {
        assert!(
            (is - expected).abs() <= expected.abs() * 1e-15,
            "{number}: {is}, {expected}"
        );
    }

    // An assertion says where, and ends the kernel.
    let failed = alone(&folder, "run k.syclbin fails --global 2 --arg i32[2]");
    assert_ne!(failed.code, 0);
    let text = format!("{}{}", failed.stdout, failed.stderr);
    for part in [
        "k.cpp:18: ",
        "global id: [0,0,0]",
        "Assertion `a[0] == 1` failed.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }

    // What is there already is not built again, and nothing else is left in the cache.
    let before = built(&folder);
    assert_eq!(before.len(), 2, "{before:?}");
    alone(&folder, "c++ -fsyclbin k.cpp -o again.syclbin").ok();
    assert_eq!(built(&folder), before);
    assert_eq!(folder.read("again.syclbin"), folder.read("k.syclbin"));
}

#[test]
fn only_a_link_that_is_the_last_takes_them_unless_it_is_told_not_to() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.bitcode(
        "k",
        "double f(double x, long n) __asm__(\"scalbln\"); kernel void k(global double *a) { a[0] = f(a[0], 1); }",
    );
    let imports = |file: &str| folder.offkit(&format!("ls --json {file}")).json()[0]["imports"].clone();
    alone(&folder, "link k.bc -o object.syclbin").ok();
    assert_eq!(imports("object.syclbin"), serde_json::json!(["scalbln"]));
    assert_eq!(built(&folder), [""; 0]);
    // `-lm` is the same library, in every state, and early as well as late.
    alone(&folder, "link k.bc -lm -o with.syclbin").ok();
    assert_eq!(imports("with.syclbin"), serde_json::json!([]));
    alone(&folder, "cc -fsycl -c k.cl -lm -o early.o").ok();
    assert_eq!(imports("early.o"), serde_json::json!([]));

    alone(&folder, "link k.bc --state executable -o all.syclbin").ok();
    let error = alone(
        &folder,
        "link k.bc --state executable --no-default-device-libs -o none.syclbin",
    )
    .fails(2);
    assert!(error.contains("undefined symbol `scalbln`"), "{error}");
    let error = alone(
        &folder,
        "cc -fsyclbin k.cl --no-default-device-libs -o none.syclbin",
    )
    .fails(2);
    assert!(error.contains("undefined symbol `scalbln`"), "{error}");

    // What nobody has is an error as before.
    folder.bitcode(
        "open",
        "float sinn(float x); kernel void k(global float *a) { a[0] = sinn(a[0]); }",
    );
    let error = alone(&folder, "link open.bc --state executable -o open.syclbin").fails(2);
    assert!(error.contains("undefined symbol `sinn`"), "{error}");

    // Without a compiler they cannot be built.
    let mut command = Command::new(offkit());
    command
        .args("link k.bc --state executable -o all.syclbin".split(' '))
        .env("OFFKIT_CLANG", folder.path("nowhere"))
        .env("XDG_CACHE_HOME", folder.path("other"));
    let error = folder.run_command(&mut command).fails(2);
    for part in [
        "-lm, which comes with offkit and could not be built",
        "OFFKIT_CLANG names it",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn spirv_that_was_compiled_elsewhere_takes_them_too() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.bitcode(
        "k",
        "double f(double x, long n) __asm__(\"scalbln\"); double g(double x, int n) __asm__(\"scalbn\"); \
         double own(double x); kernel void k(global double *a) { a[0] = f(a[0], 2); a[1] = g(own(2), 1); }",
    );
    folder.bitcode("own", "double own(double x) { return x; }");
    for name in ["k", "own"] {
        alone(&folder, &format!("link {name}.bc -o {name}.syclbin")).ok();
        alone(&folder, &format!("extract {name}.syclbin -o .")).ok();
    }
    // Nothing in this link is bitcode.
    let inputs = "k.syclbin.0.ir.0.spv own.syclbin.0.ir.0.spv";
    let error = alone(
        &folder,
        &format!("link {inputs} --state executable --no-default-device-libs -o none.syclbin"),
    )
    .fails(2);
    assert!(error.contains("undefined symbol `scalbn`"), "{error}");
    for options in ["--state executable", "--state object -lm"] {
        alone(&folder, &format!("link --verify {inputs} {options} -o k.syclbin")).ok();
        let image = &folder.offkit("ls --json k.syclbin").json()[0];
        assert_eq!(image["imports"], serde_json::json!([]), "{options}: {image}");
        folder.write("in.npy", npy_f64("(2,)", [1.5, 7.0]));
        alone(&folder, "run k.syclbin k --global 1 --arg in.npy --out 0=out.npy").ok();
        assert_eq!(read_f64(&folder.read("out.npy")), [6.0, 4.0], "{options}");
    }
}

#[test]
fn cpps_overloads_are_among_them() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "k.cpp",
        "#include <offkit/device.h>
         OFFKIT_EXTERNAL float nearbyint(float x);
         OFFKIT_C OFFKIT_KERNEL void k(OFFKIT_GLOBAL float *a) { a[0] = nearbyint(a[0]); }",
    );
    alone(&folder, "c++ -fsyclbin k.cpp -o k.syclbin").ok();
    let image = &folder.offkit("ls --json k.syclbin").json()[0];
    assert_eq!(image["imports"], serde_json::json!([]), "{image}");
}

#[test]
fn regions_of_openmp_take_them_where_the_program_is_linked() {
    need!("clang-22", "llvm-config-22", "ld");
    let folder = Folder::new();
    // As much of OpenMP's runtime as the region needs: Debian has none for these devices.
    folder.write(
        "runtime.c",
        "int __kmpc_target_init(void *a, void *b) { return -1; }
         void __kmpc_target_deinit(void) {}",
    );
    folder.write(
        "main.c",
        "#pragma omp declare target
         double scalbln(double, long);
         #pragma omp end declare target
         int main() {
           double x = 3;
         #pragma omp target map(x)
           x = scalbln(x, 2);
           return x;
         }",
    );
    let clang = tool("clang-22").expect("asked for");
    for (target, offload) in [
        (
            "nvptx64-nvidia-cuda -march=sm_60 --cuda-feature=+ptx60",
            "--offload-arch=sm_60 --cuda-feature=+ptx60",
        ),
        ("spirv64-intel", "-fopenmp-targets=spirv64-intel"),
        ("amdgcn-amd-amdhsa -mcpu=gfx90a", "--offload-arch=gfx90a"),
    ] {
        let line = format!("--target={target} -nogpulib -O1 -emit-llvm -c runtime.c -o runtime.bc");
        folder.run(&clang, line.split(' ')).ok();
        // The libraries have to come from the link of device code alone.
        let line = format!(
            "cc -fopenmp {offload} -nogpulib -fno-builtin -O1 main.c -Xoffload-linker runtime.bc \
             -Wl,--unresolved-symbols=ignore-all"
        );
        let image = |name: &str| {
            folder.offkit(&format!("extract {name} -o {name}.images")).ok();
            let mut images = std::fs::read_dir(folder.path(&format!("{name}.images"))).expect("a folder");
            std::fs::read(images.next().expect("an image").expect("an entry").path()).expect("a file")
        };
        let names_it = |image: &[u8]| image.windows(7).any(|bytes| bytes == b"scalbln");
        let without = alone(&folder, &format!("{line} --no-default-device-libs -o none"));
        assert!(!without.stderr.contains("unused"), "{offload}: {without:?}");
        // Intel's runtime has functions of its own.
        if target == "spirv64-intel" {
            assert!(names_it(&image("none")));
        } else {
            let error = without.fails(1);
            assert!(error.contains("undefined symbol `scalbln`"), "{offload}: {error}");
        }
        alone(&folder, &format!("{line} -o program")).ok();
        assert!(!names_it(&image("program")), "{offload}");
        std::fs::remove_dir_all(folder.path("program.images")).expect("it was made");
    }
}

#[test]
fn nvidias_devices_have_no_printf_of_opencl_c() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    folder.write(
        "k.cl",
        "kernel void k(global int *a) { printf(\"%d\\n\", a[0]); }",
    );
    let error = alone(
        &folder,
        "cc -fsyclbin -fsycl-targets=nvidia_gpu_sm_60 k.cl -o k.syclbin",
    )
    .fails(2);
    for part in ["undefined symbol `printf`", "no `printf` of OpenCL C"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn what_the_user_has_goes_before() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    let kernel = "int f(const void *a, const void *b, size_t n) __asm__(\"memcmp\");
         kernel void k(global int *a) { a[0] = f(a, a, 4); a[1] = f(a, a + 2, 1); }";
    folder.bitcode("k", kernel);
    folder.bitcode(
        "own",
        "int f(const void *a, const void *b, size_t n) __asm__(\"memcmp\"); \
                           int f(const void *a, const void *b, size_t n) { return 7; }",
    );
    std::fs::rename(folder.path("own.bc"), folder.path("libown.bc")).expect("it was made");
    for (library, expected) in [("", [0, -1]), ("-L. -lown", [7, 7]), ("libown.bc", [7, 7])] {
        alone(
            &folder,
            &format!("link k.bc {library} --state executable -o k.syclbin"),
        )
        .ok();
        folder.write("in.npy", offkit_tests::npy_i32("(4,)", [0, 0, 1, 0]));
        alone(&folder, "run k.syclbin k --global 1 --arg in.npy --out 0=out.npy").ok();
        assert_eq!(read_i32(&folder.read("out.npy"))[..2], expected, "{library}");
    }
}

/// As DPC++ writes it: the place for a complex number is given by a generic pointer, where clang gives one to private
/// memory.
const OF_DPCPP: &str = r#"
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64"
target triple = "spir64-unknown-unknown"
declare spir_func void @__mulsc3(ptr addrspace(4), float, float, float, float)
define spir_kernel void @k(ptr addrspace(1) %a) {
  %place = alloca { float, float }
  %result = addrspacecast ptr %place to ptr addrspace(4)
  call spir_func void @__mulsc3(ptr addrspace(4) %result, float 1.0, float 2.0, float 3.0, float 4.0)
  %next = getelementptr float, ptr addrspace(4) %result, i64 1
  %real = load float, ptr addrspace(4) %result
  %imaginary = load float, ptr addrspace(4) %next
  store float %real, ptr addrspace(1) %a
  %place2 = getelementptr float, ptr addrspace(1) %a, i64 1
  store float %imaginary, ptr addrspace(1) %place2
  ret void
}
"#;

#[test]
fn code_of_dpcpp_gets_functions_that_pass_pointers_as_it_does() {
    need!("clang-22", "llvm-config-22", "llvm-as");
    let folder = Folder::new();
    folder.write("k.ll", OF_DPCPP);
    folder.run(tool("llvm-as").unwrap(), ["k.ll", "-o", "k.bc"]).ok();
    folder.offkit("link k.bc --state executable -o k.syclbin").ok();
    folder
        .offkit("run k.syclbin k --global 1 --arg f32[2] --out 0=out.npy")
        .ok();
    assert_eq!(offkit_tests::read_f32(&folder.read("out.npy")), [-5.0, 10.0]);
}

/// What a program for a GPU calls, beside what the vendor has.
const FOR_GPUS: &str = "
float sinf(float); double pow(double, double); double exp10(double); float _Complex cexpf(float _Complex);
void __assert_fail(const char *, const char *, unsigned, const char *);
unsigned short __devicelib_ConvertFToBF16INTEL(const float *);
__attribute__((device_kernel)) void k(float *a, double *d) {
  float _Complex z = cexpf((a[0] + 1i) * (a[1] + 1i));
  a[2] = __real__ z; a[3] = sinf(a[0]) + __devicelib_ConvertFToBF16INTEL(a); d[0] = pow(d[1], d[2]); d[3] = exp10(d[1]);
  if (a[0] == 0) __assert_fail(\"a\", \"k.c\", 8, \"k\");
}
";

#[test]
fn gpus_have_them_as_well() {
    need!("clang-22", "llvm-config-22", "ld.lld");
    let rocm = Path::new("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc").is_file();
    if !rocm || !Path::new("/usr/lib/clc/nvptx64--.bc").is_file() {
        return skip(
            "ROCm's device libraries (`rocm-device-libs`) or libclc (`libclc-22`) are not installed",
        );
    }
    let folder = Folder::new();
    folder.write("k.c", FOR_GPUS);
    let compile = |target: &str, file: &str, more: &str| {
        let line = format!("--target={target} -nogpulib -O1 {more} -emit-llvm -c {file} -o k.bc");
        folder
            .run(tool("clang-22").unwrap(), line.split_whitespace())
            .ok();
    };
    for target in [
        "nvptx64-nvidia-cuda -march=sm_75 --cuda-feature=+ptx63",
        "amdgcn-amd-amdhsa -mcpu=gfx1030",
        // A processor with a feature, and code objects of another version than the libraries' own code would be of.
        "amdgcn-amd-amdhsa -mcpu=gfx90a:xnack+ -mcode-object-version=5",
    ] {
        compile(target, "k.c", "-fmath-errno");
        folder.offkit("link k.bc --format offload -o k.out").ok();
        let image = &folder.offkit("ls --json k.out").json()[0];
        assert_eq!(image["kernels"], serde_json::json!(["k"]), "{image}");
        assert_eq!(image["imports"], serde_json::json!([]), "{image}");
    }
    // What LLVM makes of `printf` for AMD's processors.
    folder.write(
        "print.cl",
        "kernel void k(global int *a) { printf(\"%d\\n\", a[0]); }",
    );
    compile("amdgcn-amd-amdhsa -mcpu=gfx1030", "print.cl", "-cl-std=CL3.0");
    folder
        .offkit("link k.bc --no-default-device-libs --format offload -o k.out")
        .fails(2);
    folder.offkit("link k.bc --format offload -o k.out").ok();
}
