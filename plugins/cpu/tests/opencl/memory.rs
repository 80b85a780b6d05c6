//! Address spaces: local and private arrays, program-scope variables, generic pointers, asynchronous
//! copies.

use crate::case::HEADER;
use crate::clang::{self, Options};
use crate::device::{Device, Operand, Outcome};
use crate::element::Element::{self, *};

/// Runs kernel `k` of a source, compiled in all ways and two standards, on 32 items in groups of eight,
/// with a buffer of ints as the result; `more` are the arguments after it.
#[track_caller]
fn check_ints(source: &str, more: &[Operand], expected: impl Fn(i64) -> i64) {
    run_all(source, more, |outcome, how| {
        let results: Vec<i64> = Int
            .decode(&outcome.buffers[0], 1, 1)
            .iter()
            .map(|&word| Int.integer(word) as i64)
            .collect();
        assert_eq!(
            results,
            (0..32).map(&expected).collect::<Vec<_>>(),
            "{how}\n{source}"
        );
    });
}

#[track_caller]
fn run_all(source: &str, more: &[Operand], check: impl Fn(&Outcome, &str)) {
    if !clang::is_available() {
        return;
    }
    for options in Options::all() {
        let how = format!("{options:?}");
        let spirv = clang::compile(&format!("{HEADER}{source}"), options)
            .unwrap_or_else(|error| panic!("{how}: {error}"));
        let device = Device::new(&spirv).unwrap_or_else(|error| panic!("{how}: {error}"));
        let mut operands = vec![Operand::Buffer(vec![0; 32 * 4])];
        operands.extend_from_slice(more);
        let outcome = device
            .run("k", &[32], &[8], &operands)
            .unwrap_or_else(|error| panic!("{how}: {error}"));
        check(&outcome, &how);
    }
}

fn ints(values: impl IntoIterator<Item = i64>) -> Operand {
    let words: Vec<u64> = values
        .into_iter()
        .map(|value| Int.word_of_integer(value.into()))
        .collect();
    Operand::Buffer(Int.encode(&words, 1, 1))
}

#[test]
fn local_memory_is_one_for_each_group() {
    let source = "kernel void k(global int *out) {
        local int shared[8];
        int l = get_local_id(0);
        shared[l] = get_global_id(0);
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = shared[7 - l];
    }";
    check_ints(source, &[], |i| i / 8 * 8 + 7 - i % 8);
}

#[test]
fn local_memory_as_an_argument() {
    let source = "kernel void k(global int *out, local int *first, int factor, local long *second) {
        int l = get_local_id(0);
        first[l] = l * factor;
        second[7 - l] = first[l];
        work_group_barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = second[l] + first[(l + 1) % 8];
    }";
    let more = [
        Operand::Local(32),
        Operand::Value(5_i32.to_le_bytes().to_vec()),
        Operand::Local(64),
    ];
    check_ints(source, &more, |i| (7 - i % 8) * 5 + (i % 8 + 1) % 8 * 5);
}

#[test]
fn barriers_in_loops_and_called_functions() {
    let source = "void step(local int *shared, int l, int n) {
        int value = shared[(l + n) % 8];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[l] += value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    kernel void k(global int *out) {
        local int shared[8];
        int l = get_local_id(0);
        shared[l] = l;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (int n = 1; n < 8; n *= 2) step(shared, l, n);
        out[get_global_id(0)] = shared[l];
    }";
    check_ints(source, &[], |_| 28);
}

#[test]
fn fences() {
    let source = "kernel void k(global int *out) {
        local int shared[8];
        int i = get_global_id(0), l = get_local_id(0);
        shared[l] = i;
        mem_fence(CLK_LOCAL_MEM_FENCE);
        read_mem_fence(CLK_GLOBAL_MEM_FENCE);
        write_mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
        work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
        out[i] = shared[l ^ 1];
    }";
    check_ints(source, &[], |i| i ^ 1);
}

#[test]
fn program_scope_variables() {
    let source = "constant int table[4] = {10, 20, 30, 40};
    constant struct { char c; float f[2]; long l; } mixed = {1, {2.5f, 3.5f}, 1L << 40};
    global int counter = 7;
    global int zeros[8];
    global int *global pointer = &counter;
    constant int *constant middle = &table[2];
    kernel void k(global int *out) {
        static global int calls = 100;
        int i = get_global_id(0);
        out[i] = table[i & 3] + zeros[i & 7] + *pointer + middle[i & 1] + (int)mixed.f[i & 1];
        out[i] += (int)(mixed.l >> 40);
        if (i < 0) calls++;
        out[i] += calls;
    }";
    check_ints(source, &[], |i| {
        (i % 4 + 1) * 10 + 7 + 30 + i % 2 * 10 + 2 + i % 2 + 1 + 100
    });
}

#[test]
fn constant_and_global_arguments() {
    let source = "kernel void k(global int *restrict out, constant int *c, const global int *g,
                                volatile global int *v) {
        int i = get_global_id(0);
        v[i] = g[i] * 2;
        out[i] = c[i & 3] + v[i];
    }";
    let more = [ints([1, 2, 3, 4]), ints((0..32).map(|i| 100 * i)), ints([0; 32])];
    check_ints(source, &more, |i| i % 4 + 1 + 200 * i);
}

#[test]
fn arguments_of_all_kinds() {
    let source = "typedef struct { char c; int i; float4 v; struct { short s[3]; } in; } S;
    kernel void k(global int *out, char c, uchar uc, short s, ushort us, int n, uint un, long l, ulong ul,
                  float f, double d, half h, int3 v3, char16 v16, S st, global int *null) {
        out[get_global_id(0)] = c + uc + s + us + n + (int)un + (int)(l >> 32) + (int)(ul >> 60) + (int)f
            + (int)d + (int)h + v3.z + v16.sf + st.c + st.i + (int)st.v.w + st.in.s[2] + (null == 0);
    }";
    let mut structure = vec![0; 48];
    structure[0] = -3_i8 as u8;
    structure[4..8].copy_from_slice(&70_000_i32.to_le_bytes());
    structure[28..32].copy_from_slice(&9_f32.to_le_bytes());
    structure[36..38].copy_from_slice(&(-11_i16).to_le_bytes());
    let value = |element: Element, value: i128| {
        Operand::Value(element.encode(&[element.word_of_integer(value)], 1, 1))
    };
    let number =
        |element: Element, value: f64| Operand::Value(element.encode(&[element.word_of(value)], 1, 1));
    let more = [
        value(Char, -5),
        value(Uchar, 250),
        value(Short, -300),
        value(Ushort, 65000),
        value(Int, -1_000_000),
        value(Uint, 3),
        value(Long, -7 << 32),
        value(Ulong, 15 << 60),
        number(Float, 1.75),
        number(Double, -2.25),
        number(Half, 1024.0),
        Operand::Value(Int.encode(&[1, 2, 77], 3, 4)),
        Operand::Value((0..16).collect()),
        Operand::Value(structure),
        Operand::Null,
    ];
    let sum =
        -5 + 250 - 300 + 65000 - 1_000_000 + 3 - 7 + 15 + 1 - 2 + 1024 + 77 + 15 - 3 + 70_000 + 9 - 11 + 1;
    check_ints(source, &more, |_| sum);
}

#[test]
fn generic_pointers() {
    let source = "int read(const int *p) { return *p; }
    kernel void k(global int *out, global int *in) {
        local int shared[8];
        int i = get_global_id(0), l = get_local_id(0);
        int mine = 1000 + i;
        shared[l] = 2000 + i;
        barrier(CLK_LOCAL_MEM_FENCE);
        int *p = in + i;
        if (i % 3 == 1) p = shared + l;
        if (i % 3 == 2) p = &mine;
        int kind = (to_global(p) != 0) + 2 * (to_local(p) != 0) + 4 * (to_private(p) != 0);
        out[i] = read(p) + 10000 * kind;
    }";
    check_ints(source, &[ints(0..32)], |i| {
        i + 1000 * [0, 2, 1][i as usize % 3] + 10000 * [1, 2, 4][i as usize % 3]
    });
}

#[test]
fn the_fence_of_a_generic_pointer() {
    let source = "kernel void k(global int *out) {
        local int shared[8];
        int i = get_global_id(0);
        shared[get_local_id(0)] = i;
        int *p = out;
        if (i & 1) p = shared;
        out[i] = get_fence(p) == (i & 1 ? CLK_LOCAL_MEM_FENCE : CLK_GLOBAL_MEM_FENCE);
    }";
    check_ints(source, &[], |_| 1);
}

#[test]
fn pointers_are_numbers_too() {
    let source = "kernel void k(global int *out, global int *in) {
        int i = get_global_id(0);
        global int *p = in + i, *end = in + 32;
        ulong address = (ulong)p;
        global int *q = (global int *)(address + 4 * (31 - 2 * i));
        out[i] = (int)(end - p) + *q + (p < end) + (p == in) * 100 + (p != 0) * 1000 + (int)sizeof(p);
    }";
    check_ints(source, &[ints((0..32).map(|i| i * 10000))], |i| {
        32 - i + (31 - i) * 10000 + 1 + i64::from(i == 0) * 100 + 1000 + 8
    });
}

#[test]
fn indices_that_wrap_between_work_items() {
    // First the even ones are in the array, then the odd ones, and a wrap is between any two of them.
    let source = "kernel void k(global int *out, global int *in) {
        uint even = get_global_id(0) * 0x80000001u, odd = even + 0x80000000u;
        if (even < 32) out[even] = in[even] + 1;
        if (odd < 32) out[odd] = in[odd] + 2;
    }";
    check_ints(source, &[ints((0..32).map(|i| i * 10000))], |i| {
        i * 10000 + [1, 2][i as usize % 2]
    });
}

#[test]
fn private_arrays_and_pointers_to_pointers() {
    let source = "kernel void k(global int *out, global int *in) {
        int i = get_global_id(0);
        int a[16], x = 1, y = 2;
        int *choices[3] = {&x, &y, a};
        for (int j = 0; j < 16; j++) a[j] = in[(i + j) & 31];
        **(choices + (i & 1)) += 5;
        int **which = &choices[i % 3];
        *which += i % 3 == 2 ? 4 : 0;
        for (int n = 1; n < 16; n++)
            for (int j = n; j > 0 && a[j - 1] > a[j]; j--) { int t = a[j]; a[j] = a[j - 1]; a[j - 1] = t; }
        out[i] = a[0] * 100000 + a[i & 15] * 100 + **which + x * 7 + y;
    }";
    let value = |i: i64| i * 7 % 32;
    check_ints(source, &[ints((0..32).map(value))], |i| {
        let mut a: Vec<i64> = (0..16).map(|j| value((i + j) & 31)).collect();
        a.sort_unstable();
        let (x, y) = (if i & 1 == 0 { 6 } else { 1 }, if i & 1 == 1 { 7 } else { 2 });
        let pointed = [x, y, a[4]][i as usize % 3];
        a[0] * 100_000 + a[i as usize & 15] * 100 + pointed + x * 7 + y
    });
}

#[test]
fn structures_are_copied_whole() {
    let source = "struct S { int head; int body[20]; char tail[3]; };
    struct S change(struct S s, int i) { s.body[i & 15] = -1; s.tail[1] = 9; return s; }
    kernel void k(global int *out, global struct S *in) {
        int i = get_global_id(0);
        struct S mine = in[0], other;
        other = change(mine, i);
        local struct S shared;
        if (get_local_id(0) == 0) shared = other;
        barrier(CLK_LOCAL_MEM_FENCE);
        struct S last = shared;
        out[i] = mine.body[i & 15] + 1000 * other.body[i & 15] + other.tail[1] + 10 * last.tail[2]
            + 100 * last.body[i / 8 * 8 & 15] + mine.head;
    }";
    let mut words: Vec<i64> = (0..21).collect();
    words[0] = 500_000;
    words.push(0x0003_0201);
    check_ints(source, &[ints(words)], |i| {
        (i & 15) + 1 - 1000 + 9 + 30 - 100 + 500_000
    });
}

#[test]
fn asynchronous_copies() {
    for element in [Char, Int, Double] {
        for lanes in [1, 3, 4] {
            let name = format!("{}{}", element.name(), crate::case::suffix(lanes));
            let source = format!(
                "kernel void k(global int *ignored, global {name} *out, global const {name} *in) {{
                    local {name} shared[16];
                    size_t group = get_group_id(0);
                    event_t event = async_work_group_copy(shared, in + 8 * group, 8, 0);
                    event = async_work_group_strided_copy(shared + 8, in + group, 4, 2, event);
                    wait_group_events(1, &event);
                    if (get_local_id(0) == 0) shared[3] = shared[9];
                    barrier(CLK_LOCAL_MEM_FENCE);
                    local const {name} *from = shared;
                    event_t first = async_work_group_copy(out + 8 * group, from, 8, 0);
                    event_t second = async_work_group_strided_copy(out + 32 + group, from + 8, 4, 4, 0);
                    wait_group_events(1, &first);
                    wait_group_events(1, &second);
                    prefetch(in, 8);
                }}"
            );
            let stride = lanes.next_power_of_two();
            let values: Vec<u64> = (0..32 * lanes as u64).map(|index| index % 251).collect();
            let input = element.encode(&values, lanes, stride);
            let more = [
                Operand::Buffer(vec![0; 48 * stride * element.size()]),
                Operand::Buffer(input),
            ];
            let mut expected = vec![0; 48 * lanes];
            let mut set = |to: usize, from: usize| {
                let source = values[from * lanes..][..lanes].to_vec();
                expected[to * lanes..][..lanes].copy_from_slice(&source);
            };
            for group in 0..4 {
                (0..8).for_each(|at| set(8 * group + at, 8 * group + at));
                set(8 * group + 3, group + 2);
                (0..4).for_each(|at| set(32 + group + 4 * at, group + 2 * at));
            }
            run_all(&source, &more, |outcome, how| {
                assert_eq!(
                    element.decode(&outcome.buffers[1], lanes, stride),
                    expected,
                    "{name} {how}"
                );
            });
        }
    }
}

#[test]
fn many_bytes_are_copied() {
    let source = "struct S { int numbers[700]; char last; };
    kernel void k(global int *out, global struct S *in, int n) {
        int i = get_global_id(0);
        struct S mine = in[i];
        struct S part;
        for (int at = 0; at < 700; at++) part.numbers[at] = -at;
        part.last = 3;
        __builtin_memcpy(&part, &mine, 4 * ((i + n) % 5));
        out[i] = mine.numbers[i * 20] + part.numbers[2] + part.numbers[4] + part.last + mine.last;
    }";
    let item = |i: i64| (0..701).map(move |at| if at < 700 { i * 1000 + at } else { 5 });
    let more = [
        ints((0..32).flat_map(item)),
        Operand::Value(3_i32.to_le_bytes().to_vec()),
    ];
    check_ints(source, &more, |i| {
        let copied = (i + 3) % 5;
        let part = if copied > 2 { i * 1000 + 2 } else { -2 };
        i * 1000 + i * 20 + part - 4 + 3 + 5
    });
}

#[test]
fn loops_that_fill_and_copy_memory() {
    // LLVM makes calls of a C library of such loops, where there is one.
    let source = "kernel void k(global int *out, global int *restrict filled, global const int *restrict from, int n) {
        int i = get_global_id(0);
        for (int at = 0; at < n; at++) filled[at] = 0;
        for (int at = 0; at < n; at++) filled[n + at] = from[at];
        out[i] = i + filled[i] + filled[n + i];
    }";
    let more = [
        ints((0..200).map(|at| at + 1)),
        ints((0..100).map(|at| at * 3)),
        Operand::Value(100_i32.to_le_bytes().to_vec()),
    ];
    check_ints(source, &more, |i| i * 4);
}

#[test]
fn much_private_memory() {
    // More than vectors are made for, and more than what is near a core.
    for size in [20_000, 300_000] {
        let source = format!(
            "kernel void k(global int *out) {{
                int mine[{size}];
                int i = get_global_id(0);
                for (int n = 0; n < {size}; n += 997) mine[n] = n + i;
                int sum = 0;
                for (int n = 0; n < {size}; n += 997 * (i % 3 + 1)) sum += mine[n];
                out[i] = sum;
            }}"
        );
        check_ints(&source, &[], |i| {
            (0..size)
                .step_by(997 * (i as usize % 3 + 1))
                .map(|n| n as i64 + i)
                .sum()
        });
    }
}
