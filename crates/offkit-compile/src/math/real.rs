//! What the algorithms are written over: numbers, the integers that hold their bits, and truths about them, of one
//! lane or of many.

use std::num::Wrapping;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// Truths, one for each lane.
pub trait Mask: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {}

impl<M: Copy + BitAnd<Output = M> + BitOr<Output = M> + Not<Output = M>> Mask for M {}

/// Integers as wide as a number, modulo their width.
pub trait Integer:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    /// What comparing two of them gives.
    type Mask: Mask;

    /// A constant in the form of `self`.
    fn constant(self, value: i64) -> Self;
    /// `self << bits`.
    fn left(self, bits: u32) -> Self;
    /// `self >> bits`, signed.
    fn right(self, bits: u32) -> Self;
    /// `self >> bits`, unsigned.
    fn right_unsigned(self, bits: u32) -> Self;
    /// `self << bits`, by as many as each lane says.
    fn left_by(self, bits: Self) -> Self;
    /// `self >> bits`, unsigned, by as many as each lane says.
    fn right_unsigned_by(self, bits: Self) -> Self;
    /// Whether they are equal.
    fn equals(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The table's entry of this number, which all lanes must have.
    fn lookup(self, table: &'static [u64]) -> Self;

    /// Whether any of the given bits is set.
    fn has(self, bits: i64) -> Self::Mask {
        !(self & self.constant(bits)).equals(self.constant(0))
    }
}

/// The layout of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Stored bits of the significand.
    pub significand: u32,
    /// What is added to an exponent to store it.
    pub bias: i64,
}

impl Format {
    /// Single precision.
    pub const SINGLE: Self = Self {
        significand: 23,
        bias: 127,
    };
    /// Double precision.
    pub const DOUBLE: Self = Self {
        significand: 52,
        bias: 1023,
    };

    /// How many bits it has.
    pub const fn bits(self) -> u32 {
        match self.significand {
            23 => 32,
            _ => 64,
        }
    }

    /// The sign bit alone, as a signed integer.
    const fn sign(self) -> i64 {
        match self.significand {
            23 => i32::MIN as i64,
            _ => i64::MIN,
        }
    }

    /// The smallest positive number that is not subnormal.
    const fn least_normal(self) -> f64 {
        match self.significand {
            23 => f32::MIN_POSITIVE as f64,
            _ => f64::MIN_POSITIVE,
        }
    }

    /// [`Real::scale`] by means of the bits.
    pub fn scale<R: Real>(number: R, exponent: R) -> R {
        let exponent = exponent.to_integer();
        // In two steps, each by a power that is a normal number: the whole may be beyond the format. The first is
        // exact.
        let half = exponent.right(1);
        number * power_of_two(number, half) * power_of_two(number, exponent - half)
    }

    /// [`Real::split`] by means of the bits.
    pub fn split<R: Real>(number: R) -> (R, R) {
        let format = number.format();
        // Zero and negative numbers are among these; what they get here is replaced at the end.
        let subnormal = number.less(number.constant(format.least_normal()));
        let shifted = number.times((1_u64 << format.significand) as f64);
        let bits = R::select(subnormal, shifted, number).bits();
        // From 3/4 on, so that numbers on both sides of one have the exponent 0: their logarithm is small, and would
        // be lost in the difference of two larger ones.
        let three_quarters = bits.constant(((2 * format.bias - 1) << format.significand) / 2);
        let exponent = (bits - three_quarters).right(format.significand);
        let significand = R::from_bits(bits - exponent.left(format.significand));
        let exponent = R::from_integer(exponent);
        let shifted = exponent.plus(-f64::from(format.significand));
        let exponent = R::select(subnormal, shifted, exponent);
        let infinity = number.constant(f64::INFINITY);
        let exponent = R::select(number.less(infinity), exponent, number);
        let zero = number.constant(0.0);
        let others = R::select(number.equals(zero), -infinity, number.constant(f64::NAN));
        (significand, R::select(zero.less(number), exponent, others))
    }
}

/// A polynomial's coefficients for each format, the constant one first.
pub(super) struct Polynomial {
    pub(super) single: &'static [f64],
    pub(super) double: &'static [f64],
}

impl Polynomial {
    /// The polynomial's value.
    pub(super) fn at<R: Real>(&self, x: R) -> R {
        let mut backwards = x.pick(self.single, self.double).iter().rev();
        let highest = x.constant(backwards.next().copied().unwrap_or_default());
        backwards.fold(highest, |sum, &coefficient| sum.mad(x, x.constant(coefficient)))
    }
}

/// A constant as a sum of numbers, each as long as a format's significand and less than what it is a part of.
pub(super) struct Parts {
    pub(super) single: [f64; 3],
    pub(super) double: [f64; 3],
}

impl Parts {
    /// The parts, in the form of a number.
    pub(super) fn of<R: Real>(&self, form: R) -> [R; 3] {
        form.pick(self.single, self.double)
            .map(|part| form.constant(part))
    }
}

/// Numbers of one format.
///
/// Comparisons with NaN are false.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// What comparing two of them gives.
    type Mask: Mask;
    /// Integers of their width.
    type Integer: Integer<Mask = Self::Mask>;
    /// Numbers of double precision.
    type Wide: Real<Mask = Self::Mask>;

    /// Their layout.
    fn format(self) -> Format;
    /// A constant in the form of `self`, rounded to its format.
    fn constant(self, value: f64) -> Self;
    /// `self * factor + addend`, rounded once, or nearly so.
    fn fma(self, factor: Self, addend: Self) -> Self;
    /// `self * factor + addend`, where it makes no difference whether the product is rounded before.
    fn mad(self, factor: Self, addend: Self) -> Self;
    /// The square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// The nearest whole number; of two, the even one.
    fn rint(self) -> Self;
    /// The whole number next to it in the direction of zero.
    fn trunc(self) -> Self;
    /// `self < other`.
    fn less(self, other: Self) -> Self::Mask;
    /// `self == other`.
    fn equals(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// The bits.
    fn bits(self) -> Self::Integer;
    /// The number of these bits.
    fn from_bits(bits: Self::Integer) -> Self;
    /// An integer's value, for those of at most 24 or 51 bits, as the significand has.
    fn from_integer(value: Self::Integer) -> Self;
    /// The integer of a whole number of at most 24 or 51 bits; anything else gives anything.
    fn to_integer(self) -> Self::Integer;
    /// As a double.
    fn widen(self) -> Self::Wide;
    /// An integer of 32 bits as a double.
    fn widen_integer(value: Self::Integer) -> Self::Wide;
    /// A double, rounded to the format of `self`.
    fn narrow(self, wide: Self::Wide) -> Self;
    /// `values`, but what `other` computes in lanes where the mask holds: for what is long and seldom needed.
    fn rarely<const N: usize>(
        mask: Self::Mask,
        values: [Self; N],
        other: impl FnOnce() -> [Self; N],
    ) -> [Self; N];

    /// `self * 2^exponent`, rounded once; the exponent is a whole number at most twice the format's largest.
    fn scale(self, exponent: Self) -> Self {
        Format::scale(self, exponent)
    }

    /// A significand in [3/4, 3/2) and an exponent: `self` is `significand * 2^exponent`.
    ///
    /// The exponent of zero is -∞, of ∞ it is ∞, and of NaN and negative numbers it is NaN; the significand of the
    /// last is any.
    fn split(self) -> (Self, Self) {
        Format::split(self)
    }

    /// The magnitude.
    fn abs(self) -> Self {
        let bits = self.bits();
        Self::from_bits(bits & bits.constant(!self.format().sign()))
    }

    /// The sign bit alone.
    fn sign(self) -> Self::Integer {
        let bits = self.bits();
        bits & bits.constant(self.format().sign())
    }

    /// Whether the sign bit is set.
    fn negative(self) -> Self::Mask {
        self.bits().has(self.format().sign())
    }

    /// Its sign changed where the sign bit is set in `sign`, of which the other bits are clear.
    fn signed_by(self, sign: Self::Integer) -> Self {
        Self::from_bits(self.bits() ^ sign)
    }

    /// This value, but at most the limit; NaN stays.
    fn at_most(self, limit: f64) -> Self {
        let limit = self.constant(limit);
        // Asked this way round, as no comparison with NaN holds.
        Self::select(limit.less(self), limit, self)
    }

    /// This value, but at least the limit; NaN stays.
    fn at_least(self, limit: f64) -> Self {
        let limit = self.constant(limit);
        Self::select(self.less(limit), limit, self)
    }

    /// `self + addend`.
    fn plus(self, addend: f64) -> Self {
        self + self.constant(addend)
    }

    /// `self * factor`.
    fn times(self, factor: f64) -> Self {
        self * self.constant(factor)
    }

    /// `self * factor + addend`, rounded once, or nearly so.
    fn times_plus(self, factor: f64, addend: Self) -> Self {
        self.fma(self.constant(factor), addend)
    }

    /// What is for numbers of this format.
    fn pick<T>(self, single: T, double: T) -> T {
        match self.format() {
            Format::SINGLE => single,
            _ => double,
        }
    }

    /// The whole number nearest to `self * factor`, and an integer with its lowest bits; both are anything for numbers
    /// beyond 22 or 51 bits.
    fn nearest_multiple(self, factor: f64) -> (Self, Self::Integer) {
        // So large that the last place is a one: sums with it are whole numbers.
        let begin = self.constant(self.pick(1.5 * 2f64.powi(23), 1.5 * 2f64.powi(52)));
        let sum = self.mad(self.constant(factor), begin);
        (sum - begin, sum.bits())
    }

    /// The square root of a normal number or zero, within about one unit in the last place, by products: of doubles in a
    /// third of the time that the processor's instruction takes, which is [`Real::sqrt`]. Of others it is anything.
    fn root(self) -> Self {
        let bits = self.bits();
        // 1/√x within 3.5 %: half of the exponent, negative, and a line in the place of the significand.
        let first = bits.constant(self.pick(0x5f37_59df, 0x5fe6_eb50_c7b5_37a9));
        let inverse = Self::from_bits(first - bits.right_unsigned(1));
        // The inverse lacks a factor of 1 / √(1 - rest), which is 1 + rest * series.
        let series = |highest_first: &[f64], rest: Self| {
            let (highest, others) = highest_first.split_first().unwrap_or((&0.0, &[]));
            let highest = self.constant(*highest);
            others
                .iter()
                .fold(highest, |sum, factor| sum.mad(rest, self.constant(*factor)))
        };
        let one = self.constant(1.0);
        let rest = (-(self * inverse)).mad(inverse, one);
        let inverse = (inverse * rest).mad(series(&[0.375, 0.5], rest), inverse);
        let root = self * inverse;
        let rest = (-root).mad(inverse, one);
        let terms: &[f64] = self.pick(&[0.375, 0.5], &[0.2734375, 0.3125, 0.375, 0.5]);
        let series = series(terms, rest);
        (root * rest).mad(series, root)
    }

    /// Whether it is a whole number, and whether that is odd; infinities are even ones.
    fn parity(self) -> (Self::Mask, Self::Mask) {
        // Without integers, which the large ones don't fit: halves are exact.
        let whole = self.rint().equals(self);
        let half = self.times(0.5);
        (whole, whole & !half.rint().equals(half))
    }
}

/// `2^exponent`, which must be normal.
fn power_of_two<R: Real>(form: R, exponent: R::Integer) -> R {
    let Format { significand, bias } = form.format();
    R::from_bits((exponent + exponent.constant(bias)).left(significand))
}

/// One lane, evaluated at once: what the algorithms are measured with.
macro_rules! evaluate {
    ($real:ident, $integer:ident, $unsigned:ident, $format:expr) => {
        impl Integer for Wrapping<$integer> {
            type Mask = bool;

            fn constant(self, value: i64) -> Self {
                Wrapping(value as $integer)
            }
            fn left(self, bits: u32) -> Self {
                Wrapping(self.0 << bits)
            }
            fn right(self, bits: u32) -> Self {
                Wrapping(self.0 >> bits)
            }
            fn right_unsigned(self, bits: u32) -> Self {
                Wrapping((self.0 as $unsigned >> bits) as $integer)
            }
            fn left_by(self, bits: Self) -> Self {
                self.left(bits.0 as u32)
            }
            fn right_unsigned_by(self, bits: Self) -> Self {
                self.right_unsigned(bits.0 as u32)
            }
            fn equals(self, other: Self) -> bool {
                self == other
            }
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
            fn lookup(self, table: &'static [u64]) -> Self {
                Wrapping(table[self.0 as usize] as $integer)
            }
        }

        impl Real for $real {
            type Mask = bool;
            type Integer = Wrapping<$integer>;
            type Wide = f64;

            fn format(self) -> Format {
                $format
            }
            fn constant(self, value: f64) -> Self {
                value as $real
            }
            fn fma(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }
            fn mad(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            fn rint(self) -> Self {
                self.round_ties_even()
            }
            fn trunc(self) -> Self {
                self.trunc()
            }
            fn less(self, other: Self) -> bool {
                self < other
            }
            fn equals(self, other: Self) -> bool {
                self == other
            }
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
            fn bits(self) -> Self::Integer {
                Wrapping(self.to_bits() as $integer)
            }
            fn from_bits(bits: Self::Integer) -> Self {
                $real::from_bits(bits.0 as $unsigned)
            }
            fn from_integer(value: Self::Integer) -> Self {
                value.0 as $real
            }
            fn to_integer(self) -> Self::Integer {
                Wrapping(self as $integer)
            }
            fn widen(self) -> f64 {
                self.into()
            }
            fn widen_integer(value: Self::Integer) -> f64 {
                value.0 as f64
            }
            fn narrow(self, wide: f64) -> Self {
                wide as $real
            }
            fn rarely<const N: usize>(
                mask: bool,
                values: [Self; N],
                other: impl FnOnce() -> [Self; N],
            ) -> [Self; N] {
                if mask { other() } else { values }
            }
        }
    };
}

evaluate!(f32, i32, u32, Format::SINGLE);
evaluate!(f64, i64, u64, Format::DOUBLE);
