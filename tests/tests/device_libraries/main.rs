//! Device libraries: found for each target, linked early and late, looked into and taken out.

mod cuda_and_hip;
mod early;
mod fitting;
mod looking;
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
