//! The shared libraries that programs need, where the system's loader finds them.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use offkit_host::folders::{self, LIBRARIES_VARIABLE};
use offkit_host::{files, program::naming_variable};
use offkit_inventory::{Inventory, is_of_runtime};
use offkit_object::host::{Needed, needed};

/// Where Debian has the libraries of programs for another processor.
const OF_OTHERS: [&str; 2] = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"];

/// What files need, and what that needs.
#[derive(Default)]
pub(super) struct Libraries {
    /// Those that are none of the files.
    pub(super) found: Vec<PathBuf>,
    /// Those that are nowhere and may have device code, and who needs each first.
    pub(super) missing: Vec<(String, String)>,
}

/// The libraries of files, nearest first, each once. `inside` is what was found in the files: where they are packages,
/// their members find each other by their names, for the folders that members name are those of an installed package.
pub(super) fn libraries_of(files: &[&Path], inside: &Inventory) -> Libraries {
    let mut search = Search {
        user: of_user(&naming_variable(LIBRARIES_VARIABLE).unwrap_or_default()),
        system: of_system(),
        names: files.iter().map(|file| file_name(file)).collect(),
        seen: files.iter().map(|file| canonical(file)).collect(),
        next: files.iter().map(|file| (*file).to_owned()).collect(),
        found: Vec::new(),
        missing: Vec::new(),
        missed: HashSet::new(),
    };
    search.follow();
    let folders = [&*search.user, &*search.system].concat();
    for (name, by) in inside.needed_elsewhere() {
        let by = || match inside.libraries.get(by) {
            Some(library) => library.location.to_string(),
            None => String::new(),
        };
        search.add(name, &folders, by);
    }
    search.follow();
    let Search {
        names,
        found,
        mut missing,
        ..
    } = search;
    // What one file looks for in vain, another one has loaded, or it is among the files.
    missing.retain(|(name, _)| !names.contains(name));
    Libraries { found, missing }
}

/// A file's place without links on the way to it.
pub(super) fn canonical(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_| file.to_owned())
}

/// The name of a file without its folder.
pub(super) fn file_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

struct Search {
    /// The folders that the user names for all files.
    user: Vec<PathBuf>,
    /// The folders where the loader looks for all files.
    system: Vec<PathBuf>,
    found: Vec<PathBuf>,
    missing: Vec<(String, String)>,
    /// The names of the files, and those by which libraries were found.
    names: HashSet<String>,
    /// All of them, by their places.
    seen: HashSet<PathBuf>,
    /// Names that were missing.
    missed: HashSet<String>,
    /// Files that were not looked into yet.
    next: VecDeque<PathBuf>,
}

impl Search {
    fn follow(&mut self) {
        while let Some(file) = self.next.pop_front() {
            // Whoever looks into it for code says why it cannot be read.
            let Ok(content) = files::open_regular(&file) else {
                continue;
            };
            let needed = needed(&content);
            if needed.libraries.is_empty() {
                continue;
            }
            let mut folders = folders_for(&file, &needed, &self.user);
            folders.extend_from_slice(&self.system);
            for name in needed.libraries {
                self.add(&name, &folders, || file.display().to_string());
            }
        }
    }

    /// Looks for a library. Each file has folders of its own, so that one name may lead to several files.
    fn add(&mut self, name: &str, folders: &[PathBuf], by: impl FnOnce() -> String) {
        let mut places = folders.iter().map(|folder| folder.join(name));
        match places.find(|place| place.is_file()) {
            Some(place) => {
                self.names.insert(name.to_owned());
                // `libX.so` and `libX.so.1` may be links to one file.
                if self.seen.insert(canonical(&place)) {
                    self.found.push(place.clone());
                    self.next.push_back(place);
                }
            }
            // The C and C++ runtime has no device code: that it is elsewhere is no news.
            None if !is_of_runtime(name) && self.missed.insert(name.to_owned()) => {
                self.missing.push((name.to_owned(), by()))
            }
            None => {}
        }
    }
}

/// Where the loader looks for what a file needs before it looks where it does for all, in the order of glibc's: where the file
/// says, where the user says, and where the file says that it is to look after that. On Windows it is beside the file first.
fn folders_for(file: &Path, needed: &Needed, user: &[PathBuf]) -> Vec<PathBuf> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let origin = folder.to_string_lossy();
    let folder_of =
        |text: &String| PathBuf::from(text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin));
    let own = needed.folders.iter().map(folder_of);
    let behind = needed.folders_behind.iter().map(folder_of);
    let is_windows = file.extension().is_some_and(|end| {
        ["dll", "exe", "pyd"]
            .iter()
            .any(|known| end.eq_ignore_ascii_case(known))
    });
    let beside = is_windows.then(|| folder.to_owned());
    let own = own.chain(beside);
    own.chain(user.iter().cloned()).chain(behind).collect()
}

/// The folders of a variable such as `LD_LIBRARY_PATH`.
fn of_user(variable: &OsStr) -> Vec<PathBuf> {
    // An empty part is the current folder to the loader, but an empty variable is none at all.
    let folders = std::env::split_paths(variable);
    folders.filter(|_| !variable.is_empty()).collect()
}

/// Where loaders look for what any file needs, of whatever processor.
fn of_system() -> Vec<PathBuf> {
    let mut folders = folders::of_system();
    folders.extend(OF_OTHERS.map(PathBuf::from));
    folders
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const DT_NEEDED: u64 = 1;
    const DT_STRTAB: u64 = 5;
    const DT_STRSZ: u64 = 10;
    const DT_RPATH: u64 = 15;
    const DT_RUNPATH: u64 = 29;

    /// A library for x86-64 that says no more than this of what it needs.
    fn library(says: &[(u64, &str)]) -> Vec<u8> {
        const STRINGS: u64 = 64 + 2 * 56;
        let mut strings = Vec::new();
        let mut entries = Vec::new();
        for (tag, text) in says {
            entries.push((*tag, strings.len() as u64));
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
        }
        let size = strings.len() as u64;
        entries.extend([(DT_STRTAB, STRINGS), (DT_STRSZ, size), (0, 0)]);
        let dynamic: Vec<u8> = entries
            .iter()
            .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()].concat())
            .collect();
        let (start, length) = (STRINGS + size, dynamic.len() as u64);
        let segment = |kind: u32, offset: u64, size: u64| {
            let words = [offset, offset, offset, size, size, 8].map(u64::to_le_bytes);
            [&kind.to_le_bytes()[..], &4_u32.to_le_bytes(), &words.concat()].concat()
        };
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        file.extend([3, 0, 62, 0, 1, 0, 0, 0]);
        file.extend([0, 64, 0].map(u64::to_le_bytes).concat());
        file.extend([0, 0, 0, 0]);
        file.extend([64, 56, 2, 64, 0, 0].map(u16::to_le_bytes).concat());
        file.extend(segment(1, 0, start + length));
        file.extend(segment(2, start, length));
        [file, strings, dynamic].concat()
    }

    /// The folders in which the library's loader looks before it comes to those of the system.
    fn looks_in(says: &[(u64, &str)], user: &str) -> Vec<String> {
        let needed = needed(&library(&[says, &[(DT_NEEDED, "libX.so")]].concat()));
        assert_eq!(needed.libraries, ["libX.so"]);
        let folders = folders_for(Path::new("/app/lib.so"), &needed, &of_user(OsStr::new(user)));
        let shown = folders.iter().map(|folder| folder.display().to_string());
        shown.collect()
    }

    #[test]
    fn the_users_folders_come_where_the_loader_has_them() {
        let (rpath, run_path) = ((DT_RPATH, "$ORIGIN/a:/b"), (DT_RUNPATH, "${ORIGIN}/c"));
        assert_eq!(looks_in(&[rpath], "/user"), ["/app/a", "/b", "/user"]);
        assert_eq!(looks_in(&[run_path], "/user"), ["/user", "/app/c"]);
        assert_eq!(looks_in(&[rpath, run_path], "/user"), ["/user", "/app/c"]);
    }

    #[test]
    fn the_current_folder_is_looked_into_only_if_somebody_says_so() {
        assert!(looks_in(&[], "").is_empty());
        assert!(looks_in(&[(DT_RUNPATH, "")], "").is_empty());
        assert_eq!(looks_in(&[], "/user:"), ["/user", ""]);
    }
}
