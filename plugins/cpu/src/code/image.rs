//! Objects, checked and laid out as they are to lie in memory.

use std::mem::offset_of;

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, Rela as _, SectionHeader as _, Sym as _};
use object::{LittleEndian, SectionIndex, SymbolIndex};

use super::relocation::{self, Problem};
use super::{LoadError, Machine};

/// More than any kernel has: distances of 32 bits reach over it in both directions.
const LARGEST: usize = 1 << 28;

const LITTLE: LittleEndian = LittleEndian;

type Header = FileHeader64<LittleEndian>;
type SectionTable<'o> = object::read::elf::SectionTable<'o, Header>;
type SymbolTable<'o> = object::read::elf::SymbolTable<'o, Header>;
type Section = elf::SectionHeader64<LittleEndian>;

/// Code and the constants that it reads, in the places they have to each other in memory: wherever the whole begins
/// at the start of a page.
#[derive(Clone, Debug)]
pub struct Image {
    bytes: Vec<u8>,
    code: usize,
    functions: Vec<Function>,
    /// Where each section of the object is.
    places: Vec<Option<usize>>,
}

/// A function in an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Where it begins.
    pub offset: usize,
    /// How long it is.
    pub size: usize,
}

impl Image {
    /// Lays out a relocatable object for a machine, on pages of a size, a power of two of 4096 at least.
    ///
    /// # Errors
    /// [`LoadError::Damaged`] and [`LoadError::Refused`].
    pub fn of_object(object: &[u8], machine: Machine, page: usize) -> Result<Image, LoadError> {
        let header = Header::parse(object).map_err(damaged)?;
        if !header.is_little_endian()
            || header.e_machine(LITTLE) != machine.elf()
            || header.e_type(LITTLE) != elf::ET_REL
        {
            return Err(LoadError::Refused(format!(
                "it is no relocatable object for {machine:?}"
            )));
        }
        let sections = header.sections(LITTLE, object).map_err(damaged)?;
        let symbols = sections
            .symbols(LITTLE, object, elf::SHT_SYMTAB)
            .map_err(damaged)?;
        let mut layout = Layout {
            object,
            sections,
            symbols,
            places: vec![None; sections.len()],
            bytes: Vec::new(),
        };
        // Code first, in pages of its own, which are not to be readable data's as well.
        layout.place(page, true)?;
        layout.pad(page)?;
        let code = layout.bytes.len();
        layout.place(page, false)?;
        layout.pad(page)?;
        layout.relocate(machine)?;
        let functions = layout.functions(code)?;
        Ok(Image {
            bytes: layout.bytes,
            code,
            functions,
            places: layout.places,
        })
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes of code there are, from the start; what follows is read.
    pub fn code_size(&self) -> usize {
        self.code
    }

    /// The object that this was made of, whose sections say where they are when it lies at an address.
    pub(super) fn object_at(&self, object: &[u8], start: u64) -> Vec<u8> {
        let mut object = object.to_vec();
        let Ok(header) = Header::parse(object.as_slice()) else {
            return object;
        };
        let table = usize::try_from(header.e_shoff(LITTLE)).unwrap_or(usize::MAX);
        for (index, place) in self.places.iter().enumerate() {
            // `of_object` has read the table, and that refuses entries of another size.
            let address = table.checked_add(index * size_of::<Section>() + offset_of!(Section, sh_addr));
            let address = address.and_then(|at| object.get_mut(at..)?.first_chunk_mut());
            if let (Some(place), Some(address)) = (place, address) {
                *address = (start + *place as u64).to_le_bytes();
            }
        }
        object
    }

    /// The functions that have names.
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
}

/// What becomes an image.
struct Layout<'o> {
    object: &'o [u8],
    sections: SectionTable<'o>,
    symbols: SymbolTable<'o>,
    /// Where each section is that is loaded.
    places: Vec<Option<usize>>,
    bytes: Vec<u8>,
}

impl<'o> Layout<'o> {
    /// Adds the sections that are executed, or those that are not.
    fn place(&mut self, page: usize, executed: bool) -> Result<(), LoadError> {
        for (index, section) in self.sections.enumerate() {
            let flags = section.sh_flags(LITTLE);
            if !flags.contains(elf::SHF_ALLOC) || flags.contains(elf::SHF_EXECINSTR) != executed {
                continue;
            }
            let size = section.sh_size(LITTLE);
            if size == 0 {
                continue;
            }
            let name = self.name(section);
            let refuse = |what: &str| Err(LoadError::Refused(format!("section {name} {what}")));
            // What is read after its relocations alone.
            let is_constant = name.starts_with(".data.rel.ro");
            if flags.contains(elf::SHF_WRITE) && !is_constant {
                return refuse("is memory to write to, which compiled kernels have none of");
            }
            if flags.contains(elf::SHF_TLS) || flags.contains(elf::SHF_COMPRESSED) {
                return refuse("is of a kind that compiled kernels have none of");
            }
            if section.sh_type(LITTLE) == elf::SHT_NOBITS {
                return refuse("is in no file");
            }
            let align = usize::try_from(section.sh_addralign(LITTLE)).unwrap_or(usize::MAX);
            let align = align.max(1);
            // Memory that is mapped begins at a page, whatever the first section would like.
            if !align.is_power_of_two() || align > page {
                return refuse("has an alignment that cannot be given");
            }
            let bytes = section.data(LITTLE, self.object).map_err(damaged)?;
            self.pad(align)?;
            if let Some(place) = self.places.get_mut(index.0) {
                *place = Some(self.bytes.len());
            }
            // `pad` has refused what is longer already.
            if bytes.len() > LARGEST - self.bytes.len() {
                return Err(too_large());
            }
            self.bytes.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn pad(&mut self, align: usize) -> Result<(), LoadError> {
        let size = self.bytes.len().next_multiple_of(align);
        if size > LARGEST {
            return Err(too_large());
        }
        self.bytes.resize(size, 0);
        Ok(())
    }

    /// Applies the relocations of all sections that are loaded.
    fn relocate(&mut self, machine: Machine) -> Result<(), LoadError> {
        for section in self.sections.iter() {
            let kind = section.sh_type(LITTLE);
            let is_relocation = matches!(kind, elf::SHT_RELA | elf::SHT_REL | elf::SHT_RELR | elf::SHT_CREL);
            let target = section.info_link(LITTLE);
            if !is_relocation || self.place_of(target).is_none() {
                continue;
            }
            // LLVM writes this form for both machines. Of the others, one has its addends in the
            // code: to skip it would leave calls that lead anywhere.
            let Some((relocations, symbols)) = section.rela(LITTLE, self.object).map_err(damaged)? else {
                let name = self.name(section);
                return Err(LoadError::Refused(format!(
                    "{name} holds relocations of another form"
                )));
            };
            if symbols != self.symbols.section() {
                return Err(LoadError::Damaged(format!(
                    "{} names a symbol table that is not there",
                    self.name(section)
                )));
            }
            for relocation in relocations {
                self.apply(machine, target, relocation)?;
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        machine: Machine,
        section: SectionIndex,
        relocation: &elf::Rela64<LittleEndian>,
    ) -> Result<(), LoadError> {
        let kind = relocation.r_type(LITTLE, false);
        let index = SymbolIndex(relocation.r_sym(LITTLE, false) as usize);
        let symbol = self.target(index)?;
        let target = symbol.checked_add(relocation.r_addend(LITTLE));
        let offset = relocation.r_offset(LITTLE);
        let (start, size) = self.place_of(section).unwrap_or_default();
        // From there to the end of the section, so that none reaches over it.
        let place = usize::try_from(offset).ok().filter(|offset| *offset < size);
        let place = place.map(|offset| start + offset);
        let bytes = self.bytes.get_mut(..start + size).unwrap_or_default();
        let applied = match (place, target) {
            (None, _) => Err(Problem::Outside),
            (_, None) => Err(Problem::TooFar),
            (Some(place), Some(target)) => relocation::apply(machine, kind, bytes, place, target),
        };
        applied.map_err(|problem| {
            let known = elf::machine_names(machine.elf()).r.name(kind);
            let kind = known.map_or_else(|| format!("of type {}", kind.0), str::to_owned);
            let section = self.sections.section(section).map(|section| self.name(section));
            let place = format!(
                "relocation {kind} at {}+{offset:#x} of `{}`",
                section.unwrap_or_default(),
                self.name_of(index)
            );
            match problem {
                Problem::Unknown => LoadError::Refused(format!("{place} is none of those that it may have")),
                Problem::Outside => LoadError::Damaged(format!("{place} is outside of the section")),
                Problem::TooFar => LoadError::Damaged(format!("{place} is too far from its target")),
                Problem::Misaligned => {
                    LoadError::Damaged(format!("{place} has a target that it cannot name"))
                }
            }
        })
    }

    /// Where a symbol is.
    fn target(&self, index: SymbolIndex) -> Result<i64, LoadError> {
        let symbol = self.symbols.symbol(index).map_err(damaged)?;
        let name = || self.name_of(index);
        if symbol.is_undefined(LITTLE) {
            return Err(LoadError::Refused(format!("`{}` is not defined", name())));
        }
        let section = self
            .symbols
            .symbol_section(LITTLE, symbol, index)
            .map_err(damaged)?;
        let Some((start, size)) = section.and_then(|section| self.place_of(section)) else {
            return Err(LoadError::Refused(format!(
                "`{}` is in nothing that is loaded",
                name()
            )));
        };
        let value = usize::try_from(symbol.st_value(LITTLE)).ok();
        // The end is allowed, since a symbol may tell where a table ends.
        match value.filter(|value| *value <= size) {
            // At most what an image has.
            Some(value) => Ok((start + value) as i64),
            None => Err(LoadError::Damaged(format!(
                "`{}` is outside of its section",
                name()
            ))),
        }
    }

    /// The functions that have names, all of them in the code.
    fn functions(&self, code: usize) -> Result<Vec<Function>, LoadError> {
        let mut functions = Vec::new();
        for (index, symbol) in self.symbols.enumerate() {
            if symbol.st_type() != elf::STT_FUNC || symbol.is_undefined(LITTLE) {
                continue;
            }
            let name = self.name_of(index);
            let offset = self.target(index)? as usize;
            let size = usize::try_from(symbol.st_size(LITTLE)).ok();
            let size = size.filter(|size| offset < code && *size <= code - offset);
            let size = size.ok_or_else(|| LoadError::Damaged(format!("`{name}` is outside of the code")))?;
            functions.push(Function { name, offset, size });
        }
        Ok(functions)
    }

    /// Where a section is, and how long, if it is loaded.
    fn place_of(&self, index: SectionIndex) -> Option<(usize, usize)> {
        let place = (*self.places.get(index.0)?)?;
        let section = self.sections.section(index).ok()?;
        Some((place, usize::try_from(section.sh_size(LITTLE)).ok()?))
    }

    fn name(&self, section: &Section) -> String {
        let name = self.sections.section_name(LITTLE, section).unwrap_or(b"?");
        String::from_utf8_lossy(name).into_owned()
    }

    /// The name of a symbol, or of the section that it stands for.
    fn name_of(&self, index: SymbolIndex) -> String {
        let Ok(symbol) = self.symbols.symbol(index) else {
            return "?".to_owned();
        };
        match self.symbols.symbol_name(LITTLE, symbol) {
            Ok(name @ [_, ..]) => String::from_utf8_lossy(name).into_owned(),
            _ => {
                let section = self.symbols.symbol_section(LITTLE, symbol, index).ok().flatten();
                let section = section.and_then(|section| self.sections.section(section).ok());
                section.map_or_else(|| "?".to_owned(), |section| self.name(section))
            }
        }
    }
}

fn damaged(error: object::Error) -> LoadError {
    LoadError::Damaged(error.to_string())
}

fn too_large() -> LoadError {
    LoadError::Refused(format!("it has more than {} MiB", LARGEST >> 20))
}
