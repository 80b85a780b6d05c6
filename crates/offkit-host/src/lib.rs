//! The machine that offkit runs on: its files, its programs, command lines as text.
//!
//! Files are mapped to be read and replaced as a whole to be written, so that nothing already on disk is lost or
//! half-written; temporary files go when the program is stopped.
//!
//! ```
//! use offkit_host::files;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("kernel.bin");
//! files::write(&path, &[b"two ", b"chunks"])?;
//! assert_eq!(&*files::open(&path)?, b"two chunks");
//! # Ok(())
//! # }
//! ```

pub mod clang;
pub mod command_line;
mod error;
pub mod files;
pub mod folders;
pub mod nodes;
#[cfg(unix)]
pub mod pipes;
pub mod private;
mod processor;
pub mod program;
pub mod signals;
pub mod temporary;

pub use error::{causes, chain};
pub use processor::{processor, processor_name};
