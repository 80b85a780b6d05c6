//! What LLVM 22 itself cannot make SPIR-V of, though clang accepts it: for the record, and to notice
//! when it learns.

use crate::case::HEADER;
use crate::clang::{self, Options};
use crate::device::{Device, Operand};

/// A source and a part of the error that clang stops with.
const REFUSED: [(&str, &str); 10] = [
    // Wants an extension that is off by default; with it the function works and is tested where it belongs.
    (
        "kernel void k(global int *o) { o[0] = bit_reverse(o[1]); }",
        "requires the following SPIR-V extension: SPV_KHR_bit_instructions",
    ),
    (
        "kernel void k(global int *o) { o[0] = sub_group_rotate(o[1], 1); }",
        "requires the following SPIR-V extension: SPV_KHR_subgroup_rotate",
    ),
    (
        "kernel void k(volatile global atomic_float *o) { atomic_fetch_add(o, 1.0f); }",
        "requires the following SPIR-V extension: SPV_EXT_shader_atomic_float_add",
    ),
    (
        "kernel void k(global ulong *o) { o[0] = clock_read_device(); }",
        "requires the following SPIR-V extension: SPV_KHR_shader_clock",
    ),
    (
        "#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
         int f(int x) { return x + 1; }
         int g(int x) { return x * 2; }
         kernel void k(global int *o) { int (*p)(int) = o[0] ? &f : &g; o[0] = p(3); }",
        "indirect call",
    ),
    // Has no lowering.
    (
        "kernel void k(global int *o) { o[0] = __builtin_bitreverse32(o[1]); }",
        "Unable to meet SPIR-V requirements",
    ),
    (
        "kernel void k(global int *o) { o[0] = __builtin_add_overflow(o[1], o[2], o + 3); }",
        "cannot select",
    ),
    (
        r#"kernel void k(global int *o, global int *i) { o[0] = printf("%s", "abc"); }
           kernel void l(global int *o, global int *i) { o[0] = printf("%d", i[0]); }"#,
        "printf uses a format string not in constant address space",
    ),
    // No part of OpenCL C as clang has it for SPIR-V.
    (
        "kernel void k(global int *o) { o[0] = intel_sub_group_shuffle(o[1], 1); }",
        "undeclared identifier",
    ),
    (
        "kernel void k(global int *o) { struct { int a : 3; } s; s.a = o[0]; }",
        "bit-fields are not supported",
    ),
];

#[test]
fn what_clang_refuses() {
    if !clang::is_available() {
        return;
    }
    for (source, message) in REFUSED {
        match clang::compile(source, Options::DEFAULT) {
            Ok(_) => panic!("clang compiles it now: test what the device does with\n{source}"),
            Err(error) => assert!(error.contains(message), "{source}\n{error}"),
        }
    }
}

/// Without its extension LLVM 22 writes integer dot products as instructions on floats, which is no
/// valid SPIR-V.
#[test]
fn what_clang_compiles_to_invalid_code() {
    if !clang::is_available() {
        return;
    }
    for call in [
        "dot(as_char4(o[1]), as_char4(o[2]))",
        "dot_acc_sat(as_char4(o[1]), as_char4(o[2]), 5)",
        "dot_4x8packed_ss_int(o[1], o[2])",
    ] {
        let source = format!("kernel void k(global int *o) {{ o[0] = {call}; }}");
        let spirv = clang::compile(&source, Options::DEFAULT).expect("compiles");
        assert!(Device::new(&spirv).is_err(), "{call} is refused");
    }
}

/// Valid SPIR-V, but for something else: what the device does with it is what it says.
const MISCOMPILED: [(&str, i32, i32); 6] = [
    // A conversion between integers takes its source for one of the other signedness than the result.
    ("out[0] = convert_int((char)in[0]);", -5, 251),
    ("out[0] = convert_uint((uchar)in[0]);", 200, -56),
    ("out[0] = convert_char_sat(in[0]);", -5, 127),
    ("out[0] = convert_uchar_sat((uint)in[0]);", -5, 0),
    // The aligned form of three halves is read without the gaps.
    (
        "out[0] = (int)vloada_half3(1, (global half *)in).x;",
        0x4400_0000,
        4,
    ),
    // An overflow is seen wherever the upper half of the product isn't zero.
    ("int r; out[0] = __builtin_mul_overflow(in[0], -in[0], &r);", 5, 1),
];

#[test]
fn what_clang_miscompiles() {
    if !clang::is_available() {
        return;
    }
    for (statement, input, expected) in MISCOMPILED {
        let source = format!("{HEADER}kernel void k(global int *out, global int *in) {{ {statement} }}");
        let device =
            Device::new(&clang::compile(&source, Options::DEFAULT).expect("compiles")).expect("builds");
        // The number takes the second place too: there is the fourth half, which is the next vector's
        // first.
        let input = [0, input].map(i32::to_le_bytes).concat();
        let pointer = if statement.contains("half") {
            input
        } else {
            input[4..].to_vec()
        };
        let operands = [
            Operand::Buffer(vec![0; 4]),
            Operand::Buffer([pointer, vec![0; 16]].concat()),
        ];
        let outcome = device.run("k", &[1], &[], &operands).expect("runs");
        assert_eq!(outcome.buffers[0], expected.to_le_bytes(), "{statement}");
    }
}
