//! SPIR-V becomes PTX, by offkit's own compiler: NVIDIA's driver takes none.
//!
//! LLVM is in a process of its own, `offkit-llvm-worker`, which is started for a program and ends with it. What it has made
//! is kept in the user's cache, so that the next process needs neither.

use offkit_cache::{Cache, Digest, FileId, Key, Kind, mapped_named};
use offkit_host::{chain, program, signals};
use offkit_image::target::triples;
use offkit_llvm::{
    DeviceRequest, LLVM_LIBRARY, PROTOCOL_VERSION, WORKER_PROGRAM, WORKER_VARIABLE, Worker, WorkerError,
};
use std::path::Path;
use std::time::Duration;

use super::device::CudaDevice;

/// How long the process may take to start, on a machine that has much else to do. It takes milliseconds.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take for a program. A kernel takes some tens of milliseconds, and programs have thousands at most.
const LIMIT: Duration = Duration::from_secs(600);

/// Whether SPIR-V is compiled for a device of this process at all.
pub(super) fn is_there(capability: (u32, u32)) -> bool {
    capability.0 >= 6 && !program::is_privileged()
}

/// Compiles all kernels of a module, whose specialization constants have their values, to PTX that a device takes.
///
/// # Errors
///
/// Why there is none, in words for the log: what is missing, or the kernel and what it does.
pub(super) fn compile(spirv: &[u8], device: &CudaDevice, level: u8) -> Result<Vec<u8>, String> {
    if program::is_privileged() {
        return Err("SPIR-V is not compiled in a program that has more rights than its user".to_owned());
    }
    // Of a processor that LLVM does not know yet the driver takes PTX for older ones.
    let target = &device.target.target;
    let known = target
        .fitting_processors()
        .into_iter()
        .find(|fitting| fitting.is_known());
    let known = known.ok_or_else(|| format!("there is no compiler for {target}"))?;
    let request = DeviceRequest {
        triple: triples::NVPTX64.to_owned(),
        processor: known.processor().to_owned(),
        optimization: level,
        ..DeviceRequest::default()
    };
    let worker = Worker::find_near(program::own_folder(WORKER_PROGRAM).as_deref()).map_err(explained)?;
    let key = key(spirv, &request, &worker);
    if let Some(kept) = key.as_ref().and_then(|key| Cache::user().get(key)) {
        return Ok(kept.to_vec());
    }
    let made = make_apart(spirv, request, &worker)?;
    if let (Some(key), Some(libraries)) = (&key, made.libraries) {
        Cache::user().put(key, &libraries, &made.ptx);
    }
    Ok(made.ptx)
}

/// What the compiler has made.
struct Made {
    ptx: Vec<u8>,
    /// What of LLVM is in files of its own; none if it cannot be told.
    libraries: Option<Vec<FileId>>,
}

/// As [`make`], in a thread that has none of the host's signals.
fn make_apart(spirv: &[u8], request: DeviceRequest, program: &Path) -> Result<Made, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("offkit-compiler".to_owned());
        let work = || {
            signals::leave_to_others();
            make(spirv, request, program).map_err(explained)
        };
        let working = thread.spawn_scoped(scope, work);
        let working = working.map_err(|error| format!("no thread can be started: {error}"))?;
        let ended = |_| Err("the thread that asks the compiler has panicked".to_owned());
        working.join().unwrap_or_else(ended)
    })
}

fn make(spirv: &[u8], request: DeviceRequest, program: &Path) -> Result<Made, WorkerError> {
    let mut worker = Worker::start_apart(program, START_LIMIT)?;
    let libraries = mapped_named(worker.process(), LLVM_LIBRARY);
    let compiled = worker.compile_for_device(spirv, request, Some(LIMIT))?;
    worker.end();
    Ok(Made {
        ptx: compiled.code,
        libraries,
    })
}

/// All that the code depends on. None where nothing is kept.
fn key(spirv: &[u8], request: &DeviceRequest, worker: &Path) -> Option<Key> {
    if !Cache::user().is_on() {
        return None;
    }
    let worker = FileId::of(worker)?;
    let key = Key::new(Kind::Kernel, request.processor.as_str())
        .text("offkit", env!("CARGO_PKG_VERSION"))
        .text("protocol", PROTOCOL_VERSION)
        .text("worker", worker.identity)
        .text("module", Digest::of(spirv))
        .text("request", format_args!("{request:?}"));
    Some(key)
}

/// An error in words, with what can be done.
fn explained(error: WorkerError) -> String {
    let words = chain(&error);
    match error.is_missing_tool() {
        true => format!(
            "NVIDIA's driver takes no SPIR-V, and its compiler is missing: {words}; install `{WORKER_PROGRAM}`, or say \
             with {WORKER_VARIABLE} where it is"
        ),
        false => words,
    }
}
