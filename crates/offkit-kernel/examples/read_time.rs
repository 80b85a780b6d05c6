//! How long modules take to be read: `read_time FILE.spv…` prints a line for each, in microseconds.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::time::{Duration, Instant};

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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let source = offkit_spirv::Module::from_bytes(&bytes)?;
        let Ok(module) = offkit_kernel::read(source.dr()) else {
            println!("{path}: not read");
            continue;
        };
        let parse = median(|| _ = offkit_spirv::Module::from_bytes(&bytes));
        let read = median(|| _ = offkit_kernel::read(source.dr()));
        let verify = median(|| _ = module.verify());
        println!(
            "{path}: {} bytes, parsed {parse:.1}, read {read:.1}, verified {verify:.1}",
            bytes.len()
        );
    }
    Ok(())
}
