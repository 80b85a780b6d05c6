//! Device libraries: found for each target, linked early and late, looked into and taken out.

mod rules;

use std::fs;
use std::path::Path;
use std::process::Command;

use offkit_tests::documentation::commands;
use offkit_tests::{Folder, Outcome, need, npy_i32, offkit, read_i32, root, skip, tool};
use serde_json::Value;

const APP: &str = "int twice(int x); int next(int x);
                   kernel void k(global int *a) { a[0] = next(twice(a[0])); }";

const TWICE: &str = "int twice(int x) { return 2 * x; }
                     int never(int x) { return x; }";

const NEXT: &str = "int next(int x) { return x + 1; }";

/// The same function, and another result.
const BEFORE: &str = "int next(int x) { return x - 1; }";

/// Compiles OpenCL C for a processor or a triple.
#[track_caller]
fn compile(folder: &Folder, source: &str, target: &str, more: &[&str], output: &str) {
    let target = match target.split_at(target.len().min(3)) {
        ("sm_", _) => {
            let march = format!("-march={target}");
            vec![
                "--target=nvptx64-nvidia-cuda".to_owned(),
                "--cuda-feature=+ptx50".to_owned(),
                march,
            ]
        }
        ("gfx", _) => vec!["--target=amdgcn-amd-amdhsa".to_owned(), format!("-mcpu={target}")],
        _ => vec![format!("--target={target}")],
    };
    let input = folder.write("source.cl", source);
    let path = folder.path(output);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut command = Command::new(tool("clang-22").expect("asked for before"));
    command.args(target).args(more);
    command.args("-cl-std=CL3.0 -O1 -nogpulib -emit-llvm -c".split_whitespace());
    command.arg(input).arg("-o").arg(path);
    folder.run_command(&mut command).ok();
}

/// Runs offkit where nothing but what is said names folders, with a compiler in `compiler/bin`.
fn alone(folder: &Folder, line: &str, library_path: &str) -> Outcome {
    let bin = folder.path("compiler/bin");
    if !bin.exists() {
        fs::create_dir_all(&bin).expect("a folder");
        let clang = tool("clang-22").expect("asked for before");
        std::os::unix::fs::symlink(clang, bin.join("clang-22")).expect("a link");
    }
    let mut command = Command::new(offkit());
    command.args(line.split_whitespace());
    command.env("OFFKIT_CLANG", bin.join("clang-22"));
    command.env("LIBRARY_PATH", library_path);
    command.env("XDG_CACHE_HOME", folder.path("cache"));
    for variable in ["ROCM_PATH", "CUDA_PATH", "CUDA_HOME"] {
        command.env_remove(variable);
    }
    folder.run_command(&mut command)
}

/// Runs the kernel on 10, which becomes the number that is returned.
fn run(folder: &Folder, file: &str) -> i32 {
    folder.write("in.npy", npy_i32("(1,)", [10]));
    folder
        .offkit(&format!("run {file} k --global 1 --arg in.npy --out out.npy"))
        .ok();
    read_i32(&folder.read("out.npy"))[0]
}

#[test]
fn of_libraries_what_is_needed_is_linked_late() {
    need!("clang-22", "llc", "llvm-ar", "llvm-dis");
    let folder = Folder::new();
    compile(&folder, APP, "spirv64", &[], "app.bc");
    compile(
        &folder,
        TWICE,
        "spirv64",
        &[],
        "a/libdevice/spirv64/libtwice-spirv64.bc",
    );
    compile(&folder, NEXT, "spirv64", &[], "a/libnext.bc");
    compile(&folder, BEFORE, "spirv64", &[], "b/libbefore.bc");
    compile(&folder, BEFORE, "spirv64", &[], "before.bc");
    let archiver = tool("llvm-ar").unwrap();
    folder.run(&archiver, ["rcs", "b/libarchive.a", "before.bc"]).ok();
    let state = "--state executable --split none";
    // The first library that has a function supplies it, archive or not, wherever the code that needs it stands.
    for (libraries, expected) in [
        ("app.bc -ltwice -lnext", 21),
        ("-lnext -ltwice app.bc", 21),
        ("app.bc -ltwice -lbefore -lnext", 19),
        ("app.bc -ltwice -lnext -lbefore -larchive", 21),
        ("app.bc -ltwice -larchive -lnext", 19),
        ("app.bc --start-group -ltwice -lnext --end-group -lmpi", 21),
        (
            "app.bc -ltwice --whole-archive -larchive --no-whole-archive -lnext",
            19,
        ),
        ("app.bc -ltwice before.bc -lnext", 19),
    ] {
        let outcome = alone(
            &folder,
            &format!("link {libraries} -L a -L b -o x.syclbin {state}"),
            "/usr/share",
        );
        assert_eq!(
            (outcome.code, run(&folder, "x.syclbin")),
            (0, expected),
            "{libraries}: {outcome:#?}"
        );
        assert!(!outcome.stderr.contains("warning"), "{outcome:#?}");
    }
    // Only what is needed comes, and nobody else sees it.
    alone(
        &folder,
        "link app.bc -L a -ltwice -lnext -o x.syclbin --save-temps=kept",
        "",
    )
    .ok();
    let text = folder
        .run(tool("llvm-dis").unwrap(), ["kept/linked.bc", "-o", "-"])
        .ok();
    assert!(text.contains("@twice") && !text.contains("@never"), "{text}");
    let listed = folder.offkit("ls --json x.syclbin").ok();
    assert!(listed.contains(r#""exports":[]"#), "{listed}");
    let plan = alone(
        &folder,
        "link app.bc -L a -lnext -lmpi -o y.syclbin --dry-run",
        "",
    )
    .ok();
    assert!(plan.contains("look in `a/libnext.bc` (-lnext)"), "{plan}");
}

#[test]
fn what_no_library_has_is_told_with_those_that_were_looked_at() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    compile(&folder, APP, "spirv64", &[], "app.bc");
    compile(&folder, TWICE, "spirv64", &[], "a/libtwice.bc");
    let line = "link app.bc -L a -ltwice -lmpi -o x.syclbin --state executable";
    let error = alone(&folder, line, "").fails(2);
    for part in [
        "undefined symbol `next`, needed by `k`",
        "looked for it in `a/libtwice.bc` (-ltwice)",
        "looked for it in -lmpi, of which there is no device library for `spirv64",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn a_library_may_need_others() {
    need!("clang-22", "llc", "llvm-ar");
    let folder = Folder::new();
    compile(&folder, APP, "spirv64", &[], "app.bc");
    let twice = "int sum(int x, int y); int twice(int x) { return sum(x, x); }";
    let sum = "int sum(int x, int y) { return x + y; }";
    compile(&folder, twice, "spirv64", &[], "a/libtwice.bc");
    compile(&folder, NEXT, "spirv64", &[], "a/libnext.bc");
    compile(&folder, sum, "spirv64", &[], "a/libsum.bc");
    compile(&folder, sum, "spirv64", &[], "sum.bc");
    folder
        .run(tool("llvm-ar").unwrap(), ["rcs", "a/libmembers.a", "sum.bc"])
        .ok();
    // In any order; from bitcode, from an archive, and by the manifest's word.
    for libraries in [
        "-lsum -ltwice -lnext",
        "-ltwice -lnext -lsum",
        "-lmembers -ltwice -lnext",
    ] {
        let line = format!("link app.bc -L a {libraries} -o x.syclbin --state executable --split none");
        alone(&folder, &line, "").ok();
        assert_eq!(run(&folder, "x.syclbin"), 21, "{libraries}");
    }
    fs::create_dir(folder.path("a/libdevice")).unwrap();
    let manifest = "name = \"twice\"\ntargets = [\"spirv64\"]\ndependencies = [\"sum\"]\n";
    folder.write("a/libdevice/libtwice.toml", manifest);
    let line = "link app.bc -L a -ltwice -lnext -o x.syclbin --state executable --split none";
    alone(&folder, line, "").ok();
    assert_eq!(run(&folder, "x.syclbin"), 21);
    folder.write("a/libdevice/libtwice.toml", "name = 7\n");
    let error = alone(&folder, line, "").fails(2);
    assert!(error.contains("libtwice.toml:1"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_linked() {
    need!("clang-22", "llc", "ld.lld");
    let folder = Folder::new();
    let app = "int next(int x); kernel void k(global int *a) { a[0] = next(a[0]); }";
    compile(&folder, app, "gfx1030", &[], "app.bc");
    compile(&folder, app, "spirv64", &[], "app-spirv.bc");
    compile(
        &folder,
        NEXT,
        "gfx1030",
        &["-mcode-object-version=5"],
        "a/libold.bc",
    );
    compile(&folder, NEXT, "gfx1030", &["-mwavefrontsize64"], "a/libwide.bc");
    compile(&folder, NEXT, "gfx1030", &[], "a/libgood.bc");
    compile(&folder, NEXT, "spirv64v1.6", &[], "a/libnew.bc");
    for (app, library, difference) in [
        (
            "app.bc",
            "old",
            "the code object version is 600 in the first and 500 in the second",
        ),
        (
            "app.bc",
            "wide",
            "the wavefront size is 32 in the first and 64 in the second",
        ),
        (
            "app-spirv.bc",
            "new",
            "the version of SPIR-V is 1.2 in the first and 1.6 in the second",
        ),
    ] {
        let line = format!("link {app} -L a -l{library} --format offload -o x.out");
        let error = alone(&folder, &line, "").fails(2);
        let message = format!("{app} and a/lib{library}.bc cannot be linked together: {difference}");
        assert!(error.contains(&message), "{error}");
    }
    alone(&folder, "link app.bc -L a -lgood --format offload -o x.out", "").ok();
    alone(
        &folder,
        "link app-spirv.bc -L a -lnew --spirv-version 1.6 -o x.syclbin",
        "",
    )
    .ok();
    // The same where the front end links them, before it compiles anything.
    folder.write("app.cl", app);
    for (targets, library, difference) in [
        (
            "-fsycl-targets=amdgcn --offload-arch=gfx1030",
            "wide",
            "the wavefront size is 32 in the first and 64 in the second",
        ),
        (
            "-fsycl-targets=amdgcn --offload-arch=gfx1030",
            "old",
            "the code object version is 600 in the first and 500 in the second",
        ),
        (
            "-fsycl-targets=spirv64",
            "new",
            "the version of SPIR-V is 1.2 in the first and 1.6 in the second",
        ),
    ] {
        let line = format!("cc -fsycl {targets} -c app.cl -L a -l{library} -o early.o");
        let error = alone(&folder, &line, "").fails(2);
        let message = format!("app.cl and a/lib{library}.bc cannot be linked together: {difference}");
        assert!(error.contains(&message), "{error}");
        assert!(!folder.path("early.o").exists());
    }
    let line = "cc -fsycl -fsycl-targets=amdgcn --offload-arch=gfx1030 -c app.cl -L a -lgood -o early.o";
    alone(&folder, line, "").ok();
    // A manifest may say what bitcode does not.
    let open = ["-Xclang", "-mcode-object-version=none"];
    compile(&folder, NEXT, "gfx1030", &open, "a/libopen.bc");
    let line = "link app.bc -L a -lopen --format offload -o x.out";
    alone(&folder, line, "").ok();
    fs::create_dir(folder.path("a/libdevice")).unwrap();
    let manifest = "name = \"open\"\ntargets = [\"gfx1030\"]\nabi.code-object-version = 5\n";
    folder.write("a/libdevice/libopen.toml", manifest);
    let error = alone(&folder, line, "").fails(2);
    assert!(
        error.contains("a/libopen.bc cannot be linked together: the code object version"),
        "{error}"
    );
}

#[test]
fn images_are_as_narrow_as_their_code() {
    need!("clang-22", "llc", "ld.lld");
    let folder = Folder::new();
    let app = "kernel void k(global int *a) { a[0] += 1; }";
    let other = "kernel void j(global int *a) { a[0] += 2; }";
    compile(&folder, app, "gfx906:xnack-", &[], "app.bc");
    compile(&folder, other, "gfx906", &[], "other.bc");
    compile(&folder, other, "gfx906:xnack+", &[], "clash.bc");
    for line in [
        "app.bc other.bc",
        "other.bc app.bc --target amdgcn-amd-amdhsa,arch=gfx906",
    ] {
        alone(&folder, &format!("link {line} --format offload -o x.out"), "").ok();
        let images = folder.offkit("ls --json x.out").json();
        assert_eq!(images[0]["arch"], "gfx906:xnack-", "{line}: {images:#?}");
    }
    for line in ["", "--target amdgcn-amd-amdhsa,arch=gfx906"] {
        let line = format!("link app.bc other.bc clash.bc {line} --format offload -o x.out");
        let error = alone(&folder, &line, "").fails(2);
        for part in [
            "app.bc",
            "clash.bc",
            "`xnack` is demanded to be on in one and off in the other",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn what_is_declared_weak_may_stay_undefined() {
    need!("clang-22", "llc", "ld.lld");
    let folder = Folder::new();
    let source = "extern int next(int) __attribute__((weak));
                  __attribute__((device_kernel)) void k(__attribute__((address_space(1))) int *a) {
                    a[0] = next ? next(a[0]) : 7;
                  }";
    folder.write("app.c", source);
    for target in [
        "amdgcn-amd-amdhsa -mcpu=gfx906",
        "nvptx64-nvidia-cuda -march=sm_60",
        "spirv64",
    ] {
        let line = format!("--target={target} -O1 -nogpulib -emit-llvm -c app.c -o app.bc");
        let ptx = target.starts_with("nvptx").then_some("--cuda-feature=+ptx60");
        let words = line.split(' ').chain(ptx);
        folder.run(tool("clang-22").unwrap(), words).ok();
        alone(
            &folder,
            "link app.bc --format offload --state executable -o app.out",
            "",
        )
        .ok();
        let images = folder.offkit("ls --json app.out").json();
        assert_eq!(
            images[0]["imports"],
            serde_json::json!([]),
            "{target}: {images:#?}"
        );
        alone(&folder, "devlib check app.bc", "").ok();
    }
    assert_eq!(run(&folder, "app.out"), 7);
    // Where somebody defines it, it is there.
    folder.write("next.c", "int next(int x) { return x + 1; }");
    let line = "--target=spirv64 -O1 -emit-llvm -c next.c -o next.bc";
    folder.run(tool("clang-22").unwrap(), line.split(' ')).ok();
    alone(
        &folder,
        "link app.bc next.bc --format offload --state executable -o app.out",
        "",
    )
    .ok();
    assert_eq!(run(&folder, "app.out"), 11);
}

#[test]
fn calls_that_do_not_agree_with_the_definition_are_told() {
    need!("clang-22", "llc", "ld.lld");
    let folder = Folder::new();
    let app = "float next(float x); kernel void k(global float *a) { a[0] = next(a[0]); }";
    for target in ["spirv64", "gfx906", "sm_60"] {
        compile(&folder, app, target, &[], "app.bc");
        compile(&folder, NEXT, target, &[], "a/libnext.bc");
        let outcome = alone(&folder, "link app.bc -L a -lnext --format offload -o x.out", "");
        // What NVIDIA's own linker would refuse is refused.
        assert_eq!(
            outcome.code,
            if target == "sm_60" { 2 } else { 0 },
            "{outcome:#?}"
        );
        let message = "function signature mismatch: `next`, defined as i32 (i32) in a/libnext.bc, called as \
                       float (float) in app.bc";
        assert!(outcome.stderr.contains(message), "{target}: {outcome:#?}");
    }
    // What agrees says nothing, and neither does what C leaves open.
    compile(&folder, app, "spirv64", &[], "app.bc");
    compile(
        &folder,
        "float next(float x) { return x; }",
        "spirv64",
        &[],
        "a/libnext.bc",
    );
    let outcome = alone(&folder, "link app.bc -L a -lnext --format offload -o x.out", "");
    assert_eq!(
        (outcome.code, outcome.stderr.contains("mismatch")),
        (0, false),
        "{outcome:#?}"
    );
}

#[test]
fn a_library_that_is_skipped_is_named_at_the_link() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    compile(&folder, APP, "spirv64", &[], "app.bc");
    compile(&folder, NEXT, "gfx906", &[], "a/libnext.bc");
    compile(&folder, TWICE, "spirv64", &[], "a/libtwice.bc");
    let whole = folder.read("a/libtwice.bc");
    folder.write("a/libtwice.bc", &whole[..whole.len() * 2 / 3]);
    fs::create_dir(folder.path("b")).unwrap();
    folder.write("b/libtwice.bc", &whole);
    // A script of the host's linker is nothing to speak of.
    folder.write("a/libm.a", "GROUP ( libm-2.36.a )\n");
    let outcome = alone(
        &folder,
        "link app.bc -L a -L b -ltwice -lnext -lm -o x.syclbin",
        "",
    );
    assert_eq!(outcome.code, 0, "{outcome:#?}");
    for part in [
        "warning: skipped a/libtwice.bc: ",
        "warning: skipped a/libnext.bc: it is for another architecture: `amdgcn-amd-amdhsa-gfx906`",
    ] {
        assert!(outcome.stderr.contains(part), "{part}: {outcome:#?}");
    }
    assert!(!outcome.stderr.contains("libm"), "{outcome:#?}");
    let line = "link app.bc -L a -L b -ltwice -lnext -o x.syclbin --state executable";
    let error = alone(&folder, line, "").fails(2);
    let part = "looked for it in `a/libnext.bc` (-lnext), which is skipped: it is for another architecture";
    assert!(error.contains(part), "{error}");
}

#[test]
fn archives_are_linked_for_all_targets_that_they_hold() {
    need!("clang-22", "llc", "ld.lld", "llvm-ar", "clang-offload-bundler");
    let folder = Folder::new();
    let app = "int next(int x); kernel void k(global int *a) { a[0] = next(a[0]); }";
    for target in ["sm_60", "gfx906", "spirv64"] {
        compile(&folder, app, target, &[], &format!("app-{target}.bc"));
        compile(&folder, NEXT, target, &[], &format!("next-{target}.bc"));
    }
    let image = |name: &str, target: &str, arch: &str| {
        format!("--image=file={name}-{arch}.bc,triple={target},arch={arch},kind=sycl")
    };
    let package = |name: &str| {
        let images = [
            image(name, "nvptx64-nvidia-cuda", "sm_60"),
            image(name, "amdgcn-amd-amdhsa", "gfx906"),
        ];
        let line = format!("pack {} -o {name}.bin", images.join(" "));
        folder.offkit(&line).ok();
        folder.write("empty.c", "");
        let embed = format!(
            "-cc1 -triple x86_64-unknown-linux-gnu -emit-obj -fembed-offload-object={name}.bin -x c empty.c -o {name}.o"
        );
        folder.run(tool("clang-22").unwrap(), embed.split(' ')).ok();
    };
    package("app");
    package("next");
    let archiver = tool("llvm-ar").unwrap();
    fs::create_dir(folder.path("lib")).unwrap();
    folder.run(&archiver, ["rcs", "lib/libembedded.a", "next.o"]).ok();
    folder
        .run(
            &archiver,
            ["rcs", "lib/libbitcode.a", "next-sm_60.bc", "next-gfx906.bc"],
        )
        .ok();
    folder.write("host.o", "");
    let bundle = "-type=o -targets=host-x86_64-unknown-linux-gnu-,hip-nvptx64-nvidia-cuda--sm_60,hip-amdgcn-amd-amdhsa--gfx906 \
                  -input=host.o -input=next-sm_60.bc -input=next-gfx906.bc -output=bundled.o";
    folder
        .run(tool("clang-22").unwrap(), ["-c", "empty.c", "-o", "host.o"])
        .ok();
    folder
        .run(tool("clang-offload-bundler").unwrap(), bundle.split_whitespace())
        .ok();
    folder
        .run(&archiver, ["rcs", "lib/libbundled.a", "bundled.o"])
        .ok();
    folder.run(&archiver, ["rcs", "lib/libhost.a", "host.o"]).ok();
    for library in ["embedded", "bitcode", "bundled"] {
        let line = format!("link app.o -L lib -lhost -l{library} --format offload -o {library}.out");
        alone(&folder, &line, "").ok();
        let listed: Vec<String> = (folder
            .offkit(&format!("ls --json --kernel k {library}.out"))
            .json()
            .iter())
        .map(|image| image["arch"].as_str().unwrap().to_owned())
        .collect();
        assert_eq!(listed, ["sm_60", "gfx906"], "{library}");
    }
    // Where the host takes the shared library, which keeps its device code, the archive is left alone.
    folder.write("lib/libembedded.so", "");
    alone(
        &folder,
        "link app.o -L lib -lembedded --prefer-shared-libraries --format offload -o x.out",
        "",
    )
    .fails(2);
}

#[test]
fn libraries_for_a_relative_of_the_processor_are_inlined() {
    need!("clang-22", "llc", "ld.lld", "llvm-dis");
    let folder = Folder::new();
    let app = "int next(int x); kernel void k(global int *a) { a[0] = next(a[0]); }";
    compile(&folder, app, "gfx906", &[], "app.bc");
    compile(
        &folder,
        NEXT,
        "gfx9-generic",
        &[],
        "a/libdevice/gfx9-generic/libnext-amdgcn-gfx9-generic.bc",
    );
    alone(
        &folder,
        "link app.bc -L a -lnext --format offload -o x.out --save-temps=kept",
        "",
    )
    .ok();
    let text = folder
        .run(tool("llvm-dis").unwrap(), ["kept/0.opt.bc", "-o", "-"])
        .ok();
    assert_eq!(text.matches("\ndefine ").count(), 1, "{text}");
    assert!(!text.contains("gfx9-generic"), "{text}");
}

/// clang's own HIP and OpenMP: HIP finishes device code when it compiles it.
#[test]
fn front_ends_of_clangs_own_offloading_link_libraries_early() {
    need!("clang-22", "ld.lld");
    let folder = Folder::new();
    compile(&folder, TWICE, "gfx90a", &[], "lib/libtwice-amdgcn-gfx90a.bc");
    compile(
        &folder,
        TWICE,
        "sm_50",
        &["-Xclang", "-target-feature", "-Xclang", "+ptx42"],
        "lib/libtwice-nvptx-sm_50.bc",
    );
    folder.write(
        "app.hip",
        "struct dim3 { unsigned x, y, z; };
         extern \"C\" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
         extern \"C\" __attribute__((device)) int twice(int);
         __attribute__((global)) void k(int *a) { a[0] = twice(a[0]); }",
    );
    folder.write(
        "app.c",
        "#pragma omp declare target
         int twice(int);
         #pragma omp end declare target
         void k(int *a) {
         #pragma omp target map(a[0])
           a[0] = twice(a[0]);
         }",
    );
    // The library for hosts alone is no reason for a warning.
    let library = "-nogpulib -Llib -ltwice -lm -c";
    let hip = format!("cc --offload-arch=gfx90a -nogpuinc {library} app.hip -o hip.o");
    let built = folder.offkit(&hip);
    assert_eq!((built.code, &*built.stderr), (0, ""), "{built:#?}");
    let images = folder.offkit("ls --json hip.o").json();
    let image = images.iter().find(|image| image["arch"] == "gfx90a");
    let image = image.expect("an image for the device");
    assert_eq!(image["kernels"], serde_json::json!(["_Z1kPi"]), "{image:#}");
    assert_eq!(image["imports"], serde_json::json!([]), "{image:#}");
    for arch in ["gfx90a", "sm_50"] {
        let openmp = format!("cc -fopenmp --offload-arch={arch} {library} app.c -o openmp.o");
        let built = folder.offkit(&openmp);
        assert_eq!((built.code, &*built.stderr), (0, ""), "{built:#?}");
        let [image] = &folder.offkit("ls --json openmp.o").json()[..] else {
            panic!("one image")
        };
        let imports = image["imports"].as_array().expect("a list");
        assert!(imports.iter().all(|name| name != "twice"), "{image:#}");
    }
}

#[test]
fn the_driver_links_libraries_early_and_late() {
    need!("clang-22", "llc", "llvm-dis", "ar");
    let folder = Folder::new();
    let app = "int next(int x); kernel void k(global int *a) { a[0] = next(a[0]); }";
    folder.write("app.cl", app);
    compile(
        &folder,
        NEXT,
        "gfx906",
        &[],
        "a/libdevice/gfx906/libnext-amdgcn-gfx906.bc",
    );
    compile(&folder, NEXT, "spirv64", &[], "a/libnext-spirv64.bc");
    compile(
        &folder,
        "int other(int x) { return x; }",
        "sm_60",
        &[],
        "b/libnext.bc",
    );
    let targets = "-fsycl -fsycl-targets=spirv64,amdgcn,nvptx64 --offload-arch=gfx906,sm_60";
    // A library for one target is no library for another, and one for hosts is none at all.
    let early = alone(
        &folder,
        &format!("cc {targets} -c app.cl -L a -lnext -lmpi -o app.o"),
        "b",
    );
    assert_eq!((early.code, &*early.stderr), (0, ""), "{early:#?}");
    let images = folder.offkit("ls --json app.o").json();
    let open: Vec<(String, bool)> = images
        .iter()
        .map(|image| {
            let imports = image["imports"].as_array().unwrap();
            let arch = image["arch"].as_str().unwrap().to_owned();
            (arch, imports.iter().any(|name| name == "next"))
        })
        .collect();
    let expected = [("generic", false), ("gfx906", false), ("sm_60", true)];
    assert_eq!(open, expected.map(|(arch, open)| (arch.to_owned(), open)));
    // The same by a link.
    alone(
        &folder,
        "cc -fsyclbin app.cl -L a -lnext -lmpi -o app.syclbin",
        "b",
    )
    .ok();
    assert_eq!(run(&folder, "app.syclbin"), 11);
}

/// OpenMP's device code comes from clang, and is linked by the tool that clang starts.
#[test]
fn openmp_regions_are_linked_with_device_libraries() {
    need!("clang-22", "ld.lld", "true");
    let folder = Folder::new();
    let source = "#pragma omp begin declare target\nint next(int x);\n#pragma omp end declare target\n\
                  int main(void) {\n  int r = 1;\n#pragma omp target map(tofrom : r)\n  r = next(r);\n  return r;\n}\n";
    folder.write("main.c", source);
    let clang = tool("clang-22").unwrap();
    let compiled = "-fopenmp --offload-arch=gfx906 -nogpulib -nogpuinc -O1 -c main.c -o main.o";
    folder.run(clang, compiled.split(' ')).ok();
    compile(&folder, NEXT, "gfx906", &[], "lib/libnext-amdgcn-gfx906.bc");
    // What OpenMP's device runtime would have.
    let runtime =
        "void __kmpc_target_deinit(void) {} int __kmpc_target_init(void *x, void *y) { return -1; }";
    compile(&folder, runtime, "gfx906", &[], "lib/libruntime.bc");
    // The host has archives of these names.
    for name in ["lib/libnext.a", "lib/libruntime.a"] {
        folder.write(name, "!<arch>\n");
    }
    let host = format!(
        "--host-triple=x86_64-unknown-linux-gnu --linker-path={}",
        tool("true").unwrap().display()
    );
    let line = format!("as clang-linker-wrapper {host} -o program main.o -Llib -lruntime");
    let error = alone(&folder, &line, "").fails(1);
    for part in [
        "undefined symbol `next`",
        "looked for it in `lib/libruntime.bc` (-lruntime)",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    alone(&folder, &format!("{line} -lnext"), "").ok();
}

#[test]
fn a_member_that_the_program_leaves_out_may_need_what_is_nowhere() {
    need!("clang-22", "ld.lld", "llvm-ar", "true");
    let folder = Folder::new();
    let declared =
        |code: &str| format!("#pragma omp begin declare target\n{code}\n#pragma omp end declare target\n");
    let region = "{ int r = x;\n#pragma omp target map(tofrom : r)\n";
    for (name, code) in [
        (
            "main.c",
            declared("int next(int x);")
                + "int main(void) "
                + &region.replace('x', "1")
                + "r = next(r); return r; }\n",
        ),
        ("next.c", declared("int next(int x) { return x + 1; }")),
        (
            "bad.c",
            declared("int nowhere(int x);") + "int bad(int x) " + region + "r = nowhere(r); return r; }\n",
        ),
        (
            "user.c",
            "int bad(int x);\nint use(void) { return bad(1); }\n".to_owned(),
        ),
    ] {
        folder.write(name, code);
        let object = name.replace(".c", ".o");
        let line = format!("-fopenmp --offload-arch=gfx906 -nogpulib -nogpuinc -O1 -c {name} -o {object}");
        folder.run(tool("clang-22").unwrap(), line.split(' ')).ok();
    }
    folder
        .run(tool("llvm-ar").unwrap(), ["rcs", "members.a", "next.o", "bad.o"])
        .ok();
    let runtime =
        "void __kmpc_target_deinit(void) {} int __kmpc_target_init(void *x, void *y) { return -1; }";
    compile(&folder, runtime, "gfx906", &[], "lib/libruntime.bc");
    folder.write("lib/libruntime.a", "!<arch>\n");
    let host = format!(
        "--host-triple=x86_64-unknown-linux-gnu --linker-path={}",
        tool("true").unwrap().display()
    );
    let line = |objects: &str| {
        format!("as clang-linker-wrapper {host} -o program {objects} members.a -Llib -lruntime")
    };
    alone(&folder, &line("main.o"), "").ok();
    // Where the program has it, it is needed.
    let error = alone(&folder, &line("main.o user.o"), "").fails(1);
    assert!(error.contains("undefined symbol `nowhere`"), "{error}");
}

#[test]
fn libraries_are_looked_into_and_taken_out() {
    need!("clang-22", "llvm-ar");
    let folder = Folder::new();
    for target in ["sm_60", "gfx906"] {
        compile(&folder, APP, target, &[], &format!("app-{target}.bc"));
    }
    let line = "pack --image=file=app-sm_60.bc,triple=nvptx64-nvidia-cuda,arch=sm_60,kind=openmp \
                --image=file=app-gfx906.bc,triple=amdgcn-amd-amdhsa,arch=gfx906:xnack+,kind=hip -o app.bin";
    folder.offkit(line).ok();
    let archiver = tool("llvm-ar").unwrap();
    folder
        .run(&archiver, ["rcs", "libapp.a", "app-sm_60.bc", "app.bin"])
        .ok();
    let query = |line: &str| folder.offkit(&format!("devlib query {line}")).ok();
    assert_eq!(query("app.bin"), "sm_60-bc, gfx906:xnack+-bc\n");
    assert_eq!(
        query("app-sm_60.bc libapp.a"),
        "app-sm_60.bc: sm_60-bc\nlibapp.a: sm_60-bc, gfx906:xnack+-bc\n"
    );
    let long = query("--long --symbols --arch sm_60 app.bin");
    for part in [
        "sm_60-bc",
        "nvptx64-nvidia-cuda-sm_60",
        "openmp",
        "1 image",
        "kernels  k",
        "imports  twice",
    ] {
        assert!(long.contains(part), "{part}: {long}");
    }
    let json = folder.offkit("devlib query --json --symbols app.bin").json();
    assert_eq!(json[1]["type"], "gfx906:xnack+-bc");
    assert_eq!(json[1]["imports"], serde_json::json!(["next", "twice"]));
    folder.offkit("devlib query source.cl").fails(2);

    folder
        .offkit("extract -q --libdevice=m --arch gfx906,sm_60 app.bin -o out")
        .ok();
    for path in [
        "out/libdevice/sm_60/libm-nvptx-sm_60.bc",
        "out/libdevice/gfx906-xnack+/libm-amdgcn-gfx906-xnack+.bc",
    ] {
        assert!(folder.path(path).is_file(), "{path}");
    }
    // What was taken out is found.
    alone(&folder, "devlib find -lm --arch gfx906:xnack+,sm_61 -L out", "").ok();
    folder
        .offkit("extract -q --libdevice --arch sm_60 libapp.a -o all")
        .ok();
    assert!(
        folder
            .path("all/libdevice/sm_60/libapp-sm_60-nvptx-sm_60.bc")
            .is_file()
    );
    assert!(!folder.path("all/libdevice/gfx906-xnack+").exists());

    // Of two members one library becomes, and with both functions it is found.
    compile(&folder, TWICE, "sm_60", &[], "twice.bc");
    compile(&folder, NEXT, "sm_60", &[], "next.bc");
    folder
        .run(&archiver, ["rcs", "libtwo.a", "twice.bc", "next.bc"])
        .ok();
    folder
        .offkit("extract -q --libdevice=two --arch sm_60 libtwo.a -o two")
        .ok();
    let found = alone(&folder, "devlib find -ltwo --arch sm_60 -L two --json", "").json();
    let path = found[0]["path"].as_str().unwrap().to_owned();
    assert_eq!(path, "two/libdevice/sm_60/libtwo-nvptx-sm_60.bc");
    let json = folder
        .offkit(&format!("devlib query --json --symbols {path}"))
        .json();
    assert_eq!(json[0]["exports"], serde_json::json!(["never", "next", "twice"]));
    // A feature that is off ends with a dash, and begins no triple.
    let found = alone(
        &folder,
        "devlib find -lnone --arch gfx90a:xnack-,gfx942:xnack- --json",
        "",
    )
    .json();
    let archs: Vec<_> = found
        .iter()
        .map(|answer| answer["arch"].as_str().unwrap())
        .collect();
    assert_eq!(archs, ["gfx90a:xnack-", "gfx942:xnack-"]);

    // The host is told by its processor: of objects, and of bundles of objects.
    let clang = tool("clang-22").unwrap();
    folder.write("main.c", "int main(void) { return 0; }\n");
    folder
        .run(
            &clang,
            "-c -Xclang -fembed-offload-object=app.bin main.c --target=x86_64-pc-linux-gnu -o main.o"
                .split(' '),
        )
        .ok();
    folder.run(&archiver, ["rcs", "libmain.a", "main.o"]).ok();
    for file in ["main.o", "libmain.a"] {
        assert_eq!(query(file), "x86_64, sm_60-bc, gfx906:xnack+-bc\n");
        let peer = folder.offkit(&format!("as clang-offload-bundler -q {file}")).ok();
        assert_eq!(peer, "x86_64, sm_60-bc, gfx906:xnack+-bc\n");
    }
    assert_eq!(query("--arch sm_60 main.o"), "sm_60-bc\n");
}

#[test]
fn every_undefined_symbol_is_checked() {
    need!("clang-22", "llc", "llvm-ar", "ld.lld");
    let folder = Folder::new();
    for target in ["sm_60", "gfx906"] {
        compile(&folder, APP, target, &[], &format!("app-{target}.bc"));
    }
    compile(&folder, NEXT, "sm_60", &[], "a/libnext-nvptx.bc");
    compile(&folder, NEXT, "gfx906", &[], "a/libnext-amdgcn.bc");
    compile(&folder, TWICE, "sm_60", &[], "a/libtwice-nvptx.bc");
    let line = "pack --image=file=app-sm_60.bc,triple=nvptx64-nvidia-cuda,arch=sm_60,kind=sycl \
                --image=file=app-gfx906.bc,triple=amdgcn-amd-amdhsa,arch=gfx906,kind=sycl -o app.bin";
    folder.offkit(line).ok();
    let check = |line: &str| alone(&folder, &format!("devlib check {line}"), "");
    let outcome = check("app.bin -L a -ltwice -lnext -lmpi");
    assert_eq!(outcome.code, 1);
    let expected = "\
next  needed by app.bin!0, app.bin!1
  nvptx64-nvidia-cuda-sm_60: a/libnext-nvptx.bc (-lnext)
  amdgcn-amd-amdhsa-gfx906: a/libnext-amdgcn.bc (-lnext)
twice  needed by app.bin!0, app.bin!1
  nvptx64-nvidia-cuda-sm_60: a/libtwice-nvptx.bc (-ltwice)
  amdgcn-amd-amdhsa-gfx906: no library has it
";
    assert_eq!(outcome.stdout, expected);
    check("app.bin -L a -ltwice -lnext --arch sm_60").ok();
    let json = check("app.bin -L a -ltwice -lnext --json").json();
    assert_eq!(json.len(), 4);
    assert_eq!(json[3]["path"], Value::Null);
    check("source.cl -lnext").fails(2);
    // It is a link: what that refuses is refused, and what no kernel needs is needed by nobody.
    let old = ["-mcode-object-version=5"];
    compile(&folder, TWICE, "gfx906", &old, "a/libtwice-amdgcn.bc");
    let error = check("app.bin -L a -ltwice -lnext").fails(2);
    assert!(
        error.contains("cannot be linked together: the code object version"),
        "{error}"
    );
    // What the library has as machine code is linked with nothing.
    compile(&folder, NEXT, "sm_60", &[], "next.bc");
    folder.offkit("link next.bc --format offload -o next.out").ok();
    let archiver = tool("llvm-ar").unwrap();
    folder.offkit("extract -q next.out -o ptx").ok();
    let ptx = fs::read_dir(folder.path("ptx"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let image = format!(
        "pack --image=file={},triple=nvptx64-nvidia-cuda,arch=sm_60,kind=sycl -o next.bin",
        ptx.display()
    );
    folder.offkit(&image).ok();
    folder.run(&archiver, ["rcs", "a/libmachine.a", "next.bin"]).ok();
    let app = "int next(int x); kernel void k(global int *a) { a[0] = next(a[0]); }";
    compile(&folder, app, "sm_60", &[], "app.bc");
    let outcome = check("app.bc -L a -lmachine");
    assert_eq!(
        (outcome.code, &*outcome.stdout),
        (
            1,
            "next  needed by app.bc\n  nvptx64-nvidia-cuda-sm_60: no library has it\n"
        ),
        "{outcome:#?}"
    );
    let error = alone(
        &folder,
        "link app.bc -L a -lmachine --format offload -o x.out",
        "",
    )
    .fails(2);
    assert!(
        error.contains("undefined symbol `next`, needed by `k`"),
        "{error}"
    );
    let unused = "int twice(int x); kernel void k(global int *a) { a[0] = 0; if (0) a[0] = twice(1); }
                  static int never(int x) { return twice(x); }";
    compile(&folder, unused, "gfx906", &["-O0"], "unused.bc");
    check("unused.bc").ok();
    folder
        .offkit("link unused.bc --format offload -o unused.out")
        .ok();
}

/// Types what the documentation shows, line by line.
#[test]
fn the_examples_of_the_documentation_work() {
    need!("clang-22", "llc", "llvm-ar-22", "ld.lld", "sh");
    if !Path::new("/usr/lib/clc/nvptx64--nvidiacl.bc").is_file() {
        return skip("LLVM's libclc (`libclc-22`) is not installed");
    }
    let folder = Folder::new();
    // What the page takes from the repository.
    for (name, origin) in [
        ("device-libs", "device-libs"),
        ("wave", "examples/device-library/wave"),
        ("program.cl", "examples/device-library/program.cl"),
    ] {
        std::os::unix::fs::symlink(root().join(origin), folder.path(name)).expect("a new name");
    }
    let commands = commands("docs/device-libraries.md");
    for example in &commands {
        example.check(&folder);
    }
    assert!(commands.len() > 10, "{}", commands.len());
}
