//! What it costs to register the device images of files: `register FILE… [--find NAME]…`
//!
//! For each file: the images, the names that they offer, and what registering took for each image in time and in memory
//! of the process's own. Then how long it takes to find each kernel, the first time and again.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::time::{Duration, Instant};

use offkit_object::Limits;
use offkit_runtime::ImageRegistry;

fn main() -> Result<(), Box<dyn Error>> {
    let registry = ImageRegistry::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--find" {
            find(&registry, &arguments.next().ok_or("--find wants a name")?)?;
        } else {
            register(&registry, &argument)?;
        }
    }
    Ok(())
}

fn register(registry: &ImageRegistry, file: &str) -> Result<(), Box<dyn Error>> {
    let before = own_memory()?;
    let start = Instant::now();
    let registered = registry.open(file, &Limits::default())?;
    let time = start.elapsed();
    let memory = own_memory()?.saturating_sub(before);
    let images = registered.images.len();
    let each = images.max(1);
    println!(
        "{file}: {images} images in {:.1} ms, {:.2} µs and {} bytes an image",
        milliseconds(time),
        1e3 * milliseconds(time) / each as f64,
        memory / each as u64
    );
    for problem in registered.problems.iter().take(3) {
        println!("  {problem}");
    }
    Ok(())
}

fn find(registry: &ImageRegistry, name: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let found = registry.find_kernel(name, |_| true)?;
    let first = start.elapsed();
    const TIMES: u32 = 1000;
    let start = Instant::now();
    for _ in 0..TIMES {
        registry.find_kernel(name, |_| true)?;
    }
    println!(
        "found {name} in {} images, in {:.3} ms the first time and {:.2} µs again",
        found.images.len(),
        milliseconds(first),
        1e3 * milliseconds(start.elapsed() / TIMES)
    );
    Ok(())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Bytes in memory that belong to no file.
fn own_memory() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes: u64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or("no RssAnon")?
        .parse()?;
    Ok(kibibytes << 10)
}
