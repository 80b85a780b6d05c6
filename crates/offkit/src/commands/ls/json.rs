//! One JSON object a line, one line an image.

use std::collections::BTreeMap;

use offkit_object::property_set::{PropertySets, PropertyValue};
use offkit_object::{ContainerKind, DeviceImage, Inspect, Limits, Location, Symbols, target_of};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::commands::filter::{format_name, producer_name};

/// Everything about an image, with its keys in alphabetical order as in all JSON of this program.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    arch: Option<String>,
    compression: Option<&'static str>,
    container: &'static str,
    entries: Option<&'a [String]>,
    exports: Vec<String>,
    file: &'a str,
    format: &'static str,
    imports: Vec<String>,
    kernels: Vec<String>,
    #[serde(serialize_with = "as_text")]
    location: &'a Location,
    offset: Option<u64>,
    producer: Option<&'static str>,
    properties: Properties<'a>,
    sha256: Option<String>,
    size: u64,
    stored_size: Option<u64>,
    triple: Option<String>,
    version: Option<u32>,
}

impl<'a> Row<'a> {
    /// The row of an image; with `hash`, the hash of its stored bytes too.
    pub(crate) fn new(image: &'a DeviceImage<'_>, hash: bool) -> Self {
        Self::of(image, image, hash)
    }

    /// The same with what `code` says, which is the image with its bytes at hand.
    pub(crate) fn of(image: &'a DeviceImage<'_>, code: &DeviceImage<'_>, hash: bool) -> Self {
        let Symbols {
            kernels,
            imports,
            exports,
        } = code.symbols(&Limits::default());
        let target = target_of(code);
        let arch = target.arch_with_features();
        Self {
            arch: (!arch.is_empty()).then_some(arch),
            compression: image.compression().map(|method| method.name()),
            container: container_name(image.container),
            entries: image.entries.as_deref(),
            exports,
            file: image.location.file(),
            format: format_name(image.format),
            imports,
            kernels,
            location: &image.location,
            offset: image.offset,
            producer: producer_name(image.producer),
            properties: Properties(&image.properties),
            sha256: hash.then(|| hex(&Sha256::digest(image.stored_bytes()))),
            size: image.size(),
            stored_size: image.stored_size(),
            triple: (!target.triple.is_empty()).then(|| target.triple.to_string()),
            version: image.container_version,
        }
    }
}

fn as_text<S: Serializer>(location: &Location, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(location)
}

/// The name of a container of images in JSON.
pub(crate) fn container_name(kind: ContainerKind) -> &'static str {
    match kind {
        ContainerKind::OffloadBinary => "offload-binary",
        ContainerKind::SyclBin => "syclbin",
        ContainerKind::Bundle | ContainerKind::SingleBundle | ContainerKind::TextBundle => "bundle",
        ContainerKind::Fatbin => "fatbin",
        ContainerKind::SyclWrapped => "sycl-wrapped",
        ContainerKind::Kpack => "kpack",
        ContainerKind::Hcf => "hcf",
        _ => "none",
    }
}

/// Sets of properties: numbers as numbers, bytes as text where they are text, else in hexadecimal.
pub(crate) struct Properties<'a>(pub(crate) &'a PropertySets);

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Sorted, as all keys of JSON are here. Files may have them in another order, which is kept
        // where people read them.
        let sets = self.0.iter().map(|(name, set)| {
            let properties = set.iter().map(|(key, value)| (key, Property(value)));
            (name, properties.collect::<BTreeMap<_, _>>())
        });
        sets.collect::<BTreeMap<_, _>>().serialize(serializer)
    }
}

struct Property<'a>(&'a PropertyValue);

impl Serialize for Property<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.0;
        match (value.as_u32(), value.as_str()) {
            (Some(number), _) => serializer.serialize_u32(number),
            (None, Some(text)) if is_readable(text) => serializer.serialize_str(text),
            _ => serializer.serialize_str(&hex(value.as_bytes().unwrap_or_default())),
        }
    }
}

/// Whether bytes are text that can be shown.
pub(super) fn is_readable(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
