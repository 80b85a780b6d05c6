//! The string table of an offload binary, laid out as LLVM lays out ELF string tables.

use std::collections::{BTreeSet, HashMap};

/// A table of zero-terminated strings in which a string that ends another shares its bytes.
///
/// It begins with a zero byte, which is the empty string. The strings follow in the order of their reversed
/// bytes, greater first and a longer string before its own ending: so the strings that can share are
/// neighbours.
#[derive(Debug)]
pub(super) struct StringTable<'strings> {
    bytes: Vec<u8>,
    offsets: HashMap<&'strings [u8], u64>,
}

impl<'strings> StringTable<'strings> {
    pub(super) fn new(strings: impl IntoIterator<Item = &'strings [u8]>) -> Self {
        let distinct: BTreeSet<&[u8]> = strings.into_iter().collect();
        let mut ordered: Vec<&[u8]> = distinct.into_iter().collect();
        ordered.sort_by(|left, right| right.iter().rev().cmp(left.iter().rev()));

        let mut bytes = vec![0];
        let mut offsets = HashMap::from([([].as_slice(), 0)]);
        let mut previous: &[u8] = &[];
        for string in ordered.into_iter().filter(|string| !string.is_empty()) {
            // `previous` stays the longest one: all that end it follow it at once in this order.
            if !previous.ends_with(string) {
                bytes.extend_from_slice(string);
                bytes.push(0);
                previous = string;
            }
            // The zero byte that was written last, which ends this string in either case.
            let end = bytes.len().saturating_sub(1);
            offsets.insert(string, end.saturating_sub(string.len()) as u64);
        }
        Self { bytes, offsets }
    }

    /// Where a string begins; every string that was given to [`new`](Self::new) is in the table.
    pub(super) fn offset(&self, string: &[u8]) -> u64 {
        self.offsets.get(string).copied().unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'table>(table: &'table StringTable<'_>, string: &str) -> &'table [u8] {
        let rest = &table.bytes()[usize::try_from(table.offset(string.as_bytes())).unwrap()..];
        &rest[..rest.iter().position(|byte| *byte == 0).unwrap()]
    }

    #[test]
    fn every_string_is_found_where_the_table_says() {
        let strings = [
            "arch",
            "triple",
            "nvptx64-nvidia-cuda",
            "cuda",
            "",
            "a",
            "da",
            "cuda",
        ];
        let table = StringTable::new(strings.iter().map(|string| string.as_bytes()));
        for string in strings {
            assert_eq!(at(&table, string), string.as_bytes());
        }
        assert_eq!(table.offset(b""), 0);
        assert_eq!(
            table.bytes().iter().filter(|byte| **byte == 0).count(),
            1 + 3,
            "cuda, da and a share"
        );
    }
}
