//! Conversions between number types, in every rounding mode, saturated or not.

use offkit_spirv::grammar::FPRoundingMode as Rounding;

use super::Scalar;
use super::float::{self, Format};
use super::integer::{sign_extend, truncate};

offkit_image::named! {
    /// A conversion instruction of SPIR-V.
    pub enum Conversion, "The name in the text form." {
        /// `OpConvertFToU`
        FloatToUnsigned => "float_to_unsigned",
        /// `OpConvertFToS`
        FloatToSigned => "float_to_signed",
        /// `OpConvertUToF`
        UnsignedToFloat => "unsigned_to_float",
        /// `OpConvertSToF`
        SignedToFloat => "signed_to_float",
        /// `OpFConvert`
        Float => "float",
        /// `OpUConvert`
        Unsigned => "unsigned",
        /// `OpSConvert`
        Signed => "signed",
        /// `OpSatConvertSToU`
        SaturateToUnsigned => "saturate_to_unsigned",
        /// `OpSatConvertUToS`
        SaturateToSigned => "saturate_to_signed",
        /// `OpQuantizeToF16`
        QuantizeToHalf => "quantize_to_half",
    }
}

impl Conversion {
    /// Whether the instruction can convert between these types.
    pub fn accepts(self, from: Scalar, to: Scalar) -> bool {
        let (float_from, float_to) = (from.is_float(), to.is_float());
        match self {
            Self::FloatToUnsigned | Self::FloatToSigned => float_from && to.is_integer(),
            Self::UnsignedToFloat | Self::SignedToFloat => from.is_integer() && float_to,
            Self::Float => float_from && float_to,
            Self::QuantizeToHalf => from == Scalar::F32 && to == Scalar::F32,
            _ => from.is_integer() && to.is_integer(),
        }
    }
}

/// Converts one lane. `kind` must accept the types.
///
/// Without a rounding mode, conversions to integers round toward zero and conversions to floats to
/// nearest even. A float out of the range of the integer type gives the nearest integer of that type,
/// and NaN gives zero, also where the standard leaves the result open; between integers that only
/// happens when `saturate` is set.
pub fn convert_lane(
    kind: Conversion,
    from: Scalar,
    to: Scalar,
    rounding: Option<Rounding>,
    saturate: bool,
    word: u64,
) -> u64 {
    let to_nearest = rounding.unwrap_or(Rounding::RTE);
    match kind {
        Conversion::FloatToUnsigned => clamp(to, false, round_to_integer(from, rounding, word)),
        Conversion::FloatToSigned => clamp(to, true, round_to_integer(from, rounding, word)),
        Conversion::UnsignedToFloat => integer_to_float(to, word.into(), to_nearest),
        Conversion::SignedToFloat => integer_to_float(to, sign_extend(from, word).into(), to_nearest),
        Conversion::Float => from_f64(to, to_f64(from, word), to_nearest),
        Conversion::Unsigned if saturate => clamp(to, false, word.into()),
        Conversion::Unsigned => truncate(to, word),
        Conversion::Signed if saturate => clamp(to, true, sign_extend(from, word).into()),
        Conversion::Signed => truncate(to, sign_extend(from, word) as u64),
        Conversion::SaturateToUnsigned => clamp(to, false, sign_extend(from, word).into()),
        Conversion::SaturateToSigned => clamp(to, true, word.into()),
        // SPIR-V keeps the type and takes the precision alone.
        Conversion::QuantizeToHalf => {
            let half = float::from_f64(float::HALF, to_f64(from, word), Rounding::RTE);
            from_f64(to, float::to_f64(float::HALF, half), Rounding::RTE)
        }
    }
}

/// The value of a float word; zero for the types that are not floats.
pub fn to_f64(scalar: Scalar, word: u64) -> f64 {
    Format::of(scalar).map_or(0.0, |format| float::to_f64(format, word))
}

/// Rounds a value to a float type; zero for the types that are not floats.
pub fn from_f64(scalar: Scalar, value: f64, rounding: Rounding) -> u64 {
    Format::of(scalar).map_or(0, |format| float::from_f64(format, value, rounding))
}

fn round_to_integer(from: Scalar, rounding: Option<Rounding>, word: u64) -> i128 {
    let value = to_f64(from, word);
    let rounded = match rounding.unwrap_or(Rounding::RTZ) {
        Rounding::RTZ => libm::trunc(value),
        Rounding::RTP => libm::ceil(value),
        Rounding::RTN => libm::floor(value),
        _ => libm::rint(value),
    };
    // Saturating, and zero for NaN; the ranges of the 64-bit types lie well inside.
    rounded as i128
}

fn integer_to_float(to: Scalar, value: i128, rounding: Rounding) -> u64 {
    // Operands have at most 64 bits, so the magnitude fits.
    let magnitude = value.unsigned_abs() as u64;
    // From the exact integer: by way of a double those of 64 bits would be rounded twice.
    Format::of(to).map_or(0, |format| float::pack(format, value < 0, magnitude, 0, rounding))
}

fn clamp(to: Scalar, signed: bool, value: i128) -> u64 {
    let (low, high) = to.range(signed);
    truncate(to, value.clamp(low, high) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_integer(kind: Conversion, to: Scalar, rounding: Option<Rounding>, value: f64) -> i64 {
        let word = convert_lane(kind, Scalar::F64, to, rounding, false, value.to_bits());
        if kind == Conversion::FloatToSigned {
            sign_extend(to, word)
        } else {
            word as i64
        }
    }

    #[test]
    fn floats_to_integers() {
        let signed = |to, rounding, value| to_integer(Conversion::FloatToSigned, to, rounding, value);
        let unsigned = |to, rounding, value| to_integer(Conversion::FloatToUnsigned, to, rounding, value);
        for (rounding, expected) in [
            (None, [2, 2, 3, -2, -2, -3, 0]),
            (Some(Rounding::RTZ), [2, 2, 3, -2, -2, -3, 0]),
            (Some(Rounding::RTE), [2, 3, 4, -2, -3, -4, 0]),
            (Some(Rounding::RTP), [3, 3, 4, -2, -2, -3, 1]),
            (Some(Rounding::RTN), [2, 2, 3, -3, -3, -4, 0]),
        ] {
            let results =
                [2.5, 2.7, 3.5, -2.5, -2.7, -3.5, 0.1].map(|value| signed(Scalar::I32, rounding, value));
            assert_eq!(results, expected, "{rounding:?}");
        }
        assert_eq!(signed(Scalar::I8, None, 127.9), 127);
        assert_eq!(signed(Scalar::I8, None, 1000.0), 127);
        assert_eq!(signed(Scalar::I8, None, -1000.0), -128);
        assert_eq!(signed(Scalar::I64, None, 1e30), i64::MAX);
        assert_eq!(signed(Scalar::I64, None, f64::NEG_INFINITY), i64::MIN);
        assert_eq!(signed(Scalar::I32, None, f64::NAN), 0);
        assert_eq!(unsigned(Scalar::I8, None, -3.0), 0);
        assert_eq!(unsigned(Scalar::I8, Some(Rounding::RTE), 254.5), 254);
        assert_eq!(
            unsigned(Scalar::I64, None, 1.8e19) as u64,
            18_000_000_000_000_000_000
        );
        assert_eq!(unsigned(Scalar::I64, None, f64::INFINITY) as u64, u64::MAX);
    }

    #[test]
    fn integers_to_floats() {
        let convert = |kind, from, rounding, word| {
            f32::from_bits(convert_lane(kind, from, Scalar::F32, rounding, false, word) as u32)
        };
        let unsigned = Conversion::UnsignedToFloat;
        assert_eq!(convert(unsigned, Scalar::I32, None, 0x0100_0001), 16_777_216.0);
        assert_eq!(
            convert(unsigned, Scalar::I32, Some(Rounding::RTP), 0x0100_0001),
            16_777_218.0
        );
        assert_eq!(convert(unsigned, Scalar::I64, None, u64::MAX), 1.844_674_4e19);
        assert_eq!(
            convert(unsigned, Scalar::I64, Some(Rounding::RTZ), u64::MAX),
            1.844_674_3e19
        );
        let signed = Conversion::SignedToFloat;
        assert_eq!(convert(signed, Scalar::I8, None, 0x80), -128.0);
        assert_eq!(convert(signed, Scalar::I64, None, 1 << 63), -9.223_372e18);
        assert_eq!(
            convert(
                signed,
                Scalar::I32,
                Some(Rounding::RTN),
                (-16_777_217_i32) as u32 as u64
            ),
            -16_777_218.0
        );
        assert_eq!(
            convert_lane(unsigned, Scalar::I32, Scalar::F16, None, false, 70_000),
            0x7c00
        );
        assert_eq!(
            convert_lane(
                unsigned,
                Scalar::I32,
                Scalar::F16,
                Some(Rounding::RTZ),
                false,
                70_000
            ),
            0x7bff
        );
    }

    #[test]
    fn integers_to_integers() {
        let convert = |kind, from, to, saturate, word| convert_lane(kind, from, to, None, saturate, word);
        assert_eq!(
            convert(Conversion::Unsigned, Scalar::I32, Scalar::I8, false, 0x1ff),
            0xff
        );
        assert_eq!(
            convert(Conversion::Unsigned, Scalar::I32, Scalar::I8, true, 0x100),
            0xff
        );
        assert_eq!(
            convert(Conversion::Signed, Scalar::I8, Scalar::I32, false, 0x80),
            0xffff_ff80
        );
        assert_eq!(
            convert(Conversion::Signed, Scalar::I32, Scalar::I8, true, 0xffff_0000),
            0x80
        );
        assert_eq!(
            convert(
                Conversion::SaturateToUnsigned,
                Scalar::I32,
                Scalar::I8,
                false,
                0xffff_ffff
            ),
            0
        );
        assert_eq!(
            convert(
                Conversion::SaturateToUnsigned,
                Scalar::I32,
                Scalar::I8,
                false,
                300
            ),
            255
        );
        assert_eq!(
            convert(
                Conversion::SaturateToSigned,
                Scalar::I32,
                Scalar::I8,
                false,
                0xffff_ffff
            ),
            127
        );
        assert_eq!(
            convert(
                Conversion::SaturateToSigned,
                Scalar::I64,
                Scalar::I64,
                false,
                u64::MAX
            ),
            i64::MAX as u64
        );
    }

    #[test]
    fn floats_to_floats() {
        let narrow = |value: f64, rounding| {
            convert_lane(
                Conversion::Float,
                Scalar::F64,
                Scalar::F32,
                rounding,
                false,
                value.to_bits(),
            )
        };
        assert_eq!(narrow(0.1, None), u64::from(0.1_f32.to_bits()));
        assert_eq!(narrow(0.1, Some(Rounding::RTZ)), u64::from(0.1_f32.to_bits()) - 1);
        assert_eq!(narrow(f64::NAN, None), u64::from(f32::NAN.to_bits()));
        let quantize = |value: f32| {
            let word = u64::from(value.to_bits());
            let word = convert_lane(
                Conversion::QuantizeToHalf,
                Scalar::F32,
                Scalar::F32,
                None,
                false,
                word,
            );
            f32::from_bits(word as u32)
        };
        assert_eq!(quantize(0.1), 0.099_975_586);
        assert_eq!(quantize(1e6), f32::INFINITY);
    }

    #[test]
    fn types_are_checked() {
        assert!(Conversion::Float.accepts(Scalar::F16, Scalar::F64));
        assert!(!Conversion::Float.accepts(Scalar::I16, Scalar::F64));
        assert!(!Conversion::Unsigned.accepts(Scalar::Bool, Scalar::I8));
        assert!(Conversion::FloatToSigned.accepts(Scalar::F16, Scalar::I64));
        assert!(!Conversion::QuantizeToHalf.accepts(Scalar::F64, Scalar::F32));
    }
}
