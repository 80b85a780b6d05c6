//! What the tool chain knows about an LLVM module: plain data, without LLVM.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An LLVM module as the planning steps see it.
///
/// Made by the worker from a lazily read module: names, linkage and attributes, no function bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleSummary {
    /// The target triple as written in the module, `spirv64-unknown-unknown`.
    pub triple: String,
    /// The data layout string.
    pub data_layout: String,
    /// `source_filename`: the only trace of the source file that clang 22 leaves in a module.
    pub source_file: String,
    /// Functions in module order, intrinsics left out.
    pub functions: Vec<FunctionSummary>,
    /// Global variables in module order.
    pub variables: Vec<VariableSummary>,
}

impl ModuleSummary {
    /// The functions a host can launch: definitions with a kernel calling convention.
    pub fn kernels(&self) -> impl Iterator<Item = &FunctionSummary> {
        self.functions.iter().filter(|function| function.is_kernel())
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&FunctionSummary> {
        self.functions.iter().find(|function| function.name == name)
    }
}

/// One function of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSummary {
    /// The symbol, mangled as it stands in the module.
    pub name: String,
    /// How the symbol links.
    pub linkage: Linkage,
    /// What calls it: the host, other device code, or something else.
    pub calling_convention: CallingConvention,
    /// Whether the body is elsewhere.
    pub is_declaration: bool,
    /// String attributes (`"sycl-module-id"="app.cpp"`), enumeration attributes left out.
    pub attributes: BTreeMap<String, String>,
}

impl FunctionSummary {
    /// Whether a host can launch it.
    pub fn is_kernel(&self) -> bool {
        !self.is_declaration && self.calling_convention == CallingConvention::Kernel
    }
}

/// One global variable of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableSummary {
    /// The symbol.
    pub name: String,
    /// How the symbol links.
    pub linkage: Linkage,
    /// Whether the initializer is elsewhere.
    pub is_declaration: bool,
    /// The address space number of the target: for SPIR-V 0 private, 1 global, 2 constant, 3 local,
    /// 4 generic, 7 input.
    pub address_space: u32,
}

/// How a symbol links, as far as the tool chain tells the kinds apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Linkage {
    /// `external` (and `extern_weak` declarations): seen by every module.
    #[default]
    External,
    /// `weak`, `weak_odr` and `common`: seen by every module, may be replaced.
    Weak,
    /// `linkonce`, `linkonce_odr`: kept only where used, the same everywhere (C++ inline functions).
    LinkOnce,
    /// `available_externally`: a copy for the optimiser, the definition is elsewhere.
    AvailableExternally,
    /// `internal` and `private`: not seen outside.
    Internal,
    /// `appending`: arrays such as `llvm.used` that linking concatenates.
    Appending,
}

/// Who may call a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallingConvention {
    /// `spir_kernel`, `amdgpu_kernel`, `ptx_kernel`: launched by the host.
    Kernel,
    /// `spir_func` and the default C convention: called by other device code.
    #[default]
    Function,
    /// Any other convention, by LLVM's number.
    Other(u32),
}
