//! Tokens of make's job server: with `make -j`, all programs share one limit on how many jobs run at a time.
//!
//! make names a pipe or a named pipe in `MAKEFLAGS` and puts a byte into it for each job that may run beside the
//! first one. Whoever starts another job takes a byte out and puts it back when the job has ended.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

/// A named pipe, or the ends of a pipe that were inherited.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Named(PathBuf),
    Inherited { read: u32, write: u32 },
}

/// The job server of the make that this runs under.
pub(super) struct JobServer {
    tokens: File,
    back: File,
}

/// A job that may run; its end gives the token back.
pub(super) struct Token<'a> {
    server: &'a JobServer,
    // The very byte that was read: make asks for the same one back.
    byte: [u8; 1],
}

/// How long to wait before looking for a token again.
const PAUSE: Duration = Duration::from_millis(2);

impl JobServer {
    /// The server that `MAKEFLAGS` names; `None` without make, and where make did not pass the pipe on because the
    /// recipe's line is not marked with `+`.
    pub(super) fn find() -> Option<Self> {
        let flags = std::env::var("MAKEFLAGS").ok()?;
        let (read, write) = match place(&flags)? {
            Place::Named(path) => (path.clone(), path),
            // Opened by name, a pipe can be read here without waiting while others of its readers wait.
            Place::Inherited { read, write } => (
                format!("/proc/self/fd/{read}").into(),
                format!("/proc/self/fd/{write}").into(),
            ),
        };
        let is_pipe = std::fs::metadata(&read).is_ok_and(|metadata| is_fifo(&metadata));
        if !is_pipe {
            return None;
        }
        let mut options = File::options();
        let tokens = without_waiting(options.read(true)).open(&read).ok()?;
        // Second: to open a pipe for writing waits for a reader, and this process is one by now.
        let back = File::options().write(true).open(write).ok()?;
        Some(Self { tokens, back })
    }

    /// Waits for a token, for as long as `is_wanted`.
    pub(super) fn take(&self, mut is_wanted: impl FnMut() -> bool) -> Option<Token<'_>> {
        while is_wanted() {
            let mut byte = [0];
            match (&self.tokens).read(&mut byte) {
                Ok(1) => return Some(Token { server: self, byte }),
                // The other ends are closed: make is gone.
                Ok(_) => return None,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                    std::thread::sleep(PAUSE);
                }
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Token<'_> {
    fn drop(&mut self) {
        // Nobody could be told.
        let _ = (&self.server.back).write_all(&self.byte);
    }
}

#[cfg(unix)]
fn is_fifo(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

#[cfg(not(unix))]
fn is_fifo(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
fn without_waiting(options: &mut std::fs::OpenOptions) -> &mut std::fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(libc::O_NONBLOCK)
}

#[cfg(not(unix))]
fn without_waiting(options: &mut std::fs::OpenOptions) -> &mut std::fs::OpenOptions {
    options
}

/// Where the tokens are, by what make says in `MAKEFLAGS`; the last word counts.
fn place(flags: &str) -> Option<Place> {
    let value = flags.split_whitespace().rev().find_map(|word| {
        // The older name is that of GNU make before 4.2.
        word.strip_prefix("--jobserver-auth=")
            .or(word.strip_prefix("--jobserver-fds="))
    })?;
    if let Some(path) = value.strip_prefix("fifo:") {
        return Some(Place::Named(path.into()));
    }
    let (read, write) = value.split_once(',')?;
    Some(Place::Inherited {
        read: read.parse().ok()?,
        write: write.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_of_all_ages_name_their_tokens() {
        let inherited = |read, write| Some(Place::Inherited { read, write });
        assert_eq!(place("k -j4 --jobserver-auth=3,4"), inherited(3, 4));
        assert_eq!(place(" -j --jobserver-fds=5,6"), inherited(5, 6));
        let named = place("--jobserver-auth=1,2 -j4 --jobserver-auth=fifo:/tmp/GMfifo12");
        assert_eq!(named, Some(Place::Named("/tmp/GMfifo12".into())));
        assert_eq!(place("-j1"), None);
        assert_eq!(place("--jobserver-auth=-2,-2"), None);
    }
}
