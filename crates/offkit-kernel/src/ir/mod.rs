//! offkit's own SSA form of a device module.
//!
//! It is SPIR-V with the decisions taken: types have layouts, every value is a fixed number of 64-bit
//! words, access chains are address arithmetic, decorations have become operands, names of built-in
//! variables have become reads. What executes or compiles it needs to know no SPIR-V grammar, except
//! that arithmetic keeps SPIR-V's opcodes as its names.
//!
//! A value's words: integers zero-extended from their width, booleans 0 or 1, floating-point numbers as
//! their bits, pointers as addresses, vectors one word a component, and arrays and structs the words of
//! their parts, one after the other.

mod built_in;
mod display;
mod dominators;
mod operation;
mod types;
mod verify;

pub mod arithmetic;

pub use arithmetic::reinterpret;
pub use built_in::check_built_in;
pub use operation::{
    AtomicOperation, BallotQuery, Collective, CollectiveKind, GroupScope, MemoryFunction, Operation,
    Reduction,
};
pub use types::{LARGEST_VALUE, Leaf, Type, TypeId, Types, scalar_size};
pub use verify::verify;

use offkit_spirv::grammar::BuiltIn;

/// A value of a function: an index into [`Function::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A constant of the module: an index into [`Module::constants`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConstantId(pub u32);

/// A program-scope variable: an index into [`Module::globals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalId(pub u32);

/// A function: an index into [`Module::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FunctionId(pub u32);

/// A block: an index into [`Function::blocks`]; a function starts with block 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId(pub u32);

/// What an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    Value(ValueId),
    Constant(ConstantId),
}

/// A constant: its words, some of which are offsets from the address of a program-scope variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    pub kind: TypeId,
    /// Empty for a value of zeros only.
    pub words: Vec<u64>,
    /// Indices of words to which the address of a variable is added, in ascending order.
    pub relocations: Vec<(u32, GlobalId)>,
}

impl Constant {
    /// A constant without addresses; lanes beyond its words are zero.
    pub fn plain(kind: TypeId, words: Vec<u64>) -> Constant {
        Constant {
            kind,
            words,
            relocations: Vec::new(),
        }
    }
}

/// A program-scope variable.
#[derive(Clone, Debug)]
pub struct Global {
    pub name: String,
    /// The type of what it holds.
    pub kind: TypeId,
    pub align: u64,
    pub home: Home,
    pub initializer: Option<ConstantId>,
}

/// Where a program-scope variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Global memory, one for the program.
    Global,
    /// Global memory that kernels may only read.
    Constant,
    /// Local memory, one for each work-group.
    Local,
    /// A built-in variable, one for each work-item.
    Input(BuiltIn),
}

/// Where in its source an instruction came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Index into [`Module::files`].
    pub file: u32,
    pub line: u32,
}

/// One instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub result: Option<ValueId>,
    pub operation: Operation,
    pub line: Option<Line>,
}

/// A value that depends on the block control came from.
#[derive(Clone, Debug)]
pub struct Phi {
    pub result: ValueId,
    pub incoming: Vec<(BlockId, Operand)>,
}

/// How a block ends.
#[derive(Clone, Debug)]
pub enum Terminator {
    Jump(BlockId),
    Branch {
        condition: Operand,
        accept: BlockId,
        reject: BlockId,
    },
    Switch {
        selector: Operand,
        cases: Vec<(u64, BlockId)>,
        default: BlockId,
    },
    Return(Option<Operand>),
    Unreachable,
}

impl Terminator {
    /// The blocks that may follow, in order, possibly repeated.
    pub fn successors(&self) -> Vec<BlockId> {
        match self {
            Terminator::Jump(target) => vec![*target],
            Terminator::Branch { accept, reject, .. } => vec![*accept, *reject],
            Terminator::Switch { cases, default, .. } => cases
                .iter()
                .map(|(_, target)| *target)
                .chain([*default])
                .collect(),
            Terminator::Return(_) | Terminator::Unreachable => Vec::new(),
        }
    }

    /// What it reads.
    pub fn operand(&self) -> Option<Operand> {
        match self {
            Terminator::Branch { condition, .. } => Some(*condition),
            Terminator::Switch { selector, .. } => Some(*selector),
            Terminator::Return(value) => *value,
            Terminator::Jump(_) | Terminator::Unreachable => None,
        }
    }
}

/// A straight piece of code.
#[derive(Clone, Debug)]
pub struct Block {
    pub phis: Vec<Phi>,
    pub instructions: Vec<Instruction>,
    pub terminator: Terminator,
    /// Of the terminator.
    pub line: Option<Line>,
}

/// A variable in private memory, made when its function is entered.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The value that holds its address.
    pub address: ValueId,
    pub kind: TypeId,
    pub initializer: Option<ConstantId>,
}

/// A function; without blocks it is only declared.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: String,
    pub result: TypeId,
    /// The first values, one for each.
    pub parameters: Vec<Parameter>,
    /// The type of each value.
    pub values: Vec<TypeId>,
    pub variables: Vec<Variable>,
    pub blocks: Vec<Block>,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub kind: TypeId,
    /// The callee gets the address of a copy of its own.
    pub by_value: bool,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: String,
    pub function: FunctionId,
    pub required_local_size: Option<[u64; 3]>,
    pub local_size_hint: Option<[u64; 3]>,
    pub sub_group_size: Option<u32>,
}

/// A whole module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    pub types: Types,
    pub constants: Vec<Constant>,
    pub globals: Vec<Global>,
    pub functions: Vec<Function>,
    pub kernels: Vec<Kernel>,
    /// Names of source files.
    pub files: Vec<String>,
}

impl Module {
    /// The type of an operand in a function. The verifier has checked that it is there.
    pub fn operand_type(&self, function: &Function, operand: Operand) -> TypeId {
        match operand {
            Operand::Value(id) => function.values[id.0 as usize],
            Operand::Constant(id) => self.constants[id.0 as usize].kind,
        }
    }

    /// Words of an operand.
    pub fn operand_lanes(&self, function: &Function, operand: Operand) -> u32 {
        self.types.lanes(self.operand_type(function, operand))
    }
}
