//! Tables of symbols: which member defines what.

use std::sync::atomic::{AtomicUsize, Ordering};

use object::{Object, ObjectSymbol, SymbolKind};
use offkit_image::{Error, ErrorKind};

use super::read::Role;
use super::write::Member;
use crate::parallel;

/// How many bytes names of all symbols together may still have: an object can have any number of symbols of one long
/// name. One for all members, which may be read at the same time.
pub(super) struct NameBytes(AtomicUsize);

impl Default for NameBytes {
    fn default() -> Self {
        const MOST: usize = 1 << 30;
        Self(AtomicUsize::new(MOST))
    }
}

impl NameBytes {
    /// Counts a name before it is copied.
    fn count(&self, name: &[u8]) -> Result<(), Error> {
        // Relaxed: no data hang on it.
        let less = |left: usize| left.checked_sub(name.len());
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::new(
                ErrorKind::LimitExceeded,
                "too many symbols for a table",
            )),
        }
    }
}

/// A symbol, and where the header of the member is that defines it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) name: Vec<u8>,
    pub(super) member: u64,
}

/// The symbols that members define, with the number of the member.
pub(super) fn defined_in(members: &[Member<'_>]) -> Result<Vec<(usize, Symbol)>, Error> {
    /// As many members are worth a core.
    const WORTHWHILE: usize = 64;
    let name_bytes = NameBytes::default();
    let names = parallel::map(members.iter().collect(), WORTHWHILE, |member: &Member<'_>| {
        defined_by(member.bytes, &name_bytes)
    });
    let mut symbols = Vec::new();
    for (number, names) in names.into_iter().enumerate() {
        let names = names?.into_iter();
        symbols.extend(names.map(|name| (number, Symbol { name, member: 0 })));
    }
    Ok(symbols)
}

/// The names of the symbols that a member defines for others, in its order; none for what is no object.
pub(super) fn defined_by(bytes: &[u8], name_bytes: &NameBytes) -> Result<Vec<Vec<u8>>, Error> {
    let mut names = Vec::new();
    let Ok(object) = object::File::parse(bytes) else {
        return Ok(names);
    };
    for symbol in object.symbols() {
        let is_special = matches!(symbol.kind(), SymbolKind::File | SymbolKind::Section);
        if is_special || !symbol.is_global() || symbol.is_undefined() {
            continue;
        }
        let Ok(name) = symbol.name_bytes() else {
            continue;
        };
        name_bytes.count(name)?;
        names.push(name.to_vec());
    }
    Ok(names)
}

/// A table that was read.
pub(super) struct Table {
    pub(super) symbols: Vec<Symbol>,
    /// Where in the content the offsets of members are, and how many bytes lie from one to the next.
    offsets_at: usize,
    stride: usize,
}

/// Reads a table of GNU or BSD; `None` when it is damaged.
pub(super) fn read(role: Role, content: &[u8]) -> Option<Table> {
    let (word, first, stride, names_at, count) = match role {
        Role::GnuSymbols(word) => {
            let count = usize::try_from(number(role, content, 0, word)?).ok()?;
            let names_at = count.checked_mul(word)?.checked_add(word)?;
            (word, word, word, names_at, count)
        }
        Role::BsdSymbols(word) => {
            // The size of the pairs in bytes comes first, where GNU's table has the number of symbols. Of a pair the
            // name is first, so that the first member is behind two words.
            let pair = word.checked_mul(2)?;
            let size = usize::try_from(number(role, content, 0, word)?).ok()?;
            // After the pairs comes the size of the names.
            let names_at = size.checked_add(pair)?;
            (word, pair, pair, names_at, size.checked_div(pair)?)
        }
        _ => return None,
    };
    let names = content.get(names_at..)?;
    let mut symbols = Vec::new();
    let mut next_name = 0_usize;
    // Names of BSD may be anywhere: many long ones that share their bytes are no table of anybody's.
    let mut name_bytes_left = content.len();
    for index in 0..count {
        let at = index.checked_mul(stride)?.checked_add(first)?;
        let member = number(role, content, at, word)?;
        // GNU's names are in the order of the symbols; BSD's pairs say where each is.
        let name_at = match role {
            Role::BsdSymbols(_) => {
                usize::try_from(number(role, content, at.checked_sub(word)?, word)?).ok()?
            }
            _ => next_name,
        };
        let rest = names.get(name_at..)?;
        let name = rest.get(..memchr::memchr(0, rest)?)?;
        next_name = name_at.checked_add(name.len())?.checked_add(1)?;
        name_bytes_left = name_bytes_left.checked_sub(name.len())?;
        symbols.push(Symbol {
            name: name.to_vec(),
            member,
        });
    }
    Some(Table {
        symbols,
        offsets_at: first,
        stride,
    })
}

impl Table {
    /// Writes other offsets of members into the content that was read.
    pub(super) fn patch(
        &self,
        role: Role,
        content: &mut [u8],
        moved: impl Fn(u64) -> u64,
    ) -> Result<(), Error> {
        for (index, symbol) in self.symbols.iter().enumerate() {
            let at = index.saturating_mul(self.stride).saturating_add(self.offsets_at);
            put(role, content, at, moved(symbol.member))?;
        }
        Ok(())
    }
}

/// Gives the members in the second table of Windows their new places: a count and that many offsets.
pub(super) fn patch_coff(content: &mut [u8], moved: impl Fn(u64) -> u64) -> Result<(), Error> {
    let count = content
        .first_chunk::<4>()
        .map_or(0, |count| u32::from_le_bytes(*count));
    // The chunks end where the table does, so that a count that is too large does no harm.
    for offset in content.chunks_exact_mut(4).skip(1).take(count as usize) {
        if let Some(place) = offset.first_chunk_mut::<4>() {
            let new = moved(u32::from_le_bytes(*place).into());
            *place = u32::try_from(new).map_err(|_| too_large())?.to_le_bytes();
        }
    }
    Ok(())
}

/// A table of GNU or BSD, without padding.
pub(super) fn write<'a>(
    role: Role,
    symbols: impl ExactSizeIterator<Item = &'a Symbol>,
) -> Result<Vec<u8>, Error> {
    let mut table = Vec::new();
    let mut names = Vec::new();
    match role {
        Role::BsdSymbols(word) => {
            let size = symbols.len().saturating_mul(word).saturating_mul(2);
            push(role, &mut table, size as u64)?;
            for symbol in symbols {
                push(role, &mut table, names.len() as u64)?;
                push(role, &mut table, symbol.member)?;
                names.extend_from_slice(&symbol.name);
                names.push(0);
            }
            push(role, &mut table, names.len() as u64)?;
        }
        _ => {
            push(role, &mut table, symbols.len() as u64)?;
            for symbol in symbols {
                push(role, &mut table, symbol.member)?;
                names.extend_from_slice(&symbol.name);
                names.push(0);
            }
        }
    }
    table.extend(names);
    Ok(table)
}

fn word_of(role: Role) -> usize {
    match role {
        Role::GnuSymbols(word) | Role::BsdSymbols(word) => word,
        _ => 4,
    }
}

fn number(role: Role, content: &[u8], at: usize, word: usize) -> Option<u64> {
    let bytes = content.get(at..at.checked_add(word)?)?;
    let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    Some(match role {
        Role::BsdSymbols(_) => bytes.iter().rev().fold(0, fold),
        _ => bytes.iter().fold(0, fold),
    })
}

fn put(role: Role, content: &mut [u8], at: usize, value: u64) -> Result<(), Error> {
    let mut bytes = Vec::new();
    push(role, &mut bytes, value)?;
    let end = at.saturating_add(bytes.len());
    let place = content.get_mut(at..end).ok_or_else(too_large)?;
    place.copy_from_slice(&bytes);
    Ok(())
}

fn push(role: Role, out: &mut Vec<u8>, value: u64) -> Result<(), Error> {
    let is_wide = word_of(role) == 8;
    // Cutting the number would name another member. The error also tells `write_chunks` to begin
    // again with the wide table.
    let narrow = || u32::try_from(value).map_err(|_| too_large());
    match (role, is_wide) {
        (Role::BsdSymbols(_), true) => out.extend(value.to_le_bytes()),
        (Role::BsdSymbols(_), false) => out.extend(narrow()?.to_le_bytes()),
        (_, true) => out.extend(value.to_be_bytes()),
        (_, false) => out.extend(narrow()?.to_be_bytes()),
    }
    Ok(())
}

fn too_large() -> Error {
    Error::unrepresentable("the archive becomes too large for its table of symbols")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_members_are_counted_together() {
        // A COFF object without sections, with one absolute external symbol.
        let mut object = vec![0; 20];
        object[..2].copy_from_slice(&0x8664_u16.to_le_bytes());
        (object[8], object[12]) = (20, 1);
        object.extend(b"a_symbol\0\0\0\0\xff\xff\0\0\x02\0");
        object.extend(4_u32.to_le_bytes());
        let left = NameBytes(AtomicUsize::new(10));
        assert_eq!(defined_by(&object, &left).unwrap(), [b"a_symbol".to_vec()]);
        let error = defined_by(&object, &left).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn names_that_share_their_bytes_do_not_multiply() {
        let mut table = 800_u32.to_le_bytes().to_vec();
        for index in 0..100_u32 {
            table.extend(index.to_le_bytes());
            table.extend(8_u32.to_le_bytes());
        }
        table.extend(1000_u32.to_le_bytes());
        let names = table.len();
        table.extend([b'a'; 999]);
        table.push(0);
        assert!(
            read(Role::BsdSymbols(4), &table).is_none(),
            "100 names of 900 bytes"
        );
        for index in 0..100 {
            table[names + index * 2 + 1] = 0;
        }
        assert!(read(Role::BsdSymbols(4), &table).is_some());
    }
}
