//! Pipes to processes that this one has started: closed when a program is executed, and also in a process that is forked
//! off and executes none. Else that would keep whoever reads from them waiting for as long as it lives.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

/// So many are closed at most.
const MOST: usize = 24;

/// The number of no pipe, in a place that is free and in one that somebody has just taken.
const FREE: RawFd = -1;
const TAKEN: RawFd = -2;

/// A pipe that is this process's alone.
struct Place {
    number: AtomicI32,
    /// Which pipe it is: it may be closed by now, and its number be that of something else.
    inode: AtomicU64,
}

static PLACES: [Place; MOST] = [const {
    Place {
        number: AtomicI32::new(FREE),
        inode: AtomicU64::new(0),
    }
}; MOST];

static FORKS: AtomicU64 = AtomicU64::new(0);

/// Which process this is, counted by forks since the first [`NotInForks`] was made: what has pipes of another number is
/// that of a process that this one was forked off.
pub fn forks() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

/// Pipes of this process that no process forked off it has, for as long as this is there.
#[derive(Debug)]
pub struct NotInForks {
    places: Vec<usize>,
    process: u64,
}

impl NotInForks {
    /// For these ends of pipes.
    pub fn new(pipes: &[RawFd]) -> Self {
        static IS_WATCHED: AtomicBool = AtomicBool::new(false);
        // A handler of forks cannot be taken back, so one serves all pipes there will be.
        if !IS_WATCHED.swap(true, Ordering::Relaxed) {
            watch();
        }
        Self {
            places: pipes.iter().filter_map(|&pipe| note(pipe)).collect(),
            process: forks(),
        }
    }
}

impl Drop for NotInForks {
    fn drop(&mut self) {
        // In a process that was forked off, the places are others'.
        if self.process == forks() {
            for &place in &self.places {
                PLACES[place].number.store(FREE, Ordering::Relaxed);
            }
        }
    }
}

/// Where the pipe was put down.
fn note(pipe: RawFd) -> Option<usize> {
    let inode = inode(pipe)?;
    let is_free = |place: &Place| {
        let taken = place
            .number
            .compare_exchange(FREE, TAKEN, Ordering::Relaxed, Ordering::Relaxed);
        taken.is_ok()
    };
    let index = PLACES.iter().position(is_free)?;
    // The number last: without it, a process that is forked off closes nothing for this place.
    PLACES[index].inode.store(inode, Ordering::Relaxed);
    PLACES[index].number.store(pipe, Ordering::Relaxed);
    Some(index)
}

/// Which pipe this is; `None` if it is none.
#[expect(unsafe_code, reason = "the system is asked")]
fn inode(number: RawFd) -> Option<u64> {
    let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: it is read only where the system has written it.
    let found = unsafe {
        if libc::fstat(number, found.as_mut_ptr()) != 0 {
            return None;
        }
        found.assume_init()
    };
    (found.st_mode & libc::S_IFMT == libc::S_IFIFO).then_some(found.st_ino)
}

#[expect(unsafe_code, reason = "the C library calls back")]
fn watch() {
    // SAFETY: the function stays where it is: a library that is unloaded takes it off the list before. If there is no
    // memory for the list, nothing is closed.
    unsafe { libc::pthread_atfork(None, None, Some(close)) };
}

/// Closes them, in the process that was forked off: no lock is taken, and no memory allocated.
extern "C" fn close() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    for place in &PLACES {
        let pipe = place.number.swap(FREE, Ordering::Relaxed);
        if pipe >= 0 && inode(pipe) == Some(place.inode.load(Ordering::Relaxed)) {
            #[expect(unsafe_code, reason = "the pipe is nobody's in this process")]
            // SAFETY: what has it open in the parent is never used in the child.
            unsafe {
                libc::close(pipe);
            }
        }
    }
}
