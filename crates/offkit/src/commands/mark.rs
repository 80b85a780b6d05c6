//! `offkit mark`: marks on kernels and exported functions, as `offkit cc` makes them.

use clap::Args;
use offkit_llvm::Worker;
use serde_json::json;
use std::path::PathBuf;

use super::link::worker_failure;
use super::module_source::module_source;
use super::written::{Written, keep_apart};
use crate::failure::Failure;
use crate::terminal::Terminal;
use offkit_host::files;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
clang 22 does not record which functions of a module other modules may call. The macros of `offkit/device.h` do, and \
`offkit mark` turns them into the attribute `sycl-module-id` that DPC++'s compiler writes. `offkit cc` marks everything \
that it compiles.

Examples:
  clang++-22 -fsycl -fsycl-device-only -I include \\
      -c app.cpp -o app.bc
  offkit mark app.bc --module-id app.cpp -o marked.bc";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Mark {
    /// The module, LLVM bitcode or text
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// The bitcode file to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The source file's name, by which offkit splits per source
    #[arg(long, value_name = "NAME")]
    module_id: String,
    /// Leave a module as it is if it has no annotation of `offkit/device.h`
    #[arg(long)]
    only_annotated: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Mark, terminal: Terminal) -> Result<(), Failure> {
    keep_apart(arguments.json, &arguments.output)?;
    files::check_output(&arguments.output).map_err(Failure::input)?;
    files::check_inputs_stay(&arguments.output, [&arguments.input]).map_err(Failure::input)?;
    // All that can be wrong with names of files was found before LLVM is started.
    let input = module_source(&arguments.input)?;
    let mut worker = Worker::start().map_err(worker_failure)?;
    let marked = worker
        .marked(input, &arguments.module_id, arguments.only_annotated)
        .map_err(worker_failure)?;
    files::write(&arguments.output, &[&marked]).map_err(Failure::input)?;
    if !arguments.json {
        return Ok(());
    }
    let mut written = Written::default();
    written.read(&arguments.output, &marked);
    let said = json!({ "input": arguments.input.display().to_string(), "module_id": arguments.module_id });
    terminal.json(SCHEMA, &written.json(said))
}
