//! `offkit mark`: marks on kernels and exported functions, as `offkit cc` makes them.

use offkit_llvm::Worker;

use super::link::{temporary_failure, worker_failure};
use super::worker_inputs::WorkerInputs;
use crate::cli::Mark;
use crate::failure::Failure;
use offkit_host::files;

pub(crate) fn run(arguments: &Mark) -> Result<(), Failure> {
    let _temporary = offkit_host::temporary::keep_together();
    files::check_output(&arguments.output).map_err(Failure::input)?;
    files::check_inputs_stay(&arguments.output, [&arguments.input]).map_err(Failure::input)?;
    let inputs = WorkerInputs::check(std::slice::from_ref(&arguments.input))?;
    let folder = tempfile::Builder::new().prefix("offkit-mark-").tempdir();
    let folder = folder.map_err(temporary_failure)?;
    let marked = folder.path().join("marked.bc");
    let mut worker = Worker::start().map_err(worker_failure)?;
    for input in &inputs.paths {
        worker
            .mark(input, &marked, &arguments.module_id, arguments.only_annotated)
            .map_err(worker_failure)?;
    }
    let content = files::open(&marked).map_err(Failure::input)?;
    files::write(&arguments.output, &[&content]).map_err(Failure::input)
}
