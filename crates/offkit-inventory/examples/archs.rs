//! Prints what each architecture takes in files, and with `--kernels` each family of kernels.

use std::ops::ControlFlow;

use offkit_inventory::totals::{Key, totals};
use offkit_inventory::{Depth, Inventory};
use offkit_object::{Limits, walk};

#[expect(clippy::print_stdout, reason = "it is what the example is for")]
fn main() -> std::io::Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let has_kernels = words.first().is_some_and(|word| word == "--kernels");
    let (depth, key) = match has_kernels {
        true => (Depth::Kernels, Key::Family),
        false => (Depth::Headers, Key::Arch),
    };
    let mut inventory = Inventory::default();
    for file in words.split_off(usize::from(has_kernels)) {
        let bytes = std::fs::read(&file)?;
        let mut collector = inventory.collect(&file, &bytes, depth, &());
        let _ = walk(&file, &bytes, None, &Limits::default(), &mut |item| {
            collector.add(&item);
            ControlFlow::Continue(())
        });
        collector.finish();
    }
    for total in totals(&inventory, &[key]) {
        println!(
            "{:>12} bytes  {:>6} images  {}",
            total.stored,
            total.images,
            total.keys.join(" ")
        );
    }
    Ok(())
}
