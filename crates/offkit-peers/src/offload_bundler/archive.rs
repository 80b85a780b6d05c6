//! Archives of bundled files: an archive for each target.

use std::borrow::Cow;
use std::path::Path;

use offkit_host::files;
use offkit_image::Family;
use offkit_object::archive::{self, ArchiveKind, ThinMembers};
use offkit_object::bundle::EntryId;
use offkit_object::{ImageFormat, Limits, Location};

use super::bundled::{self, Content, FileType};
use super::error::{Error, Result};
use super::options::Options;
use super::target::{TargetId, find_conflict};
use super::{compression, write};

/// Whether the bytes begin like an archive, thin or not.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    ImageFormat::detect(bytes) == ImageFormat::Archive
}

/// A member of an archive.
struct Member<'a> {
    /// Its name, without the folder that thin archives have with it.
    name: String,
    bytes: Cow<'a, [u8]>,
}

/// The members, those of a thin archive from their files.
fn members<'a>(file: &str, bytes: &'a [u8]) -> Result<Vec<Member<'a>>> {
    if !is_archive(bytes) {
        return Err(Error::NoArchive);
    }
    let limits = Limits::default();
    let in_archive = archive::members(bytes, &limits).map_err(|error| Error::of_content(file, error))?;
    let mut thin = ThinMembers::of(Path::new(file), bytes, Location::of_file(file), None, &limits);
    let mut found = Vec::new();
    if thin.is_empty() {
        found.extend(in_archive.into_iter().map(|member| Member {
            name: name_of(&String::from_utf8_lossy(member.name)),
            bytes: Cow::Borrowed(member.bytes),
        }));
    }
    while let Some(member) = thin.next() {
        let path = member.path.to_string_lossy();
        // The archive chose the name, and could mean a device or a pipe.
        let bytes = files::open_regular(&member.path).map_err(|source| Error::File {
            file: path.clone().into_owned(),
            source,
        })?;
        if !thin.enter(&member, &bytes) {
            found.push(Member {
                name: name_of(&path),
                bytes: Cow::Owned(bytes.to_vec()),
            });
        }
    }
    Ok(found)
}

fn name_of(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
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
    let mut outputs: Vec<Vec<Member<'_>>> = targets.iter().map(|_| Vec::new()).collect();
    let inputs = members(file, bytes)?;
    let contents = inputs.iter().map(|member| {
        let place = format!("{file}({})", member.name);
        let content = compression::unpack(options, &place, &member.bytes)?;
        Ok((member, place, content))
    });
    // All of them first, as what goes into the new archives is borrowed from here.
    let contents = contents.collect::<Result<Vec<_>>>()?;
    for (member, place, content) in &contents {
        let entries = bundled::read(FileType::Object, place, content)?;
        if options.check_archive
            && let Some((one, other)) = find_conflict(entries.iter().map(|entry| &*entry.id))
        {
            return Err(Error::ConflictInArchive {
                one: one.to_owned(),
                other: other.to_owned(),
                place: place.clone(),
            });
        }
        for entry in entries {
            for (target, output) in targets.iter().zip(&mut outputs) {
                if !target.accepts(&entry.id, options.hip_openmp_compatible) {
                    continue;
                }
                let bytes = match &entry.content {
                    Content::Bytes(bytes) => bytes.clone(),
                    Content::HostObject if options.print_commands => {
                        say!("{}", bundled::remove_command(&member.name, "-"));
                        continue;
                    }
                    Content::HostObject => Cow::Owned(bundled::host_object(place, content)?),
                };
                output.push(Member {
                    name: output_name(&member.name, &entry.id),
                    bytes,
                });
            }
        }
    }
    for ((target, members), path) in targets.iter().zip(&outputs).zip(&options.outputs) {
        if members.is_empty() && !options.allow_missing {
            return Err(Error::NoCompatible {
                target: target.to_string(),
                file: file.to_owned(),
            });
        }
        let members: Vec<_> = members
            .iter()
            .map(|member| archive::Member::new(&member.name, &member.bytes))
            .collect();
        let archive = archive::write_chunks(&members, ArchiveKind::Gnu);
        let archive = archive.map_err(|error| Error::of_content(path, error))?;
        write(path, &archive.slices())?;
    }
    Ok(())
}

/// The name of a member of an archive for a target: `STEM-ID` and then `STEM.EXTENSION`, as the original has it.
fn output_name(member: &str, id: &str) -> String {
    let (stem, extension) = match member.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, Some(extension)),
        _ => (member, None),
    };
    let target = EntryId::parse(id).target();
    // As the original has it for device linkers: AMD's take bitcode, NVIDIA's cubins.
    let extension = match target.family() {
        _ if target.arch.is_empty() => extension,
        Family::Amdgcn => Some("bc"),
        Family::Nvptx64 | Family::Nvptx32 => Some("cubin"),
        _ => extension,
    };
    let dot = if extension.is_some() { "." } else { "" };
    let id = id.replace(':', "_");
    format!("{stem}-{id}{stem}{dot}{}", extension.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_thin_archive_names_no_devices() {
        let name = "/dev/null/\n";
        let mut bytes = b"!<thin>\n".to_vec();
        for (member, size, content) in [("//", name.len(), name), ("/0", 4, "")] {
            let header = format!("{member:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644);
            bytes.extend(header.into_bytes());
            bytes.extend(content.bytes());
            bytes.resize(bytes.len().next_multiple_of(2), b'\n');
        }
        let Err(error) = members("thin.a", &bytes) else {
            panic!("a device was read");
        };
        assert!(matches!(error, Error::File { .. }), "{error}");
    }
}
