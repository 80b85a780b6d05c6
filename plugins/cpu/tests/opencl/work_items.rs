//! The functions that tell a work-item where it is, in one, two and three dimensions.

use crate::clang::{self, Options};
use crate::device::{Device, Operand};

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

fn expected(global: &[u64], local: &[u64], id: [u64; 3]) -> Vec<u64> {
    let at = |sizes: &[u64], dimension: usize| sizes.get(dimension).copied().unwrap_or(1);
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
        for (global, local) in
            [(&[12][..], &[4][..]), (&[1], &[1]), (&[6, 4], &[3, 2]), (&[4, 6, 3], &[2, 3, 1]), (&[2, 1, 8], &[1, 1, 8])]
        {
            let items = global.iter().product::<u64>() as usize;
            let outcome = device.run("k", global, local, &[Operand::Buffer(vec![0; items * 320])]).expect("runs");
            let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let results: Vec<u64> = outcome.buffers[0].chunks(8).map(word).collect();
            let size = |dimension: usize| global.get(dimension).copied().unwrap_or(1);
            for (linear, row) in results.chunks(40).enumerate() {
                let linear = linear as u64;
                let id = [linear % size(0), linear / size(0) % size(1), linear / size(0) / size(1)];
                assert_eq!(row, expected(global, local, id), "item {id:?} of {global:?} in {local:?}, {options:?}");
            }
        }
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
        assert_eq!(device.run("k", &[8, 2], &[], &buffer).expect("runs").buffers[0], [42, 0, 0, 0].repeat(16));
        let error = device.run("k", &[8, 2], &[2, 2], &buffer).expect_err("the size is wrong");
        assert!(error.contains("[4, 2, 1]") || error.contains("4"), "{error}");
    }
}
