//! Any bytes as an array file: what is read is written and read again as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The program is no library, so its module is taken by path.
#[path = "../../crates/offkit/src/array/mod.rs"]
#[allow(dead_code, reason = "only the file format is of interest here")]
mod array;

use array::npy;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(array) = npy::parse(bytes) {
        let written = [npy::header(&array).as_slice(), &array.data].concat();
        assert_eq!(npy::parse(&written), Ok(array));
    }
});
