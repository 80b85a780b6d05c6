//! The text of modules: that it says everything, and that whatever is read is an error or a valid module.

mod compile;

use compile::{compile, is_available, read};
use offkit_kernel::ir::{Merge, Module, Operation, TypeId};
use proptest::prelude::*;

/// Everything that is said in text is read again, and says the same.
fn round_trip(module: &Module) {
    let text = module.to_string();
    let again = match Module::from_text(&text) {
        Ok(again) => again,
        Err(error) => panic!("{error}\n{text}"),
    };
    assert_eq!(again.to_string(), text);
    assert!(again == *module, "the text does not say everything:\n{text}");
}

/// A module with a bit of everything, written by hand.
const SAMPLE: &str = r#"offkit-kernel 1
; comments end with their lines
type #0 void
type #1 pointer CrossWorkgroup #2
type #2 scalar f32
type #3 scalar i32
type #4 struct [#3 i32] packed
type #5 pointer Function #4
type #6 vector i64 3
file !0 "a \"b\" \\ c.\"cl\""
variable &0 "__spirv_BuiltInGlobalInvocationId" input GlobalInvocationId i64x3 32
variable &1 "table" constant i32 4 initializer $0
constant $0 i32 [7]
constant $1 #1 [4] addresses [0 &1]
scopes *0 [0 1 0 2]
kernel "k" @0 local_size 8 4 1 sub_group_size 16 contraction_off denorm_preserve [32 64] fast_math [f32 not_nan fast]

function @0 "k" #0 dont_inline
  parameter %0 #1 no_alias no_capture align 4
  parameter %1 i32
  variable #5 %2 #4 align 8
block ^0
  %3 i64x3 = input &0 () at !0 12
  %4 i64 = extract 1 (%3)
  end jump ^1
block ^1
  %5 i32 = phi [^0 i32:3 ^1 %6]
  %6 i32 = op IAdd (%5 $0) no_signed_wrap no_unsigned_wrap
  %7 #1 = address 16 [4 4] (%0 %4 %5) in_bounds
  %8 f32 = load (%7) align 4 volatile nontemporal scopes *0 no_alias *0
  %9 f32 = op FMul (%8 f32:-0.1) not_nan allow_contract no_contraction
  %10 f32 = cl fma (%9 f32:0x7fc00000 f32:1e30) fast
  store (%0 %10) align 4
  %11 bool = op SLessThan (%6 %1)
  assume (%11)
  %12 bool = expect (%11 bool:1)
  %13 i32 = atomic update IAdd i32 ($1 i32:1) order Device 8
  collective barrier work_group uniform () order Workgroup 264
  merge loop ^2 ^1 unroll min_iterations 4
  end branch %12 ^1 ^2 weights 9 1
block ^2
  end return none at !0 13
"#;

#[test]
fn text_by_hand_is_read() {
    let module = Module::from_text(SAMPLE).unwrap_or_else(|error| panic!("{error}"));
    round_trip(&module);
    let body = &module.functions[0].blocks[1];
    let load = &body.instructions[2];
    assert_eq!(load.operation, Operation::Load);
    assert!(load.attributes.volatile && load.attributes.nontemporal);
    assert_eq!(load.attributes.align, Some(4));
    assert!(
        matches!(body.merge, Some(Merge::Loop { control, .. }) if control.unroll && control.min_iterations == Some(4))
    );
    assert_eq!(module.kernels[0].required_local_size, Some([8, 4, 1]));
    assert!(module.functions[0].parameters[0].no_alias);
    assert_eq!(module.files, ["a \"b\" \\ c.\"cl\""]);
}

#[test]
fn errors_tell_where_they_are() {
    let error = |from: &str, to: &str| {
        let text = SAMPLE.replacen(from, to, 1);
        assert_ne!(text, SAMPLE, "{from}");
        Module::from_text(&text).unwrap_err()
    };
    // Most are in the line that was changed.
    let says = |from: &str, to: &str| {
        let error = error(from, to);
        let before = SAMPLE.split(from).next().unwrap_or_default();
        assert_eq!(error.line as usize, before.matches('\n').count() + 1, "{error}");
        format!("{}: {}", error.column, error.what)
    };
    let operand = "expected an operand, as in %5, $5 or i32:5, found";
    assert_eq!(
        says("offkit-kernel 1", "offkit-kernel 2"),
        "15: a text begins with `offkit-kernel 1`"
    );
    assert_eq!(says("(%5 $0)", "(%5 €)"), format!("24: {operand} `€`"));
    assert_eq!(
        says("(%0 %4 %5)", "(%0 %4 %5"),
        format!("38: {operand} `in_bounds`")
    );
    assert!(says("load (%7)", "lode (%7)").starts_with("12: expected one of op, fold, select,"));
    assert_eq!(
        says("align 8\n", "align 8 9\n"),
        "29: expected the end of the line, found `9`"
    );
    assert_eq!(says("%4 i64 = ex", "%3 i64 = ex"), "9: %3 is defined twice");
    // What the verifier finds is in the line of the instruction, or of the block.
    assert_eq!(
        says("op IAdd (%5 $0)", "op IAdd (%5 %4)"),
        "1: in function `k`, block ^1: %6: %4 is i64"
    );
    assert_eq!(
        says("(%0 %4 %5)", "(%0 %4 %0)"),
        "1: in function `k`, block ^1: %7: %0 is not an integer"
    );
    assert_eq!(
        says("scopes *0 no_alias", "scopes *7 no_alias"),
        "1: in function `k`, block ^1: there is no list of scopes *7"
    );
    let error_in_block = error("jump ^1", "jump ^7");
    assert_eq!(
        error_in_block.what,
        "in function `k`, block ^0: there is no block ^7"
    );
    assert_eq!(
        SAMPLE.lines().nth(error_in_block.line as usize - 1),
        Some("block ^0")
    );
    let what = error("%12 bool = ex", "%99 bool = ex").what;
    assert_eq!(what, "the function before this defines %13, but not %12");
    assert_eq!(error("[0 &1]", "[0 &2]").what, "$1: there is no variable &2");
}

/// Each of these structs has the one before twice, so that the last one has 2^100 parts, and one of them has a word.
#[test]
fn structs_of_structs_of_nothing_have_few_scalars() {
    let mut text = "offkit-kernel 1\ntype #0 struct []\n".to_owned();
    for number in 1..=100 {
        text += &format!("type #{number} struct [#{0} #{0}]\n", number - 1);
    }
    text += "type #101 scalar i32\ntype #102 struct [#100 #101]\n";
    let module = Module::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(module.types.leaves(TypeId(100)), []);
    assert_eq!(module.types.leaves(TypeId(102)).len(), 1);
    assert_eq!(module.types.all_leaves(TypeId(102)).len(), 1);
}

/// Every beginning of the text, and the text without any one of its words.
#[test]
fn what_is_cut_short_is_an_error_or_valid() {
    let text = Module::from_text(SAMPLE)
        .expect("the sample is valid")
        .to_string();
    let blocks =
        text.find("block").expect("there are blocks")..text.rfind("return").expect("there is an end");
    let check = |text: &str, must_fail: bool| match Module::from_text(text) {
        Ok(module) => {
            assert!(!must_fail, "{text}");
            round_trip(&module);
        }
        Err(error) => assert!(error.line as usize <= text.matches('\n').count() + 1, "{error}"),
    };
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
        // A function without any block is valid, and one whose last block has no end is not.
        check(&text[..end], blocks.contains(&(end - end.min(5))));
    }
    let mut at = 0;
    for word in text.split_inclusive([' ', '\n']) {
        check(&format!("{}{}", &text[..at], &text[at + word.len()..]), false);
        at += word.len();
    }
}

proptest! {
    #[test]
    fn changed_texts_are_errors_or_valid(cuts in prop::collection::vec((0..SAMPLE.len(), 0..40_usize, 0..SAMPLE.len()), 1..4)) {
        let mut text = SAMPLE.to_owned();
        for (at, length, from) in cuts {
            // A piece is replaced by another of the same text.
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            let piece = SAMPLE[from..(from + length).min(SAMPLE.len())].to_owned();
            text.replace_range(at..end, &piece);
        }
        if let Ok(module) = Module::from_text(&text) {
            round_trip(&module);
        }
    }

    #[test]
    fn any_text_is_read(text in "[ -~\n€]{0,200}") {
        prop_assert!(Module::from_text(&text).is_err());
        let behind = Module::from_text(&["offkit-kernel 1\n", &text].concat());
        prop_assert!(behind.map_or(true, |module| module.functions.is_empty()));
    }
}

/// Modules that clang makes.
#[test]
fn modules_of_clang_survive() {
    if !is_available() {
        return;
    }
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../plugins/cpu/tests/opencl/language"
    );
    let mut sources: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "cl"));
    assert!(sources.len() > 4, "{sources:?}");
    for path in sources {
        let source = std::fs::read_to_string(&path).expect("a source");
        for flags in ["-O0", "-O2", "-O2 -g -ffast-math"] {
            let flags = match path.ends_with("pointers.cl") {
                true => &format!("{flags} -mllvm -spirv-ext=+SPV_INTEL_function_pointers"),
                false => flags,
            };
            round_trip(&read(&compile(&source, flags)));
        }
    }
}

/// One kernel with what it calls is a valid module of its own, and says of its blocks what the whole says.
#[test]
fn a_kernel_is_taken_out_with_what_it_calls() {
    let text = r#"offkit-kernel 1
type #0 void
type #1 scalar i32
type #2 pointer CrossWorkgroup #1
kernel "other" @1
kernel "k" @3

function @0 "unused" #0
block ^0
  end return none

function @1 "other" #0
block ^0
  call @0 ()
  end return none

function @2 "leaf" #1
  parameter %0 i32
block ^0
  %1 i32 = op IAdd (%0 i32:1)
  end return %1

function @3 "k" #0
  parameter %0 #2
block ^0
  %1 i32 = load (%0) align 4
  %2 i32 = call @2 (%1)
  store (%0 %2) align 4
  end return none
"#;
    let module = Module::from_text(text).unwrap();
    let only = module.of_kernel(1);
    round_trip(&only);
    let names = |module: &Module| -> Vec<String> {
        let names = module.functions.iter().map(|function| function.name.clone());
        names.collect()
    };
    assert_eq!(names(&only), ["leaf", "k"]);
    assert_eq!((only.kernels.len(), only.kernels[0].name.as_str()), (1, "k"));
    let lines = only.lines_of_blocks(&only.functions[1]);
    let expected = [
        "%1 i32 = load (%0) align 4",
        "%2 i32 = call @0 (%1)",
        "store (%0 %2) align 4",
        "end return none",
    ];
    assert_eq!(lines, [expected]);
    assert!(
        only.to_string()
            .contains(&format!("  {}\n  {}\n", expected[0], expected[1]))
    );
}
