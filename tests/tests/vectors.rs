//! Compiled kernels whose work-items do not all take part: vectors of any width give what one work-item at a time does.

use std::process::Command;

use offkit_plugin_cpu::PROCESSOR_VARIABLE;
use offkit_tests::{Folder, need, npy_i32, offkit, tool};

/// Numbers of 32 bits in each buffer.
const COUNT: usize = 512;

/// A kernel with an output, which is zero, and an input; and its range and group.
struct Case {
    name: &'static str,
    source: &'static str,
    global: &'static str,
    local: &'static str,
}

const fn case(name: &'static str, source: &'static str, global: &'static str, local: &'static str) -> Case {
    Case {
        name,
        source,
        global,
        local,
    }
}

const CASES: [Case; 10] = [
    // Of the difference clang says that it doesn't wrap, which is so for those that take part: the first doesn't.
    case(
        "guarded_difference",
        "kernel void k(global uint *o, global const uint *a) {
           uint i = get_global_id(0), n = a[0] & 7; if (i >= n) o[i] = a[i - n]; }",
        "100",
        "50",
    ),
    case(
        "scan",
        "kernel void k(global uint *o, global const uint *a) {
           uint l = get_local_id(0); local uint s[64]; s[l] = a[get_global_id(0)];
           barrier(CLK_LOCAL_MEM_FENCE);
           for (uint d = 1; d < 32; d *= 2) {
             uint v = l >= d ? s[l - d] : 0;
             barrier(CLK_LOCAL_MEM_FENCE); s[l] += v; barrier(CLK_LOCAL_MEM_FENCE);
           }
           o[get_global_id(0)] = s[l]; }",
        "64",
        "32",
    ),
    case(
        "guarded_value",
        "kernel void k(global ulong *o, global const uint *a) {
           uint n = *a & 7, i = get_global_id(0); if (i >= 8) { uint j = i - n; o[i] = (ulong)j; } }",
        "64",
        "64",
    ),
    case(
        "guarded_product",
        "kernel void k(global long *o, global const int *a) {
           int n = (a[0] >> 8) & 63, i = get_global_id(0), d = i - n;
           if (d >= -8 && d < 8) { int t = d * 200000000; o[i] = (long)t; ((global int *)o)[i + 128] = t; } }",
        "64",
        "64",
    ),
    // A factor whose highest bit is set is not a negative one.
    case(
        "large_factor",
        "kernel void k(global ulong *o, global const uint *a) {
           uint i = get_global_id(0);
           if (i < 2) { uint m = i * 0x90000001u; o[i + 4] = (ulong)m; ((global uint *)o)[i] = m; } }",
        "64",
        "64",
    ),
    // What an address is computed from is still known behind a barrier.
    case(
        "behind_a_barrier",
        "kernel void k(global uint *o, global const uint *a) {
           uint i = get_global_id(0), l = get_local_id(0); local uint s[64];
           o[i + 100] = 5; s[l] = i; barrier(CLK_LOCAL_MEM_FENCE); o[i + 100] += s[36 - l]; }",
        "74",
        "37",
    ),
    case(
        "behind_barriers_in_a_loop",
        "kernel void k(global uint *o, global const uint *a) {
           uint i = get_global_linear_id(), l = get_local_linear_id(); local uint s[256]; s[l] = i;
           for (int b = 0; b < 2; b++) { barrier(CLK_LOCAL_MEM_FENCE); o[i + 100] = b + 1; } }",
        "74",
        "37",
    ),
    // The first work-item never computes the parts of its id.
    case(
        "id_of_parts",
        "kernel void k(global uint *o, global const uint *a) {
           uint i = get_global_id(0), u = 7;
           for (int q = get_local_id(0); q > 0; q -= 2) u = get_group_id(0) * get_local_size(0) + get_local_id(0);
           o[i] = u; }",
        "64",
        "2",
    ),
    // An index that wraps, and is brought back by what it is multiplied by.
    case(
        "scaled_back",
        "kernel void k(global int *o, global const uint *a) {
           uint i = get_global_id(0) - 5u;
           if (get_global_id(0) == 4 || get_global_id(0) == 5) o[(ulong)i * 0xFFFFFFFEFFFFFFFFul] = i + 6; }",
        "64",
        "64",
    ),
    case(
        "summed_back",
        "kernel void k(global uchar *o, global const uint *a) {
           uint t = get_global_id(0), i = t * 524287u - 14316751u, j = t * 13025u - 200u;
           if ((a[t] & 63) == 11 || (a[t] & 63) == 7) o[(ulong)i * 300ul - (ulong)j * 299ul] = t + 1; }",
        "32",
        "32",
    ),
];

#[test]
fn work_items_that_take_no_part_change_nothing_for_others() {
    need!("clang-22");
    let folder = Folder::new();
    // For `summed_back`, work-items 0 and 28 alone; for others, any numbers.
    let number = |i: usize| match i {
        0 => 11 + (5 << 8),
        28 => 7,
        i => (i as i32 * 64 + 1) | (i as i32) << 16,
    };
    folder.write("a.npy", npy_i32(&format!("({COUNT},)"), (0..COUNT).map(number)));
    let clang = tool("clang-22").unwrap();
    let mut wrong = Vec::new();
    for Case {
        name,
        source,
        global,
        local,
    } in CASES
    {
        folder.write("k.cl", source);
        let line = "--target=spirv64 -cl-std=CL3.0 -O2 -c k.cl -o k.spv";
        folder.run(&clang, line.split_whitespace()).ok();
        let run = |device: &str, processor: &str| {
            let output = match () {
                () if source.contains("long *o") => format!("i64[{}]", COUNT / 2),
                () if source.contains("uchar *o") => format!("i8[{}]", COUNT * 4),
                () => format!("i32[{COUNT}]"),
            };
            let line = format!(
                "run k.spv k --global {global} --local {local} --device {device} --arg {output} --arg a.npy --out 0=o.npy"
            );
            let mut command = Command::new(offkit());
            command
                .args(line.split_whitespace())
                .env("OFFKIT_CPU_COMPILE", "1")
                .env(PROCESSOR_VARIABLE, processor);
            let outcome = folder.run_command(&mut command);
            match outcome.code {
                0 => Ok(folder.read("o.npy")),
                _ => Err(outcome.stderr),
            }
        };
        let expected = run("cpu-checked", "");
        assert!(expected.is_ok(), "{name}: {expected:?}");
        for processor in ["x86-64-v3", "x86-64-v4"] {
            // What the machine has not, it does without.
            if run("0", processor) != expected {
                wrong.push(format!("{name} for {processor}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
