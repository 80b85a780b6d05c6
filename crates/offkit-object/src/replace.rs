//! Putting another image in the place of one, through all the containers it is in.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use offkit_image::PartName as Name;
use offkit_image::{DeviceImage, Error, ErrorKind, Limits, Location, SharedBytes, Storage};

use crate::chunks::Chunks;
use crate::container;
use crate::memory::Memory;
use crate::part::{Content, Part};
use crate::reading::Reading;
use crate::source::Source;
use crate::unchanged::{Files, Origins, Stored, digest};
use crate::walk::{Item, walk_sparing};

/// The file with the image at `location` replaced by `new`.
///
/// Nothing but the image differs, and the sizes, offsets and checksums that must follow from it: versions,
/// order, padding and compression of everything else stay as they were. An image inside of something compressed
/// is given decompressed. With the bytes that are there already, the result is the same file. The result is
/// read back, and refused if anything else changed by mistake.
///
/// # Errors
///
/// There is no image at `location`; or a container on the way to it cannot hold another image, such as a linked
/// program, where addresses cannot move, and the error says why.
///
/// ```
/// use offkit_object::{ImageKind, Limits, Location, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};
///
/// let entry = |image| OffloadEntry::new(ImageKind::NONE, OffloadKind::OPENMP, image);
/// let file = OffloadBinary::from(entry(b"old")).write(OffloadBinaryVersion::V1)?;
/// let location: Location = "app.out!0".parse()?;
/// let file = offkit_object::replace(&file, &location, b"longer than before", &Limits::default())?;
/// assert_eq!(OffloadBinary::parse(&file, &Limits::default())?.entries[0].image, b"longer than before");
/// # Ok::<(), offkit_object::Error>(())
/// ```
pub fn replace(bytes: &[u8], location: &Location, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let mut draft = replace_draft(bytes, location, new, limits, &())?;
    let changed = std::mem::take(&mut draft.chunks).into_bytes();
    draft.check(&changed, &())?;
    Ok(changed)
}

/// A file with another image that was not read back yet: see [`replace_draft`].
#[derive(Debug)]
#[non_exhaustive]
pub struct ReplaceDraft<'data> {
    /// The new file. What stays of the old one is not copied.
    pub chunks: Chunks<'data>,
    /// Where the bytes of the new file come from.
    origins: Origins,
    old: &'data [u8],
    location: Location,
    before: Inventory,
    new: u64,
    limits: Limits,
}

impl ReplaceDraft<'_> {
    /// Reads the new file back as it was written, and compares it with the old one.
    ///
    /// # Errors
    ///
    /// Anything but the image is another.
    pub fn check(&self, written: &[u8], memory: &dyn Memory) -> Result<(), Error> {
        let after = Inventory::of(written, &self.location, &self.limits, memory)?;
        let files = Files {
            old: self.old,
            new: written,
            origins: &self.origins,
        };
        match after.named == Some(self.new) && after.is_same(&self.before, &files) {
            true => Ok(()),
            false => Err(Error::unrepresentable(
                "the changed file does not read back as it should: nothing was changed",
            )),
        }
    }
}

/// The same as [`replace`] for large files: what stays of the old one is borrowed from it, and whoever has written the new
/// one passes it to [`check`](ReplaceDraft::check) before it takes anything's place.
///
/// # Errors
///
/// As [`replace`], but for what reading back finds.
pub fn replace_draft<'data>(
    bytes: &'data [u8],
    location: &Location,
    new: &'data [u8],
    limits: &Limits,
    memory: &dyn Memory,
) -> Result<ReplaceDraft<'data>, Error> {
    let before = Inventory::of(bytes, location, limits, memory)?;
    let new_digest = digest(new);
    let chunks = match before.named {
        None => return Err(Error::new(ErrorKind::NotRecognized, "no image at this location")),
        // Nothing is written anew then: what is compressed again need not be the same bytes.
        Some(old) if old == new_digest => bytes.into(),
        Some(_) => replace_in(
            Source::new(bytes),
            Content::File,
            &location.parts().map(Cow::into_owned).collect::<Vec<_>>(),
            new,
            &mut Reading::strict(limits).for_file_of(bytes.len() as u64),
            0,
        )?,
    };
    Ok(ReplaceDraft {
        origins: Origins::of(&chunks, bytes),
        chunks,
        old: bytes,
        location: location.clone(),
        before,
        new: new_digest,
        limits: limits.clone(),
    })
}

/// The part at `path` within `source` replaced.
fn replace_in<'data>(
    source: Source<'data>,
    content: Content,
    path: &[String],
    new: &'data [u8],
    reading: &mut Reading,
    depth: usize,
) -> Result<Chunks<'data>, Error> {
    let not_there = || Error::new(ErrorKind::NotRecognized, "no image at this location");
    // An image that is an archive is opened when the path goes on in it.
    let content = match content {
        Content::Image if !path.is_empty() => Content::File,
        content => content,
    };
    let Some(format) = container::format_of(content, source.bytes()) else {
        return if path.is_empty() {
            Ok(new.into())
        } else {
            Err(not_there())
        };
    };
    if format.unpack.is_some() {
        return Err(
            Error::unsupported("files in compressed archives and packages cannot be replaced")
                .expecting("the file, unpacked and packed again by the package's own tools"),
        );
    }
    if depth > reading.limits().max_nesting {
        return Err(Error::new(
            ErrorKind::LimitExceeded,
            "containers are nested too deep",
        ));
    }
    // Several: `Name::Same` is on the way to everything, so the first part that fits need not be the one.
    let mut candidates = Vec::new();
    // Damage beside the image must not keep it from being replaced.
    let mut tolerant = Reading::tolerant(reading.limits());
    (format.parts)(source, &mut tolerant, &mut |_, part| {
        if let Some(rest) = rest_after(path, &part.name) {
            candidates.push((part, rest));
        }
    })?;
    let mut reason = not_there();
    for (part, rest) in candidates {
        let result = replace_part(&part, rest, new, reading, depth)
            .and_then(|part_bytes| (format.replace)(source, part.id, &part_bytes, reading.limits()));
        match result {
            Ok(bytes) => return Ok(bytes),
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

/// The new bytes, decompressed, of a part that has the image at `path` in it, or that is the image.
fn replace_part<'data>(
    part: &Part<'data>,
    path: &[String],
    new: &'data [u8],
    reading: &mut Reading,
    depth: usize,
) -> Result<Chunks<'data>, Error> {
    let depth = depth.saturating_add(1);
    let Some(coding) = part.coding else {
        return replace_in(part.stored, part.content, path, new, reading, depth);
    };
    let bytes = container::inflated(part, coding, reading.inflation_left(), &|_| {})?;
    reading.count_inflated(bytes.len() as u64);
    let bytes: SharedBytes = Arc::new(bytes);
    let source = Source::new((*bytes).as_ref());
    let changed = replace_in(source, part.content, path, new, reading, depth)?;
    // The unpacked bytes end with this function, unless what is borrowed from them holds them.
    Ok(changed.share(&bytes))
}

/// What is left of a path behind the name of a part; `None` when it leads elsewhere.
fn rest_after<'path>(path: &'path [String], name: &Name) -> Option<&'path [String]> {
    match name {
        Name::Same => Some(path),
        Name::Number(number) => {
            let (first, rest) = path.split_first()?;
            (*first == number.to_string()).then_some(rest)
        }
        Name::Text(text) => {
            let (first, rest) = path.split_first()?;
            (first == text).then_some(rest)
        }
        Name::Path(parts) => path.strip_prefix(parts.as_slice()),
        Name::Numbered(text, [one, two]) => {
            let parts = [(*text).to_owned(), one.to_string(), two.to_string()];
            path.strip_prefix(&parts)
        }
    }
}

/// The images of a file: the one that is named, and digests of what is known of all.
#[derive(Debug)]
struct Inventory {
    named: Option<u64>,
    /// Of each image in order; of the one that is named only what its container says about it.
    facts: Vec<(u64, Option<Stored>)>,
}

impl Inventory {
    fn of(bytes: &[u8], named: &Location, limits: &Limits, memory: &dyn Memory) -> Result<Self, Error> {
        /// So many images may share the same bytes, on the average.
        const SHARING: u64 = 4;
        let mut inventory = Self {
            named: None,
            facts: Vec::new(),
        };
        // Each image is compared or hashed: those that share their bytes would make for more work than the file is
        // large.
        let mut bytes_left = Limits::FREE_ENTERING.saturating_add(bytes.len() as u64);
        let mut is_too_much = false;
        let mut damage = None;
        // The file's name is that of the location, whatever it is.
        let _ = walk_sparing(memory, named.file(), bytes, None, limits, &mut |item| {
            match item {
                Item::Container(container) => {
                    let more = container.size.saturating_mul(SHARING);
                    bytes_left = bytes_left.saturating_add(more);
                }
                Item::Image(image) => {
                    // What comes out of decompression is bounded as it is.
                    if !matches!(image.storage(), Storage::Compressed(_)) {
                        let rest = bytes_left.checked_sub(image.size());
                        is_too_much |= rest.is_none();
                        bytes_left = rest.unwrap_or_default();
                    }
                    if is_too_much {
                        return ControlFlow::Break(());
                    }
                    if image.location == *named {
                        match image.bytes() {
                            Ok(bytes) => inventory.named = Some(digest(bytes)),
                            Err(error) => damage = Some(error),
                        }
                    }
                    let changes = image.location == *named;
                    // Of the image that changes, the digest above is what is compared.
                    let stored = (!changes).then(|| Stored::of(image, bytes));
                    inventory.facts.push((facts(image, changes), stored));
                }
                Item::Problem(_) => {}
            }
            ControlFlow::Continue(())
        });
        if is_too_much {
            let message = "too many images share their bytes";
            return Err(Error::new(ErrorKind::LimitExceeded, message));
        }
        match damage {
            Some(error) => Err(error),
            None => Ok(inventory),
        }
    }

    /// Whether nothing but the image that is named differs from what an old file had.
    fn is_same(&self, old: &Self, files: &Files<'_>) -> bool {
        let mut pairs = old.facts.iter().zip(&self.facts);
        self.facts.len() == old.facts.len()
            && pairs.all(|((old_facts, old), (facts, new))| {
                let is_same = match (old, new) {
                    (Some(old), Some(new)) => files.have_same(old, new),
                    (old, new) => old.is_none() && new.is_none(),
                };
                old_facts == facts && is_same
            })
    }
}

/// A digest of all that is known of an image; of one whose bytes change, of what does not depend on these.
fn facts(image: &DeviceImage<'_>, changes: bool) -> u64 {
    // Made so, it always has the same keys: digests of two files are compared.
    let mut hasher = DefaultHasher::new();
    (&image.location, image.producer, image.container).hash(&mut hasher);
    image.container_version.hash(&mut hasher);
    // These have no hashes of their own; writing them to a hasher does not fail.
    let _ = write!(Digest(&mut hasher), "{:?}{:?}", image.properties, image.strings);
    if !changes {
        (&image.target, image.format).hash(&mut hasher);
        (&image.kernels, &image.entries, &image.imports, &image.exports).hash(&mut hasher);
    }
    hasher.finish()
}

/// Text that goes into a digest.
struct Digest<'h>(&'h mut DefaultHasher);

impl Write for Digest<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}
