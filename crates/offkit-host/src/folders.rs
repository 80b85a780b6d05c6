//! Folders of the user, and those where the system's loader finds libraries.

use std::collections::HashSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::program::naming_variable;

/// Names the user's folder for files that can be made again.
pub const CACHE_VARIABLE: &str = "XDG_CACHE_HOME";

/// Names folders where the loader looks for libraries before it looks in those of the system.
pub const LIBRARIES_VARIABLE: &str = "LD_LIBRARY_PATH";

/// The user's folder for files that can be made again; `None` if there is none.
pub fn cache() -> Option<PathBuf> {
    of_user(CACHE_VARIABLE, ".cache")
}

/// The user's folder for configurations; `None` if there is none.
pub fn config() -> Option<PathBuf> {
    of_user("XDG_CONFIG_HOME", ".config")
}

/// The user's folder for files that stay; `None` if there is none.
pub fn data() -> Option<PathBuf> {
    of_user("XDG_DATA_HOME", ".local/share")
}

/// As XDG's base directory specification has it. Relative paths are ignored: they would mean another folder elsewhere.
fn of_user(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    named(variable).or_else(|| Some(named("HOME")?.join(below_home)))
}

/// The folders of [`LIBRARIES_VARIABLE`]. An empty part is the current folder to the loader, which is hardly ever meant, and
/// may be anybody's: it is left out.
pub fn of_variable() -> Vec<PathBuf> {
    let value = naming_variable(LIBRARIES_VARIABLE).unwrap_or_default();
    let folders = env::split_paths(&value);
    folders.filter(|folder| !folder.as_os_str().is_empty()).collect()
}

/// The folders where the system's loader looks for what programs of this processor need: those of its configuration, and those
/// that it has built in. Each that is there, once.
pub fn of_system() -> Vec<PathBuf> {
    let mut folders = of_configuration(Path::new("/etc/ld.so.conf.d"));
    // Debian's come before the usual ones. The last one is in the configuration of most systems.
    let multiarch = format!("{}-linux-gnu", env::consts::ARCH);
    folders.extend(["/lib", "/usr/lib"].map(|folder| Path::new(folder).join(&multiarch)));
    folders.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    let mut known = HashSet::new();
    folders.retain(|folder| folder.canonicalize().is_ok_and(|place| known.insert(place)));
    folders
}

/// What the files of a folder name, by the names of the files.
fn of_configuration(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "conf"));
    files.sort();
    let mut folders: Vec<PathBuf> = Vec::new();
    for text in files.iter().filter_map(|file| fs::read_to_string(file).ok()) {
        let lines = text.lines().map(str::trim);
        // A folder has a slash at its beginning; comments and what includes other files have not.
        folders.extend(lines.filter(|line| line.starts_with('/')).map(PathBuf::from));
    }
    folders.retain(|folder| !is_of_others(folder));
    folders
}

/// Whether libraries of another processor are there, or those of 32 bits: the loader reads their headers and goes on.
fn is_of_others(folder: &Path) -> bool {
    let own = format!("{}-linux-gnu", env::consts::ARCH);
    let mut parts = folder.iter().filter_map(|part| part.to_str());
    parts.any(|part| part != own && part.contains("-linux-gnu") || ["lib32", "libx32"].contains(&part))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The C library, which this program needs, is in one of them.
    #[test]
    fn the_systems_folders_have_its_libraries() {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut libraries = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        let is_libc = |path: &&str| path.contains("/libc.so") || path.contains("/libc-");
        let library = Path::new(libraries.find(is_libc).unwrap());
        let mut places = of_system().into_iter().map(|folder| folder.join("libc.so.6"));
        let is_it = |place: PathBuf| place.canonicalize().ok() == library.canonicalize().ok();
        assert!(places.any(is_it), "{library:?}");
    }

    #[test]
    fn configurations_of_other_processors_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("b.conf", "# of the distribution\n/opt/b/lib\n");
        write(
            "a-other.conf",
            "/lib/mips64el-linux-gnuabi64\n/usr/lib32\n/usr/lib/x86_64-linux-gnux32/a\n",
        );
        write(
            "c.conf",
            &format!("include /etc/more\n /lib/{}-linux-gnu/c \n", env::consts::ARCH),
        );
        write("d.conf.old", "/opt/d\n");
        let own = format!("/lib/{}-linux-gnu/c", env::consts::ARCH);
        assert_eq!(
            of_configuration(folder.path()),
            ["/opt/b/lib", &own].map(PathBuf::from)
        );
    }
}
