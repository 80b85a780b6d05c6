//! Lowered operations, executed, against what the interpreter computes.

mod harness;
mod table;
mod together;

use harness::{Case, Processor, check};
use offkit_compile::Arithmetic;
use offkit_kernel::builtins::{Scalar, Shape};
use offkit_kernel::ir::{Attributes, CollectiveKind, FastMath, Operation};
use offkit_spirv::grammar::Op;

use super::{Lanes, Options};
use crate::compile::builder::Builder;
use crate::context::Context;
use crate::module::Module;

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

#[test]
fn results_are_the_interpreters_with_instructions_of_half_precision() {
    check(
        Processor::Avx512Half,
        &[all_cases(), table::with_fused_products()].concat(),
    );
}

#[test]
fn arithmetic_has_the_freedom_that_the_kernel_gives() {
    let fast = FastMath {
        fast: true,
        not_nan: true,
        not_infinite: true,
        ..FastMath::default()
    };
    let strict = Attributes {
        no_contraction: true,
        ..Attributes::default()
    };
    let of_math = |math| Attributes {
        math,
        ..Attributes::default()
    };
    let none = Arithmetic::default();
    let relaxed = Arithmetic {
        relaxed: true,
        ..none
    };
    let no_signed_zeros = Arithmetic {
        no_signed_zeros: true,
        ..none
    };
    let exact_quotients = Arithmetic {
        exact_quotients: true,
        ..relaxed
    };
    let plain = Attributes::default;
    for (op, contract, arithmetic, attributes, expected) in [
        (Op::FMul, false, none, plain(), "fmul float"),
        (Op::FMul, true, none, plain(), "fmul contract float"),
        (Op::FMul, true, none, strict, "fmul float"),
        // Nothing is promised of lanes that take no part.
        (
            Op::FMul,
            false,
            none,
            of_math(fast),
            "fmul reassoc nsz arcp contract afn float",
        ),
        (
            Op::FMul,
            true,
            no_signed_zeros,
            plain(),
            "fmul nsz contract float",
        ),
        (
            Op::FMul,
            true,
            relaxed,
            plain(),
            "fmul reassoc nsz arcp contract afn float",
        ),
        // A kernel that forbids it is not overruled.
        (Op::FMul, true, relaxed, strict, "fmul reassoc nsz arcp afn float"),
        (
            Op::FDiv,
            false,
            relaxed,
            plain(),
            "fdiv reassoc nsz arcp afn float",
        ),
        (Op::FDiv, false, exact_quotients, of_math(fast), "fdiv float"),
    ] {
        let context = Context::new();
        let module = Module::parse_text(&context, "").expect("a module");
        {
            let b = Builder::new(&module);
            let float = b.scalar(Scalar::F32);
            let function = b.function("f", b.function_type(b.void(), &[float]));
            b.at_end(b.block(function, "entry"));
            let options = Options {
                arithmetic,
                ..Options::of("", "x86-64-v3", "", contract)
            };
            let lanes = Lanes::new(&b, options);
            let word = [b.parameter(function, 0)];
            let result = Shape {
                scalar: Scalar::F32,
                lanes: 1,
            };
            let operation = Operation::Elementwise(op);
            let product = lanes.operation(&operation, &attributes, &[&word, &word], result);
            assert!(product.is_some());
            b.return_void();
        }
        let text = String::from_utf8(module.to_text()).expect("text");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn blocks_are_read_and_written_component_by_component() {
    let input: Vec<u8> = (1..=32).collect();
    let mut output = [0; 32];
    harness::run(&input, &mut output, |b, function| {
        let lanes = Lanes::new(b, Options::of("", Processor::Plain.name(), "", false));
        let pointer = |index| [b.broadcast(b.parameter(function, index), Some(4))];
        let shape = Shape {
            scalar: Scalar::I32,
            lanes: 2,
        };
        let all_but_the_first: Vec<_> = [false, true, true, true]
            .map(|holds| b.truth(None, holds))
            .to_vec();
        let mask = Some(b.constants(&all_but_the_first));
        let (from, to) = (pointer(0), pointer(1));
        let read = lanes.collective(CollectiveKind::BlockRead, None, &[&from], shape);
        let read = read.expect("a lowering");
        let written = lanes.collective(CollectiveKind::BlockWrite, mask, &[&to, &read], shape);
        assert_eq!(written, Some(Vec::new()));
    });
    // Of each component the first work-item takes no part.
    let mut expected = input;
    expected[..4].fill(0);
    expected[16..20].fill(0);
    assert_eq!(output[..], expected[..]);
}
