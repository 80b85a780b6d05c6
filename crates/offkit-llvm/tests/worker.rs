//! The worker program, asked as `offkit` asks it.

use std::path::{Path, PathBuf};

use offkit_llvm::context::Context;
use offkit_llvm::module::Module;
use offkit_worker::{EmitOptions, Part, Worker, WorkerError};

fn worker() -> Worker {
    Worker::start_program(Path::new(env!("CARGO_BIN_EXE_offkit-llvm-worker"))).expect("the worker starts")
}

fn bitcode(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    Module::parse_text(&Context::new(), text)
        .expect("valid IR")
        .write(&path)
        .expect("a writable folder");
    path
}

fn options() -> EmitOptions {
    EmitOptions {
        triple: "spirv64v1.2-unknown-unknown".into(),
        optimization: 2,
        spirv_extensions: Vec::new(),
    }
}

fn emit(worker: &mut Worker, input: &Path, root: &str) -> Result<Vec<u8>, WorkerError> {
    let output = input.with_extension("spv");
    let part = Part {
        roots: vec![root.to_owned()],
        left_out: Vec::new(),
        output: output.clone(),
    };
    worker.emit(input, &[part], &options())?;
    Ok(std::fs::read(output).expect("the file was written"))
}

const KERNEL: &str = "target triple = \"spirv64\"
    define spir_kernel void @k(ptr addrspace(1) %p) { store i32 1, ptr addrspace(1) %p ret void }";

#[test]
fn a_worker_answers_many_requests() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = bitcode(folder.path(), "k.bc", KERNEL);
    let function = bitcode(
        folder.path(),
        "f.bc",
        "target triple = \"spirv64\" define i32 @f() { ret i32 1 }",
    );
    let mut worker = worker();
    assert!(
        worker.llvm_version().starts_with("22."),
        "{}",
        worker.llvm_version()
    );
    let merged = folder.path().join("merged.bc");
    worker.merge(&[kernel, function], &merged).unwrap();
    let summary = worker.summarize(&merged).unwrap();
    let names: Vec<_> = summary
        .functions
        .iter()
        .map(|function| function.name.as_str())
        .collect();
    assert_eq!(names, ["k", "f"]);
    let spirv = emit(&mut worker, &merged, "k").unwrap();
    // Magic and version 1.2.
    assert_eq!(spirv[..8], [3, 2, 0x23, 7, 0, 2, 1, 0]);
    assert_eq!(
        emit(&mut worker, &merged, "k").unwrap(),
        spirv,
        "the same request gives the same bytes"
    );
}

#[test]
fn what_llvm_refuses_is_an_error_and_the_worker_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = bitcode(folder.path(), "k.bc", KERNEL);
    let mut worker = worker();
    let twice = worker
        .merge(&[kernel.clone(), kernel.clone()], &folder.path().join("m.bc"))
        .unwrap_err();
    assert!(twice.to_string().contains("multiply defined"), "{twice}");
    std::fs::write(folder.path().join("text.bc"), "no bitcode").unwrap();
    let text = worker.summarize(&folder.path().join("text.bc")).unwrap_err();
    assert!(text.to_string().contains("text.bc"), "{text}");
    assert!(emit(&mut worker, &kernel, "missing").is_err());
    assert!(emit(&mut worker, &kernel, "k").is_ok());
}

#[test]
fn a_fatal_error_in_the_code_generator_is_told_with_its_words() {
    let folder = tempfile::tempdir().unwrap();
    // A number of this type needs an extension that is not allowed here, which LLVM reports by ending
    // the process.
    let fatal = bitcode(
        folder.path(),
        "bfloat.bc",
        "target triple = \"spirv64\"
        define spir_kernel void @k(ptr addrspace(1) %p) {
          %x = load bfloat, ptr addrspace(1) %p
          %y = fadd bfloat %x, %x
          store bfloat %y, ptr addrspace(1) %p
          ret void
        }",
    );
    let error = emit(&mut worker(), &fatal, "k").unwrap_err();
    assert!(matches!(error, WorkerError::Died { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("generating code for k") && text.contains("LLVM ERROR"),
        "{text}"
    );
}
