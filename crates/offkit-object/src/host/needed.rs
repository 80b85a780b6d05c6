//! The shared libraries that a program needs.

use object::elf::{self, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_STRSZ, DT_STRTAB};
use object::pe::{ImageDosHeader, ImageNtHeaders64};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::pe::ImageNtHeaders;
use object::{Endianness, LittleEndian as LE};

/// No program needs more, and the names of all may be one long name.
const MOST: usize = 1 << 10;

/// What a program or library says of the shared libraries that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Needed {
    /// Their names, in order: `libcudart.so.13`.
    pub libraries: Vec<String>,
    /// The folders to look into first, as the file has them: `$ORIGIN` is the folder of the file itself.
    pub folders: Vec<String>,
}

/// The shared libraries that an ELF or 64-bit PE file needs; none for other files, and for damaged ones those up to the
/// damage.
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
    for entry in dynamic.iter().take(MOST) {
        let tag = entry.tag(endian);
        if ![DT_NEEDED, DT_RPATH, DT_RUNPATH].contains(&tag) {
            continue;
        }
        let text = String::from_utf8_lossy(entry.string(endian, strings).ok()?);
        if tag == DT_NEEDED {
            needed.libraries.push(text.into_owned());
        } else {
            needed
                .folders
                .extend(text.split(':').take(MOST).map(str::to_owned));
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
    while let Some(descriptor) = descriptors.next().ok()? {
        let name = imports.name(descriptor.name.get(LE)).ok()?;
        needed.libraries.push(String::from_utf8_lossy(name).into_owned());
        if needed.libraries.len() >= MOST {
            break;
        }
    }
    Some(())
}
