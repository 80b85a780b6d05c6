//! What a module may declare to need.

use offkit_spirv::dr::{self, Operand};
use offkit_spirv::grammar::{AddressingModel, Capability, MemoryModel};

use crate::error::ReadError;

/// Checks the capabilities and the memory model.
pub(super) fn check(module: &dr::Module) -> Result<(), ReadError> {
    for instruction in &module.capabilities {
        match instruction.operands.as_slice() {
            [Operand::Capability(capability)] if is_supported(*capability) => {}
            [Operand::Capability(capability)] => {
                return Err(unsupported!("capability {capability:?}"));
            }
            _ => return Err(malformed!("OpCapability without a capability")),
        }
    }
    let model = module
        .memory_model
        .as_ref()
        .map(|instruction| instruction.operands.as_slice());
    // The form has one word of 64 bits for every address, and OpenCL C's layouts in memory.
    match model {
        Some(
            [
                Operand::AddressingModel(AddressingModel::Physical64),
                Operand::MemoryModel(MemoryModel::OpenCL),
            ],
        ) => Ok(()),
        Some([Operand::AddressingModel(addressing), Operand::MemoryModel(memory)]) => Err(unsupported!(
            "memory model {addressing:?} {memory:?}; it needs Physical64 OpenCL"
        )),
        _ => Err(malformed!("no OpMemoryModel")),
    }
}

/// What the grammar knows as `GlobalVariableHostAccessINTEL` and others, as SYCL's compilers still write it.
const GLOBAL_VARIABLE_DECORATIONS: Capability = Capability(6146);

/// Capabilities whose instructions are executed, and those that are only hints.
fn is_supported(capability: Capability) -> bool {
    use Capability as C;
    matches!(
        capability,
        C::Addresses
            | C::Kernel
            | C::Linkage
            | C::Vector16
            | C::GenericPointer
            | C::Groups
            | C::Float16Buffer
            | C::Float16
            | C::Float64
            | C::Int64
            | C::Int64Atomics
            | C::Int16
            | C::Int8
            | C::SubgroupDispatch
            | C::GroupNonUniform
            | C::GroupNonUniformVote
            | C::GroupNonUniformArithmetic
            | C::GroupNonUniformBallot
            | C::GroupNonUniformShuffle
            | C::GroupNonUniformShuffleRelative
            | C::GroupNonUniformClustered
            | C::GroupNonUniformQuad
            | C::GroupNonUniformRotateKHR
            | C::GroupUniformArithmeticKHR
            | C::SubgroupBallotKHR
            | C::SubgroupVoteKHR
            | C::SubgroupShuffleINTEL
            | C::SubgroupBufferBlockIOINTEL
            | C::AtomicFloat16AddEXT
            | C::AtomicFloat32AddEXT
            | C::AtomicFloat64AddEXT
            | C::AtomicFloat16MinMaxEXT
            | C::AtomicFloat32MinMaxEXT
            | C::AtomicFloat64MinMaxEXT
            | C::DotProduct
            | C::DotProductInput4x8Bit
            | C::DotProductInput4x8BitPacked
            | C::DotProductInputAll
            | C::BitInstructions
            | C::ExpectAssumeKHR
            | C::UniformDecoration
            | C::OptNoneEXT
            | C::DenormPreserve
            | C::SignedZeroInfNanPreserve
            | C::RoundingModeRTE
            | C::FloatControls2
            | C::FPFastMathModeINTEL
            | C::MemoryAccessAliasingINTEL
            | C::FunctionPointersINTEL
            | C::IndirectReferencesINTEL
            | C::GlobalVariableHostAccessINTEL
            | GLOBAL_VARIABLE_DECORATIONS
            | C::CacheControlsINTEL
            | C::UnstructuredLoopControlsINTEL
            // The widths themselves are looked at with the types.
            | C::ArbitraryPrecisionIntegersALTERA
            | C::RegisterLimitsINTEL
    )
}
