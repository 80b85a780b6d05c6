//! The worker program, asked as `offkit` asks it.

use std::path::{Path, PathBuf};

use offkit_llvm::{EmitOptions, ModuleFile, Part, Worker, WorkerError};
use offkit_llvm_worker::context::Context;
use offkit_llvm_worker::module::Module;

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
        ..EmitOptions::default()
    }
}

/// A file that messages call by its path.
fn named(path: &Path) -> ModuleFile {
    ModuleFile {
        path: path.to_owned(),
        name: path.display().to_string(),
    }
}

fn emit(worker: &mut Worker, input: &Path, root: &str) -> Result<Vec<u8>, WorkerError> {
    let output = input.with_extension("spv");
    let part = Part {
        roots: vec![root.to_owned()],
        output: output.clone(),
        ..Part::default()
    };
    worker.link(&[named(input)], &[])?;
    worker.generate(&[part], &options(), &std::env::temp_dir(), None)?;
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
    let (_, summary) = worker.link(&[named(&kernel), named(&function)], &[]).unwrap();
    worker.save(&merged).unwrap();
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
    let twice = worker.link(&[named(&kernel), named(&kernel)], &[]).unwrap_err();
    assert!(twice.to_string().contains("multiply defined"), "{twice}");
    std::fs::write(folder.path().join("text.bc"), "no bitcode").unwrap();
    let text = worker
        .link(&[named(&folder.path().join("text.bc"))], &[])
        .unwrap_err();
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
    assert!(matches!(error, WorkerError::Crashed { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("generating code for k") && text.contains("LLVM ERROR"),
        "{text}"
    );
}

const HEADER: &str = "target triple = \"spirv64\"\n";

fn file(folder: &Path, name: &str, text: &str) -> ModuleFile {
    ModuleFile {
        path: bitcode(folder, name, &format!("{HEADER}{text}")),
        name: format!("lib.a!{name}"),
    }
}

#[test]
fn modules_in_each_others_way_are_both_named() {
    let folder = tempfile::tempdir().unwrap();
    let flags =
        |value: u32| format!("!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !\"wchar_size\", i32 {value}}}\n");
    let f = "define void @f() { ret void }\n";
    let inputs = [
        file(folder.path(), "other.bc", "define void @other() { ret void }"),
        file(folder.path(), "a.bc", &format!("{f}{}", flags(4))),
        file(folder.path(), "b.bc", f),
        file(
            folder.path(),
            "c.bc",
            &format!("define void @g() {{ ret void }}\n{}", flags(2)),
        ),
    ];
    let mut worker = worker();
    let message = |error: WorkerError| error.to_string();
    let twice = message(worker.link(&inputs[..3], &[]).unwrap_err());
    assert!(
        twice.contains("lib.a!a.bc and lib.a!b.bc") && twice.contains("'f'"),
        "{twice}"
    );
    let two = [inputs[1].clone(), inputs[3].clone()];
    let flags = message(worker.link(&two, &[]).unwrap_err());
    assert!(
        flags.contains("lib.a!a.bc and lib.a!c.bc") && flags.contains("wchar_size"),
        "{flags}"
    );
}

#[test]
fn of_libraries_only_what_is_needed_comes_along() {
    let folder = tempfile::tempdir().unwrap();
    let app = file(
        folder.path(),
        "app.bc",
        "declare void @first()\ndeclare void @missing()\n
         define internal void @way() { call void @first() call void @missing() ret void }
         define spir_kernel void @k() { call void @way() ret void }",
    );
    // They need each other, and each has more than is needed.
    let libraries = [
        file(
            folder.path(),
            "second.bc",
            "define void @second() { ret void }\ndefine void @first() { call void @wrong() ret void }
             declare void @wrong()\ndefine void @unused() { ret void }",
        ),
        file(
            folder.path(),
            "first.bc",
            "declare void @second()\ndefine void @wrong() { call void @second() ret void }",
        ),
    ];
    let mut worker = worker();
    let (inputs, module) = worker.link(std::slice::from_ref(&app), &libraries).unwrap();
    assert_eq!(inputs.len(), 1);
    let mut defined: Vec<_> = (module.functions.iter())
        .filter(|function| !function.is_declaration)
        .map(|function| function.name.as_str())
        .collect();
    defined.sort_unstable();
    assert_eq!(defined, ["first", "k", "second", "way", "wrong"]);
    let needs = worker.needs(&["missing".to_owned()]).unwrap();
    assert_eq!(needs[0].chains, [["k", "way", "missing"]]);
    // Also where the only module is read lazily.
    worker.link(&[app], &[]).unwrap();
    assert_eq!(worker.needs(&["missing".to_owned()]).unwrap(), needs);
}

#[test]
fn a_crash_keeps_the_worker_and_the_code_that_led_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let input = file(
        folder.path(),
        "bfloat.bc",
        "define spir_kernel void @good() { ret void }
        define spir_kernel void @bad(ptr addrspace(1) %p) {
          %x = load bfloat, ptr addrspace(1) %p
          %y = fadd bfloat %x, %x
          store bfloat %y, ptr addrspace(1) %p
          ret void
        }",
    );
    let part = |root: &str| Part {
        roots: vec![root.to_owned()],
        output: folder.path().join(format!("{root}.spv")),
        ..Part::default()
    };
    let mut worker = worker();
    worker.link(&[input], &[]).unwrap();
    let parts = [part("good"), part("bad")];
    let error = worker
        .generate(&parts, &options(), folder.path(), None)
        .unwrap_err();
    let WorkerError::Crashed {
        roots,
        stderr,
        reproducer: Some(reproducer),
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(roots, ["bad"]);
    assert!(stderr.contains("LLVM ERROR"), "{stderr}");
    let (_, kept) = Worker::start_program(Path::new(env!("CARGO_BIN_EXE_offkit-llvm-worker")))
        .and_then(|mut other| other.link(&[named(&reproducer)], &[]))
        .unwrap();
    assert!(kept.function("bad").is_some() && kept.function("good").is_none());
    // The same worker goes on with what it had linked.
    let generated = worker
        .generate(&parts[..1], &options(), folder.path(), None)
        .unwrap();
    assert_eq!(generated[0].exports, ["good"]);
    assert!(parts[0].output.is_file());
}
