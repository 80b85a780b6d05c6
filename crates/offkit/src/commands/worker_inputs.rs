//! Files that the worker reads itself.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use super::link::temporary_failure;
use crate::failure::Failure;
use offkit_host::files;

/// The inputs as files that the worker can open.
pub(super) struct WorkerInputs {
    pub(super) paths: Vec<PathBuf>,
    /// Where standard input is kept; removed when dropped.
    _folder: Option<tempfile::TempDir>,
}

impl WorkerInputs {
    /// Looks at the inputs, which the worker reads, so that a missing file is told by its name at once.
    pub(super) fn check(inputs: &[PathBuf]) -> Result<Self, Failure> {
        let mut folder = None;
        let mut paths = Vec::new();
        for input in inputs {
            if files::is_standard_stream(input) {
                if folder.is_some() {
                    return Err(Failure::input("standard input, `-`, can be linked only once"));
                }
                let (kept, path) = keep_standard_input().map_err(temporary_failure)?;
                folder = Some(kept);
                paths.push(path);
                continue;
            }
            if input.to_str().is_none() {
                return Err(
                    Failure::input(format!("`{}`: the name is not UTF-8", input.display()))
                        .hint("rename the file, or give its content to standard input, `-`"),
                );
            }
            if let Err(error) = File::open(input) {
                return Err(Failure::input(format!(
                    "cannot read `{}`: {error}",
                    input.display()
                )));
            }
            paths.push(input.clone());
        }
        Ok(Self {
            paths,
            _folder: folder,
        })
    }
}

fn keep_standard_input() -> io::Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::Builder::new().prefix("offkit-link-").tempdir()?;
    // What LLVM says about the file shows its name.
    let path = folder.path().join("standard-input");
    io::copy(&mut io::stdin().lock(), &mut File::create(&path)?)?;
    Ok((folder, path))
}
