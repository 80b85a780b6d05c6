//! `offkit link`: device link.

use offkit_link::device_link::{DeviceLink, LinkError, PORTABLE_EXTENSIONS};
use offkit_object::BundleState;
use offkit_worker::{WORKER_VARIABLE, Worker, WorkerError};

use crate::cli::{Link, State};
use crate::failure::{ExitStatus, Failure};
use crate::files;
use crate::terminal::{FAINT, NAME, Terminal, duration, size};

pub(crate) fn run(arguments: &Link, terminal: Terminal) -> Result<(), Failure> {
    for input in &arguments.inputs {
        // Read in the worker; looked at here so that a missing file is told by its name at once.
        if let Err(error) = std::fs::File::open(input) {
            return Err(Failure::input(format!(
                "cannot read `{}`: {error}",
                input.display()
            )));
        }
    }
    let state = match arguments.state {
        State::Input => BundleState::Input,
        State::Object => BundleState::Object,
        State::Executable => BundleState::Executable,
    };
    let link = DeviceLink {
        inputs: arguments.inputs.clone(),
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
    files::write(&arguments.output, &bytes).map_err(Failure::input)?;

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

fn failure(error: LinkError) -> Failure {
    match error {
        LinkError::Worker(worker) if worker.is_missing_tool() => {
            let hint = match worker {
                WorkerError::LlvmMissing { .. } => "install LLVM 22: `apt-get install libllvm22`".to_owned(),
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
