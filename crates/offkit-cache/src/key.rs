//! What an entry is made of.

use std::fmt::Write as _;
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fmt, fs};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Kind {
    /// A program that a device's driver has built.
    Program,
    /// SPIR-V of a source in OpenCL C.
    OpenclC,
    /// A device library that comes with offkit, for one target.
    DeviceLibrary,
    /// A plugin that does no harm.
    Plugin,
    /// Files of `offkit cc`.
    Driver,
    /// What offkit's compiler has made of SPIR-V: machine code of a kernel for the CPU device, PTX of a program.
    Kernel,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Program,
        Self::OpenclC,
        Self::DeviceLibrary,
        Self::Plugin,
        Self::Driver,
        Self::Kernel,
    ];

    /// The name, as commands print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::OpenclC => "opencl-c",
            Self::DeviceLibrary => "device-library",
            Self::Plugin => "plugin",
            Self::Driver => "driver",
            Self::Kernel => "kernel",
        }
    }

    /// Whether an entry means something on another machine. What was found out about this one's programs does not.
    pub fn travels(self) -> bool {
        matches!(
            self,
            Self::Program | Self::OpenclC | Self::DeviceLibrary | Self::Kernel
        )
    }
}

/// A digest: SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub(crate) [u8; 32]);

impl Digest {
    /// Of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// What [`Display`](fmt::Display) writes, read again.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
            return None;
        };
        let digit = |byte: u8| {
            let digit = char::from(byte).to_digit(16)?;
            // As it is written, there is one way to.
            (!byte.is_ascii_uppercase()).then_some(digit as u8)
        };
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// One of the things that an entry is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// What it is.
    pub name: String,
    /// Its value where that is short, or else the digest of its bytes.
    pub value: String,
}

/// Everything that an entry is made of. Two keys are the same if kind and inputs are, in their order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// What is kept.
    pub kind: Kind,
    /// What users call it; makes no difference.
    pub subject: String,
    /// What it is made of.
    pub inputs: Vec<Input>,
}

impl Key {
    /// A key without inputs.
    pub fn new(kind: Kind, subject: impl Into<String>) -> Self {
        Self {
            kind,
            subject: subject.into(),
            inputs: Vec::new(),
        }
    }

    /// With an input that is a short text.
    #[must_use]
    pub fn text(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.inputs.push(Input {
            name: name.into(),
            value: value.to_string(),
        });
        self
    }

    /// With an input of many bytes, which is remembered by its digest.
    #[must_use]
    pub fn bytes(self, name: impl Into<String>, bytes: &[u8]) -> Self {
        let value = format!("sha256 {}, {} bytes", Digest::of(bytes), bytes.len());
        self.text(name, value)
    }

    /// With a file as an input: where it is, its size and its time. To read a compiler takes longer than to start it.
    #[must_use]
    pub fn file(self, name: impl Into<String>, path: &Path) -> Self {
        let value = file_identity(path).unwrap_or_else(|| "not there".to_owned());
        self.text(name, value)
    }

    /// The digest of kind and inputs: what the entry goes by.
    pub fn digest(&self) -> Digest {
        let mut hasher = Sha256::new();
        let mut add = |text: &str| {
            // With lengths no two lists of texts are the same bytes.
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        };
        add(self.kind.name());
        for input in &self.inputs {
            add(&input.name);
            add(&input.value);
        }
        Digest(hasher.finalize().into())
    }
}

/// A file as a text: its path behind links, its size and its time.
pub(crate) fn file_identity(path: &Path) -> Option<String> {
    // Behind links, for an upgrade may change where one leads and leave size and time alike.
    let path = fs::canonicalize(path).ok()?;
    let found = fs::metadata(&path).ok()?;
    let time = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let mut text = crate::path::text(&path);
    write!(text, ", {} bytes of {}", found.len(), seconds(time)).ok()?;
    Some(text)
}

/// A time as seconds, exactly.
fn seconds(time: std::time::Duration) -> String {
    format!("{}.{:09}", time.as_secs(), time.subsec_nanos())
}
