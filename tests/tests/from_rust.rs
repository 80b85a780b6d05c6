//! `docs/rust.md`: its code is that of `examples/from-rust`, and that runs.

use std::env;
use std::fs;
use std::process::Command;

use offkit_tests::documentation::blocks;
use offkit_tests::drivers::alone;
use offkit_tests::valgrind::VALGRIND;
use offkit_tests::{Folder, need, programs, root};

const PAGE: &str = "docs/rust.md";
const SOURCE: &str = "examples/from-rust/main.rs";

/// The parts of the source that are for the page: from a comment with a name only to a comment `end`.
fn parts() -> Vec<String> {
    let source = fs::read_to_string(root().join(SOURCE)).unwrap();
    let mut parts = Vec::new();
    for name in ["link", "list", "extract", "pack", "launch", "bundle"] {
        let (_, rest) = source.split_once(&format!("\n// {name}\n")).expect(name);
        let (part, _) = rest.split_once("// end\n").expect(name);
        parts.push(part.to_owned());
    }
    parts
}

#[test]
fn the_page_shows_the_example_as_it_is() {
    let rust = blocks(PAGE)
        .into_iter()
        .filter(|(language, _)| language == "rust");
    let shown: Vec<String> = rust.map(|(_, code)| code).collect();
    assert_eq!(shown, parts());
}

#[test]
fn the_example_links_lists_packs_and_launches() {
    need!("clang-22", "llvm-config-22", "valgrind");
    let folder = Folder::new();
    folder.compiled_example();

    let programs = programs();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // With the features of all, as the programs: what the example shares with them is built once.
    cargo.args(["build", "--quiet", "--workspace", "--example", "from_rust"]);
    if programs.ends_with("release") {
        cargo.arg("--release");
    }
    assert!(cargo.current_dir(root()).status().unwrap().success());

    let example = programs.join("examples/from_rust").display().to_string();
    for under in [&[][..], &VALGRIND] {
        let words: Vec<_> = under.iter().copied().chain([example.as_str()]).collect();
        let mut program = Command::new(words[0]);
        alone(&mut program)
            .args(&words[1..])
            .args(["app.bc", "library.bc"])
            .env("OFFKIT_LLVM_WORKER", programs.join("offkit-llvm-worker"))
            .env("XDG_CACHE_HOME", folder.path("cache"));
        check(&folder.run_command(&mut program).ok());
    }
}

/// Whether the example has printed what it should.
#[track_caller]
fn check(output: &str) {
    let app =
        "SPIR-V for spirv64-unknown-unknown\n  kernels: saxpy reduce\n  needs: axpy combine\n  offers: \n";
    let library = "library.syclbin!0/ir/0: SPIR-V for spirv64-unknown-unknown\n  kernels: \n  needs: \n  \
                   offers: axpy multiply_add combine\n";
    assert!(output.contains(app), "{output}");
    assert!(output.contains(library), "{output}");
    let launched = " bytes with both images\n2.5 * 1023 + 1 = 2558.5\nsaxpy is ready to run\n";
    assert!(output.contains(launched), "{output}");
    let program = "program.syclbin!0/ir/0: SPIR-V for spirv64-unknown-unknown\n  kernels: matmul saxpy reduce\n  needs: \n  \
                   offers: \n";
    assert!(output.ends_with(program), "{output}");
}
