//! `offkit link`: device link.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use offkit_link::device_link::{DeviceLink, LinkError, PORTABLE_EXTENSIONS};
use offkit_object::BundleState;
use offkit_worker::{WORKER_VARIABLE, Worker, WorkerError};

use crate::cli::Link;
use crate::failure::{ExitStatus, Failure};
use crate::files;
use crate::terminal::{FAINT, NAME, Terminal, duration, size};

pub(crate) fn run(arguments: &Link, terminal: Terminal) -> Result<(), Failure> {
    files::check_output(&arguments.output).map_err(Failure::input)?;
    let inputs = Inputs::check(&arguments.inputs)?;
    if let Some(input) = (arguments.inputs.iter())
        .find(|input| !files::is_standard_stream(input) && files::is_same(input, &arguments.output))
    {
        return Err(Failure::input(format!(
            "the output would replace the input `{}`",
            input.display()
        )));
    }
    let state = arguments.state.bundle_state();
    let link = DeviceLink {
        inputs: inputs.paths.clone(),
        split: arguments.split,
        spirv_version: arguments.spirv_version,
        spirv_extensions: arguments
            .spirv_extensions
            .clone()
            .unwrap_or_else(|| PORTABLE_EXTENSIONS.map(str::to_owned).to_vec()),
        optimization: arguments.optimization,
        allow_imports: state != BundleState::Executable,
    };

    let progress = terminal.progress();
    progress.step("start LLVM");
    let mut worker = Worker::start().map_err(|error| failure(LinkError::Worker(error)))?;
    let linked = link
        .run(&mut worker, &mut |step| progress.step(step))
        .map_err(failure)?;
    drop(progress);
    let bytes = linked.write(arguments.format, state).map_err(Failure::input)?;
    files::write(&arguments.output, &[&bytes]).map_err(Failure::input)?;

    if arguments.time {
        for step in &linked.steps {
            terminal.note(format_args!(
                "{FAINT}{:>10}{FAINT:#}  {}",
                duration(step.time),
                step.name
            ));
        }
    }
    let images = linked.images.len();
    terminal.note(format_args!(
        "{NAME}{}{NAME:#}: {images} image{}, {}",
        arguments.output.display(),
        if images == 1 { "" } else { "s" },
        size(bytes.len() as u64)
    ));
    Ok(())
}

/// The inputs as files that the worker can open.
pub(super) struct Inputs {
    pub(super) paths: Vec<PathBuf>,
    /// Where standard input is kept; removed when dropped.
    _folder: Option<tempfile::TempDir>,
}

impl Inputs {
    /// Looks at the inputs, which the worker reads, so that a missing file is told by its name at once.
    pub(super) fn check(inputs: &[PathBuf]) -> Result<Self, Failure> {
        let mut folder = None;
        let mut paths = Vec::new();
        for input in inputs {
            if files::is_standard_stream(input) {
                if folder.is_some() {
                    return Err(Failure::input("standard input, `-`, can be linked only once"));
                }
                let (kept, path) = keep_standard_input()
                    .map_err(LinkError::Temporary)
                    .map_err(failure)?;
                folder = Some(kept);
                paths.push(path);
                continue;
            }
            if input.to_str().is_none() {
                return Err(
                    Failure::input(format!("`{}`: the name is not UTF-8", input.display()))
                        .hint("rename the file, or give its content to standard input, `-`"),
                );
            }
            if let Err(error) = File::open(input) {
                return Err(Failure::input(format!(
                    "cannot read `{}`: {error}",
                    input.display()
                )));
            }
            paths.push(input.clone());
        }
        Ok(Self {
            paths,
            _folder: folder,
        })
    }
}

fn keep_standard_input() -> io::Result<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::Builder::new().prefix("offkit-link-").tempdir()?;
    // What LLVM says about the file shows its name.
    let path = folder.path().join("standard-input");
    io::copy(&mut io::stdin().lock(), &mut File::create(&path)?)?;
    Ok((folder, path))
}

/// The worker failed.
pub(super) fn worker_failure(error: WorkerError) -> Failure {
    failure(LinkError::Worker(error))
}

/// A temporary file could not be used.
pub(super) fn temporary_failure(error: io::Error) -> Failure {
    failure(LinkError::Temporary(error))
}

fn failure(error: LinkError) -> Failure {
    match error {
        LinkError::Worker(WorkerError::Protocol { .. }) => Failure::new(ExitStatus::Machine, error)
            .hint("build both programs from the same sources: `cargo build -p offkit -p offkit-llvm`"),
        LinkError::Temporary(_) => {
            Failure::new(ExitStatus::Machine, error).hint("TMPDIR names the folder for temporary files")
        }
        LinkError::Worker(worker) if worker.is_missing_tool() => {
            let named = std::env::var_os(WORKER_VARIABLE);
            let hint = match (&worker, named) {
                (WorkerError::LlvmMissing { .. }, _) => {
                    "install LLVM 22: `apt-get install libllvm22`".to_owned()
                }
                (_, Some(_)) => format!(
                    "{WORKER_VARIABLE} names that program: correct it, or unset it to use the one beside `offkit`"
                ),
                _ => format!(
                    "build it with `cargo build -p offkit-llvm` (needs Debian's `llvm-22-dev`), \
                     or name it in {WORKER_VARIABLE}"
                ),
            };
            Failure::new(ExitStatus::Machine, worker).hint(hint)
        }
        LinkError::NothingToLink { .. } => Failure::input(error)
            .hint("a kernel is what the host launches; a function is exported unless it is static"),
        LinkError::Undefined { .. } => Failure::input(error).hint(
            "add the file that defines it, or make an object with `--state object` and link it at run time",
        ),
        other => Failure::input(other),
    }
}
