//! Any bytes as an object or program, to be read and to be changed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;
use offkit_object::host::{NewSection, add_sections, device_sections, remove_sections, replace_section};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    let contents = offkit_object::read("file", bytes, &limits);
    for image in &contents.images {
        let written = image.location.to_string();
        assert_eq!(written.parse(), Ok(image.location.clone()));
    }
    let _ = device_sections(bytes, &limits);
    let name = "__CLANG_OFFLOAD_BUNDLE__sycl-spir64";
    // Headers that are changed may have overlapped sections, so that nothing can be said of their contents.
    if let Ok(more) = add_sections(bytes, &[NewSection::excluded(name, b"device code")]) {
        // Nothing can be said of sections that overlap or whose names are nowhere: these may change.
        if let Ok(after) = device_sections(&more, &limits) {
            assert!(
                after
                    .iter()
                    .any(|section| section.name == name && section.bytes == b"device code")
            );
        }
        let _ = replace_section(&more, name, b"other code, which is longer");
        let _ = remove_sections(&more, |other| other == name);
    }
    let _ = replace_section(bytes, ".llvm.offloading", b"short");
    let _ = remove_sections(bytes, |other| other.starts_with(".l"));
});
