//! Bundles among the formats of containers.

use offkit_image::ContainerKind;

use super::check::check;
use super::is_text;
use super::parts::{has_magic, parts, single_parts, text_parts};
use super::replace::{replace, replace_single, replace_text};
use crate::format::{ContainerFormat, Standing};

/// Bundles one after the other, compressed or not.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::Bundle,
    is: has_magic,
    parts,
    replace,
    check,
    ..ContainerFormat::USUAL
};

/// One of these, decompressed.
pub(crate) static SINGLE_FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::SingleBundle,
    standing: Standing::Named,
    is: has_magic,
    parts: single_parts,
    replace: replace_single,
    ..ContainerFormat::USUAL
};

/// A bundle in text form.
pub(crate) static TEXT_FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::TextBundle,
    standing: Standing::File,
    is: is_text,
    parts: text_parts,
    replace: replace_text,
    ..ContainerFormat::USUAL
};
