//! Bounds on what reading a module may cost.

/// What a reader accepts before it gives up.
///
/// The defaults admit every module seen in practice and keep a hostile one from taking the memory of the
/// machine: a parsed module takes roughly ten times the size of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most 32-bit words in a module, header included. Default: 16 Mi (64 MiB).
    pub max_words: usize,
    /// Highest id bound in the header. Default: 4,194,304, just above the universal limit of the specification.
    pub max_id_bound: u32,
    /// Most entry points of one function: each has all of its arguments. Default: 4; no compiler is known to write
    /// more than one.
    pub max_entry_points_per_function: usize,
    /// Most decorations that decoration groups stand for: for each group the number of its decorations times the number
    /// of its targets. Default: 262,144.
    pub max_grouped_decorations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_words: 1 << 24,
            max_id_bound: 1 << 22,
            max_entry_points_per_function: 4,
            max_grouped_decorations: 1 << 18,
        }
    }
}
