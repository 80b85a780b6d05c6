//! Going through a file, container by container, down to the device images.

use offkit_image::property_set::PropertySets;
use offkit_image::{
    BundleState, ContainerKind, DeviceImage, Error, ErrorKind, ImageFormat, Joining, Limits, Location,
    Problem, Storage, Target, offset_within,
};
use rayon::prelude::*;

use crate::container;
use crate::inspect::header_target;
use crate::part::{Coding, Content, Facts, MoreFacts, Part};
use crate::reading::Reading;
use crate::source::Source;
use crate::syclbin::{self, SyclBinVersion};

/// Something that a [`walk`] comes across, in the order of the file.
#[derive(Debug)]
#[non_exhaustive]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every item is an image, and none is kept: a box would only cost time"
)]
pub enum Item<'walk> {
    /// A container; what is inside of it follows.
    Container(Container),
    /// A device image.
    Image(DeviceImage<'walk>),
    /// Something wrong.
    Problem(Problem),
}

/// A container that a [`walk`] entered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Container {
    /// Where it is.
    pub location: Location,
    /// What it is.
    pub kind: ContainerKind,
    /// The version of its format, where it has one.
    pub version: Option<u32>,
    /// Its size in bytes, decompressed.
    pub size: u64,
    /// What only a SYCLBIN says about itself.
    pub program: Option<Program>,
}

/// What a SYCLBIN says about itself as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Program {
    /// The form of the file.
    pub form: SyclBinVersion,
    /// The state of the program.
    pub state: BundleState,
    /// All global properties but the state.
    pub properties: PropertySets,
}

/// Goes through a file and hands every container, image and problem to `visit`, in the order of the file.
///
/// Nothing is kept: memory does not grow with the file, which is what distinguishes this from
/// [`read`](crate::read). With a `goal`, only what is inside of that location, and what it is inside of, is
/// opened; a goal inside of an image that is an archive opens that archive too.
///
/// ```
/// use offkit_object::{Item, Limits};
///
/// let mut found = Vec::new();
/// offkit_object::walk("kernel.spv", b"\x03\x02\x23\x07\0\0\x01\0", None, &Limits::default(), &mut |item| {
///     if let Item::Image(image) = item {
///         found.push(image.location.to_string());
///     }
/// });
/// assert_eq!(found, ["kernel.spv"]);
/// ```
pub fn walk(
    file_name: &str,
    bytes: &[u8],
    goal: Option<&Location>,
    limits: &Limits,
    visit: &mut dyn FnMut(Item<'_>),
) {
    let mut walker = Walker {
        file: bytes,
        goal,
        visit,
        problems: 0,
    };
    let mut reading = Reading::tolerant(limits).for_file_of(bytes.len() as u64);
    let source = Source::new(bytes);
    let part = Opened {
        source,
        storage: Storage::Plain,
        content: Content::File,
        facts: &mut Facts::default(),
    };
    walker.open(
        &mut reading,
        part,
        Location::of_file(file_name),
        Surroundings::FILE,
    );
}

/// A part whose bytes are at hand.
struct Opened<'facts, 'a> {
    source: Source<'a>,
    storage: Storage<'a>,
    content: Content,
    /// Where the reader left them, as they are large; an image takes them from there.
    facts: &'facts mut Facts<'a>,
}

/// What a part is in.
#[derive(Clone, Copy)]
struct Surroundings {
    kind: ContainerKind,
    /// The number of containers around the part.
    depth: usize,
    /// The version of the container, where only its own header says it: that of a compressed bundle.
    version: Option<u32>,
    /// How something larger that the part is in is compressed.
    within: Option<crate::Compression>,
}

impl Surroundings {
    const FILE: Self = Self {
        kind: ContainerKind::Image,
        depth: 0,
        version: None,
        within: None,
    };
}

struct Walker<'w> {
    file: &'w [u8],
    goal: Option<&'w Location>,
    visit: &'w mut dyn FnMut(Item<'_>),
    problems: usize,
}

impl Walker<'_> {
    fn open(
        &mut self,
        reading: &mut Reading,
        part: Opened<'_, '_>,
        location: Location,
        around: Surroundings,
    ) {
        match self.kind_of(&part, &location) {
            Some(kind) => self.enter(reading, &part, kind, &location, around),
            None => self.add_image(reading, part, location, around),
        }
    }

    fn kind_of(&self, part: &Opened<'_, '_>, location: &Location) -> Option<ContainerKind> {
        let bytes = part.source.bytes();
        let is_beyond = |goal: &&Location| goal.depth() > location.depth();
        match part.content {
            // Members of an archive that is an image by itself are of interest to those who ask for one.
            Content::Image if self.goal.as_ref().is_some_and(is_beyond) => {
                container::kind_of(Content::File, bytes)
            }
            content => container::kind_of(content, bytes),
        }
    }

    /// Enters a container.
    fn enter(
        &mut self,
        reading: &mut Reading,
        part: &Opened<'_, '_>,
        kind: ContainerKind,
        location: &Location,
        around: Surroundings,
    ) {
        let source = part.source;
        if around.depth > reading.limits().max_nesting {
            let limit = reading.limits().max_nesting;
            let error = Error::new(ErrorKind::LimitExceeded, "containers are nested too deep")
                .at(source.at(0))
                .expecting(format!("at most {limit}"));
            return self.problem(reading, location, error);
        }
        if let Err(error) = reading.count_entered(source.len()) {
            return self.problem(reading, location, error.at(source.at(0)));
        }
        let program = (kind == ContainerKind::SyclBin)
            .then(|| syclbin::outline(source, reading))
            .flatten();
        let program = program.map(|(form, state, properties)| Program {
            form,
            state,
            properties,
        });
        (self.visit)(Item::Container(Container {
            location: location.clone(),
            kind,
            version: match &program {
                Some(program) => Some(program.form.number()),
                None => part
                    .facts
                    .version
                    .or_else(|| container::version_of(kind, source.bytes())),
            },
            size: source.len(),
            program,
        }));
        let inside = Surroundings {
            kind,
            depth: around.depth.saturating_add(1),
            version: part.facts.version,
            within: part.storage.compression().or(around.within),
        };
        let mut batch = Batch::default();
        let mut places = Joining::new(location);
        let result = container::parts(kind, source, reading, &mut |reading, mut part| {
            self.report(reading, location);
            let place = places.join(&part.name);
            if !self.is_wanted(&place) {
                return;
            }
            if part.is_redundant && self.goal.is_none_or(|goal| !goal.is_within(&place)) {
                return;
            }
            if let Some(coding) = part.coding {
                batch.add(part, coding, place);
                if batch.is_full() {
                    self.open_batch(reading, &mut batch, inside);
                }
            } else {
                self.open_batch(reading, &mut batch, inside);
                let part = Opened {
                    source: part.stored,
                    storage: Storage::Plain,
                    content: part.content,
                    facts: &mut part.facts,
                };
                self.open(reading, part, place, inside);
            }
        });
        self.report(reading, location);
        self.open_batch(reading, &mut batch, inside);
        if let Err(error) = result {
            self.problem(reading, location, error);
        }
    }

    /// Whether a place is inside of the goal, or on the way to it.
    fn is_wanted(&self, place: &Location) -> bool {
        self.goal
            .is_none_or(|goal| place.is_within(goal) || goal.is_within(place))
    }

    /// Decompresses the parts of a batch, on all cores, and opens them one after the other.
    fn open_batch(&mut self, reading: &mut Reading, batch: &mut Batch<'_>, inside: Surroundings) {
        if batch.members.is_empty() {
            return;
        }
        let mut allowed = Vec::new();
        for member in batch.take() {
            match member.allow(reading) {
                Ok(most) => allowed.push((member, most)),
                Err(error) => self.problem(reading, &member.location, error),
            }
        }
        let unpacked: Vec<_> = match allowed.len() {
            0 | 1 => allowed.into_iter().map(Compressed::inflate).collect(),
            _ => allowed.into_par_iter().map(Compressed::inflate).collect(),
        };
        for (mut member, bytes) in unpacked {
            let bytes = match bytes {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.problem(reading, &member.location, error);
                    continue;
                }
            };
            // Sizes that were promised are counted already.
            if member.coding.size.is_none() {
                reading.count_inflated(bytes.len() as u64);
            }
            reading.allow_content(bytes.len() as u64);
            let opened = Opened {
                source: Source::new(&bytes),
                storage: Storage::Compressed {
                    method: member.coding.compression,
                    bytes: member.part.stored.bytes().into(),
                },
                content: member.part.content,
                facts: &mut member.part.facts,
            };
            self.open(reading, opened, member.location, inside);
        }
    }

    fn add_image(
        &mut self,
        reading: &mut Reading,
        part: Opened<'_, '_>,
        location: Location,
        around: Surroundings,
    ) {
        let bytes = part.source.bytes();
        let facts = part.facts;
        let shown = ImageFormat::detect(bytes);
        if part.content == Content::File && shown == ImageFormat::Unknown {
            // In archives and packages, most files are something else.
            if around.depth == 0 {
                let found = if bytes.is_empty() {
                    "an empty file"
                } else {
                    "other bytes"
                };
                let message = "not a container or device image of a known format";
                let error = Error::new(ErrorKind::NotRecognized, message).at(0).finding(found);
                self.problem(reading, &location, error);
            }
            return;
        }
        // Every image has the names of all that it is in.
        if let Err(error) = reading.count_metadata(location.cost()) {
            return self.problem(reading, &location, error.at(part.source.at(0)));
        }
        let storage = match (part.storage, around.within) {
            (Storage::Plain, Some(method)) => Storage::Within { method },
            (storage, _) => storage,
        };
        let offset = offset_within(self.file, storage.stored_bytes(bytes));
        if let Some(claim) = facts.claim
            && shown != ImageFormat::Unknown
            && !shown.satisfies(claim)
        {
            let error = Error::malformed("image is not what its header says")
                .at(offset.unwrap_or_default())
                .expecting(claim.name())
                .finding(shown.name());
            self.problem(reading, &location, error);
        }
        let kind = facts.container.unwrap_or(around.kind);
        let format = shown.or(facts.claim);
        complete_target(&mut facts.target, bytes, format);
        let more = facts.more.take().map_or_else(MoreFacts::default, |more| *more);
        // Built where it is used: copying it would be a large part of all the work.
        (self.visit)(Item::Image(DeviceImage {
            storage,
            container: if kind.is_host() {
                ContainerKind::Image
            } else {
                kind
            },
            container_version: facts.version.or(around.version),
            format,
            target: std::mem::take(&mut facts.target),
            producer: facts.producer,
            properties: more.properties,
            kernels: more.kernels,
            entries: more.entries,
            imports: more.imports,
            exports: more.exports,
            strings: more.strings,
            location,
            bytes: bytes.into(),
            offset,
        }));
    }

    /// Hands over the faults that were noted while reading as problems of `location`.
    fn report(&mut self, reading: &mut Reading, location: &Location) {
        if reading.has_problems() {
            for error in reading.take_problems() {
                self.problem(reading, location, error);
            }
        }
    }

    fn problem(&mut self, reading: &Reading, location: &Location, error: Error) {
        if self.problems < reading.limits().max_problems {
            self.problems = self.problems.saturating_add(1);
            (self.visit)(Item::Problem(Problem::new(location.clone(), error)));
        }
    }
}

/// Fills in what the container does not say about the target, as far as the image's header says it.
fn complete_target(target: &mut Target, bytes: &[u8], format: ImageFormat) {
    // SPIR-V is for no architecture: with a triple, nothing is left to look for.
    let is_complete = !target.arch.is_empty() || format == ImageFormat::Spirv;
    if !target.triple.is_empty() && is_complete {
        return;
    }
    let shown = header_target(bytes, format);
    if target.triple.is_empty() {
        target.triple = shown.triple;
    }
    if target.arch.is_empty() {
        target.arch = shown.arch;
        target.features = shown.features;
    }
}

/// Compressed parts that are decompressed together.
#[derive(Default)]
struct Batch<'data> {
    members: Vec<Compressed<'data>>,
    /// How much comes out, as far as it is known.
    size: u64,
}

struct Compressed<'data> {
    part: Part<'data>,
    coding: Coding,
    location: Location,
}

impl<'data> Batch<'data> {
    /// Enough for all cores to be busy, and little enough for what comes out to fit into memory.
    const MEMBERS: usize = 32;
    const SIZE: u64 = 1 << 28;

    fn add(&mut self, part: Part<'data>, coding: Coding, location: Location) {
        self.size = self
            .size
            .saturating_add(coding.size.unwrap_or(part.stored.len().saturating_mul(8)));
        self.members.push(Compressed {
            part,
            coding,
            location,
        });
    }

    fn is_full(&self) -> bool {
        self.members.len() >= Self::MEMBERS || self.size >= Self::SIZE
    }

    fn take(&mut self) -> Vec<Compressed<'data>> {
        std::mem::take(self).members
    }
}

impl Compressed<'_> {
    /// The member, and at most so many bytes that come out of it.
    fn inflate((member, most): (Self, u64)) -> (Self, Result<Vec<u8>, Error>) {
        let bytes = member.part.inflate(member.coding, most);
        (member, bytes)
    }

    /// The most bytes that may come out; an error when more are promised.
    fn allow(&self, reading: &mut Reading) -> Result<u64, Error> {
        let left = reading.inflation_left();
        let most = self.coding.size.unwrap_or(left);
        if most > left {
            return Err(Error::new(ErrorKind::LimitExceeded, "too much compressed data")
                .at(self.part.stored.at(0))
                .expecting(format!("at most {left} bytes more"))
                .finding(most));
        }
        if self.coding.size.is_some() {
            reading.count_inflated(most);
        }
        Ok(most)
    }
}
