//! The safe wrappers keep alive what they need, whatever their owners do; see `./dev memcheck`.

mod common;

use std::sync::Arc;
use std::thread;

use common::bitcode;
use offkit_llvm_worker::beyond_c::Linker;
use offkit_llvm_worker::buffer::Buffer;
use offkit_llvm_worker::codegen::TargetMachine;
use offkit_llvm_worker::context::Context;
use offkit_llvm_worker::link::{Input, link};
use offkit_llvm_worker::module::Module;
use offkit_llvm_worker::targets::{HOST, offer};

const TEXT: &str = "define i32 @f(i32 %x) { %y = add i32 %x, 1 ret i32 %y }";

fn lazy(context: &Context, text: &str) -> Module {
    Module::open(context, &Buffer::copy(&bitcode(text)), "lazy.bc").unwrap()
}

fn text(module: &Module) -> String {
    String::from_utf8(module.to_text()).unwrap()
}

#[test]
fn a_module_outlives_every_other_handle_of_its_context() {
    let module = {
        let context = Context::new();
        Module::parse_text(&context, TEXT).unwrap()
    };
    let copy = module.duplicate();
    drop(module);
    assert!(text(&copy).contains("add i32"));
    let like = Module::like(&copy, "like");
    drop(copy);
    assert!(!text(&like).contains("add i32"));
    assert!(like.verify().is_ok());
}

#[test]
fn a_lazy_module_outlives_its_buffer() {
    let context = Context::new();
    let module = lazy(&context, TEXT);
    drop(context);
    let mut whole = Module::like(&module, "whole");
    // Only now the body is read.
    whole.link(module).unwrap();
    assert!(text(&whole).contains("add i32"));
}

#[test]
fn buffers_are_shared_by_modules_of_several_threads() {
    let buffer = Buffer::copy(&bitcode(TEXT));
    let texts: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let buffer = Arc::clone(&buffer);
                scope.spawn(move || text(&Module::parse(&Context::new(), &buffer, "shared.bc").unwrap()))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(texts[0].contains("add i32") && texts.iter().all(|text| *text == texts[0]));
    assert_eq!(Arc::strong_count(&buffer), 1, "nobody keeps a share of it");
}

#[test]
fn modules_of_two_contexts_are_not_linked() {
    let mut module = Module::parse_text(&Context::new(), TEXT).unwrap();
    let stranger = Module::parse_text(&Context::new(), "define void @g() { ret void }").unwrap();
    let refused = module.link(stranger).unwrap_err().to_string();
    assert!(refused.contains("two contexts"), "{refused}");
    let mut linker = Linker::new(module);
    assert!(
        linker
            .link(Module::parse_text(&Context::new(), TEXT).unwrap())
            .is_err()
    );
    assert!(text(&linker.finish()).contains("add i32"));
}

#[test]
fn a_linker_may_be_given_up_at_any_time() {
    let context = Context::new();
    drop(Linker::new(lazy(&context, TEXT)));
    let mut linker = Linker::new(Module::like(&lazy(&context, TEXT), "linked"));
    linker.link(lazy(&context, TEXT)).unwrap();
    let twice = linker.link(lazy(&context, TEXT)).unwrap_err().to_string();
    assert!(twice.contains("multiply defined"), "{twice}");
    // What was refused leaves no words behind for the next error.
    let again = linker.link(lazy(&context, TEXT)).unwrap_err().to_string();
    assert_eq!(again, twice);
    linker
        .link(lazy(&context, "define void @g() { ret void }"))
        .unwrap();
    let module = linker.finish();
    assert!(module.global("f").is_some() && module.global("g").is_some());
    assert!(module.verify().is_ok());
}

#[test]
fn what_is_in_a_module_is_found_and_changed_while_the_module_is_there() {
    let module = Module::parse_text(
        &Context::new(),
        "@v = global i32 0 #0\n@a = alias i32, ptr @v\n@list = global ptr @f
         define void @f() #0 { store i32 1, ptr @v ret void }\nattributes #0 = { \"key\"=\"value\" }",
    )
    .unwrap();
    let [v, a, f] = ["v", "a", "f"].map(|name| module.global(name).unwrap());
    assert_eq!(
        v.variable_attributes().get("key").map(String::as_str),
        Some("value")
    );
    assert!(a.variable_attributes().is_empty() && f.variable_attributes().is_empty());
    let users = |name: &str| {
        let mut users: Vec<_> = module
            .global(name)
            .unwrap()
            .users()
            .iter()
            .map(|user| user.name())
            .collect();
        users.sort();
        users
    };
    assert_eq!(users("v"), ["a", "f"]);
    assert_eq!(users("f"), ["list"]);
    assert!(module.global("nobody").is_none());
    assert!(module.global("zero\0byte").is_none());
    assert_eq!(module.globals().count(), 4);
}

#[test]
fn what_cannot_be_read_leaves_nothing_behind() {
    let context = Context::new();
    let broken = bitcode(TEXT)[..64].to_vec();
    for _ in 0..3 {
        assert!(Module::parse_text(&context, "define").is_err());
        assert!(Module::open(&context, &Buffer::copy(&broken), "broken.bc").is_err());
        assert!(Module::parse(&context, &Buffer::copy(&broken), "broken.bc").is_err());
    }
    assert!(Buffer::file("/nowhere/at/all".as_ref()).is_err());
    assert!(
        Module::parse_text(&context, TEXT).is_ok(),
        "the context is as good as new"
    );
}

#[test]
fn inputs_of_a_link_are_not_needed_once_it_is_done() {
    let context = Context::new();
    let input = |name: &str, text: &str| Input {
        name: name.to_owned(),
        buffer: Buffer::copy(&bitcode(text)),
    };
    let inputs = [
        input(
            "f.bc",
            "declare i32 @g()\ndefine i32 @f() { %x = call i32 @g() ret i32 %x }",
        ),
        input("other.bc", "define i32 @other() { ret i32 7 }"),
    ];
    let libraries = [input(
        "g.bc",
        "define i32 @g() { ret i32 1 }\ndefine i32 @unused() { ret i32 2 }",
    )];
    let (module, summaries) = link(&context, &inputs, &libraries).unwrap();
    drop((context, inputs, libraries));
    assert_eq!(summaries.len(), 2);
    let text = text(&module);
    assert!(
        text.contains("ret i32 1") && text.contains("ret i32 7") && !text.contains("@unused"),
        "{text}"
    );
}

#[test]
fn code_outlives_what_it_was_made_of() {
    offer(&HOST);
    let code = {
        let machine = TargetMachine::new("x86_64-unknown-linux-gnu", "", "", 1).unwrap();
        let mut module = Module::parse_text(&Context::new(), TEXT).unwrap();
        machine.optimize(&mut module, 1).unwrap();
        machine.emit(&module).unwrap()
    };
    assert!(code.bytes().starts_with(b"\x7FELF"));
    assert!(TargetMachine::new("nonesuch", "", "", 1).is_err());
}
