//! Work in processes of their own: copies of this one, which share its memory until they write to it.
//!
//! LLVM 22's SPIR-V back end keeps state for as long as its process lives: the second module that a process
//! generates code for may come out different from the same module generated first, and may even be malformed
//! (ids defined twice). And much that goes wrong in a code generator ends the process. A copy of the process is
//! had in a fraction of the time that starting LLVM takes (9 ms), with the modules that were read already.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;

use offkit_llvm::frame::{Message, read_message, write_message};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::groups::jobs_or_cores;

/// How much of what a process printed is kept, from the end.
const KEPT_OUTPUT_BYTES: usize = 16 * 1024;

/// How much is read from a pipe at a time: what a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// The exit status of a process whose work is done, but whose result cannot be written; LLVM ends with 1 or 70.
const NOT_WRITTEN: libc::c_int = 200;

/// How a process ended that did not finish its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// In words: `exit status: 1`, `signal: 11`.
    pub status: String,
    /// The end of what it printed.
    pub stderr: String,
}

/// What came of the work of one process: what it says, and bytes.
pub type Outcome<T> = Result<(T, Vec<u8>), Ended>;

/// Does `work` for each number below `count` in a process of its own, so many at a time or, for 0, one on each core,
/// and returns what it returned, in order.
///
/// Must be called by the only thread of the process: a copy has no others.
///
/// # Errors
///
/// The system has no process or pipe to give.
pub fn each<T: Serialize + DeserializeOwned>(
    count: usize,
    jobs: usize,
    work: &mut dyn FnMut(usize) -> (T, Vec<u8>),
) -> Result<Vec<Outcome<T>>, Error> {
    let most = jobs_or_cores(jobs);
    let mut running: Vec<Running> = Vec::new();
    let mut outcomes: Vec<Option<Outcome<T>>> = (0..count).map(|_| None).collect();
    let mut next = 0;
    let mut failed = None;
    // Also after a failure: no process is left behind.
    while (next < count && failed.is_none()) || !running.is_empty() {
        // As many as may be, before anything is read: one that has filled its pipe just waits.
        if next < count && running.len() < most && failed.is_none() {
            match start(next, work) {
                Ok(process) => running.push(process),
                Err(error) => failed = Some(error),
            }
            next += 1;
            continue;
        }
        read_some(&mut running);
        for process in running.extract_if(.., |process| process.has_ended()) {
            let number = process.number;
            match process.outcome() {
                Ok(outcome) => outcomes[number] = Some(outcome),
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
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
    result: Pipe,
    output: Pipe,
}

/// What comes from a process. The other end closes with it.
struct Pipe {
    /// None at the end.
    reader: Option<PipeReader>,
    bytes: Vec<u8>,
}

impl Pipe {
    fn new() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        let pipe = Self {
            reader: Some(reader),
            bytes: Vec::new(),
        };
        Ok((pipe, writer))
    }

    /// Reads what is there; only for a pipe that has something, or has ended.
    fn read(&mut self) {
        let Some(reader) = &mut self.reader else { return };
        let before = self.bytes.len();
        self.bytes.resize(before + CHUNK_BYTES, 0);
        // An error is an end, too: then the result is not whole, and `outcome` says so.
        let read = reader.read(&mut self.bytes[before..]).unwrap_or(0);
        self.bytes.truncate(before + read);
        if read == 0 {
            self.reader = None;
        }
    }

    /// Drops all but the end.
    fn keep_end(&mut self) {
        let surplus = self.bytes.len().saturating_sub(KEPT_OUTPUT_BYTES);
        self.bytes.drain(..surplus);
    }
}

/// Starts a process for one number; returns in this process only.
fn start<T: Serialize>(number: usize, work: &mut dyn FnMut(usize) -> (T, Vec<u8>)) -> io::Result<Running> {
    // This process closes its copies of the writing ends when it returns, so that no later copy has them either.
    let (result, mut result_end) = Pipe::new()?;
    let (output, mut output_end) = Pipe::new()?;
    // SAFETY: this process has one thread (see `each`), so the copy is whole: no lock is held by a thread that
    // it lacks.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // Standard output is where replies go, which are not the copy's to give.
            for stream in [libc::STDOUT_FILENO, libc::STDERR_FILENO] {
                // SAFETY: two open files; only the streams of the copy change.
                unsafe { libc::dup2(output_end.as_raw_fd(), stream) };
            }
            let (says, bytes) = work(number);
            let written = write_message(&mut result_end, &says, &[&bytes]);
            if let Err(error) = &written {
                let _ = write!(output_end, "{error}");
            }
            // SAFETY: ends the copy at once, without the duties of the process that it is a copy of: what that
            // has still to write it writes itself.
            unsafe { libc::_exit(if written.is_ok() { 0 } else { NOT_WRITTEN }) }
        }
        id => Ok(Running {
            id,
            number,
            result,
            output,
        }),
    }
}

/// Waits until there is something to read of some of these processes, and reads it.
fn read_some(running: &mut [Running]) {
    let mut pipes: Vec<&mut Pipe> = (running.iter_mut())
        .flat_map(|process| [&mut process.result, &mut process.output])
        .filter(|pipe| pipe.reader.is_some())
        .collect();
    // One for each of `pipes`, which are all open: below, both are gone through side by side.
    let mut polled: Vec<_> = (pipes.iter().filter_map(|pipe| pipe.reader.as_ref()))
        .map(|reader| libc::pollfd {
            fd: reader.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: as many as the length says. Where it is interrupted, nothing is there yet.
    unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, -1) };
    for (pipe, polled) in pipes.iter_mut().zip(&polled) {
        if polled.revents != 0 {
            pipe.read();
        }
    }
    for process in running {
        process.output.keep_end();
    }
}

impl Running {
    /// Whether nothing comes from it any more.
    fn has_ended(&self) -> bool {
        self.result.reader.is_none() && self.output.reader.is_none()
    }

    /// Waits for the end, which has come. By its number: other children of this process are not waited for here.
    fn wait(&self) -> io::Result<libc::c_int> {
        let mut status = 0;
        loop {
            // SAFETY: a valid place to write to.
            if unsafe { libc::waitpid(self.id, &raw mut status, 0) } != -1 {
                return Ok(status);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn outcome<T: DeserializeOwned>(self) -> io::Result<Outcome<T>> {
        let status = self.wait()?;
        if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0 {
            let message = read_message(&mut self.result.bytes.as_slice()).map_err(io::Error::other)?;
            let Some(Message { body, mut blocks }) = message else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            return Ok(Ok((body, blocks.pop().unwrap_or_default())));
        }
        let stderr = String::from_utf8_lossy(&self.output.bytes).into_owned();
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
        // More than a pipe holds, of one while others are at work.
        let bytes = |number: usize| vec![number as u8; number * 300_000];
        let outcomes = each(5, 2, &mut |number| {
            if number == 3 {
                // SAFETY: ends the copy only.
                unsafe { libc::_exit(7) }
            }
            (number * 2, bytes(number))
        })
        .unwrap();
        let ended = Err(Ended {
            status: "exit status: 7".to_owned(),
            stderr: String::new(),
        });
        let done = |number: usize| Ok((number * 2, bytes(number)));
        assert!(outcomes == [done(0), done(1), done(2), ended, done(4)]);
        assert!(stranger.wait().unwrap().success());
    }

    #[test]
    fn what_a_process_prints_is_kept_from_the_end_and_goes_nowhere_else() {
        let outcomes = each(1, 1, &mut |_| -> (u32, Vec<u8>) {
            for (text, stream) in [("out", libc::STDOUT_FILENO), ("err", libc::STDERR_FILENO)] {
                let text = format!("{}{text}", "x".repeat(2 * KEPT_OUTPUT_BYTES));
                // SAFETY: as many bytes as the length says.
                unsafe { libc::write(stream, text.as_ptr().cast(), text.len()) };
            }
            // SAFETY: ends the copy only.
            unsafe { libc::abort() }
        })
        .unwrap();
        let [Err(ended)] = outcomes.as_slice() else {
            panic!("{outcomes:?}")
        };
        assert_eq!(ended.status, "signal: 6");
        assert_eq!(ended.stderr.len(), KEPT_OUTPUT_BYTES);
        assert!(ended.stderr.ends_with("xerr"), "{}", ended.stderr);
    }

    #[test]
    fn a_result_that_cannot_be_written_is_no_crash() {
        // No key of JSON is a pair.
        let error = each(2, 0, &mut |_| (BTreeMap::from([((1, 2), 3)]), Vec::new())).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("cannot write its result: key must be a string"),
            "{text}"
        );
    }
}
