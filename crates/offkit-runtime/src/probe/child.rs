//! The helper's process: what it does, and how it is run to its end.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use offkit_host::program;
use offkit_pi::ffi::*;
use offkit_pi::host::{Device, Partition, Platform, Plugin, trace};
use offkit_sync::{Mutex, PoisonError};

use super::{Harm, MEMORY, PATIENCE, PATIENCE_VARIABLE};

/// Runs the helper to its end, or stops it.
///
/// It may be about the one below the plugin that is not left out, and be with the OpenCL drivers of a folder alone.
pub(super) fn run(
    helper: &Path,
    library: &OsStr,
    is_below: bool,
    left_out: &[&Path],
    drivers: Option<&Path>,
) -> io::Result<Result<(), Harm>> {
    let mut command = Command::new(helper);
    command
        .arg(library)
        .args(is_below.then_some(BELOW))
        .args(
            left_out
                .iter()
                .flat_map(|library| [OsStr::new(WITHOUT), library.as_os_str()]),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    // What a plugin starts is ended with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Calls that are traced are printed to the standard output, where the report is looked for.
    for name in trace::VARIABLES {
        command.env_remove(name);
    }
    if let Some(folder) = drivers {
        // Loaders add what the second names to what they find by the first.
        command
            .env("OCL_ICD_VENDORS", folder)
            .env_remove("OCL_ICD_FILENAMES");
    }
    let mut child = command.spawn()?;
    let printed = child.stdout.take().map(Printed::of);
    let ended = wait(&mut child);
    program::end_group(child.id());
    let ended = ended?;
    let text = printed.map(|printed| printed.last()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut stages = text.lines().filter_map(|line| line.strip_prefix(MARK));
    let stage = stages.next_back().unwrap_or(LOADING);
    let is_done = stage == DONE;
    let stage = if is_done { "the process ends" } else { stage }.to_owned();
    Ok(match ended {
        // Success alone tells nothing: a plugin may end the process with `exit(0)`.
        Ended::Itself(status) if status.success() && is_done => Ok(()),
        Ended::Itself(status) => Err(match status.code() {
            Some(code) => Harm::End { stage, code },
            None => Harm::Crash {
                stage,
                signal: signal(status),
            },
        }),
        Ended::Slow(after) => Err(Harm::Hang {
            stage,
            after,
            ago: None,
        }),
        Ended::Large(bytes) => Err(Harm::Memory { stage, bytes }),
    })
}

/// What is printed. All is read, for a pipe that nobody reads stops who writes; and the last of it is kept, for how far a
/// plugin came is at the end, however much it has printed before.
struct Printed {
    last: Arc<Mutex<Vec<u8>>>,
    /// Told when there is no more.
    ended: Receiver<()>,
}

impl Printed {
    fn of(mut output: impl Read + Send + 'static) -> Printed {
        let last = Arc::new(Mutex::new(Vec::new()));
        let (sender, ended) = channel();
        let kept = Arc::clone(&last);
        thread::spawn(move || {
            let mut piece = vec![0; 1 << 16];
            while let Ok(count @ 1..) = output.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&piece[..count]);
                let more = kept.len().saturating_sub(MOST_READ);
                if more > MOST_READ {
                    kept.drain(..more);
                }
            }
            let _nobody_waits = sender.send(());
        });
        Printed { last, ended }
    }

    fn last(&self) -> Vec<u8> {
        // A process of the plugin's that has left the group keeps the pipe open for as long as it likes.
        let _is_open = self.ended.recv_timeout(Duration::from_secs(1));
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

enum Ended {
    Itself(ExitStatus),
    Slow(Duration),
    Large(u64),
}

fn wait(child: &mut Child) -> io::Result<Ended> {
    let seconds = env::var(PATIENCE_VARIABLE)
        .ok()
        .and_then(|text| text.trim().parse().ok());
    let patience = seconds.map_or(PATIENCE, Duration::from_secs);
    let (start, mut pause) = (Instant::now(), Duration::from_micros(200));
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Ended::Itself(status));
        }
        let resident = resident(child.id());
        let stopped = match start.elapsed() {
            _ if resident > MEMORY => Ended::Large(resident),
            elapsed if elapsed > patience => Ended::Slow(patience),
            _ => {
                thread::sleep(pause);
                // Most are done at once; those that are not need not be watched that closely.
                pause = (pause * 2).min(Duration::from_millis(10));
                continue;
            }
        };
        child.kill()?;
        // Nobody else takes its status: without this it stays in the list of processes.
        child.wait()?;
        return Ok(stopped);
    }
}

/// The resident memory of a process in bytes; 0 where that cannot be seen.
fn resident(process: u32) -> u64 {
    let pages = fs::read_to_string(format!("/proc/{process}/statm"));
    let pages = pages
        .ok()
        .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    // The kernel counts pages; the smallest there are make this a lower bound.
    pages.unwrap_or(0).saturating_mul(4096)
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

/// How much of what was printed is looked at, in bytes.
const MOST_READ: usize = 1 << 20;

/// What the helper's own lines begin with, among whatever a plugin prints.
const MARK: &str = "offkit-probe: ";

/// What a plugin does first.
const LOADING: &str = "it is loaded";

/// What it does then.
const LISTING: &str = "it lists its devices";

/// The last line of a trial that went well.
const DONE: &str = "done";

/// What the helper is told by an argument: that this is about what is below the plugin.
const BELOW: &str = "--below";

/// The argument before a library that the plugin leaves out.
const WITHOUT: &str = "--without";

/// What the helper does, told by its arguments: loads a library and lists its devices, saying on the standard output how far
/// it is. `None` if they make no sense.
pub fn attempt(arguments: impl IntoIterator<Item = OsString>) -> Option<()> {
    program::end_with_parent();
    let mut arguments = arguments.into_iter();
    let library = arguments.next()?;
    let (mut is_below, mut left_out) = (false, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some(BELOW) => is_below = true,
            Some(WITHOUT) => left_out.push(PathBuf::from(arguments.next()?)),
            _ => return None,
        }
    }
    says(LOADING);
    // Errors in words do no harm: offkit gets them itself when it loads the plugin.
    if let Ok(plugin) = Plugin::load_without(library, &left_out) {
        // A plugin opens what is below it when it is asked for platforms.
        says(if is_below { LOADING } else { LISTING });
        let platforms = plugin.platforms().unwrap_or_default();
        says(LISTING);
        for platform in platforms {
            ask_platform(&platform);
            for device in platform.devices(PI_DEVICE_TYPE_ALL).unwrap_or_default() {
                ask_device(&device);
            }
        }
        says("it is torn down");
        drop(plugin);
    }
    // Handlers of the plugin's that run at exit can still crash, which the exit status tells.
    says(DONE);
    Some(())
}

/// What a trial asks, by number: one that was good when less was asked may do harm now.
pub(super) const REVISION: &str = "2";

/// Asks a platform what it is asked wherever devices are listed; any answer will do, and an error.
fn ask_platform(platform: &Platform) {
    let _ = platform.backend();
    let _ = platform.name();
    let _ = platform.vendor();
    let _ = platform.version();
}

/// The same of a device.
fn ask_device(device: &Device) {
    let _ = device.name();
    let _ = device.device_type();
    let _ = device.vendor();
    let _ = device.driver_version();
    let _ = device.info(PI_DEVICE_INFO_VERSION);
    let _ = device.max_compute_units();
    let _ = device.max_work_group_size();
    let _ = device.max_work_item_sizes();
    let _ = device.global_memory_size();
    let _ = device.local_memory_size();
    let _ = device.il_version();
    let _ = device.extensions();
    for name in [
        PI_DEVICE_INFO_SUB_GROUP_SIZES_INTEL,
        PI_DEVICE_INFO_COMPILER_AVAILABLE,
        PI_DEVICE_INFO_LINKER_AVAILABLE,
        PI_DEVICE_INFO_USM_DEVICE_SUPPORT,
        PI_DEVICE_INFO_USM_HOST_SUPPORT,
        PI_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT,
        PI_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT,
    ] {
        let _ = device.info(name);
    }
    let _ = device.partition(&Partition::NEXT);
}

fn says(stage: &str) {
    let mut output = io::stdout().lock();
    // On a line of its own, whatever a plugin has printed before; flushed, since the process may crash at any time.
    let _nobody_reads = writeln!(output, "\n{MARK}{stage}").and_then(|()| output.flush());
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_that_prints_much_is_good() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("helper");
        fs::write(
            &script,
            format!("head -c 2000000 /dev/zero\necho\necho '{MARK}{DONE}'\n"),
        )
        .unwrap();
        // A shell takes the library for a script.
        let outcome = run(Path::new("/bin/sh"), script.as_os_str(), false, &[], None);
        assert_eq!(outcome.unwrap(), Ok(()));
    }
}
