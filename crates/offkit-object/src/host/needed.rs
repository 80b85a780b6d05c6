//! The shared libraries that a program needs.

use object::elf::{self, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB};
use object::pe::{ImageDosHeader, ImageNtHeaders64};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::pe::ImageNtHeaders;
use object::{Endianness, LittleEndian as LE};

/// No program needs more, and the names of all may be one long name.
const MOST: usize = 1 << 10;
/// So many bytes all of them have at most, for many may be one that is as long as the file.
const MOST_BYTES: usize = 1 << 20;

/// What a program or library says of the shared libraries that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Needed {
    /// Their names, in order: `libcudart.so.13`.
    pub libraries: Vec<String>,
    /// The folders to look into first (`DT_RPATH`), as the file has them: `$ORIGIN` is the folder of the file itself, and
    /// an empty one is the current folder.
    pub folders: Vec<String>,
    /// The same for those to look into behind what the user says (`DT_RUNPATH`). A file that has such has no others: then
    /// loaders leave `DT_RPATH` alone.
    pub folders_behind: Vec<String>,
}

/// The shared libraries that an ELF or 64-bit PE file needs; none for other files, and for damaged ones those up to the
/// damage. Names that are longer together than those of any program count as damage.
///
/// ```
/// assert!(offkit_object::host::needed(b"\x7fELF").libraries.is_empty());
/// ```
#[must_use]
pub fn needed(bytes: &[u8]) -> Needed {
    let mut needed = Needed::default();
    let _ = match bytes.get(..5) {
        Some([0x7f, b'E', b'L', b'F', 1]) => of_elf::<elf::FileHeader32<Endianness>>(bytes, &mut needed),
        Some([0x7f, b'E', b'L', b'F', 2]) => of_elf::<elf::FileHeader64<Endianness>>(bytes, &mut needed),
        Some([b'M', b'Z', ..]) => of_windows(bytes, &mut needed),
        _ => None,
    };
    needed
}

fn of_elf<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8], needed: &mut Needed) -> Option<()> {
    let header = Elf::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let mut dynamic = segments
        .iter()
        .filter_map(|segment| segment.dynamic(endian, bytes).ok()?);
    let dynamic = dynamic.next()?;
    let value = |tag| {
        let found = dynamic.iter().find(|entry| entry.tag(endian) == tag)?;
        Some(found.val(endian))
    };
    let (address, size) = (value(DT_STRTAB)?, value(DT_STRSZ)?);
    // The dynamic section has the address that the table of strings gets in memory: the segment around it tells where
    // it is in the file. Section headers are not asked, as loaders do without them.
    let mut tables = segments
        .iter()
        .filter_map(|segment| segment.data_range(endian, bytes, address, size).ok()?);
    let strings = tables.next()?;
    let strings = StringTable::new(strings, 0, strings.len() as u64);
    let has_run_path = dynamic.iter().any(|entry| entry.tag(endian) == DT_RUNPATH);
    let mut left = MOST_BYTES;
    for entry in dynamic.iter().take(MOST) {
        let tag = entry.tag(endian);
        if ![DT_NEEDED, DT_RPATH, DT_RUNPATH].contains(&tag) {
            continue;
        }
        let text = entry.string(endian, strings).ok()?;
        left = left.checked_sub(text.len())?;
        let text = String::from_utf8_lossy(text);
        // One that is empty as a whole names no folder, while an empty part of a longer one does.
        let parts = || text.split(':').filter(|_| !text.is_empty());
        let folders = || parts().take(MOST).map(str::to_owned);
        match tag {
            DT_NEEDED => needed.libraries.push(text.clone().into_owned()),
            DT_RUNPATH => needed.folders_behind.extend(folders()),
            _ if !has_run_path => needed.folders.extend(folders()),
            _ => {}
        }
    }
    Some(())
}

fn of_windows(bytes: &[u8], needed: &mut Needed) -> Option<()> {
    let mut offset = u64::from(ImageDosHeader::parse(bytes).ok()?.nt_headers_offset());
    let (headers, directories) = ImageNtHeaders64::parse(bytes, &mut offset).ok()?;
    let sections = headers.sections(bytes, offset).ok()?;
    // Libraries that are loaded late have a table of their own: the program starts without them.
    let imports = directories.import_table(bytes, &sections).ok()??;
    let mut descriptors = imports.descriptors().ok()?;
    let mut left = MOST_BYTES;
    while let Some(descriptor) = descriptors.next().ok()? {
        let name = imports.name(descriptor.name.get(LE)).ok()?;
        left = left.checked_sub(name.len())?;
        needed.libraries.push(String::from_utf8_lossy(name).into_owned());
        if needed.libraries.len() >= MOST {
            break;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library whose dynamic section has so many entries, all for one name.
    fn library(entries: usize, name: &[u8]) -> Vec<u8> {
        const DYNAMIC: usize = 64 + 2 * 56;
        let strings = DYNAMIC + (entries + 2) * 16;
        let size = strings + name.len() + 1;
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(size, 0);
        file[strings..size - 1].copy_from_slice(name);
        let mut put = |at: usize, numbers: &[usize]| {
            for (place, number) in file[at..].chunks_mut(8).zip(numbers) {
                place.copy_from_slice(&(*number as u64).to_le_bytes());
            }
        };
        put(32, &[64]);
        // Two program headers of 56 bytes.
        put(48, &[56 << 48, 2]);
        put(64, &[1, 0, 0, 0, size, size, 1]);
        put(64 + 56, &[2, DYNAMIC, DYNAMIC, 0, strings - DYNAMIC, 0, 8]);
        put(DYNAMIC, &[5, strings, 10, name.len() + 1]);
        for number in 0..entries {
            put(DYNAMIC + (2 + number) * 16, &[1, 0]);
        }
        file
    }

    #[test]
    fn one_long_name_of_many_libraries_does_not_multiply() {
        assert_eq!(needed(&library(2, b"libx.so")).libraries, ["libx.so", "libx.so"]);
        let file = library(1000, &[b'x'; 100_000]);
        let size: usize = needed(&file).libraries.iter().map(String::len).sum();
        assert!((100_000..2_000_000).contains(&size), "{size}");
    }
}
