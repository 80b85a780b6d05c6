//! Runs the tests on a plugin's library.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use offkit_pi::host::Plugin;
use offkit_plugin_tests::{Code, Outcome, run};

const USAGE: &str = "usage: offkit-plugin-tests PLUGIN.so [FOLDER]
       offkit-plugin-tests --write-code FOLDER

The kernels are compiled by clang 22, or read from FOLDER, where --write-code wrote them. A device that takes no SPIR-V gets
FOLDER/kernels.ptx, if it is there.";

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of the command line"
)]
fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    let (library, code) = match &words[..] {
        [option, folder] if option == "--write-code" => {
            return match Code::compile().and_then(|code| code.write(Path::new(folder))) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("error: {error}");
                    ExitCode::from(2)
                }
            };
        }
        [library] => (library, Code::compile()),
        [library, folder] => (library, Code::read(Path::new(folder))),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    let plugin = match Plugin::load(library) {
        Ok(plugin) => plugin,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    let code = code.inspect_err(|error| eprintln!("warning: no kernels are run: {error}"));
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
    // 1 if tests have failed, as against 2 where none could be run.
    ExitCode::from(u8::from(failed > 0))
}
