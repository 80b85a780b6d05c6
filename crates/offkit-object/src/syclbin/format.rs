//! SYCLBIN among the formats of containers.

use offkit_image::{ContainerKind, Error, Limits};

use super::check::check;
use super::has_magic;
use super::parts::parts;
use super::replace::replace;
use crate::format::{ContainerFormat, Standing};
use crate::offload_binary;
use crate::part::Visit;
use crate::reading::Reading;
use crate::source::Source;

/// A SYCLBIN, by itself or in an offload binary.
pub(crate) struct Format;

impl ContainerFormat for Format {
    fn kind(&self) -> ContainerKind {
        ContainerKind::SyclBin
    }

    fn standing(&self) -> Standing {
        Standing::Anywhere
    }

    fn is(&self, bytes: &[u8]) -> bool {
        has_magic(bytes) || bytes.starts_with(&offload_binary::MAGIC) && offload_binary::is_syclbin(bytes)
    }

    fn parts<'data>(
        &self,
        source: Source<'data>,
        reading: &mut Reading,
        visit: Visit<'_, 'data>,
    ) -> Result<(), Error> {
        parts(source, reading, visit)
    }

    fn replace(&self, source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
        replace(source, id, new, limits)
    }

    fn check(&self, source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
        check(source, reading)
    }
}
