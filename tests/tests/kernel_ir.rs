//! `offkit show --kernel-ir`: the forms of a kernel on its way to machine code.

use std::path::Path;
use std::process::Command;

use offkit_tests::{Folder, Outcome, need, offkit};

const KERNELS: &str = "
    kernel void scale(global float *x, float factor, uint size) {
        size_t i = get_global_id(0);
        if (i < size) x[i] = factor * x[i];
    }
    kernel void turn(global int *x, local int *room) {
        size_t i = get_local_id(0), size = get_local_size(0);
        room[i] = x[get_global_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        x[get_global_id(0)] = room[size - 1 - i];
    }
    int elsewhere(int x);
    kernel void open(global int *x) { x[get_global_id(0)] = elsewhere(x[get_global_id(0)]); }
";

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("k.cl", KERNELS);
    let mut clang = Command::new("clang-22");
    clang.args("--target=spirv64 -cl-std=CL3.0 -O1 -fno-inline -c k.cl -o k.spv".split(' '));
    folder.run_command(&mut clang).ok();
    folder
}

fn show(folder: &Folder, options: &str) -> Outcome {
    folder.offkit(&format!("show --kernel-ir {options} k.spv"))
}

/// Which lines with one of these words there are, in order.
fn order<'a>(text: &str, words: &[&'a str]) -> Vec<&'a str> {
    let of_line = |line: &str| words.iter().copied().find(|word| line.starts_with(word));
    text.lines().filter_map(of_line).collect()
}

#[test]
fn each_form_follows_from_the_one_before() {
    need!("clang-22", "llc");
    let folder = prepared();
    let text = show(&folder, "--kernel turn --cpu x86-64-v3").ok();
    let stages = [
        "=== read",
        "=== prepared",
        "=== plan",
        "=== llvm",
        "=== optimized",
        "=== assembly",
    ];
    assert_eq!(order(&text, &stages), stages, "{text}");
    assert!(
        text.starts_with("turn in k.spv\n  processor  x86-64-v3\n  width      16: "),
        "{text}"
    );
    // Only the kernel that was asked for.
    assert!(!text.contains("scale"), "{text}");
    let plan = show(&folder, "--kernel turn --stage plan").ok();
    let regions = ["region 0 from the start", "region 1 behind the barrier of ^0"];
    assert_eq!(order(&plan, &regions), regions, "{plan}");
    assert!(
        plan.contains("leaves to others: ") && plan.contains("    strided 4 "),
        "{plan}"
    );
}

#[test]
fn code_is_that_of_the_processor() {
    need!("clang-22", "llc");
    let folder = prepared();
    for (options, instruction) in [
        ("--cpu x86-64-v2", "\tmulps\t"),
        ("--cpu x86-64-v3", "%ymm"),
        ("--cpu x86-64-v4", "%zmm"),
        ("--cpu x86-64-v4 --effort light", "%zmm"),
        ("--cpu neoverse-n1", ".4s, "),
        ("--cpu x86-64-v4 --width 1", "\tvmulss\t"),
    ] {
        let text = show(&folder, &format!("--kernel scale --stage assembly {options}")).ok();
        assert!(text.contains(instruction), "{options}: {text}");
        assert!(!text.contains("==="), "{text}");
    }
}

/// What `prepared` prints is what the crates read again.
#[test]
fn programs_get_the_same() {
    need!("clang-22", "llc");
    let folder = prepared();
    let [object] = &show(&folder, "--json --kernel scale --cpu x86-64-v4").json()[..] else {
        panic!("one line");
    };
    assert_eq!(object["kernel"], "scale");
    assert_eq!(object["variant"]["width"], 32);
    let region = &object["plan"]["regions"][0];
    assert_eq!(region["plain"], false);
    assert_eq!(region["blocks"][1]["mask"], region["blocks"][1]["block"]);
    let forms = object["forms"].as_object().unwrap();
    assert_eq!(forms.len(), 6);
    for stage in forms.keys() {
        let text = show(
            &folder,
            &format!("--kernel scale --cpu x86-64-v4 --stage {stage}"),
        )
        .ok();
        assert_eq!(
            text.trim_end(),
            forms[stage].as_str().unwrap().trim_end(),
            "{stage}"
        );
    }
}

#[test]
fn what_is_not_there_is_named() {
    need!("clang-22", "llc");
    let folder = prepared();
    let several = show(&folder, "").fails(2);
    assert!(
        several.contains("there are several kernels: scale, turn, open"),
        "{several}"
    );
    assert!(several.contains("`--kernel scale`"), "{several}");
    // What isn't compiled is shown as far as it gets.
    let outcome = show(&folder, "--kernel open");
    assert!(outcome.stdout.contains("=== read") && !outcome.stdout.contains("=== prepared"));
    let refused = outcome.fails(1);
    assert!(
        refused.contains("function `elsewhere` is only declared"),
        "{refused}"
    );

    folder.write("empty.bc", b"BC\xc0\xde");
    let bitcode = folder.offkit("show --kernel-ir empty.bc").fails(2);
    assert!(
        bitcode.contains("`offkit link` makes SPIR-V of bitcode"),
        "{bitcode}"
    );
    let alone = folder.offkit("show --stage plan k.spv").fails(2);
    assert!(alone.contains("--kernel-ir"), "{alone}");
}

#[test]
fn without_llvm_the_first_forms_are_shown() {
    need!("clang-22", "llc");
    let folder = prepared();
    let without = |options: &str| {
        let mut command = Command::new(offkit());
        command.args("show --kernel-ir --kernel scale k.spv".split(' '));
        command.args(options.split(' ').filter(|option| !option.is_empty()));
        command.env("OFFKIT_LLVM_WORKER", Path::new("no/such/worker"));
        folder.run_command(&mut command)
    };
    let all = without("");
    let stages = ["=== read", "=== prepared", "=== plan", "=== llvm"];
    assert_eq!(order(&all.stdout, &stages), stages[..3], "{}", all.stdout);
    let missing = all.fails(3);
    assert!(
        missing.contains("no/such/worker") && missing.contains("the other stages do"),
        "{missing}"
    );
    assert!(
        without("--stage assembly")
            .fails(3)
            .contains("read, prepared, plan")
    );
    assert!(without("--stage plan").ok().contains("strided 4"));
}
