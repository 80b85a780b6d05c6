//! Parts of modules hold what they need, and nothing else, and become bitcode, text and code.

mod common;

use std::collections::BTreeMap;

use common::{FATAL, defined, open, part, source, spirv, texts, worker};
use offkit_llvm::{
    CodeOptions, Form, Linkage, Metadata, ModuleSummary, OpenedModule, Part, Source,
    SpecializationConstantMode, Worker, WorkerError,
};

/// Internal helpers, a table of function pointers, an alias, a comdat, and functions nobody needs.
const MODULE: &str = r#"
$inline = comdat any

@table = internal addrspace(1) constant [2 x ptr] [ptr @first, ptr @second]
@counter = addrspace(1) global i32 0
@unused_table = addrspace(1) global i32 7
@shorthand = alias i32 (i32), ptr @first
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @counter to ptr)]

define internal i32 @helper(i32 %x) { %y = add i32 %x, 1 ret i32 %y }
define i32 @first(i32 %x) { %y = call i32 @helper(i32 %x) ret i32 %y }
define i32 @second(i32 %x) { %y = mul i32 %x, 2 ret i32 %y }
define linkonce_odr i32 @inline(i32 %x) comdat { ret i32 %x }
define i32 @exported(i32 %x) { %y = call i32 @second(i32 %x) ret i32 %y }
define i32 @unused(i32 %x) { ret i32 %x }

define spir_kernel void @by_table(ptr addrspace(1) %out, i32 %i) {
  %slot = getelementptr [2 x ptr], ptr addrspace(1) @table, i32 0, i32 %i
  %f = load ptr, ptr addrspace(1) %slot
  %x = call i32 %f(i32 1)
  store i32 %x, ptr addrspace(1) %out
  ret void
}
define spir_kernel void @by_alias(ptr addrspace(1) %out) {
  %x = call i32 @shorthand(i32 1)
  %y = call i32 @inline(i32 %x)
  store i32 %y, ptr addrspace(1) %out
  ret void
}
define spir_kernel void @by_export(ptr addrspace(1) %out) {
  %x = call i32 @exported(i32 1)
  store i32 %x, ptr addrspace(1) %out
  ret void
}
"#;

fn module(worker: &mut Worker) -> OpenedModule {
    open(worker, &source("module.bc", MODULE)).unwrap()
}

/// What is in a part of the module above.
fn summary(part: &Part) -> Result<ModuleSummary, WorkerError> {
    let mut worker = worker();
    let module = module(&mut worker);
    let emitted = worker.emit(module.id, std::slice::from_ref(part), &Form::Bitcode, 1)?;
    let source = Source::bytes("part.bc", emitted[0].content.as_slice());
    Ok(worker.open(&[source], &[], true)?.summary)
}

fn functions(summary: &ModuleSummary) -> Vec<(&str, Linkage)> {
    let defined = summary
        .functions
        .iter()
        .filter(|function| !function.is_declaration);
    defined
        .map(|function| (function.name.as_str(), function.linkage))
        .collect()
}

#[test]
fn a_table_of_functions_keeps_all_of_them() {
    let summary = summary(&part(&["by_table", "table", "first", "second", "helper"])).unwrap();
    let expected = [
        ("helper", Linkage::Internal),
        ("first", Linkage::Internal),
        ("second", Linkage::Internal),
        ("by_table", Linkage::External),
    ];
    assert_eq!(functions(&summary), expected, "in the order of the module");
    assert_eq!(
        defined(&summary).last(),
        Some(&"table"),
        "and nothing for a list of what is used"
    );
}

#[test]
fn aliases_and_comdats_come_along() {
    let summary = summary(&part(&["by_alias", "shorthand", "inline", "first", "helper"])).unwrap();
    let names = defined(&summary);
    assert_eq!(names, ["helper", "first", "inline", "by_alias", "shorthand"]);
}

#[test]
fn what_is_left_out_is_declared_and_needs_nothing() {
    let all = part(&["by_export", "exported", "second"]);
    assert_eq!(
        functions(&summary(&all).unwrap()),
        [
            ("second", Linkage::Internal),
            ("exported", Linkage::Internal),
            ("by_export", Linkage::External),
        ]
    );
    let without = Part {
        left_out: vec!["exported".to_owned()],
        ..part(&["by_export"])
    };
    let without = summary(&without).unwrap();
    assert_eq!(functions(&without), [("by_export", Linkage::External)]);
    assert!(
        without
            .function("exported")
            .is_some_and(|function| function.is_declaration)
    );
    assert!(
        without.function("second").is_none(),
        "only what was left out needs it"
    );
}

/// What a part does not list is in it all the same if it has no name to be listed by, or no symbol to be seen.
#[test]
fn what_is_visible_keeps_its_linkage() {
    let two = Part {
        visible: Some(vec!["inline".to_owned(), "exported".to_owned()]),
        externalized: vec!["second".to_owned()],
        entry_points: vec!["exported".to_owned()],
        ..part(&["inline", "exported", "second"])
    };
    let summary = summary(&two).unwrap();
    let linkages = BTreeMap::from_iter(functions(&summary));
    assert_eq!(linkages.get("exported"), Some(&Linkage::External));
    assert_eq!(
        linkages.get("second"),
        Some(&Linkage::External),
        "kept without being used"
    );
    let has = |name: &str| summary.function(name).unwrap().has_attribute("sycl-entry-point");
    assert!(has("exported") && !has("second"));
}

#[test]
fn a_name_that_the_module_does_not_define_is_an_error() {
    let mut worker = worker();
    let text = "declare void @elsewhere()\ndefine void @f() { call void @elsewhere() ret void }";
    let module = open(&mut worker, &source("f.bc", text)).unwrap();
    let nowhere = vec!["nowhere".to_owned()];
    let parts = [
        part(&["f", "nowhere"]),
        Part {
            visible: Some(nowhere.clone()),
            ..part(&["f"])
        },
        Part {
            entry_points: nowhere.clone(),
            ..part(&["f"])
        },
        Part {
            externalized: nowhere.clone(),
            ..part(&["f"])
        },
        Part {
            left_out: nowhere,
            ..part(&["f"])
        },
    ];
    for wrong in parts {
        let refused = texts(&mut worker, &module, &[part(&["f"]), wrong])
            .unwrap_err()
            .to_string();
        assert_eq!(refused, "no definition of `nowhere`");
    }
    let declared = texts(&mut worker, &module, &[part(&["f", "elsewhere"])]).unwrap_err();
    assert_eq!(declared.to_string(), "no definition of `elsewhere`");
    assert!(texts(&mut worker, &module, &[part(&["f"])]).is_ok());
}

#[test]
fn parts_may_share_what_they_have() {
    let mut worker = worker();
    let module = module(&mut worker);
    let parts = [
        part(&["by_table", "table", "first", "second", "helper"]),
        part(&["by_export", "exported", "second"]),
        part(&["second"]),
        part(&["by_export", "exported", "second"]),
    ];
    let together = texts(&mut worker, &module, &parts).unwrap();
    for (part, text) in parts.iter().zip(&together) {
        let alone = texts(&mut worker, &module, std::slice::from_ref(part)).unwrap();
        assert_eq!(&alone[0], text, "{part:?}");
    }
    assert!(together[2].contains("define i32 @second"), "{}", together[2]);
    assert!(
        together[1].contains("define internal i32 @second"),
        "{}",
        together[1]
    );
    // No part is a state that the next one meets.
    assert_eq!(texts(&mut worker, &module, &parts).unwrap(), together);
    assert_eq!(texts(&mut worker, &module, &[]).unwrap(), [""; 0]);
}

/// So many parts are taken out of smaller modules, made on the way.
#[test]
fn many_parts_are_what_each_is_by_itself() {
    let mut text = "define internal i32 @shared(i32 %x) { %y = add i32 %x, 1 ret i32 %y }\n".to_owned();
    for number in 0..80 {
        text.push_str(&format!(
            "@v{number} = internal addrspace(1) global i32 {number}
             define i32 @f{number}(i32 %x) {{ %y = call i32 @shared(i32 %x) %z = load i32, ptr addrspace(1) @v{number}
               %s = add i32 %y, %z ret i32 %s }}
             define spir_kernel void @k{number}(ptr addrspace(1) %p) {{ %x = call i32 @f{number}(i32 {number})
               store i32 %x, ptr addrspace(1) %p ret void }}\n"
        ));
    }
    let mut worker = worker();
    let module = open(&mut worker, &source("many.bc", &text)).unwrap();
    let parts: Vec<Part> = (0..80)
        .map(|number| {
            let names = [
                format!("k{number}"),
                format!("v{number}"),
                format!("f{number}"),
                "shared".to_owned(),
            ];
            part(&names.each_ref().map(String::as_str))
        })
        .collect();
    for form in [Form::Text, Form::Code(Box::new(spirv()))] {
        let at_once = worker.emit(module.id, &parts, &form, 0).unwrap();
        assert_eq!(
            worker.emit(module.id, &parts, &form, 3).unwrap(),
            at_once,
            "{form:?}"
        );
        for number in [0, 63, 64, 79] {
            let alone = worker.emit(module.id, &parts[number..=number], &form, 1).unwrap();
            assert_eq!(alone[0], at_once[number], "{number}");
        }
    }
}

#[test]
fn bitcode_and_text_are_the_same_module() {
    let mut worker = worker();
    let module = module(&mut worker);
    let parts = [
        Part::default(),
        part(&["by_export", "exported", "second"]),
        Part {
            visible: Some(vec!["by_table".to_owned()]),
            ..Part::default()
        },
    ];
    let texts = texts(&mut worker, &module, &parts).unwrap();
    let bitcode = worker.emit(module.id, &parts, &Form::Bitcode, 0).unwrap();
    let body = |text: &str| text.split_once('\n').map(|(_, rest)| rest.to_owned());
    for (text, emitted) in texts.iter().zip(&bitcode) {
        let again = open(
            &mut worker,
            &Source::bytes("again.bc", emitted.content.as_slice()),
        )
        .unwrap();
        worker.mark(again.id, "", true).unwrap();
        let again = common::texts(&mut worker, &again, &[Part::default()]).unwrap();
        assert_eq!(body(&again[0]), body(text));
    }
    assert!(texts[2].contains("define internal i32 @unused"), "{}", texts[2]);
}

#[test]
fn a_part_tells_what_it_has_and_what_it_needs() {
    let text = "@v = addrspace(1) global i32 0\n@outside = external addrspace(1) global i32
        declare float @llvm.sqrt.f32(float)\ndeclare float @sin(float)
        define internal float @helper(float %x) noinline { %y = call float @llvm.sqrt.f32(float %x) ret float %y }
        define float @f(float %x) { %y = call float @helper(float %x) %z = call float @sin(float %y)
          %i = load i32, ptr addrspace(1) @outside store i32 %i, ptr addrspace(1) @v ret float %z }
        define void @dead() { ret void }";
    let mut worker = worker();
    let module = open(&mut worker, &source("f.bc", text)).unwrap();
    let all = Part {
        visible: Some(vec!["f".to_owned(), "v".to_owned()]),
        ..part(&["f", "v", "helper"])
    };
    for form in [Form::Text, Form::Bitcode, Form::Code(Box::new(spirv()))] {
        let told = worker
            .emit(module.id, std::slice::from_ref(&all), &form, 1)
            .unwrap()
            .remove(0);
        assert_eq!(told.definitions, ["helper", "f"], "{form:?}");
        assert_eq!(told.declarations, ["sin"]);
        assert_eq!(told.variables, ["v"]);
        assert_eq!(told.variable_declarations, ["outside"]);
        assert_eq!(told.imports, ["sin", "outside"]);
        assert_eq!(told.exports, ["f", "v"]);
        assert!(!told.content.is_empty());
    }
}

#[test]
fn named_metadata_is_what_the_part_is_given() {
    let text = r#"
        define spir_kernel void @a() { ret void }
        define spir_kernel void @b() { ret void }
        !spirv.ExecutionMode = !{!0, !1}
        !other = !{!2}
        !0 = !{ptr @a, i32 35, i32 8}
        !1 = !{ptr @b, i32 35, i32 16}
        !2 = !{!"kept"}"#;
    let mode = |name: &str, size: i64| {
        Metadata::Node(vec![
            Metadata::Symbol(name.to_owned()),
            Metadata::Integer(35),
            Metadata::Integer(size),
        ])
    };
    let given = Part {
        named_metadata: BTreeMap::from([("spirv.ExecutionMode".to_owned(), vec![mode("a", 8)])]),
        esimd_split_status: Some(1),
        ..part(&["a"])
    };
    let mut worker = worker();
    let module = open(&mut worker, &source("ab.bc", text)).unwrap();
    let emitted = worker
        .emit(
            module.id,
            &[given, part(&["b"]), Part::default()],
            &Form::Bitcode,
            0,
        )
        .unwrap();
    let mut metadata = emitted.iter().map(|emitted| {
        let source = Source::bytes("part.bc", emitted.content.as_slice());
        worker.open(&[source], &[], true).unwrap().summary.named_metadata
    });
    let a = metadata.next().unwrap();
    assert_eq!(a.get("spirv.ExecutionMode"), Some(&vec![mode("a", 8)]));
    assert_eq!(
        a.get("sycl-esimd-split-status"),
        Some(&vec![Metadata::Node(vec![Metadata::Integer(1)])])
    );
    let b = metadata.next().unwrap();
    assert_eq!(
        b.keys().collect::<Vec<_>>(),
        ["other"],
        "not the modes of another part's kernel"
    );
    let whole = metadata.next().unwrap();
    assert_eq!(
        whole.get("spirv.ExecutionMode"),
        Some(&vec![mode("a", 8), mode("b", 16)])
    );
}

#[test]
fn specialization_constants_become_what_is_asked_for() {
    let text = r#"
        @name = internal unnamed_addr addrspace(1) constant [3 x i8] c"id\00"
        @default = internal addrspace(1) constant { i32 } { i32 42 }
        declare spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(4), ptr addrspace(4), ptr addrspace(4))
        define spir_kernel void @k(ptr addrspace(1) %p) {
          %x = call spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(
            ptr addrspace(4) addrspacecast (ptr addrspace(1) @name to ptr addrspace(4)),
            ptr addrspace(4) addrspacecast (ptr addrspace(1) @default to ptr addrspace(4)), ptr addrspace(4) null)
          store i32 %x, ptr addrspace(1) %p
          ret void
        }
        define spir_kernel void @without() { ret void }"#;
    let mut worker = worker();
    let module = open(&mut worker, &source("k.bc", text)).unwrap();
    let as_mode = |mode| Part {
        specialization_constants: mode,
        ..part(&["k", "name", "default"])
    };
    let parts = [
        as_mode(None),
        as_mode(Some(SpecializationConstantMode::Native)),
        as_mode(Some(SpecializationConstantMode::Defaults)),
        Part {
            specialization_constants: Some(SpecializationConstantMode::Native),
            ..part(&["without"])
        },
    ];
    let emitted = worker.emit(module.id, &parts, &Form::Text, 0).unwrap();
    let text = |number: usize| String::from_utf8_lossy(&emitted[number].content).into_owned();
    let constants = |number: usize| {
        let constants = emitted[number].specialization_constants.iter();
        constants
            .map(|constant| constant.name.as_str())
            .collect::<Vec<_>>()
    };
    assert!(text(0).contains("getScalar2020SpecConstantValue") && constants(0).is_empty());
    assert!(text(1).contains("__spirv_SpecConstant"), "{}", text(1));
    assert_eq!(constants(1), ["id"]);
    assert_eq!(emitted[1].specialization_defaults, 42_u32.to_le_bytes());
    assert!(
        text(2).contains("store i32 42") && constants(2).is_empty(),
        "{}",
        text(2)
    );
    assert!(constants(3).is_empty());
}

#[test]
fn specialization_constants_without_a_type_s_name_are_told_apart() {
    let text = r#"
        @one = internal unnamed_addr addrspace(1) constant [2 x i8] c"a\00"
        @other = internal unnamed_addr addrspace(1) constant [2 x i8] c"b\00"
        @one_default = internal addrspace(1) constant { { i32, i32 } } { { i32, i32 } { i32 1, i32 2 } }
        @other_default = internal addrspace(1) constant { { float } } { { float } { float 3.0 } }
        declare spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI1AET_PKcPKvS4_(ptr addrspace(4) sret({ { i32, i32 } }), ptr addrspace(4), ptr addrspace(4), ptr addrspace(4))
        declare spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI1BET_PKcPKvS4_(ptr addrspace(4) sret({ { float } }), ptr addrspace(4), ptr addrspace(4), ptr addrspace(4))
        define spir_kernel void @k(ptr addrspace(4) %p) {
          call spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI1AET_PKcPKvS4_(
            ptr addrspace(4) sret({ { i32, i32 } }) %p,
            ptr addrspace(4) addrspacecast (ptr addrspace(1) @one to ptr addrspace(4)),
            ptr addrspace(4) addrspacecast (ptr addrspace(1) @one_default to ptr addrspace(4)), ptr addrspace(4) null)
          call spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI1BET_PKcPKvS4_(
            ptr addrspace(4) sret({ { float } }) %p,
            ptr addrspace(4) addrspacecast (ptr addrspace(1) @other to ptr addrspace(4)),
            ptr addrspace(4) addrspacecast (ptr addrspace(1) @other_default to ptr addrspace(4)), ptr addrspace(4) null)
          ret void
        }"#;
    let mut worker = worker();
    let module = open(&mut worker, &source("k.bc", text)).unwrap();
    let native = Part {
        specialization_constants: Some(SpecializationConstantMode::Native),
        ..part(&["k", "one", "other", "one_default", "other_default"])
    };
    let text = texts(&mut worker, &module, &[native]).unwrap().remove(0);
    let wholes = text.lines().filter(|line| {
        line.starts_with("declare") && line.contains("SpecConstantComposite") && line.contains("({ ")
    });
    assert_eq!(wholes.count(), 2, "{text}");
}

#[test]
fn specialization_constants_that_are_too_large_are_refused() {
    let refused = |kind: &str, mode| {
        let text = format!(
            r#"
            @name = internal unnamed_addr addrspace(1) constant [3 x i8] c"id\00"
            @default = internal addrspace(1) constant {kind} zeroinitializer
            declare spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI1AET_PKcPKvS4_(ptr addrspace(4) sret({kind}), ptr addrspace(4), ptr addrspace(4), ptr addrspace(4))
            define spir_kernel void @k(ptr addrspace(4) %p) {{
              call spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI1AET_PKcPKvS4_(
                ptr addrspace(4) sret({kind}) %p,
                ptr addrspace(4) addrspacecast (ptr addrspace(1) @name to ptr addrspace(4)),
                ptr addrspace(4) addrspacecast (ptr addrspace(1) @default to ptr addrspace(4)), ptr addrspace(4) null)
              ret void
            }}"#
        );
        let mut worker = worker();
        let module = open(&mut worker, &source("k.bc", &text)).unwrap();
        let part = Part {
            specialization_constants: Some(mode),
            ..part(&["k", "name", "default"])
        };
        texts(&mut worker, &module, &[part]).unwrap_err().to_string()
    };
    let modes = [
        SpecializationConstantMode::Native,
        SpecializationConstantMode::Emulation,
    ];
    // More than 32 bits have numbers for, in bytes and in elements, and so many that are nothing.
    for kind in [
        "[4294967300 x i8]",
        "[65536 x [65536 x [3 x i64]]]",
        "[1099511627776 x {}]",
    ] {
        for mode in modes {
            let refused = refused(&format!("{{ {kind} }}"), mode);
            assert!(
                refused.contains("`id` has no size or too large a one"),
                "{refused}"
            );
        }
    }
}

#[test]
fn code_is_the_same_whether_its_part_was_bitcode_on_the_way() {
    let mut worker = worker();
    let module = module(&mut worker);
    let form = Form::Code(Box::new(spirv()));
    let by_export = part(&["by_export", "exported", "second"]);
    let direct = worker
        .emit(module.id, std::slice::from_ref(&by_export), &form, 0)
        .unwrap();
    // Magic and version 1.2.
    assert_eq!(direct[0].content[..8], [3, 2, 0x23, 7, 0, 2, 1, 0]);
    let bitcode = worker.emit(module.id, &[by_export], &Form::Bitcode, 0).unwrap();
    let part = open(
        &mut worker,
        &Source::bytes("part.bc", bitcode[0].content.as_slice()),
    )
    .unwrap();
    assert_eq!(
        worker.emit_whole(part.id, &form).unwrap().content,
        direct[0].content
    );
}

#[test]
fn of_a_whole_module_only_what_is_visible_stays() {
    let mut worker = worker();
    let module = module(&mut worker);
    let one = Part {
        roots: vec!["second".to_owned()],
        visible: Some(vec!["second".to_owned()]),
        ..Part::default()
    };
    let host = Form::Code(Box::new(CodeOptions {
        triple: "x86_64-unknown-linux-gnu".into(),
        ..CodeOptions::default()
    }));
    let emitted = worker.emit(module.id, &[one], &host, 1).unwrap();
    // And what the compiler was told to keep.
    assert_eq!(emitted[0].exports, ["second"]);
    assert!(emitted[0].content.starts_with(b"\x7FELF"));
}

#[test]
fn a_crash_keeps_the_worker_its_modules_and_the_code_that_led_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker();
    let other = module(&mut worker);
    let module = open(&mut worker, &source("bfloat.bc", FATAL)).unwrap();
    let form = Form::Code(Box::new(CodeOptions {
        reproducers: Some(folder.path().to_owned()),
        ..spirv()
    }));
    let parts = [part(&["good"]), part(&["bad"]), part(&["good"])];
    let error = worker.emit(module.id, &parts, &form, 0).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("generating code for bad") && text.contains("LLVM ERROR"),
        "{text}"
    );
    let WorkerError::Crashed {
        roots,
        reproducer: Some(reproducer),
        ..
    } = error
    else {
        panic!("{error}")
    };
    assert_eq!(roots, ["bad"]);
    let kept = open(&mut worker, &Source::file(&reproducer)).unwrap();
    assert_eq!(defined(&kept.summary), ["bad"]);
    // The same worker goes on with what it keeps.
    let again = worker.emit(module.id, &parts[..1], &form, 0).unwrap();
    assert_eq!(again[0].exports, ["good"]);
    assert!(texts(&mut worker, &other, &[part(&["second"])]).is_ok());
    // It is a crash as well where nobody asked for the code.
    let none = worker
        .emit(module.id, &parts, &Form::Code(Box::new(spirv())), 1)
        .unwrap_err();
    assert!(
        matches!(none, WorkerError::Crashed { reproducer: None, .. }),
        "{none:?}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn options_that_llvm_refuses_are_errors_and_no_crashes() {
    let mut worker = worker();
    let module = open(&mut worker, &source("good.bc", FATAL)).unwrap();
    let mut refused = |options: CodeOptions| {
        let error = worker
            .emit(module.id, &[part(&["good"])], &Form::Code(Box::new(options)), 0)
            .unwrap_err();
        let WorkerError::Failed { message } = error else {
            panic!("{error:?}")
        };
        message
    };
    let extension = refused(CodeOptions {
        spirv_extensions: vec!["SPV_NONE".into()],
        ..spirv()
    });
    assert!(extension.contains("SPV_NONE"), "{extension}");
    let option = refused(CodeOptions {
        backend_options: vec!["--frobnicate".into()],
        ..spirv()
    });
    assert!(option.contains("--frobnicate"), "{option}");
    let target = refused(CodeOptions {
        triple: "nonesuch".into(),
        ..spirv()
    });
    assert!(target.contains("nonesuch"), "{target}");
    // What one set is not set for the next: each is a process of its own.
    assert!(
        worker
            .emit(module.id, &[part(&["good"])], &Form::Code(Box::new(spirv())), 0)
            .is_ok()
    );
}

#[test]
fn bitcode_before_and_after_optimisation_is_kept_where_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = worker();
    let module = module(&mut worker);
    let form = Form::Code(Box::new(CodeOptions {
        keep: Some(folder.path().to_owned()),
        ..spirv()
    }));
    let parts = [part(&["second"]), part(&["by_export", "exported", "second"])];
    worker.emit(module.id, &parts, &form, 0).unwrap();
    let defined_in = |worker: &mut Worker, name: &str| {
        let kept = open(worker, &Source::file(folder.path().join(name))).unwrap();
        defined(&kept.summary)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(defined_in(&mut worker, "0.bc"), ["second"]);
    assert_eq!(
        defined_in(&mut worker, "1.bc"),
        ["second", "exported", "by_export"]
    );
    assert_eq!(
        defined_in(&mut worker, "1.opt.bc"),
        ["by_export"],
        "the rest was inlined"
    );
}
