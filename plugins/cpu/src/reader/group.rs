//! Barriers and everything else that work-items do together.

use rspirv::dr::{self, Operand as Source};
use spirv::{GroupOperation, Op, Scope};

use super::function::FunctionReader;
use super::{Result, id};
use crate::error::BuildError;
use crate::ir::{
    BallotQuery, Collective, CollectiveKind as Kind, GroupScope, Operand, Operation, Reduction, Type,
};

impl FunctionReader<'_, '_> {
    /// An instruction of a group, or `None` when it is another kind.
    pub(super) fn group_operation(&mut self, instruction: &dr::Instruction) -> Result<Option<Operation>> {
        let opcode = instruction.class.opcode;
        if opcode == Op::ControlBarrier {
            let Some(scope) = self.barrier_scope(instruction)? else {
                return Ok(Some(Operation::Fence));
            };
            let operands = Vec::new();
            return Ok(Some(Operation::Collective(Collective {
                kind: Kind::Barrier,
                scope,
                uniform: true,
                operands,
            })));
        }
        if let Some(reduction) = self.reduction(instruction)? {
            return Ok(Some(reduction));
        }
        if let Some(local) = self.ballot_arithmetic(instruction)? {
            return Ok(Some(local));
        }
        // The kind, whether a scope comes first, whether all must take part, and the operand numbers.
        let (kind, scoped, uniform, operands): (Kind, bool, bool, &[usize]) = match opcode {
            Op::GroupAll => (Kind::All, true, true, &[1]),
            Op::GroupAny => (Kind::Any, true, true, &[1]),
            Op::GroupBroadcast => (Kind::Broadcast, true, true, &[1, 2]),
            Op::GroupNonUniformElect => (Kind::Elect, true, false, &[]),
            Op::GroupNonUniformAll => (Kind::All, true, false, &[1]),
            Op::GroupNonUniformAny => (Kind::Any, true, false, &[1]),
            Op::GroupNonUniformAllEqual => (Kind::AllEqual, true, false, &[1]),
            Op::GroupNonUniformBroadcast => (Kind::Broadcast, true, false, &[1, 2]),
            Op::GroupNonUniformBroadcastFirst => (Kind::BroadcastFirst, true, false, &[1]),
            Op::GroupNonUniformBallot => (Kind::Ballot, true, false, &[1]),
            Op::GroupNonUniformShuffle => (Kind::Shuffle, true, false, &[1, 2]),
            Op::GroupNonUniformShuffleXor => (Kind::ShuffleXor, true, false, &[1, 2]),
            Op::GroupNonUniformShuffleUp => (Kind::ShuffleUp, true, false, &[1, 2]),
            Op::GroupNonUniformShuffleDown => (Kind::ShuffleDown, true, false, &[1, 2]),
            Op::GroupNonUniformRotateKHR => {
                let cluster = match instruction.operands.get(3) {
                    Some(Source::IdRef(size)) => self.reader.constant_integer(*size)? as u32,
                    _ => 0,
                };
                (Kind::Rotate(cluster), true, false, &[1, 2])
            }
            Op::GroupNonUniformQuadBroadcast => (Kind::QuadBroadcast, true, false, &[1, 2]),
            Op::GroupNonUniformQuadSwap => {
                let direction = self.reader.constant_integer(id(instruction, 2)?)?;
                if direction > 2 {
                    return Err(BuildError::malformed(format!("quad direction {direction}")));
                }
                (Kind::QuadSwap(direction as u32), true, false, &[1])
            }
            Op::SubgroupBallotKHR => (Kind::Ballot, false, false, &[0]),
            Op::SubgroupFirstInvocationKHR => (Kind::BroadcastFirst, false, false, &[0]),
            Op::SubgroupReadInvocationKHR => (Kind::Broadcast, false, false, &[0, 1]),
            Op::SubgroupAllKHR => (Kind::All, false, false, &[0]),
            Op::SubgroupAnyKHR => (Kind::Any, false, false, &[0]),
            Op::SubgroupAllEqualKHR => (Kind::AllEqual, false, false, &[0]),
            Op::SubgroupShuffleINTEL => (Kind::Shuffle, false, false, &[0, 1]),
            Op::SubgroupShuffleXorINTEL => (Kind::ShuffleXor, false, false, &[0, 1]),
            Op::SubgroupShuffleDownINTEL => (Kind::ShuffleDownPair, false, false, &[0, 1, 2]),
            Op::SubgroupShuffleUpINTEL => (Kind::ShuffleUpPair, false, false, &[0, 1, 2]),
            Op::SubgroupBlockReadINTEL => (Kind::BlockRead, false, true, &[0]),
            Op::SubgroupBlockWriteINTEL => (Kind::BlockWrite, false, true, &[0, 1]),
            Op::GroupAsyncCopy => return self.async_copy(instruction).map(Some),
            Op::GroupWaitEvents => (Kind::WaitEvents, true, true, &[]),
            _ => return Ok(None),
        };
        let scope = if scoped {
            self.group_scope(instruction)?
        } else {
            GroupScope::SubGroup
        };
        let operands = operands
            .iter()
            .map(|index| self.operand_at(instruction, *index))
            .collect::<Result<_>>()?;
        Ok(Some(Operation::Collective(Collective {
            kind,
            scope,
            uniform,
            operands,
        })))
    }

    /// The scope that an instruction's first operand names; `None` for a single work-item.
    fn scope(&self, instruction: &dr::Instruction) -> Result<Option<GroupScope>> {
        let scope = self.reader.constant_integer(id(instruction, 0)?)?;
        match u32::try_from(scope).ok().and_then(Scope::from_u32) {
            Some(Scope::Workgroup) => Ok(Some(GroupScope::WorkGroup)),
            Some(Scope::Subgroup) => Ok(Some(GroupScope::SubGroup)),
            Some(Scope::Invocation) => Ok(None),
            Some(scope) => Err(BuildError::unsupported(format!(
                "Op{} with scope {scope:?}",
                instruction.class.opname
            ))),
            None => Err(BuildError::malformed(format!(
                "Op{} with scope {scope}",
                instruction.class.opname
            ))),
        }
    }

    /// As [`Self::scope`]. LLVM 22 writes the memory scope of `work_group_barrier` as the execution scope
    /// too. No barrier of OpenCL C is wider than a work-group, so that wider ones are that.
    fn barrier_scope(&self, instruction: &dr::Instruction) -> Result<Option<GroupScope>> {
        let scope = self.reader.constant_integer(id(instruction, 0)?)?;
        match u32::try_from(scope).ok().and_then(Scope::from_u32) {
            Some(Scope::Device | Scope::CrossDevice) => Ok(Some(GroupScope::WorkGroup)),
            _ => self.scope(instruction),
        }
    }

    fn group_scope(&self, instruction: &dr::Instruction) -> Result<GroupScope> {
        let unsupported =
            || BuildError::unsupported(format!("Op{} of one work-item", instruction.class.opname));
        self.scope(instruction)?.ok_or_else(unsupported)
    }

    /// Reductions and scans.
    fn reduction(&mut self, instruction: &dr::Instruction) -> Result<Option<Operation>> {
        let (op, uniform) = match instruction.class.opcode {
            Op::GroupIAdd => (Op::IAdd, true),
            Op::GroupFAdd => (Op::FAdd, true),
            Op::GroupIMulKHR => (Op::IMul, true),
            Op::GroupFMulKHR => (Op::FMul, true),
            op @ (Op::GroupSMin | Op::GroupUMin | Op::GroupFMin) => (op, true),
            op @ (Op::GroupSMax | Op::GroupUMax | Op::GroupFMax) => (op, true),
            Op::GroupBitwiseAndKHR => (Op::BitwiseAnd, true),
            Op::GroupBitwiseOrKHR => (Op::BitwiseOr, true),
            Op::GroupBitwiseXorKHR => (Op::BitwiseXor, true),
            Op::GroupLogicalAndKHR => (Op::LogicalAnd, true),
            Op::GroupLogicalOrKHR => (Op::LogicalOr, true),
            Op::GroupLogicalXorKHR => (Op::LogicalNotEqual, true),
            Op::GroupNonUniformIAdd => (Op::IAdd, false),
            Op::GroupNonUniformFAdd => (Op::FAdd, false),
            Op::GroupNonUniformIMul => (Op::IMul, false),
            Op::GroupNonUniformFMul => (Op::FMul, false),
            Op::GroupNonUniformSMin => (Op::GroupSMin, false),
            Op::GroupNonUniformUMin => (Op::GroupUMin, false),
            Op::GroupNonUniformFMin => (Op::GroupFMin, false),
            Op::GroupNonUniformSMax => (Op::GroupSMax, false),
            Op::GroupNonUniformUMax => (Op::GroupUMax, false),
            Op::GroupNonUniformFMax => (Op::GroupFMax, false),
            Op::GroupNonUniformBitwiseAnd => (Op::BitwiseAnd, false),
            Op::GroupNonUniformBitwiseOr => (Op::BitwiseOr, false),
            Op::GroupNonUniformBitwiseXor => (Op::BitwiseXor, false),
            Op::GroupNonUniformLogicalAnd => (Op::LogicalAnd, false),
            Op::GroupNonUniformLogicalOr => (Op::LogicalOr, false),
            Op::GroupNonUniformLogicalXor => (Op::LogicalNotEqual, false),
            _ => return Ok(None),
        };
        let scope = self.group_scope(instruction)?;
        let Some(Source::GroupOperation(operation)) = instruction.operands.get(1) else {
            return Err(BuildError::malformed(format!(
                "Op{} without a group operation",
                instruction.class.opname
            )));
        };
        let value = self.operand_at(instruction, 2)?;
        let reduction = Reduction {
            op,
            scalar: self.scalar_of(value)?,
        };
        let kind = match operation {
            GroupOperation::Reduce => Kind::Reduce(reduction),
            GroupOperation::InclusiveScan => Kind::InclusiveScan(reduction),
            GroupOperation::ExclusiveScan => Kind::ExclusiveScan(reduction),
            GroupOperation::ClusteredReduce => {
                let size = self.reader.constant_integer(id(instruction, 3)?)?;
                let size = u32::try_from(size).ok().filter(|size| size.is_power_of_two());
                let size =
                    size.ok_or_else(|| BuildError::malformed("a cluster size that is no power of two"))?;
                Kind::ClusteredReduce(reduction, size)
            }
            operation => return Err(BuildError::unsupported(format!("group operation {operation:?}"))),
        };
        Ok(Some(Operation::Collective(Collective {
            kind,
            scope,
            uniform,
            operands: vec![value],
        })))
    }

    /// Questions about a ballot that a work-item answers by itself, once it knows its place.
    fn ballot_arithmetic(&mut self, instruction: &dr::Instruction) -> Result<Option<Operation>> {
        let query = match instruction.class.opcode {
            Op::GroupNonUniformInverseBallot => BallotQuery::Inverse,
            Op::GroupNonUniformBallotBitExtract => BallotQuery::Bit,
            Op::GroupNonUniformBallotFindLSB => BallotQuery::FindLow,
            Op::GroupNonUniformBallotFindMSB => BallotQuery::FindHigh,
            Op::GroupNonUniformBallotBitCount => match instruction.operands.get(1) {
                Some(Source::GroupOperation(GroupOperation::Reduce)) => BallotQuery::Count,
                Some(Source::GroupOperation(GroupOperation::InclusiveScan)) => BallotQuery::CountInclusive,
                Some(Source::GroupOperation(GroupOperation::ExclusiveScan)) => BallotQuery::CountExclusive,
                _ => {
                    return Err(BuildError::malformed(
                        "OpGroupNonUniformBallotBitCount without a group operation",
                    ));
                }
            },
            _ => return Ok(None),
        };
        let from = if matches!(instruction.operands.get(1), Some(Source::GroupOperation(_))) {
            2
        } else {
            1
        };
        let operands = self.operands_from(instruction, from)?;
        Ok(Some(Operation::Ballot { query, operands }))
    }

    fn async_copy(&mut self, instruction: &dr::Instruction) -> Result<Operation> {
        let scope = self.group_scope(instruction)?;
        let operands: Vec<Operand> = (1..5)
            .map(|index| self.operand_at(instruction, index))
            .collect::<Result<_>>()?;
        let destination = self.type_of(operands[0]);
        // Where the compiler kept a pointer to an array, its elements are what is copied.
        let mut element = self.reader.pointee(destination)?;
        while let Type::Array { element: inner, .. } = self.reader.module.types.get(element) {
            element = *inner;
        }
        let class = match self.reader.module.types.get(destination) {
            Type::Pointer { class, .. } => *class,
            _ => {
                return Err(BuildError::malformed(
                    "OpGroupAsyncCopy to something that is no pointer",
                ));
            }
        };
        let to_local = class == spirv::StorageClass::Workgroup;
        let kind = Kind::AsyncCopy { element, to_local };
        Ok(Operation::Collective(Collective {
            kind,
            scope,
            uniform: true,
            operands,
        }))
    }
}
