//! Kernel arguments as data: read from files, copied to the device and back.

use offkit_pi::host::{Buffer, Context, PiError, Queue};
use offkit_runtime::{Argument, Given, ValueType, check_arguments, signature};
use offkit_spirv::{ArgumentKind, Storage};

use super::arguments::ArgumentText;
use super::array_file::read_array;
use crate::array::{Array, ElementType, memory};
use crate::failure::Failure;

/// The arguments of one launch.
pub(super) struct Arguments(Vec<Item>);

enum Item {
    Value { value: ValueType, bytes: Vec<u8> },
    Array(Array),
    Local(usize),
}

/// What it takes to make a buffer of zeros without asking for more than the machine has.
const MAX_BUFFER_BYTES: u64 = 1 << 40;

impl Arguments {
    /// Reads the arrays that the arguments name.
    pub(super) fn read(texts: &[ArgumentText]) -> Result<Self, Failure> {
        let items = texts.iter().map(|text| match text {
            ArgumentText::Value {
                element,
                components,
                bytes,
            } => {
                let (bits, components) = (element.size() as u32 * 8, *components);
                let value = match element {
                    ElementType::Int { .. } => ValueType::Integer { bits, components },
                    ElementType::Float { .. } => ValueType::Float { bits, components },
                };
                Ok(Item::Value {
                    value,
                    bytes: bytes.clone(),
                })
            }
            ArgumentText::Bytes(bytes) => Ok(Item::Value {
                value: ValueType::Bytes,
                bytes: bytes.clone(),
            }),
            ArgumentText::File(path) => Ok(Item::Array(read_array(path).map_err(Failure::input)?)),
            ArgumentText::Zeros { element, shape } => zeros(*element, shape).map(Item::Array),
            ArgumentText::Local(size) => Ok(Item::Local(*size)),
        });
        items.collect::<Result<_, Failure>>().map(Self)
    }

    /// Checks that the arguments fit the kernel, and that the arrays hold what its pointers point to.
    pub(super) fn check(&self, kernel: &offkit_spirv::Kernel) -> Result<(), Failure> {
        let given = self.0.iter().map(|item| match item {
            Item::Value { value, bytes } => Given::Value {
                size: bytes.len(),
                value: *value,
            },
            Item::Array(_) => Given::Buffer,
            Item::Local(size) => Given::Local(*size),
        });
        check_arguments(kernel, &given.collect::<Vec<_>>()).map_err(Failure::input)?;
        for (index, (item, argument)) in self.0.iter().zip(&kernel.arguments).enumerate() {
            if let (Item::Array(array), ArgumentKind::Pointer { pointee, .. }) = (item, &argument.kind)
                && !holds(array.element, &pointee.name)
            {
                return Err(Failure::input(format!(
                    "argument {index} of kernel `{}` points to {}, given an array of {}: {}",
                    kernel.name,
                    pointee.name,
                    array.element,
                    signature(kernel)
                )));
            }
        }
        Ok(())
    }

    /// Whether that argument is a buffer.
    pub(super) fn is_buffer(&self, index: usize) -> bool {
        matches!(self.0.get(index), Some(Item::Array(_)))
    }

    /// The buffers that the kernel may write; all of them if nothing is known about it.
    pub(super) fn writable(&self, kernel: Option<&offkit_spirv::Kernel>) -> Vec<usize> {
        let read_only = |index: usize| {
            kernel
                .and_then(|kernel| kernel.arguments.get(index))
                .is_some_and(|argument| {
                    let constant = matches!(
                        argument.kind,
                        ArgumentKind::Pointer {
                            storage: Storage::Constant,
                            ..
                        }
                    );
                    argument.read_only || constant
                })
        };
        (0..self.0.len())
            .filter(|&index| self.is_buffer(index) && !read_only(index))
            .collect()
    }

    /// Makes a device buffer of each array; a buffer cannot be empty, so an empty array has none.
    pub(super) fn upload(&self, context: &Context) -> Result<Vec<Option<Buffer>>, PiError> {
        let buffers = self.0.iter().map(|item| match item {
            Item::Array(array) if !array.data.is_empty() => context.buffer_from(&array.data).map(Some),
            Item::Array(_) | Item::Value { .. } | Item::Local(_) => Ok(None),
        });
        buffers.collect()
    }

    /// Fills the buffers with the arrays again.
    pub(super) fn reset(&self, queue: &Queue, buffers: &[Option<Buffer>]) -> Result<(), PiError> {
        for (item, buffer) in self.0.iter().zip(buffers) {
            if let (Item::Array(array), Some(buffer)) = (item, buffer) {
                queue.write_buffer(buffer, 0, &array.data, &[])?;
            }
        }
        Ok(())
    }

    /// What the kernel is given.
    pub(super) fn pass<'a>(&'a self, buffers: &'a [Option<Buffer>]) -> Vec<Argument<'a>> {
        let passed = self
            .0
            .iter()
            .zip(buffers)
            .map(|(item, buffer)| match (item, buffer) {
                (Item::Value { value, bytes }, _) => Argument::Value { bytes, value: *value },
                (Item::Local(size), _) => Argument::Local(*size),
                (Item::Array(_), Some(buffer)) => Argument::Buffer(buffer),
                // Any access to an element that is not there is an error.
                (Item::Array(_), None) => Argument::Null,
            });
        passed.collect()
    }

    /// Copies a buffer back; the argument is one.
    pub(super) fn download(
        &self,
        queue: &Queue,
        buffers: &[Option<Buffer>],
        index: usize,
    ) -> Result<Array, Failure> {
        let Item::Array(given) = &self.0[index] else {
            unreachable!("only buffers are selected");
        };
        let mut data = memory(given.data.len() as u64).map_err(Failure::input)?;
        data.resize(given.data.len(), 0);
        if let Some(buffer) = &buffers[index] {
            queue
                .read_buffer(buffer, 0, &mut data, &[])
                .map_err(Failure::input)?;
        }
        Ok(Array {
            element: given.element,
            shape: given.shape.clone(),
            data,
        })
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

/// Whether an array of these elements is what a pointer to `pointee` expects: `f32` for `f32` and
/// `f32x4`, any 32-bit integer for `i32`.
///
/// The compiler guesses what a pointer points to from how it is used, and takes bytes where it does
/// not know: everything is let through as bytes, and as what is no number.
fn holds(element: ElementType, pointee: &str) -> bool {
    let component = pointee.split('x').next().unwrap_or(pointee);
    match component.parse::<ElementType>() {
        Err(_) | Ok(ElementType::Int { bytes: 1, .. }) => true,
        Ok(ElementType::Int { bytes, .. }) => {
            matches!(element, ElementType::Int { bytes: given, .. } if given == bytes)
        }
        Ok(float) => element == float,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_hold_what_pointers_point_to() {
        let holds = |element: &str, pointee| holds(element.parse().unwrap(), pointee);
        assert!(holds("f32", "f32") && holds("f32", "f32x4") && holds("u32", "i32") && holds("i64", "i8"));
        assert!(holds("f32", "struct S {i32, f32}") && holds("f16", "i8x16"));
        assert!(!holds("f64", "f32") && !holds("i32", "f32") && !holds("f32", "i32") && !holds("i64", "i32"));
    }

    #[test]
    fn zeros_that_fit_nowhere_are_refused() {
        let float = ElementType::Float { bytes: 4 };
        assert_eq!(zeros(float, &[2, 3]).unwrap().data, [0; 24]);
        assert!(zeros(float, &[u64::MAX, 2]).is_err());
        assert!(zeros(float, &[1 << 60]).is_err());
    }
}
