//! Any text as a symbol: its readable form is of bounded length.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::demangle;

/// The longest readable form of a symbol that is not shown as it is.
const LONGEST: usize = 4096;

fuzz_target!(|symbol: &str| {
    let readable = demangle(symbol);
    assert!(readable == symbol || readable.len() <= LONGEST);
});
