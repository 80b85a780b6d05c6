//! How a device is divided.

use crate::ffi::*;

/// How a device is divided.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition {
    /// Into parts of so many compute units.
    Equally(usize),
    /// Into a part for each number, of so many compute units.
    ByCounts(Vec<usize>),
    /// Into those that share something (OpenCL's bits).
    ByAffinityDomain(u64),
}

impl Partition {
    /// By the next domain that the device can be divided by, be it NUMA or a cache.
    // OpenCL's `CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE`.
    pub const NEXT: Partition = Partition::ByAffinityDomain(1 << 5);

    /// The list of properties that asks for it, with its end; OpenCL's is the same.
    pub fn properties(&self) -> Vec<pi_device_partition_property> {
        match self {
            Partition::Equally(units) => vec![PI_DEVICE_PARTITION_EQUALLY, units.cast_signed(), 0],
            Partition::ByCounts(counts) => {
                let counts = counts.iter().map(|count| count.cast_signed());
                // Two zeros: the counts have an end, and the list has one of its own.
                let end = [PI_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0];
                core::iter::once(PI_DEVICE_PARTITION_BY_COUNTS)
                    .chain(counts)
                    .chain(end)
                    .collect()
            }
            Partition::ByAffinityDomain(domain) => {
                vec![PI_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, *domain as isize, 0]
            }
        }
    }
}
