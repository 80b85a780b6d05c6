//! What a kernel's images are collected and linked for a device that says what it takes: machine code, abilities, virtual
//! functions (`plugins/mock`).

use std::error::Error;
use std::sync::Arc;

use offkit_image::{ByteArray, DeviceImage, Target};
use offkit_object::{BundleState, Limits, Location, OutputFormat, SyclBinVersion, pack};
use offkit_pi::NdRange;
use offkit_pi::host::{Context, Device, QueueProperties};
use offkit_runtime::{
    Buffer, BuildError, CollectError, CollectOptions, Collection, Executable, ExporterRule, ImageId,
    ImageRegistry, KernelBundle, Runtime,
};
use offkit_tests::{need, spirv};
use pi_mock::{BUILT_IN, play};

const SPIRV: &[u8] = b"\x03\x02\x23\x07";
const ELF: &[u8] = b"\x7fELF\x02\x01\x01";

/// An image with `kernels / imports / exports` for a target; the name makes its bytes differ from others'.
fn image(magic: &[u8], target: &str, name: &str, symbols: [&str; 3]) -> DeviceImage<'static> {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut image = DeviceImage::new([magic, name.as_bytes()].concat());
    image.location = Location::of_file(name);
    image.target = Target::new(target, "");
    [image.kernels, image.imports, image.exports] = symbols.map(words);
    image
}

/// The same with numbers of what it demands of a device.
fn demanding(mut image: DeviceImage<'static>, aspects: &[u32]) -> DeviceImage<'static> {
    let words: Vec<u8> = aspects.iter().copied().flat_map(u32::to_le_bytes).collect();
    let sets = &mut image.properties;
    sets.insert("SYCL/device requirements", "aspects", ByteArray::new(words));
    image
}

/// Lets the first device choose an image of the kernel `fill`, and collects what that needs.
fn collect(registry: &ImageRegistry) -> Result<(Device, Collection), Box<dyn Error>> {
    let found = registry.find_kernel("fill", |_| true)?;
    let mut runtime = Runtime::with_plugins(&[&BUILT_IN], &[]);
    let (device, kernel) = runtime.choose(None, registry, &found)?;
    let options = CollectOptions {
        device: Some(&device),
        ..CollectOptions::default()
    };
    let collection = registry.collect_with(&kernel, &options)?;
    Ok((device, collection))
}

fn places(registry: &ImageRegistry, images: &[ImageId]) -> Vec<String> {
    let place = |image: &ImageId| registry.location(*image).map(|place| place.to_string());
    images
        .iter()
        .map(|image| place(image).unwrap_or_default())
        .collect()
}

/// Collects, builds, launches, and reads what the kernel wrote.
fn run(registry: &ImageRegistry) -> Result<Vec<u8>, Box<dyn Error>> {
    let (device, collection) = collect(registry)?;
    let context = Context::new(&[&device])?;
    let mut kernel = registry.build(&collection, &context, &device)?;
    let queue = context.queue(&device, QueueProperties::default())?;
    let bytes = Buffer::from_slice(&context, &[1_u8; 4])?;
    let launch = kernel.launch(&queue, &NdRange::new([4]), &[(&bytes).into()], &[])?;
    kernel.wait(&launch)?;
    Ok(bytes.read(&queue, &[])?)
}

#[test]
fn machine_code_with_unresolved_symbols_is_linked_as_it_is() {
    const NATIVE: &str = "spir64_x86_64";
    const SCRIPT: &str = "device cpu Mock\ntakes spir64_x86_64 spir64\nkernel fill 1 0 7\n";
    let registry = ImageRegistry::new();
    registry.add(image(ELF, NATIVE, "app", ["fill", "helper", ""]));
    // The same symbol in another format does not count.
    registry.add(image(SPIRV, "spir64", "portable", ["", "", "helper"]));
    {
        let play = play(SCRIPT).unwrap();
        let error = run(&registry).unwrap_err().to_string();
        assert!(
            error.contains("`helper`, which only `portable` (SPIR-V for spir64"),
            "{error}"
        );
        let calls = play.calls();
        let mut programs = calls
            .iter()
            .filter(|call| call.function.to_string().contains("Program"));
        assert!(
            programs.next().is_none(),
            "missing symbols are found before anything is built"
        );
    }
    registry.add(image(ELF, NATIVE, "library", ["", "deep", "helper"]));
    registry.add(image(ELF, NATIVE, "depth", ["", "", "deep"]));
    {
        let play = play(SCRIPT).unwrap();
        assert_eq!(run(&registry).unwrap(), [7; 4]);
        let calls = play.calls();
        let count = |name: &str| {
            calls
                .iter()
                .filter(|call| call.function.to_string() == name)
                .count()
        };
        assert_eq!(
            ["piProgramCreateWithBinary", "piProgramCompile", "piProgramLink"].map(count),
            [3, 0, 1]
        );
    }
    // Other drivers cannot do that.
    let _play = play(&format!("{SCRIPT}fail piProgramLink PI_INVALID_OPERATION")).unwrap();
    let error = run(&registry).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(BuildError::Native { .. })),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "the device cannot link machine code at run time: `app`, `library`, `depth`; link it ahead of time, or ship it \
         as SPIR-V"
    );
}

#[test]
fn exporters_that_the_device_does_not_take_do_not_count() {
    let _play = play("device cpu Mock\ntakes spir64\nkernel fill 1 0 7\n").unwrap();
    let registry = ImageRegistry::new();
    let spirv = |name, symbols| image(SPIRV, "spir64", name, symbols);
    registry.add(spirv("app", ["fill", "helper", ""]));
    // The mock is no GPU.
    registry.add(demanding(spirv("fast", ["", "", "helper"]), &[2]));
    let error = collect(&registry).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(CollectError::Refused { .. })),
        "{error}"
    );
    assert_eq!(
        error.to_string(),
        "kernel `fill` needs `helper`, which `app` imports and device `Mock` takes from no image that exports it: \
         `fast` (SPIR-V for spir64): it demands `gpu`, which the device lacks"
    );
    registry.add(spirv("slow", ["", "", "helper"]));
    for rule in ExporterRule::ALL {
        registry.set_exporter_rule(rule);
        let (_, collection) = collect(&registry).unwrap();
        assert_eq!(places(&registry, &collection.images), ["app", "slow"], "{rule}");
    }
    assert_eq!(run(&registry).unwrap(), [7; 4]);
}

#[test]
fn dummies_stand_in_for_virtual_functions_that_the_device_does_not_take() {
    let _play = play("device cpu Mock\ntakes spir64\nkernel fill 1 0 7\n").unwrap();
    let registry = ImageRegistry::new();
    let set = |name, key, sets: &str| {
        let mut image = image(SPIRV, "spir64", name, ["", "", ""]);
        image
            .properties
            .insert("SYCL/virtual functions", key, ByteArray::new(sets.as_bytes()));
        image
    };
    let mut app = set("app", "uses-virtual-functions-set", "shapes,colours");
    app.kernels.push("fill".to_owned());
    registry.add(app);
    let dummy = |name, sets| {
        let mut image = set(name, "virtual-functions-set", sets);
        image
            .properties
            .insert("SYCL/virtual functions", "dummy-image", 1);
        image
    };
    registry.add(set("shapes", "virtual-functions-set", "shapes"));
    registry.add(dummy("no shapes", "shapes"));
    registry.add(demanding(
        set("fast colours", "virtual-functions-set", "colours"),
        &[2],
    ));
    registry.add(dummy("no colours", "colours"));
    let (_, collection) = collect(&registry).unwrap();
    assert_eq!(
        places(&registry, &collection.images),
        ["app", "shapes", "no colours"]
    );
}

/// The runtime keeps the addresses of device globals in a program's variables: kernels reach them, whatever a host says.
#[test]
fn what_is_said_of_a_kernels_accesses_does_not_hide_device_globals() {
    need!("clang-22", "llc");
    let play = play("device cpu Mock\ntakes spir64\nkernel fill 1 0 7\nvariable counter 16\n").unwrap();
    let device = Runtime::with_plugins(&[&BUILT_IN], &[]).device(None).unwrap();
    let context = Context::new(&[&device]).unwrap();
    let kernel = |globals: &[&str]| {
        let mut image = DeviceImage::new(spirv("kernel void fill(global char *out) { *out = 1; }"));
        image.target = Target::new("spir64", "");
        for name in globals {
            let words = [4, 0].map(u32::to_le_bytes).concat();
            let sets = &mut image.properties;
            sets.insert("SYCL/device globals", *name, ByteArray::new(words));
        }
        let format = OutputFormat::SyclBin(SyclBinVersion::V1Enveloped);
        let file = pack([image], format, BundleState::Executable).unwrap();
        let (devices, limits) = ([device.clone()], Limits::default());
        let bytes = Arc::new(file.content.into_bytes());
        let bundle: KernelBundle<Executable> =
            KernelBundle::from_bytes(&context, &devices, "app.syclbin", bytes, &limits).unwrap();
        bundle.kernel("fill", &device).unwrap()
    };
    let mut reaching = kernel(&["counter"]);
    reaching.set_indirect_access(false).unwrap();
    reaching.duplicate().unwrap();
    assert_eq!(play.indirect_accesses(), [true; 3]);
    let mut other = kernel(&[]);
    other.set_indirect_access(true).unwrap();
    other.set_indirect_access(false).unwrap();
    assert_eq!(play.indirect_accesses()[3..], [true, false]);
}
