//! What the worker does with anything that comes down its pipe.

mod common;

use std::io::Cursor;

use common::bitcode;
use offkit_llvm::frame::{Message, read_message, write_message};
use offkit_llvm::{Form, ModuleId, ModuleSource, PROTOCOL_VERSION, Part, Reply, Request};
use offkit_llvm_worker::serve::serve;

/// The replies to what comes down the pipe.
fn answers(pipe: &[u8]) -> Vec<Message<Reply>> {
    let mut output = Vec::new();
    serve(Cursor::new(pipe), &mut output).expect("the pipe does not break");
    let mut output = output.as_slice();
    std::iter::from_fn(|| read_message(&mut output).expect("replies")).collect()
}

fn request(pipe: &mut Vec<u8>, request: &Request, blocks: &[&[u8]]) {
    write_message(pipe, request, blocks).unwrap();
}

fn message(answer: &Message<Reply>) -> &str {
    match &answer.body {
        Reply::Failed { message } => message,
        other => panic!("{other:?}"),
    }
}

fn in_memory(name: &str) -> ModuleSource {
    ModuleSource {
        name: name.to_owned(),
        path: None,
    }
}

fn open(inputs: Vec<ModuleSource>) -> Request {
    Request::Open {
        inputs,
        libraries: Vec::new(),
        bodies: false,
    }
}

const HELLO: Request = Request::Hello {
    protocol: PROTOCOL_VERSION,
};

#[test]
fn what_is_no_request_is_answered_and_the_next_one_is_read() {
    let mut pipe = Vec::new();
    pipe.extend_from_slice(b"\n");
    pipe.extend_from_slice(b"\xff\xfe{\n");
    pipe.extend_from_slice(b"{\"body\":{\"print\":{}}}\n");
    pipe.extend_from_slice(b"{\"blocks\":[5],\"body\":{\"emit\":{\"module\":-1}}}\n\n\n\n\n\n");
    pipe.extend_from_slice(b"{\"body\":{\"close\":{\"module\":0,\"more\":1}}}\n");
    request(&mut pipe, &HELLO, &[]);
    let answers = answers(&pipe);
    assert_eq!(answers.len(), 6, "{answers:?}");
    for answer in &answers[..4] {
        assert!(message(answer).starts_with("not a request: "), "{answer:?}");
    }
    assert!(
        message(&answers[2]).contains("unknown variant `print`"),
        "{answers:?}"
    );
    assert_eq!(message(&answers[4]), "no module 0 is open");
    assert!(matches!(
        &answers[5].body,
        Reply::Hello { protocol: PROTOCOL_VERSION, llvm } if llvm.starts_with("22.")
    ));
}

#[test]
fn a_request_that_ends_in_the_middle_ends_the_worker() {
    let mut pipe = Vec::new();
    let content = bitcode("define void @f() { ret void }");
    request(&mut pipe, &open(vec![in_memory("f.bc")]), &[&content]);
    for length in [
        pipe.len() - 1,
        pipe.len() - content.len(),
        pipe.len() - content.len() - 2,
    ] {
        let mut output = Vec::new();
        let served = serve(Cursor::new(&pipe[..length]), &mut output);
        // A line without an end may be tried; a block that is cut short cannot be.
        match length + 2 + content.len() == pipe.len() {
            true => assert!(
                String::from_utf8_lossy(&output).contains("not a request"),
                "{output:?}"
            ),
            false => assert!(served.is_err() && output.is_empty(), "{length}"),
        }
    }
}

#[test]
fn blocks_belong_to_the_sources_without_a_path_in_order() {
    let mut pipe = Vec::new();
    let f = bitcode("define void @f() { ret void }");
    let g = bitcode(
        "define void @g() { ret void }\ndeclare void @h()\ndefine void @i() { call void @h() ret void }",
    );
    let h = bitcode("define void @h() { ret void }");
    let linked = Request::Open {
        inputs: vec![in_memory("f.bc"), in_memory("g.bc")],
        libraries: vec![in_memory("h.bc")],
        bodies: true,
    };
    request(&mut pipe, &linked, &[&f, &g, &h]);
    request(&mut pipe, &linked, &[&f, &g]);
    request(&mut pipe, &open(vec![in_memory("f.bc")]), &[&f, &g]);
    let whole = Request::Emit {
        module: ModuleId(1),
        parts: vec![Part::default(), Part::default()],
        form: Form::Bitcode,
        jobs: 0,
    };
    request(&mut pipe, &whole, &[]);
    let answers = answers(&pipe);
    let [linked, missing, one, emitted] = answers.as_slice() else {
        panic!("{answers:?}")
    };
    let Reply::Opened(linked) = &linked.body else {
        panic!("{linked:?}")
    };
    assert_eq!(common::defined(&linked.summary), ["f", "g", "i", "h"]);
    assert_eq!(message(missing), "h.bc: there is neither a path nor a block");
    let Reply::Opened(one) = &one.body else {
        panic!("{one:?}")
    };
    assert_eq!((one.id, common::defined(&one.summary)), (ModuleId(1), vec!["f"]));
    let Reply::Emitted(told) = &emitted.body else {
        panic!("{emitted:?}")
    };
    assert_eq!(told.len(), 2);
    assert_eq!(emitted.blocks.len(), 2);
    assert!(emitted.blocks[0].starts_with(b"BC\xC0\xDE") && emitted.blocks[0] == emitted.blocks[1]);
}

/// Modules are opened, emitted and closed over and over; under `./dev memcheck` none of it may stay behind.
#[test]
fn modules_come_and_go() {
    let content = bitcode(
        "@v = addrspace(1) global i32 0 #0\nattributes #0 = { \"a\"=\"b\" }
         define internal i32 @g() { ret i32 1 }
         define spir_kernel void @k() { %x = call i32 @g() store i32 %x, ptr addrspace(1) @v ret void }
         !spirv.ExecutionMode = !{!0}\n!0 = !{ptr @k, i32 35}",
    );
    let damaged = &content[..content.len() / 2 / 4 * 4];
    let rounds: u32 = 20;
    let mut pipe = Vec::new();
    for round in 0..rounds {
        let module = ModuleId(round);
        let request_open = Request::Open {
            inputs: vec![in_memory("k.bc")],
            libraries: Vec::new(),
            bodies: round % 2 == 0,
        };
        request(&mut pipe, &request_open, &[&content]);
        request(&mut pipe, &request_open, &[damaged]);
        let names = vec!["k".to_owned(), "g".to_owned(), "v".to_owned()];
        let part = Part {
            visible: Some(names[..1].to_vec()),
            contents: Some(names),
            ..Part::default()
        };
        let parts = vec![part, Part::default()];
        for form in [Form::Text, Form::Bitcode] {
            let (parts, jobs) = (parts.clone(), 2);
            request(
                &mut pipe,
                &Request::Emit {
                    module,
                    parts,
                    form,
                    jobs,
                },
                &[],
            );
        }
        let source = "k.cpp".to_owned();
        request(
            &mut pipe,
            &Request::Mark {
                module,
                source,
                only_annotated: false,
            },
            &[],
        );
        let symbols = vec!["g".to_owned()];
        request(&mut pipe, &Request::Needs { module, symbols }, &[]);
        request(&mut pipe, &Request::Close { module }, &[]);
    }
    let answers = answers(&pipe);
    let failed = answers
        .iter()
        .filter(|answer| matches!(answer.body, Reply::Failed { .. }));
    assert_eq!(failed.count(), rounds as usize, "the damaged ones");
    let is_done = |answer: &&Message<Reply>| answer.body == Reply::Done;
    assert_eq!(answers.iter().filter(is_done).count(), 2 * rounds as usize);
    assert_eq!(answers.len(), 7 * rounds as usize);
}

#[test]
fn images_are_wrapped_as_llvms_tools_take_them() {
    let wrap = |language: &str, host: &str| Request::Wrap {
        language: language.to_owned(),
        host: host.to_owned(),
        relocatable: false,
    };
    let mut pipe = Vec::new();
    let host = "x86_64-unknown-linux-gnu";
    request(&mut pipe, &wrap("hip", host), &[b"bundle"]);
    request(&mut pipe, &wrap("hip", host), &[b"two", b"bundles"]);
    request(&mut pipe, &wrap("openmp", host), &[]);
    request(&mut pipe, &wrap("opencl", host), &[b"code"]);
    request(&mut pipe, &wrap("cuda", "x86_64\0"), &[b"fatbin"]);
    let answers = answers(&pipe);
    match &answers[0].body {
        Reply::Wrapper(text) => assert!(text.contains(r#"c"bundle""#), "{text}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(message(&answers[1]), "LLVM does not wrap 2 block(s) for `hip`");
    assert_eq!(message(&answers[2]), "LLVM does not wrap 0 block(s) for `openmp`");
    assert_eq!(message(&answers[3]), "LLVM does not wrap 1 block(s) for `opencl`");
    assert!(message(&answers[4]).contains("zero byte"), "{answers:?}");
}
