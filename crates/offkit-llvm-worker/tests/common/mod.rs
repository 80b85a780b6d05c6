//! What the tests of the worker share.
#![allow(dead_code, reason = "each file of tests uses a part of it")]

use std::path::Path;

use offkit_llvm::{CodeOptions, Form, ModuleSummary, OpenedModule, Part, Source, Worker, WorkerError};
use offkit_llvm_worker::context::Context;
use offkit_llvm_worker::module::Module;

/// A worker, started as `offkit` starts it.
pub(crate) fn worker() -> Worker {
    Worker::start_program(Path::new(env!("CARGO_BIN_EXE_offkit-llvm-worker"))).expect("the worker starts")
}

/// LLVM's text form with a target, SPIR-V.
pub(crate) fn with_target(text: &str) -> String {
    format!("target datalayout = \"G1\"\ntarget triple = \"spirv64-unknown-unknown\"\n{text}")
}

/// Bitcode of a module for SPIR-V in LLVM's text form.
pub(crate) fn bitcode(text: &str) -> Vec<u8> {
    let module = Module::parse_text(&Context::new(), &with_target(text)).expect("valid IR");
    module.to_bitcode().bytes().to_vec()
}

/// A module to be read from memory.
pub(crate) fn source(name: &str, text: &str) -> Source<'static> {
    Source::bytes(name, bitcode(text))
}

/// Opens one module without looking into bodies.
pub(crate) fn open(worker: &mut Worker, source: &Source<'_>) -> Result<OpenedModule, WorkerError> {
    worker.open(std::slice::from_ref(source), &[], false)
}

/// A part with these definitions, the first of them visible.
pub(crate) fn part(contents: &[&str]) -> Part {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    Part {
        roots: names(&contents[..1]),
        contents: Some(names(contents)),
        visible: Some(names(&contents[..1])),
        ..Part::default()
    }
}

/// SPIR-V, without extensions.
pub(crate) fn spirv() -> CodeOptions {
    CodeOptions {
        triple: "spirv64v1.2-unknown-unknown".into(),
        optimization: 2,
        ..CodeOptions::default()
    }
}

/// The parts of an open module in LLVM's text form.
pub(crate) fn texts(
    worker: &mut Worker,
    module: &OpenedModule,
    parts: &[Part],
) -> Result<Vec<String>, WorkerError> {
    let emitted = worker.emit(module.id, parts, &Form::Text, 0)?;
    let texts = emitted.into_iter().map(|part| String::from_utf8(part.content));
    Ok(texts.collect::<Result<_, _>>().expect("text"))
}

/// The names of what a module defines, functions first.
pub(crate) fn defined(summary: &ModuleSummary) -> Vec<&str> {
    let functions = (summary.functions.iter())
        .filter(|function| !function.is_declaration)
        .map(|function| function.name.as_str());
    let variables = (summary.variables.iter())
        .filter(|variable| !variable.is_declaration)
        .map(|variable| variable.name.as_str());
    functions.chain(variables).collect()
}

/// Code that LLVM's SPIR-V back end ends the process at: a number of this type needs an extension.
pub(crate) const FATAL: &str = "define spir_kernel void @good() { ret void }
    define spir_kernel void @bad(ptr addrspace(1) %p) {
      %x = load bfloat, ptr addrspace(1) %p
      %y = fadd bfloat %x, %x
      store bfloat %y, ptr addrspace(1) %p
      ret void
    }";
