//! One module for each verb.

pub(crate) mod link;
pub(crate) mod ls;
pub(crate) mod run;

use std::path::Path;

use offkit_object::Limits;

use crate::failure::Failure;
use crate::files::{self, Content};
use crate::terminal::Terminal;

/// Opens a file that is to be read as a container of device code.
fn open(path: &Path) -> Result<Content, Failure> {
    files::open(path).map_err(Failure::input)
}

/// The limits that readers work under.
fn limits() -> Limits {
    Limits::default()
}

/// What a file's problems look like on standard error.
fn warn(terminal: Terminal, problems: &[offkit_object::Problem]) {
    for problem in problems {
        terminal.warning(problem);
    }
}
