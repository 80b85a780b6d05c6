//! Everything that `offkit size` knows, as one object.

use offkit_inventory::diff::Snapshot;
use offkit_inventory::portable::portable;
use offkit_inventory::redundancy::{redundancy, removals};
use offkit_inventory::totals::{Key, Total, total, totals};
use offkit_inventory::{Inventory, Kernel};
use offkit_object::{Spills, Stack};
use serde_json::{Map, Value, json};

use super::Size;
use super::report::largest;
use crate::commands::filter::format_name;
use crate::commands::problem_json;

pub(super) fn object(inventory: &Inventory, options: &Size, old: Option<&Inventory>) -> Value {
    let keys = match options.by.as_slice() {
        [] => &[Key::Library, Key::Arch, Key::Format],
        keys => keys,
    };
    let files = inventory.files.iter();
    // One for each library, under its number.
    let portable = portable(inventory);
    let mut object = json!({
        "files": files.map(|(name, size)| json!({ "file": name, "size": size })).collect::<Vec<_>>(),
        "libraries": inventory.libraries.iter().enumerate().map(|(number, library)| json!({
            "library": inventory.library_name(number),
            "location": library.location.to_string(),
            "size": library.size,
            "packed_size": library.packed,
            "stored": library.stored,
            "host": library.host_bytes(),
            "images": portable[number].images,
            "portable_images": portable[number].portable,
            "lacks_ptx": portable[number].lacks_ptx(),
        })).collect::<Vec<_>>(),
        "total": sum(&total(inventory), &[], inventory.has_kernels),
        "totals": totals(inventory, keys)
            .iter()
            .map(|total| sum(total, keys, inventory.has_kernels))
            .collect::<Vec<_>>(),
        "redundant": redundancy(inventory).into_iter().map(|redundant| json!({
            "kind": redundant.kind.name(),
            "library": redundant.library.map(|library| inventory.library_name(library)),
            "what": redundant.what,
            "images": redundant.images,
            "kernels": redundant.kernels,
            "saves": redundant.saves,
            "costs": redundant.costs,
        })).collect::<Vec<_>>(),
        "removals": removals(inventory).into_iter().map(|removal| json!({
            "arch": removal.arch,
            "format": format_name(removal.format),
            "images": removal.images,
            "saves": removal.stored,
            "devices_known": removal.is_known,
            "fall_to_jit": removal.fall_to_jit,
            "lose_all": removal.lose_all,
        })).collect::<Vec<_>>(),
        "problems": inventory.problems.iter().map(problem_json).collect::<Vec<_>>(),
    });
    if inventory.has_kernels {
        let families = [Key::Family, Key::Arch];
        object["families"] = totals(inventory, &families)
            .iter()
            .map(|total| sum(total, &families, true))
            .collect();
        object["kernels"] = largest(inventory, options.top)
            .into_iter()
            .map(|kernel| kernel_object(inventory, kernel))
            .collect();
    }
    if let Some(old) = old {
        let found = offkit_inventory::diff::diff(&Snapshot::of(old), &Snapshot::of(inventory));
        object["diff"] = crate::commands::diff::object(&found);
        object["diff"]["old_problems"] = old.problems.iter().map(problem_json).collect();
    }
    object
}

fn sum(total: &Total, keys: &[Key], has_kernels: bool) -> Value {
    let mut object = Map::new();
    for (key, value) in keys.iter().zip(&total.keys) {
        object.insert(key.name().to_owned(), value.clone().into());
    }
    object.insert("images".to_owned(), total.images.into());
    object.insert("stored".to_owned(), total.stored.into());
    object.insert("stored_is_estimate".to_owned(), total.is_estimate.into());
    object.insert("unpacked".to_owned(), total.unpacked.into());
    if has_kernels {
        object.insert("kernels".to_owned(), total.kernels.into());
        object.insert("code".to_owned(), total.code.into());
        object.insert("spilling".to_owned(), total.spilling.into());
        object.insert("most_registers".to_owned(), total.most_registers.into());
    }
    object.into()
}

fn kernel_object(inventory: &Inventory, kernel: &Kernel) -> Value {
    let resources = &kernel.resources;
    let image = &inventory.images[kernel.image];
    let (spilled, unit) = match resources.spills {
        Some(spills) => (Some(spills.amount()), Some(spills.unit())),
        None => (None, None),
    };
    let (stores, loads) = match resources.spills {
        Some(Spills::Bytes { stores, loads }) => (Some(stores), Some(loads)),
        _ => (None, None),
    };
    json!({
        "name": inventory.names.symbol(kernel.name),
        "readable": inventory.names.readable(kernel.name),
        "family": inventory.names.family(kernel.name),
        "location": image.image.location.to_string(),
        "arch": image.arch(),
        "code": resources.code_size,
        "stored_estimate": inventory.share_of(kernel),
        "registers": resources.registers,
        "scalar_registers": resources.scalar_registers,
        "shared": resources.shared_memory,
        "stack": match resources.stack {
            Some(Stack::Bytes(bytes)) => Some(bytes),
            _ => None,
        },
        "spilled": spilled,
        "spill_unit": unit,
        "spill_stores": stores,
        "spill_loads": loads,
    })
}
