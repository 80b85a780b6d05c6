//! The beginning of what comes out of a block.
//!
//! A block is a row of sequences: a token with two lengths of four bits, literal bytes, and a match, which repeats bytes
//! that came out before. Each length of 15 goes on in the bytes that follow; the last sequence has no match. So a block can
//! be left behind any sequence, which the decoder of whole blocks does not do.

use std::io::{self, ErrorKind};

/// A match has so many bytes more than its token says.
const LEAST_MATCH: usize = 4;

/// The length that goes on in the next bytes.
const MORE: usize = 15;

/// Unpacks the beginning of a block, until `is_enough` says so of what came out, and no more than `most` bytes.
pub(crate) fn front(
    bytes: &[u8],
    most: u64,
    out: &mut Vec<u8>,
    is_enough: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<()> {
    /// After so many bytes more it is asked whether they are enough.
    const PIECE: usize = 1 << 16;
    out.clear();
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut block = Block(bytes);
    let mut asked_at = PIECE;
    while block.sequence(out, most)? {
        if out.len() >= asked_at {
            if is_enough(out) {
                return Ok(());
            }
            asked_at = out.len().saturating_add(PIECE);
        }
    }
    // Asked once more for what it learns from the last bytes; its answer is of no use any more.
    is_enough(out);
    Ok(())
}

/// What is left of a block.
struct Block<'data>(&'data [u8]);

impl<'data> Block<'data> {
    /// Unpacks a sequence; `false` where it was the last one, or what comes out has reached its end.
    fn sequence(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<bool> {
        let token = self.byte()?;
        let literals = self.length((token >> 4).into())?;
        let literals = self.take(literals)?;
        out.extend_from_slice(literals.get(..most.saturating_sub(out.len())).unwrap_or(literals));
        if self.0.is_empty() || out.len() >= most {
            return Ok(false);
        }
        let distance = usize::from(u16::from_le_bytes([self.byte()?, self.byte()?]));
        let length = self.length((token & 0xf).into())?.saturating_add(LEAST_MATCH);
        repeat(out, distance, length.min(most.saturating_sub(out.len())))?;
        Ok(out.len() < most)
    }

    /// A length of which the token has the first four bits.
    fn length(&mut self, first: usize) -> io::Result<usize> {
        let mut length = first;
        if first == MORE {
            loop {
                let more = self.byte()?;
                length = length.saturating_add(more.into());
                if more != u8::MAX {
                    break;
                }
            }
        }
        Ok(length)
    }

    fn byte(&mut self) -> io::Result<u8> {
        let (first, rest) = self.0.split_first().ok_or(ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(*first)
    }

    fn take(&mut self, count: usize) -> io::Result<&'data [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ErrorKind::UnexpectedEof)?;
        self.0 = rest;
        Ok(taken)
    }
}

/// Repeats `length` bytes from `distance` before the end. They may reach into those that are only being repeated, which
/// then come again and again.
fn repeat(out: &mut Vec<u8>, distance: usize, length: usize) -> io::Result<()> {
    // The format forbids a distance of 0, with which each turn below would copy nothing, for ever.
    let start = out.len().checked_sub(distance).filter(|_| distance > 0);
    let start = start.ok_or(ErrorKind::InvalidData)?;
    let mut left = length;
    while left > 0 {
        // All from `start` on, with what was repeated already: what can be copied doubles with each
        // turn, so that a long run of one byte takes few of them.
        let count = left.min(out.len().saturating_sub(start));
        out.extend_from_within(start..start.saturating_add(count));
        left = left.saturating_sub(count);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beginning(block: &[u8], most: u64, enough: usize) -> io::Result<Vec<u8>> {
        let mut out = b"of another block".to_vec();
        front(block, most, &mut out, &mut |out| out.len() >= enough)?;
        Ok(out)
    }

    /// Text that repeats near and far, runs of one byte, and bytes that repeat nothing.
    fn content() -> Vec<u8> {
        let mut state = 1_u32;
        let mut noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        });
        let mut content = Vec::new();
        for number in 0..4000 {
            content.extend(format!(".text.kernel_{}\0", number % 700).bytes());
            content.extend(std::iter::repeat_n(0, number % 40));
            content.extend(noise.by_ref().take(number % 23));
        }
        content
    }

    #[test]
    fn the_beginning_is_that_of_the_whole() {
        let content = content();
        let block = lz4_flex::block::compress(&content);
        let size = content.len() as u64;
        assert_eq!(beginning(&block, size, usize::MAX).unwrap(), content);
        for most in [0, 1, 17, 1000, size - 1, size + 1] {
            let expected = &content[..content.len().min(most as usize)];
            assert_eq!(beginning(&block, most, usize::MAX).unwrap(), expected, "{most}");
        }
        let some = beginning(&block, size, 1).unwrap();
        assert!(some.len() < content.len(), "more was unpacked than was enough");
        assert!(content.starts_with(&some));
    }

    #[test]
    fn damaged_blocks_are_errors_and_bounded() {
        let block = lz4_flex::block::compress(&content()[..3000]);
        for length in 0..block.len() {
            // Behind a sequence a block that was cut looks whole.
            if let Ok(out) = beginning(&block[..length], 3000, usize::MAX) {
                assert!(content().starts_with(&out), "cut to {length}");
            }
        }
        for position in 0..block.len() {
            for bit in 0..8 {
                let mut damaged = block.clone();
                damaged[position] ^= 1 << bit;
                if let Ok(out) = beginning(&damaged, 3000, usize::MAX) {
                    assert!(out.len() <= 3000);
                }
            }
        }
        // A match before anything came out, one of no distance, and lengths beyond all bounds.
        for block in [&b"\x00\x01\x00"[..], b"\x10a\x00\x00\x00", b"\xf0\xff\xff"] {
            assert!(beginning(block, 3000, usize::MAX).is_err(), "{block:?}");
        }
        let long = [&b"\x1fa\x01\x00"[..], &[u8::MAX; 40], b"\0"].concat();
        assert_eq!(beginning(&long, 3000, usize::MAX).unwrap(), [b'a'; 3000]);
    }
}
