//! Kernel bundles: device code brought from state to state, run, and exchanged with the real SYCL runtime.

use std::sync::Arc;

use offkit_object::{
    BundleState, ByteArray, DeviceImage, Limits, OutputFormat, SyclBin, SyclBinVersion, Target, pack,
};
use offkit_pi::NdRange;
use offkit_pi::host::{Context, Device, QueueProperties};
use offkit_runtime::{
    Buffer, BundleError, Executable, ImageRegistry, Input, Kernel, KernelBundle, Object, Runtime, State,
};
use offkit_tests::sycl_runtime::SyclRuntime;
use offkit_tests::{Folder, need, tool};

const APP: &str = "int _Z16library_functioni(int x);
    kernel void __sycl_kernel_app_kernel(global int *numbers) {
      size_t i = get_global_id(0);
      numbers[i] = _Z16library_functioni(numbers[i]) + 1;
    }";
const LIBRARY: &str = "int _Z16library_functioni(int x) { return x * 7; }";
const EXPECTED: [i32; 8] = [8, 15, 22, 29, 36, 43, 50, 57];

/// The CPU device, in a context of its own.
struct Machine {
    device: Device,
    context: Context,
}

impl Machine {
    fn new() -> Self {
        let mut runtime = Runtime::with_plugins(&[&offkit_plugin_cpu::plugin::BUILT_IN], &[]);
        let device = runtime.device(None).expect("the CPU device");
        let context = Context::new(&[&device]).expect("a context");
        Self { device, context }
    }

    fn devices(&self) -> &[Device] {
        std::slice::from_ref(&self.device)
    }

    fn open<S: State>(&self, folder: &Folder, file: &str) -> Result<KernelBundle<S>, BundleError> {
        KernelBundle::open(
            &self.context,
            self.devices(),
            folder.path(file),
            &Limits::default(),
        )
    }

    fn read<S: State>(&self, bytes: Vec<u8>) -> Result<KernelBundle<S>, BundleError> {
        KernelBundle::from_bytes(
            &self.context,
            self.devices(),
            "memory",
            Arc::new(bytes),
            &Limits::default(),
        )
    }

    /// What a kernel makes of 1 to 8.
    fn run(&self, mut kernel: Kernel) -> Vec<i32> {
        let queue = self
            .context
            .queue(&self.device, QueueProperties::default())
            .expect("a queue");
        let numbers: Vec<i32> = (1..9).collect();
        let numbers = Buffer::from_slice(&self.context, &numbers).expect("a buffer");
        let launch = kernel
            .launch(&queue, &NdRange::new([8]), &[(&numbers).into()], &[])
            .expect("a launch");
        kernel.wait(&launch).expect("it runs");
        numbers.read(&queue, &[]).expect("numbers")
    }

    fn run_app(&self, bundle: &KernelBundle<Executable>) -> Vec<i32> {
        self.run(bundle.kernel("app_kernel", &self.device).expect("the kernel"))
    }
}

/// A folder with `app.syclbin` and `library.syclbin` in a state.
fn prepared(state: &str) -> Folder {
    let folder = Folder::new();
    let options = format!("--state {state}");
    folder.syclbin("app", APP, &options);
    folder.syclbin("library", LIBRARY, &options);
    folder
}

#[track_caller]
fn says(error: &BundleError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

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
fn specialization_constants_are_set_read_and_kept_in_files() {
    need!("clang-22", "llc");
    let (folder, machine) = (Folder::new(), Machine::new());
    folder.write(
        "k.cl",
        "int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
         kernel void scale(global int *a) { a[get_global_id(0)] *= __spirv_SpecConstant(7, 3); }",
    );
    let clang = tool("clang-22").expect("asked for before");
    let line = "--target=spirv64 -cl-std=CL3.0 -O1 -c k.cl -o k.spv";
    folder.run(clang, line.split_whitespace()).ok();
    // What the SYCL toolchain writes for a constant `factor`: its number in SPIR-V, its offset, its size; and 5.
    let mut image = DeviceImage::new(folder.read("k.spv"));
    image.target = Target::new("spirv64-unknown-unknown", "");
    let words = [7_u32, 0, 4].map(u32::to_le_bytes).concat();
    let properties = &mut image.properties;
    properties.insert("SYCL/specialization constants", "factor", ByteArray::new(words));
    let default = ByteArray::new(5_i32.to_le_bytes());
    properties.insert("SYCL/specialization constants default values", "all", default);
    let format = OutputFormat::SyclBin(SyclBinVersion::V1Enveloped);
    let file = pack([image], format, BundleState::Input).expect("a file");

    let mut bundle: KernelBundle<Input> = machine.read(file.content.into_bytes()).expect("a bundle");
    let scaled = |bundle: &KernelBundle<Input>| {
        let built = bundle.build().expect("it builds");
        machine.run(built.kernel("scale", &machine.device).expect("the kernel"))[7]
    };
    assert_eq!(bundle.specialization_constants(), ["factor"]);
    assert_eq!(bundle.specialization_constant("factor"), Some(vec![5, 0, 0, 0]));
    assert_eq!(scaled(&bundle), 40);
    let before = bundle.clone();
    bundle
        .set_specialization_constant("factor", &11_i32.to_le_bytes())
        .expect("it is there");
    assert_eq!(bundle.specialization_constant("factor"), Some(vec![11, 0, 0, 0]));
    assert_eq!((scaled(&bundle), scaled(&before)), (88, 40));
    let again: KernelBundle<Input> = machine.read(bundle.content().expect("a file")).expect("a bundle");
    assert_eq!(scaled(&again), 88);

    let unknown = bundle.set_specialization_constant("size", &[0; 4]);
    says(&unknown.expect_err("there is none"), &["`size`", "`factor`"]);
    let short = bundle.set_specialization_constant("factor", &[0; 2]);
    says(&short.expect_err("too short"), &["has 4 bytes, 2 given"]);
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

    folder.write(
        "k.cl",
        "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }",
    );
    let clang = tool("clang-22").expect("asked for before");
    let line = "--target=spirv64 -cl-std=CL3.0 -O1 -c k.cl -o k.spv";
    folder.run(clang, line.split_whitespace()).ok();
    let open = |bytes: Vec<u8>| KernelBundle::from_spirv(&machine.context, machine.devices(), "k.spv", bytes);
    let built = open(folder.read("k.spv"))
        .expect("SPIR-V")
        .build()
        .expect("it builds");
    let twice = built.kernel("twice", &machine.device).expect("the kernel");
    assert_eq!(machine.run(twice), [2, 4, 6, 8, 10, 12, 14, 16]);
    assert!(matches!(
        open(b"no module".to_vec()),
        Err(BundleError::NotSpirv { .. })
    ));
}

#[test]
fn bundles_travel_between_offkit_and_the_sycl_runtime() {
    need!("clang-22", "llc");
    let Some(runtime) = SyclRuntime::get() else { return };
    let (folder, machine) = (Folder::new(), Machine::new());
    // What the real one writes: objects.
    runtime.compile(&folder, "kernel.cpp", "app.syclbin");
    runtime.compile(&folder, "library.cpp", "library.syclbin");
    let objects = ["app.syclbin", "library.syclbin"].map(|file| -> KernelBundle<Object> {
        machine.open(&folder, file).expect("a bundle of the real one")
    });
    let executable = KernelBundle::link(&[&objects[0], &objects[1]], None).expect("it links");
    assert_eq!(machine.run_app(&executable), EXPECTED);

    // What offkit writes, in all three states.
    let accepts = |words: &[&str]| assert_eq!(runtime.link_and_run(&folder, words), EXPECTED, "{words:?}");
    folder.write("app-2", objects[0].content().expect("a file"));
    folder.write("library-2", objects[1].content().expect("a file"));
    accepts(&["app-2", "library-2"]);
    folder.write("executable", executable.content().expect("a file"));
    accepts(&["--executable", "executable"]);
    let whole = "kernel void __sycl_kernel_app_kernel(global int *a) { a[get_global_id(0)] = a[get_global_id(0)] * 7 + 1; }";
    folder.syclbin("whole", whole, "--state input");
    let input: KernelBundle<Input> = machine.open(&folder, "whole.syclbin").expect("a bundle");
    folder.write("input", input.content().expect("a file"));
    accepts(&["--input", "input"]);
}
