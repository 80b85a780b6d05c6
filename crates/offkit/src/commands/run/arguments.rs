//! Kernel arguments and sizes as they are typed.

use std::path::PathBuf;
use std::str::FromStr;

use offkit_runtime::{Argument, ValueType};

use crate::array::ElementType;

/// One to three sizes, `X[,Y[,Z]]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    pub(crate) dimensions: u32,
    /// Missing ones are 0.
    pub(crate) values: [usize; 3],
}

impl Sizes {
    /// The sizes with `padding` for those that were left out.
    pub(crate) fn padded(self, padding: usize) -> [usize; 3] {
        let mut values = self.values;
        for value in values.iter_mut().skip(self.dimensions as usize) {
            *value = padding;
        }
        values
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<_> = text.split(',').collect();
        let mut values = [0; 3];
        if parts.len() > values.len() {
            return Err(format!("{} sizes: expected one to three", parts.len()));
        }
        for (value, part) in values.iter_mut().zip(&parts) {
            *value = part
                .parse()
                .map_err(|_| format!("`{part}` is not a size: expected a whole number from 0"))?;
        }
        Ok(Self {
            dimensions: parts.len() as u32,
            values,
        })
    }
}

/// Where the content of a buffer comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArraySource {
    /// `in.npy`.
    File(PathBuf),
    /// `f32[64,64]`: zeros.
    Zeros { element: ElementType, shape: Vec<u64> },
}

/// An argument, with what its numbers are: the device sees their bytes alone.
#[derive(Clone, Debug)]
pub(crate) struct TypedArgument {
    pub(crate) given: Argument<ArraySource>,
    /// The type of a number or vector, and how many components it has.
    pub(crate) element: Option<ElementType>,
    pub(crate) components: usize,
}

/// Reads one argument as it is typed, and keeps its type.
pub(crate) fn typed_argument(text: &str) -> Result<TypedArgument, String> {
    let given = argument(text)?;
    let (element, numbers) = text.split_once(':').unwrap_or_default();
    Ok(TypedArgument {
        given,
        element: element.parse().ok(),
        components: numbers.split(',').count(),
    })
}

/// Reads one argument as it is typed.
fn argument(text: &str) -> Result<Argument<ArraySource>, String> {
    // Before all else: the name of a file may have colons and brackets in it.
    if text.ends_with(".npy") {
        return Ok(Argument::Buffer {
            memory: ArraySource::File(text.into()),
            // The file says it.
            element: ValueType::Bytes,
        });
    }
    if let Some((element, shape)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        let extent = |part: &str| {
            part.trim()
                .parse()
                .map_err(|_| format!("`{part}` is not a number of elements"))
        };
        let shape = shape.split(',').map(extent).collect::<Result<_, _>>()?;
        let element: ElementType = element.parse()?;
        return Ok(Argument::Buffer {
            memory: ArraySource::Zeros { element, shape },
            element: element.value_type(1),
        });
    }
    match text.split_once(':') {
        None => Err("expected `TYPE:VALUE`, `bytes:HEX`, `FILE.npy`, `TYPE[SIZE]` or `local:SIZE`".into()),
        Some(("local", size)) => match size.parse() {
            Ok(size) => Ok(Argument::Local(size)),
            Err(_) => Err(format!("`{size}` is not a number of bytes")),
        },
        Some(("bytes", digits)) => match hexadecimal(digits) {
            Some(bytes) => Ok(Argument::bytes(&bytes)),
            None => Err(format!(
                "`{digits}` is not a sequence of bytes: expected pairs of hexadecimal digits"
            )),
        },
        Some((element, numbers)) => value(element.parse()?, numbers),
    }
}

/// A number, or a vector of numbers with commas between them.
fn value(element: ElementType, numbers: &str) -> Result<Argument<ArraySource>, String> {
    let numbers: Vec<_> = numbers.split(',').collect();
    let count = numbers.len();
    if !matches!(count, 1 | 2 | 3 | 4 | 8 | 16) {
        return Err(format!("{count} components: vectors have 2, 3, 4, 8 or 16"));
    }
    let mut bytes = Vec::new();
    for number in numbers {
        bytes.extend(element.encode(number.trim())?);
    }
    if count == 3 {
        // A vector of three takes the space of four.
        bytes.resize(4 * element.size(), 0);
    }
    Ok(Argument::Value {
        bytes,
        value_type: element.value_type(count as u32),
    })
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs
        .iter()
        .map(|&[high, low]| Some((digit(high)? * 16 + digit(low)?) as u8))
        .collect()
}

/// `[N=]F.npy`: an array file and the argument it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArrayFile {
    /// The argument's number; the only buffer that comes into question if it is left out.
    pub(crate) argument: Option<usize>,
    pub(crate) path: PathBuf,
}

impl FromStr for ArrayFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let numbered = text.split_once('=').filter(|(number, _)| is_number(number));
        Ok(match numbered {
            Some((number, path)) => Self {
                argument: Some(
                    number
                        .parse()
                        .map_err(|_| format!("there is no argument {number}"))?,
                ),
                path: path.into(),
            },
            None => Self {
                argument: None,
                path: text.into(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_as_documented() {
        let value = |text: &str| match argument(text) {
            Ok(Argument::Value { bytes, value_type }) => (bytes, value_type),
            other => panic!("{text}: {other:?}"),
        };
        let buffer = |text: &str| match argument(text) {
            Ok(Argument::Buffer { memory, .. }) => memory,
            other => panic!("{text}: {other:?}"),
        };
        let integer = |bits| ValueType::Integer { bits, components: 1 };
        let float = |components| ValueType::Float { bits: 32, components };
        assert_eq!(value("i32:-7"), ((-7_i32).to_le_bytes().into(), integer(32)));
        assert_eq!(value("u16:0x102"), (vec![2, 1], integer(16)));
        assert_eq!(value("bytes:0a0B"), (vec![10, 11], ValueType::Bytes));
        let (bytes, value_type) = value("f32:1,2,3");
        assert_eq!(
            (bytes.len(), value_type),
            (16, float(3)),
            "a vector of three takes the space of four"
        );
        assert_eq!(buffer("in.npy"), ArraySource::File("in.npy".into()));
        assert_eq!(
            buffer("f32[8,2]"),
            ArraySource::Zeros {
                element: ElementType::Float { bytes: 4 },
                shape: vec![8, 2]
            }
        );
        assert!(matches!(argument("local:256"), Ok(Argument::Local(256))));
        for wrong in [
            "7",
            "i33:7",
            "i32:x",
            "f32[x]",
            "f32:1,2,3,4,5",
            "local:many",
            "u8:-1",
        ] {
            assert!(argument(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_have_one_to_three_dimensions() {
        let sizes: Sizes = "64,32".parse().unwrap();
        assert_eq!((sizes.dimensions, sizes.padded(1)), (2, [64, 32, 1]));
        assert!("1,2,3,4".parse::<Sizes>().is_err());
        assert!("64,".parse::<Sizes>().is_err());
    }

    #[test]
    fn outputs_may_name_their_argument() {
        let parse = |text: &str| text.parse::<ArrayFile>().unwrap();
        assert_eq!(
            parse("2=y.npy"),
            ArrayFile {
                argument: Some(2),
                path: "y.npy".into()
            }
        );
        assert_eq!(
            parse("y=2.npy"),
            ArrayFile {
                argument: None,
                path: "y=2.npy".into()
            }
        );
        assert!("99999999999999999999=a.npy".parse::<ArrayFile>().is_err());
    }
}
