//! Where plugins are looked for.
//!
//! Plugins come from, in this order: those linked into the program; the libraries that [`PLUGINS_VARIABLE`] names; the
//! configuration file; and the libraries called `liboffkit_plugin_NAME.so` in the folders of plugins.
//!
//! The configuration file is the first that is there of the one that [`CONFIG_VARIABLE`] names, `offkit/plugins.conf` in
//! the user's folder for configurations (`$XDG_CONFIG_HOME`, or `~/.config`), and `/etc/offkit/plugins.conf`. A line of it
//! is one of
//!
//! ```text
//! # a comment
//! libpi_opencl.so opencl      a library, and the backend it is for, where its name does not say so
//! folder /opt/plugins         a folder of plugins, which bare names are looked for in as well
//! ```
//!
//! A backend may have any name that means nothing else to the [filters](crate::filter): no kind of device and no number.
//!
//! The folders of plugins are those of the library and of the program that offkit is in, `../lib/offkit` beside either, and
//! those of the configuration file. A bare name
//! is looked for there, then in the folders of `LD_LIBRARY_PATH`, then where the system looks for libraries. A path with
//! folders in it counts from the folder of the configuration file.
//!
//! In a program that has rights which its user has not (one that is `setuid`), plugins come from the program itself and
//! from `/etc/offkit/plugins.conf` alone: variables and folders are the user's, who could have it load anything.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use offkit_host::{files, folders, program};
use offkit_pi::{BuiltIn, below};

use crate::filter::{BACKENDS, can_name, perhaps_meant};
use crate::note;

/// The environment variable that names plugin libraries to load, separated like the folders of `PATH`.
pub const PLUGINS_VARIABLE: &str = "OFFKIT_PLUGINS";

/// The environment variable that names the configuration file, which has to be there.
pub const CONFIG_VARIABLE: &str = "SYCL_PI_CONFIG";

/// The system's configuration file.
const SYSTEM_CONFIG: &str = "/etc/offkit/plugins.conf";

/// How the libraries are called that a folder of plugins is searched for.
const PREFIX: &str = "liboffkit_plugin_";

/// A plugin that may be there.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Candidate {
    /// Who named it.
    pub origin: Origin,
    /// What it is.
    pub place: Place,
    /// What it is for, in lower case: `opencl`, or another of [`BACKENDS`], or a name of its own; none where nobody said.
    pub backend: Option<String>,
}

/// Who named a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// It is linked into this program.
    BuiltIn,
    /// [`PLUGINS_VARIABLE`].
    Variable,
    /// A line of the configuration file, from 1.
    Config {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
    },
    /// It lies in a folder of plugins.
    Folder(PathBuf),
}

/// What and where a plugin is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Place {
    /// Linked into this program.
    BuiltIn(&'static BuiltIn),
    /// A library in this file.
    File(PathBuf),
    /// A library that the system looks for by its name: it is in none of these folders.
    System {
        /// The name.
        name: String,
        /// The folders that it was looked for in.
        not_in: Vec<PathBuf>,
    },
}

/// Everything that plugins are looked for by.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Search {
    /// The plugins, in the order in which their devices count; each once.
    pub candidates: Vec<Candidate>,
    /// The folders of plugins.
    pub folders: Vec<PathBuf>,
    /// The configuration file.
    pub config: Option<PathBuf>,
    /// What is wrong with the configuration.
    pub problems: Vec<ConfigError>,
}

/// What is wrong with a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the plugins' configuration {}: {reason}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// A folder of plugins that cannot be listed.
    #[error("{}:{line}: cannot list the folder {}: {reason}", file.display(), folder.display())]
    Folder {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The folder.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// A line that says nothing known.
    #[error("{}:{line}: `{text}` is neither `LIBRARY [BACKEND]` nor `folder PATH`", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// A backend that no variable could name: its plugin is taken as if there were none.
    #[error("{}:{line}: `{backend}` cannot be a backend, as it means something else where devices are chosen; expected {}, or a name of your own", file.display(), BACKENDS.join(", "))]
    Backend {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it says.
        backend: String,
    },
    /// A backend that is like a known one: it is taken as it is.
    #[error("{}:{line}: `{backend}` is none of the known backends; is `{meant}` meant?", file.display())]
    Like {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What it says.
        backend: String,
        /// The known one.
        meant: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::BuiltIn => formatter.write_str("built in"),
            Origin::Variable => formatter.write_str(PLUGINS_VARIABLE),
            Origin::Config { file, line } => write!(formatter, "{}:{line}", file.display()),
            Origin::Folder(folder) => write!(formatter, "folder {}", folder.display()),
        }
    }
}

impl Candidate {
    /// What is below it, as its file says: see [`offkit_pi::below`].
    pub fn below(&self) -> Option<below::Kind> {
        note::below(&self.place)
    }

    /// What its devices' numbers count within where its platforms do not say: what it is for, or else its name.
    pub(crate) fn counted_by(&self) -> String {
        let name = self.name();
        let name = Path::new(&name)
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or(&name);
        self.backend.clone().unwrap_or_else(|| name.to_lowercase())
    }

    /// What it is called: a built-in plugin's name, or a library's path.
    pub fn name(&self) -> String {
        match &self.place {
            Place::BuiltIn(plugin) => plugin.name().to_owned(),
            Place::File(path) => path.display().to_string(),
            Place::System { name, .. } => name.clone(),
        }
    }
}

impl Search {
    /// Looks everywhere.
    pub fn everywhere(built_in: &[&'static BuiltIn]) -> Search {
        Search::of_program(built_in, program::is_privileged())
    }

    fn of_program(built_in: &[&'static BuiltIn], is_privileged: bool) -> Search {
        let (folders, config, named) = match is_privileged {
            true => (Vec::new(), Some(PathBuf::from(SYSTEM_CONFIG)), None),
            false => (
                program::library_folders(),
                config_file(),
                env::var_os(PLUGINS_VARIABLE),
            ),
        };
        let mut search = Search {
            folders,
            ..Search::default()
        };
        // First, since it adds folders: bare names of the variable are looked for in them, too.
        let libraries = search.configuration(config);
        for plugin in built_in {
            search.add(Origin::BuiltIn, Place::BuiltIn(plugin), Some("offkit".to_owned()));
        }
        let named = named.unwrap_or_default();
        // A colon too many makes an empty path, which would be a plugin that is not there.
        for path in env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()) {
            let backend = backend_of(&path);
            let place = search.place(path);
            search.add(Origin::Variable, place, backend);
        }
        for (origin, path, backend) in libraries {
            let backend = backend.or_else(|| backend_of(&path));
            let place = search.place(path);
            search.add(origin, place, backend);
        }
        for folder in search.folders.clone() {
            for library in plugins_in(&folder) {
                let backend = backend_of(&library);
                search.add(Origin::Folder(folder.clone()), Place::File(library), backend);
            }
        }
        search
    }

    /// Exactly these.
    pub fn only(built_in: &[&'static BuiltIn], libraries: &[PathBuf]) -> Search {
        let mut search = Search::default();
        for plugin in built_in {
            search.add(Origin::BuiltIn, Place::BuiltIn(plugin), Some("offkit".to_owned()));
        }
        for path in libraries {
            let place = search.place(path.clone());
            search.add(Origin::Variable, place, backend_of(path));
        }
        search
    }

    /// Adds a plugin unless it is there already: the same file, or the one that is built in.
    fn add(&mut self, origin: Origin, place: Place, backend: Option<String>) {
        // A plugin that is there twice would have its devices listed, and numbered, twice.
        let is_same = |known: &Candidate| match (&known.place, &place) {
            (Place::File(known), Place::File(new)) => files::is_same(known, new),
            (Place::System { name: known, .. }, Place::System { name: new, .. }) => known == new,
            // A library that is named is wanted, even where the program has one of that name.
            (Place::BuiltIn(known), Place::File(new)) if matches!(origin, Origin::Folder(_)) => {
                short_name(new).as_deref() == Some(known.name())
            }
            _ => false,
        };
        if !self.candidates.iter().any(is_same) {
            self.candidates.push(Candidate {
                origin,
                place,
                backend,
            });
        }
    }

    /// Where a library is that is named so.
    fn place(&self, path: PathBuf) -> Place {
        // The system's loader does not search for what has a folder in it either.
        if path.components().count() > 1 {
            return Place::File(path);
        }
        let mut folders = self.folders.clone();
        folders.extend(folders::of_variable());
        let found = folders
            .iter()
            .map(|folder| folder.join(&path))
            .find(|file| file.is_file());
        match found {
            Some(file) => Place::File(file),
            None => Place::System {
                name: path.display().to_string(),
                not_in: folders,
            },
        }
    }

    /// Reads the configuration file: the folders that it adds, and the libraries that it names.
    fn configuration(&mut self, file: Option<PathBuf>) -> Vec<(Origin, PathBuf, Option<String>)> {
        let Some(file) = file else {
            return Vec::new();
        };
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named(&file) => return Vec::new(),
            Err(error) => {
                let reason = error.to_string();
                self.problems.push(ConfigError::Read { file, reason });
                return Vec::new();
            }
        };
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        // A bare name is looked for; a path counts from the file.
        let located = |text: &str| match text.contains('/') {
            true => folder.join(text),
            false => PathBuf::from(text),
        };
        let mut libraries = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let text = text.split('#').next().unwrap_or_default().trim();
            let mut words = text.splitn(2, char::is_whitespace).map(str::trim);
            match (words.next().unwrap_or_default(), words.next()) {
                ("", _) => {}
                ("folder", Some(path)) => {
                    let path = folder.join(path);
                    if let Err(error) = fs::read_dir(&path) {
                        let (file, reason) = (file.clone(), error.to_string());
                        self.problems.push(ConfigError::Folder {
                            file,
                            line,
                            folder: path.clone(),
                            reason,
                        });
                    }
                    self.folders.push(path);
                }
                (library, backend) if library != "folder" && backend.is_none_or(is_word) => {
                    let backend = backend.map(str::to_lowercase);
                    let backend = backend.filter(|backend| self.check_backend(&file, line, backend));
                    let file = file.clone();
                    libraries.push((Origin::Config { file, line }, located(library), backend));
                }
                _ => self.problems.push(ConfigError::Line {
                    file: file.clone(),
                    line,
                    text: text.to_owned(),
                }),
            }
        }
        self.config = Some(file);
        libraries
    }

    /// Whether a backend of the configuration is of use; if it is not, or may be a mistake, that is a problem.
    fn check_backend(&mut self, file: &Path, line: usize, backend: &str) -> bool {
        let (file, backend) = (file.to_owned(), backend.to_owned());
        let is_of_use = can_name(&backend);
        match perhaps_meant(&backend) {
            _ if !is_of_use => self.problems.push(ConfigError::Backend { file, line, backend }),
            Some(meant) => self.problems.push(ConfigError::Like {
                file,
                line,
                backend,
                meant,
            }),
            None => {}
        }
        is_of_use
    }
}

fn is_word(text: &str) -> bool {
    !text.contains(char::is_whitespace)
}

/// Whether the user has named this configuration file, which must be there then.
fn is_named(file: &Path) -> bool {
    env::var_os(CONFIG_VARIABLE).is_some_and(|named| named == file.as_os_str())
}

fn config_file() -> Option<PathBuf> {
    if let Some(named) = env::var_os(CONFIG_VARIABLE).filter(|named| !named.is_empty()) {
        return Some(named.into());
    }
    let users = folders::config().map(|folder| folder.join("offkit/plugins.conf"));
    users
        .into_iter()
        .chain([PathBuf::from(SYSTEM_CONFIG)])
        .find(|file| file.exists())
}

/// The libraries in a folder that are called as offkit's plugins are.
fn plugins_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| short_name(path).is_some())
        .collect();
    // A folder lists its files in any order, and the devices of plugins count in that of the plugins.
    found.sort();
    found
}

/// `NAME` of `liboffkit_plugin_NAME.so`.
fn short_name(library: &Path) -> Option<String> {
    let name = library.file_name().and_then(OsStr::to_str)?;
    let name = name.strip_prefix(PREFIX)?.strip_suffix(".so")?;
    Some(name.to_owned())
}

/// The backend that a library's name says: `opencl` of `liboffkit_plugin_opencl.so` and `libpi_opencl.so`. What is below
/// Unified Runtime, each platform says.
fn backend_of(library: &Path) -> Option<String> {
    let name = library.file_name().and_then(OsStr::to_str)?;
    // `libpi_opencl.so.1` is one, too.
    let name = name.split(".so").next().unwrap_or_default();
    let name = name
        .strip_prefix(PREFIX)
        .or_else(|| name.strip_prefix("libpi_"))?;
    match name {
        "cpu" => Some("offkit".to_owned()),
        "ur" | "unified_runtime" => None,
        name => Some(name.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_rights_that_its_user_has_not_loads_nothing_of_the_users() {
        assert!(!program::library_folders().is_empty());
        let search = Search::of_program(&[], true);
        assert!(
            search
                .folders
                .iter()
                .all(|folder| !program::library_folders().contains(folder))
        );
        let is_of_system = |config: PathBuf| config == Path::new(SYSTEM_CONFIG);
        assert!(search.config.is_none_or(is_of_system));
    }
}
