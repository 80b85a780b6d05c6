//! `offkit devlib query`: which devices files have code for.

use std::path::PathBuf;

use clap::Args;
use offkit_devlib::DeviceType;
use offkit_object::Item;
use serde_json::json;

use crate::commands::filter::{Filter, Selection, format_name, producer_name};
use crate::commands::limits::LimitOptions;
use crate::commands::{shown_name, source::Source};
use crate::failure::Failure;
use crate::terminal::{FAINT, NAME, Terminal, escape, size};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit devlib query libm.a
  offkit devlib query --long --symbols app.o
  offkit devlib query --json --arch gfx90a lib.a |
      jq -r '.exports[]'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Query {
    /// Objects, archives, libraries, or locations in them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one line a device type: its target, language, number of images and their size
    #[arg(short, long)]
    long: bool,
    /// Also print symbols: kernels, exports and imports
    #[arg(short, long)]
    symbols: bool,
    /// Do not demangle names
    #[arg(long)]
    mangled: bool,
    /// Write one JSON object a line, one line a device type
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    limits: LimitOptions,
}

pub(super) fn run(options: &Query, terminal: Terminal) -> Result<(), Failure> {
    let mut selection = Selection::new(&options.filter);
    for file in &options.files {
        let source = Source::open(file)?;
        let mut types: Vec<DeviceType> = Vec::new();
        let problems =
            source.each_image_and_host(&mut selection, &options.limits, &mut |item| match item {
                Item::Image(image) => DeviceType::add(&mut types, image, options.symbols),
                Item::Container(container) => DeviceType::add_host(&mut types, container),
                _ => {}
            })?;
        let name = source.place.to_string();
        let name = Some(name.as_str()).filter(|_| options.files.len() > 1);
        match (options.json, options.long || options.symbols) {
            (true, _) => {
                for device in &types {
                    let line = json(&source.place.to_string(), device, options.symbols);
                    terminal.json(SCHEMA, &line)?;
                }
            }
            (false, true) => long(name, &types, options, terminal)?,
            (false, false) => {
                let mut names: Vec<&str> = Vec::new();
                for device in &types {
                    if !names.contains(&device.name.as_str()) {
                        names.push(&device.name);
                    }
                }
                let names = names.join(", ");
                let names = escape(&names);
                match name {
                    _ if names.is_empty() => {}
                    Some(name) => terminal.line(format_args!("{}: {names}", escape(name)))?,
                    None => terminal.line(format_args!("{names}"))?,
                }
            }
        }
        selection.warn(&problems, terminal);
    }
    selection.check()
}

fn long(
    name: Option<&str>,
    types: &[DeviceType],
    options: &Query,
    terminal: Terminal,
) -> Result<(), Failure> {
    if let Some(name) = name {
        terminal.line(format_args!("{}:", escape(name)))?;
    }
    let shown: Vec<_> = types.iter().map(|device| escape(&device.name)).collect();
    let width = shown.iter().map(|name| name.len()).max().unwrap_or(0);
    for (device, name) in types.iter().zip(&shown) {
        let language = producer_name(device.producer).unwrap_or("-");
        let images = device.images;
        terminal.line(format_args!(
            "{NAME}{name:width$}{NAME:#}  {}  {}  {language}  {images} image{}, {}",
            escape(&device.target.to_string()),
            device.format.name(),
            if images == 1 { "" } else { "s" },
            size(device.bytes)
        ))?;
        for (title, names) in [
            ("kernels", &device.kernels),
            ("exports", &device.exports),
            ("imports", &device.imports),
        ] {
            for symbol in names {
                let shown = shown_name(symbol, options.mangled);
                terminal.line(format_args!("    {FAINT}{title}{FAINT:#}  {shown}"))?;
            }
        }
    }
    Ok(())
}

fn json(file: &str, device: &DeviceType, symbols: bool) -> serde_json::Value {
    let mut line = json!({
        "file": file,
        "type": device.name,
        "triple": device.target.triple.as_str(),
        "arch": device.target.arch_with_features(),
        "format": format_name(device.format),
        "producer": producer_name(device.producer),
        "images": device.images,
        "size": device.bytes,
    });
    if symbols {
        line["kernels"] = device.kernels.clone().into();
        line["exports"] = device.exports.clone().into();
        line["imports"] = device.imports.clone().into();
    }
    line
}
