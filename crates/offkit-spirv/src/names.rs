//! Names that are no symbols of a program: they belong to the representation, to the device or to the compiler.
//!
//! The same names stand in every form of device code, so that readers of other formats ask here as well.

/// Whether a name belongs to the representation or the device itself: built-in variables and operations of SPIR-V
/// (`__spirv_…`), and what LLVM keeps for itself (`llvm.…`). No other module defines or uses it; an empty name is none.
///
/// ```
/// use offkit_spirv::names::is_built_in;
///
/// assert!(is_built_in("__spirv_BuiltInGlobalInvocationId"));
/// assert!(is_built_in("_Z22__spirv_ControlBarrierjjj"));
/// assert!(!is_built_in("_Z5scalef"));
/// ```
#[must_use]
pub fn is_built_in(name: &str) -> bool {
    // SYCL's headers declare the operations of SPIR-V as C++ functions: a length stands before the name.
    let function = name
        .strip_prefix("_Z")
        .map_or(name, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    name.is_empty() || function.starts_with("__spirv_") || name.starts_with("llvm.")
}

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
        assert!(is_built_in("_Z22__spirv_ControlBarrierjjj"));
        assert!(is_built_in("__spirv_BuiltInGlobalInvocationId"));
        assert!(!is_built_in("_Z5scalef") && !is_built_in("__devicelib_exit"));
    }
}
