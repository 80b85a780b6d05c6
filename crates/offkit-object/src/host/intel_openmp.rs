//! The ELF file in which Intel's OpenMP runtime wants SPIR-V: the module in a section, and notes that say what it is.
//!
//! Written by LLVM's and by Intel's compilers for `spirv64-intel`.

use object::{Object, ObjectSection, elf};
use offkit_image::{Error, MACHINE_INTEL_GPU};

use super::elf_edit;
use super::write::{NewSection, add_sections};

const OWNER: &[u8] = b"INTELONEOMPOFFLOAD\0";
const NOTE_VERSION: u32 = 1;
const NOTE_IMAGE_COUNT: u32 = 2;
const NOTE_IMAGE: u32 = 3;

/// The section with the module.
const MODULE: &str = "__openmp_offload_spirv_0";

/// The SPIR-V module in such a file; `None` if it is none.
#[must_use]
pub fn intel_openmp_spirv(file: &[u8]) -> Option<&[u8]> {
    let file = object::File::parse(file).ok()?;
    let module = file.section_by_name(MODULE)?.data().ok()?;
    (!module.is_empty()).then_some(module)
}

/// A SPIR-V module for OpenMP as Intel's runtime takes it.
///
/// # Errors
///
/// A module that is too large for a file.
pub fn intel_openmp_elf(module: &[u8]) -> Result<Vec<u8>, Error> {
    let mut notes = Vec::new();
    note(&mut notes, NOTE_VERSION, b"1.0")?;
    // Number of the image, format (1 is SPIR-V), options for compiler and linker.
    note(&mut notes, NOTE_IMAGE, b"0\x001\0\0")?;
    note(&mut notes, NOTE_IMAGE_COUNT, b"1")?;
    let section = |name: &'static str, bytes, elf_type: elf::SectionType, alignment| NewSection {
        name: name.into(),
        bytes,
        exclude: false,
        alignment,
        elf_type: elf_type.0,
    };
    let empty = elf_edit::empty_object(true, false, MACHINE_INTEL_GPU, 0)?;
    let mut file = add_sections(
        &empty,
        &[
            section(".note.inteloneompoffload", &notes, elf::SHT_NOTE, 4),
            section(MODULE, module, elf::SHT_PROGBITS, 8),
        ],
    )?;
    // Only now, as sections are added to relocatable objects alone.
    const TYPE_AT: std::ops::Range<usize> = 16..18;
    if let Some(file_type) = file.get_mut(TYPE_AT) {
        file_type.copy_from_slice(&elf::ET_DYN.0.to_le_bytes());
    }
    Ok(file)
}

/// Sizes of owner and description, type, and both at multiples of 4.
fn note(notes: &mut Vec<u8>, note_type: u32, description: &[u8]) -> Result<(), Error> {
    let size =
        |bytes: &[u8]| u32::try_from(bytes.len()).map_err(|_| Error::unrepresentable("note is too long"));
    notes.extend(size(OWNER)?.to_le_bytes());
    notes.extend(size(description)?.to_le_bytes());
    notes.extend(note_type.to_le_bytes());
    for bytes in [OWNER, description] {
        notes.extend(bytes);
        notes.resize(notes.len().next_multiple_of(4), 0);
    }
    Ok(())
}
