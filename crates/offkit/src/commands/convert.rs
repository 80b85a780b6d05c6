//! `offkit convert`: the content of one container in another format.

use std::path::Path;

use offkit_object::{ConversionInput, Converted, OutputFormat};

use crate::cli::Convert;
use crate::failure::{ExitStatus, Failure};
use crate::files;
use crate::terminal::Terminal;

pub(crate) fn run(options: &Convert, terminal: Terminal) -> Result<(), Failure> {
    files::check_output(&options.output).map_err(Failure::input)?;
    let name = options.input.display().to_string();
    let content = files::open(&options.input).map_err(Failure::input)?;
    let failed = |error: offkit_object::Error| Failure::input(error.with_file(name.clone()));
    let input = ConversionInput::open(&name, &content, &super::limits()).map_err(failed)?;
    let converted = input
        .convert(options.to, options.state.bundle_state())
        .map_err(failed)?;
    write(
        &converted,
        &options.output,
        options.to,
        options.allow_loss,
        terminal,
    )
}

/// Writes a file unless something would be lost that must not be.
pub(super) fn write(
    converted: &Converted<'_>,
    output: &Path,
    format: OutputFormat,
    allow_loss: bool,
    terminal: Terminal,
) -> Result<(), Failure> {
    for loss in &converted.losses {
        terminal.warning(format_args!("{loss} is lost"));
    }
    match converted.losses.len() {
        0 => {}
        _ if allow_loss => {}
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
    files::write(output, &converted.content.slices()).map_err(Failure::input)
}
