//! Device libraries: bitcode that device code is linked with, found by `-lX` as a host's libraries are.

pub mod build;
pub mod manifest;
mod naming;

pub use naming::{architecture_names, library_path, short_architecture};
