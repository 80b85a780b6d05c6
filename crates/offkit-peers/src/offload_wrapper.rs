//! `clang-offload-wrapper`, as in DPC++, and `llvm-offload-wrapper`, as in LLVM 22.
//!
//! Both originals write bitcode, which has to be compiled; these write the object that comes out of that. All
//! images of one run are of one kind.

mod file_table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_host::files::{self, Content};
use offkit_link::wrap::{Wrap, WrapError, WrapKind, host_triple};
use offkit_object::{ContainerKind, DeviceImage, ImageFormat, Limits, Target, property_set, read};

use crate::failure::{Failure, File};
use crate::options::{CommandLine, Slot, Value, Wrong};
use file_table::{FileTable, TableError};

const COMMAND_LINE: CommandLine<Options> = CommandLine {
    tool: "clang-offload-wrapper",
    overview: "Writes an object that holds device images and registers them when the program starts.
What an option says about an image holds for the inputs that come after it.",
    usage: "[options] <input files>",
    options: options![o: Options;
        "batch" => o.is_batch, "The only input is a file table with the columns Code, Symbols, Properties";
        "compile-opts" = "<string>" => o.next().compile_options, "What the device's compiler is given when the program runs";
        "desc-name" = "<name>" => o.descriptor_name, "Let others see the descriptor, as '.<kind>_offloading.<name>'";
        "emit-reg-funcs" => o.functions, "Write the constructor and the destructor (the default; =0: neither)";
        "entries" = "<filename>" => o.next().entries, "A file with the names of the kernels, for SYCL";
        "format" = "<value>" => o.next().format, "What the images are: none (not said), native, spirv, llvmbc";
        "host" = "<triple>" => o.host, "What the object is for, instead of this machine";
        "image-version" = "<2|3>" => o.image_version, "Version of SYCL's image structure; 3, which runtimes take since 2026, if omitted";
        "kind" = "<value>" => o.next().kind, "What registers the images: sycl, openmp, cuda, hip";
        "link-opts" = "<string>" => o.next().link_options, "What the device's linker is given when the program runs";
        "o" = "<filename>" => o.output, "The object to write";
        "properties" = "<filename>" => o.next().properties, "A file with property sets, for SYCL";
        "target" = "<string>" => o.next().target, "What the images are for";
        "v" => o.verbose, "Say more";
    ],
    positional: Options::add,
    positionals: 1..=usize::MAX,
    missing: |options| options.output.is_none().then_some("o"),
};

/// What the command line asks for.
struct Options {
    output: Option<PathBuf>,
    host: String,
    inputs: Vec<Input>,
    /// Files that are not the first behind what was said of an image.
    manifests: Vec<PathBuf>,
    is_batch: bool,
    functions: bool,
    descriptor_name: Option<String>,
    image_version: ImageVersion,
    verbose: bool,
    /// What was said so far of the images that come next.
    description: Description,
    /// Whether the next file is an image, and not the manifest of the one before.
    is_new: bool,
}

/// An image's file, and what is said about it.
struct Input {
    code: PathBuf,
    description: Description,
}

/// What is said about inputs, until it is said otherwise.
#[derive(Clone, Default)]
struct Description {
    kind: Option<String>,
    format: Option<ImageFormat>,
    target: String,
    compile_options: String,
    link_options: String,
    entries: PathBuf,
    properties: PathBuf,
}

impl Options {
    fn new() -> Self {
        Self {
            output: None,
            host: String::new(),
            inputs: Vec::new(),
            manifests: Vec::new(),
            is_batch: false,
            functions: true,
            descriptor_name: None,
            image_version: ImageVersion::V3,
            verbose: false,
            description: Description::default(),
            is_new: true,
        }
    }

    /// The description of the images that come next.
    fn next(&mut self) -> &mut Description {
        self.is_new = true;
        &mut self.description
    }

    fn add(&mut self, file: OsString) {
        let code = file.into();
        match std::mem::replace(&mut self.is_new, false) {
            true => self.inputs.push(Input {
                code,
                description: self.description.clone(),
            }),
            false => self.manifests.push(code),
        }
    }
}

impl Slot for Option<ImageFormat> {
    fn take(&mut self, value: OsString) -> Result<(), Wrong> {
        *self = match value.to_str() {
            Some("none") => None,
            Some("native") => Some(ImageFormat::Elf),
            Some("spirv") => Some(ImageFormat::Spirv),
            Some("llvmbc") => Some(ImageFormat::Bitcode),
            _ => return Err(Wrong::Word),
        };
        Ok(())
    }
}

/// The version of SYCL's image structure.
#[derive(Clone, Copy)]
enum ImageVersion {
    V2,
    V3,
}

impl Value for ImageVersion {
    fn of(value: OsString) -> Result<Self, Wrong> {
        match value.to_str() {
            Some("2") => Ok(Self::V2),
            Some("3") => Ok(Self::V3),
            _ => Err(Wrong::Expected("2 or 3")),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("batch job table file must be the only input file")]
    OnlyTable,
    #[error("images of several kinds: one run makes an object of one kind")]
    SeveralKinds,
    #[error("offload model not set")]
    NoKind,
    #[error("'{0}': images of this kind are not registered")]
    Kind(String),
    #[error("the file table has no rows")]
    NoRows,
    #[error("{}: {error}", .table.display())]
    Table { table: PathBuf, error: TableError },
    #[error("{}: image file name missing", .table.display())]
    NoCode { table: PathBuf },
    #[error("'{}': names are not UTF-8", .file.display())]
    NotUtf8 { file: PathBuf },
    #[error("{0}")]
    File(#[from] File),
    #[error(transparent)]
    Object(#[from] offkit_object::Error),
    #[error(transparent)]
    Wrap(#[from] WrapError),
}

/// Runs as `clang-offload-wrapper`.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<String, Failure> {
    COMMAND_LINE.run(arguments, Options::new(), |options| {
        wrap(options).map_err(Failure::error).and(Ok(String::new()))
    })
}

fn wrap(mut options: Options) -> Result<(), Error> {
    const TOOL: &str = COMMAND_LINE.tool;
    if options.is_batch && (options.inputs.len() != 1 || !options.manifests.is_empty()) {
        return Err(Error::OnlyTable);
    }
    for manifest in &options.manifests {
        say!(
            "{TOOL}: warning: '{}': manifests are of no meaning to any runtime and are left out",
            manifest.display()
        );
    }
    if options.host.is_empty() {
        options.host = host_triple();
        if options.verbose {
            say!(
                "warning: -host option is omitted, using host triple '{}'",
                options.host
            );
        }
    }
    let output = options.output.unwrap_or_default();
    warn_of_bitcode(TOOL, &output);
    let images = match (options.is_batch, options.inputs.as_slice()) {
        (true, [table]) => batch(&table.code, &table.description)?,
        _ => options.inputs,
    };
    let mut kind = None;
    for image in &images {
        let wanted = kind_of(image.description.kind.as_deref(), options.image_version)?;
        if *kind.get_or_insert(wanted) != wanted {
            return Err(Error::SeveralKinds);
        }
    }
    let mut wrap = Wrap::new(kind.ok_or(Error::NoRows)?);
    // Files stay open until the object is written: images borrow their bytes, and may be large.
    let contents = images.iter().map(|image| open(&image.code));
    let contents = contents.collect::<Result<Vec<_>, _>>()?;
    let mut described = Vec::new();
    for (Input { code, description }, content) in images.iter().zip(&contents) {
        if options.verbose {
            say!(
                "adding image: offload kind={}\n{{\n  file     = {}\n  target   = {}\n  compile options  = {}\n  link options     = {}\n}}",
                description.kind.as_deref().unwrap_or_default(),
                code.display(),
                or_dash(&description.target),
                or_dash(&description.compile_options),
                or_dash(&description.link_options),
            );
        }
        described.push(description.image(content)?);
    }
    wrap.host_triple = options.host;
    wrap.functions = options.functions;
    wrap.descriptor_name = options.descriptor_name;
    write(&wrap, described, &output)
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

fn kind_of(name: Option<&str>, image_version: ImageVersion) -> Result<WrapKind, Error> {
    match (name, image_version) {
        (Some("sycl"), ImageVersion::V2) => Ok(WrapKind::SyclV2),
        (Some("sycl"), ImageVersion::V3) => Ok(WrapKind::SyclV3),
        (Some("openmp"), _) => Ok(WrapKind::OpenMp),
        (Some("cuda"), _) => Ok(WrapKind::Cuda),
        (Some("hip"), _) => Ok(WrapKind::Hip),
        (None | Some("unknown"), _) => Err(Error::NoKind),
        (Some(other), _) => Err(Error::Kind(other.to_owned())),
    }
}

/// The images that the rows of a table name.
fn batch(path: &Path, description: &Description) -> Result<Vec<Input>, Error> {
    let table = || path.to_owned();
    let content = open(path)?;
    let rows = FileTable::parse(&content).map_err(|error| Error::Table {
        table: table(),
        error,
    })?;
    let inputs = rows.rows().map(|row| {
        let file = |column| {
            row.cell(column)
                .filter(|name| !name.is_empty())
                .map(PathBuf::from)
        };
        Ok(Input {
            code: file("Code").ok_or_else(|| Error::NoCode { table: table() })?,
            description: Description {
                entries: file("Symbols").unwrap_or_default(),
                properties: file("Properties").unwrap_or_default(),
                ..description.clone()
            },
        })
    });
    inputs.collect()
}

impl Description {
    fn image<'content>(&self, content: &'content [u8]) -> Result<DeviceImage<'content>, Error> {
        let mut image = DeviceImage::new(content);
        image.target = Target::new(self.target.as_str(), "");
        if let Some(format) = self.format {
            image.format = format;
        }
        if !self.properties.as_os_str().is_empty() {
            let properties = property_set::parse(&open(&self.properties)?, &Limits::default())
                .map_err(|error| error.with_file(self.properties.display().to_string()))?;
            image = image.with_properties(properties);
        }
        if !self.entries.as_os_str().is_empty() {
            let content = open(&self.entries)?;
            let text = std::str::from_utf8(&content).map_err(|_| Error::NotUtf8 {
                file: self.entries.clone(),
            })?;
            let names = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
            let names: Vec<_> = names.map(str::to_owned).collect();
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

const LLVM_COMMAND_LINE: CommandLine<LlvmOptions> = CommandLine {
    tool: "llvm-offload-wrapper",
    overview: "Writes an object that holds a device image and registers it when the program starts",
    usage: "[options] <input file>",
    options: options![o: LlvmOptions;
        "kind" = "<value>" => o.kind, "What registers the image: openmp, cuda, hip";
        "o" = "<file>" => o.output, "The object to write";
        "triple" = "<value>" => o.triple, "What the object is for, instead of this machine";
    ],
    positional: |options, file| options.input = file.into(),
    positionals: 1..=1,
    missing: |options| options.kind.is_none().then_some("kind"),
};

struct LlvmOptions {
    kind: Option<WrapKind>,
    output: PathBuf,
    triple: String,
    input: PathBuf,
}

impl Value for WrapKind {
    fn of(value: OsString) -> Result<Self, Wrong> {
        match value.to_str() {
            Some("openmp") => Ok(Self::OpenMp),
            Some("cuda") => Ok(Self::Cuda),
            Some("hip") => Ok(Self::Hip),
            _ => Err(Wrong::Word),
        }
    }
}

/// Runs as `llvm-offload-wrapper`.
pub(crate) fn run_llvm(arguments: Vec<OsString>) -> Result<String, Failure> {
    let options = LlvmOptions {
        kind: None,
        output: "-".into(),
        triple: host_triple(),
        input: PathBuf::new(),
    };
    LLVM_COMMAND_LINE.run(arguments, options, |options| {
        wrap_one(options).map_err(Failure::error).and(Ok(String::new()))
    })
}

fn wrap_one(options: LlvmOptions) -> Result<(), Error> {
    let kind = options.kind.ok_or(Error::NoKind)?;
    warn_of_bitcode(LLVM_COMMAND_LINE.tool, &options.output);
    let content = open(&options.input)?;
    // An image in an offload binary is taken out; everything else is the image itself.
    let mut images = Vec::new();
    if kind == WrapKind::OpenMp {
        let contents = read(&options.input.display().to_string(), &content, &Limits::default());
        if contents.container == ContainerKind::OffloadBinary {
            images = contents.images;
        }
    }
    if images.is_empty() {
        images.push(DeviceImage::new(&*content));
    }
    let mut wrap = Wrap::new(kind);
    wrap.host_triple = options.triple;
    write(&wrap, images, &options.output)
}

fn write(wrap: &Wrap, images: Vec<DeviceImage<'_>>, output: &Path) -> Result<(), Error> {
    let object = wrap.run(images)?;
    Ok(files::write(output, &[&object]).map_err(File)?)
}

/// Says that what is written is not what the name promises.
fn warn_of_bitcode(tool: &str, output: &Path) {
    // Builds that are made for the originals give such names, and compile the file next.
    if output.extension().is_some_and(|extension| extension == "bc") {
        say!(
            "{tool}: warning: '{}' is an object file, which needs no more compiling",
            output.display()
        );
    }
}

fn open(path: &Path) -> Result<Content, File> {
    files::open(path).map_err(File)
}
