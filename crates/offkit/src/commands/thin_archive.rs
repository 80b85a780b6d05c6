//! Thin archives: their members are files of their own, beside the archive.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use offkit_object::archive::thin_members;
use offkit_object::{Limits, Location, Problem};

use offkit_host::files::{self, Content};

/// A file that was opened, and where it is: a member of a thin archive is at a place in the archive.
pub(super) struct Opened<'a> {
    pub(super) content: &'a Content,
    pub(super) location: Location,
    /// The place in the file that is meant; `None` for all of it.
    pub(super) goal: Option<Location>,
    pub(super) is_thin: bool,
}

/// Hands over a file, and if it is a thin archive the files that it names, and those that these name.
///
/// Only what is in `goal`, or what `goal` is in, is opened. A file that is named twice comes once, so that a small
/// archive cannot make much work.
pub(super) fn each_file(
    path: &Path,
    content: &Content,
    goal: &Location,
    limits: &Limits,
    act: &mut dyn FnMut(Result<Opened<'_>, Problem>),
) {
    let mut opener = Opener {
        goal,
        limits,
        met: path.canonicalize().into_iter().collect(),
        act,
    };
    opener.hand_over(path, content, Location::of_file(goal.file()), 0);
}

struct Opener<'a> {
    goal: &'a Location,
    limits: &'a Limits,
    /// The files that came already.
    met: HashSet<PathBuf>,
    act: &'a mut dyn FnMut(Result<Opened<'_>, Problem>),
}

impl Opener<'_> {
    fn hand_over(&mut self, path: &Path, content: &Content, location: Location, depth: usize) {
        let members = members(path, content, &location, self.limits);
        (self.act)(Ok(Opened {
            content,
            goal: inside(&location, self.goal),
            location,
            is_thin: !members.is_empty(),
        }));
        if depth > self.limits.max_nesting {
            return;
        }
        for (path, place) in members {
            if !self.goal.is_within(&place) && !place.is_within(self.goal) {
                continue;
            }
            if path.canonicalize().is_ok_and(|path| !self.met.insert(path)) {
                continue;
            }
            match files::open_regular(&path) {
                Ok(content) => self.hand_over(&path, &content, place, depth + 1),
                Err(error) => (self.act)(Err(Problem::of_member(place, &error))),
            }
        }
    }
}

/// A place in the archive as one in the file that is at `member`; `None` for all of that file.
fn inside(member: &Location, place: &Location) -> Option<Location> {
    let whole = Location::of_file(place.file());
    let rest = place.parts().skip(member.depth());
    let goal = rest.fold(whole, |goal, part| goal.join(part));
    (!goal.is_file()).then_some(goal)
}

/// The files that a thin archive names, and their places in it, with a part for each folder; none for any other
/// file.
pub(super) fn members(
    archive: &Path,
    content: &Content,
    location: &Location,
    limits: &Limits,
) -> Vec<(PathBuf, Location)> {
    let folder = archive.parent().unwrap_or_else(|| Path::new(""));
    // What is wrong with an archive is said by those who read it.
    let names = thin_members(content, limits).unwrap_or_default();
    let members = names
        .iter()
        .map(|name| (folder.join(name), location.join_member(name)));
    members.collect()
}
