//! Writing offload binaries.

use offkit_image::{Compression, Error, Strings};
use zerocopy::IntoBytes;

use super::raw::{Entry, Header, HeaderV3, StringV1, StringV2};
use super::string_table::StringTable;
use super::{ImageKind, MAGIC, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};
use crate::chunks::Chunks;
use crate::compression::{zlib, zstd};
use crate::layout::Layout;

/// An entry to be written, whose image may come in pieces.
pub(crate) struct Pending<'data, 'strings> {
    pub(crate) image_kind: ImageKind,
    pub(crate) offload_kind: OffloadKind,
    pub(crate) flags: u32,
    pub(crate) strings: &'strings Strings<'strings>,
    pub(crate) image: Chunks<'data>,
}

impl<'data> OffloadEntry<'data> {
    fn pending<'strings>(&'strings self) -> Pending<'data, 'strings> {
        let mut image = Chunks::new();
        image.push(self.image.clone());
        Pending {
            image_kind: self.image_kind,
            offload_kind: self.offload_kind,
            flags: self.flags,
            strings: &self.strings,
            image,
        }
    }
}

pub(super) fn write<'data>(
    binary: &OffloadBinary<'data>,
    version: OffloadBinaryVersion,
) -> Result<Chunks<'data>, Error> {
    write_pending(
        binary.entries.iter().map(OffloadEntry::pending).collect(),
        version,
    )
}

/// A binary of version 1 for each entry.
pub(super) fn write_v1_sequence<'data>(binary: &OffloadBinary<'data>) -> Result<Chunks<'data>, Error> {
    let mut out = Chunks::new();
    for entry in &binary.entries {
        out.append(write_pending(vec![entry.pending()], OffloadBinaryVersion::V1)?);
    }
    Ok(out)
}

/// Header, entries, string entries, string table, images: the same order in all versions.
pub(crate) fn write_pending<'data>(
    entries: Vec<Pending<'data, '_>>,
    version: OffloadBinaryVersion,
) -> Result<Chunks<'data>, Error> {
    check(&entries, version)?;
    match version {
        OffloadBinaryVersion::V1 => Ok(lay_out(entries, 1)),
        OffloadBinaryVersion::V2 => Ok(lay_out(entries, 2)),
        OffloadBinaryVersion::V3(None) => Ok(lay_out(entries, 3)),
        OffloadBinaryVersion::V3(Some(method)) => compress(&lay_out(entries, 3).slices(), method),
    }
}

/// What the version cannot express.
fn check(entries: &[Pending<'_, '_>], version: OffloadBinaryVersion) -> Result<(), Error> {
    let is_v1 = version == OffloadBinaryVersion::V1;
    if is_v1 && entries.len() != 1 {
        return Err(Error::unrepresentable("offload binary version 1 holds one entry").finding(entries.len()));
    }
    for (key, value) in entries.iter().flat_map(|entry| entry.strings.iter()) {
        if key.contains('\0') {
            return Err(
                Error::unrepresentable("offload binary cannot store zero bytes in a key")
                    .field(format!("key '{}'", key.escape_debug())),
            );
        }
        if is_v1 && value.contains(&0) {
            return Err(Error::unrepresentable(
                "offload binary version 1 cannot store zero bytes in a value",
            )
            .field(format!("value of '{}'", key.escape_debug())));
        }
    }
    Ok(())
}

fn lay_out<'data>(entries: Vec<Pending<'data, '_>>, version: u32) -> Chunks<'data> {
    let strings = || entries.iter().flat_map(|entry| entry.strings.iter());
    let table = StringTable::new(strings().flat_map(|(key, value)| [key.as_bytes(), value]));
    let string_entry_size = if version == 1 {
        size_of::<StringV1>()
    } else {
        size_of::<StringV2>()
    };

    // Places before bytes, as images come in pieces that are not copied together.
    let mut layout = Layout::default();
    layout.add(
        1,
        if version < 3 {
            size_of::<Header>()
        } else {
            size_of::<HeaderV3>()
        },
    );
    let entries_offset = layout.add(entries.len(), size_of::<Entry>());
    // A layout within the layout: each entry takes its share of this room further down.
    let mut string_entries = Layout::starting_at(layout.add(strings().count(), string_entry_size));
    let table_offset = layout.add(1, table.bytes().len());
    // As LLVM does: the first image is aligned, and the others follow it without padding.
    layout.align();
    let mut images = Layout::starting_at(layout.end());
    for entry in &entries {
        layout.add_bytes(entry.image.len());
    }
    layout.align();

    let header = Header {
        magic: MAGIC,
        version: version.into(),
        size: layout.end().into(),
        entries_offset: entries_offset.into(),
        entries_size_or_count: if version == 1 {
            size_of::<Entry>() as u64
        } else {
            entries.len() as u64
        }
        .into(),
    };
    let mut out = Chunks::new();
    out.copy(header.as_bytes());
    if version >= 3 {
        // Not compressed.
        out.copy(&[0; size_of::<HeaderV3>() - size_of::<Header>()]);
    }
    for entry in &entries {
        let raw = Entry {
            image_kind: entry.image_kind.0.into(),
            offload_kind: entry.offload_kind.0.into(),
            flags: entry.flags.into(),
            strings_offset: string_entries.add(entry.strings.len(), string_entry_size).into(),
            string_count: (entry.strings.len() as u64).into(),
            image_offset: images.add_bytes(entry.image.len()).into(),
            image_size: entry.image.len().into(),
        };
        out.copy(raw.as_bytes());
    }
    for (key, value) in strings() {
        let base = StringV1 {
            key_offset: table_offset.saturating_add(table.offset(key.as_bytes())).into(),
            value_offset: table_offset.saturating_add(table.offset(value)).into(),
        };
        out.copy(base.as_bytes());
        if version > 1 {
            out.copy(&(value.len() as u64).to_le_bytes());
        }
    }
    out.copy(table.bytes());
    out.pad_to_8();
    for entry in entries {
        out.append(entry.image);
    }
    out.pad_to_8();
    out
}

/// The compressed form of a binary of version 3: all that follows the header is one stream. Its size is
/// exact, and zeros follow up to a multiple of 8.
pub(super) fn compress<'data>(whole: &[&[u8]], method: Compression) -> Result<Chunks<'data>, Error> {
    let inflated_size = whole
        .iter()
        .fold(0_u64, |size, piece| size.saturating_add(piece.len() as u64));
    let mut skipped = 0_usize;
    let mut head = [0; size_of::<HeaderV3>()];
    let mut body = Vec::new();
    // The header is cut off from the front, and may end within any piece.
    for piece in whole {
        let wanted = head.get_mut(skipped..).unwrap_or_default();
        let count = wanted.len().min(piece.len());
        let (start, rest) = piece.split_at_checked(count).unwrap_or_default();
        for (slot, byte) in wanted.iter_mut().zip(start) {
            *slot = *byte;
        }
        skipped = skipped.saturating_add(count);
        body.push(rest);
    }
    let stream = deflate(method, &body)?;
    let size = (size_of::<HeaderV3>() as u64).saturating_add(stream.len() as u64);
    let mut out = Chunks::new();
    out.copy(head.get(..8).unwrap_or_default());
    out.copy(&size.to_le_bytes());
    out.copy(head.get(16..32).unwrap_or_default());
    out.copy(&inflated_size.to_le_bytes());
    out.push(stream);
    out.pad_to_8();
    Ok(out)
}

fn deflate(method: Compression, pieces: &[&[u8]]) -> Result<Vec<u8>, Error> {
    match method {
        Compression::Zlib => zlib::compress(pieces, None),
        Compression::Zstd => zstd::compress_pieces(pieces),
        other => Err(
            Error::unrepresentable("offload binary cannot be compressed in this way")
                .expecting("zlib or zstd")
                .finding(other),
        ),
    }
}
