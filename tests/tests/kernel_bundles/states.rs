//! From state to state, from and to files, and what is refused.

use offkit_object::{BundleState, DeviceImage, Limits, SyclBin, SyclBinVersion};
use offkit_pi::host::Context;
use offkit_runtime::{
    BundleError, Executable, ExporterRule, ImageRegistry, Input, KernelBundle, LinkProperties, Object,
};
use offkit_tests::{need, spirv};

use crate::machine::{EXPECTED, Machine, image, prepared, says, syclbin};

#[test]
fn bundles_go_from_input_to_object_to_executable() {
    need!("clang-22", "llc");
    let (folder, machine) = (prepared("input"), Machine::new());
    let app: KernelBundle<Input> = machine.open(&folder, "app.syclbin").expect("an input bundle");
    let library: KernelBundle<Input> = machine.open(&folder, "library.syclbin").expect("another");
    assert!(app.has_kernel("app_kernel") && app.has_kernel_for("__sycl_kernel_app_kernel", &machine.device));
    assert!(!library.has_kernel("app_kernel"));
    assert!(app.kernel_names().into_iter().eq(["__sycl_kernel_app_kernel"]));

    // All at once, and step by step.
    let built = KernelBundle::join(&[&app, &library]).expect("one bundle").build();
    assert_eq!(machine.run_app(&built.expect("an executable")), EXPECTED);
    let objects = [&app, &library].map(|bundle| bundle.compile().expect("it compiles"));
    let linked = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
    assert_eq!(machine.run_app(&linked), EXPECTED);
    let linked = KernelBundle::link(&[&objects[1], &objects[0]], Some(machine.devices()));
    assert_eq!(
        machine.run_app(&linked.expect("the order does not matter")),
        EXPECTED
    );

    let missing = KernelBundle::link(&[&objects[0]], None).expect_err("the library is missing");
    says(
        &missing,
        &[
            "No exported symbol \"_Z16library_functioni\" found in linked images",
            "app.syclbin!0/ir/0",
            "library_function(int)",
        ],
    );
    let nothing = linked_kernel_error(&objects[1], &machine);
    says(&nothing, &["no kernel `app_kernel`"]);
}

fn linked_kernel_error(objects: &KernelBundle<Object>, machine: &Machine) -> BundleError {
    let linked = KernelBundle::link(&[objects], None).expect("a library links");
    linked
        .kernel("app_kernel", &machine.device)
        .expect_err("it is not there")
}

#[test]
fn a_symbol_that_two_bundles_define_is_an_error_unless_they_are_the_same() {
    need!("clang-22", "llc");
    let (folder, machine) = (prepared("object"), Machine::new());
    folder.syclbin(
        "other",
        "int _Z16library_functioni(int x) { return x; }",
        "--state object",
    );
    let [app, library, again, other] =
        ["app", "library", "library", "other"].map(|name| -> KernelBundle<Object> {
            machine
                .open(&folder, &format!("{name}.syclbin"))
                .expect("an object bundle")
        });
    let linked = KernelBundle::link(&[&app, &library, &again], None).expect("the same twice is one");
    assert_eq!(machine.run_app(&linked), EXPECTED);
    let error = KernelBundle::link(&[&app, &library, &other], None).expect_err("which one?");
    says(
        &error,
        &["is exported by", "library.syclbin!0/ir/0", "other.syclbin!0/ir/0"],
    );
}

/// An image with the names that a container would tell.
fn linked_by(source: &str, imports: &[&str], exports: &[&str]) -> DeviceImage<'static> {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let mut image = image(source);
    (image.imports, image.exports) = (owned(imports), owned(exports));
    image
}

fn linked_with(
    bundles: &[&KernelBundle<Object>],
    exporter: ExporterRule,
) -> Result<KernelBundle<Executable>, BundleError> {
    let properties = LinkProperties {
        exporter,
        ..LinkProperties::default()
    };
    KernelBundle::link_with(bundles, None, properties)
}

#[test]
fn a_rule_says_which_bundle_supplies_a_symbol() {
    need!("clang-22", "llc");
    let machine = Machine::new();
    let app = "int f(int x); int g(int x);
               kernel void app_kernel(global int *a) { size_t i = get_global_id(0); a[i] = f(a[i]) + g(a[i]); }";
    let object = |images: &[&DeviceImage<'static>]| -> KernelBundle<Object> {
        let file = syclbin(images.iter().copied().cloned(), BundleState::Object);
        machine.read(file).expect("an object")
    };
    let f = |factor: i32| linked_by(&format!("int f(int x) {{ return x * {factor}; }}"), &[], &["f"]);
    let g = linked_by(
        "int f(int x); int g(int x) { return f(x) * 100; }",
        &["f"],
        &["g"],
    );
    let app = object(&[&linked_by(app, &["f", "g"], &[]), &f(2)]);
    let library = object(&[&g, &f(3)]);
    let numbers = |bundles: [&KernelBundle<Object>; 2], rule| {
        let linked = linked_with(&bundles, rule).expect("it links");
        let ran = machine.run_app(&linked);
        // As a file, it is the same.
        let again: KernelBundle<Executable> = machine
            .read(linked.content().expect("a file"))
            .expect("the same state");
        assert_eq!(machine.run_app(&again), ran);
        ran[0]
    };
    for (bundles, first) in [([&app, &library], 2), ([&library, &app], 3)] {
        says(
            &linked_with(&bundles, ExporterRule::Unique).expect_err("which one?"),
            &["`f` is exported by"],
        );
        assert_eq!(numbers(bundles, ExporterRule::First), first + 100 * first);
        // Each its own: two of one name in one program.
        assert_eq!(numbers(bundles, ExporterRule::OwnFirst), 2 + 100 * 3);
    }
    // What was compiled already has the old names.
    let compiled = |images: &[&DeviceImage<'static>]| {
        let file = syclbin(images.iter().copied().cloned(), BundleState::Input);
        let input: KernelBundle<Input> = machine.read(file).expect("an input");
        input.compile().expect("it compiles")
    };
    let library = compiled(&[&g, &f(3)]);
    assert_eq!(numbers([&app, &library], ExporterRule::OwnFirst), 302);

    // Both of a name are needed for others: that is an error, too.
    let h = |own: &str| {
        linked_by(
            &format!("int h(int x) {{ return x; }} int {own}(int x) {{ return h(x) + 1; }}"),
            &[],
            &["h", own],
        )
    };
    let user = linked_by(
        "int f(int x); int g(int x); kernel void app_kernel(global int *a) { *a = f(1) + g(2); }",
        &["f", "g"],
        &[],
    );
    let bundles = [&object(&[&user]), &object(&[&h("f")]), &object(&[&h("g")])];
    says(
        &linked_with(&bundles, ExporterRule::Unique).expect_err("they clash"),
        &["`h` is exported by"],
    );
    let linked = linked_with(&bundles, ExporterRule::First).expect("it links");
    assert_eq!(machine.run_app(&linked)[0], 5);
}

#[test]
fn executables_of_registered_images_go_by_the_rule_of_the_registry() {
    need!("clang-22", "llc");
    let (folder, machine) = (prepared("object"), Machine::new());
    folder.syclbin(
        "other",
        "int _Z16library_functioni(int x) { return x; }",
        "--state object",
    );
    let registry = ImageRegistry::new();
    for file in ["other.syclbin", "app.syclbin", "library.syclbin"] {
        registry
            .open(folder.path(file), &Limits::default())
            .expect("a file");
    }
    let bundle = || KernelBundle::<Executable>::registered(&machine.context, machine.devices(), &registry);
    says(
        &bundle().expect_err("which one?"),
        &["is exported by", "library.syclbin!0/ir/0", "other.syclbin!0/ir/0"],
    );
    registry.set_exporter_rule(ExporterRule::First);
    assert_eq!(
        machine.run_app(&bundle().expect("a bundle")),
        [2, 3, 4, 5, 6, 7, 8, 9]
    );
}

#[test]
fn wrong_files_states_devices_and_contexts_are_refused() {
    need!("clang-22", "llc");
    let (folder, machine) = (prepared("object"), Machine::new());
    let state = machine
        .open::<Input>(&folder, "app.syclbin")
        .expect_err("it is an object");
    says(
        &state,
        &[
            "kernel_bundle state does not match the state of the SYCLBIN file",
            "app.syclbin",
            "is object, not input",
        ],
    );
    assert!(matches!(
        machine.open::<Executable>(&folder, "app.syclbin"),
        Err(BundleError::State { .. })
    ));
    folder.write("text", "no program");
    says(
        &machine.open::<Object>(&folder, "text").expect_err("text"),
        &["text` is not a SYCLBIN"],
    );
    // Device code, but no SYCLBIN.
    assert!(matches!(
        machine.open::<Object>(&folder, "app.bc"),
        Err(BundleError::NotSyclBin { .. })
    ));
    let cut = folder.read("app.syclbin");
    assert!(matches!(
        machine.read::<Object>(cut[..cut.len() / 2].to_vec()),
        Err(BundleError::NotSyclBin { source: Some(_), .. })
    ));
    assert!(matches!(
        machine.open::<Object>(&folder, "absent"),
        Err(BundleError::Read { .. })
    ));
    let limits = Limits::default();
    let none = KernelBundle::<Object>::open(&machine.context, &[], folder.path("app.syclbin"), &limits);
    assert!(matches!(none, Err(BundleError::NoDevice)));

    let other = Machine {
        device: machine.device.clone(),
        context: Context::new(&[&machine.device]).expect("another context"),
    };
    let app = machine.open::<Object>(&folder, "app.syclbin").expect("an object");
    let library = other.open::<Object>(&folder, "library.syclbin").expect("another");
    assert!(matches!(
        KernelBundle::link(&[&app, &library], None),
        Err(BundleError::OtherContext)
    ));
    assert!(matches!(
        KernelBundle::link(&[&app], Some(&[])),
        Err(BundleError::NoDevice)
    ));
    assert!(matches!(
        KernelBundle::<Object>::link(&[], None),
        Err(BundleError::NoBundle)
    ));
}

#[test]
fn a_bundle_of_each_state_is_written_and_read_again() {
    need!("clang-22", "llc");
    let (folder, machine) = (prepared("input"), Machine::new());
    let input: [KernelBundle<Input>; 2] =
        ["app.syclbin", "library.syclbin"].map(|file| machine.open(&folder, file).expect("an input bundle"));
    let input = KernelBundle::join(&[&input[0], &input[1]]).expect("one bundle");
    let object = input.compile().expect("it compiles");
    let executable = KernelBundle::link(&[&object], None).expect("it links");
    for version in [SyclBinVersion::V1Enveloped, SyclBinVersion::V2] {
        let written = input.content_of_version(version).expect("a file");
        let again: KernelBundle<Input> = machine.read(written).expect("the same state");
        assert_eq!(machine.run_app(&again.build().expect("it builds")), EXPECTED);
        let written = object.content_of_version(version).expect("a file");
        let again: KernelBundle<Object> = machine.read(written).expect("the same state");
        let linked = KernelBundle::link(&[&again], None).expect("it links");
        assert_eq!(machine.run_app(&linked), EXPECTED);
        let written = executable.content_of_version(version).expect("a file");
        let parsed = SyclBin::parse(&written, &Limits::default()).expect("a SYCLBIN");
        assert_eq!(parsed.state, BundleState::Executable);
        let again: KernelBundle<Executable> = machine.read(written).expect("the same state");
        // What was linked is one image, which needs nothing.
        assert_eq!(again.images().count(), 1);
        assert!(again.images().all(|image| image.imports.is_empty()));
        assert_eq!(machine.run_app(&again), EXPECTED);
    }
}

#[test]
fn registered_images_and_spirv_become_bundles_too() {
    need!("clang-22", "llc");
    let (folder, machine) = (prepared("object"), Machine::new());
    let registry = ImageRegistry::new();
    for file in ["app.syclbin", "library.syclbin"] {
        registry
            .open(folder.path(file), &Limits::default())
            .expect("a file");
    }
    let bundle = KernelBundle::<Executable>::registered(&machine.context, machine.devices(), &registry);
    assert_eq!(machine.run_app(&bundle.expect("a bundle")), EXPECTED);
    let bundle = KernelBundle::<Input>::registered(&machine.context, machine.devices(), &registry);
    let built = bundle.expect("a bundle").build().expect("it builds");
    assert_eq!(machine.run_app(&built), EXPECTED);

    let twice = spirv("kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }");
    let open = |bytes: Vec<u8>| KernelBundle::from_spirv(&machine.context, machine.devices(), "k.spv", bytes);
    let built = open(twice).expect("SPIR-V").build().expect("it builds");
    let twice = built.kernel("twice", &machine.device).expect("the kernel");
    assert_eq!(machine.run(twice), [2, 4, 6, 8, 10, 12, 14, 16]);
    assert!(matches!(
        open(b"no module".to_vec()),
        Err(BundleError::NotSpirv { .. })
    ));
}
