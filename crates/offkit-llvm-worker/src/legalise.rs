//! What LLVM 22's SPIR-V back end gets wrong, expressed in IR and SPIR-V that it gets right.
//!
//! | module | holds |
//! |---|---|
//! | `functions` | functions of OpenCL C that are defined here instead of being left to the back end |
//! | `conversions` | of these: conversions between integers |
//! | `relational` | of these: `all` and `any` |
//! | `half_vectors` | of these: `vloada_half3` |
//! | `builder` | what is written before an instruction that it replaces |
//! | `openmp` | pointers to functions, and calling conventions, of OpenMP's regions |
//! | `integers` | integers of 24, 33, … bits |
//! | `vectors` | vectors of 5, 6, 7, … components |
//! | `pointer_arrays` | arrays of pointers in private memory |
//! | `vector_access` | pointers that `vload4` and the like are called with |
//! | `words` | SPIR-V as the back end wrote it |
//! | `composites` | of it: constants with pointers in them |
//! | `variables` | of it: arrays in local memory |
//!
//! Functions are defined before the optimiser runs, so that they are inlined. The rest comes last: the optimiser
//! makes what has to be changed. Constants and variables are changed in what the back end wrote.

mod builder;
mod composites;
mod conversions;
mod functions;
mod half_vectors;
mod integers;
mod openmp;
mod pointer_arrays;
mod relational;
mod variables;
mod vector_access;
mod vectors;
mod words;

pub(crate) use variables::local_sizes;

use std::collections::HashMap;

use crate::Error;
use crate::module::Module;
use crate::passes;

/// Defines functions that the back end gets wrong, and inlines OpenMP's.
///
/// # Errors
///
/// What linking the definitions, or a pass, reports.
pub(crate) fn before_optimisation(module: &mut Module) -> Result<(), Error> {
    openmp::inline(module)?;
    functions::define(module)
}

/// Changes what the back end gets wrong in code that is ready for it.
///
/// # Errors
///
/// What LLVM reports.
pub(crate) fn after_optimisation(module: &mut Module) -> Result<(), Error> {
    integers::widen(module);
    vectors::widen(module);
    // What was replaced is unused now.
    passes::run(module, "function(instsimplify,adce)")?;
    // Last, for these would be simplified away.
    pointer_arrays::address_elements(module);
    vector_access::type_pointers(module);
    module.verify()
}

/// Changes what the back end got wrong in a module of SPIR-V; the sizes are those of [`local_sizes`].
///
/// What is no SPIR-V is left as it is.
pub(crate) fn after_back_end(code: Vec<u8>, sizes: &HashMap<String, u64>) -> Vec<u8> {
    let words: Vec<u32> = (code.as_chunks().0.iter())
        .map(|bytes| u32::from_le_bytes(*bytes))
        .collect();
    let sized = variables::repaired(&words, sizes);
    let repaired = composites::repaired(sized.as_deref().unwrap_or(&words)).or(sized);
    match repaired {
        Some(words) => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        None => code,
    }
}
