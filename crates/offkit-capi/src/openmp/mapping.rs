//! What mapping does to a device.

use offkit_pi::host::UsmKind;

use super::abi::{Dimension, Flags};
use super::device::{Device, State};
use super::items::Item;
use super::present::{Attached, Count, Found, Mapped, Place};
use crate::c::Result;
use crate::error::{Code, Failure};

/// The host's memory.
///
/// # Safety
///
/// The program must have so many bytes there, which nobody changes meanwhile.
unsafe fn host<'a>(begin: usize, size: usize) -> &'a [u8] {
    match size {
        0 => &[],
        // SAFETY: by the caller's promise.
        size => unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(begin), size) },
    }
}

/// The host's memory, to write to it.
///
/// # Safety
///
/// The program must have so many bytes there, which nobody else uses meanwhile.
unsafe fn host_mut<'a>(begin: usize, size: usize) -> &'a mut [u8] {
    match size {
        0 => &mut [],
        // SAFETY: by the caller's promise.
        size => unsafe { std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(begin), size) },
    }
}

/// A pointer in the host's memory.
///
/// # Safety
///
/// There must be one.
pub(super) unsafe fn pointer_at(address: usize) -> usize {
    // SAFETY: by the caller's promise; members of packed structs need not be aligned.
    unsafe { std::ptr::read_unaligned(std::ptr::with_exposed_provenance(address)) }
}

/// Where an item is on the device.
struct Obtained {
    place: Place,
    /// The item's first byte, counted from there, and around zero: of what is mapped in part it may come before.
    offset: usize,
    is_new: bool,
}

impl Obtained {
    /// Its address; an error for a variable, whose address drivers do not tell.
    fn address(&self) -> Result<usize> {
        match &self.place {
            Place::Address(address) => Ok(address.wrapping_add(self.offset)),
            Place::Variable { name, .. } => Err(Failure::new(
                Code::Unsupported,
                format!("the address on the device of `{name}`, which is `declare target`, is not known"),
            )),
        }
    }
}

impl Device {
    /// Begins to map; answers the addresses that the construct wants to know, with the numbers of the arguments.
    ///
    /// # Safety
    ///
    /// The program must have the memory that the items name.
    pub(super) unsafe fn begin(&self, state: &mut State, items: &[Item]) -> Result<Vec<(usize, usize)>> {
        let mut returned = Vec::new();
        let mut new: Vec<std::ops::Range<usize>> = Vec::new();
        for item in items.iter().filter(|item| !item.is_not_mapped()) {
            let Item {
                mut base,
                begin,
                size,
                ..
            } = *item;
            let mut counts = !item.flags.has(Flags::MEMBER) && !item.is_whole_of_mapper;
            let slot = base;
            let has_pointer = item.flags.has(Flags::POINTER_AND_OBJECT);
            if has_pointer {
                let pointer_size = size_of::<usize>();
                // The pointer is mapped, too, and counts as the item says; what it points to counts for itself.
                if let Some(pointer) = self.obtain(state, item, slot, pointer_size, counts)?
                    && pointer.is_new
                {
                    new.push(slot..slot + pointer_size);
                }
                // SAFETY: the flag says that there is a pointer.
                base = unsafe { pointer_at(slot) };
                counts = true;
            }
            let obtained = self.obtain(state, item, begin, size, counts)?;
            let is_new = obtained.as_ref().is_some_and(|obtained| obtained.is_new);
            if is_new {
                new.push(begin..begin + size);
            }
            // What is mapped in part has no room for the whole.
            if item.flags.has(Flags::TO)
                && (is_new || item.flags.has(Flags::ALWAYS))
                && let Some(whole) = state.obtained(begin, size)
            {
                // SAFETY: by the caller's promise.
                unsafe { self.send(state, &whole, begin, size) }?;
            }
            // Either may come first in memory.
            let to_base = begin.wrapping_sub(base);
            if let (Some(number), true) = (item.number, item.flags.has(Flags::RETURNED)) {
                match &obtained {
                    Some(obtained) => returned.push((number, obtained.address()?.wrapping_sub(to_base))),
                    None if item.flags.has(Flags::NULLIFIED) => returned.push((number, 0)),
                    None => {}
                }
            }
            if has_pointer && let Some(obtained) = &obtained {
                self.attach(state, slot, base, obtained, to_base)?;
            }
        }
        // Once all is there, for what pointers point to may come after them.
        for item in items.iter().filter(|item| item.flags.has(Flags::ATTACH)) {
            let slot = item.base;
            let is_new =
                |range: &std::ops::Range<usize>| range.contains(&item.begin) || range.contains(&slot);
            if !item.flags.has(Flags::ALWAYS) && !new.iter().any(is_new) {
                continue;
            }
            let Some(pointee) = state.obtained(item.begin, 0) else {
                continue;
            };
            // SAFETY: the flag says that there is a pointer.
            let pointer = unsafe { pointer_at(slot) };
            let to_base = item.begin.wrapping_sub(pointer);
            self.attach(state, slot, pointer, &pointee, to_base)?;
        }
        for item in items.iter().filter(|item| item.is_captured()) {
            if let Some(captured) = state.obtained(item.begin, 0) {
                self.attach(state, item.base, item.begin, &captured, 0)?;
            }
        }
        Ok(returned)
    }

    /// Ends to map.
    ///
    /// # Safety
    ///
    /// The program must have the memory that the items name.
    pub(super) unsafe fn end(&self, state: &mut State, items: &[Item]) -> Result<()> {
        let mut gone = Vec::new();
        // From the end: parts come before what they are parts of, which is counted once more until then.
        for item in items.iter().rev().filter(|item| !item.is_not_mapped()) {
            // What does not count here did not count when it was mapped either.
            let counts = !item.is_part() && !item.is_whole_of_mapper;
            let (begin, size) = (item.begin, item.size);
            let found = match state.present.find(begin, size) {
                Found::All(found) => Some(found),
                // What clang maps by itself may have been mapped in part.
                Found::Some(found) if item.flags.has(Flags::IMPLICIT) => Some(found),
                _ => None,
            };
            let Some(found) = found else {
                if item.flags.has(Flags::PRESENT) && size > 0 {
                    return Err(absent(item));
                }
                continue;
            };
            if counts {
                found.release(item.flags.has(Flags::HOLD), item.flags.has(Flags::DELETE));
            }
            let goes = found.would_go(u64::from(!counts));
            let start = found.begin;
            if goes && !item.is_part() {
                found.release(item.flags.has(Flags::HOLD), true);
                gone.push(start);
            }
            if item.flags.has(Flags::FROM)
                && (goes || item.flags.has(Flags::ALWAYS))
                && let Some(obtained) = state.obtained(begin, size)
            {
                // SAFETY: by the caller's promise.
                unsafe { self.fetch(state, &obtained, begin, size) }?;
            }
        }
        // Only now: several items may lie in one piece, and all are to be fetched.
        for begin in gone {
            state.drop_mapped(begin);
        }
        Ok(())
    }

    /// Brings one side up to date.
    ///
    /// # Safety
    ///
    /// The program must have the memory that the items name.
    pub(super) unsafe fn update(&self, state: &mut State, items: &[Item]) -> Result<()> {
        for item in items.iter().filter(|item| !item.is_not_mapped()) {
            if item.flags.has(Flags::NON_CONTIGUOUS) {
                let list: *const Dimension = std::ptr::with_exposed_provenance(item.begin);
                // SAFETY: the flag says that the item is a list of so many dimensions.
                let dimensions = unsafe { std::slice::from_raw_parts(list, item.size) };
                // SAFETY: by the caller's promise.
                unsafe { self.update_section(state, item, dimensions, 0) }?;
            } else {
                // SAFETY: by the caller's promise.
                unsafe { self.update_piece(state, item, item.begin, item.size) }?;
            }
        }
        Ok(())
    }

    /// The part of an array from which on `dimensions` are left: what the last one names lies together.
    ///
    /// # Safety
    ///
    /// The program must have the memory.
    unsafe fn update_section(
        &self,
        state: &mut State,
        item: &Item,
        dimensions: &[Dimension],
        offset: u64,
    ) -> Result<()> {
        let start =
            |dimension: &Dimension| offset.wrapping_add(dimension.offset.wrapping_mul(dimension.stride));
        match dimensions {
            [] => Ok(()),
            [last] => {
                let size = usize::try_from(last.count.wrapping_mul(last.stride)).unwrap_or_default();
                let begin = item.base.wrapping_add(start(last) as usize);
                // SAFETY: by the caller's promise.
                unsafe { self.update_piece(state, item, begin, size) }
            }
            [first, rest @ ..] => (0..first.count).try_for_each(|number| {
                let offset = start(first).wrapping_add(number.wrapping_mul(first.stride));
                // SAFETY: by the caller's promise.
                unsafe { self.update_section(state, item, rest, offset) }
            }),
        }
    }

    /// # Safety
    ///
    /// The program must have the memory.
    unsafe fn update_piece(&self, state: &mut State, item: &Item, begin: usize, size: usize) -> Result<()> {
        let Some(obtained) = state.obtained(begin, size) else {
            return match item.flags.has(Flags::PRESENT) {
                true => Err(absent(item)),
                false => Ok(()),
            };
        };
        // SAFETY: by the caller's promise.
        unsafe {
            if item.flags.has(Flags::TO) {
                self.send(state, &obtained, begin, size)?;
            }
            if item.flags.has(Flags::FROM) {
                self.fetch(state, &obtained, begin, size)?;
            }
        }
        Ok(())
    }

    /// Finds an item on the device, or makes room for it; `None` if there is nothing and it has no size.
    fn obtain(
        &self,
        state: &mut State,
        item: &Item,
        begin: usize,
        size: usize,
        counts: bool,
    ) -> Result<Option<Obtained>> {
        let hold = item.flags.has(Flags::HOLD);
        if begin.checked_add(size).is_none() {
            return Err(Failure::new(
                Code::Invalid,
                format!("{begin:#x} ({size} bytes) cannot be mapped: it ends behind the last address"),
            ));
        }
        let found = match state.present.find(begin, size) {
            Found::All(found) => Some(found),
            Found::Some(found) if item.flags.has(Flags::IMPLICIT) => Some(found),
            Found::Some(found) => {
                return Err(Failure::new(
                    Code::Invalid,
                    format!(
                        "{begin:#x} ({size} bytes) cannot be mapped: of it, {:#x} ({} bytes) is mapped already",
                        found.begin, found.size
                    ),
                ));
            }
            Found::Nothing => None,
        };
        if let Some(found) = found {
            if counts {
                found.retain(hold);
            }
            return Ok(Some(Obtained {
                // A part of what is mapped for the first time came with that.
                is_new: !counts && found.would_go(1),
                ..obtained(found, begin)
            }));
        }
        if item.flags.has(Flags::PRESENT) {
            return Err(absent(item));
        }
        if size == 0 {
            return Ok(None);
        }
        let address = self.allocate(state, UsmKind::Device, size, begin)?;
        // Holds are counted apart: what is only held is mapped no times beside that.
        let times = u64::from(!hold);
        let place = Place::Address(address);
        let mapped = state.present.add(begin, size, place.clone(), Count::Times(times));
        if hold {
            mapped.retain(true);
        }
        Ok(Some(Obtained {
            place,
            offset: 0,
            is_new: true,
        }))
    }

    /// Has a pointer on the device point to what is there, or `to_base` bytes before it.
    fn attach(
        &self,
        state: &mut State,
        slot: usize,
        on_host: usize,
        to: &Obtained,
        to_base: usize,
    ) -> Result<()> {
        // A pointer that is not on the device itself has nothing there to point with.
        let Found::All(found) = state.present.find(slot, size_of::<usize>()) else {
            return Ok(());
        };
        let on_device = to.address()?.wrapping_sub(to_base);
        found.attached.insert(slot, Attached { on_host, on_device });
        let (place, offset) = (found.place.clone(), slot - found.begin);
        self.write(state, &place, offset, &on_device.to_ne_bytes())
    }

    /// Copies to an address of the device.
    ///
    /// # Safety
    ///
    /// The program must have the memory.
    pub(super) unsafe fn send_to(&self, state: &State, to: usize, begin: usize, size: usize) -> Result<()> {
        // SAFETY: by the caller's promise.
        self.write(state, &Place::Address(to), 0, unsafe { host(begin, size) })
    }

    /// Copies to the device. Pointers that were attached there stay so.
    ///
    /// # Safety
    ///
    /// The program must have the memory.
    unsafe fn send(&self, state: &mut State, to: &Obtained, begin: usize, size: usize) -> Result<()> {
        // SAFETY: by the caller's promise.
        self.write(state, &to.place, to.offset, unsafe { host(begin, size) })?;
        for (slot, attached) in state.attached_in(begin, size) {
            let offset = to.offset + (slot - begin);
            self.write(state, &to.place, offset, &attached.on_device.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Copies from the device. Pointers that were attached there stay as they were here.
    ///
    /// # Safety
    ///
    /// The program must have the memory.
    unsafe fn fetch(&self, state: &mut State, from: &Obtained, begin: usize, size: usize) -> Result<()> {
        // SAFETY: by the caller's promise.
        let out = unsafe { host_mut(begin, size) };
        self.read(state, &from.place, from.offset, out)?;
        for (slot, attached) in state.attached_in(begin, size) {
            let at = slot - begin;
            if let Some(pointer) = out.get_mut(at..at + size_of::<usize>()) {
                pointer.copy_from_slice(&attached.on_host.to_ne_bytes());
            }
        }
        Ok(())
    }
}

fn obtained(found: &Mapped, begin: usize) -> Obtained {
    Obtained {
        place: found.place.clone(),
        offset: begin.wrapping_sub(found.begin),
        is_new: false,
    }
}

fn absent(item: &Item) -> Failure {
    let (begin, size) = (item.begin, item.size);
    Failure::new(
        Code::Invalid,
        format!("{begin:#x} ({size} bytes) is not on the device, although it must be `present`"),
    )
}

impl State {
    fn obtained(&mut self, begin: usize, size: usize) -> Option<Obtained> {
        match self.present.find(begin, size) {
            Found::All(found) => Some(obtained(found, begin)),
            _ => None,
        }
    }

    /// The address on the device of what is at one of the host.
    pub(super) fn address_of(&mut self, begin: usize, size: usize) -> Result<Option<usize>> {
        let obtained = match self.present.find(begin, size) {
            Found::All(found) | Found::Some(found) => obtained(found, begin),
            Found::Nothing => return Ok(None),
        };
        obtained.address().map(Some)
    }

    fn attached_in(&mut self, begin: usize, size: usize) -> Vec<(usize, Attached)> {
        match self.present.find(begin, size) {
            Found::All(found) => found.attached_in(begin, size).collect(),
            _ => Vec::new(),
        }
    }

    /// Takes something off the device, unless it was mapped again meanwhile.
    fn drop_mapped(&mut self, begin: usize) {
        let goes = match self.present.find(begin, 0) {
            Found::All(found) => found.would_go(0),
            _ => false,
        };
        if goes
            && let Some(gone) = self.present.remove(begin)
            && let Place::Address(address) = gone.place
        {
            self.free(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_array_that_is_mapped_from_its_middle_on_elements_are_where_they_were_mapped() {
        let mut state = State::default();
        let (host, device) = (0x1000, 0x8000);
        // The second half of it is mapped, and a region names the whole.
        state
            .present
            .add(host + 200, 200, Place::Address(device), Count::Times(1));
        let mut address = |offset, size| state.address_of(host + offset, size).ok().flatten();
        assert_eq!(address(0, 400), Some(device - 200));
        assert_eq!(address(240, 4), Some(device + 40));
    }
}
