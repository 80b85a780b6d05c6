//! Any bytes as an entry of the cache. Digests that are wrong would hide everything behind them, so the bytes are a header
//! and a content that get right ones.

#![no_main]

use libfuzzer_sys::fuzz_target;
use offkit_cache::{Digest, Entry};

fuzz_target!(|bytes: &[u8]| {
    let _ = Entry::read(bytes.to_vec());
    let (header, content) = bytes.split_at(bytes.len() / 2);
    let header = String::from_utf8_lossy(header).replace("DIGEST", &Digest::of(content).to_string());
    let mut entry = b"offkitC1".to_vec();
    entry.extend((header.len() as u32).to_le_bytes());
    entry.extend(0_u32.to_le_bytes());
    entry.extend((content.len() as u64).to_le_bytes());
    entry.extend(Digest::of(header.as_bytes()).bytes());
    entry.extend(header.as_bytes());
    entry.extend(content);
    if let Ok(entry) = Entry::read(entry) {
        assert_eq!(&*entry, content);
    }
});
