//! Zip files with other contents of some members, under other names, or with more members.
//!
//! Every other member keeps its bytes, and all keep their order, times, permissions and comments.

use std::collections::BTreeMap;

use offkit_image::{Compression, Error, ErrorKind};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::compression::{inflate, zlib, zstd};
use crate::source::Source;

/// What stands before a member.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Local {
    magic: [u8; 4],
    needed: U16,
    flags: U16,
    method: U16,
    time: U16,
    date: U16,
    crc: U32,
    stored_size: U32,
    size: U32,
    name_size: U16,
    extra_size: U16,
}

/// An entry of the directory.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Central {
    magic: [u8; 4],
    made_by: U16,
    needed: U16,
    flags: U16,
    method: U16,
    time: U16,
    date: U16,
    crc: U32,
    stored_size: U32,
    size: U32,
    name_size: U16,
    extra_size: U16,
    comment_size: U16,
    disk: U16,
    internal: U16,
    external: U32,
    local_offset: U32,
}

/// What the file ends with; a comment follows.
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct End {
    magic: [u8; 4],
    disk: U16,
    directory_disk: U16,
    count_here: U16,
    count: U16,
    directory_size: U32,
    directory_offset: U32,
    comment_size: U16,
}

/// Numbers that are too large for [`End`] (zip64).
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct WideEnd {
    magic: [u8; 4],
    /// Of what follows.
    size: U64,
    made_by: U16,
    needed: U16,
    disk: U32,
    directory_disk: U32,
    count_here: U64,
    count: U64,
    directory_size: U64,
    directory_offset: U64,
}

/// Where [`WideEnd`] is; it stands right before [`End`].
#[derive(Debug, Clone, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Locator {
    magic: [u8; 4],
    disk: U32,
    offset: U64,
    disks: U32,
}

const LOCAL_MAGIC: [u8; 4] = *b"PK\x03\x04";
const CENTRAL_MAGIC: [u8; 4] = *b"PK\x01\x02";
const END_MAGIC: [u8; 4] = *b"PK\x05\x06";
const WIDE_END_MAGIC: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_MAGIC: [u8; 4] = *b"PK\x06\x07";

/// What stands for a number that is in zip64's extra field.
const ELSEWHERE: u32 = u32::MAX;
/// The extra field with numbers that are too large, in the order of the header: size, stored size, offset.
const WIDE_FIELD: u16 = 1;
/// The version of readers that know zip64.
const WIDE_VERSION: u16 = 45;
/// Python writes zip64 from here on, as it minds readers that take numbers for signed ones.
const WIDE_OF_PYTHON: u64 = (1 << 31) - 1;

const FLAG_DESCRIPTOR: u16 = 1 << 3;
const FLAG_UTF8: u16 = 1 << 11;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ZSTANDARD: u16 = 93;

/// A zip file that is being changed. Members are numbered as the directory has them.
#[derive(Debug)]
pub(super) struct Archive<'data> {
    /// What is in front of the file that offsets do not count; the rest is `source`.
    front: &'data [u8],
    source: Source<'data>,
    end: End,
    comment: &'data [u8],
    directory_offset: u64,
    /// The end in zip64, if there is one.
    wide_end: Option<WideEnd>,
    /// From here on numbers are in zip64.
    wide_from: u64,
    members: Vec<Member<'data>>,
}

#[derive(Debug)]
struct Member<'data> {
    central: Central,
    name: Vec<u8>,
    /// The size, the stored size, and where the local header is, and which of these were in zip64.
    numbers: [u64; 3],
    was_wide: [bool; 3],
    /// The extra fields of the directory's entry, but that of zip64.
    extra: Vec<u8>,
    comment: &'data [u8],
    change: Option<Vec<u8>>,
    is_renamed: bool,
}

impl<'data> Archive<'data> {
    /// Reads the directory.
    pub(super) fn read(source: Source<'data>) -> Result<Self, Error> {
        let bytes = source.bytes();
        // The last one, as other readers have it: a comment with the magic in it hides the directory from all of them.
        let end_at = memchr::memmem::rfind(bytes, &END_MAGIC).map(|at| at as u64);
        let end_at = end_at.ok_or_else(|| {
            Error::new(ErrorKind::OutOfBounds, "zip file without its directory").at(source.at(source.len()))
        })?;
        let end = source
            .record::<End>(end_at)
            .ok_or_else(|| damaged(source, end_at))?
            .clone();
        let wide_end = wide_end(source, end_at)?;
        if end.disk != 0 || end.directory_disk != 0 {
            return Err(
                Error::unsupported("zip files of several parts are not changed").at(source.at(end_at))
            );
        }
        let directory = wide_end.as_ref().map_or(
            (end.count.get().into(), end.directory_offset.get().into()),
            |wide| (wide.count.get(), wide.directory_offset.get()),
        );
        let (count, directory_offset) = directory;
        let after = end_at.saturating_add(size_of::<End>() as u64);
        let comment = source.from(after).bytes();
        let front = match wide_end {
            None => undeclared_front(source, &end, end_at),
            // Readers do not look for it there.
            Some(_) => 0,
        };
        let (front, source) = (source.get(0, front), source.from(front));
        let mut members = Vec::new();
        let mut at = directory_offset;
        for _ in 0..count {
            let wrong = || damaged(source, at);
            let central = source
                .record::<Central>(at)
                .filter(|central| central.magic == CENTRAL_MAGIC);
            let central = central.ok_or_else(wrong)?.clone();
            let name_at = at.saturating_add(size_of::<Central>() as u64);
            let part = |at: u64, size: U16| source.get(at, size.get().into()).ok_or_else(wrong);
            let name = part(name_at, central.name_size)?;
            let extra_at = name_at.saturating_add(name.len());
            let extra = part(extra_at, central.extra_size)?;
            let comment_at = extra_at.saturating_add(extra.len());
            let comment = part(comment_at, central.comment_size)?;
            let narrow =
                [&central.size, &central.stored_size, &central.local_offset].map(|number| number.get());
            let (wide, extra) = without_wide(extra.bytes());
            let mut wide = wide.chunks_exact(size_of::<u64>());
            let mut numbers = narrow.map(u64::from);
            let was_wide = narrow.map(|number| number == ELSEWHERE);
            // Zip64's field has only what the header has no room for, in this order.
            for (number, _) in numbers.iter_mut().zip(was_wide).filter(|(_, was_wide)| *was_wide) {
                let found = wide.next().and_then(|number| number.first_chunk());
                *number = u64::from_le_bytes(*found.ok_or_else(wrong)?);
            }
            members.push(Member {
                central,
                name: name.bytes().to_vec(),
                numbers,
                was_wide,
                extra,
                comment: comment.bytes(),
                change: None,
                is_renamed: false,
            });
            at = comment_at.saturating_add(comment.len());
        }
        Ok(Self {
            front: front.map_or(&[], Source::bytes),
            source,
            comment,
            end,
            directory_offset,
            wide_end,
            // Tests lower it, to have zip64 in small files.
            wide_from: ELSEWHERE.into(),
            members,
        })
    }

    /// The names of the members, by number.
    pub(super) fn names(&self) -> impl Iterator<Item = &[u8]> {
        self.members.iter().map(|member| member.name.as_slice())
    }

    /// The content of a member, no more than `most` bytes.
    pub(super) fn content(&self, number: usize, most: u64) -> Result<Vec<u8>, Error> {
        let member = self.members.get(number).ok_or_else(|| damaged(self.source, 0))?;
        if let Some(change) = &member.change {
            return Ok(change.clone());
        }
        self.stored_content(member, most)
    }

    fn stored_content(&self, member: &Member<'data>, most: u64) -> Result<Vec<u8>, Error> {
        let (_, stored) = self.place(member)?;
        let [size, _, _] = member.numbers;
        let compression = match member.central.method.get() {
            STORED => return Ok(stored.bytes().to_vec()),
            DEFLATED => Compression::Deflate,
            ZSTANDARD => Compression::Zstd,
            other => {
                return Err(
                    Error::unsupported("zip member is compressed in a way that is not read").finding(other),
                );
            }
        };
        inflate(compression, stored.bytes(), Some(size), most)
    }

    /// The content that a member had before it was changed.
    pub(super) fn original(&self, number: usize, most: u64) -> Result<Vec<u8>, Error> {
        let member = self.members.get(number).ok_or_else(|| damaged(self.source, 0))?;
        self.stored_content(member, most)
    }

    /// Gives a member another content.
    pub(super) fn replace(&mut self, number: usize, content: Vec<u8>) {
        if let Some(member) = self.members.get_mut(number) {
            member.change = Some(content);
        }
    }

    /// Gives a member another name.
    pub(super) fn rename(&mut self, number: usize, name: Vec<u8>) {
        if let Some(member) = self.members.get_mut(number) {
            member.name = name;
            member.is_renamed = true;
        }
    }

    /// Where the content of a member begins in its local header's terms: the header, with name and extra field, and the
    /// stored bytes.
    fn place(&self, member: &Member<'data>) -> Result<(Local, Source<'data>), Error> {
        let [_, stored_size, at] = member.numbers;
        let wrong = || damaged(self.source, at);
        let local = self
            .source
            .record::<Local>(at)
            .filter(|local| local.magic == LOCAL_MAGIC);
        let local = local.ok_or_else(wrong)?.clone();
        let names = u64::from(local.name_size.get()).saturating_add(local.extra_size.get().into());
        let start = at.saturating_add(size_of::<Local>() as u64).saturating_add(names);
        let stored = self.source.get(start, stored_size);
        Ok((local, stored.ok_or_else(wrong)?))
    }

    /// The new file.
    pub(super) fn write(mut self) -> Result<Vec<u8>, Error> {
        // By place: the directory may name members in another order than the file has them.
        let mut order: BTreeMap<u64, usize> = BTreeMap::new();
        for (number, member) in self.members.iter().enumerate() {
            let [_, _, at] = member.numbers;
            // Two members of one place could not both be right when only one of them changes.
            if order.insert(at, number).is_some() {
                return Err(Error::unrepresentable("members of the zip file share their bytes").at(at));
            }
        }
        // Each reaches to the next: descriptors, and what some writers leave to align members, go along.
        let ends = order.keys().skip(1).copied().chain([self.directory_offset]);
        let spans: Vec<(u64, u64, usize)> = order
            .iter()
            .zip(ends)
            .map(|((start, number), end)| (*start, end, *number))
            .collect();
        let first = spans
            .first()
            .map_or(self.directory_offset, |(start, _, _)| *start);
        // Before the first may be the program that unpacks the file.
        let mut out = self.source.get(0, first).map_or(&[][..], Source::bytes).to_vec();
        for (start, end, number) in spans {
            let new_offset = out.len() as u64;
            let (central, [size, stored_size]) = self.write_member(number, start, end, &mut out)?;
            if let Some(member) = self.members.get_mut(number) {
                member.central = central;
                member.numbers = [size, stored_size, new_offset];
            }
        }
        let directory = out.len() as u64;
        for member in &self.members {
            self.write_entry(member, &mut out)?;
        }
        self.write_end(directory, &mut out)?;
        out.splice(..0, self.front.iter().copied());
        Ok(out)
    }

    /// Whether a number is in zip64: where there is no other way, and where it was before and Python would write it so.
    fn is_wide(&self, number: u64, was_wide: bool) -> bool {
        number >= self.wide_from || was_wide && number > WIDE_OF_PYTHON
    }

    /// A number as it is in a header, and as it is in zip64's field.
    fn narrowed(&self, number: u64, was_wide: bool, wide: &mut Vec<u8>) -> U32 {
        match u32::try_from(number) {
            Ok(number) if !self.is_wide(number.into(), was_wide) => number.into(),
            _ => {
                wide.extend_from_slice(&number.to_le_bytes());
                ELSEWHERE.into()
            }
        }
    }

    /// Writes an entry of the directory.
    fn write_entry(&self, member: &Member<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut central = member.central.clone();
        let mut wide = Vec::new();
        let mut numbers = member.numbers.iter().zip(member.was_wide);
        for place in [
            &mut central.size,
            &mut central.stored_size,
            &mut central.local_offset,
        ] {
            if let Some((number, was_wide)) = numbers.next() {
                *place = self.narrowed(*number, was_wide, &mut wide);
            }
        }
        let extra = with_wide(&wide, &member.extra)?;
        if !wide.is_empty() {
            central.needed = central.needed.get().max(WIDE_VERSION).into();
        }
        central.name_size = narrow(&member.name)?;
        central.extra_size = narrow(&extra)?;
        out.extend_from_slice(central.as_bytes());
        out.extend_from_slice(&member.name);
        out.extend_from_slice(&extra);
        out.extend_from_slice(member.comment);
        Ok(())
    }

    /// Writes what stands behind the directory, which begins at this offset.
    fn write_end(&self, directory: u64, out: &mut Vec<u8>) -> Result<(), Error> {
        let end = out.len() as u64;
        let size = end.saturating_sub(directory);
        let count = self.members.len() as u64;
        let was_wide = self.wide_end.is_some();
        let is_wide = [size, directory]
            .iter()
            .any(|number| self.is_wide(*number, was_wide))
            // The largest number itself says that the count is elsewhere.
            || count >= u16::MAX.into()
            || was_wide
                && self
                    .members
                    .iter()
                    .any(|member| self.is_wide(member.numbers.into_iter().max().unwrap_or_default(), true));
        if is_wide {
            let wide = WideEnd {
                magic: WIDE_END_MAGIC,
                // Without the magic and this field.
                size: (size_of::<WideEnd>() as u64).saturating_sub(12).into(),
                made_by: self
                    .wide_end
                    .as_ref()
                    .map_or(WIDE_VERSION.into(), |wide| wide.made_by),
                needed: WIDE_VERSION.into(),
                disk: 0.into(),
                directory_disk: 0.into(),
                count_here: count.into(),
                count: count.into(),
                directory_size: size.into(),
                directory_offset: directory.into(),
            };
            let locator = Locator {
                magic: LOCATOR_MAGIC,
                disk: 0.into(),
                offset: end.into(),
                disks: 1.into(),
            };
            out.extend_from_slice(wide.as_bytes());
            out.extend_from_slice(locator.as_bytes());
        }
        let mut last = self.end.clone();
        // Numbers that fit stand here even beside zip64, as readers that do not know it find them.
        let number = |number: u64| u32::try_from(number).unwrap_or(ELSEWHERE);
        last.count = u16::try_from(count).unwrap_or(u16::MAX).into();
        last.count_here = last.count;
        last.directory_size = number(size).into();
        last.directory_offset = number(directory).into();
        out.extend_from_slice(last.as_bytes());
        out.extend_from_slice(self.comment);
        Ok(())
    }

    /// Writes a member and what stands behind it; its entry for the directory without numbers, and its sizes.
    fn write_member(
        &self,
        number: usize,
        start: u64,
        end: u64,
        out: &mut Vec<u8>,
    ) -> Result<(Central, [u64; 2]), Error> {
        let member = self
            .members
            .get(number)
            .ok_or_else(|| damaged(self.source, start))?;
        let mut central = member.central.clone();
        let (mut local, stored) = self.place(member)?;
        // Only what is in front of the next member, or of the directory, is written: the rest of this one would be lost, or
        // all of it where it is behind the directory.
        if stored.at(stored.len()) > self.source.at(end) {
            return Err(
                Error::unrepresentable("zip member reaches into the next one or the directory")
                    .at(self.source.at(start))
                    .field(String::from_utf8_lossy(&member.name).into_owned())
                    .expecting(format!("to end at or before {:#x}", self.source.at(end)))
                    .finding(format_args!("an end at {:#x}", stored.at(stored.len()))),
            );
        }
        let whole = self.source.get(start, end.saturating_sub(start));
        let whole = whole.ok_or_else(|| damaged(self.source, start))?;
        let [size, stored_size, _] = member.numbers;
        if member.change.is_none() && !member.is_renamed {
            out.extend_from_slice(whole.bytes());
            return Ok((central, [size, stored_size]));
        }
        let extra_at = start
            .saturating_add(size_of::<Local>() as u64)
            .saturating_add(local.name_size.get().into());
        let extra = self
            .source
            .get(extra_at, local.extra_size.get().into())
            .map_or(&[][..], Source::bytes);
        // Without this flag a name is in IBM's code page 437.
        if !member.name.is_ascii() {
            central.flags = (central.flags.get() | FLAG_UTF8).into();
            local.flags = (local.flags.get() | FLAG_UTF8).into();
        }
        local.name_size = narrow(&member.name)?;
        let Some(new) = &member.change else {
            out.extend_from_slice(local.as_bytes());
            out.extend_from_slice(&member.name);
            out.extend_from_slice(extra);
            out.extend_from_slice(stored.bytes());
            // A descriptor, and what else follows.
            let behind = stored.at(stored.len()).saturating_sub(self.source.at(start));
            out.extend_from_slice(whole.from(behind).bytes());
            return Ok((central, [size, stored_size]));
        };
        let compressed = compress(new, central.method.get(), central.flags.get())?;
        let sizes = [new.len() as u64, compressed.len() as u64];
        central.crc = rawzip::crc32(new).into();
        // The sizes are known, and nothing follows that says them.
        central.flags = (central.flags.get() & !FLAG_DESCRIPTOR).into();
        local.flags = (local.flags.get() & !FLAG_DESCRIPTOR).into();
        local.crc = central.crc;
        // Of the two sizes, either both are in zip64 here or neither is.
        let was_wide = member.was_wide.first().copied().unwrap_or_default();
        let mut wide = Vec::new();
        if sizes.iter().any(|size| self.is_wide(*size, was_wide)) {
            sizes
                .iter()
                .for_each(|size| wide.extend_from_slice(&size.to_le_bytes()));
            (local.size, local.stored_size) = (ELSEWHERE.into(), ELSEWHERE.into());
            local.needed = local.needed.get().max(WIDE_VERSION).into();
        } else {
            let [size, stored_size] = sizes.map(|size| U32::new(u32::try_from(size).unwrap_or(ELSEWHERE)));
            (local.size, local.stored_size) = (size, stored_size);
        }
        // The local header's own fields: times of Unix are longer there than in the directory.
        let (_, extra) = without_wide(extra);
        let extra = with_wide(&wide, &extra)?;
        local.extra_size = narrow(&extra)?;
        out.extend_from_slice(local.as_bytes());
        out.extend_from_slice(&member.name);
        out.extend_from_slice(&extra);
        out.extend_from_slice(&compressed);
        Ok((central, sizes))
    }
}

/// The size of what is in front of a file whose offsets do not count it: a program that unpacks the file was put there
/// afterwards. As other readers do, the directory is looked for right in front of the end where it is not in its place.
fn undeclared_front(source: Source<'_>, end: &End, end_at: u64) -> u64 {
    let is_entry = |at: u64| {
        let entry = source.record::<Central>(at);
        entry.is_some_and(|entry| entry.magic == CENTRAL_MAGIC)
    };
    let declared = u64::from(end.directory_offset.get());
    let found = end_at.checked_sub(end.directory_size.get().into());
    match found.filter(|found| !is_entry(declared) && is_entry(*found)) {
        Some(found) => found.saturating_sub(declared),
        None => 0,
    }
}

/// The end in zip64, whose place stands right before the other.
fn wide_end(source: Source<'_>, end_at: u64) -> Result<Option<WideEnd>, Error> {
    let locator = end_at.checked_sub(size_of::<Locator>() as u64);
    let locator = locator.and_then(|at| source.record::<Locator>(at));
    let Some(locator) = locator.filter(|locator| locator.magic == LOCATOR_MAGIC) else {
        return Ok(None);
    };
    let at = locator.offset.get();
    let found = source
        .record::<WideEnd>(at)
        .filter(|end| end.magic == WIDE_END_MAGIC);
    let found = found.ok_or_else(|| damaged(source, at))?;
    match found.disk == 0 && found.directory_disk == 0 {
        true => Ok(Some(found.clone())),
        false => Err(Error::unsupported("zip files of several parts are not changed").at(source.at(at))),
    }
}

/// What zip64's field has, and the other extra fields.
fn without_wide(extra: &[u8]) -> (&[u8], Vec<u8>) {
    const HEADER: usize = 4;
    let (mut wide, mut others): (&[u8], _) = (&[], Vec::new());
    let mut rest = extra;
    while let Some(([id_low, id_high, low, high], _)) = rest.split_first_chunk::<HEADER>() {
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let Some((field, behind)) = rest.split_at_checked(size.saturating_add(HEADER)) else {
            break;
        };
        match u16::from_le_bytes([*id_low, *id_high]) {
            WIDE_FIELD => wide = field.get(HEADER..).unwrap_or_default(),
            _ => others.extend_from_slice(field),
        }
        rest = behind;
    }
    // What is no field stays as it is.
    others.extend_from_slice(rest);
    (wide, others)
}

/// Extra fields with zip64's before the others, if it has anything in it.
fn with_wide(wide: &[u8], others: &[u8]) -> Result<Vec<u8>, Error> {
    if wide.is_empty() {
        return Ok(others.to_vec());
    }
    let size = narrow(wide)?;
    // In front, where Python's `zipfile` puts it as well.
    Ok([WIDE_FIELD.to_le_bytes().as_slice(), size.as_bytes(), wide, others].concat())
}

/// Compresses by a member's method, as hard as its flags say that it was.
fn compress(content: &[u8], method: u16, flags: u16) -> Result<Vec<u8>, Error> {
    match method {
        STORED => Ok(content.to_vec()),
        DEFLATED => {
            // Two bits, by which deflate's setting is told: 1 for the smallest, 2 and 3 for the fastest.
            let level = match flags >> 1 & 3 {
                1 => Some(9),
                2 | 3 => Some(1),
                _ => None,
            };
            zlib::compress_bare(content, level)
        }
        ZSTANDARD => zstd::compress(content, None, false),
        other => {
            Err(Error::unsupported("zip member is compressed in a way that is not written").finding(other))
        }
    }
}

/// The size of a name or an extra field.
fn narrow(bytes: &[u8]) -> Result<U16, Error> {
    let size = u16::try_from(bytes.len());
    size.map(U16::new).map_err(|_| {
        Error::unrepresentable("the name of a zip member, or what else is said of it, is too long")
    })
}

fn damaged(source: Source<'_>, at: u64) -> Error {
    Error::malformed("zip directory is damaged").at(source.at(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A zip file with one stored member.
    fn one() -> Vec<u8> {
        let local = Local {
            magic: LOCAL_MAGIC,
            needed: 20.into(),
            flags: 0.into(),
            method: STORED.into(),
            time: 0.into(),
            date: 0.into(),
            crc: rawzip::crc32(b"content").into(),
            stored_size: 7.into(),
            size: 7.into(),
            name_size: 1.into(),
            extra_size: 0.into(),
        };
        let central = Central {
            magic: CENTRAL_MAGIC,
            made_by: 20.into(),
            needed: 20.into(),
            flags: 0.into(),
            method: STORED.into(),
            time: 0.into(),
            date: 0.into(),
            crc: local.crc,
            stored_size: 7.into(),
            size: 7.into(),
            name_size: 1.into(),
            extra_size: 0.into(),
            comment_size: 0.into(),
            disk: 0.into(),
            internal: 0.into(),
            external: 0.into(),
            local_offset: 0.into(),
        };
        let mut out = [local.as_bytes(), b"a", b"content"].concat();
        let offset = out.len() as u32;
        out.extend([central.as_bytes(), b"a"].concat());
        let end = End {
            magic: END_MAGIC,
            disk: 0.into(),
            directory_disk: 0.into(),
            count_here: 1.into(),
            count: 1.into(),
            directory_size: (out.len() as u32 - offset).into(),
            directory_offset: offset.into(),
            comment_size: 0.into(),
        };
        out.extend(end.as_bytes());
        out
    }

    #[test]
    fn what_is_in_front_of_a_zip_file_stays_there() {
        let old = one();
        let with_front = [b"#!/bin/sh\n", old.as_slice()].concat();
        let unchanged = Archive::read(Source::new(&with_front)).unwrap();
        assert_eq!(unchanged.write().unwrap(), with_front);
        let mut archive = Archive::read(Source::new(&with_front)).unwrap();
        archive.replace(0, b"another content".to_vec());
        let new = archive.write().unwrap();
        let rest = new.strip_prefix(b"#!/bin/sh\n").unwrap();
        let mut archive = Archive::read(Source::new(&old)).unwrap();
        archive.replace(0, b"another content".to_vec());
        assert_eq!(rest, archive.write().unwrap());
    }

    #[test]
    fn a_member_that_would_be_lost_is_refused() {
        // The directory in front of the member.
        let old = one();
        let central = memchr::memmem::find(&old, &CENTRAL_MAGIC).unwrap();
        let end = memchr::memmem::find(&old, &END_MAGIC).unwrap();
        let mut moved = [&old[central..end], &old[..central], &old[end..]].concat();
        let size = (end - central) as u32;
        moved[42..46].copy_from_slice(&size.to_le_bytes());
        moved[end + 16..end + 20].fill(0);
        let archive = Archive::read(Source::new(&moved)).unwrap();
        assert_eq!(archive.content(0, 100).unwrap(), b"content");
        let error = archive.write().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unrepresentable);
        assert_eq!(error.offset(), Some(size.into()));
    }

    #[test]
    fn large_numbers_are_in_zip64_and_come_back() {
        let old = one();
        let mut archive = Archive::read(Source::new(&old)).unwrap();
        archive.wide_from = 8;
        archive.replace(0, b"another content".to_vec());
        let wide = archive.write().unwrap();
        // Readers of other people's find it, too.
        let found = rawzip::ZipArchive::from_slice(wide.as_slice()).unwrap();
        let mut entries = found.entries();
        let entry = entries.next_entry().unwrap().unwrap();
        assert_eq!(entry.uncompressed_size_hint(), 15);
        assert_eq!(
            found.get_entry(entry.wayfinder()).unwrap().data(),
            b"another content"
        );
        assert!(memchr::memmem::find(&wide, &LOCATOR_MAGIC).is_some());

        let mut archive = Archive::read(Source::new(&wide)).unwrap();
        assert!(archive.wide_end.is_some());
        assert_eq!(archive.members[0].was_wide, [true, true, false]);
        assert_eq!(archive.content(0, 100).unwrap(), b"another content");
        archive.replace(0, b"content".to_vec());
        assert_eq!(archive.write().unwrap(), {
            let mut narrow = old;
            // Readers that know zip64 were needed before.
            let central = memchr::memmem::find(&narrow, &CENTRAL_MAGIC).unwrap();
            (narrow[4], narrow[central + 6]) = (45, 45);
            narrow
        });
        for length in 0..wide.len() {
            assert!(Archive::read(Source::new(&wide[..length])).is_err(), "{length}");
        }
    }
}
