//! Files that real tools make, in a folder that goes with its test.

#![allow(dead_code, reason = "every test program uses another part of this module")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Leaves the test, loudly, unless the tools are there.
macro_rules! need {
    ($($tool:expr),+ $(,)?) => {
        $(if !$crate::tools::is_there($tool) { return; })+
    };
}
pub(crate) use need;

/// The program of a name: LLVM 22's own, or the one on the path.
fn program(name: &str) -> PathBuf {
    let folder = Path::new("/usr/lib/llvm-22/bin").join(name);
    if folder.is_file() { folder } else { name.into() }
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn is_there(name: &str) -> bool {
    let found = Command::new(program(name)).arg("--version").output().is_ok();
    if !found {
        assert!(
            std::env::var("OFFKIT_REQUIRE_TOOLS").as_deref() != Ok("1"),
            "{name} is required and missing"
        );
        eprintln!("SKIPPED: {name} is missing");
    }
    found
}

/// A folder of files.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path().join(name)).unwrap()
    }

    /// Runs a tool, whose arguments are separated by spaces; its output.
    #[track_caller]
    pub(crate) fn run(&self, command: &str) -> String {
        let mut words = command.split_whitespace();
        let output = Command::new(program(words.next().unwrap()))
            .args(words)
            .current_dir(self.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {text}{errors}");
        text
    }
}
