//! `offkit man`: a manual page for each command.

use std::path::PathBuf;

use clap::{Args, Command};

use crate::failure::Failure;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  offkit man ~/.local/share/man/man1
  offkit man pages && man pages/offkit-ls.1";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Man {
    /// The folder for the pages, such as `offkit-ls.1`; created if needed
    folder: PathBuf,
}

/// Writes the pages of a command line.
pub(crate) fn run(options: &Man, command: Command, terminal: Terminal) -> Result<(), Failure> {
    let folder = &options.folder;
    let failure = |error| Failure::input(format!("cannot write pages into {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failure)?;
    clap_mangen::generate_to(command, folder).map_err(failure)?;
    terminal.note(format_args!("wrote pages into {}", folder.display()));
    Ok(())
}
