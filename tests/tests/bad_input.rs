//! Wrong input is told clearly, nothing panics, and nothing is left half-written.

use std::process::Command;

use offkit_tests::{Folder, need, npy_f32, npy_i32, offkit};

/// The worked example, linked, with arrays for saxpy.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.linked_example();
    folder
}

const SAXPY: &str =
    "run app.syclbin saxpy --link library.syclbin --global 64 --arg f32:2 --arg x.npy --arg y.npy";

/// Checks that an error holds all these parts.
#[track_caller]
fn says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in: {error}");
    }
}

#[test]
fn a_missing_library_is_told_with_the_symbol_the_kernel_and_what_was_searched() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.syclbin(
        "cpp",
        "float __attribute__((overloadable)) scale(float x);
        kernel void k(global float *a) { a[0] = scale(a[0]); }",
        "",
    );
    let error = folder
        .offkit("run cpp.syclbin k --link library.syclbin --global 1 --arg x.npy --out z.npy")
        .fails(2);
    says(
        &error,
        &[
            "`scale(float)`",
            "`_Z5scalef`",
            "kernel `k`",
            "`cpp.syclbin!0/ir/0`",
            "`library.syclbin!0/ir/0`",
            "--link",
        ],
    );
    assert!(!folder.path("z.npy").exists());
}

#[test]
fn a_kernel_that_is_not_there_gets_suggestions() {
    need!("clang-22", "llc");
    let folder = prepared();
    says(
        &folder.offkit("run app.syclbin saxpi --global 1").fails(2),
        &["no kernel `saxpi`", "`saxpy`"],
    );
    says(
        &folder.offkit("run library.syclbin saxpy --global 1").fails(2),
        &["no kernel `saxpy`", "none of the images"],
    );
}

#[test]
fn a_name_that_fits_several_kernels_lists_them() {
    need!("clang-22", "llc");
    let folder = prepared();
    let kernel = |body: &str| format!("kernel void same(global int *a) {{ {body} }}");
    folder.syclbin("one", &kernel("a[0] = 1;"), "");
    folder.syclbin("other", &kernel("a[0] = 2;"), "");
    let (one, other) = (folder.read("one.syclbin"), folder.read("other.syclbin"));
    // Two SYCLBIN files one after the other are two offload binaries, each with that kernel.
    folder.write("two.syclbin", [one.as_slice(), &other].concat());
    let error = folder
        .offkit("run two.syclbin same --global 1 --arg x.npy")
        .fails(2);
    says(
        &error,
        &[
            "`same` fits several kernels",
            "`two.syclbin!0/0/ir/0`",
            "`two.syclbin!1/0/ir/0`",
            "`offkit run two.syclbin!0/0/ir/0 same`",
        ],
    );
    folder.write("i.npy", npy_i32("(1,)", [0]));
    folder
        .offkit("run two.syclbin!0/0/ir/0 same --global 1 --arg i.npy")
        .ok();
    // The same image twice is one.
    folder.write("twice.syclbin", [one.as_slice(), &one].concat());
    folder
        .offkit("run twice.syclbin same --global 1 --arg i.npy")
        .ok();
}

#[test]
fn two_exporters_of_one_symbol_are_both_named() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.syclbin("other", "float axpy(float a, float x, float y) { return 0; }", "");
    let error = folder.offkit(&format!("{SAXPY} --link other.syclbin")).fails(2);
    says(
        &error,
        &["`axpy`", "`library.syclbin!0/ir/0`", "`other.syclbin!0/ir/0`"],
    );
}

#[test]
fn an_exporter_of_another_format_is_told_apart_from_none() {
    need!("clang-22", "llc", "llvm-offload-binary");
    let folder = prepared();
    // The library as bitcode, in a SYCLBIN of the same properties: written by hand through the crate.
    let bytes = folder.read("library.syclbin");
    let limits = offkit_object::Limits::default();
    let mut library = offkit_object::SyclBin::parse(&bytes, &limits).unwrap();
    library.modules[0].ir_modules[0].bytes = b"BC\xc0\xde\0\0\0\0".as_slice().into();
    folder.write(
        "bitcode.syclbin",
        library.write(offkit_object::SyclBinVersion::V1Enveloped).unwrap(),
    );
    let error = folder
        .offkit(&SAXPY.replace("--link library", "--link bitcode"))
        .fails(2);
    says(
        &error,
        &[
            "`axpy`",
            "another format",
            "bitcode.syclbin!0/ir/0",
            "LLVM bitcode",
            "SPIR-V",
        ],
    );
}

#[test]
fn arguments_must_fit_the_kernel() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.write("i.npy", npy_i32("(64,)", 0..64));
    folder.write("short.npy", npy_f32("(63,)", [0.0; 63]));
    let saxpy = |arguments: &str| {
        let line =
            format!("run app.syclbin saxpy --link library.syclbin --global 64 {arguments} --out z.npy");
        folder.offkit(&line).fails(2)
    };
    says(
        &saxpy("--arg f32:2 --arg x.npy"),
        &["takes 3 arguments, 2 given", "saxpy(f32, "],
    );
    says(
        &saxpy("--arg i32:2 --arg x.npy --arg y.npy"),
        &["argument 0", "f32", "given i32"],
    );
    says(
        &saxpy("--arg f64:2 --arg x.npy --arg y.npy"),
        &["argument 0", "f32", "given f64"],
    );
    says(
        &saxpy("--arg bytes:0a0b --arg x.npy --arg y.npy"),
        &["argument 0", "f32", "given a value of 2 bytes instead of 4"],
    );
    says(
        &saxpy("--arg f32:2 --arg f32:1 --arg y.npy"),
        &["argument 1", "global const f32*"],
    );
    says(
        &saxpy("--arg f32:2 --arg x.npy --arg local:16"),
        &["argument 2", "global f32*", "given 16 bytes of local memory"],
    );
    says(
        &saxpy("--arg x.npy --arg x.npy --arg y.npy"),
        &["argument 0", "a buffer"],
    );
    says(
        &saxpy("--arg f32:2 --arg i.npy --arg y.npy"),
        &["argument 1", "points to f32", "buffer of i32"],
    );
    says(
        &saxpy("--arg f32:2 --arg none.npy --arg y.npy"),
        &["none.npy", "No such file"],
    );
    says(&saxpy("--arg f32:two --arg x.npy --arg y.npy"), &["two", "f32"]);
    assert!(
        !folder.path("z.npy").exists(),
        "nothing is written when anything is wrong"
    );

    let other_shape = folder.offkit(&format!("{SAXPY} --check short.npy")).fails(1);
    says(&other_shape, &["shape (64,), expected (63,)"]);
    let other_type = folder.offkit(&format!("{SAXPY} --check i.npy")).fails(1);
    says(&other_type, &["f32", "i32"]);
    says(
        &folder.offkit(&format!("{SAXPY} --out 0=z.npy")).fails(2),
        &["argument 0 is not a buffer"],
    );
}

#[test]
fn options_for_the_devices_linker_come_from_the_environment() {
    need!("clang-22", "llc");
    let folder = prepared();
    let run = |options: &str| {
        let mut command = std::process::Command::new(offkit_tests::offkit());
        command.args(SAXPY.split_whitespace());
        command.env("SYCL_PROGRAM_LINK_OPTIONS", options);
        folder.run_command(&mut command)
    };
    run("").ok();
    // A library has no kernels that could be launched.
    says(&run("-create-library").fails(2), &["saxpy"]);
}

#[test]
fn an_access_out_of_bounds_names_kernel_work_item_and_address() {
    need!("clang-22", "llc");
    let folder = prepared();
    for options in ["--device cpu-checked", "--device cpu --check-bounds"] {
        let saxpy = SAXPY.replace("--global 64", "--global 65");
        let error = folder.offkit(&format!("{saxpy} {options}")).fails(2);
        says(
            &error,
            &["saxpy", "work-item [64, 0, 0]", "past the buffer", "0x"],
        );
    }
    folder.syclbin(
        "null",
        "kernel void k(global int *a) { *(global int *)0 = 1; a[0] = 1; }",
        "-O0",
    );
    folder.write("i.npy", npy_i32("(1,)", [0]));
    says(
        &folder
            .offkit("run null.syclbin k --global 1 --arg i.npy --device cpu-checked")
            .fails(2),
        &["null"],
    );
}

#[test]
fn a_wrong_work_group_size_is_refused() {
    need!("clang-22", "llc");
    let folder = prepared();
    let line = "run app.syclbin matmul --link library.syclbin --global 32,32 --local 8,8 --arg u32:32 \
                --arg f32[1024] --arg f32[1024] --arg f32[1024] --out c.npy";
    says(&folder.offkit(line).fails(2), &["matmul", "16"]);
}

#[test]
fn damaged_files_are_errors_with_file_and_offset() {
    need!("clang-22", "llc");
    let folder = prepared();
    let bytes = folder.read("app.syclbin");
    for length in [0, 3, 31, 70, bytes.len() / 2, bytes.len() - 1] {
        folder.write("cut.syclbin", &bytes[..length]);
        let error = folder.offkit("ls cut.syclbin").fails(2);
        says(&error, &["cut.syclbin"]);
        folder.offkit("run cut.syclbin saxpy --global 1").fails(2);
    }
    // Every byte flipped once: whatever is said, it is an answer and not a crash.
    for position in (0..bytes.len()).step_by(37) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x41;
        folder.write("flipped.syclbin", &damaged);
        let line = SAXPY.replace("app.syclbin", "flipped.syclbin");
        let outcome = folder.offkit(&line);
        assert!(matches!(outcome.code, 0 | 2), "byte {position}: {outcome:#?}");
        assert!(
            !outcome.stderr.contains("panicked"),
            "byte {position}: {outcome:#?}"
        );
    }
    for format in ["syclbin,v2", "offload,v1", "offload,v2"] {
        folder
            .offkit(&format!(
                "link app.bc -o app.other --format {format} --state object"
            ))
            .ok();
        let bytes = folder.read("app.other");
        for position in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[position] ^= 1 << (position % 8);
            folder.write("flipped.other", &damaged);
            for line in [
                "ls -kp flipped.other",
                &SAXPY.replace("app.syclbin", "flipped.other"),
            ] {
                let outcome = folder.offkit(line);
                assert!(
                    matches!(outcome.code, 0 | 2) && !outcome.stderr.contains("panicked"),
                    "{format}, byte {position}, {line}: {outcome:#?}"
                );
            }
        }
    }
    folder.write("text", "no device code here");
    says(&folder.offkit("run text k --global 1").fails(2), &["text"]);
}

#[test]
fn linking_reports_what_llvm_says() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.bitcode("twice", "kernel void saxpy(global int *a) { a[0] = 1; }");
    let error = folder.offkit("link app.bc twice.bc -o out.syclbin").fails(2);
    says(&error, &["twice.bc", "saxpy", "multiply defined"]);
    folder.write("text.bc", "no bitcode");
    says(
        &folder.offkit("link text.bc -o out.syclbin").fails(2),
        &["text.bc", "known format"],
    );
    says(
        &folder.offkit("link none.bc -o out.syclbin").fails(2),
        &["none.bc", "No such file"],
    );
    folder.bitcode("empty", "static int unused(void) { return 1; }");
    says(
        &folder.offkit("link empty.bc -o out.syclbin").fails(2),
        &["empty.bc", "no kernel"],
    );
    let undefined = folder
        .offkit("link app.bc -o out.syclbin --state executable")
        .fails(2);
    says(
        &undefined,
        &["undefined symbol `axpy`", "saxpy", "--state object"],
    );
    let clang = offkit_tests::tool("clang-22").unwrap();
    folder.write("host.c", "int main(void) { return 0; }");
    folder
        .run(clang, ["-emit-llvm", "-c", "host.c", "-o", "host.bc"])
        .ok();
    says(
        &folder
            .offkit("link host.bc -o out.syclbin --target spirv64")
            .fails(2),
        &["host.bc", "x86_64", "spirv64"],
    );
    says(
        &folder.offkit("link host.bc app.bc -o out.syclbin").fails(2),
        &["host.bc", "x86_64", "app.bc", "spirv64", "--target"],
    );
    assert!(!folder.path("out.syclbin").exists());
}

#[test]
fn a_failed_write_leaves_what_was_there() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.write("app.bc.old", folder.read("app.bc"));
    folder.write("out.syclbin", "precious");
    let before = folder.list();
    folder.offkit("link app.bc -o missing/out.syclbin").fails(2);
    folder.offkit("link text.bc -o out.syclbin").fails(2);
    assert_eq!(folder.read("out.syclbin"), b"precious");
    assert_eq!(folder.list(), before, "no temporary file is left");
}

#[test]
fn a_machine_without_llvm_is_told_what_to_install() {
    let folder = Folder::new();
    folder.write("a.bc", b"BC\xc0\xde");
    let run = |worker: &str| {
        let mut command = Command::new(offkit());
        command
            .args(["link", "a.bc", "-o", "a.syclbin"])
            .env("OFFKIT_LLVM_WORKER", worker);
        folder.run_command(&mut command)
    };
    let missing = run("/nowhere/offkit-llvm-worker").fails(3);
    says(&missing, &["/nowhere/offkit-llvm-worker", "hint"]);
    // What the system's loader does when libLLVM is not there.
    let script = "echo 'error while loading shared libraries: libLLVM.so.22.1' >&2\nexit 127";
    let path = folder.script("worker", script);
    let unlinked = run(path.to_str().unwrap()).fails(3);
    says(&unlinked, &["LLVM 22", "libLLVM.so.22.1", "libllvm22"]);
}

#[test]
fn wrong_usage_is_told_apart_from_wrong_answers() {
    let folder = Folder::new();
    folder.offkit("link").fails(2);
    folder.offkit("run a k --global 1,2,3,4").fails(2);
    folder.offkit("run a k --global 1 --arg nonsense").fails(2);
    says(
        &folder.offkit("ls none.syclbin").fails(2),
        &["none.syclbin", "No such file"],
    );
    says(
        &folder.offkit("link a.bc -o b --split sources").fails(2),
        &["`kernel`"],
    );
}
