//! A kernel as data: OpenCL-style device code in a typed SSA form, for whoever runs or compiles it.
//!
//! ```text
//!  SPIR-V ──read──▶ ir::Module ──verify──▶ an interpreter, a compiler
//!                    ▲      │
//!                    └ text ┘
//! ```
//!
//! [`read`] takes every decision that SPIR-V leaves to decorations, types and capabilities, and writes an
//! [`ir::Module`]: types have layouts, every value is a fixed number of 64-bit words, access chains are address
//! arithmetic, reads of built-in variables are operations, calls of functions that compilers leave to the device are
//! what they do. What this form can't say is refused by name ([`ReadError`]), and nothing is guessed. What a compiler
//! may make use of and an interpreter may ignore stands beside each instruction in its [`ir::Attributes`]: alignment,
//! volatile and non-temporal accesses, alias scopes, licences for fast arithmetic, wrapping, the order of atomics;
//! and in the same way beside functions, parameters, branches, loops and kernels.
//!
//! [`ir::Module::verify`] makes sure of the shape of everything: after it, every number is of something that is there,
//! every value is defined before its uses, and every operation has operands and a result that it can have. So what
//! comes behind it needs no checks of that kind.
//!
//! A module shows as text, and [`ir::Module::from_text`] reads it back, all of it: for tests, for bug reports, and to
//! look at what a device is about to run. Each type of the form is described once, and that description is its
//! definition, its text and its reader.
//!
//! What the operations compute is here as well, as functions on words that every device can be measured by:
//! [`ir::arithmetic`] for SPIR-V's opcodes and [`builtins`] for the instructions of OpenCL.std and the conversions.
//! Results that the standard leaves undefined are defined: a division by zero gives all ones, its remainder is the
//! dividend.
//!
//! # Limits
//!
//! The addressing model is Physical64. There are no images, pipes or device-side enqueue. Integers have 8, 16, 32 or 64
//! bits; others are refused by their width and the capability that they need.
//!
//! # Example
//!
//! ```
//! use offkit_kernel::ir::{Module, Operation};
//!
//! let text = r#"offkit-kernel 1
//! type #0 void
//! type #1 scalar f32
//! type #2 pointer CrossWorkgroup #1
//! type #3 scalar i64
//! type #4 vector i64 3
//! variable &0 "id" input GlobalInvocationId i64x3 32
//! kernel "twice" @0 local_size_hint 64 1 1
//!
//! function @0 "twice" #0
//!   parameter %0 #2 no_alias
//! block ^0
//!   %1 i64x3 = input &0 ()
//!   %2 i64 = extract 0 (%1)
//!   %3 #2 = address 0 [4] (%0 %2) in_bounds
//!   %4 f32 = load (%3) align 4
//!   %5 f32 = op FMul (%4 f32:2.0) allow_contract
//!   store (%3 %5) align 4
//!   end return none
//! "#;
//! let module = Module::from_text(text)?;
//! assert_eq!(module.kernels[0].local_size_hint, Some([64, 1, 1]));
//!
//! let body = &module.functions[0].blocks[0].instructions;
//! assert_eq!(body[3].operation, Operation::Load);
//! assert_eq!(body[3].attributes.align, Some(4));
//!
//! // What is read says the same, now with a line for the constant.
//! let again = module.to_string();
//! assert!(again.contains("constant $0 f32 [1073741824]"));
//! assert_eq!(Module::from_text(&again)?, module);
//!
//! // An error tells where it is.
//! let error = Module::from_text(&text.replace("(%4 f32:2.0)", "(%4 %2)")).unwrap_err();
//! assert_eq!(error.to_string(), "line 17, column 1: in function `twice`, block ^0: %5: %2 is i64");
//! # Ok::<(), offkit_kernel::ir::TextError>(())
//! ```
//!
//! From SPIR-V it is [`offkit_spirv::Module::from_bytes`], then [`read`], then [`ir::Module::verify`].

#![forbid(unsafe_code)]

#[macro_use]
mod error;

pub mod builtins;
pub mod ir;
mod reader;

pub use error::ReadError;
pub use reader::read;
