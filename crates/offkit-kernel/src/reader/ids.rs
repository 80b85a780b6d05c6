//! Maps by id.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use offkit_spirv::grammar::Word;

/// What is known of ids. They are small numbers, one after the other, and hash as what they are: of ids below the
/// 2^22 that a module may have, too few can share a place to take long.
pub(super) type IdMap<T> = HashMap<Word, T, BuildHasherDefault<IdHasher>>;

/// The hash of an id.
#[derive(Default)]
pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, id: u32) {
        // The map looks at the lowest bits, and at the highest.
        self.0 = u64::from(id) | u64::from(id) << 57;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
