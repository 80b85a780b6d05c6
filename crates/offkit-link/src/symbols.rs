//! Which symbols of a device module other images may see.
//!
//! The rules are those that `sycl-post-link` of intel/llvm applies, read together with what clang 22
//! leaves in its modules: it writes no mark on the functions that a source file exports, and it
//! makes helper functions of its own that must never count.

mod opencl;

use offkit_image::Family;
use offkit_llvm::{CallingConvention, FunctionSummary, Linkage, ModuleSummary, VariableSummary};

/// The string attribute that the SYCL front end puts on kernels and on functions that are exported:
/// the source file they come from.
pub const MODULE_ID: &str = "sycl-module-id";

/// Whether the variables in an address space can be shared between images: global and constant memory.
fn is_shared_memory(triple: &str, address_space: u32) -> bool {
    // By LLVM's numbers: global memory is 1 for all of these, constant memory 2 for SPIR-V and 4 for the others.
    match Family::of(triple) {
        family if family.is_written_as_spirv() => matches!(address_space, 1 | 2),
        Family::Nvptx64 | Family::Nvptx32 | Family::Amdgcn => matches!(address_space, 1 | 4),
        // The memory of hosts is one.
        _ => true,
    }
}

/// Whether the variables in an address space are in the memory of the device: not those of a work item or a work
/// group.
pub(crate) fn is_memory_of_device(triple: &str, address_space: u32) -> bool {
    match Family::of(triple) {
        family if family.is_written_as_spirv() => address_space == 1,
        Family::Amdgcn => address_space == 1,
        // For NVPTX LLVM moves variables of the generic space (0) to global memory.
        Family::Nvptx64 | Family::Nvptx32 => matches!(address_space, 0 | 1),
        _ => true,
    }
}

/// Whether the name belongs to the compiler or the device rather than to a user's library.
///
/// True for names that start with two underscores, mangled (`_Z18__spirv_AtomicIAddi`) or not, and
/// for LLVM's own (`llvm.used`). Such symbols are not exported. Of what is needed the name tells nothing: see
/// [`is_supplied`].
pub fn is_reserved(name: &str) -> bool {
    name.starts_with("__") || name.starts_with("llvm.") || innermost_name(name).starts_with("__")
}

/// The demangled form where it starts with the name, that is, after a return type that templates
/// carry. A namespace that starts with two underscores counts as such a name.
fn innermost_name(name: &str) -> String {
    let demangled = offkit_object::demangle(name);
    let before_arguments = demangled.split(['(', '<']).next().unwrap_or_default();
    before_arguments.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// The attribute of virtual functions, whose value names the set that they belong to. They are in images of
/// their own and are found by that name, not by symbol.
pub const INDIRECTLY_CALLABLE: &str = "indirectly-callable";

/// The attribute of functions that any indirect call of their type may lead to.
pub const REFERENCED_INDIRECTLY: &str = "referenced-indirectly";

/// The attributes that say how many registers a function gets, of which it may have one.
pub const REGISTER_ATTRIBUTES: [&str; 2] = ["sycl-register-alloc-mode", "sycl-grf-size"];

/// The metadata that marks ESIMD functions.
pub const ESIMD_FUNCTION: &str = "sycl_explicit_simd";

/// The attribute of SYCL's device globals, whose value is their size in bytes.
pub const DEVICE_GLOBAL_SIZE: &str = "sycl-device-global-size";

/// The attribute of device globals that each image has its own copy of, unless its value is `false`.
pub const DEVICE_IMAGE_SCOPE: &str = "sycl-device-image-scope";

/// The two functions of the device library for `bfloat16`, each also for vectors (`…Vec2`).
const BFLOAT16_FUNCTIONS: [&str; 2] = [
    "__devicelib_ConvertFToBF16INTEL",
    "__devicelib_ConvertBF16ToFINTEL",
];

/// Whether a name is that of a function which SYCL's compilers and SPIR-V's translators know themselves:
/// `_Z…__spirv_…`, `_Z…__sycl_…`, `_Z…__esimd_…`, `__builtin_…`.
pub fn is_builtin(name: &str) -> bool {
    let Some(mangled) = name.strip_prefix("_Z") else {
        return name.starts_with("__builtin_");
    };
    // The length of the name. One in a namespace (`_ZN`) begins with none, and is never one of
    // these.
    let inner = mangled.trim_start_matches(|c: char| c.is_ascii_digit());
    ["__spirv_", "__sycl_", "__esimd_"]
        .iter()
        .any(|prefix| inner.starts_with(prefix))
}

/// The functions of SYCL's front end that a later step replaces: specialization constants, and ESIMD's calls from
/// ordinary code.
const FRONT_END_FUNCTIONS: [&str; 3] = [
    "__sycl_getScalar2020SpecConstantValue",
    "__sycl_getComposite2020SpecConstantValue",
    "__builtin_invoke_simd",
];

/// What a driver of NVIDIA's supplies to every program.
const CUDA_SUPPLIED: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];

/// Whether nobody needs to supply a symbol that code for a family of devices declares: the device does, or a later step
/// of the compiler replaces its calls. `is_opencl` tells that functions of OpenCL C's names are those.
///
/// Everything else is to be supplied, whatever it is called: `__mulsc3` comes from a library as `scale` does.
pub fn is_supplied(family: Family, is_opencl: bool, name: &str) -> bool {
    is_supplied_by_driver(family, name)
        || offkit_spirv::names::is_built_in(name)
        // Mangled, with the length before and types behind.
        || FRONT_END_FUNCTIONS.iter().any(|function| name.contains(function))
        || (is_opencl && opencl::is_builtin(name))
}

/// The same for what a module declares.
pub fn is_supplied_to(module: &ModuleSummary, name: &str) -> bool {
    let is_opencl = module.named_metadata.contains_key("opencl.ocl.version");
    is_supplied(Family::of(&module.triple), is_opencl, name)
}

/// Whether a driver supplies a symbol to every program of a family.
pub fn is_supplied_by_driver(family: Family, name: &str) -> bool {
    family.is_nvptx() && CUDA_SUPPLIED.contains(&name)
}

/// Whether a function is declared only to be found in the device library for `bfloat16`.
pub fn is_bfloat16_import(function: &FunctionSummary) -> bool {
    function.is_declaration
        && BFLOAT16_FUNCTIONS.iter().any(|name| {
            (function.name.strip_prefix(name)).is_some_and(|vector| {
                matches!(vector, "" | "Vec1" | "Vec2" | "Vec3" | "Vec4" | "Vec8" | "Vec16")
            })
        })
}

/// Whether a function may come from another image, by the rules of SYCL's compilers.
///
/// That is a function which is declared here, or which is marked as belonging to a source file and
/// defined. With `dependencies` off images do not depend on each other, and the answer is no for all but
/// what the library for `bfloat16` supplies.
pub fn can_be_imported(function: &FunctionSummary, dependencies: bool) -> bool {
    if is_bfloat16_import(function) {
        return true;
    }
    let name = &function.name;
    dependencies
        && !name.starts_with("__")
        // Also functions of LLVM's that this LLVM does not know, such as those of Intel's fork.
        && !name.starts_with("llvm.")
        && !is_builtin(name)
        && (function.is_declaration || function.has_attribute(MODULE_ID))
        && !offkit_object::demangle(name).starts_with("__")
}

/// Whether images are made for a function's sake, by the rules of SYCL's compilers: it is a kernel or marked as
/// belonging to a source file; where only kernels count, a kernel or a virtual function.
pub fn is_entry_point(function: &FunctionSummary, only_kernels: bool) -> bool {
    if function.is_declaration {
        return false;
    }
    function.is_kernel()
        || if only_kernels {
            function.has_attribute(INDIRECTLY_CALLABLE)
        } else {
            function.has_attribute(MODULE_ID) && !is_builtin(&function.name)
        }
}

/// Whether each image has a copy of its own of that device global.
pub fn has_device_image_scope(variable: &VariableSummary) -> bool {
    variable.attributes.contains_key(DEVICE_GLOBAL_SIZE)
        && (variable.attributes.get(DEVICE_IMAGE_SCOPE)).is_some_and(|value| value != "false")
}

/// The functions of a module that other images may call.
///
/// In a module that carries [`MODULE_ID`] marks these are the marked ones. In one without, as
/// clang 22 writes it, they are all definitions with external linkage, since exported and merely
/// external functions cannot be told apart there: `static` keeps a helper function private.
pub fn exported_functions(module: &ModuleSummary) -> impl Iterator<Item = &FunctionSummary> {
    let marked = module
        .functions
        .iter()
        .any(|function| function.attributes.contains_key(MODULE_ID));
    module.functions.iter().filter(move |function| {
        !function.is_declaration
            && function.calling_convention == CallingConvention::Function
            // Inline functions have another linkage: each image has those that it needs.
            && matches!(function.linkage, Linkage::External | Linkage::Weak)
            && (!marked || function.attributes.contains_key(MODULE_ID))
            && !is_reserved(&function.name)
            && !is_builtin(&function.name)
    })
}

/// The variables of a module that other images may use: definitions with external linkage in global
/// or constant memory.
pub fn exported_variables(module: &ModuleSummary) -> impl Iterator<Item = &VariableSummary> {
    module.variables.iter().filter(move |variable| {
        !variable.is_declaration
            && matches!(variable.linkage, Linkage::External | Linkage::Weak)
            && is_shared_memory(&module.triple, variable.address_space)
            && !is_reserved(&variable.name)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn names_of_the_compiler_are_reserved() {
        for name in [
            "__spirv_BuiltInGlobalInvocationId",
            "__clang_ocl_kern_imp_saxpy",
            "_Z18__spirv_AtomicIAddPU3AS1iii",
            "_ZN8__detail5sinusEf",
            "_Z7__twiceIiET_S0_",
            "llvm.used",
        ] {
            assert!(is_reserved(name), "{name}");
        }
        for name in [
            "scale",
            "_Z5scalei",
            "_scale",
            "_Z16library_functioni",
            "_ZN3lib6__deepEi",
            "_Z5twiceIiET_S0_",
        ] {
            assert!(!is_reserved(name), "{name}");
        }
    }

    fn function(name: &str) -> FunctionSummary {
        FunctionSummary {
            name: name.into(),
            ..FunctionSummary::default()
        }
    }

    fn exports(functions: Vec<FunctionSummary>) -> Vec<String> {
        let module = ModuleSummary {
            functions,
            ..ModuleSummary::default()
        };
        exported_functions(&module)
            .map(|function| function.name.clone())
            .collect()
    }

    #[test]
    fn without_marks_external_definitions_are_exported() {
        let exported = exports(vec![
            function("scale"),
            FunctionSummary {
                linkage: Linkage::Internal,
                ..function("helper")
            },
            FunctionSummary {
                linkage: Linkage::LinkOnce,
                ..function("_Z6inlinei")
            },
            FunctionSummary {
                is_declaration: true,
                ..function("elsewhere")
            },
            FunctionSummary {
                calling_convention: CallingConvention::Kernel,
                ..function("saxpy")
            },
            function("__clang_ocl_kern_imp_saxpy"),
        ]);
        assert_eq!(exported, ["scale"]);
    }

    #[test]
    fn marks_tell_exported_from_merely_external() {
        let marked = |name| FunctionSummary {
            attributes: BTreeMap::from([(MODULE_ID.to_owned(), "lib.cpp".to_owned())]),
            ..function(name)
        };
        assert_eq!(exports(vec![function("helper"), marked("scale")]), ["scale"]);
        // A marked kernel says as much about its module as a marked function does.
        let kernel = FunctionSummary {
            calling_convention: CallingConvention::Kernel,
            ..marked("saxpy")
        };
        assert_eq!(exports(vec![kernel, function("helper")]), Vec::<String>::new());
    }

    #[test]
    fn only_shared_memory_is_exported() {
        let variable = |name: &str, address_space| VariableSummary {
            name: name.into(),
            address_space,
            ..VariableSummary::default()
        };
        let exported = |triple: &str, constant| {
            let module = ModuleSummary {
                triple: triple.into(),
                variables: vec![
                    variable("table", constant),
                    variable("counter", 1),
                    variable("tile", 3),
                    variable("llvm.x", 1),
                ],
                ..ModuleSummary::default()
            };
            let exported = exported_variables(&module);
            exported.map(|variable| variable.name.clone()).collect::<Vec<_>>()
        };
        for (triple, constant) in [
            ("spirv64-unknown-unknown", 2),
            ("spirv64v1.6-unknown-unknown", 2),
            ("spir64-unknown-unknown", 2),
            ("nvptx64-nvidia-cuda", 4),
            ("amdgcn-amd-amdhsa", 4),
        ] {
            assert_eq!(exported(triple, constant), ["table", "counter"], "{triple}");
        }
        assert_eq!(exported("spirv64-unknown-unknown", 4), ["counter"]);
        assert_eq!(exported("amdgcn-amd-amdhsa", 2), ["counter"]);
        assert!(exported("x86_64-unknown-linux-gnu", 0).contains(&"table".to_owned()));
    }

    #[test]
    fn functions_of_llvms_are_never_imported() {
        let declared = |name| FunctionSummary {
            is_declaration: true,
            ..function(name)
        };
        assert!(can_be_imported(&declared("scale"), true));
        assert!(!can_be_imported(&declared("llvm.genx.raw.send2"), true));
    }
}
