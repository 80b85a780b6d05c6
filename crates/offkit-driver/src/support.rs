//! What the driver brings along: the header for device code, and itself under the name that clang calls.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::{env, fs};

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

/// A folder for what the driver brings along cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare `{}`: {reason}", .folder.display())]
pub struct SupportError {
    folder: PathBuf,
    reason: String,
}

impl Support {
    /// Finds everything, and writes what is not installed to the user's cache folder: the same place every
    /// time, so that the same command line leads to the same commands. Without such a folder it is one among
    /// the temporary ones that nobody else can write to.
    pub(crate) fn find(program: &Path, clang: &Path) -> Result<Self, SupportError> {
        let clang = std::path::absolute(clang).unwrap_or_else(|_| clang.to_owned());
        let mut hasher = DefaultHasher::new();
        (HEADER, program, &clang).hash(&mut hasher);
        let name = format!("cc-{}-{:016x}", env!("CARGO_PKG_VERSION"), hasher.finish());
        let (cache, is_shared) = match cache_folder() {
            Some(cache) => (cache.join("offkit").join(name), false),
            None => (env::temp_dir().join(format!("offkit-{name}")), true),
        };
        let cannot = |reason: String| SupportError {
            folder: cache.clone(),
            reason,
        };
        if is_shared {
            make_private(&cache).map_err(|error| cannot(error.to_string()))?;
        }
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
                    fs::create_dir_all(include.join("offkit")).map_err(|error| cannot(error.to_string()))?;
                    files::write(&header, &[HEADER.as_bytes()]).map_err(|error| cannot(error.to_string()))?;
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
            fs::create_dir_all(&tools).map_err(|error| cannot(error.to_string()))?;
            match point_to(program, &link) {
                // Somebody else was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => result.map_err(|error| cannot(error.to_string()))?,
            }
        }
        Ok(Self { include, tools })
    }
}

/// Makes a folder where everybody may make folders, or takes the one that is there if nobody else can have put
/// anything into it: programs in it are run.
#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    let found = fs::symlink_metadata(folder)?;
    // What is made now belongs to whoever runs this.
    let own = tempfile::tempfile()?.metadata()?.uid();
    if found.is_dir() && found.uid() == own && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other("others can write to it"))
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
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

/// The user's folder for files that can be made again.
fn cache_folder() -> Option<PathBuf> {
    let named = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    named("XDG_CACHE_HOME")
        .or_else(|| Some(named("HOME")?.join(".cache")))
        .filter(|folder| folder.is_absolute())
}
