//! What a kernel is given, and whether it fits what the kernel declares.

use std::fmt::{self, Display, Formatter};

use offkit_spirv::{Parameter, ParameterKind, Storage};

use super::fault::LaunchError;
use super::info::{KernelInfo, MAX_LOCAL_MEMORY};
use crate::pool::LOCAL_ALIGNMENT;

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

/// An argument as it is set: what it consists of is copied by [`Arguments::set`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given<'a> {
    /// A value.
    Bytes(&'a [u8]),
    /// An address in global memory.
    Pointer(u64),
    /// So many bytes of local memory.
    Local(usize),
}

impl Argument {
    fn given(&self) -> Given<'_> {
        match self {
            Argument::Bytes(bytes) => Given::Bytes(bytes),
            Argument::Pointer(address) => Given::Pointer(*address),
            Argument::Local(size) => Given::Local(*size),
        }
    }
}

/// The arguments of a kernel, checked against what it declares, in one block of words. Each begins with a word of
/// its own: a value lies there as it does in memory, a pointer is its address, local memory its place among that
/// of the group. Setting and copying them allocates nothing once there is room.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    places: Vec<Place>,
    words: Vec<u64>,
    /// Bytes of local memory that a group needs, the room between variables and arguments included.
    local_size: usize,
    /// The same without that room: what the kernel asks for.
    local_needed: u64,
}

/// What is known of an argument.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: Kind,
    /// Its first word.
    first: u32,
    /// Bytes of a value, or of local memory.
    size: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Missing,
    Value,
    Pointer,
    Local,
}

// By hand, as what is derived has no `clone_from` of its own, and would allocate for each launch.
impl Clone for Arguments {
    fn clone(&self) -> Arguments {
        Arguments {
            places: self.places.clone(),
            words: self.words.clone(),
            local_size: self.local_size,
            local_needed: self.local_needed,
        }
    }

    fn clone_from(&mut self, source: &Arguments) {
        self.places.clone_from(&source.places);
        self.words.clone_from(&source.words);
        self.local_size = source.local_size;
        self.local_needed = source.local_needed;
    }
}

impl Arguments {
    /// Room for the arguments of a kernel, of which none is there yet.
    pub(crate) fn new(info: &KernelInfo) -> Arguments {
        let mut first = 0;
        let places = info.parameters.iter().map(|parameter| {
            let size = match parameter.kind {
                ParameterKind::Pointer { .. } => 8,
                // A program is built only if all values together have a few megabytes, so that their words can be counted.
                _ => u32::try_from(parameter.size).unwrap_or(u32::MAX),
            };
            let place = Place {
                kind: Kind::Missing,
                first,
                size,
            };
            first += size.div_ceil(8).max(1);
            place
        });
        Arguments {
            places: places.collect(),
            words: vec![0; first as usize],
            // More than there is is refused at launch.
            local_size: info.local_memory as usize,
            local_needed: info.local_memory,
        }
    }

    /// All arguments of a kernel.
    ///
    /// # Errors
    /// The first that does not fit, or that their number is another.
    pub(crate) fn of(info: &KernelInfo, given: &[Argument]) -> Result<Arguments, LaunchError> {
        if given.len() != info.parameters.len() {
            return Err(LaunchError::ArgumentCount {
                kernel: info.name.clone(),
                expected: info.parameters.len(),
                found: given.len(),
            });
        }
        let mut arguments = Arguments::new(info);
        for (index, argument) in given.iter().enumerate() {
            arguments.set(info, index, argument.given(), argument)?;
        }
        Ok(arguments)
    }

    /// Checks an argument against what the kernel declares, and copies it; `shown` is what messages call it.
    ///
    /// # Errors
    /// [`ArgumentError`]; then the argument is what it was.
    pub(crate) fn set(
        &mut self,
        info: &KernelInfo,
        index: usize,
        given: Given<'_>,
        shown: &dyn Display,
    ) -> Result<(), ArgumentError> {
        let (Some(parameter), Some(place)) = (info.parameters.get(index), self.places.get_mut(index)) else {
            return Err(ArgumentError::Index {
                kernel: info.name.clone(),
                count: info.parameters.len(),
                index,
            });
        };
        let first = place.first as usize;
        let only_size = match (&parameter.kind, given) {
            // At least a byte: no bytes of local memory are a wrong size to OpenCL.
            (
                ParameterKind::Pointer {
                    storage: Storage::Local,
                    ..
                },
                Given::Local(size @ 1..),
            ) => {
                place.kind = Kind::Local;
                // More than there can be stays so.
                place.size = u32::try_from(size).unwrap_or(u32::MAX);
                self.place_local_memory(info);
                return Ok(());
            }
            (
                ParameterKind::Pointer {
                    storage: Storage::Local,
                    ..
                },
                given,
            ) => matches!(given, Given::Local(_)),
            (ParameterKind::Pointer { .. }, Given::Pointer(address)) => {
                place.kind = Kind::Pointer;
                self.words[first] = address;
                return Ok(());
            }
            (ParameterKind::Pointer { .. }, _) => false,
            // A program is built only if all other parameters are values.
            (_, Given::Bytes(bytes)) if bytes.len() as u64 == parameter.size => {
                place.kind = Kind::Value;
                let (whole, rest) = bytes.as_chunks::<8>();
                let mut last = [0; 8];
                last[..rest.len()].copy_from_slice(rest);
                let last = (!rest.is_empty()).then_some(&last);
                for (word, bytes) in self.words[first..].iter_mut().zip(whole.iter().chain(last)) {
                    // In the host's order: compiled code reads the bytes where these words lie.
                    *word = u64::from_ne_bytes(*bytes);
                }
                return Ok(());
            }
            (_, given) => matches!(given, Given::Bytes(_)),
        };
        Err(ArgumentError::Mismatch {
            kernel: info.name.clone(),
            index,
            parameter: Box::new(parameter.clone()),
            given: shown.to_string(),
            only_size,
        })
    }

    /// The first argument that is not there yet.
    pub(crate) fn missing(&self) -> Option<usize> {
        self.places.iter().position(|place| place.kind == Kind::Missing)
    }

    /// Gives the arguments in local memory their places there, behind the kernel's variables.
    fn place_local_memory(&mut self, info: &KernelInfo) {
        let align = LOCAL_ALIGNMENT as u64;
        let mut needed = info.local_memory;
        let mut end = needed;
        // All of them anew: one of another size moves those behind it.
        for place in self.places.iter().filter(|place| place.kind == Kind::Local) {
            let start = end.next_multiple_of(align);
            self.words[place.first as usize] = start;
            end = start + u64::from(place.size);
            needed += u64::from(place.size);
        }
        (self.local_size, self.local_needed) = (end as usize, needed);
    }

    /// Checks that a work-group finds room for the kernel's variables and these arguments in local memory.
    ///
    /// # Errors
    /// [`LaunchError::LocalMemory`].
    pub(crate) fn check_local_memory(&self, info: &KernelInfo) -> Result<(), LaunchError> {
        // Without the room between them: hosts may divide all of the limit among several.
        if self.local_needed <= MAX_LOCAL_MEMORY {
            return Ok(());
        }
        Err(LaunchError::LocalMemory {
            kernel: info.name.clone(),
            needed: self.local_needed,
            available: MAX_LOCAL_MEMORY,
        })
    }

    /// The block of words.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bytes of local memory that a group needs, if that has been [checked](Self::check_local_memory).
    pub(crate) fn local_size(&self) -> usize {
        self.local_size
    }

    /// The words that an argument begins with.
    pub(crate) fn words_from(&self, index: usize) -> &[u64] {
        self.places
            .get(index)
            .map_or(&[], |place| &self.words[place.first as usize..])
    }

    /// The addresses among the arguments, with the arguments' numbers.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = (usize, u64)> {
        let pointers = self.places.iter().enumerate();
        let pointers = pointers.filter(|(_, place)| place.kind == Kind::Pointer);
        pointers.map(|(index, place)| (index, self.words[place.first as usize]))
    }

    /// The numbers and sizes of those in local memory.
    pub(crate) fn locals(&self) -> impl Iterator<Item = (usize, u32)> {
        let locals = self.places.iter().enumerate();
        let locals = locals.filter(|(_, place)| place.kind == Kind::Local);
        locals.map(|(index, place)| (index, place.size))
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
