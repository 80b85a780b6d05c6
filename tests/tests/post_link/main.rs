//! `offkit post-link` and `sycl-post-link`: which images a module is split into, what is in each, and what is
//! said of it.

mod contents;
mod real_tools;
mod splitting;

use std::collections::BTreeMap;
use std::fmt::Write;

use offkit_object::{Limits, PropertySets, property_set};
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
        properties: property_set::parse(read(columns[1]).as_bytes(), &Limits::default())
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
    assert!(said.contains("not a folder"), "{said}");
    assert_eq!(folder.read("out.table"), b"before");
    assert_eq!(folder.list(), before);
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
