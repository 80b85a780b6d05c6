//! What a listing comes to: images and bytes, by architecture and format.

use std::collections::BTreeMap;

use offkit_inventory::count;
use offkit_object::{DeviceImage, ImageFormat, Target};
use serde_json::{Value, json};

use crate::commands::filter::format_name;
use crate::commands::table::Table;
use crate::terminal::{Styles, size};

/// Sums of the images of a listing.
#[derive(Default)]
pub(crate) struct Sums {
    pub(super) images: u64,
    pub(super) bytes: u64,
    /// By architecture, or the triple where there is none, and the name of the format.
    rows: BTreeMap<(String, &'static str), Sum>,
}

/// What images of one target and format take.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    format: ImageFormat,
    images: u64,
    bytes: u64,
    stored: u64,
}

impl Sums {
    pub(crate) fn add(&mut self, target: &Target, sum: Option<Sum>) {
        let Some(sum) = sum else { return };
        self.images += sum.images;
        self.bytes += sum.bytes;
        let arch = match target.arch.is_empty() {
            true => target.to_string(),
            false => target.arch_with_features(),
        };
        self.add_to_row((arch, sum.format.name()), sum);
    }

    /// Adds what others come to.
    pub(super) fn add_all(&mut self, others: Self) {
        self.images += others.images;
        self.bytes += others.bytes;
        for (row, sum) in others.rows {
            self.add_to_row(row, sum);
        }
    }

    fn add_to_row(&mut self, row: (String, &'static str), sum: Sum) {
        let row = self.rows.entry(row);
        row.and_modify(|row| row.add(sum)).or_insert(sum);
    }

    /// How many images there are and what they take, and the same by architecture if that is shorter than the list.
    pub(super) fn text(&self, styles: Styles) -> String {
        let Styles { faint, .. } = styles;
        let mut text = format!(
            "{faint}{}, {}{faint:#}\n",
            count(usize::try_from(self.images).unwrap_or(usize::MAX), "image"),
            size(self.bytes)
        );
        let images = self.images;
        let rows = &self.rows;
        let (first, last) = (rows.keys().next(), rows.keys().next_back());
        // They are in the order of architectures.
        let is_one = first.map(|(arch, _)| arch) == last.map(|(arch, _)| arch);
        if !is_one && images > rows.len() as u64 {
            text += &Self::table(rows).text(styles, usize::MAX);
        }
        text
    }

    fn table(rows: &BTreeMap<(String, &'static str), Sum>) -> Table {
        let mut table = Table::new(
            "By architecture",
            &["arch", "format", ">images", ">unpacked", ">stored"],
        );
        for ((arch, format), sum) in rows {
            table.row(vec![
                arch.clone(),
                (*format).to_owned(),
                sum.images.to_string(),
                size(sum.bytes),
                size(sum.stored),
            ]);
        }
        table
    }

    pub(crate) fn json(&self) -> Value {
        let (images, bytes) = (self.images, self.bytes);
        let rows = &self.rows;
        let stored: u64 = rows.values().map(|sum| sum.stored).sum();
        let rows = rows.iter().map(|((arch, _), sum)| {
            json!({
                "arch": arch,
                "format": format_name(sum.format),
                "images": sum.images,
                "size": sum.bytes,
                "stored_size": sum.stored,
            })
        });
        json!({
            "total": { "images": images, "size": bytes, "stored_size": stored },
            "totals": rows.collect::<Vec<_>>(),
        })
    }
}

impl Sum {
    /// What one image takes; `None` for the host's entry of a bundle, which is listed and not counted.
    pub(crate) fn of(image: &DeviceImage<'_>) -> Option<Self> {
        let stored = image.stored_bytes().len() as u64;
        (!image.is_host_entry()).then(|| Self::of_one(image.format, image.size(), stored))
    }

    /// What an image of that format takes: the bytes of its code, and those that are stored.
    pub(super) fn of_one(format: ImageFormat, bytes: u64, stored: u64) -> Self {
        Self {
            format,
            images: 1,
            bytes,
            stored,
        }
    }

    /// Whether images of that sum are of the same format.
    pub(super) fn is_of_format(&self, other: &Self) -> bool {
        self.format == other.format
    }

    pub(super) fn add(&mut self, other: Self) {
        self.images += other.images;
        self.bytes += other.bytes;
        self.stored += other.stored;
    }
}
