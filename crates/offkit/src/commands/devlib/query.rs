//! `offkit devlib query`.

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct Query {}

pub(super) fn run(_: &Query, _: Terminal) -> Result<(), Failure> {
    Err(Failure::input("`offkit devlib query` is not there yet"))
}
