//! Any bytes as a file that is split and put together again, and as the recipe by which that is done.

#![no_main]

use std::collections::{BTreeMap, HashMap};

use libfuzzer_sys::fuzz_target;
use offkit_object::split::{Destination, Split, join, read_pack};
use offkit_object::{Limits, Location, Thinning};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        max_inflation: 100,
        ..Limits::default()
    };
    // A recipe for a host file and packs of whatever it names.
    let image = |pack: u64, name: &str| (pack < 2).then(|| name.as_bytes().repeat(3));
    let _ = join("file", &[b"a host file", bytes].concat(), bytes, &image, &limits);
    let _ = read_pack(bytes, &limits);

    let images = offkit_object::read("file", bytes, &limits).images;
    let places: Vec<Location> = images
        .iter()
        .filter(|image| !image.target.family().is_host())
        .map(|image| image.location.clone())
        .collect();
    let Ok(host) = offkit_object::thin("file", bytes, &places, Thinning::default(), &limits, &|_| {}) else {
        return;
    };
    let destination = |place: &Location| Destination {
        pack: 0,
        name: place.path().to_owned(),
    };
    let destinations: BTreeMap<Location, Destination> = places
        .iter()
        .map(|place| (place.clone(), destination(place)))
        .collect();
    let Ok(split) = Split::of("file", bytes, destinations, &limits) else {
        return;
    };
    let Ok((recipe, inexact)) = split.recipe(&host.bytes, false) else {
        return;
    };
    let packed: HashMap<String, Vec<u8>> = split
        .images()
        .into_iter()
        .map(|image| (image.location.path().to_owned(), image.bytes))
        .collect();
    let image = |_: u64, name: &str| packed.get(name).cloned();
    let joined = join("file", &host.bytes, &recipe, &image, &limits).expect("its own recipe");
    assert!(joined.bytes == bytes || !inexact.is_empty());
});
