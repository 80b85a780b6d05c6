//! An entry as bytes: the same on disk, in a remote store and in an export.
//!
//! | Bytes | |
//! |---|---|
//! | 8 | [`MAGIC`], which has the version |
//! | 4 | length of the header, little endian |
//! | 4 | length of the signature; 0: it is not signed |
//! | 8 | length of the content |
//! | 32 | SHA-256 of the header |
//! | | the header, JSON: [`Header`] |
//! | | the content |
//! | | the signature of the header's digest, as OpenSSH writes it |
//!
//! The header has the digest of the content, and all that the key is made of: whoever knows the header's digest knows
//! that everything else is as it was written.

use std::ops::{Deref, Range};
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::files::FileId;
use crate::key::{Digest, Key};

/// What an entry begins with.
const MAGIC: [u8; 8] = *b"offkitC1";

/// Where the length of the signature is.
const SIGNATURE_LENGTH: Range<usize> = 12..16;

/// Where the digest of the header is.
const DIGEST: Range<usize> = 24..56;

/// Where the header begins.
const PREAMBLE: usize = DIGEST.end;

/// The longest header that is read.
const MAX_HEADER: usize = 4 << 20;

/// The longest signature that is read.
const MAX_SIGNATURE: usize = 1 << 16;

/// What is known of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// What it is made of.
    #[serde(flatten)]
    pub key: Key,
    /// Files that whoever made it had in use: where one of them is another now, the entry does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileId>,
    /// The files that the content is a sequence of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// When it was made, in seconds since 1970.
    pub made: u64,
    /// The digest of the content.
    sha256: String,
}

/// A file within a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Its path within the folder.
    #[serde(with = "crate::path")]
    pub path: PathBuf,
    /// How many bytes of the content are its own.
    pub length: u64,
    /// It is a symbolic link, and its bytes say where to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub link: bool,
}

impl Part {
    /// Whether the path leads to somewhere within the folder.
    pub(crate) fn stays_inside(&self) -> bool {
        let is_named = self.path.file_name().is_some();
        is_named
            && self
                .path
                .components()
                .all(|part| matches!(part, Component::Normal(_)))
    }
}

/// Why bytes are no entry, or not the one that was looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadEntry {
    /// It does not begin as entries of this version do.
    #[error("it is no cache entry of this version")]
    Version,
    /// Bytes are missing, or there are too many.
    #[error("it is cut short, or longer than it says")]
    Length,
    /// The header is not what was written.
    #[error("its header is damaged")]
    Header,
    /// The content is not what was written.
    #[error("its content is damaged")]
    Content,
    /// It is in another one's place.
    #[error("it belongs to another key")]
    Key,
    /// It has no signature by a key that is trusted.
    #[error("it is not signed by a key that is trusted")]
    Signature,
}

/// An entry, all digests of which are right.
#[derive(Clone, Debug)]
pub struct Entry {
    bytes: Vec<u8>,
    content: Range<usize>,
    /// What is known of the content.
    pub header: Header,
}

impl Entry {
    /// Puts a content together with what it is made of.
    pub(crate) fn new(key: &Key, files: Vec<FileId>, parts: Vec<Part>, content: &[u8]) -> Self {
        let made = SystemTime::now().duration_since(UNIX_EPOCH);
        let header = Header {
            key: key.clone(),
            files,
            parts,
            made: made.map_or(0, |since| since.as_secs()),
            sha256: Digest::of(content).to_string(),
        };
        let text = serde_json::to_vec(&header).unwrap_or_default();
        let header_digest = Digest::of(&text);
        let mut bytes = Vec::new();
        bytes.extend(MAGIC);
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend((content.len() as u64).to_le_bytes());
        bytes.extend(header_digest.0);
        bytes.extend(&text);
        let start = bytes.len();
        bytes.extend(content);
        Self {
            content: start..bytes.len(),
            bytes,
            header,
        }
    }

    /// Reads an entry and checks everything that can be checked without a key: nothing of it has to be trusted.
    ///
    /// # Errors
    ///
    /// [`BadEntry`] for what is wrong.
    pub fn read(bytes: Vec<u8>) -> Result<Self, BadEntry> {
        let (header, sizes) = read_header(&bytes)?;
        // No digest covers the signature either: nothing may hide behind it.
        if sizes.end != bytes.len() {
            return Err(BadEntry::Length);
        }
        let content = bytes.get(sizes.content.clone()).ok_or(BadEntry::Length)?;
        if Digest::parse(&header.sha256) != Some(Digest::of(content)) {
            return Err(BadEntry::Content);
        }
        let length = header
            .parts
            .iter()
            .try_fold(0_u64, |sum, part| sum.checked_add(part.length));
        let is_whole = header.parts.is_empty() || length == Some(content.len() as u64);
        // A link from elsewhere could lead anywhere.
        let is_fit = |part: &Part| part.stays_inside() && !(part.link && header.key.kind.travels());
        if !is_whole || !header.parts.iter().all(is_fit) {
            return Err(BadEntry::Header);
        }
        Ok(Self {
            content: sizes.content,
            bytes,
            header,
        })
    }

    /// The same, and that it is for a key.
    pub(crate) fn read_for(name: Digest, bytes: Vec<u8>) -> Result<Self, BadEntry> {
        let entry = Self::read(bytes)?;
        match entry.header.key.digest() == name {
            true => Ok(entry),
            false => Err(BadEntry::Key),
        }
    }

    /// The entry at the beginning of some bytes, and the bytes after it. Only where it ends is looked at.
    pub(crate) fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), BadEntry> {
        // The content is for `read` to check: a bad one must not hide the entries behind it.
        let (_, sizes) = read_header(bytes)?;
        bytes.split_at_checked(sizes.end).ok_or(BadEntry::Length)
    }

    /// All of it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it goes by.
    pub fn name(&self) -> Digest {
        self.header.key.digest()
    }

    /// Whether the files that whoever made it had in use are those that are there now.
    pub(crate) fn is_of_files_there(&self) -> bool {
        self.header.files.iter().all(FileId::is_there)
    }

    /// What is signed: the digest of the header, which has that of the content.
    pub(crate) fn signed(&self) -> &[u8] {
        self.bytes.get(DIGEST).unwrap_or_default()
    }

    /// The signature; empty if there is none.
    pub(crate) fn signature(&self) -> &[u8] {
        self.bytes.get(self.content.end..).unwrap_or_default()
    }

    /// Puts a signature in the place of what was there.
    pub(crate) fn set_signature(&mut self, signature: &[u8]) {
        // No digest covers the signature or its length: a signed entry is the same entry, and goes by the same name.
        self.bytes.truncate(self.content.end);
        self.bytes.extend(signature);
        if let Some(length) = self.bytes.get_mut(SIGNATURE_LENGTH) {
            length.copy_from_slice(&(signature.len() as u32).to_le_bytes());
        }
    }

    /// The files of the content.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&Part, &[u8])> {
        let mut rest: &[u8] = self;
        self.header.parts.iter().map(move |part| {
            // The lengths were checked when it was read.
            let (own, after) = rest.split_at_checked(part.length as usize).unwrap_or((rest, &[]));
            rest = after;
            (part, own)
        })
    }
}

/// The content.
impl Deref for Entry {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.content.clone()).unwrap_or_default()
    }
}

/// Where things are within an entry.
struct Sizes {
    content: Range<usize>,
    end: usize,
}

/// The header alone, from the beginning of an entry.
fn read_header(bytes: &[u8]) -> Result<(Header, Sizes), BadEntry> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(BadEntry::Version)?;
    let (header_length, rest) = rest.split_first_chunk().ok_or(BadEntry::Length)?;
    let (signature_length, rest) = rest.split_first_chunk().ok_or(BadEntry::Length)?;
    let (content_length, rest) = rest.split_first_chunk().ok_or(BadEntry::Length)?;
    let (digest, rest) = rest.split_first_chunk().ok_or(BadEntry::Length)?;
    let header_length = u32::from_le_bytes(*header_length) as usize;
    let signature_length = u32::from_le_bytes(*signature_length) as usize;
    let content_length =
        usize::try_from(u64::from_le_bytes(*content_length)).map_err(|_| BadEntry::Length)?;
    // No digest covers these lengths, so they have bounds of their own.
    if header_length > MAX_HEADER || signature_length > MAX_SIGNATURE {
        return Err(BadEntry::Length);
    }
    let text = rest.get(..header_length).ok_or(BadEntry::Length)?;
    // Before it is parsed: what is parsed then is what somebody's `offkit` wrote, unless that was meant to deceive.
    if Digest::of(text) != Digest(*digest) {
        return Err(BadEntry::Header);
    }
    let header = serde_json::from_slice(text).map_err(|_| BadEntry::Header)?;
    let start = PREAMBLE.saturating_add(header_length);
    let content_end = start.checked_add(content_length).ok_or(BadEntry::Length)?;
    let end = content_end
        .checked_add(signature_length)
        .ok_or(BadEntry::Length)?;
    let sizes = Sizes {
        content: start..content_end,
        end,
    };
    Ok((header, sizes))
}

/// The header of an entry in a file, without reading the content.
pub(crate) fn header_of(path: &Path) -> Option<Header> {
    use std::io::Read as _;
    let mut file = std::fs::File::open(path).ok()?;
    let mut bytes = vec![0; PREAMBLE];
    file.read_exact(&mut bytes).ok()?;
    let (length, _) = bytes.get(8..)?.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_HEADER {
        return None;
    }
    file.take(length as u64).read_to_end(&mut bytes).ok()?;
    Some(read_header(&bytes).ok()?.0)
}
