//! `offkit devlib`: device libraries, found, looked into and built.

use clap::Subcommand;

use crate::failure::Failure;
use crate::terminal::Terminal;

mod build;
mod check;
mod find;
mod query;

use build::Build;
use check::Check;
use find::Find;
use query::Query;

/// What to do with device libraries.
#[derive(Debug, Subcommand)]
pub(crate) enum Devlib {
    /// Show which device libraries `-lX` means for each target, and where offkit looked
    Find(Find),
    /// List the device types inside objects, archives and libraries
    Query(Query),
    /// Build a device library for all of its targets
    Build(Build),
    /// Show which library supplies each undefined device symbol, and which targets lack one
    Check(Check),
}

pub(crate) fn run(devlib: &Devlib, terminal: Terminal) -> Result<(), Failure> {
    match devlib {
        Devlib::Find(options) => find::run(options, terminal),
        Devlib::Query(options) => query::run(options, terminal),
        Devlib::Build(options) => build::run(options, terminal),
        Devlib::Check(options) => check::run(options, terminal),
    }
}
