//! `offkit ls`: what device code is inside files.

use offkit_object::property_set::{PropertySets, PropertyValue};
use offkit_object::{BundleState, ContainerKind, Contents, DeviceImage, ImageFormat, Producer, demangle};
use offkit_runtime::Description;
use serde_json::{Map, Value, json};

use crate::cli::Ls;
use crate::failure::Failure;
use crate::terminal::{FAINT, HEADING, NAME, Terminal, size};

/// How many names of one kind a tree shows.
const NAMES_SHOWN: usize = 8;

pub(crate) fn run(options: &Ls, terminal: Terminal) -> Result<(), Failure> {
    let mut damaged = 0;
    for path in &options.files {
        let content = super::open(path)?;
        let name = path.display().to_string();
        let contents = offkit_object::read(&name, &content, &super::limits());
        if options.json {
            for image in &contents.images {
                terminal.line(json_line(&name, &contents, image));
            }
            for problem in &contents.problems {
                terminal.line(json!({ "file": name, "problem": problem.to_string() }));
            }
        } else {
            tree(options, terminal, &name, content.len(), &contents);
        }
        super::warn(terminal, &contents.problems);
        damaged += usize::from(!contents.problems.is_empty());
    }
    match damaged {
        0 => Ok(()),
        1 => Err(Failure::input("a file could not be read as a whole")),
        several => Err(Failure::input(format!(
            "{several} files could not be read as a whole"
        ))),
    }
}

fn json_line(file: &str, contents: &Contents<'_>, image: &DeviceImage<'_>) -> Value {
    let description = Description::of(image);
    let text = |text: &str| if text.is_empty() { Value::Null } else { text.into() };
    let container = match contents.container {
        ContainerKind::OffloadBinary => "offload-binary",
        ContainerKind::SyclBin => "syclbin",
        _ => "none",
    };
    let producer = match image.producer {
        Producer::None => Value::Null,
        producer => producer.name().into(),
    };
    json!({
        "file": file,
        "location": image.location.to_string(),
        "container": container,
        "version": contents.version,
        "format": format_name(image.format),
        "producer": producer,
        "triple": text(&image.target.triple),
        "arch": text(&image.target.arch_with_features()),
        "offset": image.offset,
        "size": image.bytes.len(),
        "stored_size": image.bytes.len(),
        "compression": Value::Null,
        "kernels": description.kernels,
        "entries": Value::Null,
        "imports": description.imports,
        "exports": description.exports,
        "properties": properties_json(&image.properties),
        "sha256": Value::Null,
    })
}

fn format_name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Spirv => "spirv",
        ImageFormat::Bitcode => "bitcode",
        ImageFormat::Ptx => "ptx",
        ImageFormat::Cubin => "cubin",
        ImageFormat::Amdgpu => "amdgpu",
        ImageFormat::Zebin => "zebin",
        ImageFormat::Elf => "elf",
        ImageFormat::Archive => "archive",
        _ => "unknown",
    }
}

/// Sets of properties: numbers as numbers, bytes as text where they are text, else in hexadecimal.
fn properties_json(sets: &PropertySets) -> Value {
    let sets = sets.iter().map(|(name, set)| {
        let properties = set
            .iter()
            .map(|(key, value)| (key.to_owned(), property_json(value)));
        (name.to_owned(), Value::Object(properties.collect()))
    });
    Value::Object(sets.collect::<Map<_, _>>())
}

fn property_json(value: &PropertyValue) -> Value {
    match (value.as_u32(), value.as_str()) {
        (Some(number), _) => number.into(),
        (None, Some(text)) if is_readable(text) => text.into(),
        _ => hex(value.as_bytes().unwrap_or_default()).into(),
    }
}

fn property_text(value: &PropertyValue) -> String {
    match (value.as_u32(), value.as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(text)) if is_readable(text) => format!("\"{text}\""),
        _ => match value.as_bytes().unwrap_or_default() {
            [] => "no bytes".to_owned(),
            bytes => format!("0x{}", hex(bytes)),
        },
    }
}

fn is_readable(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(char::is_control)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tree(options: &Ls, terminal: Terminal, file: &str, bytes: usize, contents: &Contents<'_>) {
    let version = contents
        .version
        .map(|version| format!(" v{version}"))
        .unwrap_or_default();
    let state = contents
        .state
        .map(|state: BundleState| format!(", {state} state"))
        .unwrap_or_default();
    terminal.line(format_args!(
        "{HEADING}{file}{HEADING:#}  {FAINT}{}{version}{state}, {}{FAINT:#}",
        contents.container,
        size(bytes as u64)
    ));
    if options.properties {
        properties_tree("│   ", terminal, &contents.properties);
    }
    let place = |image: &DeviceImage<'_>| match image.location.parts() {
        [] => "(the file itself)".to_owned(),
        parts => parts.join("/"),
    };
    let width = |text: fn(&DeviceImage<'_>) -> String| {
        contents
            .images
            .iter()
            .map(|image| text(image).chars().count())
            .max()
            .unwrap_or(0)
    };
    let place_width = contents
        .images
        .iter()
        .map(|image| place(image).chars().count())
        .max()
        .unwrap_or(0);
    let format_width = width(|image| image.format.to_string());
    let target_width = width(|image| image.target.to_string());
    let size_width = width(|image| size(image.bytes.len() as u64));

    for (number, image) in contents.images.iter().enumerate() {
        let description = Description::of(image);
        let last = number + 1 == contents.images.len();
        let (branch, below) = if last {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        };
        terminal.line(format_args!(
            "{FAINT}{branch}{FAINT:#}{NAME}{:place_width$}{NAME:#}  {:format_width$}  {:target_width$}  {:>size_width$}",
            place(image),
            image.format.to_string(),
            image.target.to_string(),
            size(image.bytes.len() as u64),
        ));
        let below = format!("{below}    ");
        if options.kernels {
            kernels_tree(&below, options, terminal, &description);
        } else {
            names(&below, "kernels", &description.kernels, options, terminal);
        }
        names(&below, "imports", &description.imports, options, terminal);
        names(&below, "exports", &description.exports, options, terminal);
        if options.properties {
            properties_tree(&below, terminal, &image.properties);
        }
    }
}

/// Every kernel on a line of its own, with its arguments where the image tells.
fn kernels_tree(indent: &str, options: &Ls, terminal: Terminal, description: &Description) {
    for name in &description.kernels {
        let text = description
            .kernel(name)
            .map_or_else(|| shown(name, options), offkit_runtime::signature);
        terminal.line(format_args!("{FAINT}{indent}kernel{FAINT:#}   {text}"));
    }
}

fn names(indent: &str, title: &str, names: &[String], options: &Ls, terminal: Terminal) {
    if names.is_empty() {
        return;
    }
    let shown: Vec<_> = names
        .iter()
        .take(NAMES_SHOWN)
        .map(|name| shown(name, options))
        .collect();
    let more = match names.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    terminal.line(format_args!(
        "{FAINT}{indent}{title}{FAINT:#}  {}{FAINT}{more}{FAINT:#}",
        shown.join(", ")
    ));
}

fn shown(name: &str, options: &Ls) -> String {
    if options.mangled {
        name.to_owned()
    } else {
        demangle(name)
    }
}

fn properties_tree(indent: &str, terminal: Terminal, sets: &PropertySets) {
    for (name, set) in sets.iter() {
        terminal.line(format_args!("{FAINT}{indent}[{name}]{FAINT:#}"));
        for (key, value) in set.iter() {
            terminal.line(format_args!("{indent}  {key} = {}", property_text(value)));
        }
    }
}
