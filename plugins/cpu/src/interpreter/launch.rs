//! A launch of an interpreted kernel: what the threads that share its work-groups have in common.

use std::num::NonZero;

use super::decode::Code;
use super::limits::Limits;
use super::program::{Needs, Pass};
use super::report;
use super::worker::{Scratch, Worker};
use crate::kernel::{Claims, TakenBy, share_groups};
use crate::launch::{Arguments, Fault, Geometry, LaunchError, Place, Print};
use crate::memory::Snapshot;
use offkit_kernel::ir::{self, Home, scalar_size};

/// What the threads of a launch share.
pub(super) struct Launch<'l> {
    pub(super) kernel: &'l str,
    pub(super) module: &'l ir::Module,
    pub(super) code: &'l Code,
    /// The kernel's function.
    pub(super) function: u32,
    pub(super) geometry: &'l Geometry,
    pub(super) global: &'l Snapshot,
    pub(super) arguments: &'l Arguments,
    pub(super) needs: &'l Needs,
    pub(super) limits: Limits<'l>,
    pub(super) max_threads: Option<NonZero<usize>>,
    pub(super) print: &'l Print<'l>,
    /// Of the program-scope variables.
    pub(super) addresses: &'l [u64],
    /// What the standard leaves open is done otherwise than usual.
    pub(super) contrary: bool,
    /// The number of the errors that are made.
    pub(super) errors: Option<u64>,
}

/// What a segment of local memory belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Owner {
    /// A program-scope variable.
    Variable(usize),
    /// An argument.
    Argument(usize),
}

impl Launch<'_> {
    /// Runs every work-group.
    pub(super) fn run(&self) -> Result<(), LaunchError> {
        let work = |claims: &mut Claims<'_>| {
            Scratch::with(|scratch| {
                let mut worker = Worker::new(self, scratch);
                while let Some(groups) = claims.next() {
                    for number in groups {
                        let turn = self.turn(number, self.geometry.group_count());
                        if let Err(error) = worker.run_group(turn) {
                            // As it was taken, by turns: what was taken before is run.
                            claims.fail(number, error);
                            return;
                        }
                    }
                }
            });
        };
        let stop = &self.limits.stop;
        let cancelled = |number, _| {
            let group = self.geometry.group(number).id;
            self.limits.cancelled(self.kernel, group)
        };
        share_groups(
            self.geometry.group_count(),
            (1, TakenBy::Order, self.max_threads),
            &self.needs.pace,
            stop,
            self.limits.cancel,
            &cancelled,
            &work,
        )
    }

    /// What each byte of local and private memory is before it is written.
    pub(super) fn unwritten(&self) -> u8 {
        // As numbers of any type, large enough not to get lost in sums.
        if self.contrary { 0x5a } else { 0 }
    }

    /// Whose turn it is, of so many.
    pub(super) fn turn(&self, index: u64, count: u64) -> u64 {
        match self.contrary {
            true => count - 1 - index,
            false => index,
        }
    }

    /// The segments of local memory, by their sizes and what they belong to: the program-scope variables by their
    /// numbers, then the arguments in local memory, then the copies of arguments.
    pub(super) fn segments(&self) -> impl Iterator<Item = (u32, Owner)> {
        let variables = self.needs.local_sizes().enumerate();
        let variables = variables.map(|(index, size)| (size, Owner::Variable(index)));
        let locals = self.arguments.locals();
        let locals = locals.map(|(index, size)| (size, Owner::Argument(index)));
        let copies = self.needs.passes.iter().enumerate();
        let copies = copies.filter_map(|(index, pass)| match pass {
            Pass::Copy(size) => Some((*size, Owner::Argument(index))),
            _ => None,
        });
        variables.chain(locals).chain(copies)
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
