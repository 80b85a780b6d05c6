//! The processor.

use std::{env, fs};

use offkit_sync::OnceLock;

/// The processor's name and what it can do, as the system tells it: what code made for this machine depends on.
pub fn processor() -> &'static str {
    static PROCESSOR: OnceLock<String> = OnceLock::new();
    PROCESSOR.get_or_init(|| {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let first = text.split("\n\n").next().unwrap_or_default();
        let is_told = |line: &&str| {
            let names = ["vendor_id", "cpu family", "model", "flags", "Features", "CPU "];
            names.iter().any(|name| line.starts_with(name))
        };
        let lines: Vec<&str> = first.lines().filter(is_told).collect();
        format!("{}\n{}", env::consts::ARCH, lines.join("\n"))
    })
}
