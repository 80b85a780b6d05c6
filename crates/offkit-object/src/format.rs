//! What a format of containers is; each describes itself in its own module, and [`container`](crate::container) has
//! the list of all.

use offkit_image::{ContainerKind, Error, Limits};

use crate::chunks::Chunks;
use crate::compression::inflate;
use crate::edits::{Edited, Edits};
use crate::part::{Coding, Visit};
use crate::reading::Reading;
use crate::source::Source;
use crate::unpacked::VisitUnpacked;

/// Takes the container, the part's identifier and its new bytes.
type Replace = for<'data> fn(Source<'data>, usize, &Chunks<'data>, &Limits) -> Result<Chunks<'data>, Error>;

/// Hands over the files in a container that are worth looking into.
type Unpack = fn(Source<'_>, &mut Reading, VisitUnpacked<'_>) -> Result<(), Error>;

/// Takes the container and what becomes of its parts.
type Edit = for<'data> fn(Source<'data>, &Edits<'_, 'data>, &Limits) -> Result<Edited<'data>, Error>;

/// A format of containers: what it is called, and the functions that know it.
pub(crate) struct ContainerFormat {
    /// The kind of its containers.
    pub(crate) kind: ContainerKind,
    /// Where its first bytes count.
    pub(crate) standing: Standing,
    /// Whether the first bytes are those of such a container.
    pub(crate) is: fn(&[u8]) -> bool,
    /// Hands over every part in the order of the file, and notes faults. What is inside of the parts is for others to
    /// know.
    ///
    /// An error means that the container as a whole could not be read; whatever was visited before stays.
    pub(crate) parts: for<'data> fn(Source<'data>, &mut Reading, Visit<'_, 'data>) -> Result<(), Error>,
    /// The same as `parts` for a container that can only be unpacked from front to back; there are no parts then.
    pub(crate) unpack: Option<Unpack>,
    /// The container with another part, and nothing else changed. The bytes of a compressed part are given as they are
    /// without compression.
    pub(crate) replace: Replace,
    /// The container without some parts, or with some that became smaller, and nothing else changed.
    pub(crate) edit: Edit,
    /// A container of this kind that is stored compressed; no more than so many bytes.
    pub(crate) inflate: fn(Source<'_>, Coding, u64) -> Result<Vec<u8>, Error>,
    /// The version in the header, where one version goes for all parts.
    pub(crate) version: fn(&[u8]) -> Option<u32>,
    /// Notes what breaks rules of the format that readers need not insist on.
    pub(crate) check: fn(Source<'_>, &mut Reading) -> Result<(), Error>,
}

impl ContainerFormat {
    /// What most formats are: compressed as a whole if at all, of several versions, without further rules.
    pub(crate) const USUAL: Self = Self {
        kind: ContainerKind::Unknown,
        standing: Standing::Anywhere,
        is: |_| false,
        parts: |_, _, _| Ok(()),
        unpack: None,
        replace: |_, _, _, _| Err(Error::unsupported("parts of this container cannot be replaced")),
        edit: |_, _, _| Err(Error::unsupported("no image can be left out of this container")),
        inflate: |stored, coding, most| inflate(coding.compression, stored.bytes(), coding.size, most),
        version: |_| None,
        check: |_, _| Ok(()),
    };
}

/// Where a container may stand and is known by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// Wherever an image may stand, too.
    Anywhere,
    /// As a file only: as an image it is host code, and is not looked into.
    File,
    /// Only where another container says that it is there.
    Named,
}
