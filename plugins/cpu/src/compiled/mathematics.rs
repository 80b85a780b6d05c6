//! Functions of mathematics that compiled code takes from glibc's libmvec.

use std::collections::BTreeSet;

use offkit_compile::math::VectorFunction;
use offkit_kernel::builtins::Scalar;
use offkit_kernel::ir::{Module, Operation};

use crate::native::vectors;
use crate::sync::OnceLock;

/// The environment variable that has compiled kernels do without libmvec if it is 0: then they compute the same wherever they run.
pub const LIBMVEC_VARIABLE: &str = "OFFKIT_CPU_LIBMVEC";

/// The functions of libmvec that kernels of a module call on this machine, by their symbols. It is looked into only for a module
/// that has a use for it.
pub fn vector_functions(module: &Module) -> Vec<String> {
    static IS_ON: OnceLock<bool> = OnceLock::new();
    let is_on = || std::env::var_os(LIBMVEC_VARIABLE).is_none_or(|value| value != "0");
    let Some(registers) = vectors::registers().filter(|_| *IS_ON.get_or_init(is_on)) else {
        return Vec::new();
    };
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    let operations = blocks.flat_map(|block| &block.instructions);
    let functions = operations.flat_map(|instruction| match instruction.operation {
        // Each for the numbers of any of its uses.
        Operation::Extended(op) => {
            [Scalar::F32, Scalar::F64].map(|scalar| VectorFunction::of(op, scalar, registers))
        }
        _ => [None; 2],
    });
    // In order and each once, as they are part of the key that code is kept by.
    let symbols: BTreeSet<String> = functions.flatten().map(VectorFunction::symbol).collect();
    symbols
        .into_iter()
        .filter(|symbol| vectors::address(symbol).is_some())
        .collect()
}
