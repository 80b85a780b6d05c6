//! Which image has a name: names kept once, and from each the images that have it.

use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use offkit_image::KernelName;

use crate::registry::ImageId;

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NameId(u32);

/// What kernels and exported symbols are called, and where each is.
#[derive(Debug, Default)]
pub(crate) struct Index {
    names: Names,
    /// From the name of a kernel to the images that have it.
    kernels: Chains,
    /// From the name of a symbol to the images that export it.
    exports: Chains,
    /// From a word to the kernels that may be called by a name with that word.
    keys: Keys,
}

impl Index {
    pub(crate) fn intern(&mut self, name: &str) -> NameId {
        self.names.intern(name)
    }

    pub(crate) fn name(&self, id: NameId) -> &str {
        self.names.get(id)
    }

    pub(crate) fn find(&self, name: &str) -> Option<NameId> {
        self.names.find(name)
    }

    pub(crate) fn add_kernel(&mut self, name: NameId, image: ImageId) {
        let kernel = KernelName::new(self.names.get(name));
        // Once for each name, however many images have it.
        if self.kernels.add(name, image.0) && kernel.has_other_names() {
            self.keys.add(name, kernel.key());
        }
    }

    pub(crate) fn add_export(&mut self, name: NameId, image: ImageId) {
        self.exports.add(name, image.0);
    }

    /// The images that have a kernel, those that came first first.
    pub(crate) fn with_kernel(&self, name: NameId) -> Vec<ImageId> {
        self.kernels.get(name).map(ImageId).collect()
    }

    /// The images that export a symbol, those that came first first.
    pub(crate) fn with_export(&self, name: NameId) -> Vec<ImageId> {
        self.exports.get(name).map(ImageId).collect()
    }

    /// The kernels that a name with this key may mean, and perhaps a few others.
    pub(crate) fn with_key(&self, key: &str) -> Vec<NameId> {
        self.keys.get(key)
    }

    /// How many times a kernel or an export was added.
    pub(crate) fn len(&self) -> usize {
        self.kernels.links.len() + self.exports.links.len()
    }
}

/// Names in one text, each once.
#[derive(Debug, Default)]
struct Names {
    text: String,
    ends: Vec<usize>,
    table: HashTable<Slot>,
    hasher: DefaultHashBuilder,
}

/// A number in a table, with the hash of the text that it stands for: tables grow without a look at all texts.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    number: u32,
}

impl Slot {
    /// The hash as tables want it, which look at the first bits and at the last ones.
    fn spread(hash: u32) -> u64 {
        // 2^64 over the golden ratio, as in Fibonacci hashing.
        u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

fn hash(hasher: &DefaultHashBuilder, text: &str) -> u32 {
    // Half of it: with a number of 32 bits a slot has 8 bytes, and there may be millions.
    (hasher.hash_one(text) >> 32) as u32
}

impl Names {
    fn get(&self, NameId(id): NameId) -> &str {
        text_at(&self.text, &self.ends, id)
    }

    fn find(&self, name: &str) -> Option<NameId> {
        let hash = hash(&self.hasher, name);
        let is_it = |slot: &Slot| slot.hash == hash && self.get(NameId(slot.number)) == name;
        self.table
            .find(Slot::spread(hash), is_it)
            .map(|slot| NameId(slot.number))
    }

    fn intern(&mut self, name: &str) -> NameId {
        let Self {
            text,
            ends,
            table,
            hasher,
        } = self;
        let hash = hash(hasher, name);
        let entry = table.entry(
            Slot::spread(hash),
            |slot| slot.hash == hash && text_at(text, ends, slot.number) == name,
            |slot| Slot::spread(slot.hash),
        );
        match entry {
            Entry::Occupied(slot) => NameId(slot.get().number),
            Entry::Vacant(place) => {
                let number = number(ends.len());
                place.insert(Slot { hash, number });
                text.push_str(name);
                ends.push(text.len());
                NameId(number)
            }
        }
    }
}

fn text_at<'a>(text: &'a str, ends: &[usize], id: u32) -> &'a str {
    let id = id as usize;
    let start = id.checked_sub(1).map_or(0, |before| ends[before]);
    &text[start..ends[id]]
}

/// The number that the next of so many things gets.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count)
        .ok()
        // The last number is the end of a chain and can be nothing else.
        .filter(|&number| number != NONE)
        .expect("four billion names or images take more memory than there is")
}

/// The end of a chain.
const NONE: u32 = u32::MAX;

/// Lists of numbers by name: most have one element, and there are very many.
#[derive(Debug, Default)]
struct Chains {
    /// The link that was added last, by the number of the name.
    heads: Vec<u32>,
    links: Vec<Link>,
}

#[derive(Debug)]
struct Link {
    value: u32,
    /// The link that was added before.
    before: u32,
}

impl Chains {
    /// Adds a number; whether it is the first.
    fn add(&mut self, NameId(name): NameId, value: u32) -> bool {
        let name = name as usize;
        // Kernels, imports and exports are numbered together, so there are gaps.
        if self.heads.len() <= name {
            self.heads.resize(name + 1, NONE);
        }
        let before = std::mem::replace(&mut self.heads[name], number(self.links.len()));
        self.links.push(Link { value, before });
        before == NONE
    }

    /// The numbers in the order in which they were added.
    fn get(&self, NameId(name): NameId) -> impl Iterator<Item = u32> + use<> {
        chain(
            &self.links,
            self.heads.get(name as usize).copied().unwrap_or(NONE),
        )
    }
}

/// Kernels by the word that is the key of their names ([`KernelName::key`]), of which the hash counts: who looks a kernel
/// up compares names anyway, and to add one must not take a look at the name of another.
#[derive(Debug, Default)]
struct Keys {
    /// For each key the link that was added last.
    heads: HashTable<Slot>,
    links: Vec<Link>,
    hasher: DefaultHashBuilder,
}

impl Keys {
    fn add(&mut self, NameId(value): NameId, key: &str) {
        let hash = hash(&self.hasher, key);
        let number = number(self.links.len());
        let entry = self.heads.entry(
            Slot::spread(hash),
            |slot| slot.hash == hash,
            |slot| Slot::spread(slot.hash),
        );
        let before = match entry {
            Entry::Occupied(mut head) => std::mem::replace(&mut head.get_mut().number, number),
            Entry::Vacant(place) => {
                place.insert(Slot { hash, number });
                NONE
            }
        };
        self.links.push(Link { value, before });
    }

    /// The kernels in the order in which they were added.
    fn get(&self, key: &str) -> Vec<NameId> {
        let hash = hash(&self.hasher, key);
        let head = self.heads.find(Slot::spread(hash), |slot| slot.hash == hash);
        let last = head.map_or(NONE, |slot| slot.number);
        chain(&self.links, last).map(NameId).collect()
    }
}

/// The numbers of a chain by its last link, in the order in which they were added.
fn chain(links: &[Link], mut link: u32) -> impl Iterator<Item = u32> + use<> {
    let mut values = Vec::new();
    while let Some(found) = links.get(link as usize) {
        values.push(found.value);
        link = found.before;
    }
    values.into_iter().rev()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_lead_to_all_who_have_them() {
        let mut index = Index::default();
        for number in 0..1000 {
            let kernel = index.intern(&format!("_Z{}k{}Pf", 1 + number.to_string().len(), number));
            index.add_kernel(kernel, ImageId(number));
            let shared = index.intern("shared");
            index.add_export(shared, ImageId(number));
        }
        assert_eq!(index.names.ends.len(), 1001);
        let found = index.find("_Z4k123Pf").map(|name| index.with_kernel(name));
        assert_eq!(found, Some(vec![ImageId(123)]));
        let by_key: Vec<_> = index
            .with_key("k7")
            .iter()
            .map(|&name| index.name(name))
            .collect();
        assert!(by_key.contains(&"_Z2k7Pf"), "{by_key:?}");
        let shared = index.find("shared").expect("it was added");
        assert!(index.with_export(shared).into_iter().eq((0..1000).map(ImageId)));
        assert_eq!(index.with_kernel(shared), []);
        assert_eq!(index.find(""), None);
        assert_eq!(index.len(), 2000);
    }
}
