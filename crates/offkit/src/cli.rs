//! The command line: the verbs, in groups, and the options that all of them take. Each verb's own are in its module.

use std::ffi::OsString;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::cache::Cache;
use crate::commands::cc::Cc;
use crate::commands::check::Check;
use crate::commands::completions::Completions;
use crate::commands::convert::Convert;
use crate::commands::devices::Devices;
use crate::commands::devlib::Devlib;
use crate::commands::diff::Diff;
use crate::commands::doctor::Doctor;
use crate::commands::explain::Explain;
use crate::commands::extract::Extract;
use crate::commands::graph::Graph;
use crate::commands::icd::Icd;
use crate::commands::join::Join;
use crate::commands::link::Link;
use crate::commands::ls::Ls;
use crate::commands::man::Man;
use crate::commands::mark::Mark;
use crate::commands::pack::Pack;
use crate::commands::post_link::PostLinkArguments;
use crate::commands::replace::Replace;
use crate::commands::run::Run;
use crate::commands::show::Show;
use crate::commands::size::Size;
use crate::commands::split::Split;
use crate::commands::thin::Thin;
use crate::commands::tool::As;
use crate::commands::verify::Verify;
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
Exit codes: 0 done; 1 the answer is no (no match, a difference, a broken rule, a loss); 2 bad input or usage; \
3 the machine lacks something (a device, LLVM); 130 interrupted.";

/// The heading of the options that every command takes.
const COMMON: &str = "Common options";

/// The commands as `offkit --help` groups them.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Look",
        &[
            "ls", "size", "check", "diff", "show", "verify", "explain", "graph",
        ],
    ),
    (
        "Change",
        &["extract", "replace", "thin", "split", "join", "convert"],
    ),
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
    ("Run", &["run", "devices", "doctor", "cache", "icd"]),
    ("Install", &["completions", "man"]),
];

/// The command line, with the commands in groups.
pub(crate) fn command() -> clap::Command {
    // clap puts options into groups and no subcommands: the list is made here, as a template.
    let command = Cli::command();
    let mut template = "{about}\n\n{usage-heading} {usage}\n".to_owned();
    let heading = clap::builder::Styles::styled().get_header().to_owned();
    for (group, names) in GROUPS {
        template += &format!("\n{heading}{group}:{heading:#}\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            template += &format!("  {name:<11} {about}\n");
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
    /// Never use a pager, even for output longer than the terminal
    #[arg(long, global = true, display_order = 1003, help_heading = COMMON)]
    pub(crate) no_pager: bool,
}

impl Command {
    /// Whether it prints what may be long, and nothing else: a pager may show that.
    pub(crate) fn is_listing(&self) -> bool {
        matches!(
            self,
            Self::Ls(_)
                | Self::Size(_)
                | Self::Check(_)
                | Self::Diff(_)
                | Self::Show(_)
                | Self::Verify(_)
                | Self::Explain(_)
                | Self::Graph(_)
                | Self::Doctor(_)
                | Self::Cache(Cache::List(_))
        )
    }
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
    /// Sum up bytes by architecture, library and kernel family
    Size(Size),
    /// Check which kernels run on which devices
    Check(Check),
    /// List the images and kernels that two builds do not share
    Diff(Diff),
    /// Show all that containers and code say about images
    Show(Show),
    /// Take images out of files, byte for byte
    Extract(Extract),
    /// Replace an image and change nothing else
    Replace(Replace),
    /// Leave out the device code for some targets and change nothing else
    Thin(Thin),
    /// Move a file's device code into a pack for each architecture
    Split(Split),
    /// Put files back together from the packs that `split` wrote
    Join(Join),
    /// Pack device images into an offload binary, a SYCLBIN or a bundle
    Pack(Pack),
    /// Convert an offload binary, a SYCLBIN or a bundle to another format
    Convert(Convert),
    /// Check files against every rule of their formats
    Verify(Verify),
    /// Explain which images a kernel gets on a device, and why
    Explain(Explain),
    /// Draw which images need which: SVG, Graphviz, text or JSON
    Graph(Graph),
    /// Run as one of ten tools, such as `clang-offload-bundler`
    As(As),
    /// Split a device module into images that a runtime can choose from
    PostLink(PostLinkArguments),
    /// Link bitcode, SPIR-V, or files that hold them, into one container
    Link(Box<Link>),
    /// Find, query, check and build device libraries
    #[command(subcommand)]
    Devlib(Devlib),
    /// Manage the cache of built programs and device libraries
    #[command(subcommand)]
    Cache(Cache),
    /// Install, show or remove offkit's OpenCL driver
    #[command(subcommand)]
    Icd(Icd),
    /// Wrap images in a host object that registers them at startup
    Wrap(WrapOptions),
    /// Launch a kernel and write its results
    Run(Box<Run>),
    /// List the devices that kernels can run on
    Devices(Devices),
    /// Explain why offkit finds a device or misses it, and what to do
    Doctor(Doctor),
    /// Compile and link C with device code; takes clang's options
    #[command(name = "cc", disable_help_flag = true)]
    Cc(Cc),
    /// Compile and link C++ with device code; takes clang's options
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(Cc),
    /// Mark functions in bitcode with the source file they come from
    Mark(Mark),
    /// Write a script with which a shell completes offkit's commands
    Completions(Completions),
    /// Write a manual page for each command
    Man(Man),
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
        // Nothing wraps the list where it is shown.
        let (list, _) = help.split_once("\n`offkit help").unwrap();
        let longest = list.lines().max_by_key(|line| line.chars().count()).unwrap();
        assert!(
            longest.chars().count() <= 80,
            "`{longest}` is too long for a terminal"
        );
        for line in ["Look:", "  ls          List the device code inside files", "Run:"] {
            assert!(help.lines().any(|shown| shown == line), "{help}");
        }
    }

    /// The names of all commands that do something, `cache-list` for `offkit cache list`, by whether they have `--json`.
    fn verbs() -> (Vec<String>, Vec<String>) {
        fn collect(command: &clap::Command, name: &str, all: &mut Vec<(String, bool)>) {
            for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
                let name = format!("{name}-{}", verb.get_name());
                if !verb.has_subcommands() {
                    let has_json = verb.get_arguments().any(|option| option.get_id() == "json");
                    all.push((name.trim_start_matches('-').to_owned(), has_json));
                }
                collect(verb, &name, all);
            }
        }
        let mut cli = Cli::command();
        cli.build();
        let mut all = Vec::new();
        collect(&cli, "", &mut all);
        let (with, without): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, has_json)| *has_json);
        let names = |verbs: Vec<(String, bool)>| verbs.into_iter().map(|(name, _)| name).collect();
        (names(with), names(without))
    }

    #[test]
    fn all_commands_have_json() {
        // Command lines of others, and what writes a script or pages for a shell.
        const WITHOUT: [&str; 5] = ["as", "c++", "cc", "completions", "man"];
        let (with, mut without) = verbs();
        without.sort_unstable();
        assert_eq!(without, WITHOUT);
        assert!(with.len() > 30, "{with:?}");
    }

    #[test]
    fn all_json_has_a_schema() {
        let (all, _) = verbs();
        let schemas = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
        for name in all {
            assert!(
                schemas.join(format!("{name}.json")).is_file(),
                "docs/schemas/{name}.json"
            );
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
