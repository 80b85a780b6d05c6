//! Machine code as a compiler gives it, from an object file to something that can be called.
//!
//! ```text
//!  ELF object ──check, lay out, relocate──▶ Image ──map──▶ Loaded, gone when nobody needs it
//! ```
//!
//! A compiled kernel gets everything that is outside of it by its arguments, so that all its relocations are distances
//! within the object. [`Image`] applies them to bytes that can lie anywhere, without `unsafe` and for any machine;
//! what asks for more than that is refused by name. [`Loaded`] has the bytes in memory of their own: written
//! first, then executed, never both.

mod announce;
mod image;
mod loaded;
mod relocation;

use std::io;

pub(crate) use announce::wants_lines;
pub use announce::{GDB_VARIABLE, PERF_VARIABLE};
pub use image::{Function, Image};
pub use loaded::Loaded;

/// Why code is not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// It is no object file, or a damaged one.
    #[error("the object file is damaged: {0}")]
    Damaged(String),
    /// It is an object file, but no compiled kernel of this device's.
    #[error("the object file cannot be loaded: {0}")]
    Refused(String),
    /// The system has no memory for it, or does not let it be executed.
    #[error("there is no memory for code")]
    Memory(#[source] io::Error),
}

/// Instruction sets that code can be loaded of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Machine {
    /// x86, of 64 bits.
    X86_64,
    /// Arm, of 64 bits.
    Aarch64,
}

impl Machine {
    /// What this process runs on, if it is one of them.
    pub const HOST: Option<Machine> = if cfg!(target_arch = "x86_64") {
        Some(Machine::X86_64)
    } else if cfg!(target_arch = "aarch64") {
        Some(Machine::Aarch64)
    } else {
        None
    };

    fn elf(self) -> object::elf::Machine {
        match self {
            Machine::X86_64 => object::elf::EM_X86_64,
            Machine::Aarch64 => object::elf::EM_AARCH64,
        }
    }
}
