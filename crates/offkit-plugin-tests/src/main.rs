//! Runs the tests on a plugin's library.

use std::env;
use std::process::ExitCode;

use offkit_pi::host::Plugin;
use offkit_plugin_tests::{Code, Outcome, run};

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of the command line"
)]
fn main() -> ExitCode {
    let Some(library) = env::args_os().nth(1) else {
        eprintln!("usage: offkit-plugin-tests PLUGIN.so");
        return ExitCode::from(2);
    };
    let plugin = match Plugin::load(library) {
        Ok(plugin) => plugin,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let code = Code::compile().inspect_err(|error| eprintln!("warning: no kernels are run: {error}"));
    let mut failed = 0;
    for (name, outcome) in run(&plugin, code.ok().as_ref()) {
        match outcome {
            Outcome::Passed => println!("ok           {name}"),
            Outcome::Unsupported(what) => println!("unsupported  {name}: {what}"),
            Outcome::Failed(what) => {
                failed += 1;
                println!("FAILED       {name}: {what}");
            }
        }
    }
    ExitCode::from(u8::from(failed > 0))
}
