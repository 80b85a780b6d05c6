//! `clang-offload-bundler`, as in LLVM 22.
//!
//! The options, the files written, the order of listings and the messages that scripts look for are those of
//! the original. It differs on purpose where the original is wrong: headers that do not fit are errors that
//! name offset and field, names of processors that clang does not know are kept, a text bundle that is cut off
//! is an error, and archives are listed. `-q FILE` answers what code a file has, in short.
//!
//! | module | holds |
//! |---|---|
//! | `options` | the command line and the environment |
//! | `help` | the text of `--help` |
//! | `target` | the IDs of targets: which are allowed, and which fit together |
//! | `bundled` | bundled files of every type: reading and writing them |
//! | `order` | the order in which entries are listed |
//! | `query` | the answer to `-q` |

mod archive;
mod bundled;
mod compression;
mod help;
mod options;
mod order;
mod query;
mod target;

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use bundled::{Content, FileType};
use offkit_host::files;
use options::{Mode, Options};
use target::TargetId;

/// The name in messages.
const NAME: &str = "clang-offload-bundler";

/// What goes wrong, as the text after `error: `.
#[derive(Debug)]
pub(crate) struct Message(String);

type Result<T> = std::result::Result<T, Message>;

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Message {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What is wrong with the content of a file.
    fn of_content(file: &str, error: offkit_object::Error) -> Self {
        Self(error.with_file(file).to_string())
    }

    /// What is wrong with a file as a whole, in the system's words alone.
    fn of_file(file: &str, error: &files::FileError) -> Self {
        let reason = error.source().map(ToString::to_string).unwrap_or_default();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        Self(format!("'{file}': {reason}"))
    }
}

/// Runs the tool; the arguments are those after the program's name.
pub(crate) fn main(args: Vec<OsString>) -> ExitCode {
    let options = match options::parse(args) {
        Ok(options) => options,
        Err(options::Stop::Print(text)) => {
            crate::show(&text);
            return ExitCode::SUCCESS;
        }
        Err(options::Stop::Usage(messages)) => {
            for message in messages {
                say(format_args!("{NAME}: {message}"));
            }
            return ExitCode::FAILURE;
        }
    };
    for warning in &options.warnings {
        say(format_args!("{NAME}: warning: {warning}"));
    }
    match run(&options) {
        Ok(text) => {
            crate::show(&text);
            ExitCode::SUCCESS
        }
        Err(message) => {
            say(format_args!("{NAME}: error: {message}"));
            ExitCode::FAILURE
        }
    }
}

/// Does what is asked and returns what is to be printed.
fn run(options: &Options) -> Result<String> {
    match options.mode()? {
        Mode::Query(file) => query::query(file, &read(file)?),
        Mode::List(file) => list(options, file),
        Mode::Unbundle(file) => {
            let targets = target::parse_all(&options.targets, false)?;
            if options.file_type == "a" {
                archive::unbundle(options, &targets, file, &read(file)?)?;
            } else {
                unbundle(options, &targets, file)?;
            }
            Ok(String::new())
        }
        Mode::Bundle(output) => {
            let targets = target::parse_all(&options.targets, true)?;
            bundle(options, &targets, output)?;
            Ok(String::new())
        }
    }
}

fn list(options: &Options, file: &str) -> Result<String> {
    let bytes = read(file)?;
    let file_type = FileType::parse(&options.file_type)?;
    let ids = if file_type.is_object() && archive::is_archive(&bytes) {
        archive::list(options, file, &bytes)?
    } else {
        let bytes = compression::unpack(options, file, &bytes)?;
        let entries = bundled::read(file_type, file, &bytes)?;
        bundled::ids(&entries)
    };
    Ok(ids.iter().map(|id| format!("{id}\n")).collect())
}

fn bundle(options: &Options, targets: &[TargetId], output: &str) -> Result<()> {
    let file_type = FileType::parse(&options.file_type)?;
    let inputs = options.inputs.iter().map(|input| read(input));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let entries: Vec<(&TargetId, &[u8])> = targets.iter().zip(inputs.iter().map(|input| &**input)).collect();
    let host = targets.iter().position(TargetId::is_host);
    if options.print_commands
        && file_type.is_object()
        && let Some(host) = host
        && bundled::is_object_bundle(&entries, host)
    {
        let command = bundled::add_command(targets, &options.inputs, host, output);
        say(format_args!("{command}"));
        return Ok(());
    }
    let chunks = bundled::write(file_type, &entries, options.alignment)?;
    if options.compress {
        return write(output, &[&compression::pack(options, &chunks.into_bytes())?]);
    }
    write(output, &chunks.slices())
}

fn unbundle(options: &Options, targets: &[TargetId], file: &str) -> Result<()> {
    let file_type = FileType::parse(&options.file_type)?;
    let bytes = read(file)?;
    let bytes = compression::unpack(options, file, &bytes)?;
    let entries = bundled::read(file_type, file, &bytes)?;
    let known: Vec<&str> = entries.iter().map(|entry| &*entry.id).collect();
    let found: Vec<Option<usize>> = targets
        .iter()
        .map(|target| target.find_in(&known, options.hip_openmp_compatible))
        .collect();
    let mut missing: Vec<String> = targets
        .iter()
        .zip(&found)
        .filter(|(_, found)| found.is_none())
        .map(|(target, _)| target.to_string())
        .collect();
    if !missing.is_empty() && !options.allow_missing {
        missing.sort();
        return Err(Message::new(format!(
            "Can't find bundles for {}",
            enumerate(&missing)
        )));
    }
    // A file without any of the targets is taken for what the host has.
    let is_host_alone = found.iter().all(Option::is_none);
    for ((target, found), output) in targets.iter().zip(found).zip(&options.outputs) {
        match found.and_then(|index| entries.get(index)) {
            Some(entry) => match &entry.content {
                Content::Bytes(bytes) => {
                    let same = entries.iter().filter(|other| other.id == entry.id).count();
                    if same > 1 {
                        say(format_args!(
                            "{NAME}: warning: '{file}' has {same} entries {}; the first is written",
                            entry.id
                        ));
                    }
                    write(output, &[bytes])?;
                }
                Content::HostObject if options.print_commands => {
                    say(format_args!("{}", bundled::remove_command(file, output)));
                }
                Content::HostObject => write(output, &[&bundled::host_object(file, &bytes)?])?,
            },
            None if is_host_alone && target.is_host() => write(output, &[&bytes])?,
            None => write(output, &[])?,
        }
    }
    Ok(())
}

/// `A`, `A and B`, `A, B, and C`.
fn enumerate(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [one, two] => format!("{one} and {two}"),
        [most @ .., last] => format!("{}, and {last}", most.join(", ")),
    }
}

fn read(file: &str) -> Result<files::Content> {
    files::open(Path::new(file)).map_err(|error| Message::of_file(file, &error))
}

fn write(file: &str, chunks: &[&[u8]]) -> Result<()> {
    crate::write(Path::new(file), chunks).map_err(|error| Message::of_file(file, &error))
}

/// Writes a line to standard error.
fn say(text: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
