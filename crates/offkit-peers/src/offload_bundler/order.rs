//! The order of listings: LLVM keeps the entries of binary bundles in a hash table.

use twox_hash::XxHash3_64;

/// The IDs, each once, in the order in which LLVM 22 comes across them.
///
/// Its table has 16 places at first and twice as many whenever more than three quarters are in use. An ID's
/// first choice is its hash, XXH3 cut to 32 bits; where a place is taken, it tries 1, 2, 3… places further.
pub(super) fn hashed<'a>(ids: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut table: Vec<Option<&str>> = vec![None; 16];
    let mut used = 0_usize;
    for id in ids {
        if !insert(&mut table, id) {
            continue;
        }
        used = used.saturating_add(1);
        if used.saturating_mul(4) > table.len().saturating_mul(3) {
            let larger = vec![None; table.len().saturating_mul(2)];
            let old = std::mem::replace(&mut table, larger);
            for id in old.into_iter().flatten() {
                insert(&mut table, id);
            }
        }
    }
    table.into_iter().flatten().collect()
}

/// Whether the ID was not there yet.
fn insert<'a>(table: &mut [Option<&'a str>], id: &'a str) -> bool {
    let mask = table.len().saturating_sub(1);
    #[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are what counts")]
    let hash = XxHash3_64::oneshot(id.as_bytes()) as u32;
    let mut place = hash as usize & mask;
    // With a size that is a power of two, these steps come to every place once: a free one is
    // always found.
    for step in 1..=table.len() {
        match table.get_mut(place) {
            Some(free @ None) => {
                *free = Some(id);
                return true;
            }
            Some(Some(other)) if *other == id => return false,
            _ => place = place.wrapping_add(step) & mask,
        }
    }
    false
}
