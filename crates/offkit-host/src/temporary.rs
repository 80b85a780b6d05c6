//! Temporary files that are gone when the program is stopped: interrupted, terminated or hung up.
//!
//! That takes handlers of signals, which belong to the program: without [`handle_signals`] there are none, as where
//! offkit is a library in somebody else's process, and the files of a process that is stopped stay.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use offkit_sync::OnceLock;
use tempfile::{NamedTempFile, TempDir};

/// The exit code of a program that was stopped by its user, as shells have it for an interrupt.
const INTERRUPTED: i32 = 130;

/// How often removing a file or a folder is tried.
const ATTEMPTS: usize = 1000;

/// What is removed when the program is stopped.
///
/// The standard library's lock, which can be made in a constant. There is no model of it: it is the only one that is held
/// while a path is noted, forgotten or removed, so that threads pass here one after another, and what could go wrong is in
/// the order of system calls under it.
static KEPT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn kept() -> MutexGuard<'static, Vec<PathBuf>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes what is kept and ends the program. Runs in a thread of its own, not in the handler of a signal.
fn stop() {
    // Locked to the end: no other temporary file is made from now on.
    for path in kept().iter() {
        // Others of this process may still write into a folder; what cannot be removed at all stays.
        for _ in 0..ATTEMPTS {
            if fs::remove_file(path).is_ok() || fs::remove_dir_all(path).is_ok() || !path.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    std::process::exit(INTERRUPTED);
}

/// Whether the program has said that its signals may be handled here. It says so once, and who sees it late keeps a file as
/// a library does: no other memory hangs on it, so it is relaxed and has no model.
static HANDLES_SIGNALS: AtomicBool = AtomicBool::new(false);

/// Says that this process is a program of offkit, which is stopped by signals as this module wants it. The handlers
/// are set when there is a temporary file.
pub fn handle_signals() {
    HANDLES_SIGNALS.store(true, Ordering::Relaxed);
}

/// Sees to it that the program is stopped by [`stop`]; whether it is.
fn is_ready() -> bool {
    static READY: OnceLock<bool> = OnceLock::new();
    if !HANDLES_SIGNALS.load(Ordering::Relaxed) {
        return false;
    }
    *READY.get_or_init(|| {
        // The handlers are set for all three signals, whatever was asked for before: a program
        // under `nohup` would end with its terminal after all.
        let ignored = ignored();
        let is_set = ctrlc::set_handler(stop).is_ok();
        ignore(&ignored);
        is_set
    })
}

/// The signals to stop that whoever started this program wants ignored, as `nohup` does.
#[cfg(unix)]
fn ignored() -> Vec<libc::c_int> {
    let is_ignored = |signal: &libc::c_int| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: without a new action nothing changes, and the old one is written to where there is place for one.
        let asked = unsafe { libc::sigaction(*signal, std::ptr::null(), action.as_mut_ptr()) };
        // SAFETY: it was written where the call has succeeded.
        asked == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
    };
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP]
        .into_iter()
        .filter(is_ignored)
        .collect()
}

/// Leaves interrupts from the keyboard to another program that has the terminal, such as a pager.
pub fn ignore_interrupts() {
    #[cfg(unix)]
    ignore(&[libc::SIGINT]);
}

#[cfg(unix)]
fn ignore(signals: &[libc::c_int]) {
    for signal in signals {
        // SAFETY: these are signals that may be ignored, and no handler of ours is told.
        unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

#[cfg(not(unix))]
fn ignored() {}

#[cfg(not(unix))]
fn ignore((): &()) {}

/// The folder for all temporary files of this process, while it is kept.
#[must_use]
pub struct TemporaryFiles {
    _folder: Option<TempDir>,
}

/// Puts the temporary files of this process, those of libraries too, into one folder, which is also removed where the
/// process is stopped.
///
/// Where there is no place for it, whoever needs a temporary file says so.
pub fn keep_together() -> TemporaryFiles {
    // Without either the files go where they would go otherwise, and an interrupt leaves them.
    let folder = is_ready()
        .then(|| tempfile::Builder::new().prefix("offkit-").tempdir().ok())
        .flatten();
    if let Some(folder) = &folder
        && tempfile::env::override_temp_dir(folder.path()).is_ok()
    {
        remove_when_stopped(folder.path());
    }
    TemporaryFiles { _folder: folder }
}

/// Has a file or folder removed where the program is stopped.
pub fn remove_when_stopped(path: &Path) {
    if is_ready() {
        kept().push(path.to_owned());
    }
}

/// A file with another's content to be, beside it: gone when dropped or when the process is stopped.
#[derive(Debug)]
pub struct Replacement(NamedTempFile);

impl Replacement {
    /// Makes an empty file in a folder, with the permissions that any new file gets.
    pub fn new(folder: &Path) -> io::Result<Self> {
        let is_ready = is_ready();
        let create = |path: &Path| {
            // Nobody is stopped between the two.
            let mut kept = kept();
            let file = File::options()
                .read(true)
                .write(true)
                .create_new(true)
                .open(path)?;
            if is_ready {
                kept.push(path.to_owned());
            }
            Ok(file)
        };
        let file = tempfile::Builder::new()
            .prefix(".offkit-")
            .make_in(folder, create);
        file.map(Self)
    }

    /// The file, to be written.
    pub fn file(&mut self) -> &mut File {
        self.0.as_file_mut()
    }

    /// Puts it in the place of another file.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        let mut kept = kept();
        let path = self.0.path().to_owned();
        self.0.persist(target).map_err(|error| error.error)?;
        kept.retain(|other| *other != path);
        Ok(())
    }
}
