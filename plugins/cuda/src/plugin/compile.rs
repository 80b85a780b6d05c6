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
    // offkit compiles for `sm_60` and newer. Where a program has more rights than its user, nothing
    // is started that a variable of the user's may name.
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
    // Where many machines share a cache, one of them compiles.
    let missing = match key.as_ref().map(|key| Cache::user().get_or_claim(key)) {
        Some(Ok(kept)) => return Ok(kept.to_vec()),
        Some(Err(missing)) => Some(missing),
        None => None,
    };
    let made = make_apart(spirv, request, &worker)?;
    if let (Some(missing), Some(libraries)) = (missing, made.libraries) {
        missing.put(&libraries, &made.ptx);
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
            // Who writes to a worker that has gone gets SIGPIPE, which would end a host that
            // expects none.
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
    // While the process is there: its mappings say which file of LLVM it has loaded.
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
    Some(key_with(spirv, request, FileId::of(worker)?))
}

/// The key with this worker. A field that is not looked at here is an error of the compiler's.
fn key_with(spirv: &[u8], request: &DeviceRequest, worker: FileId) -> Key {
    let DeviceRequest {
        kernels,
        specialization,
        triple,
        processor,
        features,
        optimization,
        with_text,
    } = request;
    // Another copy of the same worker makes the same.
    let FileId { path: _, identity } = worker;
    Key::new(Kind::Kernel, processor.as_str())
        .text("offkit", env!("CARGO_PKG_VERSION"))
        .text("protocol", PROTOCOL_VERSION)
        .text("worker", identity)
        .text("module", Digest::of(spirv))
        .text("kernels", format_args!("{kernels:?}"))
        .text("specialization constants", format_args!("{specialization:?}"))
        .text("triple", triple)
        .text("processor", processor)
        .text("features", features)
        .text("optimization", optimization)
        .text("with text", with_text)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[derive(Clone)]
    struct Made {
        spirv: Vec<u8>,
        request: DeviceRequest,
        worker: FileId,
    }

    impl Made {
        fn key(&self) -> Key {
            key_with(&self.spirv, &self.request, self.worker.clone())
        }
    }

    #[test]
    fn whatever_ptx_is_made_of_makes_another_key() {
        let base = Made {
            spirv: b"module".to_vec(),
            request: DeviceRequest {
                kernels: vec!["f".to_owned(), "g".to_owned()],
                specialization: [(1, 2)].into(),
                triple: triples::NVPTX64.to_owned(),
                processor: "sm_90".to_owned(),
                features: "+ptx80".to_owned(),
                optimization: 3,
                with_text: false,
            },
            worker: FileId {
                path: "worker".into(),
                identity: "1".to_owned(),
            },
        };
        type Change = fn(&mut Made);
        let changes: &[Change] = &[
            |made| made.spirv.push(0),
            |made| made.request.kernels.swap(0, 1),
            |made| made.request.kernels.truncate(1),
            |made| made.request.kernels = vec!["f\", \"g".to_owned()],
            |made| made.request.specialization = [(2, 2)].into(),
            |made| made.request.specialization = [(1, 3)].into(),
            |made| made.request.specialization.clear(),
            |made| made.request.triple.push('2'),
            |made| made.request.processor.push('a'),
            |made| made.request.features.clear(),
            |made| made.request.optimization = 2,
            |made| made.request.with_text = true,
            |made| made.worker.identity.push('2'),
        ];
        let mut seen = BTreeSet::from([base.key().digest()]);
        for (number, change) in changes.iter().enumerate() {
            let mut other = base.clone();
            change(&mut other);
            assert!(
                seen.insert(other.key().digest()),
                "change {number} makes no key of its own"
            );
        }
        let mut moved = base.clone();
        moved.worker.path.push("elsewhere");
        assert_eq!(moved.key(), base.key());
    }
}
