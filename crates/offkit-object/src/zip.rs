//! Zip files, such as wheels.
//!
//! Members are found by the directory at the end; local headers only say where contents begin. Contents may be
//! stored, deflated, or compressed with Zstandard.

#[cfg(feature = "write")]
mod conda;
#[cfg(feature = "write")]
mod edit;
#[cfg(feature = "write")]
mod wheel;

use offkit_image::{Compression, ContainerKind, Error, ErrorKind, Limits};
use rawzip::{CompressionMethod, ZipArchive, ZipFileHeaderRecord, ZipSliceArchive};

#[cfg(feature = "write")]
use crate::edits::{Change, Edited, Edits};
use crate::format::{ContainerFormat, Standing};
use crate::part::{Coding, Content, Part, Visit};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;

#[cfg(feature = "write")]
pub use wheel::{with_local_version, with_local_version_name};

/// A zip file.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Zip,
    standing: Standing::File,
    // The second is the end of the directory, which is all that an empty zip file has.
    is: |bytes| bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06"),
    parts,
    replace: |_, _, _, _| {
        Err(Error::unsupported(
            "members of zip files cannot be replaced: packages such as wheels list their hashes",
        )
        .expecting("the member, unpacked and packed again by the package's own tools"))
    },
    #[cfg(feature = "write")]
    edit: edit_members,
    ..ContainerFormat::USUAL
};

/// The zip file with other contents of some members; a wheel's list of hashes follows.
#[cfg(feature = "write")]
fn edit_members<'data>(
    source: Source<'data>,
    edits: &Edits<'_, 'data>,
    limits: &Limits,
) -> Result<Edited<'data>, Error> {
    if edits.parts.is_empty() {
        return Ok(Edited::whole(source.bytes()));
    }
    let mut archive = edit::Archive::read(source)?;
    for (id, change) in &edits.parts {
        match change {
            Change::Replace(edited) => archive.replace(*id, edited.bytes.clone().into_bytes()),
            Change::Remove => {
                return Err(Error::unsupported(
                    "a member of a package that is an image by itself cannot be left out: the package may load it by its name",
                )
                .finding(String::from_utf8_lossy(archive.names().nth(*id).unwrap_or_default())));
            }
        }
    }
    let changed: Vec<usize> = edits.parts.keys().copied().collect();
    wheel::update_record(&mut archive, &changed, limits)?;
    conda::update_paths(&mut archive, source, &changed, &edits.originals, limits)?;
    archive.write().map(Edited::whole)
}

/// Hands over every part.
fn parts<'data>(source: Source<'data>, reading: &mut Reading, visit: Visit<'_, 'data>) -> Result<(), Error> {
    let archive = ZipArchive::from_slice(source.bytes()).map_err(|error| {
        Error::new(ErrorKind::OutOfBounds, "zip file without its directory")
            .at(source.at(source.len()))
            .expecting("a directory of members at the end")
            .finding(error)
    })?;
    let mut names = PartNames::default();
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
            if let Some(member) = reading.accept(member)? {
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
        // Folders and what is empty count as well: the numbers are those of `edit::Archive`, which has the whole
        // directory.
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
        // Before the method, which for some encryptions is a number of theirs: that would be
        // reported as an unknown compression.
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
        // Unpacking checks the size of all others.
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
