//! Lowered operations, executed, against what the interpreter computes.

mod harness;
mod table;
mod together;

use harness::{Case, Processor, check};

fn all_cases() -> Vec<Case> {
    [
        table::of_integers(),
        table::of_floats(),
        table::conversions(),
        table::lists(),
        table::functions_of_integers(),
        table::functions_of_reals(),
        table::of_vectors(),
        table::of_sub_groups(),
        table::ballots(),
    ]
    .concat()
}

#[test]
fn results_are_the_interpreters_on_any_processor() {
    check(Processor::Plain, &all_cases());
}

#[test]
fn results_are_the_interpreters_with_fused_products_and_half_precision() {
    check(
        Processor::Avx2,
        &[all_cases(), table::with_fused_products()].concat(),
    );
}

#[test]
fn results_are_the_interpreters_with_masks() {
    check(
        Processor::Avx512,
        &[all_cases(), table::with_fused_products()].concat(),
    );
}
