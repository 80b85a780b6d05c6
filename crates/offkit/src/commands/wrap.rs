//! `offkit wrap`: device images in a host object that registers them.

use std::path::{Path, PathBuf};

use clap::Args;
use offkit_link::wrap::{Wrap, WrapError, WrapKind, host_triple, takes_container};
use offkit_object::{DeviceImage, Producer, Target, property_set, read};
use serde_json::json;

use super::written::{Written, keep_apart};
use crate::failure::Failure;
use crate::terminal::{NAME, Terminal, size};
use offkit_host::files::{self, Content};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Runtimes: sycl-v2 (DPC++ up to 2025), sycl-v3 (DPC++ since 2026), sycl-llvm (LLVM 22's version of that), offload (one \
offload binary, as LLVM registers it after 22), openmp, cuda (the input is a fatbin), hip (the input is a bundle).

Examples:
  offkit wrap app.syclbin -o images.o --runtime sycl-v3 &&
      c++ main.o images.o -lsycl
  offkit wrap kernels.spv -o images.o --runtime sycl-v3 \\
      --triple spir64 --entries saxpy,reduce
  offkit wrap device.so -o images.o --runtime openmp \\
      --triple x86_64-pc-linux-gnu";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WrapOptions {
    /// Files with images: offload binaries, SYCLBIN files, bundles and so on, or bare images
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// The object to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The runtime that registers the images
    #[arg(long, alias = "kind", value_name = "RUNTIME")]
    runtime: WrapKind,
    /// The host that the object is for
    #[arg(long, value_name = "TRIPLE", default_value_t = host_triple())]
    host_triple: String,
    /// Options for the device's compiler at run time
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    compile_options: Option<String>,
    /// Options for the device's linker at run time
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    link_options: Option<String>,
    /// Write an object that registers nothing if there are no images
    #[arg(long)]
    allow_empty: bool,
    /// Hide the images from later device links, for an object made by `ld -r`
    #[arg(long)]
    relocatable: bool,
    /// Write no constructor and no destructor; other code registers the descriptor
    #[arg(long, requires = "descriptor")]
    no_functions: bool,
    /// Export the descriptor to other objects under this name, after the runtime's prefix
    #[arg(long, value_name = "NAME")]
    descriptor: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    // The last, for its heading is that of all options that follow.
    #[command(flatten)]
    image: ImageOptions,
}

// What is said about a file that is one image itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "For a bare image")]
struct ImageOptions {
    /// Its target, such as spir64 or x86_64-pc-linux-gnu; takes the file as one image, whatever is in it
    #[arg(long, value_name = "TRIPLE")]
    triple: Option<String>,
    /// Its architecture
    #[arg(long, value_name = "ARCH", requires = "triple")]
    arch: Option<String>,
    /// A file with its property sets as text
    #[arg(long, alias = "properties", value_name = "FILE", requires = "triple")]
    property_file: Option<PathBuf>,
    /// Its entry points; SPIR-V tells its own
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "triple")]
    entries: Option<Vec<String>>,
}

pub(crate) fn run(options: &WrapOptions, terminal: Terminal) -> Result<(), Failure> {
    keep_apart(options.json, &options.output)?;
    files::check_output(&options.output).map_err(Failure::input)?;
    let read = options.inputs.iter().chain(&options.image.property_file);
    files::check_inputs_stay(&options.output, read).map_err(Failure::input)?;
    if let [_, _, ..] = options.inputs.as_slice()
        && options.image.triple.is_some()
    {
        return Err(Failure::input("--triple and what goes with it describe one file")
            .hint("`offkit pack` makes an offload binary of many, each with its own description"));
    }
    let contents = options
        .inputs
        .iter()
        .map(|input| files::open(input))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Failure::input)?;
    let mut images = Vec::new();
    let mut notes = Vec::new();
    for (input, content) in options.inputs.iter().zip(&contents) {
        images.extend(options.images(input, content, &mut notes)?);
    }
    for note in &notes {
        terminal.warning(note);
    }
    let count = images.len();
    let mut wrap = Wrap::new(options.runtime);
    wrap.host_triple.clone_from(&options.host_triple);
    wrap.relocatable = options.relocatable;
    wrap.functions = !options.no_functions;
    wrap.allow_empty = options.allow_empty;
    wrap.descriptor_name.clone_from(&options.descriptor);
    wrap.is_marked = true;
    wrap.compile_options.clone_from(&options.compile_options);
    wrap.link_options.clone_from(&options.link_options);
    let object = wrap.run(images).map_err(|error| match error {
        WrapError::Object(error) => Failure::input(error.with_file(options.output.display().to_string())),
        other => Failure::input(other),
    })?;
    files::write(&options.output, &[&object]).map_err(Failure::input)?;
    if options.json {
        let inputs = options.inputs.iter().map(|input| input.display().to_string());
        let mut written = Written::default();
        written.read(&options.output, &object);
        let said = json!({
            "inputs": inputs.collect::<Vec<_>>(),
            "runtime": options.runtime.to_string(),
            "host": options.host_triple,
            "notes": notes,
        });
        return terminal.json(SCHEMA, &written.json(said));
    }
    terminal.note(format_args!(
        "{NAME}{}{NAME:#}: {count} image{}, {}",
        options.output.display(),
        if count == 1 { "" } else { "s" },
        size(object.len() as u64)
    ));
    Ok(())
}

impl WrapOptions {
    /// The images of one input; `notes` get what is worth a warning.
    fn images<'content>(
        &self,
        input: &Path,
        content: &'content Content,
        notes: &mut Vec<String>,
    ) -> Result<Vec<DeviceImage<'content>>, Failure> {
        let name = input.display().to_string();
        let is_container = takes_container(self.runtime, &name, content).map_err(Failure::input)?;
        if is_container || self.image.triple.is_some() {
            return Ok(vec![self.image.image(content)?]);
        }
        let contents = read(&name, content, &super::limits());
        if contents.images.is_empty() && !(self.allow_empty && contents.problems.is_empty()) {
            let failure = match contents.problems.first() {
                Some(problem) => Failure::input(problem.to_string()),
                None => Failure::input(format!("{name}: no device code there")),
            };
            return Err(failure.hint("--triple says that the file is an image itself, and for what"));
        }
        // A program that lacks an image fails only where it runs, far away from here: what cannot
        // be read is not left out.
        if let Some(problem) = contents.problems.first() {
            return Err(Failure::input(problem.to_string()));
        }
        for image in &contents.images {
            if image.target.triple.is_empty() && image.location.is_file() {
                notes.push(format!(
                    "{name}: nothing says what the image is for; --triple does"
                ));
            }
        }
        Ok(contents.images)
    }
}

impl ImageOptions {
    /// The image that the bytes are.
    fn image<'content>(&self, content: &'content [u8]) -> Result<DeviceImage<'content>, Failure> {
        let mut image = DeviceImage::new(content);
        image.producer = Producer::None;
        image.target = Target::new(
            self.triple.clone().unwrap_or_default(),
            self.arch.as_deref().unwrap_or_default(),
        );
        if let Some(path) = &self.property_file {
            let text = files::open(path).map_err(Failure::input)?;
            let properties = property_set::parse(&text, &super::limits())
                .map_err(|error| Failure::input(error.with_file(path.display().to_string())))?;
            image = image.with_properties(properties);
        }
        if let Some(entries) = &self.entries {
            image.kernels.clone_from(entries);
            image.entries = Some(entries.clone());
        }
        Ok(image)
    }
}
