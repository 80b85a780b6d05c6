//! Swapping one image of a SYCLBIN.

use offkit_image::{Error, Limits};

use super::{has_magic, v1, v2};
use crate::layout::{align_to_8, pad_to_8};
use crate::offload_binary::{Change, patch, read_one, replace_entry};
use crate::reading::Reading;
use crate::source::Source;

/// The SYCLBIN with another image `id`, counted over all abstract modules, IR first in each; nothing but the
/// image, sizes, and offsets of what moves differs.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    if has_magic(source.bytes()) {
        return replace_bare(source, id, new, limits);
    }
    let found = read_one(source, &mut Reading::strict(limits))?;
    let first = found.binary.entries.first();
    let first =
        first.ok_or_else(|| Error::malformed("OffloadBinary contains no entries").at(source.at(0)))?;
    if has_magic(&first.image) {
        let bare = replace_bare(found.source.locate(&first.image), id, new, limits)?;
        if bare == *first.image {
            return Ok(source.bytes().to_vec());
        }
        return replace_entry(source, found.source, 0, &bare, limits);
    }
    let number = *v2::image_entries(&found)?.get(id).ok_or_else(|| none_such(id))?;
    let entry = found.binary.entries.get(number).ok_or_else(|| none_such(id))?;
    let (_, old) = v2::split(found.source.locate(&entry.image))?;
    if old == new {
        return Ok(source.bytes().to_vec());
    }
    let metadata = entry.image.strip_suffix(old).unwrap_or_default();
    replace_entry(source, found.source, number, &[metadata, new].concat(), limits)
}

fn replace_bare(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let header = v1::read_header(source)?;
    let file = v1::find_parts(source, header, &mut Reading::strict(limits))?;
    let headers = || file.ir_modules.iter().chain(file.native_images);
    let number = v1::image_header(&file, id)?.ok_or_else(|| none_such(id))?;
    let image = headers().nth(number).ok_or_else(|| none_such(id))?;
    let (start, size) = (image.bytes.offset.get(), image.bytes.size.get());
    let old = file.image(&image.bytes)?;
    if old.bytes() == new {
        return Ok(source.bytes().to_vec());
    }
    // The table of images with the new one, what follows it, and only then the numbers in headers: these all stand
    // before the table and keep their places and sizes, so that they are patched where they were.
    let others: Vec<_> = headers()
        .enumerate()
        .filter(|(other, _)| *other != number)
        .map(|(_, other)| (other.bytes.offset.get(), other.bytes.size.get()))
        .collect();
    let change = Change::new(file.images, start, size, new.len() as u64, &others)?;
    let table = change.apply(file.images, new);

    let table_start = file.images.at(0).saturating_sub(source.at(0));
    let before = source.get(0, table_start).map(Source::bytes).unwrap_or_default();
    let mut out = [before, &table].concat();
    pad_to_8(&mut out);
    // The zeros behind the old table go with it; those behind the new one are written already.
    let after = table_start.saturating_add(align_to_8(file.images.len()));
    out.extend_from_slice(source.from(after).bytes());

    patch(&mut out, v1::BINARY_TABLE_SIZE_AT, table.len() as u64);
    for (other, header) in headers().enumerate() {
        let at = v1::image_header_at(&file, source, other);
        if other == number {
            patch(&mut out, at.saturating_add(v1::SIZE_AT), new.len() as u64);
        } else {
            let offset = change.moved(header.bytes.offset.get());
            patch(&mut out, at.saturating_add(v1::OFFSET_AT), offset);
        }
    }
    Ok(out)
}

fn none_such(id: usize) -> Error {
    Error::unrepresentable("SYCLBIN has no such image").finding(id)
}
