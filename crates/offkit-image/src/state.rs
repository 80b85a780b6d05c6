//! The states of a kernel bundle.

use std::fmt;

/// The state of a kernel bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BundleState {
    /// 0: to be compiled and linked.
    Input,
    /// 1: compiled, to be linked.
    Object,
    /// 2: ready to run.
    Executable,
}

impl BundleState {
    /// The state with a number.
    #[must_use]
    pub fn from_raw(raw: u32) -> Option<Self> {
        match raw {
            0 => Some(Self::Input),
            1 => Some(Self::Object),
            2 => Some(Self::Executable),
            _ => None,
        }
    }

    /// The number in the file.
    #[must_use]
    pub fn raw(self) -> u32 {
        match self {
            Self::Input => 0,
            Self::Object => 1,
            Self::Executable => 2,
        }
    }

    /// The name as the SYCL specification has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Object => "object",
            Self::Executable => "executable",
        }
    }
}

impl fmt::Display for BundleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
