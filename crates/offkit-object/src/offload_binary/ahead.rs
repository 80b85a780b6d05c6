//! Bringing the headers of a long sequence of binaries into memory ahead of its reader.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::MAGIC;
use crate::layout::align_to_8;
use crate::source::Source;

/// The size from which it pays: below, a thread costs as much as it saves.
const WORTHWHILE: u64 = 1 << 26;
/// How far ahead, in bytes: enough for the reader never to wait, and little enough to stay in the cache.
const DISTANCE: u64 = 1 << 23;
/// The bytes of a binary that a reader looks at, as a rule: headers, strings, the header of the image. With 192, which
/// leaves the flags of an ELF header out, 100,000 images take 63 ms instead of 60 (`llvm-objdump`: 730 to 870).
const LOOKED_AT: usize = 256;

/// Where a reader is.
pub(super) struct Position(AtomicU64);

impl Position {
    pub(super) fn set(&self, position: u64) {
        // Relaxed: no data hang on it, only how far ahead it is worth to go.
        self.0.store(position, Ordering::Relaxed);
    }
}

/// Runs `read`, while another thread goes through the binaries ahead of it.
///
/// Pages of a mapped file come into memory when they are looked at, a few at a time: for very many small
/// binaries waiting for them is half of all the work.
pub(super) fn with_reader_ahead<T>(source: Source<'_>, read: impl FnOnce(&Position) -> T) -> T {
    let position = Position(AtomicU64::new(0));
    if !cfg!(feature = "threads") || source.len() < WORTHWHILE {
        return read(&position);
    }
    std::thread::scope(|scope| {
        // Where the system has no room for another thread, reading only takes longer.
        let _ = std::thread::Builder::new().spawn_scoped(scope, || go_through(source, &position));
        // Ends the other thread too should the reader panic.
        let _end = End(&position);
        read(&position)
    })
}

struct End<'a>(&'a Position);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.set(u64::MAX);
    }
}

fn go_through(source: Source<'_>, reader: &Position) {
    let mut next = 0_u64;
    loop {
        let position = reader.0.load(Ordering::Relaxed);
        if position == u64::MAX {
            return;
        }
        // What the reader has passed must stay out of memory.
        next = next.max(position);
        if next > position.saturating_add(DISTANCE) {
            // Far less than a reader needs for `DISTANCE`, so that it does not catch up meanwhile.
            std::thread::sleep(Duration::from_micros(100));
            continue;
        }
        let here = source.from(next).bytes();
        // Zeros between binaries, or damage. This thread only guesses where binaries are; the
        // reader, which knows, goes on without it.
        let Some(rest) = here.strip_prefix(&MAGIC) else {
            return;
        };
        // One byte of each line of the cache brings in all of it. `black_box` keeps the compiler
        // from leaving out loads whose result nobody uses.
        let looked_at = here.iter().take(LOOKED_AT).step_by(64);
        black_box(looked_at.fold(0_u8, |all, byte| all | byte));
        let size = rest.get(4..12).and_then(|field| field.try_into().ok());
        let Some(size) = size.map(u64::from_le_bytes).filter(|size| *size > 0) else {
            return;
        };
        next = align_to_8(next.saturating_add(size));
    }
}
