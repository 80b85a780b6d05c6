//! Linked programs whose wrappers lead to kpack archives instead of bundles.
//!
//! What a wrapper of HIP's leads to is a text that says where archives are, in the place where the bundles were; the
//! rest of their pages leaves the file, as in [`linked`].

use std::collections::BTreeMap;

use offkit_image::{Error, Limits};

use super::elf::Elf;
use super::linked;
use super::section::name_at;
use crate::bundle;
use crate::edits::{Edited, Room};
use crate::elf::SectionHeader;
use crate::source::Source;

const BUNDLES: &[u8] = b".hip_fatbin";
const WRAPPERS: &[u8] = b".hipFatBinSegment";
/// What the section of bundles is called when it has the reference.
const REFERENCE: &[u8] = b".rocm_kpack_ref\0";

const WRAPPER_SIZE: u64 = 24;
/// `HIPF`: a wrapper of a bundle.
const OF_BUNDLE: u32 = 0x4849_5046;
/// `HIPK`: one of a reference, with its number behind the pointer.
const OF_REFERENCE: u32 = 0x4849_504b;
const POINTER: u64 = 8;
const NUMBER: u64 = 16;

/// Where section headers have the place and the size of their sections.
const OFFSET: u64 = 24;
const SIZE: u64 = 32;

/// A program without its bundles.
pub(crate) struct Redirected {
    pub(crate) bytes: Vec<u8>,
    /// The number of the wrapper for each bundle that has one.
    pub(crate) wrappers: BTreeMap<usize, u64>,
}

fn unsupported() -> Error {
    Error::unsupported("kpack takes code from linked ELF files with HIP's bundles")
        .expecting("a library or program of 64 bits that registers them")
}

fn section(elf: &Elf, source: Source<'_>, name: &[u8]) -> Option<(usize, SectionHeader)> {
    let names = elf.names(source);
    let mut sections = elf.sections.iter().enumerate();
    let found = sections.find(|(_, section)| name_at(names, section.name.into()) == Some(name));
    found.map(|(index, section)| (index, *section))
}

/// The program with a reference in the place of its bundles.
pub(crate) fn redirect(source: Source<'_>, reference: &[u8], limits: &Limits) -> Result<Redirected, Error> {
    if !source.bytes().starts_with(b"\x7fELF") || !super::is_linked(source) {
        return Err(unsupported());
    }
    let elf = Elf::read(source)?;
    let is_fit = elf.is_64 && !elf.is_big_endian;
    let found = section(&elf, source, BUNDLES).zip(section(&elf, source, WRAPPERS));
    let ((index, bundles), (_, wrappers)) = found.filter(|_| is_fit).ok_or_else(unsupported)?;
    // `rocm-kpack` leaves this section without bytes in the file: then its code is gone already.
    let content = source
        .get(bundles.offset, bundles.size)
        .filter(|_| bundles.is_in_file);
    let starts = bundle::starts(content.ok_or_else(unsupported)?, limits)?;

    let count = wrappers.size.checked_div(WRAPPER_SIZE).unwrap_or_default();
    let is_wrapper = |number: &u64| {
        let at = wrappers
            .offset
            .saturating_add(number.saturating_mul(WRAPPER_SIZE));
        source
            .get(at, 4)
            .and_then(|magic| magic.bytes().first_chunk().copied())
            .map(u32::from_le_bytes)
            == Some(OF_BUNDLE)
    };
    // A table that is larger than the file has no wrappers behind its end.
    let numbers: Vec<u64> = (0..count).take_while(is_wrapper).collect();
    if numbers.len() as u64 != count {
        return Err(
            Error::unsupported("a wrapper is for no bundle, so that the others cannot be numbered")
                .at(wrappers.offset),
        );
    }
    let pointers = numbers.iter().map(|number| {
        let within = number.saturating_mul(WRAPPER_SIZE).saturating_add(POINTER);
        wrappers.address.saturating_add(within)
    });
    let pointers = linked::pointers_at(source, &pointers.collect::<Vec<_>>())?;
    let mut registered = BTreeMap::new();
    for (number, pointer) in numbers.iter().zip(pointers) {
        // A pointer to before the section wraps to a number at which no bundle begins.
        let within = pointer.wrapping_sub(bundles.address);
        let bundle = starts.binary_search(&within).map_err(|_| {
            Error::unsupported("a wrapper does not lead to where a bundle begins")
                .finding(format_args!("a pointer to address {pointer:#x}"))
        })?;
        // An archive names code by its wrapper's number, and an image has one name in it.
        if registered.insert(bundle, *number).is_some() {
            return Err(Error::unsupported("two wrappers lead to one bundle"));
        }
    }
    let edited = Edited {
        bytes: reference.to_vec().into(),
        // Whatever led to a bundle leads to the reference, which stands where the first one was.
        moves: starts.iter().map(|start| (*start, 0)).collect(),
    };
    let mut bytes = linked::edit(source, &[(index, &edited)], Room::Free)?.into_bytes();
    // After the pages have gone, as wrappers may stand behind them in the file.
    mark_wrappers(&mut bytes)?;
    rename(&mut bytes, index)?;
    Ok(Redirected {
        bytes,
        wrappers: registered,
    })
}

fn put(bytes: &mut [u8], at: u64, new: &[u8]) -> Result<(), Error> {
    let start = usize::try_from(at).ok();
    let place = start.and_then(|start| bytes.get_mut(start..start.checked_add(new.len())?));
    place.ok_or_else(unsupported)?.copy_from_slice(new);
    Ok(())
}

/// Has each wrapper say that it leads to a reference, and which it is.
fn mark_wrappers(bytes: &mut [u8]) -> Result<(), Error> {
    let source = Source::new(bytes);
    let (_, wrappers) = section(&Elf::read(source)?, source, WRAPPERS).ok_or_else(unsupported)?;
    let count = wrappers.size.checked_div(WRAPPER_SIZE).unwrap_or_default();
    for number in 0..count {
        let at = wrappers
            .offset
            .saturating_add(number.saturating_mul(WRAPPER_SIZE));
        put(bytes, at, &OF_REFERENCE.to_le_bytes())?;
        let number = u32::try_from(number).map_err(|_| unsupported())?;
        put(bytes, at.saturating_add(NUMBER), &number.to_le_bytes())?;
    }
    Ok(())
}

/// Gives the section of bundles its new name. Names of sections move to the end of the file, where there is room for one
/// more.
fn rename(bytes: &mut Vec<u8>, index: usize) -> Result<(), Error> {
    let elf = Elf::read(Source::new(bytes))?;
    let mut names = elf.names(Source::new(bytes)).to_vec();
    let at = u32::try_from(names.len()).map_err(|_| unsupported())?;
    names.extend_from_slice(REFERENCE);
    let (place, size) = (bytes.len() as u64, names.len() as u64);
    let table = elf.header_of_64(elf.names_index);
    put(bytes, table.saturating_add(OFFSET), &place.to_le_bytes())?;
    put(bytes, table.saturating_add(SIZE), &size.to_le_bytes())?;
    put(bytes, elf.header_of_64(index), &at.to_le_bytes())?;
    bytes.extend(names);
    Ok(())
}

/// Whether a section of this name has HIP's bundles.
pub(crate) fn is_bundle_section(name: &[u8]) -> bool {
    name == BUNDLES
}
