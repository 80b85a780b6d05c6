//! Writing archives.

use std::collections::HashMap;

use super::read::{HEADER_LENGTH, MAGIC, Role};
use super::symbols::{self, Collector, Symbol};
use crate::error::Error;
use crate::layout::pad_to_8;

/// A member of an archive to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'a> {
    /// The file's name, without its folder.
    pub name: &'a str,
    /// The content.
    pub bytes: &'a [u8],
    /// When it was last changed, in seconds since 1970.
    pub mtime: u64,
    /// The owner's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// Permissions.
    pub mode: u32,
}

impl<'a> Member<'a> {
    /// A member with what deterministic archives have in the header: no time, no owner, mode 644.
    #[must_use]
    pub fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Self {
            name,
            bytes,
            mtime: 0,
            uid: 0,
            gid: 0,
            mode: 0o644,
        }
    }
}

/// The conventions for long names and symbol tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ArchiveKind {
    /// GNU's, as on Linux.
    #[default]
    Gnu,
    /// BSD's.
    Bsd,
}

/// Writes an archive with a table of the symbols that its ELF, COFF and Mach-O members define, as `llvm-ar rcsD`
/// does. Symbols of members in LLVM bitcode are not in the table.
///
/// ```
/// use offkit_object::archive::{ArchiveKind, Member, members, write};
///
/// let archive = write(&[Member::new("a.txt", b"text")], ArchiveKind::Gnu)?;
/// assert_eq!(archive, b"!<arch>\na.txt/          0           0     0     644     4         `\ntext");
/// assert_eq!(members(&archive, &Default::default())?[0].name, b"a.txt");
/// # Ok::<(), offkit_object::Error>(())
/// ```
///
/// # Errors
///
/// Names and numbers that headers have no room for.
pub fn write(members: &[Member<'_>], kind: ArchiveKind) -> Result<Vec<u8>, Error> {
    let mut collector = Collector::default();
    let mut symbols = Vec::new();
    for (number, member) in members.iter().enumerate() {
        check_name(member.name)?;
        for name in collector.defined_in(member.bytes)? {
            symbols.push(Symbol {
                name,
                member: number as u64,
            });
        }
    }
    let narrow = write_with(members, kind, &symbols, 4);
    match narrow {
        // Offsets beyond 4 GiB need the wide table.
        Err(_) if !symbols.is_empty() => write_with(members, kind, &symbols, 8),
        result => result,
    }
}

/// Writes the archive with a table of symbols whose numbers have `word` bytes; these symbols name members by
/// their number.
fn write_with(
    members: &[Member<'_>],
    kind: ArchiveKind,
    symbols: &[Symbol],
    word: usize,
) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    let mut names = Names::default();
    if kind == ArchiveKind::Gnu {
        members.iter().for_each(|member| names.add(member.name));
    }
    names.write(&mut body)?;
    // Of the table only the content depends on where members are; its size does not.
    let role = match kind {
        ArchiveKind::Gnu => Role::GnuSymbols(word),
        ArchiveKind::Bsd => Role::BsdSymbols(word),
    };
    let mut out = MAGIC.to_vec();
    if !symbols.is_empty() {
        write_table(&mut out, role, symbols)?;
    }
    let first = out.len();
    let mut offsets = Vec::with_capacity(members.len());
    out.append(&mut body);
    for member in members {
        offsets.push(out.len() as u64);
        write_member(&mut out, member, kind, &names)?;
    }
    if !symbols.is_empty() {
        let placed: Vec<Symbol> = symbols
            .iter()
            .map(|symbol| Symbol {
                name: symbol.name.clone(),
                member: usize::try_from(symbol.member)
                    .ok()
                    .and_then(|number| offsets.get(number).copied())
                    .unwrap_or_default(),
            })
            .collect();
        let mut head = MAGIC.to_vec();
        write_table(&mut head, role, &placed)?;
        out.splice(..first, head);
    }
    Ok(out)
}

fn write_table(out: &mut Vec<u8>, role: Role, symbols: &[Symbol]) -> Result<(), Error> {
    let mut table = symbols::write(role, symbols)?;
    match role {
        Role::BsdSymbols(word) => {
            pad_to_8(&mut table);
            let name = if word == 8 { "__.SYMDEF_64" } else { "__.SYMDEF" };
            let member = Member {
                mode: 0,
                ..Member::new(name, &table)
            };
            write_bsd_member(out, &member)
        }
        _ => {
            table.resize(table.len().next_multiple_of(2), 0);
            let name = if role == Role::GnuSymbols(8) {
                "/SYM64/"
            } else {
                "/"
            };
            let member = Member {
                mode: 0,
                ..Member::new(name, &table)
            };
            push_header(out, name, &member, table.len())?;
            out.extend(table);
            Ok(())
        }
    }
}

fn write_member(
    out: &mut Vec<u8>,
    member: &Member<'_>,
    kind: ArchiveKind,
    names: &Names,
) -> Result<(), Error> {
    match kind {
        ArchiveKind::Bsd => write_bsd_member(out, member),
        ArchiveKind::Gnu => {
            let field = match names.places.get(member.name) {
                Some(place) => format!("/{place}"),
                None => format!("{}/", member.name),
            };
            push_header(out, &field, member, member.bytes.len())?;
            out.extend_from_slice(member.bytes);
            pad(out);
            Ok(())
        }
    }
}

/// The name is before the content, padded so that the content is at a multiple of 8.
fn write_bsd_member(out: &mut Vec<u8>, member: &Member<'_>) -> Result<(), Error> {
    let content = out
        .len()
        .saturating_add(HEADER_LENGTH)
        .saturating_add(member.name.len());
    let padding = content.next_multiple_of(8).saturating_sub(content);
    let name_size = member.name.len().saturating_add(padding);
    let size = name_size.saturating_add(member.bytes.len());
    push_header(out, &format!("#1/{name_size}"), member, size)?;
    out.extend_from_slice(member.name.as_bytes());
    out.resize(out.len().saturating_add(padding), 0);
    out.extend_from_slice(member.bytes);
    pad(out);
    Ok(())
}

fn push_header(out: &mut Vec<u8>, name: &str, member: &Member<'_>, size: usize) -> Result<(), Error> {
    let fields = [
        (16, name.to_owned()),
        (12, member.mtime.to_string()),
        // Systems have owners that headers have no room for; their numbers are cut.
        (
            6,
            member.uid.checked_rem(1_000_000).unwrap_or_default().to_string(),
        ),
        (
            6,
            member.gid.checked_rem(1_000_000).unwrap_or_default().to_string(),
        ),
        (8, format!("{:o}", member.mode)),
        (10, size.to_string()),
    ];
    for (width, text) in fields {
        if text.len() > width {
            return Err(
                Error::unrepresentable("value is too long for an archive member header")
                    .expecting(format!("at most {width} characters"))
                    .finding(text),
            );
        }
        // Widths are bytes, whatever characters a name has.
        let end = out.len().saturating_add(width);
        out.extend_from_slice(text.as_bytes());
        out.resize(end, b' ');
    }
    out.extend_from_slice(b"`\n");
    Ok(())
}

pub(super) fn pad(out: &mut Vec<u8>) {
    if !out.len().is_multiple_of(2) {
        out.push(b'\n');
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    if name.is_empty() || name.contains(['\0', '\n']) {
        return Err(
            Error::unrepresentable("not a name for a member of an archive").finding(name.escape_default())
        );
    }
    Ok(())
}

/// The table of the names that have no room in headers.
#[derive(Default)]
struct Names {
    places: HashMap<String, usize>,
    table: Vec<u8>,
}

impl Names {
    fn add(&mut self, name: &str) {
        // One character of the 16 is the slash at the end.
        if name.len() < 16 && !name.contains('/') || self.places.contains_key(name) {
            return;
        }
        self.places.insert(name.to_owned(), self.table.len());
        self.table.extend_from_slice(name.as_bytes());
        self.table.extend_from_slice(b"/\n");
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.table.is_empty() {
            return Ok(());
        }
        let size = self.table.len().next_multiple_of(2).to_string();
        if size.len() > 10 {
            return Err(Error::unrepresentable("too many long names for an archive"));
        }
        out.extend_from_slice(format!("{:48}{size:10}`\n", "//").as_bytes());
        out.extend_from_slice(&self.table);
        pad(out);
        Ok(())
    }
}
