//! How long modules take to be read: `read_time [--goal N] FILE.spv…` prints a line for each, in microseconds, and
//! fails where parsing, reading and verifying one takes longer than the goal.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use offkit_kernel::ir::Module;

/// The median of as many runs as fit into a fifth of a second.
fn median(mut run: impl FnMut()) -> f64 {
    let (start, mut times) = (Instant::now(), Vec::new());
    while start.elapsed() < Duration::from_millis(200) {
        let once = Instant::now();
        run();
        times.push(once.elapsed());
    }
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut goal = f64::INFINITY;
    if arguments.next_if_eq("--goal").is_some() {
        goal = arguments.next().ok_or("--goal needs a number")?.parse()?;
    }
    let mut missed = false;
    for path in arguments {
        let bytes = std::fs::read(&path)?;
        let source = offkit_spirv::Module::from_bytes(&bytes)?;
        let module = offkit_kernel::read(source.dr())?;
        let text = module.to_string();
        let parse = median(|| _ = offkit_spirv::Module::from_bytes(&bytes));
        let read = median(|| _ = offkit_kernel::read(source.dr()));
        let verify = median(|| _ = module.verify());
        let write = median(|| _ = module.to_string());
        let from_text = median(|| _ = Module::from_text(&text));
        let name = path.rsplit('/').next().unwrap_or(&path);
        let word = if parse + read + verify > goal {
            "MISSED"
        } else {
            ""
        };
        missed |= !word.is_empty();
        println!(
            "{name:20} {:6} bytes: parsed {parse:6.1}, read {read:6.1}, verified {verify:5.1}; text written {write:6.1}, \
             read {from_text:6.1} {word}",
            bytes.len()
        );
    }
    Ok(ExitCode::from(u8::from(missed)))
}
