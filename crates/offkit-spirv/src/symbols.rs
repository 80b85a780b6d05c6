//! Symbols: the functions and variables that modules share by name.

use crate::grammar::{LinkageType, Op};

use crate::index::Index;
use crate::names;
use crate::opencl_builtin::is_opencl_builtin;
use crate::types::Types;

/// Whether another module has to supply what has a linkage, unless it is a variable that the device fills in.
pub(crate) fn is_import(name: &str, linkage: Linkage, is_built_in: bool) -> bool {
    linkage == Linkage::Import && !is_built_in && !is_supplied_by_device(name)
}

/// Whether other modules may use what has a linkage.
pub(crate) fn is_export(name: &str, linkage: Linkage, is_built_in: bool) -> bool {
    // Functions of OpenCL C's names do count: who defines one means to, and may offer it.
    let is_defined = linkage != Linkage::Import && !is_built_in && !names::is_built_in(name);
    is_defined && names::kernel_of_copy(name).is_none()
}

/// Whether the device supplies what a module imports under this name.
pub(crate) fn is_supplied_by_device(name: &str) -> bool {
    names::is_built_in(name) || is_opencl_builtin(name)
}

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
            LinkageType::Import => Self::Import,
            LinkageType::LinkOnceODR => Self::LinkOnceOdr,
            // Types of linkage that are newer than the grammar are ways to define something.
            _ => Self::Export,
        }
    }
}

offkit_image::named! {
    /// What a symbol names.
    pub enum SymbolKind, "What messages call it." {
        /// A function.
        Function => "function",
        /// A variable at module scope.
        Variable => "variable",
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
    /// Whether it is a variable that the device fills in.
    pub is_built_in: bool,
    /// The id it has in the module.
    pub id: u32,
}

impl Symbol {
    /// Whether other modules may use this definition: it is exported, and neither part of SPIR-V itself nor the copy
    /// that clang makes of a kernel.
    pub fn is_export(&self) -> bool {
        is_export(&self.name, self.linkage, self.is_built_in)
    }

    /// Whether another module has to supply this symbol: it is imported, and neither part of SPIR-V itself nor a
    /// function of OpenCL C that the device supplies.
    pub fn is_import(&self) -> bool {
        is_import(&self.name, self.linkage, self.is_built_in)
    }
}

/// Every function and variable of the module that has a linkage decoration: variables first, then functions, each
/// in module order.
pub(crate) fn symbols(index: &Index<'_>, types: &Types<'_, '_>) -> Vec<Symbol> {
    let module = index.module();
    let variables = module.types_global_values.iter();
    let variables = variables
        .filter(|i| matches!(i.opcode, Op::Variable | Op::UntypedVariableKHR))
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
                is_built_in: index.built_in(id).is_some(),
                id,
            })
        })
        .collect()
}

/// The id of the `OpTypeFunction` of a function.
pub(crate) fn function_type(function: &crate::dr::Function) -> Option<u32> {
    function.def.as_ref()?.operands.get(1)?.id_ref_any()
}
