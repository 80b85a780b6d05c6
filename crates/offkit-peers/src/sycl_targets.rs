//! What SYCL's compilers know of the devices that code can be compiled for ahead of time.
//!
//! The facts are those of intel/llvm's device configuration: for each of its targets the optional features that
//! it has, of which only these few are listed there for Intel's GPUs, and the sizes of sub-groups. Those of
//! other vendors are left out here, and restrict nothing.

use offkit_image::target::intel;
use offkit_link::post_link::PostLinkedImage;
use offkit_link::properties::aspects::{ATOMIC64, EXT_INTEL_ESIMD, FP16, FP64};
use offkit_object::property_set::names;

/// Targets of which nothing is said, and so nothing optional is there.
const PLAIN: [&str; 5] = ["spir64", "spir64_gen", "spir64_x86_64", "spir64_fpga", "x86_64"];

/// Whether code of an image can be compiled for a target. A target of which nothing is known restricts nothing.
pub(super) fn is_compatible(target: &str, part: &PostLinkedImage) -> bool {
    let (aspects, sub_group_sizes): (&[u32], &[u32]) = match intel::gpu_of_target(target) {
        Some(gpu) if gpu.has_fp64 => (&[EXT_INTEL_ESIMD, FP16, ATOMIC64, FP64], gpu.sub_group_sizes),
        Some(gpu) => (&[EXT_INTEL_ESIMD, FP16, ATOMIC64], gpu.sub_group_sizes),
        None if PLAIN.contains(&target) => (&[], &[]),
        None => return true,
    };
    let required = |key| part.image.properties.get(names::DEVICE_REQUIREMENTS, key);
    let required_aspects = required("aspects")
        .and_then(|aspects| aspects.as_u32s())
        .unwrap_or_default();
    let sub_group_size = required("reqd_sub_group_size").and_then(|size| size.as_u32());
    required_aspects.iter().all(|aspect| aspects.contains(aspect))
        // ESIMD code has sub-groups of one work-item, which no device lists.
        && (part.is_esimd || sub_group_size.is_none_or(|size| sub_group_sizes.contains(&size)))
}
