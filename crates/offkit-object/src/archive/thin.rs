//! The files that thin archives name.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use offkit_image::{Limits, Location};

use super::members;
use super::read::THIN_MAGIC;

/// A file that a thin archive names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThinMember {
    /// Where the file is: names count from the folder of the archive.
    pub path: PathBuf,
    /// Its place in the archive, with a part for each folder.
    pub location: Location,
    /// How many archives it is in.
    depth: usize,
}

/// The files that a thin archive names, in order. Whoever opens one [enters](Self::enter) it, and what it names comes
/// next if it is a thin archive too.
///
/// A file that is named twice comes once, so that a small archive cannot make much work. Archives that are damaged or
/// too deep name none: who reads them is told what is wrong.
#[derive(Debug)]
pub struct ThinMembers<'a> {
    goal: Option<&'a Location>,
    limits: &'a Limits,
    /// What is still to come, last first.
    waiting: Vec<ThinMember>,
    met: HashSet<PathBuf>,
}

impl<'a> ThinMembers<'a> {
    /// Those of the archive at `path` with these bytes; none for any other file. `location` is what places begin with.
    /// With a `goal`, only files that are in it, or that it is in.
    #[must_use]
    pub fn of(
        path: &Path,
        bytes: &[u8],
        location: Location,
        goal: Option<&'a Location>,
        limits: &'a Limits,
    ) -> Self {
        let mut members = Self {
            goal,
            limits,
            waiting: Vec::new(),
            // The archive itself as well, so that one which names itself is not read again.
            met: path.canonicalize().into_iter().collect(),
        };
        let archive = ThinMember {
            path: path.to_owned(),
            location,
            depth: 0,
        };
        members.enter(&archive, bytes);
        members
    }

    /// Whether no file is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds the files that a member with these bytes names; whether it is a thin archive that names any.
    pub fn enter(&mut self, member: &ThinMember, bytes: &[u8]) -> bool {
        if !bytes.starts_with(THIN_MAGIC) || member.depth > self.limits.max_nesting {
            return false;
        }
        let named = members(bytes, self.limits).unwrap_or_default();
        let folder = member.path.parent().unwrap_or_else(|| Path::new(""));
        // In reverse, as the next member is taken from the end.
        self.waiting.extend(named.iter().rev().map(|named| {
            let name = String::from_utf8_lossy(named.name);
            ThinMember {
                path: folder.join(&*name),
                location: member.location.join_member(&name),
                depth: member.depth.saturating_add(1),
            }
        }));
        !named.is_empty()
    }
}

impl Iterator for ThinMembers<'_> {
    type Item = ThinMember;

    fn next(&mut self) -> Option<ThinMember> {
        loop {
            let member = self.waiting.pop()?;
            let is_wanted = self
                .goal
                .is_none_or(|goal| goal.is_within(&member.location) || member.location.is_within(goal));
            // By what a name leads to: links and `..` give one file many names.
            // A file that is not there is new: who opens it says so.
            if is_wanted
                && member
                    .path
                    .canonicalize()
                    .map_or(true, |path| self.met.insert(path))
            {
                return Some(member);
            }
        }
    }
}
