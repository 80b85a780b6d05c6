//! Kernels to machine code.

#![allow(dead_code, reason = "nothing is compiled yet")]

mod builder;
mod lanes;
mod math;

use offkit_llvm::{CompileRequest, Compiled};

use crate::Error;

/// Compiles a kernel of a SPIR-V module.
///
/// # Errors
///
/// The reason why it isn't compiled.
pub fn compile(_spirv: &[u8], request: &CompileRequest) -> Result<Compiled, Error> {
    Err(Error::new(format!(
        "kernel `{}`: kernels are not compiled yet",
        request.kernel
    )))
}
