//! AMD's kpack archives, and the references to them that are left in host code.
//!
//! `rocm-kpack` takes the code for AMD's GPUs out of libraries and puts it into archives, one for each architecture, so
//! that packages can be installed for one GPU. An archive is a header of 16 bytes (`KPAK`, version 1, where the table of
//! contents is; little endian), code, and the table, in `MessagePack`. In the library a section says where archives are.

use offkit_image::target::triples;
use offkit_image::{Compression, ContainerKind, Error, ErrorKind, ImageFormat, Producer, Target};
use rmpv::ValueRef;

use crate::format::{ContainerFormat, Standing};
use crate::message_pack::{field, list, number, pairs, text};
use crate::part::{Coding, Content, Facts, Part, Visit};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;

/// What an archive begins with.
pub(crate) const MAGIC: &[u8] = b"KPAK";
const HEADER: u64 = 16;
/// Maps of maps of maps of maps.
const DEPTH: usize = 16;
/// More than a table of contents ever has.
const MOST_BYTES: u64 = 1 << 22;

/// An archive.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Kpack,
    standing: Standing::File,
    is: |bytes| bytes.starts_with(MAGIC),
    parts,
    replace: |_, _, _, _| {
        Err(Error::unsupported(
            "code objects in kpack archives cannot be replaced",
        ))
    },
    version: |bytes| Some(u32::from_le_bytes(*bytes.get(4..)?.first_chunk()?)),
    ..ContainerFormat::USUAL
};

/// Whether a section of this name is a reference. Windows cuts names after 8 bytes, but this one is shorter.
pub(crate) fn is_reference(section: &[u8]) -> bool {
    section == b".rocm_kpack_ref" || section == b".kpackrf"
}

/// That the code of a library is in archives, whose names a section has.
pub(crate) fn moved(section: Source<'_>) -> Error {
    let error = Error::unsupported("device code was moved to kpack archives, which are files of their own")
        .at(section.at(0))
        .expecting("them to be listed instead");
    let mut bytes = section
        // A few paths, and a tree of values that is far larger than its bytes: of a section that is
        // longer only the message suffers.
        .get(0, section.len().min(1 << 16))
        .map_or(&[][..], Source::bytes);
    let value = rmpv::decode::read_value_ref_with_max_depth(&mut bytes, DEPTH);
    let paths = value
        .as_ref()
        .map_or(&[][..], |value| list(value, "kpack_search_paths"));
    let paths: Vec<&str> = paths.iter().filter_map(text).collect();
    match paths.as_slice() {
        [] => error,
        paths => error.finding(paths.join(", ")),
    }
}

/// Hands over every code object: `lib/libfoo.so#0/gfx1100` is what translation unit 0 of that library has for that
/// architecture.
fn parts<'data>(source: Source<'data>, reading: &mut Reading, visit: Visit<'_, 'data>) -> Result<(), Error> {
    let table = source.need(8, 8, "kpack archive is cut off", "header")?;
    let table = table
        .bytes()
        .first_chunk()
        .map_or(0, |place| u64::from_le_bytes(*place));
    if !(HEADER..source.len()).contains(&table) {
        return Err(Error::new(
            ErrorKind::OutOfBounds,
            "kpack archive without its table of contents",
        )
        .at(source.at(8))
        .expecting(format!("a place within {:#x} bytes", source.len()))
        .finding(format_args!("{table:#x}")));
    }
    let content = source.from(table);
    // Decoding makes a tree of values, each far larger than the one byte that it may take in the file: the table is
    // bounded before.
    if content.len() > MOST_BYTES {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            "too large a table of contents in a kpack archive",
        )
        .at(content.at(0))
        .expecting(format!("at most {MOST_BYTES:#x} bytes")));
    }
    reading.count_metadata(content.len())?;
    let damaged = |message: &'static str| Error::malformed(message).at(content.at(0));
    let table = rmpv::decode::read_value_ref_with_max_depth(&mut content.bytes(), DEPTH)
        .map_err(|error| damaged("table of contents of a kpack archive is not MessagePack").finding(error))?;
    let scheme = field(&table, "compression_scheme").and_then(text);
    let blobs = match scheme {
        None | Some("none") => Blobs::plain(&table, source),
        Some("zstd-per-kernel") => Blobs::compressed(&table, source)?,
        Some(other) => {
            return Err(
                Error::unsupported("kpack archive is compressed in a way that is not read")
                    .at(content.at(0))
                    .expecting("none or zstd-per-kernel")
                    .finding(other),
            );
        }
    };
    let files = field(&table, "toc").map(pairs);
    let files = files.ok_or_else(|| damaged("kpack archive without a list of its content"))?;
    let mut names = PartNames::default();
    let mut id = 0_usize;
    for (file, architectures) in files {
        for (arch, entry) in pairs(architectures) {
            reading.count_image()?;
            let (Some(file), Some(arch)) = (text(file), text(arch)) else {
                reading.fault(damaged("kpack archive has a code object without a name"))?;
                continue;
            };
            let ordinal = number(entry, "ordinal").and_then(|ordinal| usize::try_from(ordinal).ok());
            let stored = ordinal.and_then(|ordinal| blobs.all.get(ordinal).copied());
            let Some(stored) = stored else {
                let error = Error::new(ErrorKind::OutOfBounds, "code object is not in its kpack archive");
                reading.fault(error.at(content.at(0)).field(format!("{file}, {arch}")))?;
                continue;
            };
            reading.count_strings(2)?;
            let mut path: Vec<String> = file
                .split('/')
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect();
            path.push(arch.to_owned());
            let facts = Facts {
                version: Some(1),
                // Archives are made of AMD's code alone. With this and the size, an image need not
                // be unpacked to be listed.
                claim: Some(ImageFormat::Amdgpu),
                target: Target::new(triples::AMDHSA, arch),
                producer: Producer::Hip,
                ..Facts::default()
            };
            let coding = blobs.is_compressed.then(|| Coding {
                compression: Compression::Zstd,
                size: number(entry, "original_size"),
            });
            let part = Part::with_facts(id, names.name(path), stored, Content::Image, facts);
            visit(reading, Part { coding, ..part });
            id = id.saturating_add(1);
            if reading.is_exhausted() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The code objects as they are stored.
struct Blobs<'data> {
    all: Vec<Source<'data>>,
    is_compressed: bool,
}

impl<'data> Blobs<'data> {
    fn plain(table: &ValueRef<'_>, source: Source<'data>) -> Self {
        let blobs = list(table, "blobs");
        let place = |blob: &ValueRef<'_>| source.get(number(blob, "offset")?, number(blob, "size")?);
        // One that is not there is empty, so that the others keep their numbers.
        let blobs = blobs
            .iter()
            .map(|blob| place(blob).unwrap_or_else(|| source.from(u64::MAX)));
        Self {
            all: blobs.collect(),
            is_compressed: false,
        }
    }

    /// A number of frames, then the size of each and the frame.
    fn compressed(table: &ValueRef<'_>, source: Source<'data>) -> Result<Self, Error> {
        let place = number(table, "zstd_offset").zip(number(table, "zstd_size"));
        let (offset, size) = place.unwrap_or_default();
        let frames = source.need(offset, size, "kpack archive is cut off", "zstd_offset, zstd_size")?;
        let word = |at: u64| {
            let word = frames.get(at, 4)?.bytes().first_chunk::<4>()?;
            Some(u32::from_le_bytes(*word))
        };
        let count = word(0).unwrap_or_default();
        let mut all = Vec::new();
        let mut position = 4_u64;
        for _ in 0..count {
            let size = word(position).unwrap_or_default();
            position = position.saturating_add(4);
            let frame = frames.need(
                position,
                size.into(),
                "kpack archive is cut off",
                "size of a frame",
            )?;
            // A frame is never empty, so that there are no more than the file has bytes for.
            if size == 0 {
                return Err(Error::malformed("kpack archive has an empty frame").at(frame.at(0)));
            }
            all.push(frame);
            position = position.saturating_add(size.into());
        }
        Ok(Self {
            all,
            is_compressed: true,
        })
    }
}
