//! What can go wrong while a kernel runs, and the message about it.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use super::argument::ArgumentError;
use crate::memory::Violation;

/// Why a work-item could not go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Access(Violation),
    /// `OpUnreachable` was reached.
    Unreachable,
    /// Open calls.
    CallDepth(usize),
    /// The limit in bytes.
    PrivateMemory(usize),
    /// The limit in instructions.
    InstructionLimit(u64),
    Cancelled,
    /// Another work-item failed.
    Stopped,
    /// Something that the standard leaves undefined.
    Undefined(String),
    /// Work-items of a group wait for others that will not come.
    Divergence(String),
}

impl Fault {
    /// The text of a printf wasn't taken.
    pub(crate) fn of_print(error: std::io::Error) -> Fault {
        Fault::Undefined(format!("printf cannot write: {error}"))
    }

    /// A store to the null pointer.
    pub(crate) fn nowhere() -> Fault {
        Fault::Undefined("store to the null pointer".to_owned())
    }

    /// A call by an address that no function of the call's type has.
    pub(crate) fn no_function() -> Fault {
        Fault::Undefined("call through a pointer to no function of its type in the program".to_owned())
    }

    /// A stack has no room for one more call.
    pub(crate) fn overflow() -> Fault {
        Fault::Undefined("stack overflow: too many calls are open".to_owned())
    }
}

// Without words yet: what an access was near is looked up once, when the launch has failed.
impl From<Violation> for Fault {
    fn from(violation: Violation) -> Fault {
        Fault::Access(violation)
    }
}

/// Why a launch failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The program has no kernel of that name.
    #[error("the program has no kernel `{name}`; it has: {}", .available.join(", "))]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// The kernels that are there.
        available: Vec<String>,
    },
    /// More or fewer arguments than parameters.
    #[error("kernel `{kernel}` takes {expected} arguments, {found} are given")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Its parameters.
        expected: usize,
        /// The arguments given.
        found: usize,
    },
    /// An argument of the wrong kind or size.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The range of work-items is not one that can be launched.
    #[error("kernel `{kernel}` cannot be launched over this range: {reason}")]
    Range {
        /// The kernel.
        kernel: String,
        /// What is wrong with the range.
        reason: String,
    },
    /// More local memory than there is.
    #[error("kernel `{kernel}` needs {needed} bytes of local memory, there are {available}")]
    LocalMemory {
        /// The kernel.
        kernel: String,
        /// Bytes needed, variables and arguments together.
        needed: u64,
        /// Bytes there are.
        available: u64,
    },
    /// The host has no memory for a work-group's.
    #[error(
        "kernel `{kernel}` needs {needed} bytes of memory for a work-group, which cannot be had now: use smaller work-groups"
    )]
    Memory {
        /// The kernel.
        kernel: String,
        /// Bytes needed, local memory and what work-items have for themselves.
        needed: u64,
    },
    /// A work-item did something that it must not: an access out of bounds, for one.
    #[error("{0}")]
    Kernel(Box<KernelFault>),
    /// Not all work-items of a group reached a barrier or another operation of the whole group.
    #[error("kernel `{kernel}`, work-group {group:?}: {what}")]
    Divergence {
        /// The kernel.
        kernel: String,
        /// The work-group's id.
        group: [u64; 3],
        /// Who waits where.
        what: String,
    },
    /// The limit of instructions was reached.
    #[error("kernel `{kernel}` executed more than {limit} instructions")]
    InstructionLimit {
        /// The kernel.
        kernel: String,
        /// The limit.
        limit: u64,
    },
    /// The caller asked to stop.
    #[error("kernel `{kernel}` was cancelled after {after:.1?} in {}", named(groups))]
    Cancelled {
        /// The kernel.
        kernel: String,
        /// How long it had been running.
        after: Duration,
        /// The ids of the first and the last work-group of those that were executed as one, of which one was running.
        groups: [[u64; 3]; 2],
    },
}

fn named([first, last]: &[[u64; 3]; 2]) -> String {
    match first == last {
        true => format!("work-group {first:?}"),
        false => format!("one of the work-groups {first:?} to {last:?}"),
    }
}

/// What a work-item did, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelFault {
    /// The kernel.
    pub kernel: String,
    /// What happened.
    pub what: String,
    /// The work-item's global id.
    pub global_id: [u64; 3],
    /// Its id in its work-group.
    pub local_id: [u64; 3],
    /// The id of its work-group.
    pub group_id: [u64; 3],
    /// The function, and the line of the source where the module tells it.
    pub location: String,
    /// The address of the access, where it was one.
    pub address: Option<u64>,
}

impl Display for KernelFault {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let KernelFault {
            kernel,
            what,
            global_id,
            local_id,
            group_id,
            location,
            ..
        } = self;
        write!(
            formatter,
            "kernel `{kernel}`: {what}; work-item {global_id:?} (local id {local_id:?} of work-group {group_id:?}), {location}"
        )
    }
}
