//! `offkit convert`: the content of one container in another format.

use super::limits::Bounds;
use std::path::Path;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use offkit_object::{BundleState, ConversionInput, Converted, Error, ErrorKind, OutputFormat};
use serde_json::json;

use crate::failure::{ExitStatus, Failure};
use crate::terminal::Terminal;
use offkit_host::files;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit convert app.out -o app.v2 --to offload,v2
  offkit convert app.syclbin -o app.out \\
      --to offload,v1 --allow-loss";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    /// The file to read; `-` is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The container to write: `offload,v1|v2|v3`, `syclbin,v1|v2`, `bundle,binary|text|compressed`
    #[arg(long, alias = "format", value_name = "CONTAINER")]
    to: OutputFormat,
    /// The state of a SYCLBIN, if the input has none
    #[arg(long, default_value = "object")]
    state: State,
    #[command(flatten)]
    losses: LossOptions,
    #[command(flatten)]
    limits: Bounds,
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

pub(crate) fn run(options: &Convert, terminal: Terminal) -> Result<(), Failure> {
    files::check_output(&options.output).map_err(Failure::input)?;
    let name = options.input.display().to_string();
    let content = files::open(&options.input).map_err(Failure::input)?;
    let failed = |error: Error| {
        let kind = error.kind();
        let failure = Failure::input(error.with_file(name.clone()));
        match kind {
            ErrorKind::NotRecognized => {
                failure.hint("`offkit extract` takes images out of anything, and `offkit pack` packs them")
            }
            _ => failure,
        }
    };
    let input = ConversionInput::open(&name, &content, &options.limits.limits()).map_err(failed)?;
    let converted = input
        .convert(options.to, options.state.bundle_state())
        .map_err(failed)?;
    // In place, what is written is all that is left.
    let write_file = match files::is_same(&options.input, &options.output) {
        true => files::replace,
        false => files::write,
    };
    check_losses(&converted, &options.output, options.to, &options.losses, terminal)?;
    write_file(&options.output, &converted.content.slices()).map_err(Failure::input)
}

// What is to happen when a format cannot say everything.
#[derive(Debug, Args)]
pub(crate) struct LossOptions {
    /// Write even if the format cannot say everything
    #[arg(long)]
    allow_loss: bool,
    /// Write one JSON object a line to standard output, one line a thing that is lost
    #[arg(long)]
    json: bool,
}

/// Tells what is lost in a file to be written, and fails where nothing may be.
pub(super) fn check_losses(
    converted: &Converted<'_>,
    output: &Path,
    format: OutputFormat,
    options: &LossOptions,
    terminal: Terminal,
) -> Result<(), Failure> {
    // Without --allow-loss a loss is an error and no file is written, so that JSON is alone there.
    if options.json && options.allow_loss && files::is_standard_stream(output) {
        return Err(
            Failure::input("the file and what is lost cannot both go to standard output")
                .hint("name a file with -o, or leave --json out"),
        );
    }
    for loss in &converted.losses {
        if options.json {
            let line = json!({
                "file": loss.location.file(),
                "location": loss.location.to_string(),
                "loss": loss.what,
            });
            terminal.json(SCHEMA, &line)?;
        }
        terminal.warning(format_args!("{loss} is lost"));
    }
    match converted.losses.len() {
        0 => {}
        _ if options.allow_loss => {}
        count => {
            let things = if count == 1 {
                "one thing".to_owned()
            } else {
                format!("{count} things")
            };
            let message = format!("{format} cannot hold {things}: nothing is written");
            return Err(Failure::new(ExitStatus::No, message).hint("--allow-loss writes the rest"));
        }
    }
    Ok(())
}
