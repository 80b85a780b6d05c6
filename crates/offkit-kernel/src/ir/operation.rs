//! What an instruction does.

use offkit_spirv::grammar::{FPRoundingMode, Op, OpenclStd100Op, Scope, StorageClass};

use super::text::described;
use super::{FunctionId, GlobalId, ScopeListId, TypeId};
use crate::builtins::Scalar;
use crate::builtins::convert::Conversion;

described! {
    /// What an instruction does with its operands, which are named here in their order. The type of its result is
    /// that of its value.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Operation {
        /// Arithmetic, logic and comparisons, component by component.
        Elementwise(op: Op) = "op",
        /// Vector: all components combined into one by an operation.
        Fold(op: Op) = "fold",
        /// Condition, value if true, value if false; one condition for all components or one for each.
        Select = "select",
        /// Value: a change of width or kind, component by component.
        Convert {
            /// From what to what.
            kind: Conversion,
            /// What is out of range becomes the nearest value that is in it.
            saturate: bool = "saturate",
            /// Toward zero to integers and to nearest to floats, unless said.
            rounding: Option<FPRoundingMode> = "rounding",
        } = "convert",
        /// Value: the same bytes as another type.
        Reinterpret = "reinterpret",
        /// Value: the same words as another type, or a part of them starting at a word.
        Extract(first: u32) = "extract",
        /// Composite, object: the composite with some words replaced, starting at a word.
        Insert(first: u32) = "insert",
        /// Vector, index: a component.
        ExtractDynamic = "pick",
        /// Vector, component, index: the vector with one component replaced.
        InsertDynamic = "put",
        /// The words of all operands, one after the other.
        Construct = "construct",
        /// Two vectors: components picked from them laid one after the other; `None` is any.
        Shuffle(lanes: Vec<Option<u32>>) = "shuffle",
        /// Base, indices: `base + offset + Σ index · stride`; indices are signed.
        Address {
            /// In bytes.
            offset: u64,
            /// In bytes, one for each index.
            strides: Vec<u64>,
        } = "address",
        /// Reads a built-in variable.
        Input(variable: GlobalId) = "input",
        /// Pointer.
        Load = "load",
        /// Pointer, value.
        Store = "store",
        /// Destination, source, size in bytes.
        Copy = "copy",
        /// Pointer, then what the operation needs: an indivisible access.
        Atomic {
            /// What it does.
            operation: AtomicOperation,
            /// What is in memory.
            scalar: Scalar,
        } = "atomic",
        /// A memory fence.
        Fence = "fence",
        /// Pointer: itself if it points into the storage class, or else the null pointer.
        GenericCast(class: StorageClass) = "cast",
        /// Pointer: the storage class that it points into, as memory semantics bits.
        PointerSemantics = "semantics",
        /// A stack has no room for one more call: the work-item fails.
        Overflow = "overflow",
        /// A store to the null pointer: the work-item fails.
        Nowhere = "nowhere",
        /// A call by an address that no function of the call's type has: the work-item fails.
        NoFunction = "no_function",
        /// Arguments.
        Call(function: FunctionId) = "call",
        /// An OpenCL.std instruction that only computes; one with a second result takes the pointer for it last.
        Extended(op: OpenclStd100Op) = "cl",
        /// An OpenCL.std instruction that accesses memory.
        Memory(function: MemoryFunction) = "memory",
        /// Format, values: OpenCL.std printf.
        Print = "print",
        /// Something work-items do together.
        Collective(collective: Collective) = "collective",
        /// Ballot, and the index that the question may need.
        Ballot(query: BallotQuery) = "ballot",
        /// Condition: holds whenever control comes here.
        Assume = "assume",
        /// Value, and what it most likely is: the value.
        Expect = "expect",
    }
}

described! {
    /// What may be assumed of floating-point numbers, for speed.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct FastMath {
        /// Neither operands nor result are NaN.
        not_nan: bool = "not_nan",
        /// Neither operands nor result are infinite.
        not_infinite: bool = "not_infinite",
        /// The sign of zero doesn't matter.
        no_signed_zero: bool = "no_signed_zero",
        /// A division may become a product with the reciprocal.
        allow_reciprocal: bool = "allow_reciprocal",
        /// All algebraic rules of real numbers hold.
        fast: bool = "fast",
        /// May be contracted with others into one operation that rounds once.
        allow_contract: bool = "allow_contract",
        /// May be done in another order.
        allow_reassociation: bool = "allow_reassociation",
        /// May be replaced by what is the same in real numbers.
        allow_transform: bool = "allow_transform",
    }
}

described! {
    /// What the module tells about an instruction beside what it does: licences and hints for compilers.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Attributes {
        /// For floating-point arithmetic and functions.
        math: FastMath,
        /// Not to be contracted with others.
        no_contraction: bool = "no_contraction",
        /// The result as a signed integer is in range.
        no_signed_wrap: bool = "no_signed_wrap",
        /// The result as an unsigned integer is in range.
        no_unsigned_wrap: bool = "no_unsigned_wrap",
        /// The address stays inside the object that the base points into.
        in_bounds: bool = "in_bounds",
        /// Alignment of the address in bytes, a power of two, where it is told.
        align: Option<u32> = "align",
        /// The access must happen as it stands.
        volatile: bool = "volatile",
        /// The memory isn't needed again soon.
        nontemporal: bool = "nontemporal",
        /// The alias scopes that the access belongs to.
        scopes: Option<ScopeListId> = "scopes",
        /// The access meets no memory of accesses in these scopes.
        no_alias: Option<ScopeListId> = "no_alias",
        /// How other work-items see it. Without it: sequentially consistent, for everybody.
        order: Option<Order> = "order",
    }
}

described! {
    /// What an atomic access, fence or barrier guarantees to others.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Order {
        /// To whom.
        scope: Scope,
        /// SPIR-V's memory semantics.
        semantics: u32,
    }
}

described! {
    /// Questions about a ballot, four words of 32 bits, that a work-item answers by itself.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BallotQuery {
        /// Its own bit.
        Inverse = "inverse",
        /// The bit of the index.
        Bit = "bit",
        /// Bits of the sub-group.
        Count = "count",
        /// Bits up to its own.
        CountInclusive = "count_inclusive",
        /// Bits below its own.
        CountExclusive = "count_exclusive",
        /// The lowest set bit.
        FindLow = "find_low",
        /// The highest set bit.
        FindHigh = "find_high",
    }
}

described! {
    /// An indivisible change of memory; operands are named without the pointer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AtomicOperation {
        /// Gives what is there.
        Load = "load",
        /// Value.
        Store = "store",
        /// Value.
        Exchange = "exchange",
        /// The new value and the one to compare with.
        CompareExchange = "compare_exchange",
        /// Value: read, combine by this operation, write.
        Update(op: Op) = "update",
        /// Sets a flag and tells whether it was set.
        TestAndSet = "test_and_set",
        /// Clears a flag.
        Clear = "clear",
    }
}

described! {
    /// Loads and stores of OpenCL.std: the number of components is that of the value.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MemoryFunction {
        /// Offset, pointer; the address is `pointer + offset · components · size`.
        LoadVector = "load_vector",
        /// Offset, pointer to half; the result is wider.
        LoadHalf {
            /// Three components take the room of four.
            aligned: bool = "aligned",
        } = "load_half",
        /// Value, offset, pointer.
        StoreVector = "store_vector",
        /// Value, offset, pointer to half.
        StoreHalf {
            /// Three components take the room of four.
            aligned: bool = "aligned",
            /// To half precision.
            rounding: FPRoundingMode,
        } = "store_half",
    }
}

described! {
    /// Which work-items take part.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum GroupScope {
        /// Those of a sub-group.
        SubGroup = "sub_group",
        /// Those of a work-group.
        WorkGroup = "work_group",
    }
}

described! {
    /// Something the work-items of a group do together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Collective {
        /// What.
        kind: CollectiveKind,
        /// Who.
        scope: GroupScope,
        /// All work-items of the scope must take part; otherwise those that are there do.
        uniform: bool = "uniform",
    }
}

described! {
    /// How the values of a reduction or scan are combined.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reduction {
        /// By what.
        op: Op,
        /// On what.
        scalar: Scalar,
    }
}

described! {
    /// What work-items do together. Operands are named in order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CollectiveKind {
        /// Nobody goes on before all have come.
        Barrier = "barrier",
        /// Value.
        Reduce(reduction: Reduction) = "reduce",
        /// Value; the cluster size is fixed.
        ClusteredReduce(reduction: Reduction, size: u32) = "clustered_reduce",
        /// Value.
        InclusiveScan(reduction: Reduction) = "inclusive_scan",
        /// Value.
        ExclusiveScan(reduction: Reduction) = "exclusive_scan",
        /// Predicate.
        All = "all",
        /// Predicate.
        Any = "any",
        /// Value.
        AllEqual = "all_equal",
        /// Whether this is the first of those that take part.
        Elect = "elect",
        /// Value, local id (one to three components) or index in the sub-group.
        Broadcast = "broadcast",
        /// Value.
        BroadcastFirst = "broadcast_first",
        /// Predicate; the result is four words of 32 bits.
        Ballot = "ballot",
        /// Value, index.
        Shuffle = "shuffle",
        /// Value, mask.
        ShuffleXor = "shuffle_xor",
        /// Value, delta.
        ShuffleUp = "shuffle_up",
        /// Value, delta.
        ShuffleDown = "shuffle_down",
        /// Value, delta; clusters of fixed size, 0 for the whole sub-group.
        Rotate(cluster: u32) = "rotate",
        /// Current value, next value, delta.
        ShuffleDownPair = "shuffle_down_pair",
        /// Previous value, current value, delta.
        ShuffleUpPair = "shuffle_up_pair",
        /// Value, index in the quad.
        QuadBroadcast = "quad_broadcast",
        /// Value; the direction is 0 horizontal, 1 vertical, 2 diagonal.
        QuadSwap(direction: u32) = "quad_swap",
        /// Pointer; each gets its part of a block.
        BlockRead = "block_read",
        /// Pointer, value.
        BlockWrite = "block_write",
        /// Destination, source, number of elements, stride in elements.
        AsyncCopy {
            /// What is copied.
            element: TypeId,
            /// Which side the stride is on.
            to_local: bool = "to_local",
        } = "async_copy",
        /// Nothing to wait for: copies are done already.
        WaitEvents = "wait_events",
    }
}

impl Operation {
    /// Something work-items do together.
    pub fn collective(kind: CollectiveKind, scope: GroupScope, uniform: bool) -> Operation {
        Operation::Collective(Collective { kind, scope, uniform })
    }
}
