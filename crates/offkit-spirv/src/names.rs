//! Names that are no symbols of a program: they belong to the representation, to the device or to the compiler.
//!
//! The same names stand in every form of device code, so that readers of other formats ask here as well.

use std::collections::HashSet;
use std::sync::LazyLock;

use offkit_image::mangled_function;

use crate::grammar::{BuiltIn, Op, OpenclStd100Op};

/// Whether a name belongs to the representation or the device itself: built-in variables and operations of SPIR-V
/// (`__spirv_…`), and what LLVM keeps for itself (`llvm.…`). No other module defines or uses it; an empty name is none.
///
/// Only what SPIR-V has counts: a function that merely looks like an operation is one that nobody supplies.
///
/// ```
/// use offkit_spirv::names::is_built_in;
///
/// assert!(is_built_in("__spirv_BuiltInGlobalInvocationId"));
/// assert!(is_built_in("_Z22__spirv_ControlBarrierjjj"));
/// assert!(!is_built_in("_Z23__spirv_ControlSandwichj"));
/// assert!(!is_built_in("_Z5scalef"));
/// ```
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    if name.is_empty() || name.starts_with("llvm.") {
        return true;
    }
    // SYCL's headers declare the operations of SPIR-V as C++ functions.
    let plain = mangled_function(name).map_or(name, |(plain, _)| plain);
    plain
        .strip_prefix("__spirv_")
        .is_some_and(is_operation_or_variable)
}

/// Whether SPIR-V has that: `ControlBarrier`, `ocl_sin`, `BuiltInGlobalInvocationId` and `GlobalInvocationId_x`. Behind
/// an operation may stand what it returns and how it rounds: `ConvertFToS_Rint_rtz`.
fn is_operation_or_variable(name: &str) -> bool {
    if let Some(function) = name.strip_prefix("ocl_") {
        let function = function.split("_R").next().unwrap_or_default();
        return FUNCTIONS.contains(function);
    }
    let base = name.split('_').next().unwrap_or_default();
    let variable = base.strip_prefix("BuiltIn").unwrap_or(base);
    // What became part of the core lost the mark of its extension: the grammar has `SDot`, headers say `SDotKHR`.
    let core = ["KHR", "EXT"]
        .iter()
        .find_map(|mark| base.strip_suffix(mark))
        .unwrap_or(base);
    OPERATIONS.contains(base) || OPERATIONS.contains(core) || VARIABLES.contains(variable)
}

/// The operations of SPIR-V, without `Op`.
// The grammar's tables are sorted by number. Every symbol of every module is asked about by name,
// so these, and the names below, are put into sets once.
static OPERATIONS: LazyLock<HashSet<&str>> = LazyLock::new(|| Op::names().collect());

/// The built-in variables of SPIR-V.
static VARIABLES: LazyLock<HashSet<&str>> = LazyLock::new(|| BuiltIn::names().collect());

/// The functions of OpenCL's extended instruction set.
static FUNCTIONS: LazyLock<HashSet<&str>> = LazyLock::new(|| OpenclStd100Op::names().collect());

/// The kernel that a function is a copy of: clang makes a second one of each OpenCL C kernel, for calls from other
/// kernels. The copy is marked as exported, but no other module is meant to know it.
///
/// ```
/// use offkit_spirv::names::kernel_of_copy;
///
/// assert_eq!(kernel_of_copy("__clang_ocl_kern_imp_saxpy"), Some("saxpy"));
/// assert_eq!(kernel_of_copy("saxpy"), None);
/// ```
#[must_use]
pub fn kernel_of_copy(name: &str) -> Option<&str> {
    name.strip_prefix("__clang_ocl_kern_imp_")
}

#[cfg(test)]
mod tests {
    use super::is_built_in;

    #[test]
    fn operations_of_spirv_are_no_symbols() {
        for known in [
            "_Z22__spirv_ControlBarrierjjj",
            "_Z21__spirv_AtomicFAddEXTPU3AS1fjjf",
            "_Z28__spirv_ConvertFToS_Rint_rtzf",
            "_Z25__spirv_ImageRead_Rfloat4P9something",
            "_Z15__spirv_ocl_sinf",
            "_Z31__spirv_ocl_vload_halfn_Rfloat2mPKDh",
            "_Z28__spirv_GlobalInvocationId_xv",
            "_Z33__spirv_BuiltInGlobalInvocationIdi",
            "__spirv_BuiltInGlobalInvocationId",
            "_Z20__spirv_SpecConstantij",
            "_Z15__spirv_SDotKHRDv4_cS_",
            "llvm.used",
        ] {
            assert!(is_built_in(known), "{known}");
        }
        for unknown in [
            "_Z5scalef",
            "__devicelib_exit",
            "__mulsc3",
            "_Z16__spirv_NoSuchOpf",
            "_Z20__spirv_ocl_sandwichf",
            "_Z99__spirv_ControlBarrierjjj",
            "__spirv_",
        ] {
            assert!(!is_built_in(unknown), "{unknown}");
        }
    }
}
