//! What code is made for, and why none is.

use serde::{Deserialize, Serialize};

/// What the code of a kernel is made for: launches of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Variant {
    /// Work-items in a vector, a power of two; 1 for scalar code.
    pub width: u32,
    /// Whether the work-items of a vector lie along the first dimension: the local size there is a multiple of the
    /// width, or the others are 1.
    pub rows: bool,
    /// Whether all vectors have all their work-items: the size of every group is a multiple of the width.
    pub full: bool,
    /// Whether all global ids are below [`NARROW_IDS`](Self::NARROW_IDS), so that 32 bits of one are all of it, and no object has
    /// [`LARGE_OBJECT`](Self::LARGE_OBJECT) bytes, so that 32-bit indices that wrap don't lead to the same object.
    pub narrow_ids: bool,
    /// Whether products and sums may be made one operation where the kernel allows it, as OpenCL does.
    pub contract: bool,
    /// Whether accesses are checked before they are made.
    pub check_bounds: bool,
    /// How the groups that the kernel sees lie in those that the code runs.
    pub cut: Cut,
    /// What is allowed of arithmetic beside what the kernel allows.
    pub arithmetic: Arithmetic,
}

/// How the groups that a kernel sees, which doesn't need them to be together, lie in those that its code runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// They are the same.
    #[default]
    AsSeen,
    /// Those that are seen have one work-item each.
    Single,
    /// Those that are seen are all of one size, and lie in others in whatever way. All ids are below 2^31, counted from the
    /// first.
    Merged,
}

/// What whoever builds a program says of its floating-point arithmetic, as by OpenCL's build options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Arithmetic {
    /// The sign of a zero doesn't matter.
    pub no_signed_zeros: bool,
    /// All algebraic rules of real numbers hold: sums in another order, products with reciprocals instead of quotients.
    pub relaxed: bool,
    /// Quotients of single precision are rounded correctly, whatever else is allowed.
    pub exact_quotients: bool,
}

/// Elements that a vector reaches over at most where its 32-bit indices may wrap and keep their stride: enough for the rows of
/// large matrices, and far from the 2^32 after which an index is at the same place again.
pub(crate) const LONGEST_VECTOR: u64 = 1 << 24;

/// How far a constant is from zero at most that may be added to an id without a thought of its end.
pub(crate) const NEAR: u64 = 1 << 20;

impl Variant {
    /// What narrow ids are below: 2^31, but for the constants that kernels add to ids, as to look at what is beside their own.
    pub const NARROW_IDS: u64 = (1 << 31) - NEAR;

    /// Bytes between two elements that a vector reaches on both sides of a wrap of its 32-bit indices, at least: no access
    /// meets both in a smaller object.
    pub const LARGE_OBJECT: u64 = (1 << 32) - LONGEST_VECTOR;

    /// Scalar code for the same launches.
    #[must_use]
    pub fn scalar(self) -> Variant {
        Variant {
            width: 1,
            // A single work-item lies along any dimension, and fills its vector.
            rows: true,
            full: true,
            ..self
        }
    }
}

/// Why a kernel is not compiled: something that the compiler has no code for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);
