//! How a file is put together from what it was split into, as `MessagePack`.
//!
//! A list of `offkit-recipe`, the version 1, the size of the file and the steps, each a list that begins with a number:
//!
//! | step | values |
//! |---|---|
//! | 0 | bytes of the host file: offset, size |
//! | 1 | bytes |
//! | 2 | an image of a pack: number of the pack, name in the pack, location in the file, bytes to skip, size |
//! | 3 | something compressed: location, what it is beside in the host file (nothing, or offset, size, method, size decompressed), method, level and whether far matches count (nothing where it cannot be made again byte for byte), size, steps |

use offkit_image::{Compression, Error, ErrorKind};
use rmpv::{Value, ValueRef};

const NAME: &str = "offkit-recipe";
const VERSION: u64 = 1;
/// Steps in steps, each in lists.
const DEPTH: usize = 64;

/// What makes up a file, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Host { offset: u64, size: u64 },
    Bytes(Vec<u8>),
    Image(TakenImage),
    Packed(Packed),
}

/// An image that is in a pack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TakenImage {
    pub(super) pack: u64,
    pub(super) name: String,
    pub(super) location: String,
    /// What stands before it in the pack.
    pub(super) skip: u64,
    pub(super) size: u64,
}

/// Something compressed, with images in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) location: String,
    /// The same part of the host file, after decompression, is what host bytes in here are of.
    pub(super) host: Option<Stored>,
    pub(super) compression: Compression,
    /// How the same bytes come out again.
    pub(super) exactly: Option<Level>,
    pub(super) size: u64,
    pub(super) steps: Vec<Step>,
}

/// A compressed part of the host file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) compression: Compression,
    pub(super) inflated: u64,
}

/// How a compressor was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) level: u32,
    pub(super) far: bool,
}

// Those that a join can compress by. Names are part of the format, and must not change.
const METHODS: [(&str, Compression); 3] = [
    ("deflate", Compression::Deflate),
    ("zlib", Compression::Zlib),
    ("zstd", Compression::Zstd),
];

fn method_name(compression: Compression) -> Result<&'static str, Error> {
    let mut methods = METHODS.iter();
    let found = methods.find(|(_, method)| *method == compression);
    let found = found.map(|(name, _)| *name);
    found.ok_or_else(|| {
        Error::unsupported("a file is not split that is compressed this way").finding(compression)
    })
}

/// A recipe as bytes.
pub(super) fn write(size: u64, steps: &[Step]) -> Result<Vec<u8>, Error> {
    let recipe = Value::Array(vec![
        NAME.into(),
        VERSION.into(),
        size.into(),
        Value::Array(values(steps)?),
    ]);
    let mut out = Vec::new();
    rmpv::encode::write_value(&mut out, &recipe)
        .map_err(|error| Error::unrepresentable("the recipe cannot be written").finding(error))?;
    Ok(out)
}

fn values(steps: &[Step]) -> Result<Vec<Value>, Error> {
    steps.iter().map(value).collect()
}

fn value(step: &Step) -> Result<Value, Error> {
    let list = match step {
        Step::Host { offset, size } => vec![0.into(), (*offset).into(), (*size).into()],
        Step::Bytes(bytes) => vec![1.into(), Value::Binary(bytes.clone())],
        Step::Image(image) => vec![
            2.into(),
            image.pack.into(),
            image.name.as_str().into(),
            image.location.as_str().into(),
            image.skip.into(),
            image.size.into(),
        ],
        Step::Packed(packed) => {
            let host = match &packed.host {
                None => Value::Nil,
                Some(stored) => Value::Array(vec![
                    stored.offset.into(),
                    stored.size.into(),
                    method_name(stored.compression)?.into(),
                    stored.inflated.into(),
                ]),
            };
            let exactly = match packed.exactly {
                None => Value::Nil,
                Some(Level { level, far }) => Value::Array(vec![level.into(), far.into()]),
            };
            vec![
                3.into(),
                packed.location.as_str().into(),
                host,
                method_name(packed.compression)?.into(),
                exactly,
                packed.size.into(),
                Value::Array(values(&packed.steps)?),
            ]
        }
    };
    Ok(Value::Array(list))
}

/// The size of the file, and the steps.
pub(super) fn read(mut bytes: &[u8]) -> Result<(u64, Vec<Step>), Error> {
    let whole = rmpv::decode::read_value_ref_with_max_depth(&mut bytes, DEPTH)
        .map_err(|error| damaged("a recipe is not MessagePack").finding(error))?;
    let ValueRef::Array(fields) = &whole else {
        return Err(damaged("a recipe is no list"));
    };
    let [name, version, size, steps] = fields.as_slice() else {
        return Err(damaged("a recipe has not four values"));
    };
    if text(name)? != NAME {
        return Err(Error::new(
            ErrorKind::NotRecognized,
            "not a recipe of a split file",
        ));
    }
    // Nothing of another version is read: one step that means something else makes another file.
    if number(version)? != VERSION {
        return Err(Error::unsupported("the recipe is of another version")
            .expecting(VERSION.to_string())
            .finding(number(version)?));
    }
    Ok((number(size)?, steps_of(steps)?))
}

fn damaged(message: &'static str) -> Error {
    Error::malformed(message)
}

fn steps_of(value: &ValueRef<'_>) -> Result<Vec<Step>, Error> {
    list(value)?.iter().map(step_of).collect()
}

fn step_of(value: &ValueRef<'_>) -> Result<Step, Error> {
    let fields = list(value)?;
    let (kind, fields) = fields
        .split_first()
        .ok_or_else(|| damaged("an empty step of a recipe"))?;
    match (number(kind)?, fields) {
        (0, [offset, size]) => Ok(Step::Host {
            offset: number(offset)?,
            size: number(size)?,
        }),
        // Binary, never text: bytes of a file need not be UTF-8.
        (1, [ValueRef::Binary(bytes)]) => Ok(Step::Bytes(bytes.to_vec())),
        (2, [pack, name, location, skip, size]) => Ok(Step::Image(TakenImage {
            pack: number(pack)?,
            name: text(name)?.to_owned(),
            location: text(location)?.to_owned(),
            skip: number(skip)?,
            size: number(size)?,
        })),
        (3, [location, host, compression, exactly, size, steps]) => Ok(Step::Packed(Packed {
            location: text(location)?.to_owned(),
            host: stored_of(host)?,
            compression: method(compression)?,
            exactly: level_of(exactly)?,
            size: number(size)?,
            steps: steps_of(steps)?,
        })),
        _ => Err(damaged("an unknown step of a recipe")),
    }
}

fn stored_of(value: &ValueRef<'_>) -> Result<Option<Stored>, Error> {
    if *value == ValueRef::Nil {
        return Ok(None);
    }
    match list(value)? {
        [offset, size, compression, inflated] => Ok(Some(Stored {
            offset: number(offset)?,
            size: number(size)?,
            compression: method(compression)?,
            inflated: number(inflated)?,
        })),
        _ => Err(damaged("a recipe names no part of the host file")),
    }
}

fn level_of(value: &ValueRef<'_>) -> Result<Option<Level>, Error> {
    match value {
        ValueRef::Nil => Ok(None),
        ValueRef::Array(fields) => match fields.as_slice() {
            [level, ValueRef::Boolean(far)] => Ok(Some(Level {
                level: u32::try_from(number(level)?).map_err(|_| damaged("no level of compression"))?,
                far: *far,
            })),
            _ => Err(damaged("no level of compression")),
        },
        _ => Err(damaged("no level of compression")),
    }
}

fn method(value: &ValueRef<'_>) -> Result<Compression, Error> {
    let name = text(value)?;
    let mut methods = METHODS.iter();
    let found = methods.find(|(method, _)| *method == name);
    found
        .map(|(_, method)| *method)
        .ok_or_else(|| Error::unsupported("a method of compression that is not known").finding(name))
}

fn list<'a, 'data>(value: &'a ValueRef<'data>) -> Result<&'a [ValueRef<'data>], Error> {
    match value {
        ValueRef::Array(values) => Ok(values),
        _ => Err(damaged("a list was expected in a recipe")),
    }
}

fn text<'a>(value: &'a ValueRef<'_>) -> Result<&'a str, Error> {
    crate::message_pack::text(value).ok_or_else(|| damaged("a text was expected in a recipe"))
}

fn number(value: &ValueRef<'_>) -> Result<u64, Error> {
    value
        .as_u64()
        .ok_or_else(|| damaged("a number was expected in a recipe"))
}
