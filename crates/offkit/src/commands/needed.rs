//! The shared libraries that programs need, where the system's loader finds them.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use offkit_host::files;
use offkit_inventory::{Inventory, is_of_runtime};
use offkit_object::host::needed;

/// Where loaders look last. What `ldconfig` knows beyond these is in a cache of its own form.
const FOLDERS: [&str; 9] = [
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/lib",
];

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
        names: files.iter().map(|file| file_name(file)).collect(),
        seen: files.iter().map(|file| canonical(file)).collect(),
        next: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Search::default()
    };
    search.follow();
    let folders = search_folders();
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

#[derive(Default)]
struct Search {
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
            let folders = folders(&file, &needed.folders);
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

/// Where the loader looks for what a file needs: where the file says, beside it on Windows, and then
/// where it looks for all.
fn folders(file: &Path, own: &[String]) -> Vec<PathBuf> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let origin = folder.to_string_lossy();
    let own = own
        .iter()
        .map(|text| PathBuf::from(text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
    let is_windows = file.extension().is_some_and(|end| {
        ["dll", "exe", "pyd"]
            .iter()
            .any(|known| end.eq_ignore_ascii_case(known))
    });
    let beside = is_windows.then(|| folder.to_owned());
    own.chain(beside).chain(search_folders()).collect()
}

/// Where the loader looks for what any file needs.
fn search_folders() -> Vec<PathBuf> {
    let environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let system = FOLDERS.into_iter().map(PathBuf::from);
    std::env::split_paths(&environment).chain(system).collect()
}
