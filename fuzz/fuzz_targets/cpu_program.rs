//! Any bytes as a program of the CPU device: built, and its first kernel run. Whatever is wrong is an error.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use offkit_plugin_cpu::{AllocationKind, Argument, LaunchOptions, Memory, NdRange, Program};
use offkit_spirv::{ParameterKind, Storage};

/// Bytes of the buffer that every pointer gets, and most of what a value gets.
const BUFFER: usize = 256;

fuzz_target!(|bytes: &[u8]| {
    let memory = Memory::new();
    let Ok(program) = Program::build(bytes, Arc::clone(&memory)) else {
        return;
    };
    let Some(kernel) = program.kernels().first() else {
        return;
    };
    let buffer = memory
        .allocate(BUFFER, 8, AllocationKind::Buffer)
        .expect("there is memory");
    let arguments: Vec<Argument> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter.kind {
            ParameterKind::Pointer {
                storage: Storage::Local,
                ..
            } => Argument::Local(64),
            ParameterKind::Pointer { .. } => Argument::Pointer(buffer),
            _ => Argument::Bytes(vec![1; parameter.size.min(BUFFER as u64) as usize]),
        })
        .collect();
    let options = LaunchOptions {
        max_instructions: Some(10_000),
        print: Some(&|_| Ok(())),
        ..LaunchOptions::default()
    };
    // Mostly an error, of whatever kind.
    let _ = program.launch(&kernel.name, &NdRange::new([4]), &arguments, &options);
});
