//! What an instruction does.

use offkit_spirv::grammar::{FPRoundingMode, Op, OpenclStd100Op};

use super::{FunctionId, GlobalId, Operand, TypeId};
use crate::builtins::Scalar;
use crate::builtins::convert::Conversion;

/// What an instruction does. The type of its result is that of its value.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Arithmetic, logic and comparisons, component by component; `scalar` is that of the operands.
    Elementwise {
        op: Op,
        scalar: Scalar,
        operands: Vec<Operand>,
    },
    /// All components of a vector combined into one by an operation.
    Fold {
        op: Op,
        scalar: Scalar,
        operand: Operand,
    },
    /// Picks between two values; one condition for all or one for each component.
    Select {
        condition: Operand,
        accept: Operand,
        reject: Operand,
    },
    /// A change of width or kind, component by component.
    Convert {
        kind: Conversion,
        saturate: bool,
        rounding: Option<FPRoundingMode>,
        operand: Operand,
    },
    /// The same bytes as another type.
    Reinterpret(Operand),
    /// The same words as another type, or a part of them starting at a word.
    Extract {
        composite: Operand,
        first: u32,
    },
    /// A composite with some words replaced.
    Insert {
        composite: Operand,
        object: Operand,
        first: u32,
    },
    /// A component chosen by a value.
    ExtractDynamic {
        vector: Operand,
        index: Operand,
    },
    /// A vector with a component chosen by a value replaced.
    InsertDynamic {
        vector: Operand,
        component: Operand,
        index: Operand,
    },
    /// The words of all parts, one after the other.
    Construct(Vec<Operand>),
    /// Words picked from two values laid one after the other; `None` is any.
    Shuffle {
        first: Operand,
        second: Operand,
        lanes: Vec<Option<u32>>,
    },
    /// `base + offset + Σ index · stride`; indices are signed.
    Address {
        base: Operand,
        offset: u64,
        terms: Vec<(Operand, u64)>,
    },
    /// Reads a built-in variable.
    Input(GlobalId),
    Load {
        pointer: Operand,
    },
    Store {
        pointer: Operand,
        value: Operand,
    },
    /// Copies bytes.
    Copy {
        destination: Operand,
        source: Operand,
        size: Operand,
    },
    /// An indivisible access; the operands are those that the operation needs beside the pointer.
    Atomic {
        operation: AtomicOperation,
        scalar: Scalar,
        pointer: Operand,
        operands: Vec<Operand>,
    },
    /// A memory fence. Every atomic access is sequentially consistent already.
    Fence,
    /// The null pointer, unless the pointer is into the storage class.
    GenericCast {
        pointer: Operand,
        class: offkit_spirv::grammar::StorageClass,
    },
    /// The storage class that a generic pointer points into, as memory semantics bits.
    PointerSemantics(Operand),
    Call {
        function: FunctionId,
        arguments: Vec<Operand>,
    },
    /// An OpenCL.std instruction that only computes; where it also gives a value through a pointer, that
    /// is `out`.
    Extended {
        op: OpenclStd100Op,
        operands: Vec<Operand>,
        out: Option<Operand>,
    },
    /// An OpenCL.std instruction that accesses memory.
    Memory {
        function: MemoryFunction,
        operands: Vec<Operand>,
    },
    /// OpenCL.std printf: the format, then the values.
    Print {
        operands: Vec<Operand>,
    },
    /// Something work-items do together.
    Collective(Collective),
    /// A question about a ballot, and the index that it may need.
    Ballot {
        query: BallotQuery,
        operands: Vec<Operand>,
    },
}

/// Questions about a ballot, four words of 32 bits, that a work-item answers by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BallotQuery {
    /// Its own bit.
    Inverse,
    /// The bit of the index.
    Bit,
    /// Bits of the sub-group.
    Count,
    /// Bits up to its own.
    CountInclusive,
    /// Bits below its own.
    CountExclusive,
    /// The lowest set bit.
    FindLow,
    /// The highest set bit.
    FindHigh,
}

/// An indivisible change of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOperation {
    Load,
    Store,
    Exchange,
    /// The operands are the new value and the one to compare with.
    CompareExchange,
    /// Read, combine by this operation, write.
    Update(Op),
    /// Sets a flag and tells whether it was set.
    TestAndSet,
    Clear,
}

/// Loads and stores of OpenCL.std: the number of components is that of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryFunction {
    /// Offset, pointer; the address is `pointer + offset · components · size`.
    LoadVector,
    /// Offset, pointer to half; the result is wider.
    LoadHalf { aligned: bool },
    /// Value, offset, pointer.
    StoreVector,
    /// Value, offset, pointer to half.
    StoreHalf { aligned: bool, rounding: FPRoundingMode },
}

/// Which work-items take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupScope {
    SubGroup,
    WorkGroup,
}

/// Something the work-items of a group do together.
#[derive(Clone, Debug)]
pub struct Collective {
    pub kind: CollectiveKind,
    pub scope: GroupScope,
    /// All work-items of the scope must take part; otherwise those that are there do.
    pub uniform: bool,
    pub operands: Vec<Operand>,
}

/// How the values of a reduction or scan are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    pub op: Op,
    pub scalar: Scalar,
}

/// What work-items do together. Operands are named in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    /// Nobody goes on before all have come.
    Barrier,
    /// Value.
    Reduce(Reduction),
    /// Value; the cluster size is fixed.
    ClusteredReduce(Reduction, u32),
    /// Value.
    InclusiveScan(Reduction),
    /// Value.
    ExclusiveScan(Reduction),
    /// Predicate.
    All,
    /// Predicate.
    Any,
    /// Value.
    AllEqual,
    /// Whether this is the first of those that take part.
    Elect,
    /// Value, local id (one to three components) or index in the sub-group.
    Broadcast,
    /// Value.
    BroadcastFirst,
    /// Predicate; the result is four words of 32 bits.
    Ballot,
    /// Value, index.
    Shuffle,
    /// Value, mask.
    ShuffleXor,
    /// Value, delta.
    ShuffleUp,
    /// Value, delta.
    ShuffleDown,
    /// Value, delta; clusters of fixed size, 0 for the whole sub-group.
    Rotate(u32),
    /// Current value, next value, delta.
    ShuffleDownPair,
    /// Previous value, current value, delta.
    ShuffleUpPair,
    /// Value, index in the quad.
    QuadBroadcast,
    /// Value; the direction is 0 horizontal, 1 vertical, 2 diagonal.
    QuadSwap(u32),
    /// Pointer; each gets its part of a block.
    BlockRead,
    /// Pointer, value.
    BlockWrite,
    /// Destination, source, number of elements, stride in elements; `to_local` tells which side the
    /// stride is on.
    AsyncCopy { element: TypeId, to_local: bool },
    /// Nothing to wait for: copies are done already.
    WaitEvents,
}

impl Operation {
    pub fn elementwise(op: Op, scalar: Scalar, operands: Vec<Operand>) -> Operation {
        Operation::Elementwise { op, scalar, operands }
    }

    pub fn collective(
        kind: CollectiveKind,
        scope: GroupScope,
        uniform: bool,
        operands: Vec<Operand>,
    ) -> Operation {
        Operation::Collective(Collective {
            kind,
            scope,
            uniform,
            operands,
        })
    }
    /// Everything that the operation reads.
    pub fn operands(&self) -> Vec<Operand> {
        match self {
            Operation::Elementwise { operands, .. }
            | Operation::Construct(operands)
            | Operation::Memory { operands, .. }
            | Operation::Print { operands }
            | Operation::Ballot { operands, .. }
            | Operation::Collective(Collective { operands, .. })
            | Operation::Call {
                arguments: operands, ..
            } => operands.clone(),
            Operation::Fold { operand, .. }
            | Operation::Convert { operand, .. }
            | Operation::Reinterpret(operand)
            | Operation::Extract {
                composite: operand, ..
            }
            | Operation::Load { pointer: operand }
            | Operation::GenericCast { pointer: operand, .. }
            | Operation::PointerSemantics(operand) => vec![*operand],
            Operation::Insert {
                composite: a,
                object: b,
                ..
            }
            | Operation::ExtractDynamic { vector: a, index: b }
            | Operation::Shuffle {
                first: a, second: b, ..
            }
            | Operation::Store { pointer: a, value: b } => vec![*a, *b],
            Operation::Select {
                condition: a,
                accept: b,
                reject: c,
            }
            | Operation::InsertDynamic {
                vector: a,
                component: b,
                index: c,
            }
            | Operation::Copy {
                destination: a,
                source: b,
                size: c,
            } => vec![*a, *b, *c],
            Operation::Address { base, terms, .. } => [*base]
                .into_iter()
                .chain(terms.iter().map(|(index, _)| *index))
                .collect(),
            Operation::Atomic {
                pointer, operands, ..
            } => [*pointer].into_iter().chain(operands.clone()).collect(),
            Operation::Extended { operands, out, .. } => operands.iter().copied().chain(*out).collect(),
            Operation::Input(_) | Operation::Fence => Vec::new(),
        }
    }
}
