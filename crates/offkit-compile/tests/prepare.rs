//! Kernels as they are before code is made of them. That they still do the same is found out by the tests of the CPU
//! device, which run prepared kernels.

#[path = "../../offkit-kernel/tests/compile/mod.rs"]
mod compile;

use compile::{compile, is_available, read};
use offkit_compile::prepare;
use offkit_kernel::ir::{CollectiveKind, GroupScope, Instruction, Module, Operation};

fn prepared(module: &Module) -> Module {
    prepare(module, 0).unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn instructions(module: &Module) -> impl Iterator<Item = &Instruction> {
    let blocks = module.functions.iter().flat_map(|function| &function.blocks);
    blocks.flat_map(|block| &block.instructions)
}

fn count(module: &Module, is: impl Fn(&Operation) -> bool) -> usize {
    instructions(module)
        .filter(|instruction| is(&instruction.operation))
        .count()
}

/// Text with the types that tests need before it.
fn parse(text: &str) -> Module {
    let types = "offkit-kernel 1\n\
        type #0 void\ntype #1 scalar i32\ntype #2 scalar f32\ntype #3 vector f32 4\n\
        type #4 pointer CrossWorkgroup #1\ntype #5 pointer Function #1\ntype #6 struct [#2 #1 #3]\n\
        type #7 pointer Function #6\ntype #8 array #1 4\ntype #9 scalar i64\ntype #10 scalar bool\n";
    let text = format!("{types}{text}");
    Module::from_text(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

const CALLS: &str = r#"
    typedef struct { float2 v; int n; char c; } S;
    typedef union { struct { char a; int b; } s; int words[2]; float f[2]; } U;
    constant float table[3] = {1, 2, 3};
    float helper(S s, int *p) { *p += s.n; return s.v.x * s.v.y + table[2]; }
    void both(float x, float *one, float *other) { *one = x + 1; *other = x - 1; }
    kernel void k(global float *out, S s, int n, global S *more) {
      int i = get_global_id(0);
      S mine = more[i], other = mine;
      other.n += n;
      U u; u.s.a = 3; u.s.b = n; U w = u;
      float sum = 0, a, b, pair[2] = {4, 5};
      for (int j = 0; j < n; ++j) { if (j == 5) continue; sum += helper(other, &n); }
      both(sum, &a, &b);
      float3 q = (float3)(a, b, 3);
      q.y = w.f[1];
      out[i] = q.x + q.y + q.z + s.n + pair[1];
    }"#;

#[test]
fn private_variables_become_values() {
    if !is_available() {
        return;
    }
    for flags in ["-O0", "-O0 -g", "-O1", "-O2"] {
        let module = read(&compile(CALLS, flags));
        let prepared = prepared(&module);
        let [function] = prepared.functions.as_slice() else {
            panic!("{prepared}")
        };
        assert!(function.variables.is_empty(), "{flags}\n{prepared}");
        assert_eq!(
            count(&prepared, |operation| matches!(operation, Operation::Call(_))),
            0
        );
        // What is stored is the result, and what is loaded the struct and its argument.
        assert_eq!(
            count(&prepared, |operation| matches!(operation, Operation::Store)),
            1,
            "{prepared}"
        );
        let loads = count(&prepared, |operation| matches!(operation, Operation::Load));
        assert!(loads <= 4, "{flags}\n{prepared}");
        // The lookup in the table is a constant.
        assert!(!prepared.functions[0].blocks.is_empty() && function.name == "k");
        let numbers = |module: &Module| module.types.iter().cloned().collect::<Vec<_>>();
        assert!(
            numbers(&prepared).starts_with(&numbers(&module)),
            "types keep their numbers"
        );
        assert!(
            prepared.constants.starts_with(&module.constants),
            "constants keep their numbers"
        );
        assert_eq!(prepared.globals, module.globals);
    }
}

#[test]
fn the_same_comes_out_each_time() {
    if is_available() {
        let module = read(&compile(CALLS, "-O0"));
        let first = prepared(&module).to_string();
        assert!((0..4).all(|_| prepared(&module).to_string() == first));
    }
}

#[test]
fn functions_that_call_each_other_become_jumps() {
    let module = parse(
        "kernel \"k\" @0\n\
         function @0 \"k\" #0\nblock ^0\n  call @1 ()\n  end return none\n\
         function @1 \"even\" #0\nblock ^0\n  call @2 ()\n  end return none\n\
         function @2 \"odd\" #0\nblock ^0\n  call @1 ()\n  end return none\n",
    );
    let prepared = prepare(&module, 0).expect("nothing is refused");
    assert_eq!(prepared.functions.len(), 1);
    let instructions = || {
        prepared.functions[0]
            .blocks
            .iter()
            .flat_map(|block| &block.instructions)
    };
    assert!(!instructions().any(|instruction| matches!(instruction.operation, Operation::Call(_))));
    // They never end, but for the stack's size.
    assert!(instructions().any(|instruction| instruction.operation == Operation::Overflow));
}

#[test]
fn kernels_that_call_themselves_and_missing_functions_are_refused_by_name() {
    let module = parse(
        "kernel \"k\" @0\n\
         function @0 \"k\" #0\nblock ^0\n  call @1 ()\n  end return none\n\
         function @1 \"odd\" #0\nblock ^0\n  call @0 ()\n  end return none\n",
    );
    let refusal = prepare(&module, 0).unwrap_err();
    assert_eq!(refusal.0, "recursion: kernel `k` calls itself");
    let module = parse(
        "kernel \"k\" @0\n\
         function @0 \"k\" #0\nblock ^0\n  call @1 ()\n  end return none\n\
         function @1 \"elsewhere\" #0\n",
    );
    let refusal = prepare(&module, 0).unwrap_err();
    assert_eq!(refusal.0, "function `elsewhere` is only declared");
    assert!(prepare(&module, 1).is_err());
}

#[test]
fn a_function_that_keeps_more_than_there_is_for_each_call_is_refused_by_name() {
    let module = parse(
        "type #11 scalar i8\ntype #12 array #11 18446744073709551615\ntype #13 pointer Function #12\n\
         kernel \"k\" @0\n\
         function @0 \"k\" #0\nblock ^0\n  call @1 ()\n  end return none\n\
         function @1 \"again\" #0\n  variable #13 %0 #12\n  variable #5 %1 #1\nblock ^0\n  call @1 ()\n  \
         end return none\n",
    );
    let refusal = prepare(&module, 0).unwrap_err();
    assert!(refusal.0.contains("function `again` keeps"), "{refusal}");
}

#[test]
fn calls_that_double_at_each_step_are_refused_in_time() {
    let mut text = "kernel \"k\" @0\n".to_owned();
    for function in 0..40 {
        text += &format!("function @{function} \"f{function}\" #0\nblock ^0\n");
        if function < 39 {
            text += &format!("  call @{next} ()\n  call @{next} ()\n", next = function + 1);
        }
        text += "  end return none\n";
    }
    let refusal = prepare(&parse(&text), 0).unwrap_err();
    assert!(refusal.0.contains("longer than"), "{refusal}");
}

#[test]
fn a_variable_that_begins_with_a_huge_array_of_zeros_is_refused() {
    let module = parse(
        "type #11 array #1 1000000000\ntype #12 pointer Function #11\nconstant $0 #11 []\nkernel \"k\" @0\n\
         function @0 \"k\" #0\n  variable #12 %0 #11 initializer $0\nblock ^0\n  end return none\n",
    );
    let refusal = prepare(&module, 0).unwrap_err();
    assert_eq!(refusal.0, "function `k` has a table that is too large");
}

#[test]
fn a_variable_of_a_callee_starts_anew_at_each_call() {
    let module = parse(
        "constant $0 #1 [7]\nkernel \"k\" @0\n\
         function @0 \"k\" #0\n  parameter %0 #4\nblock ^0\n  end jump ^1\n\
         block ^1\n  %1 #1 = call @1 ()\n  store (%0 %1)\n  %2 #10 = op SLessThan (%1 i32:9)\n  end branch %2 ^1 ^2\n\
         block ^2\n  end return none\n\
         function @1 \"next\" #1\n  variable #5 %0 #1 initializer $0\nblock ^0\n  %1 #1 = load (%0)\n  \
         %2 #1 = op IAdd (%1 i32:1)\n  store (%0 %2)\n  end return %2\n",
    );
    // 8 each time, so that it never ends.
    let prepared = prepared(&module).to_string();
    assert!(prepared.contains("store (%0 i32:8)"), "{prepared}");
}

#[test]
fn volatile_variables_and_places_that_are_computed_stay_in_memory() {
    let module = parse(
        "kernel \"k\" @0\n\
         function @0 \"k\" #0\n  parameter %0 #4\n  variable #5 %1 #1\n  variable #5 %2 #8\nblock ^0\n  \
         store (%1 i32:1) volatile\n  %3 #1 = load (%1) volatile\n  %4 #5 = address 0 [4] (%2 %3)\n  store (%4 %3)\n  \
         %5 #5 = address 4 [] (%2)\n  %6 #1 = load (%5)\n  store (%0 %6)\n  end return none\n",
    );
    let prepared = prepared(&module);
    assert_eq!(prepared.functions[0].variables.len(), 2, "{prepared}");
    assert_eq!(
        count(&prepared, |operation| matches!(operation, Operation::Store)),
        3
    );
}

#[test]
fn parts_of_a_struct_are_values_of_their_own() {
    let module = parse(
        "constant $0 #6 [0 5 0 0 0 0]\nkernel \"k\" @0\n\
         function @0 \"k\" #0\n  parameter %0 #4\n  variable #7 %1 #6 initializer $0\n  variable #7 %2 #6\nblock ^0\n  \
         copy (%2 %1 i64:32)\n  %3 #5 = address 4 [] (%2)\n  %4 #1 = load (%3)\n  store (%0 %4)\n  \
         %5 #5 = address 20 [] (%2)\n  store (%5 i32:3)\n  %6 #6 = load (%2)\n  %7 #2 = extract 3 (%6)\n  \
         %8 #1 = reinterpret (%7)\n  store (%0 %8)\n  end return none\n",
    );
    let prepared = prepared(&module);
    assert!(prepared.functions[0].variables.is_empty(), "{prepared}");
    assert!(prepared.to_string().contains("store (%0 i32:5)"), "{prepared}");
    // The vector has its second component from the store of an integer.
    assert!(prepared.to_string().contains("store (%0 i32:3)"), "{prepared}");
}

/// Each of these structs has the one before twice, so that the last one has 2^80 parts, and one of them has a word.
#[test]
fn structs_of_structs_of_nothing_become_values_in_time() {
    let mut text = "type #11 struct []\n".to_owned();
    for number in 12..92 {
        text += &format!("type #{number} struct [#{0} #{0}]\n", number - 1);
    }
    text += "type #92 struct [#91 #1]\ntype #93 pointer Function #92\nkernel \"k\" @0\n\
             function @0 \"k\" #0\n  parameter %0 #4\n  variable #93 %1 #92\nblock ^0\n  \
             %2 #5 = address 0 [] (%1)\n  store (%2 i32:5)\n  %3 #92 = load (%1)\n  %4 #1 = extract 0 (%3)\n  \
             store (%0 %4)\n  end return none\n";
    let prepared = prepared(&parse(&text));
    assert!(prepared.functions[0].variables.is_empty(), "{prepared}");
    assert!(prepared.to_string().contains("store (%0 i32:5)"), "{prepared}");
}

#[test]
fn an_argument_that_is_written_is_copied_first() {
    let kernel = |code: &str| {
        parse(&format!(
            "kernel \"k\" @0\nfunction @0 \"k\" #0\n  parameter %0 #4\n  parameter %1 #7 by_value\nblock ^0\n  \
             %2 #1 = load (%0)\n  %3 #5 = address 0 [4] (%1 %2)\n  {code}  %4 #1 = load (%3)\n  store (%0 %4)\n  \
             end return none\n"
        ))
    };
    let read = prepared(&kernel(""));
    assert!(read.functions[0].variables.is_empty(), "{read}");
    let written = prepared(&kernel("store (%3 i32:1)\n"));
    assert_eq!(written.functions[0].variables.len(), 1, "{written}");
    let copies = |operation: &Operation| matches!(operation, Operation::Copy | Operation::Load);
    assert!(count(&written, copies) > 0);
}

#[test]
fn what_groups_do_together_is_left_to_sub_groups_and_barriers() {
    if !is_available() {
        return;
    }
    let source = r#"
        kernel void k(global int *out, local int *part, global const int *in, int n) {
          int i = get_global_id(0), x = in[i];
          event_t copied = async_work_group_copy(part, in, n, 0);
          copied = async_work_group_strided_copy(out + 64, part, n, 2, copied);
          wait_group_events(1, &copied);
          int sum = work_group_reduce_add(x) + work_group_scan_inclusive_max(x) + work_group_scan_exclusive_add(x);
          sum += work_group_broadcast(x, n) + work_group_all(x > 0) + work_group_any(x > 0);
          out[i] = sum + part[i];
        }"#;
    for flags in ["-O0", "-O2"] {
        let module = read(&compile(source, flags));
        let prepared = prepared(&module);
        let of_groups = |operation: &Operation| {
            matches!(operation, Operation::Collective(collective)
                if collective.scope == GroupScope::WorkGroup && collective.kind != CollectiveKind::Barrier)
        };
        assert!(count(&module, of_groups) >= 9, "{module}");
        assert_eq!(count(&prepared, of_groups), 0, "{prepared}");
        assert!(
            prepared.globals.starts_with(&module.globals),
            "globals keep their numbers"
        );
    }
}

#[test]
fn vectors_are_loaded_and_stored_as_values() {
    if !is_available() {
        return;
    }
    let source = r#"
        kernel void k(global float *out, global const half *in) {
          int i = get_global_id(0);
          float part[8];
          vstore4(vload4(i, out), 1, part);
          vstore3(vload_half3(i, in), 0, part);
          out[i] = part[1] + part[5] + vloada_half3(i, in).z;
          vstore_half2_rtz(vload2(i, out), i, (global half *)in);
        }"#;
    for flags in ["-O0", "-O2"] {
        let prepared = prepared(&read(&compile(source, flags)));
        assert_eq!(
            count(&prepared, |operation| matches!(operation, Operation::Memory(_))),
            0,
            "{prepared}"
        );
        assert!(prepared.functions[0].variables.is_empty(), "{prepared}");
        assert!(
            prepared.to_string().contains("convert float rounding RTZ"),
            "{prepared}"
        );
    }
}

#[test]
fn a_component_of_a_built_in_variable_is_read_and_not_loaded() {
    let module = parse(
        "type #11 vector i64 3\ntype #12 pointer Input #11\nvariable &0 \"size\" input GlobalSize #11 32\n\
         constant $0 #12 [8] addresses [0 &0]\nkernel \"k\" @0\n\
         function @0 \"k\" #0\n  parameter %0 #4\nblock ^0\n  %1 #9 = load ($0)\n  %2 #1 = convert unsigned (%1)\n  \
         store (%0 %2)\n  end return none\n",
    );
    let prepared = prepared(&module).to_string();
    assert!(
        prepared.contains("input &0") && prepared.contains("extract 1"),
        "{prepared}"
    );
}

#[test]
fn short_loops_through_private_arrays_are_unrolled() {
    if !is_available() {
        return;
    }
    let source = |count: &str| {
        format!(
            "kernel void k(global float *out, global const float *in, int n) {{
               float part[8]; int i = get_global_id(0);
               for (int j = 0; j < {count}; ++j) part[j] = in[i * 8 + j];
               float sum = 0;
               for (int j = 0; j < {count}; j += 2) {{ if (part[j] > 0) sum += part[j] * part[j + 1]; }}
               int last = 7; do {{ sum -= part[last]; }} while (--last > 2);
               out[i] = sum;
             }}"
        )
    };
    for flags in ["-O0", "-O1 -fno-unroll-loops"] {
        let known = prepared(&read(&compile(&source("8"), flags)));
        assert!(known.functions[0].variables.is_empty(), "{flags}\n{known}");
        let unknown = prepared(&read(&compile(&source("n"), flags)));
        assert_eq!(unknown.functions[0].variables.len(), 1, "{flags}\n{unknown}");
    }
}
