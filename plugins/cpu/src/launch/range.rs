//! The index space of a launch, and what built-in variables say about a place in it.

use offkit_pi::NdRange;
use offkit_spirv::grammar::BuiltIn;

use crate::pool;
use crate::processor;

/// Work-items of a sub-group, unless the kernel asks for another number: as many as a vector of the processor has numbers of
/// 32 bits, 16 with AVX-512 and 8 elsewhere. The last sub-group of a work-group may have fewer.
pub fn sub_group_size() -> u32 {
    vector_lanes().max(8)
}

/// Sizes that a kernel may require of its sub-groups (`reqd_sub_group_size`), which are compiled as vectors.
pub const SUB_GROUP_SIZES: [u32; 5] = [4, 8, 16, 32, 64];

/// Numbers of 32 bits in a vector of this processor.
pub(crate) fn vector_lanes() -> u32 {
    processor::level().lanes()
}

/// Work-items of the largest work-group.
pub const MAX_WORK_GROUP_SIZE: u64 = 4096;

/// Work-items of a work-group when the caller leaves its size open.
pub const PREFERRED_WORK_GROUP_SIZE: u64 = 64;

/// Work-items of a group that its kernel sees. With 256 instead of 64, code that does little for each takes 0.8 of the time,
/// a reduction with barriers 0.73; with more, what work-items keep at barriers is no longer near (one core with AVX-512,
/// 2026-11-23).
const LARGEST_SEEN: u64 = 256;

/// Groups for each thread, so that none is left with much more than the others.
const ROWS: u64 = 8;

/// A range whose work-group size is decided.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Geometry {
    pub(crate) dimensions: u32,
    pub(crate) offset: [u64; 3],
    pub(crate) global: [u64; 3],
    pub(crate) local: [u64; 3],
    /// Groups in each dimension.
    pub(crate) groups: [u64; 3],
    pub(crate) sub_group_size: u32,
}

impl Geometry {
    /// Decides the work-group size: the kernel's own, the caller's, or a divisor of the range.
    pub(crate) fn new(
        range: &NdRange,
        required: Option<[u64; 3]>,
        hint: Option<[u64; 3]>,
        sub_group_size: u32,
    ) -> Result<Geometry, String> {
        let wide = |sizes: [usize; 3]| sizes.map(|size| size as u64);
        let (dimensions, offset, global) = (range.dimensions, wide(range.offset), wide(range.global));
        let local = range.local.map(wide);
        if !(1..=3).contains(&dimensions) {
            return Err(format!("{dimensions} dimensions; there are 1 to 3"));
        }
        let unused = dimensions as usize..3;
        if unused
            .clone()
            .any(|index| global[index] != 1 || offset[index] != 0)
        {
            return Err(format!(
                "global size {global:?}, offset {offset:?} in {dimensions} dimensions"
            ));
        }
        let total = global[0]
            .checked_mul(global[1])
            .and_then(|size| size.checked_mul(global[2]));
        // No more than half: threads that take groups count beyond the last one, each by a chunk.
        if total.is_none_or(|total| total > u64::MAX / 2) {
            return Err(format!("{global:?} work-items are too many to number"));
        }
        // Global ids, and the ends of ranges, are sums that nobody checks from here on.
        if (0..3).any(|index| global[index].checked_add(offset[index]).is_none()) {
            return Err(format!("offset {offset:?} is too large"));
        }
        let divides = |local: &[u64; 3]| {
            let product = local
                .iter()
                .try_fold(1u64, |product, size| product.checked_mul(*size));
            (0..3).all(|index| local[index] != 0 && global[index].is_multiple_of(local[index]))
                && product.is_some_and(|product| product <= MAX_WORK_GROUP_SIZE)
        };
        let local = match (required, local) {
            (Some(required), Some(local)) if required != local => {
                return Err(format!(
                    "work-group size {local:?}, but the kernel requires {required:?}"
                ));
            }
            (Some(required), _) => required,
            (None, Some(local)) => local,
            // A hint binds nobody: where it would leave smaller groups at the end, or is too
            // large, the device chooses.
            (None, None) => hint
                .filter(divides)
                .unwrap_or_else(|| suggested_local_size(global)),
        };
        let size = local
            .iter()
            .try_fold(1u64, |product, size| product.checked_mul(*size));
        if local.contains(&0) || size.is_none_or(|size| size > MAX_WORK_GROUP_SIZE) {
            return Err(format!(
                "work-group size {local:?}; there may be 1 to {MAX_WORK_GROUP_SIZE} work-items"
            ));
        }
        if unused.into_iter().any(|index| local[index] != 1) {
            return Err(format!("work-group size {local:?} in {dimensions} dimensions"));
        }
        let geometry = Geometry {
            dimensions,
            offset,
            global,
            local,
            groups: [0; 3],
            sub_group_size,
        };
        Ok(geometry.with_local(local))
    }

    /// The same range cut into groups of another size, which has no zero.
    pub(crate) fn with_local(self, local: [u64; 3]) -> Geometry {
        Geometry {
            local,
            groups: [0, 1, 2].map(|index| self.global[index].div_ceil(local[index])),
            ..self
        }
    }

    /// The global id of a work-item of a group.
    pub(crate) fn global_id(&self, group: Group, local_id: [u64; 3]) -> [u64; 3] {
        [0, 1, 2].map(|index| self.offset[index] + group.id[index] * self.local[index] + local_id[index])
    }

    /// The group of a work-item by its global id, and its local id.
    pub(crate) fn find(&self, global_id: [u64; 3]) -> (Group, [u64; 3]) {
        let place = [0, 1, 2].map(|index| global_id[index] - self.offset[index]);
        let [x, y, z] = [0, 1, 2].map(|index| place[index] / self.local[index]);
        let group = self.group((z * self.groups[1] + y) * self.groups[0] + x);
        (group, [0, 1, 2].map(|index| place[index] % self.local[index]))
    }

    /// How many groups there are.
    pub(crate) fn group_count(&self) -> u64 {
        self.groups.iter().product()
    }

    /// A group by its number.
    pub(crate) fn group(&self, number: u64) -> Group {
        let [x, y, _] = self.groups;
        let id = [number % x, number / x % y, number / x / y];
        let start = [0, 1, 2].map(|index| id[index] * self.local[index]);
        let size = [0, 1, 2].map(|index| self.local[index].min(self.global[index] - start[index]));
        Group { id, size }
    }
}

/// The size of work-groups that the device chooses where the caller leaves it open and the kernel may see it: the largest
/// that divide the range evenly, so that each thread has a few.
pub fn suggested_local_size(global: [u64; 3]) -> [u64; 3] {
    let room = fair_share(global).clamp(PREFERRED_WORK_GROUP_SIZE, LARGEST_SEEN);
    divisors(&global, room)
}

/// Work-items of a group if each thread has a few groups. The range is not checked yet, and may be larger than any.
pub(crate) fn fair_share(global: [u64; 3]) -> u64 {
    let total = global.into_iter().fold(1, u64::saturating_mul);
    total / (pool::threads() as u64 * ROWS)
}

/// The largest divisor of each dimension that so many work-items have room for.
fn divisors(global: &[u64; 3], mut room: u64) -> [u64; 3] {
    global.map(|size| {
        // As many looks as there is room for, however long the range is.
        let divisor = (1..=room.min(size))
            .rev()
            .find(|divisor| size.is_multiple_of(*divisor))
            .unwrap_or(1);
        room /= divisor;
        divisor
    })
}

/// A work-group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: [u64; 3],
    /// Work-items in each dimension: fewer than asked for at the end of a range.
    pub(crate) size: [u64; 3],
}

impl Group {
    pub(crate) fn count(&self) -> u64 {
        self.size.iter().product()
    }

    /// The local id of a work-item by its number in the group.
    pub(crate) fn local_id(&self, number: u64) -> [u64; 3] {
        let [x, y, _] = self.size;
        [number % x, number / x % y, number / x / y]
    }

    /// The number of a work-item by its local id, if there is one.
    pub(crate) fn number(&self, local_id: [u64; 3]) -> Option<u64> {
        let inside = (0..3).all(|index| local_id[index] < self.size[index]);
        inside.then(|| (local_id[2] * self.size[1] + local_id[1]) * self.size[0] + local_id[0])
    }
}

/// A work-item's place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'g> {
    pub(crate) geometry: &'g Geometry,
    pub(crate) group: Group,
    pub(crate) local_id: [u64; 3],
    /// Its number in the group.
    pub(crate) number: u64,
}

impl Place<'_> {
    pub(crate) fn global_id(&self) -> [u64; 3] {
        self.geometry.global_id(self.group, self.local_id)
    }

    /// Its number in its sub-group.
    pub(crate) fn sub_group_local_id(&self) -> u64 {
        self.number % u64::from(self.geometry.sub_group_size)
    }

    /// Work-items of its sub-group.
    pub(crate) fn sub_group_size(&self) -> u64 {
        let size = u64::from(self.geometry.sub_group_size);
        size.min(self.group.count() - self.number / size * size)
    }

    /// Work-items of the largest sub-group of the launch.
    pub(crate) fn sub_group_max_size(&self) -> u64 {
        let whole = self.geometry.local.iter().product();
        u64::from(self.geometry.sub_group_size).min(whole)
    }

    /// The words of a built-in variable.
    pub(crate) fn built_in(&self, built_in: BuiltIn) -> [u64; 4] {
        let Geometry {
            dimensions,
            offset,
            global,
            local,
            groups,
            sub_group_size,
        } = *self.geometry;
        let sub_group_size = u64::from(sub_group_size);
        let vector = |[x, y, z]: [u64; 3]| [x, y, z, 0];
        let scalar = |value: u64| [value, 0, 0, 0];
        let lane = self.sub_group_local_id();
        // Bits of the work-items from `low` up to but not including `high`.
        let mask = |low: u64, high: u64| {
            let below = |end: u64| if end >= 128 { u128::MAX } else { (1 << end) - 1 };
            let bits: u128 = below(high.min(self.sub_group_size())) & !below(low);
            [0, 32, 64, 96].map(|shift| (bits >> shift) as u64 & 0xffff_ffff)
        };
        match built_in {
            BuiltIn::NumWorkgroups => vector(groups),
            BuiltIn::WorkgroupSize => vector(self.group.size),
            BuiltIn::EnqueuedWorkgroupSize => vector(local),
            BuiltIn::WorkgroupId => vector(self.group.id),
            BuiltIn::LocalInvocationId => vector(self.local_id),
            BuiltIn::GlobalInvocationId => vector(self.global_id()),
            BuiltIn::GlobalSize => vector(global),
            BuiltIn::GlobalOffset => vector(offset),
            BuiltIn::LocalInvocationIndex => scalar(self.number),
            BuiltIn::WorkDim => scalar(u64::from(dimensions)),
            BuiltIn::GlobalLinearId => {
                let [x, y, z] = [0, 1, 2].map(|index| self.global_id()[index] - offset[index]);
                scalar((z * global[1] + y) * global[0] + x)
            }
            BuiltIn::SubgroupSize => scalar(self.sub_group_size()),
            BuiltIn::SubgroupMaxSize => scalar(self.sub_group_max_size()),
            BuiltIn::NumSubgroups => scalar(self.group.count().div_ceil(sub_group_size)),
            BuiltIn::NumEnqueuedSubgroups => scalar(local.iter().product::<u64>().div_ceil(sub_group_size)),
            BuiltIn::SubgroupId => scalar(self.number / sub_group_size),
            BuiltIn::SubgroupLocalInvocationId => scalar(lane),
            BuiltIn::SubgroupEqMask => mask(lane, lane + 1),
            BuiltIn::SubgroupGeMask => mask(lane, u64::MAX),
            BuiltIn::SubgroupGtMask => mask(lane + 1, u64::MAX),
            BuiltIn::SubgroupLeMask => mask(0, lane + 1),
            BuiltIn::SubgroupLtMask => mask(0, lane),
            _ => [0; 4],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_sizes_divide_the_range() {
        let choose = |global| divisors(global, 64);
        assert_eq!(choose(&[1 << 20, 1, 1]), [64, 1, 1]);
        assert_eq!(choose(&[100, 1, 1]), [50, 1, 1]);
        assert_eq!(choose(&[97, 64, 1]), [1, 64, 1]);
        assert_eq!(choose(&[8, 8, 8]), [8, 8, 1]);
    }

    #[test]
    fn seen_groups_divide_the_range() {
        assert_eq!(suggested_local_size([1 << 20, 1, 1]), [256, 1, 1]);
        assert_eq!(suggested_local_size([1_000_000, 1, 1]), [250, 1, 1]);
        assert_eq!(suggested_local_size([97, 1 << 16, 1]), [97, 2, 1]);
        // Enough groups for all threads.
        assert_eq!(suggested_local_size([64, 1, 1]), [64, 1, 1]);
        assert_eq!(suggested_local_size([100, 1, 1]), [50, 1, 1]);
        // The range is checked later.
        let local = suggested_local_size([u64::MAX, 2, u64::MAX]);
        assert!(local.iter().product::<u64>() <= LARGEST_SEEN);
    }

    #[test]
    fn last_groups_are_smaller() {
        let range = NdRange {
            dimensions: 2,
            offset: [5, 0, 0],
            global: [10, 3, 1],
            local: Some([4, 2, 1]),
        };
        let geometry = Geometry::new(&range, None, None, 8).unwrap();
        assert_eq!(geometry.group_count(), 6);
        let last = geometry.group(5);
        assert_eq!(
            last,
            Group {
                id: [2, 1, 0],
                size: [2, 1, 1]
            }
        );
        let place = Place {
            geometry: &geometry,
            group: last,
            local_id: [1, 0, 0],
            number: 1,
        };
        assert_eq!(place.global_id(), [14, 2, 0]);
        assert_eq!(geometry.find(place.global_id()), (last, [1, 0, 0]));
        assert_eq!(place.built_in(BuiltIn::GlobalLinearId)[0], 29);
        assert_eq!(place.built_in(BuiltIn::EnqueuedWorkgroupSize), [4, 2, 1, 0]);
        assert_eq!(place.built_in(BuiltIn::SubgroupSize)[0], 2);
        assert_eq!(place.built_in(BuiltIn::SubgroupGeMask), [2, 0, 0, 0]);
    }

    #[test]
    fn bad_ranges_are_refused() {
        let range = NdRange::new([64]);
        assert!(
            Geometry::new(
                &NdRange {
                    dimensions: 4,
                    ..range
                },
                None,
                None,
                8
            )
            .is_err()
        );
        assert!(
            Geometry::new(
                &NdRange {
                    global: [64, 2, 1],
                    ..range
                },
                None,
                None,
                8
            )
            .is_err()
        );
        assert!(
            Geometry::new(
                &NdRange {
                    local: Some([8192, 1, 1]),
                    ..range
                },
                None,
                None,
                8
            )
            .is_err()
        );
        assert!(
            Geometry::new(
                &NdRange {
                    local: Some([0, 1, 1]),
                    ..range
                },
                None,
                None,
                8
            )
            .is_err()
        );
        assert!(
            Geometry::new(
                &NdRange {
                    local: Some([8, 1, 1]),
                    ..range
                },
                Some([16, 1, 1]),
                None,
                8
            )
            .is_err()
        );
        assert!(
            Geometry::new(
                &NdRange {
                    global: [usize::MAX, 1, 1],
                    ..range
                },
                None,
                None,
                8
            )
            .is_err()
        );
    }
}
