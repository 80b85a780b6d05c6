//! Index spaces.

/// The index space of a launch: one work-item for every index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NdRange {
    /// 1, 2 or 3.
    pub dimensions: u32,
    /// The first index of each dimension.
    pub offset: [usize; 3],
    /// The number of indices of each dimension.
    pub global: [usize; 3],
    /// The number of indices of a work-group in each dimension; `None` leaves it to the device.
    pub local: Option<[usize; 3]>,
}

impl NdRange {
    /// The index space of the given sizes, one for each dimension, starting at 0.
    ///
    /// ```
    /// use offkit_pi::NdRange;
    /// let range = NdRange::new([64, 32]).with_local([8, 8]);
    /// assert_eq!((range.dimensions, range.global, range.local), (2, [64, 32, 1], Some([8, 8, 1])));
    /// ```
    pub fn new<const N: usize>(global: [usize; N]) -> NdRange {
        // Seen when the program is compiled; a plugin would refuse it only at the launch.
        const { assert!(N >= 1 && N <= 3, "an index space has one to three dimensions") };
        NdRange {
            dimensions: N as u32,
            offset: [0; 3],
            global: padded(global, 1),
            local: None,
        }
    }

    /// With work-groups of the given size.
    #[must_use]
    pub fn with_local<const N: usize>(self, local: [usize; N]) -> NdRange {
        NdRange {
            local: Some(padded(local, 1)),
            ..self
        }
    }

    /// Starting at the given index.
    #[must_use]
    pub fn with_offset<const N: usize>(self, offset: [usize; N]) -> NdRange {
        NdRange {
            offset: padded(offset, 0),
            ..self
        }
    }
}

fn padded<const N: usize>(sizes: [usize; N], padding: usize) -> [usize; 3] {
    core::array::from_fn(|dimension| sizes.get(dimension).copied().unwrap_or(padding))
}
