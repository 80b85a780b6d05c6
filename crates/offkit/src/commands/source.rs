//! What a command is given: a file, or a place in one, and the way through all that is in it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use offkit_object::archive::ThinMembers;
use offkit_object::{DeviceImage, ErrorKind, Item, Limits, Location, Problem, range_within};

use super::filter::Selection;
use super::limits::LimitOptions;
use super::mapped::Mapped;
use super::thin_archive::{self, Opened};
use crate::failure::Failure;
use offkit_host::files::{self, Content};

/// A file that is read as a container of device code, and which part of it is meant.
pub(super) struct Source {
    pub(super) content: Content,
    /// The whole file, or a container or an image in it.
    pub(super) place: Location,
    /// The file, which may be another than was typed: `app.so!` means `app.so`.
    pub(super) path: PathBuf,
}

impl Source {
    /// Opens a file, or the one that a location is in: `app.syclbin!0/ir/0`, as `offkit ls` shows it.
    pub(super) fn open(name: &Path) -> Result<Self, Failure> {
        let (path, place) = locate(name);
        let content = files::open(&path).map_err(Failure::input)?;
        Ok(Self { content, place, path })
    }

    /// Tells the system that bytes of the file, if they are any, are not needed in memory for now.
    pub(super) fn passed(&self, bytes: &[u8]) {
        if let Some(range) = range_within(&self.content, bytes) {
            self.content.release(range);
        }
    }

    /// Goes through what is meant, and through the files that a thin archive names.
    ///
    /// Memory does not grow with the file: what was walked through is released. Items are lent, for moving one costs
    /// much of the time that very many small images take.
    pub(super) fn walk(&self, limits: &LimitOptions, visit: &mut dyn FnMut(&mut Item<'_>)) {
        self.walk_at(&self.place, limits, visit);
    }

    /// The same for another place in the file.
    pub(super) fn walk_at(
        &self,
        place: &Location,
        limits: &LimitOptions,
        visit: &mut dyn FnMut(&mut Item<'_>),
    ) {
        let mut limits = limits.limits();
        // What was found by searching is there for those who search.
        limits.scan |= place.parts().any(|part| part == "scan");
        thin_archive::each_file(
            &self.path,
            &self.content,
            place,
            &limits,
            &mut |file| match file {
                Ok(file) => walk(&file, &limits, visit),
                Err(problem) => visit(&mut Item::Problem(problem)),
            },
        );
    }

    /// Hands over the images that are selected and returns the problems on the way; fails where there are no images.
    pub(super) fn each_image(
        &self,
        selection: &mut Selection<'_>,
        limits: &LimitOptions,
        visit: &mut dyn FnMut(&DeviceImage<'_>),
    ) -> Result<Vec<Problem>, Failure> {
        self.each_image_and_host(selection, limits, &mut |item| {
            if let Item::Image(image) = item {
                visit(image);
            }
        })
    }

    /// The same with the containers on the way, the host's code among them, where the filter leaves nothing out.
    pub(super) fn each_image_and_host(
        &self,
        selection: &mut Selection<'_>,
        limits: &LimitOptions,
        visit: &mut dyn FnMut(&Item<'_>),
    ) -> Result<Vec<Problem>, Failure> {
        let mut problems = Vec::new();
        let mut is_empty = true;
        self.walk(limits, &mut |item| match item {
            Item::Image(image) => {
                is_empty = false;
                if selection.takes(image) {
                    visit(item);
                }
            }
            Item::Problem(problem) => problems.push(problem.clone()),
            _ if selection.takes_all() => visit(item),
            _ => {}
        });
        match is_empty {
            true => Err(super::nothing_in(&self.place, &problems)),
            false => Ok(problems),
        }
    }

    /// Every broken rule of what is meant, of what it is in, and of the files that a thin archive names.
    pub(super) fn verify(&self, limits: &LimitOptions) -> Vec<Problem> {
        let limits = limits.limits();
        let mut problems = Vec::new();
        thin_archive::each_file(
            &self.path,
            &self.content,
            &self.place,
            &limits,
            &mut |file| match file {
                Ok(file) => {
                    // By the archive's name: problems of a member are moved to its place there.
                    let found = offkit_object::verify(self.place.file(), file.content, &limits);
                    let concerns = |mut problem| file.place_problem(&mut problem).then_some(problem);
                    problems.extend(found.into_iter().filter_map(concerns));
                }
                Err(problem) => problems.push(problem),
            },
        );
        concerning(&self.place, &problems)
    }

    /// The file that is the member of a thin archive in which a location is, and where in it that is.
    pub(super) fn member_at(&self, location: &Location) -> Option<(PathBuf, String)> {
        let whole = Location::of_file(location.file());
        let limits = super::limits();
        let member = ThinMembers::of(&self.path, &self.content, whole, None, &limits)
            .find(|member| location.is_within(&member.location))?;
        let whole = Location::of_file(member.path.to_string_lossy());
        let rest = location.parts().skip(member.location.depth());
        let place = rest.fold(whole, |place, part| place.join(part));
        Some((member.path, place.to_string()))
    }

    /// All of the file.
    pub(super) fn whole(self) -> Self {
        Self {
            place: Location::of_file(self.place.file()),
            ..self
        }
    }
}

/// Goes through one file.
fn walk(file: &Opened<'_>, limits: &Limits, visit: &mut dyn FnMut(&mut Item<'_>)) {
    let _ = offkit_object::walk_sparing(
        &Mapped(file.content),
        file.location.file(),
        file.content,
        file.goal.as_ref(),
        limits,
        &mut |item| {
            if file.concerns(item) {
                visit(item);
            }
            ControlFlow::Continue(())
        },
    );
}

impl Opened<'_> {
    /// Moves what a walk through this file meets to its place in the archive that names the file; `false` for a
    /// problem that is none there.
    fn concerns(&self, item: &mut Item<'_>) -> bool {
        // In nearly all files every place is right as it is, and there may be very many.
        if self.location.is_file() && !self.is_thin {
            return true;
        }
        match item {
            Item::Problem(problem) => return self.place_problem(problem),
            Item::Container(container) => container.location = self.place(&container.location),
            Item::Image(image) => {
                image.location = self.place(&image.location);
                if !self.location.is_file() {
                    // It would be one of another file.
                    image.offset = None;
                }
            }
            _ => {}
        }
        true
    }

    fn place_problem(&self, problem: &mut Problem) -> bool {
        let is_about_the_file = problem.location.is_file();
        let is_member = !self.location.is_file();
        match problem.error.kind() {
            // That the members are files of their own is known, for they follow.
            ErrorKind::Unsupported if is_about_the_file && self.is_thin => return false,
            // In archives, most files are something else.
            ErrorKind::NotRecognized if is_about_the_file && is_member => return false,
            _ => {}
        }
        problem.location = self.place(&problem.location);
        true
    }

    /// A place in this file as one in the archive that names the file.
    fn place(&self, inside: &Location) -> Location {
        self.location.join_inside(inside)
    }
}

/// Which file, and what in it, the name of a file or location means.
///
/// The name of a file that is there always means that file.
pub(super) fn locate(name: &Path) -> (PathBuf, Location) {
    if !name.exists()
        && let Some(Ok(place)) = name.to_str().map(str::parse::<Location>)
        && let file = Path::new(place.file())
        && (files::is_standard_stream(file) || file.exists())
    {
        return (file.to_owned(), place);
    }
    (name.to_owned(), Location::of_file(name.display().to_string()))
}

/// Those problems that concern a place: what is in it, and what it is in.
pub(super) fn concerning(place: &Location, problems: &[Problem]) -> Vec<Problem> {
    let concerns =
        |problem: &&Problem| problem.location.is_within(place) || place.is_within(&problem.location);
    problems.iter().filter(concerns).cloned().collect()
}
