//! Which image has a name: names kept once, and from each the images that have it.

use std::hash::BuildHasher;

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
    /// From a word ([`KernelName::key`]) to the kernels, as names, which may be called by a name with that word.
    keys: Chains,
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
        if self.kernels.add(name, image.0) {
            let kernel = KernelName::new(self.names.get(name));
            if kernel.has_other_names() {
                // The name may grow behind the key while that is interned.
                let key = kernel.key().to_owned();
                let key = self.names.intern(&key);
                self.keys.add(key, name.0);
            }
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

    /// The kernels that a name with this key may mean.
    pub(crate) fn with_key(&self, key: &str) -> Vec<NameId> {
        let found = self.names.find(key).map(|key| self.keys.get(key));
        found.into_iter().flatten().map(NameId).collect()
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
    table: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl Names {
    fn get(&self, NameId(id): NameId) -> &str {
        text_at(&self.text, &self.ends, id)
    }

    fn find(&self, name: &str) -> Option<NameId> {
        let is_it = |&id: &u32| text_at(&self.text, &self.ends, id) == name;
        self.table
            .find(self.hasher.hash_one(name), is_it)
            .map(|&id| NameId(id))
    }

    fn intern(&mut self, name: &str) -> NameId {
        let Self {
            text,
            ends,
            table,
            hasher,
        } = self;
        let entry = table.entry(
            hasher.hash_one(name),
            |&id| text_at(text, ends, id) == name,
            |&id| hasher.hash_one(text_at(text, ends, id)),
        );
        let id = *entry.or_insert_with(|| number(ends.len())).get();
        if id as usize == ends.len() {
            text.push_str(name);
            ends.push(text.len());
        }
        NameId(id)
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
        if self.heads.len() <= name {
            self.heads.resize(name + 1, NONE);
        }
        let before = std::mem::replace(&mut self.heads[name], number(self.links.len()));
        self.links.push(Link { value, before });
        before == NONE
    }

    /// The numbers in the order in which they were added.
    fn get(&self, NameId(name): NameId) -> impl Iterator<Item = u32> + use<> {
        let mut values = Vec::new();
        let mut link = self.heads.get(name as usize).copied().unwrap_or(NONE);
        while let Some(found) = self.links.get(link as usize) {
            values.push(found.value);
            link = found.before;
        }
        values.into_iter().rev()
    }
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
        // The kernels, their keys, and the symbol.
        assert_eq!(index.names.ends.len(), 2001);
        let found = index.find("_Z4k123Pf").map(|name| index.with_kernel(name));
        assert_eq!(found, Some(vec![ImageId(123)]));
        let by_key: Vec<_> = index
            .with_key("k7")
            .iter()
            .map(|&name| index.name(name))
            .collect();
        assert_eq!(by_key, ["_Z2k7Pf"]);
        let shared = index.find("shared").expect("it was added");
        assert!(index.with_export(shared).into_iter().eq((0..1000).map(ImageId)));
        assert_eq!(index.with_kernel(shared), []);
        assert_eq!(index.find(""), None);
        assert_eq!(index.len(), 2000);
    }
}
