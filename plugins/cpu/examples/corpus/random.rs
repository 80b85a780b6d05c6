//! Numbers that depend on a seed and on where they are used, so that what has grown has the same contents as before.

/// A number for a place.
pub(crate) fn number(seed: u64, place: &[u64]) -> u64 {
    place.iter().fold(mix(seed), |state, part| mix(state ^ part))
}

/// As SplitMix64 does it.
fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// One of some.
pub(crate) fn pick<T: Copy>(number: u64, from: &[T]) -> T {
    from[(number >> 8) as usize % from.len()]
}
