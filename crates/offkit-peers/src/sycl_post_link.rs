//! `sycl-post-link`: a device module split into images, with their symbols and properties, and a table of the
//! files.

mod options;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use offkit_host::files::{self, FileError};
use offkit_link::post_link::{
    PlanOptions, PostLink, PostLinkError, PostLinked, PostLinkedImage, device_library_image,
};
use offkit_link::properties::REQUIRED_WORK_GROUP_SIZE;
use offkit_llvm::{Source, Worker, WorkerError};
use offkit_object::property_set::names;
use offkit_object::{PropertySets, property_set};

use crate::failure::{Failure, File};
use options::{COMMAND_LINE, Options, Output};

/// The name in messages.
const NAME: &str = "sycl-post-link";

/// The device libraries for bfloat16: for devices without the operations, and for those with them.
const BFLOAT16_LIBRARIES: [&str; 2] = ["libsycl-fallback-bfloat16.bc", "libsycl-native-bfloat16.bc"];

/// What goes wrong. The original says some of it without its name.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("no actions specified; try --help for usage info")]
    NothingAsked,
    #[error("error: {option} can't be used with -ir-output-only")]
    NotWithOneFile { option: String },
    #[error("some modules had to be split, '-ir-output-only' can't be used")]
    HadToSplit,
    #[error("{NAME}: {}: error: Could not open input file: {}", .input.display(), .source.reason())]
    Input { input: PathBuf, source: FileError },
    #[error("{NAME}: error opening the file '{}': {}", .output.display(), offkit_host::causes(.source).join(": "))]
    Output { output: PathBuf, source: FileError },
    #[error("{NAME}: error: {0}")]
    StandardInput(#[source] File),
    #[error("{NAME}: error: {}", offkit_host::chain(.0))]
    Worker(#[from] WorkerError),
    #[error("{NAME}: error: {}", offkit_host::chain(.0))]
    PostLink(#[from] PostLinkError),
    #[error("{NAME}: {0}")]
    Object(#[from] offkit_object::Error),
}

/// Runs as the tool.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<String, Failure> {
    COMMAND_LINE.run(arguments, Options::new(), |options| {
        post_link(options).map_err(Failure::words).and(Ok(String::new()))
    })
}

fn post_link(mut options: Options) -> Result<(), Error> {
    options.check()?;
    let input = if files::is_standard_stream(&options.input) {
        let content = files::open(&options.input).map_err(|error| Error::StandardInput(File(error)))?;
        Source::bytes("<stdin>", content.to_vec())
    } else {
        // The real tool's words for a file that is not there.
        files::open(&options.input).map_err(|source| Error::Input {
            input: options.input.clone(),
            source,
        })?;
        Source::file(&options.input)
    };
    let given_output = !options.outputs.is_empty();
    if !given_output {
        let extension = if options.ir_output_only { "out" } else { "files" };
        let stem = options.input.file_stem().unwrap_or_default();
        options.outputs.push(Output {
            target: String::new(),
            path: Path::new(stem).with_extension(extension),
        });
    }

    // Told before all the work, and before anything is replaced.
    for output in &options.outputs {
        files::check_output(&output.path).map_err(cannot_write(&output.path))?;
    }
    if !options.ir_output_only {
        let first = PathBuf::from(format!("{}_0.bc", prefix(&options)));
        files::check_output(&first).map_err(cannot_write(&first))?;
    }

    let post_link = PostLink {
        sources: BTreeMap::new(),
        plan: PlanOptions {
            only_kernels: options.only_kernels,
            dependencies: options.dependencies,
            one_image: options.ir_output_only,
            split_esimd: options.split_esimd,
            ..PlanOptions::compiler(options.split.mode)
        },
        properties: options.properties,
        specialization_constants: options.specialization_constants,
        default_constants: options.default_constants,
        text: options.text,
        esimd_split_status: !options.ir_output_only,
        check_device_globals: options.properties.device_globals,
        lower_esimd: options.lower_esimd,
        jobs: 0,
    };
    let mut worker = Worker::start()?;
    let mut linked = post_link.run(&mut worker, &input, &mut |_| {})?;
    for image in &linked.images {
        // The twin of an image, with default values, misses the same functions: they are told once.
        for function in image.undefined.iter().filter(|_| !image.has_default_constants) {
            say!(
                "warning: Undefined function {function} found in {}. This may result in runtime errors.",
                input.name
            );
        }
    }
    if options.ir_output_only {
        if linked
            .images
            .iter()
            // The form of an image with default values is no part of its own.
            .any(|image| image.number > 0 && !image.has_default_constants)
        {
            return Err(Error::HadToSplit);
        }
        let (output, code) = (&options.outputs[0].path, content(&linked.images[0]));
        return write(output, code, options.binary_output_is_fine());
    }
    if let (true, Some(libraries)) = (linked.needs_bfloat16, &options.device_libraries) {
        let next = linked.images.last().map_or(0, |image| image.number + 1);
        for (number, library) in (next..).zip(BFLOAT16_LIBRARIES) {
            let library = libraries.join(library);
            match device_library_image(&mut worker, &library, number, options.text) {
                Ok(image) => linked.images.push(image),
                Err(_) => say!("sycl-post-link NOTE: fail to load bfloat16 device library modules"),
            }
        }
    }
    let unchanged = !linked.is_modified && !given_output;
    if unchanged {
        say!("sycl-post-link NOTE: no modifications to the input LLVM IR have been made");
    }
    Writer {
        options: &options,
        prefix: prefix(&options),
        keep_input: unchanged,
    }
    .write(&linked)
}

/// What the names of all files begin with.
fn prefix(options: &Options) -> String {
    let first = &options.outputs[0].path;
    let folder = options.folder.as_deref().or(first.parent());
    let folder = folder
        .map(|folder| folder.display().to_string())
        .unwrap_or_default();
    let stem = first.file_stem().unwrap_or_default().display();
    match folder.as_str() {
        "" => stem.to_string(),
        folder if folder.ends_with('/') => format!("{folder}{stem}"),
        folder => format!("{folder}/{stem}"),
    }
}

/// The code of an image, which LLVM wrote and nothing compressed.
fn content(part: &PostLinkedImage) -> &[u8] {
    part.image.bytes().unwrap_or_default()
}

struct Writer<'a> {
    options: &'a Options,
    prefix: String,
    /// Whether the table names the input in the place of code that would be the same.
    keep_input: bool,
}

impl Writer<'_> {
    fn write(&self, linked: &PostLinked) -> Result<(), Error> {
        let mut header = vec!["Code"];
        if self.options.write_properties {
            header.push("Properties");
        }
        if self.options.write_symbols {
            header.push("Symbols");
        }
        let header = format!("[{}]\n", header.join("|"));
        let mut tables = vec![header; self.options.outputs.len()];
        let is_fine = self.options.binary_output_is_fine();
        for image in &linked.images {
            let suffix = if image.is_esimd { "_esimd" } else { "" };
            let named = |suffix: &str, extension: &str| {
                format!("{}{suffix}_{}.{extension}", self.prefix, image.number)
            };
            let code = if self.keep_input {
                self.options.input.display().to_string()
            } else {
                let path = named(suffix, if self.options.text { "ll" } else { "bc" });
                write(Path::new(&path), content(image), is_fine)?;
                path
            };
            let mut symbols = None;
            if self.options.write_symbols {
                let path = named(suffix, "sym");
                let text: String = (image.entry_points.iter())
                    .map(|name| format!("{name}\n"))
                    .collect();
                write(Path::new(&path), text.as_bytes(), true)?;
                symbols = Some(path);
            }
            for (table, output) in tables.iter_mut().zip(&self.options.outputs) {
                if !super::sycl_targets::is_compatible(&output.target, image) {
                    continue;
                }
                let mut row = vec![code.clone()];
                if self.options.write_properties {
                    let suffix = match output.target.as_str() {
                        "" => suffix.to_owned(),
                        target => format!("_{target}"),
                    };
                    let path = named(&suffix, "prop");
                    let properties = self.properties(image, &output.target);
                    let text = property_set::to_text(&properties)?;
                    write(Path::new(&path), text.as_bytes(), true)?;
                    row.push(path);
                }
                row.extend(symbols.clone());
                table.push_str(&row.join("|"));
                table.push('\n');
            }
        }
        for (table, output) in tables.iter().zip(&self.options.outputs) {
            write(&output.path, table.as_bytes(), true)?;
        }
        Ok(())
    }

    fn properties(&self, part: &PostLinkedImage, target: &str) -> PropertySets {
        let mut properties = part.image.properties.clone();
        let requirements = properties.set_mut(names::DEVICE_REQUIREMENTS);
        if self.options.split.mode == offkit_link::post_link::SplitMode::None {
            // Kernels of one image may well differ in it.
            requirements.remove(REQUIRED_WORK_GROUP_SIZE);
        }
        if !target.is_empty() {
            requirements.insert("compile_target", target);
        }
        properties
    }
}

fn write(path: &Path, content: &[u8], is_fine: bool) -> Result<(), Error> {
    if files::is_standard_stream(path) && !is_fine && io::IsTerminal::is_terminal(&io::stdout()) {
        say!(
            "WARNING: You're attempting to print out a bitcode file.\nThis is inadvisable as it may cause display problems. If\nyou REALLY want to taste LLVM bitcode first-hand, you\ncan force output with the `-f' option.\n"
        );
        return Ok(());
    }
    files::write(path, &[content]).map_err(cannot_write(path))
}

fn cannot_write(output: &Path) -> impl FnOnce(FileError) -> Error {
    move |source| Error::Output {
        output: output.to_owned(),
        source,
    }
}
