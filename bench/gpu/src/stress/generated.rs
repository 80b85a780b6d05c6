//! Kernels at random, compiled for the GPU and interpreted: both leave the same words.

use std::sync::Arc;

use offkit_image::Target;
use offkit_kernel::ir::Module;
use offkit_llvm::{DeviceRequest, Worker};
use offkit_pi::host::{Context, Device, QueueProperties};
use offkit_plugin_cpu::{AllocationKind, Argument, LaunchOptions, Memory, Program};
use offkit_runtime::Buffer;
use offkit_spirv::{Parameter, ParameterKind, Storage, Type};

use crate::Result;
use kernel::{Case, HEADER_WORDS, ITEM_WORDS};

// Those that the CPU device is tested with.
#[path = "../../../../plugins/cpu/tests/random/kernel.rs"]
mod kernel;

/// What the kernels read.
const INPUT: u32 = 0x1234_5677;

/// The kernel with a number, if a GPU can run it: it says nothing of its sub-groups, its groups are whole, and its private
/// memory is small.
fn case(seed: u64) -> Option<Case> {
    let case = kernel::kernel(&[], seed);
    let local = case.range.local.unwrap_or([1; 3]);
    let is_whole = (0..3).all(|axis| case.range.global[axis].is_multiple_of(local[axis]));
    let is_small = !case.text.contains("type #5 array #1 40000");
    (is_whole && is_small && !case.text.contains("sub_group")).then_some(case)
}

/// Compiles and runs the kernel with a number; `false` if a GPU can't.
///
/// # Errors
///
/// What the compiler or the device refuses, and what differs.
pub(super) fn run(worker: &mut Worker, seed: u64, device: &Device, target: &Target) -> Result<bool> {
    let Some(case) = case(seed) else {
        return Ok(false);
    };
    let failed = |what: String| format!("kernel {seed} over {:?}: {what}\n{}", case.range, case.text);
    let made = compile(worker, &case, seed, target).map_err(failed)?;
    let items: usize = case.range.global.iter().product();
    let mut words = vec![0u32; HEADER_WORDS + ITEM_WORDS * items];
    words[0] = INPUT;
    let context = Context::new(&[device])?;
    let queue = context.queue(device, QueueProperties::default())?;
    let program = context.program_with_binary(device, &made)?;
    program.build("")?;
    let mut kernel = program.kernel("k")?;
    let buffer = Buffer::from_slice(&context, &words)?;
    kernel.set_argument(0, &buffer)?;
    queue.launch(&kernel, &case.range, &[])?.wait()?;
    let found = buffer.read(&queue, &[])?;
    let expected = interpreted(&case, words).map_err(failed)?;
    match (0..found.len()).find(|word| found[*word] != expected[*word]) {
        None => Ok(true),
        Some(word) => Err(failed(format!(
            "word {word} is {:#x}, and the interpreter has {:#x}",
            found[word], expected[word]
        ))
        .into()),
    }
}

/// A kernel as PTX, optimised more or less.
fn compile(
    worker: &mut Worker,
    case: &Case,
    seed: u64,
    target: &Target,
) -> std::result::Result<Vec<u8>, String> {
    let request = DeviceRequest {
        triple: target.triple.to_string(),
        processor: target.processor().to_owned(),
        optimization: (seed % 4) as u8,
        ..DeviceRequest::default()
    };
    let made = worker.compile_for_device(case.text.as_bytes(), request, None);
    Ok(made.map_err(|error| error.to_string())?.code)
}

/// What the interpreter leaves of some words.
fn interpreted(case: &Case, words: Vec<u32>) -> std::result::Result<Vec<u32>, String> {
    let module = Module::from_text(&case.text).map_err(|error| error.to_string())?;
    let memory = Memory::new();
    let pointee = Type {
        name: "i32".to_owned(),
        layout: None,
    };
    let storage = Storage::Global;
    let pointer = Parameter::new(ParameterKind::Pointer { storage, pointee }, 8);
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let program =
        Program::from_read(module, vec![vec![pointer]], Arc::clone(&memory)).map_err(|error| text(&error))?;
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let buffer = memory
        .allocate(bytes.len(), 64, AllocationKind::Buffer)
        .map_err(|error| text(&error))?;
    memory.write(buffer, &bytes).map_err(|error| text(&error))?;
    let options = LaunchOptions {
        max_instructions: Some(1 << 24),
        ..LaunchOptions::default()
    };
    program
        .launch("k", &case.range, &[Argument::Pointer(buffer)], &options)
        .map_err(|error| text(&error))?;
    memory.read(buffer, &mut bytes).map_err(|error| text(&error))?;
    Ok(bytes
        .as_chunks()
        .0
        .iter()
        .map(|word| u32::from_le_bytes(*word))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise nothing would be tested on a GPU, and nobody would see it.
    #[test]
    fn some_of_the_kernels_are_for_gpus() {
        let count = (0..200).filter(|seed| case(*seed).is_some()).count();
        assert!(count >= 40, "{count} of 200");
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "what is not tested is said")]
    fn they_compile_and_are_interpreted() {
        let worker = std::env::current_exe()
            .unwrap()
            .with_file_name("../offkit-nvptx-worker");
        if !worker.exists() {
            let is_required = std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_some_and(|value| value == "1");
            assert!(!is_required, "{} is required and not found", worker.display());
            return eprintln!("SKIPPED: the worker is not built: cargo build -p offkit-llvm-worker");
        }
        let mut worker = Worker::start_program(&worker).unwrap();
        for (seed, case) in (0..200).filter_map(|seed| Some((seed, case(seed)?))) {
            let target =
                offkit_image::target::Device::of_capability(if seed % 2 == 0 { 7 } else { 9 }, 0).target;
            let code =
                compile(&mut worker, &case, seed, &target).unwrap_or_else(|error| panic!("{seed}: {error}"));
            assert!(
                String::from_utf8(code).unwrap().contains(".visible .entry k("),
                "{seed}"
            );
            let items: usize = case.range.global.iter().product();
            let words = vec![INPUT; HEADER_WORDS + ITEM_WORDS * items];
            let left = interpreted(&case, words.clone()).unwrap_or_else(|error| panic!("{seed}: {error}"));
            assert_ne!(left, words, "{seed}");
        }
    }
}
