//! What came, went and changed from one inventory to another.
//!
//! A [`Snapshot`] is what two builds are compared by: images by library, architecture and format, kernels by library,
//! architecture and name. It can be written as text, one line an image kind or a kernel, sorted, to be committed as a
//! baseline.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use offkit_image::{Spills, Stack};

use crate::inventory::{Inventory, sum};

/// The first line of a snapshot as text, with the version of its form.
pub const HEADING: &str = "# offkit inventory 1";

/// What two builds are compared by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// By library, architecture and format.
    pub images: BTreeMap<[String; 3], Images>,
    /// By library, architecture and name, as its author wrote it and without hashes of files.
    pub kernels: BTreeMap<[String; 3], Numbers>,
    /// The bytes of all files as they are; `None` in baselines of older versions.
    pub file_bytes: Option<u64>,
}

/// Images of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Images {
    /// How many.
    pub count: u64,
    /// Their bytes in the library.
    pub stored: u64,
    /// Their bytes unpacked.
    pub size: u64,
}

/// A kernel's numbers; of several kernels of one name the largest of each. `None` is what is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Bytes of code.
    pub code: Option<u64>,
    /// Registers.
    pub registers: Option<u64>,
    /// What is spilled, in the vendor's unit.
    pub spills: Option<u64>,
    /// Bytes of shared memory.
    pub shared: Option<u64>,
    /// Bytes of stack.
    pub stack: Option<u64>,
}

impl Numbers {
    /// All of them with their names.
    #[must_use]
    pub fn named(&self) -> [(&'static str, Option<u64>); 5] {
        [
            ("code", self.code),
            ("registers", self.registers),
            ("spills", self.spills),
            ("shared", self.shared),
            ("stack", self.stack),
        ]
    }

    fn max(self, other: Self) -> Self {
        Self {
            code: self.code.max(other.code),
            registers: self.registers.max(other.registers),
            spills: self.spills.max(other.spills),
            shared: self.shared.max(other.shared),
            stack: self.stack.max(other.stack),
        }
    }
}

impl Snapshot {
    /// The libraries that something of is here.
    fn libraries(&self) -> BTreeSet<&str> {
        let keys = self.images.keys().chain(self.kernels.keys());
        keys.map(|[library, ..]| library.as_str()).collect()
    }

    /// Whether some kernel is in both, so that there is something to compare.
    #[must_use]
    pub fn has_kernels_of(&self, other: &Self) -> bool {
        let without_library = self.is_of_one_library_as(other);
        let theirs = keyed(&other.kernels, without_library);
        let own = keyed(&self.kernels, without_library);
        own.keys().any(|key| theirs.contains_key(key))
    }

    /// Whether both are of one library, which may have another name in the next build.
    fn is_of_one_library_as(&self, other: &Self) -> bool {
        self.libraries().len() == 1 && other.libraries().len() == 1
    }

    /// What an inventory is compared by.
    #[must_use]
    pub fn of(inventory: &Inventory) -> Self {
        let files = inventory.files.iter();
        let mut snapshot = Self {
            file_bytes: Some(sum(files.map(|(_, size)| *size))),
            ..Self::default()
        };
        for image in &inventory.images {
            let library = inventory.library_name(image.library).to_owned();
            let arch = image.arch();
            let key = [
                library.clone(),
                arch.clone(),
                image.image.format.name().to_owned(),
            ];
            let images = snapshot.images.entry(key).or_default();
            images.count += 1;
            images.stored = images.stored.saturating_add(image.stored);
            images.size = images.size.saturating_add(image.size);
            for kernel in inventory.kernels_of(image) {
                let resources = &kernel.resources;
                let numbers = Numbers {
                    code: resources.code_size,
                    registers: resources.registers,
                    spills: resources.spills.map(Spills::amount),
                    shared: resources.shared_memory,
                    // A stack of no known bound is no number to compare.
                    stack: match resources.stack {
                        Some(Stack::Bytes(bytes)) => Some(bytes),
                        _ => None,
                    },
                };
                let name = inventory.names.identity(kernel.name);
                let known = snapshot
                    .kernels
                    .entry([library.clone(), arch.clone(), name])
                    .or_default();
                // Several images of one library may have a kernel of this name, and nothing tells from build to build
                // which is which.
                *known = known.max(numbers);
            }
        }
        snapshot
    }

    /// Reads what [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    ///
    /// The line that is not as it should be.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut snapshot = Self::default();
        let mut lines = text.lines().enumerate();
        match lines.next() {
            Some((_, HEADING)) => {}
            _ => return Err(format!("line 1: expected `{HEADING}`")),
        }
        for (number, line) in lines.filter(|(_, line)| !line.is_empty()) {
            let wrong = || {
                format!(
                    "line {}: expected an image or a kernel, found `{line}`",
                    number + 1
                )
            };
            let fields: Vec<&str> = line.split('\t').collect();
            let amount = |text: &str| text.parse::<u64>().map_err(|_| wrong());
            let optional = |text: &str| match text {
                "-" => Ok(None),
                text => amount(text).map(Some),
            };
            match fields.as_slice() {
                ["files", bytes] => snapshot.file_bytes = Some(amount(bytes)?),
                ["image", library, arch, format, count, stored, size] => {
                    let key = [library, arch, format].map(|text| (*text).to_owned());
                    let images = Images {
                        count: amount(count)?,
                        stored: amount(stored)?,
                        size: amount(size)?,
                    };
                    snapshot.images.insert(key, images);
                }
                [
                    "kernel",
                    library,
                    arch,
                    name,
                    code,
                    registers,
                    spills,
                    shared,
                    stack,
                ] => {
                    let key = [library, arch, name].map(|text| (*text).to_owned());
                    let numbers = Numbers {
                        code: optional(code)?,
                        registers: optional(registers)?,
                        spills: optional(spills)?,
                        shared: optional(shared)?,
                        stack: optional(stack)?,
                    };
                    snapshot.kernels.insert(key, numbers);
                }
                _ => return Err(wrong()),
            }
        }
        Ok(snapshot)
    }
}

impl fmt::Display for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Fields are between tabs, and names of files may have any character.
        let plain = |text: &String| text.replace(['\t', '\n'], " ");
        writeln!(f, "{HEADING}")?;
        if let Some(bytes) = self.file_bytes {
            writeln!(f, "files\t{bytes}")?;
        }
        for (key, images) in &self.images {
            let [library, arch, format] = key.each_ref().map(plain);
            let Images { count, stored, size } = images;
            writeln!(f, "image\t{library}\t{arch}\t{format}\t{count}\t{stored}\t{size}")?;
        }
        for (key, numbers) in &self.kernels {
            let [library, arch, name] = key.each_ref().map(plain);
            write!(f, "kernel\t{library}\t{arch}\t{name}")?;
            for (_, number) in numbers.named() {
                f.write_char('\t')?;
                match number {
                    Some(number) => write!(f, "{number}")?,
                    None => f.write_char('-')?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// What is different of one thing: what it was, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change<T> {
    /// Library, architecture, and format or name.
    pub key: [String; 3],
    /// What it was; `None` for what is new.
    pub old: Option<T>,
    /// What it is; `None` for what is gone.
    pub new: Option<T>,
}

/// What came, went and changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diff {
    /// Kinds of images.
    pub images: Vec<Change<Images>>,
    /// Kernels.
    pub kernels: Vec<Change<Numbers>>,
}

impl Diff {
    /// Whether nothing is different.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.images.is_empty() && self.kernels.is_empty()
    }

    /// The kernels of which a number grew, with its name, what it was and what it is.
    pub fn grown<'a>(
        &'a self,
        number: &'a str,
    ) -> impl Iterator<Item = (&'a Change<Numbers>, u64, u64)> + 'a {
        self.kernels.iter().filter_map(move |change| {
            let of = |numbers: &Option<Numbers>| {
                let mut named = numbers.as_ref()?.named().into_iter();
                named.find(|(name, _)| *name == number)?.1
            };
            // What was not known before, or is not any more, did not grow.
            let (old, new) = (of(&change.old)?, of(&change.new)?);
            (new > old).then_some((change, old, new))
        })
    }
}

/// What is different in `new`.
#[must_use]
pub fn diff(old: &Snapshot, new: &Snapshot) -> Diff {
    let is_one = old.is_of_one_library_as(new);
    Diff {
        images: changes(&old.images, &new.images, is_one),
        kernels: changes(&old.kernels, &new.kernels, is_one),
    }
}

fn changes<T: Copy + PartialEq>(
    old: &BTreeMap<[String; 3], T>,
    new: &BTreeMap<[String; 3], T>,
    without_library: bool,
) -> Vec<Change<T>> {
    let (old, new) = (keyed(old, without_library), keyed(new, without_library));
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    keys.into_iter()
        .filter_map(|key| {
            let (old, new) = (old.get(key).copied(), new.get(key).copied());
            (old != new).then(|| Change {
                key: key.map(str::to_owned),
                old,
                new,
            })
        })
        .collect()
}

/// Things by what they are compared by.
fn keyed<T: Copy>(things: &BTreeMap<[String; 3], T>, without_library: bool) -> BTreeMap<[&str; 3], T> {
    let things = things.iter().map(|([library, arch, name], thing)| {
        let library = match without_library {
            true => "",
            false => library,
        };
        ([library, arch, name], *thing)
    });
    things.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(registers: u64) -> Snapshot {
        let key = |name: &str| ["lib.so", "sm_80", name].map(str::to_owned);
        let images = Images {
            count: 1,
            stored: 10,
            size: 20,
        };
        let numbers = Numbers {
            registers: Some(registers),
            spills: None,
            ..Numbers::default()
        };
        Snapshot {
            images: [(key("cubin"), images)].into(),
            kernels: [(key("saxpy(float, float*)"), numbers)].into(),
            file_bytes: Some(100),
        }
    }

    #[test]
    fn a_snapshot_comes_back_from_its_text() {
        let one = snapshot(32);
        assert_eq!(Snapshot::parse(&one.to_string()), Ok(one));
        assert!(Snapshot::parse("kernel").unwrap_err().contains("line 1"));
        let broken = format!("{HEADING}\nkernel\ta\n");
        assert!(Snapshot::parse(&broken).unwrap_err().contains("line 2"));
    }

    #[test]
    fn one_library_is_compared_by_any_name_and_several_by_their_own() {
        let renamed = |to: &str| {
            let mut snapshot = snapshot(40);
            let rename = |[_, arch, name]: [String; 3]| [to.to_owned(), arch, name];
            let images = std::mem::take(&mut snapshot.images).into_iter();
            snapshot.images = images.map(|(key, images)| (rename(key), images)).collect();
            let kernels = std::mem::take(&mut snapshot.kernels).into_iter();
            snapshot.kernels = kernels.map(|(key, numbers)| (rename(key), numbers)).collect();
            snapshot
        };
        let old = snapshot(32);
        assert_eq!(diff(&old, &renamed("lib-1.1.so")).grown("registers").count(), 1);
        assert!(old.has_kernels_of(&renamed("lib-1.1.so")));
        // A second library does not hide the first.
        let mut two = snapshot(40);
        two.images.extend(renamed("other.so").images);
        two.kernels.extend(renamed("other.so").kernels);
        let found = diff(&old, &two);
        assert_eq!(found.grown("registers").count(), 1);
        assert_eq!(
            found.kernels.iter().filter(|change| change.old.is_none()).count(),
            1
        );
        assert!(old.has_kernels_of(&two) && !renamed("third.so").has_kernels_of(&two));
    }

    #[test]
    fn what_grew_is_found() {
        let found = diff(&snapshot(32), &snapshot(40));
        assert_eq!(found.images, []);
        let grown: Vec<_> = found.grown("registers").map(|(_, old, new)| (old, new)).collect();
        assert_eq!(grown, [(32, 40)]);
        assert_eq!(found.grown("spills").count(), 0);
        assert!(diff(&snapshot(32), &snapshot(32)).is_empty());
    }
}
