//! Linking modules compiled by clang, judged by the Khronos validator and compared with the Khronos linker.

mod common;

use common::{assert_valid, compile, compile_for, link_valid, link_valid_with, peer_links, read, try_link};
use offkit_spirv::dr::Operand;
use offkit_spirv::grammar::{AddressingModel, BuiltIn, Capability, Decoration, FPRoundingMode, Op};
use offkit_spirv::{CallGraph, LinkError, LinkOptions, Module, Version, reflect};

/// Compiles each source, or returns from the test when there is no compiler.
macro_rules! compile_all {
    ($($source:expr),+ $(,)?) => {{
        let modules: Option<Vec<Module>> = [$($source),+].into_iter().map(|source| compile(source)).collect();
        match modules {
            Some(modules) => modules.try_into().unwrap(),
            None => return,
        }
    }};
}

fn kernels(module: &Module) -> Vec<String> {
    reflect(module)
        .kernels
        .into_iter()
        .map(|kernel| kernel.name)
        .collect()
}

/// Nothing is left to link: no linkage decoration, and no capability that says there is.
fn assert_closed(module: &Module) {
    let reflection = reflect(module);
    assert_eq!(reflection.symbols, []);
    assert!(!reflection.capabilities.contains(&Capability::Linkage));
}

const APP: &str = "int twice(int);
    kernel void k(global int *o) { int i = get_global_id(0); o[i] = twice(o[i]); }";
/// LLVM's back end forgets the variables of a module without functions, hence the function.
const VARIABLES: &str =
    "constant int table[4] = {1, 2, 3, 4}; global int counter = 7; int unused(int x) { return x; }";
const LIBRARY: &str = "int twice(int x) { return 2 * x; }";

#[test]
fn an_application_gets_the_function_of_a_library() {
    let [app, library] = compile_all!(APP, LIBRARY);
    for modules in [[&app, &library], [&library, &app]] {
        let linked = link_valid(&modules);
        assert_closed(&linked);
        assert_eq!(kernels(&linked), ["k"]);
        assert_eq!(CallGraph::new(&linked).functions("k"), ["twice"]);
        assert_eq!(CallGraph::new(&linked).needs("k"), []);
        assert_eq!(linked.generator(), app.generator());
    }
    assert!(peer_links(&[&app, &library], &[]).unwrap_or(true));
}

#[test]
fn every_target_version_links() {
    for version in ["v1.0", "v1.1", "v1.2", "v1.3", "v1.4", "v1.5"] {
        let target = format!("spirv64{version}");
        let (Some(app), Some(library)) = (compile_for(&target, APP), compile_for(&target, LIBRARY)) else {
            return;
        };
        let linked = link_valid(&[&read(&app), &read(&library)]);
        assert_closed(&linked);
    }
}

#[test]
fn the_newest_version_wins() {
    let (Some(app), Some(library)) = (
        compile_for("spirv64v1.0", APP),
        compile_for("spirv64v1.4", LIBRARY),
    ) else {
        return;
    };
    let linked = link_valid(&[&read(&app), &read(&library)]);
    assert_eq!(linked.version(), Version { major: 1, minor: 4 });
}

#[test]
fn a_chain_of_libraries_is_followed() {
    let [app, library, deep] = compile_all!(
        "int middle(int); kernel void k(global int *o) { *o = middle(*o); }",
        "int deep(int); int middle(int x) { return deep(x) + 1; }",
        "int deep(int x) { return x * 3; }",
    );
    let linked = link_valid(&[&app, &library, &deep]);
    assert_closed(&linked);
    assert_eq!(CallGraph::new(&linked).functions("k"), ["middle", "deep"]);
}

#[test]
fn modules_may_need_each_other() {
    let [even, odd] = compile_all!(
        "int odd(int); int even(int x) { return x == 0 ? 1 : odd(x - 1); }
         kernel void is_even(global int *o) { *o = even(*o); }",
        "int even(int); int odd(int x) { return x == 0 ? 0 : even(x - 1); }
         kernel void is_odd(global int *o) { *o = odd(*o); }",
    );
    let linked = link_valid(&[&even, &odd]);
    assert_closed(&linked);
    assert_eq!(kernels(&linked), ["is_even", "is_odd"]);
}

#[test]
fn variables_are_shared() {
    let [app, library] = compile_all!(
        "extern constant int table[4]; extern global int counter;
         kernel void k(global int *o) { *o = table[*o & 3] + counter; counter = 1; }",
        VARIABLES,
    );
    for modules in [[&app, &library], [&library, &app]] {
        let linked = link_valid(&modules);
        assert_closed(&linked);
        let variables = linked
            .dr()
            .types_global_values
            .iter()
            .filter(|i| i.opcode == Op::Variable);
        assert_eq!(variables.count(), 2);
    }
}

#[test]
fn an_array_declared_without_length_gets_its_definition() {
    let [app, library] = compile_all!(
        "extern constant int table[]; kernel void k(global int *o) { *o = table[*o]; }",
        VARIABLES,
    );
    let linked = link_valid(&[&app, &library]);
    assert_closed(&linked);
    // The kernel lists the variable itself, not the cast of it.
    let entry_point = &linked.dr().entry_points[0];
    let [_, _, _, Operand::IdRef(variable)] = entry_point.operands.as_slice() else {
        panic!("{entry_point:?}")
    };
    let mut variables = linked.dr().types_global_values.iter();
    assert!(variables.any(|i| i.opcode == Op::Variable && i.result_id == Some(*variable)));
}

#[test]
fn a_variable_may_hold_the_address_of_one_defined_later() {
    let [pointers, values] = compile_all!(
        "extern constant int first; extern constant int second;
         constant int *constant pointers[2] = {&first, &second}; int unused(int x) { return x; }",
        "extern constant int *constant pointers[2]; constant int first = 1; constant int second = 2;
         constant int *constant *constant back = pointers;
         kernel void k(global int *o) { *o = *pointers[*o & 1] + **back; }",
    );
    for modules in [[&pointers, &values], [&values, &pointers]] {
        assert_closed(&link_valid(&modules));
    }
}

#[test]
fn structs_vectors_and_local_memory_pass_between_modules() {
    let types = "typedef struct { int a; float b; char c; } S;";
    let app = format!(
        "{types} float3 mix3(float3 v, S s, local float4 *scratch, int *count);
         kernel void k(global float *o, S s, local float4 *scratch) {{
             int count = 0;
             float3 v = mix3((float3)(o[0], o[1], o[2]), s, scratch, &count);
             o[0] = v.x + v.z + count;
         }}"
    );
    let library = format!(
        "{types} float3 mix3(float3 v, S s, local float4 *scratch, int *count) {{
             scratch[get_local_id(0)] = (float4)(v, s.b);
             *count += s.a;
             return v * scratch[0].w;
         }}"
    );
    let [app, library] = compile_all!(app.as_str(), library.as_str());
    let linked = link_valid(&[&app, &library]);
    assert_closed(&linked);
    // The struct that both modules declare is one type.
    let types = linked.dr().types_global_values.iter();
    assert_eq!(types.filter(|i| i.opcode == Op::TypeStruct).count(), 1);
}

#[test]
fn pointers_that_compilers_typed_differently_are_cast() {
    let [app, library] = compile_all!(
        "float total(global const float *data, int count); global float *at(global float *data, int i);
         kernel void k(global float *data) { *at(data, 2) = total(data, 8); }",
        "float total(global const float *data, int count) {
             float sum = 0;
             for (int i = 0; i < count; i++) sum += data[i];
             return sum;
         }
         global float *at(global float *data, int i) { return data + i; }",
    );
    // The declaration knows nothing of what the pointer points to.
    let types = |module: &Module| -> Vec<String> {
        let symbols = reflect(module).symbols.into_iter();
        symbols
            .filter(|s| s.name == "total")
            .map(|s| s.type_name)
            .collect()
    };
    assert_eq!(types(&app), ["f32(global i8*, i32)"]);
    assert_eq!(types(&library), ["f32(global f32*, i32)"]);
    assert_closed(&link_valid(&[&app, &library]));
    // The Khronos linker does not join what the same compiler made of the same declaration.
    assert!(!peer_links(&[&app, &library], &[]).unwrap_or(false));
}

#[test]
fn kernels_of_many_modules_share_one_set_of_built_in_variables() {
    let [first, second, third] = compile_all!(
        "kernel void a(global int *o) { o[get_global_id(0)] = get_local_id(0); }",
        "kernel void b(global int *o) { o[get_global_id(0)] = get_group_id(0); }",
        "int where(void) { return get_global_id(0) + get_local_id(0); }",
    );
    let linked = link_valid(&[&first, &second, &third]);
    let mut built_ins: Vec<BuiltIn> = linked
        .dr()
        .annotations
        .iter()
        .filter_map(|annotation| match annotation.operands.as_slice() {
            [
                _,
                Operand::Decoration(Decoration::BuiltIn),
                Operand::BuiltIn(built_in),
            ] => Some(*built_in),
            _ => None,
        })
        .collect();
    built_ins.sort_unstable();
    assert_eq!(
        built_ins,
        [
            BuiltIn::WorkgroupId,
            BuiltIn::LocalInvocationId,
            BuiltIn::GlobalInvocationId
        ]
    );
}

#[test]
fn kernels_list_the_variables_they_reach_in_other_modules() {
    let app = "int where(void); kernel void k(global int *o) { *o = where(); }";
    let library = "constant int table[2] = {3, 4}; int where(void) { return table[get_local_id(0) & 1]; }";
    for (target, expected) in [("spirv64v1.2", 1), ("spirv64v1.4", 2)] {
        let (Some(app), Some(library)) = (compile_for(target, app), compile_for(target, library)) else {
            return;
        };
        let linked = link_valid(&[&read(&app), &read(&library)]);
        // Before 1.4 only the built-in variable is listed, from then on the table as well.
        assert_eq!(
            linked.dr().entry_points[0].operands.len() - 3,
            expected,
            "{target}"
        );
    }
}

#[test]
fn numbers_in_extended_instructions_are_not_taken_for_ids() {
    let [other, module] = compile_all!(
        LIBRARY,
        "kernel void k(global float *p, global half *h) {
             float16 a = vload16(1, p);
             float3 b = vload3(7, p);
             vstore_half_rtz(a.x + b.y, 3, h);
             vstore_half2_rte(a.xy, 3, h);
         }",
    );
    let literals = |module: &Module| -> Vec<Operand> {
        let instructions = module.dr().functions.iter().flat_map(|f| f.all_inst_iter());
        let calls = instructions.filter(|i| i.opcode == Op::ExtInst);
        let operands = calls.flat_map(|i| i.operands.iter().skip(2).filter(|o| o.id_ref_any().is_none()));
        operands.cloned().collect()
    };
    let of_kernel = [
        Operand::LiteralBit32(16),
        Operand::LiteralBit32(3),
        Operand::FPRoundingMode(FPRoundingMode::RTZ),
        Operand::FPRoundingMode(FPRoundingMode::RTE),
    ];
    // The kernel and the copy clang makes of it.
    let expected = [of_kernel.clone(), of_kernel].concat();
    assert_eq!(literals(&module), expected);
    assert_eq!(literals(&link_valid(&[&other, &module])), expected);
}

#[test]
fn copies_of_kernels_do_not_clash_and_kernels_do() {
    let [first, second, again] = compile_all!(
        "kernel void a(global int *o) { *o = 1; }",
        "kernel void b(global int *o) { *o = 2; }",
        "kernel void a(global int *o) { *o = 3; }",
    );
    assert_closed(&link_valid(&[&first, &second]));
    let error = try_link(&[&first, &second, &again], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error,
        LinkError::DuplicateKernel {
            kernel: "a".into(),
            first: "m0".into(),
            second: "m2".into()
        }
    );
}

#[test]
fn a_symbol_exported_twice_is_an_error() {
    let [app, library, again] = compile_all!(APP, LIBRARY, "int twice(int x) { return x + x; }");
    let error = try_link(&[&app, &library, &again], LinkOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "symbol 'twice' is exported by both m1 and m2");
    assert!(!peer_links(&[&app, &library, &again], &[]).unwrap_or(false));
}

#[test]
fn a_missing_symbol_is_reported_with_the_kernels_that_need_it() {
    let [app, other] = compile_all!(
        "int twice(int); extern global int counter;
         __attribute__((noinline)) int helper(int x) { return twice(x); }
         kernel void calls(global int *o) { *o = helper(*o); }
         kernel void idle(global int *o) { *o = 0; }
         int unused(void) { return counter; }",
        "int twice(int); kernel void other(global int *o) { *o = twice(*o); }",
    );
    let LinkError::Unresolved(missing) = try_link(&[&app, &other], LinkOptions::default()).unwrap_err()
    else {
        panic!("not an unresolved symbol")
    };
    let [counter, twice] = missing.as_slice() else {
        panic!("{missing:?}")
    };
    assert_eq!((counter.name.as_str(), counter.chains.len()), ("counter", 0));
    assert_eq!(twice.name, "twice");
    assert_eq!(twice.modules, ["m0", "m1"]);
    assert_eq!(
        twice.chains,
        [vec!["calls", "helper", "twice"], vec!["other", "twice"]]
    );
    assert_eq!(
        twice.to_string(),
        "function 'twice', imported by m0, m1, needed by calls -> helper -> twice, needed by other -> twice"
    );
    assert!(!peer_links(&[&app, &other], &[]).unwrap_or(false));
}

#[test]
fn missing_symbols_may_stay_imports() {
    let [app, other] = compile_all!(
        APP,
        "int twice(int); kernel void other(global int *o) { *o = twice(*o); }"
    );
    let options = LinkOptions::default().with_allow_unresolved(true);
    let linked = link_valid_with(&[&app, &other], options);
    let imports = reflect(&linked).imports;
    assert_eq!(imports.len(), 1, "{imports:?}");
    assert_eq!(imports[0].name, "twice");
    assert!(reflect(&linked).capabilities.contains(&Capability::Linkage));
    assert!(peer_links(&[&app, &other], &["--allow-partial-linkage"]).unwrap_or(true));
    // What is missing can be supplied later.
    let [library] = compile_all!(LIBRARY);
    assert_closed(&link_valid(&[&linked, &library]));
}

#[test]
fn a_library_keeps_its_exports() {
    let [middle, deep, app] = compile_all!(
        "int deep(int); int middle(int x) { return deep(x) + 1; }",
        "int deep(int x) { return x * 3; }",
        "int middle(int); kernel void k(global int *o) { *o = middle(*o); }",
    );
    let options = LinkOptions::default().with_keep_exports(true);
    let library = link_valid_with(&[&middle, &deep], options);
    let exports: Vec<String> = reflect(&library)
        .exports
        .into_iter()
        .map(|symbol| symbol.name)
        .collect();
    assert_eq!(exports, ["middle", "deep"]);
    assert_eq!(reflect(&library).imports, []);
    assert_closed(&link_valid(&[&app, &library]));
    assert!(peer_links(&[&middle, &deep], &["--create-library"]).unwrap_or(true));
}

#[test]
fn modules_without_kernels_make_a_valid_module() {
    let [library] = compile_all!(LIBRARY);
    let linked = link_valid(&[&library]);
    assert_eq!(reflect(&linked).symbols, []);
}

#[test]
fn types_have_to_agree() {
    for (import, export, import_type, export_type) in [
        (
            "int f(int);",
            "int f(long x) { return x; }",
            "i32(i32)",
            "i32(i64)",
        ),
        (
            "int f(int);",
            "float f(int x) { return x; }",
            "i32(i32)",
            "f32(i32)",
        ),
        (
            "int f(int);",
            "int f(int x, int y) { return x; }",
            "i32(i32)",
            "i32(i32, i32)",
        ),
        (
            "int f(float4);",
            "int f(float2 x) { return x.x; }",
            "i32(f32x4)",
            "i32(f32x2)",
        ),
        (
            "int f(global int *);",
            "int f(local int *x) { return *x; }",
            "i32(global i8*)",
            "i32(local i32*)",
        ),
    ] {
        let call = match import {
            "int f(float4);" => "f((float4)(0))",
            "int f(global int *);" => "f(o)",
            _ => "f(*o)",
        };
        let app = format!("{import} kernel void k(global int *o) {{ *o = {call}; }}");
        let [app, library] = compile_all!(app.as_str(), export);
        let error = try_link(&[&app, &library], LinkOptions::default()).unwrap_err();
        assert_eq!(
            error,
            LinkError::TypeMismatch {
                symbol: "f".into(),
                importer: "m0".into(),
                import_type: import_type.into(),
                exporter: "m1".into(),
                export_type: export_type.into()
            }
        );
        assert!(!peer_links(&[&app, &library], &[]).unwrap_or(false));
    }
}

#[test]
fn types_of_variables_have_to_agree() {
    for (import, export) in [
        ("extern global int v;", "global float v = 1;"),
        ("extern global int v;", "global long v = 1;"),
        ("extern global int v;", "global int v[2] = {1, 2};"),
    ] {
        let app = format!("{import} kernel void k(global int *o) {{ *o = v; }}");
        let library = format!("{export} int unused(int x) {{ return x; }}");
        let [app, library] = compile_all!(app.as_str(), library.as_str());
        let error = try_link(&[&app, &library], LinkOptions::default()).unwrap_err();
        assert!(
            matches!(&error, LinkError::TypeMismatch { symbol, .. } if symbol == "v"),
            "{error}"
        );
    }
}

#[test]
fn a_function_is_not_a_variable() {
    let [app, library] = compile_all!(APP, "global int twice = 2; int unused(int x) { return x; }");
    let error = try_link(&[&app, &library], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "symbol 'twice' is a function in m0, but a variable in m1"
    );
}

#[test]
fn addressing_models_have_to_agree() {
    let (Some(app), Some(library)) = (compile_for("spirv64", APP), compile_for("spirv32", LIBRARY)) else {
        return;
    };
    let (app, library) = (read(&app), read(&library));
    assert_valid(&library);
    let error = try_link(&[&app, &library], LinkOptions::default()).unwrap_err();
    assert_eq!(
        error,
        LinkError::AddressingModel {
            first: "m0".into(),
            first_model: AddressingModel::Physical64,
            second: "m1".into(),
            second_model: AddressingModel::Physical32
        }
    );
    assert!(!peer_links(&[&app, &library], &[]).unwrap_or(false));
}

#[test]
fn nothing_cannot_be_linked() {
    assert_eq!(
        try_link(&[], LinkOptions::default()).unwrap_err(),
        LinkError::NoModules
    );
}
