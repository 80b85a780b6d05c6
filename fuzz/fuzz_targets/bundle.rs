//! Any bytes as offload bundles, and as a file of unknown format.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;
use offkit_object::bundle::{Bundle, CompressedBundle};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    if let Ok(bundle) = Bundle::parse(bytes, &limits) {
        // Entries may overlap in the file, so that what is written can be much larger.
        if bundle.entries.len() <= 64 {
            let written = bundle.write(8).expect("whatever was read can be written");
            assert_eq!(Bundle::parse(&written, &limits), Ok(bundle));
        }
    }
    if let Ok(compressed) = CompressedBundle::parse(bytes) {
        if let Ok(content) = compressed.decompress(&limits) {
            let written = CompressedBundle::write(&content, compressed.version, compressed.compression, None);
            let written = written.expect("whatever was read can be written");
            let again = CompressedBundle::parse(&written).expect("what is written can be read");
            assert_eq!(again.decompress(&limits), Ok(content));
        }
    }
    let all = Bundle::parse_all(bytes, &limits);
    let contents = offkit_object::read("file", bytes, &limits);
    if let (Ok(all), Some(true)) = (all, bytes.first().map(|byte| *byte != 0)) {
        let entries: usize = all.iter().map(|bundle| bundle.entries.len()).sum();
        assert!(entries == 0 || contents.images.len() + contents.problems.len() > 0);
    }
});
