//! Modules are read, linked and kept, and what is wrong with them is told.

mod common;

use common::{bitcode, defined, open, source, texts, worker};
use offkit_llvm::{Content, Form, Linkage, Metadata, ModuleId, ModuleSummary, Part, Source, WorkerError};

const KERNEL: &str =
    "define spir_kernel void @k(ptr addrspace(1) %p) { store i32 1, ptr addrspace(1) %p ret void }";

#[test]
fn several_modules_stay_open_beside_each_other() {
    let mut worker = worker();
    assert!(
        worker.llvm_version().starts_with("22."),
        "{}",
        worker.llvm_version()
    );
    let one = open(&mut worker, &source("one.bc", "define i32 @one() { ret i32 1 }")).unwrap();
    let two = open(&mut worker, &source("two.bc", "define i32 @two() { ret i32 2 }")).unwrap();
    assert_ne!(one.id, two.id);
    let both = [
        source("one.bc", "define i32 @one() { ret i32 1 }"),
        source("k.bc", KERNEL),
    ];
    let linked = worker.open(&both, &[], false).unwrap();
    let inputs: Vec<_> = linked.inputs.iter().map(defined).collect();
    assert_eq!(inputs, [["one"], ["k"]]);
    assert_eq!(defined(&linked.summary), ["one", "k"]);

    worker.close(one.id).unwrap();
    let text = |worker: &mut _, id| {
        let module = offkit_llvm::OpenedModule { id, ..two.clone() };
        texts(worker, &module, &[Part::default()])
    };
    assert!(text(&mut worker, two.id).unwrap()[0].contains("ret i32 2"));
    let linked = text(&mut worker, linked.id).unwrap();
    assert!(
        linked[0].contains("@one()") && linked[0].contains("@k("),
        "{linked:?}"
    );
    // The number of a module that was closed is nobody's.
    let third = open(&mut worker, &source("k.bc", KERNEL)).unwrap();
    assert_ne!(third.id, one.id);
    let closed = text(&mut worker, one.id).unwrap_err().to_string();
    assert_eq!(closed, format!("no module {} is open", one.id.0));
}

#[test]
fn a_module_that_is_not_open_is_an_error_in_every_request() {
    let mut worker = worker();
    let nobody = ModuleId(7);
    let refused = |result: Result<(), WorkerError>| {
        let Err(WorkerError::Failed { message }) = result else {
            panic!("{result:?}")
        };
        assert_eq!(message, "no module 7 is open");
    };
    refused(worker.mark(nobody, "a.cpp", false));
    refused(worker.emit_whole(nobody, &Form::Text).map(drop));
    refused(worker.needs(nobody, &["x".to_owned()]).map(drop));
    refused(worker.close(nobody));
    assert!(
        open(&mut worker, &source("k.bc", KERNEL)).is_ok(),
        "the worker goes on"
    );
}

#[test]
fn files_memory_and_text_are_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.bc");
    std::fs::write(&path, bitcode(KERNEL)).unwrap();
    let file = Source {
        name: "k".to_owned(),
        content: Content::File(path),
    };
    let text = common::with_target(KERNEL);
    let sources = [file, source("k", KERNEL), Source::bytes("k", text.into_bytes())];
    let mut worker = worker();
    for bodies in [false, true] {
        let opened = sources.each_ref().map(|source| {
            let module = worker.open(std::slice::from_ref(source), &[], bodies).unwrap();
            let texts = texts(&mut worker, &module, &[Part::default(), common::part(&["k"])]).unwrap();
            (module.summary, texts.map_source_file())
        });
        // What was text knows no source file of its own but the name.
        let without = |(summary, texts): &(ModuleSummary, Vec<String>)| {
            let summary = ModuleSummary {
                source_file: String::new(),
                ..summary.clone()
            };
            (summary, texts.clone())
        };
        assert_eq!(without(&opened[0]), without(&opened[1]), "bodies: {bodies}");
        assert_eq!(without(&opened[0]), without(&opened[2]), "bodies: {bodies}");
    }
}

/// Text without the lines that say what a module and its source are called.
trait MapSourceFile {
    fn map_source_file(self) -> Vec<String>;
}

impl MapSourceFile for Vec<String> {
    fn map_source_file(self) -> Vec<String> {
        let is_name = |line: &&str| line.starts_with("; ModuleID") || line.starts_with("source_filename");
        let without = |text: String| {
            text.lines()
                .filter(|line| !is_name(line))
                .collect::<Vec<_>>()
                .join("\n")
        };
        self.into_iter().map(without).collect()
    }
}

#[test]
fn what_is_in_bodies_is_told_where_that_is_asked_for() {
    let text = r#"
        @global = addrspace(1) global i32 0 #0
        @llvm.used = appending global [1 x ptr] [ptr @k]
        define double @f(double %x) { %y = fadd double %x, %x ret double %y }
        define spir_kernel void @k() { %x = call double @f(double 1.0) ret void }
        attributes #0 = { "sycl-unique-id"="a\22b" "flag" }
        !spirv.ExecutionMode = !{!0}
        !0 = !{ptr @k, i32 35, i32 8}"#;
    let mut worker = worker();
    let input = [source("k.bc", text)];
    let plain = worker.open(&input, &[], false).unwrap().summary;
    assert!(
        plain.named_metadata.is_empty() && plain.functions.iter().all(|function| function.uses.is_empty())
    );
    let summary = worker.open(&input, &[], true).unwrap().summary;
    let uses = |name: &str| -> Vec<&str> {
        let uses = &summary.function(name).unwrap().uses;
        uses.iter().filter_map(|symbol| summary.symbol(*symbol)).collect()
    };
    assert_eq!(uses("k"), ["f"]);
    assert_eq!(summary.function("f").unwrap().aspects, [6], "64-bit numbers");
    let attributes: Vec<_> = (summary.variables[0].attributes.iter())
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    assert_eq!(attributes, [("flag", ""), ("sycl-unique-id", "a\"b")]);
    assert!(summary.named_metadata.contains_key("spirv.ExecutionMode"));
    // That a list names a kernel is no use of it.
    assert!(
        summary
            .variables
            .iter()
            .any(|list| list.name == "llvm.used" && list.uses.is_empty())
    );
}

#[test]
fn modules_in_each_others_way_are_both_named() {
    let flags =
        |value: u32| format!("!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !\"wchar_size\", i32 {value}}}\n");
    let f = "define void @f() { ret void }\n";
    let inputs = [
        source("lib.a!other.bc", "define void @other() { ret void }"),
        source("lib.a!a.bc", &format!("{f}{}", flags(4))),
        source("lib.a!b.bc", f),
        source(
            "lib.a!c.bc",
            &format!("define void @g() {{ ret void }}\n{}", flags(2)),
        ),
    ];
    let mut worker = worker();
    let mut message = |inputs: &[Source<'_>]| worker.open(inputs, &[], false).unwrap_err().to_string();
    let twice = message(&inputs[..3]);
    assert!(
        twice.contains("lib.a!a.bc and lib.a!b.bc") && twice.contains("'f'"),
        "{twice}"
    );
    let flags = message(&[inputs[1].clone(), inputs[3].clone()]);
    assert!(
        flags.contains("lib.a!a.bc and lib.a!c.bc") && flags.contains("wchar_size"),
        "{flags}"
    );
    assert_eq!(message(&[]), "nothing to link");
}

#[test]
fn of_libraries_only_what_is_needed_comes_along() {
    let app = source(
        "app.bc",
        "declare void @first()\ndeclare void @missing()\n
         define internal void @way() { call void @first() call void @missing() ret void }
         define spir_kernel void @k() { call void @way() ret void }",
    );
    // They need each other, and each has more than is needed.
    let libraries = [
        source(
            "second.bc",
            "define void @second() { ret void }\ndefine void @first() { call void @wrong() ret void }
             declare void @wrong()\ndefine void @unused() { ret void }",
        ),
        source(
            "first.bc",
            "declare void @second()\ndefine void @wrong() { call void @second() ret void }",
        ),
    ];
    let mut worker = worker();
    let linked = worker
        .open(std::slice::from_ref(&app), &libraries, false)
        .unwrap();
    assert_eq!(linked.inputs.len(), 1);
    let mut names = defined(&linked.summary);
    names.sort_unstable();
    assert_eq!(names, ["first", "k", "second", "way", "wrong"]);
    let needs = worker.needs(linked.id, &["missing".to_owned()]).unwrap();
    assert_eq!(needs[0].chains, [["k", "way", "missing"]]);
    // Also where the only module is read lazily, and after parts were taken out of it.
    let alone = open(&mut worker, &app).unwrap();
    assert_eq!(worker.needs(alone.id, &["missing".to_owned()]).unwrap(), needs);
    texts(&mut worker, &alone, &[common::part(&["k", "way"])]).unwrap();
    assert_eq!(worker.needs(alone.id, &["missing".to_owned()]).unwrap(), needs);
    let unknown = worker.needs(alone.id, &["nobody".to_owned()]).unwrap();
    assert!(unknown[0].chains.is_empty());
}

#[test]
fn libraries_say_nothing_of_the_programs_language() {
    let library = source(
        "library.bc",
        "define void @helper() { ret void }
         !opencl.ocl.version = !{!0}
         !0 = !{i32 3, i32 0}",
    );
    let app = "declare void @helper()\n define spir_kernel void @k() { call void @helper() ret void }\n";
    let mut worker = worker();
    let mut version = |own: &str| {
        let app = source("app.bc", &format!("{app}{own}"));
        let linked = worker.open(&[app], std::slice::from_ref(&library), true).unwrap();
        assert_eq!(defined(&linked.summary).len(), 2);
        linked.summary.named_metadata.get("opencl.ocl.version").cloned()
    };
    assert_eq!(version(""), None);
    let of_the_program = version("!opencl.ocl.version = !{!0}\n!0 = !{i32 2, i32 0}");
    let node = Metadata::Node(vec![Metadata::Integer(2), Metadata::Integer(0)]);
    assert_eq!(of_the_program, Some(vec![node]));
}

#[test]
fn a_module_is_marked_in_place() {
    let text = "define linkonce_odr void @inline() { ret void }
        define spir_kernel void @k() { ret void }";
    let mut worker = worker();
    let module = open(&mut worker, &source("k.bc", text)).unwrap();
    worker.mark(module.id, "src/k.cpp", true).unwrap();
    let whole = |worker: &mut _| texts(worker, &module, &[Part::default()]).unwrap().remove(0);
    assert!(
        !whole(&mut worker).contains("sycl-module-id"),
        "nothing in it asks for that"
    );
    worker.mark(module.id, "src/k.cpp", false).unwrap();
    let marked = whole(&mut worker);
    assert!(marked.contains("\"sycl-module-id\"=\"src/k.cpp\""), "{marked}");
    assert!(
        marked.contains("@inline"),
        "nothing goes because nothing uses it: {marked}"
    );
    let part = texts(&mut worker, &module, &[common::part(&["k"])]).unwrap();
    assert!(
        part[0].contains("src/k.cpp"),
        "parts are of the marked module: {part:?}"
    );
}

#[test]
fn a_kernel_of_a_header_is_the_same_in_every_file() {
    let mut worker = worker();
    let mut linked = |kernel: &str| {
        let text = format!("define spir_kernel void @{kernel}() {{ ret void }}");
        let mut marked = Vec::new();
        for file in ["one.cpp", "two.cpp"] {
            let module = open(&mut worker, &source("k.bc", &text)).unwrap();
            worker.mark(module.id, file, false).unwrap();
            marked.push(texts(&mut worker, &module, &[Part::default()]).unwrap().remove(0));
        }
        let sources = marked.iter().map(|text| source("marked.bc", text));
        worker.open(&sources.collect::<Vec<_>>(), &[], false).is_ok()
    };
    // inline void run() { launch<class Name>(…); } and a lambda there
    assert!(linked("_ZTSZ3runvE4Name") && linked("_ZTSZ3runvEUliE_"));
    // static, in a namespace and without; a namespace without a name; what is no kernel of a lambda
    for other in [
        "_ZTSZL3runvE4Name",
        "_ZTSZN2nsL3runEvE4Name",
        "_ZTSN12_GLOBAL__N_14NameE",
        "k",
    ] {
        assert!(!linked(other), "{other}");
    }
}

#[test]
fn a_file_that_is_no_module_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.bc");
    let mut worker = worker();
    let mut message = |source: &Source<'_>| open(&mut worker, source).unwrap_err().to_string();
    for (source, expected) in [
        (Source::file(&missing), "missing.bc: No such file"),
        (Source::file(folder.path()), "directory"),
        (
            Source::bytes("text.ll", b"no module".as_slice()),
            "text.ll:1:1: error",
        ),
        (Source::bytes("magic.bc", b"BC\xC0\xDE".as_slice()), "magic.bc"),
        (Source::bytes("odd.bc", b"BC\xC0\xDE123".as_slice()), "odd.bc"),
    ] {
        let text = message(&source);
        assert!(text.contains(expected), "{text}");
    }
    assert!(
        open(&mut worker, &source("k.bc", KERNEL)).is_ok(),
        "the worker goes on"
    );
}

/// Bitcode that was damaged anywhere is refused by its name, or is another module; LLVM may end the worker, but not
/// who asks it.
#[test]
fn damaged_bitcode_is_an_error_by_its_name_or_another_module() {
    let whole = bitcode(&format!(
        "@table = addrspace(1) constant [2 x i32] [i32 1, i32 2]
         define internal i32 @f(i32 %x) {{ %y = mul i32 %x, 3 ret i32 %y }}\n{KERNEL}
         !named = !{{!0}}\n!0 = !{{!\"text\", i32 7}}"
    ));
    let mut damaged: Vec<Vec<u8>> = Vec::new();
    for length in (4..whole.len()).step_by(89) {
        damaged.push(whole[..length].to_vec());
    }
    for place in (8..whole.len()).step_by(17) {
        let mut copy = whole.clone();
        copy[place] ^= 1 << (place % 8);
        damaged.push(copy);
    }
    let mut current = worker();
    let (mut refused, mut read) = (0, 0);
    for (number, bytes) in damaged.into_iter().enumerate() {
        let name = format!("damaged-{number}.bc");
        let input = [Source::bytes(&name, bytes)];
        let emitted = current
            .open(&input, &[], number % 2 == 0)
            .and_then(|module| current.emit_whole(module.id, &Form::Bitcode));
        match emitted {
            Ok(_) => read += 1,
            Err(WorkerError::Failed { message }) => {
                refused += 1;
                assert!(message.contains(&name), "{message}");
            }
            Err(WorkerError::Died { .. }) => {
                refused += 1;
                current = worker();
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert!(refused > 20, "{refused} refused, {read} read");
}

#[test]
fn linkage_and_address_spaces_are_told() {
    let text = "@shared = addrspace(3) global i32 undef\n@list = appending global [0 x ptr] undef
        define weak void @w() { ret void }\ndefine available_externally void @a() { ret void }
        define internal void @i() { ret void }\ndeclare extern_weak void @e()\n@other = alias void (), ptr @w";
    let mut worker = worker();
    let summary = open(&mut worker, &source("k.bc", text)).unwrap().summary;
    let linkage = |name: &str| summary.function(name).unwrap().linkage;
    assert_eq!(
        ["w", "a", "i", "e"].map(linkage),
        [
            Linkage::Weak,
            Linkage::AvailableExternally,
            Linkage::Internal,
            Linkage::External
        ]
    );
    let variables: Vec<_> = (summary.variables.iter())
        .map(|variable| (variable.name.as_str(), variable.address_space, variable.linkage))
        .collect();
    assert_eq!(
        variables,
        [
            ("shared", 3, Linkage::External),
            ("list", 0, Linkage::Appending),
            ("other", 0, Linkage::External)
        ]
    );
}
