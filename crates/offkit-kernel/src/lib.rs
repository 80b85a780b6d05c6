//! A kernel as data.

#![forbid(unsafe_code)]
#![allow(
    missing_docs,
    reason = "the next commit documents the form while it changes it"
)]

#[macro_use]
mod error;

pub mod builtins;
pub mod ir;
mod reader;

pub use error::ReadError;
pub use reader::read;
