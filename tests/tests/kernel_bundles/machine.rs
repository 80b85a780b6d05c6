//! What the tests of kernel bundles have in common: sources, a device, and kernels run on it.

use std::path::Path;
use std::sync::Arc;

use offkit_image::DeviceImage;
use offkit_object::{BundleState, ByteArray, Limits, OutputFormat, SyclBinVersion, Target, pack};
use offkit_pi::ffi::PI_DEVICE_TYPE_ALL;
use offkit_pi::host::{Argument, Context, Device, NdRange, Plugin, Queue, QueueProperties};
use offkit_runtime::{Buffer, BundleError, Executable, Kernel, KernelBundle, Runtime, State};
use offkit_tests::drivers::{intel, is_inside, is_on};
use offkit_tests::{Folder, library, mock, spirv};

pub(crate) const APP: &str = "int _Z16library_functioni(int x);
    kernel void __sycl_kernel_app_kernel(global int *numbers) {
      size_t i = get_global_id(0);
      numbers[i] = _Z16library_functioni(numbers[i]) + 1;
    }";
pub(crate) const LIBRARY: &str = "int _Z16library_functioni(int x) { return x * 7; }";
pub(crate) const EXPECTED: [i32; 8] = [8, 15, 22, 29, 36, 43, 50, 57];

/// The target of machine code for CPUs.
pub(crate) const NATIVE: &str = "spir64_x86_64-unknown-unknown";

/// A device, in a context of its own.
pub(crate) struct Machine {
    pub(crate) device: Device,
    pub(crate) context: Context,
}

impl Machine {
    /// The CPU device.
    pub(crate) fn new() -> Self {
        let mut runtime = Runtime::with_plugins(&[&offkit_plugin_cpu::plugin::BUILT_IN], &[]);
        Self::of(runtime.device(None).expect("the CPU device"))
    }

    pub(crate) fn of(device: Device) -> Self {
        let context = Context::new(&[&device]).expect("a context");
        Self { device, context }
    }

    /// The first device of a plugin's library.
    pub(crate) fn of_plugin(library: impl AsRef<Path>) -> Self {
        let plugin = Plugin::load(library).expect("the plugin");
        let platform = plugin.platforms().expect("platforms").remove(0);
        let mut devices = platform.devices(PI_DEVICE_TYPE_ALL).expect("devices");
        Self::of(devices.remove(0))
    }

    /// The device of Intel's OpenCL driver for CPUs: in a process of its own, that runs this test alone.
    pub(crate) fn of_intel(test: &str) -> Option<Self> {
        is_on(intel(), test).then(|| Self::of_plugin(library("offkit_plugin_opencl")))
    }

    /// The first device of the mock, which does what a script says: in a process of its own, that runs this test alone.
    pub(crate) fn of_mock(test: &str, script: &str) -> Option<Self> {
        let folder = Folder::new();
        let file = folder.write("script", script);
        is_inside(test, &[("OFFKIT_MOCK", &file)]).then(|| Self::of_plugin(mock()))
    }

    pub(crate) fn devices(&self) -> &[Device] {
        std::slice::from_ref(&self.device)
    }

    pub(crate) fn open<S: State>(&self, folder: &Folder, file: &str) -> Result<KernelBundle<S>, BundleError> {
        KernelBundle::open(
            &self.context,
            self.devices(),
            folder.path(file),
            &Limits::default(),
        )
    }

    pub(crate) fn read<S: State>(&self, bytes: Vec<u8>) -> Result<KernelBundle<S>, BundleError> {
        KernelBundle::from_bytes(
            &self.context,
            self.devices(),
            "memory",
            Arc::new(bytes),
            &Limits::default(),
        )
    }

    pub(crate) fn queue(&self) -> Queue {
        let queue = self.context.queue(&self.device, QueueProperties::default());
        queue.expect("a queue")
    }

    /// What a kernel makes of 1 to 8.
    pub(crate) fn run(&self, kernel: Kernel) -> Vec<i32> {
        self.run_with(kernel, &[])
    }

    /// The same of a kernel with more arguments.
    pub(crate) fn run_with(&self, mut kernel: Kernel, others: &[Argument]) -> Vec<i32> {
        let queue = self.queue();
        let numbers: Vec<i32> = (1..9).collect();
        let numbers = Buffer::from_slice(&self.context, &numbers).expect("a buffer");
        let arguments: Vec<Argument> = std::iter::once((&numbers).into())
            .chain(others.iter().cloned())
            .collect();
        let launch = kernel
            .launch(&queue, &NdRange::new([8]), &arguments, &[])
            .expect("a launch");
        kernel.wait(&launch).expect("it runs");
        numbers.read(&queue, &[]).expect("numbers")
    }

    pub(crate) fn run_app(&self, bundle: &KernelBundle<Executable>) -> Vec<i32> {
        self.run(bundle.kernel("app_kernel", &self.device).expect("the kernel"))
    }
}

/// A folder with `app.syclbin` and `library.syclbin` in a state.
pub(crate) fn prepared(state: &str) -> Folder {
    let folder = Folder::new();
    let options = format!("--state {state}");
    folder.syclbin("app", APP, &options);
    folder.syclbin("library", LIBRARY, &options);
    folder
}

/// OpenCL C, compiled to an image of SPIR-V.
pub(crate) fn image(source: &str) -> DeviceImage<'static> {
    let mut image = DeviceImage::new(spirv(source));
    image.target = Target::new("spirv64-unknown-unknown", "");
    image
}

/// Images as a SYCLBIN.
pub(crate) fn syclbin(images: impl IntoIterator<Item = DeviceImage<'static>>, state: BundleState) -> Vec<u8> {
    let format = OutputFormat::SyclBin(SyclBinVersion::V1Enveloped);
    let file = pack(images, format, state).expect("a file");
    file.content.into_bytes()
}

#[track_caller]
pub(crate) fn says(error: &BundleError, parts: &[&str]) {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

/// An image with the specialization constant `factor`, number 7 in the module, and its default.
pub(crate) fn with_factor(source: &str, default: i32) -> DeviceImage<'static> {
    let declared = "int __attribute__((overloadable)) __spirv_SpecConstant(int, int);";
    let mut image = image(&format!("{declared}\n{source}"));
    let words = [7_u32, 0, 4].map(u32::to_le_bytes).concat();
    let properties = &mut image.properties;
    properties.insert("SYCL/specialization constants", "factor", ByteArray::new(words));
    let default = ByteArray::new(default.to_le_bytes());
    properties.insert("SYCL/specialization constants default values", "all", default);
    image
}

/// One module in two forms: SPIR-V, and the machine code that the device's driver makes of it.
pub(crate) fn two_forms(machine: &Machine) -> [DeviceImage<'static>; 2] {
    let mut compiled = image(&format!("{LIBRARY}\n{APP}"));
    // Forms of one module have their kernels in common.
    compiled.kernels = vec!["__sycl_kernel_app_kernel".to_owned()];
    let bytes = compiled.bytes().expect("bytes");
    let program = machine.context.program_with_il(bytes).expect("a program");
    program.build("").expect("it builds");
    let mut made = DeviceImage::new(program.binaries().expect("machine code").remove(0));
    made.target = Target::new(NATIVE, "");
    made.kernels.clone_from(&compiled.kernels);
    for form in [&mut compiled, &mut made] {
        form.form_of = Some(0);
    }
    [compiled, made]
}
