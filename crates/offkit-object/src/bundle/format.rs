//! Bundles among the formats of containers.

use offkit_image::{ContainerKind, Error, Limits};

use super::check::check;
use super::is_text;
use super::parts::{has_magic, parts, single_parts, text_parts};
use super::replace::{replace, replace_single, replace_text};
use crate::format::{ContainerFormat, Standing};
use crate::part::Visit;
use crate::reading::Reading;
use crate::source::Source;

/// Bundles one after the other, compressed or not.
pub(crate) struct Format;

impl ContainerFormat for Format {
    fn kind(&self) -> ContainerKind {
        ContainerKind::Bundle
    }

    fn standing(&self) -> Standing {
        Standing::Anywhere
    }

    fn is(&self, bytes: &[u8]) -> bool {
        has_magic(bytes)
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

/// One of these, decompressed.
pub(crate) struct SingleFormat;

impl ContainerFormat for SingleFormat {
    fn kind(&self) -> ContainerKind {
        ContainerKind::SingleBundle
    }

    fn standing(&self) -> Standing {
        Standing::Named
    }

    fn is(&self, bytes: &[u8]) -> bool {
        has_magic(bytes)
    }

    fn parts<'data>(
        &self,
        source: Source<'data>,
        reading: &mut Reading,
        visit: Visit<'_, 'data>,
    ) -> Result<(), Error> {
        single_parts(source, reading, visit)
    }

    fn replace(&self, source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
        replace_single(source, id, new, limits)
    }
}

/// A bundle in text form.
pub(crate) struct TextFormat;

impl ContainerFormat for TextFormat {
    fn kind(&self) -> ContainerKind {
        ContainerKind::TextBundle
    }

    fn standing(&self) -> Standing {
        Standing::File
    }

    fn is(&self, bytes: &[u8]) -> bool {
        is_text(bytes)
    }

    fn parts<'data>(
        &self,
        source: Source<'data>,
        reading: &mut Reading,
        visit: Visit<'_, 'data>,
    ) -> Result<(), Error> {
        text_parts(source, reading, visit)
    }

    fn replace(&self, source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
        replace_text(source, id, new, limits)
    }
}
