//! SPIR-V modules for OpenCL-style devices: what is in them, and linking them.
//!
//! SPIR-V is the form in which device code travels to a driver, or to offkit's own CPU device. For lists and selections
//! [`Outline`] reads a module up to its first function, however damaged the rest is. Everything else works on whole
//! modules: it says what a module offers and needs ([`reflect`], [`CallGraph`]), joins several into one
//! ([`link`]), sets specialization constants for good ([`specialize`]), and asks the Khronos validator what it thinks
//! ([`validate`]). It does not run, translate or optimise code. [`Module::dr`] gives access to the instructions.
//!
//! Numbers newer than the [`grammar`] are no error: an enumerant passes as it is, and an instruction as words, in
//! modules that keep their ids; only [`link`] must refuse it.
//!
//! A [`Module`] reads bytes of either byte order. Reading is safe for hostile input: it never panics, never allocates
//! by a number of the file, and reports the wrong word and instruction. Writing an unchanged module gives the same bytes.
//!
//! # Kernels and parameters
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use offkit_spirv::{Module, ParameterKind, Scalar, Storage, reflect};
//! # use rspirv::spirv;
//! # let bytes = {
//! #     use rspirv::binary::Assemble;
//! #     let mut b = rspirv::dr::Builder::new();
//! #     b.set_version(1, 4);
//! #     b.capability(spirv::Capability::Kernel);
//! #     b.capability(spirv::Capability::Addresses);
//! #     b.memory_model(spirv::AddressingModel::Physical64, spirv::MemoryModel::OpenCL);
//! #     let void = b.type_void();
//! #     let float = b.type_float(32, None);
//! #     let pointer = b.type_pointer(None, spirv::StorageClass::CrossWorkgroup, float);
//! #     let function = b.type_function(void, vec![pointer, float]);
//! #     let id = b.begin_function(void, None, spirv::FunctionControl::NONE, function)?;
//! #     b.function_parameter(pointer)?;
//! #     b.function_parameter(float)?;
//! #     b.begin_block(None)?;
//! #     b.ret()?;
//! #     b.end_function()?;
//! #     b.entry_point(spirv::ExecutionModel::Kernel, id, "scale", vec![]);
//! #     b.module().assemble().into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
//! # };
//! // `bytes` holds a module made from: kernel void scale(global float *data, float factor) { … }
//! let module = Module::from_bytes(&bytes)?;
//! let [kernel] = reflect(&module).kernels.try_into().expect("one kernel");
//!
//! assert_eq!(kernel.name, "scale");
//! let [data, factor] = kernel.parameters.try_into().expect("two parameters");
//! assert!(matches!(data.kind, ParameterKind::Pointer { storage: Storage::Global, .. }));
//! assert_eq!(factor.kind, ParameterKind::Scalar(Scalar::Float { width: 32 }));
//! assert_eq!(factor.size, 4);
//!
//! assert_eq!(module.to_bytes(), bytes);
//! # Ok(())
//! # }
//! ```
//!
//! # Linking
//!
//! A module imports functions and variables by name, and other modules export them. [`link`] takes any number of
//! modules, which may need each other, and gives each import its definition. What cannot be joined is reported with
//! the symbol, the modules, and for a missing symbol the kernels that need it and the calls by which they get there:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use offkit_spirv::{LinkInput, LinkOptions, Module, link};
//!
//! let app = Module::from_bytes(&std::fs::read("app.spv")?)?;
//! let library = Module::from_bytes(&std::fs::read("library.spv")?)?;
//! let inputs = [
//!     LinkInput { label: "app.spv", module: &app },
//!     LinkInput { label: "library.spv", module: &library },
//! ];
//! let linked = link(&inputs, LinkOptions::default())?;
//! std::fs::write("linked.spv", linked.to_bytes())?;
//! # Ok(())
//! # }
//! ```
//!
//! # What compilers write
//!
//! Some symbols look like imports and exports and are not; [`Outline`] and [`Reflection`] leave them out of their lists,
//! by one rule, and [`link`] lets them be. Built-in variables (`__spirv_BuiltIn…`) are marked as imports although the
//! device supplies them, and LLVM leaves some functions of OpenCL C as imports ([`is_opencl_builtin`]). Clang makes a
//! copy of each OpenCL C kernel, for calls from other kernels, and exports it as `__clang_ocl_kern_imp_…`. LLVM has no
//! types for pointers to memory, so what a pointer in its modules points to is a guess: the same function may be
//! imported with a pointer to `i8` and exported with a pointer to `f32`.

#![forbid(unsafe_code)]

mod call_graph;
pub mod dr;
mod error;
pub mod grammar;
mod index;
mod kernel;
mod limits;
mod lines;
mod link;
mod loader;
mod module;
pub mod names;
mod opencl_builtin;
mod outline;
mod parse;
mod program;
mod quantity;
mod reflect;
mod relink;
mod signature;
mod specialize;
mod symbols;
mod types;
mod validate;

pub use call_graph::{CallGraph, Need};
pub use error::ReadError;
pub use kernel::{Access, ImageDimensions, Kernel, Parameter, ParameterKind, Storage, kernel_parameters};
pub use limits::Limits;
pub use lines::{SourceLine, put_lines};
pub use link::{LinkError, LinkInput, LinkOptions, UnresolvedSymbol, link};
pub use module::{ByteOrder, Generator, Module, Version};
pub use opencl_builtin::is_opencl_builtin;
pub use outline::{EntryPoint, Literal, Outline, OutlineSymbol, triple_of};
pub use program::{IL_VERSION, LinkedPrograms, Program, ProgramError, link_programs};
pub use reflect::{Reflection, SpecializationConstant, reflect};
pub use relink::rename_linkage;
pub use specialize::{set_defaults, specialize};
pub use symbols::{Linkage, Symbol, SymbolKind};
pub use types::{Layout, Scalar, Type};
pub use validate::{VALIDATOR, Verdict, validate};
