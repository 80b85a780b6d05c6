//! Where images are in a file, and in what is compressed in it.

use std::collections::BTreeMap;
use std::ops::Range;

use offkit_image::{Compression, ContainerKind, Error, ErrorKind, Limits, Location, range_within};

use super::recipe::Stored;
use crate::compression::zstd;
use crate::container;
use crate::fatbin;
use crate::part::{Coding, Content, Part};
use crate::reading::Reading;
use crate::scan;
use crate::source::Source;
use crate::thin::Node;
use crate::unpacking;

/// A part of a file that is not for its host.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) range: Range<usize>,
    pub(super) location: Location,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// An image, and what makes a file of its own of it.
    Image { around: [Vec<u8>; 2] },
    /// Something compressed, with images in it.
    Packed {
        compression: Compression,
        /// What is in it, as what it is a part of says.
        meant: Content,
        content: Vec<u8>,
        pieces: Vec<Piece>,
    },
}

/// Looks for images.
pub(super) struct Pieces<'l> {
    reading: Reading,
    limits: &'l Limits,
}

impl<'l> Pieces<'l> {
    /// Where the images with these locations are, in the order of the file.
    pub(super) fn find<'a>(
        file_name: &str,
        bytes: &[u8],
        locations: impl Iterator<Item = &'a Location>,
        limits: &'l Limits,
    ) -> Result<Vec<Piece>, Error> {
        let mut locations = locations.peekable();
        if locations.peek().is_none() {
            return Ok(Vec::new());
        }
        let mut tree = Node::default();
        locations.for_each(|location| tree.add(location));
        let mut this = Self {
            reading: Reading::strict(limits).for_file_of(bytes.len() as u64),
            limits,
        };
        let whole = Location::of_file(file_name);
        let pieces = this.within(Source::new(bytes), Content::File, &mut tree, &whole, 0)?;
        match tree.unused(&whole) {
            Some(place) => {
                Err(Error::new(ErrorKind::NotRecognized, "no image at this location").finding(place))
            }
            None => Ok(pieces),
        }
    }

    /// The pieces of a compressed tar file, as one.
    fn within_tar(
        &mut self,
        source: Source<'_>,
        tree: &mut Node,
        location: &Location,
        depth: usize,
    ) -> Result<Piece, Error> {
        let tar = unpacking::tar_in(source, self.reading.inflation_left())?;
        self.reading.count_inflated(tar.len() as u64);
        let whole = Source::new(&tar);
        let mut pieces = Vec::new();
        unpacking::each_part(&tar, &mut |name, content| {
            let Some(node) = tree.within(&name) else {
                return Ok(());
            };
            let place = location.join_name(&name);
            if node.goes {
                return Err(Error::unsupported(
                    "a member of a package that is an image by itself stays in it",
                )
                .finding(place));
            }
            // The content is lent from the tar file, so that it always has a place in it.
            let range = range_within(&tar, content).unwrap_or_default();
            let file = whole.get(range.start as u64, range.len() as u64).unwrap_or(whole);
            let inner = depth.saturating_add(1);
            pieces.extend(self.within(file, Content::File, node, &place, inner)?);
            Ok(())
        })?;
        // One piece, as zstd compressed the tar file as a whole.
        Ok(Piece {
            range: range_of(source)?,
            location: location.clone(),
            kind: Kind::Packed {
                compression: Compression::Zstd,
                meant: Content::File,
                content: tar,
                pieces,
            },
        })
    }

    /// The pieces of a container; ranges are in the bytes that the source is of.
    fn within(
        &mut self,
        source: Source<'_>,
        content: Content,
        tree: &mut Node,
        location: &Location,
        depth: usize,
    ) -> Result<Vec<Piece>, Error> {
        let mut pieces = Vec::new();
        let format = container::format_of(content, source.bytes()).ok_or_else(|| {
            Error::new(ErrorKind::NotRecognized, "no container of images").finding(location)
        })?;
        if format.unpack.is_some() {
            return self
                .within_tar(source, tree, location, depth)
                .map(|piece| vec![piece]);
        }
        if depth > self.limits.max_nesting {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "containers are nested too deep",
            ));
        }
        // In a pack an entry is a fatbin of its own, for which it needs its header.
        let heads = match format.kind {
            ContainerKind::Fatbin => fatbin::entry_ranges(source, self.limits)?,
            _ => BTreeMap::new(),
        };
        let mut parts: Vec<Part<'_>> = Vec::new();
        // Damage elsewhere is none of ours: what is not taken out goes into the host file as it is.
        let mut tolerant = Reading::tolerant(self.limits).for_file_of(source.len());
        (format.parts)(source, &mut tolerant, &mut |_, part| {
            if !part.is_redundant && tree.within(&part.name).is_some() {
                parts.push(part);
            }
        })?;
        for part in parts {
            let place = location.join_name(&part.name);
            if part.id == scan::FOUND {
                return Err(
                    Error::unsupported("code that was found by its bytes alone cannot be taken out")
                        .finding(place),
                );
            }
            let Some(node) = tree.within(&part.name) else {
                continue;
            };
            let inner = depth.saturating_add(1);
            let is_container = part.content != Content::Image
                && (part.coding.is_some()
                    || container::format_of(part.content, part.stored.bytes()).is_some());
            if !is_container {
                if node.goes {
                    node.is_used = true;
                    pieces.push(Piece {
                        range: range_of(part.stored)?,
                        location: place,
                        kind: Kind::Image {
                            around: around(source, heads.get(&part.id), part.stored),
                        },
                    });
                }
                continue;
            }
            let Some(coding) = part.coding else {
                pieces.extend(self.within(part.stored, part.content, node, &place, inner)?);
                continue;
            };
            let content = container::inflated(&part, coding, self.reading.inflation_left(), &|_| {})?;
            self.reading.count_inflated(content.len() as u64);
            let is_image = container::format_of(part.content, &content).is_none();
            // The header in front of a container's stream is not compressed and no part of a piece.
            let stream = if is_image {
                part.stored
            } else {
                container::stream(&part)?
            };
            // An image that is compressed alone goes into its pack as it is stored.
            let kind = if is_image {
                if !node.goes {
                    continue;
                }
                node.is_used = true;
                Kind::Image {
                    around: Default::default(),
                }
            } else {
                let pieces = self.within(Source::new(&content), part.content, node, &place, inner)?;
                packed(&part, coding, content, pieces)?
            };
            pieces.push(Piece {
                range: range_of(stream)?,
                location: place,
                kind,
            });
        }
        // Descriptors name images in any order, and steps of a recipe go through the file from front to back.
        pieces.sort_by_key(|piece| piece.range.start);
        let mut neighbours = pieces.iter().zip(pieces.iter().skip(1));
        match neighbours.find(|(one, next)| next.range.start < one.range.end) {
            Some((_, next)) => Err(
                Error::unsupported("images share their bytes, and cannot be taken apart")
                    .at(next.range.start as u64)
                    .finding(&next.location),
            ),
            None => Ok(pieces),
        }
    }
}

/// A compressed part with pieces in its content: only its stream is. What stands before that in the content comes from
/// the header before the stream, which is no part of the piece.
fn packed(
    part: &Part<'_>,
    coding: Coding,
    mut content: Vec<u8>,
    mut pieces: Vec<Piece>,
) -> Result<Kind, Error> {
    let head = part.stored.len().saturating_sub(container::stream(part)?.len());
    let head = usize::try_from(head).unwrap_or_default().min(content.len());
    content.drain(..head);
    for piece in &mut pieces {
        let Range { start, end } = &mut piece.range;
        (*start, *end) = (start.saturating_sub(head), end.saturating_sub(head));
    }
    Ok(Kind::Packed {
        compression: coding.compression,
        meant: part.content,
        content,
        pieces,
    })
}

fn range_of(source: Source<'_>) -> Result<Range<usize>, Error> {
    let start = usize::try_from(source.at(0)).ok();
    let end = usize::try_from(source.at(source.len())).ok();
    let range = start.zip(end).map(|(start, end)| start..end);
    range.ok_or_else(|| Error::unsupported("the file is too large for this machine"))
}

/// What makes a fatbin of its own of an entry; nothing for images that are files as they are.
fn around(source: Source<'_>, entry: Option<&Range<u64>>, stored: Source<'_>) -> [Vec<u8>; 2] {
    let made = entry.and_then(|entry| {
        let start = stored.at(0).checked_sub(source.at(0))?;
        let end = start.checked_add(stored.len())?;
        let before = source.get(entry.start, start.checked_sub(entry.start)?)?;
        let behind = source.get(end, entry.end.checked_sub(end)?)?;
        let header = fatbin::header_of_one(entry.end.checked_sub(entry.start)?);
        Some([
            [header.as_slice(), before.bytes()].concat(),
            behind.bytes().to_vec(),
        ])
    });
    made.unwrap_or_default()
}

/// The compressed parts at these places, as far as they are there, of what is at `whole`: of a file, or of what came out
/// of a compressed part of one.
pub(super) fn compressed_parts(
    whole: &Location,
    bytes: &[u8],
    meant: Content,
    places: &[Location],
    limits: &Limits,
) -> BTreeMap<Location, Stored> {
    let depth = whole.parts().count();
    let mut tree = Node::default();
    for place in places {
        // The tree begins where `whole` is.
        // The bytes know nothing of the way to them, which every place begins with.
        let below = place.parts().skip(depth);
        let file = Location::of_file(whole.file());
        tree.add(&below.fold(file, |place, part| place.join(&*part)));
    }
    let mut found = BTreeMap::new();
    if !places.is_empty() {
        add_compressed(Source::new(bytes), meant, &mut tree, whole, limits, 0, &mut found);
    }
    found
}

fn add_compressed(
    source: Source<'_>,
    content: Content,
    tree: &mut Node,
    location: &Location,
    limits: &Limits,
    depth: usize,
    found: &mut BTreeMap<Location, Stored>,
) {
    let Some(format) = container::format_of(content, source.bytes()) else {
        return;
    };
    if depth > limits.max_nesting {
        return;
    }
    if format.unpack.is_some() {
        if tree.goes
            && let Some(inflated) = zstd::content_size(source.bytes())
        {
            let stored = Stored {
                offset: source.at(0),
                size: source.len(),
                compression: Compression::Zstd,
                inflated,
            };
            found.insert(location.clone(), stored);
        }
        return;
    }
    let mut reading = Reading::tolerant(limits).for_file_of(source.len());
    // One that cannot be read is none that could be of help.
    let _ = (format.parts)(source, &mut reading, &mut |_, part| {
        let Some(node) = tree.within(&part.name) else {
            return;
        };
        let place = location.join_name(&part.name);
        match part.coding {
            None => {
                let inner = depth.saturating_add(1);
                add_compressed(part.stored, part.content, node, &place, limits, inner, found);
            }
            Some(coding) if node.goes => {
                // Without a size, `join` could not bound what comes out before it is there.
                if let Some(inflated) = coding.size
                    && let Ok(stream) = container::stream(&part)
                {
                    let head = part.stored.len().saturating_sub(stream.len());
                    let stored = Stored {
                        offset: stream.at(0),
                        size: stream.len(),
                        compression: coding.compression,
                        inflated: inflated.saturating_sub(head),
                    };
                    found.insert(place, stored);
                }
            }
            Some(_) => {}
        }
    });
}
