//! Requests from standard input, and memory that is given back while there are none.
//!
//! The allocator keeps what LLVM frees for the next kernel, as it should while one follows the other. But the worker of the
//! CPU device is kept for ten seconds after its last kernel, in the memory of a program that may never need it again.

use std::io::{self, BufRead};
#[cfg(unix)]
use std::{
    fs::File,
    io::{BufReader, Read},
    os::fd::{AsFd, AsRawFd},
    time::Duration,
};

/// How long nothing comes before memory is given back: a program that builds one kernel after the other is quicker.
#[cfg(unix)]
const REST: Duration = Duration::from_millis(100);

/// Standard input, which nobody else reads. `give_back` is the allocator's, which a program chooses, and no library.
///
/// # Errors
///
/// It is closed.
#[cfg(unix)]
pub fn requests(give_back: fn()) -> io::Result<impl BufRead> {
    // Not through `Stdin`: what its own buffer holds already, `poll` would say is still to come.
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    Ok(BufReader::new(Requests { input, give_back }))
}

/// The same, of a system that isn't asked whether there is something to read.
#[cfg(not(unix))]
pub fn requests(_: fn()) -> io::Result<impl BufRead> {
    Ok(io::stdin().lock())
}

#[cfg(unix)]
struct Requests {
    input: File,
    give_back: fn(),
}

#[cfg(unix)]
impl Read for Requests {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if !comes_soon(&self.input) {
            (self.give_back)();
        }
        self.input.read(into)
    }
}

/// Whether there is something to read, or the end, within the time. An error counts as such: reading will tell.
#[cfg(unix)]
fn comes_soon(input: &File) -> bool {
    let mut polled = libc::pollfd {
        fd: input.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one descriptor, which is open as long as the file is.
    let ready = unsafe { libc::poll(&raw mut polled, 1, REST.as_millis() as libc::c_int) };
    ready != 0
}
