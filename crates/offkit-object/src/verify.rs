//! Every rule of every format, also those that readers need not insist on.

mod offload;
mod syclbin;

use std::ops::ControlFlow;

use offkit_image::{
    ContainerKind, DeviceImage, Error, ImageFormat, Limits, Location, Problem, Storage, Target,
};

use crate::container;
use crate::inspect::header_target;
use crate::part::{Content, Part};
use crate::reading::Reading;
use crate::source::Source;
use crate::walk::{Item, walk};
use crate::{bundle, offload_binary};
use offkit_image::target::decide;

/// Everything wrong with a file: what [`read`](crate::read) reports, and what it passes over because the content can
/// be read nevertheless.
///
/// That is, of an offload binary: sizes and places that are no multiples of 8, bytes that belong to nothing and are
/// not zero, parts that overlap, keys that occur twice, flags without a meaning. Of a SYCLBIN: the same for its
/// tables, images that no module has, and contents that its state does not allow. Of a bundle: a wrong hash, IDs that
/// occur twice, images that overlap. Of an image itself, that it can be decompressed, and its format and target, which
/// the container must not contradict.
///
/// ```
/// use offkit_object::{ImageKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};
///
/// let entry = OffloadEntry::new(ImageKind::None, OffloadKind::Hip, b"image");
/// let mut file = OffloadBinary::from(entry).write(OffloadBinaryVersion::V1)?;
/// assert!(offkit_object::verify("app.out", &file, &Limits::default()).is_empty());
/// *file.last_mut().unwrap() = 1;
/// let problems = offkit_object::verify("app.out", &file, &Limits::default());
/// assert_eq!(problems[0].error.message(), "bytes that belong to nothing are not zero");
/// # Ok::<(), offkit_object::Error>(())
/// ```
#[must_use]
pub fn verify(file_name: &str, bytes: &[u8], limits: &Limits) -> Vec<Problem> {
    let mut problems = Vec::new();
    let _ = walk(file_name, bytes, None, limits, &mut |item| {
        match item {
            Item::Problem(problem) => problems.push(problem),
            Item::Image(image) => {
                let problem = |error| Problem::new(image.location.clone(), error);
                problems.extend(check_image(&image).into_iter().map(problem));
            }
            Item::Container(_) => {}
        }
        match problems.len() < limits.max_problems {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    problems.truncate(limits.max_problems);
    let mut checker = Checker {
        limits,
        problems: Vec::new(),
    };
    let mut reading = Reading::tolerant(limits).for_file_of(bytes.len() as u64);
    checker.open(
        Source::new(bytes),
        Content::File,
        &Location::of_file(file_name),
        &mut reading,
        0,
    );
    // What reading finds is not said again, whoever finds it.
    for problem in checker.problems {
        if problems.len() < limits.max_problems && !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}

/// Compares what a container says of an image with its bytes, where reading took the container's word for it.
fn check_image(image: &DeviceImage<'_>) -> Vec<Error> {
    let contradiction = |told: &Target, shown: &Target| {
        Error::malformed("image is for another target than its container says")
            .at(image.offset.unwrap_or_default())
            .expecting(told.to_string())
            .finding(shown)
    };
    if !matches!(image.storage(), Storage::Compressed(_)) {
        let told = image.contradicted.iter();
        return told.map(|told| contradiction(told, &image.target)).collect();
    }
    let bytes = match image.bytes() {
        Ok(bytes) => bytes,
        Err(error) => return vec![error],
    };
    let format = check_format(bytes, Some(image.format), image.offset);
    let shown = header_target(bytes, image.format);
    let decision = decide(image.target.clone(), shown);
    let told = decision.contradicted.iter();
    let target = told.map(|told| contradiction(told, &decision.target));
    format.into_iter().chain(target).collect()
}

/// Says that an image is something else than a header claims.
pub(crate) fn check_format(bytes: &[u8], claim: Option<ImageFormat>, offset: Option<u64>) -> Option<Error> {
    let shown = ImageFormat::detect(bytes);
    let claim = claim.filter(|claim| shown != ImageFormat::Unknown && !shown.satisfies(*claim))?;
    Some(
        Error::malformed("image is not what its header says")
            .at(offset.unwrap_or_default())
            .expecting(claim.name())
            .finding(shown.name()),
    )
}

struct Checker<'l> {
    limits: &'l Limits,
    problems: Vec<Problem>,
}

impl Checker<'_> {
    /// Checks a part by the rules of its format, and what is in it.
    fn open(
        &mut self,
        source: Source<'_>,
        content: Content,
        location: &Location,
        reading: &mut Reading,
        depth: usize,
    ) {
        let Some(kind) = container::kind_of(content, source.bytes()) else {
            return;
        };
        // Reading has said what is nested too deep, and what is too much.
        if depth > self.limits.max_nesting || reading.is_exhausted() {
            return;
        }
        self.check(kind, source, location);
        let mut parts: Vec<(Part<'_>, Location)> = Vec::new();
        let _ = container::parts(kind, source, reading, &mut |_, part| {
            let place = location.join_name(&part.name);
            parts.push((part, place));
        });
        let _ = reading.take_problems();
        for (part, place) in parts {
            let depth = depth.saturating_add(1);
            let Some(coding) = part.coding else {
                self.open(part.stored, part.content, &place, reading, depth);
                continue;
            };
            if part.content == Content::Image {
                continue;
            }
            if let Ok(bytes) = part.inflate(coding, reading.inflation_left()) {
                reading.count_inflated(bytes.len() as u64);
                self.open(Source::new(&bytes), part.content, &place, reading, depth);
            }
        }
    }

    fn check(&mut self, kind: ContainerKind, source: Source<'_>, location: &Location) {
        let mut reading = Reading::tolerant(self.limits).for_file_of(source.len());
        let result = match kind {
            ContainerKind::OffloadBinary => offload::check(source, &mut reading),
            ContainerKind::SyclBin => {
                if source.bytes().starts_with(&offload_binary::MAGIC) {
                    let _ = offload::check(source, &mut reading);
                }
                syclbin::check(source, &mut reading)
            }
            ContainerKind::Bundle => bundle::check(source, &mut reading),
            _ => Ok(()),
        };
        let faults = reading.take_problems().into_iter().chain(result.err());
        for error in faults {
            self.problems.push(Problem::new(location.clone(), error));
        }
    }
}

/// A part of a file that something refers to: where it begins, its size, and what it is.
struct Range {
    start: u64,
    size: u64,
    what: String,
    /// Whether other things may be in the same place, as strings may.
    is_shared: bool,
}

impl Range {
    fn new(start: u64, size: u64, what: impl Into<String>) -> Self {
        Self {
            start,
            size,
            what: what.into(),
            is_shared: false,
        }
    }
}

/// Notes parts that overlap, and bytes between them that are not zero.
fn check_ranges(source: Source<'_>, mut ranges: Vec<Range>, reading: &mut Reading) -> Result<(), Error> {
    ranges.retain(|range| range.size > 0);
    ranges.sort_by_key(|range| (range.start, range.size));
    let mut end = 0_u64;
    let mut last: Option<&Range> = None;
    for range in &ranges {
        if let Some(last) = last.filter(|_| range.start < end)
            && !(range.is_shared && last.is_shared)
        {
            reading.fault(
                Error::malformed("parts overlap")
                    .at(source.at(range.start))
                    .field(range.what.clone())
                    .expecting(format!("to begin at or after {:#x}", source.at(end)))
                    .finding(format_args!("a part of {}", last.what)),
            )?;
        }
        check_zeros(source, end, range.start, reading)?;
        let range_end = range.start.saturating_add(range.size);
        if range_end >= end {
            end = range_end;
            last = Some(range);
        }
    }
    check_zeros(source, end, source.len(), reading)
}

fn check_zeros(source: Source<'_>, start: u64, end: u64, reading: &mut Reading) -> Result<(), Error> {
    let Some(gap) = source.get(start, end.saturating_sub(start)) else {
        return Ok(());
    };
    match gap.bytes().iter().position(|byte| *byte != 0) {
        None => Ok(()),
        Some(position) => reading.fault(
            Error::malformed("bytes that belong to nothing are not zero")
                .at(gap.at(position as u64))
                .expecting("0")
                .finding(format_args!(
                    "{:#04x}",
                    gap.bytes().get(position).copied().unwrap_or_default()
                )),
        ),
    }
}

/// Notes a number that is no multiple of 8.
fn check_multiple_of_8(value: u64, at: u64, what: &'static str, reading: &mut Reading) -> Result<(), Error> {
    if value.is_multiple_of(8) {
        return Ok(());
    }
    reading.fault(
        Error::malformed("not a multiple of 8")
            .at(at)
            .field(what)
            .expecting(format!("{:#x}", value.next_multiple_of(8)))
            .finding(format_args!("{value:#x}")),
    )
}
