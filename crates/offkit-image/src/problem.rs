//! What is wrong with a file that was read nevertheless.

use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::location::Location;

/// Something wrong with a file that was read nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The container or image that is concerned.
    pub location: Location,
    /// What is wrong.
    pub error: Error,
}

impl Problem {
    /// Something wrong there.
    #[must_use]
    pub fn new(location: Location, error: Error) -> Self {
        Self { location, error }
    }

    /// A file that could not be read, such as a member of a thin archive.
    #[must_use]
    pub fn of_member(location: Location, reason: &dyn std::error::Error) -> Self {
        // An `Error` has no cause of its own: what is not in the text is lost.
        let mut message = reason.to_string();
        let mut next = reason.source();
        while let Some(cause) = next {
            message = format!("{message}: {cause}");
            next = cause.source();
        }
        let error = Error::new(ErrorKind::OutOfBounds, message);
        Self { location, error }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.error)
    }
}
