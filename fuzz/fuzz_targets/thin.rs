//! Any bytes as a file from which images are left out.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::zip::with_local_version;
use offkit_object::{Limits, Location, Thinning};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let contents = offkit_object::read("file", bytes, &limits);
    let places: Vec<Location> = contents.images.iter().map(|image| image.location.clone()).collect();
    // Half of the images, or all of a file that has one.
    let dropped: Vec<Location> = places.iter().step_by(2).cloned().collect();
    for in_place in [false, true] {
        let thinning = Thinning::default().in_place(in_place);
        if let Ok(thinned) = offkit_object::thin("file", bytes, &dropped, thinning, &limits, &|_| {}) {
            let after = offkit_object::read("file", &thinned.bytes, &limits);
            assert!(dropped.is_empty() || after.images.len() < places.len());
        }
    }
    let _ = with_local_version(bytes, "thin", &limits);
});
