//! Symbols: the functions and variables that modules share by name.

use spirv::{LinkageType, Op};

use crate::index::Index;
use crate::opencl_builtin::is_opencl_builtin;
use crate::types::Types;

/// Prefix of names that belong to SPIR-V itself: built-in variables, which clang marks as imports, and functions
/// that every device supplies.
const SPIRV_PREFIX: &str = "__spirv_";

/// Whether the device supplies what a module imports under this name.
pub(crate) fn is_supplied_by_device(name: &str) -> bool {
    name.starts_with(SPIRV_PREFIX) || is_opencl_builtin(name)
}

/// Prefix of the second copy that clang makes of each OpenCL C kernel, for calls from other kernels. It is exported,
/// but no other module knows of it.
pub(crate) const KERNEL_COPY_PREFIX: &str = "__clang_ocl_kern_imp_";

/// How a symbol takes part in linking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Linkage {
    /// Defined here for other modules to use.
    Export,
    /// Declared here and defined elsewhere.
    Import,
    /// Defined here, and perhaps in other modules as well, all alike: one definition is kept.
    LinkOnceOdr,
}

impl From<LinkageType> for Linkage {
    fn from(linkage: LinkageType) -> Self {
        match linkage {
            LinkageType::Export => Self::Export,
            LinkageType::Import => Self::Import,
            LinkageType::LinkOnceODR => Self::LinkOnceOdr,
        }
    }
}

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable at module scope.
    Variable,
}

impl std::fmt::Display for SymbolKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Function => "function",
            Self::Variable => "variable",
        })
    }
}

/// A function or variable with a linkage name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Symbol {
    /// The linkage name, mangled if the language mangles.
    pub name: String,
    /// Function or variable.
    pub kind: SymbolKind,
    /// Whether it is defined here or elsewhere.
    pub linkage: Linkage,
    /// Its type in readable form: `f32(global i8*, i32)` for a function, the pointer to it for a variable.
    pub type_name: String,
    /// The id it has in the module.
    pub id: u32,
}

impl Symbol {
    /// Whether other modules may use this definition: it is exported, and not the copy clang makes of a kernel.
    pub fn is_export(&self) -> bool {
        self.linkage != Linkage::Import && !self.name.starts_with(KERNEL_COPY_PREFIX)
    }

    /// Whether another module has to supply this symbol: it is imported, and neither part of SPIR-V itself nor a
    /// function of OpenCL C that the device supplies.
    pub fn is_import(&self) -> bool {
        self.linkage == Linkage::Import && !is_supplied_by_device(&self.name)
    }
}

/// Every function and variable of the module that has a linkage decoration: variables first, then functions, each
/// in module order.
pub(crate) fn symbols(index: &Index<'_>, types: &Types<'_, '_>) -> Vec<Symbol> {
    let module = index.module();
    let variables = module.types_global_values.iter();
    let variables = variables
        .filter(|i| matches!(i.class.opcode, Op::Variable | Op::UntypedVariableKHR))
        .filter_map(|i| Some((i.result_id?, SymbolKind::Variable, i.result_type?)));
    let functions = module.functions.iter();
    let functions = functions.filter_map(|f| Some((f.def_id()?, SymbolKind::Function, function_type(f)?)));
    variables
        .chain(functions)
        .filter_map(|(id, kind, type_id)| {
            let (name, linkage) = index.linkage(id)?;
            Some(Symbol {
                name: name.to_owned(),
                kind,
                linkage: linkage.into(),
                type_name: types.describe(type_id),
                id,
            })
        })
        .collect()
}

/// The id of the `OpTypeFunction` of a function.
pub(crate) fn function_type(function: &rspirv::dr::Function) -> Option<u32> {
    function.def.as_ref()?.operands.get(1)?.id_ref_any()
}
