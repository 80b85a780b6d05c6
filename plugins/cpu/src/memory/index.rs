//! The live allocations by address: a tree that has versions.
//!
//! A change makes a new version, which shares all but the path to the change with the old one. So whoever holds
//! a version reads it without a lock, however many allocations come and go meanwhile, and what it holds costs the
//! same for one allocation or a hundred thousand.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::block::Block;
use super::{Allocation, AllocationKind};

/// One allocation. It keeps the memory for as long as a version knows it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) allocation: Allocation,
    pub(super) storage: Storage,
}

/// Whose the memory is.
#[derive(Clone, Debug)]
pub(super) enum Storage {
    /// The device's, given back with the last version that knows it.
    Owned { _block: Arc<Block> },
    /// The host program's: what it has registered, of which nothing lies apart from the rest.
    Host { ranges: Arc<[Range<u64>]> },
}

/// A version of the tree: ordered by address, and balanced as [`rank`] falls from the root to the leaves.
#[derive(Debug)]
pub(super) struct Index {
    root: Link,
    /// No two in a process are equal.
    version: u64,
}

type Link = Option<Arc<Node>>;

#[derive(Debug)]
struct Node {
    entry: Entry,
    below: Link,
    above: Link,
}

impl Default for Index {
    fn default() -> Index {
        Index::new(None)
    }
}

impl Index {
    fn new(root: Link) -> Index {
        // From 1 on, as 0 is the version of hints that have found nothing yet.
        static VERSION: AtomicU64 = AtomicU64::new(1);
        Index {
            root,
            version: VERSION.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// What tells this version from all others; never 0.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// This version with one allocation more. There must be none at its address.
    pub(super) fn with(&self, entry: Entry) -> Index {
        Index::new(Some(insert(&self.root, entry)))
    }

    /// This version without the allocation at an address.
    pub(super) fn without(&self, base: u64) -> Index {
        Index::new(remove(&self.root, base))
    }

    /// The allocation that starts at an address.
    pub(super) fn at(&self, base: u64) -> Option<&Entry> {
        self.below(base).filter(|entry| entry.allocation.base == base)
    }

    /// The last allocation that starts at or below an address.
    #[inline]
    pub(super) fn below(&self, address: u64) -> Option<&Entry> {
        self.around(address).0
    }

    /// The last allocation that starts at or below an address, and the first that starts above it.
    #[inline]
    pub(super) fn around(&self, address: u64) -> (Option<&Entry>, Option<&Entry>) {
        let (mut before, mut after) = (None, None);
        let mut next = self.root.as_deref();
        while let Some(node) = next {
            if node.entry.allocation.base <= address {
                before = Some(&node.entry);
                next = node.above.as_deref();
            } else {
                after = Some(&node.entry);
                next = node.below.as_deref();
            }
        }
        (before, after)
    }
}

/// A number that depends on the address as if it were drawn by chance, which makes a tree of any allocations as
/// balanced as one of allocations that came in random order.
fn rank(base: u64) -> u64 {
    // The last steps of SplitMix64.
    // No two addresses get the same: every step can be undone.
    let mixed = (base ^ base >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

impl Node {
    fn base(&self) -> u64 {
        self.entry.allocation.base
    }

    /// This node with other parts below it and above it.
    fn with(&self, below: Link, above: Link) -> Arc<Node> {
        let entry = self.entry.clone();
        Arc::new(Node { entry, below, above })
    }
}

// These functions call themselves as often as the tree is deep, which ranks keep to some dozens:
// see the test below.
fn insert(tree: &Link, entry: Entry) -> Arc<Node> {
    let base = entry.allocation.base;
    match tree {
        Some(node) if rank(node.base()) >= rank(base) => {
            if base < node.base() {
                node.with(Some(insert(&node.below, entry)), node.above.clone())
            } else {
                node.with(node.below.clone(), Some(insert(&node.above, entry)))
            }
        }
        _ => {
            let (below, above) = split(tree, base);
            Arc::new(Node { entry, below, above })
        }
    }
}

/// What lies below an address, and what lies above it.
fn split(tree: &Link, at: u64) -> (Link, Link) {
    let Some(node) = tree else { return (None, None) };
    if node.base() < at {
        let (below, above) = split(&node.above, at);
        (Some(node.with(node.below.clone(), below)), above)
    } else {
        let (below, above) = split(&node.below, at);
        (below, Some(node.with(above, node.above.clone())))
    }
}

fn remove(tree: &Link, base: u64) -> Link {
    let node = tree.as_ref()?;
    match base.cmp(&node.base()) {
        std::cmp::Ordering::Less => Some(node.with(remove(&node.below, base), node.above.clone())),
        std::cmp::Ordering::Greater => Some(node.with(node.below.clone(), remove(&node.above, base))),
        std::cmp::Ordering::Equal => join(&node.below, &node.above),
    }
}

/// One tree of two, of which the first lies below the second.
fn join(below: &Link, above: &Link) -> Link {
    let (Some(low), Some(high)) = (below, above) else {
        return below.clone().or_else(|| above.clone());
    };
    Some(if rank(low.base()) >= rank(high.base()) {
        low.with(low.below.clone(), join(&low.above, above))
    } else {
        high.with(join(below, &high.below), high.above.clone())
    })
}

/// An entry of the host's memory, of ranges that are one piece together.
pub(super) fn host_entry(ranges: Vec<Range<u64>>) -> Entry {
    let base = ranges.iter().map(|range| range.start).min().unwrap_or_default();
    let end = ranges.iter().map(|range| range.end).max().unwrap_or_default();
    let (size, kind) = (end - base, AllocationKind::HostPointer);
    Entry {
        allocation: Allocation { base, size, kind },
        storage: Storage::Host {
            ranges: ranges.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn piece(base: u64, size: u64) -> Entry {
        let range = base..base + size;
        host_entry(Vec::from([range]))
    }

    fn depth(tree: &Link) -> usize {
        tree.as_ref()
            .map_or(0, |node| 1 + depth(&node.below).max(depth(&node.above)))
    }

    /// Every version answers as a map of the same allocations does, also when later versions are there.
    #[test]
    fn versions_answer_as_maps_do() {
        let (mut index, mut map) = (Index::default(), BTreeMap::new());
        let mut versions = Vec::new();
        let mut number = 1u64;
        for _ in 0..2000 {
            number = rank(number);
            let base = number % 512 * 16;
            if map.remove(&base).is_some() {
                index = index.without(base);
            } else {
                map.insert(base, ());
                index = index.with(piece(base, 16));
            }
            if number.is_multiple_of(16) {
                versions.push((Index::new(index.root.clone()), map.clone()));
            }
        }
        versions.push((index, map));
        for (index, map) in versions {
            for address in (0..8208).step_by(8) {
                let base = |entry: Option<&Entry>| entry.map(|entry| entry.allocation.base);
                let (below, above) = index.around(address);
                assert_eq!(
                    base(below),
                    map.range(..=address).next_back().map(|(base, ())| *base)
                );
                assert_eq!(
                    base(above),
                    map.range(address + 1..).next().map(|(base, ())| *base)
                );
                assert_eq!(index.at(address).is_some(), map.contains_key(&address));
            }
        }
    }

    #[test]
    fn addresses_in_order_make_a_flat_tree() {
        let entries = (0..10_000u64).map(|number| piece(number * 4096, 64));
        let index = entries.fold(Index::default(), |index, entry| index.with(entry));
        assert!(depth(&index.root) < 60, "{}", depth(&index.root));
    }
}
