//! Large files that take little memory: pages of what was passed are given back, and what comes out of large members goes
//! to temporary files.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::LazyLock;

use offkit_host::files::{self, Content};
use offkit_object::{Kept, Memory, Outside};

/// A file that is gone through.
pub(super) struct Mapped<'c>(pub(super) &'c Content);

impl Memory for Mapped<'_> {
    fn passed(&self, range: Range<usize>) {
        self.0.release(range);
    }

    fn has_outside(&self) -> bool {
        // Every large member asks: one file that is made and dropped answers for all.
        static IS_THERE: LazyLock<bool> = LazyLock::new(|| files::scratch().is_ok());
        *IS_THERE
    }

    fn outside(&self) -> Option<Box<dyn Outside>> {
        let file = files::scratch().ok()?;
        Some(Box::new(Scratch(file)))
    }
}

/// A temporary file that is written.
struct Scratch(File);

impl Write for Scratch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Outside for Scratch {
    fn finish(self: Box<Self>) -> io::Result<Box<dyn Kept>> {
        files::map_any(&self.0).map(|content| Box::new(Written(content)) as Box<dyn Kept>)
    }
}

/// A temporary file that was written.
struct Written(Content);

impl Memory for Written {
    fn passed(&self, range: Range<usize>) {
        self.0.release(range);
    }
}

impl Kept for Written {
    fn bytes(&self) -> &[u8] {
        &self.0
    }
}
