//! Bundles in text form: every entry between two comment lines.

use memchr::memmem;
use offkit_image::Error;

use super::Bundle;
use crate::reading::Reading;
use crate::source::Source;

const START: &str = "__CLANG_OFFLOAD_BUNDLE____START__ ";
const END: &str = "__CLANG_OFFLOAD_BUNDLE____END__ ";

/// How the lines with the markers begin, which depends on the language of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Comment {
    /// `//`: preprocessed C, C++, CUDA and HIP.
    Slashes,
    /// `#`: assembly and dependencies.
    Hash,
    /// `;`: LLVM IR.
    Semicolon,
}

impl Comment {
    const ALL: [Self; 3] = [Self::Slashes, Self::Hash, Self::Semicolon];

    /// The characters that begin a comment.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slashes => "//",
            Self::Hash => "#",
            Self::Semicolon => ";",
        }
    }

    /// A line feed and the line of a marker up to the ID.
    fn marker(self, marker: &str) -> Vec<u8> {
        format!("\n{} {marker}", self.as_str()).into_bytes()
    }

    /// An error if `text` cannot be told from the end of an entry.
    fn refuse_marker(self, text: &[u8]) -> Result<(), Error> {
        // A start within an entry does no harm, as only an end is looked for there.
        match memmem::find(text, &self.marker(END)) {
            None => Ok(()),
            Some(_) => Err(Error::unrepresentable(
                "offload bundle in text form cannot hold a text with a marker of its own",
            )
            .finding(END.trim_end())),
        }
    }

    /// The same for a text to be put into `bundle`.
    pub(super) fn refuse_markers(bundle: &[u8], text: &[u8]) -> Result<(), Error> {
        Self::find(bundle).map_or(Ok(()), |comment| comment.refuse_marker(text))
    }

    /// The comment of the first marker that is in `bytes`.
    fn find(bytes: &[u8]) -> Option<Self> {
        let starts = memmem::find_iter(bytes, START);
        starts.filter_map(|start| bytes.get(..start)).find_map(|before| {
            Self::ALL.into_iter().find(|comment| {
                before
                    .strip_suffix(b" ")
                    .and_then(|before| before.strip_suffix(comment.as_str().as_bytes()))
                    .is_some_and(|before| before.is_empty() || before.ends_with(b"\n"))
            })
        })
    }
}

/// Whether the bytes look like a bundle in text form: a marker is among the first 64 KiB.
#[must_use]
pub fn is_text(bytes: &[u8]) -> bool {
    Comment::find(bytes.get(..1 << 16).unwrap_or(bytes)).is_some()
}

/// An entry as it was read.
pub(super) struct Entry<'data> {
    pub(super) id: &'data str,
    pub(super) bytes: Source<'data>,
}

/// Reads every entry. Text outside of the markers is passed over.
pub(super) fn read<'data>(source: Source<'data>, reading: &mut Reading) -> Result<Vec<Entry<'data>>, Error> {
    let mut entries = Vec::new();
    let Some(comment) = Comment::find(source.bytes()) else {
        return Ok(entries);
    };
    let (start, end) = (comment.marker(START), comment.marker(END));
    let (starts, ends) = (memmem::Finder::new(&start), memmem::Finder::new(&end));
    let mut position = 0_u64;
    // The very first line has no line feed before it.
    let first_line = start.get(1..).unwrap_or_default();
    let mut first = source.bytes().starts_with(first_line).then_some(first_line.len());
    loop {
        let after_marker = first.take().or_else(|| {
            let found = starts.find(source.from(position).bytes())?;
            found.checked_add(start.len())
        });
        let Some(after_marker) = after_marker else {
            return Ok(entries);
        };
        position = position.saturating_add(after_marker as u64);
        let (id, after_id) = line_at(source, position);
        let counted = reading
            .count_image()
            .and_then(|()| reading.count_metadata(id.len()));
        if reading.accept(counted)?.is_none() {
            return Ok(entries);
        }
        let number = entries.len();
        let Some(size) = ends.find(source.from(after_id).bytes()) else {
            let fault = Error::malformed("offload bundle in text form is cut off")
                .at(source.at(position))
                .field(format!("entry {number}"))
                .expecting(format!("{} {END}after it", comment.as_str()))
                .finding("the end of the file");
            reading.fault(fault)?;
            return Ok(entries);
        };
        let size = size as u64;
        let at_end = after_id.saturating_add(size).saturating_add(end.len() as u64);
        let (end_id, after_end) = line_at(source, at_end);
        if end_id.bytes() != id.bytes() {
            let fault = Error::malformed("offload bundle in text form has an end for another entry")
                .at(source.at(at_end))
                .field(format!("entry {number}"))
                .expecting(String::from_utf8_lossy(id.bytes()).escape_debug().to_string())
                .finding(String::from_utf8_lossy(end_id.bytes()).escape_debug());
            reading.fault(fault)?;
        }
        match std::str::from_utf8(id.bytes()) {
            Ok(id) => entries.push(Entry {
                id,
                bytes: source.get(after_id, size).unwrap_or(source.from(after_id)),
            }),
            Err(error) => {
                let fault = Error::malformed("offload bundle has an entry ID that is not text")
                    .at(id.at(error.valid_up_to() as u64))
                    .field(format!("entry {number}, ID"))
                    .expecting("UTF-8 text");
                reading.fault(fault)?;
            }
        }
        // The line feed belongs to the next marker too.
        position = after_end.saturating_sub(1);
    }
}

/// The line at `position` without its end, and where the next one begins.
fn line_at(source: Source<'_>, position: u64) -> (Source<'_>, u64) {
    let rest = source.from(position);
    let size = memchr::memchr(b'\n', rest.bytes()).unwrap_or(rest.bytes().len());
    let line = rest.get(0, size as u64).unwrap_or(rest);
    let next = position.saturating_add(size as u64).saturating_add(1);
    // On Windows, a file that is opened as text gets this before each line feed.
    let line = match line.bytes().strip_suffix(b"\r") {
        Some(shorter) => line.get(0, shorter.len() as u64).unwrap_or(line),
        None => line,
    };
    (line, next.min(source.len()))
}

pub(super) fn write(bundle: &Bundle<'_>, comment: Comment) -> Result<Vec<u8>, Error> {
    let (start, end) = (comment.marker(START), comment.marker(END));
    let mut out = Vec::new();
    for (number, entry) in bundle.entries.iter().enumerate() {
        let unrepresentable = |message, found: &str| {
            Error::unrepresentable(message)
                .field(format!("entry {number}"))
                .finding(found.escape_debug())
        };
        if entry.id.contains(['\n', '\r']) {
            let message = "offload bundle in text form cannot have an ID with a line break";
            return Err(unrepresentable(message, &entry.id));
        }
        comment
            .refuse_marker(&entry.bytes)
            .map_err(|error| error.within(format!("entry {number}")))?;
        for piece in [
            &start,
            entry.id.as_bytes(),
            b"\n",
            &entry.bytes,
            &end,
            entry.id.as_bytes(),
            b"\n",
        ] {
            out.extend_from_slice(piece);
        }
    }
    Ok(out)
}
