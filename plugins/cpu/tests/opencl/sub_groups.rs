//! Functions of sub-groups: the uniform ones, and those that work among the items that are just there.

use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::element::Element::*;
use crate::groups::{REDUCTIONS, Test, WIDE_TYPES, check, reduce, reductions};

/// The non-uniform functions need SPIR-V 1.3, so 1.2 is left out.
const SPIRV_1_3: [Options; 2] = [
    Options {
        flags: "-O0",
        ..Options::DEFAULT
    },
    Options::DEFAULT,
];

#[test]
fn sub_group_functions() {
    let mut tests = reductions("sub_group_", 3, &WIDE_TYPES);
    tests.push(Test::new("sub_group_all(a > -4)", Int, Int, |x| {
        vec![f64::from(x.iter().all(|&x| x > -4.0)); x.len()]
    }));
    tests.push(Test::new("sub_group_any(a == 4)", Int, Int, |x| {
        vec![f64::from(x.contains(&4.0)); x.len()]
    }));
    for element in WIDE_TYPES {
        tests.push(Test::new("sub_group_broadcast(a, 1)", element, element, |x| {
            vec![x[1 % x.len()]; x.len()]
        }));
    }
    tests.push(Test::new("get_sub_group_size()", Int, Uint, |x| {
        vec![x.len() as f64; x.len()]
    }));
    let identities = "get_sub_group_size() <= get_max_sub_group_size()
        && get_sub_group_id() < get_num_sub_groups()
        && get_sub_group_local_id() < get_sub_group_size()
        && get_enqueued_num_sub_groups() == get_num_sub_groups()";
    tests.push(Test::new(identities, Int, Int, |x| vec![1.0; x.len()]));
    check(&tests, true, &Options::all());
}

#[test]
fn sub_group_barriers() {
    let source = "kernel void k(global int *out) {
        local int shared[24];
        int l = get_local_id(0), s = get_sub_group_local_id();
        shared[l] = l;
        sub_group_barrier(CLK_LOCAL_MEM_FENCE);
        int next = s + 1 < get_sub_group_size() ? shared[l + 1] : l + 1;
        sub_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_sub_group);
        out[get_global_id(0)] = next;
    }";
    if !clang::is_available() {
        return;
    }
    for options in Options::all() {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        let outcome = device
            .run("k", &[96], &[24], &[Operand::Buffer(vec![0; 96 * 4])])
            .expect("runs");
        for (item, word) in Int.decode(&outcome.buffers[0], 1, 1).into_iter().enumerate() {
            assert_eq!(word, item as u64 % 24 + 1, "{options:?}");
        }
    }
}

#[test]
fn non_uniform_reductions() {
    let elements = [
        Char, Uchar, Short, Ushort, Int, Uint, Long, Ulong, Half, Float, Double,
    ];
    check(
        &reductions("sub_group_non_uniform_", 3, &elements),
        true,
        &[Options::DEFAULT],
    );
    check(
        &reductions("sub_group_non_uniform_", 7, &[Int, Uint]),
        true,
        &SPIRV_1_3,
    );
    let divergent = reductions("sub_group_non_uniform_", 3, &[Int, Float])
        .into_iter()
        .map(Test::divergent);
    check(&divergent.collect::<Vec<_>>(), true, &SPIRV_1_3);
}

#[test]
fn non_uniform_logic() {
    let count = |values: &[f64]| values.iter().filter(|&&x| x > 0.0).count();
    let taking_part = |values: &[f64]| values.iter().filter(|x| !x.is_nan()).count();
    let mut tests = Vec::new();
    for divergent in [false, true] {
        let mut these = vec![
            Test::new(
                "sub_group_non_uniform_reduce_logical_and(a > 0)",
                Int,
                Int,
                move |x| vec![f64::from(count(x) == taking_part(x)); x.len()],
            ),
            Test::new(
                "sub_group_non_uniform_reduce_logical_or(a > 0)",
                Int,
                Int,
                move |x| vec![f64::from(count(x) > 0); x.len()],
            ),
            Test::new(
                "sub_group_non_uniform_reduce_logical_xor(a > 0)",
                Int,
                Int,
                move |x| vec![(count(x) % 2) as f64; x.len()],
            ),
            Test::new(
                "sub_group_non_uniform_scan_inclusive_logical_xor(a > 0)",
                Int,
                Int,
                move |x| (0..x.len()).map(|at| (count(&x[..=at]) % 2) as f64).collect(),
            ),
            Test::new(
                "sub_group_non_uniform_scan_exclusive_logical_or(a > 0)",
                Int,
                Int,
                move |x| (0..x.len()).map(|at| f64::from(count(&x[..at]) > 0)).collect(),
            ),
            Test::new("sub_group_non_uniform_all(a > -4)", Int, Int, |x| {
                vec![f64::from(!x.iter().any(|&x| x <= -4.0)); x.len()]
            }),
            Test::new("sub_group_non_uniform_any(a == 4)", Int, Int, |x| {
                vec![f64::from(x.contains(&4.0)); x.len()]
            }),
            Test::new("sub_group_non_uniform_all_equal(a)", Int, Int, |x| {
                let mut taking_part = x.iter().filter(|x| !x.is_nan());
                let first = taking_part.next();
                vec![f64::from(taking_part.all(|x| Some(x) == first)); x.len()]
            }),
            Test::new("sub_group_elect()", Int, Int, |x| {
                let first = x.iter().position(|x| !x.is_nan());
                (0..x.len()).map(|at| f64::from(Some(at) == first)).collect()
            }),
            Test::new("sub_group_broadcast_first(a)", Int, Int, |x| {
                let first = x.iter().copied().find(|x| !x.is_nan()).unwrap_or_default();
                vec![first; x.len()]
            }),
        ];
        tests.append(&mut match divergent {
            true => these.into_iter().map(Test::divergent).collect(),
            false => std::mem::take(&mut these),
        });
    }
    for element in [Char, Ushort, Long, Half, Double] {
        tests.push(Test::new(
            "sub_group_non_uniform_broadcast(a, 1)",
            element,
            element,
            |x| vec![x[1 % x.len()]; x.len()],
        ));
        tests.push(Test::new("sub_group_broadcast_first(a)", element, element, |x| {
            vec![x[0]; x.len()]
        }));
    }
    check(&tests, true, &SPIRV_1_3);
}

#[test]
fn ballots() {
    let bits = |values: &[f64], holds: fn(f64) -> bool| {
        values
            .iter()
            .enumerate()
            .fold(0_u64, |bits, (at, &x)| bits | u64::from(holds(x)) << at)
    };
    let positive: fn(f64) -> bool = |x| x > 0.0;
    let each = |at: fn(usize, usize) -> u64| {
        move |x: &[f64]| {
            (0..x.len())
                .map(|place| at(place, x.len()) as u32 as f64)
                .collect()
        }
    };
    let tests = vec![
        Test::new("sub_group_ballot(a > 0).x", Int, Uint, move |x| {
            vec![bits(x, positive) as u32 as f64; x.len()]
        }),
        Test::new("sub_group_ballot(a > 0).y", Int, Uint, move |x| {
            vec![(bits(x, positive) >> 32) as f64; x.len()]
        }),
        Test::new("sub_group_ballot(a > 0).x", Int, Uint, move |x| {
            vec![bits(x, positive) as u32 as f64; x.len()]
        })
        .divergent(),
        Test::new(
            "sub_group_ballot_bit_count(sub_group_ballot(a > 0))",
            Int,
            Uint,
            move |x| vec![bits(x, positive).count_ones().into(); x.len()],
        ),
        Test::new(
            "sub_group_ballot_inclusive_scan(sub_group_ballot(a > 0))",
            Int,
            Uint,
            move |x| {
                (0..x.len())
                    .map(|at| bits(&x[..=at], positive).count_ones().into())
                    .collect()
            },
        ),
        Test::new(
            "sub_group_ballot_exclusive_scan(sub_group_ballot(a > 0))",
            Int,
            Uint,
            move |x| {
                (0..x.len())
                    .map(|at| bits(&x[..at], positive).count_ones().into())
                    .collect()
            },
        ),
        Test::new(
            "sub_group_inverse_ballot(sub_group_ballot(a > 0))",
            Int,
            Int,
            |x| x.iter().map(|&x| f64::from(x > 0.0)).collect(),
        ),
        Test::new(
            "sub_group_ballot_bit_extract(sub_group_ballot(a > 0), get_sub_group_local_id())",
            Int,
            Int,
            |x| x.iter().map(|&x| f64::from(x > 0.0)).collect(),
        ),
        // The first and the last item set their bits in any case, so that there is one to find.
        Test::new(
            "sub_group_ballot_find_lsb(
                sub_group_ballot(a > 0 || get_sub_group_local_id() + 1 == get_sub_group_size()))",
            Int,
            Uint,
            |x| vec![x.iter().position(|&x| x > 0.0).unwrap_or(x.len() - 1) as f64; x.len()],
        ),
        Test::new(
            "sub_group_ballot_find_msb(sub_group_ballot(a > 0 || get_sub_group_local_id() == 0))",
            Int,
            Uint,
            |x| vec![x.iter().rposition(|&x| x > 0.0).unwrap_or(0) as f64; x.len()],
        ),
        Test::new("get_sub_group_eq_mask().x", Int, Uint, each(|at, _| 1 << at)),
        Test::new(
            "get_sub_group_lt_mask().x",
            Int,
            Uint,
            each(|at, _| (1 << at) - 1),
        ),
        Test::new(
            "get_sub_group_le_mask().x",
            Int,
            Uint,
            each(|at, _| (2 << at) - 1),
        ),
    ];
    check(&tests, true, &SPIRV_1_3);
}

#[test]
fn shuffles() {
    let mut tests = Vec::new();
    for element in [Char, Ushort, Int, Ulong, Half, Float, Double] {
        tests.push(Test::new(
            "sub_group_shuffle(a, get_sub_group_size() - 1 - get_sub_group_local_id())",
            element,
            element,
            |x| x.iter().rev().copied().collect(),
        ));
        // Partners beyond the end and before the start are undefined: asked for within only.
        let partner = "(get_sub_group_local_id() ^ 1) < get_sub_group_size() ? 1 : 0";
        tests.push(Test::new(
            &format!("sub_group_shuffle_xor(a, {partner})"),
            element,
            element,
            |x| {
                (0..x.len())
                    .map(|at| x[if at ^ 1 < x.len() { at ^ 1 } else { at }])
                    .collect()
            },
        ));
        let up = "sub_group_shuffle_up(a, min(2u, get_sub_group_local_id()))";
        tests.push(Test::new(up, element, element, |x| {
            (0..x.len()).map(|at| x[at - at.min(2)]).collect()
        }));
        let down = "sub_group_shuffle_down(a, min(2u, get_sub_group_size() - 1 - get_sub_group_local_id()))";
        tests.push(Test::new(down, element, element, |x| {
            (0..x.len()).map(|at| x[at + (x.len() - 1 - at).min(2)]).collect()
        }));
    }
    check(&tests, true, &SPIRV_1_3);
}

#[test]
fn rotations() {
    let mut tests = Vec::new();
    for element in [Char, Int, Long, Half, Float] {
        // Only whole sub-groups and clusters rotate: the others ask for no rotation.
        tests.push(Test::new(
            "sub_group_rotate(a, 0)",
            element,
            element,
            <[f64]>::to_vec,
        ));
        tests.push(Test::new("sub_group_rotate(a, 3)", element, element, |x| {
            (0..x.len()).map(|at| x[(at + 3) % x.len()]).collect()
        }));
        tests.push(Test::new(
            "sub_group_clustered_rotate(a, 1, 2)",
            element,
            element,
            |x| (0..x.len()).map(|at| x[at ^ 1]).collect(),
        ));
    }
    check(&tests, true, &Options::extended("+SPV_KHR_subgroup_rotate"));
}

#[test]
fn clustered_reductions() {
    let mut tests = Vec::new();
    for element in [Char, Int, Ulong, Half, Float] {
        for reduction in REDUCTIONS.iter().filter(|reduction| reduction.suits(element)) {
            let call = format!(
                "sub_group_clustered_reduce_{}({}, 4)",
                reduction.name,
                reduction.argument().0
            );
            tests.push(Test::new(&call, element, element, move |x| {
                x.chunks(4)
                    .flat_map(|cluster| vec![reduce(reduction, element, cluster); cluster.len()])
                    .collect()
            }));
        }
    }
    for (name, holds) in [
        ("and", (|n, of| n == of) as fn(usize, usize) -> bool),
        ("or", |n, _| n > 0),
        ("xor", |n, _| n % 2 == 1),
    ] {
        tests.push(Test::new(
            &format!("sub_group_clustered_reduce_logical_{name}(a > 0, 2)"),
            Int,
            Int,
            move |x| {
                x.chunks(2)
                    .flat_map(|cluster| {
                        let count = cluster.iter().filter(|&&x| x > 0.0).count();
                        vec![f64::from(holds(count, cluster.len())); cluster.len()]
                    })
                    .collect()
            },
        ));
    }
    check(&tests, true, &SPIRV_1_3);
}
