//! The one error type of the crate: what is wrong, where, and what was expected instead.

use std::borrow::Cow;
use std::fmt;

/// What sort of failure an [`Error`] is, for callers that react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are none of the formats this crate reads.
    NotRecognized,
    /// Something that the format describes lies outside of the bytes given.
    OutOfBounds,
    /// The bytes break a rule of their format.
    Malformed,
    /// The bytes are well formed, as far as was looked, but use something this crate does not read.
    Unsupported,
    /// A bound of [`Limits`](crate::Limits) was reached.
    LimitExceeded,
    /// The value cannot be expressed in the format it was to be written in.
    Unrepresentable,
}

/// A failure to read or write a container.
///
/// Where a peer tool has a text for the same failure, the message is that text without its full stop,
/// so that searching for one finds the other.
///
/// ```
/// use offkit_image::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::OutOfBounds, "Invalid Offload Binary size").at(0).field("header");
/// let error = error.expecting("at least 0x20 bytes").finding("0x4");
/// assert_eq!(
///     error.with_file("app.out").to_string(),
///     "app.out: offset 0x0: Invalid Offload Binary size (header): expected at least 0x20 bytes, found 0x4"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Box<Details>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    message: Cow<'static, str>,
    file: Option<String>,
    offset: Option<u64>,
    field: Option<Cow<'static, str>>,
    expected: Option<String>,
    found: Option<String>,
}

impl Error {
    /// A failure of that sort, with the peer's text where a peer tool has one.
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        // On the heap: every result of a reader has room for an error, and nearly all go well.
        Self(Box::new(Details {
            kind,
            message: message.into(),
            file: None,
            offset: None,
            field: None,
            expected: None,
            found: None,
        }))
    }

    /// Bytes that break a rule of their format.
    #[must_use]
    pub fn malformed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// Well-formed bytes that nothing here reads.
    #[must_use]
    pub fn unsupported(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// A value that the format cannot express.
    #[must_use]
    pub fn unrepresentable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Unrepresentable, message)
    }

    /// The same error, with the offset of what is wrong.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// The offset of the part that is wrong, for an error that does not say it more exactly.
    #[must_use]
    pub fn or_at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// The same error, naming the field that is wrong.
    #[must_use]
    pub fn field(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// Says in which larger part the field is that the error names.
    #[must_use]
    pub fn within(mut self, part: impl fmt::Display) -> Self {
        self.0.field = Some(match self.0.field.take() {
            Some(field) => format!("{part}, {field}").into(),
            None => part.to_string().into(),
        });
        self
    }

    /// The same error, saying what was expected.
    #[must_use]
    pub fn expecting(mut self, expected: impl Into<String>) -> Self {
        self.0.expected = Some(expected.into());
        self
    }

    /// The same error, saying what was found.
    #[must_use]
    pub fn finding(mut self, found: impl fmt::Display) -> Self {
        self.0.found = Some(found.to_string());
        self
    }

    /// The same error, naming the file it was found in.
    #[must_use]
    pub fn with_file(mut self, name: impl Into<String>) -> Self {
        self.0.file = Some(name.into());
        self
    }

    /// What sort of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What is wrong, without place and expectation.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file, when [`with_file`](Self::with_file) named it.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// Offset in bytes from the start of the slice that was given to the reader.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }

    /// The field, entry or line that is wrong.
    #[must_use]
    pub fn context(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// What a correct file would have there.
    #[must_use]
    pub fn expected(&self) -> Option<&str> {
        self.0.expected.as_deref()
    }

    /// What is there instead.
    #[must_use]
    pub fn found(&self) -> Option<&str> {
        self.0.found.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details {
            message,
            file,
            offset,
            field,
            expected,
            found,
            ..
        } = &*self.0;
        if let Some(file) = file {
            write!(f, "{file}: ")?;
        }
        if let Some(offset) = offset {
            write!(f, "offset {offset:#x}: ")?;
        }
        f.write_str(message)?;
        if let Some(field) = field {
            write!(f, " ({field})")?;
        }
        match (expected, found) {
            (Some(expected), Some(found)) => write!(f, ": expected {expected}, found {found}"),
            (Some(expected), None) => write!(f, ": expected {expected}"),
            (None, Some(found)) => write!(f, ": found {found}"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
