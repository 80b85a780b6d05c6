//! Any bytes as the text of property sets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{Limits, PropertySets};

fuzz_target!(|text: &[u8]| {
    let limits = Limits::default();
    if let Ok(sets) = PropertySets::parse(text, &limits) {
        let written = sets.to_text().expect("whatever was read can be written");
        assert_eq!(PropertySets::parse(written.as_bytes(), &limits), Ok(sets));
    }
});
