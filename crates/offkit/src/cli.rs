//! The command line: what can be typed, as types.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use offkit_link::container::OutputFormat;
use offkit_object::BundleState;

use crate::commands::convert::LossOptions;
use crate::commands::devlib::Devlib;
use crate::commands::filter::Filter;
use crate::commands::limits::LimitOptions;
use crate::commands::link::Link;
use crate::commands::pack::ImageText;
use crate::commands::post_link::PostLinkArguments;
use crate::commands::run::arguments::{self, ArrayFile, ArraySource, Sizes};
use crate::commands::wrap::WrapOptions;

/// List, check, link, load and launch offloaded device code: what runs on GPUs and other accelerators
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, max_term_width = 100, after_help = EXIT_CODES)]
#[command(after_long_help = format!("{EXIT_CODES}\n\n{}", crate::environment::help()))]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 the answer is no (a difference, a broken rule, a loss); 2 bad input or usage; \
3 the machine lacks something (a device, LLVM); 130 interrupted.";

const LS_EXAMPLES: &str = "\
Examples:
  offkit ls --kernels libkernels.so
  offkit ls --json --hash wheel.whl | jq -r .location
  offkit ls --arch gfx90a --kernel saxpy lib.a";

const SHOW_EXAMPLES: &str = "\
Examples:
  offkit show app.o!.llvm.offloading/0
  offkit show --json --format cubin libkernels.so";

const EXTRACT_EXAMPLES: &str = "\
Examples:
  offkit extract app.o!.llvm.offloading/0 -o images
  offkit extract --arch sm_90 libkernels.so -o images
  offkit extract --libdevice --arch gfx90a,gfx942 \\
      --format bitcode libphysics.a -o lib
  offkit extract --stored 'lib.so!.hip_fatbin/0/gfx90a' \\
      -o - > gfx90a.hsaco";

const REPLACE_EXAMPLES: &str = "\
Examples:
  offkit replace app.o .llvm.offloading/0=new.ptx
  offkit replace app.o =new.hsaco --arch gfx90a -o changed.o";

const PACK_EXAMPLES: &str = "\
Examples:
  offkit pack -o app.out --image \\
      file=k.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a
  offkit pack -o app.syclbin --to syclbin,v1 \\
      --image=file=k.spv,triple=spirv64,kind=sycl";

const CONVERT_EXAMPLES: &str = "\
Examples:
  offkit convert app.out -o app.v2 --to offload,v2
  offkit convert app.syclbin -o app.out \\
      --to offload,v1 --allow-loss";

const RUN_EXAMPLES: &str = "\
Examples:
  offkit run app.syclbin saxpy --global 1024 \\
      --arg f32:2.5 --arg x.npy --arg y.npy --out z.npy
  offkit run app.syclbin saxpy --global 1024 --time \\
      --link library.syclbin --arg f32:2.5 \\
      --arg f32[1024] --arg f32[1024]";

const VERIFY_EXAMPLES: &str = "\
Examples:
  offkit verify app.o app.syclbin
  offkit verify --json --no-spirv wheel.whl";

const AS_EXAMPLES: &str = "\
Tools: clang-linker-wrapper, clang-offload-bundler, clang-offload-packager, clang-offload-wrapper, \
clang-sycl-linker, llvm-offload-binary, llvm-offload-wrapper, sycl-post-link, syclbin-dump. A link to offkit with one \
of these names is that tool too.

Examples:
  offkit as clang-offload-bundler --list \\
      --type=o --input=app.o
  ln -s offkit syclbin-dump && ./syclbin-dump app.syclbin";

const CC_OPTIONS: &str = "\
Everything that clang 22 takes, and:
  -fsycl
      device code of C++ (SYCL) and OpenCL C sources and bitcode
  -fsyclbin[=input|object|executable]
      write a SYCLBIN file, without host code
  -fsycl-link
      link device code only: into an object, or SYCLBIN files into one
  -fsycl-targets=TRIPLE,…
      the devices to compile for; the default is SPIR-V
  --offload-arch=ARCH,…
      the same by processors, such as gfx90a, sm_80
  -fsycl-device-code-split=auto|per_source|per_kernel|off
      how to split device code into images
  -f[no-]sycl-allow-device-image-dependencies
      leave symbols for other images to supply
  -Xsycl-target-backend[=TRIPLE] OPTION
      an option for the compiler of a device
  --offload-rdc
      the same as -fgpu-rdc
  -###
      print the commands instead of running them
  -save-temps
      keep the files between the steps

OFFKIT_CLANG names the clang to use instead of `clang-22`.

Examples:
  offkit c++ -fsyclbin kernels.cpp -o kernels.syclbin
  offkit c++ -fsycl -c kernels.cpp -o kernels.o
  make CXX='offkit c++' CXXFLAGS=-fsycl LDFLAGS=-fsycl";

const MARK_EXAMPLES: &str = "\
clang 22 leaves no trace of which functions of a module others may call. The words of `offkit/device.h` do, and this \
turns them into what DPC++'s compiler writes, the attribute `sycl-module-id`. `offkit cc` marks all that it compiles.

Examples:
  clang++-22 -fsycl -fsycl-device-only -I include \\
      -c app.cpp -o app.bc
  offkit mark app.bc --module-id app.cpp -o marked.bc";

/// The heading of the options that every command takes.
const COMMON: &str = "Common options";

/// The commands as `offkit --help` groups them.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Look", &["ls", "show", "verify"]),
    ("Change", &["extract", "replace", "convert"]),
    (
        "Make",
        &[
            "pack",
            "wrap",
            "mark",
            "post-link",
            "link",
            "devlib",
            "cc",
            "c++",
            "as",
        ],
    ),
    ("Run", &["run"]),
];

/// The command line, with the commands in groups.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let mut template = "{about}\n\n{usage-heading} {usage}\n".to_owned();
    let heading = clap::builder::Styles::styled().get_header().to_owned();
    for (group, names) in GROUPS {
        template += &format!("\n{heading}{group}:{heading:#}\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            template += &format!("  {name:<10} {about}\n");
        }
    }
    template += &format!(
        "\n`offkit help COMMAND` shows a command's options, with examples.\n\n{heading}Options:{heading:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

/// Reads the command line.
///
/// # Errors
///
/// What is wrong with it; also the help or the version that it asks for.
pub(crate) fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches_from(words)?)
}

/// The options that every command takes.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Print only warnings and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", display_order = 1000, help_heading = COMMON)]
    pub(crate) quiet: bool,
    /// Explain every decision; twice for every detail
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 1001, help_heading = COMMON)]
    pub(crate) verbose: u8,
    /// When to colour the output; `auto` obeys NO_COLOR
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        display_order = 1002,
        help_heading = COMMON
    )]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

// With `defer`, a start pays for the options of one command only. A doc comment of options that commands share would
// then take the place of what is said of the command, so theirs are plain.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum Command {
    /// List the device code inside files
    Ls(Ls),
    /// Show everything about images: what their containers say and what their bytes say
    Show(Show),
    /// Take images out of files, byte for byte
    Extract(Extract),
    /// Replace an image and change nothing else
    Replace(Replace),
    /// Pack device images into an offload binary, a SYCLBIN or a bundle
    Pack(Pack),
    /// Convert an offload binary, a SYCLBIN or a bundle to another format
    Convert(Convert),
    /// Check files against every rule of their formats; exit code 1 if one is broken
    Verify(Verify),
    /// Run as a tool that offkit replaces, such as `clang-offload-bundler`
    As(As),
    /// Split a device module into images and record what a runtime needs to know about each
    PostLink(PostLinkArguments),
    /// Link bitcode, SPIR-V, or files that contain them, into one container
    Link(Box<Link>),
    /// Find, query, check and build device libraries
    #[command(subcommand)]
    Devlib(Devlib),
    /// Wrap images in a host object that registers them when the program starts
    Wrap(WrapOptions),
    /// Launch a kernel and write its results
    Run(Box<Run>),
    /// Compile and link with clang's options, offloading by offkit (C)
    #[command(name = "cc", disable_help_flag = true)]
    Cc(Cc),
    /// Compile and link with clang's options, offloading by offkit (C++)
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(Cc),
    /// Mark kernels and exported functions in bitcode with the source file they come from
    Mark(Mark),
}

#[derive(Debug, Args)]
#[command(after_help = LS_EXAMPLES)]
pub(crate) struct Ls {
    /// Files to look into, or locations in them, `FILE!0/ir/0`; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Show the kernels of each image with their arguments
    #[arg(short, long)]
    pub(crate) kernels: bool,
    /// Show the property sets of each image
    #[arg(short, long)]
    pub(crate) properties: bool,
    /// Do not demangle names
    #[arg(long)]
    pub(crate) mangled: bool,
    /// Show all images; a terminal shows the first 200 of a file otherwise
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Write one JSON object a line, one line an image
    #[arg(long)]
    pub(crate) json: bool,
    /// With --json, add the SHA-256 of each image as it is stored
    #[arg(long, requires = "json")]
    pub(crate) hash: bool,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
}

#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct Show {
    /// Locations of images as `offkit ls` prints them, `FILE!0/ir/0`; a file means all of its images
    #[arg(required = true, value_name = "LOCATION")]
    pub(crate) locations: Vec<PathBuf>,
    /// Do not demangle names
    #[arg(long)]
    pub(crate) mangled: bool,
    /// Write one JSON object a line, one line an image
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
}

#[derive(Debug, Args)]
#[command(after_help = EXTRACT_EXAMPLES)]
pub(crate) struct Extract {
    /// Locations as `offkit ls` prints them, of images or containers, or whole files; `-` is standard input
    #[arg(required = true, value_name = "LOCATION")]
    pub(crate) locations: Vec<PathBuf>,
    /// The folder to write to, created if needed; `-` writes one image to standard output
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Write images as they are stored, without decompressing them
    #[arg(long)]
    pub(crate) stored: bool,
    /// Name images as device libraries, `libdevice/<gpu>/libX-<arch>-<gpu>.bc`; X is NAME, or the name of the file or
    /// archive member that contains the image
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "not given, given, given with a name")]
    pub(crate) libdevice: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
}

#[derive(Debug, Args)]
#[command(after_help = REPLACE_EXAMPLES)]
pub(crate) struct Replace {
    /// The file to change
    pub(crate) file: PathBuf,
    /// The location of an image, with or without its file, and the file to put there; the filters below may select
    /// one image of a container, or of the whole file
    #[arg(required = true, value_name = "LOCATION=NEW")]
    pub(crate) replacements: Vec<String>,
    /// Write the changed file here and keep the old one; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
}

#[derive(Debug, Args)]
#[command(after_help = AS_EXAMPLES)]
pub(crate) struct As {
    /// The name of a tool, such as clang-offload-bundler
    pub(crate) name: OsString,
    /// The tool's own arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = CC_OPTIONS)]
pub(crate) struct Cc {
    /// clang's command line
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = MARK_EXAMPLES)]
pub(crate) struct Mark {
    /// The module, LLVM bitcode or text
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// The bitcode file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The source file's name, which splitting by source goes by
    #[arg(long, value_name = "NAME")]
    pub(crate) module_id: String,
    /// Leave a module as it is that has no annotation of `offkit/device.h`
    #[arg(long)]
    pub(crate) only_annotated: bool,
}

#[derive(Debug, Args)]
#[command(after_help = PACK_EXAMPLES)]
pub(crate) struct Pack {
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
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
    pub(crate) images: Vec<ImageText>,
    /// The container to write: `offload,v1|v2|v3`, `syclbin,v1|v2`, `bundle,binary|text|compressed`
    #[arg(
        long,
        alias = "format",
        value_name = "CONTAINER",
        default_value = "offload,v1"
    )]
    pub(crate) to: OutputFormat,
    /// The state of a SYCLBIN
    #[arg(long, default_value = "object")]
    pub(crate) state: State,
    #[command(flatten)]
    pub(crate) losses: LossOptions,
}

#[derive(Debug, Args)]
#[command(after_help = CONVERT_EXAMPLES)]
pub(crate) struct Convert {
    /// The file to read; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The container to write: `offload,v1|v2|v3`, `syclbin,v1|v2`, `bundle,binary|text|compressed`
    #[arg(long, alias = "format", value_name = "CONTAINER")]
    pub(crate) to: OutputFormat,
    /// The state of a SYCLBIN, if the input has none
    #[arg(long, default_value = "object")]
    pub(crate) state: State,
    #[command(flatten)]
    pub(crate) losses: LossOptions,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
}

#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct Verify {
    /// Files to check, or locations in them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Write one JSON object a line, one line a problem
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not run spirv-val on SPIR-V images
    #[arg(long)]
    pub(crate) no_spirv: bool,
    #[command(flatten)]
    pub(crate) filter: Filter,
    #[command(flatten)]
    pub(crate) limits: LimitOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum State {
    /// Still to be compiled and linked
    Input,
    /// Compiled, still to be linked with what it imports
    Object,
    /// Linked and ready to run
    Executable,
}

impl State {
    pub(crate) fn bundle_state(self) -> BundleState {
        match self {
            Self::Input => BundleState::Input,
            Self::Object => BundleState::Object,
            Self::Executable => BundleState::Executable,
        }
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(tolerance) if tolerance.is_finite() && tolerance >= 0.0 => Ok(tolerance),
        _ => Err("expected a number from 0, such as 1e-6".into()),
    }
}

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// The file with the kernel, or the location of an image as `offkit ls` prints it; `-` is standard input
    pub(crate) file: PathBuf,
    /// The kernel: its exact name, its name without the compiler's prefix, or its demangled name
    pub(crate) kernel: String,
    /// A file or location that may supply functions the kernel imports; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) link: Vec<PathBuf>,
    /// The number of work-items in each dimension
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) global: Sizes,
    /// The number of work-items in a work-group; without it, the device chooses
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) local: Option<Sizes>,
    /// The index of the first work-item
    #[arg(long, value_name = "X[,Y[,Z]]")]
    pub(crate) offset: Option<Sizes>,
    /// The arguments, in order
    #[arg(
        long = "arg",
        value_name = "ARGUMENT",
        allow_hyphen_values = true,
        value_parser = arguments::argument,
        long_help = "The arguments, in order:\n  \
            i32:7, f32:2.5, f32:1,2,3,4  a number, a vector (i8 to i64, u8 to u64, f16, f32, f64)\n  \
            bytes:0100000000002040       a struct by its bytes, in hexadecimal\n  \
            in.npy                       a buffer holding the array\n  \
            f32[1024], f32[64,64]        a buffer of zeros\n  \
            local:256                    256 bytes of local memory"
    )]
    pub(crate) arguments: Vec<offkit_runtime::Argument<ArraySource>>,
    /// Write argument N to a file afterwards, or the only buffer that the kernel may write
    #[arg(long = "out", value_name = "[N=]F.npy")]
    pub(crate) outputs: Vec<ArrayFile>,
    /// Compare argument N, or the one of --out, with an array; exit code 1 if they differ
    #[arg(long = "check", value_name = "[N=]F.npy")]
    pub(crate) checks: Vec<ArrayFile>,
    /// The largest relative difference that --check allows
    #[arg(long, value_name = "PART", default_value = "0", value_parser = tolerance)]
    pub(crate) tolerance: f64,
    /// The device: its number, kind (`cpu`) or a part of its name; without it, the first
    #[arg(long)]
    pub(crate) device: Option<String>,
    /// Launch this many times; the last result counts
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Print how long each step took
    #[arg(long)]
    pub(crate) time: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The help of every command, as it is shown on a terminal of that width, with what it is made of.
    fn helps(width: usize) -> Vec<(clap::Command, String)> {
        fn collect(command: &clap::Command, width: usize, all: &mut Vec<(clap::Command, String)>) {
            let mut shown = command.clone().term_width(width);
            all.push((command.clone(), shown.render_long_help().to_string()));
            for verb in command.get_subcommands() {
                collect(verb, width, all);
            }
        }
        let mut all = Vec::new();
        let mut cli = Cli::command();
        cli.build();
        collect(&cli, width, &mut all);
        all
    }

    #[test]
    fn help_is_wrapped_once() {
        for width in [60, 80, 100] {
            for (command, help) in helps(width) {
                let name = command.get_name();
                let after = command
                    .get_after_help()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let mut lines = after.lines().peekable();
                while let Some(line) = lines.next() {
                    if line.starts_with(' ') {
                        // Descriptions may be wrapped; what is to be typed would not work any more.
                        let is_typed = !line.starts_with("      ") || line.contains("--");
                        let is_whole = help.lines().any(|shown| shown == line);
                        assert!(!is_typed || is_whole, "{name}: `{line}` is wrapped at {width}");
                    } else if !line.is_empty() && !line.ends_with(':') {
                        let next = lines.peek().copied().unwrap_or_default();
                        assert!(
                            next.is_empty() || next.starts_with(' '),
                            "{name}: a paragraph is one line, wrapped where it is shown: `{next}`"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<_> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        let command = Cli::command();
        let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut commands: Vec<_> = visible.map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
        let help = super::command().render_help().to_string();
        for line in ["Look:", "  ls         List the device code inside files", "Run:"] {
            assert!(help.lines().any(|shown| shown == line), "{help}");
        }
    }

    #[test]
    fn every_command_has_an_example() {
        fn paths(command: &clap::Command, path: &[String], all: &mut Vec<Vec<String>>) {
            let verbs = command.get_subcommands().filter(|verb| verb.get_name() != "help");
            let mut is_leaf = true;
            for verb in verbs {
                is_leaf = false;
                let mut inner = path.to_vec();
                inner.push(verb.get_name().to_owned());
                paths(verb, &inner, all);
            }
            if is_leaf {
                all.push(path.to_vec());
            }
        }
        let mut cli = Cli::command();
        cli.build();
        let mut all = Vec::new();
        paths(&cli, &[], &mut all);
        assert!(all.len() > 15, "{all:?}");
        for path in all {
            let words = ["offkit", "help"]
                .map(str::to_owned)
                .into_iter()
                .chain(path.clone());
            let help = parse(words.map(OsString::from).collect()).expect_err("help is no command line");
            assert!(help.to_string().contains("Examples:"), "{path:?}: {help}");
        }
    }

    #[test]
    fn a_command_says_of_itself_what_is_said_in_the_list_of_commands() {
        let said = |command: &clap::Command| {
            let each = command.get_subcommands();
            each.map(|verb| {
                (
                    verb.get_name().to_owned(),
                    verb.get_about().map(ToString::to_string),
                )
            })
            .filter(|(name, _)| name != "help")
            .collect::<Vec<_>>()
        };
        let listed = said(&Cli::command());
        let mut built = Cli::command();
        built.build();
        assert!(listed.len() > 10);
        assert_eq!(said(&built), listed);
    }
}
