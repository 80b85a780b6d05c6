//! What it costs to register the device images of files: `register FILE… [--find NAME]…`
//!
//! One line of JSON for each file: its images, the bytes of their names, and what registering took in seconds and in
//! bytes of the process's own memory. Then one for each kernel: how long it takes to find, the first time and again.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::error::Error;
use std::fs;
use std::ops::ControlFlow;
use std::time::Instant;

use offkit_object::{Item, Limits};
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
    let seconds = start.elapsed().as_secs_f64();
    let bytes = own_memory()?.saturating_sub(before);
    if let Some(problem) = registered.problems.first() {
        return Err(problem.to_string().into());
    }
    let (images, names) = (registered.images.len(), bytes_of_names(file)?);
    println!(r#"{{"images": {images}, "names": {names}, "seconds": {seconds}, "bytes": {bytes}}}"#);
    Ok(())
}

fn find(registry: &ImageRegistry, name: &str) -> Result<(), Box<dyn Error>> {
    const TIMES: u32 = 1000;
    let start = Instant::now();
    let found = registry.find_kernel(name, |_| true)?;
    let first = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for _ in 0..TIMES {
        registry.find_kernel(name, |_| true)?;
    }
    let again = (start.elapsed() / TIMES).as_secs_f64();
    println!(
        r#"{{"found": {}, "first": {first}, "again": {again}}}"#,
        found.images.len()
    );
    Ok(())
}

/// The bytes of all kernels' and symbols' names that the containers tell.
fn bytes_of_names(file: &str) -> Result<usize, Box<dyn Error>> {
    let content = fs::read(file)?;
    let mut bytes = 0;
    let _ = offkit_object::walk(file, &content, None, &Limits::default(), &mut |item| {
        if let Item::Image(image) = item {
            let names = image.kernels.iter().chain(&image.imports).chain(&image.exports);
            bytes += names.map(String::len).sum::<usize>();
        }
        ControlFlow::Continue(())
    });
    Ok(bytes)
}

/// Bytes in memory that belong to no file.
fn own_memory() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kibibytes: u64 = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .ok_or("no RssAnon")?
        .parse()?;
    Ok(kibibytes << 10)
}
