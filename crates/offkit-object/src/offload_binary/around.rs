//! The binary that an image lies in, where only the image is pointed at.

use std::ops::Range;

use memchr::memmem;
use offkit_image::Limits;

use super::MAGIC;
use super::read::{Outline, read_header};
use crate::reading::Reading;
use crate::source::Source;

/// How far before its image a binary is looked for: between them are no more than entries and short texts.
const FARTHEST: usize = 1 << 16;

/// The bytes of the offload binary that has an image at exactly that place of the memory; `None` if there is none.
///
/// Programs with OpenMP regions register the images alone, but have them in binaries, which say what the images are for.
#[must_use]
pub fn around(memory: &[u8], image: Range<usize>) -> Option<Range<usize>> {
    let first = image.start.saturating_sub(FARTHEST);
    let before = memory.get(first..image.start)?;
    // From the image backwards: other binaries, which end before it, may lie further in front.
    memmem::rfind_iter(before, &MAGIC).find_map(|at| {
        let start = first.checked_add(at)?;
        let source = Source::new(memory.get(start..)?);
        let header = read_header(source).ok()?;
        // One that was cut off, or is compressed, is an error.
        let binary = Outline::of(source, header, &mut Reading::strict(&Limits::default())).ok()?;
        let end = start.checked_add(binary.source.bytes().len())?;
        let within = image.start.checked_sub(start)?..image.end.checked_sub(start)?;
        binary.has_image_at(&within).then_some(start..end)
    })
}

#[cfg(all(test, feature = "write"))]
mod tests {
    use super::*;
    use crate::{ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};

    fn binary(images: &[&[u8]], version: OffloadBinaryVersion) -> Vec<u8> {
        let entries = images.iter().map(|image| {
            let mut entry = OffloadEntry::new(ImageKind::OBJECT, OffloadKind::OPENMP, *image);
            entry.strings.set("triple", "x86_64-pc-linux-gnu");
            entry
        });
        let binary = OffloadBinary {
            entries: entries.collect(),
        };
        binary.write(version).unwrap()
    }

    #[test]
    fn an_image_is_found_in_its_own_binary_among_others() {
        let versions = [OffloadBinaryVersion::V1, OffloadBinaryVersion::V2];
        for version in versions {
            let one = binary(&[b"\x7fELF first"], version);
            let other = binary(&[b"\x7fELF second"], version);
            let memory = [&[0; 24][..], &one, &other, &[0; 8]].concat();
            for (image, binary) in [
                (&b"\x7fELF first"[..], 24..24 + one.len()),
                (b"\x7fELF second", 24 + one.len()..24 + one.len() + other.len()),
            ] {
                let at = memmem::find(&memory, image).unwrap();
                assert_eq!(around(&memory, at..at + image.len()), Some(binary), "{version:?}");
            }
        }
    }

    #[test]
    fn what_is_no_image_of_a_binary_is_in_none() {
        let memory = binary(&[b"\x7fELF first", b"\x7fELF second"], OffloadBinaryVersion::V2);
        let at = memmem::find(&memory, b"\x7fELF second").unwrap();
        let size = b"\x7fELF second".len();
        assert_eq!(around(&memory, at..at + size), Some(0..memory.len()));
        assert_eq!(around(&memory, at..at + size - 1), None);
        assert_eq!(around(&memory, at + 1..at + size), None);
        assert_eq!(around(&memory, at..usize::MAX), None);
        assert_eq!(around(&memory, memory.len() + 1..memory.len() + 2), None);
        // Cut off behind the image.
        let cut = &memory[..at + size];
        assert_eq!(
            around(cut, at..at + size),
            (cut.len() == memory.len()).then_some(0..cut.len())
        );
        // A header alone, and one that says too much.
        for size in 0..at {
            assert_eq!(around(&memory[..size], size..size + 1), None);
        }
        let mut many = memory.clone();
        many[24..32].fill(0xff);
        assert_eq!(around(&many, at..at + size), None);
    }
}
