//! A launch: its arguments, its limits, and the threads that share its work-groups.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::decode::Code;
use super::fault::{Fault, LaunchError};
use super::limits::Limits;
use super::print::Print;
use super::range::{Geometry, Place};
use super::report;
use super::worker::Worker;
use crate::memory::Snapshot;
use offkit_kernel::ir::{self, Home, scalar_size};

/// How long the caller works alone. What is done by then was not worth a thread's start.
const ALONE: Duration = Duration::from_micros(100);

/// How many threads a launch may use. Asking the system takes longer than a small launch.
fn thread_count() -> u64 {
    static COUNT: OnceLock<u64> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from) as u64)
}

/// What the threads of a launch share.
pub(super) struct Launch<'l> {
    pub(super) kernel: &'l str,
    pub(super) module: &'l ir::Module,
    pub(super) code: &'l Code,
    /// The kernel's function.
    pub(super) function: u32,
    pub(super) geometry: Geometry,
    pub(super) global: &'l Snapshot,
    /// The words of all parameters.
    pub(super) arguments: Vec<u64>,
    /// The addresses among the arguments, by argument number.
    pub(super) pointers: Vec<(usize, u64)>,
    pub(super) local: LocalLayout,
    /// Work-items have to wait for each other.
    pub(super) has_collectives: bool,
    pub(super) limits: Limits<'l>,
    pub(super) print: &'l Print<'l>,
    /// Of the program-scope variables.
    pub(super) addresses: &'l [u64],
}

/// The segments of local memory.
#[derive(Debug, Default)]
pub(super) struct LocalLayout {
    /// Their sizes.
    pub(super) sizes: Vec<u32>,
    /// What they are, for messages.
    pub(super) owners: Vec<Owner>,
    /// Arguments passed by value, which are kept here until kernels copy them: number and bytes.
    pub(super) values: Vec<(usize, Vec<u8>)>,
}

/// What a segment of local memory belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// A program-scope variable.
    Variable(usize),
    /// An argument.
    Argument(usize),
}

impl LocalLayout {
    pub(super) fn push(&mut self, size: u64, owner: Owner) -> usize {
        self.sizes.push(u32::try_from(size).unwrap_or(u32::MAX));
        self.owners.push(owner);
        self.sizes.len() - 1
    }
}

impl Launch<'_> {
    /// Runs every work-group.
    pub(super) fn run(&self) -> Result<(), LaunchError> {
        let count = self.geometry.group_count();
        let next = AtomicU64::new(0);
        // The failure of the lowest group, whichever thread comes first.
        let failure: Mutex<Option<(u64, LaunchError)>> = Mutex::new(None);
        let work = |until: Option<Instant>| {
            let mut worker = Worker::new(self);
            while !self.limits.stop.load(Ordering::Relaxed)
                && until.is_none_or(|until| Instant::now() < until)
            {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                if let Err(error) = worker.run_group(number) {
                    self.limits.stop.store(true, Ordering::Relaxed);
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(error) = error
                        && failure.as_ref().is_none_or(|(other, _)| number < *other)
                    {
                        *failure = Some((number, error));
                    }
                }
            }
        };
        let threads = thread_count();
        if threads > 1 && count > 1 {
            work(Some(Instant::now() + ALONE));
        }
        let left = count.saturating_sub(next.load(Ordering::Relaxed));
        std::thread::scope(|scope| {
            for _ in 1..threads.min(left) {
                scope.spawn(|| work(None));
            }
            work(None);
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// The name of the program-scope variable at an address.
    pub(super) fn variable_at(&self, address: u64) -> Option<&str> {
        let index = self.addresses.iter().position(|other| *other == address)?;
        self.module.globals.get(index).map(|global| global.name.as_str())
    }

    /// The words of a built-in variable at a place.
    pub(super) fn input(&self, place: &Place<'_>, global: u32) -> [u64; 4] {
        match self.module.globals.get(global as usize).map(|global| global.home) {
            Some(Home::Input(built_in)) => place.built_in(built_in),
            _ => [0; 4],
        }
    }

    /// The bytes of a built-in variable at a place, for kernels that take its address.
    pub(super) fn input_bytes(&self, place: &Place<'_>, global: usize) -> Vec<u8> {
        let Some(variable) = self.module.globals.get(global) else {
            return Vec::new();
        };
        let words = self.input(place, global as u32);
        let size = self.module.types.layout(variable.kind).size as usize;
        let mut bytes = vec![0; size];
        for (leaf, word) in self.module.types.leaves(variable.kind).iter().zip(words) {
            let width = scalar_size(leaf.scalar) as usize;
            if let Some(target) = bytes
                .get_mut(leaf.offset as usize..)
                .and_then(|rest| rest.get_mut(..width))
            {
                target.copy_from_slice(&word.to_le_bytes()[..width]);
            }
        }
        bytes
    }

    /// The error for a fault, or none when another work-item's comes first.
    pub(super) fn error(
        &self,
        fault: Fault,
        place: &Place<'_>,
        frame: Option<super::machine::Frame>,
        private: &super::space::Segments,
    ) -> Option<LaunchError> {
        report::error(self, fault, place, frame, private)
    }
}
