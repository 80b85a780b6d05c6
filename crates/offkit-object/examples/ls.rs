//! Lists the device images of a file, whatever container they are in: `cargo run --example ls -- FILE`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints")]

use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let name = env::args().nth(1).ok_or("usage: ls FILE")?;
    list(&name, &fs::read(&name)?);
    Ok(())
}

// README: list
use offkit_object::{Limits, read};

/// Prints one line for each image, and what is wrong with the file.
fn list(name: &str, file: &[u8]) -> usize {
    let contents = read(name, file, &Limits::default());
    for image in &contents.images {
        let kernels = image.kernels.join(" ");
        println!(
            "{}  {}  {}  {kernels}",
            image.location, image.format, image.target
        );
    }
    for problem in &contents.problems {
        eprintln!("{problem}");
    }
    contents.images.len()
}
// README: end

#[test]
fn every_image_has_a_line() {
    // A SPIR-V module that ends after its first words.
    assert_eq!(list("kernel.spv", b"\x03\x02\x23\x07\x00\x00\x01\x00"), 1);
    assert_eq!(list("notes.txt", b"no device code"), 0);
}
