//! Bundles that follow each other, as the linker leaves them in the section `.hip_fatbin`.

use memchr::memmem::Finder;
use offkit_image::{Compression, Error};

use super::compressed::{CompressedHeader, CompressedVersion};
use super::{COMPRESSED_MAGIC, MAGIC, binary};
use crate::compression::{inflate, zstd};
use crate::reading::Reading;
use crate::source::Source;

/// A bundle in a sequence.
pub(super) struct Found<'data> {
    /// All bytes of it.
    pub(super) source: Source<'data>,
    /// What a compressed bundle has besides.
    pub(super) compressed: Option<Compressed<'data>>,
}

pub(super) struct Compressed<'data> {
    pub(super) header: CompressedHeader,
    pub(super) data: Source<'data>,
}

impl Compressed<'_> {
    /// What comes out of decompression.
    pub(super) fn inflate(&self, reading: &mut Reading) -> Result<Vec<u8>, Error> {
        let CompressedHeader {
            compression,
            content_size,
            ..
        } = self.header;
        let limit = reading.inflation_left();
        let content = inflate(compression, self.data.bytes(), Some(content_size), limit)
            .map_err(|error| error.at(self.data.at(0)))?;
        reading.count_inflated(content_size);
        Ok(content)
    }
}

/// Finds all bundles. Zero bytes before, between and after them are padding; anything else that is no bundle
/// is a fault.
pub(super) fn find_all<'data>(
    source: Source<'data>,
    reading: &mut Reading,
) -> Result<Vec<Found<'data>>, Error> {
    let mut all = Vec::new();
    let mut magics = Magics::new(source);
    let mut position = 0;
    loop {
        let rest = source.from(position);
        let Some(padding) = rest.bytes().iter().position(|byte| *byte != 0) else {
            return Ok(all);
        };
        position = position.saturating_add(padding as u64);
        let rest = source.from(position);
        let found = if rest.bytes().starts_with(&MAGIC) {
            Ok(Found {
                source: rest.get(0, binary::extent(rest)).unwrap_or(rest),
                compressed: None,
            })
        } else if rest.bytes().starts_with(&COMPRESSED_MAGIC) {
            read_compressed(rest, position, &mut magics)
        } else {
            Err(Error::malformed("bytes that are no offload bundle")
                .at(rest.at(0))
                .expecting("__CLANG_OFFLOAD_BUNDLE__, CCOB or padding with zero bytes"))
        };
        match reading.accept(found)? {
            Some(found) => {
                position = position.saturating_add(found.source.len());
                // Bundles without entries must not be free.
                let counted = reading.count_image();
                all.push(found);
                if reading.accept(counted)?.is_none() {
                    return Ok(all);
                }
            }
            // Behind the first byte, or the magic that was refused would be found again.
            None => match magics.next(position.saturating_add(1)) {
                Some(next) => position = next,
                None => return Ok(all),
            },
        }
    }
}

/// Reads the compressed bundle at the start of `rest`, which is at `position`.
fn read_compressed<'data>(
    rest: Source<'data>,
    position: u64,
    magics: &mut Magics<'data>,
) -> Result<Found<'data>, Error> {
    let header = CompressedHeader::read(rest)?;
    let mut data = header.data(rest)?;
    if header.version == CompressedVersion::V1 {
        data = match header.compression {
            // The frame tells its size.
            Compression::Zstd => {
                data = magics.bounded(data, position.saturating_add(header.version.header_size()));
                // Headers of blocks tell it, without decompressing anything.
                let size = zstd::frame_size(data.bytes()).map_err(|error| {
                    magics.lose(data.len());
                    error.at(data.at(0))
                })?;
                data.get(0, size).unwrap_or(data)
            }
            // The stream has an end, but finding it is decompressing it: the next bundle bounds it too.
            _ => {
                let begin = position.saturating_add(header.version.header_size());
                let end = magics.next(begin).map(|next| next.saturating_sub(begin));
                end.and_then(|size| data.get(0, size)).unwrap_or(data)
            }
        };
    }
    let size = header.version.header_size().saturating_add(data.len());
    Ok(Found {
        source: rest.get(0, size).unwrap_or(rest),
        compressed: Some(Compressed { header, data }),
    })
}

/// So many times a whole sequence may be gone through for the end of a frame that has none.
const MOST_LOSSES: u64 = 8;

/// Finds beginnings of bundles where nothing else tells where the next one is; each byte is searched once for
/// each magic.
struct Magics<'data> {
    source: Source<'data>,
    binary: Search,
    compressed: Search,
    /// How many bytes may still be gone through for ends of frames that have none.
    losses_left: u64,
}

/// The search for one magic: the place where it was found last.
struct Search {
    finder: Finder<'static>,
    found: Option<u64>,
    is_fresh: bool,
}

impl<'data> Magics<'data> {
    fn new(source: Source<'data>) -> Self {
        Self {
            source,
            binary: Search::new(&MAGIC),
            compressed: Search::new(&COMPRESSED_MAGIC),
            losses_left: source.len().saturating_mul(MOST_LOSSES),
        }
    }

    /// What may belong to the frame that begins at `position`: everything, but after many frames without an
    /// end only what is before the next magic.
    fn bounded(&mut self, data: Source<'data>, position: u64) -> Source<'data> {
        if data.len() <= self.losses_left {
            return data;
        }
        let size = self.next(position).map(|next| next.saturating_sub(position));
        size.and_then(|size| data.get(0, size)).unwrap_or(data)
    }

    /// Notes that a frame of `size` bytes had no end.
    fn lose(&mut self, size: u64) {
        self.losses_left = self.losses_left.saturating_sub(size);
    }

    /// Where the next bundle at or after `position` begins.
    ///
    /// Compressed data may hold a magic by chance, or because they are only stored: only a header whose fields
    /// make sense counts.
    fn next(&mut self, position: u64) -> Option<u64> {
        let binary = self.binary.next(self.source, position, binary::is_plausible);
        let compressed = self.compressed.next(self.source, position, is_compressed);
        match (binary, compressed) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

impl Search {
    fn new(magic: &'static [u8]) -> Self {
        Self {
            finder: Finder::new(magic),
            found: None,
            is_fresh: true,
        }
    }

    fn next(&mut self, source: Source<'_>, from: u64, accept: impl Fn(Source<'_>) -> bool) -> Option<u64> {
        let mut position = from;
        // Callers only go forward, so that what was found last is next until it is passed, and
        // where nothing was found nothing is.
        match self.found {
            Some(found) if found >= from => return Some(found),
            None if !self.is_fresh => return None,
            _ => {}
        }
        self.is_fresh = false;
        self.found = loop {
            let rest = source.from(position);
            let Some(offset) = self.finder.find(rest.bytes()) else {
                break None;
            };
            let found = position.saturating_add(offset as u64);
            if accept(source.from(found)) {
                break Some(found);
            }
            position = found.saturating_add(1);
        };
        self.found
    }
}

fn is_compressed(source: Source<'_>) -> bool {
    let Ok(header) = CompressedHeader::read(source) else {
        return false;
    };
    header.data(source).is_ok_and(|data| match header.compression {
        Compression::Zstd => data.bytes().starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        // The window size is in the high half of the first byte, 8 for deflate in the low half.
        _ => data.bytes().first().is_some_and(|byte| byte & 0x8f == 0x08),
    })
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::super::{Bundle, BundleEntry, CompressedBundle};
    use super::*;
    use crate::Limits;

    const FAR: usize = 4096;

    fn plain(byte: u8) -> Vec<u8> {
        let entries = vec![BundleEntry::new("hip-amdgcn-amd-amdhsa--gfx900", vec![byte; 100])];
        Bundle { entries }.write(64).unwrap()
    }

    fn compressed(byte: u8, version: CompressedVersion, compression: Compression) -> Vec<u8> {
        CompressedBundle::write(&plain(byte), version, compression, None).unwrap()
    }

    /// Where bundles were found, and the faults.
    fn find(bytes: &[u8]) -> (Vec<(u64, u64)>, Vec<Error>) {
        let mut reading = Reading::tolerant(&Limits::default());
        let found = find_all(Source::new(bytes), &mut reading).unwrap();
        let places = found.iter().map(|found| (found.source.at(0), found.source.len()));
        (places.collect(), reading.take_problems())
    }

    #[test]
    fn bundles_of_all_kinds_follow_each_other_with_padding() {
        use CompressedVersion::{V1, V2, V3};
        let bundles = [
            plain(1),
            compressed(2, V3, Compression::Zstd),
            plain(3),
            compressed(4, V1, Compression::Zstd),
            compressed(5, V2, Compression::Zlib),
            compressed(6, V1, Compression::Zlib),
            plain(7),
        ];
        for padding in [0, 16, FAR] {
            let mut file = vec![0; padding];
            let mut places = Vec::new();
            for bundle in &bundles {
                file.resize(file.len().next_multiple_of(padding.max(1)), 0);
                places.push((file.len() as u64, bundle.len() as u64));
                file.extend(bundle);
            }
            let (found, problems) = find(&file);
            assert_eq!(problems, []);
            assert_eq!(found.len(), places.len());
            for (number, (place, expected)) in found.iter().zip(&places).enumerate() {
                assert_eq!(place.0, expected.0, "{number}");
                // Only the zlib stream of version 1 is not told from the padding after it.
                assert!(place.1 == expected.1 || number == 5, "{number}");
            }
            let all = Bundle::parse_all(&file, &Limits::default()).unwrap();
            for (number, bundle) in all.iter().enumerate() {
                assert_eq!(*bundle.entries[0].bytes, [number as u8 + 1; 100]);
            }
        }
    }

    #[test]
    fn the_magic_inside_of_compressed_data_is_no_bundle() {
        // What cannot be compressed is stored as it is.
        let noise = |from: u32| {
            (from..from + 300).flat_map(|n| CompressedBundle::hash_of(&n.to_le_bytes()).to_le_bytes())
        };
        let mut content: Vec<u8> = noise(0).collect();
        content.extend(b"CCOB\x02\0\x01\0 and CCOB");
        content.extend(noise(1000));
        for version in [
            CompressedVersion::V1,
            CompressedVersion::V2,
            CompressedVersion::V3,
        ] {
            for (compression, level) in [(Compression::Zlib, 0), (Compression::Zstd, 1)] {
                let one = CompressedBundle::write(&content, version, compression, Some(level)).unwrap();
                assert!(
                    one[30..].windows(4).any(|bytes| bytes == b"CCOB"),
                    "it is stored as it is"
                );
                let file = [one.clone(), one.clone()].concat();
                let size = one.len() as u64;
                assert_eq!(find(&file), (vec![(0, size), (size, size)], Vec::new()));
            }
        }
    }

    #[test]
    fn a_bad_bundle_does_not_hide_the_next() {
        let mut bad = compressed(1, CompressedVersion::V3, Compression::Zstd);
        bad[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        let mut file = bad;
        file.resize(FAR, 0);
        file.extend(plain(2));
        file.resize(2 * FAR, 0);
        file.extend(b"rubbish");
        file.resize(3 * FAR, 0);
        file.extend(compressed(3, CompressedVersion::V3, Compression::Zstd));
        let (found, problems) = find(&file);
        let starts: Vec<_> = found.iter().map(|(start, _)| *start).collect();
        assert_eq!(starts, [FAR as u64, 3 * FAR as u64]);
        let offsets: Vec<_> = problems.iter().map(Error::offset).collect();
        assert_eq!(offsets, [Some(32), Some(2 * FAR as u64)]);
    }

    #[test]
    fn a_whole_bundle_behind_many_without_an_end_is_found() {
        use CompressedVersion::V1;
        let good = compressed(1, V1, Compression::Zstd);
        // A frame whose one block is not the last one, so that its end is looked for in all that follows.
        let mut bad = good[..20].to_vec();
        bad.extend([0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 0, 0, 0]);
        bad.resize(64, 0);
        let mut file = bad.repeat(100);
        let start = file.len() as u64;
        file.extend(&good);
        let (found, problems) = find(&file);
        assert_eq!(found.last(), Some(&(start, good.len() as u64)));
        assert!(!problems.is_empty());
    }
}
