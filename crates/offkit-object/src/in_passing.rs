//! Looking into images one after the other: what comes out of one takes the place of what came out of the one before.

use std::cell::RefCell;
use std::num::NonZero;
use std::sync::LazyLock;
use std::thread::available_parallelism;

use offkit_image::{Code, DeviceImage, Storage};

use crate::compression::inflate_whole_into;

/// Hands over an image whose bytes are at hand as long as it is looked into: of one that is compressed, neither what comes
/// out nor what is found there is kept with `image`. How the code is stored `image` alone tells, not what is handed over.
///
/// Bytes that cannot be unpacked are the same error for whoever asks for them.
///
/// ```
/// use offkit_object::{DeviceImage, in_passing};
///
/// let image = DeviceImage::new(b"\x03\x02\x23\x07".as_slice());
/// assert_eq!(in_passing(&image, |image| image.bytes().map(<[u8]>::len)), Ok(4));
/// ```
pub fn in_passing<R>(image: &DeviceImage<'_>, look: impl FnOnce(&DeviceImage<'_>) -> R) -> R {
    let (Storage::Compressed(method), None) = (image.storage(), image.code.at_hand()) else {
        return look(image);
    };
    with_memory(|content| {
        let mut own = image.clone();
        if inflate_whole_into(content, method, image.stored_bytes(), image.size()).is_ok() {
            own.code = Code::from(content.as_slice());
        }
        look(&own)
    })
}

/// Lends the memory that the thread's last image was unpacked to: new memory for each would come page by page.
pub(crate) fn with_memory<R>(work: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    /// So much is asked for, of which only pages that are written to are taken. glibc gives back blocks of more than 32 MiB
    /// when they are free; of smaller ones it keeps up to twice the largest for each thread beside the memory that is lent:
    /// `offkit size` of PyTorch's wheel took up to 199 MiB.
    const ASKED_FOR: usize = match cfg!(all(target_os = "linux", target_env = "gnu")) {
        true => 33 << 20,
        false => 0,
    };
    thread_local! {
        static CONTENT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    // Taken, not borrowed: who looks into an image may ask for another meanwhile, which gets memory of its own.
    let mut content = CONTENT.take();
    if content.capacity() < ASKED_FOR {
        // The old block goes first. To grow it would copy bytes that nobody needs, and hold both.
        content = Vec::new();
        // Whoever needs it says so where there is none.
        let _ = content.try_reserve_exact(ASKED_FOR);
    }
    let result = work(&mut content);
    // One large image would otherwise keep its memory for as long as the thread lives. By length as
    // well: of the capacity only the pages that were written to are there.
    if content.len() <= kept() && content.capacity() <= kept().max(ASKED_FOR) {
        CONTENT.set(content);
    }
    result
}

/// How much each thread keeps for its next image as long as the program runs: all of them together not more than with the
/// cores of a small machine. With 8 MiB on two cores, pages that come anew took an eighth of the time.
fn kept() -> usize {
    const TOGETHER: usize = 1 << 28;
    static KEPT: LazyLock<usize> = LazyLock::new(|| {
        let threads = available_parallelism().unwrap_or(NonZero::<usize>::MIN);
        (TOGETHER / threads).clamp(1 << 22, 1 << 25)
    });
    *KEPT
}

#[cfg(all(test, feature = "inspect", feature = "lz4", feature = "zstd"))]
mod tests {
    use offkit_image::{Compression, Limits};

    use super::*;
    use crate::compression::inflate_whole;
    use crate::inspect::Inspect;

    #[test]
    fn images_are_unpacked_as_long_as_they_are_looked_into() {
        let ptx = |name: &str| {
            format!(".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry {name}() {{ ret; }}\n")
        };
        let images = [
            ("one_that_is_longer_than_the_next", Compression::Lz4),
            ("two", Compression::Zstd),
            ("three", Compression::Lz4),
            ("four", Compression::Lz4),
        ]
        .map(|(name, method)| {
            let text = ptx(name);
            let stored = match method {
                Compression::Lz4 => lz4_flex::block::compress(text.as_bytes()),
                _ => zstd::bulk::compress(text.as_bytes(), 3).unwrap(),
            };
            let code = Code::compressed(stored, method, text.len() as u64, inflate_whole);
            let mut image = DeviceImage::of_format(code, offkit_image::ImageFormat::Ptx);
            image.offset = Some(7);
            (name, text, image)
        });
        let limits = Limits::default();
        for (name, text, image) in &images {
            in_passing(image, |code| {
                assert_eq!(code.bytes().unwrap(), text.as_bytes());
                assert_eq!(code.kernels(&limits), [*name]);
                // One within the other has memory of its own.
                let (_, other, second) = &images[1];
                in_passing(second, |code| assert_eq!(code.bytes().unwrap(), other.as_bytes()));
                assert_eq!(code.bytes().unwrap(), text.as_bytes());
            });
            assert_eq!(image.code.at_hand(), None, "{name}");
        }
        let (_, text, image) = &images[0];
        for size in [text.len() as u64 - 1, text.len() as u64 + 1] {
            for (_, _, image) in [&images[0], &images[1]] {
                let mut wrong = image.clone();
                let method = image.compression().unwrap();
                wrong.code = Code::compressed(image.stored_bytes(), method, size, inflate_whole);
                assert!(in_passing(&wrong, |code| code.bytes().is_err()));
            }
        }
        assert_eq!(image.bytes().unwrap(), text.as_bytes());
    }
}
