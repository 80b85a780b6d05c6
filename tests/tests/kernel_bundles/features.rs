//! What a kernel may need beside its code: arguments that are not there, aspects of a device, constants and symbols.

use std::env;
use std::path::PathBuf;

use offkit_cache::Kind;
use offkit_object::{BundleState, ByteArray, DeviceImage, Target};
use offkit_pi::host::{Argument, NdRange, Partition, UsmKind};
use offkit_runtime::{
    Buffer, BundleError, Executable, ImageRegistry, Input, KernelBundle, Object, State, Usm, by_value,
};
use offkit_tests::drivers::{intel, is_inside};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, kept, library, need};

use crate::machine::{APP, EXPECTED, LIBRARY, Machine, image, prepared, says, syclbin, with_factor};

/// The images of a bundle, as a file in another state.
fn in_state<S>(bundle: &KernelBundle<S>, state: BundleState) -> Vec<u8> {
    syclbin(bundle.images().cloned().collect::<Vec<_>>(), state)
}

#[test]
fn arguments_that_the_compiler_dropped_may_be_given() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let (folder, machine) = (Folder::new(), Machine::new());
    runtime.compile(&folder, "dropped.cpp", "dropped.syclbin");
    let object: KernelBundle<Object> = machine.open(&folder, "dropped.syclbin").expect("an object");
    let again: KernelBundle<Object> = machine.read(object.content().expect("a file")).expect("the same");
    let input: KernelBundle<Input> = machine
        .read(in_state(&object, BundleState::Input))
        .expect("an input");
    let linked = |object| KernelBundle::link(&[object], None).expect("it links");
    let ready: KernelBundle<Executable> = machine
        .read(in_state(&object, BundleState::Executable))
        .expect("an executable");
    for bundle in [
        linked(&object),
        linked(&again),
        input.build().expect("it builds"),
        ready,
    ] {
        let names = bundle.kernel_names();
        let name = names.iter().find(|name| name.starts_with("_ZTSZZ4host"));
        let mut kernel = bundle
            .kernel(name.expect("the kernel"), &machine.device)
            .expect("the kernel");
        let queue = machine.queue();
        let numbers = Buffer::from_slice(&machine.context, &[1, 2, 3, 4, 5, 6, 7, 8]).expect("a buffer");
        let nothing = Buffer::from_slice(&machine.context, &[0.0_f32]).expect("a buffer");
        // In the order in which the lambda captured them.
        let all: [Argument; 4] = [
            by_value(&1_i32),
            (&nothing).into(),
            (&numbers).into(),
            by_value(&10_i32),
        ];
        let mut launch = |arguments: &[Argument]| kernel.launch(&queue, &NdRange::new([8]), arguments, &[]);
        launch(&all).expect("a launch").wait().expect("it runs");
        launch(&all[2..]).expect("a launch").wait().expect("it runs");
        let expected: Vec<i32> = (1..9).map(|number| number * 100).collect();
        assert_eq!(numbers.read(&queue, &[]).expect("numbers"), expected);
        let some = launch(&all[1..]).expect_err("neither all nor what is left");
        assert!(some.to_string().contains("takes 2 arguments, 3 given"), "{some}");
    }
}

#[test]
fn kernels_that_need_what_a_device_lacks_are_left_out_in_every_state() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let test = "features::kernels_that_need_what_a_device_lacks_are_left_out_in_every_state";
    let script = "device gpu Mock\ninfo EXTENSIONS \"cl_khr_il_program cl_khr_fp16\"";
    let Some(machine) = Machine::of_mock(test, script) else {
        return;
    };
    let folder = Folder::new();
    runtime.compile(&folder, "features.cpp", "features.syclbin");
    fn check<S: State>(machine: &Machine, bundle: Result<KernelBundle<S>, BundleError>) {
        let bundle = bundle.expect("a bundle");
        let has =
            ["uses_half", "sized", "uses_double"].map(|name| bundle.has_kernel_for(name, &machine.device));
        assert_eq!(has, [true, true, false], "{:?}", S::STATE);
    }
    let object = machine.open::<Object>(&folder, "features.syclbin");
    // All kernels are for a device that has everything.
    let whole = Machine::new();
    let all: KernelBundle<Object> = whole.open(&folder, "features.syclbin").expect("a bundle");
    assert!(all.has_kernel("uses_double"));
    check(&machine, object);
    check(
        &machine,
        machine.read::<Input>(in_state(&all, BundleState::Input)),
    );
    let executable = machine.read::<Executable>(in_state(&all, BundleState::Executable));
    let missing = executable
        .as_ref()
        .map(|bundle| bundle.kernel("uses_double", &machine.device));
    says(
        &missing.expect("a bundle").expect_err("it needs fp64"),
        &["no kernel `uses_double`"],
    );
    check(&machine, executable);
}

/// Addresses of functions cross files.
#[test]
fn functions_are_called_by_their_addresses() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let test = "features::functions_are_called_by_their_addresses";
    let Some(intel) = Machine::of_intel(test) else {
        return;
    };
    let folder = Folder::new();
    let source = offkit_tests::root().join("tests/sycl-runtime/pointers.cpp");
    let source = source.to_str().expect("a readable path");
    let options = ["-Xclang", "-fsycl-allow-func-ptr"];
    let line = [&[source, "app.syclbin", "object"][..], &options].concat();
    runtime.run(&folder, "compile", &line).ok();
    runtime.compile(&folder, "library.cpp", "library.syclbin");
    for machine in [intel, Machine::new()] {
        let objects = ["app.syclbin", "library.syclbin"]
            .map(|file| -> KernelBundle<Object> { machine.open(&folder, file).expect("a bundle") });
        let linked = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
        let mut kernel = linked.kernel("app_kernel", &machine.device).expect("the kernel");
        let queue = machine.queue();
        let numbers = Buffer::from_slice(&machine.context, &[1, 2, 3, 4, 5, 6, 7, 8]).expect("a buffer");
        let launch = kernel.launch(&queue, &NdRange::new([1]), &[(&numbers).into()], &[]);
        launch.expect("a launch").wait().expect("it runs");
        let numbers = numbers.read(&queue, &[]).expect("numbers");
        assert_eq!(numbers, [7, 102, 21, 104, 35, 106, 49, 108]);
    }
}

#[test]
fn what_was_compiled_before_it_was_linked_is_kept_as_well() {
    let Some(intel) = intel() else { return };
    need!("clang-22", "llc");
    let test = "features::what_was_compiled_before_it_was_linked_is_kept_as_well";
    let home = Folder::new();
    let variables = [("OCL_ICD_VENDORS", intel), ("XDG_CACHE_HOME", home.path("."))];
    if !is_inside(test, &variables) {
        return;
    }
    let home = PathBuf::from(env::var_os("XDG_CACHE_HOME").expect("the folder"));
    let machine = Machine::of_plugin(library("offkit_plugin_opencl"));
    let folder = prepared("input");
    let input = ["app.syclbin", "library.syclbin"]
        .map(|file| machine.open::<Input>(&folder, file).expect("an input"));
    let compiled = || {
        input
            .each_ref()
            .map(|input| input.compile().expect("it compiles"))
    };
    for _ in 0..2 {
        let [app, library] = compiled();
        let linked = KernelBundle::link(&[&app, &library], None).expect("it links");
        assert_eq!(machine.run_app(&linked), EXPECTED);
        assert_eq!(kept(&home, Kind::Program).len(), 1);
    }
    // Building it all at once comes to the same.
    let whole = KernelBundle::join(&[&input[0], &input[1]]).expect("one bundle");
    assert_eq!(machine.run_app(&whole.build().expect("it builds")), EXPECTED);
    assert_eq!(kept(&home, Kind::Program).len(), 1);
}

#[test]
fn a_driver_builds_for_a_part_of_its_device() {
    need!("clang-22", "llc");
    let test = "features::a_driver_builds_for_a_part_of_its_device";
    let Some(whole) = Machine::of_intel(test) else {
        return;
    };
    let parts = whole.device.partition(&Partition::ByCounts(vec![1]));
    let device = parts.expect("a part").remove(0);
    // In a context of its own, and in that of the whole, where OpenCL has no queues for it.
    let own = Machine::of(device.clone());
    let context = whole.context;
    for (runs, machine) in [(true, own), (false, Machine { device, context })] {
        let folder = prepared("object");
        let objects = ["app.syclbin", "library.syclbin"]
            .map(|file| machine.open::<Object>(&folder, file).expect("an object"));
        let linked = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
        assert!(linked.has_kernel_for("app_kernel", &machine.device));
        assert!(!linked.has_kernel_for("app_kernel", &whole.device));
        match runs {
            true => assert_eq!(machine.run_app(&linked), EXPECTED),
            false => drop(linked.kernel("app_kernel", &machine.device).expect("it is built")),
        }
    }
}

#[test]
fn a_kernel_follows_addresses_in_memory() {
    let Some(runtime) = SyclRuntime::get() else { return };
    let (folder, machine) = (Folder::new(), Machine::new());
    runtime.compile(&folder, "indirect.cpp", "indirect.syclbin");
    let object: KernelBundle<Object> = machine.open(&folder, "indirect.syclbin").expect("an object");
    let linked = KernelBundle::link(&[&object], None).expect("it links");
    let queue = machine.queue();
    let node = |next: u64, value: u64| {
        let node = Usm::<u64>::new(&machine.context, UsmKind::Device, &machine.device, 2).expect("memory");
        node.write(&queue, 0, &[next, value], &[]).expect("it is written");
        node
    };
    let address = |node: &Usm<u64>| node.pi().expect("memory").address() as u64;
    let last = node(0, 30);
    let middle = node(address(&last), 20);
    let first = node(address(&middle), 10);
    let mut kernel = linked.kernel("app_kernel", &machine.device).expect("the kernel");
    kernel.set_indirect_access(true).expect("the device can");
    assert_eq!(
        machine.run_with(kernel, &[(&first).into()]),
        [61, 62, 63, 64, 65, 66, 67, 68]
    );
}

#[test]
fn constants_of_one_name_and_number_do_not_collide() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    let mut library = with_factor("int f(int x) { return x * __spirv_SpecConstant(7, 3); }", 3);
    library.exports = vec!["f".to_owned()];
    let app = "int f(int x); kernel void app_kernel(global int *a) {
        size_t i = get_global_id(0); a[i] = 100 * f(a[i]) + __spirv_SpecConstant(7, 5); }";
    let mut app = with_factor(app, 5);
    app.imports = vec!["f".to_owned()];
    let open = |image| -> KernelBundle<Input> {
        machine
            .read(syclbin([image], BundleState::Input))
            .expect("a bundle")
    };
    let (app, mut library) = (open(app), open(library));
    let first = |executable: &KernelBundle<Executable>| machine.run_app(executable)[0];
    let joined = |library: &KernelBundle<Input>| KernelBundle::join(&[&app, library]).expect("one bundle");
    let built = joined(&library).build().expect("it builds");
    assert_eq!(first(&built), 305, "each has its default");
    library
        .set_specialization_constant("factor", &7_i32.to_le_bytes())
        .expect("it is there");
    let objects = [&app, &library].map(|bundle| bundle.compile().expect("it compiles"));
    let linked = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
    assert_eq!(first(&linked), 705, "each has its value");
    assert_eq!(first(&joined(&library).build().expect("it builds")), 705);
    // What was linked is one image in a file, with both.
    let again: KernelBundle<Executable> = machine
        .read(linked.content().expect("a file"))
        .expect("an executable");
    assert_eq!(first(&again), 705);
    let mut both = joined(&library);
    both.set_specialization_constant("factor", &2_i32.to_le_bytes())
        .expect("it is there");
    assert_eq!(first(&both.build().expect("it builds")), 202, "all of that name");
}

#[test]
fn devices_without_compiler_or_linker_and_what_they_refuse_are_errors() {
    need!("clang-22", "llc");
    let test = "features::devices_without_compiler_or_linker_and_what_they_refuse_are_errors";
    let faults = "fail piProgramBuild PI_BUILD_PROGRAM_FAILURE \"no way\"\n\
                  fail piProgramCompile PI_COMPILE_PROGRAM_FAILURE \"no way\"";
    let script = format!(
        "platform Mock\ndevice gpu Able\ndevice gpu Unable\ninfo COMPILER_AVAILABLE 0\ninfo LINKER_AVAILABLE 0\n{faults}"
    );
    let Some(able) = Machine::of_mock(test, &script) else {
        return;
    };
    let both = able.device.platform().devices(u64::MAX).expect("devices");
    let unable = Machine::of(both[1].clone());
    let file = |state| syclbin([image(APP)], state);
    let input = unable.read::<Input>(file(BundleState::Input));
    says(
        &input.expect_err("it compiles nothing"),
        &["`Unable` has no online compiler, which input kernel bundles need"],
    );
    let object = unable.read::<Object>(file(BundleState::Object));
    says(
        &object.expect_err("it links nothing"),
        &["`Unable` has no online linker, which object kernel bundles need"],
    );
    assert!(unable.read::<Executable>(file(BundleState::Executable)).is_ok());
    let whole = || {
        syclbin(
            [image("kernel void k(global int *a) { a[0] = 1; }")],
            BundleState::Input,
        )
    };
    let input: KernelBundle<Input> = able.read(whole()).expect("a bundle");
    for refused in [input.compile().map(drop), input.build().map(drop)] {
        let refused = refused.expect_err("the script says so");
        assert!(matches!(refused, BundleError::Build(_)));
        says(&refused, &["memory!0/ir/0", "no way"]);
    }
}

#[test]
fn images_of_a_program_are_linked_with_those_of_files() {
    need!("clang-22", "llc");
    for state in ["input", "object"] {
        let (folder, machine) = (prepared(state), Machine::new());
        let registry = offkit_runtime::ImageRegistry::new();
        registry
            .open(folder.path("app.syclbin"), &offkit_object::Limits::default())
            .expect("a file");
        let inline = |file: &KernelBundle<Object>| {
            let own = KernelBundle::<Object>::registered(&machine.context, machine.devices(), &registry);
            KernelBundle::link(&[&own.expect("a bundle"), file], None).expect("it links")
        };
        let linked = match state {
            "object" => inline(&machine.open(&folder, "library.syclbin").expect("an object")),
            _ => {
                let library: KernelBundle<Input> =
                    machine.open(&folder, "library.syclbin").expect("an input");
                inline(&library.compile().expect("it compiles"))
            }
        };
        assert_eq!(machine.run_app(&linked), EXPECTED);
    }
}

#[test]
fn files_are_linked_into_one_before() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    for (first, second) in [("input", "input"), ("object", "object"), ("input", "object")] {
        let folder = Folder::new();
        folder.syclbin("app", APP, &format!("--state {first}"));
        folder.syclbin("library", LIBRARY, &format!("--state {second}"));
        folder
            .offkit("link app.syclbin library.syclbin -o whole.syclbin --state executable")
            .ok();
        let whole: KernelBundle<Executable> = machine.open(&folder, "whole.syclbin").expect("an executable");
        assert_eq!(machine.run_app(&whole), EXPECTED);
    }
}

/// A class's virtual function is in another image than the kernel that calls it, together with the class's table.
#[test]
fn virtual_functions_of_other_images_are_called() {
    need!("clang-22");
    const SHAPES: &str = "
        #pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
        struct Shape { int side; Shape(int side) : side(side) {} virtual int area() const; };
        struct Square : Shape { Square(int side) : Shape(side) {} int area() const override; };
        ";
    let folder = Folder::new();
    let compiled = |name: &str, source: &str, key: &str| {
        folder.write(&format!("{name}.clcpp"), [SHAPES, source].concat());
        let line = format!(
            "--target=spirv64 -x cl -cl-std=clc++2021 -O1 -Xclang -fno-rtti -c {name}.clcpp -o {name}.spv \
             -mllvm --spirv-ext=+SPV_INTEL_function_pointers"
        );
        folder.run("clang-22", line.split_whitespace()).ok();
        let mut image = DeviceImage::new(folder.read(&format!("{name}.spv")));
        image.target = Target::new("spirv64-unknown-unknown", "");
        let set = ByteArray::new("squares");
        image.properties.insert("SYCL/virtual functions", key, set);
        image
    };
    let app = "int Shape::area() const { return 100; }
        kernel void app_kernel(global int *out) {
            int i = get_global_id(0);
            Square square(out[i]);
            Shape shape(7);
            const Shape *chosen = i % 2 ? &square : &shape;
            out[i] = chosen->area();
        }";
    let mut app = compiled("app", app, "uses-virtual-functions-set");
    app.kernels.push("app_kernel".to_owned());
    let library = "int Square::area() const { return side * side; }";
    let (machine, registry) = (Machine::new(), ImageRegistry::new());
    registry.add(app);
    registry.add(compiled("squares", library, "virtual-functions-set"));
    let found = registry.find_kernel("app_kernel", |_| true).expect("it is there");
    let chosen = registry
        .select(&found, &machine.device)
        .expect("the device takes it");
    let collection = registry.collect(&chosen).expect("all that it needs");
    assert_eq!(collection.images.len(), 2);
    let kernel = registry
        .build(&collection, &machine.context, &machine.device)
        .expect("it is linked");
    assert_eq!(machine.run(kernel), [100, 4, 100, 16, 100, 36, 100, 64]);
}
