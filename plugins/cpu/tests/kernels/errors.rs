//! Kernels that do wrong, and launches that ask for the wrong thing.

use std::sync::atomic::AtomicBool;

use offkit_plugin_cpu::{AllocationKind, Argument, LaunchError, LaunchOptions, NdRange};

use crate::support::{Device, value};

/// The message contains all of these.
#[track_caller]
fn assert_names(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{message}` does not say `{part}`");
    }
}

#[test]
fn accesses_out_of_bounds() {
    let source = "kernel void store(global int *a, int i) { if (get_global_id(0) == 5) a[i] = 1; }
      kernel void load(global int *a, global int *b, int i) { b[0] = a[i]; }
      kernel void add(global int *a, int i) { atomic_add(&a[i], 1); }
      constant int table[4] = {1, 2, 3, 4};
      kernel void write_table(int i) { ((global int *)(size_t)&table[0])[i] = 1; }";
    Device::each(source, |device| {
        let a = Argument::Pointer(device.buffer(&[0i32; 10]));
        let b = Argument::Pointer(device.buffer(&[0i32; 10]));
        let range = NdRange {
            local: Some([4, 1, 1]),
            ..NdRange::new([8])
        };
        let message = device.failure("store", range, &[a.clone(), value(10i32)]);
        assert_names(
            &message,
            &[
                "kernel `store`",
                "store of 4 bytes",
                "4 bytes past the buffer of argument 0 of 40 bytes",
                "[5, 0, 0]",
                "local id [1, 0, 0] of work-group [1, 0, 0]",
            ],
        );
        let message = device.failure("load", NdRange::new([1]), &[a.clone(), b, value(-3i32)]);
        assert_names(
            &message,
            &["load of 4 bytes", "12 bytes before the buffer of argument 0"],
        );
        let message = device.failure("add", NdRange::new([1]), &[a, value(10i32)]);
        assert_names(&message, &["atomic access of 4 bytes", "argument 0"]);
        let message = device.failure(
            "load",
            NdRange::new([1]),
            &[Argument::Pointer(0), Argument::Pointer(0), value(2i32)],
        );
        assert_names(&message, &["null pointer", "0x8"]);
    });
}

#[test]
fn freed_memory_is_out_of_bounds() {
    let source = "kernel void load(global int *a) { a[1] = a[0]; }";
    Device::each(source, |device| {
        let a = device.memory.allocate(64, 4, AllocationKind::Device).unwrap();
        device.run("load", NdRange::new([1]), &[Argument::Pointer(a)]);
        device.memory.free(a).unwrap();
        assert_names(
            &device.failure("load", NdRange::new([1]), &[Argument::Pointer(a)]),
            &["out of bounds"],
        );
    });
}

#[test]
fn one_local_variable_does_not_run_into_the_next() {
    let source = "kernel void variable(int i, global int *out) {
        local int a[4]; local int b[4]; a[get_local_id(0)] = 1; b[get_local_id(0)] = 2;
        a[i] = 3; *out = a[0] + b[0]; }
      kernel void argument(local int *a, local int *b, int i) { b[0] = 1; a[i] = 3; }
      kernel void array(global int *out, int i) {
        int a[4] = {1, 2, 3, 4}; int b[4] = {5, 6, 7, 8}; a[i] = 9; *out = a[1] + b[i & 3]; }";
    Device::each(source, |device| {
        let out = Argument::Pointer(device.buffer(&[0i32]));
        let message = device.failure("variable", NdRange::new([1]), &[value(4i32), out.clone()]);
        assert_names(
            &message,
            &["4 bytes past local variable `variable.a` of 16 bytes"],
        );
        let arguments = [Argument::Local(8), Argument::Local(8), value(-1i32)];
        let message = device.failure("argument", NdRange::new([1]), &arguments);
        assert_names(&message, &["4 bytes before local argument 0 of 8 bytes"]);
        let message = device.failure("array", NdRange::new([1]), &[out, value(5i32)]);
        assert_names(&message, &["8 bytes past a private variable of 16 bytes"]);
    });
}

#[test]
fn constants_are_read_only() {
    let source = "constant int table[4] = {1, 2, 3, 4};
      kernel void k(global ulong *address) { *address = (ulong)&table[1]; }
      kernel void write(ulong address) { *(global int *)address = 1; }";
    Device::each(source, |device| {
        let cell = device.buffer(&[0u64]);
        device.run("k", NdRange::new([1]), &[Argument::Pointer(cell)]);
        let address = device.read::<u64>(cell, 1)[0];
        let message = device.failure("write", NdRange::new([1]), &[value(address)]);
        assert_names(&message, &["program-scope constant `table` is read-only"]);
    });
}

#[test]
fn divergent_barriers() {
    let source = "kernel void some(global int *out) { if (get_local_id(0) < 3) barrier(CLK_LOCAL_MEM_FENCE); out[get_global_id(0)] = 1; }
      kernel void two(global int *out) {
        if (get_local_id(0) < 3) { barrier(CLK_LOCAL_MEM_FENCE); out[0] = 1; } else { barrier(CLK_LOCAL_MEM_FENCE); out[1] = 2; } }";
    Device::each(source, |device| {
        let out = Argument::Pointer(device.buffer(&[0i32; 16]));
        let range = NdRange::new([16]).with_local([8]);
        let message = device.failure("some", range, std::slice::from_ref(&out));
        assert_names(
            &message,
            &[
                "kernel `some`",
                "work-group [",
                "barrier not reached by all work-items of the group",
                "3 of 8",
            ],
        );
        assert_names(&message, &["5 have finished"]);
        let message = device.failure("two", range, &[out]);
        assert_names(
            &message,
            &[
                "kernel `two`",
                "barrier not reached by all work-items of the group",
            ],
        );
    });
}

#[test]
fn endless_recursion_and_endless_loops() {
    let source = "__attribute__((noinline)) int deeper(int n, int *p) {
        int a[4]; a[n & 3] = *p; if (n == -1) return a[0]; return deeper(n + 1, a) + a[n & 3]; }
      kernel void recurse(global int *out) { int a = 1; *out = deeper(0, &a); }
      kernel void spin(global volatile int *out) { while (*out != 7) ; }";
    Device::each(source, |device| {
        let out = device.buffer(&[0i32]);
        let message = device.failure("recurse", NdRange::new([1]), &[Argument::Pointer(out)]);
        assert_names(
            &message,
            &["kernel `recurse`", "stack overflow", "in function `deeper`"],
        );
        let options = LaunchOptions {
            max_instructions: Some(100_000),
            ..Default::default()
        };
        let launch = |options| {
            device
                .program
                .launch("spin", &NdRange::new([1]), &[Argument::Pointer(out)], &options)
        };
        let expected = LaunchError::InstructionLimit {
            kernel: "spin".into(),
            limit: 100_000,
        };
        assert_eq!(launch(options), Err(expected));
        let cancel = AtomicBool::new(true);
        let options = LaunchOptions {
            cancel: Some(&cancel),
            ..Default::default()
        };
        let cancelled = launch(options).unwrap_err();
        assert!(matches!(
            &cancelled,
            LaunchError::Cancelled {
                groups: [[0, 0, 0], _],
                ..
            }
        ));
        assert!(
            cancelled
                .to_string()
                .starts_with("kernel `spin` was cancelled after ")
        );
    });
}

#[test]
fn wrong_arguments() {
    let source = "kernel void k(global int *a, local float *b, float4 c, constant int *d) { a[0] = b[0] + c.x + d[0]; }
      kernel __attribute__((reqd_work_group_size(4, 1, 1))) void four(global int *a) { a[get_global_id(0)] = 1; }";
    Device::each(source, |device| {
        let a = device.buffer(&[0i32; 8]);
        let good = [
            Argument::Pointer(a),
            Argument::Local(16),
            Argument::Bytes(vec![0; 16]),
            Argument::Pointer(a),
        ];
        let with = |index: usize, argument: Argument| {
            let mut arguments = good.to_vec();
            arguments[index] = argument;
            device.failure("k", NdRange::new([1]), &arguments)
        };
        device.run("k", NdRange::new([1]), &good);
        assert_names(
            &device.failure("k", NdRange::new([1]), &good[..3]),
            &["takes 4 arguments, 3 are given"],
        );
        assert_names(
            &with(0, value(7i32)),
            &["argument 0", "pointer to global memory", "value of 4 bytes"],
        );
        assert_names(
            &with(1, Argument::Pointer(a)),
            &["argument 1", "a size of local memory", "the address"],
        );
        assert_names(
            &with(2, value(1f32)),
            &[
                "argument 2",
                "f32x4",
                "a value of 16 bytes, given a value of 4 bytes",
            ],
        );
        assert_names(
            &with(3, Argument::Local(4)),
            &["argument 3", "constant memory", "4 bytes of local memory"],
        );
        assert_names(
            &with(1, Argument::Local(0)),
            &["argument 1", "a size of local memory", "given 0 bytes"],
        );
        assert_names(
            &with(1, Argument::Local(1 << 30)),
            &["local memory", "1073741824"],
        );
        assert_names(
            &device.failure("none", NdRange::new([1]), &[]),
            &["no kernel `none`", "k, four"],
        );
        let arguments = [Argument::Pointer(a)];
        let message = device.failure("four", NdRange::new([8]).with_local([8]), &arguments);
        assert_names(&message, &["[8, 1, 1]", "requires [4, 1, 1]"]);
        device.run("four", NdRange::new([8]), &arguments);
        let info = device
            .program
            .kernels()
            .iter()
            .find(|info| info.name == "four")
            .unwrap();
        assert_eq!(info.required_local_size, Some([4, 1, 1]));
    });
}
