//! Archives of bundled files: an archive for each target.

use std::borrow::Cow;
use std::path::Path;

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol};

use super::bundled::{self, Content, FileType};
use super::options::Options;
use super::target::{EntryTarget, TargetId, find_conflict};
use super::{Message, NAME, Result, compression, read, say, write};

/// Whether the bytes begin like an archive, thin or not.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n")
}

/// A member of an archive.
struct Member<'a> {
    /// Its name, without the folder that thin archives have with it.
    name: String,
    bytes: Cow<'a, [u8]>,
}

/// The members, those of a thin archive from their files.
fn members<'a>(file: &str, bytes: &'a [u8]) -> Result<Vec<Member<'a>>> {
    let wrong = |error: object::Error| Message::new(format!("{file}: {error}"));
    if !is_archive(bytes) {
        return Err(Message::new("file too small to be an archive"));
    }
    let archive = ArchiveFile::parse(bytes).map_err(wrong)?;
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(wrong)?;
        let path = String::from_utf8_lossy(member.name()).into_owned();
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let bytes = if member.is_thin() {
            Cow::Owned(read(&folder.join(&path).to_string_lossy())?.to_vec())
        } else {
            Cow::Borrowed(member.data(bytes).map_err(wrong)?)
        };
        members.push(Member { name, bytes });
    }
    Ok(members)
}

/// The IDs in all members, each once, in the order of the archive.
pub(super) fn list(options: &Options, file: &str, bytes: &[u8]) -> Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for member in members(file, bytes)? {
        let place = format!("{file}({})", member.name);
        let content = compression::unpack(options, &place, &member.bytes)?;
        let entries = bundled::read(FileType::Object, &place, &content)?;
        all.extend(
            bundled::ids(&entries)
                .into_iter()
                .filter(|id| seen.insert(id.clone())),
        );
    }
    Ok(all)
}

/// Writes an archive for each target with the code for it out of every member.
pub(super) fn unbundle(options: &Options, targets: &[TargetId], file: &str, bytes: &[u8]) -> Result<()> {
    let mut outputs: Vec<Vec<Member<'static>>> = targets.iter().map(|_| Vec::new()).collect();
    for member in members(file, bytes)? {
        let place = format!("{file}({})", member.name);
        let content = compression::unpack(options, &place, &member.bytes)?;
        let entries = bundled::read(FileType::Object, &place, &content)?;
        if options.check_archive
            && let Some((one, other)) = find_conflict(entries.iter().map(|entry| &*entry.id))
        {
            return Err(Message::new(format!(
                "conflicting TargetIDs '{one}' and '{other}' in {place}"
            )));
        }
        for entry in &entries {
            let known = EntryTarget::new(&entry.id);
            for (target, output) in targets.iter().zip(&mut outputs) {
                if !target.accepts(&known, options.hip_openmp_compatible) {
                    continue;
                }
                let bytes = match &entry.content {
                    Content::Bytes(bytes) => bytes.clone().into_owned(),
                    Content::HostObject if options.print_commands => {
                        say(format_args!("{}", bundled::remove_command(&member.name, "-")));
                        continue;
                    }
                    Content::HostObject => bundled::host_object(&place, &content)?,
                };
                output.push(Member {
                    name: output_name(&member.name, &entry.id),
                    bytes: Cow::Owned(bytes),
                });
            }
        }
    }
    for ((target, members), path) in targets.iter().zip(&outputs).zip(&options.outputs) {
        if members.is_empty() && !options.allow_missing {
            return Err(Message::new(format!(
                "no compatible code object found for the target '{target}' in heterogeneous archive \
                 library: {file}"
            )));
        }
        write(path, &write_archive(members)?)?;
    }
    Ok(())
}

/// The name of a member of an archive for a target: `STEM-ID` and then `STEM.EXTENSION`, as the original has it.
fn output_name(member: &str, id: &str) -> String {
    let (stem, extension) = match member.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, Some(extension)),
        _ => (member, None),
    };
    let extension = if id.contains("gfx") {
        Some("bc")
    } else if id.contains("sm_") {
        Some("cubin")
    } else {
        extension
    };
    let dot = if extension.is_some() { "." } else { "" };
    let id = id.replace(':', "_");
    format!("{stem}-{id}{stem}{dot}{}", extension.unwrap_or_default())
}

/// An archive in GNU's form with an index of what the ELF members define, without times and owners.
fn write_archive(members: &[Member<'_>]) -> Result<Vec<u8>> {
    const MAGIC: &[u8] = b"!<arch>\n";
    const HEADER: usize = 60;
    // Names that do not fit into a header, with a slash at their end, are in a member of their own.
    const LONGEST_NAME: usize = 15;
    let mut long_names = Vec::new();
    let mut headers = Vec::new();
    for member in members {
        let name = if member.name.len() <= LONGEST_NAME && !member.name.contains('/') {
            format!("{}/", member.name)
        } else {
            let name = format!("/{}", long_names.len());
            long_names.extend(member.name.bytes().chain(*b"/\n"));
            name
        };
        headers.push(header(&name, ["0", "0", "0", "644"], member.bytes.len()));
    }
    if long_names.len() % 2 != 0 {
        long_names.push(b'\n');
    }

    let symbols: Vec<Vec<String>> = members
        .iter()
        .map(|member| defined_symbols(&member.bytes))
        .collect();
    let count: usize = symbols.iter().map(Vec::len).sum();
    let mut names: Vec<u8> = symbols
        .iter()
        .flatten()
        .flat_map(|name| name.bytes().chain([0]))
        .collect();
    if names.len() % 2 != 0 {
        names.push(0);
    }
    let index_size = if count == 0 {
        0
    } else {
        4 + 4 * count + names.len()
    };

    let section = |size: usize| if size == 0 { 0 } else { HEADER + size };
    let mut offset = MAGIC.len() + section(index_size) + section(long_names.len());
    let mut offsets = Vec::new();
    for (member, symbols) in members.iter().zip(&symbols) {
        let place = u32::try_from(offset)
            .map_err(|_| Message::new("the archive is too large for its index"))?
            .to_be_bytes();
        offsets.extend(symbols.iter().flat_map(|_| place));
        offset += HEADER + member.bytes.len().next_multiple_of(2);
    }

    let mut out = Vec::with_capacity(offset);
    out.extend_from_slice(MAGIC);
    if count > 0 {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        out.extend(header("/", ["0", "0", "0", "0"], index_size));
        out.extend(count.to_be_bytes());
        out.extend(offsets);
        out.extend(names);
    }
    if !long_names.is_empty() {
        out.extend(header("//", ["", "", "", ""], long_names.len()));
        out.extend(long_names);
    }
    for (member, header) in members.iter().zip(headers) {
        out.extend(header);
        out.extend_from_slice(&member.bytes);
        if member.bytes.len() % 2 != 0 {
            out.push(b'\n');
        }
    }
    Ok(out)
}

/// The header of a member: name, time, owner, group and mode, and size, in columns.
fn header(name: &str, [time, owner, group, mode]: [&str; 4], size: usize) -> Vec<u8> {
    format!("{name:<16}{time:<12}{owner:<6}{group:<6}{mode:<8}{size:<10}`\n").into_bytes()
}

/// The global symbols that an object defines. Bitcode has them in a form that only LLVM reads; linkers look
/// into the members themselves.
fn defined_symbols(bytes: &[u8]) -> Vec<String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Vec::new();
    }
    let file = match object::File::parse(bytes) {
        Ok(file) => file,
        Err(error) => {
            say(format_args!(
                "{NAME}: warning: no symbols in the archive's index: {error}"
            ));
            return Vec::new();
        }
    };
    file.symbols()
        .filter(|symbol| symbol.is_global() && !symbol.is_undefined())
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .collect()
}
