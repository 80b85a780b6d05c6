//! `offkit completions`: what a shell completes offkit's command line by.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  offkit completions bash > /etc/bash_completion.d/offkit
  offkit completions fish | source
  offkit completions zsh > ~/.zfunc/_offkit";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell to write for
    shell: Shell,
}

/// Writes what a shell needs to know of a command line.
pub(crate) fn run(options: &Completions, mut command: Command, terminal: Terminal) -> Result<(), Failure> {
    // Into memory first: the generator panics where it cannot write, as to a pipe that was closed.
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut command, "offkit", &mut script);
    let mut output = terminal.output();
    output.lines(&String::from_utf8_lossy(&script))?;
    output.finish()
}
