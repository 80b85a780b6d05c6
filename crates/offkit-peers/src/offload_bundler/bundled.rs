//! Bundled files of every type.

use std::borrow::Cow;
use std::collections::HashMap;

use offkit_object::bundle::{Bundle, BundleEntry, COMPRESSED_MAGIC, Comment, EntryId, MAGIC};
use offkit_object::host::{self, NewSection, SectionContent};
use offkit_object::{Bytes, Chunks, Limits, Producer};

use super::error::{Error, Result};
use super::target::TargetId;
use super::{NAME, order};

/// What sections of bundled objects are called; the entry's ID follows.
const SECTION_PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// What is in the section for the host: its code is the rest of the object.
const HOST_SECTION: &[u8] = &[0];

/// How the entries of a file are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileType {
    Text(Comment),
    Binary,
    /// As sections, where the host's code is an object; else as [`Binary`](Self::Binary).
    Object,
    /// An archive of any; a file that is none is taken for an [`Object`](Self::Object).
    Archive,
}

impl FileType {
    pub(super) fn parse(name: &str) -> Result<Self> {
        match name {
            "i" | "ii" | "cui" | "hipi" => Ok(Self::Text(Comment::Slashes)),
            "d" | "s" => Ok(Self::Text(Comment::Hash)),
            "ll" => Ok(Self::Text(Comment::Semicolon)),
            "bc" | "gch" | "ast" => Ok(Self::Binary),
            "o" => Ok(Self::Object),
            "a" => Ok(Self::Archive),
            other => Err(Error::FileType {
                name: other.to_owned(),
            }),
        }
    }

    pub(super) fn is_object(self) -> bool {
        matches!(self, Self::Object | Self::Archive)
    }
}

/// An entry of a bundled file.
pub(super) struct Entry<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) content: Content<'a>,
}

pub(super) enum Content<'a> {
    Bytes(Cow<'a, [u8]>),
    /// The object, without the sections of all entries.
    HostObject,
}

impl<'a> From<BundleEntry<'a>> for Entry<'a> {
    fn from(entry: BundleEntry<'a>) -> Self {
        Self {
            id: entry.id,
            content: Content::Bytes(entry.bytes.into_cow()),
        }
    }
}

/// The entries of a file in the order in which they are listed; none if it is not bundled at all.
pub(super) fn read<'a>(file_type: FileType, file: &str, bytes: &'a [u8]) -> Result<Vec<Entry<'a>>> {
    let wrong = |error| Error::of_content(file, error);
    let limits = Limits::default();
    match file_type {
        FileType::Text(_) => {
            let bundle = Bundle::parse_text(bytes, &limits).map_err(wrong)?;
            Ok(bundle.entries.into_iter().map(Entry::from).collect())
        }
        FileType::Object | FileType::Archive if host::is_host(bytes) => {
            let sections = host::device_sections(bytes, &limits).map_err(wrong)?;
            let entries = sections.into_iter().filter_map(|section| match section.content {
                SectionContent::BundleEntry(id) => Some(Entry {
                    content: match EntryId::parse(&id).producer() == Producer::Host {
                        true => Content::HostObject,
                        false => Content::Bytes(Cow::Borrowed(section.bytes)),
                    },
                    id: Cow::Owned(id),
                }),
                _ => None,
            });
            Ok(entries.collect())
        }
        _ if bytes.starts_with(&MAGIC) || bytes.starts_with(&COMPRESSED_MAGIC) => {
            // Text is listed as it stands, but the original has binary entries in a hash table, and
            // lists them as they come out of it.
            let entries = read_binary(file, bytes)?;
            Ok(in_order(entries))
        }
        _ => Ok(Vec::new()),
    }
}

/// The entries of all bundles that follow each other.
fn read_binary<'a>(file: &str, bytes: &'a [u8]) -> Result<Vec<BundleEntry<'a>>> {
    let limits = Limits::default();
    let all = match Bundle::parse_all(bytes, &limits) {
        Ok(all) => all,
        // What follows a bundle is of no interest to the original.
        Err(error) => match Bundle::parse(bytes, &limits) {
            Ok(first) => {
                say!("{NAME}: warning: {}", error.with_file(file));
                vec![first]
            }
            Err(error) => return Err(Error::of_content(file, error)),
        },
    };
    Ok(all.into_iter().flat_map(|bundle| bundle.entries).collect())
}

fn in_order(entries: Vec<BundleEntry<'_>>) -> Vec<Entry<'_>> {
    let places: HashMap<String, usize> = order::hashed(entries.iter().map(|entry| &*entry.id))
        .into_iter()
        .enumerate()
        .map(|(place, id)| (id.to_owned(), place))
        .collect();
    let mut entries = entries;
    entries.sort_by_key(|entry| places.get(&*entry.id).copied());
    entries.into_iter().map(Entry::from).collect()
}

/// The IDs, each once.
pub(super) fn ids(entries: &[Entry<'_>]) -> Vec<String> {
    let mut ids: Vec<String> = entries
        .iter()
        .map(|entry| entry.id.clone().into_owned())
        .collect();
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}

/// Whether the entries become sections of an object: the host's code is one.
pub(super) fn is_object_bundle(entries: &[(&TargetId, &[u8])], host: usize) -> bool {
    entries.get(host).is_some_and(|(_, bytes)| host::is_host(bytes))
}

/// The bundled file.
pub(super) fn write<'data>(
    file_type: FileType,
    entries: &[(&TargetId, &'data [u8])],
    alignment: u64,
) -> Result<Chunks<'data>> {
    let host = entries.iter().position(|(target, _)| target.is_host());
    let bundle = || Bundle {
        entries: entries
            .iter()
            .map(|(target, bytes)| BundleEntry::new(target.as_str().to_owned(), *bytes))
            .collect(),
    };
    let whole = |bytes| Chunks::from(Bytes::from(bytes));
    let written = match (file_type, host) {
        (FileType::Text(comment), _) => bundle().write_text(comment).map(whole),
        (FileType::Object | FileType::Archive, Some(host)) if is_object_bundle(entries, host) => {
            add_to_object(entries, host)
        }
        _ => bundle().into_chunks(alignment),
    };
    Ok(written?)
}

fn add_to_object<'data>(
    entries: &[(&TargetId, &'data [u8])],
    host: usize,
) -> std::result::Result<Chunks<'data>, offkit_object::Error> {
    let sections = entries.iter().enumerate().map(|(index, (target, bytes))| {
        // A section for the host all the same: without one, nobody would find an entry for it.
        let bytes = if index == host { HOST_SECTION } else { *bytes };
        NewSection::excluded(format!("{SECTION_PREFIX}{target}"), bytes)
    });
    let object = entries.get(host).map_or([].as_slice(), |(_, bytes)| bytes);
    host::add_sections_chunks(object, &sections.collect::<Vec<_>>())
}

/// The host's object out of a bundled one.
pub(super) fn host_object(file: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    host::remove_sections(bytes, |name| name.starts_with(SECTION_PREFIX))
        .map_err(|error| Error::of_content(file, error))
}

/// The command with which the original makes a bundled object.
pub(super) fn add_command(targets: &[TargetId], inputs: &[String], host: usize, output: &str) -> String {
    let mut words = vec!["llvm-objcopy".to_owned()];
    for (index, (target, input)) in targets.iter().zip(inputs).enumerate() {
        // The host's section is made from a temporary file.
        let content = if index == host { "a-zero-byte" } else { input };
        words.push(format!("--add-section={SECTION_PREFIX}{target}={content}"));
        words.push(format!(
            "--set-section-flags={SECTION_PREFIX}{target}=readonly,exclude"
        ));
    }
    words.push("--".to_owned());
    words.extend(inputs.get(host).cloned());
    words.push(output.to_owned());
    quote(&words)
}

/// The command with which the original gets the host's object back.
pub(super) fn remove_command(input: &str, output: &str) -> String {
    let pattern = format!("--remove-section={SECTION_PREFIX}.*");
    quote(&["llvm-objcopy", "--regex", &pattern, "--", input, output].map(str::to_owned))
}

fn quote(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(" ")
}
