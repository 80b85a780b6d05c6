//! `clang-linker-wrapper`, as in LLVM 22: links device code, then the host's, in one step that looks like a linker.
//!
//! It takes device code out of the linker's inputs and links it for each target, with `clang` where that needs another
//! linker. The results go into objects that register them, and these to the host's linker with everything else. Unlike
//! the original, it writes the objects directly, and asks LLVM for a module only to print it; leaves code alone that is
//! linked and registered already; takes time linear in the number of images; and passes long command lines through
//! files.
//!
//! | module | holds |
//! |---|---|
//! | `options` | the command line |
//! | `error` | what goes wrong |
//! | `inputs` | device code in the inputs, by target |
//! | `commands` | running programs, intermediate files |
//! | `device_link` | the link for one target, by clang |
//! | `own_link` | the same without a compiler |
//! | `bundle` | what is linked as what a runtime takes |
//! | `host_link` | the host's link |
//! | `job_server` | tokens of make |
//! | `trace` | how long each step took |

mod bundle;
mod commands;
mod device_link;
mod error;
mod host_link;
mod inputs;
mod job_server;
mod options;
mod own_link;
mod trace;

use std::ffi::{OsStr, OsString};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use offkit_link::wrap::host_triple;

use crate::failure::Failure;
use commands::Commands;
use device_link::Linked;
use error::Result;
use inputs::TargetInput;
use job_server::JobServer;
use options::{Jobs, Options};

/// The name in messages.
const NAME: &str = options::COMMAND_LINE.tool;

/// Runs as the tool.
pub(crate) fn run(arguments: Vec<OsString>) -> std::result::Result<String, Failure> {
    link(arguments).map_err(Failure::error)
}

/// Links, and returns what is to be printed.
fn link(arguments: Vec<OsString>) -> Result<String> {
    let options = options::parse(arguments)?;
    if let Some(text) = options.shown {
        return Ok(text);
    }
    let commands = Commands::new(&options);
    let start = Instant::now();
    if let Some((question, _)) = options.llvm.iter().find(|(option, _)| is_question(option)) {
        // LLVM's own options are LLVM's to tell.
        let opt = commands.find("opt", &[])?;
        Commands::new(&Options::default()).run(&opt, &[question.into()])?;
        return Ok(String::new());
    }
    let _temporary = (!options.dry_run).then(offkit_host::temporary::keep_together);
    let host = options.host_triple.clone().unwrap_or_else(host_triple);
    let executable = executable(&options, &host);
    let trace = &commands.trace;
    let linked = {
        let inputs = match options.overrides.as_slice() {
            [] => trace.time("ExtractDeviceCode", "", || inputs::open(&options))?,
            // Instead of what would be linked.
            _ => Vec::new(),
        };
        let targets = trace.time("ExtractDeviceCode", "", || {
            inputs::by_target(&inputs, &options.should_extract)
        })?;
        trace.time("Handle all device input", "", || {
            link_all(&targets, &options, &commands, &executable)
        })?
    };
    let bundler = bundle::Bundler {
        options: &options,
        commands: &commands,
        executable: &executable,
        host: &host,
    };
    let objects = trace.time("Wrap bundled images", "", || bundler.bundle(linked))?;
    if !options.fatbin_only {
        trace.time("Execute host linker", "", || {
            host_link::run(&options, &commands, &executable, &host, objects)
        })?;
    }
    trace.note("Execute linker wrapper", "", start, start.elapsed());
    trace.write(NAME)?;
    Ok(String::new())
}

fn is_question(option: &str) -> bool {
    let name = option.strip_prefix("--").or(option.strip_prefix('-'));
    matches!(
        name,
        Some("help" | "help-hidden" | "help-list" | "help-list-hidden")
    )
}

/// The name of what is linked.
fn executable(options: &Options, host: &str) -> String {
    match &options.output {
        Some(output) => output.to_string_lossy().into_owned(),
        None if host.contains("windows") => "a.exe".into(),
        None => "a.out".into(),
    }
}

/// Links the code of all targets, several at the same time if that is wanted; in the order of the targets.
fn link_all(
    targets: &[TargetInput<'_>],
    options: &Options,
    commands: &Commands,
    executable: &str,
) -> Result<Vec<Linked>> {
    // Relaxed is enough: no other memory hangs on the number, and results are handed over under a
    // lock.
    let next = AtomicUsize::new(0);
    let is_work_left = || next.load(Ordering::Relaxed) < targets.len();
    let results = Mutex::new(Vec::with_capacity(targets.len()));
    let link_next = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(target) = targets.get(number) else {
            return false;
        };
        let result = commands
            .trace
            .time("Link device input", &target.target.triple, || {
                device_link::link(target, options, commands, executable)
            });
        let is_good = result.is_ok();
        let mut results = results.lock().unwrap_or_else(|error| error.into_inner());
        results.push((number, result));
        if !is_good {
            // Nothing more is begun.
            next.store(targets.len(), Ordering::Relaxed);
        }
        is_good
    };
    // Beside this thread's own.
    let (server, more) = match options.jobs {
        Jobs::Count(count) => (None, count.min(targets.len()).saturating_sub(1)),
        Jobs::Server => {
            let server = JobServer::find();
            let more = match server {
                Some(_) => targets.len().min(available_parallelism()).saturating_sub(1),
                None => 0,
            };
            (server, more)
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..more {
            // The thread that starts these needs no token: it runs on the one with which make has
            // started the process.
            scope.spawn(|| match &server {
                None => while link_next() {},
                Some(server) => {
                    while let Some(_token) = server.take(is_work_left) {
                        link_next();
                    }
                }
            });
        }
        while link_next() {}
    });
    let mut results = results.into_inner().unwrap_or_else(|error| error.into_inner());
    // They came in as they were done. Of several failures the first in order is the one that is told.
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

fn available_parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A file's name without its folder.
fn file_name(path: &str) -> String {
    let name = std::path::Path::new(path).file_name().unwrap_or(OsStr::new(path));
    name.to_string_lossy().into_owned()
}
