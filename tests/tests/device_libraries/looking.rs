//! `devlib query` and `devlib check`, and the examples of the documentation.

use super::*;

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
    // As at a link, what nothing else has may come with offkit.
    let math = "float erff(float x); kernel void k(global float *a) { a[0] = erff(a[0]); }";
    compile(&folder, math, "sm_60", &[], "math.bc");
    let supplied = check("math.bc").ok();
    assert!(supplied.contains("(-lm)"), "{supplied}");
    let open = check("math.bc --no-default-device-libs");
    assert_eq!(open.code, 1, "{open:#?}");
    assert!(
        open.stdout
            .contains("nvptx64-nvidia-cuda-sm_60: no library has it"),
        "{open:#?}"
    );
    // It looks once for each library and target.
    let traced = check("app.bin -L a -ltwice -lnext -vv");
    for (library, targets) in [("twice", 1), ("next", 2)] {
        let found = format!("found a device library library=\"{library}\"");
        assert_eq!(
            traced.stderr.matches(&found).count(),
            targets,
            "{}",
            traced.stderr
        );
    }
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
