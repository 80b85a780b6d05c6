//! What fills are made of.

use core::fmt::{self, Debug, Formatter};
use core::ops::Deref;

/// As many bytes as the pattern of a buffer can have.
const FEW: usize = 128;

/// The bytes that a fill repeats: a copy, as the host may use its own for something else once the call has returned.
///
/// They lie in the value and move with it, so that a fill costs no allocation; only a pattern of more than 128 bytes, which
/// is for rows of unified shared memory alone, lies elsewhere.
#[derive(Clone)]
pub struct Pattern(Bytes);

#[derive(Clone)]
enum Bytes {
    Few([u8; FEW], usize),
    Many(Box<[u8]>),
}

impl From<&[u8]> for Pattern {
    fn from(bytes: &[u8]) -> Pattern {
        let mut few = [0; FEW];
        Pattern(match few.get_mut(..bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                Bytes::Few(few, bytes.len())
            }
            None => Bytes::Many(bytes.into()),
        })
    }
}

impl Deref for Pattern {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Few(bytes, size) => &bytes[..*size],
            Bytes::Many(bytes) => bytes,
        }
    }
}

impl Debug for Pattern {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}
