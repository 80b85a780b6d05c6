//! What LLVM 22's SPIR-V back end gets wrong comes out right: valid, and with the right results on the CPU device.

use super::*;
use offkit_tests::{npy_f32, read_f32};

/// Links a kernel at that level of optimisation, with spirv-val's agreement, and runs it on an array.
#[track_caller]
fn results(name: &str, source: &str, level: u32, input: impl IntoIterator<Item = i32>) -> Vec<i32> {
    let folder = Folder::new();
    folder.bitcode(name, source);
    folder
        .offkit(&format!("link {name}.bc -O{level} -o {name}.syclbin"))
        .ok();
    let input: Vec<i32> = input.into_iter().collect();
    folder.write("a.npy", npy_i32(&format!("({},)", input.len()), input));
    folder
        .offkit(&format!(
            "run {name}.syclbin k --global 1 --arg a.npy --out b.npy"
        ))
        .ok();
    read_i32(&folder.read("b.npy"))
}

#[test]
fn three_bytes_are_loaded_and_stored_and_nothing_beside_them() {
    need!("clang-22", "llc", "spirv-val");
    // The optimiser makes one integer of 24 bits of them, which the back end loaded and stored as one of 32.
    let source = "typedef struct { uchar a[3]; } rgb;
        typedef union { rgb c; uint u; } both;
        kernel void k(global uint *p) {
          global rgb *n = (global rgb *)((global uchar *)p + 1);
          both x; x.u = 0; x.c = n[0];
          both y; y.u = x.u * 3 + 1;
          n[1] = y.c;
          p[3] = x.u;
        }";
    let bytes = |words: &[i32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    let number = 0x0080_7060_u32;
    let changed = number.wrapping_mul(3).wrapping_add(1).to_le_bytes();
    for level in [0, 1, 2, 3] {
        let input = [0x8070_6011_u32.cast_signed(), 0x6655_4433, 0x7777_7777, -1];
        let output = results("bytes", source, level, input);
        let mut expected = bytes(&input[..3]);
        expected[4..7].copy_from_slice(&changed[..3]);
        expected.extend(number.to_le_bytes());
        assert_eq!(bytes(&output), expected, "-O{level}");
    }
}

#[test]
fn integers_of_odd_widths_have_only_their_own_bits() {
    need!("clang-22", "llc", "spirv-val", "llvm-as");
    let folder = Folder::new();
    folder.write(
        "k.ll",
        "target triple = \"spirv64-unknown-unknown\"
         define spir_kernel void @k(ptr addrspace(1) %p) {
           %x = load i32, ptr addrspace(1) %p
           %t = trunc i32 %x to i24
           %a = add i24 %t, -5
           %c = icmp ult i24 %a, 7
           %z = zext i1 %c to i32
           %q = getelementptr i32, ptr addrspace(1) %p, i64 1
           store i32 %z, ptr addrspace(1) %q
           %s = ashr i24 %a, 4
           %e = sext i24 %s to i32
           %r = getelementptr i32, ptr addrspace(1) %p, i64 2
           store i32 %e, ptr addrspace(1) %r
           %w = zext i32 %x to i33
           %m = mul i33 %w, %w
           %h = lshr i33 %m, 1
           %n = trunc i33 %h to i32
           %u = getelementptr i32, ptr addrspace(1) %p, i64 3
           store i32 %n, ptr addrspace(1) %u
           ret void
         }",
    );
    folder.run(tool("llvm-as").unwrap(), ["k.ll"]).ok();
    folder.offkit("link k.bc -o k.syclbin").ok();
    for x in [2_i32, 5, 11, 12, -1, 0x0100_0005, 0x7fff_fff0] {
        folder.write("a.npy", npy_i32("(4,)", [x, 0, 0, 0]));
        folder
            .offkit("run k.syclbin k --global 1 --arg a.npy --out b.npy")
            .ok();
        let low = i64::from(x) - 5;
        let (low, signed) = (low & 0xff_ffff, ((low << 40) >> 40) as i32);
        let wide = u64::from(x.cast_unsigned()).wrapping_pow(2) & 0x1_ffff_ffff;
        let expected = [x, i32::from(low < 7), signed >> 4, (wide >> 1) as u32 as i32];
        assert_eq!(read_i32(&folder.read("b.npy")), expected, "{x:#x}");
    }
}

#[test]
fn the_signs_of_integers_decide_all_and_any() {
    need!("clang-22", "llc", "spirv-val");
    let source = "kernel void k(global int4 *a) {
          int4 x = a[0];
          a[0] = (int4)(all(x), any(x), all(x.xy), any(as_char3(as_char4(x.w).xyz)));
        }";
    for level in [0, 2] {
        for (input, expected) in [
            ([-1, -2, -3, -4], [1, 1, 1, 1]),
            ([-1, -2, 3, 0x0080_0000], [0, 1, 1, 1]),
            ([1, -2, 3, i32::MIN], [0, 1, 0, 0]),
            ([1, 2, 3, 4], [0, 0, 0, 0]),
        ] {
            assert_eq!(results("signs", source, level, input), expected, "{input:?}");
        }
    }
}

#[test]
fn every_other_component_is_taken() {
    need!("clang-22", "llc", "spirv-val");
    let source = "kernel void k(global int *a) {
          global short8 *s = (global short8 *)a;
          global int16 *i = (global int16 *)(a + 16);
          short4 x = s[0].even; int8 y = i[0].even;
          vstore4(convert_int4(x), 0, a); vstore8(y, 0, a + 4);
        }";
    let input: Vec<i32> = (0..32).map(|i| if i < 4 { i } else { 100 + i }).collect();
    let mut expected = input.clone();
    expected[..4].copy_from_slice(&[0, 1, 2, 3]);
    for place in 0..8 {
        expected[4 + place] = input[16 + 2 * place];
    }
    assert_eq!(results("even", source, 2, input), expected);
}

#[test]
fn halves_lie_where_the_function_says() {
    need!("clang-22", "llc", "spirv-val");
    let folder = Folder::new();
    // Of a local array of bytes, the back end left the pointer one to bytes.
    let source = "kernel void k(global float *a) {
           local uchar room[64] __attribute__((aligned(8)));
           local half *h = (local half *)room;
           for (int i = 0; i < 16; i++) vstore_half(a[i], i, h);
           barrier(CLK_LOCAL_MEM_FENCE);
           vstore3(vloada_half3(0, h) + vloada_half3(1, h), 0, a);
           vstore4(vload_half4(2, h), 1, a);
           a[8] = vload_half(0, (local half *)room);
           uchar4 first = vload4(1, room);
           a[9] = first.x | first.y << 8 | first.z << 16 | first.w << 24;
           printf(\"%d\\n\", first.x);
         }";
    // Before OpenCL C 2.0 there are no generic pointers, to which such a pointer was converted.
    for (language, level) in [("CL3.0", 0), ("CL3.0", 2), ("CL1.2", 0), ("CL1.2", 2)] {
        let options = format!("-cl-std={language}");
        compile(&folder, "halves", source, "spirv64", &options);
        folder
            .offkit(&format!("link halves.bc -O{level} -o halves.syclbin"))
            .ok();
        let input: Vec<f32> = (0..16).map(|i| i as f32).collect();
        folder.write("a.npy", npy_f32("(16,)", input.iter().copied()));
        folder
            .offkit("run halves.syclbin k --global 1 --arg a.npy --out b.npy")
            .ok();
        let mut expected = input;
        expected[..3].copy_from_slice(&[4.0, 6.0, 8.0]);
        expected[4..8].copy_from_slice(&[8.0, 9.0, 10.0, 11.0]);
        // 2 and 3 as halves, together.
        expected[8..10].copy_from_slice(&[0.0, 0x4200_4000 as f32]);
        assert_eq!(read_f32(&folder.read("b.npy")), expected, "-O{level}");
    }
}

#[test]
fn arrays_in_local_memory_have_all_their_elements() {
    need!("clang-22", "llc", "spirv-val");
    // Where one work-item goes over an array, a pointer walks through it, and the back end took that for all there is:
    // one `int`, or one byte where functions alone get the pointer.
    let source = "typedef struct { char a; short b; } pair;
        kernel void k(global int *a) {
          local int t[100]; local atomic_int u[100]; local volatile atomic_flag f[100]; local pair p[100];
          local uchar room[8];
          for (int i = 0; i < 8; i++) room[i] = i;
          for (int i = 0; i < 100; i++) t[i] = a[i];
          for (int i = 0; i < 100; i++) atomic_init(&u[i], a[i]);
          for (int i = 0; i < 100; i++)
            if (a[i] & 1) atomic_flag_test_and_set(&f[i]); else atomic_flag_clear(&f[i]);
          for (int i = 0; i < 100; i++) { p[i].a = a[i]; p[i].b = 3 * a[i]; }
          barrier(CLK_LOCAL_MEM_FENCE);
          int x = 0;
          for (int i = 0; i < 100; i++) x = x * 31 + t[i];
          for (int i = 0; i < 100; i++) x = x * 31 + atomic_fetch_add(&u[i], 1);
          for (int i = 0; i < 100; i++) x = x * 31 + atomic_flag_test_and_set(&f[i]);
          for (int i = 0; i < 100; i++) x = x * 31 + p[i].a + p[i].b;
          for (int i = 0; i < 8; i++) x = x * 31 + room[i];
          a[0] = x;
        }";
    let input = || (0..100).map(|i| i * 7 % 64);
    let add = |x: i32, next: i32| x.wrapping_mul(31).wrapping_add(next);
    let expected = [
        input().collect::<Vec<_>>(),
        input().collect(),
        input().map(|number| number & 1).collect(),
        input().map(|number| 4 * number).collect(),
        (0..8).collect(),
    ];
    let expected = expected.into_iter().flatten().fold(0, add);
    for level in [0, 1, 2, 3] {
        assert_eq!(
            results("arrays", source, level, input())[0],
            expected,
            "-O{level}"
        );
    }
}

#[test]
fn arrays_of_pointers_in_private_memory_have_all_their_elements() {
    need!("clang-22", "llc", "spirv-val");
    // What is stored at the array's own address made it one pointer.
    let source = "kernel void k(global int *a) {
          global int *p[4] = {a, a + 16, a + 7, a + 3};
          global int *q[2][2] = {{a + 1, a + 2}, {a + 4, a + 5}};
          int x = 0;
          for (int i = 0; i < 8; i++) x = x * 31 + p[(a[i] >> 1) & 3][i] + q[a[i] & 1][i & 1][i];
          a[0] = x;
        }";
    let input: Vec<i32> = (0..32).map(|i| i * 11 % 37).collect();
    let (p, q) = ([0, 16, 7, 3], [[1, 2], [4, 5]]);
    let expected = (0..8).fold(0_i32, |x, i| {
        let chosen = [
            p[(input[i] as usize >> 1) & 3] + i,
            q[input[i] as usize & 1][i & 1] + i,
        ];
        x.wrapping_mul(31)
            .wrapping_add(chosen.iter().map(|place| input[*place]).sum())
    });
    for level in [0, 1, 2, 3] {
        assert_eq!(
            results("pointers", source, level, input.iter().copied())[0],
            expected,
            "-O{level}"
        );
    }
}

#[test]
fn narrow_counters_stay_narrow() {
    need!("clang-22", "llc", "spirv-val");
    // The counter, cut to eight bits, came out as one of 64 in the place of one of eight.
    let source = "kernel void k(global int *a) {
          for (int i = 0; i < 16; i++) {
            uchar x = a[i]; ushort y = a[i];
            for (int j = i & 7; j > 0; j -= 2) { x = (uchar)(x * 3 + (uchar)j); y = (ushort)(y * 5 + (ushort)j); }
            a[i] = x + (y << 8);
          }
        }";
    let input: Vec<i32> = (0..16).map(|i| 11 + 37 * i).collect();
    let expected: Vec<i32> = (0..16)
        .zip(&input)
        .map(|(i, number)| {
            let (mut x, mut y, mut j) = (*number as u8, *number as u16, i & 7);
            while j > 0 {
                x = x.wrapping_mul(3).wrapping_add(j as u8);
                y = y.wrapping_mul(5).wrapping_add(j as u16);
                j -= 2;
            }
            i32::from(x) + (i32::from(y) << 8)
        })
        .collect();
    for level in [0, 1, 2, 3] {
        assert_eq!(
            results("counters", source, level, input.iter().copied()),
            expected,
            "-O{level}"
        );
    }
}

#[test]
fn constants_may_point_to_constants() {
    need!("clang-22", "llc", "spirv-val");
    let source = "constant int x = 5;
        constant int y[3] = {10, 20, 30};
        typedef struct { constant int *p; int n; } entry;
        constant entry table[2] = {{&x, 1}, {y, 3}};
        constant int *constant inside[3] = {&x, y + 1, y + 2};
        constant char *constant words[2] = {\"one\", \"three\"};
        kernel void k(global int *a) {
          int i = a[0];
          a[1] = table[i].p[table[i].n - 1];
          a[2] = *inside[i + 1];
          a[3] = words[i][2];
        }";
    for level in [0, 2] {
        assert_eq!(results("constants", source, level, [0, 0, 0, 0]), [0, 5, 20, 101]);
        assert_eq!(
            results("constants", source, level, [1, 0, 0, 0]),
            [1, 30, 30, 114]
        );
    }
}

#[test]
fn a_module_that_spirv_val_refuses_is_not_written() {
    need!("clang-22", "llvm-as", "sh");
    let folder = Folder::new();
    folder.bitcode("app", APP);
    folder.script("spirv-val", "echo 'error: line 1: no good' >&2; exit 1");
    let path = format!("{}:{}", folder.path("").display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(offkit());
    command
        .args("link app.bc --verify -o x.syclbin".split_whitespace())
        .env("PATH", path);
    says(
        &folder.run_command(&mut command).fails(1),
        &["spirv-val refuses app.bc", "no good"],
    );
    assert!(!folder.path("x.syclbin").exists());
}
