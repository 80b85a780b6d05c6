//! Files travel between offkit and the real SYCL runtime, both ways.

use offkit_object::{Limits, SyclBin, SyclBinVersion};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need, npy_i32, read_i32};

/// What `app_kernel` makes of 1 to 8.
const EXPECTED: [i32; 8] = [8, 15, 22, 29, 36, 43, 50, 57];

/// Has the real runtime link and run files, and checks what it computes.
#[track_caller]
fn accepts(runtime: &SyclRuntime, folder: &Folder, files: &[&str]) {
    assert_eq!(runtime.link_and_run(folder, files), EXPECTED, "{files:?}");
}

#[test]
fn offkit_links_and_runs_what_the_sycl_compiler_makes() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    runtime.compile(&folder, "kernel.cpp", "app.syclbin");
    runtime.compile(&folder, "library.cpp", "library.syclbin");
    let listing = folder.offkit("ls --json app.syclbin library.syclbin").json();
    assert_eq!(
        listing[0]["imports"],
        serde_json::json!(["_Z16library_functioni"])
    );
    assert_eq!(listing[0]["imports"], listing[1]["exports"]);
    assert_eq!(
        listing[0]["kernels"],
        serde_json::json!(["__sycl_kernel_app_kernel"])
    );

    folder.write("a.npy", npy_i32("(8,)", 1..9));
    let run = "--link library.syclbin --global 8 --arg a.npy --out b.npy";
    // By the name users know, and by the one in the file.
    for kernel in ["app_kernel", "__sycl_kernel_app_kernel"] {
        folder.offkit(&format!("run app.syclbin {kernel} {run}")).ok();
        assert_eq!(read_i32(&folder.read("b.npy")), EXPECTED, "{kernel}");
    }
    let missing = folder
        .offkit("run app.syclbin app_kernel --global 8 --arg a.npy")
        .fails(2);
    assert!(
        missing.contains("`library_function(int)` (symbol `_Z16library_functioni`)"),
        "{missing}"
    );
}

#[test]
fn the_sycl_runtime_takes_its_own_files_as_offkit_writes_them() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    for (source, name) in [("kernel.cpp", "app"), ("library.cpp", "library")] {
        runtime.compile(&folder, source, name);
        let bytes = folder.read(name);
        let parsed = SyclBin::parse(&bytes, &Limits::default()).expect("a file of the real runtime");
        let envelopes = [
            ("v2", SyclBinVersion::V1Enveloped),
            ("v1", SyclBinVersion::V1EnvelopedV1),
        ];
        for (envelope, version) in envelopes {
            let written = parsed.write(version).expect("what was read can be written");
            assert_eq!(SyclBin::parse(&written, &Limits::default()).as_ref(), Ok(&parsed));
            folder.write(&format!("{name}-{envelope}"), written);
        }
        // The form that this release cannot read is still a faithful copy.
        let newer = parsed
            .write(SyclBinVersion::V2)
            .expect("what was read can be written");
        assert_eq!(SyclBin::parse(&newer, &Limits::default()).as_ref(), Ok(&parsed));
    }
    accepts(runtime, &folder, &["app-v2", "library-v2"]);
    accepts(runtime, &folder, &["app-v1", "library"]);
}

#[test]
fn the_sycl_runtime_takes_what_clang_22_and_offkit_make() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    // clang 22 knows no SYCL headers: the same functions in OpenCL C, under the symbols that the SYCL
    // compiler gives them.
    folder.syclbin(
        "app",
        "int _Z16library_functioni(int x);
         kernel void __sycl_kernel_app_kernel(global int *numbers) {
           size_t i = get_global_id(0);
           numbers[i] = _Z16library_functioni(numbers[i]) + 1;
         }",
        "",
    );
    folder.syclbin(
        "library",
        "int _Z16library_functioni(int x) { return x * 7; }",
        "",
    );
    accepts(runtime, &folder, &["app.syclbin", "library.syclbin"]);
    // Each with the other tool chain's partner.
    runtime.compile(&folder, "kernel.cpp", "real-app");
    runtime.compile(&folder, "library.cpp", "real-library");
    accepts(runtime, &folder, &["app.syclbin", "real-library"]);
    accepts(runtime, &folder, &["real-app", "library.syclbin"]);
    // Both refuse what is incomplete.
    let refusal = runtime.run(&folder, "link_and_run", &["app.syclbin"]).fails(1);
    assert!(refusal.contains("_Z16library_functioni"), "{refusal}");

    folder.write("a.npy", npy_i32("(8,)", 1..9));
    let run = "run app.syclbin app_kernel --global 8 --arg a.npy --out b.npy --link";
    for library in ["library.syclbin", "real-library"] {
        folder.offkit(&format!("{run} {library}")).ok();
        assert_eq!(read_i32(&folder.read("b.npy")), EXPECTED, "{library}");
    }
}
