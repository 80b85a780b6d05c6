//! Kernels whose work-items do not wait for each other.

use offkit_plugin_cpu::{Argument, NdRange};

use crate::support::{Device, VARIANTS, value};

#[test]
fn saxpy() {
    let source = "kernel void saxpy(global float *y, global const float *x, float a) {
        size_t i = get_global_id(0); y[i] = a * x[i] + y[i]; }";
    Device::each(source, |device| {
        let x: Vec<f32> = (0..10_000).map(|i| i as f32).collect();
        let y = device.buffer(&vec![1f32; 10_000]);
        let arguments = [
            Argument::Pointer(y),
            Argument::Pointer(device.buffer(&x)),
            value(2f32),
        ];
        device.run("saxpy", NdRange::new([10_000]), &arguments);
        let expected: Vec<f32> = x.iter().map(|x| 2.0 * x + 1.0).collect();
        assert_eq!(device.read::<f32>(y, 10_000), expected);
    });
}

#[test]
fn loops_switches_and_phis() {
    let source = "int collatz(uint n) { int steps = 0; while (n != 1) { n = n % 2 ? 3 * n + 1 : n / 2; ++steps; } return steps; }
      int classify(int i) {
        int r = 0;
        for (int k = 0; k < i; ++k) {
          switch (k & 7) { case 0: r += 1; break; case 1: r -= 2; case 2: r *= 3; break; case 5: continue; case 6: if (r > 100) goto out; default: r ^= k; }
        }
      out: return r; }
      kernel void k(global int *out, global int *more) {
        int i = get_global_id(0);
        out[i] = collatz(i + 1);
        more[i] = classify(i);
        int a = 0, b = 1;
        for (int k = 0; k < i; ++k) { int t = a; a = b; b = t + b; }
        out[i] += a; }";
    fn classify(i: i32) -> i32 {
        let mut r: i32 = 0;
        for k in 0..i {
            match k & 7 {
                0 => r = r.wrapping_add(1),
                1 => r = r.wrapping_sub(2).wrapping_mul(3),
                2 => r = r.wrapping_mul(3),
                5 => {}
                6 if r > 100 => return r,
                _ => r ^= k,
            }
        }
        r
    }
    Device::each(source, |device| {
        let (out, more) = (device.buffer(&[0i32; 40]), device.buffer(&[0i32; 40]));
        device.run(
            "k",
            NdRange::new([40]),
            &[Argument::Pointer(out), Argument::Pointer(more)],
        );
        let mut expected = Vec::new();
        for i in 0..40u64 {
            let (mut n, mut steps) = (i + 1, 0);
            while n != 1 {
                n = if n % 2 == 1 { 3 * n + 1 } else { n / 2 };
                steps += 1;
            }
            let (mut a, mut b) = (0, 1);
            for _ in 0..i {
                (a, b) = (b, a + b);
            }
            expected.push(steps + a);
        }
        assert_eq!(device.read::<i32>(out, 40), expected);
        assert_eq!(
            device.read::<i32>(more, 40),
            (0..40).map(classify).collect::<Vec<_>>()
        );
    });
}

#[test]
fn private_arrays_structs_and_recursion_free_calls() {
    let source = "typedef struct { int a; float b[3]; char c; struct { short x, y; } d; } S;
      typedef struct __attribute__((packed)) { char a; int b; short c; } P;
      __attribute__((noinline)) int helper(S s, int i) { s.a += 1000; return s.a + (int)s.b[i] + s.c + s.d.x * s.d.y; }
      __attribute__((noinline)) S make(int i) { S s = {i, {1, 2, 3}, 4, {5, 6}}; s.b[i % 3] += 10; return s; }
      kernel void k(global int *out, S s, P p, uchar c, float4 v, int3 w, global P *ps) {
        int i = get_global_id(0);
        int local_array[8];
        for (int k = 0; k < 8; ++k) local_array[k] = k * i;
        for (int k = 7; k > 0; --k) local_array[k] += local_array[k - 1];
        S t = make(i);
        out[i] = helper(s, i % 3) + s.a + helper(t, i % 3) + local_array[(i * 5) & 7] + c + (int)v[i & 3] + w[i % 3] + p.b + p.c;
        ps[i].b = i; ps[i].a = p.a; }";
    Device::each(source, |device| {
        let mut s = Vec::new();
        s.extend(7i32.to_le_bytes());
        [1.5f32, 2.5, 3.5].iter().for_each(|b| s.extend(b.to_le_bytes()));
        s.extend([0xfe, 0]);
        s.extend(3i16.to_le_bytes());
        s.extend((-4i16).to_le_bytes());
        s.extend([0, 0]);
        let p = [&[9u8][..], &100_000i32.to_le_bytes(), &500i16.to_le_bytes()].concat();
        let v: Vec<u8> = [10f32, 20.0, 30.0, 40.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let w: Vec<u8> = [100i32, 200, 300, 0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let (out, ps) = (device.buffer(&[0i32; 16]), device.buffer(&[0u8; 16 * 7]));
        let arguments = [
            Argument::Pointer(out),
            Argument::Bytes(s),
            Argument::Bytes(p),
            value(200u8),
            Argument::Bytes(v),
            Argument::Bytes(w),
            Argument::Pointer(ps),
        ];
        device.run("k", NdRange::new([16]), &arguments);
        let expected = |i: i32| {
            let j = (i % 3) as usize;
            let helper = |a: i32, b: [f32; 3], c: i32, d: i32| a + 1000 + b[j] as i32 + c + d;
            let mut b = [1f32, 2.0, 3.0];
            b[j] += 10.0;
            let mut array: Vec<i32> = (0..8).map(|k| k * i).collect();
            (1..8).rev().for_each(|k| array[k] += array[k - 1]);
            helper(7, [1.5, 2.5, 3.5], -2, -12)
                + 7
                + helper(i, b, 4, 30)
                + array[(i as usize * 5) & 7]
                + 200
                + [10, 20, 30, 40][i as usize & 3]
                + [100, 200, 300][j]
                + 100_000
                + 500
        };
        assert_eq!(
            device.read::<i32>(out, 16),
            (0..16).map(expected).collect::<Vec<_>>()
        );
        let ps: Vec<u8> = device.read(ps, 16 * 7);
        for i in 0..16 {
            assert_eq!(ps[i * 7..i * 7 + 5], [9, i as u8, 0, 0, 0]);
        }
    });
}

#[test]
fn program_scope_variables() {
    let source = "constant int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
      constant int *constant last = &table[1][2];
      typedef struct { int a; int b[4]; } S;
      global S s = {1, {2, 3, 4, 5}};
      global int *q = &s.b[2];
      global int *global *qq = &q;
      global int counter = 5;
      constant float curve[4] = {0.5f, 1.5f, 2.5f, 3.5f};
      kernel void k(global int *out) {
        int i = get_global_id(0);
        out[i] = table[i / 3][i % 3] + *last * 10 + *q * 100 + **qq * 1000 + (int)(curve[i & 3] * 2);
        atomic_add(&counter, 1); }
      kernel void count(global int *out) { *out = counter; *q = 9; }";
    Device::each(source, |device| {
        let out = device.buffer(&[0i32; 6]);
        device.run("k", NdRange::new([6]), &[Argument::Pointer(out)]);
        let expected: Vec<i32> = (0..6)
            .map(|i| i + 1 + 60 + 400 + 4000 + [1, 3, 5, 7][i as usize & 3])
            .collect();
        assert_eq!(device.read::<i32>(out, 6), expected);
        device.run("count", NdRange::new([1]), &[Argument::Pointer(out)]);
        assert_eq!(device.read::<i32>(out, 1), [11]);
        // Variables keep their values between launches.
        device.run("k", NdRange::new([1]), &[Argument::Pointer(out)]);
        assert_eq!(device.read::<i32>(out, 1), [1 + 60 + 900 + 9000 + 1]);
        let (address, size) = device.program.variable("counter").unwrap();
        assert_eq!((device.read::<i32>(address, 1)[0], size), (12, 4));
    });
}

#[test]
fn atomics_on_global_memory() {
    let source = "kernel void k(global int *a, global uint *b, global long *c, global float *f, global int *flags) {
        int i = get_global_id(0);
        atomic_add(&a[0], i); atomic_sub(&a[1], i); atomic_or(&a[2], 1 << (i & 15)); atomic_xor(&a[3], i); atomic_and(&a[4], ~(1 << (i & 7)));
        volatile global atomic_int *cell = (volatile global atomic_int *)&a[5];
        int old = atomic_load_explicit(cell, memory_order_relaxed);
        while (!atomic_compare_exchange_strong(cell, &old, old + 2)) ;
        atomic_fetch_add_explicit((volatile global atomic_uint *)b, 3u, memory_order_relaxed, memory_scope_device);
        if (!atomic_flag_test_and_set((volatile global atomic_flag *)&flags[i % 4])) atomic_add(&flags[4], 1); }";
    Device::each(source, |device| {
        let a = device.buffer(&[0i32, 0, 0, 0, -1, 0]);
        let b = device.buffer(&[1u32]);
        let (c, f) = (device.buffer(&[0i64]), device.buffer(&[0f32]));
        let flags = device.buffer(&[0i32; 5]);
        device.run(
            "k",
            NdRange::new([1000]),
            &[a, b, c, f, flags].map(Argument::Pointer),
        );
        let xor = (0..1000).fold(0, |x, i| x ^ i);
        assert_eq!(
            device.read::<i32>(a, 6),
            [499_500, -499_500, 0xffff, xor, !0xff, 2000]
        );
        assert_eq!(device.read::<u32>(b, 1), [3001]);
        assert_eq!(device.read::<i32>(flags, 5)[4], 4);
    });
}

#[test]
fn places_in_the_index_space() {
    let source = "kernel void k(global ulong *out) {
        size_t i = get_global_linear_id();
        global ulong *o = out + i * 12;
        o[0] = get_global_id(0); o[1] = get_global_id(1); o[2] = get_global_id(2);
        o[3] = get_local_id(0) + 100 * get_local_id(1); o[4] = get_group_id(0) + 100 * get_group_id(1);
        o[5] = get_local_size(0) + 100 * get_local_size(1); o[6] = get_enqueued_local_size(0) + 100 * get_enqueued_local_size(1);
        o[7] = get_num_groups(0) + 100 * get_num_groups(1); o[8] = get_global_size(0) + 100 * get_global_size(1);
        o[9] = get_global_offset(0) + 100 * get_global_offset(1); o[10] = get_work_dim(); o[11] = get_local_linear_id();
        uint d = out[0] & 1; o[7] += 10000 * get_global_size(3) + 100000 * get_global_id(5); }";
    Device::each(source, |device| {
        let out = device.buffer(&[0u64; 7 * 5 * 12]);
        let range = NdRange {
            dimensions: 2,
            offset: [10, 20, 0],
            global: [7, 5, 1],
            local: Some([4, 2, 1]),
        };
        device.run("k", range, &[Argument::Pointer(out)]);
        let out = device.read::<u64>(out, 7 * 5 * 12);
        for y in 0..5 {
            for x in 0..7 {
                let (sx, sy) = (if x < 4 { 4 } else { 3 }, if y < 4 { 2 } else { 1 });
                let (lx, ly) = (x % 4, y % 2);
                let expected = [
                    x + 10,
                    y + 20,
                    0,
                    lx + 100 * ly,
                    x / 4 + 100 * (y / 2),
                    sx + 100 * sy,
                    204,
                    302 + 10000,
                    507,
                    2010,
                    2,
                    ly * sx + lx,
                ];
                let at = (y * 7 + x) as usize * 12;
                assert_eq!(out[at..at + 12], expected, "{x} {y}");
            }
        }
    });
}

#[test]
fn printing() {
    let source = "kernel void k(int a, float4 v, long l, double d, uchar4 c) {
        printf(\"a=%d [%5.1v4hlf] %s %ld %g %v4hhu %#x %c%%\\n\", a, v, \"text\", l, d, c, 255, 'x'); }";
    let more = [
        "-mllvm",
        "--spirv-ext=+SPV_EXT_relaxed_printf_string_address_space",
    ];
    Device::each_of(VARIANTS, source, &more, |device| {
        let v: Vec<u8> = [1f32, 2.25, -3.0, 1e3]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let arguments = [
            value(-7i32),
            Argument::Bytes(v),
            value(1i64 << 40),
            value(0.125f64),
            Argument::Bytes(vec![1, 2, 3, 255]),
        ];
        device.run("k", NdRange::new([2]), &arguments);
        let line = "a=-7 [  1.0,  2.2, -3.0,1000.0] text 1099511627776 0.125 1,2,3,255 0xff x%\n";
        assert_eq!(*device.printed.lock().unwrap(), line.repeat(2));
    });
}

#[test]
fn vectors_and_half_precision() {
    let source = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
      kernel void k(global float *out, global const float *in, global half *h) {
        int i = get_global_id(0);
        float3 v = vload3(i, in);
        float4 w = (float4)(v.zyx, 1.0f);
        w.s13 = w.s31;
        vstore4(w * 2.0f, i, out);
        vstore_half(v.x, i, h);
        float back = vload_half(i, h);
        out[64 + i] = back;
        half x = h[i] * (half)3.0f + (half)0.5f;
        out[80 + i] = x;
        int4 m = v.xxyz > (float4)(1.0f);
        out[96 + i] = any(m) + all(m) * 10 + dot(v, v); }";
    Device::each(source, |device| {
        let input: Vec<f32> = (0..48).map(|i| i as f32 * 0.25).collect();
        let out = device.buffer(&[0f32; 112]);
        let arguments = [out, device.buffer(&input), device.buffer(&[0u16; 16])].map(Argument::Pointer);
        device.run("k", NdRange::new([16]), &arguments);
        let out = device.read::<f32>(out, 112);
        for i in 0..16 {
            let [x, y, z] = [0, 1, 2].map(|lane| input[i * 3 + lane]);
            assert_eq!(out[i * 4..i * 4 + 4], [2.0 * z, 2.0, 2.0 * x, 2.0 * y]);
            assert_eq!(out[64 + i], x);
            assert_eq!(out[80 + i], x * 3.0 + 0.5);
            let greater = [x, x, y, z].map(|c| c > 1.0);
            let any = f32::from(u8::from(greater.contains(&true)));
            let all = if greater == [true; 4] { 10.0 } else { 0.0 };
            assert_eq!(out[96 + i], any + all + (x * x + y * y + z * z));
        }
    });
}
