//! Which library fits: targets, features, relatives of a processor.

use super::*;

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
