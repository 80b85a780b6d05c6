//! Helpers of the tests that cross crates: they run the built program and the peers' tools.
//!
//! A test that needs a tool asks for it with [`tool`] or [`need!`]. A missing tool skips the test with a
//! line that says so; with `OFFKIT_REQUIRE_TOOLS=1`, as in CI, it fails instead.

pub mod c_program;
mod compiled;
pub mod cuda;
pub mod cuda_driver;
pub mod documentation;
pub mod drivers;
mod limit;
pub mod packages;
pub mod pi_releases;
pub mod schemas;
pub mod sycl_runtime;
pub mod ur_adapters;
pub mod valgrind;
pub mod workshop;

use std::env;
use std::ffi::OsStr;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use offkit_cache::{Cache, Kind, Limits};
use serde_json::Value;

pub use compiled::{example, spirv};

/// The environment variable that turns skips into failures.
pub const REQUIRE_VARIABLE: &str = "OFFKIT_REQUIRE_TOOLS";

/// Where the LLVM 22 packages keep the programs that have no versioned name.
const LLVM_PROGRAMS: &str = "/usr/lib/llvm-22/bin";

/// Leaves the test unless the tools are there.
#[macro_export]
macro_rules! need {
    ($($tool:expr),+ $(,)?) => {
        $(if $crate::tool($tool).is_none() { return; })+
    };
}

/// Finds a program; says so if it is missing, or fails where tools are required.
///
/// # Panics
///
/// If the program is missing and tools are required.
pub fn tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // LLVM 22's first: the unversioned names on the path may be an older release's.
    let found = iter::once(PathBuf::from(LLVM_PROGRAMS))
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(name))
        .find(|program| program.is_file());
    if found.is_none() {
        skip(&format!("`{name}` is not installed"));
    }
    found
}

/// Says that a test is skipped, or fails where skipping is not allowed.
///
/// # Panics
///
/// If tools are required.
#[expect(clippy::print_stderr, reason = "a skip must be loud")]
pub fn skip(reason: &str) {
    assert!(
        env::var_os(REQUIRE_VARIABLE).is_none_or(|value| value != "1"),
        "{reason}, and {REQUIRE_VARIABLE} is set"
    );
    eprintln!("SKIPPED: {reason}");
}

/// Whether the runtimes of LLVM's OpenMP offloading are installed; says so if not, or fails where tools are required.
///
/// # Panics
///
/// If they are missing and tools are required.
pub fn has_openmp() -> bool {
    let is_there = |file: &str| {
        Path::new("/usr/lib/llvm-22/lib").join(file).exists()
            || Path::new("/usr/lib/x86_64-linux-gnu").join(file).exists()
    };
    let has = cfg!(all(target_os = "linux", target_arch = "x86_64"))
        && is_there("libomptarget.so")
        && is_there("libomp.so");
    if !has {
        skip("LLVM 22's OpenMP runtimes (`liboffload-22-dev`, `libomp-22-dev`) are not installed");
    }
    has
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests are in a folder of the repository")
        .to_owned()
}

/// The folder of the built programs and shared libraries, brought up to date once.
///
/// # Panics
///
/// If they cannot be built.
pub fn programs() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let exe = env::current_exe().expect("a running program has a path");
        let folder = exe
            .ancestors()
            .nth(2)
            .expect("test programs are in `deps`")
            .to_owned();
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--quiet", "--bins", "--lib"]);
        // A crate alone may get other features than among all, and what it shares with them would be built again: then
        // the documentation's tests find libraries that do not fit each other.
        cargo.arg("--workspace").current_dir(root());
        // The worker needs LLVM to be built; without it the rest is still there to be tested.
        if tool("llvm-config-22").is_none() {
            cargo.args(["--exclude", "offkit-llvm-worker"]);
        }
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(
            cargo.status().expect("cargo starts").success(),
            "the programs do not build"
        );
        folder
    });
    folder.clone()
}

/// The program under test.
pub fn offkit() -> PathBuf {
    programs().join("offkit")
}

/// A shared library of this workspace.
pub fn shared_library(name: &str) -> PathBuf {
    programs().join(file_name(name))
}

/// The same of a crate that the running test links, too: cargo builds it beside the test.
///
/// # Panics
///
/// If the running program has no path.
pub fn library(name: &str) -> PathBuf {
    let program = env::current_exe().expect("a running program has a path");
    program.with_file_name(file_name(name))
}

fn file_name(library: &str) -> String {
    format!("{}{library}{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)
}

/// offkit's devices as an OpenCL driver.
pub fn opencl_driver() -> PathBuf {
    shared_library("offkit_opencl")
}

/// The plugin that does what a script says.
pub fn mock() -> PathBuf {
    library("pi_mock")
}

/// Runs a prepared command, for a quarter of an hour at most.
///
/// # Panics
///
/// If it cannot be started, or hangs.
#[track_caller]
pub fn output(command: &mut Command) -> Output {
    limit::output(command, limit::LIMIT)
}

/// What a program did.
#[derive(Debug)]
pub struct Outcome {
    /// Its exit code; -1 if it was killed.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

/// What offkit keeps of a kind where `XDG_CACHE_HOME` is that folder: the names that users know, sorted.
pub fn kept(cache_home: &Path, kind: Kind) -> Vec<String> {
    let entries = Cache::at(cache_home.join("offkit"), Limits::default()).entries();
    let keys = entries.into_iter().filter_map(|entry| Some(entry.header?.key));
    let mut names: Vec<_> = keys
        .filter(|key| key.kind == kind)
        .map(|key| key.subject)
        .collect();
    names.sort();
    names
}

impl Outcome {
    /// The standard output of a program that must have succeeded.
    ///
    /// # Panics
    ///
    /// If it failed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:#?}");
        self.stdout
    }

    /// The standard error of a program that must have failed with that exit code.
    ///
    /// # Panics
    ///
    /// If it ended otherwise, or died of a panic.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!(self.code, code, "{self:#?}");
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        self.stderr
    }

    /// The lines of standard output as JSON.
    ///
    /// # Panics
    ///
    /// If a line is not JSON.
    pub fn json(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }
}

/// A folder for one test, removed at its end.
#[derive(Debug)]
pub struct Folder(tempfile::TempDir);

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Folder {
    /// A new empty folder.
    ///
    /// # Panics
    ///
    /// If the system has no place for one.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, content).expect("the folder is writable");
        path
    }

    /// Makes a program of a shell script.
    ///
    /// Another process writes it: while this one has a file open for writing, a test beside this one may
    /// fork, and a file that any process has open for writing cannot be executed.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.path(name);
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
        let written = Command::new("sh")
            .arg("-c")
            .arg(write)
            .arg(&path)
            .arg(body)
            .status();
        assert!(written.expect("a shell").success(), "{name}");
        path
    }

    /// Names an OpenCL driver to loaders: a folder for `OCL_ICD_VENDORS` that has it and no other.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn drivers(&self, library: &Path) -> PathBuf {
        let folder = self.path("drivers");
        std::fs::create_dir_all(&folder).expect("the folder is writable");
        self.write("drivers/driver.icd", format!("{}\n", library.display()));
        folder
    }

    /// Reads a file.
    ///
    /// # Panics
    ///
    /// If it cannot be read.
    #[track_caller]
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files in it, sorted.
    ///
    /// # Panics
    ///
    /// If it cannot be listed.
    pub fn list(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder is there");
        let mut names: Vec<_> = entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }

    /// Runs a program in the folder.
    ///
    /// # Panics
    ///
    /// If it cannot be started.
    pub fn run<S: AsRef<OsStr>>(
        &self,
        program: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = S>,
    ) -> Outcome {
        let mut command = Command::new(program.as_ref());
        command.args(arguments);
        self.run_command(&mut command)
    }

    /// Runs a prepared command in the folder, for a quarter of an hour at most.
    ///
    /// # Panics
    ///
    /// If it cannot be started, or hangs.
    #[track_caller]
    pub fn run_command(&self, command: &mut Command) -> Outcome {
        let command = command.current_dir(self.0.path()).stdin(Stdio::null());
        let output = output(command);
        Outcome {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs `offkit` with the words of a command line. What it links is checked with spirv-val, where that is installed.
    /// What it writes as JSON is checked against its schema. It sees no devices but its own.
    pub fn offkit(&self, line: &str) -> Outcome {
        let links = line.trim_start().starts_with("link ");
        let verify = (links && tool("spirv-val").is_some()).then_some("--verify");
        let mut command = Command::new(offkit());
        command.args(line.split_whitespace().chain(verify));
        let outcome = self.run_command(drivers::alone(&mut command));
        self.check_output_of(line, &outcome);
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(schema) = schemas::name_of(&words).filter(|_| !words.contains(&"-")) {
            schemas::check(&schema, &outcome.stdout);
        }
        outcome
    }

    /// Checks with spirv-val, where that is installed, what a command line of the driver wrote.
    ///
    /// # Panics
    ///
    /// If a SPIR-V module breaks a rule.
    #[track_caller]
    pub fn check_output_of(&self, line: &str, outcome: &Outcome) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_driver = matches!(words.first(), Some(&("cc" | "c++")));
        let output = words.iter().position(|word| *word == "-o");
        let Some(output) = output.and_then(|at| words.get(at + 1)) else {
            return;
        };
        if is_driver && outcome.code == 0 && tool("spirv-val").is_some() && self.path(output).is_file() {
            let mut command = Command::new(offkit());
            command.args(["verify", output]);
            let verified = self.run_command(&mut command);
            // There may be nothing in it that is to be verified.
            assert!(
                verified.code == 0
                    || !verified.stderr.contains("problem") && !verified.stdout.contains("spirv-val"),
                "{line}: {verified:#?}"
            );
        }
    }
}

/// A `.npy` file of `f32`.
pub fn npy_f32(shape: &str, values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    npy("<f4", shape, values.into_iter().flat_map(f32::to_le_bytes))
}

/// A `.npy` file of `i32`.
pub fn npy_i32(shape: &str, values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    npy("<i4", shape, values.into_iter().flat_map(i32::to_le_bytes))
}

/// A `.npy` file of `f64`.
pub fn npy_f64(shape: &str, values: impl IntoIterator<Item = f64>) -> Vec<u8> {
    npy("<f8", shape, values.into_iter().flat_map(f64::to_le_bytes))
}

/// A `.npy` file of elements of a kind, as numpy writes it (`<f2`), that are so many bytes.
pub fn npy(kind: &str, shape: &str, data: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").bytes());
    bytes.extend(data);
    bytes
}

/// The numbers in a `.npy` file of elements of N bytes, as their bits.
fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    let data = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let (words, rest) = bytes[data..].as_chunks();
    assert!(rest.is_empty());
    words.iter().copied()
}

/// The `f64` in a `.npy` file.
pub fn read_f64(bytes: &[u8]) -> Vec<f64> {
    words(bytes).map(f64::from_le_bytes).collect()
}

/// The `f32` in a `.npy` file.
pub fn read_f32(bytes: &[u8]) -> Vec<f32> {
    words(bytes).map(f32::from_le_bytes).collect()
}

/// The `i32` in a `.npy` file.
pub fn read_i32(bytes: &[u8]) -> Vec<i32> {
    words(bytes).map(i32::from_le_bytes).collect()
}
