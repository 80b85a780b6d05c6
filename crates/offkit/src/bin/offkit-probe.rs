//! Tries a plugin for offkit in a process of its own: see `offkit_runtime::probe`.

use std::env;
use std::process::ExitCode;

use anstream::eprintln;
use offkit_runtime::probe;

fn main() -> ExitCode {
    match probe::attempt(env::args_os().skip(1)) {
        Some(()) => ExitCode::SUCCESS,
        None => {
            eprintln!(
                "{0} tries a plugin for offkit; usage: {0} LIBRARY [--below] [--without LIBRARY-BELOW-IT]...",
                probe::HELPER
            );
            ExitCode::from(2)
        }
    }
}
