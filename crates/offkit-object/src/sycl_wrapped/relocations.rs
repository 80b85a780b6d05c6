//! The words of a program that are not what the file has there, found by their address.

use std::cell::Cell;

use super::tables::{Action, Rela};

/// A word that a relocation changes.
#[derive(Clone, Copy)]
pub(super) struct Relocated {
    pub(super) address: u64,
    pub(super) value: u64,
}

/// All words that relocations change.
#[derive(Default)]
pub(super) struct Relocations<'data> {
    /// What linkers put first: nearly all there is, sorted, and read where it is in the file.
    in_order: &'data [Rela],
    /// The others, by address.
    others: Vec<Relocated>,
    /// Where in the order words were found last, the latest first: images, their sets of properties, the properties and
    /// the entries each lie together and are read from front to back.
    last: [Cell<usize>; 4],
}

impl<'data> Relocations<'data> {
    /// The first relocations of a table, as long as they are sorted and need no symbol, and those that follow.
    pub(super) fn in_order(table: &'data [Rela], machine: u16) -> (&'data [Rela], &'data [Rela]) {
        let mut next = 0;
        let count = table.iter().take_while(|relocation| {
            let address = relocation.offset.get();
            // Strictly ascending, so that a search finds the only one that there is for an address.
            let is_in_order = address >= next && relocation.action(machine) == Some(Action::Relative);
            next = address.saturating_add(1);
            is_in_order
        });
        table.split_at(count.count())
    }

    pub(super) fn new(in_order: &'data [Rela], mut others: Vec<Relocated>) -> Self {
        others.sort_by_key(|relocated| relocated.address);
        Self {
            in_order,
            others,
            last: Default::default(),
        }
    }

    /// The addresses of all words.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        let in_order = self.in_order.iter().map(|relocation| relocation.offset.get());
        in_order.chain(self.others.iter().map(|relocated| relocated.address))
    }

    /// The value of a word; `None` for one that is as the file has it.
    pub(super) fn value(&self, address: u64) -> Option<u64> {
        let in_order = self.in_order.get(self.position(address));
        if let Some(relocation) = in_order.filter(|relocation| relocation.offset == address) {
            // The loader adds where the file is loaded: the addend alone is an address of the file.
            return Some(relocation.addend.get().cast_unsigned());
        }
        let others = &self.others;
        let found = others.binary_search_by_key(&address, |relocated| relocated.address);
        found.ok().and_then(|index| Some(others.get(index)?.value))
    }

    /// Where in the order a word is, or would be.
    fn position(&self, address: u64) -> usize {
        let mut before = None;
        for last in &self.last {
            let position = last.get();
            // Moved by one place, and forgotten in the last one.
            if let Some(before) = before.replace(position) {
                last.set(before);
            }
            if let Some(position) = self.position_near(position, address) {
                self.last[0].set(position);
                return position;
            }
        }
        let is_before = |relocation: &Rela| relocation.offset < address;
        let position = self.in_order.partition_point(is_before);
        self.last[0].set(position);
        position
    }

    /// The same for a word that is not far from a position.
    fn position_near(&self, position: usize, address: u64) -> Option<usize> {
        const NEAR: usize = 64;
        const NEXT: usize = 4;
        let is_before = |relocation: &Rela| relocation.offset < address;
        let next = self.in_order.get(position..)?.iter().take(NEXT);
        let steps = next.take_while(|relocation| is_before(relocation)).count();
        // At least one step: the relocation at the position lies before the word, so the search is not beyond it
        // already.
        if (1..NEXT).contains(&steps) {
            return Some(position.saturating_add(steps));
        }
        let start = position.saturating_sub(NEAR);
        let end = position.saturating_add(NEAR).min(self.in_order.len());
        let near = self.in_order.get(start..end)?;
        let (first, last) = (near.first()?, near.last()?);
        let is_near = is_before(first) && !is_before(last);
        is_near.then(|| start.saturating_add(near.partition_point(is_before)))
    }
}
