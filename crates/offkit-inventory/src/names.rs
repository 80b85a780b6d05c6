//! Names of kernels, each kept once: in a package for many architectures every name is there many times.

use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use hashbrown::{DefaultHashBuilder, HashTable};
use offkit_image::KernelName;
use rayon::prelude::*;

use crate::family::{family, identity};

/// The number of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(u32);

impl NameId {
    /// Which of [`Names::symbols`] it is.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }
}

/// A name, and what is made of it when that is asked for.
#[derive(Debug)]
struct Entry {
    symbol: Box<str>,
    readable: OnceLock<Box<str>>,
    family: OnceLock<Arc<str>>,
}

/// The names of an inventory.
#[derive(Debug, Default)]
pub struct Names {
    entries: Vec<Entry>,
    numbers: HashTable<NameId>,
    hasher: DefaultHashBuilder,
}

impl Names {
    /// The number of a name, which is added if it is new.
    pub(crate) fn add(&mut self, symbol: &str) -> NameId {
        // The table has numbers alone, so that each name is in memory once.
        let hash = self.hasher.hash_one(symbol);
        let is_it = |number: &NameId| *self.entry(*number).symbol == *symbol;
        if let Some(number) = self.numbers.find(hash, is_it) {
            return *number;
        }
        let number = NameId(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
        self.entries.push(Entry {
            symbol: symbol.into(),
            readable: OnceLock::new(),
            family: OnceLock::new(),
        });
        // Borrowed apart, as the table is changed meanwhile: it asks for hashes where it grows.
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.numbers.insert_unique(hash, number, |number| {
            hasher.hash_one(&*entries[number.number()].symbol)
        });
        number
    }

    fn entry(&self, name: NameId) -> &Entry {
        // Numbers come from `add` alone.
        &self.entries[name.number()]
    }

    /// All names as they are in files, by number.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.symbol)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The name as it is in the file.
    #[must_use]
    pub fn symbol(&self, name: NameId) -> &str {
        &self.entry(name).symbol
    }

    /// The name as its author wrote it, with the types of its arguments where the compiler kept them.
    #[must_use]
    pub fn readable(&self, name: NameId) -> &str {
        let entry = self.entry(name);
        entry
            .readable
            .get_or_init(|| KernelName::new(&entry.symbol).readable().into())
    }

    /// The family of kernels that it belongs to: the name of the template.
    #[must_use]
    pub fn family(&self, name: NameId) -> &str {
        let entry = self.entry(name);
        entry.family.get_or_init(|| family(self.readable(name)).into())
    }

    /// The name without what differs from one build to the next: hashes of files.
    #[must_use]
    pub fn identity(&self, name: NameId) -> String {
        identity(self.readable(name))
    }

    /// Finds out all families, on all cores: names of templates take long to read.
    pub fn find_families(&self) {
        (0..self.entries.len()).into_par_iter().for_each(|number| {
            let _ = self.family(NameId(u32::try_from(number).unwrap_or(u32::MAX)));
        });
    }
}
