//! What goes wrong, as OpenCL's numbers.

use cl::*;
use offkit_pi::host::PiError;

/// An error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure(pub(crate) cl_int);

pub(crate) type Result<T, E = Failure> = core::result::Result<T, E>;

impl From<PiError> for Failure {
    fn from(error: PiError) -> Failure {
        tracing::debug!(%error, "a command of OpenCL fails");
        match error.result().0 {
            0.. => Failure(CL_OUT_OF_RESOURCES),
            code => Failure(known(code)),
        }
    }
}

/// A code as OpenCL has it, and for numbers of the plugin interface alone what comes nearest.
pub(crate) const fn known(code: cl_int) -> cl_int {
    if code <= -995 { CL_OUT_OF_RESOURCES } else { code }
}

/// Fails with a code.
pub(crate) const fn fail<T>(code: cl_int) -> Result<T> {
    Err(Failure(code))
}

/// Fails with a code unless something holds.
pub(crate) const fn require(holds: bool, code: cl_int) -> Result<()> {
    if holds { Ok(()) } else { Err(Failure(code)) }
}
