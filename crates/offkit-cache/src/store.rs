//! Places that keep entries.

use std::fmt::Debug;
use std::io;

/// A place that keeps bytes by names. Nobody believes what comes out of it: entries are checked by who reads them.
pub trait Store: Debug + Send + Sync {
    /// What is there by a name.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::NotFound`] if there is nothing, or why it cannot be read.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Puts something there, in the place of what was there.
    ///
    /// # Errors
    ///
    /// Why it cannot be written.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Puts it there if nothing is there by that name, and says whether: of any number of machines that do so at once, one
    /// alone is told `true`. A store that cannot promise that says where it does not.
    ///
    /// # Errors
    ///
    /// Why it cannot be written, other than that something is there.
    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<bool>;

    /// Takes it away, if it is there.
    ///
    /// # Errors
    ///
    /// Why it is still there.
    fn remove(&self, name: &str) -> io::Result<()>;
}
