//! Objects and programs whose device code became smaller.

use offkit_image::{Error, Limits};

use super::elf::Elf;
use super::write::{Changes, Kind};
use super::{WRAPPED, linked};
use crate::chunks::Chunks;
use crate::edits::{Change, Edited, Edits, Room};
use crate::elf::SECTION_RELA;
use crate::source::Source;
use crate::sycl_wrapped;
use crate::sycl_wrapped::tables::{Rela, Symbol};

/// The file with other contents of its sections, and without some of its SYCL images.
pub(super) fn edit<'data>(
    source: Source<'data>,
    edits: &Edits<'_, 'data>,
    limits: &Limits,
) -> Result<Edited<'data>, Error> {
    let mut changed = Vec::new();
    let mut removed = Vec::new();
    let mut wrapped = Vec::new();
    for (id, change) in &edits.parts {
        match change {
            Change::Remove if *id >= WRAPPED => wrapped.push(id.saturating_sub(WRAPPED)),
            Change::Remove => removed.push(*id),
            Change::Replace(edited) => changed.push((*id, edited)),
        }
    }
    if super::macho::is_macho(source.bytes()) {
        return Err(Error::unsupported(
            "device code in Mach-O files cannot be thinned",
        ));
    }
    let is_program_of_windows = !source.bytes().starts_with(b"\x7fELF") && super::is_linked(source);
    if is_program_of_windows && super::coff::is_signed(source) {
        return Err(
            Error::unsupported("the program is signed, and a changed one would not be")
                .expecting("the program before it is signed"),
        );
    }
    let bytes = match changed.is_empty() && removed.is_empty() {
        true => source.bytes().into(),
        false => edit_sections(source, &changed, &removed, edits.room)?,
    };
    if !wrapped.is_empty() {
        // Found anew in what the sections have become, by numbers that count by address: addresses of a linked program
        // stay.
        let bytes = sycl_wrapped::remove(Source::new(&bytes.joined()), &wrapped, limits)?;
        return match is_program_of_windows {
            true => super::pe::summed_up(bytes).map(Edited::whole),
            false => Ok(Edited::whole(bytes)),
        };
    }
    Ok(Edited::whole(bytes))
}

fn edit_sections<'data>(
    source: Source<'data>,
    changed: &[(usize, &Edited<'data>)],
    removed: &[usize],
    room: Room,
) -> Result<Chunks<'data>, Error> {
    let is_elf = source.bytes().starts_with(b"\x7fELF");
    if super::is_linked(source) {
        if let Some(index) = removed.first() {
            return Err(Error::unsupported("sections of a linked program cannot be left out").finding(index));
        }
        // Nobody knows what points to the offload binaries there: OpenMP's descriptors do, to each.
        if changed.iter().any(|(_, edited)| edited.moves.is_empty()) {
            return Err(Error::unsupported(
                "offload binaries that a linked program registers cannot be left out",
            )
            .expecting("the objects or archives from which it is linked"));
        }
        return match is_elf {
            true => linked::edit(source, changed, room),
            false => edit_windows_program(source, changed, room).map(Chunks::from),
        };
    }
    // Pointers first, at the old places of their tables, which the change of sizes moves. They are
    // read from `source` and written to a copy: one that two tables name moves once.
    let mut old = source.bytes().to_vec();
    for (index, edited) in changed.iter().filter(|(_, edited)| !edited.stays()) {
        if !is_elf {
            return Err(Error::unrepresentable(
                "pointers into the device code of this kind of object cannot be moved",
            ));
        }
        move_pointers(source, *index, edited, &mut old)?;
    }
    let kind = Kind::of(&old)?;
    let new = changed
        .iter()
        .map(|(index, edited)| (*index, edited.bytes.joined()));
    let new: Vec<_> = new.collect();
    let changes = Changes {
        replaced: new.iter().map(|(index, bytes)| (*index, &**bytes)).collect(),
        removed: removed.to_vec(),
        ..Changes::default()
    };
    kind.edit(&old, &changes).map(|output| output.into_bytes().into())
}

/// Lets the relocations and symbols of an object follow the containers in a section.
fn move_pointers(source: Source<'_>, index: usize, edited: &Edited<'_>, out: &mut [u8]) -> Result<(), Error> {
    const TYPE_SECTION: u8 = 3;
    const VALUE: u64 = 8;
    const ADDEND: u64 = 16;
    let elf = Elf::read(source)?;
    if !elf.is_64 || elf.is_big_endian {
        return Err(Error::unrepresentable(
            "pointers into the device code of this kind of object cannot be moved",
        ));
    }
    let astray = || {
        Error::unrepresentable("something points into the device code, and not to where a container begins")
    };
    let mut put = |at: u64, value: u64| {
        let start = usize::try_from(at).ok();
        let place = start.and_then(|start| out.get_mut(start..start.checked_add(8)?));
        place.ok_or_else(astray)?.copy_from_slice(&value.to_le_bytes());
        Ok::<(), Error>(())
    };
    let symbols_of = |table: u32| -> &[Symbol] {
        let table = elf.sections.get(table as usize);
        let symbols = table.and_then(|table| {
            let count = table.size.checked_div(size_of::<Symbol>() as u64)?;
            source.records::<Symbol>(table.offset, count)
        });
        symbols.unwrap_or_default()
    };
    let leads_here = |symbol: &Symbol| usize::from(symbol.section.get()) == index;
    for (number, section) in (0_u32..).zip(&elf.sections) {
        if section.kind == crate::elf::SECTION_SYMBOLS {
            for (place, symbol) in (0_u64..).zip(symbols_of(number)) {
                if leads_here(symbol) && symbol.info & 0xf != TYPE_SECTION {
                    let new = edited.moved(symbol.value.get()).ok_or_else(astray)?;
                    let at = place.saturating_mul(size_of::<Symbol>() as u64);
                    put(section.offset.saturating_add(at).saturating_add(VALUE), new)?;
                }
            }
        }
        // The ABIs of hosts of 64 bits keep addends in relocations, never in the word.
        if section.kind == SECTION_RELA {
            let symbols = symbols_of(section.link);
            let count = section
                .size
                .checked_div(size_of::<Rela>() as u64)
                .unwrap_or_default();
            let relocations = source.records::<Rela>(section.offset, count).unwrap_or_default();
            for (place, relocation) in (0_u64..).zip(relocations) {
                let symbol = symbols.get(relocation.symbol.get() as usize);
                let Some(symbol) = symbol.filter(|symbol| leads_here(symbol)) else {
                    continue;
                };
                if symbol.info & 0xf != TYPE_SECTION {
                    // The symbol moves with the container, and what is so far behind it need not.
                    if relocation.addend.get() != 0 {
                        return Err(astray());
                    }
                    continue;
                }
                let old = symbol.value.get().wrapping_add_signed(relocation.addend.get());
                let new = edited
                    .moved(old)
                    .ok_or_else(astray)?
                    // Addends count from the section's symbol, which stays.
                    .wrapping_sub(symbol.value.get());
                let at = place.saturating_mul(size_of::<Rela>() as u64);
                put(section.offset.saturating_add(at).saturating_add(ADDEND), new)?;
            }
        }
    }
    Ok(())
}

/// A program of Windows with other contents of its sections.
fn edit_windows_program(
    source: Source<'_>,
    changed: &[(usize, &Edited<'_>)],
    room: Room,
) -> Result<Vec<u8>, Error> {
    if room == Room::Free {
        let header = super::coff::program_header(source);
        let header = header.ok_or_else(|| Error::malformed("there is no PE header"))?;
        return super::pe::cut(source, header, changed);
    }
    // Without room to move in, the new content is as long as the old one, with zeros in it.
    let mut bytes = source.bytes().to_vec();
    for (index, edited) in changed {
        let (start, size, _) = Kind::Coff.place_of(source, *index)?;
        let new = edited.bytes.joined();
        let place = bytes.get_mut(start..start.saturating_add(size.min(new.len())));
        let place = place.filter(|place| place.len() == new.len()).ok_or_else(|| {
            Error::malformed("section reaches past the end of the file").at(source.at(start as u64))
        })?;
        place.copy_from_slice(&new);
    }
    super::pe::summed_up(bytes)
}
