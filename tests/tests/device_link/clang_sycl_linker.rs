//! In the place of `clang-sycl-linker`, and of the linker in the SYCL runtime.

use super::*;

/// SYCLBIN files that the SYCL compiler made, linked by offkit, in the real SYCL runtime.
#[test]
fn syclbin_files_are_linked_as_the_sycl_runtime_would_link_them() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    runtime.compile(&folder, "kernel.cpp", "app.syclbin");
    runtime.compile(&folder, "library.cpp", "library.syclbin");
    folder.bitcode("library", "int _Z16library_functioni(int x) { return x * 7; }");
    let expected = "8 15 22 29 36 43 50 57 ";
    for library in ["library.syclbin", "library.bc"] {
        folder
            .offkit(&format!("link app.syclbin {library} -o object.syclbin"))
            .ok();
        let shown = runtime.run(&folder, "link_and_run", &["object.syclbin"]).ok();
        assert_eq!(shown, expected, "{library}");
        folder
            .offkit(&format!(
                "link app.syclbin {library} -o executable.syclbin --state executable"
            ))
            .ok();
        let shown = runtime
            .run(&folder, "link_and_run", &["--executable", "executable.syclbin"])
            .ok();
        assert_eq!(shown, expected, "{library}");
    }
    let bytes = folder.read("executable.syclbin");
    let program = SyclBin::parse(&bytes, &Limits::default()).unwrap();
    assert_eq!(program.state, BundleState::Executable);
    let [module] = program.modules.as_slice() else {
        panic!("{program:#?}")
    };
    let sets: Vec<_> = module.properties.iter().map(|(name, _)| name).collect();
    assert!(!sets.contains(&"SYCL/imported symbols") && !sets.contains(&"SYCL/exported symbols"));
    let level = module.properties.get("SYCL/misc properties", "optLevel");
    assert!(level.is_some(), "what the compiler recorded stays");

    let missing = folder
        .offkit("link app.syclbin -o x.syclbin --state executable")
        .fails(2);
    says(&missing, &["_Z16library_functioni", "app_kernel"]);
    let twice = folder
        .offkit("link app.syclbin library.bc library.syclbin -o x.syclbin")
        .fails(2);
    says(
        &twice,
        &["_Z16library_functioni", "library.bc", "library.syclbin"],
    );
}

/// Of the same inputs the output is that of LLVM's tool, byte for byte.
#[test]
fn the_stand_in_for_clang_sycl_linker_writes_what_that_writes() {
    need!("clang-22", "llc", "clang-sycl-linker");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    folder.bitcode("helper", HELPER);
    folder.bitcode("deep", DEEP);
    let peer = tool("clang-sycl-linker").unwrap();
    for options in [
        "app.bc helper.bc deep.bc",
        "app.bc helper.bc --device-libs=deep.bc --library-path=.",
        "app.bc --arch=something -triple=spirv64v1.2-unknown-unknown",
    ] {
        let line = format!("-triple=spirv64 {options}");
        let both = [("ours", "as clang-sycl-linker "), ("theirs", "")];
        for (output, before) in both {
            let line = format!("{before}{line} -o {output}");
            let program = if output == "ours" { offkit() } else { peer.clone() };
            folder.run(program, line.split_whitespace()).ok();
        }
        assert!(folder.read("ours") == folder.read("theirs"), "{options}");
    }
    assert!(
        !folder.path("ours_0.spv").exists(),
        "nothing is left beside the output"
    );
    folder
        .offkit("as clang-sycl-linker -triple=spirv64 app.bc -o kept --save-temps")
        .ok();
    assert!(folder.path("kept_0.spv").exists());
    for (line, expected) in [
        ("-triple=spirv64 app.bc", "Output file must be specified"),
        ("app.bc -o x", "Target triple must be specified"),
        ("-triple=spirv64 none.bc -o x", "none.bc"),
        ("-triple=spirv64 app.cl -o x", "Unsupported file type"),
        (
            "-triple=spirv64 app.bc app.bc -o x",
            "error: Linking globals named 'k'",
        ),
        ("-triple=nvptx64 app.bc -o x", "SPIR-V"),
        ("-triple=spirv64 app.bc --arch=bmg_g21 -o x", "'ocloc'"),
    ] {
        let outcome = folder.offkit(&format!("as clang-sycl-linker {line}"));
        says(&outcome.fails(1), &[expected]);
        assert!(!folder.path("x").exists(), "{line}");
    }
    let before = folder.list();
    folder
        .offkit("as clang-sycl-linker -triple=spirv64 app.bc -o x --dry-run -v")
        .ok();
    assert_eq!(folder.list(), before, "a dry run writes nothing");
}

/// Intel's compiler for its GPUs, played by a script.
#[test]
fn the_stand_in_for_clang_sycl_linker_calls_intels_compilers() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    let body = r#"echo "$@" > called; while [ "$1" != -output ]; do shift; done; echo native > "$2""#;
    folder.script("ocloc", body);
    let mut command = Command::new(offkit());
    let path = format!("{}:{}", folder.path("").display(), std::env::var("PATH").unwrap());
    command
        .args("as clang-sycl-linker -triple=spirv64 app.bc -o x --arch=bmg_g21".split_whitespace())
        .arg("--ocloc-options=-a -b")
        .env("PATH", path);
    folder.run_command(&mut command).ok();
    let called = String::from_utf8(folder.read("called")).unwrap();
    says(
        &called,
        &["-output_no_suffix -spirv_input -device bmg_g21 -a -b -output"],
    );
    let image = folder.offkit("extract --stored x!0 -o -").ok();
    assert_eq!(image, "native\n");
}
