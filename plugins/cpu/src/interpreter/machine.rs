//! The execution of one work-item.

use super::advance::{Exit, advance};
use super::limits::{DEEPEST_CALL, Limits};
use super::space::View;
use super::step::{Function, Slot, Step};
use crate::launch::{Fault, Print};

/// A function call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) function: u32,
    /// Index of the step to execute, or being executed.
    pub(super) step: u32,
    /// First register of the frame.
    pub(super) base: u32,
    /// Private segments that were there before.
    segments: u32,
    /// Where the caller wants the result, in its frame.
    to: Slot,
}

/// A work-item being executed.
#[derive(Debug, Default)]
pub(super) struct WorkItem {
    pub(super) registers: Vec<u64>,
    pub(super) frames: Vec<Frame>,
}

/// How the execution of a work-item stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Finished,
    /// It waits at a collective step.
    Suspended,
}

/// What a work-item needs beside itself.
pub(super) struct Machine<'m> {
    pub(super) functions: &'m [Function],
    pub(super) limits: &'m Limits<'m>,
    pub(super) print: &'m Print<'m>,
    /// Gives the words of a built-in variable.
    pub(super) input: &'m dyn Fn(u32) -> [u64; 4],
    /// The work-item's number in its sub-group, and how many the largest sub-group of the launch has.
    pub(super) lane: u64,
    pub(super) sub_group_max_size: u64,
    /// The number of the errors that functions make.
    pub(super) errors: Option<u64>,
    /// Steps left before the limits are looked at.
    pub(super) fuel: &'m mut u64,
}

impl WorkItem {
    /// Makes the work-item ready to execute a function.
    pub(super) fn start(
        &mut self,
        functions: &[Function],
        function: u32,
        arguments: &[u64],
        limits: &Limits<'_>,
        view: &mut View<'_>,
    ) -> Result<(), Fault> {
        self.frames.clear();
        view.private.truncate(0);
        self.push_frame(functions, function, 0, limits)?;
        let code = &functions[function as usize];
        let mut rest = arguments;
        for (slot, lanes) in &code.parameters {
            let (words, left) = rest.split_at(*lanes as usize);
            self.registers[*slot as usize..][..words.len()].copy_from_slice(words);
            rest = left;
        }
        enter(code, &mut self.registers, limits, view)
    }

    fn push_frame(
        &mut self,
        functions: &[Function],
        function: u32,
        to: Slot,
        limits: &Limits<'_>,
    ) -> Result<(), Fault> {
        let code = &functions[function as usize];
        let base = self.frames.last().map_or(0, |frame| {
            frame.base as usize + functions[frame.function as usize].registers as usize
        });
        let end = base + code.registers as usize;
        if self.frames.len() >= DEEPEST_CALL || end > limits.registers {
            return Err(Fault::CallDepth(self.frames.len()));
        }
        // It never shrinks. A frame finds words of earlier calls in its registers, but values are
        // written before they are read.
        if self.registers.len() < end {
            self.registers.resize(end, 0);
        }
        // Constants are registers of each frame, so that steps need not tell them from values.
        self.registers[base..][..code.constants.len()].copy_from_slice(&code.constants);
        self.frames.push(Frame {
            function,
            step: 0,
            base: base as u32,
            segments: 0,
            to,
        });
        Ok(())
    }

    /// Executes until the end or the next collective step.
    pub(super) fn run(&mut self, machine: &mut Machine<'_>, view: &mut View<'_>) -> Result<Outcome, Fault> {
        let functions = machine.functions;
        while let Some(frame) = self.frames.last_mut() {
            let code = &functions[frame.function as usize];
            let (base, size) = (frame.base as usize, code.registers as usize);
            let mut at = frame.step as usize;
            let exit = advance(
                code,
                &mut at,
                &mut self.registers[base..base + size],
                machine,
                view,
            );
            frame.step = at as u32;
            match exit? {
                Exit::Suspend => return Ok(Outcome::Suspended),
                Exit::Call { function, to } => {
                    // Before the callee's own come: these stay when it returns.
                    let segments = view.private.count() as u32;
                    self.push_frame(functions, function, to, machine.limits)?;
                    let Some(Step::Call { arguments, .. }) = code.steps.get(at) else {
                        continue;
                    };
                    let callee = &functions[function as usize];
                    // The callee's frame begins where the caller's ends.
                    let (caller, registers) = self.registers.split_at_mut(base + size);
                    for (from, (slot, lanes)) in arguments.iter().zip(&callee.parameters) {
                        let words = &caller[base + *from as usize..][..*lanes as usize];
                        registers[*slot as usize..][..words.len()].copy_from_slice(words);
                    }
                    enter(callee, registers, machine.limits, view)?;
                    if let Some(frame) = self.frames.last_mut() {
                        frame.segments = segments;
                    }
                }
                Exit::Return { from, lanes } => {
                    let (segments, to) = (frame.segments, frame.to);
                    view.private.truncate(segments as usize);
                    self.frames.pop();
                    if let Some(caller) = self.frames.last_mut() {
                        let from = base + from as usize;
                        let to = caller.base as usize + to as usize;
                        self.registers.copy_within(from..from + lanes as usize, to);
                        // On from the call.
                        caller.step += 1;
                    }
                }
            }
        }
        Ok(Outcome::Finished)
    }
}

/// Gives a function that is being entered its private memory.
fn enter(
    code: &Function,
    registers: &mut [u64],
    limits: &Limits<'_>,
    view: &mut View<'_>,
) -> Result<(), Fault> {
    let needs = |view: &View<'_>, size: u32| {
        let fits = view.private.size() + size as usize <= limits.private;
        if fits {
            Ok(())
        } else {
            Err(Fault::PrivateMemory(limits.private))
        }
    };
    for (slot, size) in &code.copies {
        needs(view, *size)?;
        // It may be private itself, and private memory moves as it grows.
        let mut bytes = vec![0; *size as usize];
        view.read(registers[*slot as usize], &mut bytes)?;
        registers[*slot as usize] = view.push_private(*size);
        view.write(registers[*slot as usize], &bytes)?;
    }
    for variable in &code.variables {
        needs(view, variable.size)?;
        registers[variable.address as usize] = view.push_private(variable.size);
        if let Some(bytes) = &variable.initializer {
            view.write(registers[variable.address as usize], bytes)?;
        }
    }
    Ok(())
}
