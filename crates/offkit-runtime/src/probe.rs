//! Trying a plugin in a process of its own, before it is loaded into this one.
//!
//! A plugin is code of somebody else over a driver of somebody else: loading it can crash, hang, end the process or eat
//! the memory. So a library that is not known to be good is first loaded by [`HELPER`], a program beside the one that
//! offkit is in, which lists its devices and says how far it came. A library is known to be good when that went well
//! with the same file (path, size, time), the same OpenCL drivers listed, the same libraries of drivers and the same
//! adapters of Unified Runtime; the user's cache remembers it.
//!
//! The same goes for the drivers and adapters below a plugin of offkit's own ([`offkit_pi::below`]). All of them are tried at
//! once; where harm comes of that, the plugin is tried with none, then with each alone, and is loaded without those that
//! do harm ([`LeftOut`]). Each that is good is remembered, as is that they have to be tried one by one.
//!
//! What hangs is remembered too, for [`MEMORY_OF_HANGS`]: it costs all of the helper's time, and every program that starts
//! would wait for it again. Other harm shows at once and is looked for each time, since what caused it may be gone.
//!
//! The helper has [`PATIENCE`] (or as many seconds as [`PATIENCE_VARIABLE`] says) and [`MEMORY`] of resident memory. Where
//! it is missing, as inside a program that only links offkit, plugins are loaded untried; where it is there and cannot be
//! started, none is loaded that is not known.

mod child;
mod hang;

use std::collections::HashSet;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use offkit_cache::{Cache, Key, Kind};
use offkit_host::program;
use offkit_pi::below;

pub use self::child::attempt;
use crate::search::Place;
use crate::{machine, note};

/// The program that tries plugins.
pub const HELPER: &str = "offkit-probe";

/// How long it may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The environment variable that says how many seconds it may take.
pub const PATIENCE_VARIABLE: &str = "OFFKIT_PROBE_SECONDS";

/// How much memory it may have resident, in bytes.
pub const MEMORY: u64 = 2 << 30;

/// How long what hung is not tried again, unless [`PATIENCE_VARIABLE`] is set: it may have hung because of something else.
pub const MEMORY_OF_HANGS: Duration = Duration::from_hours(1);

/// How it is known that a plugin does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trust {
    /// It is linked into the program.
    BuiltIn,
    /// It was tried just now.
    Probed,
    /// It was tried before.
    Known,
    /// It was not tried: the helper is missing.
    NotProbed,
}

/// What a plugin does that it must not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Harm {
    /// It crashed.
    #[error("it crashes while {stage}{}", .signal.map(|signal| format!(" (signal {signal}, {})", signal_name(signal))).unwrap_or_default())]
    Crash {
        /// What it was doing.
        stage: String,
        /// The signal, where the system has signals.
        signal: Option<i32>,
    },
    /// It ended the process.
    #[error("it ends the process with exit code {code} while {stage}")]
    End {
        /// What it was doing.
        stage: String,
        /// The exit code.
        code: i32,
    },
    /// It did not come back.
    #[error("it has not come back after {}, while {stage}{}", hang::seconds(.after), hang::ago(.ago.as_ref()))]
    Hang {
        /// What it is doing.
        stage: String,
        /// How long it was waited for.
        after: Duration,
        /// How long ago that was, if it was not tried this time.
        ago: Option<Duration>,
    },
    /// It took too much memory.
    #[error("it has taken {} MiB of memory while {stage}", .bytes >> 20)]
    Memory {
        /// What it was doing.
        stage: String,
        /// What it had when it was stopped.
        bytes: u64,
    },
    /// What it does could not be found out.
    #[error("it could not be tried by {}: {reason}", .helper.display())]
    Untried {
        /// The program that tries plugins.
        helper: PathBuf,
        /// Why that did not go.
        reason: String,
    },
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => "by another process or the system",
    }
}

/// What a trial has shown of a plugin that is good.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trial {
    /// How it is known.
    pub trust: Trust,
    /// What is below it and does harm.
    pub left_out: Vec<LeftOut>,
}

impl From<Trust> for Trial {
    fn from(trust: Trust) -> Trial {
        Trial {
            trust,
            left_out: Vec::new(),
        }
    }
}

/// A driver or adapter below a plugin that does harm, and that the plugin is loaded without.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// What it is.
    pub kind: below::Kind,
    /// Its library, as it is named.
    pub library: PathBuf,
    /// What names it.
    pub named_by: String,
    /// What it does.
    pub harm: Harm,
    /// The OpenCL drivers that do the harm, where it is an adapter that loads them and does none without.
    pub drivers: Vec<PathBuf>,
}

impl LeftOut {
    /// The harm, and who does it.
    #[must_use]
    pub fn harm(&self) -> String {
        let names = self.drivers.iter().map(|driver| driver.display().to_string());
        let names = names.collect::<Vec<_>>().join(" and ");
        match self.drivers.len() {
            0 => self.harm.to_string(),
            1 => format!(
                "{}; the OpenCL driver {names}, which it loads, does that",
                self.harm
            ),
            _ => format!(
                "{}; the OpenCL drivers {names}, which it loads, do that",
                self.harm
            ),
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LeftOut {
            kind,
            library,
            named_by,
            ..
        } = self;
        let harm = self.harm();
        write!(formatter, "{kind} {} ({named_by}): {harm}", library.display())
    }
}

/// Finds out whether a plugin can be loaded without harm, and without what.
///
/// # Errors
///
/// [`Harm`] if not. A plugin that fails in words, or says nothing that is understood, does none.
pub fn check(place: &Place) -> Result<Trial, Harm> {
    let (library, key) = match place {
        Place::BuiltIn(_) => return Ok(Trust::BuiltIn.into()),
        Place::File(path) => (path.as_os_str().to_owned(), Some(key(path))),
        // Which file the system will find is not known, so nothing can be remembered of it.
        Place::System { name, .. } => (OsString::from(name), None),
    };
    let kept = key.as_ref().and_then(|key| Cache::user().get(key));
    let kept = kept.as_deref();
    if kept == Some(GOOD) {
        return Ok(Trust::Known.into());
    }
    if let Some(hang) = kept.and_then(hang::recent) {
        return Err(hang);
    }
    let Some(helper) = helper() else {
        return Ok(Trust::NotProbed.into());
    };
    let trials = Trials { helper, library, key };
    trials.all(place, kept == Some(APART)).unwrap_or_else(|error| {
        Err(Harm::Untried {
            helper: trials.helper.clone(),
            reason: error.to_string(),
        })
    })
}

/// What is kept of a plugin that is good with all that is below it.
const GOOD: &[u8] = b"";

/// What is kept of a plugin where something below it was not.
const APART: &[u8] = b"apart";

/// Trials of a plugin.
struct Trials {
    helper: PathBuf,
    library: OsString,
    /// What an outcome with all that is below the plugin depends on; none if that is not known.
    key: Option<Key>,
}

impl Trials {
    /// Tries the plugin with all that is below it, unless that is known to do harm; and then one by one.
    fn all(&self, place: &Place, is_apart: bool) -> io::Result<Result<Trial, Harm>> {
        let mut harm = None;
        if !is_apart {
            match self.together(&[])? {
                Ok(()) => return Ok(Ok(Trust::Probed.into())),
                Err(found) => harm = Some(found),
            }
        }
        let kind = note::below(place);
        let candidates = kind.map(machine::below).unwrap_or_default();
        match (kind, harm) {
            (Some(kind), _) if !candidates.is_empty() => {
                // Before the trials apart, which may take long: a program that starts meanwhile
                // need not wait for the trial of all together, which has failed.
                keep(self.key.as_ref(), APART);
                self.apart(kind, candidates)
            }
            (_, Some(harm)) => Ok(Err(harm)),
            // What it was tried apart for is not below it any more.
            (_, None) => self
                .together(&[])
                .map(|outcome| outcome.map(|()| Trust::Probed.into())),
        }
    }

    /// Tries the plugin with nothing below it, then each that may be below it alone, then those that are good together.
    fn apart(
        &self,
        kind: below::Kind,
        mut candidates: Vec<(PathBuf, String)>,
    ) -> io::Result<Result<Trial, Harm>> {
        let mut known = HashSet::new();
        // Several files may name one library.
        candidates.retain(|(library, _)| known.insert(library.clone()));
        let but = |kept: Option<&Path>| -> Vec<&Path> {
            let all = candidates.iter().map(|(library, _)| library.as_path());
            all.filter(|library| Some(*library) != kept).collect()
        };
        // Harm that comes with nothing below is the plugin's own, and there is no more to find out.
        if let Err(harm) = self.together(&but(None))? {
            return Ok(Err(harm));
        }
        let mut left_out = Vec::new();
        for (library, named_by) in &candidates {
            let others = but(Some(library));
            if let Err(harm) = self.without(true, &others, None)? {
                let drivers = match kind {
                    below::Kind::UnifiedRuntime => self.drivers_at_fault(&others)?,
                    _ => Vec::new(),
                };
                left_out.push(LeftOut {
                    kind,
                    library: library.clone(),
                    named_by: named_by.clone(),
                    harm,
                    drivers,
                });
            }
        }
        // That each does no harm alone does not say that all do none together.
        let harmful: Vec<&Path> = left_out.iter().map(|left_out| &*left_out.library).collect();
        Ok(self.together(&harmful)?.map(|()| Trial {
            trust: Trust::Probed,
            left_out,
        }))
    }

    /// The OpenCL drivers that do the harm of the adapter that is not among the others: one for OpenCL loads whatever
    /// drivers are listed, and is not to blame for them.
    fn drivers_at_fault(&self, others: &[&Path]) -> io::Result<Vec<PathBuf>> {
        let candidates = machine::below(below::Kind::OpenCl);
        // The loader takes its drivers from the files in a folder.
        let folder = tempfile::Builder::new().prefix("offkit-probe-").tempdir()?;
        let with = |driver: Option<&Path>| {
            if let Some(driver) = driver {
                fs::write(
                    folder.path().join("driver.icd"),
                    format!("{}\n", driver.display()),
                )?;
            }
            self.without(true, others, Some((folder.path(), driver)))
        };
        if candidates.is_empty() || with(None)?.is_err() {
            return Ok(Vec::new());
        }
        let mut at_fault = Vec::new();
        for (driver, _) in candidates {
            if !at_fault.contains(&driver) && with(Some(&driver))?.is_err() {
                at_fault.push(driver);
            }
        }
        Ok(at_fault)
    }

    /// Tries the plugin with all but these.
    fn together(&self, left_out: &[&Path]) -> io::Result<Result<(), Harm>> {
        self.without(false, left_out, None)
    }

    /// Tries the plugin without these, perhaps for the sake of one that is below it alone, and with a folder that lists
    /// one OpenCL driver, or none, in the place of all; and remembers if no harm came of that, or if it hung.
    fn without(
        &self,
        is_below: bool,
        left_out: &[&Path],
        listed: Option<(&Path, Option<&Path>)>,
    ) -> io::Result<Result<(), Harm>> {
        let add = |key: Option<Key>, library: &&Path| Some(key?.text("without", library.display()));
        let key = left_out.iter().fold(self.key.clone(), add);
        // What is said of the only one below a plugin is not said of the plugin.
        let key = match is_below {
            true => key.map(|key| key.text("about", "what is below")),
            false => key,
        };
        let key = match listed {
            Some((_, driver)) => {
                let driver = driver.unwrap_or(Path::new(""));
                key.map(|key| key.text("OpenCL driver listed", driver.display()))
            }
            None => key,
        };
        let kept = key.as_ref().and_then(|key| Cache::user().get(key));
        let kept = kept.as_deref();
        if kept == Some(GOOD) {
            return Ok(Ok(()));
        }
        if let Some(hang) = kept.and_then(hang::recent) {
            return Ok(Err(hang));
        }
        let outcome = child::run(
            &self.helper,
            &self.library,
            is_below,
            left_out,
            listed.map(|(folder, _)| folder),
        )?;
        match &outcome {
            Ok(()) => keep(key.as_ref(), GOOD),
            Err(harm) => keep_hang(key.as_ref(), harm),
        }
        Ok(outcome)
    }
}

fn keep(key: Option<&Key>, content: &[u8]) {
    if let Some(key) = key {
        Cache::user().put(key, &[], content);
    }
}

fn keep_hang(key: Option<&Key>, harm: &Harm) {
    if let Harm::Hang { stage, after, .. } = harm {
        keep(key, hang::record(stage, *after).as_bytes());
    }
}

/// The helper that was installed with this code: with its programs, or with its libraries.
fn helper() -> Option<PathBuf> {
    let name = format!("{HELPER}{}", env::consts::EXE_SUFFIX);
    let folders = program::own_folder(&name)
        .into_iter()
        .chain(program::library_folders());
    // Also one that cannot be started: that is said then.
    folders
        .map(|folder| folder.join(&name))
        .find(|helper| helper.is_file())
}

/// What a trial's outcome depends on.
fn key(library: &Path) -> Key {
    let mut key = Key::new(Kind::Plugin, library.display().to_string())
        .text("offkit", env!("CARGO_PKG_VERSION"))
        .text("trial", child::REVISION)
        .file("plugin", library);
    // A plugin that lists devices opens what is below it, so that a trial is about that as well.
    // Which of these a plugin of somebody else opens is not known: they count for every plugin.
    for path in machine::opencl_drivers()
        .into_iter()
        .filter_map(|driver| driver.path)
    {
        key = key.file(format!("OpenCL driver {}", path.display()), &path);
    }
    for library in machine::driver_libraries() {
        if let Some(path) = library.path {
            key = key.file(format!("library {}", path.display()), &path);
        }
    }
    for adapter in machine::adapters() {
        let path = &adapter.library;
        key = key.file(format!("adapter {}", path.display()), path);
    }
    key
}
