//! Random kernels, compiled and interpreted: both leave the same bytes.
//!
//! What they are made of: barriers in control flow of any form, with values and private arrays that live across them;
//! exchange through local memory; work-items that part between barriers; sub-groups of any size
//! that is compiled, 1 among them; groups of one to three dimensions that are no whole number of vectors. They are written
//! as text of `offkit-kernel`, which the worker takes in the place of SPIR-V.
//!
//! A few hundred in each run of the tests; `OFFKIT_STRESS_SECONDS` says for how long there are more (`./dev stress`), and
//! `OFFKIT_STRESS_SEED` which is the first.

mod kernel;

use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::{Case, HEADER_WORDS, ITEM_WORDS, kernel};
use offkit_kernel::ir::Module;
use offkit_plugin_cpu::{
    AllocationKind, Argument, LaunchOptions, Memory, NdRange, Program, TrialOptions, compile_with,
    launch_compiled,
};
use offkit_spirv::{Parameter, ParameterKind, Storage, Type};

const KERNELS: u64 = 300;

/// Why some of them are interpreted, which see their sub-groups: a barrier is in a loop, and behind it another loop can be entered
/// in the middle.
const REFUSAL: &str =
    "kernel `k` is interpreted: a loop that is entered at two places has a branch that work-items part at";

/// What the kernels read.
const INPUT: u32 = 0x1234_5677;

/// How a kernel is run.
#[derive(Clone, Copy, Debug)]
enum Way {
    Interpreted,
    Compiled { full: bool },
}

/// What a kernel leaves in its buffer.
fn run(case: &Case, way: Way) -> Result<Vec<u32>, String> {
    let module = Module::from_text(&case.text).map_err(|error| error.to_string())?;
    let memory = Memory::new();
    let (storage, layout, name) = (Storage::Global, None, "i32".to_owned());
    let pointee = Type { name, layout };
    let declared = vec![vec![Parameter::new(
        ParameterKind::Pointer { storage, pointee },
        8,
    )]];
    let program =
        Program::from_read(module, declared, Arc::clone(&memory)).map_err(|error| error.to_string())?;
    let items: usize = case.range.global.iter().product();
    let size = 4 * (HEADER_WORDS + ITEM_WORDS * items);
    let buffer = memory
        .allocate(size, 64, AllocationKind::Buffer)
        .map_err(|error| error.to_string())?;
    let mut bytes = vec![0; size];
    bytes[..4].copy_from_slice(&INPUT.to_le_bytes());
    memory.write(buffer, &bytes).map_err(|error| error.to_string())?;
    let options = LaunchOptions {
        max_instructions: Some(1 << 24),
        ..LaunchOptions::default()
    };
    let arguments = [Argument::Pointer(buffer)];
    match way {
        Way::Interpreted => program
            .launch("k", &case.range, &arguments, &options)
            .map_err(|error| error.to_string())?,
        Way::Compiled { full } => {
            let (program, text) = (Arc::new(program), case.text.as_bytes());
            let trial = TrialOptions {
                at_full_effort: full,
                contract: true,
                check_bounds: false,
            };
            let refused = launch_compiled(&program, text, "k", &case.range, &arguments, &options, trial)
                .map_err(|error| error.to_string())?;
            // What is interpreted would be compared with itself.
            if let Some(refused) = refused {
                return Err(refused);
            }
        }
    }
    memory
        .read(buffer, &mut bytes)
        .map_err(|error| error.to_string())?;
    let words = bytes.chunks_exact(4);
    Ok(words
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect())
}

/// Whether the program that compiles is there, which is built with the tests of the whole workspace.
#[expect(clippy::print_stderr, reason = "what is not tested is said")]
fn has_worker() -> bool {
    let folder = std::env::current_exe().expect("the test's program");
    let worker = folder.with_file_name("../offkit-llvm-worker");
    let found = worker.exists();
    assert!(
        found || std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|value| value != "1"),
        "{} is required and not found",
        worker.display()
    );
    match found {
        true => compile_with(worker),
        false => eprintln!("SKIPPED: the worker is not built: cargo build -p offkit-llvm-worker"),
    }
    found
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn compiled_kernels_do_what_interpreted_ones_do() {
    if !has_worker() {
        return;
    }
    let first = number("OFFKIT_STRESS_SEED").unwrap_or(0);
    let end = number("OFFKIT_STRESS_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut refused = 0;
    let mut count = 0;
    for seed in first.. {
        if end.map_or(seed == first + KERNELS, |end| Instant::now() > end) {
            break;
        }
        let case = kernel(&[], seed);
        let shown = || {
            let range = &case.range;
            format!(
                "kernel {seed} over {:?} by {:?}\n{}",
                range.global, range.local, case.text
            )
        };
        let expected = run(&case, Way::Interpreted).unwrap_or_else(|error| panic!("{error}\n{}", shown()));
        let full = seed % 4 == 0;
        count += 1;
        let found = match run(&case, Way::Compiled { full }) {
            Ok(found) => found,
            Err(refusal) if refusal == REFUSAL => {
                refused += 1;
                continue;
            }
            Err(error) => panic!("{error}\n{}", shown()),
        };
        let differs = (0..found.len()).find(|word| found[*word] != expected[*word]);
        assert_eq!(
            differs.map(|word| (
                (word - HEADER_WORDS) / ITEM_WORDS,
                (word - HEADER_WORDS) % ITEM_WORDS,
                found[word],
                expected[word]
            )),
            None,
            "work-item, word, compiled, interpreted\n{}",
            shown()
        );
    }
    assert!(
        refused * 50 <= count,
        "{refused} of {count} kernels are interpreted"
    );
}

/// A value that some ways between two barriers make anew and others don't: it is read behind another barrier.
#[test]
fn a_value_that_is_not_made_anew_stays() {
    if !has_worker() {
        return;
    }
    let kernel = |size: &str, way: &str| {
        format!(
            "offkit-kernel 1\n\
            type #0 void\ntype #1 scalar i32\ntype #2 pointer CrossWorkgroup #1\ntype #3 scalar i64\ntype #4 scalar bool\n\
            variable &0 \"linear\" input GlobalLinearId #3 8\nkernel \"k\" @0{size}\n\
            function @0 \"k\" #0\n  parameter %0 #2\n\
            block ^0\n  %1 #3 = input &0 ()\n  %2 #1 = convert unsigned (%1)\n  end jump ^1\n\
            block ^1\n  %3 #1 = phi [^0 i32:0 ^4 %6]\n  %4 #1 = op IMul (%3 i32:100)\n  end jump ^2\n\
            block ^2\n  %5 #1 = phi [^1 %3 ^4 %6]\n  collective barrier work_group uniform ()\n  end jump ^3\n\
            block ^3\n  %6 #1 = op IAdd (%5 i32:1)\n  %7 #4 = op SGreaterThan (%6 i32:3)\n  end branch %7 ^5 ^4\n\
            block ^4\n  %8 #1 = op IAdd (%6 {way})\n  %9 #1 = op BitwiseAnd (%8 i32:1)\n  \
            %10 #4 = op IEqual (%9 i32:0)\n  end branch %10 ^1 ^2\n\
            block ^5\n  collective barrier work_group uniform ()\n  %11 #2 = address 64 [64] (%0 %1)\n  \
            store (%11 %4)\n  end return none\n"
        )
    };
    let range = NdRange {
        dimensions: 1,
        offset: [0; 3],
        global: [54, 1, 1],
        local: Some([27, 1, 1]),
    };
    for size in ["", " sub_group_size 1", " sub_group_size 8"] {
        // In the second of three rounds; or in the second for even work-items, and in the others for odd ones.
        for (way, expected) in [("i32:0", [200, 200]), ("%2", [200, 300])] {
            let text = kernel(size, way);
            let case = Case { text, range };
            for way in [
                Way::Interpreted,
                Way::Compiled { full: false },
                Way::Compiled { full: true },
            ] {
                let words = run(&case, way).unwrap_or_else(|error| panic!("{error}\n{}", case.text));
                let items = words[HEADER_WORDS..].chunks(ITEM_WORDS);
                for (item, words) in items.enumerate() {
                    assert_eq!(words[0], expected[item % 2], "{item}, {way:?}\n{}", case.text);
                }
            }
        }
    }
}
