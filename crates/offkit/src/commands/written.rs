//! The JSON of commands that write files: each file, the images in it as `ls --json` has them, and sums.

use std::path::Path;

use offkit_object::{ContainerKind, DeviceImage, read, target_of};
use serde_json::{Value, json};

use super::ls::json::{Row, container_name};
use super::ls::sums::{Sum, Sums};
use crate::failure::Failure;
use offkit_host::files;

/// Refuses to print JSON where the file goes.
pub(super) fn keep_apart(json: bool, output: &Path) -> Result<(), Failure> {
    match json && files::is_standard_stream(output) {
        false => Ok(()),
        true => Err(
            Failure::input("the file and JSON cannot both go to standard output")
                .hint("write the file elsewhere, or leave out --json"),
        ),
    }
}

/// Files that were written.
#[derive(Default)]
pub(super) struct Written {
    files: Vec<Value>,
    sums: Sums,
}

impl Written {
    /// Adds a file with the images that are found in it.
    pub(super) fn read(&mut self, path: &Path, content: &[u8]) {
        // Only reading it tells the places that images have in the new file.
        let contents = read(&path.display().to_string(), content, &super::limits());
        let images = contents.images.iter().map(|image| self.image(image)).collect();
        let mut file = file(path, content.len() as u64, contents.container, contents.version);
        file["images"] = Value::Array(images);
        self.files.push(file);
    }

    /// Adds a file without container that was made of these images.
    pub(super) fn bare(&mut self, path: &Path, size: u64, images: Vec<Value>) {
        let mut file = file(path, size, ContainerKind::Image, None);
        file["images"] = Value::Array(images);
        self.files.push(file);
    }

    /// An image of a file; it counts in the sums.
    pub(super) fn image(&mut self, image: &DeviceImage<'_>) -> Value {
        self.sums.add(&target_of(image), Sum::of(image));
        json!(Row::new(image, false))
    }

    /// What a command says, with the files and sums.
    pub(super) fn json(self, mut said: Value) -> Value {
        let sums = self.sums.json();
        said["written"] = Value::Array(self.files);
        said["total"] = sums["total"].clone();
        said["totals"] = sums["totals"].clone();
        said
    }
}

/// A file, without its images.
pub(super) fn file(path: &Path, size: u64, kind: ContainerKind, version: Option<u32>) -> Value {
    let container = match kind {
        ContainerKind::Host => "host",
        ContainerKind::Archive => "archive",
        ContainerKind::Zip => "zip",
        ContainerKind::Tar => "tar",
        ContainerKind::Compressed => "compressed",
        ContainerKind::Deb => "deb",
        ContainerKind::Rpm => "rpm",
        of_images => container_name(of_images),
    };
    json!({
        "path": path.display().to_string(),
        "size": size,
        "container": container,
        "version": version,
    })
}
