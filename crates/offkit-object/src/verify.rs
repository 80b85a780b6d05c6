//! Every rule of every format, also those that readers need not insist on.

use std::ops::ControlFlow;

use offkit_image::{DeviceImage, Error, ImageFormat, Limits, Location, Problem, Storage};

use crate::claim::check_format;
use crate::container;
use crate::format::ContainerFormat;
use crate::heads::Heads;
use crate::inspect::problems_of;
use crate::part::Content;
use crate::reading::Reading;
use crate::source::Source;
use crate::stored_target::{Contradiction, contradiction};
use crate::walk::{Item, walk};

/// Everything wrong with a file: what [`read`](crate::read) reports, and what it passes over because the content can
/// be read nevertheless.
///
/// That is, of an offload binary: sizes and places that are no multiples of 8, bytes that belong to nothing and are
/// not zero, parts that overlap, keys that occur twice, flags without a meaning. Of a SYCLBIN: the same for its
/// tables, images that no module has, and contents that its state does not allow. Of a bundle: a wrong hash, IDs that
/// occur twice, images that overlap. Of an image itself, that it can be decompressed, that its own tables hold together,
/// and its format and target, which the container must not contradict.
///
/// ```
/// use offkit_object::{ImageKind, Limits, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};
///
/// let entry = OffloadEntry::new(ImageKind::NONE, OffloadKind::HIP, b"image");
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
                let found = check_image(&image).into_iter().chain(check_code(&image, limits));
                problems.extend(found.map(problem));
            }
            Item::Container(_) => {}
        }
        match problems.len() < limits.max_problems {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    problems.truncate(limits.max_problems);
    // A second pass, as a walk tells of containers and lends nobody their bytes.
    let mut checker = Checker { limits, problems };
    let mut reading = Reading::tolerant(limits).for_file_of(bytes.len() as u64);
    checker.open(
        Source::new(bytes),
        Content::File,
        &Location::of_file(file_name),
        &mut reading,
        0,
    );
    checker.problems
}

/// Compares what a container says of an image with its bytes, where reading took the container's word for it.
fn check_image(image: &DeviceImage<'_>) -> Vec<Error> {
    let target = contradiction(image).map(|found| {
        found.map(|Contradiction { container, code }| {
            Error::malformed("image is for another target than its container says")
                .at(image.offset.unwrap_or_default())
                .expecting(container.to_string())
                .finding(code)
        })
    });
    let target = match target {
        Ok(target) => target,
        Err(error) => return vec![error],
    };
    let format = match (image.storage(), image.bytes()) {
        (Storage::Compressed(_), Ok(bytes)) => {
            check_format(ImageFormat::detect(bytes), Some(image.format), image.offset)
        }
        _ => None,
    };
    format.into_iter().chain(target).collect()
}

/// What is wrong with the code itself: it is cut off, say.
fn check_code(image: &DeviceImage<'_>, limits: &Limits) -> Vec<Error> {
    let Ok(bytes) = image.bytes() else {
        return Vec::new();
    };
    // Offsets are those in the image; where it is stored as it is, they become those in the file.
    let base = image.offset.filter(|_| image.storage() == Storage::Plain);
    let place = |error: Error| match (base, error.offset()) {
        (Some(base), Some(offset)) => error.at(base.saturating_add(offset)),
        _ => error,
    };
    // Where the bytes say nothing, the container's word is no reason to read them as what they may not be.
    let problems = problems_of(bytes, ImageFormat::detect(bytes), limits);
    problems.into_iter().map(place).collect()
}

struct Checker<'l> {
    limits: &'l Limits,
    /// At first those that the walk has found.
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
        let Some(format) = container::format_of(content, source.bytes()) else {
            return;
        };
        // Reading has said what is nested too deep, and what is too much.
        if depth > self.limits.max_nesting || reading.is_exhausted() {
            return;
        }
        // Each container is checked by itself, so that those that share their bytes must not be free, as in the walk.
        if reading.count_entered(source.len()).is_err() {
            return;
        }
        self.check(format, source, location);
        if self.problems.len() >= self.limits.max_problems {
            return reading.stop();
        }
        if let Some(unpack) = format.unpack {
            let _ = unpack(source, reading, &mut |reading, file| {
                let place = location.join_name(&file.name);
                if container::looks_like_device_code(file.head)
                    && let Ok(bytes) = file.read()
                {
                    reading.allow_content(bytes.len() as u64);
                    let depth = depth.saturating_add(1);
                    self.open(Source::new(&bytes), Content::File, &place, reading, depth);
                }
            });
            let _ = reading.take_problems();
            return;
        }
        let mut heads = Heads::default();
        // Opened one by one: very many with long names would not fit into memory together.
        let _ = (format.parts)(source, reading, &mut |reading, part| {
            if reading.is_exhausted() || !heads.are_of_interest(&part) {
                return;
            }
            let place = location.join_name(&part.name);
            // An image follows no container's rules: the walk has unpacked it to look into it. It counts as it does there,
            // which is what ends a container that says one long name again and again.
            if part.content == Content::Image {
                let _ = reading.count_metadata(place.cost());
                return;
            }
            let depth = depth.saturating_add(1);
            let Some(coding) = part.coding else {
                return self.open(part.stored, part.content, &place, reading, depth);
            };
            if let Ok(bytes) = container::inflated(&part, coding, reading.inflation_left(), &|_| {}) {
                let size = bytes.len() as u64;
                reading.count_inflated(size);
                reading.allow_content(size);
                self.open(Source::new(&bytes), part.content, &place, reading, depth);
            }
        });
        // The walk has reported these already.
        let _ = reading.take_problems();
    }

    fn check(&mut self, format: &ContainerFormat, source: Source<'_>, location: &Location) {
        let mut reading = Reading::tolerant(self.limits).for_file_of(source.len());
        let result = (format.check)(source, &mut reading);
        let faults = reading.take_problems().into_iter().chain(result.err());
        for error in faults {
            let problem = Problem::new(location.clone(), error);
            // What reading finds is not said again, whoever finds it.
            if self.problems.len() < self.limits.max_problems && !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }
}
