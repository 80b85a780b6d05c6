//! The shared libraries that programs need, where the system's loader finds them.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use offkit_host::files;
use offkit_inventory::Inventory;
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
    pub(super) found: Vec<PathBuf>,
    /// Those that are nowhere, and who needs each first.
    pub(super) missing: Vec<(String, String)>,
}

/// The libraries of files, nearest first, each once. `inside` is what was found in the files: where they are packages,
/// their members find each other by their names, for the folders that members name are those of an installed package.
pub(super) fn libraries_of(files: &[&Path], inside: &Inventory) -> Libraries {
    let mut search = Search {
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
        search.add(name.to_owned(), &folders, by);
    }
    search.follow();
    search.libraries
}

#[derive(Default)]
struct Search {
    libraries: Libraries,
    /// Names of libraries that were looked for.
    seen: HashSet<String>,
    /// Files that were not looked into yet.
    next: VecDeque<PathBuf>,
}

impl Search {
    fn follow(&mut self) {
        while let Some(file) = self.next.pop_front() {
            let Ok(content) = files::open_regular(&file) else {
                continue;
            };
            let needed = needed(&content);
            let folders = folders(&file, &needed.folders);
            for name in needed.libraries {
                self.add(name, &folders, || file.display().to_string());
            }
        }
    }

    /// Looks for a library.
    fn add(&mut self, name: String, folders: &[PathBuf], by: impl FnOnce() -> String) {
        if !self.seen.insert(name.clone()) {
            return;
        }
        let mut places = folders.iter().map(|folder| folder.join(&name));
        match places.find(|place| place.is_file()) {
            Some(place) => {
                self.libraries.found.push(place.clone());
                self.next.push_back(place);
            }
            None => self.libraries.missing.push((name, by())),
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
