//! Clang's offload bundles: code for several targets in one file.
//!
//! | form | begins with | written for |
//! |---|---|---|
//! | binary | `__CLANG_OFFLOAD_BUNDLE__` | bitcode, device code of HIP programs, precompiled headers |
//! | compressed | `CCOB` | any of the other forms, with zlib or zstd; HIP programs since ROCm 6 |
//! | text | a line `// __CLANG_OFFLOAD_BUNDLE____START__ ID` | sources, assembly, LLVM IR |
//! | object | sections `__CLANG_OFFLOAD_BUNDLE__ID` of a host object | objects with device code; see [`host`](crate::host) |
//!
//! `clang-offload-bundler` writes all of them. All integers are little endian. In the section `.hip_fatbin` of
//! a program bundles follow each other, each at a multiple of 4096.
//!
//! ```
//! use offkit_object::bundle::{Bundle, BundleEntry};
//! use offkit_object::Limits;
//!
//! let bundle = Bundle {
//!     entries: vec![
//!         BundleEntry::new("host-x86_64-unknown-linux-gnu-", b"".as_slice()),
//!         BundleEntry::new("hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", b"code".as_slice()),
//!     ],
//! };
//! let file = bundle.write(4096)?;
//! assert_eq!(Bundle::parse(&file, &Limits::default())?, bundle);
//! # Ok::<(), offkit_object::Error>(())
//! ```

mod binary;
mod check;
mod compressed;
#[cfg(feature = "write")]
mod edit;
mod format;
mod id;
mod parts;
mod replace;
mod sequence;
mod text;

use std::borrow::Cow;

use offkit_image::{Bytes, Error, Limits};

use crate::chunks::Chunks;
use crate::reading::Reading;
use crate::source::Source;

pub use compressed::{CompressedBundle, CompressedVersion};
#[cfg(feature = "write")]
pub(crate) use edit::starts;
pub(crate) use format::{FORMAT, SINGLE_FORMAT, TEXT_FORMAT, extent};
pub use id::EntryId;
pub(crate) use id::{entry_facts, short_names};
pub(crate) use parts::has_magic;
pub use text::{Comment, is_text};

/// The bytes every uncompressed binary bundle begins with, and the beginning of the names of the sections in
/// bundled objects.
pub const MAGIC: [u8; 24] = *b"__CLANG_OFFLOAD_BUNDLE__";

/// The bytes every compressed bundle begins with.
pub const COMPRESSED_MAGIC: [u8; 4] = *b"CCOB";

/// The entries of a bundle, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bundle<'data> {
    /// The entries.
    pub entries: Vec<BundleEntry<'data>>,
}

/// Code for one target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleEntry<'data> {
    /// Which language and target it is for; see [`EntryId`].
    pub id: Cow<'data, str>,
    /// The code, exactly.
    pub bytes: Bytes<'data>,
}

impl<'data> BundleEntry<'data> {
    /// An entry.
    pub fn new(id: impl Into<Cow<'data, str>>, bytes: impl Into<Bytes<'data>>) -> Self {
        Self {
            id: id.into(),
            bytes: bytes.into(),
        }
    }
}

impl<'data> Bundle<'data> {
    /// Reads the binary bundle at the start of `bytes`. What follows it is not looked at.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its offset; or a limit.
    pub fn parse(bytes: &'data [u8], limits: &Limits) -> Result<Self, Error> {
        let entries = binary::read(Source::new(bytes), &mut Reading::strict(limits))?;
        Ok(Self {
            entries: entries
                .into_iter()
                .filter_map(binary::Entry::into_whole)
                .collect(),
        })
    }

    /// Reads every binary bundle in `bytes`, which follow each other with zero bytes between them, as in the
    /// section `.hip_fatbin` of a program. Compressed bundles are decompressed.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its offset; or a limit.
    pub fn parse_all(bytes: &'data [u8], limits: &Limits) -> Result<Vec<Self>, Error> {
        // One reading for all: many small bundles together may unpack no more than one may.
        let mut reading = Reading::strict(limits).for_file_of(bytes.len() as u64);
        let mut all = Vec::new();
        for found in sequence::find_all(Source::new(bytes), &mut reading)? {
            let Some(header) = found.compressed else {
                let entries = binary::read(found.source, &mut reading)?;
                all.push(Self {
                    entries: entries
                        .into_iter()
                        .filter_map(binary::Entry::into_whole)
                        .collect(),
                });
                continue;
            };
            let content = header.inflate(&mut reading)?;
            let entries = binary::read(Source::new(&content), &mut reading)?;
            let entries = entries.into_iter().filter_map(binary::Entry::into_whole);
            // Owned, as what came out of decompression does not live as long as the result.
            all.push(Self {
                entries: entries
                    .map(|entry| BundleEntry::new(entry.id.into_owned(), entry.bytes.into_owned()))
                    .collect(),
            });
        }
        Ok(all)
    }

    /// Reads a bundle in text form, with whatever comments.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its offset; or a limit. A file without any marker is a bundle
    /// without entries.
    pub fn parse_text(bytes: &'data [u8], limits: &Limits) -> Result<Self, Error> {
        let entries = text::read(Source::new(bytes), &mut Reading::strict(limits))?;
        Ok(Self {
            entries: entries
                .into_iter()
                .map(|entry| BundleEntry::new(entry.id, entry.bytes.bytes()))
                .collect(),
        })
    }
}

#[cfg(feature = "write")]
impl<'data> Bundle<'data> {
    /// Writes the bundle in binary form, byte for byte as `clang-offload-bundler -bundle-align` of LLVM 22:
    /// every image at a multiple of `alignment` bytes, zero bytes between, none after the last.
    ///
    /// # Errors
    ///
    /// An alignment of 0, and one so large that offsets do not fit.
    pub fn write(&self, alignment: u64) -> Result<Vec<u8>, Error> {
        let entries = self
            .entries
            .iter()
            .map(|entry| BundleEntry::new(&*entry.id, &*entry.bytes));
        let bundle = Bundle {
            entries: entries.collect(),
        };
        bundle.into_chunks(alignment).map(Chunks::into_bytes)
    }

    /// As [`write`](Self::write), without copying large images.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write).
    pub fn into_chunks(self, alignment: u64) -> Result<Chunks<'data>, Error> {
        binary::write(self, alignment)
    }

    /// Writes the bundle in text form, byte for byte as `clang-offload-bundler` of LLVM 22.
    ///
    /// # Errors
    ///
    /// An image that holds a marker, as the form has no escapes, and IDs with line breaks.
    pub fn write_text(&self, comment: Comment) -> Result<Vec<u8>, Error> {
        text::write(self, comment)
    }
}
