//! Why modules could not be linked.

use crate::grammar::{AddressingModel, MemoryModel};
use thiserror::Error;

use crate::symbols::SymbolKind;

/// Why modules could not be linked. Modules are named by the labels the caller gave them.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkError {
    /// There is no module to link.
    #[error("there are no modules to link")]
    NoModules,
    /// A module says nothing of its addressing and memory model.
    #[error("{module} has no memory model")]
    NoMemoryModel {
        /// The module.
        module: String,
    },
    /// Two modules have pointers of different width.
    #[error("the addressing models differ: {first} is {first_model:?}, {second} is {second_model:?}")]
    AddressingModel {
        /// The first module.
        first: String,
        /// Its addressing model.
        first_model: AddressingModel,
        /// The module that differs from it.
        second: String,
        /// Its addressing model.
        second_model: AddressingModel,
    },
    /// Two modules are written for different memory models.
    #[error("the memory models differ: {first} is {first_model:?}, {second} is {second_model:?}")]
    MemoryModel {
        /// The first module.
        first: String,
        /// Its memory model.
        first_model: MemoryModel,
        /// The module that differs from it.
        second: String,
        /// Its memory model.
        second_model: MemoryModel,
    },
    /// Two modules export the same symbol.
    #[error("symbol '{symbol}' is exported by both {first} and {second}")]
    DuplicateExport {
        /// The linkage name.
        symbol: String,
        /// The module that exports it first.
        first: String,
        /// The module that exports it again.
        second: String,
    },
    /// Two modules have kernels of the same name.
    #[error("kernel '{kernel}' is in both {first} and {second}")]
    DuplicateKernel {
        /// The name of the kernel.
        kernel: String,
        /// The module that has it first.
        first: String,
        /// The module that has it again.
        second: String,
    },
    /// A symbol is a function in one module and a variable in another.
    #[error("symbol '{symbol}' is a {import_kind} in {importer}, but a {export_kind} in {exporter}")]
    KindMismatch {
        /// The linkage name.
        symbol: String,
        /// The module that imports it.
        importer: String,
        /// What it is there.
        import_kind: SymbolKind,
        /// The module that exports it.
        exporter: String,
        /// What it is there.
        export_kind: SymbolKind,
    },
    /// A symbol is declared with one type and defined with another.
    #[error("symbol '{symbol}' has type {import_type} in {importer}, but type {export_type} in {exporter}")]
    TypeMismatch {
        /// The linkage name.
        symbol: String,
        /// The module that imports it.
        importer: String,
        /// The type it is declared with, readable.
        import_type: String,
        /// The module that exports it.
        exporter: String,
        /// The type it is defined with, readable.
        export_type: String,
    },
    /// No module exports what others import.
    #[error("unresolved symbols: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unresolved(
        /// The symbols, in the order in which modules mention them.
        Vec<UnresolvedSymbol>,
    ),
    /// Two modules give the same number to specialization constants of different types.
    #[error(
        "specialization constant {id} is of type {first_type} in {first}, but of type {second_type} in {second}"
    )]
    SpecializationConstant {
        /// The number (`SpecId`).
        id: u32,
        /// The module that has it first.
        first: String,
        /// Its type there.
        first_type: String,
        /// The module that has it again.
        second: String,
        /// Its type there.
        second_type: String,
    },
    /// A module uses an instruction that is newer than the grammar; which of its operands are ids, and have to
    /// be changed in linking, cannot be told.
    #[error("{module} uses instruction {instruction}, whose operands are not known")]
    UnknownInstruction {
        /// The module.
        module: String,
        /// What the instruction is called.
        instruction: String,
    },
    /// The values that variables start with refer to each other in a circle.
    #[error("the initial values of variables refer to each other in a circle")]
    InitializerCycle,
    /// Types contain each other in a circle, which only pointers that are declared ahead may close.
    #[error("types contain each other in a circle that no pointer declared ahead closes")]
    TypeCycle,
    /// The variables that an entry point lists are more than an instruction has room for.
    #[error(
        "the entry point `{kernel}` has {words} words with the variables that it lists, and an instruction at most {limit}"
    )]
    EntryPointTooLong {
        /// The kernel.
        kernel: String,
        /// The words of its entry point.
        words: usize,
        /// How many an instruction may have.
        limit: usize,
    },
    /// Decoration groups of a module stand for more decorations than a linker should write.
    #[error("the decoration groups of {module} stand for more than {limit} decorations")]
    TooManyDecorations {
        /// The module.
        module: String,
        /// How many are allowed.
        limit: usize,
    },
}

/// A symbol that no module exports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnresolvedSymbol {
    /// The linkage name.
    pub name: String,
    /// Function or variable.
    pub kind: SymbolKind,
    /// The modules that import it.
    pub modules: Vec<String>,
    /// For the first kernels that need it the way to it, as in [`Need::chain`](crate::Need::chain): at most 4, and none
    /// when there are many unresolved symbols before this one.
    pub chains: Vec<Vec<String>>,
    /// The number of kernels that need it, beside those of `chains`.
    pub more_kernels: usize,
}

impl std::fmt::Display for UnresolvedSymbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} '{}', imported by {}",
            self.kind,
            self.name,
            self.modules.join(", ")
        )?;
        for chain in &self.chains {
            write!(f, ", needed by {}", chain.join(" -> "))?;
        }
        let kernels = if self.more_kernels == 1 {
            "kernel"
        } else {
            "kernels"
        };
        match (self.chains.is_empty(), self.more_kernels) {
            (_, 0) => Ok(()),
            (true, count) => write!(f, ", needed by {count} {kernels}"),
            (false, count) => write!(f, " and {count} more {kernels}"),
        }
    }
}
