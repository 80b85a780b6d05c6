//! Device libraries of the driver: linked by front ends and when the program is linked.

use super::*;

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
