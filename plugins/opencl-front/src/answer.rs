//! Answers to queries.

use crate::c::Out;
use crate::failure::{Result, require};
use cl::CL_INVALID_VALUE;
use core::ffi::c_void;

/// Where the answer to a query goes: the last arguments of every query.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) size: usize,
    pub(crate) value: Out<c_void>,
    pub(crate) size_ret: Out<usize>,
}

impl Place {
    pub(crate) fn new(size: usize, value: Out<c_void>, size_ret: Out<usize>) -> Place {
        Place {
            size,
            value,
            size_ret,
        }
    }

    /// Answers with bytes.
    pub(crate) fn bytes(self, answer: &[u8]) -> Result<()> {
        // Without a place only the length is asked for, and the size may be anything, also 0.
        require(
            self.value.is_null() || self.size >= answer.len(),
            CL_INVALID_VALUE,
        )?;
        self.value.bytes().fill(answer, answer.len());
        self.size_ret.write(answer.len());
        Ok(())
    }

    /// Answers with text, which gets a NUL at its end.
    pub(crate) fn text(self, answer: impl AsRef<[u8]>) -> Result<()> {
        let answer = answer.as_ref();
        let size = answer.len() + 1;
        require(self.value.is_null() || self.size >= size, CL_INVALID_VALUE)?;
        self.value.bytes().fill(answer, answer.len());
        self.value.bytes_at(answer.len()).fill(&[0], 1);
        self.size_ret.write(size);
        Ok(())
    }

    /// Answers with a number or a handle.
    pub(crate) fn number<N: Number>(self, answer: N) -> Result<()> {
        self.bytes(answer.bytes().as_ref())
    }

    /// Answers with several numbers.
    pub(crate) fn numbers<N: Number>(
        self,
        answer: impl IntoIterator<Item = N, IntoIter: ExactSizeIterator>,
    ) -> Result<()> {
        let (numbers, each) = (answer.into_iter(), size_of::<N::Bytes>());
        let size = numbers.len() * each;
        require(self.value.is_null() || self.size >= size, CL_INVALID_VALUE)?;
        for (index, number) in numbers.enumerate() {
            self.value
                .bytes_at(index * each)
                .fill(number.bytes().as_ref(), each);
        }
        self.size_ret.write(size);
        Ok(())
    }
}

/// Answers that are known from the beginning, each written down once: looked up without a lock or an allocation.
#[derive(Clone, Default)]
pub(crate) struct Answers(Vec<(u32, Box<[u8]>)>);

impl Answers {
    /// Notes an answer. The last one counts.
    pub(crate) fn bytes(&mut self, name: u32, answer: impl Into<Box<[u8]>>) {
        match self.0.binary_search_by_key(&name, |(name, _)| *name) {
            Ok(index) => self.0[index].1 = answer.into(),
            Err(index) => self.0.insert(index, (name, answer.into())),
        }
    }

    pub(crate) fn number<N: Number>(&mut self, name: u32, answer: N) {
        self.bytes(name, answer.bytes().as_ref());
    }

    pub(crate) fn text(&mut self, name: u32, answer: &str) {
        let bytes: Vec<u8> = answer.bytes().chain([0]).collect();
        self.bytes(name, bytes);
    }

    /// The answer to a query.
    pub(crate) fn get(&self, name: u32) -> Option<&[u8]> {
        let index = self.0.binary_search_by_key(&name, |(name, _)| *name).ok()?;
        Some(&self.0[index].1)
    }
}

/// The bytes of numbers, one after the other.
pub(crate) fn bytes_of<N: Number>(numbers: &[N]) -> Vec<u8> {
    let bytes = numbers.iter().map(|number| number.bytes());
    bytes.flat_map(|bytes| bytes.as_ref().to_vec()).collect()
}

/// A number as it lies in memory.
pub(crate) trait Number: Copy {
    type Bytes: AsRef<[u8]>;

    fn bytes(self) -> Self::Bytes;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            type Bytes = [u8; size_of::<$number>()];

            fn bytes(self) -> Self::Bytes {
                self.to_ne_bytes()
            }
        }
    )*};
}

numbers!(i32, u32, u64, usize, isize);

/// A handle or an address.
impl<T> Number for *mut T {
    type Bytes = [u8; size_of::<usize>()];

    fn bytes(self) -> Self::Bytes {
        // Exposed: the number comes back as a handle or an address in later calls.
        self.expose_provenance().to_ne_bytes()
    }
}

impl<N: Number> Number for &N {
    type Bytes = N::Bytes;

    fn bytes(self) -> N::Bytes {
        (*self).bytes()
    }
}

/// A truth value.
impl Number for bool {
    type Bytes = [u8; 4];

    fn bytes(self) -> Self::Bytes {
        u32::from(self).to_ne_bytes()
    }
}
