//! Files travel between offkit and the real SYCL runtime, both ways.
//!
//! The runtime, its run-time compiler and its CPU driver come in Python packages, which are installed
//! into a folder of the build directory the first time.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use offkit_object::{Limits, SyclBin, SyclBinVersion};
use offkit_tests::{Folder, built, need, npy_i32, read_i32, root, skip, tool};

/// The packages; the last three are dependencies that the first two's metadata does not name or does not pin.
const PACKAGES: [&str; 5] = [
    "intel-sycl-rt==2026.2.0",
    "intel-opencl-rt==2026.2.0",
    "intel-cmplr-lib-rt==2026.2.0",
    "tbb==2023.2.0",
    "tcmlib==1.6.0",
];

/// What `app_kernel` makes of 1 to 8.
const EXPECTED: [i32; 8] = [8, 15, 22, 29, 36, 43, 50, 57];

/// The installed runtime and the two programs built against it.
struct SyclRuntime {
    folder: PathBuf,
}

impl SyclRuntime {
    /// Installs and builds what is needed, once; `None`, loudly, if it cannot be had here.
    fn get() -> Option<&'static Self> {
        static INSTALLED: OnceLock<Option<SyclRuntime>> = OnceLock::new();
        INSTALLED
            .get_or_init(|| {
                let (python, compiler) = (tool("python3")?, tool("g++")?);
                let build = built("offkit", "offkit").parent()?.parent()?.to_owned();
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
            run(Command::new(pip)
                .args(["install", "--quiet"])
                .args(PACKAGES))?;
        }
        let drivers = self.folder.join("drivers");
        std::fs::create_dir_all(&drivers).map_err(|error| error.to_string())?;
        let driver = self.folder.join("lib/libintelocl.so");
        std::fs::write(drivers.join("intel.icd"), driver.display().to_string())
            .map_err(|error| error.to_string())?;
        for program in ["compile", "link_and_run"] {
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
        Ok(())
    }

    /// Runs one of the two programs, on the CPU driver that was installed with them.
    fn run(&self, folder: &Folder, program: &str, arguments: &[&str]) -> offkit_tests::Outcome {
        let mut command = Command::new(self.folder.join(program));
        command
            .args(arguments)
            .env("OCL_ICD_VENDORS", self.folder.join("drivers"));
        folder.run_command(&mut command)
    }

    /// Compiles a source of `tests/sycl-runtime` with the real SYCL compiler.
    fn compile(&self, folder: &Folder, source: &str, output: &str) {
        let path = root().join("tests/sycl-runtime").join(source);
        self.run(
            folder,
            "compile",
            &[path.to_str().expect("a readable path"), output, "object"],
        )
        .ok();
    }

    /// Has the real runtime link and run files, and checks what it computes.
    #[track_caller]
    fn accepts(&self, folder: &Folder, files: &[&str]) {
        let printed = self.run(folder, "link_and_run", files).ok();
        let numbers: Vec<i32> = printed
            .split_whitespace()
            .map(|word| word.parse().expect("a number"))
            .collect();
        assert_eq!(numbers, EXPECTED, "{files:?}");
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .stdin(Stdio::null())
        .env_remove("PYTHONPATH")
        .output()
        .map_err(|error| error.to_string())?;
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
    runtime.accepts(&folder, &["app-v2", "library-v2"]);
    runtime.accepts(&folder, &["app-v1", "library"]);
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
    runtime.accepts(&folder, &["app.syclbin", "library.syclbin"]);
    // Each with the other tool chain's partner.
    runtime.compile(&folder, "kernel.cpp", "real-app");
    runtime.compile(&folder, "library.cpp", "real-library");
    runtime.accepts(&folder, &["app.syclbin", "real-library"]);
    runtime.accepts(&folder, &["real-app", "library.syclbin"]);
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
