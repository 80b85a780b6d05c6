//! The functions of OpenCL C 3.0 that every device supplies.
//!
//! In LLVM bitcode they are declarations like any other; only their names tell that nobody needs to supply
//! them. The families with many names are told by how their names are made.

/// Names as they are, of functions that are not in one of the families below.
const NAMES: &str = "
    get_work_dim get_global_size get_global_id get_local_size get_enqueued_local_size get_local_id get_num_groups
    get_group_id get_global_offset get_global_linear_id get_local_linear_id get_sub_group_size get_max_sub_group_size
    get_num_sub_groups get_enqueued_num_sub_groups get_sub_group_id get_sub_group_local_id
    get_sub_group_eq_mask get_sub_group_ge_mask get_sub_group_gt_mask get_sub_group_le_mask get_sub_group_lt_mask
    acos acosh acospi asin asinh asinpi atan atan2 atanh atanpi atan2pi cbrt ceil copysign cos cosh cospi erfc erf exp
    exp2 exp10 expm1 fabs fdim floor fma fmax fmin fmod fract frexp hypot ilogb ldexp lgamma lgamma_r log log2 log10
    log1p logb mad maxmag minmag modf nan nextafter pow pown powr remainder remquo rint rootn round rsqrt sin sincos
    sinh sinpi sqrt tan tanh tanpi tgamma trunc
    abs abs_diff add_sat hadd rhadd clamp clz ctz mad_hi mad_sat max min mul_hi rotate sub_sat upsample popcount mad24
    mul24 bitfield_insert bitfield_extract_signed bitfield_extract_unsigned bit_reverse dot_4x8packed_uu_uint
    dot_4x8packed_ss_int dot_4x8packed_us_int dot_4x8packed_su_int dot_acc_sat dot_acc_sat_4x8packed_uu_uint
    dot_acc_sat_4x8packed_ss_int dot_acc_sat_4x8packed_us_int dot_acc_sat_4x8packed_su_int
    degrees mix radians step smoothstep sign cross dot distance length normalize fast_distance fast_length fast_normalize
    isequal isnotequal isgreater isgreaterequal isless islessequal islessgreater isfinite isinf isnan isnormal isordered
    isunordered signbit any all bitselect select shuffle shuffle2 printf
    barrier work_group_barrier sub_group_barrier mem_fence read_mem_fence write_mem_fence to_global to_local to_private
    get_fence async_work_group_copy async_work_group_strided_copy wait_group_events prefetch
    async_work_group_copy_2D2D async_work_group_copy_3D3D async_fence
    read_imagef read_imageh read_imagei read_imageui write_imagef write_imageh write_imagei write_imageui
    get_image_width get_image_height get_image_depth get_image_channel_data_type get_image_channel_order get_image_dim
    get_image_array_size get_image_num_samples get_image_num_mip_levels
    work_group_all work_group_any work_group_broadcast sub_group_all sub_group_any sub_group_broadcast
    sub_group_elect sub_group_ballot sub_group_inverse_ballot sub_group_ballot_bit_extract sub_group_ballot_bit_count
    sub_group_ballot_inclusive_scan sub_group_ballot_exclusive_scan sub_group_ballot_find_lsb sub_group_ballot_find_msb
    sub_group_shuffle sub_group_shuffle_xor sub_group_shuffle_up sub_group_shuffle_down sub_group_rotate
    sub_group_clustered_rotate sub_group_non_uniform_all sub_group_non_uniform_any sub_group_non_uniform_all_equal
    sub_group_non_uniform_broadcast sub_group_broadcast_first
    enqueue_marker retain_event release_event create_user_event is_valid_event set_user_event_status
    capture_event_profiling_info get_default_queue ndrange_1D ndrange_2D ndrange_3D
";

/// What is done in the memory that atomic functions work on.
const ATOMIC: [&str; 6] = [
    "atomic_",
    "atom_",
    "atomic_fetch_",
    "atomic_flag_",
    "atomic_work_item_",
    "atomic_init",
];
const ATOMIC_OPERATIONS: &str = "
    add sub xchg inc dec cmpxchg min max and or xor load store exchange compare_exchange_strong compare_exchange_weak
    test_and_set clear fence
";

/// Whether a symbol is one of these functions.
pub(super) fn is_builtin(symbol: &str) -> bool {
    // Of OpenCL C, clang mangles only what may be overloaded, as the device's functions are: a
    // plain `sin` is the user's.
    let Some((name, _)) = offkit_image::mangled_function(symbol) else {
        // The few that have no mangled form.
        return matches!(symbol, "printf" | "__to_global" | "__to_local" | "__to_private");
    };
    let listed = |list: &str, name: &str| list.split_ascii_whitespace().any(|listed| listed == name);
    listed(NAMES, name)
        || is_variant(name)
        || is_conversion(name)
        || is_vector_access(name)
        || is_reduction(name)
        || ATOMIC.iter().any(|prefix| {
            let operation = name.strip_prefix(prefix).unwrap_or_default();
            let operation = operation.strip_suffix("_explicit").unwrap_or(operation);
            // `atomic_init` alone has no operation behind it.
            listed(ATOMIC_OPERATIONS, operation) || *prefix == name
        })
}

/// `native_sin`, `half_exp2`.
fn is_variant(name: &str) -> bool {
    let base = name.strip_prefix("native_").or(name.strip_prefix("half_"));
    base.is_some_and(|base| {
        let with_variants = "cos divide exp exp2 exp10 log log2 log10 powr recip rsqrt sin sqrt tan";
        with_variants.split(' ').any(|name| name == base)
    })
}

/// The ways to round in the names of functions.
const ROUNDINGS: [&str; 4] = ["_rte", "_rtz", "_rtp", "_rtn"];

fn without_rounding(name: &str) -> &str {
    ROUNDINGS
        .iter()
        .find_map(|rounding| name.strip_suffix(rounding))
        .unwrap_or(name)
}

/// Whether what follows the name of a type is nothing, or how many elements a vector of it has.
fn is_width(text: &str) -> bool {
    matches!(text, "" | "2" | "3" | "4" | "8" | "16")
}

/// `float`, `uint4`.
fn is_type(name: &str) -> bool {
    let scalars = "char uchar short ushort int uint long ulong half float double";
    let width = |scalar| name.strip_prefix(scalar).is_some_and(is_width);
    scalars.split(' ').any(width)
}

/// `convert_float4_rte`, `convert_uchar_sat_rtz`, `as_uint2`.
fn is_conversion(name: &str) -> bool {
    if let Some(result) = name.strip_prefix("convert_") {
        let result = without_rounding(result);
        return is_type(result.strip_suffix("_sat").unwrap_or(result));
    }
    name.strip_prefix("as_").is_some_and(is_type)
}

/// `vload4`, `vstore_half8_rtz`, `vloada_half3`.
fn is_vector_access(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("vload").or(name.strip_prefix("vstore")) else {
        return false;
    };
    let rest = without_rounding(rest);
    let rest = rest
        .strip_prefix("a_half")
        .or(rest.strip_prefix("_half"))
        .unwrap_or(rest);
    is_width(rest)
}

/// `work_group_reduce_add`, `sub_group_clustered_reduce_max`.
fn is_reduction(name: &str) -> bool {
    let scans = ["scan_exclusive_", "scan_inclusive_", "reduce_"];
    let after = |name: &str, kinds: &[&str], operations: &str| {
        kinds
            .iter()
            .filter_map(|kind| name.strip_prefix(kind))
            .any(|operation| operations.split(' ').any(|known| known == operation))
    };
    // OpenCL C has three operations. Extensions gave work-groups more under the same names, but
    // sub-groups only under new ones.
    let common = "add min max";
    let further = "add mul min max and or xor logical_and logical_or logical_xor";
    if let Some(rest) = name.strip_prefix("work_group_") {
        return after(rest, &scans, further);
    }
    let Some(rest) = name.strip_prefix("sub_group_") else {
        return false;
    };
    if let Some(rest) = rest.strip_prefix("non_uniform_") {
        return after(rest, &scans, further);
    }
    after(rest, &scans, common) || after(rest, &["clustered_reduce_"], further)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_devices_supply_is_told_from_what_users_write() {
        for builtin in [
            "_Z3sinf",
            "_Z13get_global_idj",
            "_Z10native_sinDv4_f",
            "_Z14convert_float4Dv4_i",
            "_Z15convert_int_satf",
            "_Z6vload4mPU3AS1Kf",
            "_Z14vstorea_half16Dv16_fmPU3AS1Dh",
            "_Z10atomic_addPU3AS1Vii",
            "_Z25atomic_fetch_add_explicitPU3AS4VU7_Atomicii12memory_order12memory_scope",
            "_Z21convert_uchar_sat_rtzf",
            "_Z16convert_half_rtef",
            "_Z8as_uint2Dv2_f",
            "_Z21work_group_reduce_addf",
            "_Z28sub_group_scan_inclusive_maxf",
            "_Z40sub_group_non_uniform_scan_exclusive_xori",
            "_Z30sub_group_clustered_reduce_maxij",
            "_Z40sub_group_non_uniform_reduce_logical_andi",
            "_Z7barrierj",
        ] {
            assert!(is_builtin(builtin), "{builtin}");
        }
        for user in [
            "_Z5scalei",
            "sin",
            "_ZN3lib3sinEf",
            "_Z10get_valuesi",
            "_Z11convert_rgbi",
            "_Z18convert_int_to_rgbi",
            "_Z13convert_int_ui",
            "_Z12convert_int5i",
            "_Z11as_int_listi",
            "_Z10as_int_satf",
            "_Z13convert_uhalff",
            "_Z21work_group_reduce_allf",
            "_Z24work_group_my_reduce_addf",
            "_Z25work_group_reduce_add_allf",
            "_Z20sub_group_reduce_muli",
            "_Z9half_stepf",
            "_Z9",
        ] {
            assert!(!is_builtin(user), "{user}");
        }
    }
}
