//! Device libraries: bitcode that device code is linked with, found by `-lX` as a host's libraries are.
//!
//! [`Search`] knows the folders and looks for a library in them, for one target at a time, by the rules of [`Rule`]; its
//! [`Answer`] says what was found by which rule, and which paths were looked at. [`AbiClash`] is found before anything
//! is linked. [`DeviceLink`](crate::device_link::DeviceLink) links what is found.

mod abi;
pub mod build;
pub mod check;
mod layouts;
pub mod manifest;
mod naming;
mod processors;
mod search;

pub use abi::{Abi, AbiClash};
pub use naming::{architecture_names, library_path, short_architecture};
pub use processors::{fitting_processors, target_of_name};
pub use search::{Answer, Found, LibraryFile, Origin, Outcome, Rule, Search, SearchFolder, Tried};
