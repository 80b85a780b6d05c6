//! The entries of offload binaries as parts of a container.

use super::{Found, ImageKind, OffloadEntry, read_all, read_one};
use crate::container::ContainerKind;
use crate::error::Error;
use crate::format::ImageFormat;
use crate::image::Target;
use crate::limits::{Limits, Reading};
use crate::part::{Content, Facts, Part, Visit};
use crate::source::Source;
use crate::syclbin;

/// Hands over the entries of all binaries, numbered across them; a SYCLBIN of several entries counts as one.
pub(crate) fn parts<'data>(
    source: Source<'data>,
    reading: &mut Reading,
    visit: Visit<'_, 'data>,
) -> Result<(), Error> {
    let mut number = 0_usize;
    for found in read_all(source, reading)? {
        if found.version >= 2 && found.is_syclbin() {
            let content = Content::Container(ContainerKind::SyclBin);
            visit(reading, Part::new(number, number.into(), found.source, content));
            number = number.saturating_add(1);
            continue;
        }
        for entry in &found.binary.entries {
            if !entry.is_metadata_only() {
                let kernels = kernels_of(entry, reading);
                let content = if entry.image_kind == ImageKind::Syclbin {
                    Content::Container(ContainerKind::SyclBin)
                } else {
                    Content::Entry
                };
                let stored = found.source.locate(entry.image);
                let mut part = Part::new(number, number.into(), stored, content);
                part.facts = facts(entry, found.version, kernels);
                visit(reading, part);
            }
            number = number.saturating_add(1);
        }
    }
    Ok(())
}

/// Whether the bytes are one offload binary which, as a whole, is a SYCLBIN.
pub(crate) fn is_syclbin(bytes: &[u8]) -> bool {
    if !bytes.starts_with(&super::MAGIC) {
        return false;
    }
    let source = Source::new(bytes);
    let Ok(found) = read_one(source, &mut Reading::tolerant(&Limits::default())) else {
        return false;
    };
    found.is_syclbin()
        && source
            .from(found.source.len())
            .bytes()
            .iter()
            .all(|byte| *byte == 0)
}

impl Found<'_> {
    /// Whether the binary as a whole is a SYCLBIN.
    fn is_syclbin(&self) -> bool {
        let first = self.binary.entries.first();
        first.is_some_and(|entry| entry.image_kind == ImageKind::Syclbin || syclbin::has_magic(entry.image))
    }
}

/// The names of kernels that `clang-sycl-linker` of LLVM 22 stores in a string `symbols`, one a line.
fn kernels_of(entry: &OffloadEntry<'_>, reading: &mut Reading) -> Vec<String> {
    let names = entry.strings.get("symbols").unwrap_or_default().lines();
    match reading.count_properties(names.clone().count()) {
        Ok(()) => names.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        Err(error) => {
            // Only a strict reading ends here, and a walk is none.
            let _ = reading.fault(error);
            Vec::new()
        }
    }
}

fn facts<'data>(entry: &OffloadEntry<'data>, version: u32, kernels: Vec<String>) -> Facts<'data> {
    let text = |key| entry.strings.get(key).unwrap_or_default();
    Facts {
        version: Some(version),
        claim: ImageFormat::claimed_by(entry.image_kind),
        target: Target::new(text("triple"), text("arch")),
        producer: entry.offload_kind.producer(entry.image_kind),
        kernels,
        strings: entry.strings.without(&["triple", "arch"]),
        ..Facts::default()
    }
}

/// The container with the bytes of the part `id` replaced by `new`, and nothing else changed.
pub(crate) fn replace(source: Source<'_>, id: usize, new: &[u8], limits: &Limits) -> Result<Vec<u8>, Error> {
    let _ = (source, id, new, limits);
    Err(Error::unsupported("not written yet"))
}
