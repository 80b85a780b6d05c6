//! printf: what it is given as text, however the kernel is run.

use super::fault::Fault;
use offkit_kernel::builtins::{Scalar, Shape, convert, sign_extend};

/// The longest string, in bytes.
const LONGEST_STRING: usize = 1 << 16;

/// What a printf is given: words, and what they are.
pub(crate) type Given<'w> = (&'w [u64], Shape);

/// Reads a byte of memory at an address.
type Read<'r> = dyn FnMut(u64) -> Result<u8, Fault> + 'r;

/// The text of a printf whose first operand points to the format.
pub(crate) fn format(operands: &[Given<'_>], read: &mut Read<'_>) -> Result<String, Fault> {
    let Some(((format, _), values)) = operands.split_first() else {
        return Ok(String::new());
    };
    let format = string(first(format), read)?;
    let mut out = Vec::new();
    let mut values = values.iter();
    let mut rest = format.as_slice();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            out.push(*byte);
            continue;
        }
        let (specification, after) = Specification::parse(after);
        rest = after;
        if specification.conversion == b'%' {
            out.push(b'%');
            continue;
        }
        // More conversions than values is undefined in C; here the text ends in front of the first.
        let Some((words, shape)) = values.next() else {
            break;
        };
        if specification.conversion == b's' {
            let text = match first(words) {
                0 => b"(null)".to_vec(),
                address => string(address, read)?,
            };
            let length = specification
                .precision
                .map_or(text.len(), |precision| precision.min(text.len()));
            specification.pad(&text[..length], &mut out);
            continue;
        }
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            let text = specification.number(*word, shape.scalar);
            specification.pad(text.as_bytes(), &mut out);
        }
    }
    // Strings of kernels are any bytes, and a precision may cut one within a character.
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn first(words: &[u64]) -> u64 {
    words.first().copied().unwrap_or(0)
}

/// The bytes up to a zero.
fn string(mut address: u64, read: &mut Read<'_>) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST_STRING {
        match read(address)? {
            0 => break,
            byte => bytes.push(byte),
        }
        address = address.wrapping_add(1);
    }
    Ok(bytes)
}

/// One conversion of a format.
#[derive(Clone, Debug, Default)]
struct Specification {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bits that the length modifier tells; none means those of the value.
    bits: Option<u32>,
    conversion: u8,
}

impl Specification {
    /// Reads what follows a percent sign, and gives what follows that.
    fn parse(mut text: &[u8]) -> (Specification, &[u8]) {
        let mut specification = Specification::default();
        while let Some((flag, rest)) = text.split_first() {
            match flag {
                b'-' => specification.left = true,
                b'+' => specification.plus = true,
                b' ' => specification.space = true,
                b'#' => specification.alternate = true,
                b'0' => specification.zero = true,
                _ => break,
            }
            text = rest;
        }
        specification.width = digits(&mut text);
        if let Some(rest) = text.strip_prefix(b".") {
            text = rest;
            specification.precision = Some(digits(&mut text));
        }
        // The number of components is that of the value.
        if let Some(rest) = text.strip_prefix(b"v") {
            text = rest;
            digits(&mut text);
        }
        // Longer ones first. `hl` is OpenCL's, for vectors of numbers of 32 bits.
        for (modifier, bits) in [(&b"hh"[..], 8), (b"hl", 32), (b"h", 16), (b"ll", 64), (b"l", 64)] {
            if let Some(rest) = text.strip_prefix(modifier) {
                text = rest;
                specification.bits = Some(bits);
                break;
            }
        }
        // A percent sign at the end stands for itself.
        let (conversion, rest) = text.split_first().unwrap_or((&b'%', text));
        specification.conversion = *conversion;
        (specification, rest)
    }

    fn number(&self, word: u64, scalar: Scalar) -> String {
        if scalar.is_float() {
            return self.float(convert::to_f64(scalar, word));
        }
        // No more than the value has: too long a modifier, as `%ld` for an `int`, adds nothing.
        let bits = self.bits.unwrap_or(64).min(scalar.bits());
        let masked = word & (u64::MAX >> (64 - bits));
        match self.conversion {
            b'd' | b'i' => {
                let extended = sign_extend(scalar, word);
                let signed = if bits < scalar.bits() {
                    (extended << (64 - bits)) >> (64 - bits)
                } else {
                    extended
                };
                self.digits(signed < 0, signed.unsigned_abs().to_string(), "")
            }
            b'o' => self.digits(
                false,
                format!("{masked:o}"),
                if self.alternate { "0" } else { "" },
            ),
            b'x' => self.digits(
                false,
                format!("{masked:x}"),
                if self.alternate && masked != 0 { "0x" } else { "" },
            ),
            b'X' => self.digits(
                false,
                format!("{masked:X}"),
                if self.alternate && masked != 0 { "0X" } else { "" },
            ),
            b'c' => String::from(char::from(word as u8)),
            b'p' => format!("{word:#x}"),
            _ => self.digits(false, masked.to_string(), ""),
        }
    }

    /// An integer with its sign, precision and padding by zeros.
    fn digits(&self, negative: bool, digits: String, prefix: &str) -> String {
        let signed = matches!(self.conversion, b'd' | b'i');
        let sign = self.sign(negative, signed);
        let wanted = match self.precision {
            Some(precision) => precision,
            None if self.zero && !self.left => self.width.saturating_sub(sign.len() + prefix.len()),
            None => 0,
        };
        let digits = if self.precision == Some(0) && digits == "0" {
            String::new()
        } else {
            digits
        };
        format!(
            "{sign}{prefix}{}{digits}",
            "0".repeat(wanted.saturating_sub(digits.len()))
        )
    }

    fn sign(&self, negative: bool, signed: bool) -> &'static str {
        match (negative, signed && self.plus, signed && self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    fn float(&self, value: f64) -> String {
        let upper = self.conversion.is_ascii_uppercase();
        let sign = self.sign(value.is_sign_negative(), true);
        let magnitude = value.abs();
        let body = if !magnitude.is_finite() {
            if magnitude.is_nan() {
                "nan".to_owned()
            } else {
                "inf".to_owned()
            }
        } else {
            match self.conversion.to_ascii_lowercase() {
                b'e' => exponent(magnitude, self.precision.unwrap_or(6)),
                b'g' => self.general(magnitude),
                b'a' => hexadecimal(magnitude, self.precision),
                _ => format!("{magnitude:.*}", self.precision.unwrap_or(6)),
            }
        };
        let zeros = if self.zero && !self.left && magnitude.is_finite() {
            self.width.saturating_sub(sign.len() + body.len())
        } else {
            0
        };
        let text = format!("{sign}{}{body}", "0".repeat(zeros));
        if upper { text.to_uppercase() } else { text }
    }

    /// The shorter of the two forms, without zeros at the end.
    fn general(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6).max(1);
        // The power of ten is that of the number as it is rounded.
        let scientific = exponent(value, precision - 1);
        let power: i64 = scientific
            .split('e')
            .nth(1)
            .and_then(|power| power.parse().ok())
            .unwrap_or(0);
        let trim = |text: String| {
            if self.alternate || !text.contains('.') {
                return text;
            }
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        if power < -4 || power >= precision as i64 {
            let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
            format!("{}e{power}", trim(mantissa.to_owned()))
        } else {
            trim(format!(
                "{value:.*}",
                (precision as i64 - 1 - power).max(0) as usize
            ))
        }
    }

    fn pad(&self, text: &[u8], out: &mut Vec<u8>) {
        let missing = self.width.saturating_sub(text.len());
        if !self.left {
            out.extend(std::iter::repeat_n(b' ', missing));
        }
        out.extend_from_slice(text);
        if self.left {
            out.extend(std::iter::repeat_n(b' ', missing));
        }
    }
}

/// Reads a number, bounded so that no format asks for gigabytes of padding.
fn digits(text: &mut &[u8]) -> usize {
    let mut value = 0usize;
    while let Some((digit @ b'0'..=b'9', rest)) = text.split_first() {
        value = (value * 10 + usize::from(digit - b'0')).min(4096);
        *text = rest;
    }
    value
}

/// One digit before the point, and an exponent of at least two digits.
fn exponent(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    format!(
        "{mantissa}e{}{:02}",
        if power < 0 { '-' } else { '+' },
        power.abs()
    )
}

/// Hexadecimal digits of the mantissa and a power of two.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (mut exponent, mut mantissa) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
    let mut leading = u64::from(exponent != 0);
    // Subnormal numbers, stored with 0, have the exponent of the least normal ones, stored with 1.
    exponent = if value == 0.0 { 0 } else { exponent.max(1) - 1023 };
    let mut digits = 13;
    if let Some(precision) = precision.filter(|precision| *precision < 13) {
        // Round to nearest, ties to even.
        let drop = 4 * (13 - precision) as u32;
        let whole = leading << 52 | mantissa;
        let (kept, rest) = (whole >> drop, whole & ((1 << drop) - 1));
        let half = 1 << (drop - 1);
        let kept = kept + u64::from(rest > half || rest == half && kept & 1 == 1);
        leading = kept >> (4 * precision);
        mantissa = kept & ((1u64 << (4 * precision)) - 1);
        digits = precision;
    }
    let mut text = format!("{mantissa:0digits$x}");
    match precision {
        Some(precision) => text.push_str(&"0".repeat(precision.saturating_sub(13))),
        None => text.truncate(text.trim_end_matches('0').len()),
    }
    if digits == 0 || text.is_empty() {
        return format!("0x{leading}p{exponent:+}");
    }
    format!("0x{leading}.{text}p{exponent:+}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(format: &str, scalar: Scalar, word: u64) -> String {
        let (specification, rest) = Specification::parse(format.as_bytes());
        assert!(rest.is_empty());
        let mut out = Vec::new();
        specification.pad(specification.number(word, scalar).as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    fn float(format: &str, value: f64) -> String {
        one(format, Scalar::F64, value.to_bits())
    }

    #[test]
    fn integers() {
        assert_eq!(one("d", Scalar::I32, 0xffff_ffff), "-1");
        assert_eq!(one("+5d", Scalar::I32, 42), "  +42");
        assert_eq!(one("-5dx".trim_end_matches('x'), Scalar::I32, 42), "42   ");
        assert_eq!(one("05d", Scalar::I32, (-42i32) as u32 as u64), "-0042");
        assert_eq!(one(".3d", Scalar::I32, 7), "007");
        assert_eq!(one("#x", Scalar::I32, 255), "0xff");
        assert_eq!(one("hhd", Scalar::I32, 0x1ff), "-1");
        assert_eq!(one("lu", Scalar::I64, u64::MAX), "18446744073709551615");
        assert_eq!(one("c", Scalar::I32, 65), "A");
    }

    #[test]
    fn floats() {
        assert_eq!(float("f", 1.5), "1.500000");
        assert_eq!(
            float("8.2f", -2.345),
            "   -2.35".replace(
                "35",
                if format!("{:.2}", 2.345) == "2.35" {
                    "35"
                } else {
                    "34"
                }
            )
        );
        assert_eq!(float("e", 12345.678), "1.234568e+04");
        assert_eq!(float("g", 0.0001), "0.0001");
        assert_eq!(float("g", 1e10), "1e+10");
        assert_eq!(float("g", 100000.0), "100000");
        assert_eq!(float("G", f64::INFINITY), "INF");
        assert_eq!(float("a", 1.0), "0x1p+0");
        assert_eq!(float("a", 0.1), "0x1.999999999999ap-4");
        assert_eq!(float(".1a", 0.1), "0x1.ap-4");
        assert_eq!(float("08.1f", -1.25), "-00001.2");
    }
}
