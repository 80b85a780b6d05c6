//! Source lines where a code generator left marks.

mod common;

use std::collections::HashMap;
use std::process::Command;

use common::{assemble, assert_valid, read, skip};
use offkit_spirv::{Module, SourceLine, put_lines};

/// What LLVM makes of a kernel with marks: `k` calls `f`, which is somebody else's, and has a loop.
const MARKED: &str = r#"OpCapability Addresses
    OpCapability Kernel
    OpCapability Linkage
    OpMemoryModel Physical64 OpenCL
    OpEntryPoint Kernel %10 "k"
    OpSource OpenCL_C 300000
    OpName %10 "k"
    OpName %20 "mark.a"
    OpDecorate %9 LinkageAttributes "f" Import
    OpDecorate %20 LinkageAttributes "mark.a" Import
    OpDecorate %21 LinkageAttributes "mark.b" Import
    OpDecorate %22 LinkageAttributes "mark.end" Import
    %1 = OpTypeVoid
    %2 = OpTypeBool
    %3 = OpTypeFunction %1
    %4 = OpConstantTrue %2
    %9 = OpFunction %1 None %3
    OpFunctionEnd
    %20 = OpFunction %1 None %3
    OpFunctionEnd
    %21 = OpFunction %1 None %3
    OpFunctionEnd
    %22 = OpFunction %1 None %3
    OpFunctionEnd
    %10 = OpFunction %1 None %3
    %11 = OpLabel
    %30 = OpFunctionCall %1 %20
    %31 = OpFunctionCall %1 %21
    %12 = OpFunctionCall %1 %9
    %32 = OpFunctionCall %1 %21
    %13 = OpFunctionCall %1 %9
    %33 = OpFunctionCall %1 %22
    %14 = OpFunctionCall %1 %9
    OpBranch %15
    %15 = OpLabel
    %34 = OpFunctionCall %1 %22
    %16 = OpFunctionCall %1 %9
    %35 = OpFunctionCall %1 %21
    OpBranchConditional %4 %15 %17
    %17 = OpLabel
    OpReturn
    OpFunctionEnd"#;

fn marks() -> HashMap<String, Option<SourceLine>> {
    let line = |file: &str, line, column| {
        Some(SourceLine {
            file: file.into(),
            line,
            column,
        })
    };
    [
        ("mark.a", line("a.cl", 12, 3)),
        ("mark.b", line("b.cl", 7, 0)),
        ("mark.end", None),
    ]
    .map(|(name, line)| (name.to_owned(), line))
    .into()
}

/// A module's text, a line each instruction, or nothing, loudly, without a disassembler.
fn text(module: &Module) -> Option<Vec<String>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), module.to_bytes()).unwrap();
    let mut command = Command::new("spirv-dis");
    let Ok(output) = command
        .args(["--raw-id", "--no-indent", "--no-header"])
        .arg(file.path())
        .output()
    else {
        return skip("spirv-dis");
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn marks_become_lines() {
    let Some(module) = assemble(MARKED) else { return };
    let with_lines = read(&put_lines(&module.to_bytes(), &marks()).unwrap());
    assert_valid(&with_lines);
    let Some(code) = text(&with_lines) else { return };
    let body = code.iter().skip_while(|line| **line != "%11 = OpLabel");
    let body: Vec<&str> = body.map(String::as_str).collect();
    // A mark that another follows at once stands for nothing, nor does one that says what holds already; lines end
    // with their blocks.
    let expected = [
        "%11 = OpLabel",
        "OpLine %36 7 0",
        "%12 = OpFunctionCall %1 %9",
        "%13 = OpFunctionCall %1 %9",
        "OpNoLine",
        "%14 = OpFunctionCall %1 %9",
        "OpBranch %15",
        "%15 = OpLabel",
        "%16 = OpFunctionCall %1 %9",
        "OpLine %36 7 0",
        "OpBranchConditional %4 %15 %17",
        "%17 = OpLabel",
        "OpReturn",
        "OpFunctionEnd",
    ];
    assert_eq!(body, expected);
    assert!(code.contains(&r#"%36 = OpString "b.cl""#.to_owned()), "{code:#?}");
    assert!(
        !code
            .iter()
            .any(|line| line.contains("mark.") || line.contains("a.cl")),
        "{code:#?}"
    );
    assert_eq!(with_lines.id_bound(), 37);
}

#[test]
fn nothing_is_left_of_what_only_marks_needed() {
    let marked = r#"OpCapability Addresses
        OpCapability Kernel
        OpCapability Linkage
        OpMemoryModel Physical64 OpenCL
        OpEntryPoint Kernel %10 "k"
        OpDecorate %20 LinkageAttributes "mark.b" Import
        OpDecorate %40 LinkageAttributes "other" Export
        %1 = OpTypeVoid
        %2 = OpTypeInt 32 0
        %3 = OpTypeFunction %1
        %4 = OpTypeFunction %1 %2
        %20 = OpFunction %1 None %3
        OpFunctionEnd
        %10 = OpFunction %1 None %4
        %11 = OpFunctionParameter %2
        %12 = OpLabel
        %30 = OpFunctionCall %1 %20
        OpReturn
        OpFunctionEnd"#;
    let alone = marked
        .lines()
        .filter(|line| !line.contains("other"))
        .collect::<Vec<_>>()
        .join("\n");
    let exporting = format!(
        "{marked}
        %40 = OpFunction %1 None %4
        %41 = OpFunctionParameter %2
        %42 = OpLabel
        OpReturn
        OpFunctionEnd"
    );
    for (marked, needs_linkage) in [(alone, false), (exporting, true)] {
        let Some(module) = assemble(&marked) else { return };
        let with_lines = read(&put_lines(&module.to_bytes(), &marks()).unwrap());
        assert_valid(&with_lines);
        let Some(code) = text(&with_lines) else { return };
        assert_eq!(code.contains(&"OpCapability Linkage".to_owned()), needs_linkage);
        let types = code.iter().filter(|line| line.contains("OpTypeFunction"));
        assert_eq!(types.count(), 1, "{code:#?}");
    }
}

#[test]
fn either_byte_order_is_kept_and_damage_reported() {
    let Some(module) = assemble(MARKED) else { return };
    let little = module.to_bytes();
    let swap = |bytes: &[u8]| -> Vec<u8> {
        let words = bytes.chunks_exact(4);
        words.flat_map(|word| word.iter().rev().copied()).collect()
    };
    let with_lines = put_lines(&little, &marks()).unwrap();
    assert_eq!(put_lines(&swap(&little), &marks()).unwrap(), swap(&with_lines));
    assert_eq!(
        put_lines(&little, &HashMap::new()).unwrap(),
        little,
        "nothing to do"
    );
    put_lines(&little[..little.len() - 8], &marks()).unwrap();
    put_lines(b"none", &marks()).unwrap_err();
    put_lines(&[], &marks()).unwrap_err();
    let mut damaged = little;
    damaged[22] = 0;
    damaged[23] = 0;
    put_lines(&damaged, &marks()).unwrap_err();
}
