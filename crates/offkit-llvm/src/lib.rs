//! How offkit talks to LLVM: through a worker program, never in its own process.
//!
//! LLVM ends the process it runs in when something goes fatally wrong: a code generator that meets
//! a type it has no extension for prints `LLVM ERROR: …` and exits. It is also 146 MB that take
//! 9 ms to load. So everything that needs LLVM happens in a separate program,
//! `offkit-llvm-worker` (crate `offkit-llvm-worker`, the only one that links LLVM), and this crate is the
//! two ends' common language:
//!
//! * [`Request`] and [`Reply`]: what can be asked and what comes back, one JSON object a line on
//!   the worker's standard input and output. Modules themselves travel as files: the requests name
//!   paths, so a module of any size costs nothing to pass on.
//! * [`ModuleSummary`]: what the tool chain needs to know about an LLVM module to plan with it, as
//!   plain data. Everything that decides something (which functions are entry points, what is
//!   exported, how a module is split) works on summaries and is tested without LLVM.
//! * [`Worker`]: finds the program, starts it, asks it as often as needed, and turns its death into an
//!   error that holds what LLVM said last. Code for several images is generated in a process each, which
//!   the worker starts: LLVM's SPIR-V back end keeps state between modules.
//!
//! # Protocol
//!
//! The worker reads one request a line and answers each with one line, in order. The first request
//! must be [`Request::Hello`]; the two ends must speak the same [`PROTOCOL_VERSION`], since they are
//! built together. The worker ends when its standard input does. Whatever it prints to standard
//! error is kept and becomes part of the error if it dies.
//!
//! # Example
//!
//! Planning code needs no worker at all:
//!
//! ```
//! use offkit_llvm::{CallingConvention, FunctionSummary, Linkage, ModuleSummary};
//!
//! let module = ModuleSummary {
//!     triple: "spirv64".into(),
//!     functions: vec![FunctionSummary {
//!         name: "saxpy".into(),
//!         linkage: Linkage::External,
//!         calling_convention: CallingConvention::Kernel,
//!         is_declaration: false,
//!         ..FunctionSummary::default()
//!     }],
//!     ..ModuleSummary::default()
//! };
//! let kernels: Vec<_> = module.kernels().map(|kernel| kernel.name.as_str()).collect();
//! assert_eq!(kernels, ["saxpy"]);
//! ```
//!
//! With one installed, a summary comes from a file:
//!
//! ```no_run
//! use offkit_llvm::Worker;
//!
//! # fn main() -> Result<(), offkit_llvm::WorkerError> {
//! let mut worker = Worker::start()?;
//! println!("LLVM {}", worker.llvm_version());
//! let module = worker.prepare("app.bc".as_ref(), "prepared.bc".as_ref())?;
//! println!("{} functions for {}", module.functions.len(), module.triple);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod client;
mod protocol;
mod summary;

pub use client::{WORKER_PROGRAM, WORKER_VARIABLE, Worker, WorkerError};
pub use protocol::{
    EmitOptions, GeneratedPart, ModuleFile, PROTOCOL_VERSION, Part, Reply, Request, SpecializationConstant,
    SpecializationConstantMode, SplitOptions, SplitPart, SymbolNeed, WrittenPart,
};
pub use summary::{CallingConvention, FunctionSummary, Linkage, Metadata, ModuleSummary, VariableSummary};
