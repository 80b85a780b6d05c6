//! Atomic functions of OpenCL 1.x and of C11: what each does to one value, and that none gets lost.

use crate::case::{Case, HEADER, check, check_using};
use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::element::Element::{self, *};

/// How the two address spaces get a variable of each work-item's own at `p`.
const SPACES: [(&str, &str); 2] = [("global", "out + i"), ("local", "cells + get_local_id(0)")];

/// A function on a value, and the value afterwards.
type Update = (&'static str, fn(i128, i128) -> i128);

const UPDATES: [Update; 8] = [
    ("add", |x, y| x + y),
    ("sub", |x, y| x - y),
    ("xchg", |_, y| y),
    ("min", |x, y| x.min(y)),
    ("max", |x, y| x.max(y)),
    ("and", |x, y| x & y),
    ("or", |x, y| x | y),
    ("xor", |x, y| x ^ y),
];

/// A statement that performs a call on a variable that holds `a`, and adds up the old and the new value
/// such that neither can stand for the other.
fn statement(element: Element, space: (&str, &str), call: &str) -> String {
    let (name, place) = space;
    let cells = if name == "local" {
        format!("local {} cells[96];", element.name())
    } else {
        String::new()
    };
    let kind = element.name();
    format!("{cells} volatile {name} {kind} *p = {place}; *p = a; {kind} old = {call}; r = old * 3 + *p;")
}

#[test]
fn functions_of_opencl_1() {
    for element in [Int, Uint, Long, Ulong] {
        let prefixes = if element.size() == 8 {
            &["atom"][..]
        } else {
            &["atomic", "atom"]
        };
        let mut cases = Vec::new();
        for prefix in prefixes {
            for space in SPACES {
                for (name, update) in UPDATES {
                    let statement = statement(element, space, &format!("{prefix}_{name}(p, b)"));
                    cases.push(Case::of_integers(&statement, element, &[element; 2], |x| {
                        3 * x[0] + update(x[0], x[1])
                    }));
                }
                for (name, step) in [("inc", 1), ("dec", -1)] {
                    let statement = statement(element, space, &format!("{prefix}_{name}(p)"));
                    cases.push(Case::of_integers(&statement, element, &[element], |x| {
                        4 * x[0] + step
                    }));
                }
                let statement = statement(element, space, &format!("{prefix}_cmpxchg(p, i & 1 ? a : b, c)"));
                let mut case = Case::of_integers(&statement, element, &[element; 3], |x| 4 * x[0]);
                for index in 0..case.expected.len() {
                    let [a, b, c] = [0, 1, 2].map(|operand| element.integer(case.inputs[operand][index]));
                    if index % 2 == 1 || a == b {
                        case.expected[index] = element.word_of_integer(3 * a + c);
                    }
                }
                cases.push(case);
            }
        }
        check(&cases, &[1]);
    }
    let exchange: Vec<Case> = SPACES
        .iter()
        .map(|&space| {
            let statement = statement(Float, space, "atomic_xchg(p, b)");
            Case::of_numbers(&statement, Float, &[Float; 2], |x| 3.0 * x[0] + x[1])
                .within(1)
                .only(|x| x.iter().all(|&word| Float.number(word).abs() < 1e4))
        })
        .collect();
    check(&exchange, &[1]);
}

/// A statement as before, on an atomic type.
fn statement_c11(element: Element, space: (&str, &str), call: &str, generic: bool) -> String {
    let (name, place) = space;
    let kind = element.name();
    let cells = if name == "local" {
        format!("local {kind} cells[96];")
    } else {
        String::new()
    };
    let qualifier = if generic { "" } else { name };
    format!(
        "{cells} volatile {qualifier} atomic_{kind} *p = (volatile {name} atomic_{kind} *)({place});
         atomic_store(p, a); {kind} old = {call}; r = old * 3 + atomic_load(p);"
    )
}

/// Arguments of the explicit forms for reading and writing functions.
const EXPLICIT: [&str; 4] = [
    "",
    ", memory_order_relaxed",
    ", memory_order_acq_rel, memory_scope_work_group",
    ", memory_order_seq_cst, memory_scope_all_svm_devices",
];

#[test]
fn functions_of_c11() {
    for element in [Int, Uint, Long, Ulong] {
        let mut cases = Vec::new();
        for space in SPACES {
            for (at, order) in EXPLICIT.into_iter().enumerate() {
                let explicit = if order.is_empty() { "" } else { "_explicit" };
                for (name, update) in UPDATES {
                    let function = if name == "xchg" {
                        "exchange".to_owned()
                    } else {
                        format!("fetch_{name}")
                    };
                    let call = format!("atomic_{function}{explicit}(p, b{order})");
                    let statement = statement_c11(element, space, &call, at % 2 == 0);
                    cases.push(Case::of_integers(&statement, element, &[element; 2], |x| {
                        3 * x[0] + update(x[0], x[1])
                    }));
                }
            }
            for strength in ["strong", "weak"] {
                for order in [
                    "",
                    ", memory_order_acq_rel, memory_order_relaxed, memory_scope_device",
                ] {
                    let explicit = if order.is_empty() { "" } else { "_explicit" };
                    // The old value comes back through the pointer, and the result tells of success.
                    let call = format!(
                        "c; old = atomic_compare_exchange_{strength}{explicit}(p, &old, b{order}) ? 5 : old"
                    );
                    let statement = statement_c11(element, space, &call, false);
                    let case = Case::of_integers(&statement, element, &[element; 3], |x| {
                        if x[0] == x[2] { 15 + x[1] } else { 4 * x[0] }
                    });
                    cases.push(case);
                }
            }
        }
        check(&cases, &[1]);
    }
}

#[test]
fn floats_are_stored_loaded_and_exchanged() {
    for element in [Float, Double] {
        let kind = element.name();
        let pointer =
            format!("volatile global atomic_{kind} *p = (volatile global atomic_{kind} *)(out + i);");
        let cases = [
            "atomic_init(p, a); r = atomic_load_explicit(p, memory_order_acquire) + 1;",
            "atomic_store_explicit(p, a, memory_order_release, memory_scope_device);
             r = atomic_exchange(p, 0) + 1;",
            "atomic_store(p, 5); T e = 5;
             r = atomic_compare_exchange_strong(p, &e, a) ? *(global T *)p + 1 : 0;",
            "atomic_store(p, 5); T e = 6;
             r = atomic_compare_exchange_strong(p, &e, a) ? 0 : e == 5 ? a + 1 : 2;",
        ]
        .map(|body| {
            let statement = format!("{pointer} {}", body.replace('T', kind));
            Case::of_numbers(&statement, element, &[element], |x| x[0] + 1.0)
                .within(1)
                .only(|x| element.number(x[0]).abs() < 1e4)
        });
        check(&cases, &[1]);
        let minimum = format!(
            "{pointer} atomic_store(p, a); atomic_fetch_min(p, b); atomic_fetch_max_explicit(p, c, memory_order_relaxed);
             r = atomic_load(p);"
        );
        let numbers = |x: &[u64]| {
            x.iter()
                .all(|&word| !element.number(word).is_nan() && element.number(word) != 0.0)
        };
        let case =
            Case::of_numbers(&minimum, element, &[element; 3], |x| x[0].min(x[1]).max(x[2])).only(numbers);
        check(&[case], &[1]);
        let sum = format!(
            "volatile global atomic_{kind} *p = (volatile global atomic_{kind} *)(out + i);
             atomic_store(p, a); {kind} old = atomic_fetch_add(p, b);
             old += atomic_fetch_sub_explicit(p, 1, memory_order_relaxed); r = atomic_load(p) - old;"
        );
        let whole = |step: u64| {
            (0..96)
                .map(|at| element.word_of((at * step % 17) as f64 - 8.0))
                .collect()
        };
        let case = Case::with_inputs(&sum, element, &[element; 2], vec![whole(3), whole(5)], |x| {
            element.word_of(-1.0 - element.number(x[0]))
        });
        check_using(
            &[case],
            &[1],
            &Options::extended("+SPV_EXT_shader_atomic_float_add"),
        );
    }
}

/// Many work-items at one place.
const CONTENTION: &str = "
kernel void k(global int *total, volatile global int *cells, volatile global atomic_ulong *wide,
              global atomic_flag *flag) {
    local atomic_int here;
    int i = get_global_id(0), l = get_local_id(0);
    if (l == 0) atomic_init(&here, 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(cells, 1);
    atomic_max(cells + 1, i);
    atomic_min(cells + 2, -i);
    atomic_or(cells + 3, 1 << (i & 31));
    atomic_xor(cells + 4, i);
    int ticket = atomic_inc(cells + 5);
    atomic_inc(cells + 16 + ticket);
    atomic_fetch_add_explicit(wide, 0x100000001ul, memory_order_relaxed, memory_scope_device);
    if (!atomic_flag_test_and_set_explicit(flag, memory_order_acquire, memory_scope_device))
        atomic_inc(cells + 6);
    // A sum of floats by compare and exchange.
    volatile global atomic_float *sum = (volatile global atomic_float *)(cells + 7);
    float old = atomic_load(sum);
    while (!atomic_compare_exchange_weak(sum, &old, old + 0.5f)) {}
    atomic_fetch_add(&here, l);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) total[get_group_id(0)] = atomic_load(&here);
}";

#[test]
fn no_update_is_lost() {
    if !clang::is_available() {
        return;
    }
    const ITEMS: usize = 2048;
    const GROUP: usize = 32;
    for options in Options::all() {
        let device =
            Device::new(&clang::compile(&format!("{HEADER}{CONTENTION}"), options).expect("compiles"))
                .expect("builds");
        let operands = [
            Operand::Buffer(vec![0; ITEMS / GROUP * 4]),
            Operand::Buffer(vec![0; (16 + ITEMS) * 4]),
            Operand::Buffer(vec![0; 8]),
            Operand::Buffer(vec![0; 4]),
        ];
        let outcome = device.run("k", &[ITEMS], &[GROUP], &operands).expect("runs");
        let sums = Int.decode(&outcome.buffers[0], 1, 1);
        assert!(
            sums.iter().all(|&sum| sum == (GROUP * (GROUP - 1) / 2) as u64),
            "{options:?} {sums:?}"
        );
        let cells = Int.decode(&outcome.buffers[1], 1, 1);
        let last = ITEMS as i64 - 1;
        assert_eq!(cells[0], ITEMS as u64, "{options:?}");
        assert_eq!(cells[1], last as u64);
        assert_eq!(Int.integer(cells[2]), i128::from(-last));
        assert_eq!(cells[3], u64::from(u32::MAX));
        assert_eq!(cells[4], 0);
        assert_eq!(cells[5], ITEMS as u64);
        assert_eq!(cells[6], 1);
        assert_eq!(Float.number(cells[7]), ITEMS as f64 / 2.0);
        assert!(
            cells[16..].iter().all(|&count| count == 1),
            "a ticket was drawn twice"
        );
        assert_eq!(outcome.buffers[2], [[0, 8, 0, 0], [0, 8, 0, 0]].concat());
    }
}

/// Some of many work-items at one place, where what they find there tells who came first.
const CLAIMS: &str = "
kernel void k(volatile global int *cells, volatile global int *won) {
    local atomic_int bits, count;
    int i = get_global_id(0), l = get_local_id(0), bit = i & 31, before;
    if (l == 0) { atomic_init(&bits, -1); atomic_init(&count, 0); }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i % 3 != 1) {
        atomic_inc(won + 16 - atomic_dec(cells));
        if (atomic_and(cells + 1, ~(1 << bit)) >> bit & 1) atomic_inc(won);
        if (~atomic_or(cells + 2, 1 << bit) >> bit & 1) atomic_inc(won + 1);
        if (atomic_fetch_and(&bits, ~(1 << (l & 7))) >> (l & 7) & 1) atomic_inc(won + 2);
        if ((before = atomic_max(cells + 3, i)) < i) atomic_add(won + 3, i - before);
        if ((before = atomic_min(cells + 4, -i)) > -i) atomic_sub(won + 4, before + i);
        uint most = atomic_max((volatile global uint *)cells + 5, i);
        if (most < i) atomic_add(won + 5, i - most);
        atomic_add(won + 6, atomic_fetch_add(&count, 3));
    }
}";

#[test]
fn what_is_found_tells_who_came_first() {
    if !clang::is_available() {
        return;
    }
    const ITEMS: usize = 2048;
    const GROUP: usize = 32;
    let takes_part = |item: &usize| item % 3 != 1;
    let most = (0..ITEMS).rev().find(takes_part).unwrap() as i128;
    let sums = (0..ITEMS / GROUP).map(|group| {
        let count = (group * GROUP..(group + 1) * GROUP).filter(takes_part).count();
        3 * count * (count - 1) / 2
    });
    let sums = sums.sum::<usize>() as i128;
    for options in Options::all() {
        let device = Device::new(&clang::compile(&format!("{HEADER}{CLAIMS}"), options).expect("compiles"))
            .expect("builds");
        let operands = [
            // All bits of the second.
            Operand::Buffer([[0; 4], [255; 4], [0; 4], [0; 4], [0; 4], [0; 4]].concat()),
            Operand::Buffer(vec![0; (16 + ITEMS) * 4]),
        ];
        let outcome = device.run("k", &[ITEMS], &[GROUP], &operands).expect("runs");
        let won = Int.decode(&outcome.buffers[1], 1, 1);
        let found: Vec<_> = won[..7].iter().map(|word| Int.integer(*word)).collect();
        let claims = (ITEMS / GROUP * 8) as i128;
        let all = (0..ITEMS).filter(takes_part).count();
        let expected = [32, 32, claims, most, -most, most, sums];
        assert_eq!(found, expected, "{options:?}");
        let tickets = &won[16..];
        assert!(tickets[..all].iter().all(|&count| count == 1), "{options:?}");
        assert!(tickets[all..].iter().all(|&count| count == 0), "{options:?}");
    }
}

#[test]
fn flags_are_cleared() {
    let statement = "volatile global atomic_flag *p = (volatile global atomic_flag *)(out + i);
        atomic_flag_clear(p);
        r = atomic_flag_test_and_set(p);
        r += 2 * atomic_flag_test_and_set(p);
        atomic_flag_clear_explicit(p, memory_order_release);
        r += 4 * atomic_flag_test_and_set_explicit(p, memory_order_acquire);
        r += 8 * a;";
    check(
        &[Case::of_integers(statement, Int, &[Int], |x| 2 + 8 * x[0])],
        &[1],
    );
}
