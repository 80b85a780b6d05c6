//! Unix archives: GNU, BSD and thin.
//!
//! An archive is the magic `!<arch>\n` and members, each at an even offset: a header of 60 characters, and the
//! content. Numbers are decimal text, the mode is octal. Long names are in a member `//` (GNU, Windows) or
//! before the content (BSD); symbol tables are members of special names. A thin archive, `!<thin>\n`, has only
//! the names of its members.

mod read;
mod replace;
mod symbols;
mod thin;
mod write;

#[cfg(feature = "write")]
use std::collections::BTreeMap;

use offkit_image::{ContainerKind, Error, Limits};

use crate::chunks::Chunks;
#[cfg(feature = "write")]
use crate::edits::{Change, Edited, Edits};
use crate::format::{ContainerFormat, Standing};
use crate::part::{Content, Part, Visit};
use crate::part_names::PartNames;
use crate::reading::Reading;
use crate::source::Source;
use read::{Entries, Entry, MAGIC, Role, THIN_MAGIC};

pub use thin::{ThinMember, ThinMembers};
#[cfg(feature = "write")]
pub use write::{ArchiveKind, Member, write, write_chunks};

/// A member of an archive, as it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveMember<'data> {
    /// The name; in thin archives the path of the file, from where the archive is.
    pub name: &'data [u8],
    /// The content; empty in thin archives.
    pub bytes: &'data [u8],
    /// Where the content begins in the file.
    pub offset: u64,
}

/// Whether this is a thin archive, which has only the names of its members.
#[must_use]
pub fn is_thin(bytes: &[u8]) -> bool {
    bytes.starts_with(THIN_MAGIC)
}

/// The members of an archive without symbol tables and the like, in order. Of a thin archive, names only.
///
/// # Errors
///
/// The first fault of the archive, or a limit.
pub fn members<'data>(bytes: &'data [u8], limits: &Limits) -> Result<Vec<ArchiveMember<'data>>, Error> {
    // Strict, as the result has no place for faults: the beginning of a member that is cut off
    // would look like all of it.
    let mut reading = Reading::strict(limits);
    let mut found = Vec::new();
    for_each(Source::new(bytes), &mut reading, &mut |_, _, entry| {
        found.push(ArchiveMember {
            name: entry.name,
            bytes: entry.content.bytes(),
            offset: entry.content.at(0),
        });
    })?;
    Ok(found)
}

/// A Unix archive.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Archive,
    // An archive in the place of an image is native code for several of Intel's GPUs, which
    // runtimes take as one image; only a file is looked into.
    standing: Standing::File,
    is: |bytes| bytes.starts_with(MAGIC) || bytes.starts_with(THIN_MAGIC),
    parts,
    replace: |source, id, new, _| replace::replace(source, id, &new.joined()).map(Chunks::from),
    #[cfg(feature = "write")]
    edit,
    ..ContainerFormat::USUAL
};

/// Goes through the members that are files.
pub(crate) fn for_each<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: &mut dyn FnMut(&mut Reading, u64, Entry<'data>),
) -> Result<(), Error> {
    let mut entries = Entries::new(source)?;
    loop {
        let header = entries.position();
        // Where a header is wrong there is no telling where the next one is.
        let next = entries.next();
        let Some(entry) = reading.accept(next)?.flatten() else {
            return Ok(());
        };
        if let Some(error) = entries.take_fault() {
            reading.fault(error)?;
        }
        if entry.role != Role::File {
            continue;
        }
        let counted = reading
            .count_strings(1)
            .and_then(|()| reading.count_metadata(entry.name.len() as u64));
        if reading.accept(counted)?.is_none() {
            return Ok(());
        }
        visit(reading, header, entry);
    }
}

/// Hands over every part.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let is_thin = is_thin(source.bytes());
    let mut names = PartNames::default();
    let mut number = 0_usize;
    for_each(source, reading, &mut |reading, header, entry| {
        if !is_thin {
            let name = names.file(entry.name, number);
            // The place of the header and no number: tables of symbols name members by it too, so
            // that who replaces a member needs nothing else.
            let id = usize::try_from(header).unwrap_or(usize::MAX);
            visit(reading, Part::new(id, name, entry.content, Content::File));
        }
        number = number.saturating_add(1);
    })?;
    if is_thin && number > 0 {
        reading.fault(
            Error::unsupported("thin archive: its members are files of their own, list them instead")
                .at(source.at(0))
                .finding(format_args!("{number} members")),
        )?;
    }
    Ok(())
}

/// The archive with other contents of some members.
#[cfg(feature = "write")]
fn edit<'data>(
    source: Source<'data>,
    edits: &Edits<'_, 'data>,
    limits: &Limits,
) -> Result<Edited<'data>, Error> {
    let mut new = BTreeMap::new();
    for (id, change) in &edits.parts {
        match change {
            Change::Replace(edited) => new.insert(*id as u64, edited.bytes.joined()),
            Change::Remove => {
                return Err(Error::unsupported(
                    "a member of an archive that is an image by itself cannot be left out",
                )
                .at(source.at(*id as u64))
                .expecting("`ar d`, which takes members out")
                .finding(name_at(source, *id, limits)));
            }
        };
    }
    let new = new.iter().map(|(id, bytes)| (*id, &**bytes)).collect();
    replace::replace_all(source, &new).map(Edited::whole)
}

/// The name of the member whose header is there.
#[cfg(feature = "write")]
fn name_at(source: Source<'_>, header: usize, limits: &Limits) -> String {
    let mut name = String::new();
    let mut reading = Reading::tolerant(limits);
    let _ = for_each(source, &mut reading, &mut |_, at, entry| {
        if at == header as u64 {
            name = String::from_utf8_lossy(entry.name).into_owned();
        }
    });
    name
}

/// The archive with another content of the member with this number, counting as [`members`] does. Other members
/// keep their headers and contents; symbol tables follow.
///
/// # Errors
///
/// A thin or damaged archive; a number of no member; in an archive of Windows a member that defines other
/// symbols than before.
#[cfg(feature = "write")]
pub fn replace_member(archive: &[u8], number: usize, new: &[u8]) -> Result<Vec<u8>, Error> {
    let source = Source::new(archive);
    let mut headers = Vec::new();
    for_each(
        source,
        &mut Reading::strict(&Limits::default()),
        &mut |_, header, _| headers.push(header),
    )?;
    let header = headers
        .get(number)
        .and_then(|header| usize::try_from(*header).ok())
        .ok_or_else(|| Error::malformed("there is no such member").finding(number))?;
    replace::replace(source, header, new)
}
