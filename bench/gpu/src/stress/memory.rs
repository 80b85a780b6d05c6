//! What the process and the device have in use, when nothing is being done.

use std::fmt;
use std::fs;

use crate::Result;
use crate::driver::Gpu;

/// How much more may be in use in the end than after the first look: allocators keep some of what they had.
const PROCESS_BYTES: usize = 48 << 20;
/// Drivers take memory of the device in steps of two megabytes, and keep some.
const DEVICE_BYTES: usize = 32 << 20;
const FILES: usize = 4;
const THREADS: usize = 2;
/// What threads of the CPU device's pool are called. They come when there is work for them, until there is one for each
/// processor, which may be late.
const POOL: &str = "offkit cpu ";

/// What is in use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InUse {
    /// Bytes of the process's memory.
    process: usize,
    /// Bytes of the device's memory, of all who use it.
    device: usize,
    /// Files that are open.
    files: usize,
    /// Threads of the process without those of the pool.
    threads: usize,
}

impl InUse {
    pub(super) fn now(gpu: &Gpu) -> Result<InUse> {
        let status = fs::read_to_string("/proc/self/status")?;
        let number = |name: &str| -> Option<usize> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Ok(InUse {
            process: 1024 * number("VmRSS:").ok_or("the system does not say how much memory is in use")?,
            device: gpu.used_memory()?,
            files: fs::read_dir("/proc/self/fd")?.count(),
            threads: threads()?,
        })
    }
}

fn threads() -> Result<usize> {
    let mut count = 0;
    for thread in fs::read_dir("/proc/self/task")? {
        // One that has ended since has no name any more.
        let name = fs::read_to_string(thread?.path().join("comm")).unwrap_or_default();
        count += usize::from(!name.is_empty() && !name.starts_with(POOL));
    }
    Ok(count)
}

impl fmt::Display for InUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (process, device) = (self.process >> 20, self.device >> 20);
        write!(
            formatter,
            "in use: {process} MiB of the process, {device} MiB of the device, {} files, {} threads",
            self.files, self.threads
        )
    }
}

/// What there is more of in the end than at any look in the first half: what grows on is lost. Drivers and pools of threads
/// take what they need when it is first needed, which may be after the first look.
pub(super) fn growth(seen: &[InUse]) -> Vec<String> {
    let Some((last, before)) = seen.split_last().filter(|(_, before)| !before.is_empty()) else {
        return Vec::new();
    };
    let first_half = &before[..(seen.len() / 2).max(1)];
    let grown = |what: &'static str, of: fn(&InUse) -> usize, most: usize| {
        let before = first_half.iter().map(of).max().unwrap_or_default();
        (what, before, of(last), most)
    };
    let grown = [
        grown("bytes of the process", |seen| seen.process, PROCESS_BYTES),
        grown("bytes of the device", |seen| seen.device, DEVICE_BYTES),
        grown("open files", |seen| seen.files, FILES),
        grown("threads", |seen| seen.threads, THREADS),
    ];
    let grown = grown
        .into_iter()
        .filter(|(_, before, after, most)| *after > before + most);
    grown
        .map(|(what, before, after, _)| format!("{what} in use went from {before} to {after}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_pool_do_not_count() {
        let before = threads().unwrap();
        let together = std::sync::Barrier::new(9);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let thread = std::thread::Builder::new().name(format!("{POOL}{number}"));
                let wait = || [(); 2].map(|()| together.wait());
                thread.spawn_scoped(scope, wait).unwrap();
            }
            // They have named themselves.
            together.wait();
            // Other tests have threads, but not so many.
            assert!(threads().unwrap() < before + 8);
            together.wait();
        });
    }

    #[test]
    fn a_leak_is_what_stays_in_use() {
        let first = InUse {
            process: 200 << 20,
            device: 600 << 20,
            files: 20,
            threads: 9,
        };
        let later = |process: usize, device: usize| InUse {
            process: process << 20,
            device: device << 20,
            ..first
        };
        // What comes and goes is none.
        assert_eq!(growth(&[first, later(400, 900), later(220, 610)]), [""; 0]);
        assert_eq!(
            growth(&[first, later(220, 632), later(220, 633)]),
            ["bytes of the device in use went from 629145600 to 663748608"]
        );
        let files = InUse { files: 25, ..first };
        assert_eq!(growth(&[first, files]), ["open files in use went from 20 to 25"]);
        let threads = |threads: usize| InUse { threads, ..first };
        assert_eq!(growth(&[first, threads(16), threads(16), threads(16)]), [""; 0]);
        assert_eq!(
            growth(&[first, threads(16), threads(22), threads(28)]),
            ["threads in use went from 16 to 28"]
        );
    }
}
