//! What a link that fails says and leaves.

use super::*;

#[test]
fn options_that_llvms_back_ends_do_not_have_are_refused() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    let link = |option: &str| folder.offkit(&format!("link app.bc --backend-option={option} -o x.syclbin"));
    says(&link("--frobnicate").fails(2), &["--frobnicate", "back ends"]);
    says(
        &link("--inline-threshold=many").fails(2),
        &["--inline-threshold=many"],
    );
    assert!(!folder.path("x.syclbin").exists());
    link("--inline-threshold=7").ok();
}

#[test]
fn damaged_bitcode_is_told_by_its_name() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    let bytes = folder.read("app.bc");
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    for byte in &mut damaged[middle..middle + 64] {
        *byte ^= 0xff;
    }
    folder.write("damaged.bc", &damaged);
    folder.write("cut.bc", &bytes[..bytes.len() / 2]);
    for name in ["damaged.bc", "cut.bc"] {
        let text = folder.offkit(&format!("link {name} -o x.syclbin")).fails(2);
        says(&text, &[name]);
        let text = folder
            .offkit(&format!("link app.bc --device-lib {name} -o x.syclbin"))
            .fails(2);
        says(&text, &[name]);
    }
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn a_crash_of_llvm_leaves_what_led_to_it() {
    need!("clang-22", "llc", "llvm-as");
    let folder = Folder::new();
    folder.write(
        "k.ll",
        "target triple = \"spirv64\"
         define spir_kernel void @good() { ret void }
         define spir_kernel void @bad(ptr addrspace(1) %p) {
           %x = atomicrmw nand ptr addrspace(1) %p, i32 3 seq_cst
           ret void
         }",
    );
    folder.run(tool("llvm-as").unwrap(), ["k.ll"]).ok();
    let mut command = Command::new(offkit());
    command
        .args("link k.bc -o x.syclbin --split kernel".split_whitespace())
        .env("TMPDIR", folder.path(""));
    let text = folder.run_command(&mut command).fails(2);
    says(
        &text,
        &[
            "generating code for bad",
            "LLVM ERROR",
            "offkit-crash-bad-",
            "does it again",
        ],
    );
    let hint = text.lines().find(|line| line.contains("does it again")).unwrap();
    let again = hint.split('`').nth(1).unwrap();
    let again = again.strip_prefix("offkit ").unwrap().replace('\'', "");
    let text = folder.offkit(&again).fails(2);
    says(&text, &["generating code for bad", "LLVM ERROR"]);
    assert!(!folder.path("x.syclbin").exists());
}

#[test]
fn a_disk_that_is_full_is_an_error() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    says(
        &folder.offkit("link app.bc -o /dev/full").fails(2),
        &["/dev/full"],
    );
}

/// Bitcode goes through LLVM and comes out as code without a temporary file, in one worker and as many requests as
/// there are steps; what a linker for objects is to read has to be in files.
#[test]
fn a_link_needs_one_worker_few_requests_and_no_temporary_files() {
    need!("clang-22", "llc", "ld.lld");
    let folder = Folder::new();
    chain(&folder, ("spirv64", ""));
    folder
        .run(tool("llvm-ar").unwrap(), "rc lib.a helper.bc deep.bc".split(' '))
        .ok();
    let link = |line: &str, target: &str| {
        let mut command = Command::new(offkit());
        command
            .args(format!("link {line} --format offload -o {target}.out").split_whitespace())
            .env("TMPDIR", "/nowhere")
            .env("OFFKIT_LOG", "offkit_llvm=debug");
        folder.run_command(&mut command)
    };
    for inputs in [
        "app.bc helper.bc deep.bc",
        "app.bc lib.a",
        "app.bc helper.bc deep.bc --split kernel",
    ] {
        let linked = link(inputs, "spirv");
        assert_eq!(linked.code, 0, "{linked:#?}");
        let events = linked.stderr;
        let count = |text: &str| events.matches(text).count();
        assert_eq!(count("starting the LLVM worker"), 1, "{events}");
        let requests = ["hello", "open", "emit", "close"];
        for request in requests {
            assert_eq!(count(&format!("request=\"{request}\"")), 1, "{request}: {events}");
        }
        assert_eq!(count("asking the LLVM worker"), requests.len(), "{events}");
    }
    chain(&folder, AMD);
    says(
        &link("app.bc helper.bc deep.bc", "amd").fails(3),
        &["temporary", "TMPDIR"],
    );
    assert!(!folder.path("amd.out").exists());
}

#[test]
fn without_a_linker_for_objects_the_package_is_named() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    chain(&folder, AMD);
    let mut command = Command::new(offkit());
    command
        .args("link app.bc helper.bc deep.bc --split none --format offload -o a.out".split_whitespace())
        .env("PATH", "/nowhere")
        .env("OFFKIT_LLVM_BIN", "/nowhere");
    says(&folder.run_command(&mut command).fails(3), &["ld.lld", "lld-22"]);
}
