//! Adding sections to objects, taking them away, and objects that hold nothing else.

use std::borrow::Cow;

use object::elf;
use object::pe;
use offkit_image::target::{Family, HostCpu, System, Triple};
use offkit_image::{Error, ErrorKind};

use super::coff::{self, Coff};
use super::elf::{Elf, TYPE_OFFLOADING};
use super::output::Output;
use super::section::name_at;
use super::{coff_edit, elf_edit};
use crate::chunks::Chunks;
use crate::elf::SectionHeader;
use crate::patched::Patched;
use crate::source::Source;

/// A section to be added to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSection<'a> {
    /// The name; for device code a linker looks for, `.llvm.offloading`.
    pub name: Cow<'a, str>,
    /// The content.
    pub bytes: &'a [u8],
    /// Whether linkers leave the section out of programs: `SHF_EXCLUDE`, `IMAGE_SCN_LNK_REMOVE`.
    pub exclude: bool,
    /// What the address is a multiple of: a power of 2.
    pub alignment: u64,
    /// The type in ELF; COFF has none.
    pub elf_type: u32,
}

impl<'a> NewSection<'a> {
    /// The section in which linkers look for offload binaries, as clang makes it: `.llvm.offloading`.
    #[must_use]
    pub fn offloading(bytes: &'a [u8]) -> Self {
        Self {
            name: ".llvm.offloading".into(),
            bytes,
            exclude: true,
            alignment: 8,
            elf_type: TYPE_OFFLOADING,
        }
    }

    /// Any bytes under any name, left out of programs and aligned to nothing.
    #[must_use]
    pub fn excluded(name: impl Into<Cow<'a, str>>, bytes: &'a [u8]) -> Self {
        Self {
            name: name.into(),
            bytes,
            exclude: true,
            alignment: 1,
            elf_type: elf::SHT_PROGBITS.0,
        }
    }

    /// The section header, without the places of name and content.
    pub(super) fn elf_header(&self) -> SectionHeader {
        SectionHeader {
            kind: self.elf_type,
            flags: if self.exclude { elf::SHF_EXCLUDE.0 } else { 0 },
            size: self.bytes.len() as u64,
            align: self.alignment,
            ..SectionHeader::default()
        }
    }

    /// The characteristics of a COFF section: data that is read only.
    pub(super) fn coff_flags(&self) -> Result<u32, Error> {
        let exponent = self.alignment.checked_ilog2().unwrap_or_default();
        if exponent > 13 {
            return Err(Error::unrepresentable("COFF has no alignment this large")
                .expecting("at most 8192")
                .finding(self.alignment));
        }
        // The field holds the exponent and 1, so that 0 can mean that nothing is said.
        let align = exponent.saturating_add(1) << 20;
        Ok(align
            | if self.exclude {
                // As LLVM marks sections that are excluded.
                pe::IMAGE_SCN_LNK_REMOVE.0 | pe::IMAGE_SCN_MEM_DISCARDABLE.0
            } else {
                pe::IMAGE_SCN_CNT_INITIALIZED_DATA.0 | pe::IMAGE_SCN_MEM_READ.0
            })
    }

    fn check(&self) -> Result<(), Error> {
        if self.alignment.is_power_of_two() {
            return Ok(());
        }
        Err(Error::unrepresentable("alignment is not a power of 2").finding(self.alignment))
    }
}

/// What is to become of an object.
#[derive(Debug, Default)]
pub(super) struct Changes<'added, 'data> {
    /// New contents, by the index of the section.
    pub(super) replaced: Vec<(usize, &'data [u8])>,
    /// Indices of sections that go, in order.
    pub(super) removed: Vec<usize>,
    pub(super) added: &'added [NewSection<'data>],
}

/// The object with these sections after its own: a relocatable ELF object of any class and byte order, or a
/// COFF object. Nothing else changes but places in the file.
///
/// ```
/// use offkit_object::host::{NewSection, ObjectFormat, add_sections, remove_sections, write_object};
///
/// let format = ObjectFormat::for_triple("x86_64-unknown-linux-gnu").unwrap();
/// let object = write_object(format, &[NewSection::offloading(b"\x10\xff\x10\xad")])?;
/// let more = add_sections(&object, &[NewSection::excluded("other", b"bytes")])?;
/// let less = remove_sections(&more, |name| name == "other")?;
/// assert!(less.len() < more.len());
/// # Ok::<(), offkit_object::Error>(())
/// ```
///
/// # Errors
///
/// Other files, damaged ones, and what the format cannot express.
pub fn add_sections(object: &[u8], sections: &[NewSection<'_>]) -> Result<Vec<u8>, Error> {
    add_sections_chunks(object, sections).map(Chunks::into_bytes)
}

/// As [`add_sections`], without copying large contents.
///
/// # Errors
///
/// As [`add_sections`].
pub fn add_sections_chunks<'data>(
    object: &'data [u8],
    sections: &[NewSection<'data>],
) -> Result<Chunks<'data>, Error> {
    Kind::of(object)?.add(object, sections).map(Output::into_chunks)
}

/// The object without the sections of these names, and without their relocations.
///
/// The object is returned as it is if it has no such section.
///
/// # Errors
///
/// As [`add_sections`]; a section in which a symbol is defined.
pub fn remove_sections(object: &[u8], mut is_unwanted: impl FnMut(&str) -> bool) -> Result<Vec<u8>, Error> {
    let kind = Kind::of(object)?;
    let removed = kind.find(Source::new(object), |name| {
        is_unwanted(&String::from_utf8_lossy(name))
    })?;
    if removed.is_empty() {
        return Ok(object.to_vec());
    }
    let changes = Changes {
        removed,
        ..Changes::default()
    };
    kind.edit(object, &changes).map(Output::into_bytes)
}

/// The object or program with another content of the first section of this name.
///
/// In an object the section takes the size that it needs, and nothing else changes but places in the file. In a
/// linked program it can only become smaller: what is left of it is filled with zeros. The content that is there
/// already gives the same file.
///
/// # Errors
///
/// As [`add_sections`]; a section that does not exist, or has no bytes in the file; in a linked program content that is
/// larger.
pub fn replace_section(object: &[u8], name: &str, new: &[u8]) -> Result<Vec<u8>, Error> {
    let source = Source::new(object);
    let named = Kind::of(object)?.find(source, |other| other == name.as_bytes())?;
    match named.first() {
        Some(index) => replace_section_at(source, *index, &new.into()).map(Chunks::into_bytes),
        None => Err(Error::new(ErrorKind::NotRecognized, "there is no such section").finding(name)),
    }
}

/// The object or program with another content of the section with this index.
pub(super) fn replace_section_at<'data>(
    source: Source<'data>,
    index: usize,
    new: &Chunks<'data>,
) -> Result<Chunks<'data>, Error> {
    let bytes = source.bytes();
    let kind = Kind::of(bytes)?;
    let (start, size, is_linked) = kind.place_of(source, index)?;
    let length = usize::try_from(new.len()).unwrap_or(usize::MAX);
    // Nothing moves then, so that it makes no difference whether the file is linked.
    if size == length {
        return overwrite(source, start, size, new);
    }
    if !is_linked {
        let new = new.joined();
        let changes = Changes {
            replaced: vec![(index, &new)],
            ..Changes::default()
        };
        return kind
            .edit(bytes, &changes)
            .map(|output| output.into_bytes().into());
    }
    // Loaders and code find things by their addresses: nothing behind may move, and only the header can say less.
    if length > size {
        return Err(Error::unrepresentable(
            "new content is larger than the section, and addresses in a linked program cannot move",
        )
        .expecting(format!("at most {size:#x} bytes"))
        .finding(format_args!("{length:#x}")));
    }
    let (field, number) = match kind {
        Kind::Elf => elf_edit::size_field(source, index, length)?,
        Kind::Coff => coff_edit::size_field(source, index, length)?,
    };
    let mut changed = Patched::new(overwrite(source, start, size, new)?);
    let is_there = changed.put(field, &number);
    is_there.ok_or_else(|| Error::malformed("section headers reach past the end of the file"))?;
    Ok(changed.without(&[]))
}

/// The bytes with `new` and then zeros in `size` bytes from `start`.
fn overwrite<'data>(
    source: Source<'data>,
    start: usize,
    size: usize,
    new: &Chunks<'data>,
) -> Result<Chunks<'data>, Error> {
    let end = start.saturating_add(size);
    let cut_off = || Error::malformed("section reaches past the end of the file").at(source.at(start as u64));
    let before = source.bytes().get(..start).ok_or_else(cut_off)?;
    let behind = source.bytes().get(end..).ok_or_else(cut_off)?;
    let left = (size as u64).checked_sub(new.len()).ok_or_else(cut_off)?;
    let mut changed = Chunks::from(before);
    changed.append(new.clone());
    changed.zeros(left);
    changed.push(behind);
    Ok(changed)
}

/// The format and machine of an object file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ObjectFormat {
    /// ELF.
    Elf {
        /// Whether it is of the class with 64-bit addresses.
        is_64: bool,
        /// Whether numbers are big endian.
        is_big_endian: bool,
        /// `e_machine`.
        machine: u16,
        /// `e_flags`.
        flags: u32,
    },
    /// COFF.
    Coff {
        /// The machine's number.
        machine: u16,
    },
}

impl ObjectFormat {
    /// The format of objects for a target; `None` where this crate cannot write it.
    #[must_use]
    pub fn for_triple(triple: &str) -> Option<Self> {
        let parts = Triple::new(triple);
        let Family::Host(cpu) = Family::of(triple) else {
            return None;
        };
        match parts.system() {
            System::Windows => {
                let machine = match cpu {
                    HostCpu::X86_64 => 0x8664,
                    HostCpu::X86 => 0x014c,
                    HostCpu::Aarch64 => 0xaa64,
                    _ => return None,
                };
                return Some(Self::Coff { machine });
            }
            System::Apple => return None,
            _ => {}
        }
        let (is_64, is_big_endian, machine, flags) = match cpu {
            // x32 is 64-bit code in files of the class for 32 bits.
            HostCpu::X86_64 => (!parts.is_x32(), false, elf::EM_X86_64, 0),
            HostCpu::X86 => (false, false, elf::EM_386, 0),
            HostCpu::Aarch64 => (true, false, elf::EM_AARCH64, 0),
            HostCpu::Aarch64Be => (true, true, elf::EM_AARCH64, 0),
            // The second version of the ABI, which is the only one for little endian.
            HostCpu::PowerPc64Le => (true, false, elf::EM_PPC64, 2),
            HostCpu::PowerPc64 => (true, true, elf::EM_PPC64, 0),
            HostCpu::Riscv64 => (true, false, elf::EM_RISCV, 0),
            HostCpu::LoongArch64 => (true, false, elf::EM_LOONGARCH, 0),
            HostCpu::S390x => (true, true, elf::EM_S390, 0),
            _ => return None,
        };
        Some(Self::Elf {
            is_64,
            is_big_endian,
            machine: machine.0,
            flags,
        })
    }
}

/// A relocatable object that holds nothing but these sections.
///
/// # Errors
///
/// What the format cannot express.
pub fn write_object(format: ObjectFormat, sections: &[NewSection<'_>]) -> Result<Vec<u8>, Error> {
    let (kind, empty) = match format {
        ObjectFormat::Elf {
            is_64,
            is_big_endian,
            machine,
            flags,
        } => (
            Kind::Elf,
            elf_edit::empty_object(is_64, is_big_endian, machine, flags)?,
        ),
        ObjectFormat::Coff { machine } => (Kind::Coff, coff_edit::empty_object(machine)),
    };
    kind.add(&empty, sections).map(Output::into_bytes)
}

/// The formats whose sections can be changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Elf,
    Coff,
}

impl Kind {
    pub(super) fn edit<'data>(
        self,
        object: &'data [u8],
        changes: &Changes<'_, 'data>,
    ) -> Result<Output<'data>, Error> {
        match self {
            Self::Elf => elf_edit::edit(object, changes),
            Self::Coff => coff_edit::edit(object, changes),
        }
    }

    fn add<'data>(self, object: &'data [u8], sections: &[NewSection<'data>]) -> Result<Output<'data>, Error> {
        // Linked programs pass here, too: an edit without changes would refuse them.
        if sections.is_empty() {
            return Ok(object.to_vec().into());
        }
        sections.iter().try_for_each(NewSection::check)?;
        let changes = Changes {
            added: sections,
            ..Changes::default()
        };
        self.edit(object, &changes)
    }

    /// The indices of the sections whose names are wanted.
    fn find(self, source: Source<'_>, mut is_wanted: impl FnMut(&[u8]) -> bool) -> Result<Vec<usize>, Error> {
        let mut found = Vec::new();
        match self {
            Self::Elf => {
                let elf = Elf::read(source)?;
                let names = elf.names(source);
                // The first header is none.
                for (index, section) in elf.sections.iter().enumerate().skip(1) {
                    if is_wanted(name_at(names, section.name.into()).unwrap_or_default()) {
                        found.push(index);
                    }
                }
            }
            Self::Coff => {
                let coff = Coff::read(source)?;
                let strings = coff.strings(source).bytes();
                for (index, section) in coff.sections.iter().enumerate() {
                    if is_wanted(section.name(strings)) {
                        found.push(index);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Where the content of a section is and how long it is, and whether the file is linked. A section that has bytes in
    /// memory only is an error.
    pub(super) fn place_of(self, source: Source<'_>, index: usize) -> Result<(usize, usize, bool), Error> {
        let place = match self {
            Self::Elf => {
                let elf = Elf::read(source)?;
                let section = elf.sections.get(index);
                section.map(|section| {
                    (
                        section.offset,
                        section.size,
                        section.is_in_file,
                        !elf.is_relocatable,
                    )
                })
            }
            Self::Coff => {
                let coff = Coff::read(source)?;
                let section = coff.sections.get(index);
                section.map(|section| {
                    (
                        section.offset.into(),
                        // As readers hand the content over: the file's padding would count as more.
                        coff.size_of(section).into(),
                        section.is_in_file(),
                        coff.is_linked,
                    )
                })
            }
        };
        let place = place.and_then(|(start, size, is_in_file, is_linked)| {
            let (start, size) = (usize::try_from(start).ok()?, usize::try_from(size).ok()?);
            Some((start, size, is_in_file, is_linked))
        });
        let (start, size, is_in_file, is_linked) =
            place.ok_or_else(|| Error::malformed("there is no such section").finding(index))?;
        // What is at its offset belongs to others.
        if size > 0 && !is_in_file {
            return Err(Error::unrepresentable("the section has no place in the file").finding(index));
        }
        Ok((start, size, is_linked))
    }

    pub(super) fn of(object: &[u8]) -> Result<Self, Error> {
        if object.starts_with(b"\x7fELF") {
            Ok(Self::Elf)
        } else if coff::is_coff(object) {
            Ok(Self::Coff)
        } else if super::macho::is_macho(object) {
            Err(Error::unsupported("sections of Mach-O files cannot be changed"))
        } else {
            Err(Error::new(ErrorKind::NotRecognized, "not an object file")
                .expecting("a relocatable ELF or COFF object"))
        }
    }
}
