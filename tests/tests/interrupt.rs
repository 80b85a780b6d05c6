//! What is left of a program that is stopped: nothing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use offkit_llvm::PROTOCOL_VERSION;
use offkit_tests::{Folder, need, offkit};

#[test]
fn an_interrupted_link_leaves_no_temporary_files() {
    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.bitcode("app", "kernel void k(global int *a) { a[0] = 1; }");
    // A worker that never answers what it is asked to do.
    let hello = format!(r#"{{"reply":"hello","protocol":{PROTOCOL_VERSION},"llvm":"22.1.8"}}"#);
    let worker = folder.script("worker", &format!("read line; echo '{hello}'; cat > /dev/null"));
    let temporary = folder.path("temporary");
    std::fs::create_dir(&temporary).unwrap();
    for (signal, line) in [
        ("INT", "link app.bc -o x.syclbin"),
        ("TERM", "post-link app.bc -o x"),
    ] {
        let mut link = Command::new(offkit())
            .args(line.split(' '))
            .env("OFFKIT_LLVM_WORKER", &worker)
            .env("TMPDIR", &temporary)
            .current_dir(folder.path("."))
            .spawn()
            .unwrap();
        let first = |folder: &Path| Some(std::fs::read_dir(folder).ok()?.next()?.ok()?.path());
        // A folder of the process, and one of the command in it.
        while first(&temporary).and_then(|folder| first(&folder)).is_none() {
            assert!(link.try_wait().unwrap().is_none(), "{line} ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        let sent = Command::new("kill")
            .args(["-s", signal, &link.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(link.wait().unwrap().code(), Some(130), "{line}");
        assert_eq!(first(&temporary), None, "{signal}");
    }
}
