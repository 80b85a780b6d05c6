//! What it costs to find the images that kernels need: `closures --among SYMBOLS` or `closures FILE [--sample COUNT]`
//!
//! The first makes a registry in which so many symbols are exported, by images of ten each, and collects a kernel that
//! needs an image that needs another: one line of JSON, with the median of many times in seconds. The second registers a
//! file, and collects all kernels that import something: how many images they need, and the times. A sample of those that take
//! nothing but arrays follows, the same each time, a line each.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Instant;

use offkit_object::{DeviceImage, Limits, Location};
use offkit_runtime::spirv::{ParameterKind, Storage};
use offkit_runtime::{Collection, ImageRegistry, KernelId};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["--among", symbols] => among(symbols.parse()?),
        [file] => of_file(file, 0),
        [file, "--sample", count] => of_file(file, count.parse()?),
        _ => Err("expected --among SYMBOLS, or FILE [--sample COUNT]".into()),
    }
}

/// An image that differs from others by its name, with these kernels, imports and exports.
fn image(name: &str, [kernels, imports, exports]: [Vec<String>; 3]) -> DeviceImage<'static> {
    let mut image = DeviceImage::new([b"\x03\x02\x23\x07", name.as_bytes()].concat());
    image.location = Location::of_file(name);
    (image.kernels, image.imports, image.exports) = (kernels, imports, exports);
    image
}

fn among(symbols: usize) -> Result<()> {
    const EACH: usize = 10;
    const TIMES: usize = 1001;
    let registry = ImageRegistry::new();
    let names = |first: usize| (first..first + EACH).map(|number| format!("_Z8symbol{number}f"));
    let before = symbols / EACH / 2;
    for number in 0..symbols / EACH {
        registry.add(image(
            &number.to_string(),
            [vec![], vec![], names(number * EACH).collect()],
        ));
        if number == before {
            // What is needed is in the middle.
            let one = |name: &str| vec![name.to_owned()];
            registry.add(image("library", [vec![], one("deep"), one("near")]));
            registry.add(image("helper", [vec![], vec![], one("deep")]));
            registry.add(image("app", [one("kernel"), one("near"), vec![]]));
        }
    }
    let found = registry.find_kernel("kernel", |_| true)?;
    let kernel = KernelId {
        image: found.images[0],
        name: found.name,
    };
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let (seconds, collection) = collect(&registry, &kernel)?;
        assert_eq!(collection.images.len(), 3);
        times.push(seconds);
    }
    times.sort_by(f64::total_cmp);
    println!(r#"{{"symbols": {symbols}, "seconds": {}}}"#, times[TIMES / 2]);
    Ok(())
}

fn of_file(file: &str, sample: usize) -> Result<()> {
    let registry = ImageRegistry::new();
    let registered = registry.open(file, &Limits::default())?;
    let importing: Vec<KernelId> = registered
        .images
        .iter()
        .filter_map(|&image| {
            let symbols = registry.symbols(image)?;
            let name = symbols.kernels.into_iter().next().unwrap_or_default();
            (!symbols.imports.is_empty()).then_some(KernelId { image, name })
        })
        .collect();
    let (mut times, mut sizes, mut missing) = (Vec::new(), BTreeMap::<usize, usize>::new(), 0);
    for kernel in &importing {
        match collect(&registry, kernel) {
            Ok((seconds, collection)) => {
                times.push(seconds);
                *sizes.entry(collection.images.len()).or_default() += 1;
            }
            Err(_) => missing += 1,
        }
    }
    times.sort_by(f64::total_cmp);
    let sizes: Vec<_> = sizes
        .iter()
        .map(|(images, count)| format!(r#""{images}": {count}"#))
        .collect();
    println!(
        r#"{{"images": {}, "importing": {}, "sizes": {{{}}}, "missing": {missing}, "median": {}, "most": {}}}"#,
        registered.images.len(),
        importing.len(),
        sizes.join(", "),
        times.get(times.len() / 2).copied().unwrap_or_default(),
        times.last().copied().unwrap_or_default(),
    );
    // Kernels that take nothing but arrays: what else they would have to be given nobody but their makers knows.
    let takes_arrays = |collection: &Collection| {
        let kernel = collection.signature()?;
        let mut parameters = kernel.parameters.iter().map(|parameter| &parameter.kind);
        let is_array = |kind: &ParameterKind| matches!(kind, ParameterKind::Pointer { storage, .. } if *storage != Storage::Local);
        parameters.all(is_array).then_some(kernel.parameters.len())
    };
    let mut shown = 0;
    for kernel in shuffled(importing) {
        if shown == sample {
            break;
        }
        let (_, collection) = collect(&registry, &kernel)?;
        if let Some(parameters) = takes_arrays(&collection) {
            shown += 1;
            println!(
                r#"{{"kernel": "{}", "images": {}, "parameters": {parameters}}}"#,
                kernel.name,
                collection.images.len()
            );
        }
    }
    Ok(())
}

fn collect(registry: &ImageRegistry, kernel: &KernelId) -> Result<(f64, Collection)> {
    let start = Instant::now();
    let collection = registry.collect(kernel)?;
    Ok((start.elapsed().as_secs_f64(), collection))
}

/// In another order, always the same: by the linear congruences of Numerical Recipes.
fn shuffled<T>(mut all: Vec<T>) -> impl Iterator<Item = T> {
    let mut state = 16_u32;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (!all.is_empty()).then(|| all.swap_remove(state as usize % all.len()))
    })
}
