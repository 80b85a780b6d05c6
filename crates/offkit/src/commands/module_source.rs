//! Modules that the worker reads.

use std::fs::File;
use std::path::Path;

use offkit_llvm::Source;

use crate::failure::Failure;
use offkit_host::files;

/// The module in a file, which the worker reads itself, or from standard input.
pub(super) fn module_source(path: &Path) -> Result<Source<'static>, Failure> {
    if files::is_standard_stream(path) {
        let content = files::open(path).map_err(Failure::input)?;
        return Ok(Source::bytes("<stdin>", content.to_vec()));
    }
    // Looked at now, so that a file that is not there is told by its name, before LLVM is started.
    match File::open(path) {
        Ok(_) => Ok(Source::file(path)),
        Err(error) => Err(Failure::input(format!(
            "cannot read `{}`: {error}",
            path.display()
        ))),
    }
}
