//! Places that keep entries.

use std::fmt::Debug;
use std::io;

use crate::key::Digest;

/// A place that keeps entries as bytes. Nobody believes what comes out of it: entries are checked by who reads them.
pub trait Store: Debug + Send + Sync {
    /// What is there by a name.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] if there is nothing, or why it cannot be read.
    fn read(&self, name: Digest) -> io::Result<Vec<u8>>;

    /// Puts something there as a whole: nobody ever sees a part of it under that name.
    ///
    /// # Errors
    ///
    /// Why it cannot be written.
    fn write(&self, name: Digest, bytes: &[u8]) -> io::Result<()>;

    /// Takes it away, if it is there.
    ///
    /// # Errors
    ///
    /// Why it is still there.
    fn remove(&self, name: Digest) -> io::Result<()>;
}
