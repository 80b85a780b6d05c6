//! Which code a launch needs, and how its range is cut where the caller leaves that open.

use offkit_compile::{Arithmetic, Cut, Facts, Variant};

use crate::MAX_WORK_GROUP_SIZE;
use crate::launch::{Geometry, fair_share, vector_lanes};

/// Work-items of a row where nobody sees rows.
const LONGEST_ROW: u64 = 1024;

/// Fewer are not worth a group of their own.
const SHORTEST_ROW: u64 = 64;

/// Numbers of work-items that a kernel's vectors may have, the best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Widths(Vec<u32>);

/// The most work-items of groups that lie in others although the kernel sees their ids. Groups of 8 that compute much are 3
/// times as fast in vectors of 32, those of 16 1.7 times; but where work-items of a group read the same, what was one access
/// is one for each: that costs groups of 8 5 % and those of 16 a third (adding a row and a number of the group, one core with
/// AVX-512, 2026-11-26).
const LARGEST_MERGED: u64 = 8;

// Two times two times two, for each of the three ways to cut.
/// What is decided for each width: rows, full, narrow ids, and how groups are cut.
const CHOICES: usize = 24;

impl Widths {
    /// Those for a kernel: that of its sub-groups if it sees them, or what suits the processor. None for sub-groups that
    /// are no vectors.
    pub(super) fn of(facts: Facts, required: Option<u32>, sub_group_size: u32) -> Option<Widths> {
        Widths::with_lanes(facts, required, sub_group_size, preferred())
    }

    /// The same for a processor that so many work-items suit.
    pub(super) fn with_lanes(
        facts: Facts,
        required: Option<u32>,
        sub_group_size: u32,
        most: u32,
    ) -> Option<Widths> {
        match (facts.sub_groups, required) {
            (false, None) => {
                let halves = std::iter::successors(Some(most), |width| Some(width / 2));
                // Four numbers of 32 bits fill the shortest registers, those of SSE and NEON.
                Some(Widths(halves.take_while(|width| *width >= 4).collect()))
            }
            _ => (sub_group_size.is_power_of_two() && sub_group_size <= 64)
                .then(|| Widths(vec![sub_group_size])),
        }
    }

    /// How a range is cut for a kernel that doesn't see groups, whatever the caller has cut it into: the same groups, several
    /// in one where they have no whole vectors or are not worth it, in the direction that vectors have.
    pub(super) fn merged(&self, asked: &Geometry) -> Geometry {
        let width = u64::from(self.0[0]);
        let [x, y, z] = asked.local;
        let has_vectors = x.is_multiple_of(width);
        if has_vectors && x * y * z >= SHORTEST_ROW {
            return *asked;
        }
        // As many as there are threads for, if work-items are few.
        let least = fair_share(asked.global).clamp(width, SHORTEST_ROW.max(width));
        let x = x.next_multiple_of(width);
        let size = x * y * z;
        if x <= asked.global[0] && (least..=MAX_WORK_GROUP_SIZE).contains(&size) {
            return asked.with_local([x, y, z]);
        }
        let local = self.unseen_local_size(asked.global);
        match local.iter().product::<u64>() > asked.local.iter().product() {
            true => asked.with_local(local),
            false => *asked,
        }
    }

    /// The same for a kernel that sees ids in groups, and needs nothing else of them: small ones of one size lie in others.
    pub(super) fn merged_if_seen(&self, asked: &Geometry) -> (Geometry, Cut) {
        let Geometry { global, local, .. } = asked;
        // Ids below 2^31 are what `launch::division` can divide.
        let is_even = (0..3).all(|axis| global[axis].is_multiple_of(local[axis]) && global[axis] <= 1 << 31);
        let size: u64 = local.iter().product();
        if !is_even || size > LARGEST_MERGED {
            return (*asked, Cut::AsSeen);
        }
        let merged = self.merged(asked);
        match size {
            _ if merged.local == asked.local => (merged, Cut::AsSeen),
            1 => (merged, Cut::Single),
            _ => (merged, Cut::Merged),
        }
    }

    /// How many variants there can be.
    pub(super) fn variants(&self) -> usize {
        self.0.len() * CHOICES
    }

    /// The number of the variant for a launch, and the variant; whether there is memory that 32-bit indices may wrap in.
    pub(super) fn variant(&self, geometry: &Geometry, has_large: bool, cut: Cut) -> (usize, Variant) {
        let best = self.best(geometry);
        let width = self.0[best];
        let (rows, full) = rows_and_full(geometry, width);
        let ends = [0, 1, 2].map(|index| geometry.offset[index] + geometry.global[index]);
        let narrow_ids = !has_large && ends.iter().all(|end| *end <= Variant::NARROW_IDS);
        self.numbered(best, rows, full, narrow_ids, cut)
    }

    /// The number of the width that suits a launch best: its vectors lie along rows, so that what is side by side in memory
    /// is read and written at once; all their lanes are used, if that costs no more than half of them; and no vector has
    /// more lanes than a small group needs.
    fn best(&self, geometry: &Geometry) -> usize {
        let size: u64 = geometry.local.iter().product();
        let last = self.0.len() - 1;
        let holds = |index: &usize| u64::from(self.0[*index]) <= size.next_power_of_two();
        let first = (0..last).find(holds).unwrap_or(last);
        let find = |suits: fn((bool, bool)) -> bool| {
            (first..=last).find(|index| suits(rows_and_full(geometry, self.0[*index])))
        };
        match (find(|(rows, _)| rows), find(|(rows, full)| rows && full)) {
            (Some(rows), Some(both)) if self.0[both] * 2 >= self.0[rows] => both,
            (Some(rows), _) => rows,
            (None, _) => find(|(_, full)| full).unwrap_or(first),
        }
    }

    /// The variant for launches that are a number of whole vectors, each along a row, and not too many.
    pub(super) fn likely(&self) -> (usize, Variant) {
        self.numbered(0, true, true, true, Cut::AsSeen)
    }

    fn numbered(&self, best: usize, rows: bool, full: bool, narrow_ids: bool, cut: Cut) -> (usize, Variant) {
        let choice = usize::from(rows) * 4 + usize::from(full) * 2 + usize::from(narrow_ids);
        let number = best * CHOICES + cut as usize * 8 + choice;
        let variant = Variant {
            width: self.0[best],
            rows,
            full,
            narrow_ids,
            contract: true,
            check_bounds: false,
            cut,
            arithmetic: Arithmetic::default(),
        };
        (number, variant)
    }

    /// Work-items of a vector in code that is made at little cost, where so many suit best: as many as a register has. LLVM
    /// takes what spans two apart operation by operation, which costs bodies an eighth of the time to their first result
    /// (`./dev bench cpu`, 2026-11-26).
    pub(super) fn light(&self, width: u32) -> u32 {
        match self.0.as_slice() {
            [best, _, ..] => width.min(best / 2),
            // That of its sub-groups.
            _ => width,
        }
    }

    /// The size of work-groups that nobody sees: rows of whole vectors, or as much as there is.
    pub(super) fn unseen_local_size(&self, global: [u64; 3]) -> [u64; 3] {
        let width = u64::from(self.0[0]);
        let row = fair_share(global)
            .clamp(SHORTEST_ROW, LONGEST_ROW)
            .next_multiple_of(width);
        let x = global[0].min(row).max(1);
        if x.is_multiple_of(width) || global[1..] == [1, 1] {
            return [x, 1, 1];
        }
        // Rows too short for a vector: several of them make a group.
        let y = global[1].min((row / x).max(1)).max(1);
        let z = global[2].min((row / (x * y)).max(1)).max(1);
        [x, y, z]
    }
}

/// Whether vectors of a width lie along the first dimension, and whether they have all their work-items.
fn rows_and_full(geometry: &Geometry, width: u32) -> (bool, bool) {
    let width = u64::from(width);
    let Geometry { global, local, .. } = geometry;
    // Then the rest at the end of the range is one as well.
    let whole_rows = local[0].is_multiple_of(width) && global[0].is_multiple_of(width);
    let whole_groups = (0..3).all(|index| global[index].is_multiple_of(local[index]));
    let size: u64 = local.iter().product();
    (
        whole_rows || local[1] == 1 && local[2] == 1,
        whole_rows || whole_groups && size.is_multiple_of(width),
    )
}

/// Work-items of 32 bits that two vectors of this processor have: while one waits for a result, the other goes on. One core
/// with AVX-512 mixes integers 1.6 times as fast with 32 as with 16, reduces with barriers 1.4 times, applies a stencil 1.4
/// times; n-body alone loses, 15 % (`./dev bench cpu`, 2026-11-23).
pub(super) fn preferred() -> u32 {
    2 * vector_lanes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offkit_pi::NdRange;

    fn geometry(global: [usize; 3], local: [usize; 3]) -> Geometry {
        let range = NdRange {
            dimensions: 3,
            offset: [0; 3],
            global,
            local: Some(local),
        };
        Geometry::new(&range, None, None, 8).unwrap()
    }

    fn width_rows_full(global: [usize; 3], local: [usize; 3]) -> (u32, bool, bool) {
        let (_, variant) = Widths(vec![16, 8, 4]).variant(&geometry(global, local), false, Cut::AsSeen);
        (variant.width, variant.rows, variant.full)
    }

    #[test]
    fn vectors_are_as_wide_as_rows_allow() {
        assert_eq!(width_rows_full([1024, 1, 1], [64, 1, 1]), (16, true, true));
        assert_eq!(width_rows_full([64, 64, 1], [8, 8, 1]), (8, true, true));
        assert_eq!(width_rows_full([64, 64, 1], [4, 4, 4]), (4, true, true));
        // Vectors of several rows.
        assert_eq!(width_rows_full([36, 64, 1], [6, 8, 1]), (16, false, true));
        // The last vector of each group, or of the range, is not full.
        assert_eq!(width_rows_full([1000, 1, 1], [50, 1, 1]), (16, true, false));
        assert_eq!(width_rows_full([1000, 2, 1], [64, 1, 1]), (8, true, true));
        assert_eq!(width_rows_full([1001, 2, 1], [64, 1, 1]), (16, true, false));
        assert_eq!(width_rows_full([1001, 2, 1], [64, 2, 1]), (16, false, false));
        // Vectors with all lanes would be too short.
        assert_eq!(width_rows_full([1004, 1, 1], [64, 1, 1]), (16, true, false));
        // Groups that are no longer.
        assert_eq!(width_rows_full([300, 1, 1], [3, 1, 1]), (4, true, false));
        assert_eq!(width_rows_full([300, 1, 1], [5, 1, 1]), (8, true, false));
    }

    #[test]
    fn no_two_variants_have_the_same_number() {
        let widths = Widths(vec![16, 8, 4]);
        let mut seen = std::collections::HashMap::new();
        for x in [1, 3, 4, 8, 12, 16, 17, 64] {
            for y in [1, 2, 3, 16] {
                for more in [0, 1, 5, 1 << 31] {
                    for cut in [Cut::AsSeen, Cut::Single, Cut::Merged] {
                        let geometry = geometry([x * 4 + more, y * 2, 1], [x, y, 1]);
                        let (number, variant) = widths.variant(&geometry, false, cut);
                        assert!(number < widths.variants());
                        assert_eq!(*seen.entry(number).or_insert(variant), variant);
                    }
                }
            }
        }
        assert!(seen.len() > 8);
    }

    #[test]
    fn a_vector_is_a_sub_group_where_sub_groups_are_seen() {
        let sees = Facts {
            groups: true,
            sub_groups: true,
            together: true,
        };
        assert_eq!(Widths::of(sees, None, 8), Some(Widths(vec![8])));
        assert_eq!(Widths::of(Facts::default(), Some(32), 32), Some(Widths(vec![32])));
        assert_eq!(Widths::of(sees, Some(12), 12), None);
        let free = Widths::of(Facts::default(), None, 8).unwrap();
        assert_eq!(free.0[0], preferred());
        // Code that is made at little cost has shorter vectors, but not shorter sub-groups.
        assert_eq!(
            Widths::of(sees, None, 16).map(|widths| widths.light(16)),
            Some(16)
        );
        assert_eq!(
            [32, 16, 8].map(|width| Widths(vec![32, 16, 8, 4]).light(width)),
            [16, 16, 8]
        );
    }

    #[test]
    fn groups_that_nobody_sees_have_vectors() {
        let widths = Widths(vec![16, 8, 4]);
        let merged = |global, local| widths.merged(&geometry(global, local)).local;
        // What has vectors stays.
        assert_eq!(merged([1 << 20, 1, 1], [256, 1, 1]), [256, 1, 1]);
        assert_eq!(merged([1024, 1024, 1], [16, 16, 1]), [16, 16, 1]);
        assert_eq!(merged([16, 1, 1], [16, 1, 1]), [16, 1, 1]);
        assert_eq!(merged([5, 1, 1], [5, 1, 1]), [5, 1, 1]);
        // Tiles get longer rows.
        assert_eq!(merged([1024, 1024, 1], [8, 8, 1]), [16, 8, 1]);
        assert_eq!(merged([1024, 1024, 1], [1, 64, 1]), [16, 64, 1]);
        assert_eq!(merged([1000, 1, 1], [50, 1, 1]), [64, 1, 1]);
        // Small groups become what they are where the size is left open.
        assert_eq!(merged([1 << 20, 1, 1], [1, 1, 1]), [1024, 1, 1]);
        assert_eq!(merged([1 << 20, 1, 1], [4, 1, 1]), [1024, 1, 1]);
        assert_eq!(
            merged([3, 1 << 20, 1], [3, 1, 1]),
            widths.unseen_local_size([3, 1 << 20, 1])
        );
        // A thread has work as long as there is any.
        assert_eq!(merged([64, 1, 1], [1, 1, 1]), [16, 1, 1]);
        // No group is too large.
        let [x, y, z] = merged([1024, 4096, 1], [1, 4096, 1]);
        assert!(x * y * z <= MAX_WORK_GROUP_SIZE);
    }

    #[test]
    fn small_groups_whose_ids_are_seen_lie_in_others() {
        let widths = Widths(vec![16, 8, 4]);
        let merged = |global, local| {
            let (geometry, cut) = widths.merged_if_seen(&geometry(global, local));
            (geometry.local, cut)
        };
        assert_eq!(merged([1 << 20, 1, 1], [1, 1, 1]), ([1024, 1, 1], Cut::Single));
        assert_eq!(merged([1 << 20, 1, 1], [4, 1, 1]), ([1024, 1, 1], Cut::Merged));
        assert_eq!(merged([3 << 20, 1, 1], [3, 1, 1]), ([1024, 1, 1], Cut::Merged));
        assert_eq!(merged([1024, 1024, 1], [2, 2, 1]), ([1024, 1, 1], Cut::Merged));
        assert_eq!(merged([1024, 1024, 2], [1, 4, 2]), ([16, 4, 2], Cut::Merged));
        // Larger ones fill vectors, the last one is smaller, there is one only, or too many.
        assert_eq!(merged([1 << 20, 1, 1], [16, 1, 1]), ([16, 1, 1], Cut::AsSeen));
        assert_eq!(merged([1001, 1, 1], [4, 1, 1]), ([4, 1, 1], Cut::AsSeen));
        assert_eq!(merged([4, 1, 1], [4, 1, 1]), ([4, 1, 1], Cut::AsSeen));
        assert_eq!(merged([1 << 32, 1, 1], [4, 1, 1]), ([4, 1, 1], Cut::AsSeen));
    }

    #[test]
    fn ranges_too_large_to_count_have_groups() {
        let global = [u64::MAX, 2, u64::MAX];
        assert_eq!(Widths(vec![16, 8, 4]).unseen_local_size(global), [1024, 1, 1]);
    }

    #[test]
    fn unseen_groups_are_long_rows() {
        let widths = Widths(vec![16, 8, 4]);
        let size = |global| widths.unseen_local_size(global);
        assert_eq!(size([1 << 24, 1, 1]), [1024, 1, 1]);
        assert_eq!(size([64, 1 << 20, 1]), [64, 1, 1]);
        assert_eq!(size([1, 1, 1]), [1, 1, 1]);
        assert_eq!(size([7, 1, 1]), [7, 1, 1]);
        let [x, y, z] = size([3, 1 << 20, 4]);
        assert!(x == 3 && y > 300 && z == 1, "{x} {y} {z}");
        for global in [[1 << 20, 3, 1], [1000, 1000, 1], [5, 5, 5], [17, 4096, 2]] {
            let local = size(global);
            assert!(local.iter().product::<u64>() <= crate::MAX_WORK_GROUP_SIZE);
            assert!((0..3).all(|index| local[index] <= global[index]));
        }
    }
}
