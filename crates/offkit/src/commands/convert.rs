//! `offkit convert`: the content of one container in another format.

use std::path::Path;

use clap::Args;
use offkit_object::{ConversionInput, Converted, Error, ErrorKind, OutputFormat};
use serde_json::json;

use crate::cli::Convert;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::Terminal;
use offkit_host::files;

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
    if options.json && options.allow_loss && files::is_standard_stream(output) {
        return Err(
            Failure::input("the file and what is lost cannot both go to standard output")
                .hint("name a file with -o, or leave --json out"),
        );
    }
    for loss in &converted.losses {
        if options.json {
            terminal.line(json!({
                "file": loss.location.file(),
                "location": loss.location.to_string(),
                "loss": loss.what,
            }))?;
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
            let message = format!("{things} cannot be said in {format}: nothing was written");
            return Err(Failure::new(ExitStatus::No, message).hint("--allow-loss writes the rest"));
        }
    }
    Ok(())
}
