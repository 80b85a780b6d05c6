//! cpu

mod builtins;
mod error;
mod interpreter;
mod ir;
mod memory;
mod reader;

pub use error::BuildError;
pub use memory::{Allocation, AllocationKind, Memory, MemoryError};
