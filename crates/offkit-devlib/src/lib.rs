//! Device libraries: bitcode that device code is linked with, found by `-lX` as a host's libraries are.
//!
//! [`Search`] knows the folders and looks for a library in them, for one target at a time, by the rules of [`Rule`]; its
//! [`Answer`] says what was found by which rule, and which paths were looked at. [`AbiClash`] is found before anything
//! is linked. `offkit-link` links what is found.

mod abi;
pub mod build;
pub mod code;
mod device_type;
mod layouts;
pub mod manifest;
mod naming;
mod processor_options;
mod search;

pub use abi::{Abi, AbiClash};
pub use code::{Input, ReadError};
pub use device_type::{DeviceType, device_type};
pub use naming::{library_file, library_path};
pub use processor_options::processor_options;
pub use search::{
    Answer, Found, LIBRARY_PATH_VARIABLE, LibraryFile, Origin, Outcome, Rule, Search, SearchFolder, Tried,
};
