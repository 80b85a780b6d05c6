//! Everything of offkit that needs LLVM 22.
//!
//! This is the only crate that links LLVM, and nothing but the worker program
//! (`offkit-llvm-worker`, in `main.rs`) uses it: the `offkit` program and its libraries build, start
//! and mostly work without LLVM, and a fatal error inside LLVM ends the worker, never its user. The
//! other end of the conversation is the crate `offkit-llvm`.
//!
//! | module | holds |
//! |---|---|
//! | [`context`] | an LLVM context and the errors it reports |
//! | [`buffer`] | bytes that modules are read from |
//! | [`module`] | modules: lazy reading, symbols, linking, writing |
//! | [`beyond_c`] | what LLVM's C interface does not offer |
//! | [`mark`] | marks on kernels and exported functions, from annotations |
//! | `sanitizers` | what sanitizers leave for the tool that splits a module |
//! | [`describe`] | what a module holds, bodies too: uses, metadata |
//! | [`link`](mod@link) | linking modules, and of libraries what is needed |
//! | [`kept`] | modules that are kept between requests |
//! | [`split`] | taking some symbols and all that they need out of a module |
//! | [`specialization`] | lowering of SYCL's specialization constants |
//! | [`passes`] | passes that need no target |
//! | [`emit`](mod@emit) | parts of a module, taken out and emitted, several at a time |
//! | `legalise` | what LLVM 22's SPIR-V back end gets wrong |
//! | `diagnostics` | what LLVM reports about code, with places |
//! | `lines` | source lines for SPIR-V, of which the back end writes none |
//! | [`codegen`] | passes and code generation |
//! | [`targets`] | the targets that LLVM is told of |
//! | [`compile`](mod@compile) | kernels to machine code |
//! | `attempts` | how much of SPIR-V a module is generated with |
//! | `unmet` | who needs more of SPIR-V than its target takes |
//! | [`processes`] | work in copies of this process |
//! | [`needs`](mod@needs) | who needs a symbol |
//! | [`extensions`] | the SPIR-V extensions that the code generator knows |
//! | [`serve`](mod@serve) | requests in, replies out |
//! | [`rest`] | memory that is given back while there are no requests |
//!
//! Each wrapper owns what it points to and frees it when dropped. A module has a share of its context and of the bytes
//! that it is read from, so both live as long as it does; what is in a module borrows it. `unsafe` is confined to the
//! modules where LLVM's C functions are called, and to `processes` and `rest`; [`serve`](mod@serve) has none but for LLVM's version.
//!
//! # Lazy reading
//!
//! [`Module::open`](module::Module::open) reads symbols and leaves function bodies where they are. What
//! is then linked into another module is read on the way, and only that: a part taken out of a
//! module of thousands of functions costs what the part is worth. See [`split`] for how the linker
//! is made to take only what is needed.
//!
//! # Example
//!
//! ```
//! use offkit_llvm_worker::{context::Context, module::Module};
//! # fn main() -> Result<(), offkit_llvm_worker::Error> {
//! let context = Context::new();
//! let module = Module::parse_text(&context, "define spir_kernel void @k() { ret void }")?;
//! let summary = module.summary();
//! assert_eq!(summary.kernels().next().unwrap().name, "k");
//! # Ok(())
//! # }
//! ```

mod attempts;
pub mod beyond_c;
pub mod buffer;
pub mod codegen;
pub mod compile;
pub mod context;
pub mod describe;
mod diagnostics;
pub mod emit;
pub mod extensions;
mod generate;
mod groups;
pub mod kept;
mod legalise;
mod lines;
pub mod link;
mod lists;
pub mod mark;
mod metadata;
pub mod module;
pub mod needs;
pub mod passes;
pub mod processes;
pub mod processor;
pub mod rest;
mod sanitizers;
pub mod serve;
pub mod specialization;
pub mod split;
pub mod targets;
mod unmet;

/// What LLVM says when it cannot do something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
}

impl Error {
    /// An error with that text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }

    /// The same, with the name of the module that it is about.
    pub(crate) fn of(&self, name: &str) -> Self {
        Self::new(format!("{name}: {}", self.message))
    }
}
