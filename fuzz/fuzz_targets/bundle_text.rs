//! Any bytes as an offload bundle in text form.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_object::Limits;
use offkit_object::bundle::{Bundle, Comment, is_text};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits::default();
    if let Ok(bundle) = Bundle::parse_text(bytes, &limits) {
        assert!(bundle.entries.is_empty() || is_text(bytes) || bytes.len() > 1 << 16);
        for comment in [Comment::Slashes, Comment::Hash, Comment::Semicolon] {
            if let Ok(written) = bundle.write_text(comment) {
                assert_eq!(Bundle::parse_text(&written, &limits).as_ref(), Ok(&bundle));
            }
        }
    }
    let _ = offkit_object::read("file", bytes, &limits);
});
