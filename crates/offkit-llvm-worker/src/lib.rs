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
//! | [`module`] | modules: lazy reading, symbols, linking, writing |
//! | [`mark`] | marks on kernels and exported functions, from annotations |
//! | [`describe`] | what a module holds, read as a whole: uses, metadata, attributes of variables |
//! | [`prepare`] | making a module fit for splitting |
//! | [`split`] | taking some symbols and all that they need out of a module, or what a list has |
//! | [`specialization`] | lowering of SYCL's specialization constants |
//! | [`passes`] | passes that need no target |
//! | [`write_parts`] | parts of a module, taken out and written, several at a time |
//! | [`conversions`] | OpenCL C's integer conversions, which the back end gets wrong |
//! | [`codegen`] | passes and code generation |
//! | [`link`](mod@link) | linking modules, and of libraries what is needed |
//! | [`generate`](mod@generate) | code for parts of a module |
//! | [`processes`] | work in copies of this process |
//! | [`needs`](mod@needs) | who needs a symbol |
//! | [`extensions`] | the SPIR-V extensions that the code generator knows |
//! | [`serve`](mod@serve) | requests in, replies out |
//!
//! Each wrapper owns what it points to and frees it when dropped; lifetimes tie modules to their
//! context. `unsafe` is confined to the modules where LLVM's C functions are called, to `processes`, and to one
//! lifetime in `link`; [`serve`](mod@serve) has none but for LLVM's version.
//!
//! # Lazy reading
//!
//! [`Module::open`](module::Module::open) reads symbols and leaves function bodies in the file. What
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

pub mod beyond_c;
pub mod codegen;
pub mod context;
pub mod conversions;
pub mod describe;
pub mod extensions;
pub mod generate;
pub mod link;
mod metadata;
pub mod module;
pub mod needs;
pub mod passes;
pub mod prepare;
pub mod processes;
pub mod processor;
pub mod serve;
pub mod specialization;
pub mod split;
pub mod write_parts;

pub mod mark;

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
}
