//! `clang-offload-wrapper`, as in DPC++, and `llvm-offload-wrapper`, as in LLVM 22.
//!
//! Both originals write bitcode, which has to be compiled; these write the object that comes out of that. All
//! images of one run are of one kind.

mod file_table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_link::wrap::{Wrap, WrapKind, host_triple};
use offkit_object::{ContainerKind, DeviceImage, ImageFormat, Limits, Target, property_set, read};

use crate::arguments::{Argument, Arguments};
use crate::{answers, say};
use file_table::FileTable;
use offkit_host::files;

const HELP: &str = "\
OVERVIEW: Writes an object that holds device images and registers them when the program starts.
What an option says about an image holds for the inputs that come after it.

USAGE: clang-offload-wrapper [options] <input files>

OPTIONS:
  --batch                  - The only input is a file table with the columns Code, Symbols, Properties
  --compile-opts=<string>  - What the device's compiler is given when the program runs
  --desc-name=<name>       - Let others see the descriptor, as '.<kind>_offloading.<name>'
  --emit-reg-funcs         - Write the constructor and the destructor (the default; =0: neither)
  --entries=<filename>     - A file with the names of the kernels, for SYCL
  --format=<value>         - What the images are: none (not said), native, spirv, llvmbc
  --host=<triple>          - What the object is for, instead of this machine
  --image-version=<2|3>    - Version of SYCL's image structure; 3, which runtimes take since 2026, if omitted
  --kind=<value>           - What registers the images: sycl, openmp, cuda, hip
  --link-opts=<string>     - What the device's linker is given when the program runs
  -o <filename>            - The object to write
  --properties=<filename>  - A file with property sets, for SYCL
  --target=<string>        - What the images are for
  -v                       - Say more
  --version                - Show the version
";

const LLVM_HELP: &str = "\
OVERVIEW: Writes an object that holds a device image and registers it when the program starts

USAGE: llvm-offload-wrapper [options] <input file>

OPTIONS:
  --help           - Show this text
  --kind=<value>   - What registers the image: openmp, cuda, hip
  -o <file>        - The object to write
  --triple=<value> - What the object is for, instead of this machine
  --version        - Show the version
";

/// What is said about inputs, until it is said otherwise.
#[derive(Clone, Default)]
struct Description {
    kind: Option<String>,
    format: Option<ImageFormat>,
    target: String,
    compile_options: String,
    link_options: String,
    entries: Option<PathBuf>,
    properties: Option<PathBuf>,
}

/// What the command line asks for.
struct Options {
    output: PathBuf,
    host: String,
    inputs: Vec<(PathBuf, Description)>,
    is_batch: bool,
    functions: bool,
    descriptor_name: Option<String>,
    image_version: u8,
    verbose: bool,
}

/// Runs as `clang-offload-wrapper`.
pub(super) fn run(called: &str, args: Vec<OsString>) -> Result<(), String> {
    let failed = |error: String| format!("{called}: error: {error}");
    let Some(options) = parse(called, args)? else {
        return Ok(());
    };
    warn_of_bitcode(called, &options.output);
    wrap(&options).map_err(failed)
}

fn parse(called: &str, args: Vec<OsString>) -> Result<Option<Options>, String> {
    let failed = |error: String| format!("{called}: error: {error}");
    let mut arguments = Arguments::new(called, args);
    let mut description = Description::default();
    let mut output = None;
    let mut options = Options {
        output: PathBuf::new(),
        host: String::new(),
        inputs: Vec::new(),
        is_batch: false,
        functions: true,
        descriptor_name: None,
        image_version: 3,
        verbose: false,
    };
    // A second file right behind an image is its manifest.
    let mut is_new = true;
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument {
            Argument::Positional(path) => {
                if is_new {
                    options.inputs.push((path.into(), description.clone()));
                } else if options.is_batch {
                    return Err(failed("batch job table file must be the only input file".into()));
                } else {
                    say(&format!(
                        "{called}: warning: '{}': manifests are of no meaning to any runtime and are left out",
                        path.display()
                    ));
                }
                is_new = false;
                continue;
            }
            Argument::Option { name, value } => (name, value),
        };
        if !["o", "v", "host", "emit-reg-funcs", "desc-name", "batch"].contains(&name.as_str()) {
            is_new = true;
        }
        let file = |path: OsString| (!path.is_empty()).then(|| PathBuf::from(path));
        match name.as_str() {
            "o" => output = Some(arguments.os_value(&name, value)?.into()),
            "v" => options.verbose = arguments.flag(&name, value)?,
            "host" => options.host = arguments.value(&name, value)?,
            "batch" => options.is_batch = arguments.flag(&name, value)?,
            "emit-reg-funcs" => options.functions = arguments.flag(&name, value)?,
            "desc-name" => options.descriptor_name = Some(arguments.value(&name, value)?),
            "image-version" => {
                options.image_version = match arguments.value(&name, value)?.as_str() {
                    "2" => 2,
                    "3" => 3,
                    other => return Err(failed(format!("--image-version: '{other}' is neither 2 nor 3"))),
                }
            }
            "kind" => description.kind = Some(arguments.value(&name, value)?),
            "target" => description.target = arguments.value(&name, value)?,
            "compile-opts" => description.compile_options = arguments.value(&name, value)?,
            "link-opts" => description.link_options = arguments.value(&name, value)?,
            "entries" => description.entries = file(arguments.os_value(&name, value)?),
            "properties" => description.properties = file(arguments.os_value(&name, value)?),
            "format" => {
                description.format = match arguments.value(&name, value)?.as_str() {
                    "none" => None,
                    "native" => Some(ImageFormat::Elf),
                    "spirv" => Some(ImageFormat::Spirv),
                    "llvmbc" => Some(ImageFormat::Bitcode),
                    other => {
                        return Err(failed(format!(
                            "for the --format option: Cannot find option named '{other}'!"
                        )));
                    }
                }
            }
            _ if answers(&name, HELP) => return Ok(None),
            _ => return Err(arguments.unknown(&name)),
        }
    }
    options.output =
        output.ok_or_else(|| format!("{called}: for the -o option: must be specified at least once!"))?;
    if options.inputs.is_empty() {
        return Err(format!(
            "{called}: Not enough positional command line arguments specified!\nMust specify at least 1 positional argument: See: {called} --help"
        ));
    }
    if options.is_batch && options.inputs.len() != 1 {
        return Err(failed("batch job table file must be the only input file".into()));
    }
    if options.host.is_empty() {
        options.host = host_triple();
        if options.verbose {
            say(&format!(
                "warning: -host option is omitted, using host triple '{}'",
                options.host
            ));
        }
    }
    Ok(Some(options))
}

/// An image's files, before they are read.
struct ImageFiles {
    code: PathBuf,
    description: Description,
}

fn wrap(options: &Options) -> Result<(), String> {
    let mut images = Vec::new();
    for (input, description) in &options.inputs {
        if options.is_batch {
            images.extend(batch(input, description)?);
        } else {
            images.push(ImageFiles {
                code: input.clone(),
                description: description.clone(),
            });
        }
    }
    let mut kind = None;
    for image in &images {
        let named = image.description.kind.as_deref();
        let wanted = kind_of(named.unwrap_or("unknown"), options.image_version)?;
        if *kind.get_or_insert(wanted) != wanted {
            return Err("images of several kinds: one run makes an object of one kind".into());
        }
    }
    let kind = kind.ok_or("the file table has no rows")?;
    let mut contents = Vec::new();
    for image in &images {
        contents.push(open(&image.code)?);
    }
    let mut described = Vec::new();
    for (image, content) in images.iter().zip(&contents) {
        if options.verbose {
            say(&format!(
                "adding image: offload kind={}\n{{\n  file     = {}\n  target   = {}\n  compile options  = {}\n  link options     = {}\n}}",
                image.description.kind.as_deref().unwrap_or_default(),
                image.code.display(),
                or_dash(&image.description.target),
                or_dash(&image.description.compile_options),
                or_dash(&image.description.link_options),
            ));
        }
        described.push(image.description.image(content)?);
    }
    let mut wrap = Wrap::new(kind);
    wrap.host_triple.clone_from(&options.host);
    wrap.functions = options.functions;
    wrap.descriptor_name.clone_from(&options.descriptor_name);
    write(&wrap, described, &options.output)
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

fn kind_of(name: &str, image_version: u8) -> Result<WrapKind, String> {
    match name {
        "sycl" if image_version == 2 => Ok(WrapKind::SyclV2),
        "sycl" => Ok(WrapKind::SyclV3),
        "openmp" => Ok(WrapKind::OpenMp),
        "cuda" => Ok(WrapKind::Cuda),
        "hip" => Ok(WrapKind::Hip),
        "unknown" => Err("offload model not set".into()),
        other => Err(format!("'{other}': images of this kind are not registered")),
    }
}

/// The images that the rows of a table name.
fn batch(path: &Path, description: &Description) -> Result<Vec<ImageFiles>, String> {
    let content = open(path)?;
    let table = FileTable::parse(&content).map_err(|error| format!("{}: {error}", path.display()))?;
    table
        .rows()
        .map(|row| {
            let file = |column| row.cell(column).filter(|name| !name.is_empty());
            let code = file("Code").ok_or_else(|| format!("{}: image file name missing", path.display()))?;
            Ok(ImageFiles {
                code: code.into(),
                description: Description {
                    entries: file("Symbols").map(PathBuf::from),
                    properties: file("Properties").map(PathBuf::from),
                    ..description.clone()
                },
            })
        })
        .collect()
}

impl Description {
    fn image<'content>(&self, content: &'content [u8]) -> Result<DeviceImage<'content>, String> {
        let mut image = DeviceImage::new(content);
        image.target = Target::new(self.target.as_str(), "");
        if let Some(format) = self.format {
            image.format = format;
        }
        if let Some(path) = &self.properties {
            let properties = property_set::parse(&open(path)?, &Limits::default())
                .map_err(|error| error.with_file(path.display().to_string()).to_string())?;
            image = image.with_properties(properties);
        }
        if let Some(path) = &self.entries {
            let content = open(path)?;
            let text = std::str::from_utf8(&content)
                .map_err(|_| format!("'{}': names are not UTF-8", path.display()))?;
            let names: Vec<_> = text
                .lines()
                .map(str::trim_end)
                .filter(|line| !line.is_empty())
                .map(str::to_owned)
                .collect();
            image.kernels.clone_from(&names);
            image.entries = Some(names);
        }
        for (key, text) in [
            ("compile-opts", &self.compile_options),
            ("link-opts", &self.link_options),
        ] {
            if !text.is_empty() {
                image.strings.set(key, text.clone());
            }
        }
        Ok(image)
    }
}

/// Runs as `llvm-offload-wrapper`.
pub(super) fn run_llvm(called: &str, args: Vec<OsString>) -> Result<(), String> {
    let failed = |error: String| format!("{called}: error: {error}");
    let mut arguments = Arguments::new(called, args);
    let (mut kind, mut output, mut input) = (None, None, None);
    let mut triple = host_triple();
    while let Some(argument) = arguments.next() {
        match argument {
            Argument::Positional(path) => input = Some(PathBuf::from(path)),
            Argument::Option { name, value } => match name.as_str() {
                "kind" => kind = Some(arguments.value(&name, value)?),
                "triple" => triple = arguments.value(&name, value)?,
                "o" => output = Some(PathBuf::from(arguments.os_value(&name, value)?)),
                _ if answers(&name, LLVM_HELP) => return Ok(()),
                _ => return Err(arguments.unknown(&name)),
            },
        }
    }
    let kind =
        kind.ok_or_else(|| format!("{called}: for the --kind option: must be specified at least once!"))?;
    let kind = match kind.as_str() {
        "openmp" | "cuda" | "hip" => kind_of(&kind, 3).map_err(failed)?,
        other => {
            return Err(format!(
                "{called}: for the --kind option: Cannot find option named '{other}'!"
            ));
        }
    };
    let input = input.ok_or_else(|| failed("no input file".into()))?;
    let output = output.unwrap_or_else(|| "-".into());
    warn_of_bitcode(called, &output);
    let content = open(&input).map_err(failed)?;
    // An image in an offload binary is taken out; everything else is the image itself.
    let mut images = Vec::new();
    if kind == WrapKind::OpenMp {
        let contents = read(&input.display().to_string(), &content, &Limits::default());
        if contents.container == ContainerKind::OffloadBinary {
            images = contents.images;
        }
    }
    if images.is_empty() {
        images.push(DeviceImage::new(&*content));
    }
    let mut wrap = Wrap::new(kind);
    wrap.host_triple = triple;
    write(&wrap, images, &output).map_err(failed)
}

fn write(wrap: &Wrap, images: Vec<DeviceImage<'_>>, output: &Path) -> Result<(), String> {
    let object = wrap.run(images).map_err(|error| error.to_string())?;
    crate::write(output, &[&object]).map_err(|error| offkit_host::chain(&error))
}

/// Says that what is written is not what the name promises.
fn warn_of_bitcode(called: &str, output: &Path) {
    if output.extension().is_some_and(|extension| extension == "bc") {
        say(&format!(
            "{called}: warning: '{}' is an object file, which needs no more compiling",
            output.display()
        ));
    }
}

fn open(path: &Path) -> Result<files::Content, String> {
    files::open(path).map_err(|error| offkit_host::chain(&error))
}
