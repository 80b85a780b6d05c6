//! The bytes of an image: borrowed, shared, or compressed until somebody asks for them.

use std::borrow::Cow;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use crate::compression::Compression;
use crate::error::Error;
use crate::inspection::Inspection;

/// The bytes of a file, shared by all that is in it: a mapping, a vector, anything that stays put.
pub type SharedBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Unpacks a stream of that compression, of which exactly so many bytes come out.
pub type Inflate = fn(Compression, &[u8], u64) -> Result<Vec<u8>, Error>;

/// Bytes that are borrowed, or a part of something shared; cheap to clone.
#[derive(Clone)]
pub struct Bytes<'data>(Held<'data>);

#[derive(Clone)]
enum Held<'data> {
    Borrowed(&'data [u8]),
    Shared(SharedBytes, Range<usize>),
}

impl Bytes<'_> {
    /// A part of something shared; empty if it has no such part.
    #[must_use]
    pub fn shared(file: SharedBytes, range: Range<usize>) -> Bytes<'static> {
        Bytes(Held::Shared(file, range))
    }

    /// The same bytes, copied if they are borrowed.
    #[must_use]
    pub fn into_owned(self) -> Bytes<'static> {
        match self.0 {
            Held::Borrowed(bytes) => bytes.to_vec().into(),
            Held::Shared(file, range) => Bytes(Held::Shared(file, range)),
        }
    }

    /// The same bytes, borrowed from `file` if they lie in it.
    fn rebase<'file>(self, file: &'file [u8]) -> Bytes<'file> {
        // By address, not by content: the bytes are the file's own, under a lifetime that is not known to be the
        // file's.
        match range_within(file, &self).and_then(|range| file.get(range)) {
            Some(part) => Bytes(Held::Borrowed(part)),
            None => self.into_owned(),
        }
    }

    /// The same bytes, as a part of `file` if they lie in it; otherwise a copy, unless they are shared already.
    #[must_use]
    pub fn share(self, file: &SharedBytes) -> Bytes<'static> {
        match range_within((**file).as_ref(), &self) {
            Some(range) => Bytes::shared(Arc::clone(file), range),
            None => self.into_owned(),
        }
    }
}

impl<'data> Bytes<'data> {
    /// A part of them, without copying it; empty if there is no such part.
    #[must_use]
    pub fn part(&self, part: Range<usize>) -> Self {
        match &self.0 {
            Held::Borrowed(bytes) => bytes.get(part).unwrap_or_default().into(),
            Held::Shared(file, range) => {
                // Neither end may leave this part: the file goes on around it with bytes that
                // belong to others, and a slice of the whole would give these.
                let start = range.start.saturating_add(part.start).min(range.end);
                let end = range.start.saturating_add(part.end);
                let is_part = part.start <= part.end && end <= range.end;
                Self(Held::Shared(
                    Arc::clone(file),
                    start..if is_part { end } else { start },
                ))
            }
        }
    }

    /// The bytes, if they are borrowed.
    #[must_use]
    pub fn borrowed(&self) -> Option<&'data [u8]> {
        match self.0 {
            Held::Borrowed(bytes) => Some(bytes),
            Held::Shared(..) => None,
        }
    }

    /// The bytes, where they are not borrowed a copy of them.
    #[must_use]
    pub fn into_cow(self) -> Cow<'data, [u8]> {
        match self.0 {
            Held::Borrowed(bytes) => Cow::Borrowed(bytes),
            Held::Shared(..) => Cow::Owned(self.to_vec()),
        }
    }
}

impl Deref for Bytes<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Held::Borrowed(bytes) => bytes,
            // `shared` checks no range, so that a wrong one comes to light here: as no bytes.
            Held::Shared(file, range) => (**file).as_ref().get(range.clone()).unwrap_or_default(),
        }
    }
}

impl<'data> From<&'data [u8]> for Bytes<'data> {
    fn from(bytes: &'data [u8]) -> Self {
        Self(Held::Borrowed(bytes))
    }
}

impl<'data, const N: usize> From<&'data [u8; N]> for Bytes<'data> {
    fn from(bytes: &'data [u8; N]) -> Self {
        Self(Held::Borrowed(bytes))
    }
}

impl<'data> From<&'data Vec<u8>> for Bytes<'data> {
    fn from(bytes: &'data Vec<u8>) -> Self {
        Self(Held::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Bytes<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        // Shared and not owned, so that every `Bytes` is cheap to clone.
        let range = 0..bytes.len();
        Self(Held::Shared(Arc::new(bytes), range))
    }
}

impl<'data> From<Cow<'data, [u8]>> for Bytes<'data> {
    fn from(bytes: Cow<'data, [u8]>) -> Self {
        match bytes {
            Cow::Borrowed(bytes) => bytes.into(),
            Cow::Owned(bytes) => bytes.into(),
        }
    }
}

impl PartialEq for Bytes<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes<'_> {}

impl PartialEq<[u8]> for Bytes<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        **self == *other
    }
}

impl PartialEq<&[u8]> for Bytes<'_> {
    fn eq(&self, other: &&[u8]) -> bool {
        **self == **other
    }
}

impl<const N: usize> PartialEq<&[u8; N]> for Bytes<'_> {
    fn eq(&self, other: &&[u8; N]) -> bool {
        **self == other[..]
    }
}

impl PartialEq<Vec<u8>> for Bytes<'_> {
    fn eq(&self, other: &Vec<u8>) -> bool {
        **self == **other
    }
}

impl AsRef<[u8]> for Bytes<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

/// How the bytes of an image are stored in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// As they are.
    Plain,
    /// Compressed, alone.
    Compressed(Compression),
    /// As a part of something larger that is compressed.
    Within(Compression),
}

/// The code of an image as it is stored, the way to its bytes, and what was found in these.
#[derive(Debug, Clone)]
pub struct Code<'data> {
    /// What is in the file; of an image inside of something compressed, its bytes.
    stored: Bytes<'data>,
    form: Form,
    inspection: OnceLock<Arc<Inspection>>,
}

#[derive(Debug, Clone)]
enum Form {
    Plain,
    Within(Compression),
    Compressed(Arc<Compressed>),
}

#[derive(Debug)]
struct Compressed {
    method: Compression,
    /// How much comes out.
    size: u64,
    inflate: Inflate,
    /// What came out, once somebody asked.
    inflated: OnceLock<Result<Vec<u8>, Error>>,
}

impl<'data> Code<'data> {
    /// The same without its bytes, for those who remember images and need only what is known about them: how it is
    /// stored is still said, and asking for the bytes is an error.
    #[must_use]
    pub fn forgotten(&self) -> Code<'static> {
        fn gone(_: Compression, _: &[u8], _: u64) -> Result<Vec<u8>, Error> {
            Err(Error::unsupported("the bytes of this image were not kept"))
        }
        match self.storage() {
            Storage::Plain => Code::from(Vec::new()),
            Storage::Within(method) => Code::within(Vec::new(), method),
            // Only of compressed code the size is known without the bytes.
            Storage::Compressed(method) => Code::compressed(Vec::new(), method, self.size(), gone),
        }
    }

    /// Bytes that come out of something larger that is compressed.
    #[must_use]
    pub fn within(bytes: impl Into<Bytes<'data>>, method: Compression) -> Self {
        Self {
            stored: bytes.into(),
            form: Form::Within(method),
            inspection: OnceLock::new(),
        }
    }

    /// A compressed stream that is unpacked when somebody asks for the bytes, of which there are `size`.
    #[must_use]
    pub fn compressed(
        stored: impl Into<Bytes<'data>>,
        method: Compression,
        size: u64,
        inflate: Inflate,
    ) -> Self {
        Self {
            stored: stored.into(),
            form: Form::Compressed(Arc::new(Compressed {
                method,
                size,
                inflate,
                inflated: OnceLock::new(),
            })),
            inspection: OnceLock::new(),
        }
    }

    /// A compressed stream, and what came out of it.
    #[must_use]
    pub fn inflated(stored: impl Into<Bytes<'data>>, method: Compression, bytes: Vec<u8>) -> Self {
        Self {
            stored: stored.into(),
            form: Form::Compressed(Arc::new(Compressed {
                method,
                size: bytes.len() as u64,
                // Never called, as what comes out is there.
                inflate: |_, _, _| Ok(Vec::new()),
                inflated: OnceLock::from(Ok(bytes)),
            })),
            inspection: OnceLock::new(),
        }
    }

    /// The bytes, unpacked when first asked for.
    ///
    /// # Errors
    ///
    /// Compressed bytes that cannot be unpacked.
    pub fn bytes(&self) -> Result<&[u8], Error> {
        match &self.form {
            Form::Plain | Form::Within(_) => Ok(&self.stored),
            Form::Compressed(compressed) => {
                // A failure is kept too: who asks again does not pay for the same damage again.
                let inflated = compressed
                    .inflated
                    .get_or_init(|| (compressed.inflate)(compressed.method, &self.stored, compressed.size));
                inflated.as_deref().map_err(Clone::clone)
            }
        }
    }

    /// The bytes, if nothing has to be unpacked for them.
    #[must_use]
    #[inline]
    pub fn at_hand(&self) -> Option<&[u8]> {
        match &self.form {
            Form::Plain | Form::Within(_) => Some(&self.stored),
            Form::Compressed(compressed) => compressed.inflated.get()?.as_deref().ok(),
        }
    }

    /// What is in the file; of an image inside of something compressed, its bytes.
    #[must_use]
    #[inline]
    pub fn stored(&self) -> &Bytes<'data> {
        &self.stored
    }

    /// What is in the bytes: what `look` finds when first asked, and the same from then on, for copies of the code too.
    pub(crate) fn inspected_by(&self, look: impl FnOnce() -> Inspection) -> &Inspection {
        self.inspection.get_or_init(|| Arc::new(look()))
    }

    /// How many bytes there are, which asks for none of them.
    #[must_use]
    #[inline]
    pub fn size(&self) -> u64 {
        match &self.form {
            Form::Plain | Form::Within(_) => self.stored.len() as u64,
            Form::Compressed(compressed) => compressed.size,
        }
    }

    /// How they are stored.
    #[must_use]
    #[inline]
    pub fn storage(&self) -> Storage {
        match &self.form {
            Form::Plain => Storage::Plain,
            Form::Within(method) => Storage::Within(*method),
            Form::Compressed(compressed) => Storage::Compressed(compressed.method),
        }
    }

    /// The bytes themselves, without what they were compressed to.
    ///
    /// # Errors
    ///
    /// As [`bytes`](Self::bytes).
    pub fn into_bytes(self) -> Result<Bytes<'data>, Error> {
        match &self.form {
            Form::Plain | Form::Within(_) => Ok(self.stored),
            // A copy, as clones of this code may share what came out.
            Form::Compressed(_) => self.bytes().map(|bytes| bytes.to_vec().into()),
        }
    }

    /// The same code, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> Code<'static> {
        self.map(Bytes::into_owned)
    }

    pub(crate) fn rebase<'file>(self, file: &'file [u8]) -> Code<'file> {
        self.map(|stored| stored.rebase(file))
    }

    /// The same code, sharing with `file` what lies in it and owning the rest.
    #[must_use]
    pub fn share(self, file: &SharedBytes) -> Code<'static> {
        self.map(|stored| stored.share(file))
    }

    fn map<'other>(self, stored: impl FnOnce(Bytes<'data>) -> Bytes<'other>) -> Code<'other> {
        // The bytes do not change by moving: what was unpacked and found in them stays with them.
        Code {
            stored: stored(self.stored),
            form: self.form,
            inspection: self.inspection,
        }
    }
}

impl<'data, B: Into<Bytes<'data>>> From<B> for Code<'data> {
    fn from(bytes: B) -> Self {
        Self {
            stored: bytes.into(),
            form: Form::Plain,
            inspection: OnceLock::new(),
        }
    }
}

/// The same bytes in the file, and the same number of them after unpacking.
impl PartialEq for Code<'_> {
    fn eq(&self, other: &Self) -> bool {
        // What is cheap first: to compare the bytes may read all pages of both from the disk.
        (self.storage(), self.size()) == (other.storage(), other.size()) && self.stored == other.stored
    }
}

impl Eq for Code<'_> {}

/// Where `part` begins in `whole`, if it is a part of it.
#[must_use]
#[inline]
pub fn offset_within(whole: &[u8], part: &[u8]) -> Option<u64> {
    range_within(whole, part).map(|range| range.start as u64)
}

/// Where `part` is in `whole`, if it is a part of it.
#[must_use]
#[inline]
pub fn range_within(whole: &[u8], part: &[u8]) -> Option<Range<usize>> {
    // No pointer is made of these numbers, which may be of different allocations. A part without
    // bytes may dangle, and is an empty range at most.
    let start = part.as_ptr().addr().checked_sub(whole.as_ptr().addr())?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_bytes_come_out_once_and_only_when_asked_for() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static UNPACKED: AtomicUsize = AtomicUsize::new(0);
        let code = Code::compressed(b"3", Compression::Lz4, 3, |_, stored, size| {
            UNPACKED.fetch_add(1, Ordering::Relaxed);
            Ok(stored.repeat(usize::try_from(size).unwrap()))
        });
        let copy = code.clone().into_owned();
        assert_eq!((code.size(), code.stored().len()), (3, 1));
        assert_eq!(UNPACKED.load(Ordering::Relaxed), 0);
        assert_eq!(code.bytes(), Ok(b"333".as_slice()));
        assert_eq!(copy.bytes(), Ok(b"333".as_slice()));
        assert_eq!(UNPACKED.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_lies_in_a_shared_file_is_not_copied() {
        let file: SharedBytes = Arc::new(b"head code".to_vec());
        let bytes = (*file).as_ref();
        let inside = Code::from(&bytes[5..]).share(&file);
        assert_eq!(inside.bytes().unwrap().as_ptr(), bytes[5..].as_ptr());
        let outside = Code::from(b"code").share(&file);
        assert_eq!(outside, inside);
    }
}
