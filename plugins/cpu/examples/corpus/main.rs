//! Compiles a corpus of SPIR-V modules for the CPU device, and runs a sample of their kernels compiled and interpreted with
//! the same inputs: `./dev corpus`.
//!
//! ```text
//!  folders ─▶ modules ─▶ in the order of a seed ─▶ processes that examine one after the other ─▶ records ─▶ summary
//! ```
//!
//! Records go to a file, and what is in there for the same compiler, tool and seed is not done again. The processes are
//! this program again; one that crashes or never ends costs a record.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it prints what it found"
)]

mod compare;
mod crew;
mod elements;
mod examine;
mod inputs;
mod modules;
mod random;
mod record;
mod summary;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crew::Member;
use modules::Module;
use offkit_plugin_cpu::{LIBMVEC_VARIABLE, PROCESSOR_VARIABLE};
use record::{Identity, Record};
use summary::Summary;

const USAGE: &str =
    "usage: corpus --compiler PROGRAM --results FILE [--sample N] [--modules N] [--seed S] [--only DIGEST]
              [--jobs N] [--json] FOLDER...";

/// What is asked for.
struct Options {
    folders: Vec<PathBuf>,
    compiler: PathBuf,
    results: PathBuf,
    sample: usize,
    modules: usize,
    seed: u64,
    /// The start of the digest of the one module to examine, whatever is known of it.
    only: Option<String>,
    jobs: usize,
    json: bool,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(crew::MEMBER) {
        let compiler = PathBuf::from(arguments.next().unwrap_or_default());
        return finish(crew::member(&compiler).map(|()| true));
    }
    match options(std::env::args().skip(1)) {
        Ok(options) => finish(run(&options)),
        Err(why) => {
            eprintln!("corpus: {why}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn finish(done: io::Result<bool>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("corpus: {error}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        folders: Vec::new(),
        compiler: PathBuf::new(),
        results: PathBuf::new(),
        sample: 1000,
        modules: usize::MAX,
        seed: 1,
        only: None,
        jobs: std::thread::available_parallelism().map_or(1, usize::from),
        json: false,
    };
    while let Some(name) = arguments.next() {
        if name == "--json" {
            options.json = true;
            continue;
        }
        if !name.starts_with("--") {
            options.folders.push(name.into());
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("{name} takes a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{name} {value}: not a number"))
        };
        match name.as_str() {
            "--compiler" => options.compiler = value.into(),
            "--results" => options.results = value.into(),
            "--sample" => options.sample = number()? as usize,
            "--modules" => options.modules = number()? as usize,
            "--seed" => options.seed = number()?,
            "--jobs" => options.jobs = number()?.max(1) as usize,
            "--only" => options.only = Some(value),
            _ => return Err(format!("{name} is no option")),
        }
    }
    let is_complete = options.compiler.is_file() && !options.results.as_os_str().is_empty();
    match is_complete && !options.folders.is_empty() {
        true => Ok(options),
        false => Err("a compiler, a file for results and folders with modules are needed".to_owned()),
    }
}

/// Examines what is asked for; whether all is as it should be.
fn run(options: &Options) -> io::Result<bool> {
    let (mut modules, files) = modules::find(&options.folders)?;
    let different = modules.len();
    modules::shuffle(&mut modules, options.seed);
    if let Some(only) = &options.only {
        modules.retain(|module| module.digest.starts_with(only));
        if modules.is_empty() {
            return Err(io::Error::other(format!("no module's digest begins with {only}")));
        }
    }
    modules.truncate(options.modules.max(options.sample));
    let read = |path: &Path| fs::read(path).map(|bytes| modules::digest(&bytes));
    let identity = Identity {
        tool: read(&std::env::current_exe()?)?,
        compiler: read(&options.compiler)?,
        seed: options.seed,
        variables: [PROCESSOR_VARIABLE, LIBMVEC_VARIABLE].map(|name| std::env::var(name).unwrap_or_default()),
    };
    if options.only.is_some() {
        let (mut member, mut is_right) = (Member::new(&options.compiler), true);
        for module in &modules {
            println!("{}", module.path.display());
            for record in member.examine(module, Some(options.seed))? {
                println!("{}", serde_json::to_string_pretty(&record)?);
                is_right &= record.fault().is_none();
            }
        }
        return Ok(is_right);
    }
    let (file, records) = record::open(&options.results, &identity)?;
    let mut known: HashMap<String, Vec<Record>> = HashMap::new();
    for record in records {
        let others = known.entry(record.module.clone()).or_default();
        // What is in the file twice was run the second time.
        others.retain(|other| other.kernel != record.kernel);
        others.push(record);
    }
    let (known, file) = (Mutex::new(known), Mutex::new(file));
    let keep = |digest: &str, records: Vec<Record>| -> io::Result<()> {
        let mut file = file.lock().unwrap_or_else(|error| error.into_inner());
        for record in &records {
            writeln!(file, "{}", serde_json::to_string(record)?)?;
            if let Some(run) = record.fault() {
                eprintln!(
                    "{:?}: {} {}: {}",
                    run.verdict,
                    &digest[..16],
                    record.kernel,
                    run.what
                );
            }
        }
        let mut known = known.lock().unwrap_or_else(|error| error.into_inner());
        known.insert(digest.to_owned(), records);
        Ok(())
    };
    let is_known = |digest: &str, with_run: bool| {
        let known = known.lock().unwrap_or_else(|error| error.into_inner());
        let found = known.get(digest);
        found.is_some_and(|records| records.iter().all(|record| !with_run || record.run.is_some()))
    };
    let (next, examined) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> io::Result<()> {
        let mut member = Member::new(&options.compiler);
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(Module { digest, .. }) = modules.get(index) else {
                return Ok(());
            };
            let seed = (index < options.sample).then_some(options.seed);
            if !is_known(digest, seed.is_some()) {
                let records = member.examine(&modules[index], seed)?;
                keep(digest, records)?;
            }
            let done = examined.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(500) {
                eprintln!("{done} of {} modules", modules.len());
            }
        }
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        let mut ended = threads.into_iter().map(|thread| thread.join());
        ended.try_for_each(|ended| ended.unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
    })?;
    let known = known.into_inner().unwrap_or_else(|error| error.into_inner());
    let records = modules
        .iter()
        .filter_map(|module| known.get(&module.digest))
        .flatten();
    let records: Vec<_> = records.cloned().collect();
    let summary = Summary::of(files, different, options.seed, &records);
    match options.json {
        true => println!("{}", serde_json::to_string_pretty(&summary)?),
        false => print!("{summary}"),
    }
    let missed = summary.missed();
    for missed in &missed {
        eprintln!("{missed}");
    }
    Ok(missed.is_empty())
}
