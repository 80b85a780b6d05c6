//! What a listing comes to: images and bytes, by architecture and format.

use std::collections::BTreeMap;

use offkit_object::{DeviceImage, ImageFormat};
use serde_json::{Value, json};

use crate::commands::filter::format_name;
use crate::commands::table::Table;
use crate::terminal::size;

/// Sums of the images of a listing.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) images: u64,
    pub(super) bytes: u64,
    /// By architecture and the name of the format.
    rows: BTreeMap<(String, &'static str), Sum>,
}

struct Sum {
    format: ImageFormat,
    images: u64,
    bytes: u64,
    stored: u64,
}

impl Sums {
    pub(super) fn add(&mut self, image: &DeviceImage<'_>) {
        let target = &image.target;
        let arch = match target.arch.is_empty() {
            true => target.to_string(),
            false => target.arch_with_features(),
        };
        self.images += 1;
        self.bytes += image.size();
        let sum = self.rows.entry((arch, image.format.name())).or_insert(Sum {
            format: image.format,
            images: 0,
            bytes: 0,
            stored: 0,
        });
        sum.images += 1;
        sum.bytes += image.size();
        sum.stored += image.stored_bytes().len() as u64;
    }

    pub(super) fn table(&self) -> Table {
        let mut table = Table::new(
            "By architecture",
            &["arch", "format", ">images", ">unpacked", ">stored"],
        );
        for ((arch, format), sum) in &self.rows {
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

    pub(super) fn json(&self) -> Value {
        let rows = self.rows.iter().map(|((arch, _), sum)| {
            json!({
                "arch": arch,
                "format": format_name(sum.format),
                "images": sum.images,
                "size": sum.bytes,
                "stored_size": sum.stored,
            })
        });
        let stored: u64 = self.rows.values().map(|sum| sum.stored).sum();
        json!({
            "total": { "images": self.images, "size": self.bytes, "stored_size": stored },
            "totals": rows.collect::<Vec<_>>(),
        })
    }
}
