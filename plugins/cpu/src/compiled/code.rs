//! Code for one variant of a kernel, and the slot it comes into.

#![expect(unsafe_code, reason = "an address in loaded code is a function")]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use offkit_llvm::{Compiled, Effort};

use super::{outside, service};
use crate::Program;
use crate::code::Loaded;
use crate::native::GroupFunction;
use crate::sync::OnceLock;

/// Code that runs work-groups, with what it needs from outside.
#[derive(Debug)]
pub(super) struct Code {
    _loaded: Loaded,
    pub(super) function: GroupFunction,
    pub(super) externals: Vec<u64>,
    /// Work-items of a vector.
    width: u32,
    /// Bytes of memory for each vector of a group.
    scratch: u64,
    /// Bytes of memory for each group, in front of those.
    shared: u64,
    /// What is to be known of it, for people.
    pub(super) notes: Vec<String>,
}

/// Where each vector's memory begins at a multiple of.
const VECTOR_ALIGNMENT: u64 = 64;

impl Code {
    /// Loads what was compiled for vectors of so many work-items.
    pub(super) fn load(compiled: &Compiled, program: &Program, width: u32) -> Result<Code, String> {
        let externals = compiled.externals.iter();
        let externals: Result<_, _> = externals.map(|name| outside::address(program, name)).collect();
        let loaded = Loaded::of_object(&compiled.object).map_err(|error| error.to_string())?;
        let symbol = &compiled.symbol;
        let function = loaded.function(symbol);
        let function = function.ok_or_else(|| format!("the compiled code has no function `{symbol}`"))?;
        // SAFETY: the worker says that this function is one that runs work-groups.
        let function = unsafe { std::mem::transmute::<NonNull<u8>, GroupFunction>(function) };
        Ok(Code {
            _loaded: loaded,
            function,
            externals: externals?,
            width,
            scratch: compiled.scratch,
            shared: compiled.shared,
            notes: compiled.notes.clone(),
        })
    }

    /// Bytes of memory that it needs for a group of so many work-items.
    pub(super) fn memory(&self, work_items: u64) -> u64 {
        // The worker's numbers may be any: what overflows is as much as there can be, and refused.
        let vectors = work_items.div_ceil(self.width.into());
        let own = self.scratch.saturating_mul(vectors);
        let shared = self.shared.checked_next_multiple_of(VECTOR_ALIGNMENT);
        shared.unwrap_or(u64::MAX).saturating_add(own)
    }
}

/// The place for the code of a variant, or for the reason why there is none.
// A kernel has one for each of a hundred variants, few of which are ever launched: so the code is elsewhere.
#[derive(Debug, Default)]
pub(super) struct Slot {
    light: OnceLock<Box<Result<Code, String>>>,
    full: OnceLock<Box<Result<Code, String>>>,
    /// The generation of the process that has asked for it; 0 if none has.
    asked: AtomicU64,
}

impl Slot {
    /// The best that there is.
    pub(super) fn get(&self) -> Option<&Result<Code, String>> {
        let [light, full] = [&self.light, &self.full].map(|tier| tier.get().map(Box::as_ref));
        match full {
            Some(Ok(_)) => full,
            // Better code that can't be made leaves the first in its place.
            failed_or_missing => light.or(failed_or_missing),
        }
    }

    /// Whether the caller is the one to ask for the code.
    pub(super) fn is_to_be_asked_for(&self) -> bool {
        // In a forked child nobody answers what the parent has asked for: its generation is
        // another, and asks again.
        let now = service::generation();
        self.asked.swap(now, Ordering::Relaxed) != now
    }

    /// Whether somebody has asked for the code, which is not there yet.
    pub(super) fn is_asked_for(&self) -> bool {
        self.asked.load(Ordering::Relaxed) != 0 && self.get().is_none()
    }

    pub(super) fn fill(&self, effort: Effort, code: Result<Code, String>) {
        let tier = match effort {
            Effort::Light => &self.light,
            Effort::Full => &self.full,
        };
        // Filled already only where a fork came in between: one is as good as the other.
        _ = tier.set(Box::new(code));
    }

    /// Waits until it is filled, and gives what it is filled with; nothing if nobody does that.
    pub(super) fn wait(&self) -> Option<&Result<Code, String>> {
        service::wait(|| self.get().is_some());
        self.get()
    }
}
