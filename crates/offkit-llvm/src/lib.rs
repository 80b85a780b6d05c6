//! How offkit talks to LLVM: through a worker program, never in its own process.
//!
//! LLVM ends the process it runs in when something goes fatally wrong: a code generator that meets
//! a type it has no extension for prints `LLVM ERROR: …` and exits. It is also 146 MB that take
//! 9 ms to load. So everything that needs LLVM happens in a separate program,
//! `offkit-llvm-worker` (crate `offkit-llvm-worker`, the only one that links LLVM), and this crate is the
//! two ends' common language:
//!
//! * [`Request`] and [`Reply`]: what can be asked and what comes back, a line of JSON each on the worker's standard
//!   input and output, with bitcode and code as bytes behind it ([`frame`]).
//! * [`Part`] and [`EmittedPart`]: what is taken out of a module, and what became of it. There is this one way, whether
//!   bitcode, text or code is wanted.
//! * [`ModuleSummary`]: what the tool chain needs to know about an LLVM module to plan with it, as
//!   plain data. Everything that decides something (which functions are entry points, what is
//!   exported, how a module is split) works on summaries and is tested without LLVM.
//! * [`Worker`]: finds the program, starts it, asks it as often as needed, and turns its death into an
//!   error that holds what LLVM said last. Code for several images is generated in a process each, which
//!   the worker starts: LLVM's SPIR-V back end keeps state between modules.
//!
//! # Protocol
//!
//! The worker reads one request and answers it with one reply, in order. The first request
//! must be [`Request::Hello`]; the two ends must speak the same [`PROTOCOL_VERSION`], since they are
//! built together. The worker ends when its standard input does. Whatever it prints to standard
//! error is kept and becomes part of the error if it dies.
//!
//! | request | answer |
//! |---|---|
//! | `Hello` | the worker's version and LLVM's |
//! | `Open` modules, and libraries | a number for the module that they became, and what is in it |
//! | `Mark` a module | its kernels and exported functions say which source file they come from |
//! | `Emit` parts of a module | for each, bitcode, text or code, and what it defines and needs |
//! | `Needs` of a module | who needs some symbols |
//! | `Wrap` images | the module that registers them when a program starts |
//! | `Compile` a kernel | machine code for a processor |
//! | `Device` | code of kernels for a GPU |
//! | `Close` a module | it is forgotten |
//!
//! A module stays in the worker from `Open` to `Close`. A file is named by its path and read there, as far as it is
//! needed; other modules, and all that is emitted, travel through the pipes. The worker writes no files but those that
//! a caller asks for: bitcode to keep, and that of a part LLVM crashes at.
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
//! use offkit_llvm::{Form, Source, Worker};
//!
//! # fn main() -> Result<(), offkit_llvm::WorkerError> {
//! let mut worker = Worker::start()?;
//! println!("LLVM {}", worker.llvm_version());
//! let module = worker.open(&[Source::file("app.bc"), Source::file("library.bc")], &[], false)?;
//! println!("{} functions for {}", module.summary.functions.len(), module.summary.triple);
//! let text = worker.emit_whole(module.id, &Form::Text)?.content;
//! println!("{}", String::from_utf8_lossy(&text));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod client;
mod diagnostic;
pub mod frame;
mod protocol;
mod source;
mod summary;

pub use client::{KERNEL_WORKER_PROGRAM, LLVM_LIBRARY, WORKER_PROGRAM, WORKER_VARIABLE, Worker, WorkerError};
pub use diagnostic::{Diagnostic, Place, Severity};
pub use protocol::{
    CodeOptions, CompileRequest, Compiled, DeviceCode, DeviceKernel, DeviceRequest, Effort, EmittedPart,
    Form, Forms, ModuleId, ModuleSource, OpenedModule, PROTOCOL_VERSION, Part, Reply, Request,
    SpecializationConstant, SpecializationConstantMode, SpirvLimits, SpirvNeed, SymbolNeed, WITH_OFFSET,
};
pub use source::{Content, Source};
pub use summary::{
    CallingConvention, FunctionSummary, Linkage, Metadata, ModuleSummary, VariableSummary, sanitizer_of,
};
