//! `offkit ls`: what device code is inside files.

use std::path::Path;

use offkit_object::property_set::{PropertySets, PropertyValue};
use offkit_object::{BundleState, ContainerKind, Contents, DeviceImage, ImageFormat, Producer, demangle};
use offkit_runtime::Description;
use serde_json::{Map, Value, json};

use super::Source;
use crate::cli::Ls;
use crate::failure::Failure;
use crate::terminal::{FAINT, HEADING, NAME, Terminal, escape, size};

/// How many names of one kind a tree shows.
const NAMES_SHOWN: usize = 8;

pub(crate) fn run(options: &Ls, terminal: Terminal) -> Result<(), Failure> {
    let mut failed = 0;
    for path in &options.files {
        match list(options, terminal, path) {
            Ok(whole) => failed += usize::from(!whole),
            // The others are listed all the same.
            Err(failure) if options.files.len() > 1 => {
                terminal.failure(&failure);
                failed += 1;
            }
            Err(failure) => return Err(failure),
        }
    }
    match failed {
        0 => Ok(()),
        1 => Err(Failure::input("a file could not be read as a whole")),
        several => Err(Failure::input(format!(
            "{several} files could not be read as a whole"
        ))),
    }
}

/// Lists one file; whether all of it could be read.
fn list(options: &Ls, terminal: Terminal, path: &Path) -> Result<bool, Failure> {
    let source = Source::open(path)?;
    let name = source.place.file();
    let mut contents = offkit_object::read(name, &source.content, &super::limits());
    contents
        .images
        .retain(|image| image.location.is_within(&source.place));
    let problems = super::concerning(&source.place, &contents.problems);
    if contents.images.is_empty() && !source.place.parts().is_empty() {
        return Err(super::nothing_in(&source.place, &problems));
    }
    if options.json {
        for image in &contents.images {
            terminal.line(json_line(name, &contents, image))?;
        }
        for problem in &problems {
            terminal.line(json!({ "file": name, "problem": problem.to_string() }))?;
        }
    } else {
        tree(options, terminal, name, source.content.len(), &contents)?;
    }
    for problem in &problems {
        terminal.warning(problem);
    }
    Ok(problems.is_empty())
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

fn tree(
    options: &Ls,
    terminal: Terminal,
    file: &str,
    bytes: usize,
    contents: &Contents<'_>,
) -> Result<(), Failure> {
    let file = escape(file);
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
    ))?;
    if options.properties {
        properties_tree("│   ", terminal, &contents.properties)?;
    }
    let place = |image: &DeviceImage<'_>| match image.location.parts() {
        [] => "(the file itself)".to_owned(),
        parts => escape(&parts.join("/")).into_owned(),
    };
    let target = |image: &DeviceImage<'_>| escape(&image.target.to_string()).into_owned();
    let width = |text: &dyn Fn(&DeviceImage<'_>) -> String| {
        contents
            .images
            .iter()
            .map(|image| text(image).chars().count())
            .max()
            .unwrap_or(0)
    };
    let place_width = width(&place);
    let format_width = width(&|image| image.format.to_string());
    let target_width = width(&target);
    let size_width = width(&|image| size(image.bytes.len() as u64));

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
            target(image),
            size(image.bytes.len() as u64),
        ))?;
        let below = format!("{below}    ");
        if options.kernels {
            kernels_tree(&below, options, terminal, &description)?;
        } else {
            names(&below, "kernels", &description.kernels, options, terminal)?;
        }
        names(&below, "imports", &description.imports, options, terminal)?;
        names(&below, "exports", &description.exports, options, terminal)?;
        if options.properties {
            properties_tree(&below, terminal, &image.properties)?;
        }
    }
    Ok(())
}

/// Every kernel on a line of its own, with its arguments where the image tells.
fn kernels_tree(
    indent: &str,
    options: &Ls,
    terminal: Terminal,
    description: &Description,
) -> Result<(), Failure> {
    for name in &description.kernels {
        let shown = shown(name, options);
        let signature = description.kernel(name).map(offkit_runtime::signature);
        let arguments = signature
            .as_deref()
            .and_then(|signature| signature.strip_prefix(name.as_str()))
            .map(escape)
            .unwrap_or_default();
        // A demangled name may have arguments of its own, as the source has them.
        let space = if shown.ends_with(')') { " " } else { "" };
        terminal.line(format_args!(
            "{FAINT}{indent}kernel{FAINT:#}   {shown}{space}{arguments}"
        ))?;
    }
    Ok(())
}

fn names(
    indent: &str,
    title: &str,
    names: &[String],
    options: &Ls,
    terminal: Terminal,
) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
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
    ))
}

fn shown(name: &str, options: &Ls) -> String {
    let name = if options.mangled {
        name.to_owned()
    } else {
        demangle(name)
    };
    escape(&name).into_owned()
}

fn properties_tree(indent: &str, terminal: Terminal, sets: &PropertySets) -> Result<(), Failure> {
    for (name, set) in sets.iter() {
        let name = escape(name);
        terminal.line(format_args!("{FAINT}{indent}[{name}]{FAINT:#}"))?;
        for (key, value) in set.iter() {
            let (key, value) = (escape(key), property_text(value));
            terminal.line(format_args!("{indent}  {key} = {}", escape(&value)))?;
        }
    }
    Ok(())
}
