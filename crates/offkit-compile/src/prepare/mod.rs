//! Makes one function of a kernel and all that it calls, in which values are values and not memory.
//!
//! ```text
//!  recursion ──▶ inline ──▶ ( control · simplify · sweep · split · promote )* ──▶ reducible ──▶ one function
//! ```
//!
//! Nothing of this is for speed, LLVM does that: it is there so that what is said about values, such as which of them
//! are the same for all work-items, is not lost in private memory and behind calls.

mod arguments;
mod body;
mod collectives;
mod control;
mod emit;
mod evaluate;
mod extensions;
mod inline;
mod inputs;
mod nowhere;
mod promote;
mod recursion;
mod reducible;
mod simplify;
mod split;
mod sweep;
mod unroll;
mod vectors;

use std::borrow::Cow;

use offkit_kernel::ir::Module;

use crate::Refusal;
use body::Body;

// As many as the CPU device's groups have at most.
/// Work-items of a group where nobody says.
const MOST_WORK_ITEMS: u64 = 4096;

/// One round lays open what the next one sees, such as a pointer that was kept in a variable.
const MOST_ROUNDS: usize = 32;

/// A module with the code of a kernel in one function that calls no others, has its private variables as values where
/// it can, and no constants to compute.
///
/// Types, constants, program-scope variables and files keep their numbers; types and constants may be added.
///
/// # Errors
/// [`Refusal`] for functions that are only declared, and code that is too large.
pub fn prepare(module: &Module, kernel: usize) -> Result<Module, Refusal> {
    prepare_for(module, kernel, MOST_WORK_ITEMS)
}

/// The same for a device whose groups have at most so many work-items: what they tell each other needs local memory for
/// each of them.
///
/// # Errors
/// As [`prepare()`].
pub fn prepare_for(module: &Module, kernel: usize, most_work_items: u64) -> Result<Module, Refusal> {
    let function = module.kernels.get(kernel).map(|kernel| kernel.function);
    let module = match function {
        Some(function) => recursion::without(module, function)?,
        None => Cow::Borrowed(module),
    };
    // Each step behind this one asks for what the ones before it leave: null pointers and sizes that are constants,
    // arguments whose uses are all in sight.
    let mut body = inline::inline(&module, kernel)?;
    vectors::lower(&mut body);
    simplify_all(&mut body);
    if nowhere::fail(&mut body) {
        simplify_all(&mut body);
    }
    if arguments::copy_written(&mut body) {
        simplify_all(&mut body);
    }
    if collectives::lower(&mut body, most_work_items) {
        simplify_all(&mut body);
    }
    if reducible::give_headers(&mut body)? {
        simplify_all(&mut body);
    }
    // Last, as nothing before asks for it and shapes do.
    extensions::recognise(&mut body);
    simplify_all(&mut body);
    let prepared = body.finish();
    // A mistake of these steps costs a kernel its speed: it is interpreted, and the log says so.
    let problem = |problem| Refusal(format!("the kernel was not prepared well: {problem}"));
    prepared.verify().map_err(problem)?;
    Ok(prepared)
}

fn simplify_all(body: &mut Body) {
    for _ in 0..MOST_ROUNDS {
        let mut changed = control::straighten(body);
        changed |= inputs::read(body);
        changed |= simplify::simplify(body);
        sweep::sweep(body);
        changed |= split::split(body);
        changed |= promote::promote(body);
        // Only where nothing else is left to do: what is known by then tells how often a loop goes round.
        if !changed && !unroll::unroll(body) {
            break;
        }
    }
    control::straighten(body);
    sweep::sweep(body);
}
