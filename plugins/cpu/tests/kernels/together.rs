//! Kernels whose work-items wait for each other.

use std::num::NonZero;

use offkit_plugin_cpu::{Argument, LaunchOptions, NdRange, sub_group_size};

use crate::support::{Device, VARIANTS, value};

#[test]
fn tiled_matrix_product() {
    let source = "#define T 8
      kernel void matmul(global const float *a, global const float *b, global float *c, int n) {
        local float at[T][T]; local float bt[T][T];
        int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
        float sum = 0;
        for (int t = 0; t < n / T; ++t) {
          at[ly][lx] = a[y * n + t * T + lx];
          bt[ly][lx] = b[(t * T + ly) * n + x];
          barrier(CLK_LOCAL_MEM_FENCE);
          for (int k = 0; k < T; ++k) sum += at[ly][k] * bt[k][lx];
          barrier(CLK_LOCAL_MEM_FENCE);
        }
        c[y * n + x] = sum; }";
    const N: usize = 24;
    Device::each(source, |device| {
        let a: Vec<f32> = (0..N * N).map(|i| (i % 7) as f32).collect();
        let b: Vec<f32> = (0..N * N).map(|i| (i % 5) as f32 - 2.0).collect();
        let c = device.buffer(&[0f32; N * N]);
        let arguments = [
            Argument::Pointer(device.buffer(&a)),
            Argument::Pointer(device.buffer(&b)),
            Argument::Pointer(c),
            value(N as i32),
        ];
        let range = NdRange {
            dimensions: 2,
            offset: [0; 3],
            global: [N, N, 1],
            local: Some([8, 8, 1]),
        };
        device.run("matmul", range, &arguments);
        let c = device.read::<f32>(c, N * N);
        for y in 0..N {
            for x in 0..N {
                let sum: f32 = (0..N).map(|k| a[y * N + k] * b[k * N + x]).sum();
                assert_eq!(c[y * N + x], sum, "{y} {x}");
            }
        }
    });
}

#[test]
fn reduction_in_local_memory() {
    let source = "kernel void reduce(global const int *in, global int *out, local int *scratch) {
        size_t l = get_local_id(0);
        scratch[l] = in[get_global_id(0)];
        for (size_t s = get_local_size(0) / 2; s > 0; s >>= 1) {
          barrier(CLK_LOCAL_MEM_FENCE);
          if (l < s) scratch[l] += scratch[l + s];
        }
        if (l == 0) out[get_group_id(0)] = scratch[0]; }";
    Device::each(source, |device| {
        let input: Vec<i32> = (0..4096).collect();
        let out = device.buffer(&[0i32; 64]);
        let arguments = [
            Argument::Pointer(device.buffer(&input)),
            Argument::Pointer(out),
            Argument::Local(64 * 4),
        ];
        device.run("reduce", NdRange::new([4096]).with_local([64]), &arguments);
        let expected: Vec<i32> = input.chunks(64).map(|chunk| chunk.iter().sum()).collect();
        assert_eq!(device.read::<i32>(out, 64), expected);
    });
}

#[test]
fn barriers_in_called_functions_and_uniform_branches() {
    let source = "__attribute__((noinline)) void rotate(local int *a, int l, int n) {
        int next = a[(l + 1) % n]; barrier(CLK_LOCAL_MEM_FENCE); a[l] = next; barrier(CLK_LOCAL_MEM_FENCE); }
      kernel void k(global int *out, int times) {
        local int a[16]; int l = get_local_id(0);
        a[l] = l; barrier(CLK_LOCAL_MEM_FENCE);
        if (get_group_id(0) % 2 == 0) for (int i = 0; i < times; ++i) rotate(a, l, 16);
        out[get_global_id(0)] = a[l]; }";
    Device::each(source, |device| {
        let out = device.buffer(&[0i32; 64]);
        device.run(
            "k",
            NdRange::new([64]).with_local([16]),
            &[Argument::Pointer(out), value(5i32)],
        );
        let expected: Vec<i32> = (0..64)
            .map(|i| {
                if i / 16 % 2 == 0 {
                    (i % 16 + 5) % 16
                } else {
                    i % 16
                }
            })
            .collect();
        assert_eq!(device.read::<i32>(out, 64), expected);
    });
}

#[test]
fn local_atomics() {
    let source = "kernel void histogram(global const uchar *in, global int *out) {
        local int bins[16]; int l = get_local_id(0);
        if (l < 16) bins[l] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&bins[in[get_global_id(0)] & 15], 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < 16) atomic_add(&out[l], bins[l]); }";
    Device::each(source, |device| {
        let input: Vec<u8> = (0..1024u32).map(|i| (i * i % 251) as u8).collect();
        let out = device.buffer(&[0i32; 16]);
        let arguments = [Argument::Pointer(device.buffer(&input)), Argument::Pointer(out)];
        device.run("histogram", NdRange::new([1024]).with_local([32]), &arguments);
        let mut expected = [0; 16];
        input
            .iter()
            .for_each(|byte| expected[usize::from(byte & 15)] += 1);
        assert_eq!(device.read::<i32>(out, 16), expected);
    });
}

#[test]
fn work_group_collectives() {
    let source = "kernel void k(global int *out, global const int *in) {
        int i = get_global_id(0); int v = in[i]; global int *o = out + i * 8;
        o[0] = work_group_reduce_add(v); o[1] = work_group_scan_inclusive_add(v); o[2] = work_group_scan_exclusive_add(v);
        o[3] = work_group_reduce_max(v); o[4] = work_group_scan_exclusive_min(v); o[5] = work_group_all(v > -100) + 2 * work_group_any(v == 3);
        o[6] = work_group_broadcast(v, 5); o[7] = (int)(work_group_reduce_add((float)v) * 2); }";
    Device::each(source, |device| {
        let input: Vec<i32> = (0..30).map(|i| (i * 7) % 11 - 5).collect();
        let out = device.buffer(&[0i32; 30 * 8]);
        let arguments = [Argument::Pointer(out), Argument::Pointer(device.buffer(&input))];
        // The last group is a smaller one.
        device.run("k", NdRange::new([30]).with_local([12]), &arguments);
        let out = device.read::<i32>(out, 30 * 8);
        for (group, values) in input.chunks(12).enumerate() {
            for (l, _) in values.iter().enumerate() {
                let before: i32 = values[..l].iter().sum();
                let minimum = values[..l].iter().copied().min().unwrap_or(i32::MAX);
                let total: i32 = values.iter().sum();
                let expected = [
                    total,
                    before + values[l],
                    before,
                    *values.iter().max().unwrap(),
                    minimum,
                    1 + 2 * i32::from(values.contains(&3)),
                    values[5],
                    total * 2,
                ];
                let at = (group * 12 + l) * 8;
                assert_eq!(out[at..at + 8], expected, "{group} {l}");
            }
        }
    });
}

#[test]
fn sub_group_collectives() {
    let source = "#pragma OPENCL EXTENSION cl_khr_subgroups : enable
      kernel void k(global int *out, global const int *in) {
        int i = get_global_id(0); int v = in[i]; global int *o = out + i * 8;
        o[0] = sub_group_reduce_add(v); o[1] = sub_group_scan_inclusive_max(v); o[2] = sub_group_broadcast(v, 1);
        o[3] = get_sub_group_id() + 100 * get_sub_group_local_id(); o[4] = get_sub_group_size() + 100 * get_max_sub_group_size();
        o[5] = get_num_sub_groups() + 100 * get_enqueued_num_sub_groups();
        o[6] = sub_group_all(v > 0) + 2 * sub_group_any(v > 0); sub_group_barrier(CLK_LOCAL_MEM_FENCE); o[7] = i; }";
    let size = sub_group_size() as usize;
    Device::each(source, |device| {
        let input: Vec<i32> = (0..20).map(|i| (i * 7) % 11 - 5).collect();
        let out = device.buffer(&[0i32; 20 * 8]);
        let arguments = [Argument::Pointer(out), Argument::Pointer(device.buffer(&input))];
        device.run("k", NdRange::new([20]).with_local([20]), &arguments);
        let out = device.read::<i32>(out, 20 * 8);
        for (sub_group, values) in input.chunks(size).enumerate() {
            for l in 0..values.len() {
                let i = sub_group * size + l;
                let expected = [
                    values.iter().sum(),
                    *values[..=l].iter().max().unwrap(),
                    values[1],
                    (sub_group + 100 * l) as i32,
                    (values.len() + 100 * size) as i32,
                    (20usize.div_ceil(size) * 101) as i32,
                    i32::from(values.iter().all(|v| *v > 0)) + 2 * i32::from(values.iter().any(|v| *v > 0)),
                    i as i32,
                ];
                assert_eq!(out[i * 8..i * 8 + 8], expected, "{i}");
            }
        }
    });
}

#[test]
fn sub_group_operations_in_divergent_code() {
    let source = "kernel void k(global int *out) {
        int l = get_sub_group_local_id(), r = 0;
        for (int i = 0; i <= l; ++i) r += sub_group_non_uniform_reduce_add(1);
        int together = sub_group_non_uniform_reduce_add(1);
        if (l & 1) r += 1000 * sub_group_non_uniform_reduce_add(l); else r += 100000 * sub_group_non_uniform_reduce_add(l);
        uint4 b = sub_group_ballot(l > 2);
        out[get_global_id(0) * 4] = r;
        out[get_global_id(0) * 4 + 1] = b.x;
        out[get_global_id(0) * 4 + 2] = sub_group_shuffle(l * 10, l ^ 3);
        out[get_global_id(0) * 4 + 3] = together + 100 * sub_group_ballot_bit_count(b) + 10000 * sub_group_ballot_find_lsb(b); }";
    // These operations are not in the older versions of SPIR-V.
    let variants = VARIANTS.into_iter().filter(|(_, target)| *target == "spirv64");
    Device::each_of(variants, source, &[], |device| {
        let out = device.buffer(&[0i32; 32]);
        device.run("k", NdRange::new([8]).with_local([8]), &[Argument::Pointer(out)]);
        let out = device.read::<i32>(out, 32);
        for l in 0..8 {
            // In round i of the loop those are left whose number is at least i.
            let rounds: i32 = (0..=l).map(|i| 8 - i).sum();
            let branch = if l & 1 == 1 { 1000 * 16 } else { 100_000 * 12 };
            let at = l as usize * 4;
            assert_eq!(
                out[at..at + 4],
                [rounds + branch, 0xf8, (l ^ 3) * 10, 8 + 500 + 30_000],
                "{l}"
            );
        }
    });
}

#[test]
fn a_small_sub_group_looks_at_as_many_bits_of_a_ballot_as_the_others() {
    let source = "kernel void k(global int *out) {
        uint4 all = (uint4)(~0u);
        out[get_global_id(0)] = sub_group_ballot_bit_count(all) * 100 + sub_group_ballot_find_msb(all); }";
    let variants = VARIANTS.into_iter().filter(|(_, target)| *target == "spirv64");
    let size = sub_group_size() as usize;
    // The second has half as many work-items.
    let count = size + size / 2;
    let bits = size as i32;
    Device::each_of(variants, source, &[], |device| {
        let out = device.buffer(&vec![0i32; count]);
        let range = NdRange::new([count]).with_local([count]);
        device.run("k", range, &[Argument::Pointer(out)]);
        assert_eq!(device.read::<i32>(out, count), vec![bits * 100 + bits - 1; count]);
    });
}

#[test]
fn asynchronous_copies() {
    let source = "kernel void k(global int *out, global const int *in, local int *a) {
        local int b[8];
        event_t e = async_work_group_copy(a, in + get_group_id(0) * 8, 8, 0);
        e = async_work_group_strided_copy(b, in, 4, 3, e);
        wait_group_events(1, &e);
        int l = get_local_id(0);
        a[l] = a[l] * 2 + b[l & 3];
        barrier(CLK_LOCAL_MEM_FENCE);
        e = async_work_group_copy(out + get_group_id(0) * 8, a, 8, 0);
        wait_group_events(1, &e); }";
    Device::each(source, |device| {
        let input: Vec<i32> = (0..32).map(|i| i * i).collect();
        let out = device.buffer(&[0i32; 32]);
        let arguments = [
            Argument::Pointer(out),
            Argument::Pointer(device.buffer(&input)),
            Argument::Local(32),
        ];
        device.run("k", NdRange::new([32]).with_local([8]), &arguments);
        let expected: Vec<i32> = (0..32).map(|i| input[i] * 2 + input[(i & 3) * 3]).collect();
        assert_eq!(device.read::<i32>(out, 32), expected);
    });
}

#[test]
fn what_the_standard_leaves_open_can_be_done_otherwise() {
    let source = "kernel void race(global int *out) { out[get_local_id(0) / 8] = get_global_id(0); }
      kernel void race_behind_a_barrier(global int *out) {
        barrier(CLK_GLOBAL_MEM_FENCE); out[get_local_id(0) / 8] = get_global_id(0); }
      kernel void unwritten(global int *out) {
        local int before[16]; volatile int mine[2]; int i = get_global_id(0);
        out[i] = (before[i % 16] != 0) + 2 * (mine[i % 2] != 0); before[i % 16] = 1; }
      kernel void no_race(global int *out) { out[get_global_id(0)] = get_global_id(0); }";
    Device::each(source, |device| {
        let run = |kernel, contrary| {
            let out = device.buffer(&[0i32; 64]);
            let options = LaunchOptions {
                contrary,
                // The groups write the same places: two threads would leave what the slower one wrote.
                max_threads: Some(NonZero::<usize>::MIN),
                ..LaunchOptions::default()
            };
            let range = NdRange::new([64]).with_local([16]);
            let launched = device
                .program
                .launch(kernel, &range, &[Argument::Pointer(out)], &options);
            launched.unwrap();
            device.read::<i32>(out, 64)
        };
        assert_eq!(run("no_race", true), run("no_race", false));
        assert_eq!(run("unwritten", false), [0; 64]);
        assert_eq!(run("unwritten", true)[63], 3);
        for kernel in ["race", "race_behind_a_barrier"] {
            assert_eq!(run(kernel, false)[1], 63);
            assert_eq!(run(kernel, true)[..3], [0, 8, 0]);
        }
    });
}

#[test]
fn errors_that_the_standard_allows_can_be_made() {
    let source = "kernel void k(global float *out) { int i = get_global_id(0); float x = i;
        out[i] = exp(x / 64); out[64 + i] = sqrt(x) + fmax(x, 3); out[128 + i] = cos(x * 0);
        out[192 + i] = work_group_reduce_add(1 / (x + 3)); out[256 + i] = work_group_scan_inclusive_add(1 / (x + 3)); }";
    Device::each(source, |device| {
        let run = |errors| {
            let out = device.buffer(&[0f32; 320]);
            let options = LaunchOptions {
                errors,
                ..LaunchOptions::default()
            };
            let range = NdRange::new([64]).with_local([64]);
            let launched = device
                .program
                .launch("k", &range, &[Argument::Pointer(out)], &options);
            launched.unwrap();
            device.read::<f32>(out, 320)
        };
        let (usual, erring) = (run(None), run(Some(1)));
        assert_eq!(erring, run(Some(1)));
        assert_ne!(erring[..64], run(Some(2))[..64]);
        let units = |from: usize| {
            let of = |list: &[f32]| {
                list[from..from + 64]
                    .iter()
                    .map(|number| number.to_bits())
                    .collect()
            };
            let (one, other): (Vec<u32>, Vec<u32>) = (of(&usual), of(&erring));
            one.iter()
                .zip(other)
                .map(|(one, other)| one.abs_diff(other))
                .max()
        };
        assert_eq!(units(0), Some(2));
        // What has one right result, and what the standard wants exactly.
        assert_eq!(usual[64..192], erring[64..192]);
        for sums in [192, 256] {
            assert!((1..16).contains(&units(sums).unwrap()));
        }
        // A number by itself, and one and another.
        assert_eq!(usual[256..258], erring[256..258]);
    });
}
