//! Whether compressed files may have device code in them: most members of a package have none, and are passed over
//! after a look at their first bytes.

use std::io::Read;

use flate2::{Decompress, FlushDecompress};
use offkit_image::Compression;

use crate::container::looks_like_device_code;
use crate::part::{Content, Part};

/// The bytes by which a member is judged: enough to get behind the comment that device assembly begins with.
const HEAD: usize = 1 << 10;

/// Compressed bytes that are read for the head; it never takes more when there is anything to compress.
const COMPRESSED_HEAD: usize = 1 << 12;

/// Looks at the first bytes of compressed files, with one decompressor for all.
#[derive(Default)]
pub(crate) struct Heads {
    inflater: Option<Decompress>,
    head: Vec<u8>,
}

impl Heads {
    /// Whether it is worth to decompress a part: whether a file may be or hold device code. Other parts are what their
    /// container says. One that cannot be decompressed is of interest: whoever opens it gets the error.
    pub(crate) fn are_of_interest(&mut self, part: &Part<'_>) -> bool {
        let Some(coding) = part.coding.filter(|_| part.content == Content::File) else {
            return true;
        };
        let stored = part.stored.bytes();
        let length = match coding.compression {
            Compression::Deflate => {
                let inflater = self.inflater.get_or_insert_with(|| Decompress::new(false));
                inflater.reset(false);
                self.head.resize(HEAD, 0);
                let input = stored.get(..COMPRESSED_HEAD).unwrap_or(stored);
                match inflater.decompress(input, &mut self.head, FlushDecompress::Sync) {
                    Ok(_) => usize::try_from(inflater.total_out()).unwrap_or(usize::MAX),
                    Err(_) => return true,
                }
            }
            Compression::Zstd => {
                let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(stored) else {
                    return true;
                };
                let mut head = Vec::new();
                if decoder.take(HEAD as u64).read_to_end(&mut head).is_err() {
                    return true;
                }
                return looks_like_device_code(&head);
            }
            Compression::Zlib | Compression::Lz4 => return true,
        };
        looks_like_device_code(self.head.get(..length).unwrap_or(&self.head))
    }
}
