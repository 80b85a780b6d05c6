//! The processor.

use std::env;
use std::fs::File;
use std::io::{Read, Result};

use offkit_sync::OnceLock;

/// The processor's name and what it can do, as the system tells it: what code made for this machine depends on.
pub fn processor() -> &'static str {
    static PROCESSOR: OnceLock<String> = OnceLock::new();
    PROCESSOR.get_or_init(|| {
        let text = beginning("/proc/cpuinfo").unwrap_or_default();
        let first = text.split("\n\n").next().unwrap_or_default();
        // Not all lines: the clock, for one, differs at each look, and keys of the cache have this.
        let is_told = |line: &&str| {
            let names = ["vendor_id", "cpu family", "model", "flags", "Features", "CPU "];
            names.iter().any(|name| line.starts_with(name))
        };
        let lines: Vec<&str> = first.lines().filter(is_told).collect();
        format!("{}\n{}", env::consts::ARCH, lines.join("\n"))
    })
}

/// The processor's name, where the system tells.
pub fn processor_name() -> Option<&'static str> {
    let mut values = processor().lines().filter_map(|line| line.split_once(':'));
    let (_, name) = values.find(|(name, _)| name.trim() == "model name")?;
    Some(name.trim())
}

/// A file's beginning. Processors are many and described at length, but the first says it.
fn beginning(path: &str) -> Result<String> {
    const ENOUGH: usize = 8192;
    let mut text = Vec::with_capacity(ENOUGH);
    File::open(path)?.take(ENOUGH as u64).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
