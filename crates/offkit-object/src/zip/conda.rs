//! Conda's packages: zip files of two compressed tar files, one of which lists the hash and size of each file in the other.
//!
//! `pkg-NAME.tar.zst` has the files, `info-NAME.tar.zst` the file `info/paths.json`: a list `paths` of objects with
//! `_path`, `sha256` in hexadecimal digits and `size_in_bytes`. Installers compare them where `safety_checks` are on.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use offkit_image::{Compression, Error, Limits};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::edit::Archive;
use crate::compression::inflate;
use crate::reading::Reading;
use crate::source::Source;
use crate::tar;
use crate::unpacking;

const END: &str = ".tar.zst";
const PATHS: &[u8] = b"info/paths.json";

/// Makes a changed package true again: the members with these numbers have new contents, and `originals` what was in those
/// that are not in place. Other zip files stay as they are.
pub(super) fn update_paths(
    archive: &mut Archive<'_>,
    source: Source<'_>,
    changed: &[usize],
    originals: &BTreeMap<usize, &[u8]>,
    limits: &Limits,
) -> Result<(), Error> {
    let names: Vec<String> = archive
        .names()
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    let most = Reading::strict(limits).for_file_of(source.len()).inflation_left();
    for number in changed {
        let Some(package) = names.get(*number).and_then(|name| name.strip_prefix("pkg-")) else {
            continue;
        };
        let info = names
            .iter()
            .position(|name| name.strip_prefix("info-") == Some(package));
        let (Some(info), true) = (info, package.ends_with(END)) else {
            continue;
        };
        let inflated = |bytes: &[u8]| inflate(Compression::Zstd, bytes, None, most);
        let before: Cow<'_, [u8]> = match originals.get(number) {
            Some(before) => (*before).into(),
            None => inflated(&archive.original(*number, most)?)?.into(),
        };
        let after = inflated(&archive.content(*number, most)?)?;
        let changed = changed_files(&before, &after)?;
        // Hashes are of the files within: packed in another way, these are what they were.
        if changed.is_empty() {
            continue;
        }
        let list = archive.content(info, most)?;
        let mut is_listed = false;
        let new = unpacking::rewrite_by_path(Source::new(&list), most, &mut |path, content| {
            if path.strip_prefix(b"./").unwrap_or(path) != PATHS {
                return Ok(None);
            }
            is_listed = true;
            with_hashes(content, &changed).map(Some)
        })?;
        if !is_listed {
            return Err(Error::malformed("the conda package has no info/paths.json"));
        }
        archive.replace(info, new);
    }
    Ok(())
}

/// Hash and size of every file that is not as it was.
fn changed_files(before: &[u8], after: &[u8]) -> Result<BTreeMap<String, (String, usize)>, Error> {
    let mut old: BTreeMap<Vec<u8>, [u8; 32]> = BTreeMap::new();
    tar::each_file(before, &mut |path, content| {
        old.insert(path.to_vec(), Sha256::digest(content).into());
    })?;
    let mut changed = BTreeMap::new();
    tar::each_file(after, &mut |path, content| {
        let digest: [u8; 32] = Sha256::digest(content).into();
        if old.get(path) != Some(&digest) {
            let path = path.strip_prefix(b"./").unwrap_or(path);
            let path = String::from_utf8_lossy(path).into_owned();
            let mut text = String::new();
            for byte in digest {
                let _ = write!(text, "{byte:02x}");
            }
            changed.insert(path, (text, content.len()));
        }
    })?;
    Ok(changed)
}

/// The list with the hashes and sizes of files that changed.
fn with_hashes(list: &[u8], changed: &BTreeMap<String, (String, usize)>) -> Result<Vec<u8>, Error> {
    let wrong = |error: &dyn std::fmt::Display| {
        Error::malformed("the conda package's info/paths.json is damaged").finding(error)
    };
    let mut list: Value = serde_json::from_slice(list).map_err(|error| wrong(&error))?;
    let paths = list.get_mut("paths").and_then(Value::as_array_mut);
    let paths = paths.ok_or_else(|| wrong(&"no list of paths"))?;
    // A package lists all its files. Where one is not found, the list was not understood, and would
    // keep the old hash under some other name.
    let mut left = changed.len();
    for entry in paths.iter_mut().filter_map(Value::as_object_mut) {
        let path = entry.get("_path").and_then(Value::as_str);
        let Some((digest, size)) = path.and_then(|path| changed.get(path)) else {
            continue;
        };
        if entry.contains_key("prefix_placeholder") {
            // Installers write another prefix into it, and compare what it is then.
            entry.remove("sha256_in_prefix");
        }
        entry.insert("sha256".to_owned(), digest.as_str().into());
        entry.insert("size_in_bytes".to_owned(), (*size).into());
        left = left.saturating_sub(1);
    }
    if left > 0 {
        return Err(wrong(&"files of the package are not in it"));
    }
    serde_json::to_vec_pretty(&list).map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_unpack_to_more_than_the_limit_are_refused() {
        // A bomb: what is deflated here is no tar file, but that is only seen once it is unpacked.
        let most = Limits::FREE_INFLATION as usize;
        let content = vec![0; most + 1];
        let stored = crate::compression::zlib::compress_bare(&content, Some(1)).unwrap();
        let mut zip = rawzip::ZipArchiveWriter::new(Vec::new());
        for name in ["pkg-a.tar.zst", "info-a.tar.zst"] {
            let file = zip
                .new_file(name)
                .compression_method(rawzip::CompressionMethod::DEFLATE);
            let (mut entry, _) = file.start().unwrap();
            std::io::Write::write_all(&mut entry, &stored).unwrap();
            let size = content.len() as u64;
            entry
                .finish(rawzip::DataDescriptorOutput::new(rawzip::crc32(&content), size))
                .unwrap();
        }
        let zip = zip.finish().unwrap();
        let source = Source::new(&zip);
        let mut archive = Archive::read(source).unwrap();
        let limits = Limits {
            max_inflation: 0,
            ..Limits::default()
        };
        let error = update_paths(&mut archive, source, &[0], &BTreeMap::new(), &limits).unwrap_err();
        assert_eq!(error.kind(), offkit_image::ErrorKind::LimitExceeded);
    }

    #[test]
    fn only_files_that_changed_get_other_hashes() {
        let list = br#"{"paths": [{"_path": "a", "path_type": "hardlink", "sha256": "00", "size_in_bytes": 1},
            {"_path": "b", "path_type": "hardlink", "sha256": "11", "size_in_bytes": 2}], "paths_version": 1}"#;
        let changed = BTreeMap::from([("b".to_owned(), ("22".to_owned(), 3))]);
        let new: Value = serde_json::from_slice(&with_hashes(list, &changed).unwrap()).unwrap();
        assert_eq!(new["paths"][0]["sha256"], "00");
        assert_eq!(new["paths"][1]["sha256"], "22");
        assert_eq!(new["paths"][1]["size_in_bytes"], 3);
        assert_eq!(new["paths_version"], 1);
        let unknown = BTreeMap::from([("c".to_owned(), ("22".to_owned(), 3))]);
        assert!(with_hashes(list, &unknown).is_err());
    }
}
