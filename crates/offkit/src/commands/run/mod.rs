//! `offkit run`: launch one kernel.

pub(crate) mod arguments;
mod array_file;
mod buffers;
mod json;
mod outputs;
mod timeout;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use offkit_pi::NdRange;
use offkit_pi::host::{Context, QueueProperties};
use offkit_plugin_cpu::{CHECK_BOUNDS_OPTION, time_waited};
use offkit_runtime::{CollectOptions, ExporterRule, LaunchError, Runtime, check_arguments};

use super::kernels::{choice_failure, collect_failure, machine_failure, read_images, tell_left_out};
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{FAINT, Progress, Terminal, duration, escape};
use arguments::{ArrayFile, Sizes, TypedArgument};
use buffers::Arguments;
use outputs::Outputs;

const EXAMPLES: &str = "\
Examples:
  offkit run app.syclbin saxpy --global 1024 \\
      --arg f32:2.5 --arg x.npy --arg y.npy --out z.npy
  offkit run app.syclbin saxpy --global 1024 --time \\
      --link library.syclbin --arg f32:2.5 \\
      --arg f32[1024] --arg f32[1024]
  offkit run app.syclbin saxpy --global 4 --json \\
      --arg f32:2 --arg f32[4] --arg f32[4] | jq .steps";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// The file with the kernel, or the location of an image as `offkit ls` prints it; `-` is standard input
    file: PathBuf,
    /// The kernel: its exact name, its name without the compiler's prefix, or its demangled name
    kernel: String,
    /// A file or location that may supply functions the kernel imports; may be repeated
    #[arg(long, value_name = "FILE")]
    link: Vec<PathBuf>,
    /// Which file supplies a function that several export: none, that is an error (`unique`); the first in the order
    /// of the command line (`first`); the one that calls it, or else the first (`own-first`)
    #[arg(long, value_name = "RULE", default_value_t)]
    exporter: ExporterRule,
    /// The number of work-items in each dimension
    #[arg(long, value_name = "X[,Y[,Z]]", allow_hyphen_values = true)]
    global: Sizes,
    /// The number of work-items in a work-group; without it, the device chooses
    #[arg(long, value_name = "X[,Y[,Z]]", allow_hyphen_values = true)]
    local: Option<Sizes>,
    /// The index of the first work-item
    #[arg(long, value_name = "X[,Y[,Z]]", allow_hyphen_values = true)]
    offset: Option<Sizes>,
    /// The arguments, in order
    #[arg(
        long = "arg",
        value_name = "ARGUMENT",
        allow_hyphen_values = true,
        value_parser = arguments::typed_argument,
        long_help = "The arguments, in order:\n  \
            i32:7, f32:2.5, f32:1,2,3,4  a number, a vector (i8 to i64, u8 to u64, f16, f32, f64)\n  \
            bytes:0100000000002040       a struct by its bytes, in hexadecimal\n  \
            in.npy                       a buffer holding the array\n  \
            f32[1024], f32[64,64]        a buffer of zeros\n  \
            local:256                    256 bytes of local memory"
    )]
    arguments: Vec<TypedArgument>,
    /// Write argument N to a file afterwards, or the only buffer that the kernel may write
    #[arg(long = "out", value_name = "[N=]F.npy")]
    outputs: Vec<ArrayFile>,
    /// Compare argument N, or the one of --out, with an array; exit code 1 if they differ
    #[arg(long = "check", value_name = "[N=]F.npy")]
    checks: Vec<ArrayFile>,
    /// The largest relative difference that --check allows
    #[arg(long, value_name = "PART", default_value = "0", value_parser = tolerance)]
    tolerance: f64,
    /// The device: its number, place (`opencl:0`), kind (`cpu`) or a part of its name; without it, the first that takes
    /// the code
    #[arg(long)]
    device: Option<String>,
    /// Check each memory access of compiled code: an access out of bounds fails and names the work-item, as on the device
    /// `cpu-checked`
    #[arg(long)]
    check_bounds: bool,
    /// Launch this many times; the last result counts
    #[arg(long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Print how long each step took
    #[arg(long)]
    time: bool,
    /// Print JSON, with the first values of arrays and the times of all steps
    #[arg(long)]
    json: bool,
    /// Stop a launch that takes longer, such as `2s` or `500ms`; exit code 1
    #[arg(long, value_name = "TIME", value_parser = timeout::parse)]
    timeout: Option<Duration>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(tolerance) if tolerance.is_finite() && tolerance >= 0.0 => Ok(tolerance),
        _ => Err("expected a number from 0, such as 1e-6".into()),
    }
}

pub(crate) fn run(options: &Run, terminal: Terminal) -> Result<(), Failure> {
    let range = nd_range(options)?;
    let mut steps = Steps::new(terminal.progress());

    // Whatever can be wrong with the input is found before the device is asked for anything but which images it takes.
    let arguments = steps.time("read arguments", || Arguments::read(&options.arguments))?;
    let (registry, kernel) = steps.time("read images", || {
        read_images(&options.file, &options.kernel, &options.link, terminal)
    })?;
    registry.set_exporter_rule(options.exporter);
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let selector = options.device.as_deref();
    let chosen = steps.time("choose a device", || runtime.choose(selector, &registry, &kernel));
    tell_left_out(&runtime, terminal);
    let (device, kernel) = chosen.map_err(choice_failure)?;
    // What is built into this program is the CPU device.
    if options.check_bounds && device.plugin().path().is_some() {
        let name = device.name().unwrap_or_default();
        let failure = Failure::input(format!(
            "`{name}` checks no accesses, which `--check-bounds` asks for"
        ));
        return Err(failure.hint("`--device cpu` takes the CPU device, which does"));
    }
    let collection = steps.time("collect images", || {
        let options = CollectOptions {
            device: Some(&device),
            ..CollectOptions::default()
        };
        registry.collect_with(&kernel, &options).map_err(collect_failure)
    })?;
    let description = collection.signature();
    if let Some(kernel) = description {
        check_arguments(kernel, &arguments.0).map_err(Failure::input)?;
    }
    let outputs = Outputs::new(options, &arguments, description)?;
    let expected = steps.time("read expected", || outputs.expected())?;

    let context = Context::new(&[&device]).map_err(machine_failure)?;
    let queue = context
        .queue(&device, QueueProperties::default())
        .map_err(machine_failure)?;
    let build_options = if options.check_bounds {
        CHECK_BOUNDS_OPTION
    } else {
        ""
    };
    let mut kernel = steps
        .time("build", || {
            registry.build_with(&collection, &context, &device, build_options)
        })
        .map_err(Failure::input)?;
    let given = steps.time("copy in", || arguments.upload(&context))?;
    for repetition in 0..options.repeat {
        if repetition > 0 {
            // Every launch starts from the same input, or repeating would change the result.
            arguments.reset(&queue, &given)?;
        }
        // The CPU device compiles a kernel when its first launch comes.
        let before = time_waited();
        let launched = steps.time("launch", || {
            let launch = kernel.launch(&queue, &range, &given.arguments, &[])?;
            match options.timeout {
                Some(limit) => kernel.wait_for(&launch, limit),
                None => kernel.wait(&launch),
            }
        });
        steps.split("launch", "compile", time_waited() - before);
        launched.map_err(launch_failure)?;
    }
    let results = outputs.arguments().into_iter().map(|index| {
        let array = steps.time("copy out", || arguments.download(&queue, &given, index));
        Ok((index, array?))
    });
    let results = results.collect::<Result<_, Failure>>()?;
    // The progress goes first: what the kernel has printed would get into its line.
    let times = steps.finish();
    terminal.flush()?;

    // Such as why the device interprets the kernel.
    let log = match options.time || options.json {
        true => kernel.pi().program().build_log(&device).unwrap_or_default(),
        false => String::new(),
    };
    let told = Terminal {
        quiet: terminal.quiet || options.json,
    };
    // Before the checks, whose failure ends the command: results that are not as expected are those
    // that somebody wants to look at.
    outputs.write(&results, told)?;
    let checks = outputs.compare(&results, &expected, options.tolerance);
    if options.json {
        let launch = json::Launch {
            options,
            registry: &registry,
            collection: &collection,
            device: &device,
            range: &range,
            arguments: &arguments,
            outputs: &outputs,
            results: &results,
            checks: &checks,
            steps: &times,
            log: &log,
        };
        launch.show(terminal)?;
    } else if options.time {
        for (name, time) in times {
            terminal.note(format_args!("{FAINT}{:>10}{FAINT:#}  {name}", duration(time)));
        }
        for line in log.lines() {
            terminal.note(escape(line));
        }
    }
    checks.iter().try_for_each(|check| check.tell(told))
}

fn launch_failure(error: LaunchError) -> Failure {
    match error {
        LaunchError::TimedOut { .. } => {
            Failure::new(ExitStatus::No, error).hint("`--timeout` with a longer time lets it go on")
        }
        _ => Failure::input(error),
    }
}

fn nd_range(options: &Run) -> Result<NdRange, Failure> {
    for (name, sizes) in [("--local", options.local), ("--offset", options.offset)] {
        let count = sizes.map_or(0, |sizes| sizes.dimensions);
        if count > options.global.dimensions {
            return Err(Failure::input(format!(
                "{name} has {count} sizes, --global only {}",
                options.global.dimensions
            )));
        }
    }
    Ok(NdRange {
        dimensions: options.global.dimensions,
        offset: options.offset.map_or([0; 3], |offset| offset.padded(0)),
        global: options.global.padded(1),
        local: options.local.map(|local: Sizes| local.padded(1)),
    })
}

/// The steps done so far; steps of one name are added up.
struct Steps {
    done: Vec<(&'static str, Duration)>,
    progress: Progress,
}

impl Steps {
    fn new(progress: Progress) -> Self {
        Self {
            done: Vec::new(),
            progress,
        }
    }

    fn time<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        self.progress.step(name);
        let start = Instant::now();
        let result = work();
        let time = start.elapsed();
        match self.done.iter_mut().find(|(other, _)| *other == name) {
            Some((_, total)) => *total += time,
            None => self.done.push((name, time)),
        }
        result
    }

    /// Takes from a step's time what was one of its own, which is told before it.
    fn split(&mut self, name: &str, part: &'static str, time: Duration) {
        let Some(whole) = self.done.iter().position(|(other, _)| *other == name) else {
            return;
        };
        if time.is_zero() {
            return;
        }
        self.done[whole].1 = self.done[whole].1.saturating_sub(time);
        match self.done.iter_mut().find(|(other, _)| *other == part) {
            Some((_, total)) => *total += time,
            None => self.done.insert(whole, (part, time)),
        }
    }

    /// Takes the sign of life off the terminal and returns the steps.
    fn finish(self) -> Vec<(&'static str, Duration)> {
        self.done
    }
}
