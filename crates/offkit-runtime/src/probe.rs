//! Trying a plugin in a process of its own, before it is loaded into this one.
//!
//! A plugin is code of somebody else over a driver of somebody else: loading it can crash, hang, end the process or eat
//! the memory. So a library that is not known to be good is first loaded by [`HELPER`], a program beside the one that
//! offkit is in, which lists its devices and says how far it came. A library is known to be good when that went well
//! with the same file (path, size, time, inode), the same OpenCL drivers listed, the same libraries of drivers and the same
//! adapters of Unified Runtime; the user's cache remembers it.
//!
//! The helper has [`PATIENCE`] (or as many seconds as [`PATIENCE_VARIABLE`] says) and [`MEMORY`] of resident memory. Where
//! it is missing, as inside a program that only links offkit, plugins are loaded untried.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use offkit_cache::{Cache, Key, Kind};
use offkit_pi::host::{Plugin, trace};

use crate::machine;
use crate::search::Place;

/// The program that tries plugins.
pub const HELPER: &str = "offkit-probe";

/// How long it may take.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The environment variable that says how many seconds it may take.
pub const PATIENCE_VARIABLE: &str = "OFFKIT_PROBE_SECONDS";

/// How much memory it may have resident, in bytes.
pub const MEMORY: u64 = 2 << 30;

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
    #[error("it has not come back after {} seconds, while {stage}", .after.as_secs())]
    Hang {
        /// What it is doing.
        stage: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// It took too much memory.
    #[error("it has taken {} MiB of memory while {stage}", .bytes >> 20)]
    Memory {
        /// What it was doing.
        stage: String,
        /// What it had when it was stopped.
        bytes: u64,
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

/// Finds out whether a plugin can be loaded without harm.
///
/// # Errors
///
/// [`Harm`] if not. A plugin that fails in words, or says nothing that is understood, does none.
pub fn check(place: &Place) -> Result<Trust, Harm> {
    let (library, key) = match place {
        Place::BuiltIn(_) => return Ok(Trust::BuiltIn),
        Place::File(path) => (path.as_os_str().to_owned(), Some(key(path))),
        Place::System { name, .. } => (OsString::from(name), None),
    };
    if key.as_ref().is_some_and(|key| Cache::user().get(key).is_some()) {
        return Ok(Trust::Known);
    }
    let Some(helper) = helper() else {
        return Ok(Trust::NotProbed);
    };
    match run(&helper, &library) {
        Ok(outcome) => outcome?,
        Err(error) => {
            tracing::warn!(helper = %helper.display(), %error, "plugins cannot be tried");
            return Ok(Trust::NotProbed);
        }
    }
    if let Some(key) = key {
        Cache::user().put(&key, &[], b"");
    }
    Ok(Trust::Probed)
}

/// The helper beside this program.
fn helper() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    let name = format!("{HELPER}{}", env::consts::EXE_SUFFIX);
    Some(program.parent()?.join(name)).filter(|helper| helper.is_file())
}

/// What a trial's outcome depends on.
fn key(library: &Path) -> Key {
    let mut key = Key::new(Kind::Plugin, library.display().to_string())
        .text("offkit", env!("CARGO_PKG_VERSION"))
        .file("plugin", library);
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

/// Runs the helper to its end, or stops it.
fn run(helper: &Path, library: &OsString) -> io::Result<Result<(), Harm>> {
    // A file takes whatever the plugin prints; a pipe that nobody reads would stop it.
    let mut report = tempfile::tempfile()?;
    let mut command = Command::new(helper);
    command
        .arg(library)
        .stdin(Stdio::null())
        .stdout(report.try_clone()?)
        .stderr(Stdio::null());
    for name in trace::VARIABLES {
        command.env_remove(name);
    }
    let mut child = command.spawn()?;
    let ended = wait(&mut child)?;
    let mut text = Vec::new();
    report.seek(SeekFrom::Start(0))?;
    report.take(1 << 20).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let mut stages = text.lines().filter_map(|line| line.strip_prefix(MARK));
    let stage = stages.next_back().unwrap_or(LOADING);
    let is_done = stage == DONE;
    let stage = if is_done { "the process ends" } else { stage }.to_owned();
    Ok(match ended {
        Ended::Itself(status) if status.success() && is_done => Ok(()),
        Ended::Itself(status) => Err(match status.code() {
            Some(code) => Harm::End { stage, code },
            None => Harm::Crash {
                stage,
                signal: signal(status),
            },
        }),
        Ended::Slow(after) => Err(Harm::Hang { stage, after }),
        Ended::Large(bytes) => Err(Harm::Memory { stage, bytes }),
    })
}

enum Ended {
    Itself(ExitStatus),
    Slow(Duration),
    Large(u64),
}

fn wait(child: &mut Child) -> io::Result<Ended> {
    let seconds = env::var(PATIENCE_VARIABLE)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let patience = seconds.map_or(PATIENCE, Duration::from_secs);
    let (start, mut pause) = (Instant::now(), Duration::from_micros(200));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Itself(status));
        }
        let resident = resident(child.id());
        let stopped = match start.elapsed() {
            _ if resident > MEMORY => Ended::Large(resident),
            elapsed if elapsed > patience => Ended::Slow(patience),
            _ => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
                continue;
            }
        };
        child.kill()?;
        child.wait()?;
        return Ok(stopped);
    }
}

/// The resident memory of a process in bytes; 0 where that cannot be seen.
fn resident(process: u32) -> u64 {
    let pages = fs::read_to_string(format!("/proc/{process}/statm"));
    let pages = pages
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    // The kernel counts pages; the smallest there are make this a lower bound.
    pages.unwrap_or(0).saturating_mul(4096)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// What the helper's own lines begin with, among whatever a plugin prints.
const MARK: &str = "offkit-probe: ";

/// What a plugin does first.
const LOADING: &str = "it is loaded";

/// The last line of a trial that went well.
const DONE: &str = "done";

/// What the helper does: loads a library and lists its devices, saying on the standard output how far it is.
pub fn attempt(library: impl AsRef<Path>) {
    says(LOADING);
    // Errors in words do no harm: offkit gets them itself when it loads the plugin.
    if let Ok(plugin) = Plugin::load(library) {
        says("it lists its devices");
        let platforms = plugin.platforms().unwrap_or_default();
        for platform in platforms {
            for device in platform
                .devices(offkit_pi::ffi::PI_DEVICE_TYPE_ALL)
                .unwrap_or_default()
            {
                let _unnamed = device.name();
            }
        }
        says("it is torn down");
        drop(plugin);
    }
    // Handlers of the plugin's that run at exit can still crash, which the exit status tells.
    says(DONE);
}

fn says(stage: &str) {
    let mut output = io::stdout().lock();
    let _nobody_reads = writeln!(output, "\n{MARK}{stage}").and_then(|()| output.flush());
}
