//! Work in processes of their own: copies of this one, which share its memory until they write to it.
//!
//! LLVM 22's SPIR-V back end keeps state for as long as its process lives: the second module that a process
//! generates code for may come out different from the same module generated first, and may even be malformed
//! (ids defined twice). And much that goes wrong in a code generator ends the process. A copy of the process is
//! had in a fraction of the time that starting LLVM takes (9 ms), with the modules that were read already.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// How much of what a process printed to standard error is kept, from the end.
const KEPT_STDERR_BYTES: u64 = 16 * 1024;

/// How a process ended that did not finish its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// In words: `exit status: 1`, `signal: 11`.
    pub status: String,
    /// The end of what it printed to standard error.
    pub stderr: String,
}

/// What came of the work of one process.
pub type Outcome<T> = Result<T, Ended>;

/// Does `work` for each number below `count` in a process of its own, as many at a time as there are cores, and
/// returns what it returned, in order.
///
/// Must be called by the only thread of the process: a copy has no others.
///
/// # Errors
///
/// The system has no process or temporary file to give.
pub fn each<T: Serialize + DeserializeOwned>(
    count: usize,
    work: &mut dyn FnMut(usize) -> T,
) -> Result<Vec<Outcome<T>>, Error> {
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    let mut running: Vec<Running> = Vec::new();
    let mut outcomes: Vec<Option<Outcome<T>>> = (0..count).map(|_| None).collect();
    let mut next = 0;
    let mut failed = None;
    while next < count || !running.is_empty() {
        if next < count && running.len() < most && failed.is_none() {
            match start(next, work) {
                Ok(process) => running.push(process),
                Err(error) => failed = Some(error),
            }
            next += 1;
            continue;
        }
        if running.is_empty() {
            break;
        }
        let (id, status) = wait().map_err(system)?;
        if let Some(at) = running.iter().position(|process| process.id == id) {
            let process = running.swap_remove(at);
            let number = process.number;
            outcomes[number] = Some(process.outcome(status).map_err(system)?);
        }
    }
    match failed {
        Some(error) => Err(system(error)),
        None => Ok(outcomes.into_iter().flatten().collect()),
    }
}

fn system(error: io::Error) -> Error {
    Error::new(format!("cannot run a process: {error}"))
}

/// A process at work.
struct Running {
    id: libc::pid_t,
    number: usize,
    result: File,
    stderr: File,
}

/// Starts a process for one number; returns in this process only.
fn start<T: Serialize>(number: usize, work: &mut dyn FnMut(usize) -> T) -> io::Result<Running> {
    let mut result = tempfile::tempfile()?;
    let stderr = tempfile::tempfile()?;
    // SAFETY: this process has one thread (see `each`), so the copy is whole: no lock is held by a thread that
    // it lacks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: two open files; only standard error changes.
            unsafe { libc::dup2(stderr.as_raw_fd(), libc::STDERR_FILENO) };
            let answer = serde_json::to_vec(&work(number));
            let written = answer.is_ok_and(|answer| result.write_all(&answer).is_ok());
            // SAFETY: ends the copy at once, without the duties of the process that it is a copy of: what that
            // has still to write it writes itself.
            unsafe { libc::_exit(if written { 0 } else { 1 }) }
        }
        id => Ok(Running {
            id,
            number,
            result,
            stderr,
        }),
    }
}

/// Waits for any process to end.
fn wait() -> io::Result<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: a valid place to write to.
        let id = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if id != -1 {
            return Ok((id, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

impl Running {
    fn outcome<T: DeserializeOwned>(mut self, status: libc::c_int) -> io::Result<Outcome<T>> {
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
            self.result.seek(SeekFrom::Start(0))?;
            let mut bytes = Vec::new();
            self.result.read_to_end(&mut bytes)?;
            return Ok(Ok(serde_json::from_slice(&bytes)?));
        }
        let length = self.stderr.metadata()?.len();
        let start = length.saturating_sub(KEPT_STDERR_BYTES);
        self.stderr.seek(SeekFrom::Start(start))?;
        let mut stderr = Vec::new();
        self.stderr.read_to_end(&mut stderr)?;
        let status = if libc::WIFSIGNALED(status) {
            format!("signal: {}", libc::WTERMSIG(status))
        } else {
            format!("exit status: {}", libc::WEXITSTATUS(status))
        };
        Ok(Err(Ended {
            status,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        }))
    }
}
