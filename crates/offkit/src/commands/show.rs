//! `offkit show`: everything about an image.

mod kernel_ir;

use super::filter::{Filter, Selection};
use super::limits::LimitOptions;
use clap::Args;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::PathBuf;

use offkit_object::{
    Container, Contradiction, Detail, DetailValue, DeviceImage, Inspect, Inspection, Item, Storage, Symbols,
    Target, contradiction, target_of,
};
use offkit_runtime::Signatures;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use self::kernel_ir::KernelIr;
use super::Source;
use super::ls::describe::{kernel_line, properties_lines};
use super::ls::json::{Row, hex};
use crate::failure::Failure;
use crate::terminal::{Output, Styles, Terminal, escape, size};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit show app.o!.llvm.offloading/0
  offkit show --json --format cubin libkernels.so
  offkit show --kernel-ir --kernel saxpy app.syclbin";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Show {
    /// Locations of images as `offkit ls` prints them, `FILE!0/ir/0`; a file means all of its images
    #[arg(required = true, value_name = "LOCATION")]
    locations: Vec<PathBuf>,
    /// Do not demangle names
    #[arg(long)]
    mangled: bool,
    /// Write one JSON object a line, one line an image
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    kernel_ir: KernelIr,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    limits: LimitOptions,
}

/// The width of the names of facts.
const TITLE_WIDTH: usize = 24;
/// The width of the names of facts about kernels.
const DETAIL_WIDTH: usize = 26;

pub(crate) fn run(options: &Show, terminal: Terminal) -> Result<(), Failure> {
    let mut selection = Selection::new(&options.filter);
    for place in &options.locations {
        let source = Source::open(place)?;
        let mut output = terminal.output();
        let mut containers: Vec<Container> = Vec::new();
        let mut problems = Vec::new();
        let (mut met, mut shown) = (0_usize, 0_usize);
        let mut result = Ok(());
        let progress = terminal.progress();
        progress.step(format!("reading {}", source.path.display()));
        source.walk(&options.limits, &mut |item| match item {
            Item::Container(container) => {
                containers.retain(|outer| container.location.is_within(&outer.location));
                containers.push(container.clone());
            }
            Item::Image(image) => {
                met += 1;
                progress.images(&source.path, met);
                // The walk cannot be stopped from here: after a failure the rest is met in silence.
                if !selection.takes(image) || result.is_err() {
                    return;
                }
                // The walk does not say where a container ends.
                containers.retain(|outer| image.location.is_within(&outer.location));
                if options.kernel_ir.is_wanted() {
                    let gap = if shown > 0 && !options.json {
                        output.line("")
                    } else {
                        Ok(())
                    };
                    let kernel = options.filter.kernel();
                    result =
                        gap.and_then(|()| options.kernel_ir.show(image, kernel, options.json, &mut output));
                    shown += 1;
                    return;
                }
                let view = View::new(image, &containers, options);
                result = if options.json {
                    output.json(SCHEMA, &view.json())
                } else {
                    let gap = if shown > 0 { output.line("") } else { Ok(()) };
                    gap.and_then(|()| view.print(&mut output))
                };
                shown += 1;
            }
            Item::Problem(problem) => problems.push(problem.clone()),
            _ => {}
        });
        drop(progress);
        if result.is_err() {
            output.finish()?;
            return result;
        }
        if met == 0 {
            return Err(super::nothing_in(&source.place, &problems));
        }
        for problem in &problems {
            if options.json {
                output.json(SCHEMA, &super::problem_json(problem))?;
            }
        }
        output.finish()?;
        selection.warn(&problems, terminal);
    }
    selection.check()
}

/// An image and all that is known about it.
struct View<'a> {
    image: &'a DeviceImage<'a>,
    containers: &'a [Container],
    symbols: Symbols,
    signatures: Signatures,
    inspection: &'a Inspection,
    contradiction: Option<Contradiction>,
    mangled: bool,
}

impl<'a> View<'a> {
    fn new(image: &'a DeviceImage<'a>, containers: &'a [Container], options: &Show) -> Self {
        let limits = options.limits.limits();
        let inspection = image.inspect(&limits);
        Self {
            image,
            containers,
            symbols: image.symbols(&limits),
            signatures: Signatures::of(image),
            inspection,
            // Code that cannot be unpacked is among the inspection's problems.
            contradiction: contradiction(image).unwrap_or_default(),
            mangled: options.mangled,
        }
    }

    fn json(&self) -> Value {
        let mut value = json!(Row::new(self.image, true));
        let inspection = self.inspection;
        let kernels = inspection
            .kernels
            .iter()
            .map(|kernel| json!({ "name": kernel.name, "details": details_json(&kernel.details) }));
        let containers = self.containers.iter().map(|container| {
            json!({
                "location": container.location.to_string(),
                "kind": container.kind.name(),
                "version": container.version,
                "size": container.size,
            })
        });
        let strings = self.image.strings.iter().map(|(key, value)| {
            let value = String::from_utf8_lossy(value).into_owned();
            (key.to_owned(), Value::from(value))
        });
        let problems = inspection.problems.iter().map(ToString::to_string);
        let target = |target: &Target| json!({ "triple": target.triple.as_str(), "arch": target.arch_with_features() });
        let contradiction = self.contradiction.as_ref();
        let contradiction = contradiction
            .map(|found| json!({ "container": target(&found.container), "code": target(&found.code) }));
        let more = json!({
            "contradiction": contradiction,
            "containers": containers.collect::<Vec<_>>(),
            "strings": strings.collect::<Map<_, _>>(),
            "signatures": self.signatures(),
            "inspection": {
                "version": inspection.version,
                "producer": inspection.producer,
                "triple": inspection.target.triple.as_str(),
                "arch": inspection.target.arch_with_features(),
                "kernels": kernels.collect::<Vec<_>>(),
                "imports": inspection.imports,
                "exports": inspection.exports,
                "details": details_json(&inspection.details),
                "problems": problems.collect::<Vec<_>>(),
            },
        });
        if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
            value.extend(more);
        }
        value
    }

    /// Every kernel with the types of its arguments, where the image has them.
    fn signatures(&self) -> Vec<String> {
        let kernels = self.symbols.kernels.iter();
        kernels
            .filter_map(|name| self.signatures.kernel(name))
            .map(offkit_spirv::Kernel::signature)
            .collect()
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let Styles { heading, faint, .. } = output.styles();
        let location = self.image.location.to_string();
        output.line(format_args!("{heading}{}{heading:#}", escape(&location)))?;
        for (title, value) in self.facts() {
            let value = escape(&value);
            output.line(format_args!("  {faint}{title:TITLE_WIDTH$}{faint:#} {value}"))?;
        }
        for problem in &self.inspection.problems {
            let problem = problem.to_string();
            output.line(format_args!(
                "  {faint}{:TITLE_WIDTH$}{faint:#} {}",
                "problem",
                escape(&problem)
            ))?;
        }
        let styles = output.styles();
        for line in properties_lines(&self.image.properties, styles) {
            output.line(format_args!("  {line}"))?;
        }
        // Backwards, so that of several with one name the first counts.
        let kernels = self.inspection.kernels.iter().rev();
        let details: HashMap<&str, &[Detail]> = kernels
            .map(|kernel| (kernel.name.as_str(), kernel.details.as_slice()))
            .collect();
        for kernel in &self.symbols.kernels {
            let details = details.get(kernel.as_str()).copied().unwrap_or_default();
            self.print_kernel(kernel, details, output)?;
        }
        for (title, names) in [
            ("imports", &self.symbols.imports),
            ("exports", &self.symbols.exports),
        ] {
            for name in names {
                output.line(format_args!("  {faint}{title}{faint:#}  {}", self.shown(name)))?;
            }
        }
        Ok(())
    }

    /// What is said about the image as a whole, as title and value.
    fn facts(&self) -> Vec<(Cow<'_, str>, String)> {
        let (image, inspection) = (self.image, self.inspection);
        let mut facts: Vec<(Cow<'_, str>, String)> = Vec::new();
        for container in self.containers {
            let version = container.version.map(|version| format!(" v{version}"));
            let state = container.program.as_ref();
            let state = state.map(|program| format!(", {} state", program.state));
            let text = format!(
                "{}{}{}, {}",
                container.kind,
                version.unwrap_or_default(),
                state.unwrap_or_default(),
                size(container.size)
            );
            // A sequence of one bundle is as large as that, and says nothing more.
            if facts.last().is_none_or(|(_, last)| *last != text) {
                facts.push(("in".into(), text));
            }
        }
        let version = inspection.version.as_ref().map(|version| format!(" {version}"));
        facts.push((
            "format".into(),
            format!("{}{}", image.format, version.unwrap_or_default()),
        ));
        let own = &inspection.target;
        let target = target_of(image);
        facts.push(("target".into(), target.to_string()));
        // What the code says is told only where it is something else, and anything at all.
        if *own != *target && *own != Target::default() {
            facts.push(("target in the code".into(), own.to_string()));
        }
        if let Some(found) = &self.contradiction {
            facts.push(("target in the container".into(), found.container.to_string()));
        }
        if let Some(language) = super::filter::producer_name(image.producer) {
            facts.push(("made for".into(), language.to_owned()));
        }
        facts.extend(
            inspection
                .producer
                .iter()
                .map(|producer| ("written by".into(), producer.clone())),
        );
        let bytes = image.size();
        facts.push(("size".into(), format!("{} ({bytes} bytes)", size(bytes))));
        if let Storage::Compressed(method) = image.storage() {
            let bytes = image.stored_bytes().len();
            facts.push((
                "stored".into(),
                format!("{method}, {} ({bytes} bytes)", size(bytes as u64)),
            ));
        }
        facts.extend(
            image
                .offset
                .map(|offset| ("offset".into(), format!("{offset:#x}"))),
        );
        facts.push((
            "SHA-256 as stored".into(),
            hex(&Sha256::digest(image.stored_bytes())),
        ));
        for (key, value) in image.strings.iter() {
            let value = String::from_utf8_lossy(value).into_owned();
            facts.push((format!("string {}", escape(key)).into(), value));
        }
        let details = inspection.details.iter();
        facts.extend(details.map(|detail| (detail.name.as_ref().into(), detail.value.to_string())));
        facts
    }

    fn print_kernel(&self, name: &str, details: &[Detail], output: &mut Output) -> Result<(), Failure> {
        let Styles { faint, .. } = output.styles();
        let line = kernel_line(&self.signatures, name, self.mangled, output.styles());
        output.line(format_args!("  {line}"))?;
        for detail in details {
            let value = detail.value.to_string();
            output.line(format_args!(
                "      {faint}{:DETAIL_WIDTH$}{faint:#} {}",
                detail.name,
                escape(&value)
            ))?;
        }
        Ok(())
    }

    fn shown(&self, name: &str) -> String {
        super::shown_name(name, self.mangled)
    }
}

/// Facts by name; of those that repeat, a list.
fn details_json(details: &[Detail]) -> Value {
    let mut map = Map::new();
    for detail in details {
        let value = match &detail.value {
            DetailValue::Number(number) => Value::from(*number),
            DetailValue::Text(text) => Value::from(text.as_str()),
        };
        match map.get_mut(detail.name.as_ref()) {
            Some(Value::Array(values)) => values.push(value),
            Some(first) => *first = Value::from(vec![first.take(), value]),
            None => _ = map.insert(detail.name.to_string(), value),
        }
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_repeat_become_a_list() {
        let detail = |name: &'static str, value: DetailValue| Detail {
            name: name.into(),
            value,
        };
        let details = [
            detail("registers", 32_u64.into()),
            detail("member", "a".into()),
            detail("member", "b".into()),
            detail("member", "c".into()),
        ];
        let expected = json!({ "registers": 32, "member": ["a", "b", "c"] });
        assert_eq!(details_json(&details), expected);
    }
}
