//! `offkit mark`: marks on kernels and exported functions, as `offkit cc` makes them.

use clap::Args;
use offkit_llvm::Worker;
use std::path::PathBuf;

use super::link::worker_failure;
use super::module_source::module_source;
use crate::failure::Failure;
use offkit_host::files;

const EXAMPLES: &str = "\
clang 22 leaves no trace of which functions of a module others may call. The words of `offkit/device.h` do, and this \
turns them into what DPC++'s compiler writes, the attribute `sycl-module-id`. `offkit cc` marks all that it compiles.

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
    /// The source file's name, which splitting by source goes by
    #[arg(long, value_name = "NAME")]
    module_id: String,
    /// Leave a module as it is that has no annotation of `offkit/device.h`
    #[arg(long)]
    only_annotated: bool,
}

pub(crate) fn run(arguments: &Mark) -> Result<(), Failure> {
    files::check_output(&arguments.output).map_err(Failure::input)?;
    files::check_inputs_stay(&arguments.output, [&arguments.input]).map_err(Failure::input)?;
    let input = module_source(&arguments.input)?;
    let mut worker = Worker::start().map_err(worker_failure)?;
    let marked = worker
        .marked(input, &arguments.module_id, arguments.only_annotated)
        .map_err(worker_failure)?;
    files::write(&arguments.output, &[&marked]).map_err(Failure::input)
}
