//! Any bytes as a kernel: as SPIR-V, or as the text of the form, which must survive being written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_kernel::ir::Module;

fuzz_target!(|bytes: &[u8]| {
    let read = match str::from_utf8(bytes) {
        Ok(text) if text.starts_with("offkit") => Module::from_text(text).ok(),
        _ => offkit_spirv::Module::from_bytes(bytes)
            .ok()
            .and_then(|source| offkit_kernel::read(source.dr()).ok())
            .filter(|module| module.verify().is_ok()),
    };
    let Some(module) = read else { return };
    let text = module.to_string();
    let again = Module::from_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(again == module, "{text}");
});
