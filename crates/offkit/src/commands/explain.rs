//! `offkit explain`: what a kernel would be made of on a device, and why.

use std::path::PathBuf;

use clap::Args;
use offkit_cache::{Cache, Why};
use offkit_object::describe_symbol;
use offkit_pi::host::Device;
use offkit_runtime::{
    ChoiceError, CollectError, CollectOptions, Collection, ExporterRule, FoundKernel, ImageId, ImageRegistry,
    KernelId, Refusal, Runtime, SelectError,
};
use serde_json::{Value, json};

use super::code;
use super::kernels::{choice_failure, collect_failure, machine_failure, read_images, tell_left_out};
use crate::failure::Failure;
use crate::terminal::{Output, Terminal, escape};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit explain app.syclbin saxpy --link library.syclbin
  offkit explain --json --device cpu app saxpy | jq .images";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Explain {
    /// The file with the kernel, or the location of an image as `offkit ls` prints it; `-` is standard input
    file: PathBuf,
    /// The kernel: its exact name, its name without the compiler's prefix, or its demangled name
    kernel: String,
    /// A file or location that may supply functions the kernel imports; may be repeated
    #[arg(long, value_name = "FILE")]
    link: Vec<PathBuf>,
    /// Which file supplies a function that several export: none, that is an error (`unique`); the first in the order
    /// of the command line (`first`); the one that calls it, or else the first (`own-first`)
    #[arg(long, value_name = "RULE", default_value_t)]
    exporter: ExporterRule,
    /// The device: its number, place (`opencl:0`), kind (`cpu`) or a part of its name; without it, the first that takes
    /// the code
    #[arg(long)]
    device: Option<String>,
    /// Write one JSON object a line, one line a device
    #[arg(long)]
    json: bool,
}

/// What one device makes of the kernel.
struct Explained<'a> {
    registry: &'a ImageRegistry,
    kernel: &'a FoundKernel,
    device: &'a Device,
    verdicts: Vec<(ImageId, Option<Refusal>)>,
    chosen: Result<KernelId, SelectError>,
    collected: Option<Result<Collection, CollectError>>,
}

pub(crate) fn run(options: &Explain, terminal: Terminal) -> Result<(), Failure> {
    let (registry, kernel) = read_images(&options.file, &options.kernel, &options.link, terminal)?;
    registry.set_exporter_rule(options.exporter);
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let devices: Vec<Device> = match options.device.as_deref() {
        Some(selector) => vec![runtime.device(Some(selector)).map_err(machine_failure)?],
        None => runtime.devices().cloned().collect(),
    };
    tell_left_out(&runtime, terminal);
    let mut output = terminal.output();
    let mut reasons = Vec::new();
    for device in &devices {
        let explained = Explained::new(&registry, &kernel, device)?;
        match options.json {
            true => output.json(SCHEMA, &explained.json()?)?,
            false => explained.print(&mut output)?,
        }
        match (explained.chosen, explained.collected) {
            (Err(reason @ (SelectError::NoneFits { .. } | SelectError::NotLinked { .. })), _) => {
                reasons.push(reason);
            }
            (Err(error), _) => {
                // What was explained so far is to be read before the error.
                output.finish()?;
                return Err(choice_failure(ChoiceError::Select(error)));
            }
            (Ok(_), Some(Err(error))) => {
                output.finish()?;
                return Err(collect_failure(error));
            }
            // The first device that takes it is where a launch would run; those behind it do not
            // matter.
            (Ok(_), _) => return output.finish(),
        }
    }
    output.finish()?;
    // A device that was named has left a reason here, or the loop has ended the command.
    // The words for why no device takes it are those of a launch.
    Err(choice_failure(match options.device {
        Some(_) => reasons.remove(0).into(),
        None => runtime.none_takes(reasons),
    }))
}

impl<'a> Explained<'a> {
    fn new(
        registry: &'a ImageRegistry,
        kernel: &'a FoundKernel,
        device: &'a Device,
    ) -> Result<Self, Failure> {
        let selection = registry.selection(kernel, device).map_err(Failure::input)?;
        let collected = selection.chosen.as_ref().ok();
        let options = CollectOptions {
            device: Some(device),
            ..CollectOptions::default()
        };
        Ok(Self {
            registry,
            kernel,
            device,
            collected: collected.map(|kernel| registry.collect_with(kernel, &options)),
            verdicts: selection.verdicts,
            chosen: selection.chosen,
        })
    }

    /// What the device says of an image.
    fn verdict(&self, image: ImageId, refusal: Option<&Refusal>) -> String {
        match refusal {
            Some(refusal) => format!("refused: {}", refusal.reason),
            None if self.is_chosen(image) => "chosen".to_owned(),
            None if self.chosen.is_err() => "taken".to_owned(),
            None => "taken, but the device likes another better".to_owned(),
        }
    }

    fn is_chosen(&self, image: ImageId) -> bool {
        matches!(&self.chosen, Ok(chosen) if chosen.image == image)
    }

    /// The images that export a symbol too, and are not chosen.
    fn others(&self, symbol: &str, exporter: ImageId) -> Vec<ImageId> {
        let mut others = self.registry.exporters(symbol);
        others.retain(|&other| other != exporter);
        others
    }

    fn place(&self, image: ImageId) -> String {
        let location = self.registry.location(image);
        location.map(|location| location.to_string()).unwrap_or_default()
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let styles = output.styles();
        let (name, faint) = (styles.name, styles.faint);
        let shown = |image| format!("{name}{}{name:#}", escape(&self.place(image)));
        let device = self.device.name().unwrap_or_default();
        output.line(format_args!(
            "kernel {} on {}",
            escape(&describe_symbol(&self.kernel.name)),
            escape(&device)
        ))?;
        output.line("images with the kernel")?;
        for (image, refusal) in &self.verdicts {
            let verdict = self.verdict(*image, refusal.as_ref());
            output.line(format_args!(
                "  {} ({}): {}",
                shown(*image),
                escape(&code(self.registry, *image)),
                escape(&verdict)
            ))?;
        }
        let Some(Ok(collection)) = &self.collected else {
            return Ok(());
        };
        if !collection.resolutions.is_empty() {
            output.line("imported symbols")?;
        }
        for resolution in &collection.resolutions {
            output.line(format_args!(
                "  {}: from {}, for {}",
                escape(&describe_symbol(&resolution.symbol)),
                shown(resolution.exporter),
                shown(resolution.importer)
            ))?;
            for other in self.others(&resolution.symbol, resolution.exporter) {
                output.line(format_args!(
                    "    {faint}not from{faint:#} {} ({}): {}",
                    shown(other),
                    escape(&code(self.registry, other)),
                    self.why_not(other, resolution.exporter)
                ))?;
            }
        }
        let places: Vec<_> = collection.images.iter().map(|&image| shown(image)).collect();
        output.line(match places.as_slice() {
            [only] => format!("the device builds {only} by itself"),
            several => format!("the device compiles and links {}", several.join(", ")),
        })?;
        match self.cached(collection)? {
            Some(Why::Hit(_)) => output.line("that was done before: the program is in the cache"),
            Some(miss) => output.line(format_args!(
                "{faint}not in the cache:{faint:#} {}",
                escape(&miss.to_string())
            )),
            None => Ok(()),
        }
    }

    /// Whether the program is kept; `None` where none is.
    fn cached(&self, collection: &Collection) -> Result<Option<Why>, Failure> {
        let key = self.registry.cache_key(collection, self.device);
        let key = key.map_err(Failure::input)?;
        Ok(key.map(|key| Cache::user().why(&key)))
    }

    /// Why another image that exports the same symbol does not count.
    fn why_not(&self, other: ImageId, exporter: ImageId) -> &'static str {
        let registry = self.registry;
        if registry.format(other) != registry.format(exporter) {
            return "another format";
        }
        match registry.target(other) == registry.target(exporter) {
            false => "for another target",
            // By this rule a second one that is not the same would have been an error.
            true if registry.exporter_rule() == ExporterRule::Unique => "the same, once more",
            true => "the other comes first",
        }
    }

    fn json(&self) -> Result<Value, Failure> {
        let images = self.verdicts.iter().map(|(image, refusal)| {
            json!({
                "location": self.place(*image),
                "format": self.registry.format(*image).map(|format| format.name()),
                "target": self.registry.target(*image).map(|target| target.to_string()),
                "chosen": self.is_chosen(*image),
                "refused": refusal.as_ref().map(|refusal| refusal.reason.to_string()),
            })
        });
        let collection = self
            .collected
            .as_ref()
            .and_then(|collected| collected.as_ref().ok());
        let symbols = collection.map(|collection| {
            let each = collection.resolutions.iter().map(|resolution| {
                let others = self.others(&resolution.symbol, resolution.exporter).into_iter();
                let others = others.map(|other| {
                    json!({
                        "location": self.place(other),
                        "refused": self.why_not(other, resolution.exporter),
                    })
                });
                json!({
                    "symbol": resolution.symbol,
                    "importer": self.place(resolution.importer),
                    "exporter": self.place(resolution.exporter),
                    "others": others.collect::<Vec<_>>(),
                })
            });
            each.collect::<Vec<_>>()
        });
        let error = self
            .collected
            .as_ref()
            .and_then(|collected| collected.as_ref().err());
        let cached = collection
            .map(|collection| self.cached(collection))
            .transpose()?
            .flatten();
        Ok(json!({
            "kernel": self.kernel.name,
            "device": self.device.name().ok(),
            "images": images.collect::<Vec<_>>(),
            "symbols": symbols,
            "build": collection.map(|collection| {
                collection.images.iter().map(|&image| self.place(image)).collect::<Vec<_>>()
            }),
            "cached": cached.map(|why| matches!(why, Why::Hit(_))),
            "error": error.map(ToString::to_string),
        }))
    }
}
