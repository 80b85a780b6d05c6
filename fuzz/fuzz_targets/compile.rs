//! Kernels that are compiled in this process, by LLVM: whatever is emitted is valid for LLVM, and does what the interpreter
//! does.
//!
//! Any bytes are choices of the generator that the tests of random kernels have (`plugins/cpu/tests/random`); the first says
//! how the kernel is compiled. Bytes that begin as the text of a kernel does are that, and then valid code is all that is asked for:
//! what such a kernel does may be undefined.

#![no_main]

#[path = "../../plugins/cpu/tests/random/kernel.rs"]
mod kernel;

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use offkit_compile::{Arithmetic, Cut, Variant};
use offkit_kernel::ir::Module;
use offkit_llvm::{CompileRequest, Effort};
use offkit_llvm_worker::compile::compile;
use offkit_plugin_cpu::{AllocationKind, Argument, LaunchOptions, Memory, Program, Trial, TrialOptions};
use offkit_spirv::{Parameter, ParameterKind, Storage, Type};

use kernel::{Case, HEADER_WORDS, ITEM_WORDS};

const INPUT: u32 = 0x1234_5677;

/// Steps of the interpreter, for which time is enough.
const MOST_STEPS: u64 = 1 << 22;

fuzz_target!(|bytes: &[u8]| {
    if bytes.starts_with(b"offkit-kernel ") {
        return only_compiled(bytes);
    }
    let Some((how, choices)) = bytes.split_first() else {
        return;
    };
    compared(&kernel::kernel(choices, 0), *how);
});

/// A kernel that is known by its text alone.
fn only_compiled(text: &[u8]) {
    let Some(module) = str::from_utf8(text)
        .ok()
        .and_then(|text| Module::from_text(text).ok())
    else {
        return;
    };
    let Some(kernel) = module.kernels.first() else {
        return;
    };
    let how = text.len();
    let request = CompileRequest {
        kernel: kernel.name.clone(),
        variant: Variant {
            width: 1 << (how % 6),
            rows: how & 1 != 0,
            full: how & 2 != 0,
            narrow_ids: how & 4 != 0,
            contract: how & 8 != 0,
            check_bounds: how & 16 != 0,
            cut: [Cut::AsSeen, Cut::Single, Cut::Merged][how % 3],
            arithmetic: Arithmetic {
                no_signed_zeros: false,
                relaxed: how & 32 != 0,
                exact_quotients: false,
            },
        },
        triple: String::new(),
        processor: String::new(),
        features: String::new(),
        vector_functions: Vec::new(),
        level: Effort::Light,
        lines: how & 64 != 0,
    };
    _ = valid(compile(text, &request));
}

/// Refusals have reasons. That what was emitted is no valid module would be one of LLVM's, which none is to see.
fn valid<T>(made: Result<T, offkit_llvm_worker::Error>) -> Result<T, String> {
    let made = made.map_err(|error| error.to_string());
    if let Err(error) = &made {
        assert!(!error.contains('\n') && !error.contains("LLVM"), "{error}");
    }
    made
}

fn compared(case: &Case, how: u8) {
    let Some(expected) = run(case, None) else { return };
    let options = TrialOptions {
        at_full_effort: how & 3 == 3,
        contract: true,
        check_bounds: how & 4 != 0,
    };
    let found = run(case, Some((options, how & 8 != 0)));
    assert!(
        found.is_none_or(|found| found == expected),
        "over {:?}\n{}",
        case.range,
        case.text
    );
}

/// What a kernel leaves in its buffer: interpreted, or compiled with options, with lines or without. None where it takes too
/// long, or there is a reason not to compile it.
fn run(case: &Case, compiled: Option<(TrialOptions, bool)>) -> Option<Vec<u8>> {
    let module = Module::from_text(&case.text).expect("a module");
    let memory = Memory::new();
    let (storage, layout, name) = (Storage::Global, None, "i32".to_owned());
    let pointee = Type { name, layout };
    let declared = vec![vec![Parameter::new(
        ParameterKind::Pointer { storage, pointee },
        8,
    )]];
    let program = Program::from_read(module, declared, Arc::clone(&memory)).expect("a program");
    let items: usize = case.range.global.iter().product();
    let mut bytes = vec![0; 4 * (HEADER_WORDS + ITEM_WORDS * items)];
    bytes[..4].copy_from_slice(&INPUT.to_le_bytes());
    let buffer = memory
        .allocate(bytes.len(), 64, AllocationKind::Buffer)
        .expect("there is memory");
    memory.write(buffer, &bytes).expect("it fits");
    let arguments = [Argument::Pointer(buffer)];
    let options = LaunchOptions {
        max_instructions: Some(MOST_STEPS),
        ..LaunchOptions::default()
    };
    let Some((trial, lines)) = compiled else {
        program.launch("k", &case.range, &arguments, &options).ok()?;
        memory.read(buffer, &mut bytes).expect("it is there");
        return Some(bytes);
    };
    let (program, text) = (Arc::new(program), case.text.as_bytes());
    let trial = Trial::new(&program, text, 0, trial);
    let made = trial.compile_by(&case.range, |request| {
        let mut request = request.clone();
        request.lines = lines;
        valid(compile(text, &request))
    });
    made.ok()?;
    let refused = trial.launch(&case.range, &arguments, &LaunchOptions::default());
    assert_eq!(refused.map_err(|error| error.to_string()), Ok(None));
    memory.read(buffer, &mut bytes).expect("it is there");
    Some(bytes)
}
