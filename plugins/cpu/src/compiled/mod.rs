//! Kernels that are compiled when they are launched, and interpreted where they cannot be.
//!
//! ```text
//!  launch ──▶ variant ──▶ slot ──full──▶ code runs the groups
//!                          │ empty
//!                          ▼
//!                        cache ──▶ code::Loaded ──▶ slot
//!                          │ nothing kept
//!                          ▼
//!              service ──SPIR-V──▶ LLVM worker ──object──▶ code::Loaded ──▶ slot
//! ```
//!
//! A kernel has a slot for each [`Variant`](offkit_compile::Variant) that its launches need. It is filled with code, later
//! with better code, or with the reason why there is none. LLVM is in a process of its own ([`service`]); whatever becomes of that process
//! costs a kernel its speed and nothing else.

mod code;
mod expected;
mod kept;
mod kernel;
mod mathematics;
mod options;
mod order;
mod outside;
mod service;
mod shape;
mod trial;

use std::path::PathBuf;

use offkit_host::program;
use offkit_llvm::{KERNEL_WORKER_PROGRAM, WORKER_PROGRAM, Worker, WorkerError};

use crate::code::Machine;
use crate::sync::OnceLock;

pub use expected::{Expected, Processor, expected};
pub(crate) use kept::Source;
pub(crate) use kernel::CompiledKernel;
pub use mathematics::{LIBMVEC_VARIABLE, vector_functions};
pub(crate) use options::KernelOptions;
pub use options::{CHECK_BOUNDS_OPTION, CHECK_BOUNDS_VARIABLE, kernel_options};
pub use service::time_waited;
#[doc(hidden)]
pub use trial::{Trial, TrialOptions, launch_compiled};

/// The environment variable that says whether kernels are compiled: 0 or 1.
pub const COMPILE_VARIABLE: &str = "OFFKIT_CPU_COMPILE";

/// Whether they are if it says nothing.
const BY_DEFAULT: bool = true;

/// The program that compiles kernels for the CPU device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The program.
    pub program: PathBuf,
    /// Its version of LLVM.
    pub llvm: String,
    /// Why it is not the program that was found first.
    pub instead: Option<String>,
}

impl Compiler {
    /// Starts the program, to see whether it can be used. `None` where kernels are not to be compiled.
    ///
    /// # Errors
    /// Why kernels are interpreted, although they are to be compiled.
    pub fn find() -> Option<Result<Compiler, String>> {
        is_on().then(|| {
            let started = start().map_err(|error| offkit_host::chain(&error))?;
            Ok(Compiler {
                llvm: started.worker.llvm_version().to_owned(),
                program: started.program,
                instead: started.instead,
            })
        })
    }
}

/// The process that compiles.
struct Started {
    worker: Worker,
    program: PathBuf,
    /// Why it is not the program that was found first.
    instead: Option<String>,
}

/// Starts the program that compiles. The small one may have been left behind by another release, and then the full one does
/// its work if that is of this one.
fn start() -> Result<Started, WorkerError> {
    let found = worker_program()?;
    let error = match service::start_program(&found) {
        Err(error @ WorkerError::Protocol { .. }) => error,
        started => {
            return started.map(|worker| Started {
                worker,
                program: found,
                instead: None,
            });
        }
    };
    let full = Worker::find_near(program::own_folder(WORKER_PROGRAM).as_deref());
    // Where it was found first, it has just refused.
    let full = full.ok().filter(|full| *full != found);
    let started = full.and_then(|full| Some((service::start_program(&full).ok()?, full)));
    let Some((worker, program)) = started else {
        return Err(error);
    };
    let instead = format!(
        "kernels are compiled by `{}`: {error}: install both of one release",
        program.display()
    );
    if INSTEAD.set(instead.clone()).is_ok() {
        tracing::warn!("{instead}");
    }
    Ok(Started {
        worker,
        program,
        instead: Some(instead),
    })
}

/// Why another program compiles than the one that was found first.
static INSTEAD: OnceLock<String> = OnceLock::new();

/// Why another program compiles than the one that was found first, if one has been started.
pub(crate) fn instead() -> Option<&'static str> {
    INSTEAD.get().map(String::as_str)
}

/// The program that compiles.
fn worker_program() -> Result<PathBuf, WorkerError> {
    PROGRAM
        .get()
        .map_or_else(installed_worker, |program| Ok(program.clone()))
}

/// The one beside the library that the device is in, or where such programs are looked for.
fn installed_worker() -> Result<PathBuf, WorkerError> {
    let names = [KERNEL_WORKER_PROGRAM, WORKER_PROGRAM];
    let folder = names.into_iter().find_map(program::own_folder);
    Worker::find_for_kernels(folder.as_deref())
}

/// The program, where it isn't the one that is found.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Has kernels compiled by a program, from the next start of the process on. For tests of this crate.
#[doc(hidden)]
pub fn compile_with(program: PathBuf) {
    _ = PROGRAM.set(program);
}

/// Whether kernels are compiled in this process, as far as they can be.
pub(crate) fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| {
        let asked = std::env::var_os(COMPILE_VARIABLE);
        let wanted = match asked.as_ref().and_then(|value| value.to_str()) {
            Some("1") => true,
            Some("0") => false,
            _ => BY_DEFAULT,
        };
        // A process with rights that its user has not must start no program that a variable or
        // `PATH` names.
        wanted && cfg!(unix) && Machine::HOST.is_some() && !program::is_privileged()
    })
}
