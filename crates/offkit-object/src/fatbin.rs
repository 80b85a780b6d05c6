//! CUDA's fatbins: machine code for several architectures and PTX, side by side.
//!
//! `nvcc` (its program `fatbinary`) and clang write them into the sections `.nv_fatbin` and `__nv_relfatbin` of
//! host objects; the linker puts those of all objects one after the other. A fatbin is a header and entries,
//! each a header with its payload behind it. All integers are little endian. Payloads are stored as they are,
//! as one LZ4 block or as a zstd frame; compressed LTO-IR in a form that only NVIDIA reads.

#[cfg(feature = "write")]
mod edit;
mod elf_size;
mod raw;

#[cfg(feature = "write")]
use std::collections::BTreeMap;
#[cfg(feature = "write")]
use std::ops::Range;

use offkit_image::PartName as Name;
use offkit_image::target::nvidia::{Processor, Scope};
use offkit_image::target::triples;
use offkit_image::{CodeVersion, Compression, ContainerKind, Error, ImageFormat, Limits, Producer, Target};
use zerocopy::IntoBytes;

use crate::chunks::Chunks;
use crate::compression::{lz4, zstd};
use crate::format::ContainerFormat;
use crate::part::{Coding, Content, Facts, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;

/// The first bytes of every fatbin: the 32-bit number 0xBA55ED50.
pub const MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// Whether the bytes begin like a fatbin.
fn has_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// CUDA's fatbins, one after the other.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Fatbin,
    is: has_magic,
    parts,
    replace,
    #[cfg(feature = "write")]
    edit: edit::edit,
    ..ContainerFormat::USUAL
};

/// How many bytes the fatbin at the start of `rest` takes, if it can be nothing else.
pub(crate) fn extent(rest: Source<'_>) -> Option<u64> {
    let header = rest.record::<raw::Header>(0)?;
    let header_size = u64::from(header.header_size.get());
    let entry = rest.record::<raw::Entry>(header_size)?;
    // For a search through any bytes: besides the magic, the header and the first entry must hold together.
    let is_fatbin = header.version == 1
        && header_size == size_of::<raw::Header>() as u64
        && u64::from(entry.header_size.get()) >= size_of::<raw::Entry>() as u64
        && u64::from(entry.header_size.get()).checked_add(entry.payload_size.get())? <= header.size.get();
    let size = header_size.checked_add(header.size.get())?;
    (is_fatbin && has_magic(rest.bytes()) && size <= rest.len()).then_some(size)
}

/// Names of the string entries that images from fatbins have.
const IDENTIFIER: &str = "identifier";
const PTXAS_OPTIONS: &str = "ptxas-options";
const KIND: &str = "kind";
const UNPACKED_SIZE: &str = "unpacked-size";

/// Hands over every entry of every fatbin: `N/M` is entry M of fatbin N.
fn parts<'data>(source: Source<'data>, reading: &mut Reading, visit: Visit<'_, 'data>) -> Result<(), Error> {
    let mut id = 0_usize;
    entries(source, reading, &mut |reading, entry| {
        let counted = reading
            .count_image()
            .map_err(|error| error.at(source.at(entry.offset)));
        if reading.accept(counted)?.is_some() {
            let part = entry.part(id, reading)?;
            visit(reading, part);
        }
        // Also where the entry was one too many: `replace` and `edit` count all of them.
        id = id.saturating_add(1);
        Ok(())
    })
}

/// The fatbins with the payload of the entry `id` replaced by `new`, which is compressed as the old one was.
///
/// Entries and fatbins behind it move when the size changes.
fn replace<'data>(
    source: Source<'data>,
    id: usize,
    new: &Chunks<'data>,
    limits: &Limits,
) -> Result<Chunks<'data>, Error> {
    let new = new.joined();
    let mut number = 0_usize;
    let mut wanted = None;
    entries(source, &mut Reading::tolerant(limits), &mut |_, entry| {
        if number == id {
            wanted = Some(entry);
        }
        number = number.saturating_add(1);
        Ok(())
    })?;
    let entry = wanted.ok_or_else(|| Error::malformed("the fatbin has no such entry"))?;
    let unrepresentable = |message| Error::unrepresentable(message).at(source.at(entry.offset));
    // Where PTX ends only this byte says, before the padding; see `plain`.
    if entry.header.kind == raw::KIND_PTX && new.last() != Some(&0) {
        return Err(unrepresentable("PTX in a fatbin ends with a zero byte"));
    }
    if entry.is_sealed() {
        return Err(unrepresentable(
            "compressed LTO-IR can be written by NVIDIA's tools only",
        ));
    }
    let old_room = entry.header.payload_size.get();
    let mut header = entry.header.clone();
    let payload = match entry.coding() {
        Some(coding) => {
            let compressed = compress(coding.compression, &new)?;
            header.compressed_size = u32::try_from(compressed.len())
                .map_err(|_| unrepresentable("compressed data in a fatbin are smaller than 4 GiB"))?
                .into();
            header.decompressed_size = (new.len() as u64).into();
            compressed
        }
        None => new.into_owned(),
    };
    // As `fatbinary` pads, so that the next entry's header is aligned.
    let room = payload.len().next_multiple_of(8) as u64;
    header.payload_size = room.into();
    let mut container = source
        .record::<raw::Header>(entry.container)
        .ok_or_else(|| unrepresentable("the fatbin has no header"))?
        .clone();
    // The sizes of a damaged fatbin need not agree, as its entries are read all the same.
    let others = container.size.get().checked_sub(old_room);
    container.size = others
        .and_then(|size| size.checked_add(room))
        .ok_or_else(|| unrepresentable("the fatbin is smaller than its entry"))?
        .into();

    let slice = |from: u64, to: u64| {
        let bytes = source.get(from, to.saturating_sub(from)).map(Source::bytes);
        bytes.unwrap_or_default()
    };
    let payload_offset = entry.payload_offset();
    let padding = room.saturating_sub(payload.len() as u64);
    let mut out = Chunks::from(slice(0, entry.container));
    out.copy(container.as_bytes());
    out.push(slice(after::<raw::Header>(entry.container), entry.offset));
    out.copy(header.as_bytes());
    out.push(slice(after::<raw::Entry>(entry.offset), payload_offset));
    out.push(payload);
    out.zeros(padding);
    out.push(source.from(payload_offset.saturating_add(old_room)).bytes());
    Ok(out)
}

fn compress(compression: Compression, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    match compression {
        // Not by what is smaller: drivers before 550.54.14 do not read zstd.
        Compression::Lz4 => lz4::compress(bytes),
        _ => zstd::compress(bytes, None, false),
    }
}

/// Where a header that is at `offset` ends.
fn after<T>(offset: u64) -> u64 {
    offset.saturating_add(size_of::<T>() as u64)
}

/// An entry whose header and payload are in the file.
struct Entry<'data> {
    /// The number of its fatbin and its own in it.
    name: [usize; 2],
    /// Where its fatbin is.
    container: u64,
    version: u16,
    /// Where it is itself.
    offset: u64,
    header: &'data raw::Entry,
    /// The whole header with the texts behind it.
    texts: Source<'data>,
    /// With padding.
    payload: Source<'data>,
}

type VisitEntry<'v, 'data> = &'v mut dyn FnMut(&mut Reading, Entry<'data>) -> Result<(), Error>;

/// Finds all entries of all fatbins.
fn entries<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: VisitEntry<'_, 'data>,
) -> Result<(), Error> {
    let mut offset = 0;
    let mut number = 0;
    // Each turn ends behind where it began, at the least behind a header, so that this ends.
    while let Some(start) = next_fatbin(source, offset, reading)? {
        offset = entries_of_one(source, start, number, reading, visit)?;
        number = number.saturating_add(1);
        if reading.is_exhausted() {
            break;
        }
    }
    Ok(())
}

/// Where each entry is, with its header and padding, by the identifiers that `parts` gives them.
#[cfg(feature = "write")]
pub(crate) fn entry_ranges(
    source: Source<'_>,
    limits: &Limits,
) -> Result<BTreeMap<usize, Range<u64>>, Error> {
    let mut reading = Reading::tolerant(limits).for_file_of(source.len());
    let mut ranges = BTreeMap::new();
    let mut id = 0_usize;
    entries(source, &mut reading, &mut |_, entry| {
        let end = entry.payload.at(entry.payload.len()).saturating_sub(source.at(0));
        ranges.insert(id, entry.offset..end);
        id = id.saturating_add(1);
        Ok(())
    })?;
    Ok(ranges)
}

/// The header of a fatbin with one entry of this size.
#[cfg(feature = "write")]
pub(crate) fn header_of_one(entry: u64) -> Vec<u8> {
    const SIZE: u16 = 16;
    const { assert!(size_of::<raw::Header>() == SIZE as usize) };
    let header = raw::Header {
        magic: MAGIC,
        version: 1.into(),
        header_size: SIZE.into(),
        size: entry.into(),
    };
    zerocopy::IntoBytes::as_bytes(&header).to_vec()
}

/// Where the next fatbin is, after padding of zeros. Other bytes before it are a fault.
fn next_fatbin(source: Source<'_>, offset: u64, reading: &mut Reading) -> Result<Option<u64>, Error> {
    let rest = source.from(offset).bytes();
    let Some(padding) = rest.iter().position(|byte| *byte != 0) else {
        return Ok(None);
    };
    let rest = rest.get(padding..).unwrap_or_default();
    let offset = offset.saturating_add(padding as u64);
    if has_magic(rest) {
        return Ok(Some(offset));
    }
    let found = memchr::memmem::find(rest, &MAGIC);
    let skipped = found.unwrap_or(rest.len());
    reading.fault(
        Error::malformed("bytes that are no fatbin")
            .at(source.at(offset))
            .field("magic")
            .expecting("0xba55ed50")
            .finding(format_args!("{skipped:#x} other bytes")),
    )?;
    Ok(found.map(|found| offset.saturating_add(found as u64)))
}

/// Reads the fatbin at `start`; gives back where to go on after it.
fn entries_of_one<'data>(
    source: Source<'data>,
    start: u64,
    number: usize,
    reading: &mut Reading,
    visit: VisitEntry<'_, 'data>,
) -> Result<u64, Error> {
    let beyond_header = after::<raw::Header>(start);
    let header = source.need(
        start,
        size_of::<raw::Header>() as u64,
        "fatbin is cut off",
        "header",
    );
    let header = header.map(|header| header.record::<raw::Header>(0));
    // Too little is left for this header, and so for any other.
    let Some(Some(header)) = reading.accept(header)? else {
        return Ok(source.len());
    };
    let header_size = u64::from(header.header_size.get());
    if header_size < size_of::<raw::Header>() as u64 {
        reading.fault(
            Error::malformed("fatbin header is too small")
                .at(source.at(start))
                .field("header size")
                .expecting(format!("at least {:#x}", size_of::<raw::Header>()))
                .finding(format_args!("{header_size:#x}")),
        )?;
        // Behind the magic, or the search for the next would find this one again.
        return Ok(beyond_header);
    }
    let first = start.saturating_add(header_size);
    let size = header.size.get();
    let bounded = source.need(first, size, "fatbin is cut off", "size");
    let whole = reading.accept(bounded)?.is_some();
    let end = if whole {
        first.saturating_add(size)
    } else {
        source.len()
    };
    let mut offset = first;
    // Entries have no table: each says where the next begins. Behind one that cannot be read, only the magic of another
    // fatbin is left to go by.
    let mut entry_number = 0_usize;
    while offset < end && !reading.is_exhausted() {
        let rest = source.get(offset, end.saturating_sub(offset));
        let rest = rest.unwrap_or_else(|| source.from(source.len()));
        // Counted, not skipped: the entry begins at `offset` itself, and that of kind 0x100 begins with a zero byte.
        let padding = rest.bytes().iter().take_while(|byte| **byte == 0).count() as u64;
        if padding == rest.len() {
            break;
        }
        if has_magic(rest.from(padding).bytes()) {
            // The size is wrong and includes the fatbin that follows.
            if whole {
                reading.fault(
                    Error::malformed("fatbin reaches into the next one")
                        .at(source.at(start))
                        .field("size")
                        .expecting(format!("{:#x}", offset.saturating_sub(first)))
                        .finding(format_args!("{size:#x}")),
                )?;
            }
            return Ok(offset);
        }
        let entry = Entry::read(rest, offset).map(|(entry, size)| {
            let entry = Entry {
                name: [number, entry_number],
                container: start,
                version: header.version.get(),
                ..entry
            };
            (entry, size)
        });
        let Some((entry, size)) = reading.accept(entry)? else {
            // Where the next entry begins is not known; that of the next fatbin shows.
            let rest = source.from(offset);
            let next = memchr::memmem::find(rest.bytes(), &MAGIC);
            return Ok(next.map_or(source.len(), |next| offset.saturating_add(next as u64)));
        };
        visit(reading, entry)?;
        entry_number = entry_number.saturating_add(1);
        offset = offset.saturating_add(size);
    }
    Ok(end)
}

impl<'data> Entry<'data> {
    /// The entry at the start of `rest`, and the bytes it takes.
    fn read(rest: Source<'data>, offset: u64) -> Result<(Self, u64), Error> {
        const MESSAGE: &str = "fatbin entry is cut off";
        let smallest = size_of::<raw::Entry>() as u64;
        rest.need(0, smallest, MESSAGE, "header")?;
        let header = rest
            .record::<raw::Entry>(0)
            .ok_or_else(|| Error::malformed(MESSAGE).at(rest.at(0)))?;
        let header_size = u64::from(header.header_size.get());
        if header_size < smallest {
            return Err(Error::malformed("fatbin entry has too small a header")
                .at(rest.at(0))
                .field("header size")
                .expecting(format!("at least {smallest:#x}"))
                .finding(format_args!("{header_size:#x}")));
        }
        let texts = rest.need(0, header_size, MESSAGE, "header size")?;
        let payload_size = header.payload_size.get();
        let payload = rest.need(header_size, payload_size, MESSAGE, "payload size")?;
        let entry = Self {
            name: [0, 0],
            container: 0,
            version: 0,
            offset,
            header,
            texts,
            payload,
        };
        Ok((entry, header_size.saturating_add(payload_size)))
    }

    fn payload_offset(&self) -> u64 {
        self.offset
            .saturating_add(u64::from(self.header.header_size.get()))
    }

    fn part(&self, id: usize, reading: &mut Reading) -> Result<Part<'data>, Error> {
        let [fatbin, entry] = self.name;
        let name = Name::Path(vec![fatbin.to_string(), entry.to_string()]);
        let coding = self.coding();
        let stored = match coding {
            // A sealed payload has no coding that is known here, and the compressed size bounds it all the same.
            None if !self.is_sealed() => self.plain(),
            _ => self.compressed(reading)?,
        };
        let mut facts = Facts {
            version: Some(self.version.into()),
            claim: match self.header.kind.get() {
                raw::KIND_PTX => Some(ImageFormat::Ptx),
                raw::KIND_ELF => Some(ImageFormat::Cubin),
                raw::KIND_LTO_IR => Some(ImageFormat::LtoIr),
                _ => None,
            },
            // Of machine code it is the version of the ELF file's layout.
            code_version: (self.header.kind.get() == raw::KIND_PTX).then(|| CodeVersion {
                major: self.header.major_version.get(),
                minor: self.header.minor_version.get(),
            }),
            target: self.target(),
            producer: Producer::Cuda,
            ..Facts::default()
        };
        self.texts(&mut facts, reading)?;
        if self.header.kind == raw::KIND_CONCATENATED {
            reading.fault(
                Error::unsupported("several images that are compressed as one are not told apart")
                    .at(self.texts.at(0))
                    .field("kind")
                    .finding(format_args!("{:#x}", self.header.kind)),
            )?;
        }
        Ok(Part {
            coding,
            facts,
            ..Part::new(id, name, stored, Content::Image)
        })
    }

    /// Whether the payload is compressed in a way that only NVIDIA's tools undo, whatever the other flags say.
    fn is_sealed(&self) -> bool {
        self.header.flags.get() & raw::FLAG_SEALED != 0
    }

    /// How the payload is compressed, if it is and can be unpacked.
    fn coding(&self) -> Option<Coding> {
        if self.is_sealed() {
            return None;
        }
        let flags = self.header.flags.get();
        let compression = if flags & raw::FLAG_LZ4 != 0 {
            Compression::Lz4
        } else if flags & raw::FLAG_ZSTD != 0 {
            Compression::Zstd
        } else {
            return None;
        };
        let size = self.header.decompressed_size.get();
        Some(Coding {
            compression,
            size: (size != 0).then_some(size),
        })
    }

    /// The compressed stream, without padding.
    fn compressed(&self, reading: &mut Reading) -> Result<Source<'data>, Error> {
        let size = u64::from(self.header.compressed_size.get());
        if size == 0 {
            return Ok(self.payload);
        }
        let stored = self.payload.need(
            0,
            size,
            "compressed data are larger than their entry",
            "compressed size",
        );
        Ok(reading.accept(stored)?.unwrap_or(self.payload))
    }

    /// The payload without padding, which the header does not tell.
    ///
    /// PTX keeps the zero byte that ends it, as it does when it is compressed.
    fn plain(&self) -> Source<'data> {
        let bytes = self.payload.bytes();
        let size = match self.header.kind.get() {
            raw::KIND_PTX => bytes
                .iter()
                .rposition(|byte| *byte != 0)
                .map(|last| last.saturating_add(2)),
            raw::KIND_ELF => elf_size::without_padding(bytes),
            _ => None,
        };
        // Where the end cannot be told the padding stays: to cut code off would be worse.
        let size = size.unwrap_or(bytes.len()).min(bytes.len());
        self.payload.get(0, size as u64).unwrap_or(self.payload)
    }

    fn target(&self) -> Target {
        let flags = self.header.flags.get();
        let triple = if flags & raw::FLAG_64_BIT != 0 {
            triples::NVPTX64
        } else {
            triples::NVPTX32
        };
        let scope = if flags & raw::FLAG_ARCH_SPECIFIC != 0 {
            Scope::Only
        } else if flags & raw::FLAG_FAMILY_SPECIFIC != 0 {
            Scope::Family
        } else {
            Scope::Plain
        };
        match self.header.arch.get() {
            // Several images in one stream have their architectures in a table of their own.
            0 => Target::new(triple, ""),
            number => Target::new(triple, &Processor { number, scope }.to_string()),
        }
    }

    /// The identifier and the options behind the header; a kind that is not known, as a number.
    fn texts(&self, facts: &mut Facts<'data>, reading: &mut Reading) -> Result<(), Error> {
        let identifier = (
            self.header.identifier_offset.get(),
            self.header.identifier_size.get(),
        );
        let mut found = vec![(IDENTIFIER, "identifier", identifier)];
        let kind = self.header.kind.get();
        match kind {
            raw::KIND_PTX | raw::KIND_LTO_IR => {
                let at = self.header.options_offset.get();
                let options = self.texts.record::<raw::Options>(at.into());
                if let Some(options) = options.filter(|_| at != 0) {
                    let options = (options.offset.get(), options.size.get());
                    found.push((PTXAS_OPTIONS, "options", options));
                }
                if self.is_sealed() {
                    let size = self.header.decompressed_size.get();
                    facts.more().strings.set(UNPACKED_SIZE, size.to_string());
                }
            }
            // What stands in the place of options there, from `sm_100` on, is no text.
            raw::KIND_ELF => {}
            other => facts.more().strings.set(KIND, other.to_string()),
        }
        for (key, field, (offset, size)) in found {
            if size == 0 {
                continue;
            }
            let text = self
                .texts
                .need(
                    offset.into(),
                    size.into(),
                    "text of a fatbin entry is outside of its header",
                    field,
                )
                .and_then(|text| {
                    reading.count_strings(1)?;
                    reading.count_metadata(text.len())?;
                    Ok(text.bytes())
                });
            if let Some(text) = reading.accept(text)? {
                // Padded to a multiple of 8 with spaces or zeros.
                let end = text.iter().rposition(|byte| !matches!(byte, 0 | b' '));
                let end = end.map_or(0, |last| last.saturating_add(1));
                let text = text.get(..end).unwrap_or_default();
                facts.more().strings.set_bytes(key, text);
            }
        }
        Ok(())
    }
}
