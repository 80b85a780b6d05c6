//! Zip files, such as wheels.
//!
//! Members are found by the directory at the end; local headers only say where contents begin. Contents may be
//! stored, deflated, or compressed with Zstandard. Most members of a package are no device code and hold none:
//! they are passed over after a look at their first bytes.

use std::io::Read;

use flate2::{Decompress, FlushDecompress};
use offkit_image::{Compression, Error, ErrorKind, Limits};
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};

use crate::container::looks_like_device_code;
use crate::part::{Coding, Content, Part, Visit};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;

/// The bytes by which a member is judged: enough to get behind the comment that device assembly begins with.
const HEAD: usize = 1 << 10;

/// Compressed bytes that are read for the head; it never takes more when there is anything to compress.
const COMPRESSED_HEAD: usize = 1 << 12;

/// Whether the bytes begin like one.
pub(crate) fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// Hands over every part.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let archive = ZipArchive::from_slice(source.bytes()).map_err(|error| {
        Error::new(ErrorKind::OutOfBounds, "zip file without its directory")
            .at(source.at(source.len()))
            .expecting("a directory of members at the end")
            .finding(error)
    })?;
    let mut names = PartNames::default();
    let mut heads = Heads::new();
    let mut entries = archive.entries();
    let mut id = 0_usize;
    loop {
        let entry = entries.next_entry().map_err(|error| {
            Error::malformed("zip directory is damaged")
                .at(source.at(archive.directory_offset()))
                .field(format!("member {id}"))
                .finding(error)
        });
        // After an error there is no telling where the next entry is.
        let Some(entry) = reading.accept(entry)?.flatten() else {
            return Ok(());
        };
        let counted = reading
            .count_strings(1)
            .and_then(|()| reading.count_metadata(entry.file_path().len() as u64));
        if reading.accept(counted)?.is_none() {
            return Ok(());
        }
        if !entry.is_dir() && entry.uncompressed_size_hint() > 0 {
            let member = Member::locate(source, &archive, &entry);
            if let Some(member) = reading.accept(member)?
                && heads.are_of_interest(&member)
            {
                let name = names.file(entry.file_path().as_bytes(), id);
                visit(
                    reading,
                    Part {
                        coding: member.coding,
                        ..Part::new(id, name, member.stored, Content::File)
                    },
                );
            }
        }
        id = id.saturating_add(1);
        if reading.is_exhausted() {
            return Ok(());
        }
    }
}

/// A member's content.
struct Member<'data> {
    stored: Source<'data>,
    coding: Option<Coding>,
}

impl<'data> Member<'data> {
    fn locate(
        source: Source<'data>,
        archive: &ZipSliceArchive<&'data [u8]>,
        entry: &ZipFileHeaderRecord<'_>,
    ) -> Result<Self, Error> {
        let path = entry.file_path();
        let header = source.at(entry.local_header_offset());
        let wrong = |error: Error| {
            error
                .at(header)
                .field(String::from_utf8_lossy(path.as_bytes()).into_owned())
        };
        if entry.flags().is_encrypted() {
            return Err(wrong(Error::unsupported("zip member is encrypted")));
        }
        let size = entry.uncompressed_size_hint();
        let coding = |compression| {
            Some(Coding {
                compression,
                size: Some(size),
            })
        };
        let coding = match entry.compression_method() {
            CompressionMethod::STORE => None,
            CompressionMethod::DEFLATE => coding(Compression::Deflate),
            CompressionMethod::ZSTD => coding(Compression::Zstd),
            other => {
                return Err(wrong(
                    Error::unsupported("zip member is compressed in a way that is not read")
                        .expecting("stored, deflate or zstd")
                        .finding(format_args!("{other}")),
                ));
            }
        };
        let found = archive.get_entry(entry.wayfinder()).map_err(|error| {
            wrong(
                Error::new(
                    ErrorKind::OutOfBounds,
                    "zip member is not where the directory says",
                )
                .expecting("a local header and the content")
                .finding(error),
            )
        })?;
        let (start, end) = found.compressed_data_range();
        let stored = source.need(
            start,
            end.saturating_sub(start),
            "zip member reaches past the end of the file",
            "compressed size",
        )?;
        if coding.is_none() && stored.len() != size {
            return Err(wrong(
                Error::malformed("stored zip member has two sizes")
                    .expecting(format!("{size:#x} bytes"))
                    .finding(format_args!("{:#x}", stored.len())),
            ));
        }
        Ok(Self { stored, coding })
    }
}

/// Looks at the first bytes of members, with one decompressor for all.
struct Heads {
    inflater: Decompress,
    head: Vec<u8>,
}

impl Heads {
    fn new() -> Self {
        Self {
            inflater: Decompress::new(false),
            head: vec![0; HEAD],
        }
    }

    /// Whether a member may be or hold device code. One that cannot be decompressed is of interest: whoever
    /// opens it gets the error.
    fn are_of_interest(&mut self, member: &Member<'_>) -> bool {
        let stored = member.stored.bytes();
        let first = |most: usize| stored.get(..most).unwrap_or(stored);
        let length = match member.coding.map(|coding| coding.compression) {
            None => return looks_like_device_code(first(HEAD)),
            Some(Compression::Deflate) => {
                self.inflater.reset(false);
                let input = first(COMPRESSED_HEAD);
                let result = self
                    .inflater
                    .decompress(input, &mut self.head, FlushDecompress::Sync);
                match result {
                    Ok(_) => usize::try_from(self.inflater.total_out()).unwrap_or(usize::MAX),
                    Err(_) => return true,
                }
            }
            Some(_) => {
                let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(stored) else {
                    return true;
                };
                let mut head = Vec::new();
                if decoder.take(HEAD as u64).read_to_end(&mut head).is_err() {
                    return true;
                }
                return looks_like_device_code(&head);
            }
        };
        looks_like_device_code(self.head.get(..length).unwrap_or(&self.head))
    }
}

/// The container with the bytes of the part `id` replaced by `new`, and nothing else changed.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let _ = (source, id, new, limits);
    Err(Error::unsupported(
        "members of zip files cannot be replaced: packages such as wheels list their hashes",
    )
    .expecting("the member, unpacked and packed again by the package's own tools"))
}
