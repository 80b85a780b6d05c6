//! Another content for members.

use std::collections::BTreeMap;

use offkit_image::Error;

use super::read::{Entries, HEADER_SIZE, Role, SIZE_FIELD, THIN_MAGIC};
use super::symbols::{self, NameBytes, Symbol};
use super::write::pad;
use crate::source::Source;

/// Nobody writes more, and each gets all symbols of the new member.
const MOST_TABLES: usize = 2;

/// How the names of BSD's tables end whose symbols are in the order of their names.
const SORTED: &[u8] = b" SORTED";

/// A member as it is in the file.
struct Old<'data> {
    /// Where its header is, and where the next begins.
    start: u64,
    end: u64,
    name: &'data [u8],
    role: Role,
    content: &'data [u8],
    content_offset: u64,
}

/// The archive in which the member whose header is at `id` has the content `new`. Other members keep their
/// headers and contents; tables of symbols follow.
pub(super) fn replace(source: Source<'_>, id: usize, new: &[u8]) -> Result<Vec<u8>, Error> {
    replace_all(source, &BTreeMap::from([(id as u64, new)]))
}

/// The same for several members, by the places of their headers.
pub(super) fn replace_all(source: Source<'_>, new: &BTreeMap<u64, &[u8]>) -> Result<Vec<u8>, Error> {
    if source.bytes().starts_with(THIN_MAGIC) {
        return Err(Error::unsupported(
            "members of a thin archive are files of their own",
        ));
    }
    let members = read(source)?;
    let file_at = |start: u64| {
        let is_it = |member: &&Old<'_>| member.start == start && member.role == Role::File;
        let found = members.iter().find(is_it);
        found.ok_or_else(|| Error::malformed("there is no such member").at(start))
    };
    // Readers could not tell any more where such members begin, once others are of another size.
    if let Some(odd) = members.iter().find(|member| member.start % 2 != 0) {
        return Err(
            Error::unrepresentable("members of an archive without padding cannot be replaced")
                .at(odd.start)
                .expecting("headers at even offsets"),
        );
    }
    // Tables are written anew only where a member defines other symbols; else nothing but offsets in them changes.
    let mut new_names = Vec::new();
    let name_bytes = NameBytes::default();
    for (start, new) in new {
        let names = symbols::defined_by(new, &name_bytes)?;
        // The old ones are not kept.
        if symbols::defined_by(file_at(*start)?.content, &NameBytes::default())? != names {
            new_names.push((*start, names));
        }
    }

    let tables = tables_of(&members, &new_names)?;
    // Where each header goes, by where it was.
    let first = members.first().map_or(0, |member| member.start);
    // All before anything is written: tables come first, and have the places of the members behind them.
    let mut places = Vec::with_capacity(members.len());
    let mut place = first;
    for (member, table) in members.iter().zip(&tables) {
        places.push((member.start, place));
        let content = match table {
            Some(table) => table.len(),
            None => new
                .get(&member.start)
                .map_or(member.content.len(), |new| new.len()),
        };
        let before = member.content_offset.saturating_sub(member.start);
        // A content of the same size takes the room that the old one took, whatever the writer put
        // behind it: `push` copies that as well.
        place = if content == member.content.len() {
            place.saturating_add(member.end.saturating_sub(member.start))
        } else {
            let end = place.saturating_add(before).saturating_add(content as u64);
            end.saturating_add(end % 2)
        };
    }
    // A table may name a place where no member is. That was wrong before, and stays as it was.
    let moved = |old: u64| match places.binary_search_by_key(&old, |(old, _)| *old) {
        Ok(index) => places.get(index).map_or(old, |(_, new)| *new),
        Err(_) => old,
    };

    let mut out = source.get(0, first).map_or(&[][..], Source::bytes).to_vec();
    for (member, table) in members.iter().zip(tables) {
        if let Some(mut table) = table {
            match member.role {
                Role::CoffSymbols => symbols::patch_coff(&mut table, moved)?,
                role => {
                    if let Some(read) = symbols::read(role, &table) {
                        read.patch(role, &mut table, moved)?;
                    }
                }
            }
            push(&mut out, source, member, &table)?;
        } else if let Some(new) = new.get(&member.start) {
            push(&mut out, source, member, new)?;
        } else {
            let size = member.end.saturating_sub(member.start);
            out.extend_from_slice(source.get(member.start, size).map_or(&[], Source::bytes));
        }
    }
    Ok(out)
}

fn read(source: Source<'_>) -> Result<Vec<Old<'_>>, Error> {
    let mut entries = Entries::new(source)?;
    let mut members = Vec::new();
    loop {
        let start = entries.position();
        let Some(entry) = entries.next()? else {
            return Ok(members);
        };
        if let Some(error) = entries.take_fault() {
            return Err(error);
        }
        members.push(Old {
            start,
            end: entries.position().min(source.len()),
            name: entry.name,
            role: entry.role,
            content: entry.content.bytes(),
            content_offset: entry.content.at(0).saturating_sub(source.at(0)),
        });
    }
}

/// The new content of each member that is a table of symbols, with the old places of members; `new_names` are the
/// symbols of members that define others than before.
fn tables_of(members: &[Old<'_>], new_names: &[(u64, Vec<Vec<u8>>)]) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let is_table = |member: &&Old<'_>| !matches!(member.role, Role::File | Role::Other);
    if !new_names.is_empty() && members.iter().filter(is_table).count() > MOST_TABLES {
        return Err(Error::unsupported(
            "the member defines other symbols, and the archive has many symbol tables",
        )
        .expecting(format!("at most {MOST_TABLES}")));
    }
    let is_of_windows = members.iter().any(|member| member.role == Role::CoffSymbols);
    let tables = members.iter().map(|old| {
        if matches!(old.role, Role::File | Role::Other) {
            return Ok(None);
        }
        let damaged = || Error::malformed("symbol table of the archive is damaged").at(old.content_offset);
        match (new_names, old.role) {
            ([_, ..], _) if is_of_windows => Err(Error::unrepresentable(
                "the member defines other symbols, and the symbol table of Windows cannot be changed",
            )),
            ([_, ..], role) => {
                let table = symbols::read(role, old.content).ok_or_else(damaged)?;
                let mut symbols = table.symbols;
                for (member, names) in new_names {
                    symbols = exchange(symbols, *member, names);
                }
                // Linkers search such a table by halves.
                if old.name.ends_with(SORTED) {
                    symbols.sort_by(|one, other| one.name.cmp(&other.name));
                }
                let mut content = symbols::write(role, symbols.iter())?;
                // As llvm-ar pads a table: the size in its header counts these zeros.
                let unit = if matches!(role, Role::BsdSymbols(_)) { 8 } else { 2 };
                content.resize(content.len().next_multiple_of(unit), 0);
                Ok(Some(content))
            }
            ([], Role::CoffSymbols) => Ok(Some(old.content.to_vec())),
            ([], role) => match symbols::read(role, old.content) {
                Some(_) => Ok(Some(old.content.to_vec())),
                None => Err(damaged()),
            },
        }
    });
    tables.collect()
}

/// The symbols with those of one member exchanged, in the order of members.
fn exchange(symbols: Vec<Symbol>, member: u64, names: &[Vec<u8>]) -> Vec<Symbol> {
    let new = names.iter().map(|name| Symbol {
        name: name.clone(),
        member,
    });
    // By the order of members, not by what is taken out: the member may have defined nothing
    // before, and then there is nothing in whose place its symbols could go.
    let place = symbols.iter().position(|symbol| symbol.member >= member);
    let place = place.unwrap_or(symbols.len());
    let (before, after) = symbols.split_at_checked(place).unwrap_or((&symbols, &[]));
    let others = |symbol: &&Symbol| symbol.member != member;
    before
        .iter()
        .cloned()
        .chain(new)
        .chain(after.iter().filter(others).cloned())
        .collect()
}

/// Appends a member with another content under its old header, but for the size.
fn push(out: &mut Vec<u8>, source: Source<'_>, member: &Old<'_>, content: &[u8]) -> Result<(), Error> {
    let before = member.content_offset.saturating_sub(member.start);
    let head = source.get(member.start, before).map_or(&[][..], Source::bytes);
    // With the padding as it is, which need not be what is written here.
    if content.len() == member.content.len() {
        out.extend_from_slice(head);
        out.extend_from_slice(content);
        let padding = member.content_offset.saturating_add(content.len() as u64);
        let size = member.end.saturating_sub(padding);
        out.extend_from_slice(source.get(padding, size).map_or(&[], Source::bytes));
        return Ok(());
    }
    let name = before.saturating_sub(HEADER_SIZE);
    let size = name.saturating_add(content.len() as u64).to_string();
    let start = out.len();
    out.extend_from_slice(head);
    let field = start.saturating_add(SIZE_FIELD.start)..start.saturating_add(SIZE_FIELD.end);
    let width = SIZE_FIELD.len();
    match out.get_mut(field) {
        Some(place) if size.len() <= width => place.copy_from_slice(format!("{size:width$}").as_bytes()),
        _ => return Err(Error::unrepresentable("new content is too large for an archive").finding(size)),
    }
    out.extend_from_slice(content);
    pad(out);
    Ok(())
}
