//! A thread's part of a launch: work-groups, one after the other.

use std::cell::Cell;

use super::collective;
use super::launch::Launch;
use super::machine::{Frame, Machine, Outcome, WorkItem};
use super::program::Pass;
use super::space::{Segments, Space, View, segment_address};
use super::step::{CollectiveStep, Step};
use crate::launch::{Fault, Group, LaunchError, Place};
use crate::memory::Hint;
use offkit_kernel::ir::{GroupScope, Leaf, scalar_size};

/// Where a work-item of a group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    Finished,
}

/// What a thread keeps for the next launch: room, and allocations that it has found.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    hints: Vec<Hint>,
    /// The words of all parameters.
    arguments: Vec<u64>,
    local: Segments,
    /// One for each work-item of a group where they wait for each other, else one for all.
    items: Vec<WorkItem>,
    private: Vec<Segments>,
}

/// Bytes of room that are worth keeping.
const WORTH_KEEPING: usize = 16 << 20;

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// Calls a function with what this thread keeps. A launch within a launch, from a function that takes the text of
    /// a printf for one, gets another.
    pub(super) fn with<T>(function: impl FnOnce(&mut Scratch) -> T) -> T {
        // A thread that is about to end has none any more.
        let mut scratch = SCRATCH.try_with(Cell::take).ok().flatten().unwrap_or_default();
        let result = function(&mut scratch);
        scratch.trim();
        _ = SCRATCH.try_with(|place| place.set(Some(scratch)));
        result
    }

    /// Gives back what is not worth keeping.
    fn trim(&mut self) {
        let items = self.items.iter().map(|item| item.registers.capacity() * 8);
        let segments = self.private.iter().chain([&self.local]).map(Segments::room);
        let hints = self.hints.capacity() * size_of::<Hint>();
        if items.chain(segments).chain([hints]).sum::<usize>() > WORTH_KEEPING {
            *self = Scratch::default();
        }
    }
}

/// The state of a thread.
pub(super) struct Worker<'l> {
    launch: &'l Launch<'l>,
    scratch: &'l mut Scratch,
    fuel: u64,
}

impl<'l> Worker<'l> {
    pub(super) fn new(launch: &'l Launch<'l>, scratch: &'l mut Scratch) -> Worker<'l> {
        // Hints of other launches may stay: each holds for one version of memory alone, and no two
        // versions in a process have the same number.
        if scratch.hints.len() < launch.code.sites as usize {
            scratch.hints.resize(launch.code.sites as usize, Hint::default());
        }
        let unwritten = launch.unwritten();
        scratch.local.truncate(0);
        for segments in scratch.private.iter_mut().chain([&mut scratch.local]) {
            segments.set_unwritten(unwritten);
        }
        for (size, _) in launch.segments() {
            scratch.local.push(size);
        }
        scratch.arguments.clear();
        // As segments lie: the program's variables, then memory for arguments, then copies of structs.
        let mut next_local = launch.needs.local_sizes().len();
        let mut next_copy = next_local + launch.arguments.locals().count();
        for (index, pass) in launch.needs.passes.iter().enumerate() {
            let words = launch.arguments.words_from(index);
            let segment = match pass {
                Pass::Words(leaves) => {
                    let word = |leaf: &Leaf| bytes_of(words, leaf.offset, scalar_size(leaf.scalar));
                    scratch.arguments.extend(leaves.iter().map(word));
                    continue;
                }
                Pass::Pointer => {
                    scratch.arguments.extend(words.first());
                    continue;
                }
                Pass::Local => &mut next_local,
                Pass::Copy(_) => &mut next_copy,
            };
            scratch.arguments.push(segment_address(Space::Local, *segment));
            *segment += 1;
        }
        Worker {
            launch,
            scratch,
            // None: the first block asks for some, and so looks at the limits.
            fuel: 0,
        }
    }

    /// Copies the arguments passed by value to where kernels copy them from.
    fn copy_values(&mut self) {
        let mut segment = self.launch.needs.local_sizes().len() + self.launch.arguments.locals().count();
        for (index, pass) in self.launch.needs.passes.iter().enumerate() {
            let Pass::Copy(size) = pass else { continue };
            let words = self.launch.arguments.words_from(index);
            let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
            let address = segment_address(Space::Local, segment);
            if let Some(target) = self.scratch.local.get(address, *size as usize) {
                target
                    .iter_mut()
                    .zip(bytes)
                    .for_each(|(target, byte)| *target = byte);
            }
            segment += 1;
        }
    }

    /// Executes a work-group. The error is empty where only another thread's failure ended it.
    pub(super) fn run_group(&mut self, number: u64) -> Result<(), Option<LaunchError>> {
        let group = self.launch.geometry.group(number);
        let count = group.count() as usize;
        let has_collectives = self.launch.needs.has_collectives;
        // Who waits for nobody is done before the next begins, and leaves its place to that.
        let states = if has_collectives { count } else { 1 };
        let scratch = &mut *self.scratch;
        if scratch.items.len() < states {
            scratch.items.resize_with(states, WorkItem::default);
            let unwritten = self.launch.unwritten();
            scratch.private.resize_with(states, || Segments::new(unwritten));
        }
        // For each group, so that one which reads what it hasn't written finds the same whichever
        // thread runs it. Kernels write to copies of arguments as well.
        scratch.local.clear();
        self.copy_values();
        if has_collectives {
            return self.run_together(group, count);
        }
        for index in 0..count {
            let number = self.launch.turn(index as u64, count as u64) as usize;
            self.run_item(&group, number, 0, true)
                .map_err(|fault| self.error(fault, &group, number, 0))?;
        }
        Ok(())
    }

    fn place(&self, group: &Group, number: usize) -> Place<'l> {
        let number = number as u64;
        Place {
            geometry: self.launch.geometry,
            group: *group,
            local_id: group.local_id(number),
            number,
        }
    }

    fn error(&self, fault: Fault, group: &Group, number: usize, state: usize) -> Option<LaunchError> {
        let frame = self.scratch.items[state].frames.last().copied();
        self.launch.error(
            fault,
            &self.place(group, number),
            frame,
            &self.scratch.private[state],
        )
    }

    /// Starts a work-item or lets it go on.
    fn run_item(
        &mut self,
        group: &Group,
        number: usize,
        state: usize,
        start: bool,
    ) -> Result<Outcome, Fault> {
        let launch = self.launch;
        let place = self.place(group, number);
        let item = &mut self.scratch.items[state];
        let input_bytes = |global| launch.input_bytes(&place, global);
        let mut view = View {
            global: launch.global,
            hints: &mut self.scratch.hints,
            private: &mut self.scratch.private[state],
            local: &mut self.scratch.local,
            input: &input_bytes,
        };
        if start {
            item.start(
                &launch.code.functions,
                launch.function,
                &self.scratch.arguments,
                &launch.limits,
                &mut view,
            )?;
        }
        let mut machine = Machine {
            functions: &launch.code.functions,
            limits: &launch.limits,
            print: launch.print,
            input: &|global| launch.input(&place, global),
            lane: place.sub_group_local_id(),
            sub_group_max_size: place.sub_group_max_size(),
            errors: launch.errors,
            fuel: &mut self.fuel,
        };
        item.run(&mut machine, &mut view)
    }

    /// Executes a group whose work-items wait for each other.
    fn run_together(&mut self, group: Group, count: usize) -> Result<(), Option<LaunchError>> {
        let mut states = vec![State::Ready; count];
        let mut started = false;
        loop {
            for index in 0..count {
                let number = self.launch.turn(index as u64, count as u64) as usize;
                let state = &mut states[number];
                if *state == State::Ready {
                    let outcome = self.run_item(&group, number, number, !started);
                    *state = match outcome.map_err(|fault| self.error(fault, &group, number, number))? {
                        Outcome::Finished => State::Finished,
                        Outcome::Suspended => State::Waiting,
                    };
                }
            }
            started = true;
            if states.iter().all(|state| *state == State::Finished) {
                return Ok(());
            }
            for members in self
                .meeting(&states)
                .map_err(|(fault, number)| self.error(fault, &group, number, number))?
            {
                let first = members[0];
                self.perform(&group, &members)
                    .map_err(|fault| self.error(fault, &group, first, first))?;
                for member in members {
                    states[member] = State::Ready;
                }
            }
        }
    }

    fn perform(&mut self, group: &Group, members: &[usize]) -> Result<(), Fault> {
        let launch = self.launch;
        let Some(step) = self.collective(members[0]) else {
            return Err(Fault::Unreachable);
        };
        let place = self.place(group, members[0]);
        let input_bytes = |global| launch.input_bytes(&place, global);
        let mut view = View {
            global: launch.global,
            hints: &mut self.scratch.hints,
            private: &mut self.scratch.private[members[0]],
            local: &mut self.scratch.local,
            input: &input_bytes,
        };
        let size = match step.collective.scope {
            GroupScope::SubGroup => launch.geometry.sub_group_size as usize,
            GroupScope::WorkGroup => members.len(),
        };
        let mut meeting = collective::Meeting {
            items: &mut self.scratch.items,
            members,
            group,
            size,
            errors: launch.errors,
        };
        // A step that fails leaves all of them at it, where the error finds its line.
        collective::perform(step, &mut meeting, &mut view)?;
        for member in members {
            if let Some(frame) = self.scratch.items[*member].frames.last_mut() {
                frame.step += 1;
            }
        }
        Ok(())
    }

    /// The step that a waiting work-item is at.
    fn collective(&self, number: usize) -> Option<&'l CollectiveStep> {
        let frame = self.scratch.items[number].frames.last()?;
        let function = &self.launch.code.functions[frame.function as usize];
        match function.steps.get(frame.step as usize)? {
            Step::Collective(step) => Some(step),
            _ => None,
        }
    }

    /// Where a waiting work-item is: how deep in calls, and the innermost frame.
    fn position(&self, number: usize) -> (usize, u32, u32) {
        let frames = &self.scratch.items[number].frames;
        let (function, step) = frames
            .last()
            .map_or((0, 0), |Frame { function, step, .. }| (*function, *step));
        (frames.len(), function, step)
    }

    /// The sets of work-items that can go on, now that none can by itself; or who waits in vain.
    fn meeting(&self, states: &[State]) -> Result<Vec<Vec<usize>>, (Fault, usize)> {
        let size = self.launch.geometry.sub_group_size as usize;
        let mut meetings = Vec::new();
        for start in (0..states.len()).step_by(size) {
            let all = start..states.len().min(start + size);
            let scope = |number: usize| self.collective(number).map(|step| step.collective.scope);
            let waits = |number: &usize| {
                states[*number] == State::Waiting && scope(*number) == Some(GroupScope::SubGroup)
            };
            let waiting: Vec<usize> = all.clone().filter(waits).collect();
            if waiting.is_empty() {
                continue;
            }
            let members = self.sub_group_meeting(&waiting, all.len());
            meetings.push(members.ok_or_else(|| (self.divergence(states, waiting[0]), waiting[0]))?);
        }
        // Sub-groups go on first: a work-group meets as a whole, and they may be on the way there.
        if !meetings.is_empty() {
            return Ok(meetings);
        }
        let first = states
            .iter()
            .position(|state| *state == State::Waiting)
            .unwrap_or(0);
        let together =
            |number: usize| states[number] == State::Waiting && self.position(number) == self.position(first);
        if !(0..states.len()).all(together) {
            return Err((self.divergence(states, first), first));
        }
        Ok(vec![(0..states.len()).collect()])
    }

    /// Of the waiting work-items of a sub-group of a size, those that meet: all of them at an operation
    /// that needs all, or those at the earliest operation that doesn't.
    fn sub_group_meeting(&self, waiting: &[usize], size: usize) -> Option<Vec<usize>> {
        let mut positions: Vec<_> = waiting.iter().map(|number| self.position(*number)).collect();
        positions.sort_unstable();
        positions.dedup();
        let at = |position| {
            waiting
                .iter()
                .copied()
                .filter(|number| self.position(*number) == position)
                .collect()
        };
        let candidates = positions.into_iter().map(at).filter(|members: &Vec<usize>| {
            let uniform = self
                .collective(members[0])
                .is_some_and(|step| step.collective.uniform);
            !uniform || members.len() == size
        });
        candidates.reduce(|a, b| if self.is_before(a[0], b[0]) { a } else { b })
    }

    /// Whether a work-item should go on before another so that they may meet again: it is deeper in
    /// calls, or the other's place can be reached from its own and not the other way round.
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.position(a), self.position(b));
        if (a.0, a.1) != (b.0, b.1) {
            return (std::cmp::Reverse(a.0), a.1) < (std::cmp::Reverse(b.0), b.1);
        }
        let function = &self.launch.code.functions[a.1 as usize];
        let (from, to) = (function.block_of(a.2), function.block_of(b.2));
        match (function.reaches(from, to), function.reaches(to, from)) {
            (true, false) => true,
            (false, true) => false,
            _ => a.2 < b.2,
        }
    }

    fn divergence(&self, states: &[State], waiting: usize) -> Fault {
        let step = self.collective(waiting);
        let (what, scope) = step.map_or(("an operation".to_owned(), GroupScope::WorkGroup), |step| {
            (format!("{:?}", step.collective.kind), step.collective.scope)
        });
        let what = what.split([' ', '(']).next().unwrap_or_default().to_lowercase();
        let (scope, range) = match scope {
            GroupScope::WorkGroup => ("group", 0..states.len()),
            GroupScope::SubGroup => {
                let size = self.launch.geometry.sub_group_size as usize;
                let start = waiting / size * size;
                ("sub-group", start..states.len().min(start + size))
            }
        };
        let total = range.len();
        let here = range.clone().filter(|number| {
            states[*number] == State::Waiting && self.position(*number) == self.position(waiting)
        });
        let here = here.count();
        let finished = range.filter(|number| states[*number] == State::Finished).count();
        Fault::Divergence(format!(
            "{what} not reached by all work-items of the {scope}: {here} of {total} wait there, {finished} have finished, {} wait elsewhere",
            total - here - finished
        ))
    }
}

/// A scalar of a size at an offset in words.
fn bytes_of(words: &[u64], offset: u64, size: u64) -> u64 {
    let byte = |at: u64| {
        words
            .get(at as usize / 8)
            .map_or(0, |word| word.to_ne_bytes()[at as usize % 8])
    };
    (0..size)
        .rev()
        .fold(0, |value, at| value << 8 | u64::from(byte(offset + at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_keeps_is_small() {
        let mut scratch = Scratch::default();
        scratch.local.push(WORTH_KEEPING as u32 / 2);
        scratch.trim();
        assert!(scratch.local.room() > 0);
        scratch.local.push(WORTH_KEEPING as u32);
        scratch.trim();
        assert_eq!(scratch.local.room(), 0);
        let too_many = WORTH_KEEPING / size_of::<Hint>() + 1;
        scratch.hints.resize(too_many, Hint::default());
        scratch.trim();
        assert_eq!(scratch.hints.capacity(), 0);
    }
}
