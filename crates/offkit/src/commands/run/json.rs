//! What a launch came to, as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use offkit_pi::NdRange;
use offkit_pi::host::Device;
use offkit_runtime::{Argument, Collection, ImageRegistry};
use serde_json::{Value, json};

use super::Run;
use super::arguments::{ArraySource, TypedArgument};
use super::buffers::Arguments;
use super::outputs::{Checked, Outputs};
use crate::array::{Array, ElementType};
use crate::commands::devices::kind;
use crate::commands::ls::json::Row;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

/// As many values of an array are told.
const FIRST: usize = 8;

/// A launch that was done.
pub(super) struct Launch<'a> {
    pub(super) options: &'a Run,
    pub(super) registry: &'a ImageRegistry,
    pub(super) collection: &'a Collection,
    pub(super) device: &'a Device,
    pub(super) range: &'a NdRange,
    pub(super) arguments: &'a Arguments,
    pub(super) outputs: &'a Outputs<'a>,
    pub(super) results: &'a BTreeMap<usize, Array>,
    pub(super) checks: &'a [Checked<'a>],
    pub(super) steps: &'a [(&'static str, Duration)],
    /// What the device's compiler has to say.
    pub(super) log: &'a str,
}

impl Launch<'_> {
    pub(super) fn show(&self, terminal: Terminal) -> Result<(), Failure> {
        let mut images = Vec::new();
        for &image in &self.collection.images {
            let image = self.registry.image(image).map_err(Failure::input)?;
            images.push(json!(Row::new(&image, false)));
        }
        let given = self.options.arguments.iter().zip(&self.arguments.0).enumerate();
        let arguments = given.map(|(index, (typed, argument))| argument_json(index, typed, argument));
        let outputs = self.outputs.written().map(|(index, path)| {
            let array = &self.results[&index];
            let mut output = array_json(array);
            output["argument"] = index.into();
            output["path"] = path.display().to_string().into();
            output
        });
        let checks = self.checks.iter().map(|check| {
            json!({
                "argument": check.argument,
                "path": check.path.display().to_string(),
                "elements": check.elements,
                "agrees": check.difference.is_none(),
                "difference": check.difference,
            })
        });
        let steps = self
            .steps
            .iter()
            .map(|(name, time)| json!({ "step": name, "seconds": time.as_secs_f64() }));
        let seconds: f64 = self.steps.iter().map(|(_, time)| time.as_secs_f64()).sum();
        let NdRange {
            dimensions,
            offset,
            global,
            local,
        } = self.range;
        let sizes = |sizes: &[usize; 3]| sizes[..*dimensions as usize].to_vec();
        let said = json!({
            "kernel": self.collection.kernel.name,
            "images": images,
            "device": {
                "name": self.device.name().ok(),
                "kind": kind(self.device),
                "driver_version": self.device.driver_version().ok(),
                "plugin": self.device.plugin().name(),
            },
            "global": sizes(global),
            "local": local.as_ref().map(sizes),
            "offset": sizes(offset),
            "arguments": arguments.collect::<Vec<_>>(),
            "outputs": outputs.collect::<Vec<_>>(),
            "checks": checks.collect::<Vec<_>>(),
            "tolerance": self.options.tolerance,
            "launches": self.options.repeat,
            "steps": steps.collect::<Vec<_>>(),
            "log": self.log.lines().collect::<Vec<_>>(),
            "total": { "seconds": seconds },
        });
        terminal.json(SCHEMA, &said)
    }
}

/// An argument as it was given.
fn argument_json(index: usize, typed: &TypedArgument, argument: &Argument<Array>) -> Value {
    let (kind, mut said) = match argument {
        Argument::Buffer { memory, .. } => ("buffer", array_json(memory)),
        Argument::Value { bytes, .. } => {
            let numbers = typed
                .element
                .map(|element| numbers(element, bytes, typed.components));
            let element = typed.element.map(|element| element.to_string());
            let said = json!({ "type": element, "shape": null, "size": bytes.len(), "first": numbers });
            ("value", said)
        }
        Argument::Local(size) => {
            let said = json!({ "type": null, "shape": null, "size": size, "first": null });
            ("local", said)
        }
        // A command line has no other.
        _ => ("other", json!({})),
    };
    let file = match &typed.given {
        Argument::Buffer {
            memory: ArraySource::File(path),
            ..
        } => Some(path.display().to_string()),
        _ => None,
    };
    said["argument"] = index.into();
    said["kind"] = kind.into();
    said["file"] = file.into();
    said
}

/// An array, with its first values.
fn array_json(array: &Array) -> Value {
    json!({
        "type": array.element.to_string(),
        "shape": array.shape,
        "size": array.data.len(),
        "first": numbers(array.element, &array.data, FIRST),
    })
}

/// The first numbers among the bytes; null for what JSON has no number for.
fn numbers(element: ElementType, bytes: &[u8], most: usize) -> Vec<Value> {
    let each = bytes.chunks_exact(element.size()).take(most);
    each.map(|bytes| number(element, bytes)).collect()
}

/// A number as JSON has it: integers are exact.
fn number(element: ElementType, bytes: &[u8]) -> Value {
    let ElementType::Int { signed, .. } = element else {
        return element.decode(bytes).into();
    };
    // Not by way of `decode`, whose `f64` is not exact beyond 2^53.
    let is_negative = signed && bytes.last().is_some_and(|last| last >> 7 == 1);
    let mut word = [if is_negative { 0xff } else { 0 }; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    match signed {
        true => i64::from_le_bytes(word).into(),
        false => u64::from_le_bytes(word).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact() {
        let json = |kind: &str, text: &str| {
            let element: ElementType = kind.parse().unwrap();
            number(element, &element.encode(text).unwrap()).to_string()
        };
        assert_eq!(json("i64", "-9223372036854775807"), "-9223372036854775807");
        assert_eq!(json("u64", "18446744073709551615"), "18446744073709551615");
        assert_eq!(json("i8", "-1"), "-1");
        assert_eq!(json("u8", "255"), "255");
        assert_eq!(json("f16", "1.5"), "1.5");
        assert_eq!(json("f32", "inf"), "null");
    }
}
