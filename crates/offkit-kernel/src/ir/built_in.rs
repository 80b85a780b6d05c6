//! Built-in variables: which there are, and their types.

use offkit_spirv::grammar::BuiltIn;

use super::{Type, TypeId, Types};
use crate::builtins::Scalar;
use crate::error::ReadError;

/// Checks that a built-in variable is known and has the type that it should have.
pub(crate) fn check_built_in(built_in: BuiltIn, types: &Types, kind: TypeId) -> Result<(), ReadError> {
    use BuiltIn as B;
    let lanes = match built_in {
        B::NumWorkgroups
        | B::WorkgroupSize
        | B::EnqueuedWorkgroupSize
        | B::WorkgroupId
        | B::LocalInvocationId
        | B::GlobalInvocationId
        | B::GlobalSize
        | B::GlobalOffset => 3,
        B::LocalInvocationIndex
        | B::WorkDim
        | B::GlobalLinearId
        | B::SubgroupSize
        | B::SubgroupMaxSize
        | B::NumSubgroups
        | B::NumEnqueuedSubgroups
        | B::SubgroupId
        | B::SubgroupLocalInvocationId => 1,
        // Masks are ballots, which have 128 bits whatever the size of sub-groups.
        B::SubgroupEqMask | B::SubgroupGeMask | B::SubgroupGtMask | B::SubgroupLeMask | B::SubgroupLtMask => {
            4
        }
        _ => return Err(unsupported!("built-in variable {built_in:?}")),
    };
    let scalar = match types.get(kind) {
        Type::Scalar(scalar) if lanes == 1 => Some(*scalar),
        Type::Vector { component, count } if *count == lanes => Some(*component),
        _ => None,
    };
    match scalar {
        Some(Scalar::I32 | Scalar::I64) => Ok(()),
        _ => Err(malformed!("built-in variable {built_in:?} has the wrong type")),
    }
}
