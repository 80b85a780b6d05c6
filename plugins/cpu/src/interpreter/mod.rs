//! x
use crate::error::BuildError;
use crate::ir::{TypeId, Types};
pub(crate) fn check_built_in(_b: spirv::BuiltIn, _t: &Types, _k: TypeId) -> Result<(), BuildError> { Ok(()) }
