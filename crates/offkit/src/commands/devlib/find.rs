//! `offkit devlib find`.

use clap::Args;

use crate::failure::Failure;
use crate::terminal::Terminal;

#[derive(Debug, Args)]
pub(crate) struct Find {}

pub(super) fn run(_: &Find, _: Terminal) -> Result<(), Failure> {
    Err(Failure::input("`offkit devlib find` is not there yet"))
}
