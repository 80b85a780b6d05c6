//! What is wrong with bundles that can be read nevertheless.

use std::collections::HashMap;

use offkit_image::{Error, Limits};

use super::{CompressedBundle, binary, sequence};
use crate::reading::Reading;
use crate::source::Source;

/// Looks closer at a sequence of bundles than reading does, and notes what is wrong in `reading`: a hash that
/// is not that of the content, IDs that occur twice, images that overlap each other or the header.
///
/// Faults that reading finds are not noted again.
pub(crate) fn check(source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
    let mut quiet = Reading::tolerant(reading.limits()).for_file_of(source.len());
    for found in sequence::find_all(source, &mut quiet)? {
        let Some(compressed) = found.compressed else {
            check_entries(found.source, reading)?;
            continue;
        };
        let Ok(content) = compressed.inflate(&mut quiet) else {
            continue;
        };
        let hash = CompressedBundle::hash_of(&content);
        if hash != compressed.header.hash {
            let size_of_hash = size_of::<u64>() as u64;
            let offset = compressed
                .header
                .version
                .header_size()
                .saturating_sub(size_of_hash);
            let fault = Error::malformed("compressed offload bundle has the hash of another content")
                .at(found.source.at(offset))
                .field("hash")
                .expecting(format!("{hash:#018x}"))
                .finding(format_args!("{:#018x}", compressed.header.hash));
            reading.fault(fault)?;
        }
        check_entries(Source::new(&content), reading)?;
    }
    Ok(())
}

fn check_entries(source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
    let mut quiet = Reading::tolerant(&Limits {
        max_problems: 0,
        ..reading.limits().clone()
    });
    let Ok(mut entries) = binary::read(source, &mut quiet) else {
        return Ok(());
    };
    let mut seen = HashMap::new();
    for entry in &entries {
        // By bytes: as text, all that is not UTF-8 would be the same replacement character.
        if let Some(first) = seen.insert(entry.raw_id, entry.index) {
            let fault = Error::malformed("offload bundle has two entries with one ID")
                .at(source.at(entry.header))
                .field(format!("entry {}, ID", entry.index))
                .expecting(format!("another than that of entry {first}"))
                .finding(entry.id.escape_debug());
            reading.fault(fault)?;
        }
    }
    let header_end = entries.last().map_or(0, |last| {
        let size = size_of::<binary::RawEntry>().saturating_add(last.raw_id.len());
        last.header.saturating_add(size as u64)
    });
    entries.retain(|entry| entry.image.is_some() && entry.size > 0);
    entries.sort_by_key(|entry| entry.offset);
    let mut end = header_end;
    let mut before = "the header".to_owned();
    for entry in &entries {
        if entry.offset < end {
            let fault = Error::malformed("offload bundle has an image that overlaps something else")
                .at(source.at(entry.header))
                .field(format!("entry {}, offset", entry.index))
                .expecting(format!("at least {end:#x}, the end of {before}"))
                .finding(format_args!("{:#x}", entry.offset));
            reading.fault(fault)?;
        }
        // The furthest end so far, as a long image may reach over several that begin behind it.
        if entry.end() > end {
            end = entry.end();
            before = format!("entry {}", entry.index);
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::super::{Bundle, BundleEntry, CompressedVersion};
    use super::*;
    use crate::Compression;

    fn faults(bytes: &[u8]) -> Vec<String> {
        let mut reading = Reading::tolerant(&Limits::default());
        check(Source::new(bytes), &mut reading).unwrap();
        reading.take_problems().iter().map(Error::to_string).collect()
    }

    fn bundle(ids: [&'static str; 2]) -> Vec<u8> {
        let entries = ids.map(|id| BundleEntry::new(id, id.as_bytes())).to_vec();
        Bundle { entries }.write(1).unwrap()
    }

    #[test]
    fn good_bundles_have_no_faults() {
        let good = bundle(["one", "two"]);
        assert_eq!(faults(&good), [""; 0]);
        let compressed = CompressedBundle::write(&good, CompressedVersion::V3, Compression::Zstd, None);
        assert_eq!(faults(&compressed.unwrap()), [""; 0]);
    }

    #[test]
    fn a_wrong_hash_is_a_fault() {
        let good = bundle(["one", "two"]);
        let mut bytes =
            CompressedBundle::write(&good, CompressedVersion::V2, Compression::Zlib, None).unwrap();
        bytes[16] ^= 1;
        let [fault] = faults(&bytes).try_into().unwrap();
        assert!(
            fault.starts_with("offset 0x10: compressed offload bundle has the hash"),
            "{fault}"
        );
        assert!(
            Bundle::parse_all(&bytes, &Limits::default()).is_ok(),
            "it can be read"
        );
    }

    #[test]
    fn ids_that_are_not_utf8_are_known_by_their_bytes() {
        // The second is at the end of the header, with the images right behind it.
        let mut bytes = bundle(["one", "two"]);
        let [first, second] = [32 + 24, 32 + 24 + 3 + 24];
        assert_eq!(
            (&bytes[first..first + 3], &bytes[second..second + 3]),
            (&b"one"[..], &b"two"[..])
        );
        bytes[first..first + 3].fill(0xfe);
        bytes[second..second + 3].fill(0xff);
        assert_eq!(faults(&bytes), [""; 0]);
    }

    #[test]
    fn ids_that_occur_twice_and_images_that_overlap_are_faults() {
        let [fault] = faults(&bundle(["one", "one"])).try_into().unwrap();
        assert!(fault.contains("two entries with one ID (entry 1, ID)"), "{fault}");
        let mut bytes = bundle(["one", "two"]);
        // The second entry's offset: after the header, one entry and its ID.
        let second = 32 + 24 + 3;
        bytes[second] -= 1;
        let [fault] = faults(&bytes).try_into().unwrap();
        assert!(
            fault.contains("overlaps something else (entry 1, offset)"),
            "{fault}"
        );
        bytes[second] = 8;
        let [fault] = faults(&bytes).try_into().unwrap();
        assert!(fault.contains("the end of the header, found 0x8"), "{fault}");
    }
}
