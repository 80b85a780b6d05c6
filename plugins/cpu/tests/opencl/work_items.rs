//! The functions that tell a work-item where it is, in one, two and three dimensions.

use offkit_plugin_cpu::NdRange;

use crate::clang::{self, Options};
use crate::device::{Device, Operand};
use crate::element::Element::*;

/// The functions with a dimension, asked for 0, 1, 2 and 3 (which is out of range), and those without.
const SOURCE: &str = "kernel void k(global ulong *out) {
    size_t item = get_global_linear_id();
    global ulong *r = out + 40 * item;
    for (uint d = 0; d < 4; d++) {
        r[d] = get_global_id(d);
        r[4 + d] = get_local_id(d);
        r[8 + d] = get_group_id(d);
        r[12 + d] = get_global_size(d);
        r[16 + d] = get_local_size(d);
        r[20 + d] = get_num_groups(d);
        r[24 + d] = get_global_offset(d);
        r[28 + d] = get_enqueued_local_size(d);
    }
    r[32] = get_work_dim();
    r[33] = get_local_linear_id();
    r[34] = get_global_id(0) + 100 * get_global_id(1) + 10000 * get_global_id(2);
    r[35] = get_local_id(0) + 100 * get_local_id(1) + 10000 * get_local_id(2);
    r[36] = get_group_id(0) + 100 * get_group_id(1) + 10000 * get_group_id(2);
}";

fn at(sizes: &[usize], dimension: usize) -> u64 {
    sizes.get(dimension).map_or(1, |size| *size as u64)
}

fn expected(global: &[usize], local: &[usize], id: [u64; 3]) -> Vec<u64> {
    let mut row = Vec::new();
    let mut push = |value: &dyn Fn(usize) -> u64, beyond: u64| {
        row.extend((0..3).map(value));
        row.push(beyond);
    };
    push(&|d| id[d], 0);
    push(&|d| id[d] % at(local, d), 0);
    push(&|d| id[d] / at(local, d), 0);
    push(&|d| at(global, d), 1);
    push(&|d| at(local, d), 1);
    push(&|d| at(global, d) / at(local, d), 1);
    push(&|_| 0, 0);
    push(&|d| at(local, d), 1);
    let in_group = [0, 1, 2].map(|d| id[d] % at(local, d));
    let group = [0, 1, 2].map(|d| id[d] / at(local, d));
    let mixed = |x: [u64; 3]| x[0] + 100 * x[1] + 10000 * x[2];
    row.push(global.len() as u64);
    row.push(in_group[0] + at(local, 0) * (in_group[1] + at(local, 1) * in_group[2]));
    row.extend([mixed(id), mixed(in_group), mixed(group)]);
    row.resize(40, 0);
    row
}

#[test]
fn identifiers_and_sizes() {
    if !clang::is_available() {
        return;
    }
    for options in Options::all() {
        let device = Device::new(&clang::compile(SOURCE, options).expect("compiles")).expect("builds");
        for (global, local) in [
            (&[12][..], &[4][..]),
            (&[1], &[1]),
            (&[6, 4], &[3, 2]),
            (&[4, 6, 3], &[2, 3, 1]),
            (&[2, 1, 8], &[1, 1, 8]),
        ] {
            let items = global.iter().product::<usize>();
            let outcome = device
                .run("k", global, local, &[Operand::Buffer(vec![0; items * 320])])
                .expect("runs");
            let results = Ulong.decode(&outcome.buffers[0], 1, 1);
            let size = |dimension: usize| at(global, dimension);
            for (linear, row) in results.chunks(40).enumerate() {
                let linear = linear as u64;
                let id = [
                    linear % size(0),
                    linear / size(0) % size(1),
                    linear / size(0) / size(1),
                ];
                assert_eq!(
                    row,
                    expected(global, local, id),
                    "item {id:?} of {global:?} in {local:?}, {options:?}"
                );
            }
        }
    }
}

#[test]
fn offsets_and_smaller_last_groups() {
    if !clang::is_available() {
        return;
    }
    let source = "kernel void k(global ulong *out) {
        global ulong *r = out + 8 * get_global_linear_id();
        r[0] = get_global_id(0) + 1000 * get_global_id(1);
        r[1] = get_global_offset(0) + 1000 * get_global_offset(1);
        r[2] = get_local_size(0) + 1000 * get_local_size(1);
        r[3] = get_enqueued_local_size(0) + 1000 * get_enqueued_local_size(1);
        r[4] = get_num_groups(0) + 1000 * get_num_groups(1);
        r[5] = get_group_id(0) + 1000 * get_group_id(1);
        r[6] = get_local_linear_id();
    }";
    let both = |x: u64, y: u64| x + 1000 * y;
    for options in Options::all() {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        let range = NdRange {
            dimensions: 2,
            offset: [100, 7, 0],
            global: [7, 5, 1],
            local: Some([4, 2, 1]),
        };
        let outcome = device
            .run_range("k", &range, &[Operand::Buffer(vec![0; 35 * 64])])
            .expect("runs");
        let words: Vec<u64> = Ulong.decode(&outcome.buffers[0], 1, 1);
        for (item, row) in words.chunks(8).enumerate() {
            let (x, y) = (item as u64 % 7, item as u64 / 7);
            let size = [if x < 4 { 4 } else { 3 }, if y < 4 { 2 } else { 1 }];
            let expected = [
                both(100 + x, 7 + y),
                both(100, 7),
                both(size[0], size[1]),
                both(4, 2),
                both(2, 3),
                both(x / 4, y / 2),
                x % 4 + size[0] * (y % 2),
                0,
            ];
            assert_eq!(row, expected, "item {x}, {y}, {options:?}");
        }
    }
}

/// Groups of a few work-items, which lie side by side in vectors: kernels that are the same, since every other one is
/// compiled with few passes only.
#[test]
fn small_groups_whose_ids_are_seen() {
    if !clang::is_available() {
        return;
    }
    let kernel = |name: &str| {
        format!(
            "kernel void {name}(global const uint *in, global uint *out, uint count) {{
                size_t number = get_global_linear_id();
                size_t x = get_group_id(0) * get_local_size(0) + get_local_id(0);
                int y = get_local_id(1) + get_local_size(1) * get_group_id(1);
                uint z = (uint)get_group_id(2) * (uint)get_enqueued_local_size(2) + (uint)get_local_id(2);
                size_t same = (z * get_global_size(1) + y) * get_global_size(0) + x;
                global uint *r = out + number;
                r[0] = in[same];
                r[count] = in[get_group_id(0)] + (get_local_id(0) & 1 ? in[get_local_id(0)] : in[get_num_groups(0)]);
                r[2 * count] = (get_group_id(0) & 255) * get_local_size(0) + get_local_id(0);
                uint sum = 0;
                for (uint i = 0; i <= get_local_linear_id(); i++)
                    sum += in[get_group_id(0) + i] + get_group_id(1);
                r[3 * count] = sum;
                in += get_group_id(0) * get_local_size(0);
                r[4 * count] = in[get_local_id(0)];
                r[5 * count] = x + (uint)get_global_offset(0) == get_global_id(0);
            }}"
        )
    };
    let source = [kernel("few_passes"), kernel("all_passes")].join("\n");
    for options in Options::all() {
        let device = Device::new(&clang::compile(&source, options).expect("compiles")).expect("builds");
        for (global, local, offset) in [
            ([2000, 1, 1], [1, 1, 1], [0, 0, 0]),
            ([2000, 1, 1], [2, 1, 1], [5, 0, 0]),
            ([2001, 1, 1], [3, 1, 1], [0, 0, 0]),
            ([1996, 1, 1], [4, 1, 1], [1, 0, 0]),
            ([1999, 1, 1], [4, 1, 1], [0, 0, 0]),
            ([50, 38, 1], [2, 2, 1], [7, 3, 0]),
            ([64, 32, 1], [1, 1, 1], [0, 9, 0]),
            ([6, 300, 1], [2, 1, 1], [0, 0, 0]),
            ([40, 6, 9], [1, 2, 3], [0, 1, 2]),
        ] {
            let count: usize = global.iter().product();
            let range = NdRange {
                dimensions: 3,
                offset,
                global,
                local: Some(local),
            };
            let input: Vec<u64> = (0..2 * count as u64)
                .map(|index| index * index % 65_521)
                .collect();
            let operands = [
                Operand::Buffer(Uint.encode(&input, 1, 1)),
                Operand::Buffer(vec![0; 6 * 4 * count]),
                Operand::Value(Uint.encode(&[count as u64], 1, 1)),
            ];
            for name in ["few_passes", "all_passes"] {
                let outcome = device.run_range(name, &range, &operands).expect("runs");
                let words: Vec<u64> = Uint.decode(&outcome.buffers[1], 1, 1);
                for number in 0..count {
                    let id = [
                        number % global[0],
                        number / global[0] % global[1],
                        number / global[0] / global[1],
                    ];
                    let group = [0, 1, 2].map(|axis| id[axis] / local[axis]);
                    let size =
                        [0, 1, 2].map(|axis| local[axis].min(global[axis] - group[axis] * local[axis]));
                    let own = [0, 1, 2].map(|axis| id[axis] % local[axis]);
                    // Of groups at the end that are smaller, the size is theirs.
                    let computed = |axis: usize| group[axis] * size[axis] + own[axis];
                    let same = (id[2] * global[1] + computed(1)) * global[0] + computed(0);
                    let index = own[0] + size[0] * (own[1] + size[1] * own[2]);
                    let other = match own[0] % 2 {
                        1 => input[own[0]],
                        _ => input[global[0].div_ceil(local[0])],
                    };
                    let sum: u64 = (0..=index).map(|i| input[group[0] + i] + group[1] as u64).sum();
                    let expected = [
                        input[same],
                        input[group[0]] + other,
                        (group[0] % 256 * size[0] + own[0]) as u64,
                        sum,
                        input[computed(0)],
                        u64::from(computed(0) == id[0]),
                    ];
                    for (row, expected) in expected.into_iter().enumerate() {
                        let found = words[row * count + number];
                        assert_eq!(
                            found, expected,
                            "{name}, row {row} of {id:?} in {global:?} by {local:?}, {options:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn attributes_of_kernels() {
    if !clang::is_available() {
        return;
    }
    let source = "__attribute__((vec_type_hint(float4))) __attribute__((work_group_size_hint(8, 1, 1)))
        kernel void hints(global uint *out) { out[get_global_id(0)] = 1; }
        __attribute__((intel_reqd_sub_group_size(4)))
        kernel void four(global uint *out) { out[get_global_id(0)] = get_max_sub_group_size(); }
        __attribute__((intel_reqd_sub_group_size(16)))
        kernel void sixteen(global uint *out) { out[get_global_id(0)] = get_sub_group_size(); }";
    for options in Options::all() {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        for (kernel, expected) in [("hints", 1), ("four", 4), ("sixteen", 16)] {
            let outcome = device
                .run(kernel, &[32], &[32], &[Operand::Buffer(vec![0; 128])])
                .expect("runs");
            assert_eq!(
                Uint.decode(&outcome.buffers[0], 1, 1),
                [expected; 32],
                "{kernel} {options:?}"
            );
        }
    }
}

#[test]
fn every_size_of_sub_groups_that_is_reported() {
    if !clang::is_available() {
        return;
    }
    for size in offkit_plugin_cpu::SUB_GROUP_SIZES {
        let source = format!(
            "__attribute__((intel_reqd_sub_group_size({size})))
            kernel void k(global uint *out) {{
                out[get_global_id(0)] = get_max_sub_group_size() * 1000 + sub_group_reduce_add(1);
            }}"
        );
        let spirv = clang::compile(&source, Options::all()[0]).expect("compiles");
        let device = Device::new(&spirv).expect("builds");
        // The last sub-group has four.
        let outcome = device
            .run("k", &[100], &[100], &[Operand::Buffer(vec![0; 400])])
            .expect("runs");
        let size = u64::from(size);
        let whole = 100 / size * size;
        let expected: Vec<u64> = (0..100)
            .map(|item| size * 1000 + if item < whole { size } else { 100 - whole })
            .collect();
        assert_eq!(Uint.decode(&outcome.buffers[0], 1, 1), expected, "{size}");
    }
}

#[test]
fn a_required_size_of_groups() {
    let source = "__attribute__((reqd_work_group_size(4, 2, 1))) kernel void k(global uint *out) {
        out[get_global_linear_id()] = get_local_size(0) * 10 + get_local_size(1);
    }";
    if !clang::is_available() {
        return;
    }
    for options in Options::all() {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        let buffer = [Operand::Buffer(vec![0; 64])];
        let outcome = device.run("k", &[8, 2], &[4, 2], &buffer).expect("runs");
        assert_eq!(outcome.buffers[0], [42, 0, 0, 0].repeat(16));
        // Left to the device, the size is the required one; another one is refused.
        assert_eq!(
            device.run("k", &[8, 2], &[], &buffer).expect("runs").buffers[0],
            [42, 0, 0, 0].repeat(16)
        );
        let error = device
            .run("k", &[8, 2], &[2, 2], &buffer)
            .expect_err("the size is wrong");
        assert!(error.contains("[4, 2, 1]") || error.contains("4"), "{error}");
    }
}
