//! One JSON object a line, one line an image.

use offkit_object::property_set::{PropertySets, PropertyValue};
use offkit_object::{ContainerKind, DeviceImage, Inspect, Limits};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::commands::filter::{format_name, producer_name};

/// Everything about an image; with `hash`, the hash of its stored bytes too.
pub(crate) fn image(image: &DeviceImage<'_>, hash: bool) -> Value {
    let names = image.symbols(&Limits::default());
    let text = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
    json!({
        "file": image.location.file(),
        "location": image.location.to_string(),
        "container": container_name(image.container),
        "version": image.container_version,
        "format": format_name(image.format),
        "producer": producer_name(image.producer),
        "triple": text(&image.target.triple),
        "arch": text(&image.target.arch_with_features()),
        "offset": image.offset,
        "size": image.size(),
        "stored_size": image.stored_size(),
        "compression": image.compression().map(|method| method.name()),
        "kernels": names.kernels,
        "entries": image.entries,
        "imports": names.imports,
        "exports": names.exports,
        "properties": properties(&image.properties),
        "sha256": hash.then(|| hex(&Sha256::digest(image.stored_bytes()))),
    })
}

fn container_name(kind: ContainerKind) -> &'static str {
    match kind {
        ContainerKind::OffloadBinary => "offload-binary",
        ContainerKind::SyclBin => "syclbin",
        ContainerKind::Bundle | ContainerKind::SingleBundle | ContainerKind::TextBundle => "bundle",
        ContainerKind::Fatbin => "fatbin",
        ContainerKind::SyclWrapped => "sycl-wrapped",
        _ => "none",
    }
}

/// Sets of properties: numbers as numbers, bytes as text where they are text, else in hexadecimal.
pub(crate) fn properties(sets: &PropertySets) -> Value {
    let sets = sets.iter().map(|(name, set)| {
        let properties = set.iter().map(|(key, value)| (key.to_owned(), property(value)));
        (name.to_owned(), Value::Object(properties.collect()))
    });
    Value::Object(sets.collect::<Map<_, _>>())
}

fn property(value: &PropertyValue) -> Value {
    match (value.as_u32(), value.as_str()) {
        (Some(number), _) => number.into(),
        (None, Some(text)) if is_readable(text) => text.into(),
        _ => hex(value.as_bytes().unwrap_or_default()).into(),
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
