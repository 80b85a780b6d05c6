//! Kernel arguments and sizes as they are typed.

use std::path::PathBuf;
use std::str::FromStr;

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
            *value = part.parse().map_err(|_| format!("`{part}` is no size"))?;
        }
        Ok(Self {
            dimensions: parts.len() as u32,
            values,
        })
    }
}

/// One argument as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentText {
    /// `i32:7`, `f32:1,2,3,4`: the bytes of a number or vector.
    Value {
        element: ElementType,
        components: u32,
        bytes: Vec<u8>,
    },
    /// `bytes:0a0b`: a struct, or anything else, by its bytes.
    Bytes(Vec<u8>),
    /// `in.npy`.
    File(PathBuf),
    /// `f32[64,64]`: a buffer of zeros.
    Zeros { element: ElementType, shape: Vec<u64> },
    /// `local:256`.
    Local(usize),
}

impl FromStr for ArgumentText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.ends_with(".npy") {
            return Ok(Self::File(text.into()));
        }
        if let Some((element, shape)) = text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            let extent = |part: &str| {
                part.trim()
                    .parse()
                    .map_err(|_| format!("`{part}` is no number of elements"))
            };
            let shape = shape.split(',').map(extent).collect::<Result<_, _>>()?;
            return Ok(Self::Zeros {
                element: element.parse()?,
                shape,
            });
        }
        let Some((kind, value)) = text.split_once(':') else {
            return Err(
                "expected `TYPE:VALUE`, `bytes:HEX`, `FILE.npy`, `TYPE[SIZE]` or `local:SIZE`".into(),
            );
        };
        if kind == "local" {
            return value
                .parse()
                .map(Self::Local)
                .map_err(|_| format!("`{value}` is no number of bytes"));
        }
        if kind == "bytes" {
            return hexadecimal(value).map(Self::Bytes).ok_or_else(|| {
                format!("`{value}` is no sequence of bytes: expected pairs of hexadecimal digits")
            });
        }
        let element: ElementType = kind.parse()?;
        let mut bytes = Vec::new();
        let components: Vec<_> = value.split(',').collect();
        if !matches!(components.len(), 1 | 2 | 3 | 4 | 8 | 16) {
            return Err(format!(
                "{} components: vectors have 2, 3, 4, 8 or 16",
                components.len()
            ));
        }
        for component in &components {
            bytes.extend(element.encode(component.trim())?);
        }
        if components.len() == 3 {
            // A vector of three takes the space of four.
            bytes.resize(4 * element.size(), 0);
        }
        Ok(Self::Value {
            element,
            components: components.len() as u32,
            bytes,
        })
    }
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
        let parse = |text: &str| text.parse::<ArgumentText>();
        let float = ElementType::Float { bytes: 4 };
        let int = ElementType::Int {
            signed: true,
            bytes: 4,
        };
        assert_eq!(
            parse("i32:-7"),
            Ok(ArgumentText::Value {
                element: int,
                components: 1,
                bytes: (-7_i32).to_le_bytes().into()
            })
        );
        assert_eq!(parse("in.npy"), Ok(ArgumentText::File("in.npy".into())));
        assert_eq!(
            parse("f32[8,2]"),
            Ok(ArgumentText::Zeros {
                element: float,
                shape: vec![8, 2]
            })
        );
        assert_eq!(parse("local:256"), Ok(ArgumentText::Local(256)));
        let Ok(ArgumentText::Value {
            components: 3, bytes, ..
        }) = parse("f32:1,2,3")
        else {
            panic!("no vector")
        };
        assert_eq!(bytes.len(), 16, "a vector of three takes the space of four");
        for wrong in [
            "7",
            "i33:7",
            "i32:x",
            "f32[x]",
            "f32:1,2,3,4,5",
            "local:many",
            "u8:-1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
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
