//! Device globals, written by the host and read again.

use offkit_object::{BundleState, ByteArray, DeviceImage};
use offkit_runtime::{Executable, Input, KernelBundle, Object};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need};

use crate::machine::{Machine, image, says, syclbin};

/// What SYCL's compilers make of a device global with an initial value of 5, which holds the address of its value, and
/// of one with `device_image_scope`.
const SOURCE: &str = "global struct { global int *value; int first; } counter = {0, 5};
    global int table[4] = {1, 2, 3, 4};
    kernel void app_kernel(global int *numbers) {
      size_t i = get_global_id(0);
      numbers[i] = numbers[i] * table[i % 4] + *counter.value;
    }
    kernel void count(global int *numbers) { if (get_global_id(0) == 0) *counter.value += 1; }
    kernel void other(global int *numbers) { numbers[get_global_id(0)] += *counter.value; }";

fn described(mut image: DeviceImage<'static>, globals: &[(&str, u32, u32)]) -> DeviceImage<'static> {
    for &(name, size, scope) in globals {
        let words = [size, scope].map(u32::to_le_bytes).concat();
        image
            .properties
            .insert("SYCL/device globals", name, ByteArray::new(words));
    }
    image
}

fn bytes(numbers: &[i32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[track_caller]
fn read<const N: usize>(bundle: &KernelBundle<Executable>, machine: &Machine, name: &str) -> [i32; N] {
    let mut out = vec![0; 4 * N];
    bundle
        .read_device_global(name, &machine.queue(), 0, &mut out)
        .expect("the global");
    let mut numbers = [0; N];
    for (number, bytes) in numbers.iter_mut().zip(out.as_chunks().0) {
        *number = i32::from_le_bytes(*bytes);
    }
    numbers
}

/// Writes and reads both kinds of globals, and runs kernels between.
fn use_globals(machine: &Machine, built: &KernelBundle<Executable>) {
    let write = |name: &str, offset: usize, numbers: &[i32]| {
        built
            .write_device_global(name, &machine.queue(), offset, &bytes(numbers))
            .expect("the global");
    };
    let run = |name: &str| machine.run(built.kernel(name, &machine.device).expect("the kernel"));
    assert_eq!(
        (read(built, machine, "counter"), read(built, machine, "table")),
        ([5], [1, 2, 3, 4])
    );
    assert_eq!(run("app_kernel"), [6, 9, 14, 21, 10, 17, 26, 37]);
    run("count");
    assert_eq!(read(built, machine, "counter"), [6], "what the kernel wrote");
    write("counter", 0, &[100]);
    write("table", 8, &[0, 10]);
    assert_eq!(read(built, machine, "table"), [1, 2, 0, 10]);
    assert_eq!(run("app_kernel"), [101, 104, 100, 140, 105, 112, 100, 180]);
    assert_eq!(run("other"), [101, 102, 103, 104, 105, 106, 107, 108]);
}

#[test]
fn the_host_reads_and_writes_the_device_globals_of_a_bundle() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    let image = described(image(SOURCE), &[("counter", 4, 0), ("table", 16, 1)]);
    let input: KernelBundle<Input> = machine
        .read(syclbin([image.clone()], BundleState::Input))
        .expect("a bundle");
    let globals: Vec<_> = input
        .device_globals()
        .iter()
        .map(|global| (global.name.to_owned(), global.size, global.is_of_image))
        .collect();
    assert_eq!(
        globals,
        [("counter".to_owned(), 4, false), ("table".to_owned(), 16, true)]
    );
    assert!(input.device_global("table").is_some() && input.device_global("chair").is_none());
    let built = input.build().expect("it builds");
    use_globals(&machine, &built);
    // A bundle of its own has values of its own.
    assert_eq!(read(&input.build().expect("once more"), &machine, "counter"), [5]);
    for state in [BundleState::Object, BundleState::Executable] {
        let file = syclbin([image.clone()], state);
        let built = match state {
            BundleState::Object => {
                let object: KernelBundle<Object> = machine.read(file).expect("an object");
                KernelBundle::link(&[&object], None).expect("it links")
            }
            _ => machine.read(file).expect("an executable"),
        };
        use_globals(&machine, &built);
    }

    let queue = machine.queue();
    let unknown = built.write_device_global("chair", &queue, 0, &[0]);
    says(
        &unknown.expect_err("there is none"),
        &["no device global `chair`", "`counter`", "`table`"],
    );
    for name in ["counter", "table"] {
        let outside = built.read_device_global(name, &queue, 14, &mut [0; 4]);
        says(&outside.expect_err("too far"), &["4 bytes at 14"]);
    }
    // A kernel keeps the memory that its program has the address of.
    let kernel = built.kernel("other", &machine.device).expect("the kernel");
    drop(built);
    assert_eq!(machine.run(kernel.duplicate().expect("another")).len(), 8);
}

#[test]
fn images_share_a_device_global_unless_each_has_its_own() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    let with = |kernel: &str| {
        let source = format!(
            "global struct {{ global int *value; int first; }} counter = {{0, 5}};
             global int own = 1;
             kernel void {kernel}(global int *numbers) {{
               if (get_global_id(0) == 0) *counter.value += own;
               numbers[get_global_id(0)] = own;
             }}"
        );
        described(image(&source), &[("counter", 4, 0), ("own", 4, 1)])
    };
    let file = syclbin([with("one"), with("two")], BundleState::Executable);
    let bundle: KernelBundle<Executable> = machine.read(file).expect("a bundle");
    for name in ["one", "two"] {
        let kernel = bundle.kernel(name, &machine.device).expect("the kernel");
        assert_eq!(machine.run(kernel), [1; 8]);
    }
    assert_eq!(read(&bundle, &machine, "counter"), [7]);
    let which = bundle.write_device_global("own", &machine.queue(), 0, &bytes(&[2]));
    says(
        &which.expect_err("there are two"),
        &["`own` has a value for each of", "memory!0/ir/0", "memory!1/ir/0"],
    );
}

#[test]
fn a_device_global_that_nothing_uses_is_no_hindrance() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    let library =
        "global struct { global int *value; int first; } counter = {0, 5}; int f(int x) { return x * 2; }";
    let mut library = described(image(library), &[("counter", 4, 0)]);
    library.exports = vec!["f".to_owned()];
    let app = "int f(int x); kernel void app_kernel(global int *a) { a[get_global_id(0)] = f(a[get_global_id(0)]); }";
    let mut app = image(app);
    app.imports = vec!["f".to_owned()];
    let input: KernelBundle<Input> = machine
        .read(syclbin([app, library], BundleState::Input))
        .expect("a bundle");
    let built = input.build().expect("it builds");
    assert_eq!(machine.run_app(&built), [2, 4, 6, 8, 10, 12, 14, 16]);
}

#[test]
fn a_device_global_is_found_where_another_image_lists_it_and_does_not_use_it() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    let with = |source| described(image(source), &[("counter", 4, 0)]);
    let without_it = with("kernel void one(global int *numbers) { numbers[get_global_id(0)] = 1; }");
    let with_it = with(
        "global struct { global int *value; int first; } counter = {0, 5};
         kernel void two(global int *numbers) { numbers[get_global_id(0)] = *counter.value; }",
    );
    let file = syclbin([without_it, with_it], BundleState::Executable);
    let bundle: KernelBundle<Executable> = machine.read(file).expect("a bundle");
    assert_eq!(read(&bundle, &machine, "counter"), [5]);
}

#[test]
fn a_device_global_that_is_larger_than_its_variable_is_named() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    let image = described(image(SOURCE), &[("counter", 400, 0)]);
    let input: KernelBundle<Input> = machine
        .read(syclbin([image], BundleState::Input))
        .expect("a bundle");
    says(
        &input.build().expect_err("the variable is no such size"),
        &[
            "cannot reach device global `counter`",
            "400 bytes at 8 are not within a variable of 16 bytes",
        ],
    );
}

/// Uses what the real SYCL compiler writes: device globals of both kinds, under its own names.
fn use_real_globals(machine: &Machine) {
    let Some(runtime) = SyclRuntime::get() else { return };
    let folder = Folder::new();
    runtime.compile(&folder, "globals.cpp", "globals.syclbin");
    let object: KernelBundle<Object> = machine.open(&folder, "globals.syclbin").expect("an object");
    let built = KernelBundle::link(&[&object], None).expect("it links");
    let queue = machine.queue();
    assert_eq!(read(&built, machine, "counter"), [0]);
    for name in ["counter", "_Z7counter", "rtc_0$_Z7counter"] {
        built
            .write_device_global(name, &queue, 0, &bytes(&[3]))
            .expect("the global");
    }
    built
        .write_device_global("table", &queue, 4, &bytes(&[10, 20, 30]))
        .expect("the global");
    assert_eq!(machine.run_app(&built), [3, 23, 63, 123, 3, 63, 143, 243]);
    assert_eq!(read(&built, machine, "table"), [0, 10, 20, 30]);
}

#[test]
fn device_globals_of_the_real_compiler_are_found_by_the_names_in_the_source() {
    use_real_globals(&Machine::new());
}

#[test]
fn a_driver_lets_the_host_reach_device_globals() {
    if let Some(machine) = Machine::of_intel("globals::a_driver_lets_the_host_reach_device_globals") {
        use_real_globals(&machine);
    }
}

#[test]
fn a_device_that_cannot_reach_variables_says_so() {
    need!("clang-22", "llc");
    let test = "globals::a_device_that_cannot_reach_variables_says_so";
    let script = "variable table 16\nmissing piextEnqueueDeviceGlobalVariableRead";
    let Some(machine) = Machine::of_mock(test, script) else {
        return;
    };
    let image = described(image(SOURCE), &[("table", 16, 1)]);
    let bundle: KernelBundle<Executable> = machine
        .read(syclbin([image], BundleState::Executable))
        .expect("a bundle");
    let error = bundle.read_device_global("table", &machine.queue(), 0, &mut [0; 4]);
    says(
        &error.expect_err("the mock cannot read them"),
        &[
            "cannot reach device global `table`",
            "has no piextEnqueueDeviceGlobalVariableRead",
        ],
    );
}
