//! What a listing comes to: images and bytes, by architecture and format.

use std::collections::BTreeMap;

use offkit_object::{DeviceImage, ImageFormat, Target};
use serde_json::{Value, json};

use crate::commands::filter::format_name;
use crate::commands::table::Table;
use crate::terminal::size;

/// Sums of the images of a listing.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) images: u64,
    pub(super) bytes: u64,
    /// By target and format: these are few, and comparing them costs less than making texts of them.
    by_target: Vec<(Target, Sum)>,
    /// The one that is tried first: images for several devices take turns.
    next: usize,
}

#[derive(Clone, Copy)]
struct Sum {
    format: ImageFormat,
    images: u64,
    bytes: u64,
    stored: u64,
}

impl Sums {
    pub(super) fn add(&mut self, image: &DeviceImage<'_>) {
        let sum = Sum {
            format: image.format,
            images: 1,
            bytes: image.size(),
            stored: image.stored_bytes().len() as u64,
        };
        self.images += sum.images;
        self.bytes += sum.bytes;
        let is_same = |(target, known): &(Target, Sum)| known.format == sum.format && *target == image.target;
        let expected = if self.next < self.by_target.len() {
            self.next
        } else {
            0
        };
        let place = match self.by_target.get(expected) {
            Some(known) if is_same(known) => Some(expected),
            _ => self.by_target.iter().position(is_same),
        };
        self.next = place.map_or(0, |place| place + 1);
        match place {
            Some(place) => self.by_target[place].1.add(sum),
            None => self.by_target.push((image.target.clone(), sum)),
        }
    }

    /// By architecture, or the triple where there is none, and the name of the format.
    fn rows(&self) -> BTreeMap<(String, &'static str), Sum> {
        let mut rows: BTreeMap<_, Sum> = BTreeMap::new();
        for (target, sum) in &self.by_target {
            let arch = match target.arch.is_empty() {
                true => target.to_string(),
                false => target.arch_with_features(),
            };
            let row = rows.entry((arch, sum.format.name()));
            row.and_modify(|row| row.add(*sum)).or_insert(*sum);
        }
        rows
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(
            "By architecture",
            &["arch", "format", ">images", ">unpacked", ">stored"],
        );
        for ((arch, format), sum) in self.rows() {
            table.row(vec![
                arch,
                format.to_owned(),
                sum.images.to_string(),
                size(sum.bytes),
                size(sum.stored),
            ]);
        }
        table
    }

    pub(super) fn json(&self) -> Value {
        let rows = self.rows().into_iter().map(|((arch, _), sum)| {
            json!({
                "arch": arch,
                "format": format_name(sum.format),
                "images": sum.images,
                "size": sum.bytes,
                "stored_size": sum.stored,
            })
        });
        let stored: u64 = self.by_target.iter().map(|(_, sum)| sum.stored).sum();
        json!({
            "total": { "images": self.images, "size": self.bytes, "stored_size": stored },
            "totals": rows.collect::<Vec<_>>(),
        })
    }
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.images += other.images;
        self.bytes += other.bytes;
        self.stored += other.stored;
    }
}
