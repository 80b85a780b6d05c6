//! Running other programs, and the files that they pass to each other.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use offkit_host::command_line::response_file;
use offkit_host::program;

use super::error::{Error, Result};
use super::options::Options;
use super::trace::Trace;

/// Runs programs, or only shows what would be run.
pub(super) struct Commands {
    /// How long what is done takes.
    pub(super) trace: Trace,
    is_dry: bool,
    is_shown: bool,
    saves: bool,
    /// Where temporary files are; made when it is needed.
    folder: Mutex<Option<tempfile::TempDir>>,
    /// How often a name was given out.
    names: Mutex<HashMap<String, usize>>,
}

/// From this length on the arguments of a program go into a file.
const LONGEST_LINE: usize = 1 << 17;

impl Commands {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            trace: Trace::new(options.trace.clone(), options.granularity),
            is_dry: options.dry_run,
            is_shown: options.dry_run || options.verbose,
            saves: options.save_temps,
            folder: Mutex::new(None),
            names: Mutex::new(HashMap::new()),
        }
    }

    /// Whether nothing is to be run.
    pub(super) fn is_dry(&self) -> bool {
        self.is_dry
    }

    /// Whether what is done is said.
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// A name for an intermediate file: in the current folder if these are kept, else in one that is removed.
    ///
    /// Nothing is made when nothing runs.
    pub(super) fn file(&self, stem: &str, extension: &str) -> Result<PathBuf> {
        // What may be in names of targets but not in those of files everywhere.
        let stem = if cfg!(windows) {
            stem.replace(':', "@")
        } else {
            stem.to_owned()
        };
        let number = {
            let mut names = self.names.lock().unwrap_or_else(|error| error.into_inner());
            // Sources of different folders, and members of different archives, may well share a
            // name.
            let count = names.entry(format!("{stem}.{extension}")).or_insert(0);
            *count += 1;
            *count
        };
        let name = match number {
            1 => format!("{stem}.{extension}"),
            _ => format!("{stem}-{number}.{extension}"),
        };
        if self.saves {
            return Ok(name.into());
        }
        if self.is_dry {
            return Ok(std::env::temp_dir().join(name));
        }
        Ok(self.folder()?.join(name))
    }

    fn folder(&self) -> Result<PathBuf> {
        let mut folder = self.folder.lock().unwrap_or_else(|error| error.into_inner());
        if folder.is_none() {
            let made = tempfile::Builder::new()
                .prefix("offkit-linker-wrapper-")
                .tempdir()
                .map_err(Error::Temporary)?;
            *folder = Some(made);
        }
        Ok(folder
            .as_ref()
            .map(|folder| folder.path().to_owned())
            .unwrap_or_default())
    }

    /// Writes an intermediate file, if anything runs.
    pub(super) fn write(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        if self.is_dry {
            return Ok(());
        }
        std::fs::write(path, bytes).map_err(|error| Error::Intermediate {
            action: "write",
            path: path.to_owned(),
            error,
        })
    }

    /// Writes what no program needs as a file, if intermediate files are kept.
    pub(super) fn keep(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        match self.saves {
            true => self.write(path, bytes),
            false => Ok(()),
        }
    }

    /// What a program wrote; nothing if it did not run.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>> {
        if self.is_dry {
            return Ok(Vec::new());
        }
        std::fs::read(path).map_err(|error| Error::Intermediate {
            action: "read",
            path: path.to_owned(),
            error,
        })
    }

    /// Says what is done, if that is wanted.
    pub(super) fn note(&self, what: &str) {
        if self.is_shown {
            say!(" {what}");
        }
    }

    /// Shows a command, if that is wanted.
    pub(super) fn show(&self, program: &OsStr, arguments: &[OsString]) {
        if self.is_shown {
            let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
            say!(" \"{}\" {}", program.display(), words.join(" "));
        }
    }

    /// Runs a program to its end, which must be a good one.
    pub(super) fn run(&self, program: &OsStr, arguments: &[OsString]) -> Result<()> {
        self.show(program, arguments);
        if self.is_dry {
            return Ok(());
        }
        let mut command = Command::new(program);
        let length: usize = arguments.iter().map(|word| word.len() + 1).sum();
        if length > LONGEST_LINE {
            let file = self.file("arguments", "txt")?;
            self.write(&file, response_file(arguments).as_bytes())?;
            command.arg(format!("@{}", file.display()));
        } else {
            command.args(arguments);
        }
        let name = Path::new(program).file_name().unwrap_or(program).to_owned();
        let status = self
            .trace
            .time("Run", &name.to_string_lossy(), || command.status());
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Error::Failed {
                program: name.display().to_string(),
                status,
            }),
            Err(error) => Err(Error::Run {
                program: program.display().to_string(),
                error,
            }),
        }
    }

    /// Finds a program: in the folders given, on the path. When nothing runs, its name will do.
    pub(super) fn find(&self, name: &str, folders: &[PathBuf]) -> Result<OsString> {
        let before: Vec<_> = folders.iter().cloned().chain(beside_us()).collect();
        let found = program::find(name, &before, &[]);
        match found {
            Some(program) => Ok(program.into()),
            None if self.is_dry => Ok(name.into()),
            None => Err(Error::NoProgram(name.to_owned())),
        }
    }
}

/// The folder of the name that this was called by, and that of the program itself.
fn beside_us() -> impl Iterator<Item = PathBuf> {
    let called = std::env::args_os().next().map(PathBuf::from);
    // A name alone was found on the path, and would have an empty folder here: the current one.
    let called = called.filter(|path| path.components().count() > 1);
    [called, std::env::current_exe().ok()]
        .into_iter()
        .flatten()
        .filter_map(|path| path.parent().map(Path::to_owned))
}
