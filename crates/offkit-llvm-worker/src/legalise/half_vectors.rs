//! OpenCL C's `vloada_half3`.
//!
//! The back end makes `vload_halfn` with a count of 3 of it, where vectors lie 3 numbers apart and not 4.

/// Its definition, by three loads of one number.
pub(super) fn definition(symbol: &str) -> Option<String> {
    let (name, arguments) = offkit_image::mangled_function(symbol)?;
    // An index, and a pointer in some address space: `mPU3AS1KDh`.
    let index = match arguments.chars().next()? {
        'm' => "i64",
        'j' => "i32",
        _ => return None,
    };
    let pointer = arguments.get(1..)?;
    let pointee = pointer.strip_suffix("KDh")?;
    if name != "vloada_half3" {
        return None;
    }
    let space = match pointee {
        "P" => 0,
        _ => pointee.strip_prefix("PU3AS")?.parse::<u32>().ok()?,
    };
    // It takes the same arguments, and counts its index in single numbers.
    let load = format!("_Z10vload_half{arguments}");
    Some(format!(
        "declare spir_func float @{load}({index}, ptr addrspace({space}))
define linkonce_odr spir_func <3 x float> @{symbol}({index} %i, ptr addrspace({space}) %p) alwaysinline nounwind {{
  %i0 = shl {index} %i, 2
  %i1 = add {index} %i0, 1
  %i2 = add {index} %i0, 2
  %e0 = call spir_func float @{load}({index} %i0, ptr addrspace({space}) %p)
  %e1 = call spir_func float @{load}({index} %i1, ptr addrspace({space}) %p)
  %e2 = call spir_func float @{load}({index} %i2, ptr addrspace({space}) %p)
  %v0 = insertelement <3 x float> poison, float %e0, i32 0
  %v1 = insertelement <3 x float> %v0, float %e1, i32 1
  %v2 = insertelement <3 x float> %v1, float %e2, i32 2
  ret <3 x float> %v2
}}
"
    ))
}

#[cfg(test)]
mod tests {
    use super::definition;

    #[test]
    fn three_numbers_are_loaded_four_apart() {
        let text = definition("_Z12vloada_half3mPU3AS1KDh").unwrap();
        assert!(
            text.contains("shl i64 %i, 2") && text.contains("@_Z10vload_halfmPU3AS1KDh"),
            "{text}"
        );
        assert!(definition("_Z12vloada_half3jPKDh").unwrap().contains("shl i32"));
        for other in [
            "_Z12vloada_half4mPU3AS1KDh",
            "_Z11vload_half3mPU3AS1KDh",
            "_Z12vloada_half3",
        ] {
            assert_eq!(definition(other), None, "{other}");
        }
    }
}
