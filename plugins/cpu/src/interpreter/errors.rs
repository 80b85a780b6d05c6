//! Errors that the standard allows, made at random: what comes of them tells how far right results may be apart.

use offkit_kernel::builtins::Scalar;
use offkit_kernel::builtins::float::Format;

/// Units in the last place by which a result is moved at most: the least that OpenCL allows a function that may err.
const UNITS: u64 = 2;

/// Moves results of a function that may err, in an order of errors that has a number. Equal results are moved alike, so that
/// this remains a function.
pub(super) fn disturb(seed: u64, function: u32, scalar: Scalar, results: &mut [u64]) {
    let Some(format) = Format::of(scalar) else { return };
    for result in results {
        let (sign, magnitude) = (*result & format.sign(), *result & !format.sign());
        // Zeros, ones and infinities are what the standard wants exactly, where a function has them.
        let is_free = magnitude > format.significand_mask() + UNITS
            && magnitude + UNITS < format.infinity()
            && magnitude != format.below_one() + 1;
        if is_free {
            // By the result and not by the operands, so that results which are equal stay so.
            let by = mix(mix(seed ^ u64::from(function)) ^ magnitude) % (2 * UNITS + 1);
            *result = sign | (magnitude + by - UNITS);
        }
    }
}

/// Puts those whose values are reduced into an order that has a number: the standard leaves it open.
pub(super) fn shuffle(seed: u64, members: &mut [usize]) {
    members.sort_by_cached_key(|member| mix(seed ^ *member as u64));
}

/// As `SplitMix64` does it.
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
