//! `offkit link`: device link.

mod inputs;
mod json;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use offkit_devlib::Search;
use offkit_link::container::OutputFormat;
use offkit_link::device_link::{DeviceLink, Input, LinkError, Linked, spirv_version};
use offkit_link::post_link::{ExportArrangement, SplitMode};
use offkit_link::wrap::{Wrap, WrapKind, host_triple};
use offkit_llvm::WorkerError;
use offkit_object::{BundleState, ImageFormat, Target};
use offkit_spirv::{Verdict, validate};

use super::convert::State;
use super::written::{Written, keep_apart};
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{FAINT, NAME, Terminal, duration, escape, size};
use inputs::{Inputs, What};
use offkit_host::files::{self, Content};

const EXAMPLES: &str = "\
Examples:
  offkit link app.bc library.bc -o app.syclbin
  offkit link app.o -L lib -l device \\
      --to offload -o app.out
  offkit link app.bc --device-lib libdevice.bc \\
      --target nvptx64-nvidia-cuda,arch=sm_80 \\
      --to offload -o app.out
  offkit link app.syclbin library.syclbin \\
      --state executable -o program.syclbin
  offkit link app.bc -l device -o app.syclbin --json |
      jq -r '.libraries[].library'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Link {
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The target to link for, instead of every target of the inputs; may be repeated
    #[arg(
        long = "target",
        value_name = "TRIPLE[,KEY=…]",
        value_parser = Target::from_option_value,
        long_help = "The target to link for, instead of every target of the inputs; may be repeated. Keys:\n  \
            arch      the processor, such as sm_80 or gfx90a:xnack+\n  \
            features  features of the processor to switch on or off, as LLVM spells them, such as +ptx80"
    )]
    pub(crate) targets: Vec<Target>,
    /// A folder to search for libraries; may be repeated
    #[arg(short = 'L', long = "library-path", value_name = "DIR")]
    pub(crate) library_paths: Vec<PathBuf>,
    /// Skip libNAME.a where the host's linker would take libNAME.so beside it
    #[arg(long)]
    pub(crate) prefer_shared_libraries: bool,
    /// A bitcode library, of which only the needed functions are linked; may be repeated
    #[arg(long = "device-lib", value_name = "FILE")]
    pub(crate) device_libraries: Vec<PathBuf>,
    /// Do not link an executable with the libraries that come with offkit
    #[arg(long)]
    pub(crate) no_default_device_libs: bool,
    /// Also link archive members that have kernels, which a host program may launch
    #[arg(long)]
    pub(crate) archive_kernels: bool,
    /// The inputs are everything that the host's program consists of. Archive members that it leaves out may have
    /// undefined functions; offkit links them only if something needs them
    #[arg(long)]
    pub(crate) host_program: bool,
    /// The container to write: `syclbin,v1|v2`, `offload,v1|v2|v3`, `bundle,binary|text|compressed`, or
    /// `object,RUNTIME`, a host object that registers the images as `offkit wrap` does
    #[arg(
        long,
        alias = "format",
        value_name = "CONTAINER",
        default_value = "syclbin,v1"
    )]
    pub(crate) to: LinkFormat,
    /// With `object,RUNTIME`, the host that the object is for
    #[arg(long, value_name = "TRIPLE", default_value_t = host_triple())]
    pub(crate) host_triple: String,
    /// With `object,RUNTIME`, options for the device's compiler at run time
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) compile_options: Option<String>,
    /// With `object,RUNTIME`, options for the device's linker at run time
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub(crate) link_options: Option<String>,
    /// The state of the result. An executable needs nothing from other files. Without this option, a SYCLBIN is an
    /// object and everything else an executable
    #[arg(long)]
    pub(crate) state: Option<State>,
    /// Write a file without images if there is no device code to link
    #[arg(long)]
    pub(crate) allow_empty: bool,
    /// Allow undefined symbols, for other files to supply at run time
    #[arg(long, overrides_with = "no_allow_undefined")]
    pub(crate) allow_undefined: bool,
    /// Refuse undefined symbols in every state
    #[arg(long)]
    pub(crate) no_allow_undefined: bool,
    /// How to split the code into images: `auto` or `source`, `kernel`, `none`
    #[arg(long, value_name = "MODE", default_value = "auto")]
    pub(crate) split: SplitMode,
    /// Where exported functions go: `grouped` with the kernels of their source file (the default), or `apart` in images
    /// of their own (the default with `--split kernel`)
    #[arg(long, value_name = "ARRANGEMENT")]
    pub(crate) exports: Option<ExportArrangement>,
    /// Let SPIR-V images import functions and variables from each other at run time (the default, except for an
    /// executable)
    #[arg(long, overrides_with = "no_allow_device_image_dependencies")]
    pub(crate) allow_device_image_dependencies: bool,
    /// Copy what an image needs into it (the default for an executable)
    #[arg(long)]
    pub(crate) no_allow_device_image_dependencies: bool,
    /// The newest version of SPIR-V that the device takes. An image gets the oldest that it needs, from 1.2 on
    #[arg(long, value_name = "VERSION", value_parser = spirv_version)]
    pub(crate) spirv_version: Option<(u8, u8)>,
    /// The SPIR-V extensions that the device takes; may be repeated. Without this option an image uses what it needs
    #[arg(long = "spirv-ext", value_name = "EXTENSION", value_delimiter = ',')]
    pub(crate) spirv_extensions: Option<Vec<String>>,
    /// The optimisation level; no level unrolls or vectorises loops of SPIR-V
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub(crate) optimization: u8,
    /// An option for LLVM's back ends, as llc takes it; may be repeated
    #[arg(long = "backend-option", value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) backend_options: Vec<String>,
    /// Make a relocatable object instead of a shared object, for a host's processor
    #[arg(short, long)]
    pub(crate) relocatable: bool,
    /// Check every SPIR-V image with spirv-val, and write nothing if it refuses one
    #[arg(long)]
    pub(crate) verify: bool,
    /// Keep intermediate files in DIR, or in OUTPUT.temps
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "not given, given, given with a folder")]
    pub(crate) save_temps: Option<Option<PathBuf>>,
    /// Print the steps, and run none of them; also -###
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The same
    #[arg(short = '#', action = clap::ArgAction::Count, hide = true)]
    pub(crate) hashes: u8,
    /// Print how long each step took
    #[arg(long)]
    pub(crate) time: bool,
    /// Print JSON, also of symbols that nothing defines
    #[arg(long)]
    pub(crate) json: bool,
}

/// What the images are put into.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinkFormat {
    Container(OutputFormat),
    /// A host object that registers them.
    Object(WrapKind),
}

impl FromStr for LinkFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(',') {
            Some(("object", kind)) => kind.parse().map(Self::Object),
            _ => text
                .parse()
                .map(Self::Container)
                .map_err(|error: String| format!("{error}, or `object,RUNTIME`")),
        }
    }
}

impl fmt::Display for LinkFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container(format) => format.fmt(f),
            Self::Object(kind) => write!(f, "object,{kind}"),
        }
    }
}

pub(crate) fn run(arguments: &Link, terminal: Terminal) -> Result<(), Failure> {
    let is_dry = arguments.dry_run || arguments.hashes > 0;
    // A dry run writes no file that JSON could get into.
    keep_apart(arguments.json && !is_dry, &arguments.output)?;
    let _temporary = offkit_host::temporary::keep_together();
    files::check_output(&arguments.output).map_err(Failure::input)?;
    let files = arguments.inputs.iter().filter_map(|named| match &named.what {
        What::File(path) => Some(path),
        What::Library(_) => None,
    });
    let named = files.clone().chain(&arguments.device_libraries);
    files::check_inputs_stay(&arguments.output, named.clone()).map_err(Failure::input)?;
    // Whoever reads it second would find it empty, and blame the file.
    if named.filter(|input| files::is_standard_stream(input)).count() > 1 {
        return Err(Failure::input("standard input, `-`, can be linked only once"));
    }
    let opened = |path: &PathBuf| files::open(path).map_err(Failure::input);
    let contents: Vec<Content> = files.map(opened).collect::<Result<_, _>>()?;
    let mut contents_in_order = contents.iter();
    let inputs = arguments.inputs.iter().filter_map(|named| {
        let input = match &named.what {
            What::File(path) => input(path, contents_in_order.next()?),
            What::Library(name) => Input::library(name),
        };
        Some(input.with_whole_archive(named.whole_archive))
    });
    let inputs: Vec<Input<'_>> = inputs.collect();
    let state = state(arguments);
    let default_libraries = state == BundleState::Executable && !arguments.no_default_device_libs;
    // Without libraries there is no compiler to be found.
    let has_libraries = arguments
        .inputs
        .iter()
        .any(|named| matches!(named.what, What::Library(_)));
    let mut search = match has_libraries || default_libraries {
        true => Search::on_this_machine(&arguments.library_paths),
        false => Search::default(),
    };
    search.shared_libraries = arguments.prefer_shared_libraries;
    let device_libraries: Vec<Content> = arguments
        .device_libraries
        .iter()
        .map(opened)
        .collect::<Result<_, _>>()?;
    let link = DeviceLink {
        host_program: arguments.host_program.then(|| inputs.clone()),
        inputs,
        search,
        targets: arguments.targets.clone(),
        device_libraries: (arguments.device_libraries.iter().zip(&device_libraries))
            .map(|(path, content)| input(path, content))
            .collect(),
        default_libraries,
        archive_kernels: arguments.archive_kernels,
        split: arguments.split,
        exports: arguments.exports,
        dependencies: arguments.allow_device_image_dependencies
            || (state != BundleState::Executable && !arguments.no_allow_device_image_dependencies),
        state,
        spirv_version: arguments.spirv_version,
        spirv_extensions: arguments.spirv_extensions.clone(),
        optimization: arguments.optimization,
        backend_options: arguments.backend_options.clone(),
        allow_imports: arguments.allow_undefined
            || (state != BundleState::Executable && !arguments.no_allow_undefined),
        relocatable: arguments.relocatable,
        keep: arguments.save_temps.as_ref().map(|folder| match folder {
            Some(folder) => folder.clone(),
            // After standard output no folder can be named.
            None if files::is_standard_stream(&arguments.output) => "link.temps".into(),
            None => {
                let mut name = arguments.output.clone().into_os_string();
                name.push(".temps");
                name.into()
            }
        }),
        ..DeviceLink::default()
    };
    if is_dry && arguments.json {
        let plan = Some(json::plan(&link)?);
        return json::show(arguments, &Linked::default(), plan, Written::default(), terminal);
    }
    if is_dry {
        return show_plan(&link, arguments, terminal);
    }

    let progress = terminal.progress();
    let linked = match link.run_alone(&mut |step| progress.step(step)) {
        Err(LinkError::NoDeviceCode { .. } | LinkError::NothingToLink { .. }) if arguments.allow_empty => {
            Linked::default()
        }
        Err(error) => {
            if arguments.json {
                json::show_failure(arguments, &error, terminal)?;
            }
            return Err(failure(error));
        }
        Ok(linked) => linked,
    };
    // Before anything is written: an image that is refused leaves the old file in its place.
    if arguments.verify {
        progress.step("verify");
        verify(&linked, terminal)?;
    }
    progress.step("write");
    let bytes = match arguments.to {
        LinkFormat::Container(format) => linked.write(format, state).map_err(Failure::input)?,
        LinkFormat::Object(kind) => {
            let mut wrap = Wrap::new(kind);
            wrap.host_triple.clone_from(&arguments.host_triple);
            wrap.allow_empty = arguments.allow_empty;
            wrap.is_marked = true;
            wrap.compile_options.clone_from(&arguments.compile_options);
            wrap.link_options.clone_from(&arguments.link_options);
            wrap.run(linked.images.clone()).map_err(Failure::input)?
        }
    };
    files::write(&arguments.output, &[&bytes]).map_err(Failure::input)?;
    drop(progress);
    for note in &linked.notes {
        terminal.warning(note);
    }
    if arguments.json {
        let mut written = Written::default();
        written.read(&arguments.output, &bytes);
        return json::show(arguments, &linked, None, written, terminal);
    }
    report(&linked, arguments, bytes.len(), terminal);
    Ok(())
}

/// Checks the images that are SPIR-V with Khronos's validator.
fn verify(linked: &Linked, terminal: Terminal) -> Result<(), Failure> {
    let modules = linked.images.iter();
    for image in modules.filter(|image| image.format == ImageFormat::Spirv) {
        let label = &image.location;
        let bytes = image.bytes().map_err(Failure::input)?;
        match validate(bytes, None).map_err(Failure::input)? {
            Some(Verdict::Valid) => {}
            Some(Verdict::Unknown { message, reason }) => {
                terminal.note(format_args!(
                    "note: {label}: spirv-val: {message} (does not count: {reason})"
                ));
            }
            Some(Verdict::Invalid { message }) => {
                return Err(
                    Failure::new(ExitStatus::No, format!("spirv-val refuses {label}: {message}")).hint(
                        "nothing was written; --save-temps keeps the module, without --verify it is written",
                    ),
                );
            }
            None => {
                return Err(Failure::new(
                    ExitStatus::Machine,
                    "--verify needs spirv-val, which was not found",
                )
                .hint("install it: `apt-get install spirv-tools`"));
            }
        }
    }
    Ok(())
}

/// The state of the result.
fn state(arguments: &Link) -> BundleState {
    match (arguments.state, arguments.to) {
        (Some(state), _) => state.bundle_state(),
        (None, LinkFormat::Container(OutputFormat::SyclBin(_))) => BundleState::Object,
        (None, _) => BundleState::Executable,
    }
}

/// A file with its content.
fn input<'a>(path: &PathBuf, content: &'a Content) -> Input<'a> {
    if files::is_standard_stream(path) {
        Input::bytes("standard input", &**content)
    } else {
        Input::read_file(path, &**content)
    }
}

fn show_plan(link: &DeviceLink<'_>, arguments: &Link, terminal: Terminal) -> Result<(), Failure> {
    // Names of members and of targets are from files.
    let line = |text: String| terminal.line(escape(&text));
    for plan in link.plan().map_err(failure)? {
        line(format!("target {}", plan.target))?;
        for input in plan.inputs {
            line(format!("  link {input}"))?;
        }
        for library in plan.libraries {
            line(format!("  look in {library}"))?;
        }
        for library in &link.device_libraries {
            line(format!("  link what is needed of {}", library.name()))?;
        }
        for command in plan.commands {
            line(format!("  {command}"))?;
        }
    }
    line(format!("write {}", arguments.output.display()))
}

fn report(linked: &Linked, arguments: &Link, bytes: usize, terminal: Terminal) {
    if arguments.time {
        for step in &linked.steps {
            terminal.note(format_args!(
                "{FAINT}{:>10}{FAINT:#}  {}",
                duration(step.time),
                step.name
            ));
        }
    }
    let images = linked.images.len();
    terminal.note(format_args!(
        "{NAME}{}{NAME:#}: {images} image{}, {}",
        arguments.output.display(),
        if images == 1 { "" } else { "s" },
        size(bytes as u64)
    ));
}

/// The worker failed.
pub(super) fn worker_failure(error: WorkerError) -> Failure {
    failure(LinkError::Worker(error))
}

/// Why a link failed, with what to do next.
pub(super) fn failure(error: LinkError) -> Failure {
    let status = match error.is_of_machine() {
        true => ExitStatus::Machine,
        false => ExitStatus::Input,
    };
    let mut hints = error.hints();
    hints.extend(hint_of_options(&error));
    hints.into_iter().fold(Failure::new(status, error), Failure::hint)
}

/// Which option would help.
fn hint_of_options(error: &LinkError) -> Option<String> {
    let hint = match error {
        LinkError::Undefined { .. } => {
            "add the file that defines it, make an object with `--state object` and link it at run time, or leave it \
             with `--allow-undefined`"
        }
        LinkError::Abi(_) => {
            "compile both alike (`-mcode-object-version=`, `-m[no-]wavefrontsize64`), or link for another \
             `--spirv-version`"
        }
        LinkError::Conflict { .. } => {
            "`--target` says what to link for; give it for each target to link for several"
        }
        LinkError::NoProcessor { triple, example } => {
            return Some(format!(
                "name it: `--target {triple},arch=…`, as in `--target {example}`"
            ));
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
