//! The device libm and a library of one's own: built, shipped, found, and used by programs for every target.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use offkit_tests::packages::Package;
use offkit_tests::{Folder, Outcome, has_openmp, npy_f64, programs, read_f32, read_f64, root, tool};
use offkit_tests::{need, skip};
use serde_json::Value;

/// CUDA 12: the last that knows all processors the libm is built for.
const CUDA: Package = Package {
    name: "nvidia-cuda-nvcc-cu12==12.9.86",
    python: "3.11",
};

/// The manifest of the libm.
fn libm() -> String {
    root()
        .join("device-libs/libm/libdevice.toml")
        .display()
        .to_string()
}

/// What is built, as `offkit devlib build --json` says.
fn build(folder: &Folder, line: &str) -> Vec<Value> {
    let outcome = folder.offkit(&format!("devlib build --json {line}"));
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    outcome.json()
}

/// Runs clang with the words of a command line.
#[track_caller]
fn clang(folder: &Folder, line: &str) {
    let clang = tool("clang-22").expect("asked for before");
    folder.run(clang, line.split_whitespace()).ok();
}

/// Copies the example's files into the folder.
fn example(folder: &Folder) {
    let from = root().join("examples/device-library");
    fs::create_dir(folder.path("wave")).expect("the folder is empty");
    for file in [
        "program.c",
        "program.cl",
        "wave/libdevice.toml",
        "wave/wave.c",
        "wave/wave.h",
    ] {
        fs::copy(from.join(file), folder.path(file)).expect("the example is there");
    }
}

/// Whether ROCm's device libraries are installed.
fn has_rocm() -> bool {
    let has = Path::new("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc").is_file();
    if !has {
        skip("ROCm's device libraries (`rocm-device-libs`) are not installed");
    }
    has
}

/// Whether libclc is installed.
fn has_libclc() -> bool {
    let has = Path::new("/usr/lib/clc/nvptx64--.bc").is_file();
    if !has {
        skip("libclc (`libclc-22`) is not installed");
    }
    has
}

/// The PTX in an offload binary is accepted by NVIDIA's assembler for that processor.
#[track_caller]
fn assemble(folder: &Folder, ptxas: &Path, file: &str, arch: &str) {
    folder.offkit(&format!("extract {file} -o ptx")).ok();
    let ptx: Vec<PathBuf> = fs::read_dir(folder.path("ptx"))
        .expect("it was extracted")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    let [ptx] = ptx.as_slice() else {
        panic!("one image: {ptx:?}")
    };
    let output = folder.path("assembled.cubin");
    let words = [format!("-arch={arch}"), "-o".into(), output.display().to_string()];
    folder
        .run(ptxas, words.into_iter().chain([ptx.display().to_string()]))
        .ok();
    assert!(fs::metadata(output).is_ok_and(|file| file.len() > 0));
    fs::remove_dir_all(folder.path("ptx")).expect("it was made here");
}

/// The rows of a Markdown table, without its heading.
fn rows(text: &str) -> Vec<Vec<String>> {
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| function |"))
        .skip(2);
    rows.take_while(|line| line.starts_with('|'))
        .map(|line| {
            line.trim_matches('|')
                .split('|')
                .map(|cell| cell.trim().to_owned())
                .collect()
        })
        .collect()
}

/// What the table says where the result is up to the hardware.
const NOT_MEASURED: &str = "not measured";

/// An error in units in the last place, as the table has it.
fn ulps(cell: &str) -> f64 {
    match cell {
        "exact" => 0.0,
        "wrong" => f64::INFINITY,
        number => number
            .parse()
            .unwrap_or_else(|_| panic!("{number:?} is no error")),
    }
}

#[test]
fn every_function_is_as_exact_as_the_page_says() {
    need!("clang-22", "llvm-config-22", "llvm-dis", "cc");
    let Some(libdevice) = CUDA.file("/libdevice.10.bc") else {
        return;
    };
    if !has_rocm() {
        return;
    }
    let folder = Folder::new();
    let mut path = programs().into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new(root().join("device-libs/libm/test/ulp.sh"));
    let vendor = libdevice.parent().expect("it is in a folder");
    command.arg(".").arg(vendor).env("PATH", path);
    let measured = folder.run_command(&mut command).ok();
    let page = fs::read_to_string(root().join("docs/device-libraries.md")).expect("the page is there");
    let (measured, promised) = (rows(&measured), rows(&page));
    assert!(measured.len() > 60, "{measured:?}");
    assert_eq!(
        measured.len(),
        promised.len(),
        "the page has a row for each result"
    );
    for (measured, promised) in measured.iter().zip(&promised) {
        assert_eq!(measured[0], promised[0]);
        // The columns of the devices; those of the host differ from machine to machine.
        for column in 1..=6 {
            if promised[column] == NOT_MEASURED {
                assert_eq!(measured[column], NOT_MEASURED, "{}", measured[0]);
                continue;
            }
            let (is, was) = (ulps(&measured[column]), ulps(&promised[column]));
            assert!(
                is <= was && was.is_finite(),
                "{measured:?}, and the page says {promised:?}"
            );
        }
    }
}

/// Compiles kernels that call every function for a target, links them with the libm in `lib`, and leaves `all.out`.
fn link_everything(folder: &Folder, target: &str, arch: &str) {
    let kernels = root().join("device-libs/libm/test/kernels.cl");
    clang(
        folder,
        &format!(
            "--target={target} -nogpulib -cl-std=CL3.0 -O1 -emit-llvm -c {} -o all.bc",
            kernels.display()
        ),
    );
    let triple = target.split(' ').next().expect("a triple");
    folder
        .offkit(&format!(
            "link all.bc -L lib -l m --target {triple},arch={arch} --format offload -o all.out"
        ))
        .ok();
}

#[test]
fn the_whole_libm_becomes_code_for_amd() {
    need!("clang-22", "llvm-config-22", "ld.lld");
    if !has_rocm() || !has_libclc() {
        return;
    }
    let folder = Folder::new();
    for (provider, archs) in [("ocml", ["gfx90a", "gfx1100"]), ("libclc", ["gfx900", "gfx1030"])] {
        let targets = archs.map(|arch| format!("--target {arch}")).join(" ");
        let built = build(
            &folder,
            &format!(
                "{} -o lib {targets} --provider {provider} --variant default",
                libm()
            ),
        );
        for (library, arch) in built.iter().zip(archs) {
            assert_eq!(library["provider"], provider);
            assert_eq!(
                library["path"],
                format!("lib/libdevice/{arch}/libm-amdgcn-{arch}.bc")
            );
            link_everything(&folder, &format!("amdgcn-amd-amdhsa -mcpu={arch}"), arch);
            let image = &folder.offkit("ls --json all.out").json()[0];
            assert_eq!(image["format"], "amdgpu");
            assert_eq!(image["kernels"], serde_json::json!(["all_double", "all_float"]));
        }
    }
}

#[test]
fn the_whole_libm_becomes_code_that_nvidia_s_assembler_accepts() {
    need!("clang-22", "llvm-config-22");
    let (Some(libdevice), Some(ptxas)) = (CUDA.file("/libdevice.10.bc"), CUDA.file("/bin/ptxas")) else {
        return;
    };
    if !has_libclc() {
        return;
    }
    let folder = Folder::new();
    let vendor = libdevice
        .parent()
        .expect("it is in a folder")
        .display()
        .to_string();
    for (provider, arch, variant) in [
        ("libdevice", "sm_60", "default"),
        ("libdevice", "sm_90", "fast"),
        ("libclc", "sm_70", "default"),
    ] {
        let built = build(
            &folder,
            &format!(
                "{} -o lib --target {arch} --variant {variant} -L {vendor} --provider {provider}",
                libm()
            ),
        );
        assert_eq!(built[0]["provider"], provider);
        if variant != "default" {
            fs::rename(folder.path("lib"), folder.path("all")).expect("it was built");
            fs::rename(folder.path("all").join(variant), folder.path("lib")).expect("a variant is a folder");
        }
        link_everything(
            &folder,
            &format!("nvptx64-nvidia-cuda -march={arch} --cuda-feature=+ptx78"),
            arch,
        );
        assemble(&folder, &ptxas, "all.out", arch);
    }
}

/// What stands for OpenMP's own library for devices, which LLVM's packages lack: it runs regions without parallelism,
/// on the first work-item, which never waits for others.
const OPENMP: &str = r#"
#if defined(__AMDGCN__)
#define ITEM __builtin_amdgcn_workitem_id_x()
#elif defined(__NVPTX__)
#define ITEM __nvvm_read_ptx_sreg_tid_x()
#else
#define ITEM get_global_id(0)
#endif
int __kmpc_target_init(void *environment, void *launch) { return ITEM == 0 ? -1 : 0; }
void __kmpc_target_deinit(void) {}
int __kmpc_get_hardware_thread_id_in_block(void) { return ITEM; }
void __kmpc_barrier_simple_spmd(void *place, int thread) {}
"#;

const OPENMP_MANIFEST: &str = r#"
name = "openmp"
sources = ["openmp.c"]
targets = ["gfx90a", "sm_60", "spirv64"]
[target.spirv64]
sources = [{ file = "openmp.c", language = "opencl" }]
"#;

/// Builds the example's library, the libm and what stands for OpenMP's for three targets, into `lib`.
fn build_all(folder: &Folder, vendor: &str) {
    example(folder);
    fs::create_dir(folder.path("openmp")).expect("a new folder");
    folder.write("openmp/openmp.c", OPENMP);
    folder.write("openmp/libdevice.toml", OPENMP_MANIFEST);
    let targets = "--target gfx90a --target sm_60 --target spirv64 --variant default";
    for manifest in ["wave/libdevice.toml", "openmp/libdevice.toml", &libm()] {
        assert_eq!(
            build(folder, &format!("{manifest} -o lib {targets} -L {vendor}")).len(),
            3
        );
    }
}

/// What the programs compute for `i`.
fn expected(i: u32) -> (f32, f64, f64) {
    let i = f64::from(i);
    let sine = i.sin() as f32;
    (sine, i.powf(1.5), f64::from(sine) * 0.5f64.powf(0.25 * i))
}

/// Runs a kernel on the CPU device; its last three arguments are the results.
fn check_on_the_cpu(folder: &Folder, file: &str, kernel: &str, first: &str, items: usize) {
    let offset = usize::from(!first.is_empty());
    folder
        .offkit(&format!(
            "run {file} {kernel} --device cpu-checked --global {items} {first} --arg f32[16] --arg f64[16] --arg f64[16] \
             --out {offset}=sines.npy --out {}=powers.npy --out {}=waves.npy",
            offset + 1,
            offset + 2
        ))
        .ok();
    let (sines, powers, waves) = (
        read_f32(&folder.read("sines.npy")),
        read_f64(&folder.read("powers.npy")),
        read_f64(&folder.read("waves.npy")),
    );
    assert_eq!([sines.len(), powers.len(), waves.len()], [16; 3]);
    for (i, ((sine, power), wave)) in (0..16).zip(sines.into_iter().zip(powers).zip(waves)) {
        let exact = expected(i);
        let near = |is: f64, exact: f64, digits: f64| (is - exact).abs() <= exact.abs() * digits;
        assert!(near(sine.into(), exact.0.into(), 1e-7), "sinf({i}) = {sine}");
        assert!(near(power, exact.1, 1e-15), "pow({i}, 1.5) = {power}");
        assert!(near(wave, exact.2, 1e-7), "damped({i}, 0.25) = {wave}");
    }
}

#[test]
fn programs_in_opencl_and_openmp_use_both_libraries_on_every_target() {
    need!("clang-22", "llvm-config-22", "ld.lld");
    let (Some(libdevice), Some(ptxas)) = (CUDA.file("/libdevice.10.bc"), CUDA.file("/bin/ptxas")) else {
        return;
    };
    if !has_rocm() {
        return;
    }
    let folder = Folder::new();
    build_all(
        &folder,
        &libdevice
            .parent()
            .expect("it is in a folder")
            .display()
            .to_string(),
    );
    let amd = "amdgcn-amd-amdhsa -mcpu=gfx90a -Dget_global_id(x)=__builtin_amdgcn_workitem_id_x()";
    let nvidia = "nvptx64-nvidia-cuda -march=sm_60 --cuda-feature=+ptx60 \
                  -Dget_global_id(x)=__nvvm_read_ptx_sreg_tid_x()";
    for (arch, target) in [("spirv64", "spirv64"), ("gfx90a", amd), ("sm_60", nvidia)] {
        clang(
            &folder,
            &format!("--target={target} -nogpulib -cl-std=CL3.0 -O1 -emit-llvm -c program.cl -o opencl.bc"),
        );
        let offload = match arch {
            "spirv64" => "-fopenmp-targets=spirv64-intel -nogpuinc -fmath-errno",
            // clang's own headers call the vendor's functions.
            "gfx90a" => "--offload-arch=gfx90a",
            // The headers are the host's, and calls of `sinf` stay calls.
            _ => "--offload-arch=sm_60 --cuda-feature=+ptx60 -nogpuinc -fmath-errno",
        };
        clang(
            &folder,
            &format!("-fopenmp {offload} -foffload-lto -nogpulib -O1 -c program.c -o openmp.o"),
        );
        // `-lwave` needs `-lm`, as its manifest says. LLVM's passes for OpenMP may call all of that library later.
        let openmp = match arch {
            "spirv64" => "-l wave -l openmp",
            _ => "-l wave --whole-archive -l openmp",
        };
        for (file, libraries) in [("opencl.bc", "-l wave"), ("openmp.o", openmp)] {
            folder
                .offkit(&format!(
                    "link {file} -L lib {libraries} --format offload -o program.out"
                ))
                .ok();
            let image = &folder.offkit("ls --json program.out").json()[0];
            let kernels = image["kernels"].as_array().expect("a list");
            assert_eq!(kernels.len(), 1, "{image}");
            assert_eq!(image["imports"], serde_json::json!([]), "{image}");
            let kernel = kernels[0].as_str().expect("a name");
            match arch {
                "spirv64" if file == "openmp.o" => {
                    check_on_the_cpu(&folder, "program.out", kernel, "--arg i8[16]", 1);
                }
                "spirv64" => check_on_the_cpu(&folder, "program.out", kernel, "", 16),
                "gfx90a" => assert_eq!(image["format"], "amdgpu"),
                _ => assemble(&folder, &ptxas, "program.out", "sm_60"),
            }
        }
    }
}

#[test]
fn an_openmp_program_calls_its_library_on_the_device_that_the_host_is() {
    need!("clang-22", "llvm-config-22", "ld.lld", "ar");
    if !has_openmp() {
        return;
    }
    let folder = Folder::new();
    example(&folder);
    build(
        &folder,
        "wave/libdevice.toml -o lib --target x86_64 --variant default",
    );
    // The region has code for the host too.
    clang(&folder, "-O1 -c wave/wave.c -o wave.o");
    folder.run("ar", ["rcs", "lib/libwave.a", "wave.o"]).ok();
    let line = "cc -fopenmp -fopenmp-targets=x86_64-pc-linux-gnu -foffload-lto -O1 program.c -L lib -lwave -lm -o program";
    let mut command = Command::new(programs().join("offkit"));
    command
        .args(line.split(' '))
        .env("XDG_CACHE_HOME", folder.path("cache"));
    folder.run_command(&mut command).ok();
    // Of the library's functions nothing is left to be found when the program runs.
    let image = &folder.offkit("ls --json program").json()[0];
    let imports = image["imports"].as_array().expect("a list");
    assert!(
        imports.contains(&"sinf".into()) && !imports.contains(&"damped".into()),
        "{image}"
    );
    let mut command = Command::new(folder.path("program"));
    command
        .env("OMP_TARGET_OFFLOAD", "MANDATORY")
        .env("LD_LIBRARY_PATH", "/usr/lib/llvm-22/lib");
    let (sine, power, wave) = expected(3);
    assert_eq!(
        folder.run_command(&mut command).ok(),
        format!("{sine:.6} {power:.6} {wave:.6}\n")
    );
}

#[test]
fn overloads_of_cpp_are_there_where_no_header_has_them() {
    need!("clang-22", "llvm-config-22");
    let folder = Folder::new();
    build(
        &folder,
        &format!("{} -o lib --target spirv64 --variant default", libm()),
    );
    // `sin` is an instruction of the device, the others are functions of the libm; `abs` is C++'s.
    folder.write(
        "kernel.cpp",
        "#include <offkit/device.h>
         OFFKIT_EXTERNAL double sin(double x); OFFKIT_EXTERNAL float nearbyint(float x);
         OFFKIT_EXTERNAL double scalbn(double x, int n); OFFKIT_EXTERNAL float abs(float x);
         OFFKIT_EXTERNAL long lround(double x);
         OFFKIT_C OFFKIT_KERNEL void k(OFFKIT_GLOBAL double *a) {
           double x = a[0];
           a[1] = sin(x); a[2] = nearbyint((float)x); a[3] = scalbn(x, 3); a[4] = abs((float)-x); a[5] = lround(x);
         }",
    );
    let mut command = Command::new(programs().join("offkit"));
    command
        .args("c++ -fsycl -fsycl-device-only -c kernel.cpp -o kernel.bc".split(' '))
        .env("XDG_CACHE_HOME", folder.path("cache"));
    folder.run_command(&mut command).ok();
    folder
        .offkit("link kernel.bc -L lib -l m --state executable -o kernel.syclbin")
        .ok();
    folder.write("a.npy", npy_f64("(6,)", [2.5, 0.0, 0.0, 0.0, 0.0, 0.0]));
    folder
        .offkit("run kernel.syclbin k --global 1 --arg a.npy --out 0=out.npy")
        .ok();
    let results = read_f64(&folder.read("out.npy"));
    assert!((results[1] - 2.5f64.sin()).abs() < 1e-15, "{results:?}");
    assert_eq!(results[2..], [2.0, 20.0, 2.5, 3.0]);
}

/// A library of two sources that share a header, one of them in C++.
fn small_library(folder: &Folder) {
    folder.write("shared.h", "#define FACTOR 2\n");
    folder.write(
        "one.c",
        "#include \"shared.h\"\nint one(int x) { return FACTOR * x; }\n",
    );
    folder.write("two.cpp", "template <int N> int times(int x) { return N * x; }\nextern \"C\" int two(int x) { return times<3>(x); }\n");
    folder.write("three.cl", "int three(int x) { return mul24(x, 3); }\n");
    folder.write(
        "libdevice.toml",
        "name = \"small\"\nsources = [\"one.c\", \"two.cpp\", \"three.cl\"]\n\
         targets = [\"gfx90a:xnack+\", \"sm_80\", \"spirv64\"]\nflags = [\"-O1\"]\n\
         [variants.debug]\nflags = [\"-g\"]\n",
    );
}

/// How many libraries were built now.
fn new(built: &[Value]) -> usize {
    built.iter().filter(|library| library["built"] == true).count()
}

#[test]
fn only_what_has_other_content_is_built_again() {
    need!("clang-22");
    let folder = Folder::new();
    small_library(&folder);
    let all = build(&folder, "libdevice.toml -o lib");
    assert_eq!((all.len(), new(&all)), (6, 6));
    let paths: Vec<_> = all
        .iter()
        .map(|library| library["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(
        paths,
        [
            "lib/libdevice/gfx90a-xnack+/libsmall-amdgcn-gfx90a-xnack+.bc",
            "lib/libdevice/sm_80/libsmall-nvptx-sm_80.bc",
            "lib/libdevice/spirv64/libsmall-spirv64.bc",
            "lib/debug/libdevice/gfx90a-xnack+/libsmall-amdgcn-gfx90a-xnack+.bc",
            "lib/debug/libdevice/sm_80/libsmall-nvptx-sm_80.bc",
            "lib/debug/libdevice/spirv64/libsmall-spirv64.bc",
        ]
    );
    let symbols = folder
        .offkit("devlib query --json --symbols lib/libdevice/sm_80/libsmall-nvptx-sm_80.bc")
        .ok();
    for name in ["one", "two", "three"] {
        assert!(symbols.contains(&format!("\"{name}\"")), "{symbols}");
    }
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib")), 0);
    // Another time is not another content.
    small_library(&folder);
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib")), 0);
    folder.write("shared.h", "#define FACTOR 4\n");
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib --arch nvptx")), 2);
    assert_eq!(
        new(&build(&folder, "libdevice.toml -o lib --arch gfx90a,nvptx")),
        2
    );
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib --jobs 1")), 2);
    // A library that is not what was built.
    folder.write("lib/libdevice/sm_80/libsmall-nvptx-sm_80.bc", "broken");
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib")), 1);
    let manifest = String::from_utf8(folder.read("libdevice.toml")).expect("text");
    folder.write("libdevice.toml", manifest.replace("-O1", "-O0"));
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib --variant default")), 3);

    // What users of the library read.
    let installed = String::from_utf8(folder.read("lib/debug/libdevice/libsmall.toml")).expect("text");
    assert!(
        installed.contains("targets = [\"gfx90a:xnack+\", \"sm_80\", \"spirv64\"]"),
        "{installed}"
    );
    let found = folder
        .offkit("devlib find --json -lsmall --arch gfx90a:xnack+ -L lib/debug")
        .json();
    assert_eq!(
        found[0]["path"],
        "lib/debug/libdevice/gfx90a-xnack+/libsmall-amdgcn-gfx90a-xnack+.bc"
    );
}

#[test]
fn the_hosts_headers_compile_for_devices_and_new_ones_are_seen() {
    need!("clang-22", "llvm-dis");
    let folder = Folder::new();
    folder.write(
        "one.c",
        "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"own.h\"\n\
         int32_t one(double x) { int32_t r = FACTOR * (int32_t)sin(x); int32_t s; memcpy(&s, &r, sizeof s); return s; }\n",
    );
    folder.write(
        "two.cpp",
        "#include <algorithm>\n#include <array>\n#include <cmath>\n#include <cstdint>\n#include <limits>\n\
         #include <type_traits>\n#include <utility>\n\
         template <class T> T twice(T x) { static_assert(std::is_arithmetic_v<T>); return std::sin(x) * 2; }\n\
         extern \"C\" double two(double x, float y) { return std::max(twice(x), (double)twice(y)); }\n",
    );
    for name in ["include", "first"] {
        std::fs::create_dir(folder.path(name)).expect("a new folder");
    }
    folder.write("include/own.h", "#define FACTOR 2\n");
    folder.write(
        "libdevice.toml",
        "name = \"small\"\nsources = [\"one.c\", \"two.cpp\"]\ninclude = [\"first\", \"include\"]\n\
         targets = [\"gfx90a\", \"sm_80\", \"spirv64\"]\n",
    );
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib")), 3);
    // Optimised where nothing is said, and calls are left for the libm.
    let text = folder
        .run(
            tool("llvm-dis").expect("asked for before"),
            ["lib/libdevice/sm_80/libsmall-nvptx-sm_80.bc", "-o", "-"],
        )
        .ok();
    assert!(!text.contains(" = alloca "), "{text}");
    for name in ["double @sin(", "float @sinf("] {
        assert!(text.contains(name), "{name}: {text}");
    }
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib")), 0);
    // A header that is found before the one that was.
    folder.write("first/own.h", "#define FACTOR 3\n");
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib")), 3);
    assert_eq!(new(&build(&folder, "libdevice.toml -o lib")), 0);
}

/// Two spellings of one target are one library, and what is written beside it is read again.
#[test]
fn a_target_that_is_named_twice_is_built_once() {
    need!("clang-22");
    let folder = Folder::new();
    small_library(&folder);
    let targets = "--target gfx908:xnack+:sramecc- --target gfx908:sramecc-:xnack+";
    let line = &format!("libdevice.toml -o lib --variant default {targets}");
    assert_eq!(new(&build(&folder, line)), 1);
    assert_eq!(new(&build(&folder, line)), 0);
    folder
        .offkit("devlib find -L lib -lsmall --arch gfx908:xnack+:sramecc-")
        .ok();
}

#[test]
fn errors_say_which_target_and_what_to_do() {
    need!("clang-22");
    let folder = Folder::new();
    small_library(&folder);
    folder.write("one.c", "int one(int x) { return nothing; }\n");
    let fails = |line: &str, code: i32| -> String {
        let outcome: Outcome = folder.offkit(&format!("devlib build {line}"));
        outcome.fails(code)
    };
    let error = fails("libdevice.toml --quiet -o lib --target sm_80 --variant debug", 2);
    assert!(error.contains("one.c for sm_80, debug:"), "{error}");
    assert!(
        error.contains("use of undeclared identifier 'nothing'"),
        "{error}"
    );
    assert!(error.contains("error: one.c for sm_80, debug failed"), "{error}");
    assert!(
        !folder
            .path("lib/debug/libdevice/sm_80/libsmall-nvptx-sm_80.bc")
            .exists()
    );

    let error = fails("libdevice.toml -o lib --variant quick", 2);
    assert!(
        error.contains("there is no variant `quick`") && error.contains("default, debug"),
        "{error}"
    );
    let error = fails("libdevice.toml -o lib --arch x86_64", 2);
    assert!(
        error.contains("the targets are gfx90a:xnack+, sm_80, spirv64"),
        "{error}"
    );
    let error = fails("libdevice.toml -o lib --arch sm_80,sm_61", 2);
    assert!(error.contains("no target is for `sm_61`"), "{error}");
    for unknown in ["gfx9o6", "sm_6", "gfx90a:xnak+", "spriv64-unknown-unknown"] {
        let error = fails(&format!("libdevice.toml -o lib --target {unknown}"), 2);
        assert!(
            error.contains(&format!("there is no target `{unknown}`")),
            "{error}"
        );
    }
    folder.write("one.c", "int two(int x) { return x; }\n");
    let error = fails("libdevice.toml -o lib --target sm_80 --variant default", 2);
    assert!(
        error.contains("`two` is defined in one.c and in two.cpp"),
        "{error}"
    );
    let error = fails("libdevice.toml -o lib --target nvptx", 2);
    assert!(error.contains("expected a processor such as gfx90a"), "{error}");
    folder.write(
        "libdevice.toml",
        "name = \"small\"\nsources = [\"two.cpp\"]\ntargets = [\"sm_80\"]\n[[target.nvptx.providers]]\nname = \"vendor\"\nfile = \"vendor.bc\"\n",
    );
    let error = fails("libdevice.toml -o lib", 3);
    assert!(
        error.contains("nothing provides the code for sm_80: vendor.bc not found"),
        "{error}"
    );
    assert!(error.contains("name its folder with `-L`"), "{error}");
    folder.write("libdevice.toml", "name = \"small\"\nsource = []\n");
    let error = fails("libdevice.toml", 2);
    assert!(
        error.contains("libdevice.toml:2: unknown field `source`"),
        "{error}"
    );
}
