//! What it costs to find the devices of plugins: `discover PLUGIN…`
//!
//! Prints how many devices there are, and how many seconds it took in this process to find them.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::path::PathBuf;
use std::time::Instant;

use offkit_runtime::Runtime;

fn main() {
    let libraries: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let start = Instant::now();
    let devices = Runtime::with_plugins(&[], &libraries).devices().count();
    let seconds = start.elapsed().as_secs_f64();
    println!("{devices} {seconds:.9}");
}
