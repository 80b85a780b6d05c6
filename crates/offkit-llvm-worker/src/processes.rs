//! Work in processes of their own: copies of this one, which share its memory until they write to it.
//!
//! LLVM 22's SPIR-V back end keeps state for as long as its process lives: the second module that a process
//! generates code for may come out different from the same module generated first, and may even be malformed
//! (ids defined twice). And much that goes wrong in a code generator ends the process. A copy of the process is
//! had in a fraction of the time that starting LLVM takes (9 ms), with the modules that were read already.

use std::fs::File;
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;

/// How much of what a process printed to standard error is kept, from the end.
const KEPT_STDERR_BYTES: u64 = 16 * 1024;

/// The exit status of a process whose work is done, but whose result cannot be written; LLVM ends with 1 or 70.
const NOT_WRITTEN: libc::c_int = 200;

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
    give_memory_back();
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    let mut running: Vec<Running> = Vec::new();
    let mut outcomes: Vec<Option<Outcome<T>>> = (0..count).map(|_| None).collect();
    let mut next = 0;
    let mut failed = None;
    // Also after a failure: no process is left behind.
    while (next < count && failed.is_none()) || !running.is_empty() {
        if next < count && running.len() < most && failed.is_none() {
            match start(next, work) {
                Ok(process) => running.push(process),
                Err(error) => failed = Some(error),
            }
            next += 1;
            continue;
        }
        let (process, status) = match wait(&mut running) {
            Ok(ended) => ended,
            Err(error) => {
                failed.get_or_insert(error);
                continue;
            }
        };
        let number = process.number;
        match process.outcome(status) {
            Ok(outcome) => outcomes[number] = Some(outcome),
            Err(error) => {
                failed.get_or_insert(error);
            }
        }
    }
    match failed {
        Some(error) => Err(system(error)),
        None => Ok(outcomes.into_iter().flatten().collect()),
    }
}

/// Gives memory that was freed back to the system: copies of the process are made the faster the less it has.
fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: only what is free already is touched.
    unsafe {
        libc::malloc_trim(0);
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
    /// The end of a pipe whose other end closes with the process.
    alive: PipeReader,
}

/// Starts a process for one number; returns in this process only.
fn start<T: Serialize>(number: usize, work: &mut dyn FnMut(usize) -> T) -> io::Result<Running> {
    let mut result = tempfile::tempfile()?;
    let mut stderr = tempfile::tempfile()?;
    // This process closes its copy of the other end when it returns, so that no later copy has it either.
    let (alive, _until_the_end) = io::pipe()?;
    // SAFETY: this process has one thread (see `each`), so the copy is whole: no lock is held by a thread that
    // it lacks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: two open files; only standard error changes.
            unsafe { libc::dup2(stderr.as_raw_fd(), libc::STDERR_FILENO) };
            let written = serde_json::to_vec(&work(number))
                .map_err(io::Error::from)
                .and_then(|answer| result.write_all(&answer));
            if let Err(error) = &written {
                let _ = write!(stderr, "{error}");
            }
            // SAFETY: ends the copy at once, without the duties of the process that it is a copy of: what that
            // has still to write it writes itself.
            unsafe { libc::_exit(if written.is_ok() { 0 } else { NOT_WRITTEN }) }
        }
        id => Ok(Running {
            id,
            number,
            result,
            stderr,
            alive,
        }),
    }
}

/// Waits for one of these processes to end, and takes it out. One that cannot be waited for is taken out, too.
///
/// By its number: other children of this process are not waited for here.
fn wait(running: &mut Vec<Running>) -> io::Result<(Running, libc::c_int)> {
    let process = running.swap_remove(ended(running));
    let mut status = 0;
    loop {
        // SAFETY: a valid place to write to.
        if unsafe { libc::waitpid(process.id, &raw mut status, 0) } != -1 {
            return Ok((process, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The place of a process that has ended; of any, which is then waited for, where the system does not tell.
fn ended(running: &[Running]) -> usize {
    let mut polled: Vec<_> = running
        .iter()
        .map(|process| libc::pollfd {
            fd: process.alive.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    loop {
        // SAFETY: as many as the length says.
        let found = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
        if found != -1 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
    polled.iter().position(|polled| polled.revents != 0).unwrap_or(0)
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
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == NOT_WRITTEN {
            return Err(io::Error::other(format!(
                "cannot write its result: {}",
                stderr.trim_end()
            )));
        }
        let status = if libc::WIFSIGNALED(status) {
            format!("signal: {}", libc::WTERMSIG(status))
        } else {
            format!("exit status: {}", libc::WEXITSTATUS(status))
        };
        Ok(Err(Ended { status, stderr }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn results_come_in_order_and_no_process_is_left() {
        // A child that is nobody's here must still be there to be waited for.
        let mut stranger = std::process::Command::new("true").spawn().unwrap();
        let outcomes = each(5, &mut |number| {
            if number == 3 {
                // SAFETY: ends the copy only.
                unsafe { libc::_exit(7) }
            }
            number * 2
        })
        .unwrap();
        let ended = Err(Ended {
            status: "exit status: 7".to_owned(),
            stderr: String::new(),
        });
        assert_eq!(outcomes, [Ok(0), Ok(2), Ok(4), ended, Ok(8)]);
        assert!(stranger.wait().unwrap().success());
    }

    #[test]
    fn a_result_that_cannot_be_written_is_no_crash() {
        // No key of JSON is a pair.
        let error = each(2, &mut |_| BTreeMap::from([((1, 2), 3)])).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("cannot write its result: key must be a string"),
            "{text}"
        );
    }
}
