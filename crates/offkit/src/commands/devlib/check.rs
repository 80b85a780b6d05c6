//! `offkit devlib check`.

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct Check {}

pub(super) fn run(_: &Check, _: Terminal) -> Result<(), Failure> {
    Err(Failure::input("`offkit devlib check` is not there yet"))
}
