//! Arrays of numbers: what kernels are given and what they give back.

pub(crate) mod npy;

use std::fmt;
use std::str::FromStr;

use offkit_runtime::ValueType;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ElementType {
    Int { signed: bool, bytes: u8 },
    Float { bytes: u8 },
}

impl ElementType {
    /// The size of one element in bytes.
    pub(crate) fn size(self) -> usize {
        let (Self::Int { bytes, .. } | Self::Float { bytes }) = self;
        usize::from(bytes)
    }

    /// What so many numbers of this type are as an argument of a kernel.
    pub(crate) fn value_type(self, components: u32) -> ValueType {
        let bits = self.size() as u32 * 8;
        match self {
            Self::Int { .. } => ValueType::Integer { bits, components },
            Self::Float { .. } => ValueType::Float { bits, components },
        }
    }

    /// Writes a number as this type's little-endian bytes.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, String> {
        let refuse = |_| format!("`{text}` is not a valid {self}");
        let (Self::Int { bytes, .. } | Self::Float { bytes }) = self;
        let count = usize::from(bytes);
        match self {
            Self::Float { bytes } => {
                let value: f64 = text
                    .parse()
                    .map_err(|_| format!("`{text}` is not a valid {self}"))?;
                let encoded = match bytes {
                    2 => half::f16::from_f64(value).to_le_bytes().to_vec(),
                    4 => (value as f32).to_le_bytes().to_vec(),
                    _ => value.to_le_bytes().to_vec(),
                };
                // A number beyond the type's range would become infinite without a word.
                let is_named = text.to_ascii_lowercase().contains("inf");
                if self.decode(&encoded).is_infinite() && !is_named {
                    return Err(format!("`{text}` does not fit {self}"));
                }
                Ok(encoded)
            }
            Self::Int { signed, bytes } => {
                let (digits, radix) = match text.strip_prefix("0x") {
                    Some(digits) => (digits, 16),
                    None => (text, 10),
                };
                // `from_str_radix` takes a sign, and so would take one behind the `0x`.
                if radix == 16 && digits.starts_with(['+', '-']) {
                    return Err(format!("`{text}` is not a valid {self}"));
                }
                // All types here fit with their signs, so that one check of the range does for all.
                let value = i128::from_str_radix(digits, radix).map_err(refuse)?;
                let bits = u32::from(bytes) * 8;
                let (least, most) = if signed {
                    (-(1_i128 << (bits - 1)), (1 << (bits - 1)) - 1)
                } else {
                    (0, (1 << bits) - 1)
                };
                if value < least || value > most {
                    return Err(format!("`{text}` does not fit {self}: {least} to {most}"));
                }
                Ok(value.to_le_bytes()[..count].to_vec())
            }
        }
    }

    /// The number that these little-endian bytes stand for; integers beyond 2^53 are rounded.
    pub(crate) fn decode(self, bytes: &[u8]) -> f64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        match self {
            Self::Float { bytes: 2 } => half::f16::from_bits(bits as u16).to_f64(),
            Self::Float { bytes: 4 } => f64::from(f32::from_bits(bits as u32)),
            Self::Float { .. } => f64::from_bits(bits),
            Self::Int { signed: false, .. } => bits as f64,
            Self::Int { bytes, .. } => {
                let unused = 64 - u32::from(bytes) * 8;
                ((bits << unused) as i64 >> unused) as f64
            }
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int { signed: true, bytes } => write!(f, "i{}", bytes * 8),
            Self::Int { signed: false, bytes } => write!(f, "u{}", bytes * 8),
            Self::Float { bytes } => write!(f, "f{}", bytes * 8),
        }
    }
}

impl FromStr for ElementType {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let int = |signed, bytes| Ok(Self::Int { signed, bytes });
        match name {
            "i8" => int(true, 1),
            "i16" => int(true, 2),
            "i32" => int(true, 4),
            "i64" => int(true, 8),
            "u8" => int(false, 1),
            "u16" => int(false, 2),
            "u32" => int(false, 4),
            "u64" => int(false, 8),
            "f16" => Ok(Self::Float { bytes: 2 }),
            "f32" => Ok(Self::Float { bytes: 4 }),
            "f64" => Ok(Self::Float { bytes: 8 }),
            _ => Err(format!(
                "`{name}` is not a type: expected i8 to i64, u8 to u64, f16, f32 or f64"
            )),
        }
    }
}

/// An array in row-major order, little endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Array {
    pub(crate) element: ElementType,
    pub(crate) shape: Vec<u64>,
    pub(crate) data: Vec<u8>,
}

impl Array {
    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.data.len() / self.element.size()
    }

    /// Compares with what was expected. Numbers agree if they are equal, both not a number, or both
    /// finite and within `tolerance` times the expected magnitude.
    pub(crate) fn compare(&self, expected: &Self, tolerance: f64) -> Result<(), String> {
        if self.element != expected.element {
            return Err(format!(
                "elements are {}, expected {}",
                self.element, expected.element
            ));
        }
        if self.shape != expected.shape {
            return Err(format!(
                "shape {}, expected {}",
                shape_text(&self.shape),
                shape_text(&expected.shape)
            ));
        }
        let size = self.element.size();
        let mut differences = 0_usize;
        let mut first = None;
        for (index, (found, wanted)) in self.data.chunks(size).zip(expected.data.chunks(size)).enumerate() {
            if found == wanted {
                continue;
            }
            // Large integers that differ may be one `f64`: where they are to be the same, the bytes
            // above have the last word. Infinity times any tolerance would be near to everything.
            let (a, b) = (self.element.decode(found), self.element.decode(wanted));
            let integer = matches!(self.element, ElementType::Int { .. }) && tolerance == 0.0;
            let near = a.is_finite() && b.is_finite() && (a - b).abs() <= tolerance * b.abs();
            if !integer && (a == b || (a.is_nan() && b.is_nan()) || near) {
                continue;
            }
            differences += 1;
            first.get_or_insert((index, a, b));
        }
        match first {
            None => Ok(()),
            Some((index, found, wanted)) => Err(format!(
                "{differences} of {} elements differ, the first at index {index}: {found}, expected {wanted}",
                self.len()
            )),
        }
    }
}

/// A shape as Python writes it, with a comma after the only size of a tuple of one.
pub(crate) fn shape_text(shape: &[u64]) -> String {
    match shape {
        [only] => format!("({only},)"),
        sizes => {
            let sizes: Vec<_> = sizes.iter().map(u64::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}

/// An empty vector with room for so many bytes, or what is missing.
pub(crate) fn memory(bytes: u64) -> Result<Vec<u8>, String> {
    // Sizes come from files and command lines: one that is too large must not end the program.
    let mut data = Vec::new();
    usize::try_from(bytes)
        .ok()
        .and_then(|bytes| data.try_reserve_exact(bytes).ok())
        .map(|()| data)
        .ok_or_else(|| format!("not enough memory for {bytes} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn sample() -> Array {
        let element = ElementType::Float { bytes: 4 };
        let data = [1.5_f32, -2.0, 3.25, 0.0, 7.0, 8.0]
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        Array {
            element,
            shape: vec![2, 3],
            data,
        }
    }

    #[test]
    fn comparison_names_the_first_difference() {
        let array = sample();
        assert_eq!(array.compare(&array, 0.0), Ok(()));
        let mut other = array.clone();
        other.data[4..8].copy_from_slice(&(-2.002_f32).to_le_bytes());
        let difference = array.compare(&other, 0.0).unwrap_err();
        assert!(
            difference.starts_with("1 of 6 elements differ, the first at index 1: -2, expected -2.00"),
            "{difference}"
        );
        assert_eq!(array.compare(&other, 0.01), Ok(()));
        other.shape = vec![6];
        assert_eq!(
            array.compare(&other, 1.0).unwrap_err(),
            "shape (2, 3), expected (6,)"
        );
    }

    #[test]
    fn infinity_is_near_to_nothing() {
        let array = |value: f32| Array {
            element: ElementType::Float { bytes: 4 },
            shape: vec![1],
            data: value.to_le_bytes().to_vec(),
        };
        let infinite = array(f32::INFINITY);
        assert_eq!(infinite.compare(&infinite, 0.5), Ok(()));
        for other in [1.0, f32::MAX, f32::NEG_INFINITY, f32::NAN] {
            assert!(array(other).compare(&infinite, 0.5).is_err(), "{other}");
            assert!(infinite.compare(&array(other), 0.5).is_err(), "{other}");
        }
        assert_eq!(array(f32::NAN).compare(&array(f32::NAN), 0.0), Ok(()));
    }

    #[test]
    fn large_integers_are_compared_exactly() {
        let array = |value: i64| Array {
            element: ElementType::Int {
                signed: true,
                bytes: 8,
            },
            shape: vec![1],
            data: value.to_le_bytes().to_vec(),
        };
        assert!(array(i64::MAX).compare(&array(i64::MAX - 1), 0.0).is_err());
    }

    #[test]
    fn numbers_are_encoded_as_their_type() {
        let encode = |kind: &str, text: &str| kind.parse::<ElementType>().unwrap().encode(text);
        assert_eq!(encode("i32", "-7"), Ok((-7_i32).to_le_bytes().to_vec()));
        assert_eq!(encode("u64", "0xff"), Ok(255_u64.to_le_bytes().to_vec()));
        assert_eq!(encode("f32", "2.5"), Ok(2.5_f32.to_le_bytes().to_vec()));
        assert_eq!(encode("f16", "1"), Ok(vec![0x00, 0x3c]));
        assert!(encode("u8", "256").unwrap_err().contains("0 to 255"));
        assert!(encode("i8", "-129").unwrap_err().contains("-128 to 127"));
        assert!(encode("i32", "2.5").is_err());
        for (kind, text) in [
            ("f16", "65520"),
            ("f32", "1e39"),
            ("f32", "-1e39"),
            ("f64", "1e309"),
            ("i32", "0x-5"),
            ("i32", "0x+5"),
        ] {
            assert!(encode(kind, text).is_err(), "{kind}:{text}");
        }
        assert_eq!(encode("f16", "65504"), Ok(vec![0xff, 0x7b]));
        for text in ["inf", "-Infinity"] {
            assert!(encode("f32", text).is_ok(), "{text}");
        }
        assert!("f8".parse::<ElementType>().is_err());
    }
}
