//! Packs: tar files of images, compressed by zstd as a whole, so that every tool lists what is in them.

use std::collections::HashMap;

use offkit_image::{Compression, Error, Limits};

use crate::compression::{inflate, zstd};
use crate::reading::Reading;
use crate::tar;

/// A pack with these members: the name of each, with `/` between folders, and its content.
///
/// # Errors
///
/// A name that is too long.
pub fn write_pack<'m>(members: impl IntoIterator<Item = (&'m str, &'m [u8])>) -> Result<Vec<u8>, Error> {
    let mut whole = Vec::new();
    for (name, content) in members {
        tar::append(&mut whole, name.as_bytes(), content)?;
    }
    tar::finish(&mut whole);
    zstd::compress(&whole, None, true)
}

/// The members of a pack that [`write_pack`] made, by their names.
///
/// # Errors
///
/// A file that is no such pack, or is damaged.
pub fn read_pack(pack: &[u8], limits: &Limits) -> Result<HashMap<String, Vec<u8>>, Error> {
    let most = Reading::strict(limits)
        .for_file_of(pack.len() as u64)
        .inflation_left();
    let whole = inflate(Compression::Zstd, pack, None, most)?;
    let mut members = HashMap::new();
    tar::each_file(&whole, &mut |name, content| {
        members.insert(String::from_utf8_lossy(name).into_owned(), content.to_vec());
    })?;
    Ok(members)
}
