//! Writing archives.

use std::collections::HashMap;
use std::fmt;
use std::io::Write;

use offkit_image::Error;

use super::read::{HEADER_LENGTH, MAGIC, Role};
use super::symbols::{self, Symbol};
use crate::chunks::Chunks;
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
    write_chunks(members, kind).map(Chunks::into_bytes)
}

/// As [`write()`], without copying large members.
///
/// # Errors
///
/// As [`write()`].
pub fn write_chunks<'data>(members: &[Member<'data>], kind: ArchiveKind) -> Result<Chunks<'data>, Error> {
    members.iter().try_for_each(|member| check_name(member.name))?;
    let mut symbols = symbols::defined_in(members)?;
    let narrow = write_with(members, kind, &mut symbols, 4);
    match narrow {
        // Offsets beyond 4 GiB need the wide table.
        Err(_) if !symbols.is_empty() => write_with(members, kind, &mut symbols, 8),
        result => result,
    }
}

/// Writes the archive with a table of symbols whose numbers have `word` bytes.
fn write_with<'data>(
    members: &[Member<'data>],
    kind: ArchiveKind,
    symbols: &mut [(usize, Symbol)],
    word: usize,
) -> Result<Chunks<'data>, Error> {
    let mut names = Names::default();
    if kind == ArchiveKind::Gnu {
        members.iter().for_each(|member| names.add(member.name));
    }
    let role = match kind {
        ArchiveKind::Gnu => Role::GnuSymbols(word),
        ArchiveKind::Bsd => Role::BsdSymbols(word),
    };
    let head = |symbols: &[(usize, Symbol)]| {
        let mut head = MAGIC.to_vec();
        if !symbols.is_empty() {
            write_table(&mut head, role, symbols)?;
        }
        names.write(&mut head).map(|()| head)
    };
    // Of the table only the content depends on where members are; its size does not.
    let first = head(symbols)?.len();
    let mut body = Chunks::new();
    let mut offsets = Vec::with_capacity(members.len());
    for member in members {
        let offset = body.len().saturating_add(first as u64);
        offsets.push(offset);
        write_member(&mut body, offset, member, kind, &names)?;
    }
    for (number, symbol) in symbols.iter_mut() {
        symbol.member = offsets.get(*number).copied().unwrap_or_default();
    }
    let mut out = Chunks::new();
    out.copy(&head(symbols)?);
    out.append(body);
    Ok(out)
}

fn write_table(out: &mut Vec<u8>, role: Role, symbols: &[(usize, Symbol)]) -> Result<(), Error> {
    let mut table = symbols::write(role, symbols.iter().map(|(_, symbol)| symbol))?;
    let name = match role {
        Role::BsdSymbols(8) => "__.SYMDEF_64",
        Role::BsdSymbols(_) => "__.SYMDEF",
        Role::GnuSymbols(8) => "/SYM64/",
        _ => "/",
    };
    if let Role::BsdSymbols(_) = role {
        // As llvm-ar has it, the size in the header counts the padding of a table, which it does not for files.
        pad_to_8(&mut table);
    } else {
        // Of GNU's table the size counts the padding as well, which is a zero here and no line
        // feed: it lies within the names.
        table.resize(table.len().next_multiple_of(2), 0);
    }
    let member = Member {
        // As llvm-ar has it: a table is no file that anybody takes out.
        mode: 0,
        ..Member::new(name, &table)
    };
    if let Role::BsdSymbols(_) = role {
        let offset = out.len() as u64;
        let padding = push_bsd_header(out, offset, &member)?;
        out.resize(out.len().saturating_add(padding), 0);
    } else {
        push_header(out, format_args!("{name}"), &member, table.len())?;
    }
    out.extend(table);
    if let Role::BsdSymbols(_) = role {
        pad(out);
    }
    Ok(())
}

/// Writes a member whose header is at `offset` in the archive.
fn write_member<'data>(
    out: &mut Chunks<'data>,
    offset: u64,
    member: &Member<'data>,
    kind: ArchiveKind,
    names: &Names,
) -> Result<(), Error> {
    let mut header = Vec::with_capacity(HEADER_LENGTH);
    match (kind, names.places.get(member.name)) {
        (ArchiveKind::Bsd, _) => {
            let padding = push_bsd_header(&mut header, offset, member)?;
            header.resize(header.len().saturating_add(padding), 0);
        }
        (ArchiveKind::Gnu, Some(place)) => {
            push_header(&mut header, format_args!("/{place}"), member, member.bytes.len())?;
        }
        (ArchiveKind::Gnu, None) => {
            push_header(
                &mut header,
                format_args!("{}/", member.name),
                member,
                member.bytes.len(),
            )?;
        }
    }
    out.copy(&header);
    out.push(member.bytes);
    if !out.len().is_multiple_of(2) {
        out.copy(b"\n");
    }
    Ok(())
}

/// A header and the name behind it, for a member whose header is at `offset`; how many zeros must follow so that
/// the content is at a multiple of 8.
fn push_bsd_header(out: &mut Vec<u8>, offset: u64, member: &Member<'_>) -> Result<usize, Error> {
    let start = usize::try_from(offset % 8).unwrap_or_default();
    let content = start
        .saturating_add(HEADER_LENGTH)
        .saturating_add(member.name.len());
    let padding = content.next_multiple_of(8).saturating_sub(content);
    let name_size = member.name.len().saturating_add(padding);
    let size = name_size.saturating_add(member.bytes.len());
    push_header(out, format_args!("#1/{name_size}"), member, size)?;
    out.extend_from_slice(member.name.as_bytes());
    Ok(padding)
}

fn push_header(
    out: &mut Vec<u8>,
    name: fmt::Arguments<'_>,
    member: &Member<'_>,
    size: usize,
) -> Result<(), Error> {
    // Systems have owners that headers have no room for; their numbers are cut.
    let owner = |number: u32| number.checked_rem(1_000_000).unwrap_or_default();
    push_field(out, 16, name)?;
    push_field(out, 12, format_args!("{}", member.mtime))?;
    push_field(out, 6, format_args!("{}", owner(member.uid)))?;
    push_field(out, 6, format_args!("{}", owner(member.gid)))?;
    push_field(out, 8, format_args!("{:o}", member.mode))?;
    push_field(out, 10, format_args!("{size}"))?;
    out.extend_from_slice(b"`\n");
    Ok(())
}

/// Text in so many bytes, whatever characters it has.
fn push_field(out: &mut Vec<u8>, width: usize, text: fmt::Arguments<'_>) -> Result<(), Error> {
    let end = out.len().saturating_add(width);
    // A vector takes everything.
    let _ = out.write_fmt(text);
    if out.len() > end {
        return Err(
            Error::unrepresentable("value is too long for an archive member header")
                .expecting(format!("at most {width} characters"))
                .finding(text),
        );
    }
    out.resize(end, b' ');
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
        // Readers would take another slash for that one. Members of one name share their place in
        // the table, as in llvm-ar's archives.
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
