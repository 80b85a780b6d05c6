//! What is given for a kernel's argument.

use super::memory::{Buffer, Usm};
use core::any::TypeId;
use core::fmt::{self, Display, Formatter};

/// What is given for one argument of a kernel.
///
/// `M` is what stands for memory of the device: a [`Buffer`] when the kernel is launched, and before that
/// whatever its content comes from, an array or the name of a file. So a host can put a launch together, and
/// check it against what the kernel declares, before there is a device; [`with_memory`](Self::with_memory)
/// goes from one to the next.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Argument<M = Buffer> {
    /// A number, a vector, a struct: whatever is passed by value.
    Value {
        /// The bytes as they lie in memory.
        bytes: Vec<u8>,
        /// What the host takes them for. The plugin sees the bytes alone; this is for hosts that compare it
        /// with what the kernel declares.
        value_type: ValueType,
    },
    /// A buffer, for a pointer to global or constant memory.
    Buffer {
        /// The buffer.
        memory: M,
        /// What the host takes its elements for: [`ValueType::Bytes`] where it does not know.
        element: ValueType,
    },
    /// An address within a USM allocation, for a pointer to global or constant memory.
    Usm {
        /// The allocation.
        allocation: Usm,
        /// The first byte, counted from the allocation's start.
        offset: usize,
        /// What the host takes its elements for: [`ValueType::Bytes`] where it does not know.
        element: ValueType,
    },
    /// Any address, for a pointer to global or constant memory; 0 is a pointer to nothing. A kernel with one may use every
    /// USM allocation of its context, so that none is freed while it is under way.
    Address(usize),
    /// So many bytes of memory for each work-group, for a pointer to local memory.
    Local(usize),
}

/// What the bytes of a value are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// A struct, or a type that the host does not know: only its size counts.
    Bytes,
}

/// `f32`, `i32x4`.
impl Display for ValueType {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (letter, bits, components) = match self {
            ValueType::Integer { bits, components } => ('i', bits, components),
            ValueType::Float { bits, components } => ('f', bits, components),
            ValueType::Bytes => return formatter.write_str("bytes"),
        };
        match components {
            1 => write!(formatter, "{letter}{bits}"),
            count => write!(formatter, "{letter}{bits}x{count}"),
        }
    }
}

impl<M> Argument<M> {
    /// A value of which the host knows the bytes and no more.
    pub fn bytes(bytes: &[u8]) -> Argument<M> {
        Argument::Value {
            bytes: bytes.to_vec(),
            value_type: ValueType::Bytes,
        }
    }

    /// Local memory for so many elements of a type in each work-group.
    pub fn local<T>(count: usize) -> Argument<M> {
        // No device has as much as there is at the end of the numbers: it refuses that.
        Argument::Local(count.saturating_mul(size_of::<T>()))
    }

    /// The same argument with another thing for memory. Where there is no memory to be had (a buffer cannot
    /// be empty), `convert` may give an argument of another kind.
    ///
    /// # Errors
    ///
    /// That of `convert`.
    pub fn with_memory<N, E>(
        &self,
        convert: impl FnOnce(&M) -> Result<Argument<N>, E>,
    ) -> Result<Argument<N>, E> {
        Ok(match self {
            Argument::Buffer { memory, .. } => return convert(memory),
            Argument::Value { bytes, value_type } => Argument::Value {
                bytes: bytes.clone(),
                value_type: *value_type,
            },
            Argument::Usm {
                allocation,
                offset,
                element,
            } => Argument::Usm {
                allocation: allocation.clone(),
                offset: *offset,
                element: *element,
            },
            Argument::Address(address) => Argument::Address(*address),
            Argument::Local(size) => Argument::Local(*size),
        })
    }
}

/// What kind of argument it is, for messages: `f32`, `a value of 12 bytes`, `a buffer of f32`.
impl<M> Display for Argument<M> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let (memory, element) = match self {
            Argument::Value { bytes, value_type } => match value_type {
                ValueType::Bytes => return write!(formatter, "a value of {} bytes", bytes.len()),
                value_type => return value_type.fmt(formatter),
            },
            Argument::Buffer { element, .. } => ("a buffer", element),
            Argument::Usm { element, .. } => ("an address in a USM allocation", element),
            Argument::Address(0) => return formatter.write_str("a null pointer"),
            Argument::Address(address) => return write!(formatter, "the address {address:#x}"),
            Argument::Local(size) => return write!(formatter, "{size} bytes of local memory"),
        };
        formatter.write_str(memory)?;
        match element {
            ValueType::Bytes => Ok(()),
            element => write!(formatter, " of {element}"),
        }
    }
}

impl From<&Buffer> for Argument {
    fn from(buffer: &Buffer) -> Argument {
        Argument::Buffer {
            memory: buffer.clone(),
            element: ValueType::Bytes,
        }
    }
}

impl<M> From<&Usm> for Argument<M> {
    /// The allocation's first byte.
    fn from(allocation: &Usm) -> Argument<M> {
        Argument::Usm {
            allocation: allocation.clone(),
            offset: 0,
            element: ValueType::Bytes,
        }
    }
}

macro_rules! numbers {
    ($variant:ident: $($number:ty),*) => {$(
        impl<M> From<$number> for Argument<M> {
            fn from(number: $number) -> Argument<M> {
                Argument::Value {
                    bytes: number.to_ne_bytes().to_vec(),
                    value_type: ValueType::$variant {
                        bits: 8 * size_of::<$number>() as u32,
                        components: 1,
                    },
                }
            }
        }
        vectors!($variant: $number: 2, 3, 4, 8, 16);
    )*};
}

macro_rules! elements {
    ($($variant:ident: $($number:ty),*;)*) => {
        impl ValueType {
            /// What elements of a type are: numbers, and arrays of numbers, which count as vectors. A `u8` is a byte of
            /// whatever there is.
            pub fn of_elements<T: 'static>() -> Self {
                // By the type and not by its size: a struct may have that of a vector.
                let is = |other| TypeId::of::<T>() == other;
                $($(
                    let (number, bits) = (TypeId::of::<$number>(), 8 * size_of::<$number>() as u32);
                    let vectors = [
                        (2, TypeId::of::<[$number; 2]>()),
                        (3, TypeId::of::<[$number; 3]>()),
                        (4, TypeId::of::<[$number; 4]>()),
                        (8, TypeId::of::<[$number; 8]>()),
                        (16, TypeId::of::<[$number; 16]>()),
                    ];
                    let mut known = [(1, number)].into_iter().chain(vectors);
                    if let Some((components, _)) = known.find(|(_, vector)| is(*vector)) {
                        return Self::$variant { bits, components };
                    }
                )*)*
                Self::Bytes
            }
        }
    };
}

/// Vectors of numbers, of as many components as OpenCL has.
macro_rules! vectors {
    ($variant:ident: $number:ty: $($count:literal),*) => {$(
        impl<M> From<[$number; $count]> for Argument<M> {
            fn from(vector: [$number; $count]) -> Argument<M> {
                let mut bytes: Vec<u8> = vector.into_iter().flat_map(<$number>::to_ne_bytes).collect();
                // A vector of three takes the space of four.
                bytes.resize(size_of::<$number>() * usize::next_power_of_two($count), 0);
                Argument::Value {
                    bytes,
                    value_type: ValueType::$variant {
                        bits: 8 * size_of::<$number>() as u32,
                        components: $count,
                    },
                }
            }
        }
    )*};
}

numbers!(Integer: i8, u8, i16, u16, i32, u32, i64, u64);
numbers!(Float: f32, f64);
elements! {
    Integer: i8, i16, u16, i32, u32, i64, u64;
    Float: f32, f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_kind_of_argument_it_is() {
        let vector = ValueType::Float {
            bits: 32,
            components: 4,
        };
        let buffer = |element| Argument::Buffer { memory: (), element };
        let arguments: [(Argument<()>, &str); 11] = [
            (7_i32.into(), "i32"),
            (7_u64.into(), "i64"),
            (2.5_f64.into(), "f64"),
            (
                Argument::Value {
                    bytes: vec![0; 16],
                    value_type: vector,
                },
                "f32x4",
            ),
            ([1_u8, 2, 3].into(), "i8x3"),
            (Argument::local::<f64>(8), "64 bytes of local memory"),
            (Argument::bytes(&[1, 2, 3]), "a value of 3 bytes"),
            (buffer(ValueType::of_elements::<u8>()), "a buffer"),
            (buffer(ValueType::of_elements::<[u16; 4]>()), "a buffer of i16x4"),
            (Argument::Address(0), "a null pointer"),
            (Argument::Local(64), "64 bytes of local memory"),
        ];
        for (argument, text) in arguments {
            assert_eq!(argument.to_string(), text);
        }
    }

    #[test]
    fn a_vector_of_three_takes_the_space_of_four() {
        let sizes = [[1.0_f32; 3].into(), [1.0_f32; 4].into()].map(|argument: Argument<()>| match argument {
            Argument::Value { bytes, .. } => bytes.len(),
            other => panic!("{other}"),
        });
        assert_eq!(sizes, [16, 16]);
    }

    #[test]
    fn memory_is_exchanged_and_the_rest_stays() {
        let buffer = |memory| Argument::Buffer {
            memory,
            element: ValueType::Bytes,
        };
        let files = [buffer("in.npy"), Argument::Local(4), buffer("")];
        let arrays = files.map(|file| {
            file.with_memory(|name| match name.len() {
                0 => Ok::<_, ()>(Argument::Address(0)),
                length => Ok(Argument::Buffer {
                    memory: length,
                    element: ValueType::of_elements::<f32>(),
                }),
            })
        });
        assert!(matches!(
            arrays,
            [
                Ok(Argument::Buffer { memory: 6, .. }),
                Ok(Argument::Local(4)),
                Ok(Argument::Address(0))
            ]
        ));
    }
}
