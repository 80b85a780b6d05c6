//! Entries to and from offload bundles.

use std::collections::HashSet;

use offkit_image::target::{System, Triple};
use offkit_image::{ImageFormat, Location, Producer, Target};

use super::{Item, Losses};
use crate::bundle::{Bundle, BundleEntry, EntryId, short_names};
use crate::offload_binary::{ImageKind, OffloadEntry, OffloadKind};

/// Several bundles become one sequence of entries.
pub(super) fn grouping(bundles: &[Bundle<'_>], location: &Location, losses: &mut Losses) {
    if bundles.len() > 1 {
        losses.add(
            location,
            format!("which of {} bundles an image is in", bundles.len()),
        );
    }
}

pub(super) fn items<'data>(
    bundles: &'data [Bundle<'_>],
    location: &Location,
    losses: &mut Losses,
) -> Vec<Item<'data>> {
    let mut items = Vec::new();
    for (number, bundle) in bundles.iter().enumerate() {
        let ids: Vec<&str> = bundle.entries.iter().map(|entry| &*entry.id).collect();
        let names = short_names(&ids);
        for (bundled, name) in bundle.entries.iter().zip(names) {
            let location = location.join(number).join(name);
            let id = EntryId::parse(&bundled.id);
            let producer = match id.producer() {
                // Offload binaries have no number for the host.
                Producer::Host => Producer::None,
                other => other,
            };
            let kind = OffloadKind::of(producer).unwrap_or(OffloadKind::NONE);
            let format = ImageFormat::detect(&bundled.bytes);
            let mut entry = OffloadEntry::new(ImageKind::of_format(format), kind, &*bundled.bytes);
            // In the order of LLVM's packager, which has the architecture before the triple.
            if !id.processor.is_empty() {
                entry.strings.set("arch", id.processor);
            }
            entry.strings.set("triple", id.triple);
            let again = id_of(&entry);
            if again != bundled.id {
                losses.add(&location, format!("the ID '{}'", bundled.id.escape_debug()));
            }
            items.push(Item { location, entry });
        }
    }
    items
}

pub(super) fn from_items<'data>(items: &[Item<'data>], losses: &mut Losses) -> Bundle<'data> {
    let mut bundle = Bundle::default();
    let mut seen = HashSet::new();
    for Item { location, entry } in items {
        if entry.is_metadata_only() {
            losses.add(location, "an entry that has strings but no image");
            continue;
        }
        for (key, _) in entry.strings.iter() {
            if key != "triple" && key != "arch" {
                losses.add(location, format!("the string '{}'", key.escape_debug()));
            }
        }
        if entry.flags != 0 {
            losses.add(location, format!("the flags {:#x}", entry.flags));
        }
        if !entry.image_kind.says_no_more_than(&entry.image) {
            losses.add(location, format!("the image kind {}", entry.image_kind));
        }
        let producer = entry.offload_kind.producer(entry.image_kind);
        if OffloadKind::of(producer) != Some(entry.offload_kind) {
            losses.add(location, format!("the offload kind {}", entry.offload_kind.0));
        }
        let id = id_of(entry);
        let text = |key| entry.strings.get(key).unwrap_or_default();
        if EntryId::parse(&id).target() != Target::new(text("triple"), text("arch")) {
            let target = Target::new(text("triple"), text("arch"));
            losses.add(location, format!("the exact target {target}"));
        }
        if !seen.insert(id.clone()) {
            losses.add(location, format!("an ID of its own: there are several '{id}'"));
        }
        bundle.entries.push(BundleEntry::new(id, entry.image.clone()));
    }
    bundle
}

/// The ID as clang writes it: a triple of four components, of which an environment may be empty for AMD's
/// system, and always the dash before the processor.
fn id_of(entry: &OffloadEntry<'_>) -> String {
    let kind = match entry.offload_kind.producer(entry.image_kind) {
        Producer::OpenMp => "openmp",
        Producer::Cuda => "cuda",
        // clang has said so since code object version 4; `hip` alone promises older code objects.
        Producer::Hip => "hipv4",
        Producer::Sycl => "sycl",
        // An ID must have a kind, and this is the only one that is no offloading language.
        _ => "host",
    };
    let triple = entry.strings.get("triple").unwrap_or_default();
    let arch = entry.strings.get("arch").unwrap_or_default();
    let environment = match triple.split('-').count() {
        3 if Triple::new(triple).system() == System::AmdHsa => "-",
        3 => "-unknown",
        _ => "",
    };
    format!("{kind}-{triple}{environment}-{arch}")
}

/// The runtime of HIP maps images, which must begin a page; other readers do not mind.
pub(super) fn alignment(bundle: &Bundle<'_>) -> u64 {
    let is_hip = |entry: &BundleEntry<'_>| EntryId::parse(&entry.id).producer() == Producer::Hip;
    if bundle.entries.iter().any(is_hip) {
        4096
    } else {
        1
    }
}
