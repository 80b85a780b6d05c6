//! What a format of containers does; each implements it in its own module, and [`container`](crate::container) has
//! the list of all.

use offkit_image::{ContainerKind, Error, Limits};

use crate::compression::inflate;
use crate::part::{Coding, Visit};
use crate::reading::Reading;
use crate::source::Source;

/// A format of containers.
pub(crate) trait ContainerFormat: Sync {
    /// The kind of its containers.
    fn kind(&self) -> ContainerKind;

    /// Where its first bytes count.
    fn standing(&self) -> Standing;

    /// Whether the first bytes are those of such a container.
    fn is(&self, bytes: &[u8]) -> bool;

    /// Hands over every part in the order of the file, and notes faults in `reading`. What is inside of the parts is
    /// for others to know.
    ///
    /// An error means that the container as a whole could not be read; whatever was visited before stays.
    fn parts<'data>(
        &self,
        source: Source<'data>,
        reading: &mut Reading,
        visit: Visit<'_, 'data>,
    ) -> Result<(), Error>;

    /// The container with another part `id`, and nothing else changed. For a compressed part, `new` is not compressed.
    fn replace(&self, source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error>;

    /// A container of this kind that is stored compressed; no more than `most` bytes.
    fn inflate(&self, stored: Source<'_>, coding: Coding, most: u64) -> Result<Vec<u8>, Error> {
        inflate(coding.compression, stored.bytes(), coding.size, most)
    }

    /// The version in the header, where one version goes for all parts.
    fn version(&self, _bytes: &[u8]) -> Option<u32> {
        None
    }

    /// Notes what breaks rules of the format that readers need not insist on.
    fn check(&self, _source: Source<'_>, _reading: &mut Reading) -> Result<(), Error> {
        Ok(())
    }
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
