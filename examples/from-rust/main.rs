//! What `docs/rust.md` shows: device code linked, listed, extracted, packed and launched by a Rust program.
//!
//! Its arguments are the files of bitcode of `examples/shared-library`, the app's and the library's; it launches `saxpy`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [app, library] = files.as_slice() else {
        return Err("usage: from_rust app.bc library.bc".into());
    };
    let (app, library) = (link(app)?, link(library)?);
    list("app.syclbin", &app);
    list("library.syclbin", &library);
    let all = pack(vec![
        ("app.spv", extract(&app, "app.syclbin!0/ir/0")?),
        ("library.spv", extract(&library, "library.syclbin!0/ir/0")?),
    ])?;
    println!("{} bytes with both images", all.len());

    let x: Vec<f32> = (0..1024).map(|i| i as f32).collect();
    let files = [("app.syclbin", app), ("library.syclbin", library)];
    let y = saxpy(&files, 2.5, &x, &[1.0; 1024])?;
    println!("2.5 * {} + 1 = {}", x[1023], y[1023]);
    list("program.syclbin", &program(&files)?);
    Ok(())
}

// link
use offkit_link::container::OutputFormat;
use offkit_link::device_link::DeviceLink;
use offkit_llvm::Worker;
use offkit_object::BundleState;

/// Links a file of LLVM bitcode, as clang makes it of OpenCL C, into a SYCLBIN.
fn link(bitcode: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let link = DeviceLink {
        inputs: vec![bitcode.into()],
        ..DeviceLink::default()
    };
    let linked = link.run(&mut Worker::start()?, &mut |step| eprintln!("{step} …"))?;
    Ok(linked.write(OutputFormat::default(), BundleState::Object)?)
}
// end

// list
use offkit_object::{Limits, read};

/// Prints the images of a file, what each has and what it needs; says how many there are.
fn list(name: &str, file: &[u8]) -> usize {
    let contents = read(name, file, &Limits::default());
    for image in &contents.images {
        println!("{}: {} for {}", image.location, image.format, image.target);
        println!("  kernels: {}", image.kernels.join(" "));
        println!("  needs: {}", image.imports.join(" "));
        println!("  offers: {}", image.exports.join(" "));
    }
    for problem in &contents.problems {
        eprintln!("{problem}");
    }
    contents.images.len()
}
// end

// extract
use offkit_object::Location;

/// The bytes of the image at a place that `list` printed.
fn extract(file: &[u8], place: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let place: Location = place.parse()?;
    let contents = read(place.file(), file, &Limits::default());
    let image = contents.images.iter().find(|image| image.location == place);
    Ok(image.ok_or("there is no such image")?.bytes()?.to_vec())
}
// end

// pack
use offkit_object::{DeviceImage, Producer};

/// Puts images into one offload binary, compressed, each with the name of its file.
fn pack(images: Vec<(&str, Vec<u8>)>) -> Result<Vec<u8>, Box<dyn Error>> {
    let images = images.into_iter().map(|(name, bytes)| {
        let mut image = DeviceImage::new(bytes);
        image.producer = Producer::Sycl;
        image.strings.set("file", name.to_owned());
        image
    });
    let format: OutputFormat = "offload,v3".parse()?;
    let packed = offkit_object::pack(images, format, BundleState::Object)?;
    Ok(packed.content.into_bytes())
}
// end

// launch
use std::sync::Arc;

use offkit_pi::NdRange;
use offkit_pi::host::{Context, QueueProperties};
use offkit_runtime::{Buffer, ImageRegistry, Runtime};

/// Launches `saxpy` of the first file, with what the other files have of what it needs.
fn saxpy(files: &[(&str, Vec<u8>)], a: f32, x: &[f32], y: &[f32]) -> Result<Vec<f32>, Box<dyn Error>> {
    // The kernel, in the images of all files.
    let registry = ImageRegistry::new();
    for (name, file) in files {
        registry.add_file(name, Arc::new(file.clone()), &Limits::default());
    }
    let found = registry.find_kernel("saxpy", |_| true)?;

    // The device: the first that takes an image of the kernel. The CPU device is a part of this program.
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let (device, kernel) = runtime.choose(None, &registry, &found)?;
    let context = Context::new(&[&device])?;
    let queue = context.queue(&device, QueueProperties::default())?;

    // The kernel for this device, with the images that it takes.
    let collection = registry.collect(&kernel)?;
    let mut kernel = registry.build(&collection, &context, &device)?;

    // The launch. Arguments are checked against the kernel's parameters.
    let (x, y) = (Buffer::from_slice(&context, x)?, Buffer::from_slice(&context, y)?);
    let arguments = [a.into(), (&x).into(), (&y).into()];
    let launch = kernel.launch(&queue, &NdRange::new([x.len()]), &arguments, &[])?;
    kernel.wait(&launch)?;
    Ok(y.read(&queue, &[])?)
}
// end

// bundle
use offkit_runtime::{KernelBundle, Object};

/// Links files in object state for a device; gives the program as a file that is ready to run.
fn program(files: &[(&str, Vec<u8>)]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut runtime = Runtime::discover(&[&offkit_plugin_cpu::plugin::BUILT_IN]);
    let devices = [runtime.device(None)?];
    let context = Context::new(&[&devices[0]])?;

    // A bundle of each file. All know which images the device takes.
    let objects = files.iter().map(|(name, file)| {
        let file = Arc::new(file.clone());
        KernelBundle::from_bytes(&context, &devices, name, file, &Limits::default())
    });
    let objects: Vec<KernelBundle<Object>> = objects.collect::<Result<_, _>>()?;

    // Linking says what is missing; kernels are there afterwards.
    let program = KernelBundle::link(&objects.iter().collect::<Vec<_>>(), None)?;
    let kernel = program.kernel("saxpy", &devices[0])?;
    println!("{} is ready to run", kernel.name());
    Ok(program.content()?)
}
// end
