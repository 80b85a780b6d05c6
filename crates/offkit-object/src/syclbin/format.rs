//! SYCLBIN among the formats of containers.

use offkit_image::ContainerKind;

use super::check::check;
use super::has_magic;
use super::parts::parts;
use super::replace::replace;
use crate::chunks::Chunks;
use crate::format::ContainerFormat;
use crate::offload_binary;

/// A SYCLBIN, by itself or in an offload binary.
pub(crate) static FORMAT: ContainerFormat = ContainerFormat {
    kind: ContainerKind::SyclBin,
    is: |bytes| {
        has_magic(bytes) || bytes.starts_with(&offload_binary::MAGIC) && offload_binary::is_syclbin(bytes)
    },
    parts,
    replace: |source, id, new, limits| replace(source, id, &new.joined(), limits).map(Chunks::from),
    check,
    ..ContainerFormat::USUAL
};
