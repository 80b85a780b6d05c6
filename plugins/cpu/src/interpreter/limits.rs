//! What the work-items of a launch may use up.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::launch::{Fault, LaunchError};
use crate::sync::OnceLock;

/// Calls that a work-item may have open at once.
pub(super) const DEEPEST_CALL: usize = 4096;

/// Bytes of private memory that a work-item may have, unless many work-items have theirs at once.
const LARGEST_PRIVATE: u64 = 64 << 20;

/// Words of all frames of a work-item, unless many work-items have theirs at once.
const MOST_REGISTERS: u64 = 4 << 20;

/// Bytes of each that the waiting work-items of a group may have together.
const GROUP_BUDGET: u64 = 1 << 30;

/// Steps that are executed between looks at the limits.
const QUANTUM: u64 = 1 << 14;

/// The limits of a launch, and how far it is.
pub(super) struct Limits<'l> {
    max_instructions: Option<u64>,
    pub(super) cancel: Option<&'l AtomicBool>,
    /// When the first step was asked for.
    started: OnceLock<Instant>,
    /// Steps handed out.
    spent: AtomicU64,
    /// Some work-item failed.
    pub(super) stop: AtomicBool,
    /// Bytes of a work-item's private memory.
    pub(super) private: usize,
    /// Words of a work-item's frames.
    pub(super) registers: usize,
}

impl<'l> Limits<'l> {
    /// Limits for groups of which `waiting` work-items exist at once.
    pub(super) fn new(
        max_instructions: Option<u64>,
        cancel: Option<&'l AtomicBool>,
        waiting: u64,
    ) -> Limits<'l> {
        let budget = GROUP_BUDGET / waiting.max(1);
        Limits {
            max_instructions,
            cancel,
            started: OnceLock::new(),
            spent: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            private: LARGEST_PRIVATE.min(budget) as usize,
            registers: MOST_REGISTERS.min(budget / 8) as usize,
        }
    }

    /// More steps to execute, if there are any left.
    pub(super) fn refill(&self) -> Result<u64, Fault> {
        // Only a launch that can be given up has to say how long it ran.
        if self.cancel.is_some() {
            self.started.get_or_init(Instant::now);
        }
        if self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            return Err(Fault::Cancelled);
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(Fault::Stopped);
        }
        let Some(most) = self.max_instructions else {
            return Ok(QUANTUM);
        };
        // Counted when it is handed out: what threads have left when they end is lost, so that the
        // limit is met a little early.
        let spent = self.spent.fetch_add(QUANTUM, Ordering::Relaxed);
        match most.checked_sub(spent) {
            None | Some(0) => Err(Fault::InstructionLimit(most)),
            Some(left) => Ok(left.min(QUANTUM)),
        }
    }

    /// The error of a launch that was cancelled in a work-group.
    pub(super) fn cancelled(&self, kernel: &str, group: [u64; 3]) -> LaunchError {
        LaunchError::Cancelled {
            kernel: kernel.to_owned(),
            after: self.started.get().map(Instant::elapsed).unwrap_or_default(),
            groups: [group; 2],
        }
    }
}
