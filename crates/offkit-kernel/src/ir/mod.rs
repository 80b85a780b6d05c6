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
mod dominators;
mod operation;
mod text;
mod types;
mod verify;

pub mod arithmetic;

pub use arithmetic::reinterpret;
pub(crate) use built_in::check_built_in;
pub use operation::{
    AtomicOperation, Attributes, BallotQuery, Collective, CollectiveKind, FastMath, GroupScope,
    MemoryFunction, Operation, Order, Reduction,
};
pub use text::TextError;
pub use types::{LARGEST_VALUE, Layout, Leaf, Type, TypeId, Types, scalar_size};
pub use verify::Problem;

use std::collections::HashSet;

use offkit_spirv::grammar::BuiltIn;
use text::described;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A block: an index into [`Function::blocks`]; a function starts with block 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId(pub u32);

/// A source file: an index into [`Module::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(pub u32);

/// A list of alias scopes: an index into [`Module::scope_lists`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScopeListId(pub u32);

/// What an instruction works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// What an instruction, a parameter or a variable gives.
    Value(ValueId),
    /// A constant.
    Constant(ConstantId),
}

impl std::fmt::Display for Operand {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Operand::Value(id) => write!(formatter, "%{}", id.0),
            Operand::Constant(id) => write!(formatter, "${}", id.0),
        }
    }
}

described! {
    /// A constant: its words, some of which are offsets from the address of a program-scope variable.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Constant {
        /// Its type.
        kind: TypeId,
        /// One for each of its scalars; none for a value of zeros only.
        words: Vec<u64>,
        /// Indices of words to which the address of a variable is added, in ascending order.
        relocations: Vec<(u32, GlobalId)> = "addresses",
    }
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

described! {
    /// A program-scope variable.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Global {
        /// Its name in the module.
        name: String,
        /// Where it lives.
        home: Home,
        /// The type of what it holds.
        kind: TypeId,
        /// In bytes, a power of two.
        align: u64,
        /// What it holds at first.
        initializer: Option<ConstantId> = "initializer",
        /// What the host calls it, where that is something else.
        host_name: Option<String> = "host name",
    }
}

described! {
    /// Where a program-scope variable lives.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Home {
        /// Global memory, one for the program.
        Global = "global",
        /// Global memory that kernels may only read.
        Constant = "constant",
        /// Local memory, one for each work-group.
        Local = "local",
        /// A built-in variable, one for each work-item.
        Input(built_in: BuiltIn) = "input",
    }
}

described! {
    /// Where in its source an instruction came from.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Line {
        /// Which file.
        file: FileId,
        /// Counted from 1.
        line: u32,
    }
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The value that it gives, if any.
    pub result: Option<ValueId>,
    /// What it does.
    pub operation: Operation,
    /// What it does that with, in the order that the operation names.
    pub operands: Vec<Operand>,
    /// What else is known of it.
    pub attributes: Attributes,
    /// Where it came from.
    pub line: Option<Line>,
}

/// A value that depends on the block control came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phi {
    /// The value.
    pub result: ValueId,
    /// What it is, for each predecessor.
    pub incoming: Vec<(BlockId, Operand)>,
}

described! {
    /// How a block ends.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum Terminator {
        /// Goes on with a block.
        Jump(target: BlockId) = "jump",
        /// Goes on with one of two blocks.
        Branch {
            /// A boolean.
            condition: Operand,
            /// If it holds.
            accept: BlockId,
            /// If it doesn't.
            reject: BlockId,
            /// How likely each of them is.
            weights: Option<(u32, u32)> = "weights",
        } = "branch",
        /// Goes on with the block of the value that an integer has.
        Switch {
            /// The integer.
            selector: Operand,
            /// Values and their blocks.
            cases: Vec<(u64, BlockId)>,
            /// For all other values.
            default: BlockId,
        } = "switch",
        /// Leaves the function, perhaps with a value.
        Return(value: Option<Operand>) = "return",
        /// Control never comes here.
        Unreachable = "unreachable",
    }
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

described! {
    /// What the module says about the branch at the end of a block.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Merge {
        /// The block is the header of a loop.
        Loop {
            /// Where the loop leads when it is done.
            after: BlockId,
            /// What leads back to the header.
            again: BlockId,
            /// Hints.
            control: LoopControl,
        } = "loop",
        /// The branch belongs to a loop of any structure.
        Unstructured(control: LoopControl) = "unstructured",
        /// Its branches meet again.
        Selection {
            /// Where.
            after: BlockId,
            /// Better done without branches.
            flatten: bool = "flatten",
            /// Better done with branches.
            dont_flatten: bool = "dont_flatten",
        } = "selection",
    }
}

described! {
    /// Hints for a loop.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LoopControl {
        /// Better unrolled.
        unroll: bool = "unroll",
        /// Better not unrolled.
        dont_unroll: bool = "dont_unroll",
        /// No iteration depends on another.
        independent: bool = "independent",
        /// No iteration depends on one that is nearer than this.
        dependency_length: Option<u32> = "dependency_length",
        /// It iterates at least so often.
        min_iterations: Option<u32> = "min_iterations",
        /// It iterates at most so often.
        max_iterations: Option<u32> = "max_iterations",
        /// The number of iterations is a multiple of this.
        iteration_multiple: Option<u32> = "iteration_multiple",
        /// So many iterations are better peeled off.
        peel_count: Option<u32> = "peel_count",
        /// So many iterations are better made one.
        partial_count: Option<u32> = "partial_count",
    }
}

/// A straight piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Values that depend on the predecessor.
    pub phis: Vec<Phi>,
    /// The code.
    pub instructions: Vec<Instruction>,
    /// What is known of the branch at its end.
    pub merge: Option<Merge>,
    /// How it ends.
    pub terminator: Terminator,
    /// Of the terminator.
    pub line: Option<Line>,
}

described! {
    /// A variable in private memory, made when its function is entered.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Variable {
        /// The value that holds its address.
        address: ValueId,
        /// The type of what it holds.
        kind: TypeId,
        /// In bytes, a power of two, where the module tells.
        align: Option<u32> = "align",
        /// What it holds at first.
        initializer: Option<ConstantId> = "initializer",
    }
}

/// A function; without blocks it is only declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name in the module.
    pub name: String,
    /// The type of what it returns.
    pub result: TypeId,
    /// What its author recommends, and promises.
    pub control: FunctionControl,
    /// The first values, one for each.
    pub parameters: Vec<Parameter>,
    /// The type of each value.
    pub values: Vec<TypeId>,
    /// Variables in private memory.
    pub variables: Vec<Variable>,
    /// The code.
    pub blocks: Vec<Block>,
}

described! {
    /// What the author of a function recommends, and promises.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct FunctionControl {
        /// Better inlined.
        inline: bool = "inline",
        /// Better not inlined.
        dont_inline: bool = "dont_inline",
        /// Only reads memory.
        is_pure: bool = "pure",
        /// Doesn't touch memory.
        is_const: bool = "const",
        /// Not to be optimized.
        opt_none: bool = "opt_none",
    }
}

described! {
    /// A parameter of a function.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameter {
        /// Its type.
        kind: TypeId,
        /// The callee gets the address of a copy of its own.
        by_value: bool = "by_value",
        /// Zero-extended by the caller.
        zero_extended: bool = "zero_extended",
        /// Sign-extended by the caller.
        sign_extended: bool = "sign_extended",
        /// Where the function puts its result.
        is_result: bool = "result",
        /// No other pointer leads to what it points to.
        no_alias: bool = "no_alias",
        /// The function keeps no copy of it.
        no_capture: bool = "no_capture",
        /// What it points to isn't written through it.
        no_write: bool = "no_write",
        /// What it points to is neither written nor read through it.
        no_read_write: bool = "no_read_write",
        /// In bytes, a power of two, where the module tells.
        align: Option<u32> = "align",
        /// So many bytes from it on may be accessed.
        max_byte_offset: Option<u32> = "max_byte_offset",
    }
}

described! {
    /// A kernel.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Kernel {
        /// Its name.
        name: String,
        /// Its code.
        function: FunctionId,
        /// The only size of work-group that it may be launched with.
        required_local_size: Option<[u64; 3]> = "local_size",
        /// The size of work-group that its author recommends.
        local_size_hint: Option<[u64; 3]> = "local_size_hint",
        /// The size of sub-group that it needs.
        sub_group_size: Option<u32> = "sub_group_size",
        /// The type that it mostly computes with: the number of components in the upper half, and a type in the
        /// lower, as SPIR-V has it.
        vec_type_hint: Option<u32> = "vec_type_hint",
        /// A product and a sum are never made one operation.
        contraction_off: bool = "contraction_off",
        /// Formats, by their widths, whose subnormal numbers are kept.
        denorm_preserve: Vec<u32> = "denorm_preserve",
        /// Formats, by their widths, whose signed zeros, infinities and NaNs are kept.
        signed_zero_inf_nan_preserve: Vec<u32> = "signed_zero_inf_nan_preserve",
        /// Formats, by their widths, that round to nearest even.
        round_to_nearest_even: Vec<u32> = "round_to_nearest_even",
        /// What may be assumed of each type where an instruction doesn't say.
        fast_math: Vec<(TypeId, FastMath)> = "fast_math",
    }
}

/// A whole module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its types.
    pub types: Types,
    /// Its constants.
    pub constants: Vec<Constant>,
    /// Its program-scope variables.
    pub globals: Vec<Global>,
    /// Its functions.
    pub functions: Vec<Function>,
    /// Its kernels.
    pub kernels: Vec<Kernel>,
    /// Names of source files.
    pub files: Vec<String>,
    /// Lists of alias scopes, as pairs of a domain and a scope.
    pub scope_lists: Vec<Vec<(u32, u32)>>,
}

impl Module {
    /// The type of an operand in a function of a valid module.
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

    /// The module with one of its kernels, and of its functions those that the kernel may call, which get new numbers. All
    /// else stays.
    #[must_use]
    pub fn of_kernel(&self, kernel: usize) -> Module {
        let root = self.kernels[kernel].function;
        let mut functions = vec![root];
        let mut seen = HashSet::from([root]);
        let mut next = 0;
        while let Some(FunctionId(caller)) = functions.get(next).copied() {
            let blocks = &self.functions[caller as usize].blocks;
            for instruction in blocks.iter().flat_map(|block| &block.instructions) {
                if let Operation::Call(callee) = instruction.operation
                    && seen.insert(callee)
                {
                    functions.push(callee);
                }
            }
            next += 1;
        }
        // In the order that they had: a function's place in the sorted list is its new number.
        functions.sort_unstable();
        let number = |function| FunctionId(functions.partition_point(|other| *other < function) as u32);
        // Instructions name all of this by number: to leave some of it out would mean to change
        // every instruction.
        let mut module = Module {
            types: self.types.clone(),
            constants: self.constants.clone(),
            globals: self.globals.clone(),
            functions: (functions.iter())
                .map(|function| self.functions[function.0 as usize].clone())
                .collect(),
            kernels: vec![self.kernels[kernel].clone()],
            files: self.files.clone(),
            scope_lists: self.scope_lists.clone(),
        };
        let kernel = &mut module.kernels[0];
        kernel.function = number(kernel.function);
        let blocks = module
            .functions
            .iter_mut()
            .flat_map(|function| &mut function.blocks);
        for instruction in blocks.flat_map(|block| &mut block.instructions) {
            if let Operation::Call(callee) = &mut instruction.operation {
                *callee = number(*callee);
            }
        }
        module
    }
}
