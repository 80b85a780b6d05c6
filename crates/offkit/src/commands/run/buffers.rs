//! Kernel arguments as data: read from files, copied to the device and back.

use std::convert::Infallible;

use offkit_pi::host::{Context, PiError, Queue};
use offkit_runtime::{Argument, Buffer, check_arguments};

use super::arguments::ArraySource;
use super::array_file::read_array;
use crate::array::{Array, ElementType, memory};
use crate::failure::Failure;

/// The arguments of one launch, with arrays for the buffers they will be given to the device in.
pub(super) struct Arguments(Vec<Argument<Array>>);

/// What it takes to make a buffer of zeros without asking for more than the machine has.
const MAX_BUFFER_BYTES: u64 = 1 << 40;

impl Arguments {
    /// Reads the arrays that the arguments name.
    pub(super) fn read(arguments: &[Argument<ArraySource>]) -> Result<Self, Failure> {
        let arrays = arguments.iter().map(|argument| {
            argument.with_memory(|source| {
                let array = match source {
                    ArraySource::File(path) => read_array(path).map_err(Failure::input)?,
                    ArraySource::Zeros { element, shape } => zeros(*element, shape)?,
                };
                Ok(Argument::Buffer {
                    element: array.element.value_type(1),
                    memory: array,
                })
            })
        });
        arrays.collect::<Result<_, Failure>>().map(Self)
    }

    /// Checks that the arguments fit the kernel.
    pub(super) fn check(&self, kernel: &offkit_spirv::Kernel) -> Result<(), Failure> {
        check_arguments(kernel, &self.0).map_err(Failure::input)
    }

    /// The array of that argument, if it is a buffer.
    pub(super) fn array(&self, index: usize) -> Option<&Array> {
        match self.0.get(index) {
            Some(Argument::Buffer { memory, .. }) => Some(memory),
            _ => None,
        }
    }

    /// The buffers that the kernel may write; all of them if nothing is known about it.
    pub(super) fn writable(&self, kernel: Option<&offkit_spirv::Kernel>) -> Vec<usize> {
        let read_only = |index: usize| {
            kernel
                .and_then(|kernel| kernel.parameters.get(index))
                .is_some_and(|parameter| parameter.read_only)
        };
        (0..self.0.len())
            .filter(|&index| self.array(index).is_some() && !read_only(index))
            .collect()
    }

    /// What the kernel is given: a device buffer for each array.
    pub(super) fn upload(&self, context: &Context) -> Result<Given, PiError> {
        let uploaded = self.0.iter().map(|argument| {
            argument.with_memory(|array| {
                Ok(Argument::Buffer {
                    memory: Buffer::from_slice(context, &array.data)?,
                    element: array.element.value_type(1),
                })
            })
        });
        uploaded.collect::<Result<_, _>>().map(Given)
    }

    /// Fills the buffers with the arrays again.
    pub(super) fn reset(&self, queue: &Queue, given: &Given) -> Result<(), PiError> {
        for (argument, given) in self.0.iter().zip(&given.0) {
            if let (Argument::Buffer { memory: array, .. }, Argument::Buffer { memory, .. }) =
                (argument, given)
            {
                memory.write(queue, 0, &array.data, &[])?;
            }
        }
        Ok(())
    }

    /// Copies a buffer back; the argument is one.
    pub(super) fn download(&self, queue: &Queue, given: &Given, index: usize) -> Result<Array, PiError> {
        let (Some(array), Some(Argument::Buffer { memory, .. })) = (self.array(index), given.0.get(index))
        else {
            unreachable!("only buffers are selected");
        };
        Ok(Array {
            element: array.element,
            shape: array.shape.clone(),
            data: memory.read(queue, &[])?,
        })
    }
}

/// Arguments with the device buffers that hold the arrays: what these are made of is known to the arrays.
pub(super) struct Given(Vec<Argument<Buffer<u8>>>);

impl Given {
    /// What the kernel is launched with.
    pub(super) fn arguments(&self) -> Vec<Argument> {
        let launched = self
            .0
            .iter()
            .map(|argument| argument.with_memory(|buffer| Ok::<_, Infallible>(buffer.into())));
        launched
            .map(|argument| argument.unwrap_or_else(|never| match never {}))
            .collect()
    }
}

fn zeros(element: ElementType, shape: &[u64]) -> Result<Array, Failure> {
    let bytes = shape
        .iter()
        .try_fold(element.size() as u64, |product, &extent| {
            product.checked_mul(extent)
        })
        .filter(|&bytes| bytes <= MAX_BUFFER_BYTES)
        .ok_or_else(|| Failure::input(format!("{element}{shape:?} is larger than any buffer")))?;
    let mut data = memory(bytes).map_err(|error| Failure::input(format!("{element}{shape:?}: {error}")))?;
    data.resize(bytes as usize, 0);
    Ok(Array {
        element,
        shape: shape.to_vec(),
        data,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_that_fit_nowhere_are_refused() {
        let float = ElementType::Float { bytes: 4 };
        assert_eq!(zeros(float, &[2, 3]).unwrap().data, [0; 24]);
        assert!(zeros(float, &[u64::MAX, 2]).is_err());
        assert!(zeros(float, &[1 << 60]).is_err());
    }
}
