//! Launches that are given up while a kernel goes round in a loop that has no end.

use offkit_plugin_cpu::NdRange;

use crate::clang::{self, Options};
use crate::device::{Device, Operand};

/// Launches a kernel `k` that notes in the second number of its buffer that it has begun, and gives it up then.
#[track_caller]
fn ends(body: &str) {
    if !clang::is_available() {
        return;
    }
    let source = format!("kernel void k(volatile global int *a) {{ a[1] = 1; {body} }}");
    let spirv = clang::compile(&source, Options::DEFAULT).unwrap();
    let device = Device::new(&spirv).unwrap();
    let range = NdRange {
        local: Some([48, 1, 1]),
        ..NdRange::new([48])
    };
    let error = device.run_until_begun("k", &range, &[Operand::Buffer(vec![0; 64])]);
    let error = error.unwrap_err();
    assert!(error.starts_with("kernel `k` was cancelled after "), "{error}");
    assert!(error.ends_with(" in work-group [0, 0, 0]"), "{error}");
}

#[test]
fn a_loop_of_all() {
    ends("while (a[0] == 0);");
    ends("for (;;);");
}

#[test]
fn a_loop_that_work_items_leave_one_by_one() {
    ends("int x = get_global_id(0); while (x != 1000 && a[x & 1] == (x & 1)) x = (x * 5 + 1) & 0xff;");
}

#[test]
fn a_loop_of_some() {
    ends("if (get_global_id(0) == 17) while (a[0] == 0) a[2]++; else a[3] = 1;");
}

#[test]
fn a_loop_around_a_barrier() {
    ends("while (a[0] == 0) barrier(CLK_LOCAL_MEM_FENCE);");
}

#[test]
fn a_loop_inside_of_one_that_counts() {
    ends("for (int i = 0; i < 10; ++i) while (atomic_or(a, 0) == 0);");
}

#[test]
fn a_loop_whose_steps_are_none() {
    ends("for (int i = 0; i < 10; i += a[0]) a[4] = i;");
}

#[test]
fn a_loop_that_goes_to_and_fro() {
    ends("for (int i = 0; i != 7; i = 1 - i) a[4] = i;");
}

#[test]
fn a_loop_that_counts_and_waits_for_something_else() {
    ends("bool busy = a[0] == 0; for (int i = 0; busy || i < 10; ++i) a[4] = i;");
}
