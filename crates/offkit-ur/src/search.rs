//! Which adapters there are. Nothing is opened.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use offkit_host::{folders, program};

/// Names adapters, separated by commas, instead of all others.
pub const FORCE_LOAD: &str = "UR_ADAPTERS_FORCE_LOAD";

/// Names folders of adapters, separated by commas.
pub const SEARCH_PATH: &str = "UR_ADAPTERS_SEARCH_PATH";

/// What vendors have adapters for, in the order in which they are looked for. The last one is taken only where a variable
/// says where it is: offkit's own plugin reaches OpenCL's devices already.
const NAMES: [&str; 7] = [
    "level_zero",
    "level_zero_v2",
    "cuda",
    "hip",
    "native_cpu",
    "offload",
    "opencl",
];

/// An adapter's library, and what names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adapter {
    /// The library.
    pub library: PathBuf,
    /// What names it.
    pub named_by: NamedBy,
}

/// What names an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedBy {
    /// An environment variable.
    Variable(&'static str),
    /// It lies in a folder that adapters are looked for in.
    Folder(PathBuf),
}

impl fmt::Display for NamedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NamedBy::Variable(name) => formatter.write_str(name),
            NamedBy::Folder(folder) => write!(formatter, "folder {}", folder.display()),
        }
    }
}

impl Adapter {
    /// The name of its file, links followed, which has the version: `libur_adapter_hip.so.0.12.0`.
    pub fn file_name(&self) -> String {
        let file = fs::canonicalize(&self.library).unwrap_or_else(|_| self.library.clone());
        let name = file.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

/// The adapters of this machine, each file once: those that [`FORCE_LOAD`] names; else those in the folders of
/// [`SEARCH_PATH`], those with libraries that came with this code, those of `LD_LIBRARY_PATH`, and the system's.
/// Those of [`FORCE_LOAD`] may not be there.
pub fn adapters() -> Vec<Adapter> {
    // An empty one counts as well: it says that no adapter is wanted.
    if let Some(named) = variable(FORCE_LOAD) {
        return forced(&named);
    }
    let named = variable(SEARCH_PATH).unwrap_or_default();
    let mut found: Vec<Adapter> = parts(&named)
        .flat_map(|folder| in_folder(&folder, &NAMES, &NamedBy::Variable(SEARCH_PATH)))
        .collect();
    for folder in library_folders() {
        // Without OpenCL's, the last of the names.
        found.extend(in_folder(&folder, &NAMES[..6], &NamedBy::Folder(folder.clone())));
    }
    // Of several of one name the first counts, as for a loader.
    let mut known = HashSet::new();
    found.retain(|adapter| known.insert(adapter.library.file_name().map(OsStr::to_owned)));
    found
}

fn variable(name: &str) -> Option<String> {
    program::naming_variable(name)?.into_string().ok()
}

/// The adapters that [`FORCE_LOAD`] names.
fn forced(named: &str) -> Vec<Adapter> {
    let mut known = HashSet::new();
    let libraries = parts(named).filter(|library| known.insert(library.clone()));
    libraries
        .map(|library| Adapter {
            library,
            named_by: NamedBy::Variable(FORCE_LOAD),
        })
        .collect()
}

/// The folders that adapters are looked for in, each once; none where [`FORCE_LOAD`] names all that are wanted.
pub fn looked_in() -> Option<Vec<PathBuf>> {
    if variable(FORCE_LOAD).is_some() {
        return None;
    }
    let named = variable(SEARCH_PATH).unwrap_or_default();
    let mut known = HashSet::new();
    let folders = parts(&named).chain(library_folders());
    Some(folders.filter(|folder| known.insert(folder.clone())).collect())
}

/// The parts of a variable, of which any may be in quotes, and may have commas there.
fn parts(text: &str) -> impl Iterator<Item = PathBuf> {
    let mut is_quoted = false;
    let parts = text.split(move |character| {
        is_quoted ^= character == '"';
        character == ',' && !is_quoted
    });
    let parts = parts.map(|part| part.trim().trim_matches('"'));
    parts.filter(|part| !part.is_empty()).map(PathBuf::from)
}

fn in_folder(folder: &Path, names: &[&str], named_by: &NamedBy) -> Vec<Adapter> {
    let libraries = names
        .iter()
        .map(|name| folder.join(format!("libur_adapter_{name}.so.0")));
    libraries
        .filter(|library| library.is_file())
        .map(|library| Adapter {
            library,
            named_by: named_by.clone(),
        })
        .collect()
}

/// The folders of libraries: those that came with this code, those of `LD_LIBRARY_PATH`, and the system's.
fn library_folders() -> Vec<PathBuf> {
    let own = match program::is_privileged() {
        true => Vec::new(),
        false => program::library_folders(),
    };
    [own, folders::of_variable(), folders::of_system()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adapter_that_is_named_twice_is_there_once() {
        let forced = forced("/a/one.so, \"/b/two,2.so\",/a/one.so,,/b/one.so");
        let libraries: Vec<_> = forced.iter().map(|adapter| &*adapter.library).collect();
        assert_eq!(
            libraries,
            ["/a/one.so", "/b/two,2.so", "/b/one.so"].map(Path::new)
        );
    }
}
