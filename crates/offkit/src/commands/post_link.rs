//! `offkit post-link`: a device module split into images, with what a runtime needs to know about each.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use offkit_link::post_link::{
    ExportArrangement, PlanOptions, PostLink, PostLinkError, PostLinkedImage, SplitMode, SymbolRules,
};
use offkit_llvm::{SpecializationConstantMode, Worker};
use offkit_object::property_set;
use serde_json::{Value, json};

use super::ls::describe::properties_lines;
use super::ls::json::Properties;
use super::module_source::module_source;
use crate::commands::{link, shown_name};
use crate::failure::Failure;
use crate::terminal::{Output, Styles, Terminal, escape, size};
use offkit_host::files;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit post-link app.bc    # what the images would be
  offkit post-link app.bc -o images --split kernel
  offkit post-link app.bc -o images --json |
      jq -r '.file, .exports[]'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PostLinkArguments {
    /// The module: bitcode or LLVM's text form; `-` is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The folder for images (`NAME_0.bc`) and property sets (`NAME_0.prop`); without it, offkit writes nothing
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// How to split the code into images: `auto` or `source`, `kernel`, `none`
    #[arg(long, value_name = "MODE", default_value = "auto")]
    split: SplitMode,
    /// Where exported functions go: `grouped` with the kernels of their source file, or `apart` in images of their own,
    /// with copies for kernels
    #[arg(long, value_name = "ARRANGEMENT", default_value = "apart")]
    exports: ExportArrangement,
    /// Make images of kernels only, and export nothing
    #[arg(long)]
    only_kernels: bool,
    /// Export only functions marked with `sycl-module-id`, and put all external variables into every image, as SYCL's
    /// compilers do
    #[arg(long)]
    only_marked: bool,
    /// Keep images independent: with `grouped`, copy what others export instead of importing it
    #[arg(long)]
    no_dependencies: bool,
    /// What to make of specialization constants
    #[arg(long, value_name = "MODE", default_value = "native")]
    spec_constants: SpecConstants,
    /// Also write each image with specialization constants replaced by their defaults
    #[arg(long)]
    default_spec_constants: bool,
    /// Write LLVM's text form, `.ll`
    #[arg(short = 'S', long)]
    text: bool,
    /// How many images to work on at a time; by default, one on each core
    #[arg(
        short,
        long,
        value_name = "COUNT",
        default_value = "0",
        hide_default_value = true
    )]
    jobs: usize,
    /// Write one JSON object a line, one line an image
    #[arg(long)]
    json: bool,
    /// Show property sets
    #[arg(long)]
    properties: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SpecConstants {
    /// SPIR-V's specialization constants
    Native,
    /// Loads from a buffer that the runtime passes
    Emulation,
    /// Calls, as they are
    Keep,
}

pub(crate) fn run(arguments: &PostLinkArguments, terminal: Terminal) -> Result<(), Failure> {
    if let Some(folder) = &arguments.output
        && folder.exists()
        && !folder.is_dir()
    {
        return Err(Failure::input(format!(
            "cannot write into `{}`: it is not a folder",
            folder.display()
        )));
    }
    let input = module_source(&arguments.input)?;
    let post_link = PostLink {
        plan: PlanOptions {
            split: arguments.split,
            exports: arguments.exports,
            rules: if arguments.only_marked {
                SymbolRules::Compiler
            } else {
                SymbolRules::Toolkit
            },
            only_kernels: arguments.only_kernels,
            dependencies: !arguments.no_dependencies,
            ..PlanOptions::default()
        },
        specialization_constants: match arguments.spec_constants {
            SpecConstants::Native => Some(SpecializationConstantMode::Native),
            SpecConstants::Emulation => Some(SpecializationConstantMode::Emulation),
            SpecConstants::Keep => None,
        },
        default_constants: arguments.default_spec_constants,
        text: arguments.text,
        jobs: arguments.jobs,
        ..PostLink::default()
    };
    let progress = terminal.progress();
    progress.step("start LLVM");
    let mut worker = Worker::start().map_err(link::worker_failure)?;
    let linked = post_link
        .run(&mut worker, &input, &mut |step| progress.step(step))
        .map_err(failure)?;
    drop(progress);
    // Images that nobody can enter are of no use to a runtime, and would hide a mistake.
    if linked
        .images
        .iter()
        .all(|part| part.entry_points.is_empty() && part.image.exports.is_empty())
    {
        return Err(Failure::input(format!(
            "{}: nothing to put into an image: no kernel and no exported function",
            arguments.input.display()
        ))
        .hint("a kernel is what the host launches; a function is exported unless it is static"));
    }

    for (variable, images) in &linked.copied_variables {
        terminal.warning(format_args!(
            "`{variable}` is in {} images: each has a copy of its own, and what the kernels of one write there those \
             of another do not see",
            images.len()
        ));
    }
    let mut written = Vec::new();
    if let Some(folder) = &arguments.output {
        files::create_folder(folder).map_err(Failure::input)?;
        for image in &linked.images {
            written.push(write(image, folder, arguments)?);
        }
    }
    let mut output = terminal.output();
    for (index, image) in linked.images.iter().enumerate() {
        let file = written.get(index).map(|file: &Written| file.code.as_path());
        if arguments.json {
            output.json(
                SCHEMA,
                &json_line(image, file, written.get(index), &linked.triple),
            )?;
        } else {
            print(image, file, arguments.properties, &mut output)?;
        }
    }
    output.finish()
}

/// The files of an image.
struct Written {
    code: PathBuf,
    properties: PathBuf,
}

fn write(part: &PostLinkedImage, folder: &Path, arguments: &PostLinkArguments) -> Result<Written, Failure> {
    let stem = if files::is_standard_stream(&arguments.input) {
        "standard-input".into()
    } else {
        arguments.input.file_stem().unwrap_or_default().to_string_lossy()
    };
    let named = |extension: &str| folder.join(format!("{stem}_{}.{extension}", part.number));
    let written = Written {
        code: named(if arguments.text { "ll" } else { "bc" }),
        properties: named("prop"),
    };
    let code = part.image.bytes().map_err(Failure::input)?;
    files::write(&written.code, &[code]).map_err(Failure::input)?;
    let text = property_set::to_text(&part.image.properties).map_err(Failure::input)?;
    files::write(&written.properties, &[text.as_bytes()]).map_err(Failure::input)?;
    Ok(written)
}

fn json_line(part: &PostLinkedImage, file: Option<&Path>, written: Option<&Written>, triple: &str) -> Value {
    json!({
        "image": part.number,
        "file": file.map(|file| file.display().to_string()),
        "property_file": written.map(|file| file.properties.display().to_string()),
        "triple": triple,
        "kernels": part.image.kernels,
        "exports": part.image.exports,
        "imports": part.image.imports,
        "default_spec_constants": part.has_default_constants,
        "properties": Properties(&part.image.properties),
    })
}

fn print(
    part: &PostLinkedImage,
    file: Option<&Path>,
    with_properties: bool,
    output: &mut Output,
) -> Result<(), Failure> {
    let Styles { heading, faint, .. } = output.styles();
    let file = file.map(|file| format!("  {}", escape(&file.display().to_string())));
    output.line(format_args!(
        "{heading}image {}{heading:#}{}  {faint}{}{faint:#}",
        part.number,
        file.unwrap_or_default(),
        size(part.image.size())
    ))?;
    let lists = [
        ("kernels", &part.image.kernels),
        ("exports", &part.image.exports),
        ("imports", &part.image.imports),
    ];
    for (title, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        let names: Vec<_> = names.iter().map(|name| shown_name(name, false)).collect();
        output.line(format_args!("    {faint}{title}{faint:#}  {}", names.join(", ")))?;
    }
    if with_properties {
        let styles = output.styles();
        for line in properties_lines(&part.image.properties, styles) {
            output.line(format_args!("    {line}"))?;
        }
    }
    Ok(())
}

fn failure(error: PostLinkError) -> Failure {
    match error {
        PostLinkError::Worker(worker) => link::worker_failure(worker),
        PostLinkError::Bitcode { ref producer, .. } => {
            // LLVM 22 reads what LLVM 22 wrote, unless it was damaged since.
            let hint = if producer.starts_with("LLVM22.") {
                "the file is damaged: make it again"
            } else {
                "compile with clang 22, or an older release whose bitcode LLVM 22 still reads"
            };
            Failure::input(error).hint(hint)
        }
        other => Failure::input(other),
    }
}
