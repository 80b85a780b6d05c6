//! The object that is being written: sections, symbols, pointers, constructors.

use std::borrow::Cow;
use std::collections::HashMap;

use object::elf;
use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionFlags, SectionKind, SymbolFlags,
    SymbolKind, SymbolScope,
};
use offkit_image::{DeviceImage, Error};
use twox_hash::XxHash3_64;

use super::code::{self, Code, Fixup, Instruction};
use super::{HostTarget, Registration};
use crate::host::TYPE_OFFLOADING;
use crate::layout::pad_to_8;
use crate::offload_binary::raw::Entry;
use crate::source::Source;

/// A place in the program: so many bytes behind a symbol.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) symbol: SymbolId,
    pub(super) offset: u64,
}

impl Place {
    pub(super) fn after(self, bytes: u64) -> Self {
        Self {
            offset: self.offset.saturating_add(bytes),
            ..self
        }
    }
}

impl From<SymbolId> for Place {
    fn from(symbol: SymbolId) -> Self {
        Self { symbol, offset: 0 }
    }
}

/// The content of a section that is still growing.
pub(super) struct Growing {
    section: SectionId,
    symbol: SymbolId,
    bytes: Vec<u8>,
    pointers: Vec<(u64, Place)>,
}

impl Growing {
    /// Where the next byte will be.
    pub(super) fn end(&self) -> Place {
        Place {
            symbol: self.symbol,
            offset: self.bytes.len() as u64,
        }
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    pub(super) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// A pointer to a place.
    pub(super) fn pointer(&mut self, place: Place) {
        self.pointers.push((self.bytes.len() as u64, place));
        self.u64(0);
    }

    /// A pointer to a place, or a null pointer.
    pub(super) fn pointer_or_null(&mut self, place: Option<Place>) {
        match place {
            Some(place) => self.pointer(place),
            None => self.u64(0),
        }
    }

    /// Bytes at a multiple of 8.
    pub(super) fn aligned(&mut self, bytes: &[u8]) -> Place {
        pad_to_8(&mut self.bytes);
        let place = self.end();
        self.bytes.extend(bytes);
        place
    }
}

/// An object for a host.
pub(super) struct HostObject {
    target: HostTarget,
    object: Object<'static>,
    /// Structures with pointers, which the loader may have to change.
    pub(super) tables: Growing,
    /// What pointers in structures point to: text, values.
    pub(super) constants: Growing,
    texts: HashMap<String, Place>,
    code: Growing,
    fixups: Vec<Fixup>,
    /// Sections with pointers that are complete.
    finished: Vec<Growing>,
}

impl HostObject {
    pub(super) fn new(target: HostTarget) -> Self {
        let (format, architecture) = match target {
            HostTarget::ElfX86_64 => (BinaryFormat::Elf, Architecture::X86_64),
            HostTarget::ElfAarch64 => (BinaryFormat::Elf, Architecture::Aarch64),
            HostTarget::CoffX86_64 | HostTarget::MingwX86_64 => (BinaryFormat::Coff, Architecture::X86_64),
        };
        let mut object = Object::new(format, architecture, Endianness::Little);
        // A loader writes addresses into the tables of a position-independent program and protects them afterwards, if
        // they are in this section; those of Windows relocate read-only data as well.
        let (tables, constants) = if target.is_coff() {
            (".rdata", ".rdata")
        } else {
            (".data.rel.ro", ".rodata")
        };
        let tables = growing(&mut object, tables, SectionKind::ReadOnlyDataWithRel);
        let constants = growing(&mut object, constants, SectionKind::ReadOnlyData);
        let code = growing(&mut object, ".text.startup", SectionKind::Text);
        if !target.is_coff() {
            // Without this section linkers make the stack executable.
            object.add_section(Vec::new(), b".note.GNU-stack".to_vec(), SectionKind::Other);
        }
        Self {
            target,
            object,
            tables,
            constants,
            texts: HashMap::new(),
            code,
            fixups: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// A place with the text and a zero byte behind it; the same for the same text.
    pub(super) fn text(&mut self, text: &str) -> Result<Place, Error> {
        // All images of a program have the same targets, options and names of property sets.
        if let Some(place) = self.texts.get(text) {
            return Ok(*place);
        }
        if text.contains('\0') {
            return Err(Error::unrepresentable("names cannot have zero bytes").finding(text.escape_debug()));
        }
        let place = self.constants.end();
        self.constants.bytes.extend(text.as_bytes());
        self.constants.bytes.push(0);
        self.texts.insert(text.to_owned(), place);
        Ok(place)
    }

    /// Another section with these bytes, at a multiple of `alignment`; where they begin.
    pub(super) fn section(
        &mut self,
        name: &str,
        kind: SectionKind,
        bytes: impl Into<Cow<'static, [u8]>>,
        alignment: u64,
    ) -> Place {
        let id = self
            .object
            .add_section(Vec::new(), name.as_bytes().to_vec(), kind);
        self.object.set_section_data(id, bytes, alignment);
        self.object.section_symbol(id).into()
    }

    /// The section with offload binaries, which tools find by its type in ELF and by its name in COFF.
    pub(super) fn offload_section(&mut self, registration: &Registration, bytes: Vec<u8>) -> Place {
        let name = registration.images_section();
        let is_marked = registration.is_marked && !self.target.is_coff();
        let mark = is_marked.then(|| format!("offkit_images_{:016x}", XxHash3_64::oneshot(&bytes)));
        let id = self
            .object
            .add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        // The other section is an ordinary one: by this type a later link would find the images in
        // it, and link them once more.
        if !self.target.is_coff() && name == ".llvm.offloading" {
            *self.object.section_flags_mut(id) = SectionFlags::Elf {
                sh_type: elf::SectionType(TYPE_OFFLOADING),
                sh_flags: elf::SHF_ALLOC,
            };
        }
        self.object.set_section_data(id, bytes, 8);
        let place: Place = self.object.section_symbol(id).into();
        if let Some(mark) = mark {
            let marked = self.define(&mark, place, 0, SymbolKind::Data, SymbolScope::Dynamic);
            // The same images may be in another object of the same link.
            self.object.symbol_mut(marked).weak = true;
        }
        place
    }

    /// The place of a variable of 8 bytes that is zero.
    pub(super) fn variable(&mut self, name: &str) -> Place {
        let id = self
            .object
            .add_section(Vec::new(), b".bss".to_vec(), SectionKind::UninitializedData);
        self.object.append_section_bss(id, 8, 8);
        let place = self.object.section_symbol(id).into();
        self.local(name, place, 8, SymbolKind::Data);
        place
    }

    /// A symbol that another object or library has.
    pub(super) fn extern_symbol(&mut self, name: &str, kind: SymbolKind) -> SymbolId {
        self.undefined(name, kind, SymbolScope::Dynamic)
    }

    /// A symbol that the linker, or an object in the same link, has.
    pub(super) fn hidden_symbol(&mut self, name: &str) -> SymbolId {
        self.undefined(name, SymbolKind::Unknown, SymbolScope::Linkage)
    }

    fn undefined(&mut self, name: &str, kind: SymbolKind, scope: SymbolScope) -> SymbolId {
        if let Some(known) = self.object.symbol_id(name.as_bytes()) {
            return known;
        }
        let mut symbol = symbol(name, None, 0, kind, scope);
        if !self.target.is_coff() && scope == SymbolScope::Linkage {
            symbol.flags = SymbolFlags::Elf {
                st_info: elf::SymbolInfo(elf::STB_GLOBAL.0 << 4),
                st_other: elf::SymbolOther(elf::STV_HIDDEN.0),
            };
        }
        self.object.add_symbol(symbol)
    }

    /// A name for a place that debuggers and people see.
    pub(super) fn local(&mut self, name: &str, place: Place, size: u64, kind: SymbolKind) -> SymbolId {
        self.define(name, place, size, kind, SymbolScope::Compilation)
    }

    /// Names a descriptor: as is asked for, or for people alone.
    pub(super) fn name_descriptor(
        &mut self,
        registration: &Registration,
        prefix: &str,
        place: Place,
        size: u64,
    ) {
        self.name_numbered_descriptor(registration, prefix, 0, place, size);
    }

    /// The same for one of several; all but the first have their number at the end.
    pub(super) fn name_numbered_descriptor(
        &mut self,
        registration: &Registration,
        prefix: &str,
        number: usize,
        place: Place,
        size: u64,
    ) {
        let number = if number == 0 {
            String::new()
        } else {
            number.to_string()
        };
        match &registration.descriptor_name {
            Some(name) => self.global(&format!("{prefix}{name}{number}"), place, size),
            None => {
                let name = format!("{prefix}descriptor{number}");
                self.local(&name, place, size, SymbolKind::Data);
            }
        }
    }

    /// Whether the object is a COFF object.
    pub(super) fn is_coff(&self) -> bool {
        self.target.is_coff()
    }

    /// What the object is for.
    pub(super) fn target(&self) -> HostTarget {
        self.target
    }

    /// A name for a place that other objects can refer to.
    fn global(&mut self, name: &str, place: Place, size: u64) {
        self.define(name, place, size, SymbolKind::Data, SymbolScope::Dynamic);
    }

    fn define(
        &mut self,
        name: &str,
        place: Place,
        size: u64,
        kind: SymbolKind,
        scope: SymbolScope,
    ) -> SymbolId {
        let section = self.object.symbol(place.symbol).section;
        let mut symbol = symbol(name, Some(section), place.offset, kind, scope);
        symbol.size = size;
        self.object.add_symbol(symbol)
    }

    /// A symbol before or behind what other objects have in sections of this name: COFF only.
    ///
    /// It is in a section of zeros, of which the linker keeps one where many objects have it, and 16 bytes
    /// behind its beginning if it is before: linkers refuse pointers into sections without content. What is at a
    /// multiple of 16 follows without a gap.
    pub(super) fn boundary(&mut self, name: &str, section: &str, is_end: bool) -> Place {
        let (offset, alignment) = if is_end { (0, 8) } else { (16, 16) };
        let place = self.section(section, SectionKind::ReadOnlyData, vec![0; 16], alignment);
        let place = place.after(offset);
        let symbol = self.define(name, place, 0, SymbolKind::Data, SymbolScope::Linkage);
        let section = self.object.symbol(symbol).section.id();
        self.object.add_comdat(object::write::Comdat {
            kind: object::ComdatKind::Any,
            symbol,
            sections: section.into_iter().collect(),
        });
        symbol.into()
    }

    /// A function of these instructions.
    pub(super) fn function(&mut self, name: &str, instructions: &[Instruction]) -> Place {
        let mut code = Code::new(code::machine(self.target));
        for instruction in instructions {
            code.push(*instruction);
        }
        self.add_code(name, &code.bytes, code.fixups)
    }

    /// A function of finished code.
    pub(super) fn add_code(&mut self, name: &str, bytes: &[u8], fixups: Vec<Fixup>) -> Place {
        const ALIGNMENT: usize = 16;
        let start = self.code.bytes.len().next_multiple_of(ALIGNMENT);
        self.code.bytes.resize(start, code::machine(self.target).padding);
        let place = self.code.end();
        self.code.bytes.extend(bytes);
        self.fixups.extend(fixups.into_iter().map(|fixup| Fixup {
            at: place.after(fixup.at).offset,
            ..fixup
        }));
        self.local(name, place, bytes.len() as u64, SymbolKind::Text)
            .into()
    }

    /// Runs a function when the program or library is loaded; lower priorities before higher ones.
    pub(super) fn constructor(&mut self, function: Place, priority: u16) {
        // Linkers order these sections by their names: by the number in ELF, as text in COFF, where
        // five digits make both the same.
        let name = match self.target {
            HostTarget::ElfX86_64 | HostTarget::ElfAarch64 => format!(".init_array.{priority}"),
            // As LLVM names them for these priorities: before all that C++ has.
            HostTarget::CoffX86_64 => format!(".CRT$XCA{priority:05}"),
            // Run from the last to the first.
            HostTarget::MingwX86_64 => format!(".ctors.{:05}", u16::MAX.saturating_sub(priority)),
        };
        self.function_pointer(&name, elf::SHT_INIT_ARRAY, function);
    }

    /// Runs a function when the program ends or the library is unloaded: ELF only.
    pub(super) fn destructor(&mut self, function: Place, priority: u16) {
        self.function_pointer(&format!(".fini_array.{priority}"), elf::SHT_FINI_ARRAY, function);
    }

    fn function_pointer(&mut self, name: &str, elf_type: elf::SectionType, function: Place) {
        let mut pointer = growing(&mut self.object, name, SectionKind::ReadOnlyDataWithRel);
        // Writable: in a program that may be anywhere, the loader puts the address in. By the type
        // the linker tells the loader of them.
        if !self.target.is_coff() {
            *self.object.section_flags_mut(pointer.section) = SectionFlags::Elf {
                sh_type: elf_type,
                sh_flags: elf::SHF_ALLOC | elf::SHF_WRITE,
            };
        }
        pointer.pointer(function);
        self.finished.push(pointer);
    }

    /// A section for structures with pointers that must be in one of their own.
    pub(super) fn table_section(&mut self, name: &str) -> Growing {
        growing(&mut self.object, name, SectionKind::ReadOnlyDataWithRel)
    }

    pub(super) fn finish_table(&mut self, table: Growing) {
        self.finished.push(table);
    }

    /// The finished object.
    pub(super) fn write(self) -> Result<Vec<u8>, Error> {
        let Self {
            target,
            mut object,
            tables,
            constants,
            code,
            fixups,
            finished,
            ..
        } = self;
        let refused = |error: object::write::Error| Error::unrepresentable(error.to_string());
        let pointer = code::machine(target).pointer;
        let code_section = code.section;
        // Tables hold zeros where pointers go: the addend is in the relocation, or for COFF in the bytes, which
        // `object` writes there itself.
        for growing in finished.into_iter().chain([tables, constants, code]) {
            let alignment = if growing.section == code_section { 16 } else { 8 };
            object.set_section_data(growing.section, growing.bytes, alignment);
            for (offset, place) in growing.pointers {
                let relocation = relocation(offset, place, 0, pointer)?;
                object
                    .add_relocation(growing.section, relocation)
                    .map_err(refused)?;
            }
        }
        for fixup in fixups {
            let relocation = relocation(fixup.at, fixup.place, fixup.addend, fixup.flags)?;
            object.add_relocation(code_section, relocation).map_err(refused)?;
        }
        object.write().map_err(refused)
    }
}

fn relocation(offset: u64, place: Place, addend: i64, flags: RelocationFlags) -> Result<Relocation, Error> {
    let after = i64::try_from(place.offset)
        .map_err(|_| Error::unrepresentable("the object is too large").finding(place.offset))?;
    Ok(Relocation {
        offset,
        symbol: place.symbol,
        // Relative to the section's own symbol, not to a symbol of its own: thousands of texts need no names.
        addend: after.saturating_add(addend),
        flags,
    })
}

fn growing(object: &mut Object<'static>, name: &str, kind: SectionKind) -> Growing {
    let section = object.add_section(Vec::new(), name.as_bytes().to_vec(), kind);
    Growing {
        section,
        symbol: object.section_symbol(section),
        bytes: Vec::new(),
        pointers: Vec::new(),
    }
}

fn symbol(
    name: &str,
    section: Option<SymbolSection>,
    value: u64,
    kind: SymbolKind,
    scope: SymbolScope,
) -> Symbol {
    Symbol {
        name: name.as_bytes().to_vec(),
        value,
        size: 0,
        kind,
        scope,
        weak: false,
        section: section.unwrap_or(SymbolSection::Undefined),
        flags: SymbolFlags::None,
    }
}

/// Offload binaries that follow each other, to be embedded, and where the image of each is.
pub(super) struct Embedded {
    pub(super) bytes: Vec<u8>,
    /// Beginning and end of each image.
    pub(super) images: Vec<(u64, u64)>,
}

impl Embedded {
    /// None yet, with room for these images.
    pub(super) fn for_images(images: &[DeviceImage<'_>]) -> Self {
        // What a binary with the usual strings is larger than its image, about.
        const AROUND: usize = 256;
        let sizes = images.iter().map(|image| {
            usize::try_from(image.size())
                .unwrap_or_default()
                .saturating_add(AROUND)
        });
        Self {
            bytes: Vec::with_capacity(sizes.fold(0, usize::saturating_add)),
            images: Vec::with_capacity(images.len()),
        }
    }

    /// Adds a binary of version 1, which has one image.
    pub(super) fn push(&mut self, binary: &[u8]) -> Result<(), Error> {
        // What this crate writes has its entry right behind the header; nothing else comes here.
        const ENTRY: u64 = 32;
        let entry = Source::new(binary).record::<Entry>(ENTRY);
        let entry = entry.ok_or_else(|| Error::malformed("offload binary is too short"))?;
        let start = (self.bytes.len() as u64).saturating_add(entry.image_offset.get());
        self.images
            .push((start, start.saturating_add(entry.image_size.get())));
        self.bytes.extend(binary);
        Ok(())
    }
}
