//! What the commands of a queue use, for as long as they may.
//!
//! A plugin need not keep the unified shared memory that its commands are given, so the host does. Each submission that
//! leaves a command under way adds an entry to its queue's list, and takes out those whose commands are done; so do waits,
//! and so does freeing memory that such commands may use.
//! What is left when the queue goes is kept by callbacks, and until then nothing here locks, calls back or, once there is
//! room, allocates.

use super::context::UseOfAny;
use super::event::{is_over, keep};
use super::handle::Owned;
use super::memory::Allocation;
use crate::ffi::*;
use core::ptr::null_mut;
use offkit_sync::{AtomicPtr, Ordering};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a command uses.
#[derive(Debug, Default)]
pub(crate) struct Used {
    pub(crate) allocations: Vec<Arc<Allocation>>,
    /// If it may use others, too.
    pub(crate) any: Option<UseOfAny>,
}

impl Used {
    fn is_empty(&self) -> bool {
        self.allocations.is_empty() && self.any.is_none()
    }

    /// Lets go of it, and keeps the room.
    fn clear(&mut self) {
        self.allocations.clear();
        self.any = None;
    }
}

/// The list of a queue. Who works on it takes it away; who finds none meanwhile begins another, and they become one when
/// they are put back.
#[derive(Debug)]
pub(crate) struct InUse(AtomicPtr<List>);

#[derive(Debug, Default)]
struct List {
    /// Oldest first.
    commands: VecDeque<(Owned<pi_event>, Used)>,
    /// Room that commands had.
    spare: Vec<Used>,
    /// How often the oldest ones alone have been looked at.
    since_sweep: usize,
}

/// How much room is kept for commands to come.
const SPARE: usize = 64;

impl InUse {
    pub(crate) fn new() -> InUse {
        InUse(AtomicPtr::new(null_mut()))
    }

    /// Keeps what `fill_in` names until a command is done that was just submitted.
    pub(crate) fn add(&self, event: &Owned<pi_event>, fill_in: impl FnOnce(&mut Used)) {
        let over = is_over(event);
        let Some(mut list) = self.take().or_else(|| (!over).then(Box::default)) else {
            return;
        };
        list.retire();
        if !over {
            let mut used = list.spare.pop().unwrap_or_default();
            fill_in(&mut used);
            match event.try_clone() {
                _ if used.is_empty() => list.spare.push(used),
                Ok(event) => list.commands.push_back((event, used)),
                // The plugin gives no further references to its events, but it may have callbacks.
                Err(_) => keep(event, used),
            }
        }
        self.put(list);
    }

    /// Lets go of what a command used that is done, and of what is done besides.
    pub(crate) fn done(&self, event: pi_event) {
        let Some(mut list) = self.take() else { return };
        let place = list.commands.iter().position(|(known, _)| known.raw() == event);
        if let Some(done) = place.and_then(|place| list.commands.remove(place)) {
            list.recycle(done);
        }
        list.retire();
        self.put(list);
    }

    /// Lets go of what commands used that are done.
    pub(crate) fn retire(&self) {
        if let Some(mut list) = self.take() {
            list.retire();
            self.put(list);
        }
    }

    /// Calls a function that waits for all commands submitted before, and lets go of what they used.
    pub(crate) fn finish<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let list = self.take();
        // The list was taken before: what others add meanwhile may be of commands that this does not wait for.
        let waited = wait();
        if let Some(mut list) = list {
            if waited.is_ok() {
                while let Some(done) = list.commands.pop_front() {
                    list.recycle(done);
                }
            }
            self.put(list);
        }
        waited
    }

    fn take(&self) -> Option<Box<List>> {
        // Mostly there is no list, and a look costs less than an exchange.
        if self.0.load(Ordering::Relaxed).is_null() {
            return None;
        }
        // With this the list is seen as it was when it was put back: `put` releases it.
        let list = self.0.swap(null_mut(), Ordering::Acquire);
        // SAFETY: it was a box, and only this thread has taken it.
        (!list.is_null()).then(|| unsafe { Box::from_raw(list) })
    }

    fn put(&self, mut list: Box<List>) {
        loop {
            let raw = Box::into_raw(list);
            let put = self
                .0
                .compare_exchange(null_mut(), raw, Ordering::Release, Ordering::Relaxed);
            if put.is_ok() {
                return;
            }
            // SAFETY: made above, and nobody else has seen it.
            list = unsafe { Box::from_raw(raw) };
            if let Some(mut other) = self.take() {
                // The oldest may no longer be first then: the next sweep takes out what is done behind others.
                list.commands.append(&mut other.commands);
                list.spare.append(&mut other.spare);
            }
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        for (event, used) in self.take().into_iter().flat_map(|list| list.commands) {
            keep(&event, used);
        }
    }
}

impl List {
    /// Takes out what is done: the oldest ones; and all, as often as makes little difference, for without an order the
    /// oldest one may take longer than others.
    fn retire(&mut self) {
        while let Some((event, _)) = self.commands.front()
            && is_over(event)
            && let Some(done) = self.commands.pop_front()
        {
            self.recycle(done);
        }
        self.since_sweep += 1;
        // Spread over that many calls, a sweep adds about one look to each.
        if self.since_sweep < self.commands.len() {
            return;
        }
        self.since_sweep = 0;
        for _ in 0..self.commands.len() {
            let Some(command) = self.commands.pop_front() else {
                break;
            };
            match is_over(&command.0) {
                true => self.recycle(command),
                false => self.commands.push_back(command),
            }
        }
    }

    fn recycle(&mut self, (_, mut used): (Owned<pi_event>, Used)) {
        used.clear();
        if self.spare.len() < SPARE {
            self.spare.push(used);
        }
    }
}
