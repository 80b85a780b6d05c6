//! Parts of modules hold what they need, and nothing else.

use offkit_llvm::{Linkage, ModuleSummary};
use offkit_llvm_worker::codegen::TargetMachine;
use offkit_llvm_worker::context::Context;
use offkit_llvm_worker::module::Module;
use offkit_llvm_worker::split::take_part;

/// Internal helpers, a table of function pointers, an alias, a comdat, and functions nobody needs.
const MODULE: &str = r#"
target triple = "spirv64-unknown-unknown"

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

/// Takes a part out of the module above and describes it.
fn part(roots: &[&str], left_out: &[&str]) -> Result<ModuleSummary, offkit_llvm_worker::Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("module.bc");
    let context = Context::new();
    Module::parse_text(&context, MODULE)
        .unwrap()
        .write(&path)
        .unwrap();
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut part = take_part(Module::open(&context, &path)?, &owned(roots), &owned(left_out))?;
    part.verify().unwrap();
    // Level 0 cleans up and inlines nothing that is not marked so.
    let machine = TargetMachine::new("spirv64-unknown-unknown", "", "", 0).unwrap();
    machine.optimize(&mut part, 0).unwrap();
    Ok(part.summary())
}

fn definitions(summary: &ModuleSummary) -> Vec<(&str, Linkage)> {
    let mut names: Vec<_> = (summary
        .functions
        .iter()
        .filter(|function| !function.is_declaration))
    .map(|function| (function.name.as_str(), function.linkage))
    .collect();
    names.sort_by_key(|(name, _)| *name);
    names
}

#[test]
fn a_table_of_functions_brings_all_of_them() {
    let summary = part(&["by_table"], &[]).unwrap();
    let expected = [
        ("by_table", Linkage::External),
        ("first", Linkage::Internal),
        ("helper", Linkage::Internal),
        ("second", Linkage::Internal),
    ];
    assert_eq!(definitions(&summary), expected);
    let variables: Vec<_> = summary
        .variables
        .iter()
        .map(|variable| variable.name.as_str())
        .collect();
    assert!(
        variables.contains(&"table") && !variables.contains(&"unused_table"),
        "{variables:?}"
    );
    // What the compiler marked as used comes along with every part.
    assert!(variables.contains(&"counter"), "{variables:?}");
}

#[test]
fn aliases_and_inline_functions_come_along() {
    let summary = part(&["by_alias"], &[]).unwrap();
    let names: Vec<_> = definitions(&summary).into_iter().map(|(name, _)| name).collect();
    assert!(
        names.contains(&"inline") && names.contains(&"helper"),
        "{names:?}"
    );
    assert!(
        !names.contains(&"second") && !names.contains(&"unused"),
        "{names:?}"
    );
}

#[test]
fn what_is_left_out_stays_a_declaration() {
    let whole = part(&["by_export"], &[]).unwrap();
    assert_eq!(
        definitions(&whole),
        [
            ("by_export", Linkage::External),
            ("exported", Linkage::Internal),
            ("second", Linkage::Internal)
        ]
    );
    let summary = part(&["by_export"], &["exported"]).unwrap();
    assert_eq!(definitions(&summary), [("by_export", Linkage::External)]);
    assert!(
        summary
            .function("exported")
            .is_some_and(|function| function.is_declaration)
    );
    assert!(
        summary.function("second").is_none(),
        "only what was left out needs it"
    );
}

#[test]
fn roots_stay_visible_whatever_their_linkage_was() {
    let summary = part(&["inline", "exported"], &[]).unwrap();
    assert_eq!(
        definitions(&summary),
        [
            ("exported", Linkage::External),
            ("inline", Linkage::External),
            ("second", Linkage::Internal)
        ]
    );
}

#[test]
fn a_root_that_is_not_there_is_an_error() {
    let error = part(&["by_table", "nowhere"], &[]).unwrap_err().to_string();
    assert!(error.contains("`nowhere`"), "{error}");
}
