//! Any bytes as the object of a compiled kernel, laid out for both machines. Whatever is wrong is an error.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_plugin_cpu::code::{Image, Machine};

fuzz_target!(|bytes: &[u8]| {
    for (machine, page) in [(Machine::X86_64, 4096), (Machine::Aarch64, 65536)] {
        if let Ok(image) = Image::of_object(bytes, machine, page) {
            assert!(image.bytes().len().is_multiple_of(page));
            assert!(image.code_size() <= image.bytes().len());
            for function in image.functions() {
                assert!(function.offset + function.size <= image.code_size());
            }
        }
    }
});
