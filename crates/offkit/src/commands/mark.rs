//! `offkit mark`: marks on kernels and exported functions, as `offkit cc` makes them.

use offkit_llvm::Worker;

use super::link::worker_failure;
use super::module_source::module_source;
use crate::cli::Mark;
use crate::failure::Failure;
use offkit_host::files;

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
