//! Kernels and their arguments.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use offkit_image::DeviceImage;
use offkit_image::property_set::{PropertyValue, names};
use offkit_pi::NdRange;
use offkit_pi::host::{Argument, Event, PiError, Queue, ValueType};
use offkit_spirv::{Parameter, ParameterKind, Scalar, Storage};

/// How long a device has to stop a kernel and say where it was.
const GRACE: Duration = Duration::from_secs(2);

/// A kernel that can be launched on the device it was built for.
///
/// Its arguments are those of one launch at a time, so a launch takes it for itself; another thread launches a
/// [`duplicate`](Self::duplicate).
#[derive(Debug)]
pub struct Kernel {
    kernel: offkit_pi::host::Kernel,
    name: String,
    description: Option<offkit_spirv::Kernel>,
    /// Whether it finds addresses in memory.
    indirect: bool,
    /// Which of the arguments in its source the compiler dropped.
    dropped: Arc<[bool]>,
    /// Memory that its program has the addresses of.
    memory: Option<Arc<dyn Any + Send + Sync>>,
}

/// The arguments do not fit the kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// There are too many or too few.
    #[error("kernel `{kernel}` takes {expected} arguments, {given} given: {signature}")]
    Count {
        /// The kernel.
        kernel: String,
        /// How many it takes.
        expected: usize,
        /// How many there are.
        given: usize,
        /// What it takes.
        signature: String,
    },
    /// One is memory with elements of another type than what the kernel's pointer points to.
    #[error(
        "{} of kernel `{kernel}` points to {pointee}, given {given}: {signature}", .parameter.label(*.index)
    )]
    Elements {
        /// The kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// What the kernel declares for it.
        parameter: Box<Parameter>,
        /// What it points to.
        pointee: String,
        /// What was given.
        given: String,
        /// All that the kernel takes.
        signature: String,
    },
    /// One is of another kind, type or size.
    #[error("{} of kernel `{kernel}` is {parameter}, given {given}: {signature}", .parameter.label(*.index))]
    Mismatch {
        /// The kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// What the kernel declares for it.
        parameter: Box<Parameter>,
        /// What was given.
        given: String,
        /// All that the kernel takes.
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
    /// The launch took too long, and was stopped.
    #[error("kernel `{kernel}` was not done within {limit:?}")]
    TimedOut {
        /// The kernel.
        kernel: String,
        /// How long it was waited for.
        limit: Duration,
        /// What the device says about where it was.
        source: Option<PiError>,
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
            indirect: false,
            dropped: Arc::default(),
            memory: None,
        }
    }

    /// The same kernel, which takes arguments as its source has them as well: its image says which of them are not there.
    pub(crate) fn without_dropped(mut self, image: &DeviceImage<'_>) -> Self {
        let bits = image
            .properties
            .get(names::KERNEL_PARAMETER_OPTIMIZATION, &self.name);
        if let Some(PropertyValue::Bytes(bits)) = bits {
            let each = bits
                .bytes()
                .iter()
                // As `sycl-post-link` writes it: a bit for each argument, the lowest first.
                .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
            let count = usize::try_from(bits.bits()).unwrap_or(usize::MAX);
            self.dropped = each.take(count).collect();
        }
        self
    }

    /// The same kernel, which keeps memory that it reaches through addresses in its program's variables.
    pub(crate) fn reaching(mut self, memory: Arc<dyn Any + Send + Sync>) -> Result<Self, PiError> {
        self.kernel.set_indirect_access(true)?;
        self.indirect = true;
        self.memory = Some(memory);
        Ok(self)
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

    /// The same kernel once more, with arguments of its own.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Device`] if the device refuses.
    pub fn duplicate(&self) -> Result<Self, LaunchError> {
        let kernel = self.kernel.program().kernel(&self.name);
        let kernel = kernel.map_err(|source| self.failed(source))?;
        let mut duplicate = Self {
            dropped: Arc::clone(&self.dropped),
            memory: self.memory.clone(),
            ..Self::new(kernel, self.name.clone(), self.description.clone())
        };
        // Said to the plugin again: it notes this of a kernel, and not of its program.
        if self.indirect {
            duplicate.set_indirect_access(true)?;
        }
        Ok(duplicate)
    }

    /// Says whether launches from now on find addresses of unified shared memory in memory, and not only among their
    /// arguments.
    ///
    /// A kernel whose program has device globals in such memory always does, whatever is said here: its code reaches them
    /// through addresses that the runtime has stored.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Device`] if the device refuses.
    pub fn set_indirect_access(&mut self, indirect: bool) -> Result<(), LaunchError> {
        let reaches = indirect || self.memory.is_some();
        let set = self.kernel.set_indirect_access(reaches);
        set.map_err(|source| self.failed(source))?;
        self.indirect = reaches;
        Ok(())
    }

    /// Submits a launch with these arguments, in order, for when the events in `wait` are done.
    ///
    /// Arguments that the compiler found unused and dropped may be given as well, all of them or none: they are left out.
    ///
    /// The launch keeps its arguments, and the memory among them: these may be dropped, and the next launch submitted,
    /// before it is done.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Argument`] for arguments that do not fit what the image says about the kernel, before the device
    /// sees any; [`LaunchError::Device`] for what the device refuses. That the kernel failed is told by its event:
    /// [`Kernel::wait`].
    pub fn launch(
        &mut self,
        queue: &Queue,
        range: &NdRange,
        arguments: &[Argument],
        wait: &[&Event],
    ) -> Result<Event, LaunchError> {
        let remaining: Vec<Argument>;
        let arguments = match arguments.len() == self.count_in_source() {
            false => arguments,
            true => {
                // The list may end before the arguments do: what is behind its end was not dropped.
                let all = arguments
                    .iter()
                    .zip(self.dropped.iter().chain(std::iter::repeat(&false)));
                remaining = all
                    .filter(|(_, dropped)| !**dropped)
                    .map(|(argument, _)| argument.clone())
                    .collect();
                &remaining
            }
        };
        if let Some(description) = &self.description {
            check_arguments(description, arguments)?;
        }
        let set = (0..)
            .zip(arguments)
            .try_for_each(|(index, argument)| self.kernel.set_argument(index, argument.clone()));
        let launched = set.and_then(|()| queue.launch(&self.kernel, range, wait));
        launched.map_err(|source| self.failed(source))
    }

    /// How many arguments the kernel has in its source. The list of those that were dropped may be longer: some compilers
    /// write whole bytes.
    fn count_in_source(&self) -> usize {
        let dropped = self.dropped.iter().filter(|dropped| **dropped).count();
        match &self.description {
            Some(description) => description.parameters.len() + dropped,
            None => self.dropped.len(),
        }
    }

    /// Waits until a launch is done.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Device`] if the kernel failed: an access out of bounds, say.
    pub fn wait(&self, launch: &Event) -> Result<(), LaunchError> {
        launch.wait().map_err(|source| self.failed(source))
    }

    /// Waits until a launch is done, and asks the device to stop it once that took longer than `limit`. One that the
    /// device cannot stop is left to itself.
    ///
    /// # Errors
    ///
    /// [`LaunchError::TimedOut`], and as for [`wait`](Self::wait).
    pub fn wait_for(&self, launch: &Event, limit: Duration) -> Result<(), LaunchError> {
        if launch.wait_for(limit).map_err(|source| self.failed(source))? {
            return Ok(());
        }
        // An error says where the kernel was when it was stopped, or why it could not be.
        let stopped = launch.cancel().and_then(|()| launch.wait_for(GRACE));
        Err(LaunchError::TimedOut {
            kernel: self.name.clone(),
            limit,
            source: stopped.err(),
        })
    }

    fn failed(&self, source: PiError) -> LaunchError {
        LaunchError::Device {
            kernel: self.name.clone(),
            source,
        }
    }
}

/// Checks that arguments fit what a kernel declares in number, kind and size, and memory in the type of its elements.
///
/// [`Kernel::launch`] does so. Programs that have the arguments before they have a device, and nothing
/// but a file's name for a buffer, say, can ask early.
///
/// # Errors
///
/// The first that does not fit, with all that the kernel takes.
pub fn check_arguments<M>(
    kernel: &offkit_spirv::Kernel,
    arguments: &[Argument<M>],
) -> Result<(), ArgumentError> {
    if kernel.parameters.len() != arguments.len() {
        return Err(ArgumentError::Count {
            kernel: kernel.name.clone(),
            expected: kernel.parameters.len(),
            given: arguments.len(),
            signature: kernel.signature(),
        });
    }
    for (index, (parameter, argument)) in kernel.parameters.iter().zip(arguments).enumerate() {
        if !fits(parameter, argument) {
            return Err(ArgumentError::Mismatch {
                kernel: kernel.name.clone(),
                index,
                parameter: Box::new(parameter.clone()),
                given: given(parameter, argument),
                signature: kernel.signature(),
            });
        }
        if let (
            ParameterKind::Pointer { pointee, .. },
            Argument::Buffer { element, .. } | Argument::Usm { element, .. },
        ) = (&parameter.kind, argument)
            && !may_be(*element, &pointee.name)
        {
            return Err(ArgumentError::Elements {
                kernel: kernel.name.clone(),
                index,
                parameter: Box::new(parameter.clone()),
                pointee: pointee.name.clone(),
                given: argument.to_string(),
                signature: kernel.signature(),
            });
        }
    }
    Ok(())
}

/// Whether elements may be what a pointer to `pointee` points to: `f32` for `f32` and `f32x4`, any 32-bit integer for
/// `i32`.
///
/// The compiler guesses what a pointer points to from how it is used, and takes bytes where it does not know: everything
/// is let through as bytes, and as what is no number.
fn may_be(element: ValueType, pointee: &str) -> bool {
    let component = pointee.split('x').next().unwrap_or(pointee);
    let number = component.split_at_checked(1);
    let number = number.and_then(|(letter, bits)| Some((letter, bits.parse::<u32>().ok()?)));
    match (number, element) {
        (Some(("i", 8)), _) | (_, ValueType::Bytes) => true,
        (Some(("i", width)), ValueType::Integer { bits, .. })
        | (Some(("f", width)), ValueType::Float { bits, .. }) => bits == width,
        (Some(("i" | "f", _)), _) => false,
        _ => true,
    }
}

/// What messages call an argument that does not fit: where only the size can be wrong, with the right one.
fn given<M>(parameter: &Parameter, argument: &Argument<M>) -> String {
    let of_bytes = matches!(
        argument,
        Argument::Value {
            value_type: ValueType::Bytes,
            ..
        }
    );
    match &parameter.kind {
        ParameterKind::Scalar(_) | ParameterKind::Vector { .. } if of_bytes => {
            format!("{argument} instead of {}", parameter.size)
        }
        _ => argument.to_string(),
    }
}

fn fits<M>(parameter: &Parameter, argument: &Argument<M>) -> bool {
    match (&parameter.kind, argument) {
        (
            ParameterKind::Pointer {
                storage: Storage::Local,
                ..
            },
            _,
        ) => matches!(argument, Argument::Local(_)),
        (ParameterKind::Pointer { .. }, _) => matches!(
            argument,
            Argument::Buffer { .. } | Argument::Usm { .. } | Argument::Address(_)
        ),
        (ParameterKind::Scalar(scalar), Argument::Value { bytes, value_type }) => {
            is_value(*value_type, bytes, *scalar, 1, parameter.size)
        }
        (ParameterKind::Vector { component, count }, Argument::Value { bytes, value_type }) => {
            is_value(*value_type, bytes, *component, *count, parameter.size)
        }
        (
            ParameterKind::ByValue { .. } | ParameterKind::Struct { .. },
            Argument::Value {
                bytes,
                value_type: ValueType::Bytes,
            },
        ) => bytes.len() as u64 == parameter.size,
        // What this runtime knows nothing about is for the device to judge.
        (ParameterKind::Other(_), _) => true,
        _ => false,
    }
}

/// Whether a value is `count` numbers of that type. Integers carry no sign in SPIR-V.
fn is_value(value: ValueType, bytes: &[u8], scalar: Scalar, count: u32, size: u64) -> bool {
    match (scalar, value) {
        (_, ValueType::Bytes) => bytes.len() as u64 == size,
        (Scalar::Int { width }, ValueType::Integer { bits, components })
        | (Scalar::Float { width }, ValueType::Float { bits, components }) => {
            width == bits && count == components
        }
        _ => false,
    }
}
