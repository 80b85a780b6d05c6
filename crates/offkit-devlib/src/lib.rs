//! Device libraries: bitcode to link device code with, found by `-lX` as a host's libraries are.
//!
//! [`Search`] knows the folders and looks for a library in them, for one target at a time, by the rules of [`Rule`]; its
//! [`Answer`] has the library, the rule and all paths that it tried. An [`AbiClash`] shows before any link.
//! `offkit-link` links the libraries.
//!
//! A library may have a manifest ([`manifest`]) with its targets, the libraries that it needs and its binary interface;
//! without one, its code tells ([`code`]). [`build`](mod@build) compiles one library for many
//! targets and puts the files where [`Search`] finds them.
//!
//! The folders are those of `-L`, of `LIBRARY_PATH`, of the compiler and of the vendors (CUDA, ROCm, libclc), in this
//! order. In each folder the most specific file comes first: one for the processor, one for the architecture, one for
//! all. The search reads a file once, for however many targets.
//!
//! # Example
//!
//! ```
//! use offkit_devlib::{Outcome, Rule, Search};
//! use offkit_image::Target;
//!
//! # fn main() -> std::io::Result<()> {
//! let folder = tempfile::tempdir()?;
//! let search = Search::new(&[folder.path().to_owned()], None, None);
//! let answer = search.find("wave", &Target::named("gfx90a"));
//!
//! // Nothing is there. What was looked for tells where a library would be found.
//! assert!(answer.found.is_none());
//! assert!(answer.tried.iter().all(|tried| tried.outcome == Outcome::Missing));
//! let first = &answer.tried[0];
//! assert_eq!(first.rule, Rule::ProcessorFolder);
//! assert!(first.path.ends_with("libdevice/gfx90a/libwave-amdgcn-gfx90a.bc"));
//! # Ok(())
//! # }
//! ```

mod abi;
pub mod build;
pub mod code;
mod compiler;
mod device_type;
mod layouts;
pub mod manifest;
mod naming;
mod processor_options;
mod search;
mod shipped;

pub use abi::{Abi, AbiClash};
pub use code::{Input, ReadError};
pub use compiler::with_compiler;
pub use device_type::{DeviceType, device_type};
pub use naming::{library_file, library_path};
pub use processor_options::processor_options;
pub use search::{
    Answer, Found, LIBRARY_PATH_VARIABLE, LibraryFile, Origin, Outcome, Rule, Search, SearchFolder, Skip,
    Tried,
};
pub use shipped::{DEFAULT_LIBRARIES, OPENMP_LIBRARY, ShippedError};
