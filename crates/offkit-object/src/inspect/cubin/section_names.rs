//! The kernels of a cubin by the names of its sections, which are the first thing in what NVIDIA's tools write: the code
//! behind them, twenty times as much, need not be unpacked.

use std::collections::BTreeSet;

use memchr::memmem;

use crate::elf::Header;
use crate::source::Source;

/// The table of the names is right behind the header.
const TABLE_AT: usize = 0x40;

/// What the table begins with. The table behind it, of the symbols' names, repeats this: an empty name within the first
/// one is not its end, nor is there another sign of it before the headers, which come last.
const BEGINNING: &[u8] = b"\0.shstrtab\0.strtab\0.symtab\0";

/// A kernel has a section for its code, and one for its arguments, which other functions have not.
const CODE: &[u8] = b".text.";
const ARGUMENTS: &[u8] = b".nv.constant0.";

/// Looks for the names in the first bytes of a cubin, as they come.
#[derive(Debug, Default)]
pub(crate) struct SectionNames {
    /// So many bytes have no end of the table in them.
    searched: usize,
    end: Option<usize>,
}

impl SectionNames {
    /// Whether more bytes than these first ones would tell nothing more.
    pub(crate) fn are_in(&mut self, front: &[u8]) -> bool {
        // Also where too few bytes are there: `kernels` tells nothing then, and all is unpacked.
        let Some(table) = table_in(front) else {
            return true;
        };
        // Not from 0, where the table itself begins with what its end is known by.
        let from = self.searched.max(1);
        let found = table.get(from..).and_then(|rest| memmem::find(rest, BEGINNING));
        self.end = found.map(|at| at.saturating_add(from));
        // The end may be half there.
        self.searched = table.len().saturating_sub(BEGINNING.len());
        self.end.is_some()
    }

    /// The names of the kernels; `None` where they cannot be told from these bytes.
    pub(crate) fn kernels(&self, front: &[u8]) -> Option<Vec<String>> {
        let names = table_in(front)?.get(..self.end?)?;
        let of_kind = |prefix| {
            let with_prefix = move |name: &&'_ [u8]| name.starts_with(prefix);
            let names = names.split(|byte| *byte == 0).filter(with_prefix);
            names.filter_map(move |name| name.get(prefix.len()..))
        };
        let code: BTreeSet<&[u8]> = of_kind(CODE).collect();
        let arguments: BTreeSet<&[u8]> = of_kind(ARGUMENTS).collect();
        // Where they differ, there are functions that are no kernels, or sections of a kind that is not known here.
        if code.is_empty() || code != arguments {
            return None;
        }
        let name = |name: &[u8]| String::from_utf8(name.to_vec()).ok();
        code.into_iter().map(name).collect()
    }
}

/// What begins with the table; `None` where it is not where NVIDIA's tools put it.
fn table_in(front: &[u8]) -> Option<&[u8]> {
    let header = Header::read(Source::new(front))?;
    let table = front.get(TABLE_AT..)?;
    (header.is_64 && table.starts_with(BEGINNING)).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"\x7fELF\x02\x01\x01\x41\x08\0\0\0\0\0\0\0\x02\0\xbe\0";

    fn cubin(names: &[&str]) -> Vec<u8> {
        let mut bytes = HEADER.to_vec();
        bytes.resize(TABLE_AT, 0);
        bytes.extend(BEGINNING);
        for name in names {
            bytes.extend(name.bytes().chain([0]));
        }
        bytes.extend(BEGINNING);
        bytes.extend(b"more");
        bytes
    }

    /// What comes out if the bytes come one by one.
    fn kernels(bytes: &[u8]) -> Option<Vec<String>> {
        let mut names = SectionNames::default();
        let enough = (TABLE_AT + BEGINNING.len()..=bytes.len()).find(|end| names.are_in(&bytes[..*end]))?;
        Some(names.kernels(&bytes[..enough])?.into_iter().collect())
    }

    #[test]
    fn kernels_are_told_by_the_names_of_sections_in_front() {
        let sections = [
            ".text.b",
            "",
            ".nv.info.b",
            ".nv.constant0.b",
            ".text.a",
            ".nv.constant0.a",
        ];
        assert_eq!(kernels(&cubin(&sections)).unwrap(), ["a", "b"]);
    }

    #[test]
    fn where_functions_are_no_kernels_the_names_do_not_tell() {
        assert_eq!(
            kernels(&cubin(&[".text.b", ".nv.constant0.b", ".text.function"])),
            None
        );
        assert_eq!(kernels(&cubin(&[])), None);
    }

    #[test]
    fn other_layouts_and_tables_without_an_end_do_not_tell() {
        let bytes = cubin(&[".text.b", ".nv.constant0.b"]);
        assert_eq!(kernels(&bytes[..bytes.len() - 5]), None);
        let mut moved = bytes;
        moved.insert(TABLE_AT, 0);
        assert_eq!(kernels(&moved), None);
        assert_eq!(kernels(b"\x7fELF"), None);
    }
}
