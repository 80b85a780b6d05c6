//! Beside the real tools and compilers.

use super::*;

#[test]
fn files_and_tables_are_those_of_the_real_tool() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let table = |name: &str| String::from_utf8(folder.read(name)).expect("a text");
    tool_under_test(&folder, "p.ll").ok();
    assert_eq!(table("p.files"), "[Code]\np_0.bc\np_1.bc\n");
    tool_under_test(&folder, "-symbols p.ll -o t.table").ok();
    assert_eq!(
        table("t.table"),
        "[Code|Symbols]\nt_0.bc|t_0.sym\nt_1.bc|t_1.sym\n"
    );
    std::fs::create_dir(folder.path("sub")).expect("a folder");
    tool_under_test(
        &folder,
        "-properties p.ll --out-dir=sub -o t.table -o pvc,pvc.table",
    )
    .ok();
    assert_eq!(
        table("t.table"),
        "[Code|Properties]\nsub/t_0.bc|sub/t_0.prop\nsub/t_1.bc|sub/t_1.prop\n"
    );
    assert_eq!(
        table("pvc.table"),
        "[Code|Properties]\nsub/t_0.bc|sub/t_pvc_0.prop\nsub/t_1.bc|sub/t_pvc_1.prop\n"
    );
    let target =
        property_set::parse(&folder.read("sub/t_pvc_0.prop"), &Limits::default()).expect("property sets");
    let target = target.get("SYCL/device requirements", "compile_target");
    assert_eq!(target.and_then(|value| value.as_str()), Some("pvc"));

    tool_under_test(&folder, "-ir-output-only -S p.ll -o one.ll").ok();
    assert!(table("one.ll").contains("@ka") && table("one.ll").contains("@kb"));
    for (line, said) in [
        (
            "-split=none p.ll",
            "no actions specified; try --help for usage info\n",
        ),
        (
            "-ir-output-only -split=kernel p.ll",
            "error: -split=kernel can't be used with -ir-output-only\n",
        ),
        (
            "-ir-output-only -symbols p.ll",
            "error: -symbols can't be used with -ir-output-only\n",
        ),
        (
            "-ir-output-only -properties p.ll",
            "error: -properties can't be used with -ir-output-only\n",
        ),
        (
            "-frobnicate p.ll",
            "sycl-post-link: Unknown command line argument '-frobnicate'.  Try: 'sycl-post-link --help'\n",
        ),
        (
            "nowhere.ll",
            "sycl-post-link: nowhere.ll: error: Could not open input file: No such file or directory\n",
        ),
    ] {
        assert_eq!(tool_under_test(&folder, line).fails(1), said, "{line}");
    }
    module(&folder, "empty.ll", "@x = addrspace(1) global i32 1\n");
    let said = tool_under_test(&folder, "-split=none -symbols empty.ll");
    assert_eq!(
        said.stderr,
        "sycl-post-link NOTE: no modifications to the input LLVM IR have been made\n"
    );
    assert_eq!(table("empty.files"), "[Code|Symbols]\nempty.ll|empty_0.sym\n");
}

#[test]
fn sycl_sources_of_clang_22_are_split() {
    need!("clang++-22", "llvm-link");
    let folder = Folder::new();
    folder.write("lib.cpp", "static int twice(int x) { return x * 2; }\n[[clang::sycl_external]] int scale(int x) { return twice(x) + 1; }\n");
    folder.write(
        "app.cpp",
        "[[clang::sycl_external]] int scale(int x);
         [[clang::sycl_external]] int elsewhere(int x);
         template <typename Name, typename F> [[clang::sycl_kernel_entry_point(Name)]] void launch(F f) { f(); }
         void go(int *p) { launch<class app_kernel>([=] { *p = scale(*p) + elsewhere(*p); }); }\n",
    );
    let clang = tool("clang++-22").expect("asked for");
    for name in ["lib", "app"] {
        let (source, output) = (format!("{name}.cpp"), format!("{name}.bc"));
        let options = ["-fsycl", "-fsycl-device-only", "-nogpulib", "-c"];
        folder
            .run(&clang, options.into_iter().chain([&*source, "-o", &*output]))
            .ok();
    }
    folder
        .run(
            tool("llvm-link").expect("asked for"),
            ["app.bc", "lib.bc", "-o", "all.bc"],
        )
        .ok();
    let listing = folder.offkit("post-link all.bc --json -o images").json();
    let names = |image: usize, key: &str| listing[image][key].clone();
    assert_eq!(listing.len(), 2);
    assert_eq!(names(0, "kernels"), json!(["_ZTSZ2goPiE10app_kernel"]));
    assert_eq!(names(0, "imports"), json!(["_Z9elsewherei"]));
    assert_eq!(names(1, "exports"), json!(["_Z5scalei"]));
    // offkit's own reader of bitcode finds the same.
    let found = folder.offkit("ls --json images/all_0.bc images/all_1.bc").json();
    for (image, found) in listing.iter().zip(&found) {
        for key in ["kernels", "exports", "imports"] {
            assert_eq!(image[key], found[key], "{key}");
        }
    }
}

/// The images of the real compiler's own post-link and of ours, from the bitcode that it started from.
#[test]
fn images_are_those_of_the_real_sycl_compiler() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    let source = offkit_tests::root().join("tests/sycl-runtime/features.cpp");
    for (real_split, split, images) in [
        ("auto", "auto", 5),
        ("per_kernel", "kernel", 9),
        ("off", "none", 1),
    ] {
        let option = format!("-fsycl-device-code-split={real_split}");
        let path = source.to_str().expect("a readable path");
        let bitcode = runtime.compile_keeping_bitcode(&folder, path, &format!("{split}.syclbin"), &option);
        folder.write("input.bc", bitcode);
        let real = folder.offkit(&format!("ls --json {split}.syclbin")).json();
        let options = "-properties -symbols -emit-param-info -emit-exported-symbols -emit-imported-symbols \
            -emit-kernel-names -emit-program-metadata -allow-device-image-dependencies -device-globals";
        tool_under_test(
            &folder,
            &format!("{options} -split={split} input.bc -o ours.table"),
        )
        .ok();
        let table = String::from_utf8(folder.read("ours.table")).expect("a text");
        let rows: Vec<_> = table.lines().skip(1).collect();
        assert_eq!((rows.len(), real.len()), (images, images), "{split}");
        let ours: BTreeMap<_, _> = rows.iter().map(|row| described(&folder, row)).collect();
        let real: BTreeMap<_, _> = real.iter().map(real_image).collect();
        assert_eq!(ours, real, "{split}");
    }
}

type Described = (Vec<String>, Value);

/// An image of ours: its entry points, and its property sets as offkit shows those of a SYCLBIN.
fn described(folder: &Folder, row: &str) -> Described {
    let columns: Vec<_> = row.split('|').collect();
    let options = format!(
        "pack -o packed --format syclbin,v2 --image=file={},triple=spir64,kind=sycl,properties={}",
        columns[0], columns[1]
    );
    folder.offkit(&options).ok();
    let listing = folder.offkit("ls --json packed").json();
    let mut names: Vec<_> = String::from_utf8(folder.read(columns[2]))
        .expect("a text")
        .lines()
        .map(str::to_owned)
        .collect();
    names.sort();
    (names, listing[0]["properties"].clone())
}

/// An image of the real compiler. Its runtime adds names with a prefix of its own to the sets, lists exported
/// functions among the kernels, and has no order of sets and properties.
fn real_image(image: &Value) -> Described {
    let mut sets = image["properties"].clone();
    let exports: Vec<_> = sets["SYCL/exported symbols"]
        .as_object()
        .into_iter()
        .flat_map(|set| set.keys().cloned())
        .collect();
    let mut names = exports.clone();
    if let Some(kernels) = sets["SYCL/kernel names"].as_object_mut() {
        kernels.retain(|name, _| !name.starts_with("rtc_") && !exports.contains(name));
        names.extend(kernels.keys().cloned());
    }
    if let Some(sets) = sets.as_object_mut() {
        sets.retain(|name, set| {
            name != "SYCL/kernel names" || set.as_object().is_some_and(|set| !set.is_empty())
        });
        // Indexing adds what is not there.
        sets.retain(|_, set| !set.is_null());
    }
    names.sort();
    (names, sets)
}
