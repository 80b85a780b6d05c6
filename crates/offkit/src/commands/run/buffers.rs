//! Kernel arguments as data: read from files, copied to the device and back.

use std::collections::BTreeMap;

use offkit_pi::host::{Context, PiError, Queue};
use offkit_runtime::{Argument, Buffer};

use super::arguments::{ArraySource, TypedArgument};
use super::array_file::read_array;
use crate::array::{Array, ElementType, memory};
use crate::failure::Failure;

/// The arguments of one launch, with arrays for the buffers they will be given to the device in.
pub(super) struct Arguments(pub(super) Vec<Argument<Array>>);

/// What it takes to make a buffer of zeros without asking for more than the machine has.
const MAX_BUFFER_BYTES: u64 = 1 << 40;

impl Arguments {
    /// Reads the arrays that the arguments name.
    pub(super) fn read(arguments: &[TypedArgument]) -> Result<Self, Failure> {
        let arrays = arguments.iter().map(|argument| {
            argument.given.with_memory(|source| {
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

    /// The array of that argument, if it is a buffer.
    pub(super) fn array(&self, index: usize) -> Option<&Array> {
        match self.0.get(index) {
            Some(Argument::Buffer { memory, .. }) => Some(memory),
            _ => None,
        }
    }

    /// The buffers that the kernel may write; all of them if nothing is known about it.
    pub(super) fn writable(&self, kernel: Option<&offkit_spirv::Kernel>) -> Vec<usize> {
        // Where the code says nothing, a buffer counts as written: a result that is missing would
        // be worse than one too many.
        let read_only = |index: usize| {
            kernel
                .and_then(|kernel| kernel.parameters.get(index))
                .is_some_and(|parameter| parameter.read_only)
        };
        (0..self.0.len())
            .filter(|&index| self.array(index).is_some() && !read_only(index))
            .collect()
    }

    /// Copies the arrays to buffers of the device.
    pub(super) fn upload(&self, context: &Context) -> Result<Given, Failure> {
        let mut buffers = BTreeMap::new();
        let uploaded = self.0.iter().enumerate().map(|(index, argument)| {
            argument.with_memory(|array| {
                let buffer = Buffer::from_slice(context, &array.data)?;
                let argument = (&buffer).into();
                buffers.insert(index, buffer);
                Ok(argument)
            })
        });
        let arguments = uploaded.collect::<Result<_, PiError>>().map_err(Failure::input)?;
        Ok(Given { arguments, buffers })
    }

    /// Fills the buffers with the arrays again.
    pub(super) fn reset(&self, queue: &Queue, given: &Given) -> Result<(), Failure> {
        for (index, buffer) in &given.buffers {
            if let Some(array) = self.array(*index) {
                buffer.write(queue, 0, &array.data, &[]).map_err(Failure::input)?;
            }
        }
        Ok(())
    }

    /// Copies a buffer back; the argument is one.
    pub(super) fn download(&self, queue: &Queue, given: &Given, index: usize) -> Result<Array, Failure> {
        let (Some(array), Some(buffer)) = (self.array(index), given.buffers.get(&index)) else {
            unreachable!("only buffers are selected");
        };
        Ok(Array {
            element: array.element,
            shape: array.shape.clone(),
            data: buffer.read(queue, &[]).map_err(Failure::input)?,
        })
    }
}

/// What a kernel is launched with.
pub(super) struct Given {
    pub(super) arguments: Vec<Argument>,
    /// The buffers among the arguments.
    buffers: BTreeMap<usize, Buffer<u8>>,
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
