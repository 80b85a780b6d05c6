//! What is left of a program that is stopped: nothing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use offkit_llvm::PROTOCOL_VERSION;
use offkit_tests::{Folder, need, offkit, tool};

/// The exit code of a program that was stopped.
const INTERRUPTED: i32 = 130;

#[test]
fn an_interrupted_link_leaves_no_temporary_files() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", "kernel void k(global int *a) { a[0] = 1; }");
    // A worker that never answers what it is asked to do, and tells when that was.
    let hello = format!(r#"{{"body":{{"hello":{{"protocol":{PROTOCOL_VERSION},"llvm":"22.1.8"}}}}}}"#);
    let body = format!("read line; echo '{hello}'; read line; touch asked; cat > /dev/null");
    let worker = folder.script("worker", &body);
    let temporary = folder.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    for signal in heeded(&[INT, TERM]) {
        let mut link = Command::new(offkit())
            .args("link app.bc -o x.syclbin".split(' '))
            .env("OFFKIT_LLVM_WORKER", &worker)
            .env("TMPDIR", &temporary)
            .current_dir(folder.path("."))
            .spawn()
            .unwrap();
        let asked = folder.path("asked");
        while !asked.exists() {
            assert!(link.try_wait().unwrap().is_none(), "the link ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        std::fs::remove_file(asked).unwrap();
        let first = |folder: &Path| Some(std::fs::read_dir(folder).ok()?.next()?.ok()?.path());
        assert!(first(&temporary).is_some(), "the folder of the process");
        let sent = Command::new("kill")
            .args(["-s", signal, &link.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(link.wait().unwrap().code(), Some(INTERRUPTED), "{signal}");
        assert_eq!(first(&temporary), None, "{signal}");
    }
}

const OLD: &[u8] = b"\x03\x02\x23\x07old";
const NEW: &[u8] = b"\x03\x02\x23\x07new";

/// A disk that takes its time, until there is a file `go`.
const SLOW_DISK: &str = r#"
#include <unistd.h>

int fsync(int number) {
    while (access("go", F_OK) != 0) usleep(1000);
    return 0;
}
"#;

/// A folder with an image, another to be in its place, and the slow disk.
fn with_images() -> Folder {
    let folder = Folder::new();
    folder.write("old.spv", OLD);
    folder.write("new.spv", NEW);
    folder.write("disk.c", SLOW_DISK);
    let compiler = tool("cc").expect("asked for before");
    folder
        .run(compiler, ["-shared", "-fPIC", "disk.c", "-o", "disk.so"])
        .ok();
    folder
}

/// Replaces the image, sends the signal while the new one is being written, and says how the program ended.
fn replace_and_signal(folder: &Folder, setting: &str, signal: &str) -> Option<i32> {
    let is_temporary = |name: &String| name.starts_with(".offkit-");
    let mut replace = Command::new("sh")
        .arg("-c")
        .arg(format!(
            r#"{setting} LD_PRELOAD=./disk.so exec "$0" replace old.spv old.spv=new.spv"#
        ))
        .arg(offkit())
        .current_dir(folder.path("."))
        .spawn()
        .unwrap();
    while !folder.list().iter().any(is_temporary) {
        assert!(replace.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill")
        .args(["-s", signal, &replace.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    if !setting.is_empty() {
        folder.write("go", "");
    }
    replace.wait().unwrap().code()
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_replacement_leaves_the_file_as_it_was() {
    need!("cc");
    let folder = with_images();
    let before = folder.list();
    for signal in heeded(&[INT, TERM, HUP]) {
        let code = replace_and_signal(&folder, "", signal);
        assert_eq!(code, Some(INTERRUPTED), "{signal}");
        assert_eq!(folder.list(), before, "{signal}");
        assert_eq!(folder.read("old.spv"), OLD);
    }
}

/// Those of the signals that programs do not ignore which this one starts, as Linux tells. Who runs the tests by `nohup`, or behind
/// a script's `&`, has some ignored by all that they start.
fn heeded(signals: &[(&'static str, u32)]) -> Vec<&'static str> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|signals| u64::from_str_radix(signals.trim(), 16).ok());
    let is_heeded = |number: u32| ignored.unwrap_or(0) >> (number - 1) & 1 == 0;
    let heeded = signals.iter().filter(|(_, number)| is_heeded(*number));
    heeded.map(|(name, _)| *name).collect()
}

const HUP: (&str, u32) = ("HUP", 1);
const INT: (&str, u32) = ("INT", 2);
const TERM: (&str, u32) = ("TERM", 15);

#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_is_to_be_ignored_is() {
    need!("cc");
    let folder = with_images();
    // As `nohup` starts it.
    assert_eq!(replace_and_signal(&folder, "trap '' HUP;", "HUP"), Some(0));
    assert_eq!(folder.read("old.spv"), NEW);
}

#[test]
fn an_interrupted_build_of_a_library_leaves_no_temporary_files() {
    let folder = Folder::new();
    folder.write("some.c", "int f(void) { return 1; }\n");
    folder.write(
        "libdevice.toml",
        "name = \"some\"\nsources = [\"some.c\"]\ntargets = [\"spirv64\"]\n",
    );
    // A compiler that knows its version, says who it is where it compiles, and does not end by itself.
    let clang = folder.script(
        "clang",
        "case $* in --version) echo 'clang version 22.1.8';; *-E*) ;; *) echo $$ > pid; exec sleep 60;; esac",
    );
    std::fs::create_dir(folder.path("temporary")).unwrap();
    let temporary = || std::fs::read_dir(folder.path("temporary")).unwrap().count();
    let mut build = Command::new(offkit())
        .args(["devlib", "build", "libdevice.toml", "-o", "lib"])
        .env("OFFKIT_CLANG", clang)
        .env("TMPDIR", folder.path("temporary"))
        .current_dir(folder.path("."))
        .spawn()
        .unwrap();
    let compiler = || std::fs::read_to_string(folder.path("pid")).unwrap_or_default();
    while !compiler().ends_with('\n') {
        assert!(build.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(temporary(), 1);
    let kill = |process: &str| Command::new("kill").args(["-s", "TERM", process]).status();
    assert!(kill(&build.id().to_string()).unwrap().success());
    assert_eq!(build.wait().unwrap().code(), Some(INTERRUPTED));
    assert_eq!((temporary(), temporary_in(&folder.path("lib"))), (0, None));
    assert!(kill(compiler().trim()).unwrap().success());
}

/// A temporary file or folder somewhere in a folder.
fn temporary_in(folder: &Path) -> Option<std::path::PathBuf> {
    for entry in std::fs::read_dir(folder).ok()?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(".offkit-") {
            return Some(entry.path());
        }
        if let Some(found) = temporary_in(&entry.path()) {
            return Some(found);
        }
    }
    None
}

/// A folder with `k.spv`, whose kernel `endless` ends for one work-group and not for the next.
fn with_endless_kernel() -> Folder {
    let folder = Folder::new();
    let source =
        "kernel void endless(volatile global int *a) { while (get_group_id(0) == 1 && a[0] == 0) a[1]++; }";
    folder.write("k.cl", source);
    let arguments = "--target=spirv64 -O1 -c k.cl -o k.spv".split(' ');
    folder
        .run(tool("clang-22").expect("asked for before"), arguments)
        .ok();
    folder
}

const ENDLESS: &str = "run k.spv endless --global 4 --local 2 --arg i32[4]";

#[test]
fn a_kernel_that_takes_too_long_is_stopped() {
    need!("clang-22");
    let folder = with_endless_kernel();
    // Compiled, and interpreted.
    for (device, place) in [
        // Groups of two are executed as one.
        ("cpu", "one of the work-groups [0, 0, 0] to [1, 0, 0]"),
        ("cpu-checked", "work-group [1, 0, 0]"),
    ] {
        let error = folder.offkit(&format!("{ENDLESS} --device {device} --timeout 300ms"));
        let error = error.fails(1);
        for part in [
            "kernel `endless` was not done within 300ms",
            "cancelled after",
            place,
            "--timeout",
        ] {
            assert!(error.contains(part), "`{part}` is missing in: {error}");
        }
    }
    // One that is done in time is not disturbed.
    folder
        .offkit("run k.spv endless --global 2 --local 2 --arg i32[4] --timeout 1m")
        .ok();
    let error = folder.offkit(&format!("{ENDLESS} --timeout 2")).fails(2);
    assert!(error.contains("expected one such as `2s`"), "{error}");
}

#[test]
fn an_interrupted_launch_ends_the_program() {
    need!("clang-22");
    let folder = with_endless_kernel();
    let mut run = Command::new(offkit())
        .args(ENDLESS.split(' '))
        .current_dir(folder.path("."))
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(run.try_wait().unwrap().is_none(), "the launch ended by itself");
    let signal = heeded(&[INT, TERM])[0];
    let sent = Command::new("kill")
        .args(["-s", signal, &run.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let ended = run.wait().unwrap();
    // What a shell makes of either is 130.
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended);
    assert!(
        ended.code() == Some(INTERRUPTED) || matches!(signal, Some(2 | 15)),
        "{ended:?}"
    );
}
