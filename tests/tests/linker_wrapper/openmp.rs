//! Code of OpenMP: for the host itself, NVIDIA, AMD and Intel.

use super::*;

#[test]
fn openmp_regions_run_on_the_device() {
    need!("clang-22", "llvm-ar", "ld.lld");
    if !has_openmp() {
        return;
    }
    let folder = openmp_inputs();
    let link = format!(
        "-fopenmp -fopenmp-targets={DEVICE} main.o object.o -L. -larchive device.o -Xoffload-linker libdevice.a"
    );
    for options in ["-fuse-ld=bfd", "-fuse-ld=lld -Wl,--gc-sections", "-no-pie"] {
        clang(&folder, &format!("{link} {options} -o program")).ok();
        assert_eq!(run(&folder, "program"), PRINTED, "{options}");
    }
    // One image for the device, and LLVM finds it, too.
    let listing = folder.offkit("ls --json program").json();
    assert_eq!(listing.len(), 1, "{listing:#?}");
    assert_eq!(listing[0]["triple"], DEVICE);
    let listed = folder
        .run(
            tool("llvm-objdump").expect("installed with the rest"),
            ["--offloading", "program"],
        )
        .ok();
    assert!(listed.contains("producer        openmp"), "{listed}");
    // Nothing is left behind.
    let leftovers = folder
        .list()
        .into_iter()
        .filter(|name| name.contains(".img") || name.contains("wrapper"));
    assert_eq!(leftovers.count(), 0);
}

#[test]
fn bitcode_for_openmp_is_linked_without_a_compiler() {
    need!("clang-22", "llvm-ar", "ld.lld");
    if !has_openmp() {
        return;
    }
    let folder = folder();
    let openmp = format!("-fopenmp -fopenmp-targets={DEVICE} -foffload-lto -fPIC -O1");
    for (name, source) in [("main", MAIN), ("object", OBJECT), ("archive", ARCHIVE)] {
        folder.write(&format!("{name}.c"), source);
        clang(&folder, &format!("{openmp} -c {name}.c")).ok();
    }
    folder.write("device.c", "int of_device_library(int x) { return x + 1; }\n");
    clang(
        &folder,
        &format!("--target={DEVICE} -O1 -fPIC -emit-llvm -c device.c -o device.bc"),
    )
    .ok();
    clang(
        &folder,
        &format!("--target={DEVICE} -fPIC -c device.c -o device.o"),
    )
    .ok();
    let ar = tool("llvm-ar").expect("asked for before");
    folder.run(&ar, ["rcs", "libarchive.a", "archive.o"]).ok();
    let linked = clang(
        &folder,
        &format!(
            "{openmp} -g main.o object.o -L. -larchive device.o -Xoffload-linker device.bc \
             -Wl,--wrapper-verbose -Wl,--save-temps -o program"
        ),
    );
    let said = &linked.stderr;
    assert_eq!(linked.code, 0, "{said}");
    assert!(
        said.contains(&format!("offkit links for {DEVICE}: main.o, object.o, "))
            && !said.contains("--target="),
        "{said}"
    );
    assert!(folder.path("program.x86_64..temps/linked.bc").exists());
    assert_eq!(run(&folder, "program"), PRINTED);
}

#[test]
fn openmp_code_for_amd_is_linked_with_a_device_library() {
    need!("clang-22", "llvm-ar", "ld.lld", "llvm-readelf");
    let folder = folder();
    folder.write("scale.c", "int scale(int x) { return 5 * x; }\n");
    // As much of OpenMP's runtime as the region needs: Debian has none for this device.
    folder.write(
        "runtime.c",
        "int __kmpc_target_init(void *a, void *b) { return -1; }
         void __kmpc_target_deinit(void) {}
         unsigned __kmpc_get_hardware_thread_id_in_block(void) { return 0; }
         int scale(int x) { return 5 * x; }",
    );
    folder.write("unused.c", "int unused(int x) { return x; }\n");
    let amd = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O1 -emit-llvm -c";
    clang(&folder, &format!("{amd} runtime.c -o runtime.bc")).ok();
    clang(&folder, &format!("{amd} unused.c -o unused.bc")).ok();
    let ar = tool("llvm-ar").expect("asked for before");
    folder
        .run(&ar, ["rcs", "libruntime.a", "runtime.bc", "unused.bc"])
        .ok();
    folder.write(
        "main.c",
        "#pragma omp declare target
         int scale(int);
         #pragma omp end declare target
         int main() {
           int x = 1;
         #pragma omp target map(tofrom : x)
           x = scale(x);
           return x;
         }",
    );
    let openmp =
        "-fopenmp -fopenmp-targets=amdgcn-amd-amdhsa --offload-arch=gfx90a -nogpulib --no-offloadlib -O2";
    clang(&folder, &format!("{openmp} -c main.c scale.c")).ok();
    let link = |more: &str| {
        // The host's linker is not asked: what is written is the container of images.
        clang(
            &folder,
            &format!("{openmp} main.o -Wl,--emit-fatbin-only -Wl,--wrapper-verbose -o images.bin {more}"),
        )
    };
    let said = link("").fails(1);
    assert!(said.contains("undefined symbol `__kmpc_target_init`"), "{said}");
    let linked = link("-Xoffload-linker -L. -Xoffload-linker -lruntime");
    assert_eq!(linked.code, 0, "{linked:?}");
    assert!(!linked.stderr.contains("--target="), "{linked:?}");
    let images = folder.offkit("ls --json images.bin").json();
    assert_eq!(images.len(), 1, "{images:#?}");
    assert_eq!(images[0]["arch"], "gfx90a");
    folder.offkit("extract images.bin -o out").ok();
    let image = std::fs::read_dir(folder.path("out"))
        .expect("a folder")
        .next()
        .expect("one image")
        .expect("a readable folder")
        .path();
    let readelf = tool("llvm-readelf").expect("asked for before");
    let symbols = folder
        .run(&readelf, ["--dyn-syms".as_ref(), image.as_os_str()])
        .ok();
    // clang hides the others: nobody but the region sees them.
    assert!(
        symbols.contains("__omp_offloading_") && !symbols.contains("scale"),
        "{symbols}"
    );
    // Of an archive, what is needed.
    let strings = folder.run(&readelf, ["-s".as_ref(), image.as_os_str()]).ok();
    assert!(!strings.contains("unused"), "{strings}");
    // An option that LLVM does not have is not passed over.
    let said = link("-Xoffload-linker -L. -Xoffload-linker -lruntime -Xoffload-linker -mllvm -Xoffload-linker -no-such-option")
        .fails(1);
    assert!(said.contains("no-such-option"), "{said}");
}

/// Bitcode for NVIDIA becomes PTX, or a cubin, and that for Intel's OpenMP an ELF file with SPIR-V, without clang.
#[test]
fn openmp_code_for_nvidia_and_spirv_is_linked_with_a_device_library() {
    need!("clang-22", "ld", "ar");
    let folder = folder();
    folder.write("half.c", "float half_of(float x) { return x / 2; }\n");
    // As much of OpenMP's runtime as the region needs: Debian has none for these devices.
    folder.write(
        "runtime.c",
        "int __kmpc_target_init(void *a, void *b) { return -1; }
         void __kmpc_target_deinit(void) {}",
    );
    folder.write(
        "main.c",
        "#pragma omp declare target
         float half_of(float);
         #pragma omp end declare target
         int main() {
           float x = 3;
         #pragma omp target map(x)
           x = half_of(x);
           return x;
         }",
    );
    clang(&folder, "-c half.c -o half.o").ok();
    folder.run("ar", ["rcs", "libhalf.a", "half.o"]).ok();
    for (target, name) in [
        ("nvptx64-nvidia-cuda -march=sm_50", "nvptx-sm_50"),
        ("spirv64-intel", "spirv64"),
    ] {
        for (source, output) in [
            ("half", format!("libhalf-{name}.bc")),
            ("runtime", format!("runtime-{name}.bc")),
        ] {
            let line = format!("--target={target} -nogpulib -O1 -emit-llvm -c {source}.c -o {output}");
            clang(&folder, &line).ok();
        }
    }
    let build = |more: &str, path: &str| {
        let mut command = Command::new(offkit());
        command.args([
            "cc",
            "-fopenmp",
            "-nogpulib",
            "-O1",
            "main.c",
            "-L.",
            "-lhalf",
            "-lm",
        ]);
        command.args(more.split(' ')).env("PATH", path);
        folder.run_command(&mut command)
    };
    let path = std::env::var("PATH").expect("a path");
    let nvidia = "--offload-arch=sm_50 -Xoffload-linker runtime-nvptx-sm_50.bc -o nvidia";
    build(nvidia, &path).ok();
    let [image] = &folder.offkit("ls --json nvidia").json()[..] else {
        panic!("one image")
    };
    assert_eq!(
        (&image["format"], &image["arch"]),
        (&"ptx".into(), &"sm_50".into()),
        "{image:#}"
    );
    // NVIDIA's assembler is asked where it is.
    std::fs::create_dir(folder.path("tools")).expect("a folder");
    folder.script(
        "tools/ptxas",
        "grep -q '\\.entry __omp_offloading_' \"$5\" || exit 9
         [ \"$1 $2 $3 $6\" = '-m64 --gpu-name sm_50 --output-file' ] || exit 8
         printf '\\177ELFcubin' > \"$7\"",
    );
    let with_tools = format!("{}:{path}", folder.path("tools").display());
    build(nvidia, &with_tools).ok();
    assert!(
        folder
            .read("nvidia")
            .windows(9)
            .any(|bytes| bytes == b"\x7fELFcubin")
    );
    build(
        "-fopenmp-targets=spirv64-intel -Xoffload-linker runtime-spirv64.bc -o intel",
        &path,
    )
    .ok();
    let [image] = &folder.offkit("ls --json intel").json()[..] else {
        panic!("one image")
    };
    assert_eq!(
        (&image["format"], &image["triple"]),
        (&"zebin".into(), &"spirv64-intel".into()),
        "{image:#}"
    );
    // Without the device's runtime, it is named.
    let said = build("--offload-arch=gfx90a -o amd", &path).fails(1);
    assert!(
        said.contains("hint: OpenMP's device runtime for `amdgcn-amd-amdhsa-gfx90a`"),
        "{said}"
    );
}

/// The runtime that `./dev test` builds of LLVM's source.
#[test]
fn openmp_programs_link_with_llvms_own_device_runtime() {
    need!("clang-22", "ld", "ld.lld");
    let target = offkit_tests::programs();
    let runtime = target.parent().expect("a folder").join("openmp-runtime");
    if !runtime.join("libomptarget-amdgpu.bc").is_file() {
        // Not required even where tools are: a mirror need not have the source for ever.
        #[expect(clippy::print_stderr, reason = "it says that a test was left out")]
        {
            eprintln!("skipped: `tests/openmp/build.sh target/openmp-runtime` makes what this needs");
        }
        return;
    }
    let folder = folder();
    folder.write(
        "main.c",
        "int main() {
           int a[100], sum = 0;
           for (int i = 0; i < 100; ++i) a[i] = i;
         #pragma omp target teams distribute parallel for map(tofrom: a) reduction(+: sum)
           for (int i = 0; i < 100; ++i) { a[i] *= 2; sum += a[i]; }
         #pragma omp target map(tofrom: a)
           {
         #pragma omp parallel for schedule(dynamic)
             for (int i = 0; i < 100; ++i) a[i] += 3;
           }
           return sum + a[0];
         }",
    );
    for (name, options, format) in [
        ("nvptx", "--offload-arch=sm_70 --cuda-feature=+ptx63", "ptx"),
        ("amdgpu", "--offload-arch=gfx90a", "amdgpu"),
    ] {
        let library = runtime.join(format!("libomptarget-{name}.bc"));
        let line = format!("cc -fopenmp {options} -nogpulib -O2 main.c -o program");
        let mut command = Command::new(offkit());
        command
            .args(line.split(' '))
            .arg("-Xoffload-linker")
            .arg(&library);
        folder.run_command(&mut command).ok();
        let image = &folder.offkit("ls --json program").json()[0];
        assert_eq!(image["format"], format, "{image:#}");
        assert_eq!(image["imports"], serde_json::json!([]), "{image:#}");
        let kernels = image["kernels"].as_array().expect("a list");
        assert_eq!(kernels.len(), 2, "{image:#}");
        // The runtime's own functions are nobody else's.
        let exports = image["exports"].as_array().expect("a list");
        assert!(
            exports
                .iter()
                .all(|name| !name.as_str().expect("a name").contains("kmpc")),
            "{image:#}"
        );
        let size = image["size"].as_u64().expect("a number");
        assert!(size < 100_000, "all of the runtime: {size} bytes");
    }
}

#[test]
fn openmp_code_is_linked_in_steps() {
    need!("clang-22", "llvm-ar", "llvm-objcopy");
    if !has_openmp() {
        return;
    }
    let folder = openmp_inputs();
    let openmp = format!("-fopenmp -fopenmp-targets={DEVICE}");
    let device = "device.o -Xoffload-linker libdevice.a -Xoffload-linker -L/usr/lib/llvm-22/lib -Xoffload-linker -lomp";
    // Into one object first, with the device code linked and registered; then as if there were none.
    clang(
        &folder,
        &format!("{openmp} -r -nostdlib main.o object.o archive.o {device} -o together.o"),
    )
    .ok();
    clang(&folder, &format!("{openmp} together.o -o program")).ok();
    assert_eq!(run(&folder, "program"), PRINTED);
    let images = folder.offkit("ls --json together.o").json();
    assert_eq!(images.len(), 1, "{images:#?}");

    // A shared library has its own images.
    compile(
        &folder,
        "main2",
        "#include <stdio.h>\nint region_of_archive(int);\nint main() { printf(\"%d\\n\", region_of_archive(3)); }\n",
    );
    clang(&folder, &format!("{openmp} -shared archive.o -o libshared.so")).ok();
    clang(
        &folder,
        &format!("{openmp} main2.o -L. -lshared -Wl,-rpath,. -o program2"),
    )
    .ok();
    assert_eq!(run(&folder, "program2"), "1009\n");
}
