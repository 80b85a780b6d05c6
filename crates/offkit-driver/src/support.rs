//! What the driver brings along: headers, the runtime for programs, and itself under the name that clang calls.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Display;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

use offkit_host::cache::{self, CacheError};
use offkit_host::files;

macro_rules! headers {
    ($($file:literal)*) => { &[$(($file, include_str!(concat!("../../../include/", $file)))),*] };
}

/// The headers, for where they are not installed.
const HEADERS: &[(&str, &str)] = headers!(
    "offkit.h" "offkit.hpp" "offkit/device.h" "offkit/parallel.hpp" "offkit/parallel/group.hpp"
    "offkit/parallel/index.hpp" "offkit/parallel/kernel.hpp" "offkit/parallel/memory.hpp"
    "offkit/parallel/queue.hpp");

/// The runtime that programs are linked with.
const RUNTIME: &str = "liboffkit.so";

/// The tool that clang starts to link a program with device code.
const LINKER_WRAPPER: &str = "clang-linker-wrapper";

/// What that tool looks for beside itself.
const CLANG: &str = "clang";

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Support {
    /// The folder that holds `offkit.h`, `offkit/device.h` and the others.
    pub(crate) include: PathBuf,
    /// The folder that holds `liboffkit.so`, if it is installed, or built, with the program.
    pub(crate) runtime: Option<PathBuf>,
    /// The folder that holds what clang starts, and what that starts in turn.
    pub(crate) tools: PathBuf,
}

impl Support {
    /// Finds everything, and writes what is not installed to the user's cache folder: the same place every
    /// time, so that the same command line leads to the same commands. Without such a folder it is one among
    /// the temporary ones that nobody else can write to.
    pub(crate) fn find(program: &Path, clang: &Path) -> Result<Self, CacheError> {
        let clang = std::path::absolute(clang).unwrap_or_else(|_| clang.to_owned());
        let mut hasher = DefaultHasher::new();
        (HEADERS, program, &clang).hash(&mut hasher);
        let name = format!("cc-{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish());
        let cache = cache::folder(&name)?;
        let cannot = |error: &dyn Display| CacheError::new(&cache, error);
        let root = program.parent().and_then(Path::parent);
        let installed = root.map(|root| root.join("include"));
        let has_all = |include: &PathBuf| HEADERS.iter().all(|(name, _)| include.join(name).is_file());
        let include = match installed.filter(has_all) {
            Some(include) => include,
            None => {
                let include = cache.join("include");
                for (name, text) in HEADERS {
                    let header = include.join(name);
                    if fs::metadata(&header).map_or(true, |file| file.len() != text.len() as u64) {
                        let folder = header.parent().unwrap_or(&include);
                        fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
                        files::write(&header, &[text.as_bytes()]).map_err(|error| cannot(&error))?;
                    }
                }
                include
            }
        };
        let beside = program.parent().map(Path::to_owned);
        let mut libraries = root.map(|root| root.join("lib")).into_iter().chain(beside);
        let runtime = libraries.find(|folder| folder.join(RUNTIME).is_file());
        let tools = cache.join("bin");
        for (name, program) in [(LINKER_WRAPPER, program), (CLANG, &*clang)] {
            let link = tools.join(name);
            if link.exists() {
                continue;
            }
            fs::create_dir_all(&tools).map_err(|error| cannot(&error))?;
            match point_to(program, &link) {
                // Somebody else was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => result.map_err(|error| cannot(&error))?,
            }
        }
        Ok(Self {
            include,
            runtime,
            tools,
        })
    }
}

#[cfg(unix)]
fn point_to(program: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

#[cfg(not(unix))]
fn point_to(program: &Path, link: &Path) -> io::Result<()> {
    let link = link.with_extension("exe");
    fs::hard_link(program, &link).or_else(|_| fs::copy(program, &link).map(drop))
}
