//! `printf`.

use std::io;

use offkit_plugin_cpu::NdRange;
use offkit_spirv::grammar::OpenclStd100Op;
use rspirv::binary::Assemble;
use rspirv::dr;
use rspirv::spirv::Op;

use crate::clang::{self, Options};
use crate::device::{Device, Operand};

/// Calls and what they print, when `in[0]` is 42 and `in[1]` is -7.
const CALLS: [(&str, &str); 30] = [
    (r#"printf("plain\n")"#, "plain\n"),
    (r#"printf("100%%|%c|%s", 65, "text")"#, "100%|A|text"),
    (r#"printf("%d %i", in[0], in[1])"#, "42 -7"),
    (
        r#"printf("%5d|%-5d|%05d|%+d|% d", in[0], in[0], in[0], in[0], in[0])"#,
        "   42|42   |00042|+42| 42",
    ),
    (
        r#"printf("%.4d|%8.4d|%-8.4d|", in[0], in[0], in[1])"#,
        "0042|    0042|-0007   |",
    ),
    (
        r#"printf("%u %x %X %o %#x %#o", in[0], in[0], in[0], in[0], in[0], in[0])"#,
        "42 2a 2A 52 0x2a 052",
    ),
    (r#"printf("%u", in[1])"#, "4294967289"),
    (r#"printf("%05u|%.0u|%.3u", in[0], 0, in[0])"#, "00042||042"),
    (
        r#"printf("%hhd %hd %ld", (char)in[1], (short)in[1], (long)in[1] << 32)"#,
        "-7 -7 -30064771072",
    ),
    (
        r#"printf("%lu %lx", (ulong)in[1], (ulong)in[0] << 40)"#,
        "18446744073709551609 2a0000000000",
    ),
    (
        r#"printf("%f %.2f %.0f", in[0] / 8.0f, in[0] / 8.0f, in[0] / 8.0f)"#,
        "5.250000 5.25 5",
    ),
    (
        r#"printf("%e %.3E %g %G", in[0] * 1000.0f, in[0] * 1000.0f, in[0] * 1000.0f, in[0] * 1e8f)"#,
        "4.200000e+04 4.200E+04 42000 4.2E+09",
    ),
    (
        r#"printf("%g %g %g", in[0] / 1e6f, 1e-5f * in[0], 0.5f * in[1])"#,
        "4.2e-05 0.00042 -3.5",
    ),
    (
        r#"printf("%10.3f|%-10.3f|%+.1f|%010.2f", in[0] / 8.0f, in[0] / 8.0f, in[0] / 8.0f, in[1] / 8.0f)"#,
        "     5.250|5.250     |+5.2|-000000.88",
    ),
    (r#"printf("%a", in[0] / 8.0f)"#, "0x1.5p+2"),
    (
        r#"printf("%f %F %e", in[0] / 0.0f, in[0] / 0.0f, in[1] / 0.0f)"#,
        "inf INF -inf",
    ),
    (
        r#"printf("%f", sqrt((float)in[1]) * 0.0f == 0.0f ? 1.0f : NAN)"#,
        "nan",
    ),
    (r#"printf("%v4d", (int4)(in[0], 1, 2, in[1]))"#, "42,1,2,-7"),
    (r#"printf("%v4hld", (int4)(in[0], 1, 2, in[1]))"#, "42,1,2,-7"),
    (r#"printf("%v2hhx", (uchar2)(in[0], 255))"#, "2a,ff"),
    (r#"printf("%v3hd", (short3)(in[0], 1, in[1]))"#, "42,1,-7"),
    (r#"printf("%v2lu", (ulong2)(in[0], 5))"#, "42,5"),
    (
        r#"printf("%v4hlf", (float4)(in[0], 0.5f, 1.0f, 2.0f))"#,
        "42.000000,0.500000,1.000000,2.000000",
    ),
    (r#"printf("%.1v2hlf|", (float2)(in[0], 0.5f))"#, "42.0,0.5|"),
    (r#"printf("%4v2d|", (int2)(in[0], in[1]))"#, "  42,  -7|"),
    (
        r#"printf("%s|%10s|%-6s|%.2s", "abc", "abc", "abc", "abc")"#,
        "abc|       abc|abc   |ab",
    ),
    (r#"printf("%f", (double)in[0] / 3)"#, "14.000000"),
    (r#"printf("%c%c%c", 'x', in[0], '\n')"#, "x*\n"),
    (
        r#"printf("%d %s %f %v2d end", in[0], "mid", 1.5f, (int2)(3, 4))"#,
        "42 mid 1.500000 3,4 end",
    ),
    (r#"printf("%d\t\"%d\"\\", in[0], in[1])"#, "42\t\"-7\"\\"),
];

#[test]
fn formats() {
    if !clang::is_available() {
        return;
    }
    let input: Vec<u8> = [42_i32, -7].into_iter().flat_map(i32::to_le_bytes).collect();
    let mut failures = Vec::new();
    for options in Options::all() {
        // Each in a program of its own: LLVM 22 refuses some that have several.
        for (call, expected) in CALLS {
            let source =
                format!("kernel void k(global int *out, global const int *in) {{ out[0] = {call}; }}");
            let device = Device::new(&clang::compile(&source, options).expect("compiles")).expect("builds");
            let operands = [Operand::Buffer(vec![0xff; 4]), Operand::Buffer(input.clone())];
            match device.run("k", &[1], &[], &operands) {
                Ok(outcome) if outcome.printed == expected && outcome.buffers[0] == [0; 4] => {}
                Ok(outcome) => {
                    failures.push(format!("{call} {options:?}: {outcome:?}, expected {expected:?}"))
                }
                Err(error) => failures.push(format!("{call} {options:?}: {error}")),
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_item_prints_its_line_whole() {
    if !clang::is_available() {
        return;
    }
    let source = r#"kernel void k() {
        printf("item %d of group %d\n", (int)get_global_id(0), (int)get_group_id(0));
    }"#;
    let device = Device::new(&clang::compile(source, Options::DEFAULT).expect("compiles")).expect("builds");
    let outcome = device.run("k", &[64], &[8], &[]).expect("runs");
    let mut lines: Vec<&str> = outcome.printed.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..64)
        .map(|item| format!("item {item} of group {}", item / 8))
        .collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

/// What a kernel prints that is launched as one group.
fn printed(source: &str, count: usize) -> Vec<String> {
    let printed = Options::all().map(|options| {
        let device = Device::new(&clang::compile(source, options).expect("compiles")).expect("builds");
        device.run("k", &[count], &[count], &[]).expect("runs").printed
    });
    printed.to_vec()
}

#[test]
fn work_items_of_a_group_print_one_after_the_other() {
    if !clang::is_available() {
        return;
    }
    let source = r#"constant char names[3][6] = {"zero", "one", "two"};
    kernel void k() {
        local int sum;
        int i = get_local_id(0);
        if (i == 0) sum = 0;
        printf("%d is %s\n", i, names[i % 3]);
        for (int n = 0; n < i % 4; n++) {
            if ((i + n) % 3 == 1) continue;
            printf(" round %d of %v2d: %f\n", n, (int2)(i, -i), i * 0.5f);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        atomic_add(&sum, i);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i % 5 == 2) printf("%d: %d\n", i, sum);
    }"#;
    let count = 37;
    let mut expected = String::new();
    for i in 0..count {
        expected += &format!("{i} is {}\n", ["zero", "one", "two"][i % 3]);
        for n in (0..i % 4).filter(|n| (i + n) % 3 != 1) {
            expected += &format!(" round {n} of {i},-{i}: {:.6}\n", i as f32 * 0.5);
        }
    }
    expected = expected.replace("0,-0", "0,0");
    for i in (0..count).filter(|i| i % 5 == 2) {
        expected += &format!("{i}: {}\n", count * (count - 1) / 2);
    }
    for printed in printed(source, count) {
        assert_eq!(printed, expected);
    }
}

#[test]
fn all_of_much_is_printed() {
    if !clang::is_available() {
        return;
    }
    let source = r#"kernel void k() {
        for (int n = 0; n < 300; n++) printf("%64d|%d\n", n, (int)get_global_id(0));
    }"#;
    for printed in printed(source, 32) {
        // Of each work-item all lines, in their order.
        for item in 0..32 {
            let end = format!("|{item}");
            let lines = printed.lines().filter_map(|line| line.strip_suffix(&end));
            let numbers: Vec<_> = lines.map(|line| line.trim_start().parse().ok()).collect();
            assert_eq!(
                numbers,
                (0..300).map(Some).collect::<Vec<Option<u32>>>(),
                "{item}"
            );
        }
    }
}

/// A module whose calls of printf are in a line of a file: clang 22 doesn't tell.
fn with_lines(spirv: Vec<u8>) -> Vec<u8> {
    let mut module = rspirv::dr::load_bytes(spirv).expect("clang writes modules");
    let header = module.header.as_mut().expect("a module has a header");
    let file = header.bound;
    header.bound += 1;
    let name = vec![dr::Operand::LiteralString("kernel.cl".to_owned())];
    let name = dr::Instruction::new(Op::String, None, Some(file), name);
    module.debug_string_source.push(name);
    let place = [
        dr::Operand::IdRef(file),
        dr::Operand::LiteralBit32(17),
        dr::Operand::LiteralBit32(3),
    ];
    let blocks = module
        .functions
        .iter_mut()
        .flat_map(|function| &mut function.blocks);
    for block in blocks {
        let printf = dr::Operand::LiteralExtInstInteger(OpenclStd100Op::printf.0);
        let is_printf = |instruction: &dr::Instruction| instruction.operands.get(1) == Some(&printf);
        if let Some(at) = block.instructions.iter().position(is_printf) {
            let line = dr::Instruction::new(Op::Line, None, None, place.to_vec());
            block.instructions.insert(at, line);
        }
    }
    module.assemble().into_iter().flat_map(u32::to_le_bytes).collect()
}

#[test]
fn what_cannot_be_printed_ends_the_launch() {
    if !clang::is_available() {
        return;
    }
    let source = r#"kernel void k() {
        if (get_global_id(0) >= 19) printf("%d", (int)get_global_id(0));
    }"#;
    let spirv = with_lines(clang::compile(source, Options::DEFAULT).expect("compiles"));
    let device = Device::new(&spirv).expect("builds");
    let range = NdRange {
        local: Some([16, 1, 1]),
        ..NdRange::new([32])
    };
    let full = |_: &str| Err(io::Error::other("the disk is full"));
    let error = device.run_printing("k", &range, &[], &full).expect_err("fails");
    let place = "work-item [19, 0, 0] (local id [3, 0, 0] of work-group [1, 0, 0])";
    assert!(
        error.contains("printf cannot write: the disk is full") && error.contains(place),
        "{error}"
    );
    assert!(error.ends_with("at kernel.cl:17"), "{error}");
    // Who takes the text may fail in any way.
    let panics = |_: &str| panic!("no printing today");
    let run = || device.run_printing("k", &range, &[], &panics);
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("panics");
    assert_eq!(payload.downcast_ref(), Some(&"no printing today"));
    assert!(
        device
            .run_range("k", &range, &[])
            .expect("runs")
            .printed
            .contains("31")
    );
}
