//! `offkit`: the toolkit for offloaded device code.
//!
//! The program is a thin layer: it reads the command line, calls the libraries, and shows what they
//! return. Whatever a user of the libraries would miss belongs in them.
//!
//! | module | holds |
//! |---|---|
//! | `cli` | the verbs, in groups, and the options common to all |
//! | `commands` | one module for each verb: its options and what it does |
//! | `environment` | the variables that are looked at |
//! | `array` | arrays of numbers, `.npy` files |
//! | `terminal` | what people see: text, colours, progress |
//! | `pager` | where listings go that are longer than the terminal |
//! | `failure` | how the program fails: message, causes, hints, exit code |

mod array;
mod cli;
mod commands;
mod environment;
mod failure;
mod pager;
mod terminal;

use std::env::VarError;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use offkit_host::command_line::expand;
use tracing_subscriber::EnvFilter;

use cli::{Color, Command};
use failure::Failure;
use terminal::Terminal;

fn main() -> ExitCode {
    offkit_pi::host::trace::to_standard_error();
    // Before the first temporary file: only then is it removed where an interrupt ends the program.
    offkit_host::temporary::handle_signals();
    let mut arguments = std::env::args_os();
    if let Some(called) = arguments.next()
        && let Some(status) = offkit_peers::run(&called, arguments)
    {
        return status;
    }
    // Whatever follows the name of a tool is the tool's, `--help` and `-q` too.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|verb| verb == "as")
        && let Some(name) = arguments.next()
        && let Some(status) = offkit_peers::run(&name, arguments)
    {
        return status;
    }
    // What follows these names and verbs is clang's.
    let mut arguments = std::env::args_os();
    if let Some(called) = arguments.next()
        && let Some(language) = commands::cc::language_of_program(&called)
    {
        return commands::cc::run(language, arguments.collect(), Terminal { quiet: false });
    }
    if let Some(verb) = arguments.next()
        && let Some(language) = commands::cc::language_of_verb(&verb)
    {
        return commands::cc::run(language, arguments.collect(), Terminal { quiet: false });
    }
    let cli = match cli::parse(with_response_files(std::env::args_os().collect())) {
        Ok(cli) => cli,
        // Help and the version are what was asked for.
        Err(answer) if !answer.use_stderr() => {
            let terminal = Terminal { quiet: false };
            let shown = terminal::written(answer.print());
            return exit_code(shown, terminal);
        }
        Err(error) => error.exit(),
    };
    match cli.common.color {
        Color::Auto => {}
        Color::Always => anstream::ColorChoice::Always.write_global(),
        Color::Never => anstream::ColorChoice::Never.write_global(),
    }
    let terminal = Terminal {
        quiet: cli.common.quiet,
    };
    log(cli.common.verbose, terminal);
    if cli.command.is_listing() && !cli.common.no_pager {
        pager::start();
    }
    let result = match &cli.command {
        Command::Ls(options) => commands::ls::run(options, terminal),
        Command::Size(options) => commands::size::run(options, terminal),
        Command::Check(options) => commands::check::run(options, terminal),
        Command::Diff(options) => commands::diff::run(options, terminal),
        Command::Show(options) => commands::show::run(options, terminal),
        Command::Extract(options) => commands::extract::run(options, terminal),
        Command::Replace(options) => commands::replace::run(options, terminal),
        Command::Thin(options) => commands::thin::run(options, terminal),
        Command::Split(options) => commands::split::run(options, terminal),
        Command::Join(options) => commands::join::run(options, terminal),
        Command::Pack(options) => commands::pack::run(options, terminal),
        Command::Convert(options) => commands::convert::run(options, terminal),
        Command::Verify(options) => commands::verify::run(options, terminal),
        Command::As(options) => match commands::tool::run(options) {
            Ok(status) => return status,
            Err(failure) => Err(failure),
        },
        Command::PostLink(options) => commands::post_link::run(options, terminal),
        Command::Link(options) => commands::link::run(options, terminal),
        Command::Cache(cache) => commands::cache::run(cache, terminal),
        Command::Icd(icd) => commands::icd::run(icd, terminal),
        Command::Devlib(devlib) => commands::devlib::run(devlib, terminal),
        Command::Wrap(options) => commands::wrap::run(options, terminal),
        Command::Run(options) => commands::run::run(options, terminal),
        Command::Explain(options) => commands::explain::run(options, terminal),
        Command::Graph(options) => commands::graph::run(options, terminal),
        Command::Doctor(options) => commands::doctor::run(options, terminal),
        Command::Devices(options) => commands::devices::run(options, cli.common.verbose > 0, terminal),
        Command::Cc(options) => {
            return commands::cc::run(offkit_driver::Language::C, options.arguments.clone(), terminal);
        }
        Command::Cxx(options) => {
            return commands::cc::run(offkit_driver::Language::Cxx, options.arguments.clone(), terminal);
        }
        Command::Mark(options) => commands::mark::run(options, terminal),
        Command::Completions(options) => commands::completions::run(options, cli::command(), terminal),
        Command::Man(options) => commands::man::run(options, cli::command(), terminal),
    };
    exit_code(result, terminal)
}

fn exit_code(result: Result<(), Failure>, terminal: Terminal) -> ExitCode {
    // Why it failed is said where it can still be read.
    let shown = terminal::written(pager::finish());
    match result.and(shown) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            terminal.failure(&failure);
            ExitCode::from(failure.status as u8)
        }
    }
}

/// The arguments, with those of files in the place of `@FILE` for a link, which may have very many.
fn with_response_files(mut words: Vec<OsString>) -> Vec<OsString> {
    let mut verb = words
        .iter()
        .skip(1)
        .position(|word| !word.as_encoded_bytes().starts_with(b"-"));
    // The only option before a verb whose value is a word of its own.
    // The place counts without the program's name, and so is that of the word before in `words`.
    if verb.is_some_and(|at| words[at] == "--color") {
        verb = verb.map(|at| at + 1);
    }
    if let Some(at) = verb.map(|at| at + 1)
        && words.get(at).is_some_and(|verb| verb == "link")
    {
        let rest = words.split_off(at + 1);
        words.extend(expand(rest, &|path: &Path| std::fs::read_to_string(path).ok()));
    }
    words
}

fn log(verbose: u8, terminal: Terminal) {
    let level = match verbose {
        0 => "off",
        1 => "debug",
        _ => "trace",
    };
    let usual = || {
        EnvFilter::new(format!(
            "off,offkit={level},offkit_link={level},offkit_runtime={level},offkit_pi={level},offkit_plugin_cpu={level},offkit_llvm={level}"
        ))
    };
    let filter = match std::env::var(environment::LOG) {
        Err(VarError::NotPresent) => usual(),
        Err(error) => {
            terminal.warning(format_args!("{} is ignored: {error}", environment::LOG));
            usual()
        }
        Ok(text) if text.is_empty() => usual(),
        Ok(text) => EnvFilter::try_new(&text).unwrap_or_else(|error| {
            terminal.warning(format_args!("{} is ignored: {error}", environment::LOG));
            usual()
        }),
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .without_time()
        // Told on standard error, which is what failed.
        .log_internal_errors(false)
        .init();
}
