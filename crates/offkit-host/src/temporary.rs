//! Temporary files that are gone when the program is stopped.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

/// The exit code of a program that was stopped by its user, as shells have it for an interrupt.
const INTERRUPTED: i32 = 130;

/// How often removing the folder is tried.
const ATTEMPTS: usize = 1000;

/// The folder for all temporary files of this process, while it is kept.
#[must_use]
pub struct TemporaryFiles {
    _folder: Option<TempDir>,
}

/// Puts the temporary files of this process, those of libraries too, into one folder, which is also removed where the
/// process is interrupted, terminated or hung up.
///
/// Where there is no place for it, whoever needs a temporary file says so.
pub fn keep_together() -> TemporaryFiles {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let remove = || {
        if let Some(path) = PATH.get() {
            // Others of this process may still write into it; what cannot be removed at all stays.
            for _ in 0..ATTEMPTS {
                if std::fs::remove_dir_all(path).is_ok() || !path.exists() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        std::process::exit(INTERRUPTED);
    };
    // Without either the files go where they would go otherwise, and an interrupt leaves them.
    let folder = match ctrlc::set_handler(remove) {
        Ok(()) => tempfile::Builder::new().prefix("offkit-").tempdir().ok(),
        Err(_) => None,
    };
    if let Some(folder) = &folder
        && PATH.set(folder.path().to_owned()).is_ok()
    {
        let _ = tempfile::env::override_temp_dir(folder.path());
    }
    TemporaryFiles { _folder: folder }
}
