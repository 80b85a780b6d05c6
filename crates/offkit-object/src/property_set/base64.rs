//! The base64 of property values: the usual alphabet, but six-bit groups are taken from the least significant
//! bit on, and there is no padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Marks a byte that is not in the alphabet.
const INVALID: u8 = 0xff;

const VALUES: [u8; 256] = {
    let mut values = [INVALID; 256];
    let mut value = 0;
    while value < 64 {
        #[expect(
            clippy::indexing_slicing,
            clippy::cast_possible_truncation,
            reason = "evaluated by the compiler"
        )]
        {
            values[ALPHABET[value] as usize] = value as u8;
        }
        value += 1;
    }
    values
};

/// Appends the text of `bytes`.
pub(super) fn encode(bytes: &[u8], out: &mut String) {
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        for (slot, byte) in group.iter_mut().zip(chunk) {
            *slot = *byte;
        }
        let mut bits = u32::from_le_bytes(group);
        // One byte needs two characters, two bytes three, three bytes four.
        for _ in 0..=chunk.len() {
            let value = (bits & 63) as usize;
            out.push(char::from(ALPHABET.get(value).copied().unwrap_or_default()));
            bits >>= 6;
        }
    }
}

/// The bytes of `text`.
///
/// # Errors
///
/// What is wrong, in the words of the toolchain's own decoder, and at which byte.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, (String, usize)> {
    if let Some((position, byte)) = text
        .iter()
        .enumerate()
        .find(|(_, byte)| value_of(**byte).is_none())
    {
        return Err((
            format!("invalid char in Base64Impl encoding: 0x{byte:02x}"),
            position,
        ));
    }
    let mut bytes = Vec::with_capacity(text.len());
    for chunk in text.chunks(4) {
        // All groups before this one were whole: three bytes of four characters each.
        let position = (bytes.len() / 3).saturating_mul(4);
        let bits = chunk
            .iter()
            .rev()
            .filter_map(|byte| value_of(*byte))
            .fold(0_u32, |bits, value| bits << 6 | value);
        let count = match chunk.len() {
            1 => return Err(("invalid encoded sequence length".to_owned(), position)),
            2 => 1,
            3 => 2,
            _ => 3,
        };
        let group = bits.to_le_bytes();
        if group.iter().skip(count).any(|byte| *byte != 0) {
            return Err((
                "invalid characters in the encoded sequence remainder".to_owned(),
                position,
            ));
        }
        bytes.extend(group.iter().take(count));
    }
    Ok(bytes)
}

fn value_of(character: u8) -> Option<u32> {
    let value = VALUES.get(usize::from(character)).copied().unwrap_or(INVALID);
    (value != INVALID).then_some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tail_length_reads_back() {
        for length in 0..10_u8 {
            let bytes: Vec<u8> = (0..length).map(|value| value.wrapping_mul(89) ^ 0xa5).collect();
            let mut text = String::new();
            encode(&bytes, &mut text);
            assert_eq!(text.len(), (bytes.len() * 8).div_ceil(6));
            assert_eq!(decode(text.as_bytes()).unwrap(), bytes);
        }
    }

    #[test]
    fn faults_are_named_as_the_toolchain_names_them() {
        assert_eq!(
            decode(b"AAAA=AAA").unwrap_err(),
            ("invalid char in Base64Impl encoding: 0x3d".to_owned(), 4)
        );
        assert_eq!(
            decode(b"AAAAA").unwrap_err(),
            ("invalid encoded sequence length".to_owned(), 4)
        );
        let remainder = "invalid characters in the encoded sequence remainder".to_owned();
        assert_eq!(decode(b"A/").unwrap_err(), (remainder, 0));
    }
}
