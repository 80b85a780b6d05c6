//! How much is kept, and how long.

use std::env;
use std::time::Duration;

/// The environment variable that switches the cache off.
pub const SWITCH_VARIABLE: &str = "OFFKIT_CACHE";

/// The environment variable with how much may be kept, in MiB.
pub const SIZE_VARIABLE: &str = "OFFKIT_CACHE_SIZE";

/// The environment variable with how long something is kept that nobody uses, in days.
pub const AGE_VARIABLE: &str = "OFFKIT_CACHE_DAYS";

/// How much is kept, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// So many bytes at most.
    pub bytes: u64,
    /// So long after it was used last.
    pub age: Duration,
}

const DAY: u64 = 24 * 3600;

impl Default for Limits {
    /// 1 GiB, and 30 days.
    fn default() -> Self {
        Self {
            bytes: 1 << 30,
            age: Duration::from_secs(30 * DAY),
        }
    }
}

impl Limits {
    /// What the variables say, and otherwise the default.
    pub(crate) fn from_environment() -> Self {
        // What is no number counts for nothing: a cache is no reason for a program to fail.
        let number = |name| env::var(name).ok()?.trim().parse::<u64>().ok();
        let usual = Self::default();
        Self {
            bytes: number(SIZE_VARIABLE).map_or(usual.bytes, |size| size.saturating_mul(1 << 20)),
            age: number(AGE_VARIABLE).map_or(usual.age, |days| Duration::from_secs(days.saturating_mul(DAY))),
        }
    }
}

/// Whether the variable has not switched the cache off.
pub(crate) fn is_on() -> bool {
    !env::var(SWITCH_VARIABLE).is_ok_and(|value| ["off", "0", "no"].contains(&value.trim()))
}
