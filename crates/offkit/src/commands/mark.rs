//! `offkit mark`: marks on kernels and exported functions, a step of `offkit cc`.

use offkit_link::device_link::LinkError;
use offkit_worker::Worker;

use super::link::failure;
use crate::cli::Mark;
use crate::failure::Failure;
use crate::files;

pub(crate) fn run(arguments: &Mark) -> Result<(), Failure> {
    files::check_output(&arguments.output).map_err(Failure::input)?;
    // Missing files are told before LLVM starts.
    drop(files::open(&arguments.input).map_err(Failure::input)?);
    let folder = tempfile::Builder::new().prefix("offkit-mark-").tempdir();
    let folder = folder.map_err(|error| failure(LinkError::Temporary(error)))?;
    let marked = folder.path().join("marked.bc");
    let mut worker = Worker::start().map_err(|error| failure(error.into()))?;
    worker
        .mark(
            &arguments.input,
            &marked,
            &arguments.module_id,
            arguments.only_annotated,
        )
        .map_err(|error| failure(error.into()))?;
    let content = files::open(&marked).map_err(Failure::input)?;
    files::write(&arguments.output, &[&content]).map_err(Failure::input)
}
