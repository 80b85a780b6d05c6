//! The shared libraries that programs need, where the system's loader finds them.

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};

use offkit_host::files;
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

/// What a program needs, and what that needs.
#[derive(Default)]
pub(super) struct Libraries {
    pub(super) found: Vec<PathBuf>,
    /// Those that are nowhere, and who needs each first.
    pub(super) missing: Vec<(String, PathBuf)>,
}

/// The libraries of a program, nearest first, each once.
pub(super) fn libraries_of(program: &Path) -> Libraries {
    let mut libraries = Libraries::default();
    let mut seen = HashSet::new();
    let mut next = VecDeque::from([program.to_owned()]);
    while let Some(file) = next.pop_front() {
        let Ok(content) = files::open_regular(&file) else {
            continue;
        };
        let needed = needed(&content);
        let folders = folders(&file, &needed.folders);
        for name in needed.libraries {
            if !seen.insert(name.clone()) {
                continue;
            }
            let mut places = folders.iter().map(|folder| folder.join(&name));
            match places.find(|place| place.is_file()) {
                Some(place) => {
                    libraries.found.push(place.clone());
                    next.push_back(place);
                }
                None => libraries.missing.push((name, file.clone())),
            }
        }
    }
    libraries
}

/// Where the loader looks for what a file needs: where the file says, where the environment says, beside it on Windows.
fn folders(file: &Path, own: &[String]) -> Vec<PathBuf> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new("."));
    let origin = folder.to_string_lossy();
    let own = own
        .iter()
        .map(|text| PathBuf::from(text.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin)));
    let from = |variable| std::env::var_os(variable).unwrap_or_default();
    let environment = std::env::split_paths(&from("LD_LIBRARY_PATH")).collect::<Vec<_>>();
    let is_windows = file.extension().is_some_and(|end| {
        ["dll", "exe", "pyd"]
            .iter()
            .any(|known| end.eq_ignore_ascii_case(known))
    });
    let beside = is_windows.then(|| folder.to_owned());
    let system = FOLDERS.into_iter().map(PathBuf::from);
    own.chain(environment).chain(beside).chain(system).collect()
}
