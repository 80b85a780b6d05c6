//! Files without some of their images.

#[cfg(feature = "inspect")]
mod losses;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;

use offkit_image::PartName as Name;
use offkit_image::target::{Device, DriverVersion};
use offkit_image::{Compression, ContainerKind, DeviceImage, Error, ErrorKind, Limits, Location, Problem};

use crate::chunks::Chunks;
use crate::container;
use crate::edits::{Change, Edited, Edits, Room};
use crate::format::ContainerFormat;
use crate::heads::Heads;
use crate::host;
use crate::memory::Memory;
use crate::parallel;
use crate::part::{Content, Part};
use crate::reading::Reading;
use crate::scan;
use crate::source::Source;
use crate::tar;
use crate::unchanged::{Files, Origins, Stored};
use crate::unpacking;
use crate::walk::{Item, walk_sparing};

#[cfg(feature = "inspect")]
pub use losses::{DeviceLoss, Losses};

/// How images are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thinning {
    /// Whether linked programs and libraries keep their size: zeros take the place of what goes, and nothing else moves.
    pub in_place: bool,
    /// Whether CUDA's images and HIP's compressed bundles are compressed anew by zstd, as small as it goes, where that is
    /// smaller than before. NVIDIA's drivers read such images from 550.54.14 on.
    pub recompress: bool,
}

impl Thinning {
    /// Whether linked programs and libraries keep their size.
    #[must_use]
    pub fn in_place(self, in_place: bool) -> Self {
        Self { in_place, ..self }
    }

    /// Whether images are compressed anew.
    #[must_use]
    pub fn recompress(self, recompress: bool) -> Self {
        Self { recompress, ..self }
    }
}

/// A thinned file that was not read back yet: see [`thin_draft`].
#[derive(Debug)]
#[non_exhaustive]
pub struct ThinDraft<'data> {
    /// The new file. What stays of the old one is not copied.
    pub chunks: Chunks<'data>,
    /// As in [`Thinned`].
    pub kept_size: Vec<Problem>,
    /// As in [`Thinned`].
    pub not_recompressed: Vec<Problem>,
    /// Where the bytes of the new file come from.
    origins: Origins,
    old: &'data [u8],
    whole: Location,
    dropped: Vec<Location>,
    thinning: Thinning,
    limits: Limits,
}

impl ThinDraft<'_> {
    /// Reads the new file back as it was written, and compares every image that stays with what it was. Returns the
    /// oldest driver that reads all images as they are compressed, where that is more than their devices need.
    ///
    /// # Errors
    ///
    /// The new file has other images.
    pub fn check(
        &self,
        written: &[u8],
        old_memory: &dyn Memory,
        new_memory: &dyn Memory,
    ) -> Result<Option<DriverVersion>, Error> {
        let both = vec![
            (self.old, self.dropped.as_slice(), old_memory),
            (written, &[], new_memory),
        ];
        // The old one, too, is listed only now: no list of it takes memory while the new one is
        // made.
        let both = parallel::map(both, 1, |(bytes, without, memory)| {
            Inventory::of(bytes, &self.whole, without, self.thinning, &self.limits, memory)
        });
        let files = Files {
            old: self.old,
            new: written,
            origins: &self.origins,
        };
        match both.as_slice() {
            [before, after] if after.is_same(before, &files) => Ok(after.least_driver),
            _ => Err(Error::unrepresentable(
                "the thinned file does not read back as it should: nothing was changed",
            )),
        }
    }
}

/// What [`thin`] made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Thinned {
    /// The new file.
    pub bytes: Vec<u8>,
    /// Programs and libraries that keep their size, and why: zeros are in the place of what went.
    pub kept_size: Vec<Problem>,
    /// What [`Thinning::recompress`] left as it was, and why.
    pub not_recompressed: Vec<Problem>,
    /// The oldest driver that reads all images as they are compressed, where that is more than their devices need.
    pub least_driver: Option<DriverVersion>,
}

/// The file without the images at these locations.
///
/// Host code, symbols, notes and all other images stay as they are, byte for byte. In a linked program all addresses
/// stay the same: what is left of the device code closes up, pointers to it follow, and whole pages that became free
/// leave the file. Where that cannot be done safely, or with [`Thinning::in_place`], the freed bytes become zeros and
/// the file keeps its size. A CUDA fatbin or HIP bundle without any image left stays, empty, as the program registers
/// it. With no location the result is the same file. The result is read back, and refused if anything else changed.
///
/// `progress` is told of the bytes of each image that was compressed anew, which takes long, from several threads.
///
/// Whether a kernel is left without code is for the caller to know; see [`Losses`](crate::Losses).
///
/// # Errors
///
/// A location without an image; a damaged container on the way to one; a container that cannot do without the image.
///
/// ```
/// use offkit_object::{ImageKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind, Thinning};
///
/// let entry = |image| OffloadEntry::new(ImageKind::NONE, OffloadKind::HIP, image);
/// let [one, two] = [b"for gfx90a", b"for gfx942"].map(|image| OffloadBinary::from(entry(image)));
/// let [one, two] = [one.write(OffloadBinaryVersion::V1)?, two.write(OffloadBinaryVersion::V1)?];
/// let file = [one.clone(), two].concat();
/// let gone = ["app.out!1".parse()?];
/// let thinned = offkit_object::thin("app.out", &file, &gone, Thinning::default(), &Limits::default(), &|_| {})?;
/// assert_eq!(thinned.bytes, one);
/// # Ok::<(), offkit_object::Error>(())
/// ```
pub fn thin(
    file_name: &str,
    bytes: &[u8],
    dropped: &[Location],
    thinning: Thinning,
    limits: &Limits,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Thinned, Error> {
    let mut draft = thin_draft(file_name, bytes, dropped, thinning, limits, progress)?;
    let bytes = std::mem::take(&mut draft.chunks).into_bytes();
    let least_driver = draft.check(&bytes, &(), &())?;
    Ok(Thinned {
        bytes,
        kept_size: draft.kept_size,
        not_recompressed: draft.not_recompressed,
        least_driver,
    })
}

/// The same for large files: what stays of the old one is borrowed from it, and whoever has written the new one passes it
/// to [`check`](ThinDraft::check) before it takes anything's place.
///
/// # Errors
///
/// As [`thin`], but for what reading back finds.
pub fn thin_draft<'data>(
    file_name: &str,
    bytes: &'data [u8],
    dropped: &[Location],
    thinning: Thinning,
    limits: &Limits,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<ThinDraft<'data>, Error> {
    let whole = Location::of_file(file_name);
    let draft = ThinDraft {
        chunks: bytes.into(),
        kept_size: Vec::new(),
        not_recompressed: Vec::new(),
        origins: Origins::default(),
        old: bytes,
        whole: whole.clone(),
        dropped: dropped.to_vec(),
        thinning,
        limits: limits.clone(),
    };
    if dropped.is_empty() && !thinning.recompress {
        return Ok(ThinDraft {
            origins: Origins::of(&draft.chunks, bytes),
            ..draft
        });
    }
    let known = BTreeMap::new();
    let (edited, thinner) = edit_whole(&whole, bytes, dropped, &known, thinning, limits, progress)?;
    Ok(ThinDraft {
        origins: Origins::of(&edited, bytes),
        chunks: edited,
        kept_size: thinner.kept_size,
        not_recompressed: thinner.not_recompressed,
        ..draft
    })
}

/// The same for a file in which some compressed parts are not in place yet: `known` has what is in them.
pub(crate) fn without(
    file_name: &str,
    bytes: &[u8],
    dropped: &[Location],
    known: &BTreeMap<Location, Vec<u8>>,
    thinning: Thinning,
    limits: &Limits,
) -> Result<Vec<u8>, Error> {
    let whole = Location::of_file(file_name);
    let edited = edit_whole(&whole, bytes, dropped, known, thinning, limits, &|_| {});
    edited.map(|(edited, _)| edited.into_bytes())
}

/// Edits a file.
fn edit_whole<'data, 'l>(
    whole: &Location,
    bytes: &'data [u8],
    dropped: &[Location],
    known: &'l BTreeMap<Location, Vec<u8>>,
    thinning: Thinning,
    limits: &'l Limits,
    progress: &'l (dyn Fn(u64) + Sync),
) -> Result<(Chunks<'data>, Thinner<'l>), Error> {
    let mut tree = Node::default();
    for location in dropped {
        tree.add(location);
    }
    for place in known.keys() {
        // It does not go, but must be on the way: a part without a node in the tree is passed over, and its content
        // with it.
        tree.at(place);
    }
    let mut thinner = Thinner {
        thinning,
        limits,
        progress,
        known,
        placed: BTreeSet::new(),
        kept_size: Vec::new(),
        not_recompressed: Vec::new(),
    };
    let mut reading = Reading::strict(limits).for_file_of(bytes.len() as u64);
    let edited = thinner.edit(
        Source::new(bytes),
        Content::File,
        &mut tree,
        whole,
        &mut reading,
        Room::Free,
        0,
    )?;
    // Only now, as only the readers of the formats know which locations there are.
    if let Some(place) = tree.unused(whole) {
        return Err(Error::new(ErrorKind::NotRecognized, "no image at this location").finding(place));
    }
    if let Some(place) = known.keys().find(|place| !thinner.placed.contains(*place)) {
        return Err(Error::malformed("what belongs into a compressed part has no place").finding(place));
    }
    // A bare container of which all images go. Nothing reads an empty file as one without images.
    if edited.bytes.is_empty() {
        return Err(Error::unrepresentable("nothing would be left of the file"));
    }
    Ok((edited.bytes, thinner))
}

/// The locations of images that go, as a tree.
#[derive(Debug, Default)]
pub(crate) struct Node {
    children: BTreeMap<String, Node>,
    /// Whether an image that goes is here.
    pub(crate) goes: bool,
    pub(crate) is_used: bool,
}

impl Node {
    pub(crate) fn add(&mut self, location: &Location) {
        self.at(location).goes = true;
    }

    /// What is at a location, which is made where there is nothing.
    fn at(&mut self, location: &Location) -> &mut Self {
        let mut node = self;
        for part in location.parts() {
            node = node.children.entry(part.into_owned()).or_default();
        }
        node
    }

    /// What is in the part of this name; `None` where nothing of it goes.
    pub(crate) fn within(&mut self, name: &Name) -> Option<&mut Self> {
        match name {
            // It takes no part of a location: what is inside is at the container's own place.
            Name::Same => Some(self),
            Name::Number(number) => self.children.get_mut(&number.to_string()),
            Name::Text(text) => self.children.get_mut(text.as_str()),
            Name::Path(parts) => {
                let mut node = self;
                for part in parts {
                    node = node.children.get_mut(part.as_str())?;
                }
                Some(node)
            }
            Name::Numbered(text, [one, two]) => {
                let node = self.children.get_mut(*text)?.children.get_mut(&one.to_string())?;
                node.children.get_mut(&two.to_string())
            }
        }
    }

    /// Where an image was to go that was not found.
    pub(crate) fn unused(&self, place: &Location) -> Option<Location> {
        if self.goes && !self.is_used {
            return Some(place.clone());
        }
        let mut children = self.children.iter();
        children.find_map(|(name, child)| child.unused(&place.join(name)))
    }
}

struct Thinner<'l> {
    thinning: Thinning,
    limits: &'l Limits,
    progress: &'l (dyn Fn(u64) + Sync),
    /// What is in compressed parts whose own bytes are not to be looked at. It stays here: a container may be tried twice.
    known: &'l BTreeMap<Location, Vec<u8>>,
    /// Where of that something is.
    placed: BTreeSet<Location>,
    kept_size: Vec<Problem>,
    not_recompressed: Vec<Problem>,
}

impl<'l> Thinner<'l> {
    /// The tar file at a place where its compressed bytes are not. Only a tar file: what came out of a compressed bundle
    /// can be at the same place as the only part of it.
    fn known_tar(&mut self, place: &Location) -> Option<&'l [u8]> {
        let content = self.known.get(place).filter(|content| tar::is_tar(content))?;
        self.placed.insert(place.clone());
        Some(content)
    }

    /// A container without the images that go.
    #[expect(
        clippy::too_many_arguments,
        reason = "each says one thing about the container"
    )]
    fn edit<'data>(
        &mut self,
        source: Source<'data>,
        content: Content,
        tree: &mut Node,
        location: &Location,
        reading: &mut Reading,
        room: Room,
        depth: usize,
    ) -> Result<Edited<'data>, Error> {
        // Before anything looks at the bytes: at such a place there are only zeros so far.
        if let Some(tar) = self.known_tar(location) {
            return self.edit_tar(tar, tree, location, reading, depth);
        }
        let format = container::format_of(content, source.bytes()).ok_or_else(|| {
            Error::new(ErrorKind::NotRecognized, "no container of images")
                .at(source.at(0))
                .finding(location)
        })?;
        if depth > self.limits.max_nesting {
            return Err(Error::new(
                ErrorKind::LimitExceeded,
                "containers are nested too deep",
            ));
        }
        if format.unpack.is_some() {
            return self.edit_unpacked(source, tree, location, reading, depth);
        }
        if format.kind != ContainerKind::Host {
            return self.edit_with(format, source, tree, location, reading, room, room, depth);
        }
        let is_fixed = self.thinning.in_place && host::is_linked(source);
        let inner = if is_fixed { Room::Fixed } else { Room::Free };
        let named = self.not_recompressed.len();
        let kept = self.kept_size.len();
        let result = self.edit_with(format, source, tree, location, reading, room, inner, depth);
        // Damage and limits are met again at a second try. What a smaller file cannot express can still be zeros in
        // place.
        let may_stay = |error: &Error| !is_fixed && error.kind() == ErrorKind::Unrepresentable;
        match result {
            Err(error) if may_stay(&error) => {
                // The second try meets again what the first one noted.
                self.not_recompressed.truncate(named);
                self.kept_size.truncate(kept);
                let edited =
                    self.edit_with(format, source, tree, location, reading, room, Room::Fixed, depth)?;
                // Behind the second try: where that fails as well, its error is all that is told.
                self.kept_size.push(Problem::new(location.clone(), error));
                Ok(edited)
            }
            result => result,
        }
    }

    /// The same for what is unpacked from front to back.
    fn edit_unpacked(
        &mut self,
        source: Source<'_>,
        tree: &mut Node,
        location: &Location,
        reading: &mut Reading,
        depth: usize,
    ) -> Result<Edited<'static>, Error> {
        let most = reading.inflation_left();
        let new = unpacking::rewrite(source, most, &mut |name, content| {
            self.edit_file(name, content, tree, location, reading, depth)
        })?;
        Ok(Edited::whole(new))
    }

    /// The same for a tar file whose compressed bytes are not in place.
    fn edit_tar(
        &mut self,
        tar: &[u8],
        tree: &mut Node,
        location: &Location,
        reading: &mut Reading,
        depth: usize,
    ) -> Result<Edited<'static>, Error> {
        let new = unpacking::pack_changed(tar, &mut |name, content| {
            self.edit_file(name, content, tree, location, reading, depth)
        })?;
        Ok(Edited::whole(new))
    }

    /// What becomes of a file that was unpacked.
    fn edit_file(
        &mut self,
        name: &Name,
        content: &[u8],
        tree: &mut Node,
        location: &Location,
        reading: &mut Reading,
        depth: usize,
    ) -> Result<Option<Vec<u8>>, Error> {
        reading.count_inflated(content.len() as u64);
        let Some(node) = tree.within(name) else {
            return Ok(None);
        };
        let place = location.join_name(name);
        if node.goes {
            return Err(Error::unsupported(
                "a member of a package that is an image by itself cannot be left out: the package may load it by its name",
            )
            .finding(place));
        }
        let inner = depth.saturating_add(1);
        let edited = self.edit(
            Source::new(content),
            Content::File,
            node,
            &place,
            reading,
            Room::Free,
            inner,
        )?;
        // `None` leaves the member as it is, so that no hash of it has to follow.
        Ok((!edited.bytes.are(content)).then(|| edited.bytes.into_bytes()))
    }

    /// The same by the rules of its format; `inner` is what its parts are given.
    #[expect(
        clippy::too_many_arguments,
        reason = "each says one thing about the container"
    )]
    fn edit_with<'data>(
        &mut self,
        format: &ContainerFormat,
        source: Source<'data>,
        tree: &mut Node,
        location: &Location,
        reading: &mut Reading,
        room: Room,
        inner: Room,
        depth: usize,
    ) -> Result<Edited<'data>, Error> {
        // The parts that matter first, then what becomes of each, from the inside out; at last the format itself writes
        // all changes at once, as sizes and places of the others follow from them.
        let mut parts: Vec<Part<'data>> = Vec::new();
        // Damage elsewhere is none of ours: the formats are strict about what they change.
        let mut tolerant = Reading::tolerant(self.limits).for_file_of(source.len());
        let recompress = self.thinning.recompress;
        let mut heads = Heads::default();
        (format.parts)(source, &mut tolerant, &mut |_, part| {
            // What the scan found is in no container that could be written anew.
            let is_recompressed = recompress && part.id != scan::FOUND;
            let is_wanted =
                tree.within(&part.name).is_some() || is_recompressed && heads.are_of_interest(&part);
            // Images of a redundant part come as parts of their own, and would be edited twice.
            if !part.is_redundant && is_wanted {
                parts.push(part);
            }
        })?;
        // Only in a host do others point to places. What is in any other container closes up, and the container as a
        // whole takes the room that `room` says.
        let inner = match format.kind {
            ContainerKind::Host => inner,
            _ => Room::Free,
        };
        let mut changes = BTreeMap::new();
        let mut originals = BTreeMap::new();
        for part in parts {
            let place = location.join_name(&part.name);
            if part.id == scan::FOUND {
                return Err(
                    Error::unsupported("code that was found by its bytes alone cannot be left out")
                        .finding(place),
                );
            }
            let mut nothing = Node::default();
            let node = tree.within(&part.name);
            let is_only_recompressed = node.is_none();
            let node = node.unwrap_or(&mut nothing);
            if part.coding.is_none()
                && let Some(tar) = self.known_tar(&place)
            {
                let edited = self.edit_tar(tar, node, &place, reading, depth.saturating_add(1))?;
                changes.insert(part.id, Change::Replace(edited));
                originals.insert(part.id, tar);
                continue;
            }
            let is_container = match part.content {
                Content::Image => false,
                // What is compressed shows only when it is unpacked, which `edit_part` does.
                content => {
                    part.coding.is_some() || container::format_of(content, part.stored.bytes()).is_some()
                }
            };
            if !is_container {
                if node.goes {
                    node.is_used = true;
                    changes.insert(part.id, Change::Remove);
                }
                continue;
            }
            match self.edit_part(&part, node, &place, reading, inner, depth.saturating_add(1)) {
                Ok(Some(change)) => drop(changes.insert(part.id, change)),
                Ok(None) => {}
                // Nobody asked for this one by name.
                Err(error) if is_only_recompressed => {
                    self.not_recompressed.push(Problem::new(place, error));
                }
                Err(error) => return Err(error),
            }
        }
        // These two compress their images themselves, and so are written anew even where no part changes.
        let has_images = matches!(format.kind, ContainerKind::Fatbin | ContainerKind::Bundle);
        if changes.is_empty() && !(recompress && has_images) {
            return Ok(Edited::whole(source.bytes()));
        }
        let edits = Edits {
            parts: changes,
            room: if format.kind == ContainerKind::Host {
                inner
            } else {
                room
            },
            recompress: recompress.then_some(self.progress),
            originals,
        };
        (format.edit)(source, &edits, self.limits)
    }

    /// What becomes of a part that is a container, or compressed.
    fn edit_part<'data>(
        &mut self,
        part: &Part<'data>,
        node: &mut Node,
        place: &Location,
        reading: &mut Reading,
        room: Room,
        depth: usize,
    ) -> Result<Option<Change<'data>>, Error> {
        let Some(coding) = part.coding else {
            let edited = self.edit(part.stored, part.content, node, place, reading, room, depth)?;
            // A change that changes nothing would have the container around it written anew.
            let is_same = edited.bytes.are(part.stored.bytes());
            return Ok((!is_same).then_some(Change::Replace(edited)));
        };
        let known = self.known.get(place);
        let bytes: Cow<'_, [u8]> = match known {
            Some(bytes) => {
                self.placed.insert(place.clone());
                container::of_stream(part, bytes)?
            }
            None => container::inflated(part, coding, reading.inflation_left(), &|_| {})?.into(),
        };
        reading.count_inflated(bytes.len() as u64);
        if container::format_of(part.content, &bytes).is_none() {
            if !node.goes {
                return Ok(None);
            }
            node.is_used = true;
            return Ok(Some(Change::Remove));
        }
        let source = Source::new(&bytes);
        // Nobody points into what is compressed, so that it may close up whatever it is in.
        let edited = self.edit(source, part.content, node, place, reading, Room::Free, depth)?;
        if edited.bytes.are(source.bytes()) && known.is_none() {
            return Ok(None);
        }
        // What is left of nothing, compressed, would be a stream without anything to read in it.
        if edited.bytes.is_empty() {
            return Ok(Some(Change::Remove));
        }
        // A copy of what stays: what it is a part of is not kept until the last member is done.
        Ok(Some(Change::Replace(Edited {
            bytes: edited.bytes.into_bytes().into(),
            moves: edited.moves,
        })))
    }
}

/// The oldest driver that reads an image as it is compressed, where that is more than its device needs.
#[must_use]
pub fn least_driver_to_unpack(image: &DeviceImage<'_>) -> Option<DriverVersion> {
    image.compression()?;
    image.runs_on(&Device::new(image.target.clone())).least_driver
}

/// The images of a file as far as they must stay the same, in order, and the number of problems.
#[derive(Debug)]
struct Inventory {
    images: Vec<(u64, Option<Stored>)>,
    problems: usize,
    least_driver: Option<DriverVersion>,
}

impl Inventory {
    fn of(
        bytes: &[u8],
        whole: &Location,
        without: &[Location],
        thinning: Thinning,
        limits: &Limits,
        memory: &dyn Memory,
    ) -> Self {
        let mut gone: HashMap<&Location, ()> = HashMap::new();
        gone.extend(without.iter().map(|location| (location, ())));
        let mut inventory = Self {
            images: Vec::new(),
            problems: 0,
            least_driver: None,
        };
        let _ = walk_sparing(memory, whole.file(), bytes, None, limits, &mut |item| {
            match item {
                Item::Image(image) if !gone.contains_key(&image.location) => {
                    // Hashed, as a library may have ten thousand images. The location is not compared: numbers in it
                    // count down where an image before went.
                    let mut hasher = DefaultHasher::new();
                    (&image.target, image.format, image.producer, image.container).hash(&mut hasher);
                    (&image.kernels, &image.entries, &image.imports, &image.exports).hash(&mut hasher);
                    image.size().hash(&mut hasher);
                    // An entry of a fatbin is compressed by itself: anew, it was compared when it was made. What is in a
                    // compressed bundle is compared as it comes out.
                    let may_be_anew = thinning.recompress
                        && image.container == ContainerKind::Fatbin
                        && image.compression() == Some(Compression::Zstd);
                    let stored = (!may_be_anew).then(|| Stored::of(image, bytes));
                    inventory.images.push((hasher.finish(), stored));
                    inventory.least_driver = inventory.least_driver.max(least_driver_to_unpack(image));
                }
                Item::Problem(_) => inventory.problems = inventory.problems.saturating_add(1),
                _ => {}
            }
            ControlFlow::Continue(())
        });
        inventory
    }

    /// Whether nothing differs from what an old file had.
    fn is_same(&self, old: &Self, files: &Files<'_>) -> bool {
        let mut pairs = old.images.iter().zip(&self.images);
        self.problems == old.problems
            && self.images.len() == old.images.len()
            && pairs.all(|((old_facts, old), (facts, new))| {
                let is_same = match (old, new) {
                    (Some(old), Some(new)) => files.have_same(old, new),
                    _ => true,
                };
                old_facts == facts && is_same
            })
    }
}
