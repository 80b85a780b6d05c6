//! Mach-O files, alone and several in a universal one.

use object::Endianness;
use object::macho::{
    CPU_TYPE_ARM64, CPU_TYPE_X86_64, CpuType, FatArch32, FatArch64, MachHeader32, MachHeader64,
};
use object::read::macho::{FatArch, MachHeader, MachOFatFile, Section, Segment};
use offkit_image::target::HostCpu;
use offkit_image::{Error, ErrorKind};

use super::section::{Found, bytes_of, content_of, name_at};
use crate::reading::Reading;
use crate::source::Source;

/// Java's class files begin as universal ones, with a version where these have the number of their parts.
const MOST_SLICES: u32 = 0x2c;

/// What a file begins with, by its first 4 bytes as a big endian number.
#[derive(Debug, Clone, Copy)]
enum Form {
    Thin32,
    Thin64,
    Universal32,
    Universal64,
}

fn form(bytes: &[u8]) -> Option<Form> {
    let (magic, rest) = bytes.split_first_chunk::<4>()?;
    let universal = |form| {
        let count = u32::from_be_bytes(*rest.first_chunk::<4>()?);
        (count <= MOST_SLICES).then_some(form)
    };
    match u32::from_be_bytes(*magic) {
        0xfeed_face | 0xcefa_edfe => Some(Form::Thin32),
        0xfeed_facf | 0xcffa_edfe => Some(Form::Thin64),
        0xcafe_babe => universal(Form::Universal32),
        0xcafe_babf => universal(Form::Universal64),
        _ => None,
    }
}

/// Whether the bytes begin like a Mach-O file.
pub(super) fn is_macho(bytes: &[u8]) -> bool {
    form(bytes).is_some()
}

/// The processor of a file for one.
pub(super) fn cpu(bytes: &[u8]) -> Option<HostCpu> {
    let [a, b, c, d, e, f, g, h] = *bytes.first_chunk::<8>()?;
    let number = match u32::from_be_bytes([a, b, c, d]) {
        0xfeed_face | 0xfeed_facf => u32::from_be_bytes([e, f, g, h]),
        0xcefa_edfe | 0xcffa_edfe => u32::from_le_bytes([e, f, g, h]),
        _ => return None,
    };
    match number {
        0x0000_0007 => Some(HostCpu::X86),
        0x0100_0007 => Some(HostCpu::X86_64),
        0x0100_000c => Some(HostCpu::Aarch64),
        _ => None,
    }
}

type Visit<'v, 'data> = &'v mut dyn FnMut(&mut Reading, Found<'data>) -> Result<(), Error>;

/// Finds the sections with device code.
pub(super) fn sections<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    match form(source.bytes()) {
        Some(Form::Universal32) => slices::<FatArch32>(source, reading, visit),
        Some(Form::Universal64) => slices::<FatArch64>(source, reading, visit),
        _ => thin(source, &[], reading, visit),
    }
}

fn slices<'data, Arch: FatArch>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let file = MachOFatFile::<Arch>::parse(source.bytes())
        .map_err(|error| wrong(source, "universal header", error))?;
    for (number, arch) in file.arches().iter().enumerate() {
        let (offset, size) = arch.file_range();
        let whole = source.need(
            offset,
            size,
            "part of a universal file reaches past its end",
            "offset, size",
        );
        // Of a part that is cut off, a tolerant reading takes what is there.
        let slice = reading.accept(whole)?.unwrap_or_else(|| source.from(offset));
        let path = [arch_name(arch.cputype(), number)];
        let result = thin(slice, &path, reading, visit);
        // One part that is damaged hides none of the others.
        reading.accept(result)?;
    }
    Ok(())
}

/// The name of a part of a universal file, as in Apple's tools; else its number.
fn arch_name(cpu: CpuType, number: usize) -> String {
    match cpu {
        CPU_TYPE_X86_64 => HostCpu::X86_64.name().to_owned(),
        CPU_TYPE_ARM64 => "arm64".to_owned(),
        _ => number.to_string(),
    }
}

fn thin<'data>(
    source: Source<'data>,
    path: &[String],
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    match form(source.bytes()) {
        Some(Form::Thin32) => segments::<MachHeader32<Endianness>>(source, path, reading, visit),
        Some(Form::Thin64) => segments::<MachHeader64<Endianness>>(source, path, reading, visit),
        // Universal files also hold archives and bitcode.
        _ => Ok(()),
    }
}

fn segments<'data, Header: MachHeader<Endian = Endianness>>(
    source: Source<'data>,
    path: &[String],
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let bytes = source.bytes();
    let header = Header::parse(bytes, 0).map_err(|error| wrong(source, "header", error))?;
    let endian = header
        .endian()
        .map_err(|error| wrong(source, "byte order", error))?;
    let mut commands = header
        .load_commands(endian, bytes, 0)
        .map_err(|error| wrong(source, "load commands", error))?;
    let mut id = 0_usize;
    loop {
        let command = commands
            .next()
            .map_err(|error| wrong(source, "load commands", error));
        let Some(command) = reading.accept(command)?.flatten() else {
            return Ok(());
        };
        let segment = Header::Segment::from_command(command)
            .and_then(|segment| {
                segment
                    .map(|(segment, data)| segment.sections(endian, data))
                    .transpose()
            })
            .map_err(|error| wrong(source, "segment", error));
        for section in reading.accept(segment)?.flatten().unwrap_or_default() {
            let found = read_section(source, endian, section, path, id, reading)?;
            // All sections count, so that the number is the section's own.
            id = id.saturating_add(1);
            if let Some(found) = found {
                visit(reading, found)?;
            }
        }
    }
}

fn read_section<'data, S: Section<Endian = Endianness>>(
    source: Source<'data>,
    endian: Endianness,
    section: &S,
    path: &[String],
    id: usize,
    reading: &mut Reading,
) -> Result<Option<Found<'data>>, Error> {
    // `.llvm.offloading` fills the 16 bytes of the field, so that no zero byte ends it.
    let name = name_at(section.sectname(), 0).unwrap_or_default();
    let Some(content) = content_of(name) else {
        return Ok(None);
    };
    let offset = u64::from(section.offset(endian));
    // Sections that the loader fills with zeros have a size and no range.
    let Some((_, size)) = section.file_range(endian, offset).filter(|(_, size)| *size > 0) else {
        return Ok(None);
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let found = bytes_of(source, reading, offset, size, "offset, size", &name)?;
    Ok(Some(Found {
        id,
        path: path.to_vec(),
        name,
        content,
        source: found,
        is_loaded: true,
    }))
}

fn wrong(source: Source<'_>, field: &'static str, error: object::read::Error) -> Error {
    Error::new(ErrorKind::OutOfBounds, "Invalid Mach-O file")
        .at(source.at(0))
        .field(field)
        .expecting(format!("to end within {:#x} bytes", source.len()))
        .finding(error)
}
