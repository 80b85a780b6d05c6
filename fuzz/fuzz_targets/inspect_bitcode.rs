//! Any bytes, looked into as LLVM bitcode.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{ImageFormat, Limits, embedded_in_bitcode, header_target, inspect};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    for format in [ImageFormat::Bitcode] {
        let inspection = inspect(bytes, format, &limits);
        // Whatever refers to the same bytes many times, what comes out stays in proportion.
        let names = inspection
            .kernel_names()
            .chain(inspection.imports.iter().map(String::as_str));
        let names = names.chain(inspection.exports.iter().map(String::as_str));
        assert!(names.map(str::len).sum::<usize>() <= 64 * bytes.len() + 16_384);
        let _ = header_target(bytes, format);
    }
    if let Ok(embedded) = embedded_in_bitcode(bytes) {
        assert!(embedded.iter().map(Vec::len).sum::<usize>() <= 16 * bytes.len());
    }
});
