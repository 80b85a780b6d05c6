//! Programs with device code, linked with offkit in the place of `clang-linker-wrapper`, on real runtimes.

mod openmp;

use std::process::Command;

use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, Outcome, has_openmp, need, offkit, tool};

/// The device that LLVM's offloading runtime has on every Linux machine: the CPU.
const DEVICE: &str = "x86_64-pc-linux-gnu";

const MAIN: &str = r#"
#include <omp.h>
#include <stdio.h>
#pragma omp declare target
int of_object(int);
int of_archive(int);
int of_device_library(int);
#pragma omp end declare target
int region_of_archive(int);
int main() {
  int numbers[64], host = 1;
  for (int i = 0; i < 64; ++i)
    numbers[i] = i;
#pragma omp target teams distribute parallel for map(tofrom : numbers)
  for (int i = 0; i < 64; ++i)
    numbers[i] = of_object(numbers[i]) + of_archive(numbers[i]) + of_device_library(numbers[i]);
#pragma omp target map(from : host)
  host = omp_is_initial_device();
  int sum = 0;
  for (int i = 0; i < 64; ++i)
    sum += numbers[i];
  printf("%d %d %d %s\n", numbers[1], sum, region_of_archive(5), host ? "host" : "device");
}
"#;
/// 5 x + 101 of the number 1, the sum of all, and what the region in the archive says of where it ran.
const PRINTED: &str = "106 16544 1025 device\n";
const OBJECT: &str =
    "#pragma omp declare target\nint of_object(int x) { return 3 * x; }\n#pragma omp end declare target\n";
const ARCHIVE: &str = r#"
#include <omp.h>
#pragma omp declare target
int of_archive(int x) { return x + 100; }
#pragma omp end declare target
int region_of_archive(int x) {
#pragma omp target map(tofrom : x)
  x = x * x + (omp_is_initial_device() ? 0 : 1000);
  return x;
}
"#;

/// A folder with offkit under the name of the linker wrapper in `bin`.
fn folder() -> Folder {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("bin")).expect("a folder");
    std::os::unix::fs::symlink(offkit(), folder.path("bin/clang-linker-wrapper")).expect("a link");
    folder
}

/// Runs clang with offkit as its linker wrapper.
#[track_caller]
fn clang(folder: &Folder, line: &str) -> Outcome {
    let bin = folder.path("bin");
    let arguments = [format!("-B{}", bin.display())];
    let words = line.split_whitespace().map(str::to_owned);
    folder.run(
        tool("clang-22").expect("asked for before"),
        arguments.into_iter().chain(words),
    )
}

/// Compiles C to `NAME.o`, with code for the device.
#[track_caller]
fn compile(folder: &Folder, name: &str, source: &str) {
    folder.write(&format!("{name}.c"), source);
    clang(
        folder,
        &format!("-fopenmp -fopenmp-targets={DEVICE} -fPIC -O1 -c {name}.c -o {name}.o"),
    )
    .ok();
}

/// Runs a program whose regions must run on a device.
#[track_caller]
fn run(folder: &Folder, program: &str) -> String {
    let mut command = Command::new(folder.path(program));
    command
        .env("OMP_TARGET_OFFLOAD", "MANDATORY")
        .env("LD_LIBRARY_PATH", "/usr/lib/llvm-22/lib");
    folder.run_command(&mut command).ok()
}

/// Objects, an archive, and a library of device code alone.
fn openmp_inputs() -> Folder {
    let folder = folder();
    compile(&folder, "main", MAIN);
    compile(&folder, "object", OBJECT);
    compile(&folder, "archive", ARCHIVE);
    folder.write("device.c", "int of_device_library(int x) { return x + 1; }\n");
    clang(
        &folder,
        &format!("--target={DEVICE} -fPIC -c device.c -o device.o"),
    )
    .ok();
    let ar = tool("llvm-ar").expect("asked for before");
    folder.run(&ar, ["rcs", "libarchive.a", "archive.o"]).ok();
    folder.run(&ar, ["rcs", "libdevice.a", "device.o"]).ok();
    folder
}

#[test]
fn code_for_hip_is_linked_and_bundled_without_other_programs() {
    need!("clang-22", "ld.lld");
    let folder = folder();
    folder.write("device.c", "int of_device(int x) { return 5 * x; }\n");
    let amd = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O1 -emit-llvm -c";
    clang(&folder, &format!("{amd} device.c -o device.bc")).ok();
    let images = ["gfx90a", "gfx942"]
        .map(|arch| format!("file=device.bc,triple=amdgcn-amd-amdhsa,arch={arch},kind=hip"));
    object_with(&folder, "device", &images.each_ref().map(String::as_str));
    // Under this name nothing but a failure is found.
    for program in ["clang", "clang-offload-bundler"] {
        folder.script(program, "exit 9");
    }
    let wrapper = |more: &str| {
        let mut command = Command::new(offkit());
        let path = format!(
            "{}:{}",
            folder.path("").display(),
            std::env::var("PATH").expect("a path")
        );
        command
            .args("as clang-linker-wrapper --linker-path=none --emit-fatbin-only device.o".split(' '))
            .args(more.split(' '))
            .env("PATH", path);
        folder.run_command(&mut command).ok();
    };
    wrapper("-o images");
    // The host's entry is empty.
    let listing = folder.offkit("ls --json --kind hip images").json();
    let archs: Vec<_> = listing.iter().map(|image| &image["arch"]).collect();
    assert_eq!(archs, ["gfx942", "gfx90a"], "{listing:#?}");
    for image in &listing {
        assert_eq!(image["offset"].as_u64().map(|offset| offset % 4096), Some(0));
    }
    wrapper("-o compressed --compress --compression-level=9");
    assert!(folder.read("compressed").starts_with(b"CCOB"));
    folder.offkit("extract --kind hip images -o plain").ok();
    folder.offkit("extract --kind hip compressed -o inflated").ok();
    let contents = |name: &str| {
        let files = std::fs::read_dir(folder.path(name)).expect("a folder");
        let mut contents: Vec<_> = files
            .map(|file| std::fs::read(file.expect("readable").path()).expect("a file"))
            .collect();
        contents.sort();
        contents
    };
    assert_eq!(contents("plain").len(), 2);
    assert!(contents("plain") == contents("inflated"));
}

#[test]
fn jobs_are_counted_by_make_and_their_times_are_written() {
    need!("clang-22", "ld.lld", "make");
    let folder = folder();
    folder.write("device.c", "int of_device(int x) { return 5 * x; }\n");
    let amd = "--target=amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O1 -emit-llvm -c";
    clang(&folder, &format!("{amd} device.c -o device.bc")).ok();
    let images = ["gfx90a", "gfx942", "gfx1100"]
        .map(|arch| format!("file=device.bc,triple=amdgcn-amd-amdhsa,arch={arch},kind=openmp"));
    object_with(&folder, "device", &images.each_ref().map(String::as_str));
    folder.script("ld", "exit 0");
    let wrapper = format!(
        "bin/clang-linker-wrapper --host-triple=x86_64-pc-linux-gnu --linker-path={} device.o -o program \
         --wrapper-jobs=jobserver --wrapper-time-trace=trace.json --wrapper-time-trace-granularity=0",
        folder.path("ld").display()
    );
    folder.write("Makefile", format!("all:\n\t+@{wrapper}\n"));
    let made = folder.run(tool("make").expect("asked for before"), ["-j3"]);
    assert_eq!(made.code, 0, "{made:?}");
    // make counts its tokens at the end.
    assert!(!made.stderr.contains("tokens"), "{made:?}");
    let trace: serde_json::Value = serde_json::from_slice(&folder.read("trace.json")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let named = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    assert_eq!(named("Link device input"), 3, "{trace:#}");
    assert_eq!(named("Execute host linker"), 1, "{trace:#}");
    let steps = events.iter().filter(|event| event["name"] == "Device link");
    let steps = steps.filter(|event| event["args"]["detail"] == "generate code");
    assert_eq!(steps.count(), 3, "{trace:#}");
    // Without a pipe to take tokens from, one after the other.
    folder
        .run(
            "sh",
            ["-c", &format!("MAKEFLAGS=--jobserver-auth=fifo:none {wrapper}")],
        )
        .ok();
}

#[test]
fn host_code_that_is_still_bitcode_has_its_device_code() {
    need!("clang-22", "ld.lld");
    if !has_openmp() {
        return;
    }
    let folder = folder();
    let main = "#include <stdio.h>\nint region_of_archive(int);\nint main() { printf(\"%d\\n\", region_of_archive(3)); }\n";
    folder.write("main.c", main);
    folder.write("region.c", ARCHIVE);
    let openmp = format!("-fopenmp -fopenmp-targets={DEVICE}");
    clang(&folder, &format!("{openmp} -flto -O1 -c main.c region.c")).ok();
    clang(
        &folder,
        &format!("{openmp} -flto -fuse-ld=lld main.o region.o -o program"),
    )
    .ok();
    assert_eq!(run(&folder, "program"), "1009\n");
}

/// An object whose section `.llvm.offloading` has these images, as `offkit pack` takes them.
#[track_caller]
fn object_with(folder: &Folder, name: &str, images: &[&str]) {
    let images: Vec<_> = images.iter().map(|image| format!("--image={image}")).collect();
    folder
        .offkit(&format!("pack -q -o {name}.bin {}", images.join(" ")))
        .ok();
    folder.write("empty.c", "");
    clang(
        folder,
        &format!("-c empty.c -o {name}.o -Xclang -fembed-offload-object={name}.bin"),
    )
    .ok();
}

#[test]
fn sycl_code_runs_on_the_real_runtime() {
    need!("clang-22", "clang-sycl-linker", "llvm-objcopy");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = folder();
    folder.bitcode(
        "app",
        "int library_function(int x);
         kernel void app_kernel(global int *numbers) {
           size_t i = get_global_id(0);
           numbers[i] = library_function(numbers[i]) + 1;
         }",
    );
    folder.bitcode("library", "int library_function(int x) { return x * 7; }");
    for name in ["app", "library"] {
        let image = format!("file={name}.bc,triple=spirv64-unknown-unknown,arch=generic,kind=sycl");
        object_with(&folder, name, &[&image]);
    }
    let main = runtime.registered_object();
    let main = main.to_str().expect("a readable path");
    // A compiler takes the linker's arguments, too.
    let cc = tool("g++").expect("what made the object");
    let linker = format!("--linker-path={}", cc.display());
    let library = runtime.library_folder();
    let library = library.to_str().expect("a readable path");
    // With and without a step before, in which everything becomes one object.
    let first = folder.run(
        offkit(),
        [
            "as",
            "clang-linker-wrapper",
            "--host-triple=x86_64-pc-linux-gnu",
            "--linker-path=/usr/bin/ld",
            "--sycl-images=sycl-v3",
            "-r",
            "-o",
            "together.o",
            main,
            "app.o",
            "library.o",
        ],
    );
    first.ok();
    runtime.link(&folder, "g++", "together", &["together.o"]);
    let printed = runtime.run_linked(&folder, "together", &[]).ok();
    assert_eq!(printed, "8 15 22 29 36 43 50 57 registered\n");
    let linked = folder.run(
        offkit(),
        [
            "as",
            "clang-linker-wrapper",
            "--host-triple=x86_64-pc-linux-gnu",
            &linker,
            "--sycl-images=sycl-v3",
            "-o",
            "program",
            main,
            "app.o",
            "library.o",
            &format!("-L{library}"),
            "-l:libsycl.so.9",
            "-Wl,-rpath",
            &format!("-Wl,{library}"),
        ],
    );
    linked.ok();
    let printed = runtime.run_linked(&folder, "program", &[]).ok();
    assert_eq!(printed, "8 15 22 29 36 43 50 57 registered\n");
}

/// The module in what `--print-wrapped-module` printed, without the commands around it.
fn module_of(printed: &str) -> String {
    let module = printed.lines().skip_while(|line| !line.starts_with("; ModuleID"));
    let lines: Vec<_> = module.filter(|line| !line.starts_with(" \"")).collect();
    lines.join("\n")
}

#[test]
fn the_module_is_the_one_that_the_original_prints() {
    need!("clang-22", "clang-linker-wrapper", "lld");
    let original = tool("clang-linker-wrapper").expect("asked for before");
    let folder = folder();
    folder.write("device.c", "int f(int x) { return x + 1; }");
    clang(
        &folder,
        &format!("--target={DEVICE} -fPIC -c device.c -o device.o"),
    )
    .ok();
    let both = |line: &str| {
        let of = |program: &std::path::Path| folder.run(program, line.split_whitespace());
        let modules = [of(&original), of(&folder.path("bin/clang-linker-wrapper"))].map(|outcome| {
            assert_eq!(outcome.code, 0, "{line}: {outcome:#?}");
            module_of(&outcome.stderr)
        });
        let [wanted, printed] = &modules;
        assert!(wanted.contains("source_filename"), "{line}: {wanted}");
        assert_eq!(printed, wanted, "{line}");
        wanted.clone()
    };
    for (language, target) in [
        ("openmp", "amdgcn-amd-amdhsa,arch=gfx90a"),
        ("cuda", "nvptx64-nvidia-cuda,arch=sm_70"),
        ("hip", "amdgcn-amd-amdhsa,arch=gfx90a"),
        ("sycl", "spirv64-unknown-unknown,arch=generic"),
    ] {
        object_with(
            &folder,
            language,
            &[&format!("file=device.o,kind={language},triple={target}")],
        );
        for host in [
            "x86_64-unknown-linux-gnu",
            "aarch64-unknown-linux-gnu",
            "x86_64-unknown-windows-gnu",
        ] {
            both(&format!(
                "--print-wrapped-module --dry-run --host-triple={host} --linker-path=ld {language}.o -o program"
            ));
        }
    }
    // With the bytes of an image, and for a link into another object.
    for language in ["hip", "openmp"] {
        both(&format!(
            "--print-wrapped-module --override-image={language}=device.o --host-triple=x86_64-unknown-linux-gnu \
             --linker-path=/bin/true {language}.o -o program"
        ));
    }
    let relocatable = both(
        "--print-wrapped-module --dry-run --relocatable --host-triple=x86_64-unknown-linux-gnu --linker-path=ld \
         openmp.o -o program",
    );
    assert!(
        relocatable.contains(".llvm.offloading.relocatable"),
        "{relocatable}"
    );

    let refused = folder.offkit(
        "as clang-linker-wrapper --print-wrapped-module --dry-run --sycl-images=sycl-v3 --linker-path=ld sycl.o",
    );
    let said = refused.fails(1);
    assert!(
        said.contains("LLVM makes no module that registers images as `sycl-v3`"),
        "{said}"
    );
}

#[test]
fn what_fails_is_said_and_leaves_no_program() {
    need!("clang-22", "llvm-ar");
    let folder = folder();
    let wrapper = |line: &str| folder.offkit(&format!("as clang-linker-wrapper {line}"));
    assert!(
        wrapper("")
            .fails(1)
            .contains("linker path missing, must pass 'linker-path'")
    );
    let said = wrapper("--linker-path=/usr/bin/ld -lnowhere").fails(1);
    assert!(said.contains("error: unable to find library -lnowhere"), "{said}");

    // Code for a device that cannot be linked: a function is missing.
    folder.write(
        "device.c",
        "int missing(int); int f(int x) { return missing(x); }",
    );
    clang(
        &folder,
        &format!("--target={DEVICE} -fPIC -c device.c -o device.o"),
    )
    .ok();
    object_with(
        &folder,
        "bad",
        &[&format!("file=device.o,triple={DEVICE},kind=openmp")],
    );
    let said = wrapper("--linker-path=/usr/bin/ld bad.o -o program").fails(1);
    assert!(
        said.contains("error: undefined symbol: missing") && said.contains("device.c"),
        "{said}"
    );
    assert!(!folder.path("program").exists());

    object_with(
        &folder,
        "mixed",
        &[
            "file=device.o,triple=spirv64-unknown-unknown,kind=sycl",
            "file=device.o,triple=spirv64-unknown-unknown,kind=openmp",
        ],
    );
    let said = wrapper("--linker-path=/usr/bin/ld mixed.o -o program").fails(1);
    assert!(said.contains("images of any other kind"), "{said}");
    object_with(
        &folder,
        "strange",
        &["file=device.o,triple=vax-dec-ultrix,kind=openmp"],
    );
    let said = wrapper("--linker-path=/usr/bin/ld strange.o -o program").fails(1);
    assert!(said.contains("vax linking is not supported"), "{said}");

    // A damaged offload binary names its file and place.
    let mut bytes = folder.read("bad.o");
    let at = bytes
        .windows(4)
        .position(|window| window == [0x10, 0xff, 0x10, 0xad])
        .expect("an offload binary");
    bytes[at + 56] = 0xff;
    bytes[at + 57] = 0xff;
    folder.write("damaged.o", &bytes);
    let said = wrapper("--linker-path=/usr/bin/ld damaged.o -o program").fails(1);
    assert!(said.contains("damaged.o") && said.contains("offset"), "{said}");
}

#[test]
fn wrapped_objects_are_not_linked_again() {
    need!("clang-22");
    let folder = folder();
    folder.write("code", "native code");
    folder
        .offkit(&format!(
            "wrap -q code -o wrapped.o --kind openmp --triple {DEVICE}"
        ))
        .ok();
    let dry =
        folder.offkit("as clang-linker-wrapper --dry-run --linker-path=/usr/bin/ld wrapped.o -o program");
    assert_eq!(dry.code, 0, "{dry:?}");
    assert_eq!(dry.stderr, " \"/usr/bin/ld\" wrapped.o -o program\n");
}

#[test]
fn long_command_lines_go_through_files() {
    let folder = Folder::new();
    folder.script(
        "ld",
        r#"case "$1" in @*) wc -l < "${1#@}"; tail -1 "${1#@}";; *) echo "$#";; esac"#,
    );
    let linker = format!("--linker-path={}", folder.path("ld").display());
    let run = |count: usize| {
        let mut arguments = vec!["as".to_owned(), "clang-linker-wrapper".to_owned(), linker.clone()];
        arguments.extend((0..count).map(|number| format!("-L/a/folder/with quotes\"/{number:040}")));
        folder.run(offkit(), arguments).ok()
    };
    assert_eq!(run(10), "10\n");
    let shown = run(4000);
    let mut lines = shown.lines();
    assert_eq!(lines.next().map(str::trim), Some("4000"));
    assert!(
        lines
            .next()
            .is_some_and(|last| last.ends_with("003999\"") && last.contains("\\\"")),
        "{shown}"
    );
}
