//! `printf`.

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
