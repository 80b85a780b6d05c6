//! Commands at random through the runtime and the plugin, on several threads, for minutes: contents are compared with the
//! host's, and the memory that is in use with what it was.

mod commands;
mod dice;
mod generated;
mod memory;
mod watch;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use offkit_image::Target;
use offkit_llvm::{WORKER_VARIABLE, Worker};
use offkit_pi::host::{Device, PiError};
use offkit_runtime::{BuildError, ImageRegistry, LaunchError};

use crate::Result;
use crate::bundle::Code;
use crate::driver::Gpu;
use crate::launch::open;
use dice::Dice;
use memory::{InUse, growth};
use watch::Watch;

/// How it is run.
pub(crate) struct Options {
    pub(crate) seconds: u64,
    /// How long there is between two looks at the memory.
    pub(crate) interval: Duration,
    pub(crate) threads: usize,
    /// How long a thread may take for one scene.
    pub(crate) patience: Duration,
    pub(crate) seed: u64,
    /// Whether errors of the device are only counted: something makes them on purpose.
    pub(crate) faults: bool,
    /// Whether there are no kernels at random.
    pub(crate) known_kernels: bool,
}

impl Options {
    /// Whether kernels at random are compiled: a compiler is named, and they are wanted.
    fn has_generated(&self) -> bool {
        !self.known_kernels && std::env::var_os(WORKER_VARIABLE).is_some()
    }
}

/// What was done.
#[derive(Default)]
struct Counts {
    scenes: AtomicU64,
    commands: AtomicU64,
    generated: AtomicU64,
    faults: AtomicU64,
}

struct Run<'a> {
    options: &'a Options,
    device: &'a Device,
    /// What kernels at random are compiled for.
    target: Target,
    file: PathBuf,
    counts: Counts,
    wrong: Mutex<Vec<String>>,
}

/// Runs it, and says what came of it. Returns what is wrong.
///
/// # Errors
///
/// If it can't be started.
#[expect(clippy::print_stdout, reason = "what it is run for")]
pub(crate) fn run(options: &Options, gpu: &Gpu, code: &Code, device: &Device) -> Result<Vec<String>> {
    let run = Run {
        options,
        device,
        target: target(gpu.capability()?),
        file: code.ptx("stress")?,
        counts: Counts::default(),
        wrong: Mutex::default(),
    };
    println!(
        "stress on {} threads for {} s, seed {}; kernels at random: {}",
        options.threads,
        options.seconds,
        options.seed,
        if options.has_generated() {
            "compiled and interpreted"
        } else {
            "none"
        }
    );
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let mut seen: Vec<InUse> = Vec::new();
    let watch = Watch::new(options.threads, options.patience);
    thread::scope(|scope| {
        let (_over, is_over) = mpsc::channel();
        let watch = &watch;
        scope.spawn(move || watch.until(&is_over));
        for round in 0.. {
            let until = end.min(Instant::now() + options.interval);
            thread::scope(|scope| {
                for number in 0..options.threads {
                    let run = &run;
                    scope.spawn(move || run.thread(round, number, until, watch));
                }
            });
            let in_use = match InUse::now(gpu) {
                Ok(in_use) => in_use,
                // A device that is lost does not answer.
                Err(error) => {
                    run.tell(&error.to_string());
                    break;
                }
            };
            let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
            println!(
                "{:6} s: {} scenes, {} commands, {} kernels at random, {} faults; {in_use}",
                options
                    .seconds
                    .saturating_sub(end.saturating_duration_since(Instant::now()).as_secs()),
                count(&run.counts.scenes),
                count(&run.counts.commands),
                count(&run.counts.generated),
                count(&run.counts.faults),
            );
            seen.push(in_use);
            if Instant::now() >= end || !run.wrong.lock().expect("no thread panics").is_empty() {
                break;
            }
        }
    });
    let mut wrong = run.wrong.into_inner().expect("no thread panics");
    if run.counts.scenes.into_inner() == 0 && wrong.is_empty() {
        wrong.push("nothing was run".to_owned());
    }
    wrong.extend(growth(&seen));
    Ok(wrong)
}

/// What code is for that runs on devices of a compute capability.
fn target(capability: u32) -> Target {
    offkit_image::target::Device::of_capability(capability / 10, capability % 10).target
}

impl Run<'_> {
    /// What one thread does for a while: its own queues, memory and programs, one after the other.
    fn thread(&self, round: u64, number: usize, until: Instant, watch: &Watch) {
        let worker = self.options.has_generated().then(Worker::start);
        let mut worker = match worker.transpose() {
            Ok(worker) => worker,
            Err(error) => return self.tell(&error.to_string()),
        };
        for scene in 0u64.. {
            if Instant::now() >= until {
                return;
            }
            let seed = self.options.seed ^ (round << 40) ^ ((number as u64) << 32) ^ scene;
            watch.begins(number, seed);
            let done = match (&mut worker, scene % 8) {
                (Some(worker), 7) => self.generated(worker, seed),
                _ => self.scene(seed),
            };
            watch.ends(number);
            match done {
                Ok(()) => _ = self.counts.scenes.fetch_add(1, Ordering::Relaxed),
                Err(error) if self.options.faults && is_of_device(&*error) => {
                    self.counts.faults.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => return self.tell(&format!("seed {seed}: {}", whole(&*error))),
            }
        }
    }

    fn scene(&self, seed: u64) -> Result<()> {
        // The program comes and goes with its file.
        let registry = ImageRegistry::new();
        let library = open(&registry, &self.file)?;
        let commands = commands::run(&mut Dice::new(seed), self.device, &registry)?;
        registry.withdraw(library);
        self.counts.commands.fetch_add(commands, Ordering::Relaxed);
        Ok(())
    }

    fn generated(&self, worker: &mut Worker, seed: u64) -> Result<()> {
        // Of a few, the first that GPUs can run.
        let first = (seed / 8).wrapping_mul(16);
        for seed in (0..16).map(|more| first | more) {
            if generated::run(worker, seed, self.device, &self.target)? {
                self.counts.generated.fetch_add(1, Ordering::Relaxed);
                break;
            }
        }
        Ok(())
    }

    fn tell(&self, what: &str) {
        self.wrong.lock().expect("no thread panics").push(what.to_owned());
    }
}

/// Whether the device refused something, rather than that contents differ.
fn is_of_device(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<PiError>() || error.is::<LaunchError>() || error.is::<BuildError>()
}

/// An error with its causes.
fn whole(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += ": ";
        text += &error.to_string();
        cause = error.source();
    }
    text
}
