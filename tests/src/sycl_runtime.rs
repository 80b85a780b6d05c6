//! The real SYCL runtime, its run-time compiler, and its CPU driver.
//!
//! All of it comes in Python packages under their vendor's licence: fetched into a folder of the build
//! directory the first time, never part of this repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::{Folder, Outcome, programs, root, skip, tool};

/// The packages; the last three are dependencies that the first two's metadata does not name or does not pin.
const PACKAGES: [&str; 5] = [
    "intel-sycl-rt==2026.2.0",
    "intel-opencl-rt==2026.2.0",
    "intel-cmplr-lib-rt==2026.2.0",
    "tbb==2023.2.0",
    "tcmlib==1.6.0",
];

/// The last release whose device images are of version 2; it runs on the newer release's CPU driver. The last one is
/// a dependency that the metadata of the others leaves open.
const OLDER_PACKAGES: [&str; 3] = [
    "intel-sycl-rt==2025.0.0",
    "intel-cmplr-lib-ur==2025.0.0",
    "umf==0.9.1",
];

/// The installed runtime and the three programs built against it.
#[derive(Debug)]
pub struct SyclRuntime {
    folder: PathBuf,
}

impl SyclRuntime {
    /// Installs and builds what is needed, once; `None`, loudly, if it cannot be had here.
    pub fn get() -> Option<&'static Self> {
        static INSTALLED: OnceLock<Option<SyclRuntime>> = OnceLock::new();
        INSTALLED
            .get_or_init(|| {
                let (python, compiler) = (tool("python3")?, tool("g++")?);
                let build = programs().parent()?.to_owned();
                let runtime = Self {
                    folder: build.join("sycl-runtime-2026.2.0"),
                };
                match runtime.install(&python, &compiler) {
                    Ok(()) => Some(runtime),
                    Err(reason) => {
                        skip(&format!("the SYCL runtime cannot be installed: {reason}"));
                        None
                    }
                }
            })
            .as_ref()
    }

    fn install(&self, python: &Path, compiler: &Path) -> Result<(), String> {
        let library = self.folder.join("lib/libsycl.so.9");
        if !library.is_file() {
            run(Command::new(python).args(["-m", "venv"]).arg(&self.folder))?;
            let pip = self.folder.join("bin/pip");
            run(Command::new(pip).args(["install", "--quiet"]).args(PACKAGES))?;
        }
        let drivers = self.folder.join("drivers");
        std::fs::create_dir_all(&drivers).map_err(|error| error.to_string())?;
        let driver = self.folder.join("lib/libintelocl.so");
        let (list, entry) = (drivers.join("intel.icd"), driver.display().to_string());
        // Other tests read it meanwhile.
        if std::fs::read_to_string(&list).ok().as_ref() != Some(&entry) {
            std::fs::write(list, entry).map_err(|error| error.to_string())?;
        }
        for program in ["compile", "link_and_run", "devices"] {
            let source = root().join("tests/sycl-runtime").join(format!("{program}.cpp"));
            let output = self.folder.join(program);
            let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
            if modified(&output) > modified(&source) {
                continue;
            }
            let folder = self.folder.display();
            run(Command::new(compiler)
                .args(["-std=c++17", "-w", "-o"])
                .arg(&output)
                .arg(&source)
                .arg(format!("-I{folder}/include"))
                .arg(format!("-L{folder}/lib"))
                .args(["-l:libsycl.so.9", &format!("-Wl,-rpath,{folder}/lib")]))?;
        }
        compile_registered(&self.folder, compiler)
    }

    /// The object of `run_registered.cpp`, to be linked with what registers images.
    pub fn registered_object(&self) -> PathBuf {
        self.folder.join("run_registered.o")
    }

    /// Where the runtime is.
    pub fn library_folder(&self) -> PathBuf {
        self.folder.join("lib")
    }

    /// Links a program or library with the runtime, which finds the runtime again.
    ///
    /// # Panics
    ///
    /// If it cannot be linked.
    #[track_caller]
    pub fn link(&self, folder: &Folder, linker: &str, output: &str, arguments: &[&str]) {
        let library = self.folder.join("lib");
        let mut command = Command::new(tool(linker).expect("asked for before"));
        command
            .args(["-o", output])
            .args(arguments)
            .arg(format!("-L{}", library.display()))
            .args(["-l:libsycl.so.9", "-lstdc++", "-ldl"])
            .arg(format!("-Wl,-rpath,{}", library.display()));
        folder.run_command(&mut command).ok();
    }

    /// Runs a program of the folder on the CPU driver that was installed with the runtime.
    pub fn run_linked(&self, folder: &Folder, program: &str, arguments: &[&str]) -> Outcome {
        folder.run_command(self.on_cpu(&folder.path(program)).args(arguments))
    }

    /// A program that finds the CPU driver that was installed with the runtime.
    fn on_cpu(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("OCL_ICD_VENDORS", self.folder.join("drivers"));
        command
    }

    /// Runs one of the three programs, `compile`, `link_and_run` and `devices`, on the CPU driver that was installed with them.
    pub fn run(&self, folder: &Folder, program: &str, arguments: &[&str]) -> Outcome {
        folder.run_command(self.on_cpu(&self.folder.join(program)).args(arguments))
    }

    /// The numbers that `link_and_run` makes of 1 to 8 with these files.
    ///
    /// # Panics
    ///
    /// If the runtime refuses them.
    #[track_caller]
    pub fn link_and_run(&self, folder: &Folder, arguments: &[&str]) -> Vec<i32> {
        let printed = self.run(folder, "link_and_run", arguments).ok();
        let numbers = printed.split_whitespace();
        numbers.map(|word| word.parse().expect("a number")).collect()
    }

    /// What a program needs in its environment to use the CPU driver, also through a plugin of an older release.
    pub fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [
            ("OCL_ICD_VENDORS", self.folder.join("drivers")),
            ("LD_LIBRARY_PATH", self.folder.join("lib")),
        ]
    }

    /// Compiles a source with the real SYCL compiler and returns, besides the SYCLBIN that it writes, the bitcode
    /// that its own post-link step started from. The runtime keeps that in its cache of compiled sources: 16
    /// bytes of counts, then the bitcode.
    ///
    /// # Panics
    ///
    /// If the compiler refuses the source.
    pub fn compile_keeping_bitcode(
        &self,
        folder: &Folder,
        source: &str,
        output: &str,
        option: &str,
    ) -> Vec<u8> {
        let cache = folder.path(&format!("cache-{output}"));
        std::fs::create_dir(&cache).expect("the folder is writable");
        let mut command = self.on_cpu(&self.folder.join("compile"));
        command
            .args([source, output, "object", option])
            .env("SYCL_CACHE_PERSISTENT", "1")
            .env("SYCL_CACHE_DIR", &cache);
        folder.run_command(&mut command).ok();
        let entries =
            std::fs::read_dir(cache.join("ext_kernel_compiler")).expect("the runtime fills its cache");
        let kept = entries
            .map(|entry| entry.expect("an entry").path().join("ir.bin"))
            .find(|path| path.is_file())
            .expect("compiled sources are kept");
        let bytes = std::fs::read(kept).expect("a readable file");
        assert_eq!(&bytes[16..20], b"BC\xc0\xde", "bitcode behind two counts");
        bytes[16..].to_vec()
    }

    /// Compiles a source of `tests/sycl-runtime` with the real SYCL compiler.
    ///
    /// # Panics
    ///
    /// If the compiler refuses it.
    pub fn compile(&self, folder: &Folder, source: &str, output: &str) {
        let path = root().join("tests/sycl-runtime").join(source);
        self.run(
            folder,
            "compile",
            &[path.to_str().expect("a readable path"), output, "object"],
        )
        .ok();
    }
}

/// A runtime of an older release, whose device images are of version 2.
#[derive(Debug)]
pub struct OlderSyclRuntime {
    folder: PathBuf,
    newer: &'static SyclRuntime,
}

impl OlderSyclRuntime {
    /// Installs what is needed, once; `None`, loudly, if it cannot be had here.
    pub fn get() -> Option<&'static Self> {
        static INSTALLED: OnceLock<Option<OlderSyclRuntime>> = OnceLock::new();
        INSTALLED
            .get_or_init(|| {
                let newer = SyclRuntime::get()?;
                let (python, compiler) = (tool("python3")?, tool("g++")?);
                let runtime = Self {
                    folder: programs().parent()?.join("sycl-runtime-2025.0.0"),
                    newer,
                };
                match runtime.install(&python, &compiler) {
                    Ok(()) => Some(runtime),
                    Err(reason) => {
                        skip(&format!("the older SYCL runtime cannot be installed: {reason}"));
                        None
                    }
                }
            })
            .as_ref()
    }

    fn install(&self, python: &Path, compiler: &Path) -> Result<(), String> {
        if !self.folder.join("lib/libsycl.so.8").is_file() {
            run(Command::new(python).args(["-m", "venv"]).arg(&self.folder))?;
            let pip = self.folder.join("bin/pip");
            run(Command::new(pip)
                .args(["install", "--quiet", "--no-deps"])
                .args(OLDER_PACKAGES))?;
        }
        compile_registered(&self.folder, compiler)
    }

    /// Links a program that runs `app_kernel` with objects that register images, and runs it on the CPU driver.
    #[track_caller]
    pub fn run_registered(&self, folder: &Folder, objects: &[&str]) -> Outcome {
        let library = self.folder.join("lib");
        let mut command = Command::new(tool("g++").expect("asked for before"));
        command
            .args(["-o", "older"])
            .arg(self.folder.join("run_registered.o"))
            .args(objects)
            .arg(format!("-L{}", library.display()))
            .args(["-l:libsycl.so.8", "-ldl", "-Wl,--allow-shlib-undefined"]);
        folder.run_command(&mut command).ok();
        // Some libraries that both releases need are the newer one's.
        let libraries = std::env::join_paths([library, self.newer.library_folder()]).expect("usual names");
        let mut command = self.newer.on_cpu(&folder.path("older"));
        folder.run_command(command.env("LD_LIBRARY_PATH", libraries))
    }
}

/// Compiles `run_registered.cpp` against the headers in a folder, unless that is done.
fn compile_registered(folder: &Path, compiler: &Path) -> Result<(), String> {
    let source = root().join("tests/sycl-runtime/run_registered.cpp");
    let output = folder.join("run_registered.o");
    let modified = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    if modified(&output) > modified(&source) {
        return Ok(());
    }
    let include = folder.join("include");
    run(Command::new(compiler)
        .args(["-std=c++17", "-w", "-c", "-o"])
        .arg(&output)
        .arg(&source)
        .arg(format!("-I{}", include.display()))
        .arg(format!("-I{}", include.join("sycl").display())))
}

pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let output = crate::output(command.stdin(Stdio::null()).env_remove("PYTHONPATH"));
    if output.status.success() {
        return Ok(());
    }
    let program = command.get_program().to_string_lossy().into_owned();
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!(
        "{program}: {}",
        message.lines().last().unwrap_or_default()
    ))
}
