//! What SYCL's compilers know of the devices that code can be compiled for ahead of time.
//!
//! The facts are those of intel/llvm's device configuration: for each of its targets the optional features that
//! it has, of which only these few are listed there for Intel's GPUs, and the sizes of sub-groups. Those of
//! other vendors are left out here, and restrict nothing.

use offkit_link::post_link::PostLinkedImage;
use offkit_link::properties::aspects::{ATOMIC64, EXT_INTEL_ESIMD, FP16, FP64};
use offkit_object::property_set::names;

/// What is known of some targets, by their names as after `-fsycl-targets=`.
struct Known {
    targets: &'static [&'static str],
    aspects: &'static [u32],
    sub_group_sizes: &'static [u32],
}

const KNOWN: [Known; 4] = [
    Known {
        targets: &["intel_gpu_pvc", "intel_gpu_pvc_vg"],
        aspects: &[EXT_INTEL_ESIMD, FP16, FP64, ATOMIC64],
        sub_group_sizes: &[16, 32],
    },
    Known {
        targets: &[
            "intel_gpu_arl_h",
            "intel_gpu_mtl_h",
            "intel_gpu_mtl_u",
            "intel_gpu_cml",
            "intel_gpu_aml",
            "intel_gpu_whl",
            "intel_gpu_glk",
            "intel_gpu_apl",
            "intel_gpu_cfl",
            "intel_gpu_kbl",
            "intel_gpu_skl",
            "intel_gpu_bdw",
        ],
        aspects: &[EXT_INTEL_ESIMD, FP16, FP64, ATOMIC64],
        sub_group_sizes: &[8, 16, 32],
    },
    Known {
        targets: &[
            "intel_gpu_acm_g10",
            "intel_gpu_acm_g11",
            "intel_gpu_acm_g12",
            "intel_gpu_dg1",
            "intel_gpu_adl_n",
            "intel_gpu_adl_p",
            "intel_gpu_adl_s",
            "intel_gpu_rkl",
            "intel_gpu_tgllp",
            "intel_gpu_ehl",
            "intel_gpu_icllp",
        ],
        aspects: &[EXT_INTEL_ESIMD, FP16, ATOMIC64],
        sub_group_sizes: &[8, 16, 32],
    },
    // Of these nothing is said, and so nothing optional is there.
    Known {
        targets: &["spir64", "spir64_gen", "spir64_x86_64", "spir64_fpga", "x86_64"],
        aspects: &[],
        sub_group_sizes: &[],
    },
];

/// Whether code of an image can be compiled for a target. A target of which nothing is known restricts nothing.
pub(super) fn is_compatible(target: &str, part: &PostLinkedImage) -> bool {
    let Some(known) = KNOWN.iter().find(|known| known.targets.contains(&target)) else {
        return true;
    };
    let required = |key| part.image.properties.get(names::DEVICE_REQUIREMENTS, key);
    let aspects = required("aspects")
        .and_then(|aspects| aspects.as_u32s())
        .unwrap_or_default();
    let sub_group_size = required("reqd_sub_group_size").and_then(|size| size.as_u32());
    aspects.iter().all(|aspect| known.aspects.contains(aspect))
        // ESIMD code has sub-groups of one work-item, which no device lists.
        && (part.is_esimd || sub_group_size.is_none_or(|size| known.sub_group_sizes.contains(&size)))
}
