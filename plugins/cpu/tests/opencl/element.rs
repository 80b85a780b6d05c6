//! The element types of OpenCL C and their values as words.

use crate::rounding::{Exact, Mode, round};

/// A scalar type. Its values are handled as words: the bits, zero-extended to 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Char,
    Uchar,
    Short,
    Ushort,
    Int,
    Uint,
    Long,
    Ulong,
    Half,
    Float,
    Double,
}

use Element::*;

impl Element {
    pub(crate) const INTEGERS: [Element; 8] = [Char, Uchar, Short, Ushort, Int, Uint, Long, Ulong];
    pub(crate) const FLOATS: [Element; 3] = [Half, Float, Double];

    pub(crate) fn all() -> impl Iterator<Item = Element> {
        Self::INTEGERS.into_iter().chain(Self::FLOATS)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Char => "char",
            Uchar => "uchar",
            Short => "short",
            Ushort => "ushort",
            Int => "int",
            Uint => "uint",
            Long => "long",
            Ulong => "ulong",
            Half => "half",
            Float => "float",
            Double => "double",
        }
    }

    /// The size in bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Char | Uchar => 1,
            Short | Ushort | Half => 2,
            Int | Uint | Float => 4,
            Long | Ulong | Double => 8,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        8 * self.size() as u32
    }

    pub(crate) fn is_float(self) -> bool {
        Self::FLOATS.contains(&self)
    }

    pub(crate) fn is_signed(self) -> bool {
        !matches!(self, Uchar | Ushort | Uint | Ulong)
    }

    /// The signed integer of the same size.
    pub(crate) fn to_signed(self) -> Element {
        [Char, Short, Int, Long][self.size().ilog2() as usize]
    }

    /// The unsigned integer of the same size.
    pub(crate) fn to_unsigned(self) -> Element {
        [Uchar, Ushort, Uint, Ulong][self.size().ilog2() as usize]
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// The least value of an integer type.
    pub(crate) fn least(self) -> i128 {
        if self.is_signed() {
            -(1 << (self.bits() - 1))
        } else {
            0
        }
    }

    /// The greatest value of an integer type.
    pub(crate) fn greatest(self) -> i128 {
        self.least() + i128::from(self.mask())
    }

    /// The value of an integer's word.
    pub(crate) fn integer(self, word: u64) -> i128 {
        let unused = 64 - self.bits();
        if self.is_signed() {
            ((word << unused) as i64 >> unused).into()
        } else {
            word.into()
        }
    }

    /// The word of an integer, reduced to the type's width.
    pub(crate) fn word_of_integer(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    /// The value of a word, rounded for long integers.
    pub(crate) fn number(self, word: u64) -> f64 {
        match self {
            Half => half::f16::from_bits(word as u16).to_f64(),
            Float => f32::from_bits(word as u32).into(),
            Double => f64::from_bits(word),
            _ => self.integer(word) as f64,
        }
    }

    /// The word nearest to a number; integers beyond the type's range become its limits.
    pub(crate) fn word_of(self, value: f64) -> u64 {
        match self {
            Float => (value as f32).to_bits().into(),
            Double => value.to_bits(),
            Half => round(self, Exact::Float(value), Mode::Nearest),
            _ => self.word_of_integer((value as i128).clamp(self.least(), self.greatest())),
        }
    }

    /// Whether a number is one of the type's.
    pub(crate) fn holds(self, value: f64) -> bool {
        self.number(self.word_of(value)).to_bits() == value.to_bits()
    }

    /// How far two words are from each other: the number of steps between two floats, where all NaNs are
    /// one, and 0 or everything for integers.
    pub(crate) fn distance(self, word: u64, other: u64) -> u64 {
        if !self.is_float() {
            return if word == other { 0 } else { u64::MAX };
        }
        if self.number(word).is_nan() || self.number(other).is_nan() {
            return if self.number(word).is_nan() && self.number(other).is_nan() {
                0
            } else {
                u64::MAX
            };
        }
        self.position(word).abs_diff(self.position(other))
    }

    /// The place of a float among all of its type: consecutive integers, with both zeros at 0.
    pub(crate) fn position(self, word: u64) -> i64 {
        let magnitude = (word & (self.mask() >> 1)) as i64;
        if word & !(self.mask() >> 1) == 0 {
            magnitude
        } else {
            -magnitude
        }
    }

    /// The float at a place.
    pub(crate) fn at_position(self, position: i64) -> u64 {
        let sign = if position < 0 {
            self.mask() ^ (self.mask() >> 1)
        } else {
            0
        };
        position.unsigned_abs() | sign
    }

    /// Positive infinity.
    pub(crate) fn infinity(self) -> u64 {
        match self {
            Half => 0x7c00,
            Float => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        }
    }

    /// The values of an array of this type, `lanes` of every `stride` elements being in use.
    pub(crate) fn decode(self, bytes: &[u8], lanes: usize, stride: usize) -> Vec<u64> {
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        bytes
            .chunks(self.size() * stride)
            .flat_map(|vector| vector.chunks(self.size()).take(lanes).map(word))
            .collect()
    }

    /// The bytes of an array of this type, every `lanes` values taking the place of `stride`.
    pub(crate) fn encode(self, words: &[u64], lanes: usize, stride: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for vector in words.chunks(lanes) {
            for word in vector {
                bytes.extend_from_slice(&word.to_le_bytes()[..self.size()]);
            }
            bytes.resize(bytes.len() + (stride - vector.len()) * self.size(), 0xee);
        }
        bytes
    }
}
