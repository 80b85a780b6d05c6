//! One module for each verb.

pub(crate) mod convert;
pub(crate) mod extract;
pub(crate) mod filter;
pub(crate) mod limits;
pub(crate) mod link;
pub(crate) mod ls;
pub(crate) mod pack;
pub(crate) mod replace;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod verify;

use std::path::{Path, PathBuf};

use limits::LimitOptions;
use offkit_object::{Item, Limits, Location, Problem};

use crate::failure::Failure;
use crate::files::{self, Content};

/// A file that is read as a container of device code, and which part of it is meant.
struct Source {
    content: Content,
    /// The whole file, or a container or an image in it.
    place: Location,
}

impl Source {
    /// Opens a file, or the one that a location is in: `app.syclbin!0/ir/0`, as `offkit ls` shows it.
    fn open(name: &Path) -> Result<Self, Failure> {
        let (file, place) = locate(name);
        let content = files::open(&file).map_err(Failure::input)?;
        Ok(Self { content, place })
    }

    /// Goes through what is meant. Memory does not grow with the file: what was walked through is released.
    fn walk(&self, limits: &LimitOptions, visit: &mut dyn FnMut(Item<'_>)) {
        const RELEASED_TOGETHER: usize = 1 << 25;
        let limits = limits.limits();
        let goal = (!self.place.parts().is_empty()).then_some(&self.place);
        let mut released = 0;
        offkit_object::walk(self.place.file(), &self.content, goal, &limits, &mut |item| {
            let offset = match &item {
                Item::Image(image) => image.offset,
                _ => None,
            };
            visit(item);
            if let Some(offset) = offset.and_then(|offset| usize::try_from(offset).ok())
                && offset.saturating_sub(released) > RELEASED_TOGETHER
            {
                self.content.release(released..offset);
                released = offset;
            }
        });
    }

    /// All of the file.
    fn whole(self) -> Self {
        Self {
            place: Location::of_file(self.place.file()),
            ..self
        }
    }
}

/// Which file, and what in it, the name of a file or location means.
///
/// The name of a file that is there always means that file.
fn locate(name: &Path) -> (PathBuf, Location) {
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
fn concerning(place: &Location, problems: &[Problem]) -> Vec<Problem> {
    let concerns =
        |problem: &&Problem| problem.location.is_within(place) || place.is_within(&problem.location);
    problems.iter().filter(concerns).cloned().collect()
}

/// There is no image at a place; `problems` may say why.
fn nothing_in(place: &Location, problems: &[Problem]) -> Failure {
    match problems {
        [first, ..] => Failure::input(first.to_string()),
        [] => Failure::input(format!("{place}: no device code there"))
            .hint("`offkit ls` lists the device code inside files"),
    }
}

/// The limits that readers work under.
fn limits() -> Limits {
    Limits::default()
}
