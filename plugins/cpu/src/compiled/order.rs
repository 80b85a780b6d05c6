//! An order for the code of a variant: what is kept is taken, and what isn't is made.
//!
//! There are two tiers. What is made with little effort is there soon, and what is made with more takes its place when it
//! is done; nobody waits for that.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use offkit_cache::{FileId, Key};
use offkit_compile::Variant;
use offkit_llvm::{CompileRequest, Compiled, Effort};

use super::code::{Code, Slot};
use super::kept::{self, Source};
use super::service::{self, Busy, Job, Later, NotMade};
use crate::Program;
use crate::code::wants_lines;
use crate::processor;

/// How long better code can wait. The first results are there by then, and a program that was after no more of them has
/// ended: it does without a process that compiles.
const PATIENCE: Duration = Duration::from_millis(20);

/// What code is ordered of.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) program: Arc<Program>,
    pub(super) source: Arc<Source>,
    pub(super) kernel: String,
    pub(super) variant: Variant,
    /// Work-items of a vector in code that is made at little cost.
    pub(super) light_width: u32,
    pub(super) slots: Weak<[Slot]>,
    /// Which of the slots it is for.
    pub(super) slot: usize,
    /// Whether code that is made at little cost is followed by better code.
    pub(super) is_improved: bool,
    /// Whether it is made once more where the process is lost over it.
    pub(super) has_second_try: bool,
}

impl Order {
    /// Fills the slot: at once if something is kept, or else in some time.
    pub(super) fn place(self) {
        if self.is_improved && self.fill_with_kept(Effort::Full) {
            return;
        }
        // Light code may be all that an earlier process has lived to see: the better is due now.
        match self.fill_with_kept(Effort::Light) {
            true if self.is_improved => self.make(Effort::Full, Instant::now() + PATIENCE),
            true => {}
            false => self.make(Effort::Light, Instant::now()),
        }
    }

    /// Fills the slot with what is kept; whether there was something.
    pub(super) fn fill_with_kept(&self, effort: Effort) -> bool {
        let compiled = self.key(effort).and_then(|key| kept::get(&key));
        let code = compiled.and_then(|compiled| self.load(effort, &compiled).ok());
        code.map(|code| self.fill(effort, Ok(code))).is_some()
    }

    pub(super) fn load(&self, effort: Effort, compiled: &Compiled) -> Result<Code, String> {
        Code::load(compiled, &self.program, self.width(effort))
    }

    /// Work-items of a vector.
    fn width(&self, effort: Effort) -> u32 {
        match effort {
            Effort::Light => self.light_width,
            Effort::Full => self.variant.width,
        }
    }

    fn fill(&self, effort: Effort, code: Result<Code, String>) {
        if let Some(slots) = self.slots.upgrade() {
            slots[self.slot].fill(effort, code);
        }
    }

    /// Has code made at this cost, whatever is kept, by a time: it begins then, or before.
    pub(super) fn make(self, effort: Effort, due: Instant) {
        let job = Job {
            source: Arc::clone(&self.source),
            request: self.request(effort),
            slots: Weak::clone(&self.slots),
            due,
            done: Box::new(move |made| self.done(effort, made)),
        };
        service::submit(job);
    }

    fn done(mut self, effort: Effort, made: Result<(Compiled, Option<&[FileId]>), NotMade>) -> Option<Later> {
        if let Err(NotMade {
            reason,
            is_lost: true,
        }) = &made
            && std::mem::take(&mut self.has_second_try)
        {
            tracing::info!(kernel = self.kernel, reason, "compiled once more");
            self.make(effort, Instant::now());
            return None;
        }
        let busy = Busy::begin();
        let code = made
            .map_err(|failure| failure.reason)
            .and_then(|(compiled, files)| {
                let code = self.load(effort, &compiled)?;
                Ok((code, self.key(effort).zip(files).map(|kept| (kept, compiled))))
            });
        drop(busy);
        // The disk may be slow, and has no locks that a fork would take over.
        let mut entry = None;
        let code = code.map(|(code, kept)| {
            entry = kept.and_then(|((key, files), compiled)| kept::put(&key, &compiled, files));
            code
        });
        let (kernel, variant) = (&self.kernel, self.variant);
        match &code {
            Ok(_) => tracing::debug!(kernel, ?variant, ?effort, "compiled"),
            Err(reason) => tracing::info!(kernel, ?variant, ?effort, reason, "not compiled"),
        }
        let is_better_wanted = self.is_improved && code.is_ok() && effort == Effort::Light;
        let busy = Busy::begin();
        self.fill(effort, code);
        drop(busy);
        if is_better_wanted {
            self.make(Effort::Full, Instant::now() + PATIENCE);
        }
        entry.map(|entry| -> Later { Box::new(|| kept::share(entry)) })
    }

    fn key(&self, effort: Effort) -> Option<Key> {
        kept::key(&self.source, &self.request(effort))
    }

    pub(super) fn request(&self, level: Effort) -> CompileRequest {
        CompileRequest {
            kernel: self.kernel.clone(),
            variant: Variant {
                width: self.width(level),
                ..self.variant
            },
            triple: String::new(),
            processor: processor::name().to_owned(),
            features: String::new(),
            vector_functions: self.source.vector_functions(&self.program).to_vec(),
            level,
            lines: wants_lines(),
        }
    }
}
