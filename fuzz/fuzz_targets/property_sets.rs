//! Any bytes as the text of property sets.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{Limits, property_set};

fuzz_target!(|text: &[u8]| {
    let limits = Limits::default();
    if let Ok(sets) = property_set::parse(text, &limits) {
        let written = property_set::to_text(&sets).expect("whatever was read can be written");
        assert_eq!(property_set::parse(written.as_bytes(), &limits), Ok(sets));
    }
});
