//! What takes how much: sums by library, architecture, format, compression and kernel family.

use std::collections::BTreeMap;
use std::str::FromStr;

use offkit_image::Spills;

use crate::inventory::{Inventory, Kernel, Listed, part};

/// What sums are made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// The library that an image is in.
    Library,
    /// What an image was compiled for.
    Arch,
    /// What an image is: cubin, PTX, SPIR-V.
    Format,
    /// How an image is compressed.
    Compression,
    /// The template that kernels are made of. Bytes are shared out among the kernels of an image by the size of their
    /// code.
    Family,
}

impl Key {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Library, "library"),
        (Self::Arch, "arch"),
        (Self::Format, "format"),
        (Self::Compression, "compression"),
        (Self::Family, "family"),
    ];

    /// Its name in options and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(key, _)| *key == self);
        named.map_or("", |(_, name)| name)
    }

    fn of(self, inventory: &Inventory, image: &Listed) -> String {
        match self {
            Self::Library => inventory.library_name(image.library).to_owned(),
            Self::Arch => image.arch(),
            Self::Format => image.image.format.name().to_owned(),
            Self::Compression => match image.image.compression() {
                Some(method) => method.name().to_owned(),
                None => "none".to_owned(),
            },
            // Kernels have these.
            Self::Family => String::new(),
        }
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.iter().find(|(_, name)| *name == text);
        named.map(|(key, _)| *key).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|(_, name)| *name).collect();
            format!("`{text}` is nothing to sum by: expected {}", names.join(", "))
        })
    }
}

/// A sum.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Total {
    /// What it is the sum of, one for each key.
    pub keys: Vec<String>,
    /// How many images have something of it.
    pub images: usize,
    /// Bytes in the libraries.
    pub stored: u64,
    /// Whether `stored` is shared out among kernels or images that are compressed together.
    pub is_estimate: bool,
    /// Bytes of images, unpacked.
    pub unpacked: u64,
    /// How many kernels; 0 where kernels were not asked for.
    pub kernels: usize,
    /// Bytes of the kernels' code.
    pub code: u64,
    /// How many kernels are known to spill registers.
    pub spilling: usize,
    /// The most registers of a kernel.
    pub most_registers: Option<u64>,
}

impl Total {
    fn add_image(&mut self, inventory: &Inventory, image: &Listed) {
        self.images += 1;
        self.stored = self.stored.saturating_add(image.stored);
        self.is_estimate |= image.is_share;
        self.unpacked = self.unpacked.saturating_add(image.size);
        for kernel in inventory.kernels_of(image) {
            self.add_kernel(kernel);
        }
    }

    fn add_kernel(&mut self, kernel: &Kernel) {
        self.kernels += 1;
        self.code = self.code.saturating_add(kernel.code());
        let spills = kernel.resources.spills.map_or(0, Spills::amount);
        self.spilling += usize::from(spills > 0);
        self.most_registers = self.most_registers.max(kernel.resources.registers);
    }
}

/// Sums by some keys, the largest first.
#[must_use]
pub fn totals(inventory: &Inventory, keys: &[Key]) -> Vec<Total> {
    let mut sums = BTreeMap::<Vec<String>, Total>::new();
    let by_family = keys.contains(&Key::Family);
    if by_family {
        // Here, on all cores: each would be found out by itself otherwise, one after the other.
        inventory.names.find_families();
    }
    for image in &inventory.images {
        let of_image: Vec<String> = keys.iter().map(|key| key.of(inventory, image)).collect();
        if !by_family {
            sums.entry(of_image).or_default().add_image(inventory, image);
            continue;
        }
        let kernels = inventory.kernels_of(image);
        let code = Kernel::code_of(kernels);
        let mut of_families = BTreeMap::<&str, Total>::new();
        for kernel in kernels {
            let sum = of_families
                .entry(inventory.names.family(kernel.name))
                .or_default();
            sum.add_kernel(kernel);
        }
        if kernels.is_empty() {
            // So that the bytes of all families together are those of all images.
            of_families.insert("(no kernels)", Total::default());
        }
        let count = kernels.len();
        for (family, of_family) in of_families {
            let mut key = of_image.clone();
            // Nobody keeps a user from naming it twice.
            for (place, _) in keys.iter().enumerate().filter(|(_, key)| **key == Key::Family) {
                family.clone_into(&mut key[place]);
            }
            let sum = sums.entry(key).or_default();
            let share = |bytes: u64| match (code, count) {
                (_, 0) => bytes,
                // Where no kernel tells the size of its code, all count the same.
                (0, count) => part(bytes, of_family.kernels as u64, count as u64),
                (code, _) => part(bytes, of_family.code, code),
            };
            sum.images += 1;
            sum.stored = sum.stored.saturating_add(share(image.stored));
            sum.unpacked = sum.unpacked.saturating_add(share(image.size));
            sum.is_estimate = true;
            sum.kernels += of_family.kernels;
            sum.code = sum.code.saturating_add(of_family.code);
            sum.spilling += of_family.spilling;
            sum.most_registers = sum.most_registers.max(of_family.most_registers);
        }
    }
    let mut totals: Vec<Total> = sums
        .into_iter()
        .map(|(keys, total)| Total { keys, ..total })
        .collect();
    totals.sort_by(|one, other| {
        other
            .stored
            .cmp(&one.stored)
            .then_with(|| one.keys.cmp(&other.keys))
    });
    totals
}

/// The sum of everything.
#[must_use]
pub fn total(inventory: &Inventory) -> Total {
    let mut total = Total::default();
    for image in &inventory.images {
        total.add_image(inventory, image);
    }
    total
}
