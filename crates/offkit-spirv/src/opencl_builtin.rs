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
    let Some(name) = base_name(symbol) else {
        return false;
    };
    match name.split_once('_') {
        Some(("convert", rest)) => is_conversion(rest),
        Some(("atomic" | "atom", operation)) => is_atomic(operation),
        _ => matches!(
            name,
            "mem_fence" | "read_mem_fence" | "write_mem_fence" | "sub_group_barrier" | "get_fence"
        ),
    }
}

/// The name in an Itanium-mangled function that is in no namespace.
fn base_name(symbol: &str) -> Option<&str> {
    let rest = symbol.strip_prefix("_Z")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit())?;
    let (length, rest) = rest.split_at_checked(digits)?;
    rest.get(..length.parse().ok()?)
}

/// `double4_sat_rte`: a type with an optional number of components, saturation and rounding.
fn is_conversion(rest: &str) -> bool {
    let mut parts = rest.split('_').peekable();
    let vector = parts.next().unwrap_or_default();
    let scalar = vector.trim_end_matches(|c: char| c.is_ascii_digit());
    let components = vector.get(scalar.len()..).unwrap_or_default();
    parts.next_if_eq(&"sat");
    parts.next_if(|part| matches!(*part, "rte" | "rtz" | "rtp" | "rtn"));
    parts.next().is_none()
        && matches!(components, "" | "2" | "3" | "4" | "8" | "16")
        && matches!(
            scalar,
            "char"
                | "uchar"
                | "short"
                | "ushort"
                | "int"
                | "uint"
                | "long"
                | "ulong"
                | "half"
                | "float"
                | "double"
        )
}

fn is_atomic(operation: &str) -> bool {
    let operation = operation.strip_suffix("_explicit").unwrap_or(operation);
    let operation = operation.strip_prefix("fetch_").unwrap_or(operation);
    matches!(
        operation,
        "add" | "sub" | "xchg" | "inc" | "dec" | "cmpxchg" | "min" | "max" | "and" | "or" | "xor"
    )
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
            "_Z23convert_uchar16_sat_rtnDv16_f",
            "_Z25atomic_fetch_max_explicitPU3AS4VU7_Atomicmm12memory_order12memory_scope",
            "_Z8atom_maxPU3AS3Vll",
            "_Z17sub_group_barrierj12memory_scope",
            "__to_global",
        ] {
            assert!(is_opencl_builtin(symbol), "{symbol}");
        }
        for symbol in [
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
