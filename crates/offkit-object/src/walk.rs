//! Going through a file, container by container, down to the device images.

mod batch;

use std::ops::ControlFlow;

use offkit_image::property_set::PropertySets;
use offkit_image::target::Decision;
use offkit_image::{
    BundleState, Code, Compression, ContainerKind, DeviceImage, Error, ErrorKind, ImageFormat, Joining,
    Limits, Location, Problem, offset_within, range_within,
};

use crate::claim::check_format;
use crate::compression::inflate_whole;
use crate::container;
use crate::format::ContainerFormat;
use crate::heads::Heads;
use crate::host;
use crate::inspect::header_facts;
use crate::memory::{Kept, Memory};
use crate::parallel;
use crate::part::{Coding, Content, Facts, Part, Visit};
use crate::reading::Reading;
use crate::source::Source;
use crate::stored_target::decide_as_stored;
use crate::sycl_wrapped::{self, AddressSpace};
use crate::syclbin::{self, SyclBinVersion};
use crate::unpacked::VisitUnpacked;
use batch::{Batch, Inflated};

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

impl Item<'_> {
    /// The item; an image without code is left in its place.
    #[must_use]
    pub fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Image(DeviceImage::default()))
    }
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
    /// How many bytes it takes where it is compressed as a whole; `None` where it is not.
    pub stored_size: Option<u64>,
    /// What only a SYCLBIN says about itself.
    pub program: Option<Program>,
    /// The processor of code for a host, as triples have it: `x86_64`.
    pub host: Option<&'static str>,
    /// The shared libraries that code for a host needs, as far as its headers tell.
    pub needed: Vec<String>,
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

/// Goes through a file and hands every container, image and problem to `visit`, in the order of the file, until that
/// breaks off.
///
/// Nothing is kept: memory does not grow with the file, which is what distinguishes this from
/// [`read`](crate::read). With a `goal`, only what is inside of that location, and what it is inside of, is
/// opened; a goal inside of an image that is an archive opens that archive too.
///
/// ```
/// use std::ops::ControlFlow;
/// use offkit_object::{Item, Limits};
///
/// let spirv = b"\x03\x02\x23\x07\0\0\x01\0";
/// let mut first = None;
/// let result = offkit_object::walk("kernel.spv", spirv, None, &Limits::default(), &mut |item| match item {
///     Item::Image(image) => {
///         first = Some(image.location.to_string());
///         ControlFlow::Break(())
///     }
///     _ => ControlFlow::Continue(()),
/// });
/// assert!(result.is_break());
/// assert_eq!(first.as_deref(), Some("kernel.spv"));
/// ```
pub fn walk(
    file_name: &str,
    bytes: &[u8],
    goal: Option<&Location>,
    limits: &Limits,
    visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let visit = &mut |item: &mut Item<'_>| visit(item.take());
    walk_sparing(&(), file_name, bytes, goal, limits, visit)
}

/// The same for those who look for images by name and choose among them: of each image they get its format, its target,
/// its kernels, imports and exports, what it demands of a device, and how it is to be compiled. Other properties are
/// left out, and so are the names in a table of entries; an image is not decompressed to learn what its container tells.
pub fn walk_names(
    file_name: &str,
    bytes: &[u8],
    limits: &Limits,
    visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let reading = Reading::tolerant(limits).for_names();
    let visit = &mut |item: &mut Item<'_>| visit(item.take());
    walk_with(reading, file_name, bytes, None, &(), visit)
}

/// The same as [`walk`] for large files: `memory` is told what was passed, and keeps what comes out of large members.
/// Items are lent, as moving one costs much of the time that very many small images take; [`take`](Item::take) makes one
/// the visitor's own.
pub fn walk_sparing(
    memory: &dyn Memory,
    file_name: &str,
    bytes: &[u8],
    goal: Option<&Location>,
    limits: &Limits,
    visit: &mut dyn FnMut(&mut Item<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    walk_with(Reading::tolerant(limits), file_name, bytes, goal, memory, visit)
}

/// Images as a program that runs registers them: what `__sycl_register_lib` is given.
#[derive(Clone, Copy)]
pub struct RunningDescriptor<'m> {
    /// The program's memory.
    pub memory: &'m dyn AddressSpace,
    /// Where the descriptor is.
    pub address: u64,
    /// Its number among those of the program, for the locations of its images.
    pub number: usize,
}

impl RunningDescriptor<'_> {
    /// Hands over the images as [`walk`] and, for `names_only`, [`walk_names`] hand over those of a file. The offset of an
    /// image is its address.
    pub fn walk(
        &self,
        file_name: &str,
        names_only: bool,
        limits: &Limits,
        visit: &mut dyn FnMut(Item<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // The program is as large as it is; what it says of itself is believed.
        let mut reading = Reading::tolerant(limits).for_file_of(u32::MAX.into());
        if names_only {
            reading = reading.for_names();
        }
        let mut with_addresses = |item: &mut Item<'_>| {
            if let Item::Image(image) = item {
                // Code in this process is lent from where it is, so that its address here is the
                // one that the program knows it by.
                image.offset = Some(image.stored_bytes().as_ptr().addr() as u64);
            }
            visit(item.take())
        };
        let mut walker = Walker {
            file: &[],
            goal: None,
            memory: &(),
            released: 0,
            visit: &mut with_addresses,
            result: ControlFlow::Continue(()),
            problems: 0,
        };
        let inside = Surroundings {
            kind: ContainerKind::SyclWrapped,
            depth: 1,
            ..Surroundings::FILE
        };
        let location = Location::of_file(file_name);
        walker.enter_parts(&mut reading, &location, inside, |reading, visit| {
            sycl_wrapped::parts_of_descriptor(self.memory, self.address, self.number, reading, visit)
        });
        walker.result
    }
}

fn walk_with(
    reading: Reading,
    file_name: &str,
    bytes: &[u8],
    goal: Option<&Location>,
    memory: &dyn Memory,
    visit: &mut dyn FnMut(&mut Item<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut walker = Walker {
        file: bytes,
        goal,
        memory,
        released: 0,
        visit,
        result: ControlFlow::Continue(()),
        problems: 0,
    };
    let mut reading = reading.for_file_of(bytes.len() as u64);
    walker.open(
        &mut reading,
        Source::new(bytes),
        Content::File,
        &mut Facts::default(),
        Location::of_file(file_name),
        Surroundings::FILE,
    );
    walker.result
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
    within: Option<Compression>,
    /// How many bytes the part itself takes, if it came out of something compressed as a whole.
    stored: Option<u64>,
    /// Whether its bytes are among those of which [`Memory`] is told that they were passed.
    is_passed: bool,
}

impl Surroundings {
    const FILE: Self = Self {
        kind: ContainerKind::Image,
        depth: 0,
        version: None,
        within: None,
        stored: None,
        is_passed: true,
    };
}

struct Walker<'w> {
    file: &'w [u8],
    goal: Option<&'w Location>,
    memory: &'w dyn Memory,
    /// Where the part of the file ends that was released.
    released: usize,
    visit: &'w mut dyn FnMut(&mut Item<'_>) -> ControlFlow<()>,
    /// What the visitor said last.
    result: ControlFlow<()>,
    problems: usize,
}

impl Walker<'_> {
    /// Opens a part whose bytes are in the file, or came out of something compressed that is more than the part.
    fn open(
        &mut self,
        reading: &mut Reading,
        source: Source<'_>,
        content: Content,
        facts: &mut Facts<'_>,
        location: Location,
        around: Surroundings,
    ) {
        if let Some(format) = self.format_of(content, source.bytes(), &location) {
            return self.enter(reading, source, format, facts.version, &location, around);
        }
        let code = match around.within {
            None => Code::from(source.bytes()),
            Some(method) => Code::within(source.bytes(), method),
        };
        self.add_image(reading, code, content, facts, location, around);
    }

    fn format_of(
        &self,
        content: Content,
        bytes: &[u8],
        location: &Location,
    ) -> Option<&'static ContainerFormat> {
        match content {
            Content::Image if self.goal_is_inside(location) => container::format_of(Content::File, bytes),
            content => container::format_of(content, bytes),
        }
    }

    /// Whether the goal may be in an image: members of an archive that is an image by itself are of interest to those
    /// who ask for one.
    fn goal_is_inside(&self, location: &Location) -> bool {
        self.goal.is_some_and(|goal| goal.depth() > location.depth())
    }

    /// Enters a container.
    fn enter(
        &mut self,
        reading: &mut Reading,
        source: Source<'_>,
        format: &ContainerFormat,
        version: Option<u32>,
        location: &Location,
        around: Surroundings,
    ) {
        let kind = format.kind;
        if around.depth > reading.limits().max_nesting {
            let limit = reading.limits().max_nesting;
            let error = Error::new(ErrorKind::LimitExceeded, "containers are nested too deep")
                .at(source.at(0))
                .expecting(format!("at most {limit}"));
            return self.problem(reading, location, error);
        }
        // Parts may share their bytes on every level: without this bound a small file could take very long.
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
        let entered = Container {
            location: location.clone(),
            kind,
            version: match &program {
                Some(program) => Some(program.form.number()),
                None => version.or_else(|| (format.version)(source.bytes())),
            },
            size: source.len(),
            stored_size: around.stored,
            program,
            needed: match kind {
                ContainerKind::Host => crate::host::needed(source.bytes()).libraries,
                _ => Vec::new(),
            },
            host: (kind == ContainerKind::Host)
                .then(|| host::architecture(source))
                .flatten(),
        };
        self.hand_over(reading, &mut Item::Container(entered));
        if self.result.is_break() {
            return;
        }
        let inside = Surroundings {
            kind,
            depth: around.depth.saturating_add(1),
            version,
            within: around.within,
            stored: None,
            is_passed: around.is_passed,
        };
        match format.unpack {
            Some(unpack) => {
                self.enter_unpacked(reading, location, inside, source.at(0), &mut |reading, visit| {
                    unpack(source, reading, visit)
                })
            }
            None => self.enter_parts(reading, location, inside, |reading, visit| {
                (format.parts)(source, reading, visit)
            }),
        }
    }

    /// Opens the files that come out of something compressed, one after the other.
    fn enter_unpacked(
        &mut self,
        reading: &mut Reading,
        location: &Location,
        inside: Surroundings,
        source_at: u64,
        unpack: &mut dyn FnMut(&mut Reading, VisitUnpacked<'_>) -> Result<(), Error>,
    ) {
        let mut places = Joining::new(location);
        let result = unpack(reading, &mut |reading, file| {
            self.report(reading, location);
            let place = places.join(&file.name);
            let is_of_interest = container::looks_like_device_code(file.head);
            if self.result.is_break() || !is_of_interest || !self.is_wanted(&place) {
                return;
            }
            let method = file.method;
            match file.read() {
                Ok(bytes) => {
                    // What comes out may have containers and names in it in proportion to its own size.
                    reading.allow_content(bytes.len() as u64);
                    let around = Surroundings {
                        within: Some(method),
                        is_passed: false,
                        ..inside
                    };
                    let facts = &mut Facts::default();
                    self.open(reading, Source::new(&bytes), Content::File, facts, place, around);
                }
                Err(error) => self.problem(reading, &place, error.at(source_at)),
            }
        });
        self.report(reading, location);
        if let Err(error) = result {
            self.problem(reading, location, error);
        }
    }

    /// Opens what is in a container.
    fn enter_parts<'data>(
        &mut self,
        reading: &mut Reading,
        location: &Location,
        inside: Surroundings,
        parts: impl FnOnce(&mut Reading, Visit<'_, 'data>) -> Result<(), Error>,
    ) {
        let mut batch = Batch::default();
        let mut heads = Heads::default();
        let mut places = Joining::new(location);
        let result = parts(reading, &mut |reading, mut part| {
            // The reader notes faults and has nobody to tell: those come before the part.
            self.report(reading, location);
            if inside.is_passed {
                self.pass(part.stored.at(0));
            }
            let place = places.join(&part.name);
            if self.result.is_break() || !self.is_wanted(&place) {
                return;
            }
            // Behind the test of the place, which is cheaper than to unpack a beginning.
            if !heads.are_of_interest(&part) {
                return;
            }
            // Its images come as parts of their own, too. It is opened only for one who asks for a place inside of it.
            if part.is_redundant && self.goal.is_none_or(|goal| !goal.is_within(&place)) {
                return;
            }
            match part.coding {
                Some(coding) if !self.is_known(&part, coding, &place) => {
                    if !batch.has_room_for(&part, coding, self.memory) {
                        self.open_batch(reading, &mut batch, inside);
                    }
                    batch.add(part, coding, place, self.memory);
                }
                coding => {
                    // Items come in the order of the file, so what waits goes first.
                    self.open_batch(reading, &mut batch, inside);
                    let Part {
                        stored,
                        content,
                        facts,
                        ..
                    } = &mut part;
                    match coding {
                        None => self.open(reading, *stored, *content, facts, place, inside),
                        Some(coding) => {
                            self.add_compressed(reading, *stored, coding, facts, place, inside);
                        }
                    }
                }
            }
        });
        self.report(reading, location);
        // Even after an error: what was handed over before it stays.
        self.open_batch(reading, &mut batch, inside);
        if let Err(error) = result {
            self.problem(reading, location, error);
        }
    }

    /// Releases what is before a place in the file, where that is much.
    fn pass(&mut self, offset: u64) {
        // `Memory::passed` asks for few large ranges rather than many small ones.
        const RELEASED_TOGETHER: usize = 1 << 25;
        let offset = usize::try_from(offset).unwrap_or_default();
        if offset.saturating_sub(self.released) > RELEASED_TOGETHER {
            self.memory.passed(self.released..offset);
            self.released = offset;
        }
    }

    /// Whether a place is inside of the goal, or on the way to it.
    fn is_wanted(&self, place: &Location) -> bool {
        self.goal
            .is_none_or(|goal| place.is_within(goal) || goal.is_within(place))
    }

    /// Whether a compressed part is an image of which the container says all that must be known: what it is, and its
    /// size. Nothing is decompressed then.
    fn is_known(&self, part: &Part<'_>, coding: Coding, place: &Location) -> bool {
        part.content == Content::Image
            && part.facts.claim.is_some()
            && coding.size.is_some()
            && !self.goal_is_inside(place)
    }

    /// Adds an image that stays compressed.
    fn add_compressed(
        &mut self,
        reading: &mut Reading,
        stored: Source<'_>,
        coding: Coding,
        facts: &mut Facts<'_>,
        location: Location,
        around: Surroundings,
    ) {
        match coding.allow(stored, reading) {
            Ok(size) => {
                let code = Code::compressed(stored.bytes(), coding.compression, size, inflate_whole);
                self.add_image(reading, code, Content::Image, facts, location, around);
            }
            Err(error) => self.problem(reading, &location, error),
        }
    }

    /// Decompresses the parts of a batch, on all cores, and opens them one after the other.
    fn open_batch(&mut self, reading: &mut Reading, batch: &mut Batch<'_>, inside: Surroundings) {
        if batch.members.is_empty() || self.result.is_break() {
            return;
        }
        let mut allowed = Vec::new();
        for member in batch.take() {
            match member.coding.allow(member.part.stored, reading) {
                Ok(most) => allowed.push((member, most)),
                Err(error) => self.problem(reading, &member.location, error),
            }
        }
        let (file, memory) = (self.file, self.memory);
        let passed = |stored: &[u8]| {
            if let Some(range) = range_within(file, stored) {
                memory.passed(range);
            }
        };
        let inflated = parallel::map(allowed, 1, |(member, most)| {
            let bytes = member.inflated(most, memory, &passed);
            (member, bytes)
        });
        for (mut member, bytes) in inflated {
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
            let Part {
                stored,
                content,
                facts,
                ..
            } = &mut member.part;
            let method = member.coding.compression;
            if let Some(format) = self.format_of(*content, &bytes, &member.location) {
                let around = Surroundings {
                    within: Some(method),
                    stored: Some(stored.len()),
                    is_passed: false,
                    ..inside
                };
                let (version, location) = (facts.version, &member.location);
                match &bytes {
                    Inflated::Bytes(bytes) => {
                        self.enter(reading, Source::new(bytes), format, version, location, around);
                    }
                    Inflated::Kept(kept) => {
                        self.enter_kept(reading, &**kept, format, version, location, around);
                    }
                }
            } else {
                let code = Code::inflated(stored.bytes(), method, bytes.into_bytes());
                self.add_image(reading, code, *content, facts, member.location, inside);
            }
        }
    }

    /// Enters a container that is kept outside of memory.
    fn enter_kept(
        &mut self,
        reading: &mut Reading,
        kept: &dyn Kept,
        format: &ContainerFormat,
        version: Option<u32>,
        location: &Location,
        around: Surroundings,
    ) {
        // `file` stays the old one: an offset is told only of what stands in the file itself, and nothing in here does.
        let mut inner = Walker {
            file: self.file,
            goal: self.goal,
            memory: kept,
            released: 0,
            visit: &mut *self.visit,
            result: self.result,
            problems: self.problems,
        };
        let around = Surroundings {
            is_passed: true,
            ..around
        };
        inner.enter(
            reading,
            Source::new(kept.bytes()),
            format,
            version,
            location,
            around,
        );
        (self.result, self.problems) = (inner.result, inner.problems);
    }

    fn add_image(
        &mut self,
        reading: &mut Reading,
        code: Code<'_>,
        content: Content,
        facts: &mut Facts<'_>,
        location: Location,
        around: Surroundings,
    ) {
        // Code that nobody has asked for yet stays on the disk.
        let is_believed = reading.names_only()
            && facts.claim == Some(ImageFormat::Spirv)
            && !facts.target.triple.is_empty();
        let bytes = code.at_hand().filter(|_| !is_believed);
        let shown = bytes.map_or(ImageFormat::Unknown, ImageFormat::detect);
        if content == Content::File && !container::is_device_image(shown) {
            // In archives and packages, most files are something else.
            if around.depth == 0 {
                let found = match shown {
                    _ if code.size() == 0 => "an empty file",
                    ImageFormat::Compressed => "compressed data, and no device code in them",
                    _ => "other bytes",
                };
                let message = "not a container or device image of a known format";
                let error = Error::new(ErrorKind::NotRecognized, message).at(0).finding(found);
                self.problem(reading, &location, error);
            }
            return;
        }
        // Only from here on it costs something: of most files in archives and packages nothing is made.
        let offset = offset_within(self.file, code.stored());
        // Every image has the names of all that it is in.
        if let Err(error) = reading.count_metadata(location.cost()) {
            return self.problem(reading, &location, error.at(offset.unwrap_or_default()));
        }
        if let Some(error) = check_format(shown, facts.claim, offset) {
            self.problem(reading, &location, error);
        }
        let kind = facts.container.unwrap_or(around.kind);
        let format = shown.or(facts.claim);
        let told = std::mem::take(&mut facts.target);
        let (shown, code_version) =
            bytes.map_or_else(Default::default, |bytes| header_facts(bytes, format, &told));
        let code_version = facts.code_version.or(code_version);
        let Decision { target, contradicted } = match shown {
            Some(shown) => decide_as_stored(code.storage(), told, shown),
            None => Decision::told(told),
        };
        // Made where it is lent from: an image is 360 bytes, and waited for when it is moved.
        let mut item = Item::Image(DeviceImage::of_format(code, format));
        if let Item::Image(image) = &mut item {
            // A section of an object or program is no format for images: one that lies there bare
            // is by itself.
            image.container = if kind.is_host() {
                ContainerKind::Image
            } else {
                kind
            };
            image.container_version = facts.version.or(around.version);
            image.code_version = code_version;
            image.target = target;
            image.contradicted = contradicted;
            image.producer = facts.producer;
            if let Some(more) = facts.more.take() {
                image.properties = more.properties;
                image.kernels = more.kernels;
                image.entries = more.entries;
                image.imports = more.imports;
                image.exports = more.exports;
                image.strings = more.strings;
            }
            image.location = location;
            image.offset = offset;
        }
        self.hand_over(reading, &mut item);
    }

    /// Hands over the faults that were noted while reading as problems of `location`.
    fn report(&mut self, reading: &mut Reading, location: &Location) {
        if reading.has_problems() {
            for error in reading.take_problems() {
                self.problem(reading, location, error);
            }
        }
    }

    #[inline]
    fn hand_over(&mut self, reading: &mut Reading, item: &mut Item<'_>) {
        if self.result.is_continue() {
            self.result = (self.visit)(item);
        }
        // Readers of containers know nothing of the visitor, but end with an exhausted reading.
        if self.result.is_break() {
            reading.stop();
        }
    }

    fn problem(&mut self, reading: &mut Reading, location: &Location, error: Error) {
        if self.problems < reading.limits().max_problems {
            self.problems = self.problems.saturating_add(1);
            self.hand_over(reading, &mut Item::Problem(Problem::new(location.clone(), error)));
        }
    }
}

impl Coding {
    /// The most bytes that may come out of a stream; an error when more are promised. Those that are promised count as
    /// decompressed.
    fn allow(self, stored: Source<'_>, reading: &mut Reading) -> Result<u64, Error> {
        let left = reading.inflation_left();
        let most = self.size.unwrap_or(left);
        if most > left {
            return Err(Error::new(ErrorKind::LimitExceeded, "too much compressed data")
                .at(stored.at(0))
                .expecting(format!("at most {left} bytes more"))
                .finding(most));
        }
        if self.size.is_some() {
            // Counted before it is done: the members of a batch are allowed one by one, and decompressed together.
            reading.count_inflated(most);
        }
        Ok(most)
    }
}
