//! What the interpreter executes: functions with every decision taken that does not depend on values.

use offkit_spirv::grammar::FPRoundingMode;

use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::builtins::{PureFn, Scalar, Shape};
use offkit_kernel::ir::arithmetic::Elementwise;
use offkit_kernel::ir::{AtomicOperation, BallotQuery, Collective, Leaf, Line, MemoryFunction};

/// The first register of a value, counted from the start of its function's frame.
pub(super) type Slot = u32;

/// The number of a memory access, under which it remembers the allocation it last went to.
pub(super) type Site = u32;

/// Moves words between registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) from: Slot,
    pub(super) to: Slot,
    pub(super) lanes: u32,
}

/// A way to another block.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    /// Index of the step to go on with.
    pub(super) target: u32,
    /// The phis of the block.
    pub(super) moves: Box<[Move]>,
    /// Some move reads what an earlier one writes, so that all must be read first.
    pub(super) parallel: bool,
}

/// An operand and its shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Typed {
    pub(super) slot: Slot,
    pub(super) shape: Shape,
}

/// One step of a function.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Binary {
        function: fn(u64, u64) -> u64,
        to: Slot,
        a: Slot,
        b: Slot,
    },
    BinaryVector {
        function: fn(u64, u64) -> u64,
        to: Slot,
        a: Slot,
        b: Slot,
        lanes: u32,
    },
    /// Any number of operands; those of one lane count for all.
    Elementwise {
        function: Elementwise,
        to: Slot,
        lanes: u32,
        operands: Box<[(Slot, u32)]>,
    },
    Fold {
        function: fn(u64, u64) -> u64,
        to: Slot,
        a: Slot,
        lanes: u32,
    },
    /// The condition has one lane for all, or one for each: the stride is 0 or 1.
    Select {
        to: Slot,
        condition: Slot,
        stride: u32,
        accept: Slot,
        reject: Slot,
        lanes: u32,
    },
    /// Sign-extends from a width and cuts off at another.
    Extend {
        to: Slot,
        a: Slot,
        lanes: u32,
        unused: u32,
        mask: u64,
    },
    /// Cuts off at a width.
    Truncate {
        to: Slot,
        a: Slot,
        lanes: u32,
        mask: u64,
    },
    Convert(Box<Convert>),
    Reinterpret {
        to: Slot,
        a: Slot,
        lanes: u32,
        from: Scalar,
        into: Scalar,
    },
    Move(Move),
    /// Moves that do not overlap.
    Moves(Box<[Move]>),
    ExtractDynamic {
        to: Slot,
        vector: Slot,
        index: Slot,
        lanes: u32,
    },
    InsertDynamic {
        to: Slot,
        vector: Slot,
        component: Slot,
        index: Slot,
        lanes: u32,
    },
    /// `base + offset + index · stride`, the index sign-extended.
    Address {
        to: Slot,
        base: Slot,
        index: Slot,
        unused: u32,
        stride: u64,
        offset: u64,
    },
    AddressOffset {
        to: Slot,
        base: Slot,
        offset: u64,
    },
    /// The built-in variable of a number.
    Input {
        to: Slot,
        global: u32,
        lanes: u32,
    },
    Load {
        to: Slot,
        pointer: Slot,
        size: u32,
        site: Site,
    },
    Store {
        pointer: Slot,
        value: Slot,
        size: u32,
        site: Site,
    },
    /// Vectors, and whatever else has several parts.
    LoadComposite {
        to: Slot,
        pointer: Slot,
        leaves: Box<[Leaf]>,
        site: Site,
    },
    StoreComposite {
        pointer: Slot,
        value: Slot,
        leaves: Box<[Leaf]>,
        site: Site,
    },
    /// Orders this work-item's accesses to memory as others see them.
    Fence,
    Copy {
        destination: Slot,
        source: Slot,
        size: Slot,
    },
    Atomic(Box<Atomic>),
    GenericCast {
        to: Slot,
        pointer: Slot,
        class: offkit_spirv::grammar::StorageClass,
    },
    PointerSemantics {
        to: Slot,
        pointer: Slot,
    },
    Pure(Box<Pure>),
    Memory(Box<MemoryAccess>),
    Print {
        to: Slot,
        operands: Box<[Typed]>,
    },
    Ballot {
        to: Slot,
        query: BallotQuery,
        ballot: Slot,
        index: Slot,
    },
    Call {
        function: u32,
        arguments: Box<[Move]>,
        to: Slot,
        cost: u32,
    },
    Collective(Box<CollectiveStep>),
    Jump {
        edge: Edge,
        cost: u32,
    },
    Branch {
        condition: Slot,
        edges: Box<[Edge; 2]>,
        cost: u32,
    },
    Switch {
        selector: Slot,
        cases: Box<[(u64, Edge)]>,
        default: Box<Edge>,
        cost: u32,
    },
    Return {
        from: Slot,
        lanes: u32,
        cost: u32,
    },
    Unreachable,
}

#[derive(Clone, Debug)]
pub(super) struct Convert {
    pub(super) kind: Conversion,
    pub(super) from: Scalar,
    pub(super) into: Scalar,
    pub(super) rounding: Option<FPRoundingMode>,
    pub(super) saturate: bool,
    pub(super) to: Slot,
    pub(super) a: Slot,
    pub(super) lanes: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Atomic {
    pub(super) operation: AtomicOperation,
    /// Combines the old value and the operand, for updates.
    pub(super) function: Option<fn(u64, u64) -> u64>,
    pub(super) size: u32,
    pub(super) to: Slot,
    pub(super) pointer: Slot,
    pub(super) operands: [Slot; 2],
    pub(super) site: Site,
}

/// A function of OpenCL.std.
#[derive(Clone, Debug)]
pub(super) struct Pure {
    pub(super) function: PureFn,
    pub(super) result: Shape,
    pub(super) operands: Box<[Typed]>,
    pub(super) to: Slot,
    /// Where to store the second result: the pointer, and the size of a component.
    pub(super) out: Option<(Slot, u32)>,
    pub(super) site: Site,
}

impl Pure {
    /// Operands of a function of OpenCL.std, without a pointer.
    pub(super) const MOST_OPERANDS: usize = 4;
}

/// Loads and stores of OpenCL.std.
#[derive(Clone, Debug)]
pub(super) struct MemoryAccess {
    pub(super) function: MemoryFunction,
    /// The first register of what is loaded or stored.
    pub(super) value: Slot,
    pub(super) shape: Shape,
    pub(super) offset: Slot,
    /// Bits of the offset that are not there.
    pub(super) unused: u32,
    pub(super) pointer: Slot,
    pub(super) site: Site,
}

/// Something that work-items do together.
#[derive(Clone, Debug)]
pub(super) struct CollectiveStep {
    pub(super) collective: Collective,
    pub(super) operands: Box<[Typed]>,
    pub(super) to: Slot,
    pub(super) lanes: u32,
    /// Bytes of one element, for copies and block accesses.
    pub(super) element: u64,
}

/// A private variable.
#[derive(Clone, Debug)]
pub(super) struct PrivateVariable {
    pub(super) address: Slot,
    pub(super) size: u32,
    pub(super) initializer: Option<Box<[u8]>>,
}

/// A function in executable form. Its frame starts with its constants.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) steps: Vec<Step>,
    pub(super) lines: Vec<Option<Line>>,
    /// The first step of each block; unreachable blocks have none.
    pub(super) starts: Vec<u32>,
    pub(super) successors: Vec<Vec<u32>>,
    pub(super) constants: Vec<u64>,
    /// Words of a frame.
    pub(super) registers: u32,
    /// First register and number of words.
    pub(super) parameters: Vec<(Slot, u32)>,
    /// Parameters that point to a copy of the callee's own, and the copy's size.
    pub(super) copies: Vec<(Slot, u32)>,
    pub(super) variables: Vec<PrivateVariable>,
    pub(super) calls: Vec<u32>,
    pub(super) has_collectives: bool,
    /// Program-scope variables in local memory that it names.
    pub(super) locals: Vec<u32>,
    /// It is declared and not defined.
    pub(super) imported: bool,
}

impl Function {
    /// The block that a step is in.
    pub(super) fn block_of(&self, step: u32) -> u32 {
        let starts = self.starts.iter().zip(0..).filter(|(start, _)| **start <= step);
        starts
            .max_by_key(|(start, block)| (**start, u32::MAX - *block))
            .map_or(0, |(_, block)| block)
    }

    /// Whether a work-item may execute a step twice.
    pub(super) fn has_loops(&self) -> bool {
        (0..self.successors.len() as u32).any(|block| self.reaches(block, block))
    }

    /// Whether there is a way of at least one edge between two blocks.
    pub(super) fn reaches(&self, from: u32, to: u32) -> bool {
        let mut seen = vec![false; self.successors.len()];
        let mut left = vec![from];
        while let Some(block) = left.pop() {
            for successor in &self.successors[block as usize] {
                if *successor == to {
                    return true;
                }
                if !std::mem::replace(&mut seen[*successor as usize], true) {
                    left.push(*successor);
                }
            }
        }
        false
    }
}
