//! A Windows program as it is in memory once it is loaded. Every pointer is in its place in the file, as long as the
//! program is loaded where it prefers to be; base relocations say where pointers are.

use object::LittleEndian as LE;
use object::pe::{self, ImageNtHeaders64};
use object::read::pe::{ImageNtHeaders, ImageOptionalHeader, RelocationBlockIterator};

use super::memory::IMAGE_LIST;
use crate::source::Source;

/// The parts of a PE file that matter here; addresses include the one where the program prefers to be.
pub(super) struct Program<'data> {
    /// Sections by address, without what is not in the file.
    pub(super) sections: Vec<(u64, Source<'data>)>,
    /// The sections with lists of images: address and size.
    pub(super) image_lists: Vec<(u64, u64)>,
    /// `None` in a program that is always where it prefers to be, and then any word may be a pointer.
    pub(super) pointers: Option<Pointers<'data>>,
}

/// Where pointers are.
#[derive(Clone, Copy)]
pub(super) struct Pointers<'data> {
    base: u64,
    table: &'data [u8],
}

impl<'data> Program<'data> {
    /// `None` for what is no 64-bit PE file: an object, say. What is wrong with its headers is found with its sections.
    pub(super) fn read(source: Source<'data>) -> Option<Self> {
        let bytes = source.bytes();
        let header = pe::ImageDosHeader::parse(bytes).ok()?;
        let mut offset = u64::from(header.nt_headers_offset());
        let (headers, directories) = ImageNtHeaders64::parse(bytes, &mut offset).ok()?;
        let table = headers.sections(bytes, offset).ok()?;
        let base = headers.optional_header().image_base();
        let mut program = Self {
            sections: Vec::new(),
            image_lists: Vec::new(),
            pointers: None,
        };
        for section in table.iter() {
            let address = base.saturating_add(section.virtual_address.get(LE).into());
            // The smaller of the two sizes that a section has: the one in the file is rounded up,
            // the one in memory counts zeros that the file does not have.
            let (offset, size) = section.pe_file_range();
            let rest = source.from(offset.into());
            if let Some(content) = rest.get(0, u64::from(size).min(rest.len())) {
                if section.name.split(|byte| *byte == 0).next() == Some(IMAGE_LIST) {
                    program.image_lists.push((address, content.len()));
                }
                program.sections.push((address, content));
            }
        }
        program.sections.sort_by_key(|(address, _)| *address);
        program.pointers = directories
            .get(pe::IMAGE_DIRECTORY_ENTRY_BASERELOC)
            .and_then(|directory| directory.data(bytes, &table).ok())
            .map(|table| Pointers { base, table });
        Some(program)
    }
}

impl Pointers<'_> {
    /// Hands over the address of every pointer, up to where the table is damaged.
    pub(super) fn each(&self, visit: &mut dyn FnMut(u64)) {
        let mut blocks = RelocationBlockIterator::new(self.table);
        while let Ok(Some(block)) = blocks.next() {
            for relocation in block {
                // The only kind that pointers of 64 bits have; `IMAGE_REL_BASED_ABSOLUTE` just fills up blocks.
                if relocation.typ == pe::IMAGE_REL_BASED_DIR64 {
                    visit(self.base.saturating_add(relocation.virtual_address.into()));
                }
            }
        }
    }
}
