//! From one member's header to the next.

use offkit_image::{Error, ErrorKind};

use crate::source::Source;

pub(super) const MAGIC: &[u8] = b"!<arch>\n";
pub(super) const THIN_MAGIC: &[u8] = b"!<thin>\n";

pub(super) const HEADER_SIZE: u64 = 60;
/// The same, for what is in memory.
pub(super) const HEADER_LENGTH: usize = 60;
/// Where the size is in a header.
pub(super) const SIZE_FIELD: std::ops::Range<usize> = 48..58;
const TERMINATOR: &[u8] = b"`\n";

/// Names in the table of long names are cut here: no system has longer paths.
const LONGEST_NAME: usize = 1 << 12;

/// What a member is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    File,
    /// GNU's table of symbols, or the first of Windows: big endian offsets of so many bytes.
    GnuSymbols(usize),
    /// The second table of symbols of Windows.
    CoffSymbols,
    /// BSD's table of symbols: little endian numbers of so many bytes.
    BsdSymbols(usize),
    /// Long names, and what else linkers keep.
    Other,
}

/// A member.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'data> {
    pub(crate) name: &'data [u8],
    pub(super) role: Role,
    /// Without a name that is stored before it.
    pub(crate) content: Source<'data>,
}

/// Reads members in order.
pub(super) struct Entries<'data> {
    source: Source<'data>,
    is_thin: bool,
    position: u64,
    long_names: &'data [u8],
    has_symbols: bool,
    fault: Option<Error>,
}

impl<'data> Entries<'data> {
    pub(super) fn new(source: Source<'data>) -> Result<Self, Error> {
        let is_thin = source.bytes().starts_with(THIN_MAGIC);
        if !is_thin && !source.bytes().starts_with(MAGIC) {
            return Err(Error::new(ErrorKind::NotRecognized, "not an archive")
                .at(source.at(0))
                .expecting("!<arch> or !<thin> and a line feed"));
        }
        Ok(Self {
            source,
            is_thin,
            position: MAGIC.len() as u64,
            long_names: &[],
            has_symbols: false,
            fault: None,
        })
    }

    /// The offset of the next header.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// What was wrong with the last member, if it could be read nevertheless.
    pub(super) fn take_fault(&mut self) -> Option<Error> {
        self.fault.take()
    }

    pub(super) fn next(&mut self) -> Result<Option<Entry<'data>>, Error> {
        if self.position >= self.source.len() {
            return Ok(None);
        }
        let start = self.position;
        let header = self
            .source
            .need(start, HEADER_SIZE, "archive member header is cut off", "header")?;
        let bytes = header.bytes();
        if bytes.get(58..) != Some(TERMINATOR) {
            return Err(
                Error::malformed("archive member header does not end as it should")
                    .at(header.at(58))
                    .field("header")
                    .expecting("a backquote and a line feed"),
            );
        }
        let size = self.number(bytes.get(SIZE_FIELD).unwrap_or_default(), header.at(48))?;
        let field = bytes.get(..16).unwrap_or_default();
        let role = self.role_of(field);
        let content_start = start.saturating_add(HEADER_SIZE);
        // Thin archives hold their tables, and nothing else.
        let stored = if self.is_thin && role == Role::File {
            0
        } else {
            size
        };
        let mut content = self.content(content_start, stored);
        let mut name = trim(field);
        let mut role = role;
        // Without digits it is no offset or length, but the name of a table (`/`, `//`, `/SYM64/`) or a file called so.
        let begins_with_digit = |rest: &&[u8]| rest.first().is_some_and(u8::is_ascii_digit);
        if let Some(length) = field.strip_prefix(b"#1/").filter(begins_with_digit) {
            let length = self.number(length, header.at(3))?;
            let stored_name = content.get(0, length).ok_or_else(|| {
                Error::new(
                    ErrorKind::OutOfBounds,
                    "archive member name is longer than the member",
                )
                .at(header.at(3))
                .field("name")
                .expecting(format!("at most {:#x} bytes", content.len()))
                .finding(format_args!("{length:#x}"))
            })?;
            // The length counts the zeros that pad the name.
            name = until(stored_name.bytes(), 0);
            content = content.from(length);
            // llvm-ar stores the name of the table itself in this form, too.
            role = bsd_role(name);
        } else if let Some(digits) = field.strip_prefix(b"/").filter(begins_with_digit) {
            let offset = self.number(digits, header.at(1))?;
            name = long_name(self.long_names, offset);
            if name.is_empty() {
                self.fault = Some(
                    Error::malformed("archive member name is not in the table of names")
                        .at(header.at(1))
                        .field("name")
                        .expecting(format!("an offset below {:#x}", self.long_names.len()))
                        .finding(format_args!("{offset:#x}")),
                );
            }
        } else if role == Role::File {
            role = bsd_role(name);
            name = name.strip_suffix(b"/").unwrap_or(name);
        }
        if trim(field) == b"//" {
            self.long_names = content.bytes();
        }
        // Windows calls both of its tables `/`: that there was one tells that the next is its own.
        self.has_symbols |= matches!(role, Role::GnuSymbols(_));
        self.position = self.after(content_start.saturating_add(stored));
        Ok(Some(Entry { name, role, content }))
    }

    fn role_of(&self, field: &[u8]) -> Role {
        match trim(field) {
            b"/" if self.has_symbols => Role::CoffSymbols,
            b"/" => Role::GnuSymbols(4),
            b"/SYM64/" => Role::GnuSymbols(8),
            b"//" => Role::Other,
            // Tables of Windows, such as `/<ECSYMBOLS>/`.
            other if other.starts_with(b"/<") => Role::Other,
            _ => Role::File,
        }
    }

    /// The content of a member; what there is of it when it is cut off.
    fn content(&mut self, start: u64, size: u64) -> Source<'data> {
        match self.source.need(start, size, "archive member is cut off", "size") {
            Ok(content) => content,
            Err(error) => {
                self.fault = Some(error);
                self.source.from(start)
            }
        }
    }

    /// Where the next header is: at the next even offset, unless the writer knew of no padding.
    fn after(&self, end: u64) -> u64 {
        if end.is_multiple_of(2) {
            return end;
        }
        let is_header = |start: u64| {
            let terminator = self.source.get(start.saturating_add(58), 2);
            terminator.is_some_and(|found| found.bytes() == TERMINATOR)
        };
        let padded = end.saturating_add(1);
        // Where both places look like a header, one does by chance: the format's own place counts.
        if is_header(end) && !is_header(padded) {
            end
        } else {
            padded
        }
    }

    fn number(&self, field: &[u8], offset: u64) -> Result<u64, Error> {
        let digits = field.trim_ascii_end();
        // What is no text becomes an empty one, which is no number either.
        let text = std::str::from_utf8(digits).unwrap_or_default();
        text.parse().map_err(|_| {
            Error::malformed("archive member header has no number where one belongs")
                .at(offset)
                .field("header")
                .expecting("decimal digits")
                .finding(digits.escape_ascii())
        })
    }
}

fn bsd_role(name: &[u8]) -> Role {
    match name {
        b"__.SYMDEF" | b"__.SYMDEF SORTED" => Role::BsdSymbols(4),
        b"__.SYMDEF_64" | b"__.SYMDEF_64 SORTED" => Role::BsdSymbols(8),
        _ => Role::File,
    }
}

/// Without the spaces at the end.
fn trim(field: &[u8]) -> &[u8] {
    field.trim_ascii_end()
}

fn until(bytes: &[u8], end: u8) -> &[u8] {
    let length = memchr::memchr(end, bytes).unwrap_or(bytes.len());
    bytes.get(..length).unwrap_or(bytes)
}

/// A name of the table: it ends with a slash and a line feed, or as Windows has it with a zero byte.
fn long_name(table: &[u8], offset: u64) -> &[u8] {
    let rest = usize::try_from(offset)
        .ok()
        .and_then(|offset| table.get(offset..))
        .unwrap_or_default();
    let rest = rest.get(..LONGEST_NAME).unwrap_or(rest);
    let length = memchr::memchr2(b'\n', 0, rest).unwrap_or(rest.len());
    let name = rest.get(..length).unwrap_or_default();
    name.strip_suffix(b"/").unwrap_or(name)
}
