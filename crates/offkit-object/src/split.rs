//! Files whose images are elsewhere, and how they come together again.
//!
//! A file is split into what [`thin`](crate::thin()) leaves of it, its images, and a recipe by which both become the file
//! again, byte for byte. Where images are missing, the result is what `thin` makes of the file without them.

mod delta;
pub mod kpack;
mod pack;
mod pieces;
mod recipe;

use std::collections::{BTreeMap, BTreeSet};

use offkit_image::{Compression, Error, ErrorKind, Limits, Location};

use crate::compression::{ZSTD_MAGIC, inflate_whole, zlib, zstd};
use crate::part::Content;
use crate::reading::Reading;
use crate::thin::{self, Thinning};
use delta::{Old, Part};
pub use pack::{read_pack, write_pack};
use pieces::{Kind, Piece, Pieces};
use recipe::{Level, Packed, Step, TakenImage};

/// Where an image of a file goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The number of the pack.
    pub pack: u64,
    /// What the image is called in the pack.
    pub name: String,
}

/// An image as a pack has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackedImage {
    /// Where it was in the file.
    pub location: Location,
    /// Its bytes as they are stored in the file.
    pub bytes: Vec<u8>,
    /// What makes a file of its own of it, of the kind that the image was in: bytes before it, and behind it.
    pub around: [Vec<u8>; 2],
}

/// A file, taken apart.
#[derive(Debug)]
pub struct Split<'data> {
    bytes: &'data [u8],
    file_name: String,
    pieces: Vec<Piece>,
    destinations: BTreeMap<Location, Destination>,
    limits: Limits,
}

impl<'data> Split<'data> {
    /// Finds the images with these locations.
    ///
    /// # Errors
    ///
    /// A location without an image; a damaged container on the way to one; images that share their bytes.
    pub fn of(
        file_name: &str,
        bytes: &'data [u8],
        destinations: BTreeMap<Location, Destination>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let pieces = Pieces::find(file_name, bytes, destinations.keys(), limits)?;
        Ok(Self {
            bytes,
            file_name: file_name.to_owned(),
            pieces,
            destinations,
            limits: limits.clone(),
        })
    }

    /// The images, in the order of the file.
    #[must_use]
    pub fn images(&self) -> Vec<PackedImage> {
        let mut images = Vec::new();
        collect(self.bytes, &self.pieces, &mut images);
        images
    }

    /// How the file becomes whole again from the images and a host file: what [`thin`](crate::thin()) left, or another one
    /// that is nearly the same. `headed` says that packs have images with what is around them.
    ///
    /// Also the compressed parts that will not be the same bytes, as nothing here compresses as they were compressed; what
    /// is in them will be.
    ///
    /// # Errors
    ///
    /// What cannot be read in the host file; a method of compression that is not known.
    pub fn recipe(&self, host: &[u8], headed: bool) -> Result<(Vec<u8>, Vec<Location>), Error> {
        let mut cook = Cook {
            split: self,
            headed,
            inexact: Vec::new(),
        };
        let whole = Location::of_file(self.file_name.as_str());
        let steps = cook.steps((&whole, Content::File), self.bytes, &self.pieces, host)?;
        let recipe = recipe::write(self.bytes.len() as u64, &steps)?;
        Ok((recipe, cook.inexact))
    }
}

fn collect(bytes: &[u8], pieces: &[Piece], images: &mut Vec<PackedImage>) {
    for piece in pieces {
        match &piece.kind {
            Kind::Image { around } => images.push(PackedImage {
                location: piece.location.clone(),
                bytes: bytes.get(piece.range.clone()).unwrap_or_default().to_vec(),
                around: around.clone(),
            }),
            Kind::Packed { content, pieces, .. } => collect(content, pieces, images),
        }
    }
}

/// Writes a recipe.
struct Cook<'c, 'data> {
    split: &'c Split<'data>,
    headed: bool,
    inexact: Vec<Location>,
}

impl Cook<'_, '_> {
    /// The steps that make the bytes at `whole`, of which it is known what they are, with what is there in the host file.
    fn steps(
        &mut self,
        (whole, meant): (&Location, Content),
        bytes: &[u8],
        pieces: &[Piece],
        host: &[u8],
    ) -> Result<Vec<Step>, Error> {
        let packed = pieces
            .iter()
            .filter(|piece| matches!(piece.kind, Kind::Packed { .. }));
        let places: Vec<Location> = packed.map(|piece| piece.location.clone()).collect();
        // Compressed bytes have nothing in common with others: the content is compared with that of
        // the same part of the host file.
        let beside = pieces::compressed_parts(whole, host, meant, &places, &self.split.limits);
        // What is between the pieces is in the host file, too, in the same order and closer together: `thin` has left
        // it there.
        let mut old = Old::new(host);
        let mut steps = Vec::new();
        let mut done = 0;
        for piece in pieces {
            let gap = bytes.get(done..piece.range.start).unwrap_or_default();
            add_parts(&mut old, gap, &mut steps);
            done = piece.range.end;
            let stored = bytes.get(piece.range.clone()).unwrap_or_default();
            let location = piece.location.path().to_owned();
            steps.push(match &piece.kind {
                Kind::Image { around } => {
                    let destination = self.split.destinations.get(&piece.location);
                    let destination = destination.ok_or_else(lost)?;
                    let [before, _] = around;
                    Step::Image(TakenImage {
                        pack: destination.pack,
                        name: destination.name.clone(),
                        location,
                        skip: if self.headed { before.len() as u64 } else { 0 },
                        size: stored.len() as u64,
                    })
                }
                Kind::Packed {
                    compression,
                    meant,
                    content,
                    pieces,
                } => {
                    let exactly = level_of(*compression, content, stored);
                    if exactly.is_none() {
                        self.inexact.push(piece.location.clone());
                    }
                    let beside = beside.get(&piece.location).copied();
                    let base = match &beside {
                        Some(part) => host_part(host, part)?,
                        None => Vec::new(),
                    };
                    Step::Packed(Packed {
                        location,
                        host: beside,
                        compression: *compression,
                        exactly,
                        size: stored.len() as u64,
                        steps: self.steps((&piece.location, *meant), content, pieces, &base)?,
                    })
                }
            });
        }
        add_parts(&mut old, bytes.get(done..).unwrap_or_default(), &mut steps);
        Ok(steps)
    }
}

fn add_parts(old: &mut Old<'_>, bytes: &[u8], steps: &mut Vec<Step>) {
    old.parts(bytes, &mut |part| {
        steps.push(match part {
            Part::Old { offset, size } => Step::Host { offset, size },
            Part::New(bytes) => Step::Bytes(bytes.to_vec()),
        });
    });
}

fn lost() -> Error {
    Error::new(ErrorKind::NotRecognized, "an image that goes nowhere")
}

/// A part of the host file, decompressed.
fn host_part(host: &[u8], part: &recipe::Stored) -> Result<Vec<u8>, Error> {
    let stored = slice(host, part.offset, part.size)?;
    inflate_whole(part.compression, stored, part.inflated)
}

fn slice(bytes: &[u8], offset: u64, size: u64) -> Result<&[u8], Error> {
    let start = usize::try_from(offset).ok();
    let end = offset.checked_add(size).and_then(|end| usize::try_from(end).ok());
    let found = start.zip(end).and_then(|(start, end)| bytes.get(start..end));
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::OutOfBounds,
            "the recipe is for another host file or pack",
        )
    })
}

fn compress(compression: Compression, content: &[u8], level: Level) -> Result<Vec<u8>, Error> {
    match compression {
        Compression::Deflate => zlib::compress_bare(content, Some(level.level)),
        Compression::Zlib => zlib::compress(&[content], Some(level.level)),
        Compression::Zstd => zstd::compress(content, i32::try_from(level.level).ok(), level.far),
        other => Err(Error::unsupported("nothing is compressed this way").finding(other)),
    }
}

/// How a compressor has to be set for these very bytes to come out; `None` where none of those here makes them.
fn level_of(compression: Compression, content: &[u8], stored: &[u8]) -> Option<Level> {
    /// A piece of the content of this size is tried first, and this much of what comes out compared: no block but the
    /// last has fewer bytes.
    const TRIED: usize = 1 << 18;
    const COMPARED: usize = 1 << 11;
    // Compressors of streams do not know the size when they write the head, and the one here does.
    if compression == Compression::Zstd && zstd::content_size(stored) != Some(content.len() as u64) {
        return None;
    }
    // Each try compresses all of the content, so these are the usual settings only: clang's bundles have (3, true), and
    // `unpacking` writes conda's packages with (19, true).
    let levels: &[(u32, bool)] = match compression {
        Compression::Zstd => &[(3, true), (3, false), (19, false), (19, true), (22, false)],
        _ => &[
            (6, false),
            (9, false),
            (1, false),
            (5, false),
            (7, false),
            (8, false),
        ],
    };
    levels.iter().find_map(|(level, far)| {
        let level = Level {
            level: *level,
            far: *far,
        };
        // What zstd writes first is the size of all.
        if compression != Compression::Zstd && content.len() > TRIED {
            let head = compress(compression, content.get(..TRIED)?, level).ok()?;
            // The last block says that it is, and where the content goes on it would have other codes: of a piece that
            // is one block or little more nothing can be told.
            let first = if compression == Compression::Zlib { 2 } else { 0 };
            let is_last = head.get(first).is_none_or(|bits| bits & 1 == 1);
            let can_tell = !is_last && head.len() > 2 * COMPARED;
            if can_tell && head.get(..COMPARED) != stored.get(..COMPARED) {
                return None;
            }
        }
        let made = compress(compression, content, level).ok()?;
        (made == stored).then_some(level)
    })
}

/// What [`join`] made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Joined {
    /// The file.
    pub bytes: Vec<u8>,
    /// The images that are not in it, as their packs are not there.
    pub missing: Vec<Location>,
    /// The compressed parts that have the same content as before, and not the same bytes.
    pub inexact: Vec<Location>,
}

/// A pack's image: by the number of the pack and the name in it.
pub type ImageOf<'i> = &'i dyn Fn(u64, &str) -> Option<Vec<u8>>;

/// Puts a file together again, by a recipe that [`Split::recipe`] wrote.
///
/// Where `image` has none, the result is the file that [`thin`](crate::thin()) makes without that image.
///
/// # Errors
///
/// A damaged recipe, or one for another host file or other packs; a file that cannot do without the missing images.
pub fn join(
    file_name: &str,
    host: &[u8],
    recipe: &[u8],
    image: ImageOf<'_>,
    limits: &Limits,
) -> Result<Joined, Error> {
    let (size, steps) = recipe::read(recipe)?;
    // A few steps can name the same part of the host file again and again.
    let material = (recipe.len() as u64).saturating_add(host.len() as u64);
    let mut joiner = Joiner {
        image,
        file: Location::of_file(file_name),
        left: Reading::strict(limits).for_file_of(material).inflation_left(),
        taken: BTreeSet::new(),
        missing: Vec::new(),
        inexact: Vec::new(),
        known: BTreeMap::new(),
    };
    let bytes = joiner.run(&steps, host)?;
    // Before anything is left out: zeros stand for what is missing, so that the size is the whole
    // file's.
    if bytes.len() as u64 != size {
        return Err(Error::malformed("the recipe makes a file of another size")
            .expecting(size.to_string())
            .finding(bytes.len()));
    }
    let Joiner {
        missing,
        inexact,
        known,
        ..
    } = joiner;
    let bytes = match missing.is_empty() && known.is_empty() {
        true => bytes,
        false => thin::without(file_name, &bytes, &missing, &known, Thinning::default(), limits)?,
    };
    Ok(Joined {
        bytes,
        missing,
        inexact,
    })
}

struct Joiner<'j> {
    image: ImageOf<'j>,
    file: Location,
    /// How much may still come out of decompression and out of steps that repeat the host file or an image.
    left: u64,
    /// The images that were taken.
    taken: BTreeSet<(u64, &'j str)>,
    missing: Vec<Location>,
    inexact: Vec<Location>,
    /// What compressed parts have in them that are not in place yet.
    known: BTreeMap<Location, Vec<u8>>,
}

impl<'j> Joiner<'j> {
    fn place(&self, path: &str) -> Result<Location, Error> {
        let text = match path {
            "" => self.file.to_string(),
            path => format!("{}!{path}", self.file),
        };
        text.parse()
            .map_err(|_| Error::malformed("a recipe has no place for an image").finding(path))
    }

    fn spend(&mut self, bytes: u64) -> Result<usize, Error> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| {
            Error::new(ErrorKind::LimitExceeded, "the recipe makes too large a file")
                .expecting(format!("at most {} bytes more", self.left))
                .finding(bytes)
        })?;
        usize::try_from(bytes)
            .map_err(|_| Error::new(ErrorKind::LimitExceeded, "the recipe makes too large a file"))
    }

    fn run(&mut self, steps: &'j [Step], host: &[u8]) -> Result<Vec<u8>, Error> {
        let mut out: Vec<u8> = Vec::new();
        for step in steps {
            match step {
                Step::Host { offset, size } => {
                    self.spend(*size)?;
                    out.extend_from_slice(slice(host, *offset, *size)?);
                }
                // These stand in the recipe itself, and so bound themselves.
                Step::Bytes(bytes) => out.extend_from_slice(bytes),
                Step::Image(taken) => match (self.image)(taken.pack, &taken.name) {
                    Some(bytes) => {
                        // The first time it is material as the host file is. Then all of it counts, however little is
                        // taken, as all of it is read again.
                        if !self.taken.insert((taken.pack, &taken.name)) {
                            self.spend(bytes.len() as u64)?;
                        }
                        out.extend_from_slice(slice(&bytes, taken.skip, taken.size)?);
                    }
                    None => {
                        self.missing.push(self.place(&taken.location)?);
                        let size = self.spend(taken.size)?;
                        // Zeros keep the place, so that all offsets around it are right when the image is left out
                        // below.
                        out.resize(out.len().saturating_add(size), 0);
                    }
                },
                Step::Packed(packed) => self.add_packed(packed, host, &mut out)?,
            }
        }
        Ok(out)
    }

    fn add_packed(&mut self, packed: &'j Packed, host: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let base = match &packed.host {
            Some(part) => {
                self.spend(part.inflated)?;
                host_part(host, part)?
            }
            None => Vec::new(),
        };
        // What is not whole inside cannot be compressed to the same bytes: `thin::without` gets the content and puts it
        // in place.
        let (missing, known) = (self.missing.len(), self.known.len());
        let content = self.run(&packed.steps, &base)?;
        let is_whole = self.missing.len() == missing && self.known.len() == known;
        if let Some(level) = packed.exactly.filter(|_| is_whole) {
            out.extend(compress(packed.compression, &content, level)?);
            return Ok(());
        }
        let place = self.place(&packed.location)?;
        if is_whole {
            self.inexact.push(place.clone());
        }
        self.known.insert(place, content);
        let end = out.len().saturating_add(self.spend(packed.size)?);
        // An offload binary says by its stream alone what compressed it.
        if packed.compression == Compression::Zstd {
            out.extend_from_slice(&ZSTD_MAGIC);
        }
        out.resize(end, 0);
        Ok(())
    }
}

#[cfg(all(test, feature = "default"))]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_steps_take_again_and_again_is_refused() {
        let image = vec![7; 1 << 20];
        let join_of = |steps: usize| {
            let step = Step::Image(TakenImage {
                pack: 0,
                name: "image".into(),
                location: "0".into(),
                skip: 0,
                size: image.len() as u64,
            });
            let size = (image.len() * steps) as u64;
            let recipe = recipe::write(size, &vec![step; steps]).unwrap();
            let limits = Limits {
                max_inflation: 1,
                ..Limits::default()
            };
            join("file", b"", &recipe, &|_, _| Some(image.clone()), &limits)
        };
        assert_eq!(join_of(3).unwrap().bytes.len(), 3 * image.len());
        assert_eq!(join_of(100).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }

    #[test]
    fn the_level_of_large_content_is_found_however_small_it_becomes() {
        let hash = |number: u32| crate::bundle::CompressedBundle::hash_of(&number.to_le_bytes());
        let noise = (0..40_000).flat_map(|number| hash(number).to_le_bytes());
        let text = (0..40_000_u32).flat_map(|number| format!("line {number}\n").into_bytes());
        let contents = [
            vec![0; 400_000],
            noise.collect(),
            text.collect(),
            b"line\n".repeat(60_000),
        ];
        for content in contents {
            for compression in [Compression::Deflate, Compression::Zlib] {
                for level in [6, 9] {
                    let set = Level { level, far: false };
                    let stored = compress(compression, &content, set).unwrap();
                    let found = level_of(compression, &content, &stored);
                    assert!(found.is_some(), "{compression} of level {level}");
                }
            }
        }
    }
}
