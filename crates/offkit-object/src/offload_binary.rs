//! The offload binary: clang's container for device images in objects and programs.
//!
//! | version | written by | holds |
//! |---|---|---|
//! | 1 | LLVM up to 22 (`llvm-offload-binary`, `clang -fembed-offload-object`) | one image |
//! | 2 | LLVM after 22; DPC++ for SYCLBIN | any number of images, or entries without an image |
//! | 3 | LLVM after that | as 2, may be compressed |
//!
//! All integers are little endian and all offsets count from the start of the binary, before it was
//! compressed. Binaries may follow each other in one section or file, each at a multiple of 8 when LLVM's tools
//! put them there; between them a linker may leave zeros.

mod ahead;
mod around;
mod check;
#[cfg(feature = "write")]
mod edit;
mod format;
mod inflate;
mod kind;
mod packaged;
mod parts;
pub(crate) mod raw;
mod read;
mod repeated;
mod replace;
mod sequence;
mod string_table;
mod write;

use std::borrow::Cow;

use offkit_image::{Bytes, Compression, Error, Limits, Strings};

use crate::chunks::Chunks;
use crate::reading::Reading;
use crate::source::Source;

pub use around::around;
pub(crate) use check::check;
pub(crate) use format::{FORMAT, extent};
pub(crate) use inflate::{inflated, of_stream, stream};
pub use kind::{ImageKind, OffloadKind};
pub use packaged::packaged;
pub(crate) use packaged::read_strings;
pub(crate) use read::{Found, SYCLBIN_MAGIC, begins_syclbin, is_syclbin, read_one};
pub(crate) use replace::{Change, patch, replace_entry};
pub(crate) use sequence::{Binary, Sequence, read_all};
pub(crate) use write::{Pending, write_pending};

/// The first bytes of every offload binary.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// Finds the magic number in other bytes.
// Made once: in a damaged sequence a search begins behind each fault.
static MAGIC_FINDER: std::sync::LazyLock<memchr::memmem::Finder<'static>> =
    std::sync::LazyLock::new(|| memchr::memmem::Finder::new(&MAGIC));

/// One offload binary: its entries, in order.
///
/// ```
/// use offkit_object::{ImageKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};
///
/// let mut entry = OffloadEntry::new(ImageKind::BITCODE, OffloadKind::OPENMP, b"BC\xc0\xde");
/// entry.strings.set("arch", "sm_80");
/// entry.strings.set("triple", "nvptx64-nvidia-cuda");
/// let bytes = OffloadBinary::from(entry).write(OffloadBinaryVersion::V1)?;
///
/// let binary = OffloadBinary::parse(&bytes, &Limits::default())?;
/// assert_eq!(binary.entries[0].strings.get("triple"), Some("nvptx64-nvidia-cuda"));
/// assert_eq!(binary.entries[0].image, b"BC\xc0\xde");
/// # Ok::<(), offkit_object::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OffloadBinary<'data> {
    /// The entries, in the order of the file. Version 1 has exactly one.
    pub entries: Vec<OffloadEntry<'data>>,
}

/// An entry of an offload binary: an image and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadEntry<'data> {
    /// What the image is said to be.
    pub image_kind: ImageKind,
    /// Which offloading language made it.
    pub offload_kind: OffloadKind,
    /// Flags; see [`OffloadEntry::METADATA_ONLY`].
    pub flags: u32,
    /// Further facts by name, such as `triple` and `arch`.
    pub strings: Strings<'data>,
    /// The image, exactly: without padding.
    pub image: Bytes<'data>,
}

/// The versions of the format that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OffloadBinaryVersion {
    /// One image; the only version LLVM 22 reads.
    V1,
    /// Many entries, values that may hold zero bytes.
    V2,
    /// As version 2; all but the header may be compressed, with zlib or zstd.
    V3(Option<Compression>),
}

impl OffloadBinaryVersion {
    /// The number of the format: 1, 2 or 3.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
            Self::V3(_) => 3,
        }
    }
}

impl<'data> OffloadEntry<'data> {
    /// Flag of an entry that has strings but no image; since version 2.
    pub const METADATA_ONLY: u32 = 1;

    /// An entry without strings and flags.
    #[must_use]
    pub fn new(image_kind: ImageKind, offload_kind: OffloadKind, image: impl Into<Bytes<'data>>) -> Self {
        Self {
            image_kind,
            offload_kind,
            flags: 0,
            strings: Strings::new(),
            image: image.into(),
        }
    }

    /// The same entry, which borrows nothing.
    #[must_use]
    pub fn into_owned(self) -> OffloadEntry<'static> {
        OffloadEntry {
            image_kind: self.image_kind,
            offload_kind: self.offload_kind,
            flags: self.flags,
            strings: self.strings.into_owned(),
            image: self.image.into_owned(),
        }
    }

    /// Whether the entry says that it has no image.
    #[must_use]
    pub fn is_metadata_only(&self) -> bool {
        self.flags & Self::METADATA_ONLY != 0
    }
}

impl<'data> From<OffloadEntry<'data>> for OffloadBinary<'data> {
    fn from(entry: OffloadEntry<'data>) -> Self {
        Self { entries: vec![entry] }
    }
}

impl<'data> OffloadBinary<'data> {
    /// Reads the binary at the start of `bytes`, of version 1, 2 or 3. What follows it is not looked at.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its offset; a compressed binary, which is to be
    /// [inflated](Self::inflate) before; or a limit.
    pub fn parse(bytes: &'data [u8], limits: &Limits) -> Result<Self, Error> {
        read_one(Source::new(bytes), &mut Reading::strict(limits)).map(|found| found.binary)
    }

    /// Reads all binaries that follow each other in `bytes`, such as the content of a section
    /// `.llvm.offloading`. Any number of zeros may stand before, between and after them.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse); bytes other than zeros between or after binaries are an error too.
    pub fn parse_all(bytes: &'data [u8], limits: &Limits) -> Result<Vec<Self>, Error> {
        let found = read_all(Source::new(bytes), &mut Reading::strict(limits))?;
        Ok(found.into_iter().map(|found| found.binary).collect())
    }

    /// The same binaries without compression: `bytes` itself if none is compressed. No more than `limit` bytes
    /// come out, whatever the headers promise.
    ///
    /// ```
    /// use offkit_object::{Compression, ImageKind, Limits, OffloadBinary, OffloadBinaryVersion};
    /// use offkit_object::{OffloadEntry, OffloadKind};
    ///
    /// let binary = OffloadBinary::from(OffloadEntry::new(ImageKind::BITCODE, OffloadKind::HIP, b"BC\xc0\xde"));
    /// let small = binary.write(OffloadBinaryVersion::V3(Some(Compression::Zstd)))?;
    /// let whole = OffloadBinary::inflate(&small, 1 << 20)?;
    /// assert_eq!(OffloadBinary::parse(&whole, &Limits::default())?, binary);
    /// # Ok::<(), offkit_object::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A stream that is damaged, of another size than promised, or too large.
    pub fn inflate(bytes: &[u8], limit: u64) -> Result<Cow<'_, [u8]>, Error> {
        inflate::inflated_all(Source::new(bytes), limit)
    }
}

#[cfg(feature = "write")]
impl<'data> OffloadBinary<'data> {
    /// Writes one binary; a pure function of the entries and the version.
    ///
    /// Version 1 is laid out byte for byte as LLVM 22 does, given the strings in the same order (see
    /// [`Strings::sort`]); versions 2 and 3 as LLVM does after 22, the images packed after the first.
    ///
    /// # Errors
    ///
    /// What the version cannot express: in version 1 any number of entries but one and values with zero
    /// bytes, in all keys with zero bytes; a compression other than zlib and zstd.
    pub fn write(&self, version: OffloadBinaryVersion) -> Result<Vec<u8>, Error> {
        self.write_chunks(version).map(Chunks::into_bytes)
    }

    /// As [`write`](Self::write), without copying large images.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn write_chunks(&self, version: OffloadBinaryVersion) -> Result<Chunks<'data>, Error> {
        write::write(self, version)
    }

    /// Writes version 1 as far as it goes: a binary for each entry, one after the other.
    ///
    /// # Errors
    ///
    /// Values or keys with zero bytes.
    pub fn write_v1_sequence(&self) -> Result<Vec<u8>, Error> {
        self.write_v1_sequence_chunks().map(Chunks::into_bytes)
    }

    /// As [`write_v1_sequence`](Self::write_v1_sequence), without copying large images.
    ///
    /// # Errors
    ///
    /// As [`write_v1_sequence`](Self::write_v1_sequence).
    pub fn write_v1_sequence_chunks(&self) -> Result<Chunks<'data>, Error> {
        write::write_v1_sequence(self)
    }
}
