//! What a kernel is given, and whether it fits what the kernel declares.

use std::fmt::{self, Display, Formatter};

use offkit_spirv::{Parameter, ParameterKind, Storage};

use super::fault::LaunchError;
use super::program::{KernelInfo, MAX_LOCAL_MEMORY};

/// An argument of a launch, as the interpreter sees it: no handles, and nothing borrowed, for a launch runs
/// when the call that gave its arguments has long returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A value: the bytes of a scalar, vector or struct as they lie in memory, little-endian.
    Bytes(Vec<u8>),
    /// An address in global memory.
    Pointer(u64),
    /// So many bytes of local memory.
    Local(usize),
}

impl Display for Argument {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Bytes(bytes) => write!(formatter, "a value of {} bytes", bytes.len()),
            Argument::Pointer(address) => write!(formatter, "the address {address:#x}"),
            Argument::Local(size) => write!(formatter, "{size} bytes of local memory"),
        }
    }
}

/// An argument that fits its parameter: [`KernelInfo::check`] is the only way to one.
#[derive(Clone, Debug)]
pub(crate) struct CheckedArgument(Argument);

impl CheckedArgument {
    pub(super) fn get(&self) -> &Argument {
        &self.0
    }

    pub(super) fn into_inner(self) -> Argument {
        self.0
    }
}

/// An argument does not fit the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// There is no such argument.
    #[error("kernel `{kernel}` takes {count} arguments: there is no argument {index}")]
    Index {
        /// The kernel.
        kernel: String,
        /// How many it takes.
        count: usize,
        /// Number of the argument, from 0.
        index: usize,
    },
    /// It is of another kind or size.
    #[error(
        "{} of kernel `{kernel}` is {parameter}: it takes {}, given {given}",
        .parameter.label(*.index),
        .parameter.expects()
    )]
    Mismatch {
        /// The kernel.
        kernel: String,
        /// Number of the argument, from 0.
        index: usize,
        /// What the kernel declares.
        parameter: Box<Parameter>,
        /// What was given.
        given: String,
        /// The kind is right, and only the size is not.
        only_size: bool,
    },
}

impl KernelInfo {
    /// Checks an argument against what the kernel declares; `given` is what messages call it.
    pub(crate) fn check(
        &self,
        index: usize,
        argument: Argument,
        given: &dyn Display,
    ) -> Result<CheckedArgument, ArgumentError> {
        let kernel = || self.name.clone();
        let Some(parameter) = self.parameters.get(index) else {
            return Err(ArgumentError::Index {
                kernel: kernel(),
                count: self.parameters.len(),
                index,
            });
        };
        let (right_kind, right_size) = match (&parameter.kind, &argument) {
            (
                ParameterKind::Pointer {
                    storage: Storage::Local,
                    ..
                },
                given,
            ) => (matches!(given, Argument::Local(_)), *given != Argument::Local(0)),
            (ParameterKind::Pointer { .. }, given) => (matches!(given, Argument::Pointer(_)), true),
            // A program is built only if all other parameters are values.
            (_, Argument::Bytes(bytes)) => (true, bytes.len() as u64 == parameter.size),
            _ => (false, true),
        };
        if right_kind && right_size {
            return Ok(CheckedArgument(argument));
        }
        Err(ArgumentError::Mismatch {
            kernel: kernel(),
            index,
            parameter: Box::new(parameter.clone()),
            given: given.to_string(),
            only_size: right_kind,
        })
    }

    /// Checks that a work-group finds room for its variables and arguments in local memory.
    pub(crate) fn check_local_memory(&self, arguments: &[CheckedArgument]) -> Result<(), LaunchError> {
        let sizes = arguments.iter().map(|argument| match argument.get() {
            Argument::Local(size) => *size as u64,
            Argument::Bytes(_) | Argument::Pointer(_) => 0,
        });
        let needed = sizes.fold(self.local_memory, u64::saturating_add);
        if needed <= MAX_LOCAL_MEMORY {
            return Ok(());
        }
        Err(LaunchError::LocalMemory {
            kernel: self.name.clone(),
            needed,
            available: MAX_LOCAL_MEMORY,
        })
    }
}
