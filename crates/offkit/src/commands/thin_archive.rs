//! Thin archives: their members are files of their own, beside the archive.

use std::path::Path;

use offkit_object::archive::ThinMembers;
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
/// Only what is in `goal`, or what `goal` is in, is opened.
pub(super) fn each_file(
    path: &Path,
    content: &Content,
    goal: &Location,
    limits: &Limits,
    act: &mut dyn FnMut(Result<Opened<'_>, Problem>),
) {
    let whole = Location::of_file(goal.file());
    let mut members = ThinMembers::of(path, content, whole.clone(), Some(goal), limits);
    act(Ok(Opened {
        content,
        goal: inside(&whole, goal),
        location: whole,
        is_thin: !members.is_empty(),
    }));
    while let Some(member) = members.next() {
        let file = files::open_regular(&member.path);
        act(match &file {
            Ok(content) => Ok(Opened {
                content,
                goal: inside(&member.location, goal),
                is_thin: members.enter(&member, content),
                location: member.location,
            }),
            Err(error) => Err(Problem::of_member(member.location, error)),
        });
    }
}

/// A place in the archive as one in the file that is at `member`; `None` for all of that file.
fn inside(member: &Location, place: &Location) -> Option<Location> {
    let whole = Location::of_file(place.file());
    // The first parts are those of the member's name, and lead to its file instead of into it.
    let rest = place.parts().skip(member.depth());
    let goal = rest.fold(whole, |goal, part| goal.join(part));
    (!goal.is_file()).then_some(goal)
}
