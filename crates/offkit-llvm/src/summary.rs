//! What the tool chain knows about an LLVM module: plain data, without LLVM.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// An LLVM module as the planning steps see it.
///
/// Made by the worker from a lazily read module: names, linkage and attributes, no function bodies. What
/// needs the bodies (metadata, uses) is there only where it was opened with them
/// ([`Request::Open`](crate::Request::Open)).
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
    /// Global variables in module order, then aliases and indirect functions.
    pub variables: Vec<VariableSummary>,
    /// Named metadata by name, each a list of nodes; only in a summary with bodies, and without those
    /// of debug information and module flags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub named_metadata: BTreeMap<String, Vec<Metadata>>,
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

    /// The name of the symbol with that number, as lists of uses have it: functions first, in module
    /// order, then variables.
    pub fn symbol(&self, number: u32) -> Option<&str> {
        let number = number as usize;
        match self.functions.get(number) {
            Some(function) => Some(&function.name),
            None => {
                let variable = self.variables.get(number.checked_sub(self.functions.len())?)?;
                Some(&variable.name)
            }
        }
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
    /// Whether nobody outside of what it is linked into may see it.
    #[serde(default)]
    pub is_hidden: bool,
    /// String attributes (`"sycl-module-id"="app.cpp"`), enumeration attributes left out.
    pub attributes: BTreeMap<String, String>,
    /// The string attributes of parameters, by position; empty if no parameter has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameter_attributes: Vec<BTreeMap<String, String>>,
    /// Metadata attached to the function by kind, the operands of each node; only in a summary with
    /// bodies, and without debug information.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Vec<Metadata>>,
    /// The symbols that the body refers to, by number (see [`ModuleSummary::symbol`]), in ascending
    /// order; only in a summary with bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<u32>,
    /// The optional features of devices that the body's own instructions need, by SYCL's numbers of aspects:
    /// 5 arithmetic with 16-bit floating-point numbers, 6 64-bit ones, 27 atomic operations on 64-bit integers.
    /// Only in a summary with bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aspects: Vec<u32>,
    /// The function's type in LLVM's text form, where an indirect call may lead to it: it has the
    /// attribute `referenced-indirectly`. Only in a summary with bodies.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function_type: String,
    /// The types of the functions that the body calls through pointers, in LLVM's text form; only in a
    /// summary with bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indirect_calls: Vec<String>,
}

impl FunctionSummary {
    /// Whether a host can launch it.
    pub fn is_kernel(&self) -> bool {
        !self.is_declaration && self.calling_convention == CallingConvention::Kernel
    }

    /// Whether it has that string attribute.
    pub fn has_attribute(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
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
    /// Whether nobody outside of what it is linked into may see it.
    #[serde(default)]
    pub is_hidden: bool,
    /// The address space number of the target: for SPIR-V 0 private, 1 global, 2 constant, 3 local,
    /// 4 generic, 7 input.
    pub address_space: u32,
    /// Whether it can only be read.
    #[serde(default)]
    pub is_constant: bool,
    /// The string attributes (`"sycl-unique-id"="…"`); only in a summary with bodies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// The name of the variable's type, if it is a structure with a name; only in a summary with bodies.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub type_name: String,
    /// The symbols that the initializer refers to, by number (see [`ModuleSummary::symbol`]), in
    /// ascending order; for an alias, what it stands for. Only in a summary with bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<u32>,
}

impl VariableSummary {
    /// The sanitizer for which the variable lists kernels, if it does.
    pub fn sanitizer(&self) -> Option<&'static str> {
        sanitizer_of(&self.name)
    }
}

/// The sanitizer that lists kernels in a variable of that name: `asan` for `__AsanKernelMetadata`, behind which front
/// ends may put more to tell modules apart.
pub fn sanitizer_of(variable: &str) -> Option<&'static str> {
    // What intel/llvm's instrumentation of kernels writes, and its runtime's word for each.
    const LISTS: [(&str, &str); 3] = [
        ("__AsanKernelMetadata", "asan"),
        ("__MsanKernelMetadata", "msan"),
        ("__TsanKernelMetadata", "tsan"),
    ];
    let found = LISTS.iter().find(|(prefix, _)| variable.starts_with(prefix));
    found.map(|(_, sanitizer)| *sanitizer)
}

/// One operand of a metadata node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metadata {
    /// An integer of up to 64 bits, sign-extended.
    Integer(i64),
    /// A string.
    Text(String),
    /// A function or variable, by name.
    Symbol(String),
    /// Another node.
    Node(Vec<Metadata>),
    /// Nothing, as where a symbol was dropped, or anything that is none of these.
    Other,
}

impl Metadata {
    /// The integer, if it is one.
    pub fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The string, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The operands, if it is a node.
    pub fn node(&self) -> Option<&[Metadata]> {
        match self {
            Self::Node(operands) => Some(operands),
            _ => None,
        }
    }
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
