//! The note in a plugin's file that says which versions it speaks: hosts read it before they load anything.
//!
//! It is an ELF note of [`OWNER`] and [`KIND`], in a section of its own, `.note.offkit.pi`. It has the versions as text,
//! separated by spaces. [`export_plugin!`](crate::export_plugin) adds it to plugins in Rust, `OFFKIT_PI_NOTE` of
//! `offkit_pi.h` to those in C.

use crate::table::Layout;

/// Whose note it is.
pub const OWNER: &str = "offkit";

/// The kind of note, among the owner's.
pub const KIND: u32 = 1;

/// What plugins made with this crate speak.
const OURS: &[u8; 20] = b"2.3 6.8 12.27 15.47\0";

/// A note of this project's, as the file has it.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C, align(4))]
pub struct Note<const LENGTH: usize> {
    name_size: u32,
    size: u32,
    kind: u32,
    name: [u8; 8],
    content: [u8; LENGTH],
}

impl<const LENGTH: usize> Note<LENGTH> {
    pub(crate) const fn new(kind: u32, content: &[u8; LENGTH]) -> Self {
        Self {
            // As ELF has it: with the zero at the end of the name, and without what fills the field
            // up to a multiple of 4.
            name_size: OWNER.len() as u32 + 1,
            size: LENGTH as u32,
            kind,
            name: *b"offkit\0\0",
            content: *content,
        }
    }
}

/// The note of a plugin that is made with this crate.
#[doc(hidden)]
pub type Versions = Note<20>;

impl Versions {
    /// It.
    #[doc(hidden)]
    pub const OURS: Self = Note::new(KIND, OURS);
}

/// Whether [`host`](crate::host) speaks one of the versions that a note has.
///
/// ```
/// use offkit_pi::note::is_spoken;
/// assert!(is_spoken("1.0 12.27"));
/// assert!(!is_spoken("99.1"));
/// ```
pub fn is_spoken(versions: &str) -> bool {
    versions
        .split_whitespace()
        .any(|version| Layout::of_version(version).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_has_all_versions() {
        let versions = Layout::ALL.map(Layout::version).join(" ");
        assert_eq!(OURS.strip_suffix(b"\0"), Some(versions.as_bytes()));
    }
}
