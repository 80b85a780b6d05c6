//! A file that is changed in place is on the disk before its old content goes.

#![cfg(target_os = "linux")]

use std::process::Command;

use offkit_tests::{Folder, Outcome, need, offkit, tool};

const OLD: &[u8] = b"\x03\x02\x23\x07old";
const NEW: &[u8] = b"\x03\x02\x23\x07new";

/// Says of each `fsync` whether it is of a file or a folder, and what is in the file `a.spv` at that time. Fails with
/// an error of the disk where `FAILING` is set.
const SHIM: &str = r#"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int fsync(int number) {
    struct stat status;
    char content[8] = {0};
    FILE *file = fopen("a.spv", "r"), *told = fopen("told", "a");
    fread(content, 1, 7, file);
    fstat(number, &status);
    fprintf(told, "%s while %s\n", S_ISDIR(status.st_mode) ? "folder" : "file", content + 4);
    fclose(file);
    fclose(told);
    errno = EIO;
    return getenv("FAILING") ? -1 : 0;
}
"#;

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("shim.c", SHIM);
    folder.write("told", "");
    folder.write("a.spv", OLD);
    folder.write("new.spv", NEW);
    let compiler = tool("cc").expect("asked for before");
    folder
        .run(compiler, ["-shared", "-fPIC", "shim.c", "-o", "shim.so"])
        .ok();
    folder
}

fn watched(folder: &Folder, line: &str, variables: &[&str]) -> Outcome {
    let mut command = Command::new(offkit());
    command
        .args(line.split_whitespace())
        .env("LD_PRELOAD", folder.path("shim.so"))
        .envs(variables.iter().map(|name| (name, "1")));
    folder.run_command(&mut command)
}

#[test]
fn what_is_replaced_is_safe_first() {
    need!("cc");
    let folder = prepared();
    watched(&folder, "replace a.spv a.spv=new.spv", &[]).ok();
    assert_eq!(folder.read("a.spv"), NEW);
    assert_eq!(
        String::from_utf8_lossy(&folder.read("told")),
        "file while old\nfolder while new\n"
    );
}

#[test]
fn what_cannot_be_made_safe_is_not_put_in_place() {
    need!("cc");
    let folder = prepared();
    let before = folder.list();
    let error = watched(&folder, "replace a.spv a.spv=new.spv", &["FAILING"]).fails(2);
    assert!(error.contains("cannot write `a.spv`"), "{error}");
    assert_eq!(folder.read("a.spv"), OLD);
    assert_eq!(folder.list(), before);
}

#[test]
fn nobody_waits_for_what_can_be_made_again() {
    need!("cc");
    let folder = prepared();
    watched(
        &folder,
        "pack --image file=new.spv,triple=spirv64 -o a.spv",
        &["FAILING"],
    )
    .ok();
    assert_eq!(folder.read("told"), b"");
}
