//! `offkit-gpu`: what `./dev gpu` runs on a machine with one of NVIDIA's GPUs, which needs nothing but the driver.
//!
//! `measure` compares kernels from SPIR-V with nvcc's code, and launches with the driver's own; `stress` has commands at
//! random done for minutes. Exits with 0 if all is as it should be, with 1 if a goal is missed or something is wrong, with
//! 2 if the bundle or the usage is wrong, and with 3 if there is no driver or no device.
#![deny(unsafe_code)]

mod bundle;
#[expect(unsafe_code, reason = "the driver is C")]
mod driver;
mod launch;
mod page;
mod stress;
mod throughput;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Parser, Subcommand};
use offkit_gpu::rows;
use offkit_pi::host::Device;
use offkit_runtime::Runtime;

use bundle::{Code, Compiler};
use driver::Gpu;
use page::{Place, Report};
use rows::Scale;

/// What the parts of this program return.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Measures what offkit makes of kernels on one of NVIDIA's GPUs, beside nvcc's code and the driver's own launches
#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure kernels beside nvcc's code, and launches beside the driver's own
    Measure(Measure),
    /// Have commands at random done, and compare contents and the memory in use
    Stress(Stress),
}

/// How long a row is measured.
const SECONDS: f64 = 1.0;

#[derive(Args)]
struct Measure {
    /// The folder that `./dev gpu --prepare` made
    #[arg(long, default_value = ".")]
    bundle: PathBuf,
    /// Measure rows alone with one of these in their title, and no launches
    #[arg(long, value_name = "WORDS")]
    only: Vec<String>,
    /// How long a row is measured
    #[arg(long, default_value_t = SECONDS)]
    seconds: f64,
    /// Write the tables to this file, too
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Take small inputs: figures mean nothing then
    #[arg(long)]
    small: bool,
}

impl Measure {
    /// What a run with these options does not have.
    fn lacks(&self) -> Vec<String> {
        let mut lacks = Vec::new();
        if !self.only.is_empty() {
            lacks.push(format!(
                "no launches, and the rows with `{}` alone",
                self.only.join("` or `")
            ));
        }
        if self.small {
            lacks.push("inputs of a thousandth (`--small`), whose figures mean nothing".to_owned());
        }
        if self.seconds < SECONDS {
            lacks.push(format!("{} s a row, instead of {SECONDS}", self.seconds));
        }
        lacks
    }
}

#[derive(Args)]
struct Stress {
    /// The folder that `./dev gpu --prepare` made
    #[arg(long, default_value = ".")]
    bundle: PathBuf,
    /// For how long
    #[arg(long, default_value_t = 480)]
    seconds: u64,
    /// How long there is between two looks at the memory in use
    #[arg(long, default_value_t = 60)]
    interval: u64,
    /// On how many threads [default: as many as there are cores, at most 8]
    #[arg(long)]
    threads: Option<usize>,
    /// How long a thread may take for one scene: it hangs then, and so the run ends
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
    /// Which commands [default: others each time]
    #[arg(long)]
    seed: Option<u64>,
    /// Launch no kernels at random: the device can't run any code
    #[arg(long)]
    known_kernels: bool,
    /// Count the device's errors and go on: something makes them on purpose
    #[arg(long)]
    faults: bool,
}

fn main() -> ExitCode {
    let line = Line::parse();
    let opened = Gpu::open().and_then(|gpu| match gpu {
        Ok(gpu) => Ok(Ok((gpu, device()?))),
        Err(reason) => Ok(Err(reason)),
    });
    let done = match opened {
        Ok(Ok((gpu, device))) => match line.command {
            Command::Measure(options) => measure(&options, &gpu, &device),
            Command::Stress(options) => stress(&options, &gpu, &device),
        },
        Ok(Err(reason)) => return fail(&reason, 3),
        Err(error) => Err(error),
    };
    match done {
        Ok(wrong) if wrong.is_empty() => ExitCode::SUCCESS,
        Ok(wrong) => fail(&wrong.join("\n"), 1),
        Err(error) => fail(&error.to_string(), 2),
    }
}

#[expect(clippy::print_stderr, reason = "that is where errors go")]
fn fail(what: &str, code: u8) -> ExitCode {
    eprintln!("offkit-gpu: {what}");
    ExitCode::from(code)
}

/// The first GPU of offkit's plugin, which is in this program's folder or named by `OFFKIT_PLUGINS`.
fn device() -> Result<Device> {
    let mut runtime = Runtime::discover(&[]);
    runtime.device(Some("cuda")).map_err(|error| {
        let failures: Vec<String> = runtime.failures().map(ToString::to_string).collect();
        format!(
            "offkit finds no GPU though the driver has one: {error} {}",
            failures.join("; ")
        )
        .into()
    })
}

fn measure(options: &Measure, gpu: &Gpu, device: &Device) -> Result<Vec<String>> {
    let code = Code::new(&options.bundle, gpu.capability()?);
    let made = fs::read_to_string(options.bundle.join("made")).unwrap_or_default();
    let place = Place {
        device: gpu.name()?,
        processors: gpu.processors()?,
        capability: gpu.capability()?,
        driver: device.driver_version()?,
        cuda: gpu.cuda()?,
        date: today(),
        made: made.trim().to_owned(),
    };
    let mut report = Report {
        place,
        lacks: options.lacks(),
        launches: Vec::new(),
        rows: Vec::new(),
        failed: Vec::new(),
    };
    if options.only.is_empty() {
        match launch::measure(gpu, &code, device) {
            Ok(launches) => report.launches = launches,
            Err(error) => report.failed.push(("launches".to_owned(), error.to_string())),
        }
    }
    write(options, &report)?;
    let loaded = throughput::load(gpu, &code, &mut report.failed)?;
    if !loaded.iter().any(|loaded| loaded.compiler == Compiler::Nvcc) {
        report
            .failed
            .push(("ratios".to_owned(), "there is no code of nvcc's".to_owned()));
    }
    let scale = if options.small { Scale::Small } else { Scale::Full };
    for row in rows::rows(scale) {
        if !options.only.is_empty() && !options.only.iter().any(|words| row.title.contains(words)) {
            continue;
        }
        match throughput::measure(gpu, &loaded, &row, options.seconds) {
            Ok(measured) => report.rows.push(measured),
            Err(error) => report.failed.push((row.title.clone(), error.to_string())),
        }
        // Whatever ends the run later, what was measured is there.
        write(options, &report)?;
    }
    write(options, &report)?;
    say(&report.text());
    Ok(report.missed())
}

fn write(options: &Measure, report: &Report) -> Result<()> {
    match &options.out {
        Some(out) => {
            fs::write(out, report.text()).map_err(|error| format!("{}: {error}", out.display()).into())
        }
        None => Ok(()),
    }
}

#[expect(clippy::print_stdout, reason = "that is where the tables go")]
fn say(text: &str) {
    println!("{text}");
}

fn stress(options: &Stress, gpu: &Gpu, device: &Device) -> Result<Vec<String>> {
    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let chance = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let run = stress::Options {
        seconds: options.seconds,
        // Looks are compared with each other: several in every run.
        interval: Duration::from_secs(options.interval.max(1)).min(Duration::from_secs(options.seconds) / 4),
        threads: options.threads.unwrap_or(cores.min(8)).max(1),
        patience: Duration::from_secs(options.patience),
        seed: options.seed.unwrap_or(chance),
        faults: options.faults,
        known_kernels: options.known_kernels,
    };
    stress::run(&run, gpu, &Code::new(&options.bundle, gpu.capability()?), device)
}

/// Today, as the calendar has it.
fn today() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The day with a number, from 1 January 1970: `24 November 2026`.
fn date(days: u64) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    // Years begin in March here, so that the day that some have more is their last.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 2 } else { month - 10 };
    let year = year + 400 * era + u64::from(month < 2);
    format!("{day} {} {year}", MONTHS[month as usize])
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn days_have_dates() {
        let days = [
            (0, "1 January 1970"),
            (11_016, "29 February 2000"),
            (20_781, "24 November 2026"),
        ];
        for (day, expected) in days {
            assert_eq!(date(day), expected);
        }
    }
}
