//! Modules to test with: compiled from OpenCL C, assembled from text, or built here.
#![allow(dead_code, reason = "each test program uses its own part")]

use std::process::Command;

use offkit_spirv::{LinkInput, LinkOptions, Module, Verdict, link, validate};

/// Runs a tool on `input`, which is written to a file, and returns the bytes of its output file; None, loudly, when
/// the tool is not installed.
fn run(tool: &str, arguments: &[&str], input_name: &str, input: &str) -> Option<Vec<u8>> {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join(input_name);
    let output = directory.path().join("out.spv");
    std::fs::write(&source, input).unwrap();
    let result = Command::new(tool)
        .args(arguments)
        .arg("-o")
        .arg(&output)
        .arg(&source)
        .output();
    let result = match result {
        Ok(result) => result,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return skip(tool),
        Err(error) => panic!("{tool}: {error}"),
    };
    assert!(
        result.status.success(),
        "{tool}: {}",
        String::from_utf8_lossy(&result.stderr)
    );
    Some(std::fs::read(output).unwrap())
}

/// Says that a test did not run, or fails where that is not allowed.
#[expect(clippy::print_stderr, reason = "a skipped test has to be seen")]
pub(crate) fn skip<T>(tool: &str) -> Option<T> {
    assert!(
        std::env::var_os("OFFKIT_REQUIRE_TOOLS").is_none_or(|value| value != "1"),
        "{tool} is not installed"
    );
    eprintln!("SKIPPED: {tool} is not installed");
    None
}

/// Compiles OpenCL C with LLVM's own SPIR-V back end, for `target`.
pub(crate) fn compile_for(target: &str, source: &str) -> Option<Vec<u8>> {
    let target = format!("--target={target}");
    run(
        "clang-22",
        &[&target, "-cl-std=CL3.0", "-O1", "-c"],
        "source.cl",
        source,
    )
}

/// Compiles OpenCL C for 64-bit devices.
pub(crate) fn compile(source: &str) -> Option<Module> {
    compile_for("spirv64", source).map(|bytes| read(&bytes))
}

/// Compiles LLVM IR for 64-bit devices, with every extension allowed.
pub(crate) fn compile_ir(source: &str) -> Option<Module> {
    let flags = [
        "--target=spirv64",
        "-Wno-override-module",
        "-c",
        "-mllvm",
        "--spirv-ext=all",
    ];
    run("clang-22", &flags, "source.ll", source).map(|bytes| read(&bytes))
}

/// Assembles SPIR-V text, keeping the numbers of ids.
pub(crate) fn assemble(text: &str) -> Option<Module> {
    let bytes = run(
        "spirv-as",
        &["--preserve-numeric-ids", "--target-env", "spv1.4"],
        "source.spvasm",
        text,
    )?;
    Some(read(&bytes))
}

pub(crate) fn read(bytes: &[u8]) -> Module {
    Module::from_bytes(bytes).unwrap()
}

/// Links modules called `m0`, `m1` and so on.
pub(crate) fn try_link(modules: &[&Module], options: LinkOptions) -> Result<Module, offkit_spirv::LinkError> {
    let labels: Vec<String> = (0..modules.len()).map(|number| format!("m{number}")).collect();
    let inputs: Vec<LinkInput<'_>> = labels
        .iter()
        .zip(modules)
        .map(|(label, module)| LinkInput { label, module })
        .collect();
    link(&inputs, options)
}

/// Links modules into an executable that the validator accepts, and reads it back from its bytes.
pub(crate) fn link_valid(modules: &[&Module]) -> Module {
    link_valid_with(modules, LinkOptions::default())
}

pub(crate) fn link_valid_with(modules: &[&Module], options: LinkOptions) -> Module {
    let linked = try_link(modules, options).unwrap_or_else(|error| panic!("{error}"));
    let linked = read(&linked.to_bytes());
    assert_valid(&linked);
    linked
}

/// The validator accepts a module, by the rules of its version and, where the version allows it, those of OpenCL.
pub(crate) fn assert_valid(module: &Module) {
    let version = module.version();
    let environments: &[Option<&str>] = if (version.major, version.minor) <= (1, 2) {
        &[None, Some("opencl2.2")]
    } else {
        &[None]
    };
    for environment in environments {
        match validate(&module.to_bytes(), *environment).unwrap() {
            Some(Verdict::Valid) => {}
            Some(Verdict::Invalid { message } | Verdict::Unknown { message, .. }) => {
                let file = tempfile::NamedTempFile::with_prefix_in("invalid-", env!("CARGO_TARGET_TMPDIR"));
                let (_, path) = file.unwrap().keep().unwrap();
                std::fs::write(&path, module.to_bytes()).unwrap();
                panic!("{environment:?}: {message}\nsee {}", path.display());
            }
            None => {
                skip::<()>("spirv-val");
            }
        }
    }
}

/// Whether the linker of SPIRV-Tools accepts the modules.
pub(crate) fn peer_links(modules: &[&Module], arguments: &[&str]) -> Option<bool> {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("spirv-link");
    command
        .args(arguments)
        .arg("-o")
        .arg(directory.path().join("out.spv"));
    for (number, module) in modules.iter().enumerate() {
        let path = directory.path().join(format!("{number}.spv"));
        std::fs::write(&path, module.to_bytes()).unwrap();
        command.arg(path);
    }
    match command.output() {
        Ok(output) => Some(output.status.success()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => skip("spirv-link"),
        Err(error) => panic!("spirv-link: {error}"),
    }
}
