//! The text form of property sets: what the SYCL toolchain records about a device image.
//!
//! DPC++'s `sycl-post-link` writes it (a `.prop` file for each image), and SYCLBIN files store it.
//!
//! ```text
//! [SYCL/misc properties]
//! optLevel=1|2
//! sanUsed=2|gAAAAAAAAAQYzFmb
//! ```
//!
//! A line `[NAME]` begins a set (the name ends at the last `]`) or goes on with the set of that name;
//! `KEY=TYPE|VALUE` is a property, the key ending at the first `=`. Type 1 is a decimal number; type 2 is
//! base64 with six-bit groups taken from the least significant bit, without padding, of a 64-bit
//! little-endian count of bits followed by the bytes. Empty lines are skipped and lines may end in CR LF.
//! Of a repeated key the last value counts. Empty text is a registry without sets.
//!
//! ```
//! use offkit_object::property_set::{self, PropertySets, names};
//! use offkit_object::Limits;
//!
//! let mut sets = PropertySets::new();
//! sets.insert(names::IMPORTED_SYMBOLS, "library_function", 1);
//! sets.insert(names::MISC_PROPERTIES, "sanUsed", "asan");
//!
//! let text = property_set::to_text(&sets)?;
//! assert_eq!(text, "[SYCL/imported symbols]\nlibrary_function=1|1\n[SYCL/misc properties]\nsanUsed=2|gAAAAAAAAAQYzFmb\n");
//! assert_eq!(property_set::parse(text.as_bytes(), &Limits::default())?, sets);
//! # Ok::<(), offkit_object::Error>(())
//! ```

mod base64;
mod text;

use offkit_image::{Error, Limits};

use crate::reading::Reading;
use crate::source::Source;

pub use offkit_image::property_set::names;
pub use offkit_image::{ByteArray, PropertySet, PropertySets, PropertyValue};
pub(crate) use text::{excerpt, parse_text, write_text};

/// Reads the text form.
///
/// # Errors
///
/// The first line that is none of the format's, with its number and offset; or a limit.
pub fn parse(text: &[u8], limits: &Limits) -> Result<PropertySets, Error> {
    parse_text(Source::new(text), &mut Reading::strict(limits))
}

/// Writes the text form that [`parse`] reads, as DPC++ writes it.
///
/// # Errors
///
/// The text form has no escapes: names and keys with line ends or NUL, empty keys and keys that contain
/// `=` or begin with `[` cannot be written.
#[cfg(feature = "write")]
pub fn to_text(sets: &PropertySets) -> Result<String, Error> {
    write_text(sets)
}
