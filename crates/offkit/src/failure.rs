//! How the program fails: a message, what led to it, what to do next, and an exit code.

use std::error::Error;
use std::fmt;

use offkit_host::causes;

/// What the exit code tells scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// The answer is no: a comparison found a difference.
    No = 1,
    /// The input or the usage is wrong.
    Input = 2,
    /// The machine lacks something: LLVM, a device.
    Machine = 3,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: ExitStatus,
    error: Box<dyn Error + Send + Sync>,
    hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(status: ExitStatus, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            status,
            error: error.into(),
            hints: Vec::new(),
        }
    }

    /// The input or the usage is wrong.
    pub(crate) fn input(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(ExitStatus::Input, error)
    }

    /// Adds a line that says what to do next.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What to do next, line by line.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// The causes behind the error, nearest first.
    pub(crate) fn causes(&self) -> Vec<String> {
        causes(&*self.error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read `{name}`")]
    struct Outer {
        name: &'static str,
        source: std::io::Error,
    }

    #[test]
    fn causes_are_told_once() {
        let source = std::io::Error::other("the disk is on fire");
        let failure = Failure::input(Outer {
            name: "a.syclbin",
            source,
        })
        .hint("fetch water");
        assert_eq!(failure.to_string(), "cannot read `a.syclbin`");
        assert_eq!(failure.causes(), ["the disk is on fire"]);
        assert_eq!(failure.hints(), ["fetch water"]);
    }
}
