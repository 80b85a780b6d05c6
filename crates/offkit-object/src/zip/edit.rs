//! Zip files with other contents of some members, under other names, or with more members.
//!
//! Every other member keeps its bytes, and all keep their order, times, permissions and comments.

use std::collections::BTreeMap;

use offkit_image::{Compression, Error, ErrorKind};
use zerocopy::little_endian::{U16, U32};
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

const LOCAL_MAGIC: [u8; 4] = *b"PK\x03\x04";
const CENTRAL_MAGIC: [u8; 4] = *b"PK\x01\x02";
const END_MAGIC: [u8; 4] = *b"PK\x05\x06";

const FLAG_DESCRIPTOR: u16 = 1 << 3;
const FLAG_UTF8: u16 = 1 << 11;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ZSTANDARD: u16 = 93;

/// A zip file that is being changed. Members are numbered as the directory has them.
#[derive(Debug)]
pub(super) struct Archive<'data> {
    source: Source<'data>,
    end: End,
    comment: &'data [u8],
    directory_offset: u64,
    members: Vec<Member<'data>>,
}

#[derive(Debug)]
struct Member<'data> {
    central: Central,
    name: Vec<u8>,
    /// The extra field and the comment of the directory's entry.
    rest: &'data [u8],
    change: Option<Vec<u8>>,
    is_renamed: bool,
}

impl<'data> Archive<'data> {
    /// Reads the directory. Only plain files of less than 4 GiB are changed.
    pub(super) fn read(source: Source<'data>) -> Result<Self, Error> {
        let bytes = source.bytes();
        let end_at = memchr::memmem::rfind(bytes, &END_MAGIC).map(|at| at as u64);
        let end_at = end_at.ok_or_else(|| {
            Error::new(ErrorKind::OutOfBounds, "zip file without its directory").at(source.at(source.len()))
        })?;
        let end = source
            .record::<End>(end_at)
            .ok_or_else(|| damaged(source, end_at))?
            .clone();
        let is_large = end.count.get() == u16::MAX || end.directory_offset.get() == u32::MAX;
        if is_large || end.disk != 0 || end.directory_disk != 0 {
            return Err(Error::unsupported(
                "zip files of more than 4 GiB, in zip64, or of several parts are not changed",
            )
            .at(source.at(end_at)));
        }
        let directory_offset = u64::from(end.directory_offset.get());
        let mut members = Vec::new();
        let mut at = directory_offset;
        for _ in 0..end.count.get() {
            let wrong = || damaged(source, at);
            let central = source
                .record::<Central>(at)
                .filter(|central| central.magic == CENTRAL_MAGIC);
            let central = central.ok_or_else(wrong)?.clone();
            let name_at = at.saturating_add(size_of::<Central>() as u64);
            let name = source
                .get(name_at, central.name_size.get().into())
                .ok_or_else(wrong)?;
            let rest_at = name_at.saturating_add(name.len());
            let rest_size =
                u64::from(central.extra_size.get()).saturating_add(central.comment_size.get().into());
            let rest = source.get(rest_at, rest_size).ok_or_else(wrong)?;
            let is_large =
                [central.size, central.stored_size, central.local_offset].contains(&U32::new(u32::MAX));
            if is_large {
                return Err(
                    Error::unsupported("zip files with members in zip64 are not changed: from 4 GiB on, or from 2 GiB where Python wrote them")
                        .at(source.at(at)),
                );
            }
            at = rest_at.saturating_add(rest.len());
            members.push(Member {
                central,
                name: name.bytes().to_vec(),
                rest: rest.bytes(),
                change: None,
                is_renamed: false,
            });
        }
        let after = end_at.saturating_add(size_of::<End>() as u64);
        Ok(Self {
            source,
            comment: source.from(after).bytes(),
            end,
            directory_offset,
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
        let (_, stored) = self.place(member)?;
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
        inflate(
            compression,
            stored.bytes(),
            Some(member.central.size.get().into()),
            most,
        )
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
        let at = u64::from(member.central.local_offset.get());
        let wrong = || damaged(self.source, at);
        let local = self
            .source
            .record::<Local>(at)
            .filter(|local| local.magic == LOCAL_MAGIC);
        let local = local.ok_or_else(wrong)?.clone();
        let names = u64::from(local.name_size.get()).saturating_add(local.extra_size.get().into());
        let start = at.saturating_add(size_of::<Local>() as u64).saturating_add(names);
        let stored = self.source.get(start, member.central.stored_size.get().into());
        Ok((local, stored.ok_or_else(wrong)?))
    }

    /// The new file.
    pub(super) fn write(mut self) -> Result<Vec<u8>, Error> {
        let mut order: BTreeMap<u64, usize> = BTreeMap::new();
        for (number, member) in self.members.iter().enumerate() {
            let at = u64::from(member.central.local_offset.get());
            if order.insert(at, number).is_some() {
                return Err(Error::unrepresentable("members of the zip file share their bytes").at(at));
            }
        }
        let ends = order.keys().skip(1).copied().chain([self.directory_offset]);
        let spans: Vec<(u64, u64, usize)> = order
            .iter()
            .zip(ends)
            .map(|((start, number), end)| (*start, end, *number))
            .collect();
        let first = spans
            .first()
            .map_or(self.directory_offset, |(start, _, _)| *start);
        let mut out = self.source.get(0, first).map_or(&[][..], Source::bytes).to_vec();
        for (start, end, number) in spans {
            let new_offset = narrow(out.len())?;
            let written = self.write_member(number, start, end, &mut out)?;
            if let Some(member) = self.members.get_mut(number) {
                member.central = written;
                member.central.local_offset = new_offset.into();
            }
        }
        let directory = out.len();
        for member in &mut self.members {
            member.central.name_size = narrow_name(&member.name)?;
            out.extend_from_slice(member.central.as_bytes());
            out.extend_from_slice(&member.name);
            out.extend_from_slice(member.rest);
        }
        let mut end = self.end.clone();
        end.directory_size = narrow(out.len().saturating_sub(directory))?.into();
        end.directory_offset = narrow(directory)?.into();
        out.extend_from_slice(end.as_bytes());
        out.extend_from_slice(self.comment);
        Ok(out)
    }

    /// Writes a member and what stands behind it; its entry for the directory, but for its place.
    fn write_member(&self, number: usize, start: u64, end: u64, out: &mut Vec<u8>) -> Result<Central, Error> {
        let member = self
            .members
            .get(number)
            .ok_or_else(|| damaged(self.source, start))?;
        let mut central = member.central.clone();
        let (mut local, stored) = self.place(member)?;
        let whole = self.source.get(start, end.saturating_sub(start));
        let whole = whole.ok_or_else(|| damaged(self.source, start))?;
        if member.change.is_none() && !member.is_renamed {
            out.extend_from_slice(whole.bytes());
            return Ok(central);
        }
        let extra_at = start
            .saturating_add(size_of::<Local>() as u64)
            .saturating_add(local.name_size.get().into());
        let extra = self
            .source
            .get(extra_at, local.extra_size.get().into())
            .map_or(&[][..], Source::bytes);
        local.name_size = narrow_name(&member.name)?;
        let compressed;
        let content = match &member.change {
            None => stored.bytes(),
            Some(new) => {
                compressed = compress(new, central.method.get(), central.flags.get())?;
                central.crc = rawzip::crc32(new).into();
                central.size = narrow(new.len())?.into();
                central.stored_size = narrow(compressed.len())?.into();
                // The sizes are known, and nothing follows that says them.
                central.flags = (central.flags.get() & !FLAG_DESCRIPTOR).into();
                local.flags = (local.flags.get() & !FLAG_DESCRIPTOR).into();
                local.crc = central.crc;
                local.size = central.size;
                local.stored_size = central.stored_size;
                compressed.as_slice()
            }
        };
        if !member.name.is_ascii() {
            central.flags = (central.flags.get() | FLAG_UTF8).into();
            local.flags = (local.flags.get() | FLAG_UTF8).into();
        }
        out.extend_from_slice(local.as_bytes());
        out.extend_from_slice(&member.name);
        out.extend_from_slice(extra);
        out.extend_from_slice(content);
        if member.change.is_none() {
            // A descriptor, and what else follows.
            let behind = stored.at(stored.len()).saturating_sub(self.source.at(start));
            out.extend_from_slice(whole.from(behind).bytes());
        }
        Ok(central)
    }
}

/// Compresses by a member's method, as hard as its flags say that it was.
fn compress(content: &[u8], method: u16, flags: u16) -> Result<Vec<u8>, Error> {
    match method {
        STORED => Ok(content.to_vec()),
        DEFLATED => {
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

fn narrow(size: usize) -> Result<u32, Error> {
    let fits = u32::try_from(size).ok().filter(|size| *size != u32::MAX);
    fits.ok_or_else(|| Error::unrepresentable("the zip file becomes larger than 4 GiB"))
}

fn narrow_name(name: &[u8]) -> Result<U16, Error> {
    let size = u16::try_from(name.len());
    size.map(U16::new)
        .map_err(|_| Error::unrepresentable("the name of a zip member is too long"))
}

fn damaged(source: Source<'_>, at: u64) -> Error {
    Error::malformed("zip directory is damaged").at(source.at(at))
}
