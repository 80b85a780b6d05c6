//! Which memory of the host is on a device.

use std::collections::BTreeMap;

/// A piece of the host's memory with a counterpart on the device.
#[derive(Debug)]
pub(super) struct Mapped {
    /// The host's address.
    pub(super) begin: usize,
    pub(super) size: usize,
    /// Where it is on the device.
    pub(super) place: Place,
    pub(super) count: Count,
    /// Of `ompx_hold`, which are counted apart.
    holds: u64,
    /// Pointers in it that are others on the device, by their addresses on the host.
    pub(super) attached: BTreeMap<usize, Attached>,
}

/// Where something is on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// At an address.
    Address(usize),
    /// In the variable of this name, of this program.
    Variable { program: usize, name: String },
}

/// How often something is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Times(u64),
    /// It stays until the program, or whoever made it so, takes it back.
    Forever,
}

/// A pointer that points to what is on the device, there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attached {
    pub(super) on_host: usize,
    pub(super) on_device: usize,
}

impl Mapped {
    fn end(&self) -> usize {
        self.begin.saturating_add(self.size)
    }

    /// Maps it once more.
    pub(super) fn retain(&mut self, hold: bool) {
        match (hold, &mut self.count) {
            (true, _) => self.holds += 1,
            (false, Count::Times(times)) => *times += 1,
            (false, Count::Forever) => {}
        }
    }

    /// Maps it once less, or not at all any more.
    pub(super) fn release(&mut self, hold: bool, all: bool) {
        match (hold, &mut self.count) {
            (true, _) => self.holds = self.holds.saturating_sub(1),
            (false, Count::Times(times)) if all => *times = 0,
            (false, Count::Times(times)) => *times = times.saturating_sub(1),
            // OpenMP counts these without end: not even `delete` takes them off the device.
            (false, Count::Forever) => {}
        }
    }

    /// Whether nobody maps it after so many less.
    pub(super) fn would_go(&self, less: u64) -> bool {
        matches!(self.count, Count::Times(times) if times + self.holds <= less)
    }

    /// The pointers in a piece of it.
    pub(super) fn attached_in(&self, begin: usize, size: usize) -> impl Iterator<Item = (usize, Attached)> {
        let pointers = self.attached.range(begin..begin.saturating_add(size));
        pointers.map(|(at, attached)| (*at, *attached))
    }
}

/// What is on a device.
#[derive(Debug, Default)]
pub(super) struct Present {
    /// By the host's address.
    all: BTreeMap<usize, Mapped>,
}

/// What of some memory is on the device.
#[derive(Debug)]
pub(super) enum Found<'p> {
    All(&'p mut Mapped),
    /// A part of it.
    Some(&'p mut Mapped),
    Nothing,
}

impl Present {
    /// Looks for memory. What has no size is at an address.
    pub(super) fn find(&mut self, begin: usize, size: usize) -> Found<'_> {
        // What has no size is looked for as if it had a byte.
        // The one that begins last before the end: pieces do not overlap.
        let end = begin.saturating_add(size.max(1));
        let Some((_, last)) = self.all.range_mut(..end).next_back() else {
            return Found::Nothing;
        };
        let is_within = begin.checked_add(size).is_some_and(|end| end <= last.end());
        if begin >= last.begin && begin < last.end() && is_within {
            Found::All(last)
        } else if size > 0 && last.end() > begin {
            Found::Some(last)
        } else {
            Found::Nothing
        }
    }

    pub(super) fn add(&mut self, begin: usize, size: usize, place: Place, count: Count) -> &mut Mapped {
        let mapped = Mapped {
            begin,
            size,
            place,
            count,
            holds: 0,
            attached: BTreeMap::new(),
        };
        self.all.insert(begin, mapped);
        self.all.get_mut(&begin).expect("it was put there just now")
    }

    pub(super) fn remove(&mut self, begin: usize) -> Option<Mapped> {
        self.all.remove(&begin)
    }

    /// Removes the variables of a program.
    pub(super) fn remove_program(&mut self, gone: usize) {
        self.all.retain(
            |_, mapped| !matches!(&mapped.place, Place::Variable { program, .. } if *program == gone),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_found_by_any_part_of_it() {
        let mut present = Present::default();
        present.add(100, 20, Place::Address(7), Count::Times(1));
        let what = |present: &mut Present, begin, size| match present.find(begin, size) {
            Found::All(_) => "all",
            Found::Some(_) => "some",
            Found::Nothing => "nothing",
        };
        for (begin, size, expected) in [
            (100, 20, "all"),
            (110, 10, "all"),
            (119, 0, "all"),
            (119, 2, "some"),
            (90, 11, "some"),
            (90, 100, "some"),
            (90, 10, "nothing"),
            (120, 0, "nothing"),
            (120, 8, "nothing"),
            (110, usize::MAX, "some"),
        ] {
            assert_eq!(what(&mut present, begin, size), expected, "{begin}, {size} bytes");
        }
    }

    #[test]
    fn what_is_mapped_twice_goes_the_second_time() {
        let mut present = Present::default();
        let mapped = present.add(100, 20, Place::Address(7), Count::Times(1));
        mapped.retain(false);
        mapped.retain(true);
        mapped.release(false, false);
        assert!(!mapped.would_go(0));
        mapped.release(false, true);
        assert!(!mapped.would_go(0), "somebody holds it");
        assert!(mapped.would_go(1));
        mapped.release(true, false);
        assert!(mapped.would_go(0));
        let variable = present.add(200, 4, Place::Address(8), Count::Forever);
        variable.release(false, true);
        assert!(!variable.would_go(1));
    }
}
