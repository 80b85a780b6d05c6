//! What a module is, offers and needs.

use crate::dr::{Instruction, Operand};
use crate::grammar::{AddressingModel, Capability, Decoration, LinkageType, MemoryModel, Op, StorageClass};

use crate::call_graph::CallGraph;
use crate::index::Index;
use crate::kernel::{self, Kernel};
use crate::module::{Generator, Module, Version};
use crate::symbols::{self, Symbol};
use crate::types::Types;

/// Everything about a module that matters to whoever launches its kernels or links it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reflection {
    /// The version of SPIR-V it is written in.
    pub version: Version,
    /// The tool that wrote it.
    pub generator: Generator,
    /// The width of pointers; `Logical` when the module says nothing.
    pub addressing_model: AddressingModel,
    /// The memory model; `OpenCL` for OpenCL-style devices.
    pub memory_model: MemoryModel,
    /// What the device must be able to do, in module order.
    pub capabilities: Vec<Capability>,
    /// The extensions in use, in module order.
    pub extensions: Vec<String>,
    /// The sets of extended instructions in use, such as `OpenCL.std`.
    pub extended_instruction_sets: Vec<String>,
    /// The kernels, in module order.
    pub kernels: Vec<Kernel>,
    /// What other modules must supply. Left out is what the device supplies: built-in variables and functions of
    /// SPIR-V (`__spirv_…`), and functions of OpenCL C ([`is_opencl_builtin`](crate::is_opencl_builtin)).
    pub imports: Vec<Symbol>,
    /// What other modules may use. The copies that clang makes of kernels (`__clang_ocl_kern_imp_…`) are left out.
    pub exports: Vec<Symbol>,
    /// Every symbol with a linkage name, nothing left out: variables first, then functions, each in module order.
    pub symbols: Vec<Symbol>,
    /// Constants whose value can be set before the module is compiled.
    pub specialization_constants: Vec<SpecializationConstant>,
    /// How many bytes of global memory its own variables take.
    pub variables_size: u64,
}

/// A constant whose value can be set before a module is compiled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpecializationConstant {
    /// The number it is set by (`SpecId`).
    pub id: u32,
    /// Its name in the source, if the compiler kept it.
    pub name: Option<String>,
    /// Its type: `i32`, `f64`, `bool` and so on.
    pub type_name: String,
    /// Its size in bytes.
    pub size: u64,
    /// The bits of its default value, zero-extended; 0 or 1 for a boolean.
    pub default: u64,
}

/// Describes a module. Never fails: what a malformed module leaves open is absent from the answer.
pub fn reflect(module: &Module) -> Reflection {
    let dr = module.dr();
    let index = Index::new(dr);
    let types = Types::new(&index);
    let graph = CallGraph::of(&index);
    let symbols = symbols::symbols(&index, &types);
    let model = dr.memory_model.as_ref().map(|model| model.operands.as_slice());
    let (addressing_model, memory_model) = match model {
        Some([Operand::AddressingModel(addressing), Operand::MemoryModel(memory)]) => (*addressing, *memory),
        _ => (AddressingModel::Logical, MemoryModel::Simple),
    };
    let capabilities = dr.capabilities.iter();
    Reflection {
        version: module.version(),
        generator: module.generator(),
        addressing_model,
        memory_model,
        capabilities: capabilities
            .filter_map(|capability| match capability.operands.first() {
                Some(Operand::Capability(capability)) => Some(*capability),
                _ => None,
            })
            .collect(),
        extensions: strings(&dr.extensions),
        extended_instruction_sets: strings(&dr.ext_inst_imports),
        kernels: kernel::kernels(&index, &types, &graph),
        imports: symbols.iter().filter(|s| s.is_import()).cloned().collect(),
        exports: symbols.iter().filter(|s| s.is_export()).cloned().collect(),
        symbols,
        specialization_constants: specialization_constants(&index, &types),
        variables_size: variables_size(&index, &types),
    }
}

/// The bytes of global memory that the variables defined here take, one after the other.
fn variables_size(index: &Index<'_>, types: &Types<'_, '_>) -> u64 {
    let variables = index.module().types_global_values.iter();
    let layouts = variables.filter_map(|variable| {
        let is_import = |(_, linkage)| linkage == LinkageType::Import;
        if variable.opcode != Op::Variable || index.linkage(variable.result_id?).is_some_and(is_import) {
            return None;
        }
        match types.pointer(variable.result_type?)? {
            (StorageClass::CrossWorkgroup, value) => types.layout(value),
            _ => None,
        }
    });
    // The sizes are whatever the module claims: their sum may be more than a number holds.
    layouts.fold(0u64, |end, layout| {
        let begin = end.checked_next_multiple_of(layout.alignment).unwrap_or(u64::MAX);
        begin.saturating_add(layout.size)
    })
}

/// The leading string of each instruction.
fn strings(instructions: &[Instruction]) -> Vec<String> {
    let texts = instructions.iter().filter_map(|i| match i.operands.first() {
        Some(Operand::LiteralString(text)) => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

/// The specialization constants that have a number, in module order.
pub(crate) fn specialization_constants(
    index: &Index<'_>,
    types: &Types<'_, '_>,
) -> Vec<SpecializationConstant> {
    let globals = index.module().types_global_values.iter();
    let constants = globals.filter_map(|constant| {
        let default = match (constant.opcode, constant.operands.first()) {
            (Op::SpecConstantTrue, _) => 1,
            (Op::SpecConstantFalse, _) => 0,
            (Op::SpecConstant, Some(Operand::LiteralBit32(bits))) => u64::from(*bits),
            (Op::SpecConstant, Some(Operand::LiteralBit64(bits))) => *bits,
            _ => return None,
        };
        let id = constant.result_id?;
        // A constant without a number keeps its default for ever: nobody could say which one is
        // meant.
        let type_id = constant.result_type?;
        match index.decoration(id, Decoration::SpecId)? {
            [Operand::LiteralBit32(spec_id)] => Some(SpecializationConstant {
                id: *spec_id,
                name: index.name(id).map(str::to_owned),
                type_name: types.describe(type_id),
                size: types.layout(type_id).map_or(0, |layout| layout.size),
                default,
            }),
            _ => None,
        }
    });
    constants.collect()
}
