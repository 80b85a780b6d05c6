//! Barriers and everything else that work-items do together.

use offkit_spirv::dr::{self, Operand as Source};
use offkit_spirv::grammar::{GroupOperation, Op, Scope};

use super::function::{Code, FunctionReader};
use super::{Result, id};
use crate::ir::{BallotQuery, CollectiveKind as Kind, GroupScope, Operand, Operation, Reduction, Type};

impl FunctionReader<'_, '_> {
    /// An instruction of a group, or `None` when it is another kind.
    pub(super) fn group_operation(&mut self, instruction: &dr::Instruction) -> Result<Option<Code>> {
        let opcode = instruction.opcode;
        // Among no others than itself, a work-item waits for nobody: what is left of the barrier is its fence.
        if opcode == Op::ControlBarrier {
            let Some(scope) = self.barrier_scope(instruction)? else {
                return Ok(Some((Operation::Fence, Vec::new())));
            };
            return Ok(Some((
                Operation::collective(Kind::Barrier, scope, true),
                Vec::new(),
            )));
        }
        if let Some(reduction) = self.reduction(instruction)? {
            return Ok(Some(reduction));
        }
        if let Some(local) = self.ballot_arithmetic(instruction)? {
            return Ok(Some(local));
        }
        // The kind, and how many operands it has.
        let (kind, count) = match opcode {
            Op::GroupNonUniformElect => (Kind::Elect, 0),
            Op::GroupAll | Op::GroupNonUniformAll | Op::SubgroupAllKHR => (Kind::All, 1),
            Op::GroupAny | Op::GroupNonUniformAny | Op::SubgroupAnyKHR => (Kind::Any, 1),
            Op::GroupNonUniformAllEqual | Op::SubgroupAllEqualKHR => (Kind::AllEqual, 1),
            Op::GroupBroadcast | Op::GroupNonUniformBroadcast | Op::SubgroupReadInvocationKHR => {
                (Kind::Broadcast, 2)
            }
            Op::GroupNonUniformBroadcastFirst | Op::SubgroupFirstInvocationKHR => (Kind::BroadcastFirst, 1),
            Op::GroupNonUniformBallot | Op::SubgroupBallotKHR => (Kind::Ballot, 1),
            Op::GroupNonUniformShuffle | Op::SubgroupShuffleINTEL => (Kind::Shuffle, 2),
            Op::GroupNonUniformShuffleXor | Op::SubgroupShuffleXorINTEL => (Kind::ShuffleXor, 2),
            Op::GroupNonUniformShuffleUp => (Kind::ShuffleUp, 2),
            Op::GroupNonUniformShuffleDown => (Kind::ShuffleDown, 2),
            Op::SubgroupShuffleDownINTEL => (Kind::ShuffleDownPair, 3),
            Op::SubgroupShuffleUpINTEL => (Kind::ShuffleUpPair, 3),
            Op::GroupNonUniformRotateKHR => {
                let cluster = match instruction.operands.get(3) {
                    Some(Source::IdRef(size)) => self.reader.constant_integer(*size)? as u32,
                    _ => 0,
                };
                (Kind::Rotate(cluster), 2)
            }
            Op::GroupNonUniformQuadBroadcast => (Kind::QuadBroadcast, 2),
            Op::GroupNonUniformQuadSwap => {
                let direction = self.reader.constant_integer(id(instruction, 2)?)?;
                if direction > 2 {
                    return Err(malformed!("quad direction {direction}"));
                }
                (Kind::QuadSwap(direction as u32), 1)
            }
            Op::SubgroupBlockReadINTEL => (Kind::BlockRead, 1),
            Op::SubgroupBlockWriteINTEL => (Kind::BlockWrite, 2),
            Op::GroupAsyncCopy => return self.async_copy(instruction).map(Some),
            Op::GroupWaitEvents => (Kind::WaitEvents, 0),
            _ => return Ok(None),
        };
        // Those of vendors are about sub-groups and do not say it; all others begin with a scope.
        let name = instruction.opcode.name().unwrap_or_default();
        let (scope, first) = if name.starts_with("Subgroup") {
            (GroupScope::SubGroup, 0)
        } else {
            (self.group_scope(instruction)?, 1)
        };
        // Blocks are Intel's, whose extension wants the whole sub-group there although no name
        // says it.
        let uniform = is_uniform(name) || matches!(kind, Kind::BlockRead | Kind::BlockWrite);
        let operands = (first..first + count)
            .map(|index| self.operand_at(instruction, index))
            .collect::<Result<_>>()?;
        Ok(Some((Operation::collective(kind, scope, uniform), operands)))
    }

    /// The scope that an instruction's first operand names; `None` for a single work-item.
    fn scope(&self, instruction: &dr::Instruction) -> Result<Option<GroupScope>> {
        let scope = self.reader.constant_integer(id(instruction, 0)?)?;
        match u32::try_from(scope).ok().map(Scope) {
            Some(Scope::Workgroup) => Ok(Some(GroupScope::WorkGroup)),
            Some(Scope::Subgroup) => Ok(Some(GroupScope::SubGroup)),
            Some(Scope::Invocation) => Ok(None),
            Some(scope) if scope.name().is_some() => {
                Err(unsupported!("Op{} with scope {scope:?}", instruction.opcode))
            }
            _ => Err(malformed!("Op{} with scope {scope}", instruction.opcode)),
        }
    }

    /// As [`Self::scope`]. LLVM 22 writes the memory scope of `work_group_barrier` as the execution scope
    /// too. No barrier of OpenCL C is wider than a work-group, so that wider ones are that.
    fn barrier_scope(&self, instruction: &dr::Instruction) -> Result<Option<GroupScope>> {
        let scope = self.reader.constant_integer(id(instruction, 0)?)?;
        match u32::try_from(scope).ok().map(Scope) {
            Some(Scope::Device | Scope::CrossDevice) => Ok(Some(GroupScope::WorkGroup)),
            _ => self.scope(instruction),
        }
    }

    fn group_scope(&self, instruction: &dr::Instruction) -> Result<GroupScope> {
        let unsupported = || unsupported!("Op{} of one work-item", instruction.opcode);
        self.scope(instruction)?.ok_or_else(unsupported)
    }

    /// Reductions and scans.
    fn reduction(&mut self, instruction: &dr::Instruction) -> Result<Option<Code>> {
        let op = match instruction.opcode {
            Op::GroupIAdd | Op::GroupNonUniformIAdd => Op::IAdd,
            Op::GroupFAdd | Op::GroupNonUniformFAdd => Op::FAdd,
            Op::GroupIMulKHR | Op::GroupNonUniformIMul => Op::IMul,
            Op::GroupFMulKHR | Op::GroupNonUniformFMul => Op::FMul,
            Op::GroupSMin | Op::GroupNonUniformSMin => Op::GroupSMin,
            Op::GroupUMin | Op::GroupNonUniformUMin => Op::GroupUMin,
            Op::GroupFMin | Op::GroupNonUniformFMin => Op::GroupFMin,
            Op::GroupSMax | Op::GroupNonUniformSMax => Op::GroupSMax,
            Op::GroupUMax | Op::GroupNonUniformUMax => Op::GroupUMax,
            Op::GroupFMax | Op::GroupNonUniformFMax => Op::GroupFMax,
            Op::GroupBitwiseAndKHR | Op::GroupNonUniformBitwiseAnd => Op::BitwiseAnd,
            Op::GroupBitwiseOrKHR | Op::GroupNonUniformBitwiseOr => Op::BitwiseOr,
            Op::GroupBitwiseXorKHR | Op::GroupNonUniformBitwiseXor => Op::BitwiseXor,
            Op::GroupLogicalAndKHR | Op::GroupNonUniformLogicalAnd => Op::LogicalAnd,
            Op::GroupLogicalOrKHR | Op::GroupNonUniformLogicalOr => Op::LogicalOr,
            // SPIR-V has no logical xor by itself: of two booleans it is that they differ.
            Op::GroupLogicalXorKHR | Op::GroupNonUniformLogicalXor => Op::LogicalNotEqual,
            _ => return Ok(None),
        };
        let uniform = is_uniform(instruction.opcode.name().unwrap_or_default());
        let scope = self.group_scope(instruction)?;
        let Some(Source::GroupOperation(operation)) = instruction.operands.get(1) else {
            return Err(malformed!("Op{} without a group operation", instruction.opcode));
        };
        let value = self.operand_at(instruction, 2)?;
        let reduction = Reduction {
            op,
            scalar: self.scalar_of(value)?,
        };
        let kind = match *operation {
            GroupOperation::Reduce => Kind::Reduce(reduction),
            GroupOperation::InclusiveScan => Kind::InclusiveScan(reduction),
            GroupOperation::ExclusiveScan => Kind::ExclusiveScan(reduction),
            GroupOperation::ClusteredReduce => {
                let size = self.reader.constant_integer(id(instruction, 3)?)?;
                let size = u32::try_from(size).ok().filter(|size| size.is_power_of_two());
                let size = size.ok_or_else(|| malformed!("a cluster size that is no power of two"))?;
                Kind::ClusteredReduce(reduction, size)
            }
            operation => return Err(unsupported!("group operation {operation:?}")),
        };
        Ok(Some((Operation::collective(kind, scope, uniform), vec![value])))
    }

    /// Questions about a ballot that a work-item answers by itself, once it knows its place.
    fn ballot_arithmetic(&mut self, instruction: &dr::Instruction) -> Result<Option<Code>> {
        let query = match instruction.opcode {
            Op::GroupNonUniformInverseBallot => BallotQuery::Inverse,
            Op::GroupNonUniformBallotBitExtract => BallotQuery::Bit,
            Op::GroupNonUniformBallotFindLSB => BallotQuery::FindLow,
            Op::GroupNonUniformBallotFindMSB => BallotQuery::FindHigh,
            Op::GroupNonUniformBallotBitCount => match instruction.operands.get(1) {
                Some(Source::GroupOperation(GroupOperation::Reduce)) => BallotQuery::Count,
                Some(Source::GroupOperation(GroupOperation::InclusiveScan)) => BallotQuery::CountInclusive,
                Some(Source::GroupOperation(GroupOperation::ExclusiveScan)) => BallotQuery::CountExclusive,
                _ => {
                    return Err(malformed!(
                        "OpGroupNonUniformBallotBitCount without a group operation"
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
        Ok(Some((Operation::Ballot(query), operands)))
    }

    fn async_copy(&mut self, instruction: &dr::Instruction) -> Result<Code> {
        let scope = self.group_scope(instruction)?;
        // Without the event behind them: a copy is done when it is asked for, and nobody waits for
        // it.
        let operands: Vec<Operand> = (1..5)
            .map(|index| self.operand_at(instruction, index))
            .collect::<Result<_>>()?;
        let destination = self.type_of(operands[0]);
        // Where the compiler kept a pointer to an array, its elements are what is copied.
        let mut element = self.reader.pointee(destination)?;
        while let Type::Array { element: inner, .. } = self.types().get(element) {
            element = *inner;
        }
        let class = match self.types().get(destination) {
            Type::Pointer { class, .. } => *class,
            _ => {
                return Err(malformed!("OpGroupAsyncCopy to something that is no pointer"));
            }
        };
        let to_local = class == offkit_spirv::grammar::StorageClass::Workgroup;
        let kind = Kind::AsyncCopy { element, to_local };
        Ok((Operation::collective(kind, scope, true), operands))
    }
}

/// Whether all work-items of a group must reach an instruction of that name.
fn is_uniform(name: &str) -> bool {
    name.starts_with("Group") && !name.starts_with("GroupNonUniform")
}
