//! The tool chain's steps between a compiler and a container of device code.
//!
//! A compiler writes LLVM bitcode for a device. A runtime wants device images, and wants to know each image's kernels,
//! the symbols that it needs from other images, and those that it supplies. This crate turns the one into the other:
//!
//! * [`symbols`] says which symbols of a module other images may see, by the rules that
//!   `sycl-post-link` of intel/llvm applies, read together with what clang 22 leaves in its modules;
//! * [`post_link`] splits one module into images, by source file or by kernel;
//! * [`device_link`] links inputs for each target, splits the result and generates code;
//! * [`properties`] describes each image in property sets, from its module or from its finished SPIR-V;
//! * [`container`] puts the images into a SYCLBIN file or an offload binary;
//! * [`wrap`] puts them into a host object that registers them when the program starts.
//!
//! Nothing here knows a file format or calls LLVM. Formats are the business of `offkit-object` and
//! `offkit-spirv`; LLVM runs in a worker process, reached through `offkit-llvm`. Whatever decides
//! something works on plain data, and tests can call it without either:
//!
//! ```
//! use offkit_link::plan::{SplitMode, plan};
//! use offkit_llvm::{CallingConvention, FunctionSummary, ModuleSummary};
//!
//! let function = |name: &str, calling_convention| FunctionSummary {
//!     name: name.into(),
//!     calling_convention,
//!     ..FunctionSummary::default()
//! };
//! let module = ModuleSummary {
//!     functions: vec![
//!         function("saxpy", CallingConvention::Kernel),
//!         function("axpy", CallingConvention::Function),
//!     ],
//!     ..ModuleSummary::default()
//! };
//!
//! // By kernel, the kernel gets an image of its own, with a private copy of what it calls; the
//! // function that others may call is exported from another.
//! let plan = plan(&module, &Default::default(), SplitMode::Kernel);
//! assert_eq!(plan.images[0].kernels, ["saxpy"]);
//! assert_eq!(plan.images[1].exports, ["axpy"]);
//! ```
//!
//! A whole link, with LLVM:
//!
//! ```no_run
//! use offkit_link::container::OutputFormat;
//! use offkit_link::device_link::DeviceLink;
//! use offkit_object::BundleState;
//! use offkit_llvm::Worker;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let link = DeviceLink { inputs: vec!["app.bc".into()], ..DeviceLink::default() };
//! let linked = link.run(&mut Worker::start()?, &mut |step| eprintln!("{step} …"))?;
//! let file = linked.write(OutputFormat::default(), BundleState::Object)?;
//! std::fs::write("app.syclbin", file)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod container;
pub mod device_link;
pub mod plan;
pub mod post_link;
pub mod properties;
pub mod symbols;
pub mod wrap;
