//! What a first launch costs that is built from the cache: `warm PLUGIN FILE KERNEL cache|images|OUT.bin`
//!
//! With `cache` it is everything from the file to the end of the launch, in milliseconds; `images` leaves the cache out if
//! `OFFKIT_CACHE` is `off`. Any other word names a file: the machine code of the program, which is written to it, or
//! loaded and launched if it is there: what the driver does by itself. The kernel has no arguments.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use offkit_object::Limits;
use offkit_pi::NdRange;
use offkit_pi::host::{Context, Device, Queue, QueueProperties};
use offkit_runtime::{ImageRegistry, Runtime};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [plugin, file, kernel, how] = words.as_slice() else {
        return Err("warm PLUGIN FILE KERNEL cache|images|OUT.bin".into());
    };
    let mut runtime = Runtime::with_plugins(&[], &[PathBuf::from(plugin)]);
    let device = runtime.devices().next().ok_or("there is no device")?.clone();
    let context = Context::new(&[&device])?;
    let queue = context.queue(&device, QueueProperties::default())?;
    let start = Instant::now();
    match how.as_str() {
        "cache" | "images" => by_registry(file, kernel, &context, &device, &queue)?,
        binary if Path::new(binary).exists() => {
            let code = std::fs::read(binary)?;
            let program = context.program_with_binary(&device, &code)?;
            program.build_for(&[&device], "")?;
            let kernel = program.kernel(kernel)?;
            queue.launch(&kernel, &NdRange::new([1]), &[])?.wait()?;
        }
        binary => {
            let program = context.program_with_il(&std::fs::read(file)?)?;
            program.build("")?;
            let code = program.binaries()?.into_iter().next();
            std::fs::write(binary, code.ok_or("the driver gives no machine code")?)?;
        }
    }
    println!("{:.4}", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// Finds the kernel among the images of a file, builds it and launches it.
fn by_registry(
    file: &str,
    kernel: &str,
    context: &Context,
    device: &Device,
    queue: &Queue,
) -> Result<(), Box<dyn Error>> {
    let registry = ImageRegistry::new();
    registry.open(Path::new(file), &Limits::default())?;
    let found = registry.find_kernel(kernel, |_| true)?;
    let chosen = registry.select(&found, device)?;
    let collection = registry.collect(&chosen)?;
    let mut kernel = registry.build(&collection, context, device)?;
    let launch = kernel.launch(queue, &NdRange::new([1]), &[], &[])?;
    kernel.wait(&launch)?;
    Ok(())
}
