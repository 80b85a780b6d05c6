//! Work on many things, on all cores where this crate is built with threads.

/// What `work` makes of each of the items, in their order. Fewer than twice `least` are not worth a second core.
#[cfg(feature = "threads")]
pub(crate) fn map<T: Send, R: Send>(
    items: Vec<T>,
    least: usize,
    work: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    use rayon::prelude::*;
    if items.len() < least.saturating_mul(2) {
        return items.into_iter().map(work).collect();
    }
    // Of what takes one core longer than another, the rest is shared out.
    items
        .into_par_iter()
        .with_min_len(least)
        .with_max_len(least)
        .map(work)
        .collect()
}

/// What `work` makes of each of the items, in their order.
#[cfg(not(feature = "threads"))]
pub(crate) fn map<T, R>(items: Vec<T>, _least: usize, work: impl Fn(T) -> R) -> Vec<R> {
    items.into_iter().map(work).collect()
}
