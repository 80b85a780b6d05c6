//! A stand-in for NVIDIA's driver (`tests/cuda-driver`), which plugins find where they look for the driver.

use std::ffi::{CString, OsString, c_char, c_int, c_long, c_uint};
use std::path::{Path, PathBuf};
use std::process::Command;

use offkit_pi::driver::{Library, open_resolved};

use crate::{Folder, drivers, root, tool};

/// Kernels that the stand-in knows, for a processor and a version of PTX.
pub const KERNELS: &str = "
    global int counter = 0;
    kernel void saxpy(float a, global const float *x, global float *y) {
        int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
        y[i] += a * x[i];
    }
    kernel void shape(global uint *out, local uint *scratch) {
        scratch[0] = counter;
        out[0] = scratch[1];
    }";

impl Folder {
    /// Compiles OpenCL C to PTX.
    pub fn ptx(&self, name: &str, source: &str, processor: &str, version: &str) -> PathBuf {
        let source = self.write(&format!("{name}.cl"), source);
        let output = self.path(&format!("{name}.ptx"));
        let mut command = Command::new(tool("clang-22").expect("asked for before"));
        command
            .args("-x cl -cl-std=CL2.0 --target=nvptx64-nvidia-cuda -nogpulib -O2 -S".split(' '))
            .arg(format!("-march={processor}"))
            .args(["-Xclang", "-target-feature", "-Xclang"])
            .arg(format!("+ptx{version}"))
            .arg(source)
            .arg("-o")
            .arg(&output);
        self.run_command(&mut command).ok();
        output
    }

    /// Compiles the stand-in: version 570.26 of the driver, in a folder of this one. An old one (`-DOLD`) does not say its
    /// version in its name.
    pub fn cuda_driver(&self, options: &[&str]) -> PathBuf {
        let folder = self.path("driver");
        std::fs::create_dir_all(&folder).expect("a folder");
        let link = folder.join("libcuda.so.1");
        let library = match options.contains(&"-DOLD") {
            true => link.clone(),
            false => folder.join("libcuda.so.570.26"),
        };
        let sources = [
            "faults", "objects", "devices", "kernels", "modules", "link", "memory", "queue", "commands",
        ];
        let mut command = Command::new(tool("clang-22").expect("asked for before"));
        command
            .args("-std=c11 -D_GNU_SOURCE -shared -fPIC -fvisibility=hidden".split(' '))
            .args(options)
            .arg("-o")
            .arg(&library)
            .args(sources.map(|name| root().join(format!("tests/cuda-driver/{name}.c"))));
        self.run_command(&mut command).ok();
        if !link.exists() {
            #[cfg(unix)]
            std::os::unix::fs::symlink(&library, link).expect("a link");
        }
        folder
    }
}

/// The folders of libraries, with one before them.
fn search_path(folder: &Path) -> OsString {
    let others = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let others: Vec<PathBuf> = std::env::split_paths(&others).collect();
    let folders = [folder.to_owned()].into_iter().chain(others);
    std::env::join_paths(folders).expect("folders without colons")
}

/// Runs the rest of a test in a process that finds the stand-in; `true` in that process. `options` are the compiler's.
///
/// # Panics
///
/// If the part fails.
#[track_caller]
pub fn is_inside(test: &str, options: &[&str], variables: &[(&str, &str)]) -> bool {
    if std::env::var_os(drivers::INSIDE).is_some() {
        return true;
    }
    let folder = Folder::new();
    let path = search_path(&folder.cuda_driver(options));
    let variables = variables
        .iter()
        .map(|(name, value)| (*name, OsString::from(value)));
    let all: Vec<_> = [("LD_LIBRARY_PATH", path)].into_iter().chain(variables).collect();
    drivers::is_inside(test, &all)
}

/// A command that finds the stand-in in a folder, and no other devices but offkit's own.
pub fn with_cuda<'a>(command: &'a mut Command, driver: &Path) -> &'a mut Command {
    drivers::alone(command)
        .env("LD_LIBRARY_PATH", search_path(driver))
        .env("OFFKIT_PLUGINS", crate::library("offkit_plugin_cuda"))
}

/// The stand-in that this process has.
#[derive(Debug)]
pub struct StandIn(Library);

impl Default for StandIn {
    fn default() -> Self {
        Self::new()
    }
}

impl StandIn {
    /// Finds it.
    ///
    /// # Panics
    ///
    /// If it is not there.
    #[must_use]
    pub fn new() -> Self {
        // SAFETY: the library is in `tests/cuda-driver`, and has no initialisers but one that reads variables.
        Self(unsafe { open_resolved(Path::new("libcuda.so.1")) }.expect("the stand-in"))
    }

    fn say(&self, function: &str, text: &str) {
        let text = CString::new(text).expect("no NUL");
        // SAFETY: functions of these names take a text.
        unsafe {
            let function = self
                .0
                .get::<unsafe extern "C" fn(*const c_char)>(function.as_bytes());
            function.expect("a function of the stand-in")(text.as_ptr());
        }
    }

    /// Lets a call fail: `FUNCTION:NUMBER:CODE`, or none. A device that was lost is there again.
    pub fn fail(&self, text: &str) {
        self.say("standin_fail", text);
    }

    /// The same, and all calls from then on.
    pub fn lose(&self, text: &str) {
        self.say("standin_sticky", text);
    }

    /// Lets a function do nothing from now on, and say that all is well; none for an empty name.
    pub fn forget(&self, name: &str) {
        self.say("standin_forget", name);
    }

    /// Says which order commands are done in from now on.
    ///
    /// # Panics
    ///
    /// If this is another driver.
    pub fn seed(&self, seed: u32) {
        // SAFETY: the function of that name takes a number.
        unsafe {
            let function = self.0.get::<unsafe extern "C" fn(c_uint)>(b"standin_seed");
            function.expect("a function of the stand-in")(seed);
        }
    }

    /// What is there of the driver's objects, by their kinds.
    #[must_use]
    pub fn live(&self) -> String {
        let mut text = vec![0u8; 4096];
        // SAFETY: the function of that name takes a place for so many bytes.
        unsafe {
            let function = self
                .0
                .get::<unsafe extern "C" fn(*mut c_char, usize) -> c_int>(b"standin_live");
            function.expect("a function of the stand-in")(text.as_mut_ptr().cast(), text.len());
        }
        offkit_pi::driver::text(text)
    }

    /// A stream of a context, as a program that uses the driver itself makes one.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn stream(&self, context: usize) -> usize {
        let mut stream = 0usize;
        let mut popped = 0usize;
        // SAFETY: functions of these names take a context, a place and flags, and a place.
        let results = unsafe {
            let push = self
                .0
                .get::<unsafe extern "C" fn(usize) -> c_int>(b"cuCtxPushCurrent_v2");
            let create = self
                .0
                .get::<unsafe extern "C" fn(*mut usize, c_uint) -> c_int>(b"cuStreamCreate");
            let pop = self
                .0
                .get::<unsafe extern "C" fn(*mut usize) -> c_int>(b"cuCtxPopCurrent_v2");
            let (push, create, pop) = (
                push.expect("a function"),
                create.expect("a function"),
                pop.expect("a function"),
            );
            [push(context), create(&raw mut stream, 1), pop(&raw mut popped)]
        };
        assert_eq!(results, [0; 3]);
        stream
    }

    /// Whether some code that is loaded has a text in it.
    ///
    /// # Panics
    ///
    /// If this is another driver.
    #[must_use]
    pub fn has_code(&self, part: &str) -> bool {
        let part = CString::new(part).expect("no NUL");
        // SAFETY: the function of that name takes a text.
        unsafe {
            let function = self
                .0
                .get::<unsafe extern "C" fn(*const c_char) -> c_int>(b"standin_has_code");
            function.expect("a function of the stand-in")(part.as_ptr()) != 0
        }
    }

    /// How often a function was called, or with no name all of them together.
    #[must_use]
    pub fn calls(&self, name: &str) -> i64 {
        let name = CString::new(name).expect("no NUL");
        // SAFETY: the function of that name takes a text.
        unsafe {
            let function = self
                .0
                .get::<unsafe extern "C" fn(*const c_char) -> c_long>(b"standin_calls");
            function.expect("a function of the stand-in")(name.as_ptr())
        }
    }
}
