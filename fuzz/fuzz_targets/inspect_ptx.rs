//! Any bytes, looked into as PTX.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::{ImageFormat, Limits, header_target, inspect};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    for format in [ImageFormat::Ptx] {
        let inspection = inspect(bytes, format, &limits);
        // Whatever refers to the same bytes many times, what comes out stays in proportion.
        let names = inspection.kernel_names().chain(inspection.imports.iter().map(String::as_str));
        let names = names.chain(inspection.exports.iter().map(String::as_str));
        assert!(names.map(str::len).sum::<usize>() <= 64 * bytes.len() + 16_384);
        let _ = header_target(bytes, format);
    }
});
