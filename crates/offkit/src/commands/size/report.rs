//! What `offkit size` says, as tables and as a page.

use std::collections::BTreeMap;

use offkit_inventory::portable::portable;
use offkit_inventory::redundancy::{Removal, redundancy, removals};
use offkit_inventory::totals::{Key, Total, total, totals};
use offkit_inventory::{Inventory, Kernel, count};
use offkit_object::Spills;
use serde_json::json;

use crate::commands::table::{Table, more};
use crate::failure::Failure;
use crate::terminal::size;

/// What there is altogether: a line for each file, and one for the device code.
pub(super) fn summary(inventory: &Inventory) -> Vec<String> {
    let mut lines: Vec<String> = inventory
        .files
        .iter()
        .map(|(name, bytes)| format!("{name}  {}", size(*bytes)))
        .collect();
    const SHOWN: usize = 10;
    if lines.len() > SHOWN {
        let more = lines.len() - SHOWN;
        lines.truncate(SHOWN);
        lines.push(format!(
            "and {more} more files, {} altogether",
            size(inventory.size())
        ));
    }
    let all = total(inventory);
    let host: u64 = inventory
        .libraries
        .iter()
        .map(offkit_inventory::Library::host_bytes)
        .sum();
    lines.push(format!(
        "{} of device code in {}, {} unpacked; {} of host code, data and headers beside it",
        size(all.stored),
        count(all.images, "image"),
        size(all.unpacked),
        size(host),
    ));
    if inventory.has_kernels {
        lines.push(match all.kernels {
            0 => "no kernels that can be read".to_owned(),
            kernels => format!(
                "{} with {}, {} of code",
                count(kernels, "kernel"),
                count(inventory.names.len(), "name"),
                size(all.code)
            ),
        });
    }
    lines.extend(without_ptx(inventory));
    lines
}

/// The libraries whose code no later GPU of NVIDIA can run, those with most images first.
fn without_ptx(inventory: &Inventory) -> Option<String> {
    const SHOWN: usize = 4;
    let portable = portable(inventory).into_iter().enumerate();
    let mut without: Vec<_> = portable.filter(|(_, library)| library.lacks_ptx()).collect();
    without.sort_by_key(|(_, library)| std::cmp::Reverse(library.cubins));
    let named = without.iter().take(SHOWN).map(|(number, library)| {
        let cubins = count(library.cubins, "cubin");
        format!("{} ({cubins})", inventory.library_name(*number))
    });
    let mut named = named.collect::<Vec<_>>().join(", ");
    if without.len() > SHOWN {
        named += &format!(" and {} more", without.len() - SHOWN);
    }
    (!without.is_empty()).then(|| format!("no PTX in {named}: later GPUs cannot run it"))
}

/// All tables.
pub(super) fn tables(inventory: &Inventory, top: usize) -> Vec<Table> {
    let mut tables = vec![
        sums(inventory, &[Key::Arch, Key::Format], top),
        libraries(inventory, top),
    ];
    if inventory.has_kernels {
        tables.push(sums(inventory, &[Key::Family], top));
        tables.push(kernels(inventory, top));
    }
    tables.push(redundant(inventory, top));
    tables.push(removals_table(inventory, top));
    tables
}

/// A table of sums.
pub(super) fn sums(inventory: &Inventory, keys: &[Key], top: usize) -> Table {
    let totals = totals(inventory, keys);
    let names: Vec<&'static str> = keys.iter().map(|key| key.name()).collect();
    let mut columns = names.clone();
    columns.extend([">stored", ">part", ">unpacked", ">images"]);
    if inventory.has_kernels {
        columns.extend([">kernels", ">code", ">spilling", ">most registers"]);
    }
    let mut table = Table::new(format!("By {}", names.join(" and ")), &columns);
    // Of the rows that `top` leaves out too: parts are those of the whole.
    let all: u64 = totals.iter().map(|total| total.stored).sum();
    for total in totals.iter().take(top) {
        let mut row = total.keys.clone();
        row.extend([
            estimated(total),
            percent(total.stored, all),
            size(total.unpacked),
            total.images.to_string(),
        ]);
        if inventory.has_kernels {
            row.extend([
                total.kernels.to_string(),
                size(total.code),
                total.spilling.to_string(),
                optional(total.most_registers),
            ]);
        }
        table.row(row);
    }
    table.note = more(top, totals.len());
    if totals.iter().any(|total| total.is_estimate) {
        let estimate = "~ shared out: images and kernels that are compressed together are not told apart";
        table.note = match table.note.is_empty() {
            true => estimate.to_owned(),
            false => format!("{}; {estimate}", table.note),
        };
    }
    table
}

fn estimated(total: &Total) -> String {
    match total.is_estimate {
        true => format!("~{}", size(total.stored)),
        false => size(total.stored),
    }
}

pub(super) fn percent(part: u64, all: u64) -> String {
    match all {
        0 => "-".to_owned(),
        all => format!("{:.1} %", part as f64 * 100.0 / all as f64),
    }
}

fn optional(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn libraries(inventory: &Inventory, top: usize) -> Table {
    let mut table = Table::new(
        "By library",
        &["library", ">size", ">packed", ">device", ">host", "portable code"],
    );
    let portable = portable(inventory);
    let mut libraries: Vec<_> = inventory.libraries.iter().enumerate().collect();
    libraries.sort_by_key(|(_, library)| std::cmp::Reverse((library.stored, library.size)));
    for (number, library) in libraries.iter().take(top) {
        table.row(vec![
            inventory.library_name(*number).to_owned(),
            size(library.size),
            library.packed.map_or_else(|| "-".to_owned(), size),
            size(library.stored),
            size(library.host_bytes()),
            portable[*number].words(),
        ]);
    }
    table.note = more(top, libraries.len());
    table
}

/// The kernels with most code.
pub(super) fn largest(inventory: &Inventory, top: usize) -> Vec<&Kernel> {
    let mut kernels: Vec<&Kernel> = inventory.kernels.iter().collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.code()));
    kernels.truncate(top);
    kernels
}

fn kernels(inventory: &Inventory, top: usize) -> Table {
    let mut table = Table::new(
        "Largest kernels",
        &["kernel", "arch", ">code", ">registers", ">spilled", ">shared"],
    );
    for kernel in largest(inventory, top) {
        let resources = &kernel.resources;
        table.row(vec![
            inventory.names.readable(kernel.name).to_owned(),
            // An inventory numbers its images itself, and anew where another one is appended.
            inventory.images[kernel.image].arch(),
            resources.code_size.map_or_else(|| "-".to_owned(), size),
            optional(resources.registers),
            spilled(resources.spills),
            resources.shared_memory.map_or_else(|| "-".to_owned(), size),
        ]);
    }
    table.note = more(top, inventory.kernels.len());
    table
}

fn spilled(spills: Option<Spills>) -> String {
    match spills {
        None => "not recorded".to_owned(),
        Some(spills) if spills.amount() == 0 => "0".to_owned(),
        Some(spills) => format!("{} {}", spills.amount(), spills.unit()),
    }
}

fn redundant(inventory: &Inventory, top: usize) -> Table {
    let mut table = Table::new("Redundant", &["what", "library", ">saves", "costs"]);
    let found = redundancy(inventory);
    for redundant in found.iter().take(top) {
        table.row(vec![
            redundant.what.clone(),
            redundant.library.map_or_else(
                || "several".to_owned(),
                |library| inventory.library_name(library).to_owned(),
            ),
            redundant.saves.map_or_else(|| "not tried".to_owned(), size),
            redundant.costs.clone(),
        ]);
    }
    table.note = match more(top, found.len()) {
        more if more.is_empty() => "bytes in the libraries, without headers; savings overlap".to_owned(),
        more => format!("{more}; bytes in the libraries, without headers; savings overlap"),
    };
    table
}

fn removals_table(inventory: &Inventory, top: usize) -> Table {
    let mut table = Table::new("Taking out", &["arch", "format", ">saves", "costs"]);
    let removals = removals(inventory);
    for removal in removals.iter().take(top) {
        table.row(vec![
            removal.arch.clone(),
            removal.format.name().to_owned(),
            size(removal.stored),
            price(removal),
        ]);
    }
    table.note = more(top, removals.len());
    table
}

/// What devices lose, in words.
fn price(removal: &Removal) -> String {
    const SHOWN: usize = 6;
    let list = |devices: &[String]| {
        let shown = devices[..devices.len().min(SHOWN)].join(", ");
        match devices.len().saturating_sub(SHOWN) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    };
    let mut parts = Vec::new();
    if !removal.lose_all.is_empty() {
        parts.push(format!("no code for {}", list(&removal.lose_all)));
    }
    if !removal.fall_to_jit.is_empty() {
        parts.push(format!("{} compile at load", list(&removal.fall_to_jit)));
    }
    match parts.is_empty() {
        // Where no device was asked, it means nothing that none loses code.
        true if !removal.is_known => "not looked into: no devices of this kind are listed".to_owned(),
        true => "no device loses all code; `offkit check` says of which kernels".to_owned(),
        false => parts.join("; "),
    }
}

/// A page with everything in it: a treemap, which kernels are there for which architecture, and tables to sort.
pub(super) fn page(inventory: &Inventory) -> Result<String, Failure> {
    const PAGE: &str = include_str!("page.html");
    const KERNELS: usize = 500;
    let rows = totals(inventory, &[Key::Library, Key::Family, Key::Arch, Key::Format]);
    let rows: Vec<_> = rows
        .iter()
        .map(|total| {
            json!([
                total.keys,
                total.stored,
                total.code,
                total.kernels,
                total.spilling
            ])
        })
        .collect();
    let kernels: Vec<_> = largest(inventory, KERNELS)
        .into_iter()
        .map(|kernel| {
            let resources = &kernel.resources;
            let image = &inventory.images[kernel.image];
            json!([
                inventory.names.readable(kernel.name),
                image.arch(),
                resources.code_size,
                resources.registers,
                resources.spills.map(Spills::amount),
                resources.shared_memory,
            ])
        })
        .collect();
    let libraries: BTreeMap<String, u64> = inventory
        .libraries
        .iter()
        .enumerate()
        .filter(|(_, library)| library.is_host)
        .map(|(number, library)| (inventory.library_name(number).to_owned(), library.host_bytes()))
        .collect();
    let redundant: Vec<_> = redundancy(inventory)
        .into_iter()
        .map(|redundant| {
            let library = redundant.library.map(|library| inventory.library_name(library));
            json!([redundant.what, library, redundant.saves, redundant.costs])
        })
        .collect();
    let removals: Vec<_> = removals(inventory)
        .iter()
        .map(|removal| {
            json!([
                removal.arch,
                removal.format.name(),
                removal.stored,
                price(removal)
            ])
        })
        .collect();
    let data = json!({
        "summary": summary(inventory),
        "rows": rows,
        "kernels": kernels,
        "host": libraries,
        "redundant": redundant,
        "removals": removals,
    });
    let data = serde_json::to_string(&data).map_err(Failure::input)?;
    // In a script no name from a file may end it.
    let data = data.replace('<', "\\u003c");
    Ok(PAGE.replace("\"DATA\"", &data))
}
