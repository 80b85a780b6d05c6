//! Floating-point formats as bit patterns: widening to `f64` and rounding from exact values.
//!
//! Every float type of OpenCL is a subset of `f64`, so a single "wide" type serves all computation, and
//! one function (`pack`) does all the rounding there is: from an exact integer times a power of two to
//! any format in any rounding mode.

use std::ops::{Add, Div, Mul, Rem, Sub};

use offkit_spirv::grammar::FPRoundingMode as Rounding;

use super::Scalar;

/// An IEEE 754 binary interchange format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Stored bits of the significand (without the implied leading one).
    significand: u32,
    /// Bits of the exponent field.
    exponent: u32,
}

/// Half precision.
pub const HALF: Format = Format {
    significand: 10,
    exponent: 5,
};
/// Single precision.
pub const SINGLE: Format = Format {
    significand: 23,
    exponent: 8,
};
/// Double precision.
pub const DOUBLE: Format = Format {
    significand: 52,
    exponent: 11,
};

impl Format {
    /// The format of a float type; none for the other types.
    pub fn of(scalar: Scalar) -> Option<Self> {
        match scalar {
            Scalar::F16 => Some(HALF),
            Scalar::F32 => Some(SINGLE),
            Scalar::F64 => Some(DOUBLE),
            _ => None,
        }
    }

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// The sign bit alone.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent + self.significand)
    }

    /// Positive infinity.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.significand
    }

    /// The bits of the significand field.
    pub const fn significand_mask(self) -> u64 {
        (1 << self.significand) - 1
    }

    /// The quiet NaN with an empty payload.
    pub const fn quiet_nan(self) -> u64 {
        self.infinity() | 1 << (self.significand - 1)
    }

    /// The largest value below one.
    pub const fn below_one(self) -> u64 {
        ((self.bias() as u64) << self.significand) - 1
    }
}

/// A float type of the host, which has the format of one of the device's.
pub(crate) trait Float {
    /// What the host calculates sums, products, quotients and remainders in: half precision in single precision,
    /// rounded once more, which gives the same for these operations.
    type Number: Copy
        + PartialOrd
        + Default
        + Add<Output = Self::Number>
        + Sub<Output = Self::Number>
        + Mul<Output = Self::Number>
        + Div<Output = Self::Number>
        + Rem<Output = Self::Number>;
    const FORMAT: Format;

    fn read(word: u64) -> Self::Number;
    fn write(number: Self::Number) -> u64;

    /// `x * y + z`, rounded to a number that rounds to this format as the exact value does.
    fn fused(x: f64, y: f64, z: f64) -> f64;
}

impl Float for half::f16 {
    type Number = f32;
    const FORMAT: Format = HALF;

    fn read(word: u64) -> f32 {
        half::f16::from_bits(word as u16).to_f32()
    }

    fn write(number: f32) -> u64 {
        half::f16::from_f32(number).to_bits().into()
    }

    fn fused(x: f64, y: f64, z: f64) -> f64 {
        // The product has 22 bits, and where the sum needs more than 53 its low end is too far below to
        // matter.
        libm::fma(x, y, z)
    }
}

impl Float for f32 {
    type Number = f32;
    const FORMAT: Format = SINGLE;

    fn read(word: u64) -> f32 {
        f32::from_bits(word as u32)
    }

    fn write(number: f32) -> u64 {
        number.to_bits().into()
    }

    fn fused(x: f64, y: f64, z: f64) -> f64 {
        libm::fmaf(x as f32, y as f32, z as f32).into()
    }
}

impl Float for f64 {
    type Number = f64;
    const FORMAT: Format = DOUBLE;

    fn read(word: u64) -> f64 {
        f64::from_bits(word)
    }

    fn write(number: f64) -> u64 {
        number.to_bits()
    }

    fn fused(x: f64, y: f64, z: f64) -> f64 {
        libm::fma(x, y, z)
    }
}

/// The value of a bit pattern; exact.
pub fn to_f64(format: Format, bits: u64) -> f64 {
    if format == DOUBLE {
        return f64::from_bits(bits);
    }
    let negative = bits & format.sign() != 0;
    let magnitude = bits & (format.sign() - 1);
    let wide = if magnitude >= format.infinity() {
        // Infinity, or a NaN, which becomes a quiet one and takes its payload along at the top.
        let payload = magnitude & format.significand_mask();
        let class = if payload == 0 {
            DOUBLE.infinity()
        } else {
            DOUBLE.quiet_nan()
        };
        f64::from_bits(class | payload << (DOUBLE.significand - format.significand))
    } else {
        let field = (magnitude >> format.significand) as i32;
        let hidden = if field == 0 { 0 } else { 1 << format.significand };
        let significand = (magnitude & format.significand_mask()) | hidden;
        let exponent = field.max(1) - format.bias() - format.significand as i32;
        significand as f64 * power_of_two(exponent)
    };
    if negative { -wide } else { wide }
}

/// `2^exponent` for exponents of normal `f64` values.
// Asked of half and single precision alone, whose least subnormals are still normal as doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + DOUBLE.bias()) as u64) << DOUBLE.significand)
}

/// Rounds a wide value to a format.
pub fn from_f64(format: Format, value: f64, rounding: Rounding) -> u64 {
    let bits = value.to_bits();
    if format == DOUBLE {
        return bits;
    }
    let negative = bits & DOUBLE.sign() != 0;
    let magnitude = bits & (DOUBLE.sign() - 1);
    if magnitude >= DOUBLE.infinity() {
        let payload = (magnitude & DOUBLE.significand_mask()) >> (DOUBLE.significand - format.significand);
        // The quiet bit also sees to it that a NaN whose payload is in the low bits alone does not
        // become an infinity.
        let quiet = if value.is_nan() {
            format.quiet_nan()
        } else {
            format.infinity()
        };
        return quiet | payload | if negative { format.sign() } else { 0 };
    }
    let field = (magnitude >> DOUBLE.significand) as i32;
    let hidden = if field == 0 { 0 } else { 1 << DOUBLE.significand };
    let significand = (magnitude & DOUBLE.significand_mask()) | hidden;
    let exponent = field.max(1) - DOUBLE.bias() - DOUBLE.significand as i32;
    pack(format, negative, significand, exponent, rounding)
}

/// Rounds `significand * 2^exponent`, negated when `negative`, to a format.
pub fn pack(format: Format, negative: bool, significand: u64, exponent: i32, rounding: Rounding) -> u64 {
    let sign = if negative { format.sign() } else { 0 };
    if significand == 0 {
        return sign;
    }
    let smallest = 1 - format.bias();
    let leading = significand.ilog2() as i32 + exponent;
    // The weight of the last place of the result, and how far the significand must move to get there.
    let last_place = leading.max(smallest) - format.significand as i32;
    let (kept, round_up) = match last_place - exponent {
        shift @ ..=0 => (significand << shift.unsigned_abs(), false),
        shift => {
            // Beyond 100 places nothing is left but "not zero", which 100 places say as well.
            let shift = shift.min(100) as u32;
            let wide = u128::from(significand);
            let kept = (wide >> shift) as u64;
            let rest = wide & ((1 << shift) - 1);
            let half = 1 << (shift - 1);
            let round_up = match rounding {
                Rounding::RTZ => false,
                Rounding::RTP => rest != 0 && !negative,
                Rounding::RTN => rest != 0 && negative,
                _ => rest > half || rest == half && kept & 1 == 1,
            };
            (kept, round_up)
        }
    };
    // The hidden bit of a normal number adds the last one of its exponent; a carry out of the
    // significand the next.
    let exponent_below = (last_place + format.significand as i32 - smallest) as u64;
    let bits = (exponent_below << format.significand) + kept + u64::from(round_up);
    if bits < format.infinity() {
        return sign | bits;
    }
    let to_infinity = match rounding {
        Rounding::RTZ => false,
        Rounding::RTP => !negative,
        Rounding::RTN => negative,
        _ => true,
    };
    sign | (format.infinity() - u64::from(!to_infinity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_widening_and_rounding() {
        for bits in 0..=u64::from(u16::MAX) {
            let wide = to_f64(HALF, bits);
            assert_eq!(
                wide.to_bits(),
                half::f16::from_bits(bits as u16).to_f64().to_bits(),
                "{bits:#x}"
            );
            for rounding in [Rounding::RTE, Rounding::RTZ, Rounding::RTP, Rounding::RTN] {
                let again = from_f64(HALF, wide, rounding);
                assert_eq!(
                    again,
                    if wide.is_nan() { bits | 0x200 } else { bits },
                    "{bits:#x}"
                );
            }
        }
    }

    #[test]
    fn singles_round_as_the_hardware_does() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Exponents around the range of f32, so that overflow and subnormal results both occur.
            let exponent = 1023 - 155 + (state >> 32) % 290;
            let value = f64::from_bits(state & 0x800f_ffff_ffff_ffff | exponent << 52);
            let single = value as f32;
            assert_eq!(
                from_f64(SINGLE, value, Rounding::RTE),
                u64::from(single.to_bits()),
                "{value:e}"
            );
            assert_eq!(
                to_f64(SINGLE, u64::from(single.to_bits())).to_bits(),
                f64::from(single).to_bits()
            );
        }
    }

    #[test]
    fn directed_modes_bracket_the_value() {
        let tie = 1.0 + 2f64.powi(-11);
        let bits = |value, rounding| from_f64(HALF, value, rounding);
        assert_eq!(bits(tie, Rounding::RTE), 0x3c00);
        assert_eq!(bits(tie, Rounding::RTP), 0x3c01);
        assert_eq!(bits(tie, Rounding::RTN), 0x3c00);
        assert_eq!(bits(-tie, Rounding::RTP), 0xbc00);
        assert_eq!(bits(-tie, Rounding::RTN), 0xbc01);
        assert_eq!(bits(-tie, Rounding::RTZ), 0xbc00);
        // A tie is broken by the last of 53 bits, which a detour through f32 would lose.
        assert_eq!(bits(tie + 2f64.powi(-52), Rounding::RTE), 0x3c01);
        assert_eq!(bits(1e-300, Rounding::RTP), 1);
        assert_eq!(bits(1e-300, Rounding::RTE), 0);
        assert_eq!(bits(-1e-300, Rounding::RTN), 0x8001);
        assert_eq!(bits(1e300, Rounding::RTE), 0x7c00);
        assert_eq!(bits(1e300, Rounding::RTZ), 0x7bff);
        assert_eq!(bits(1e300, Rounding::RTN), 0x7bff);
        assert_eq!(bits(-1e300, Rounding::RTN), 0xfc00);
        assert_eq!(bits(-1e300, Rounding::RTP), 0xfbff);
        assert_eq!(bits(65519.99, Rounding::RTE), 0x7bff);
        assert_eq!(bits(65520.0, Rounding::RTE), 0x7c00);
    }

    #[test]
    fn constants_of_the_formats() {
        assert_eq!(HALF.infinity(), 0x7c00);
        assert_eq!(SINGLE.quiet_nan(), u64::from(f32::NAN.to_bits()));
        assert_eq!(DOUBLE.below_one(), (1.0 - f64::EPSILON / 2.0).to_bits());
        assert_eq!(
            SINGLE.below_one(),
            u64::from((1.0 - f32::EPSILON / 2.0).to_bits())
        );
        assert_eq!(HALF.sign(), 0x8000);
    }
}
