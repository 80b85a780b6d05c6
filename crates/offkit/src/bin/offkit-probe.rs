//! Tries a plugin for offkit in a process of its own: see `offkit_runtime::probe`.

use std::env;
use std::process::ExitCode;

use anstream::eprintln;
use offkit_runtime::probe;

fn main() -> ExitCode {
    let Some(library) = env::args_os().nth(1) else {
        eprintln!("{0} tries a plugin for offkit; usage: {0} LIBRARY", probe::HELPER);
        return ExitCode::from(2);
    };
    probe::attempt(library);
    ExitCode::SUCCESS
}
