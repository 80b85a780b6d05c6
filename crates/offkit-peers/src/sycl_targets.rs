//! What SYCL's compilers know of the devices that code can be compiled for ahead of time.
//!
//! The facts are those of intel/llvm's device configuration: for each of its targets the optional features that
//! it has, of which only these few are listed there for Intel's GPUs, and the sizes of sub-groups. Those of
//! other vendors are left out here, and restrict nothing.

use offkit_link::post_link::PostLinkedImage;
use offkit_link::properties::aspects::{ATOMIC64, EXT_INTEL_ESIMD, FP16, FP64};
use offkit_object::property_set::names;

struct Known {
    aspects: &'static [u32],
    sub_group_sizes: &'static [u32],
}

/// What is known of a target by its name, as after `-fsycl-targets=`.
fn known(target: &str) -> Option<Known> {
    const SMALL_TO_LARGE: &[u32] = &[8, 16, 32];
    const WITH_DOUBLE: &[u32] = &[EXT_INTEL_ESIMD, FP16, FP64, ATOMIC64];
    const WITHOUT_DOUBLE: &[u32] = &[EXT_INTEL_ESIMD, FP16, ATOMIC64];
    let (aspects, sub_group_sizes) = match target.strip_prefix("intel_gpu_") {
        Some("pvc" | "pvc_vg") => (WITH_DOUBLE, &[16, 32][..]),
        Some(
            "arl_h" | "mtl_h" | "mtl_u" | "cml" | "aml" | "whl" | "glk" | "apl" | "cfl" | "kbl" | "skl"
            | "bdw",
        ) => (WITH_DOUBLE, SMALL_TO_LARGE),
        Some(
            "acm_g10" | "acm_g11" | "acm_g12" | "dg1" | "adl_n" | "adl_p" | "adl_s" | "rkl" | "tgllp" | "ehl"
            | "icllp",
        ) => (WITHOUT_DOUBLE, SMALL_TO_LARGE),
        // Of these nothing is said, and so nothing optional is there.
        None if matches!(
            target,
            "spir64" | "spir64_gen" | "spir64_x86_64" | "spir64_fpga" | "x86_64"
        ) =>
        {
            (&[][..], &[][..])
        }
        _ => return None,
    };
    Some(Known {
        aspects,
        sub_group_sizes,
    })
}

/// Whether code of an image can be compiled for a target. A target of which nothing is known restricts nothing.
pub(super) fn is_compatible(target: &str, image: &PostLinkedImage) -> bool {
    let Some(known) = known(target) else { return true };
    let required = |key| image.properties.get(names::DEVICE_REQUIREMENTS, key);
    let aspects = required("aspects")
        .and_then(|aspects| aspects.as_u32s())
        .unwrap_or_default();
    let sub_group_size = required("reqd_sub_group_size").and_then(|size| size.as_u32());
    aspects.iter().all(|aspect| known.aspects.contains(aspect))
        // ESIMD code has sub-groups of one work-item, which no device lists.
        && (image.is_esimd || sub_group_size.is_none_or(|size| known.sub_group_sizes.contains(&size)))
}
