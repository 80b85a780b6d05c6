//! What the driver brings along: the header for device code, and itself under the name that clang calls.

use std::collections::hash_map::DefaultHasher;
use std::fmt::Display;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{fs, io};

use offkit_host::cache::{self, CacheError};
use offkit_host::files;

/// The header, for where it is not installed.
const HEADER: &str = include_str!("../../../include/offkit/device.h");

/// The tool that clang starts to link a program with device code.
const LINKER_WRAPPER: &str = "clang-linker-wrapper";

/// What that tool looks for beside itself.
const CLANG: &str = "clang";

/// Where things are.
#[derive(Clone, Debug)]
pub(crate) struct Support {
    /// The folder that holds `offkit/device.h`.
    pub(crate) include: PathBuf,
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
        (HEADER, program, &clang).hash(&mut hasher);
        let name = format!("cc-{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish());
        let cache = cache::folder(&name)?;
        let cannot = |error: &dyn Display| CacheError::new(&cache, error);
        let installed = program
            .parent()
            .and_then(Path::parent)
            .map(|root| root.join("include"));
        let include = match installed.filter(|include| include.join("offkit/device.h").is_file()) {
            Some(include) => include,
            None => {
                let include = cache.join("include");
                let header = include.join("offkit/device.h");
                if fs::metadata(&header).map_or(true, |file| file.len() != HEADER.len() as u64) {
                    fs::create_dir_all(include.join("offkit")).map_err(|error| cannot(&error))?;
                    files::write(&header, &[HEADER.as_bytes()]).map_err(|error| cannot(&error))?;
                }
                include
            }
        };
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
        Ok(Self { include, tools })
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
