//! Functions of OpenCL C that a compiler leaves for the device to supply.
//!
//! LLVM 22's SPIR-V back end turns most functions of OpenCL C into instructions. Those below it leaves as imported
//! functions under their mangled names. No library exports them: they belong to the device, and a tool that collects
//! what a kernel needs must not look for them.

/// Whether the symbol is a function of OpenCL C that the device supplies.
///
/// ```
/// use offkit_spirv::is_opencl_builtin;
///
/// assert!(is_opencl_builtin("_Z15convert_double4Dv4_f"));
/// assert!(is_opencl_builtin("_Z10atomic_maxPU3AS1Vii"));
/// assert!(!is_opencl_builtin("_Z18convert_rgb_to_hsvDv3_f"));
/// ```
pub fn is_opencl_builtin(symbol: &str) -> bool {
    // The three that clang declares itself have no mangled form.
    if matches!(symbol, "__to_global" | "__to_local" | "__to_private") {
        return true;
    }
    let Some((name, _)) = offkit_image::mangled_function(symbol) else {
        return false;
    };
    match name.split_once('_') {
        Some(("convert", rest)) => is_conversion(rest),
        Some(("atomic" | "atom", operation)) if is_atomic(operation) => true,
        _ => matches!(
            name,
            "mem_fence"
                | "read_mem_fence"
                | "write_mem_fence"
                | "sub_group_barrier"
                | "get_fence"
                | "atomic_fetch_min"
                | "atomic_fetch_min_explicit"
                | "atomic_fetch_max"
                | "atomic_fetch_max_explicit"
        ),
    }
}

/// `double4_rte`: a conversion to `half` or `double`, with an optional number of components and rounding mode.
fn is_conversion(rest: &str) -> bool {
    // Without a mode the name is good, too: any of those in the list below may stand for it.
    let (vector, rounding) = rest.split_once('_').unwrap_or((rest, "rte"));
    let scalar = vector.trim_end_matches(|c: char| c.is_ascii_digit());
    let components = vector.get(scalar.len()..).unwrap_or_default();
    matches!(rounding, "rte" | "rtz" | "rtp" | "rtn")
        && matches!(components, "" | "2" | "3" | "4" | "8" | "16")
        && matches!(scalar, "half" | "double")
}

/// The operations of OpenCL C 1.x that LLVM has no instruction for, under both of their prefixes.
fn is_atomic(operation: &str) -> bool {
    matches!(operation, "xchg" | "inc" | "dec" | "min" | "max")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_opencl_functions_belong_to_the_device() {
        for symbol in [
            "_Z14convert_doublei",
            "_Z18convert_double_rtef",
            "_Z17convert_half4_rtzDv4_f",
            "_Z25atomic_fetch_max_explicitPU3AS4VU7_Atomicmm12memory_order12memory_scope",
            "_Z8atom_maxPU3AS3Vll",
            "_Z17sub_group_barrierj12memory_scope",
            "__to_global",
        ] {
            assert!(is_opencl_builtin(symbol), "{symbol}");
        }
        for symbol in [
            "_Z23convert_uchar16_sat_rtnDv16_f",
            "_Z18convert_double_satf",
            "_Z11convert_intf",
            "_Z10atomic_addPU3AS1Vii",
            "_Z16atomic_fetch_addPU3AS4VU7_Atomicii",
            "_Z21atomic_fetch_xchgPU3AS4VU7_Atomicii",
            "convert_double",
            "_Z15convert_double5Dv4_f",
            "_Z16convert_int_fasti",
            "_Z14atomic_monitori",
            "_ZN3lib14convert_doubleEi",
            "_Z99convert_doublei",
            "_Z",
            "saxpy",
        ] {
            assert!(!is_opencl_builtin(symbol), "{symbol}");
        }
    }
}
