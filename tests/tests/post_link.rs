//! `offkit post-link` and `sycl-post-link`: which images a module is split into, what is in each, and what is
//! said of it.

use std::collections::BTreeMap;
use std::fmt::Write;

use offkit_object::{Limits, PropertySets};
use offkit_tests::documentation::commands;
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, Outcome, need, tool};
use serde_json::{Value, json};

const TARGET: &str = r#"
target datalayout = "e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64"
target triple = "spir64-unknown-unknown"
"#;

/// What an image holds, in the text form of LLVM.
#[derive(Debug, PartialEq, Eq)]
struct Image {
    entry_points: Vec<String>,
    /// Functions: those that are seen outside, those that are not, and those that are elsewhere.
    external: Vec<String>,
    internal: Vec<String>,
    declared: Vec<String>,
    text: String,
    properties: PropertySets,
}

impl Image {
    fn symbols(&self, set: &str) -> Vec<&str> {
        self.properties.symbols(&format!("SYCL/{set} symbols")).collect()
    }
}

/// A module with the data layout and triple above.
fn module(folder: &Folder, name: &str, body: &str) {
    folder.write(name, format!("{TARGET}{body}"));
}

fn tool_under_test(folder: &Folder, line: &str) -> Outcome {
    folder.offkit(&format!("as sycl-post-link {line}"))
}

/// Runs the tool with `-S -symbols -properties` and more, and reads what the table names.
fn split(folder: &Folder, input: &str, options: &str) -> Vec<Image> {
    tool_under_test(
        folder,
        &format!("-S -symbols -properties {options} {input} -o out.table"),
    )
    .ok();
    let table = String::from_utf8(folder.read("out.table")).expect("a text");
    let mut rows = table.lines();
    assert_eq!(rows.next(), Some("[Code|Properties|Symbols]"));
    rows.map(|row| image(folder, row)).collect()
}

fn image(folder: &Folder, row: &str) -> Image {
    let columns: Vec<_> = row.split('|').collect();
    let read = |name: &str| String::from_utf8(folder.read(name)).expect("a text");
    let text = read(columns[0]);
    let mut image = Image {
        entry_points: read(columns[2]).lines().map(str::to_owned).collect(),
        external: Vec::new(),
        internal: Vec::new(),
        declared: Vec::new(),
        properties: PropertySets::parse(read(columns[1]).as_bytes(), &Limits::default())
            .expect("property sets"),
        text,
    };
    for line in image.text.lines() {
        let name = || {
            line.split_once('@')
                .and_then(|(_, rest)| rest.split_once('('))
                .map(|(name, _)| name.to_owned())
        };
        let list = match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["define", "internal", ..] => &mut image.internal,
            ["define", ..] => &mut image.external,
            ["declare", ..] => &mut image.declared,
            _ => continue,
        };
        list.extend(name());
    }
    image
}

/// Three kernels of two files, an exported function that uses one of another file, helpers, and a table.
const PROGRAM: &str = r#"
@table = internal addrspace(1) constant [1 x ptr] [ptr @by_table]

define weak_odr spir_kernel void @ka() #0 { call spir_func void @eb() ret void }
define weak_odr spir_kernel void @kb() #1 { call spir_func void @helper() call spir_func void @undefined() ret void }
define spir_kernel void @kc() #0 { %f = load ptr, ptr addrspace(1) @table call spir_func void %f() ret void }
define linkonce_odr spir_func void @helper() { call void @_Z24__spirv_SomethingOrOtherv() ret void }
define spir_func void @by_table() { call spir_func void @__private() ret void }
define spir_func void @ea() #0 { call spir_func void @eb() ret void }
define spir_func void @eb() #1 { call spir_func void @helper() ret void }
define spir_func void @_Z12__spirv_Noopv() #1 { ret void }
define spir_func void @nobody() { ret void }
declare spir_func void @undefined()
declare spir_func void @__private()
declare void @_Z24__spirv_SomethingOrOtherv()

attributes #0 = { "sycl-module-id"="a.cpp" }
attributes #1 = { "sycl-module-id"="b.cpp" }
"#;

const SYMBOLS: &str = "-emit-exported-symbols -emit-imported-symbols";

#[test]
fn images_are_numbered_from_the_last_group_to_the_first() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let entries = |options: &str| -> Vec<String> {
        split(&folder, "p.ll", options)
            .iter()
            .map(|image| image.entry_points.join(" "))
            .collect()
    };
    assert_eq!(entries("-split=source"), ["kb eb", "ka kc ea"]);
    assert_eq!(entries(""), entries("-split=auto"));
    assert_eq!(entries("-split=auto"), entries("-split=source"));
    assert_eq!(entries("-split=kernel"), ["kc", "kb", "ka", "eb", "ea"]);
    assert_eq!(entries("-split=none"), ["ka kb kc ea eb"]);
    let only_kernels = "-emit-only-kernels-as-entry-points";
    assert_eq!(entries(&format!("-split=source {only_kernels}")), ["kb", "ka kc"]);
}

#[test]
fn without_dependencies_an_image_holds_all_that_it_needs() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let options = format!("-split=source {SYMBOLS}");
    let [b, a] = &split(&folder, "p.ll", &options)[..] else {
        panic!("two images")
    };
    assert_eq!(a.external, ["ka", "kc", "ea"]);
    assert_eq!(
        a.internal,
        ["helper", "by_table", "eb"],
        "in the order of the module"
    );
    assert_eq!(
        (a.symbols("exported"), a.symbols("imported")),
        (vec!["ea"], vec![])
    );
    assert!(
        a.text.contains("define weak_odr spir_kernel void @ka()"),
        "linkage stays:\n{}",
        a.text
    );
    assert!(a.text.contains("@table"), "what a kernel loads from comes along");
    assert_eq!(
        (b.symbols("exported"), b.symbols("imported")),
        (vec!["eb"], vec![])
    );
    assert!(
        !b.text.contains("@table") && !b.text.contains("nobody"),
        "{}",
        b.text
    );

    let said = tool_under_test(&folder, "p.ll -o out.table").stderr;
    assert_eq!(
        said,
        "warning: Undefined function undefined found in p.ll. This may result in runtime errors.\n"
    );
}

#[test]
fn with_dependencies_functions_of_other_images_are_imported() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let options = format!("-split=source -allow-device-image-dependencies {SYMBOLS}");
    let [b, a] = &split(&folder, "p.ll", &options)[..] else {
        panic!("two images")
    };
    assert_eq!(a.internal, ["by_table"]);
    assert_eq!(
        (a.symbols("exported"), a.symbols("imported")),
        (vec!["ea"], vec!["eb"])
    );
    // Neither what starts with two underscores, mangled or not, nor what is built in.
    assert_eq!(
        (b.symbols("exported"), b.symbols("imported")),
        (vec!["eb"], vec!["undefined"])
    );
    assert!(
        b.declared.contains(&"_Z24__spirv_SomethingOrOtherv".to_owned()),
        "{b:#?}"
    );

    // By kernel, each exported function has an image as well.
    let options = format!("-split=kernel -allow-device-image-dependencies {SYMBOLS}");
    let images = split(&folder, "p.ll", &options);
    let ea = images
        .iter()
        .find(|image| image.entry_points == ["ea"])
        .expect("an image of its own");
    assert_eq!(
        (ea.symbols("exported"), ea.symbols("imported")),
        (vec!["ea"], vec!["eb"])
    );
    assert!(
        tool_under_test(&folder, "-allow-device-image-dependencies p.ll")
            .stderr
            .is_empty()
    );
}

#[test]
fn exported_functions_can_be_apart_from_kernels() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let images = |options: &str| -> Vec<(Value, Value, Value)> {
        let listing = folder.offkit(&format!("post-link --json {options} p.ll")).json();
        listing
            .iter()
            .map(|image| {
                (
                    image["kernels"].clone(),
                    image["exports"].clone(),
                    image["imports"].clone(),
                )
            })
            .collect()
    };
    let image = |kernels: &[&str], exports: &[&str], imports: &[&str]| {
        (json!(kernels), json!(exports), json!(imports))
    };
    // Kernels are self-contained but for what is nowhere; exported functions import those of other files.
    assert_eq!(
        images("--split source"),
        [
            image(&["kb"], &[], &["undefined"]),
            image(&["ka", "kc"], &[], &[]),
            image(&[], &["eb"], &[]),
            image(&[], &["ea"], &["eb"]),
        ]
    );
    assert_eq!(
        images("--split none"),
        [
            image(&["ka", "kb", "kc"], &[], &["undefined"]),
            image(&[], &["ea", "eb"], &[])
        ]
    );
    // As the compilers arrange it.
    assert_eq!(
        images("--split source --exports grouped"),
        [
            image(&["kb"], &["eb"], &["undefined"]),
            image(&["ka", "kc"], &["ea"], &["eb"]),
        ]
    );
    assert_eq!(
        images("--only-kernels"),
        [
            image(&["kb"], &[], &["undefined"]),
            image(&["ka", "kc"], &[], &[])
        ]
    );
}

#[test]
fn requirements_split_images_and_are_recorded() {
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @plain() #0 { ret void }
        define spir_kernel void @double() #0 !sycl_used_aspects !0 { ret void }
        define spir_kernel void @sized() #0 !reqd_work_group_size !2 !work_group_num_dim !3 { ret void }
        define spir_kernel void @grouped() #0 !intel_reqd_sub_group_size !4 !sycl_kernel_omit_args !5 { ret void }
        define spir_kernel void @registers() #1 { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" "sycl-optlevel"="2" }
        attributes #1 = { "sycl-module-id"="a.cpp" "sycl-grf-size"="256" }
        !0 = !{!1, i32 -5, i32 3}
        !1 = !{!"fp64", i32 6}
        !2 = !{i32 8, i32 4}
        !3 = !{i32 2}
        !4 = !{i32 16}
        !5 = !{i1 true, i1 false, i1 true, i1 false, i1 false, i1 false, i1 false, i1 false, i1 true}
    "#;
    module(&folder, "r.ll", body);
    let images = split(
        &folder,
        "r.ll",
        "-emit-param-info -emit-program-metadata -emit-kernel-names",
    );
    let of = |kernel: &str| {
        let image = images.iter().find(|image| image.entry_points == [kernel]);
        image
            .unwrap_or_else(|| panic!("{kernel} alone"))
            .properties
            .clone()
    };
    let words = |sets: &PropertySets, set: &str, key: &str| {
        sets.get(&format!("SYCL/{set}"), key)
            .and_then(|value| value.as_u32s())
            .unwrap_or_default()
    };
    let number = |sets: &PropertySets, set: &str, key: &str| {
        sets.get(&format!("SYCL/{set}"), key)
            .and_then(|value| value.as_u32())
    };
    // The negative one divides images and is nobody else's business.
    assert_eq!(words(&of("double"), "device requirements", "aspects"), [3, 6]);
    assert!(
        of("plain")
            .to_text()
            .unwrap()
            .starts_with("[SYCL/device requirements]\naspects=2|AAAAAAAAAAA\n")
    );
    let sized = of("sized");
    assert_eq!(
        words(&sized, "device requirements", "reqd_work_group_size_uint64_t"),
        [8, 0, 4, 0]
    );
    assert_eq!(
        words(&sized, "program metadata", "sized@reqd_work_group_size"),
        [8, 4]
    );
    assert_eq!(
        number(&sized, "program metadata", "sized@work_group_num_dim"),
        Some(2)
    );
    let grouped = of("grouped");
    assert_eq!(
        number(&grouped, "device requirements", "reqd_sub_group_size"),
        Some(16)
    );
    assert_eq!(
        number(&grouped, "program metadata", "grouped@reqd_sub_group_size"),
        Some(16)
    );
    // Nine bits: the first, the third, the last.
    assert!(
        grouped
            .to_text()
            .unwrap()
            .contains("\ngrouped=2|JAAAAAAAAAQBBA\n"),
        "{}",
        grouped.to_text().unwrap()
    );
    assert_eq!(
        number(&of("registers"), "misc properties", "sycl-grf-size"),
        Some(256)
    );
    assert_eq!(number(&of("plain"), "misc properties", "optLevel"), Some(2));
    assert!(of("plain").symbols("SYCL/kernel names").eq(["plain"]));

    // In one image the sizes of its kernels may well differ.
    let [whole] = &split(&folder, "r.ll", "-split=none")[..] else {
        panic!("one image")
    };
    let size = words(
        &whole.properties,
        "device requirements",
        "reqd_work_group_size_uint64_t",
    );
    assert!(size.is_empty(), "{size:?}");
    assert_eq!(words(&whole.properties, "device requirements", "aspects"), [3, 6]);
}

#[test]
fn pointers_lead_to_what_may_be_called_through_them() {
    let folder = Folder::new();
    let body = r#"
        @vtable = linkonce_odr addrspace(1) constant [1 x ptr] [ptr @virtual]
        @shorthand = internal alias void (), ptr @aliased
        define spir_kernel void @indirect(ptr %f, i32 %x) #0 { %y = call spir_func i32 %f(i32 %x) ret void }
        define spir_kernel void @by_alias() #0 { call spir_func void @shorthand() ret void }
        define spir_kernel void @by_virtual() #1 { %f = load ptr, ptr addrspace(1) @vtable ret void }
        define spir_func i32 @callee(i32 %x) #3 { call spir_func void @below() ret i32 %x }
        define spir_func i64 @other_type(i64 %x) #3 { ret i64 %x }
        define spir_func void @below() { ret void }
        define internal spir_func void @aliased() { ret void }
        define linkonce_odr spir_func void @virtual() #2 { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        attributes #1 = { "sycl-module-id"="a.cpp" "calls-indirectly"="set1,set2" }
        attributes #2 = { "sycl-module-id"="a.cpp" "indirectly-callable"="set1" }
        attributes #3 = { "referenced-indirectly" }
    "#;
    module(&folder, "i.ll", body);
    let images = split(&folder, "i.ll", "-split=kernel");
    let of = |entry: &str| {
        images
            .iter()
            .find(|image| image.entry_points == [entry])
            .expect("an image")
    };
    let indirect = of("indirect");
    assert_eq!(
        (&*indirect.external, &*indirect.internal),
        (
            &["indirect".to_owned(), "callee".into()][..],
            &["below".to_owned()][..]
        )
    );
    assert_eq!(of("by_alias").internal, ["aliased"]);
    // Virtual functions are in images of their own, and found by the name of their set.
    let user = of("by_virtual");
    assert_eq!(
        (&user.declared[..], user.internal.len()),
        (&["virtual".to_owned()][..], 0)
    );
    let set = |image: &Image, key: &str| {
        let value = image.properties.get("SYCL/virtual functions", key);
        value.and_then(|value| value.as_str()).map(str::to_owned)
    };
    assert_eq!(
        set(user, "uses-virtual-functions-set").as_deref(),
        Some("set1,set2")
    );
    assert_eq!(
        set(of("virtual"), "virtual-functions-set").as_deref(),
        Some("set1")
    );
    assert_eq!(of("virtual").external, ["virtual"]);
}

#[test]
fn lists_of_kernels_hold_what_is_left() {
    let folder = Folder::new();
    let body = r#"
        @llvm.used = appending global [2 x ptr] [ptr @k1, ptr @k2], section "llvm.metadata"
        define spir_kernel void @k1() !dbg !10 { ret void }
        define spir_kernel void @k2() !dbg !11 { ret void }
        !spirv.ExecutionMode = !{!0, !1}
        !sycl_registered_kernels = !{!2}
        !llvm.dbg.cu = !{!5}
        !llvm.module.flags = !{!6}
        !0 = !{ptr @k1, i32 17, i32 8, i32 1, i32 1}
        !1 = !{ptr @k2, i32 17, i32 4, i32 1, i32 1}
        !2 = !{!3, !4}
        !3 = !{!"first", !"k1"}
        !4 = !{!"second", !"k2"}
        !5 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !7, emissionKind: FullDebug)
        !6 = !{i32 2, !"Debug Info Version", i32 3}
        !7 = !DIFile(filename: "a.cpp", directory: "/")
        !8 = !DISubroutineType(types: !9)
        !9 = !{}
        !10 = distinct !DISubprogram(name: "k1", file: !7, line: 1, type: !8, unit: !5, spFlags: DISPFlagDefinition)
        !11 = distinct !DISubprogram(name: "k2", file: !7, line: 2, type: !8, unit: !5, spFlags: DISPFlagDefinition)
    "#;
    module(&folder, "l.ll", body);
    let images = split(&folder, "l.ll", "-split=kernel");
    let [k2, k1] = &images[..] else {
        panic!("two images")
    };
    for (image, own, other) in [(k1, "k1", "k2"), (k2, "k2", "k1")] {
        assert_eq!(image.external, [own]);
        assert!(
            !image.text.contains(other),
            "nothing is left of {other}:\n{}",
            image.text
        );
        assert!(
            image.text.contains(&format!("!{{ptr @{own}, i32 17")),
            "{}",
            image.text
        );
    }
    let registered = k1.properties.set("SYCL/registered kernels").expect("a set");
    assert_eq!(registered.len(), 1);
    assert_eq!(
        registered.get("first").and_then(|value| value.as_str()),
        Some("k1")
    );
}

/// Constants of three types, one of them used twice.
const CONSTANTS: &str = r#"
%id.int = type { i32 }
%id.bool = type { i8 }
%id.pair = type { %pair }
%pair = type { i8, i64, i8 }
@n.int = private unnamed_addr addrspace(1) constant [4 x i8] c"int\00"
@n.bool = private unnamed_addr addrspace(1) constant [5 x i8] c"bool\00"
@n.pair = private unnamed_addr addrspace(1) constant [5 x i8] c"pair\00"
@d.int = internal addrspace(1) constant %id.int { i32 7 }
@d.bool = internal addrspace(1) constant %id.bool { i8 1 }
@d.pair = internal addrspace(1) constant %id.pair { %pair { i8 2, i64 3, i8 4 } }
declare spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1), ptr addrspace(1), ptr)
declare spir_func i1 @_Z37__sycl_getScalar2020SpecConstantValueIbET_PKcPKvS4_(ptr addrspace(1), ptr addrspace(1), ptr)
declare spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI4pairET_PKcPKvS4_(ptr sret(%pair), ptr addrspace(1), ptr addrspace(1), ptr)

define spir_kernel void @uses(ptr %out, ptr %buffer) #0 {
  %place = alloca %pair
  %a = call spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1) @n.int, ptr addrspace(1) @d.int, ptr %buffer)
  %b = call spir_func i1 @_Z37__sycl_getScalar2020SpecConstantValueIbET_PKcPKvS4_(ptr addrspace(1) @n.bool, ptr addrspace(1) @d.bool, ptr %buffer)
  call spir_func void @_Z40__sycl_getComposite2020SpecConstantValueI4pairET_PKcPKvS4_(ptr sret(%pair) %place, ptr addrspace(1) @n.pair, ptr addrspace(1) @d.pair, ptr %buffer)
  %c = call spir_func i32 @_Z37__sycl_getScalar2020SpecConstantValueIiET_PKcPKvS4_(ptr addrspace(1) @n.int, ptr addrspace(1) @d.int, ptr %buffer)
  %sum = add i32 %a, %c
  %result = select i1 %b, i32 %sum, i32 0
  store i32 %result, ptr %out
  ret void
}
define spir_kernel void @uses_none() #1 { ret void }
attributes #0 = { "sycl-module-id"="b.cpp" }
attributes #1 = { "sycl-module-id"="a.cpp" }
"#;

fn constants(image: &Image) -> BTreeMap<String, Vec<u32>> {
    let set = image.properties.set("SYCL/specialization constants");
    let constants = set.into_iter().flat_map(|set| set.iter());
    constants
        .map(|(name, value)| (name.to_owned(), value.as_u32s().expect("numbers")))
        .collect()
}

#[test]
fn specialization_constants_become_spirvs_own() {
    let folder = Folder::new();
    module(&folder, "c.ll", CONSTANTS);
    let [uses, none] = &split(&folder, "c.ll", "-spec-const=native")[..] else {
        panic!("two images")
    };
    let expected = [
        ("bool", vec![1, 0, 1]),
        ("int", vec![0, 0, 4]),
        // Three scalars and the padding behind the last.
        ("pair", vec![2, 0, 1, 3, 8, 8, 4, 16, 1, u32::MAX, 17, 7]),
    ];
    assert_eq!(
        constants(uses),
        expected.map(|(name, words)| (name.to_owned(), words)).into()
    );
    let defaults = uses
        .properties
        .get("SYCL/specialization constants default values", "all");
    let mut bytes = vec![7, 0, 0, 0, 1, 2];
    bytes.extend([0; 7]);
    bytes.extend(3_u64.to_le_bytes());
    bytes.extend([4, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(defaults.and_then(|value| value.as_bytes()), Some(&bytes[..]));
    assert_eq!(
        uses.text
            .matches("call spir_func i32 @_Z20__spirv_SpecConstantii(i32 0, i32 7)")
            .count(),
        2
    );
    assert!(
        uses.text.contains("@_Z29__spirv_SpecConstantCompositeaxa_Rpair("),
        "{}",
        uses.text
    );
    assert!(
        !uses.text.contains("2020SpecConstantValue") && !uses.text.contains("@d.pair"),
        "{}",
        uses.text
    );
    assert!(constants(none).is_empty());
    // Nothing is done unless asked for.
    let [uses, _] = &split(&folder, "c.ll", "")[..] else {
        panic!("two images")
    };
    assert_eq!(uses.text.matches("call spir_func").count(), 4);
}

#[test]
fn specialization_constants_become_loads_or_their_defaults() {
    let folder = Folder::new();
    module(&folder, "c.ll", CONSTANTS);
    let options = "-spec-const=emulation -generate-device-image-default-spec-consts";
    let images = split(&folder, "c.ll", options);
    let [uses, defaults, none] = &images[..] else {
        panic!("{} images", images.len())
    };
    let expected = [
        ("bool", vec![1, 0, 1, u32::MAX, 1, 3]),
        ("int", vec![0, 0, 4]),
        ("pair", vec![2, 0, 24]),
    ];
    assert_eq!(
        constants(uses),
        expected.map(|(name, words)| (name.to_owned(), words)).into()
    );
    for offset in [0, 4, 8] {
        let place = format!("getelementptr i8, ptr %buffer, i32 {offset}");
        assert!(uses.text.contains(&place), "{}", uses.text);
    }
    assert!(constants(defaults).is_empty());
    let mark = defaults
        .properties
        .get("SYCL/misc properties", "specConstsReplacedWithDefault");
    assert_eq!(mark.and_then(|value| value.as_u32()), Some(1));
    assert!(
        defaults.text.contains("store %pair { i8 2, i64 3, i8 4 }"),
        "{}",
        defaults.text
    );
    assert_eq!(
        (&*defaults.entry_points, &*none.entry_points),
        (&["uses".to_owned()][..], &["uses_none".to_owned()][..])
    );

    module(
        &folder,
        "bad.ll",
        &CONSTANTS.replace("ptr addrspace(1) @n.bool", "ptr addrspace(1) null"),
    );
    let said = tool_under_test(&folder, "-spec-const=native bad.ll").fails(1);
    assert!(said.contains("not a literal string"), "{said}");
}

#[test]
fn variables_are_described() {
    let folder = Folder::new();
    let body = r#"
        @everywhere = addrspace(1) global i32 0 #2
        @own = addrspace(1) global i64 0 #3
        @pipe = internal addrspace(1) constant i32 0 #4
        @__AsanKernelMetadata = internal addrspace(1) global i32 0
        @llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @everywhere to ptr), ptr @f], section "llvm.metadata"
        define internal void @f() { ret void }
        define spir_kernel void @a() #0 { store i32 1, ptr addrspace(1) @everywhere ret void }
        define spir_kernel void @b() #1 { call void @stores() %x = load i32, ptr addrspace(1) @__AsanKernelMetadata %y = load i32, ptr addrspace(1) @pipe ret void }
        define void @stores() { store i64 1, ptr addrspace(1) @own ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        attributes #1 = { "sycl-module-id"="b.cpp" }
        attributes #2 = { "sycl-device-global-size"="4" "sycl-unique-id"="every \22where\22" }
        attributes #3 = { "sycl-device-global-size"="8" "sycl-unique-id"="own" "sycl-device-image-scope"="true" }
        attributes #4 = { "sycl-host-pipe-size"="16" "sycl-unique-id"="pipe" }
    "#;
    module(&folder, "g.ll", body);
    let images = split(
        &folder,
        "g.ll",
        &format!("-device-globals {SYMBOLS} -emit-program-metadata"),
    );
    let [b, a] = &images[..] else { panic!("two images") };
    for image in [a, b] {
        let of = |key: &str| {
            image
                .properties
                .get("SYCL/device globals", key)
                .and_then(|value| value.as_u32s())
        };
        assert_eq!(of("every \"where\""), Some(vec![4, 0]));
        assert_eq!(of("own"), Some(vec![8, 1]));
        assert_eq!(image.symbols("exported"), ["everywhere"]);
        assert!(
            !image.text.contains("ptr addrspacecast"),
            "the list is cut down:\n{}",
            image.text
        );
        assert!(image.text.contains("[1 x ptr] [ptr @f]"), "{}", image.text);
    }
    let pipe = b
        .properties
        .get("SYCL/host pipes", "pipe")
        .and_then(|value| value.as_u32s());
    assert_eq!(pipe, Some(vec![16]));
    let sanitizer = |image: &Image| {
        image
            .properties
            .get("SYCL/misc properties", "sanUsed")
            .and_then(|value| value.as_str().map(str::to_owned))
    };
    assert_eq!((sanitizer(a), sanitizer(b).as_deref()), (None, Some("asan")));

    // A global of which each image has its own copy must not be used in two.
    let shared = body.replace("store i32 1, ptr addrspace(1) @everywhere", "call void @stores()");
    module(&folder, "shared.ll", &shared);
    let said = tool_under_test(&folder, "-device-globals shared.ll").fails(1);
    assert!(
        said.contains("device_global variable 'own' with property \"device_image_scope\""),
        "{said}"
    );
    tool_under_test(&folder, "-device-globals -split=none shared.ll").ok();
}

#[test]
fn files_and_tables_are_those_of_the_real_tool() {
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    let table = |name: &str| String::from_utf8(folder.read(name)).expect("a text");
    tool_under_test(&folder, "p.ll").ok();
    assert_eq!(table("p.files"), "[Code]\np_0.bc\np_1.bc\n");
    tool_under_test(&folder, "-symbols p.ll -o t.table").ok();
    assert_eq!(
        table("t.table"),
        "[Code|Symbols]\nt_0.bc|t_0.sym\nt_1.bc|t_1.sym\n"
    );
    std::fs::create_dir(folder.path("sub")).expect("a folder");
    tool_under_test(
        &folder,
        "-properties p.ll --out-dir=sub -o t.table -o pvc,pvc.table",
    )
    .ok();
    assert_eq!(
        table("t.table"),
        "[Code|Properties]\nsub/t_0.bc|sub/t_0.prop\nsub/t_1.bc|sub/t_1.prop\n"
    );
    assert_eq!(
        table("pvc.table"),
        "[Code|Properties]\nsub/t_0.bc|sub/t_pvc_0.prop\nsub/t_1.bc|sub/t_pvc_1.prop\n"
    );
    let target =
        PropertySets::parse(&folder.read("sub/t_pvc_0.prop"), &Limits::default()).expect("property sets");
    let target = target.get("SYCL/device requirements", "compile_target");
    assert_eq!(target.and_then(|value| value.as_str()), Some("pvc"));

    tool_under_test(&folder, "-ir-output-only -S p.ll -o one.ll").ok();
    assert!(table("one.ll").contains("@ka") && table("one.ll").contains("@kb"));
    for (line, said) in [
        (
            "-split=none p.ll",
            "no actions specified; try --help for usage info\n",
        ),
        (
            "-ir-output-only -split=kernel p.ll",
            "error: -split=kernel can't be used with -ir-output-only\n",
        ),
        (
            "-ir-output-only -symbols p.ll",
            "error: -symbols can't be used with -ir-output-only\n",
        ),
        (
            "-ir-output-only -properties p.ll",
            "error: -properties can't be used with -ir-output-only\n",
        ),
        (
            "-frobnicate p.ll",
            "sycl-post-link: Unknown command line argument '--frobnicate'.  Try: 'sycl-post-link --help'\n",
        ),
        (
            "nowhere.ll",
            "sycl-post-link: nowhere.ll: error: Could not open input file: No such file or directory\n",
        ),
    ] {
        assert_eq!(tool_under_test(&folder, line).fails(1), said, "{line}");
    }
    module(&folder, "empty.ll", "@x = addrspace(1) global i32 1\n");
    let said = tool_under_test(&folder, "-split=none -symbols empty.ll");
    assert_eq!(
        said.stderr,
        "sycl-post-link NOTE: no modifications to the input LLVM IR have been made\n"
    );
    assert_eq!(table("empty.files"), "[Code|Symbols]\nempty.ll|empty_0.sym\n");
}

#[test]
fn esimd_code_can_be_split_off_and_is_not_lowered() {
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @plain() #0 { call spir_func void @both() ret void }
        define spir_kernel void @simd() #0 !sycl_explicit_simd !0 { call spir_func void @below() call spir_func void @both() ret void }
        define spir_func void @below() !sycl_explicit_simd !0 { ret void }
        define spir_func void @both() { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        !0 = !{}
    "#;
    module(&folder, "e.ll", body);
    let [simd, plain] = &split(&folder, "e.ll", "-split-esimd")[..] else {
        panic!("two images")
    };
    let table = String::from_utf8(folder.read("out.table")).expect("a text");
    assert!(
        table.contains("\nout_esimd_0.ll|") && table.contains("\nout_0.ll|"),
        "one number for both:\n{table}"
    );
    assert_eq!(
        (&simd.external[..], &simd.internal[..]),
        (&["simd".to_owned()][..], &["below".to_owned(), "both".into()][..])
    );
    assert_eq!(
        (&plain.external[..], &plain.internal[..]),
        (&["plain".to_owned()][..], &["both".to_owned()][..])
    );
    let mark = |image: &Image| {
        image
            .properties
            .get("SYCL/misc properties", "isEsimdImage")
            .is_some()
    };
    assert!(mark(simd) && !mark(plain));
    let [together] = &split(&folder, "e.ll", "")[..] else {
        panic!("one image")
    };
    assert_eq!(together.entry_points, ["plain", "simd"]);
    let said = tool_under_test(&folder, "-lower-esimd e.ll").fails(1);
    assert!(said.contains("`simd` is explicit SIMD code"), "{said}");
}

#[test]
fn targets_leave_out_what_they_cannot_run() {
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @double() #0 !sycl_used_aspects !0 { ret void }
        define spir_kernel void @small() #0 !intel_reqd_sub_group_size !2 { ret void }
        attributes #0 = { "sycl-module-id"="a.cpp" }
        !0 = !{!1}
        !1 = !{!"fp64", i32 6}
        !2 = !{i32 8}
    "#;
    module(&folder, "t.ll", body);
    let targets = ["intel_gpu_tgllp", "intel_gpu_pvc", "intel_gpu_skl", "future_gpu"];
    let outputs = targets
        .map(|target| format!("-o {target},{target}.table"))
        .join(" ");
    tool_under_test(
        &folder,
        &format!("t.ll -properties -split=kernel -o t.table {outputs}"),
    )
    .ok();
    let rows = |name: &str| {
        String::from_utf8(folder.read(&format!("{name}.table")))
            .expect("a text")
            .lines()
            .count()
            - 1
    };
    assert_eq!(rows("t"), 2);
    // No double, sub-groups of 16 or 32 only, everything, and one that nobody knows.
    assert_eq!(targets.map(rows), [1, 1, 2, 2]);
}

#[test]
fn the_library_for_bfloat16_is_added_where_it_is_used() {
    need!("llvm-as");
    let folder = Folder::new();
    let body = r#"
        define spir_kernel void @k(ptr %p) { %x = call spir_func float @__devicelib_ConvertBF16ToFINTEL(ptr %p) ret void }
        declare spir_func float @__devicelib_ConvertBF16ToFINTEL(ptr)
    "#;
    module(&folder, "b.ll", body);
    let library = "
        define spir_func float @__devicelib_ConvertBF16ToFINTEL(ptr %p) { call spir_func void @helper() ret float 0.0 }
        define spir_func void @helper() { ret void }
    ";
    std::fs::create_dir(folder.path("libraries")).expect("a folder");
    for kind in ["fallback", "native"] {
        module(&folder, "l.ll", library);
        let output = format!("libraries/libsycl-{kind}-bfloat16.bc");
        folder
            .run(tool("llvm-as").expect("asked for"), ["l.ll", "-o", &output])
            .ok();
    }
    let images = split(&folder, "b.ll", &format!("{SYMBOLS} -device-lib-dir=libraries"));
    let [image, fallback, native] = &images[..] else {
        panic!("{} images", images.len())
    };
    let function = "__devicelib_ConvertBF16ToFINTEL";
    assert_eq!(image.symbols("imported"), [function]);
    for (library, number) in [(fallback, 0), (native, 1)] {
        assert_eq!(library.symbols("exported"), [function]);
        assert_eq!(library.external, [function, "helper"]);
        let kind = library.properties.get("SYCL/devicelib metadata", "bfloat16");
        assert_eq!(kind.and_then(|kind| kind.as_u32()), Some(number));
    }
    let [_] = &split(&folder, "b.ll", SYMBOLS)[..] else {
        panic!("one image")
    };
}

#[test]
fn what_cannot_be_read_or_written_is_told_and_nothing_is_touched() {
    need!("llvm-as");
    let folder = Folder::new();
    module(&folder, "p.ll", PROGRAM);
    folder
        .run(tool("llvm-as").expect("asked for"), ["p.ll", "-o", "p.bc"])
        .ok();
    let whole = folder.read("p.bc");
    folder.write("cut.bc", &whole[..whole.len() / 2]);
    folder.write("text.ll", "define spir_kernel void @k( {\n");
    folder.write("out.table", "before");
    let before = folder.list();
    let said = tool_under_test(&folder, "cut.bc -o out.table").fails(1);
    assert!(
        said.contains("cut.bc") && said.contains("written by LLVM22"),
        "{said}"
    );
    let said = folder.offkit("post-link cut.bc -o images").fails(2);
    assert!(said.contains("cut.bc") && said.contains("damaged"), "{said}");
    let said = tool_under_test(&folder, "text.ll -o out.table").fails(1);
    assert!(said.contains("text.ll:2:1"), "{said}");
    let said = tool_under_test(&folder, "p.bc -o missing/out.table").fails(1);
    assert!(said.contains("missing/out.table"), "{said}");
    let said = folder.offkit("post-link p.bc -o out.table").fails(2);
    assert!(said.contains("no folder"), "{said}");
    assert_eq!(folder.read("out.table"), b"before");
    assert_eq!(folder.list(), before);
}

#[test]
fn images_do_not_depend_on_how_many_are_made_at_a_time() {
    need!("clang-22");
    let folder = Folder::new();
    let mut source = "float shared(float x) { return sin(x) * x; }\n".to_owned();
    for kernel in 0..24 {
        writeln!(
            source,
            "static float own{kernel}(float x) {{ return shared(x) + {kernel}; }}"
        )
        .unwrap();
        writeln!(
            source,
            "kernel void k{kernel}(global float *a) {{ a[0] = own{kernel}(a[1]); }}"
        )
        .unwrap();
    }
    folder.bitcode("many", &source);
    for jobs in [1, 2, 5] {
        let listing = folder
            .offkit(&format!(
                "post-link many.bc --split kernel --json --jobs {jobs} -o out{jobs}"
            ))
            .json();
        assert_eq!(listing.len(), 25);
        // What the device supplies is nobody's to import, and clang's copies of kernels are nobody's to call.
        assert!(
            listing.iter().all(|image| image["imports"] == json!([])),
            "{listing:#?}"
        );
        assert_eq!(listing[24]["exports"], json!(["shared"]));
    }
    for number in 0..25 {
        let name = format!("many_{number}.bc");
        let one = folder.read(&format!("out1/{name}"));
        assert!(
            one == folder.read(&format!("out2/{name}")) && one == folder.read(&format!("out5/{name}")),
            "{name}"
        );
    }
}

#[test]
fn what_instructions_need_counts_where_the_front_end_says_nothing() {
    need!("clang-22");
    let folder = Folder::new();
    folder.bitcode(
        "needs",
        "static double squared(double x) { return x * x; }
         kernel void plain(global float *a) { a[0] = a[1]; }
         kernel void twice(global double *a) { a[0] = squared(a[1]); }
         float shared(float x) { return x; }",
    );
    let listing = folder.offkit("post-link --json --split source needs.bc").json();
    let of = |key: &str| listing.iter().map(|image| image[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("kernels"), [json!(["twice"]), json!(["plain"]), json!([])]);
    let aspects = listing
        .iter()
        .map(|image| image["properties"]["SYCL/device requirements"]["aspects"].clone());
    assert_eq!(
        aspects.collect::<Vec<_>>(),
        [json!("06000000"), json!(""), json!("")]
    );
    // SYCL's compilers go by what their front end says, and so does their tool.
    let images = split(&folder, "needs.bc", "");
    assert!(
        images[0]
            .properties
            .to_text()
            .unwrap()
            .contains("aspects=2|AAAAAAAAAAA\n")
    );
}

#[test]
fn sycl_sources_of_clang_22_are_split() {
    need!("clang++-22", "llvm-link");
    let folder = Folder::new();
    folder.write("lib.cpp", "static int twice(int x) { return x * 2; }\n[[clang::sycl_external]] int scale(int x) { return twice(x) + 1; }\n");
    folder.write(
        "app.cpp",
        "[[clang::sycl_external]] int scale(int x);
         [[clang::sycl_external]] int elsewhere(int x);
         template <typename Name, typename F> [[clang::sycl_kernel_entry_point(Name)]] void launch(F f) { f(); }
         void go(int *p) { launch<class app_kernel>([=] { *p = scale(*p) + elsewhere(*p); }); }\n",
    );
    let clang = tool("clang++-22").expect("asked for");
    for name in ["lib", "app"] {
        let (source, output) = (format!("{name}.cpp"), format!("{name}.bc"));
        let options = ["-fsycl", "-fsycl-device-only", "-nogpulib", "-c"];
        folder
            .run(&clang, options.into_iter().chain([&*source, "-o", &*output]))
            .ok();
    }
    folder
        .run(
            tool("llvm-link").expect("asked for"),
            ["app.bc", "lib.bc", "-o", "all.bc"],
        )
        .ok();
    let listing = folder.offkit("post-link all.bc --json -o images").json();
    let names = |image: usize, key: &str| listing[image][key].clone();
    assert_eq!(listing.len(), 2);
    assert_eq!(names(0, "kernels"), json!(["_ZTSZ2goPiE10app_kernel"]));
    assert_eq!(names(0, "imports"), json!(["_Z9elsewherei"]));
    assert_eq!(names(1, "exports"), json!(["_Z5scalei"]));
    // offkit's own reader of bitcode finds the same.
    let found = folder.offkit("ls --json images/all_0.bc images/all_1.bc").json();
    for (image, found) in listing.iter().zip(&found) {
        for key in ["kernels", "exports", "imports"] {
            assert_eq!(image[key], found[key], "{key}");
        }
    }
}

/// The images of the real compiler's own post-link and of ours, from the bitcode that it started from.
#[test]
fn images_are_those_of_the_real_sycl_compiler() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    let source = offkit_tests::root().join("tests/sycl-runtime/features.cpp");
    for (real_split, split, images) in [
        ("auto", "auto", 5),
        ("per_kernel", "kernel", 9),
        ("off", "none", 1),
    ] {
        let option = format!("-fsycl-device-code-split={real_split}");
        let path = source.to_str().expect("a readable path");
        let bitcode = runtime.compile_keeping_bitcode(&folder, path, &format!("{split}.syclbin"), &option);
        folder.write("input.bc", bitcode);
        let real = folder.offkit(&format!("ls --json {split}.syclbin")).json();
        let options = "-properties -symbols -emit-param-info -emit-exported-symbols -emit-imported-symbols \
            -emit-kernel-names -emit-program-metadata -allow-device-image-dependencies -device-globals";
        tool_under_test(
            &folder,
            &format!("{options} -split={split} input.bc -o ours.table"),
        )
        .ok();
        let table = String::from_utf8(folder.read("ours.table")).expect("a text");
        let rows: Vec<_> = table.lines().skip(1).collect();
        assert_eq!((rows.len(), real.len()), (images, images), "{split}");
        let ours: BTreeMap<_, _> = rows.iter().map(|row| described(&folder, row)).collect();
        let real: BTreeMap<_, _> = real.iter().map(real_image).collect();
        assert_eq!(ours, real, "{split}");
    }
}

type Described = (Vec<String>, Value);

/// An image of ours: its entry points, and its property sets as offkit shows those of a SYCLBIN.
fn described(folder: &Folder, row: &str) -> Described {
    let columns: Vec<_> = row.split('|').collect();
    let options = format!(
        "pack -o packed --format syclbin,v2 --image=file={},triple=spir64,kind=sycl,properties={}",
        columns[0], columns[1]
    );
    folder.offkit(&options).ok();
    let listing = folder.offkit("ls --json packed").json();
    let mut names: Vec<_> = String::from_utf8(folder.read(columns[2]))
        .expect("a text")
        .lines()
        .map(str::to_owned)
        .collect();
    names.sort();
    (names, listing[0]["properties"].clone())
}

/// An image of the real compiler. Its runtime adds names with a prefix of its own to the sets, lists exported
/// functions among the kernels, and has no order of sets and properties.
fn real_image(image: &Value) -> Described {
    let mut sets = image["properties"].clone();
    let exports: Vec<_> = sets["SYCL/exported symbols"]
        .as_object()
        .into_iter()
        .flat_map(|set| set.keys().cloned())
        .collect();
    let mut names = exports.clone();
    if let Some(kernels) = sets["SYCL/kernel names"].as_object_mut() {
        kernels.retain(|name, _| !name.starts_with("rtc_") && !exports.contains(name));
        names.extend(kernels.keys().cloned());
    }
    if let Some(sets) = sets.as_object_mut() {
        sets.retain(|name, set| {
            name != "SYCL/kernel names" || set.as_object().is_some_and(|set| !set.is_empty())
        });
        // Indexing adds what is not there.
        sets.retain(|_, set| !set.is_null());
    }
    names.sort();
    (names, sets)
}

#[test]
fn the_commands_of_the_documentation_do_what_it_says() {
    need!("clang-22", "llvm-config-22", "llvm-link-22");
    let folder = Folder::new();
    let commands = commands("docs/post-link.md");
    for example in &commands {
        // What is shown of a source is the source.
        match example.line.trim_end().strip_prefix("cat ") {
            Some(source) if source.ends_with(".cl") => drop(folder.write(source, &example.output)),
            _ => example.check(&folder),
        }
    }
    assert!(commands.len() > 8, "{}", commands.len());
}
