//! cpu

#![deny(unsafe_code)]

mod builtins;
mod error;
mod interpreter;
mod ir;
mod memory;
pub mod plugin;
mod reader;

pub use error::BuildError;
pub use interpreter::{
    Argument, ArgumentKind, KernelFault, KernelInfo, LaunchError, LaunchOptions, MAX_LOCAL_MEMORY, MAX_WORK_GROUP_SIZE,
    NdRange, Parameter, Program, SUB_GROUP_SIZE, Specialization,
};
pub use memory::{Allocation, AllocationKind, Memory, MemoryError};
