//! What is lowered.

use offkit_kernel::builtins::convert::Conversion;
use offkit_kernel::builtins::{Scalar, Shape};
use offkit_kernel::ir::{BallotQuery, CollectiveKind as Kind, GroupScope, Operation, Reduction, arithmetic};
use offkit_spirv::grammar::{FPRoundingMode as Rounding, Op, OpenclStd100Op as Cl};

use super::harness::Case;

const INTEGERS: [Scalar; 4] = [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64];
const FLOATS: [Scalar; 3] = [Scalar::F16, Scalar::F32, Scalar::F64];

fn shape(scalar: Scalar, lanes: u32) -> Shape {
    Shape { scalar, lanes }
}

fn one(scalar: Scalar) -> Shape {
    shape(scalar, 1)
}

/// An operation on scalars of one type.
fn elementwise(op: Op, scalar: Scalar) -> Case {
    let arity = arithmetic::resolve(op, scalar).expect("an operation").arity();
    let result = match arithmetic::is_predicate(op) {
        true => Scalar::Bool,
        false => scalar,
    };
    Case::new(Operation::Elementwise(op), &vec![one(scalar); arity], one(result))
}

pub(super) fn of_integers() -> Vec<Case> {
    let ops = [
        Op::IAdd,
        Op::ISub,
        Op::IMul,
        Op::UDiv,
        Op::UMod,
        Op::SDiv,
        Op::SRem,
        Op::SMod,
        Op::SNegate,
        Op::Not,
        Op::BitwiseAnd,
        Op::BitwiseOr,
        Op::BitwiseXor,
        Op::ShiftLeftLogical,
        Op::ShiftRightLogical,
        Op::ShiftRightArithmetic,
        Op::BitReverse,
        Op::BitCount,
        Op::BitFieldInsert,
        Op::BitFieldUExtract,
        Op::BitFieldSExtract,
        Op::IEqual,
        Op::PtrEqual,
        Op::INotEqual,
        Op::PtrNotEqual,
        Op::UGreaterThan,
        Op::UGreaterThanEqual,
        Op::ULessThan,
        Op::ULessThanEqual,
        Op::SGreaterThan,
        Op::SGreaterThanEqual,
        Op::SLessThan,
        Op::SLessThanEqual,
        Op::GroupUMin,
        Op::GroupUMax,
        Op::GroupSMin,
        Op::GroupSMax,
        Op::IAddCarry,
        Op::ISubBorrow,
        Op::UMulExtended,
        Op::SMulExtended,
    ];
    let of_type = |scalar| ops.into_iter().map(move |op| elementwise(op, scalar));
    let mut cases: Vec<_> = INTEGERS.into_iter().flat_map(of_type).collect();
    let logical = [
        Op::LogicalEqual,
        Op::LogicalNotEqual,
        Op::LogicalOr,
        Op::LogicalAnd,
        Op::LogicalNot,
        Op::IEqual,
        Op::INotEqual,
    ];
    cases.extend(logical.map(|op| elementwise(op, Scalar::Bool)));
    // Amounts of another type, and counts in one.
    for scalar in INTEGERS {
        for amount in INTEGERS {
            for op in [
                Op::ShiftLeftLogical,
                Op::ShiftRightLogical,
                Op::ShiftRightArithmetic,
            ] {
                let operands = [one(scalar), one(amount)];
                cases.push(Case::new(Operation::Elementwise(op), &operands, one(scalar)));
            }
            let operands = [one(scalar), one(amount), one(amount)];
            for op in [Op::BitFieldSExtract, Op::BitFieldUExtract] {
                cases.push(Case::new(Operation::Elementwise(op), &operands, one(scalar)));
            }
            let operands = [one(scalar), one(scalar), one(amount), one(amount)];
            cases.push(Case::new(
                Operation::Elementwise(Op::BitFieldInsert),
                &operands,
                one(scalar),
            ));
            cases.push(Case::new(
                Operation::Elementwise(Op::BitCount),
                &[one(scalar)],
                one(amount),
            ));
        }
    }
    cases
}

pub(super) fn of_floats() -> Vec<Case> {
    let ops = [
        Op::FAdd,
        Op::FSub,
        Op::FMul,
        Op::FDiv,
        Op::FNegate,
        Op::IEqual,
        Op::INotEqual,
        Op::FOrdEqual,
        Op::FUnordEqual,
        Op::FOrdNotEqual,
        Op::LessOrGreater,
        Op::FUnordNotEqual,
        Op::FOrdLessThan,
        Op::FUnordLessThan,
        Op::FOrdGreaterThan,
        Op::FUnordGreaterThan,
        Op::FOrdLessThanEqual,
        Op::FUnordLessThanEqual,
        Op::FOrdGreaterThanEqual,
        Op::FUnordGreaterThanEqual,
        Op::Ordered,
        Op::Unordered,
        Op::IsNan,
        Op::IsInf,
        Op::IsFinite,
        Op::IsNormal,
        Op::SignBitSet,
        Op::GroupFMin,
        Op::GroupFMax,
    ];
    let of_type = |scalar| ops.into_iter().map(move |op| elementwise(op, scalar));
    let remainders = [Scalar::F16, Scalar::F32]
        .into_iter()
        .flat_map(|scalar| [Op::FRem, Op::FMod].map(|op| elementwise(op, scalar)));
    FLOATS.into_iter().flat_map(of_type).chain(remainders).collect()
}

/// What double precision needs an instruction for products and sums for.
pub(super) fn with_fused_products() -> Vec<Case> {
    let mut cases = functions(
        &[
            (Cl::fma, 3),
            (Cl::mad, 3),
            (Cl::fmod, 2),
            (Cl::remainder, 2),
            (Cl::remquo, 2),
        ],
        &[Scalar::F64],
        0,
    );
    let three = shape(Scalar::F64, 3);
    cases.push(Case::new(Operation::Extended(Cl::cross), &[three, three], three));
    cases.extend(functions(&[(Cl::mad, 3)], &[Scalar::F16, Scalar::F32], 0));
    cases.extend([Op::FRem, Op::FMod].map(|op| elementwise(op, Scalar::F64)));
    cases
}

pub(super) fn conversions() -> Vec<Case> {
    let kinds = [
        Conversion::FloatToUnsigned,
        Conversion::FloatToSigned,
        Conversion::UnsignedToFloat,
        Conversion::SignedToFloat,
        Conversion::Float,
        Conversion::Unsigned,
        Conversion::Signed,
        Conversion::SaturateToUnsigned,
        Conversion::SaturateToSigned,
        Conversion::QuantizeToHalf,
    ];
    let mut cases = Vec::new();
    let types: Vec<_> = INTEGERS.into_iter().chain(FLOATS).collect();
    for kind in kinds {
        for from in &types {
            for to in types.iter().filter(|to| kind.accepts(*from, **to)) {
                let of_floats = from.is_float() || to.is_float();
                let modes: &[_] = match of_floats {
                    true => &[
                        None,
                        Some(Rounding::RTE),
                        Some(Rounding::RTZ),
                        Some(Rounding::RTP),
                        Some(Rounding::RTN),
                    ],
                    false => &[None],
                };
                for rounding in modes {
                    for saturate in [false, true]
                        .into_iter()
                        .filter(|saturate| !saturate || to.is_integer())
                    {
                        let operation = Operation::Convert {
                            kind,
                            saturate,
                            rounding: *rounding,
                        };
                        cases.push(Case::new(operation, &[one(*from)], one(*to)));
                    }
                }
            }
        }
    }
    cases
}

pub(super) fn lists() -> Vec<Case> {
    let (float, int, truth) = (Scalar::F32, Scalar::I32, Scalar::Bool);
    let mut cases = vec![
        Case::new(
            Operation::Select,
            &[one(truth), one(float), one(float)],
            one(float),
        ),
        Case::new(
            Operation::Select,
            &[one(truth), shape(int, 3), shape(int, 3)],
            shape(int, 3),
        ),
        Case::new(
            Operation::Select,
            &[shape(truth, 4), shape(int, 4), shape(int, 4)],
            shape(int, 4),
        ),
        Case::new(Operation::Fold(Op::FAdd), &[shape(float, 4)], one(float)),
        Case::new(Operation::Fold(Op::LogicalOr), &[shape(truth, 3)], one(truth)),
        Case::new(Operation::Fold(Op::LogicalAnd), &[shape(truth, 2)], one(truth)),
        Case::new(Operation::Extract(1), &[shape(int, 4)], shape(int, 2)),
        Case::new(
            Operation::Insert(2),
            &[shape(int, 4), shape(int, 2)],
            shape(int, 4),
        ),
        Case::new(
            Operation::ExtractDynamic,
            &[shape(float, 4), one(int)],
            one(float),
        ),
        Case::new(
            Operation::ExtractDynamic,
            &[shape(float, 3), one(Scalar::I64)],
            one(float),
        ),
        Case::new(
            Operation::InsertDynamic,
            &[shape(int, 4), one(int), one(Scalar::I8)],
            shape(int, 4),
        ),
        Case::new(Operation::Construct, &[shape(int, 2), one(int)], shape(int, 3)),
        Case::new(
            Operation::Shuffle(vec![Some(3), Some(0), None]),
            &[shape(int, 2), shape(int, 2)],
            shape(int, 3),
        ),
        Case::new(
            Operation::Elementwise(Op::FMul),
            &[shape(float, 4), one(float)],
            shape(float, 4),
        ),
    ];
    for (from, to) in [
        (shape(Scalar::I8, 8), shape(Scalar::I32, 2)),
        (shape(Scalar::I8, 8), shape(Scalar::F64, 1)),
        (shape(Scalar::I64, 2), shape(Scalar::F32, 4)),
        (shape(Scalar::F32, 2), shape(Scalar::F16, 4)),
        (shape(Scalar::F16, 2), shape(Scalar::I32, 1)),
        (shape(Scalar::F32, 3), shape(Scalar::I32, 3)),
        (shape(Scalar::F64, 1), shape(Scalar::I8, 8)),
    ] {
        cases.push(Case::new(Operation::Reinterpret, &[from], to));
    }
    cases
}

fn functions(ops: &[(Cl, usize)], scalars: &[Scalar], tolerance: u64) -> Vec<Case> {
    let of_type = |scalar: &Scalar| {
        let scalar = *scalar;
        ops.iter().map(move |(op, arity)| Case {
            tolerance,
            ..Case::new(Operation::Extended(*op), &vec![one(scalar); *arity], one(scalar))
        })
    };
    scalars.iter().flat_map(of_type).collect()
}

pub(super) fn functions_of_integers() -> Vec<Case> {
    let ops = [
        (Cl::s_abs, 1),
        (Cl::u_abs, 1),
        (Cl::s_abs_diff, 2),
        (Cl::u_abs_diff, 2),
        (Cl::s_add_sat, 2),
        (Cl::u_add_sat, 2),
        (Cl::s_sub_sat, 2),
        (Cl::u_sub_sat, 2),
        (Cl::s_hadd, 2),
        (Cl::u_hadd, 2),
        (Cl::s_rhadd, 2),
        (Cl::u_rhadd, 2),
        (Cl::s_max, 2),
        (Cl::u_max, 2),
        (Cl::s_min, 2),
        (Cl::u_min, 2),
        (Cl::s_clamp, 3),
        (Cl::u_clamp, 3),
        (Cl::s_mul_hi, 2),
        (Cl::u_mul_hi, 2),
        (Cl::s_mad_hi, 3),
        (Cl::u_mad_hi, 3),
        (Cl::s_mad_sat, 3),
        (Cl::u_mad_sat, 3),
        (Cl::s_mul24, 2),
        (Cl::u_mul24, 2),
        (Cl::s_mad24, 3),
        (Cl::u_mad24, 3),
        (Cl::clz, 1),
        (Cl::ctz, 1),
        (Cl::popcount, 1),
        (Cl::rotate, 2),
        (Cl::bitselect, 3),
        (Cl::select, 3),
    ];
    let mut cases = functions(&ops, &INTEGERS, 0);
    for (narrow, wide) in [
        (Scalar::I8, Scalar::I16),
        (Scalar::I16, Scalar::I32),
        (Scalar::I32, Scalar::I64),
    ] {
        for op in [Cl::s_upsample, Cl::u_upsample] {
            cases.push(Case::new(
                Operation::Extended(op),
                &[one(narrow), one(narrow)],
                one(wide),
            ));
        }
    }
    cases
}

pub(super) fn functions_of_reals() -> Vec<Case> {
    let exact = [
        (Cl::fabs, 1),
        (Cl::copysign, 2),
        (Cl::fmin, 2),
        (Cl::fmax, 2),
        (Cl::fmin_common, 2),
        (Cl::fmax_common, 2),
        (Cl::fclamp, 3),
        (Cl::maxmag, 2),
        (Cl::minmag, 2),
        (Cl::step, 2),
        (Cl::sign, 1),
        (Cl::ceil, 1),
        (Cl::floor, 1),
        (Cl::trunc, 1),
        (Cl::rint, 1),
        (Cl::round, 1),
        (Cl::sqrt, 1),
        (Cl::half_sqrt, 1),
        (Cl::native_sqrt, 1),
        (Cl::half_recip, 1),
        (Cl::native_recip, 1),
        (Cl::half_divide, 2),
        (Cl::native_divide, 2),
        (Cl::fdim, 2),
        (Cl::degrees, 1),
        (Cl::radians, 1),
        (Cl::fract, 1),
        (Cl::modf, 1),
        (Cl::frexp, 1),
        (Cl::logb, 1),
        (Cl::nextafter, 2),
        (Cl::bitselect, 3),
    ];
    let mut cases = functions(&exact, &FLOATS, 0);
    let all_but_double = [(Cl::fma, 3), (Cl::fmod, 2), (Cl::remainder, 2), (Cl::remquo, 2)];
    cases.extend(functions(&all_but_double, &[Scalar::F16, Scalar::F32], 0));
    // Next to the zeros of the logarithm the interpreter's own errors are larger than this in double precision.
    let gamma = [(Cl::lgamma, 1), (Cl::lgamma_r, 1), (Cl::tgamma, 1)];
    cases.extend(functions(&gamma, &[Scalar::F16, Scalar::F32], 1));
    cases.extend(functions(
        &[(Cl::rsqrt, 1), (Cl::native_rsqrt, 1), (Cl::half_rsqrt, 1)],
        &FLOATS,
        1,
    ));
    for scalar in FLOATS {
        let integer = match scalar {
            Scalar::F16 => Scalar::I16,
            Scalar::F32 => Scalar::I32,
            _ => Scalar::I64,
        };
        let case = |op, operands: &[Shape], result| Case::new(Operation::Extended(op), operands, result);
        cases.push(case(Cl::nan, &[one(integer)], one(scalar)));
        cases.push(case(Cl::ilogb, &[one(scalar)], one(Scalar::I32)));
        cases.push(case(Cl::ldexp, &[one(scalar), one(Scalar::I32)], one(scalar)));
        cases.push(case(
            Cl::select,
            &[one(scalar), one(scalar), one(integer)],
            one(scalar),
        ));
        let four = shape(scalar, 4);
        cases.push(case(Cl::select, &[four, four, shape(integer, 4)], four));
    }
    cases
}

/// Functions of whole vectors.
pub(super) fn of_vectors() -> Vec<Case> {
    let mut cases = Vec::new();
    for lanes in [2, 3, 4] {
        let (vector, mask) = (shape(Scalar::F32, lanes), shape(Scalar::I32, 4));
        let result = shape(Scalar::F32, 4);
        cases.push(Case::new(
            Operation::Extended(Cl::shuffle),
            &[vector, mask],
            result,
        ));
        cases.push(Case::new(
            Operation::Extended(Cl::shuffle2),
            &[vector, vector, mask],
            result,
        ));
        for scalar in FLOATS {
            let vector = shape(scalar, lanes);
            let bounded = |op, operands: &[Shape], result| Case {
                tolerance: if scalar == Scalar::F64 { 3 } else { 1 },
                ..Case::new(Operation::Extended(op), operands, result)
            };
            cases.push(bounded(Cl::length, &[vector], one(scalar)));
            cases.push(bounded(Cl::distance, &[vector, vector], one(scalar)));
            cases.push(bounded(Cl::normalize, &[vector], vector));
            if lanes > 2 && scalar != Scalar::F64 {
                cases.push(bounded(Cl::cross, &[vector, vector], vector));
            }
        }
    }
    cases
}

/// What the lanes of a vector do together; the first operand is the mask.
pub(super) fn of_sub_groups() -> Vec<Case> {
    let (truth, int) = (one(Scalar::Bool), one(Scalar::I32));
    let case = |kind, operands: &[Shape], result| {
        let operation = Operation::collective(kind, GroupScope::SubGroup, false);
        Case::new(operation, &[&[truth], operands].concat(), result)
    };
    let mut cases = vec![
        case(Kind::All, &[truth], truth),
        case(Kind::Any, &[truth], truth),
        case(Kind::AllEqual, &[truth], truth),
        case(Kind::AllEqual, &[shape(Scalar::I8, 2)], truth),
        case(Kind::Elect, &[], truth),
        case(
            Kind::BroadcastFirst,
            &[shape(Scalar::F64, 2)],
            shape(Scalar::F64, 2),
        ),
        case(Kind::Ballot, &[truth], shape(Scalar::I32, 4)),
        case(Kind::ShuffleDownPair, &[int, int, int], int),
        case(Kind::ShuffleUpPair, &[int, int, int], int),
    ];
    let indexed = [
        Kind::Shuffle,
        Kind::ShuffleXor,
        Kind::ShuffleUp,
        Kind::ShuffleDown,
        Kind::QuadBroadcast,
    ];
    let rotations = [0, 1, 2, 4, 8].map(Kind::Rotate);
    for kind in indexed.into_iter().chain(rotations) {
        for index in [Scalar::I8, Scalar::I32, Scalar::I64] {
            cases.push(case(
                kind,
                &[shape(Scalar::F32, 2), one(index)],
                shape(Scalar::F32, 2),
            ));
            cases.push(case(kind, &[one(Scalar::I64), one(index)], one(Scalar::I64)));
        }
    }
    cases.extend((0..3).map(|direction| case(Kind::QuadSwap(direction), &[int], int)));
    let ops = [
        (Op::IAdd, Scalar::I32),
        (Op::IAdd, Scalar::I64),
        (Op::IMul, Scalar::I16),
        (Op::FAdd, Scalar::F32),
        (Op::FMul, Scalar::F64),
        (Op::GroupFMin, Scalar::F32),
        (Op::GroupFMax, Scalar::F16),
        (Op::GroupSMin, Scalar::I8),
        (Op::GroupSMax, Scalar::I32),
        (Op::GroupUMin, Scalar::I64),
        (Op::GroupUMax, Scalar::I32),
        (Op::BitwiseAnd, Scalar::I32),
        (Op::BitwiseOr, Scalar::I8),
        (Op::BitwiseXor, Scalar::I64),
        (Op::LogicalAnd, Scalar::Bool),
        (Op::LogicalOr, Scalar::Bool),
        (Op::LogicalNotEqual, Scalar::Bool),
    ];
    for (op, scalar) in ops {
        let reduction = Reduction { op, scalar };
        let kinds = [
            Kind::Reduce(reduction),
            Kind::InclusiveScan(reduction),
            Kind::ExclusiveScan(reduction),
        ];
        let clusters = [1, 2, 4, 8, 16].map(|size| Kind::ClusteredReduce(reduction, size));
        for kind in kinds.into_iter().chain(clusters) {
            cases.push(case(kind, &[one(scalar)], one(scalar)));
        }
    }
    cases
}

/// Questions about ballots.
pub(super) fn ballots() -> Vec<Case> {
    let queries = [
        BallotQuery::Inverse,
        BallotQuery::Bit,
        BallotQuery::Count,
        BallotQuery::CountInclusive,
        BallotQuery::CountExclusive,
        BallotQuery::FindLow,
        BallotQuery::FindHigh,
    ];
    let case = |query| {
        let result = match query {
            BallotQuery::Inverse | BallotQuery::Bit => Scalar::Bool,
            _ => Scalar::I32,
        };
        let operands = [shape(Scalar::I32, 4), one(Scalar::I32)];
        Case::new(Operation::Ballot(query), &operands, one(result))
    };
    queries.map(case).to_vec()
}
