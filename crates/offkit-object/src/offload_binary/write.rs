//! Writing offload binaries.

use zerocopy::IntoBytes;

use super::raw::{Entry, Header, StringV1, StringV2};
use super::string_table::StringTable;
use super::{MAGIC, OffloadBinary, OffloadBinaryVersion, OffloadEntry};
use crate::error::Error;
use crate::layout::{Layout, pad_to_8};

pub(super) fn write(binary: &OffloadBinary<'_>, version: OffloadBinaryVersion) -> Result<Vec<u8>, Error> {
    match (version, binary.entries.as_slice()) {
        (OffloadBinaryVersion::V1, [entry]) => write_v1(entry),
        (OffloadBinaryVersion::V1, entries) => {
            Err(Error::unrepresentable("offload binary version 1 holds one entry").finding(entries.len()))
        }
        (OffloadBinaryVersion::V2, entries) => write_v2(entries),
    }
}

pub(super) fn write_v1(entry: &OffloadEntry<'_>) -> Result<Vec<u8>, Error> {
    if let Some((key, _)) = entry.strings.iter().find(|(_, value)| value.contains(&0)) {
        return Err(
            Error::unrepresentable("offload binary version 1 cannot store zero bytes in a value")
                .field(format!("value of '{}'", key.escape_debug())),
        );
    }
    write_entries(std::slice::from_ref(entry), 1)
}

fn write_v2(entries: &[OffloadEntry<'_>]) -> Result<Vec<u8>, Error> {
    write_entries(entries, 2)
}

/// Header, entries, string entries, string table, images: the same order in both versions.
fn write_entries(entries: &[OffloadEntry<'_>], version: u32) -> Result<Vec<u8>, Error> {
    let strings = || entries.iter().flat_map(|entry| entry.strings.iter());
    if let Some((key, _)) = strings().find(|(key, _)| key.contains('\0')) {
        return Err(
            Error::unrepresentable("offload binary cannot store zero bytes in a key")
                .field(format!("key '{}'", key.escape_debug())),
        );
    }
    let table = StringTable::new(strings().flat_map(|(key, value)| [key.as_bytes(), value]));
    let string_entry_size = if version == 1 {
        size_of::<StringV1>()
    } else {
        size_of::<StringV2>()
    };

    let mut layout = Layout::default();
    layout.add(1, size_of::<Header>());
    let entries_offset = layout.add(entries.len(), size_of::<Entry>());
    let mut string_entries = Layout::starting_at(layout.add(strings().count(), string_entry_size));
    let table_offset = layout.add(1, table.bytes().len());
    layout.align();
    let mut images = Layout::starting_at(layout.end());
    for entry in entries {
        layout.add(1, entry.image.len());
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
    let mut out = Vec::with_capacity(usize::try_from(layout.end()).unwrap_or_default());
    out.extend_from_slice(header.as_bytes());
    for entry in entries {
        let raw = Entry {
            image_kind: entry.image_kind.raw().into(),
            offload_kind: entry.offload_kind.raw().into(),
            flags: entry.flags.into(),
            strings_offset: string_entries.add(entry.strings.len(), string_entry_size).into(),
            string_count: (entry.strings.len() as u64).into(),
            image_offset: images.add(1, entry.image.len()).into(),
            image_size: (entry.image.len() as u64).into(),
        };
        out.extend_from_slice(raw.as_bytes());
    }
    for (key, value) in strings() {
        let base = StringV1 {
            key_offset: table_offset.saturating_add(table.offset(key.as_bytes())).into(),
            value_offset: table_offset.saturating_add(table.offset(value)).into(),
        };
        if version == 1 {
            out.extend_from_slice(base.as_bytes());
        } else {
            out.extend_from_slice(
                StringV2 {
                    base,
                    value_size: (value.len() as u64).into(),
                }
                .as_bytes(),
            );
        }
    }
    out.extend_from_slice(table.bytes());
    pad_to_8(&mut out);
    for entry in entries {
        out.extend_from_slice(entry.image);
    }
    pad_to_8(&mut out);
    Ok(out)
}
