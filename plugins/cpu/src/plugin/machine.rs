//! What Linux tells of the machine, read once.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};

use crate::sync::OnceLock;

/// Bytes of memory that the machine has, where the system tells.
pub(super) fn memory() -> Option<u64> {
    static MEMORY: OnceLock<Option<u64>> = OnceLock::new();
    *MEMORY.get_or_init(|| {
        let text = fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
        kibibytes.checked_mul(1024)
    })
}

/// Bytes of the first processor's cache that is last before memory; 0 where nobody tells.
pub(super) fn last_cache() -> u64 {
    static CACHE: OnceLock<u64> = OnceLock::new();
    *CACHE.get_or_init(|| {
        let size = |index: u32| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
            let text = fs::read_to_string(path).ok()?;
            let kibibytes: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
            kibibytes.checked_mul(1024)
        };
        // The caches have numbers from 0 on, the last one the highest.
        (0..).map_while(size).max().unwrap_or(0)
    })
}

/// The highest clock frequency of the first processor in MHz, or the one it has now where nobody tells more, as in virtual
/// machines; 0 where nobody tells any, which OpenCL allows. Programs multiply by it to choose the fastest device.
pub(super) fn clock() -> u32 {
    static CLOCK: OnceLock<u32> = OnceLock::new();
    *CLOCK.get_or_init(|| highest_clock().or_else(current_clock).unwrap_or(0))
}

fn highest_clock() -> Option<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").ok()?;
    let kilohertz: u32 = text.trim().parse().ok()?;
    Some(kilohertz / 1000)
}

fn current_clock() -> Option<u32> {
    // Not all of the file, in which each processor has its part.
    let lines = BufReader::new(File::open("/proc/cpuinfo").ok()?).lines();
    let mut lines = lines.map_while(Result::ok);
    // Behind a tab and a colon: `cpu MHz		: 2300.000`.
    let line = lines.find(|line| line.starts_with("cpu MHz"))?;
    let megahertz: f64 = line.rsplit(':').next()?.trim().parse().ok()?;
    Some(megahertz as u32)
}
