//! Offload binaries among the formats of containers.

use std::borrow::Cow;

use offkit_image::{ContainerKind, Error, Limits};

use super::check::check;
use super::parts::parts;
use super::replace::replace;
use super::{MAGIC, inflated};
use crate::format::{ContainerFormat, Standing};
use crate::part::{Coding, Visit};
use crate::reading::Reading;
use crate::source::Source;

/// One or several offload binaries, but not a SYCLBIN in one.
pub(crate) struct Format;

impl ContainerFormat for Format {
    fn kind(&self) -> ContainerKind {
        ContainerKind::OffloadBinary
    }

    fn standing(&self) -> Standing {
        Standing::Anywhere
    }

    fn is(&self, bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
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

    /// The header is not compressed, and says how the rest is.
    fn inflate(&self, stored: Source<'_>, _coding: Coding, most: u64) -> Result<Vec<u8>, Error> {
        inflated(stored, most).map(Cow::into_owned)
    }

    fn version(&self, bytes: &[u8]) -> Option<u32> {
        let field = bytes.get(4..)?.first_chunk()?;
        Some(u32::from_le_bytes(*field))
    }

    fn check(&self, source: Source<'_>, reading: &mut Reading) -> Result<(), Error> {
        check(source, reading)
    }
}
