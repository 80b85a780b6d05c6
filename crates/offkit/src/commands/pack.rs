//! `offkit pack`: device images and what is said about them into one file.

use super::convert::{LossOptions, State};
use clap::Args;
use std::path::PathBuf;
use std::str::FromStr;

use offkit_object::offload_binary::packaged;
use offkit_object::{ImageFormat, OffloadBinaryVersion, OutputFormat, Producer, PropertySets, property_set};

use crate::failure::Failure;
use crate::terminal::Terminal;
use offkit_host::files;

const EXAMPLES: &str = "\
Examples:
  offkit pack -o app.out --image \\
      file=k.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a
  offkit pack -o app.syclbin --to syclbin,v1 \\
      --image=file=k.spv,triple=spirv64,kind=sycl";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Pack {
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// An image; may be repeated
    #[arg(
        long = "image",
        required = true,
        value_name = "KEY=VALUE,…",
        long_help = "An image; may be repeated. Keys:\n  \
            file        the file with the image\n  \
            triple      the target, such as amdgcn-amd-amdhsa\n  \
            arch        the architecture, such as gfx90a\n  \
            kind        openmp, cuda, hip, sycl or none\n  \
            properties  a file with property sets as text, for SYCLBIN\n\
            Other keys become strings of an offload binary"
    )]
    images: Vec<ImageText>,
    /// The container to write: `offload,v1|v2|v3`, `syclbin,v1|v2`, `bundle,binary|text|compressed`
    #[arg(
        long,
        alias = "format",
        value_name = "CONTAINER",
        default_value = "offload,v1"
    )]
    to: OutputFormat,
    /// The state of a SYCLBIN
    #[arg(long, default_value = "object")]
    state: State,
    #[command(flatten)]
    losses: LossOptions,
}

/// An image as it is described on the command line: `file=F,triple=T,arch=A,kind=K,properties=P,KEY=VALUE`.
#[derive(Clone, Debug)]
pub(crate) struct ImageText {
    file: PathBuf,
    producer: Producer,
    strings: Vec<(String, String)>,
    properties: Option<PathBuf>,
}

impl FromStr for ImageText {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut file = None;
        let mut producer = Producer::None;
        let mut strings: Vec<(String, String)> = Vec::new();
        let mut properties = None;
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("`{part}`: expected KEY=VALUE"))?;
            match key {
                "" => return Err(format!("`{part}`: expected a key before `=`")),
                "file" if file.is_some() => return Err("there can be only one file for each image".into()),
                "file" => file = Some(PathBuf::from(value)),
                "properties" => properties = Some(value.into()),
                "kind" => {
                    producer = Producer::from_clang_name(value).ok_or_else(|| {
                        format!("`{value}` is not a kind: expected openmp, cuda, hip, sycl or none")
                    })?;
                }
                key if strings.iter().any(|(other, _)| other == key) => {
                    return Err(format!("`{key}` is there twice"));
                }
                key => strings.push((key.to_owned(), value.to_owned())),
            }
        }
        Ok(Self {
            file: file.ok_or("expected file=FILE among the keys")?,
            producer,
            strings,
            properties,
        })
    }
}

/// Keys that mean something to offkit, or to those who read offload binaries.
const KEYS: [&str; 7] = [
    "file",
    "triple",
    "arch",
    "kind",
    "properties",
    "compile-opts",
    "link-opts",
];

/// The key that was meant, where one that nobody knows is nearly one of them.
fn meant(key: &str) -> Option<&'static str> {
    const DIFFERENCES: usize = 2;
    let is_near = |known: &&&str| {
        let differences = strsim::osa_distance(known, &key.to_lowercase());
        // Two letters make another word of a short one: nobody who writes `fold` means `file`.
        differences <= DIFFERENCES && differences * 2 < known.len()
    };
    match KEYS.contains(&key) {
        true => None,
        false => KEYS.iter().find(is_near).copied(),
    }
}

pub(crate) fn run(options: &Pack, terminal: Terminal) -> Result<(), Failure> {
    for image in &options.images {
        for (key, _) in &image.strings {
            if let Some(meant) = meant(key) {
                terminal.warning(format_args!(
                    "{}: the key `{key}` becomes a string of that name; `{meant}` was meant?",
                    image.file.display()
                ));
            }
        }
    }
    files::check_output(&options.output).map_err(Failure::input)?;
    let read = (options.images.iter()).flat_map(|image| [&image.file].into_iter().chain(&image.properties));
    files::check_inputs_stay(&options.output, read).map_err(Failure::input)?;
    let limits = super::limits();
    let mut contents = Vec::new();
    for image in &options.images {
        let content = files::open(&image.file).map_err(Failure::input)?;
        let properties = match &image.properties {
            Some(path) => {
                let text = files::open(path).map_err(Failure::input)?;
                property_set::parse(&text, &limits)
                    .map_err(|error| Failure::input(error.with_file(path.display().to_string())))?
            }
            None => PropertySets::new(),
        };
        contents.push((content, properties));
    }
    let images = options.images.iter().zip(&contents);
    let images = images.map(|(image, (content, properties))| {
        let mut packed = packaged(&image.file, image.producer, &image.strings, content);
        packed.properties = properties.clone();
        let is_named = packed.format != ImageFormat::Unknown;
        match options.to {
            // As LLVM 22, which knows no name of a file with SPIR-V.
            OutputFormat::OffloadBinary(OffloadBinaryVersion::V1) => {}
            OutputFormat::OffloadBinary(_) if is_named => {}
            _ => packed.format = ImageFormat::detect(content),
        }
        packed
    });
    let packed = offkit_object::pack(images, options.to, options.state.bundle_state())
        .map_err(|error| Failure::input(error.with_file(options.output.display().to_string())))?;
    super::convert::check_losses(&packed, &options.output, options.to, &options.losses, terminal)?;
    files::write(&options.output, &packed.content.slices()).map_err(Failure::input)
}
