//! Accesses out of bounds: compiled code says of them what the interpreter says.

use std::sync::Arc;

use offkit_plugin_cpu::{
    AllocationKind, Argument, LaunchOptions, Memory, NdRange, Program, TrialOptions, launch_compiled,
};

use crate::clang::{self, Options};
use crate::device::has_worker;

/// What a kernel gets.
#[derive(Clone, Debug)]
enum Given {
    /// A buffer of numbers.
    Numbers(Vec<i32>),
    Null,
    /// Bytes of local memory.
    Local(usize),
    Value(Vec<u8>),
}

use Given::{Local, Null, Numbers, Value};

fn zeros(count: usize) -> Given {
    Numbers(vec![0; count])
}

/// What comes of a kernel `k`, interpreted and compiled in both ways: buffers, or why the launch failed.
fn outcomes(
    source: &str,
    flags: &'static str,
    (global, local): (usize, usize),
    given: &[Given],
) -> Option<[Result<Vec<Vec<u8>>, String>; 3]> {
    if !clang::is_available() || !has_worker() {
        return None;
    }
    let options = Options {
        flags,
        ..Options::DEFAULT
    };
    let spirv = clang::compile(source, options).unwrap();
    let range = NdRange {
        local: Some([local, 1, 1]),
        ..NdRange::new([global])
    };
    Some([None, Some(false), Some(true)].map(|full| {
        let memory = Memory::new();
        let program = Arc::new(Program::build(&spirv, Arc::clone(&memory)).unwrap());
        let mut buffers = Vec::new();
        let arguments = given.iter().map(|given| match given {
            Numbers(numbers) => {
                let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                let address = memory.allocate(bytes.len(), 128, AllocationKind::Buffer).unwrap();
                memory.write(address, &bytes).unwrap();
                buffers.push((address, bytes.len()));
                Argument::Pointer(address)
            }
            Null => Argument::Pointer(0),
            Local(size) => Argument::Local(*size),
            Value(bytes) => Argument::Bytes(bytes.clone()),
        });
        let arguments: Vec<_> = arguments.collect();
        let print = |_: &str| Ok(());
        let options = LaunchOptions {
            print: Some(&print),
            ..LaunchOptions::default()
        };
        let launched = match full {
            None => program.launch("k", &range, &arguments, &options),
            Some(at_full_effort) => {
                let trial = TrialOptions {
                    at_full_effort,
                    contract: true,
                    check_bounds: true,
                };
                let launched = launch_compiled(&program, &spirv, "k", &range, &arguments, &options, trial);
                launched.map(|reason| assert_eq!(reason, None, "interpreted"))
            }
        };
        launched.map_err(|error| error.to_string())?;
        let contents = buffers.into_iter().map(|(address, size)| {
            let mut bytes = vec![0; size];
            memory.read(address, &mut bytes).unwrap();
            bytes
        });
        Ok(contents.collect())
    }))
}

/// A message without addresses: those of memory that a group has for itself are others for the interpreter, and buffers are
/// not always at the same place.
fn without_addresses(message: &str) -> String {
    let mut parts = message.split("0x");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += "0x…";
        text += part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit());
    }
    text
}

/// Runs a kernel that fails, and compares what is said of it.
#[track_caller]
fn fails(source: &str, range: (usize, usize), given: &[Given], expected: &str) {
    fails_with("-O2", source, range, given, expected);
}

#[track_caller]
fn fails_with(flags: &'static str, source: &str, range: (usize, usize), given: &[Given], expected: &str) {
    let Some(outcomes) = outcomes(source, flags, range, given) else {
        return;
    };
    let [interpreted, light, full] = outcomes.map(|outcome| without_addresses(&outcome.unwrap_err()));
    assert!(interpreted.contains(expected), "{interpreted}");
    assert_eq!(light, interpreted, "with few passes");
    assert_eq!(full, interpreted, "with all passes");
}

/// Runs a kernel that does nothing wrong.
#[track_caller]
fn succeeds(source: &str, range: (usize, usize), given: &[Given]) {
    let Some(outcomes) = outcomes(source, "-O2", range, given) else {
        return;
    };
    let [interpreted, light, full] = outcomes.map(Result::unwrap);
    assert!(interpreted.iter().flatten().any(|byte| *byte != 0));
    assert_eq!(light, interpreted, "with few passes");
    assert_eq!(full, interpreted, "with all passes");
}

#[test]
fn reads_past_a_buffer() {
    let source = "kernel void k(global int *out, global const int *in) {
        size_t i = get_global_id(0); out[i] = in[i + 5]; }";
    let given = [zeros(256), zeros(256)];
    fails(
        source,
        (256, 64),
        &given,
        "4 bytes past the buffer of argument 1 of 1024 bytes; work-item [251, 0, 0]",
    );
}

#[test]
fn writes_before_a_buffer() {
    let source = "kernel void k(global int *out) { out[(long)get_global_id(0) - 3] = 7; }";
    fails(
        source,
        (64, 64),
        &[zeros(64)],
        "it starts 12 bytes before the buffer of argument 0",
    );
}

#[test]
fn writes_in_a_tail() {
    let source = "kernel void k(global int *out) { out[get_global_id(0)] = 1; }";
    fails(
        source,
        (100, 50),
        &[zeros(97)],
        "work-item [97, 0, 0] (local id [47, 0, 0]",
    );
}

#[test]
fn reads_a_vector_past_its_end() {
    let source = "kernel void k(global float4 *out) { out[get_global_id(0)] += 1; }";
    // The second half of the last one.
    fails(
        source,
        (64, 64),
        &[zeros(254)],
        "load of 4 bytes at 0x… is out of bounds: it ends 4 bytes past the buffer",
    );
}

#[test]
fn gathers_from_anywhere() {
    let source = "kernel void k(global int *out, global const int *in, global const int *at) {
        size_t i = get_global_id(0); out[i] = in[at[i]]; }";
    let mut indices: Vec<i32> = (0..64).map(|index| index * 7 % 64).collect();
    indices[37] = 1000;
    indices[41] = -1;
    fails(
        source,
        (64, 32),
        &[zeros(64), zeros(64), Numbers(indices)],
        "of 256 bytes; work-item [37, 0, 0]",
    );
}

#[test]
fn indices_that_wrap() {
    let source = "kernel void k(global int *out, uint by) {
        uint i = (uint)get_global_id(0) + by; out[i] = 5; }";
    let by = 0xffff_fff0u32.to_le_bytes().to_vec();
    fails(source, (64, 64), &[zeros(64), Value(by)], "work-item [0, 0, 0]");
}

#[test]
fn null_pointers() {
    let source = "kernel void k(global int *out, global const int *in) {
        size_t i = get_global_id(0); out[i] = in[i]; }";
    fails(
        source,
        (64, 64),
        &[zeros(64), Null],
        "null pointer; work-item [0, 0, 0]",
    );
}

#[test]
fn one_address_for_all() {
    let source = "kernel void k(global int *out) { out[get_group_id(0)] = 1; }";
    fails(
        source,
        (128, 16),
        &[zeros(6)],
        "work-item [96, 0, 0] (local id [0, 0, 0] of work-group [6, 0, 0])",
    );
}

#[test]
fn local_variables_behind_a_barrier() {
    let source = "kernel void k(global int *out) {
        local int other[64], tmp[64];
        size_t l = get_local_id(0);
        other[l] = tmp[l] = l;
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = other[l] + tmp[l + 4]; }";
    fails(
        source,
        (128, 64),
        &[zeros(128)],
        "past local variable `k.tmp` of 256 bytes; work-item [60, 0, 0]",
    );
}

#[test]
fn local_arguments() {
    let source = "kernel void k(global int *out, local int *a, local int *b) {
        size_t l = get_local_id(0);
        b[l] = l;
        a[l * 2] = l;
        barrier(CLK_LOCAL_MEM_FENCE);
        out[get_global_id(0)] = a[0] + b[l]; }";
    fails(
        source,
        (64, 64),
        &[zeros(64), Local(400), Local(256)],
        "store of 4 bytes at 0x… is out of bounds: it ends 4 bytes past local argument 1 of 400 bytes; work-item [50, 0, 0]",
    );
}

#[test]
fn private_arrays() {
    let source = "kernel void k(global int *out, global const int *at) {
        size_t i = get_global_id(0);
        int own[8];
        for (int n = 0; n < 8; ++n) own[n] = at[n] * i;
        out[i] = own[at[i]]; }";
    let mut indices = vec![3; 64];
    indices[21] = 8;
    fails(
        source,
        (64, 64),
        &[zeros(64), Numbers(indices)],
        "it ends 4 bytes past a private variable of 32 bytes; work-item [21, 0, 0]",
    );
}

#[test]
fn structs_by_value() {
    let source = "typedef struct { int numbers[5]; } S;
        kernel void k(global int *out, S s) { size_t i = get_global_id(0); out[i] = s.numbers[i & 7]; }";
    fails(
        source,
        (64, 64),
        &[zeros(64), Value(vec![1; 20])],
        "of 20 bytes; work-item [5, 0, 0]",
    );
}

#[test]
fn atomics() {
    let source = "kernel void k(global int *out) { atomic_add(&out[get_global_id(0) * 3], 2); }";
    fails(
        source,
        (64, 64),
        &[zeros(100)],
        "atomic access of 4 bytes at 0x… is out of bounds: it ends 12 bytes past the buffer of argument 0 of 400 bytes; \
         work-item [34, 0, 0]",
    );
    let misaligned = "kernel void k(global char *out) {
        size_t i = get_global_id(0); atomic_add((volatile global int *)(out + 4 * i + (i == 9)), 2); }";
    fails(
        misaligned,
        (16, 16),
        &[zeros(64)],
        "the address is not a multiple of 4; work-item [9, 0, 0]",
    );
    let local = "kernel void k(global int *out) {
        local int sums[8];
        size_t l = get_local_id(0);
        if (l < 8) sums[l] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_inc(&sums[out[l]]);
        barrier(CLK_LOCAL_MEM_FENCE);
        out[l] = sums[l & 7]; }";
    let mut indices = vec![1; 64];
    indices[50] = 8;
    fails(local, (64, 64), &[Numbers(indices)], "work-item [50, 0, 0]");
}

#[test]
fn copies_of_structs() {
    let source = "typedef struct { int numbers[2000]; } S;
        kernel void k(global S *out, global const S *in) { size_t i = get_global_id(0); out[i] = in[i]; }";
    fails(
        source,
        (4, 4),
        &[zeros(8000), zeros(7999)],
        "load of 8000 bytes at 0x… is out of bounds: it ends 4 bytes past the buffer of argument 1",
    );
}

#[test]
fn loops_that_go_too_far() {
    let source = "kernel void k(global int *out, global const int *in, int count) {
        int sum = 0;
        for (int n = 0; n < count; ++n) sum += in[n];
        for (global const int *p = in; p < in + count; ++p) sum ^= *p;
        out[get_global_id(0)] = sum; }";
    let count = 65i32.to_le_bytes().to_vec();
    fails(
        source,
        (64, 64),
        &[zeros(64), zeros(64), Value(count)],
        "past the buffer of argument 1",
    );
}

#[test]
fn the_source_is_named() {
    let source = "static int get(global const int *in, int i) {
            return in[i + 1];
        }
        kernel void k(global int *out, global const int *in) {
            int i = get_global_id(0);
            out[i] = get(in, i);
        }";
    let Some(outcomes) = outcomes(
        source,
        "-O0 -gline-tables-only",
        (64, 64),
        &[zeros(64), zeros(64)],
    ) else {
        return;
    };
    let [interpreted, light, full] = outcomes.map(|outcome| without_addresses(&outcome.unwrap_err()));
    // Compiled, all functions are one: without lines it is the kernel's.
    let is_told = interpreted.contains("<stdin>:2") || interpreted.contains("-:2");
    if is_told {
        assert_eq!([&light, &full], [&interpreted; 2]);
    } else {
        let interpreted = interpreted.replace("in function `get`", "in function `k`");
        assert_eq!([&light, &full], [&interpreted; 2]);
    }
}

/// Who takes no part in an access isn't checked, wherever its address leads.
#[test]
fn others_are_not_checked() {
    let source = "kernel void k(global int *out, global const int *in, int count) {
        int i = get_global_id(0);
        if (i < count) out[i] = in[i] + 1;
        if (i % 3 == 0 && 2 * i < count) out[2 * i] ^= in[i * 2]; }";
    let count = 77i32.to_le_bytes().to_vec();
    succeeds(source, (128, 64), &[zeros(77), zeros(77), Value(count)]);
}

#[test]
fn pointers_of_which_nothing_is_known() {
    let choose = "kernel void k(global int *out, global int *in, local int *given, int n) {
        local int own[64];
        int mine[4] = {1, 2, 3, 4};
        int l = get_local_id(0);
        own[l] = l; given[l] = 2 * l; in[l] = 3 * l;
        barrier(CLK_LOCAL_MEM_FENCE);
        int *p = l % 4 == 0 ? (int *)own : l % 4 == 1 ? (int *)given : l % 4 == 2 ? (int *)in : mine;
        out[l] = p[l % 4 == 3 ? l % n : l]; }";
    let all = |n: i32, size: usize| {
        let n = Value(n.to_le_bytes().to_vec());
        [zeros(64), zeros(size), Local(256), n]
    };
    succeeds(choose, (64, 64), &all(4, 64));
}
