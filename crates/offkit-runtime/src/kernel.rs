//! Kernels and their arguments.

use std::fmt;

use offkit_pi::NdRange;
use offkit_pi::host::{Buffer, Event, PiError, Queue};
use offkit_spirv::{ArgumentKind, Scalar, Storage};

/// A kernel that can be launched on the device it was built for.
#[derive(Debug)]
pub struct Kernel {
    kernel: offkit_pi::host::Kernel,
    name: String,
    description: Option<offkit_spirv::Kernel>,
}

/// What is passed for one argument.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// A number, a vector of numbers, or anything else by its bytes, little endian.
    Value {
        /// The bytes.
        bytes: &'a [u8],
        /// What the caller takes them for.
        value: ValueType,
    },
    /// Device memory.
    Buffer(&'a Buffer),
    /// A pointer to nothing: any access through it is an error.
    Null,
    /// So many bytes of memory for each work-group.
    Local(usize),
}

/// What is passed for one argument, without the thing itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// A number, a vector of numbers, or anything else by its bytes.
    Value {
        /// Its size in bytes.
        size: usize,
        /// What the caller takes it for.
        value: ValueType,
    },
    /// Device memory, or a pointer to nothing.
    Buffer,
    /// So many bytes of memory for each work-group.
    Local(usize),
}

impl From<&Argument<'_>> for Given {
    fn from(argument: &Argument<'_>) -> Self {
        match argument {
            Argument::Value { bytes, value } => Self::Value {
                size: bytes.len(),
                value: *value,
            },
            Argument::Buffer(_) | Argument::Null => Self::Buffer,
            Argument::Local(size) => Self::Local(*size),
        }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueType {
    /// Integers of either sign.
    Integer {
        /// The size of one in bits.
        bits: u32,
        /// How many: 1 for a number, else a vector.
        components: u32,
    },
    /// Floating-point numbers.
    Float {
        /// The size of one in bits.
        bits: u32,
        /// How many: 1 for a number, else a vector.
        components: u32,
    },
    /// A struct, or a type the caller does not know: only its size counts.
    Bytes,
}

/// The arguments do not fit the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// There are too many or too few.
    #[error("kernel `{kernel}` takes {expected} arguments, {found} given: {signature}")]
    Count {
        /// The kernel.
        kernel: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        found: usize,
        /// What it takes.
        signature: String,
    },
    /// One is of another kind, type or size.
    #[error("argument {index} of kernel `{kernel}` is {expected}, given {found}: {signature}")]
    Mismatch {
        /// The kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// What it takes.
        expected: String,
        /// What was given.
        found: String,
        /// All that it takes.
        signature: String,
    },
}

/// A kernel cannot be launched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The arguments do not fit.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The device refuses or fails.
    #[error("kernel `{kernel}` failed")]
    Device {
        /// The kernel.
        kernel: String,
        /// What the device says.
        source: PiError,
    },
}

impl Kernel {
    pub(crate) fn new(
        kernel: offkit_pi::host::Kernel,
        name: String,
        description: Option<offkit_spirv::Kernel>,
    ) -> Self {
        Self {
            kernel,
            name,
            description,
        }
    }

    /// The kernel's name as it stands in its image.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its arguments are, if the image says so.
    pub fn description(&self) -> Option<&offkit_spirv::Kernel> {
        self.description.as_ref()
    }

    /// The kernel as the plugin interface has it.
    pub fn pi(&self) -> &offkit_pi::host::Kernel {
        &self.kernel
    }

    /// Sets all arguments, in order.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Argument`] for arguments that do not fit what the image says about the kernel,
    /// before the device sees any; [`LaunchError::Device`] for what the device refuses.
    pub fn set_arguments(&mut self, arguments: &[Argument<'_>]) -> Result<(), LaunchError> {
        if let Some(description) = &self.description {
            check_arguments(
                description,
                &arguments.iter().map(Given::from).collect::<Vec<_>>(),
            )?;
        }
        for (index, argument) in (0..).zip(arguments) {
            let set = match argument {
                Argument::Value { bytes, .. } => self.kernel.set_arg_bytes(index, bytes),
                Argument::Buffer(buffer) => self.kernel.set_arg_buffer(index, buffer),
                Argument::Null => self.kernel.set_arg_pointer(index, 0),
                Argument::Local(size) => self.kernel.set_arg_local(index, *size),
            };
            set.map_err(|source| self.failed(source))?;
        }
        Ok(())
    }

    /// Submits a launch with the arguments set last.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Device`] if the device refuses. That the kernel failed is told by its event:
    /// [`Kernel::wait`].
    pub fn launch(&self, queue: &Queue, range: &NdRange, wait: &[&Event]) -> Result<Event, LaunchError> {
        queue
            .launch(&self.kernel, range, wait)
            .map_err(|source| self.failed(source))
    }

    /// Waits until a launch is done.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Device`] if the kernel failed: an access out of bounds, say.
    pub fn wait(&self, launch: &Event) -> Result<(), LaunchError> {
        launch.wait().map_err(|source| self.failed(source))
    }

    fn failed(&self, source: PiError) -> LaunchError {
        LaunchError::Device {
            kernel: self.name.clone(),
            source,
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value {
                value: ValueType::Integer { bits, components: 1 },
                ..
            } => write!(f, "i{bits}"),
            Self::Value {
                value: ValueType::Float { bits, components: 1 },
                ..
            } => write!(f, "f{bits}"),
            Self::Value {
                value: ValueType::Integer { bits, components },
                ..
            } => write!(f, "i{bits}x{components}"),
            Self::Value {
                value: ValueType::Float { bits, components },
                ..
            } => write!(f, "f{bits}x{components}"),
            Self::Value {
                size,
                value: ValueType::Bytes,
            } => write!(f, "a value of {size} bytes"),
            Self::Buffer => f.write_str("a buffer"),
            Self::Local(size) => write!(f, "{size} bytes of local memory"),
        }
    }
}

/// Checks that arguments fit a kernel in number, kind and size.
///
/// # Errors
///
/// The first that does not fit, with all that the kernel takes.
pub fn check_arguments(kernel: &offkit_spirv::Kernel, arguments: &[Given]) -> Result<(), ArgumentError> {
    if kernel.arguments.len() != arguments.len() {
        return Err(ArgumentError::Count {
            kernel: kernel.name.clone(),
            expected: kernel.arguments.len(),
            found: arguments.len(),
            signature: signature(kernel),
        });
    }
    for (index, (expected, given)) in kernel.arguments.iter().zip(arguments).enumerate() {
        if !fits(expected, *given) {
            return Err(ArgumentError::Mismatch {
                kernel: kernel.name.clone(),
                index,
                expected: describe(expected),
                found: given.to_string(),
                signature: signature(kernel),
            });
        }
    }
    Ok(())
}

fn fits(expected: &offkit_spirv::Argument, given: Given) -> bool {
    match (&expected.kind, given) {
        (
            ArgumentKind::Pointer {
                storage: Storage::Local,
                ..
            },
            Given::Local(_),
        ) => true,
        (ArgumentKind::Pointer { storage, .. }, Given::Buffer) => *storage != Storage::Local,
        (ArgumentKind::Scalar(scalar), Given::Value { size, value }) => {
            number_fits(*scalar, 1, value, size, expected)
        }
        (ArgumentKind::Vector { component, count }, Given::Value { size, value }) => {
            number_fits(*component, *count, value, size, expected)
        }
        (ArgumentKind::ByValue { .. } | ArgumentKind::Struct { .. }, Given::Value { size, value }) => {
            value == ValueType::Bytes && size as u64 == expected.size
        }
        // What this runtime knows nothing about is for the device to judge.
        (ArgumentKind::Other(_), _) => true,
        _ => false,
    }
}

/// Whether a value is `count` numbers of that type. Integers carry no sign in SPIR-V.
fn number_fits(
    scalar: Scalar,
    count: u32,
    value: ValueType,
    size: usize,
    expected: &offkit_spirv::Argument,
) -> bool {
    match (scalar, value) {
        (_, ValueType::Bytes) => size as u64 == expected.size,
        (Scalar::Int { width }, ValueType::Integer { bits, components })
        | (Scalar::Float { width }, ValueType::Float { bits, components }) => {
            width == bits && count == components
        }
        _ => false,
    }
}

/// A kernel's name and arguments, `saxpy(f32, global f32*, global f32*)`.
pub fn signature(kernel: &offkit_spirv::Kernel) -> String {
    let arguments: Vec<_> = kernel.arguments.iter().map(describe).collect();
    format!("{}({})", kernel.name, arguments.join(", "))
}

fn describe(argument: &offkit_spirv::Argument) -> String {
    match &argument.kind {
        ArgumentKind::Pointer { storage, pointee } => {
            let storage = match storage {
                Storage::Global => "global",
                Storage::Constant => "constant",
                Storage::Local => "local",
                Storage::Generic => "generic",
            };
            let read_only = if argument.read_only && storage == "global" {
                "const "
            } else {
                ""
            };
            format!("{storage} {read_only}{}*", pointee.name)
        }
        ArgumentKind::ByValue { value } | ArgumentKind::Struct { value } => {
            format!("{} of {} bytes", value.name, argument.size)
        }
        ArgumentKind::Scalar(scalar) => scalar.to_string(),
        ArgumentKind::Vector { component, count } => format!("{component}x{count}"),
        ArgumentKind::Image { .. } => "an image".to_owned(),
        ArgumentKind::Sampler => "a sampler".to_owned(),
        ArgumentKind::Pipe => "a pipe".to_owned(),
        ArgumentKind::Event | ArgumentKind::DeviceEvent => "an event".to_owned(),
        ArgumentKind::Queue => "a queue".to_owned(),
        ArgumentKind::Other(name) => name.clone(),
        _ => "of a kind that this version does not know".to_owned(),
    }
}
