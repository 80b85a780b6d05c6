//! The device chooses: files with one kernel for several devices, and files with none for any device here.

use std::sync::Arc;

use offkit_object::{DeviceImage, Limits, OutputFormat, PropertySets};
use offkit_pi::NdRange;
use offkit_pi::host::{Context, Device, QueueProperties, UsmKind};
use offkit_runtime::{
    Argument, ArgumentError, Buffer, ImageRegistry, Kernel, LaunchError, Runtime, SelectError, Usm, by_value,
};
use offkit_tests::{Folder, need, npy_i32, read_i32, tool};

const TWICE: &str = "kernel void twice(global int *a) { a[get_global_id(0)] *= 2; }";
const RUN: &str = "twice --global 4 --arg a.npy --out b.npy";

/// A folder with the kernel as clang compiles it for NVIDIA's GPUs and as SPIR-V, and its input.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.write("k.cl", TWICE);
    let clang = tool("clang-22").expect("asked for before");
    // NVPTX has no OpenCL functions: on a GPU the index would come from a library.
    folder.write("gpu.cl", "kernel void twice(global int *a) { a[0] *= 2; }");
    for line in [
        "--target=nvptx64-nvidia-cuda -march=sm_80 --cuda-feature=+ptx80 -nogpulib -cl-std=CL3.0 -O1 -S gpu.cl -o k.ptx",
        "--target=spirv64 -cl-std=CL3.0 -O1 -c k.cl -o k.spv",
    ] {
        folder.run(&clang, line.split_whitespace()).ok();
    }
    folder.write("a.npy", npy_i32("(4,)", [1, 2, 3, 4]));
    folder
}

fn package(folder: &Folder, output: &str, images: &[&str]) {
    let packager = tool("llvm-offload-binary").expect("asked for before");
    let mut words = vec!["-o".to_owned(), output.to_owned()];
    for image in images {
        let target = match image.ends_with(".ptx") {
            true => "triple=nvptx64-nvidia-cuda,arch=sm_80",
            false => "triple=spirv64-unknown-unknown,arch=generic",
        };
        words.push(format!("--image=file={image},{target},kind=openmp"));
    }
    folder.run(&packager, words).ok();
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
fn a_file_with_code_for_several_devices_runs_on_the_one_that_is_there() {
    need!("clang-22", "llc", "llvm-offload-binary");
    let folder = prepared();
    for (file, images) in [
        ("ptx-first", ["k.ptx", "k.spv"]),
        ("spirv-first", ["k.spv", "k.ptx"]),
    ] {
        package(&folder, file, &images);
        folder.offkit(&format!("run {file} {RUN}")).ok();
        assert_eq!(read_i32(&folder.read("b.npy")), [2, 4, 6, 8], "{file}");
    }
}

#[test]
fn a_file_for_no_device_here_says_what_it_is_for_and_what_there_is() {
    need!("clang-22", "llc", "llvm-offload-binary");
    let folder = prepared();
    package(&folder, "ptx", &["k.ptx"]);
    let error = folder.offkit(&format!("run ptx {RUN}")).fails(3);
    says(
        &error,
        &[
            "no device here takes PTX for sm_80; the devices are 0 (",
            ", cpu)",
            "`ptx!0` (PTX for sm_80): it is for another architecture",
        ],
    );
    let error = folder.offkit(&format!("run k.ptx {RUN} --device cpu")).fails(3);
    says(
        &error,
        &[
            "takes no image of kernel `twice`",
            "it is for another architecture",
        ],
    );
}

#[test]
fn what_an_image_demands_of_a_device_is_looked_at() {
    need!("clang-22", "llc");
    let folder = prepared();
    let with_aspects = |aspects: &[u32]| {
        let mut properties = PropertySets::new();
        properties.insert("SYCL/device requirements", "aspects", aspects);
        properties.insert_symbols("SYCL/kernel names", ["twice"]);
        let image = DeviceImage::new(folder.read("k.spv")).with_properties(properties);
        let format: OutputFormat = "syclbin".parse().expect("a format");
        let packed = offkit_object::pack([image], format, offkit_object::BundleState::Executable);
        folder.write(
            "k.syclbin",
            packed.expect("it can be packed").content.into_bytes(),
        );
    };
    // fp64, and an ability that nobody here has heard of.
    with_aspects(&[6, 4711]);
    folder.offkit(&format!("run k.syclbin {RUN}")).ok();
    with_aspects(&[2, 6]);
    let error = folder.offkit(&format!("run k.syclbin {RUN}")).fails(3);
    says(&error, &["it demands `gpu`, which the device lacks"]);
}

#[test]
fn programs_launch_with_types_from_several_threads_and_after_their_library_is_gone() {
    need!("clang-22", "llc", "llvm-offload-binary");
    let folder = prepared();
    package(&folder, "both", &["k.ptx", "k.spv"]);
    let registry = ImageRegistry::new();
    let registered = registry
        .open(folder.path("both"), &Limits::default())
        .expect("a file");
    let found = registry
        .find_kernel("twice", |_| true)
        .expect("the kernel is there");
    assert_eq!(found.images.len(), 2);

    let mut runtime = Runtime::with_plugins(&[&offkit_plugin_cpu::plugin::BUILT_IN], &[]);
    let (device, kernel) = runtime
        .choose(None, &registry, &found)
        .expect("the CPU device takes SPIR-V");
    assert_eq!(kernel.image, registered.images[1]);
    let collection = registry.collect(&kernel).expect("nothing is missing");
    let context = Context::new(&[&device]).expect("a context");
    let built = registry
        .build(&collection, &context, &device)
        .expect("it is built");
    assert!(registry.withdraw(registered.library));
    assert!(matches!(
        registry.select(&found, &device),
        Err(SelectError::Image(_))
    ));

    std::thread::scope(|scope| {
        for thread in 0..4 {
            let mut kernel = built.duplicate().expect("another one");
            let queue = context
                .queue(&device, QueueProperties::default())
                .expect("a queue");
            let context = &context;
            scope.spawn(move || {
                for round in 0..50 {
                    let values: Vec<i32> = (0..64).map(|i| i + thread * 1000 + round).collect();
                    let buffer = Buffer::from_slice(context, &values).expect("a buffer");
                    let range = NdRange::new([buffer.len()]);
                    let launch = kernel
                        .launch(&queue, &range, &[(&buffer).into()], &[])
                        .expect("a launch");
                    kernel.wait(&launch).expect("it runs");
                    let doubled: Vec<i32> = values.iter().map(|value| 2 * value).collect();
                    assert_eq!(buffer.read(&queue, &[]).expect("a copy"), doubled);
                }
            });
        }
    });
}

#[test]
fn arguments_of_every_type_reach_the_kernel() {
    use offkit_runtime::zerocopy::{FromBytes, Immutable, IntoBytes};

    #[derive(FromBytes, IntoBytes, Immutable)]
    #[zerocopy(crate = "offkit_runtime::zerocopy")]
    #[repr(C)]
    struct Pair {
        x: i32,
        y: f32,
    }

    need!("clang-22", "llc");
    let folder = Folder::new();
    folder.spirv(
        "k",
        "typedef struct { int x; float y; } Pair;
         kernel void k(Pair p, double d, float4 v, global const int *none, global double *o, local double *scratch) {
           size_t i = get_local_id(0);
           scratch[i] = v[i];
           barrier(CLK_LOCAL_MEM_FENCE);
           o[i] = p.x + p.y + d + scratch[3 - i] + (none ? 1000 : 0);
         }",
    );
    let registry = ImageRegistry::new();
    registry.add_file("k.spv", Arc::new(folder.read("k.spv")), &Limits::default());
    let mut runtime = Runtime::with_plugins(&[&offkit_plugin_cpu::plugin::BUILT_IN], &[]);
    let found = registry.find_kernel("k", |_| true).expect("the kernel is there");
    let (device, kernel) = runtime.choose(Some("cpu"), &registry, &found).expect("a device");
    let context = Context::new(&[&device]).expect("a context");
    let queue = context
        .queue(&device, QueueProperties::default())
        .expect("a queue");
    let collection = registry.collect(&kernel).expect("nothing is missing");
    let mut kernel = registry
        .build(&collection, &context, &device)
        .expect("it is built");

    let none: Buffer<i32> = Buffer::from_slice(&context, &[]).expect("no elements are elements");
    let out: Usm<f64> = Usm::new(&context, UsmKind::Shared, &device, 5).expect("memory");
    out.write(&queue, 0, &[-1.0; 5], &[]).expect("a copy");
    let pair = Pair { x: 7, y: 0.5 };
    let arguments = |out: Argument| {
        [
            by_value(&pair),
            0.25_f64.into(),
            [1.0_f32, 2.0, 3.0, 4.0].into(),
            (&none).into(),
            out,
            Argument::local::<f64>(4),
        ]
    };
    let range = NdRange {
        local: Some([4, 1, 1]),
        ..NdRange::new([4])
    };
    let launch = kernel
        .launch(&queue, &range, &arguments(out.at(1)), &[])
        .expect("a launch");
    kernel.wait(&launch).expect("it runs");
    let expected = [-1.0, 11.75, 10.75, 9.75, 8.75];
    assert_eq!(out.read(&queue, &[]).expect("a copy"), expected);
    assert!(none.read(&queue, &[]).expect("nothing to copy").is_empty());
    assert!(
        none.write(&queue, 0, &[1], &[]).is_err(),
        "there is no such element"
    );
    assert!(
        out.write(&queue, 4, &[1.0, 2.0], &[]).is_err(),
        "there is one such element"
    );

    // What does not fit is named before the device sees it.
    let mut wrong = arguments(out.at(0));
    wrong[1] = 0.25_f32.into();
    let error = kernel
        .launch(&queue, &range, &wrong, &[])
        .expect_err("a float for a double");
    says(&error.to_string(), &["f64", "given f32"]);
    let floats = Buffer::from_slice(&context, &[0.0_f32; 4]).expect("a buffer");
    let singles: Usm<f32> = Usm::new(&context, UsmKind::Shared, &device, 4).expect("memory");
    for (memory, given) in [
        (Argument::from(&floats), "a buffer of f32"),
        (Argument::from(&singles), "an address in a USM allocation of f32"),
    ] {
        let error = kernel
            .launch(&queue, &range, &arguments(memory), &[])
            .expect_err("floats for doubles");
        assert!(matches!(
            &error,
            LaunchError::Argument(ArgumentError::Elements { .. })
        ));
        says(
            &error.to_string(),
            &["argument 4", "points to f64", &format!("given {given}:")],
        );
    }
    let bytes = Buffer::from_slice(&context, &[0_u8; 32]).expect("a buffer");
    let launch = kernel.launch(&queue, &range, &arguments((&bytes).into()), &[]);
    kernel
        .wait(&launch.expect("bytes are of any type"))
        .expect("it runs");
}

/// What a kernel in a file is built to by the CPU device.
fn build(folder: &Folder, file: &str) -> Result<(Device, Kernel), Box<dyn std::error::Error>> {
    let registry = ImageRegistry::new();
    let registered = registry.open(folder.path(file), &Limits::default())?;
    assert!(registered.problems.is_empty(), "{:?}", registered.problems);
    let found = registry.find_kernel("twice", |_| true)?;
    let mut runtime = Runtime::with_plugins(&[&offkit_plugin_cpu::plugin::BUILT_IN], &[]);
    let (device, kernel) = runtime.choose(Some("cpu"), &registry, &found)?;
    let collection = registry.collect(&kernel)?;
    let context = Context::new(&[&device])?;
    let kernel = registry.build(&collection, &context, &device)?;
    Ok((device, kernel))
}

#[test]
fn compiler_and_linker_are_told_what_the_container_says() {
    need!("clang-22", "llc");
    let folder = prepared();
    for kind in ["sycl-v2", "sycl-v3"] {
        let options = ["--compile-options=-g -cl-opt-disable", "--link-options=-x"];
        let line = format!("wrap k.spv -o images.o --kind {kind} --triple spir64");
        let words = line.split_whitespace().chain(options);
        folder.run(offkit_tests::offkit(), words).ok();
        let (device, kernel) = build(&folder, "images.o").expect("it is built");
        let told = kernel.pi().program().build_options(&device);
        assert_eq!(told.expect("an answer"), "-g -cl-opt-disable -x", "{kind}");
    }
}

#[test]
fn compressed_sycl_images_are_unpacked_when_they_are_built() {
    need!("clang-22", "llc");
    let folder = prepared();
    folder.write("props", "[SYCL/misc properties]\noptLevel=1|2\n");
    let wrap = |block_type: u32| {
        // A frame of one block that tells its size; type 0 is stored as it is, type 3 is none.
        let module = folder.read("k.spv");
        let mut frame = b"\x28\xb5\x2f\xfd\xa0".to_vec();
        frame.extend((module.len() as u32).to_le_bytes());
        let head = (module.len() as u32) << 3 | block_type << 1 | 1;
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(module);
        folder.write("frame", frame);
        let options = "--kind sycl-v2 --triple spir64 --properties props --entries twice";
        folder.offkit(&format!("wrap frame -o images.o {options}")).ok();
        let mut object = folder.read("images.o");
        // Version 2, SYCL, of no format: the first words of the image's structure.
        let head = [2, 0, 4, 0, 0, 0, 0, 0];
        let places: Vec<_> = (0..object.len() - 8)
            .step_by(8)
            .filter(|&at| object[at..at + 8] == head)
            .collect();
        assert_eq!(places.len(), 1, "{places:?}");
        const ZSTD: u8 = 4;
        object[places[0] + 3] = ZSTD;
        folder.write("images.o", object);
    };
    wrap(0);
    folder.offkit(&format!("run images.o {RUN}")).ok();
    assert_eq!(read_i32(&folder.read("b.npy")), [2, 4, 6, 8]);
    // Registering finds the kernel, and nothing wrong.
    wrap(3);
    let error = build(&folder, "images.o").expect_err("no block is of that type");
    says(&error.to_string(), &["cannot unpack `", "images.o!sycl/0/0`"]);
}
