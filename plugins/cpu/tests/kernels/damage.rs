//! Modules that are cut short or changed: an error or a bounded run, never a panic.

use std::sync::Arc;

use offkit_plugin_cpu::{
    AllocationKind, Argument, BuildError, KernelInfo, LaunchOptions, Memory, NdRange, Program,
};
use offkit_spirv::{Parameter, ParameterKind, Storage};

use crate::support::compile;

const SOURCE: &str = "typedef struct { int a; float b[2]; } S;
  constant int table[4] = {1, 2, 3, 4};
  global int counter = 3;
  __attribute__((noinline)) int helper(int a, S s) { return a / 3 + s.a + (int)s.b[a & 1]; }
  kernel void k(global int *out, S s, local int *l, float4 v) {
    int i = get_global_id(0); int p[4] = {i, 1, 2, 3};
    l[get_local_id(0)] = p[i & 3];
    barrier(CLK_LOCAL_MEM_FENCE);
    switch (i) { case 1: out[0] = 5; break; case 2: out[1] = helper(i, s); break; default: atomic_add(&counter, table[i & 3]); }
    for (int j = 0; j < i; ++j) out[i] += work_group_reduce_add(1) * l[j & 3] + (int)sin(v.x) + (int)v[j & 3];
  }";

/// Builds a module, and where that goes well launches each kernel with what it asks for. Gives their
/// number.
fn exercise(spirv: &[u8]) -> Result<usize, BuildError> {
    let memory = Memory::new();
    let buffer = memory.allocate(256, 8, AllocationKind::Buffer).unwrap();
    let program = Program::build(spirv, Arc::clone(&memory))?;
    for kernel in program.kernels() {
        launch(&program, kernel, buffer);
    }
    Ok(program.kernels().len())
}

fn launch(program: &Program, kernel: &KernelInfo, buffer: u64) {
    let argument = |parameter: &Parameter| match parameter.kind {
        ParameterKind::Pointer {
            storage: Storage::Local,
            ..
        } => Argument::Local(64),
        ParameterKind::Pointer { .. } => Argument::Pointer(buffer),
        _ => Argument::Bytes(vec![1; parameter.size.min(1 << 20) as usize]),
    };
    let arguments: Vec<Argument> = kernel.parameters.iter().map(argument).collect();
    let options = LaunchOptions {
        max_instructions: Some(20_000),
        print: Some(&|_| Ok(())),
        ..LaunchOptions::default()
    };
    // Whether it fails is the module's business.
    _ = program.launch(
        &kernel.name,
        &NdRange::new([8]).with_local([4]),
        &arguments,
        &options,
    );
}

#[test]
fn cut_short() {
    for optimisation in ["-O0", "-O2"] {
        let Some(spirv) = compile(SOURCE, optimisation, "spirv64", &[]) else {
            return;
        };
        assert_eq!(exercise(&spirv), Ok(1));
        for length in 0..spirv.len() {
            if length % 4 != 0 && length > 64 {
                continue;
            }
            // What ends between two sections or functions may still be a module, but not one with a
            // kernel whose code is gone.
            if exercise(&spirv[..length]).is_ok_and(|kernels| kernels > 0) {
                assert!(
                    length > spirv.len() / 2,
                    "{length} of {} bytes make a kernel",
                    spirv.len()
                );
            }
        }
    }
}

#[test]
fn bits_flipped() {
    for optimisation in ["-O0", "-O2"] {
        let Some(mut spirv) = compile(SOURCE, optimisation, "spirv64", &[]) else {
            return;
        };
        let mut refused = 0;
        for at in 0..spirv.len() {
            for bit in [0, 4] {
                spirv[at] ^= 1 << bit;
                refused += usize::from(exercise(&spirv).is_err());
                spirv[at] ^= 1 << bit;
            }
        }
        assert!(
            refused > spirv.len(),
            "{refused} of {} were refused",
            spirv.len() * 4
        );
    }
}

#[test]
fn words_replaced() {
    let Some(mut spirv) = compile(SOURCE, "-O1", "spirv64", &[]) else {
        return;
    };
    for at in (0..spirv.len()).step_by(4) {
        for word in [
            0u32,
            1,
            u32::MAX,
            0x8000_0000,
            (at as u32 * 7) % 300,
            (at as u32 * 13) % 300,
        ] {
            let old: [u8; 4] = spirv[at..at + 4].try_into().unwrap();
            spirv[at..at + 4].copy_from_slice(&word.to_le_bytes());
            _ = exercise(&spirv);
            spirv[at..at + 4].copy_from_slice(&old);
        }
    }
}

#[test]
fn not_spirv() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "the SPIR-V header has 5 words, but there are only 0"),
        (
            b"BC\xc0\xde0123456789abcdef",
            "expected the SPIR-V magic number 0x07230203, found 0xdec04342",
        ),
        (
            b"\x03\x02\x23\x07\x00\x09\x01\x00\0\0\0\0\x01\0\0\0\0\0\0\0",
            "expected SPIR-V version 1.0 to 1.6, found 0x00010900",
        ),
        (
            b"\x03\x02\x23\x07\x00\x04\x01\x00\0\0\0\0\x01\0\0\0\0\0\0\0\0",
            "SPIR-V is made of 32-bit words, but this has 21 bytes",
        ),
    ];
    for (bytes, message) in cases {
        let error = exercise(bytes).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}
