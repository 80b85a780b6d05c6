//! Whether compressed files may have device code in them: most members of a package have none, and are passed over
//! after a look at their first bytes.

use offkit_image::Compression;

use crate::compression::{zlib, zstd};
use crate::container::looks_like_device_code;
use crate::part::{Content, Part};

/// The bytes by which a member is judged: enough to get behind the comment that device assembly begins with.
const HEAD: usize = 1 << 10;

/// Compressed bytes that are read for the head; it never takes more when there is anything to compress.
const COMPRESSED_HEAD: usize = 1 << 12;

/// Looks at the first bytes of compressed files, with one decompressor for all.
#[derive(Default)]
pub(crate) struct Heads(Option<zlib::Heads>);

impl Heads {
    /// Whether it is worth to decompress a part: whether a file may be or hold device code. Other parts are what their
    /// container says. One that cannot be decompressed is of interest: whoever opens it gets the error.
    pub(crate) fn are_of_interest(&mut self, part: &Part<'_>) -> bool {
        let Some(coding) = part.coding.filter(|_| part.content == Content::File) else {
            return true;
        };
        let stored = part.stored.bytes();
        match coding.compression {
            Compression::Deflate => {
                let heads = self.0.get_or_insert_with(|| zlib::Heads::new(HEAD));
                // Cut, as a hostile stream need not give as much: one of empty blocks would be gone
                // through to its end.
                let head = heads.of(stored.get(..COMPRESSED_HEAD).unwrap_or(stored));
                head.is_none_or(looks_like_device_code)
            }
            Compression::Zstd => zstd::head(stored, HEAD).is_none_or(|head| looks_like_device_code(&head)),
            _ => true,
        }
    }
}
