//! Files out of real packages of the Python package index.
//!
//! Packages are under their vendors' licences: fetched into a folder of the build directory the first time,
//! never part of this repository.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::sycl_runtime::run;
use crate::{skip, tool};

/// Tests that run at the same time want the same packages.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A package for x86-64.
#[derive(Debug, Clone, Copy)]
pub struct Package {
    /// The name and the version, as pip takes them: `NAME==VERSION`.
    pub name: &'static str,
    /// The version of Python that the package is for, such as `3.11`.
    pub python: &'static str,
}

/// A system that packages are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux of any age that the tests run on.
    Linux,
    /// Windows.
    Windows,
}

impl System {
    fn platforms(self) -> &'static [&'static str] {
        match self {
            Self::Linux => &[
                "manylinux1_x86_64",
                "manylinux2014_x86_64",
                "manylinux_2_24_x86_64",
                "manylinux_2_27_x86_64",
                "manylinux_2_28_x86_64",
            ],
            Self::Windows => &["win_amd64"],
        }
    }
}

impl Package {
    /// The only file of the package for Linux whose path ends like this; `None`, loudly, if it cannot be had here.
    pub fn file(self, end: &str) -> Option<PathBuf> {
        self.file_for(System::Linux, end)
    }

    /// The same of the package for a system.
    pub fn file_for(self, system: System, end: &str) -> Option<PathBuf> {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let pip = pip()?;
        match self.fetch(pip, system, end) {
            Ok(path) => Some(path),
            Err(reason) => {
                skip(&format!("{} of {} cannot be had: {reason}", end, self.name));
                None
            }
        }
    }

    fn folder(self, system: System) -> PathBuf {
        folder().join(match system {
            System::Linux => self.name.to_owned(),
            System::Windows => format!("{}-windows", self.name),
        })
    }

    /// The package itself, if it has been fetched.
    fn wheel(self, system: System) -> Option<PathBuf> {
        let entries = std::fs::read_dir(self.folder(system)).ok()?;
        let mut files = entries.flatten().map(|entry| entry.path());
        files.find(|file| file.extension().is_some_and(|extension| extension == "whl"))
    }

    fn fetch(self, pip: &Path, system: System, end: &str) -> Result<PathBuf, String> {
        let folder = self.folder(system);
        let file_name = end.rsplit('/').next().unwrap_or(end);
        let file = folder.join("files").join(file_name);
        if file.is_file() {
            return Ok(file);
        }
        if self.wheel(system).is_none() {
            let platforms = system.platforms().iter();
            let platforms = platforms.map(|platform| format!("--platform={platform}"));
            run(Command::new(pip)
                .args(["download", "--quiet", "--no-deps", "--only-binary=:all:"])
                .arg(format!("--python-version={}", self.python))
                .args(platforms)
                .arg("--dest")
                .arg(&folder)
                .arg(self.name))?;
        }
        let extract = "import glob, os, sys, zipfile
folder, end, file = sys.argv[1:]
wheel = zipfile.ZipFile(glob.glob(folder + '/*.whl')[0])
[name] = [name for name in wheel.namelist() if name.endswith(end)]
os.makedirs(os.path.dirname(file), exist_ok=True)
with open(file + '.part', 'wb') as out:
    out.write(wheel.read(name))
os.chmod(file + '.part', 0o755)
os.rename(file + '.part', file)";
        run(Command::new(pip.with_file_name("python"))
            .args(["-c", extract])
            .args([&folder, Path::new(end), &file]))?;
        Ok(file)
    }
}

/// An environment of Python with packages, without what they depend on: `NAME==VERSION` each. Those that were fetched
/// as a [`Package`] are not fetched again.
///
/// Returns its interpreter; `None`, loudly, if it cannot be had here.
pub fn python(name: &str, packages: &[&'static str]) -> Option<PathBuf> {
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let environment = folder().join(name);
    let (python, done) = (environment.join("bin/python"), environment.join("done"));
    if std::fs::read_to_string(&done).is_ok_and(|text| text == packages.join(" ")) {
        return Some(python);
    }
    let requirements = packages.iter().map(|&name| {
        let package = Package { name, python: "3.11" };
        package.wheel(System::Linux).unwrap_or_else(|| name.into())
    });
    let made = run(Command::new(tool("python3")?)
        .args(["-m", "venv"])
        .arg(&environment))
    .and_then(|()| {
        run(Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--no-deps"])
            .args(requirements))
    })
    .and_then(|()| std::fs::write(&done, packages.join(" ")).map_err(|error| error.to_string()));
    match made {
        Ok(()) => Some(python),
        Err(reason) => {
            skip(&format!("{} cannot be installed: {reason}", packages.join(", ")));
            None
        }
    }
}

/// In the build directory, beside the folders of the profiles.
fn folder() -> PathBuf {
    let exe = env::current_exe().expect("a running program has a path");
    let build = exe
        .ancestors()
        .nth(3)
        .expect("test programs are in `PROFILE/deps`");
    build.join("packages")
}

/// The pip of an environment of its own; `None`, loudly, if there can be none.
fn pip() -> Option<&'static Path> {
    static PIP: OnceLock<Option<PathBuf>> = OnceLock::new();
    let pip = PIP.get_or_init(|| {
        let python = tool("python3")?;
        let environment = folder().join("environment");
        let pip = environment.join("bin/pip");
        if !pip.is_file()
            && let Err(reason) = run(Command::new(python).args(["-m", "venv"]).arg(&environment))
        {
            skip(&format!("packages cannot be fetched: {reason}"));
            return None;
        }
        Some(pip)
    });
    pip.as_deref()
}
