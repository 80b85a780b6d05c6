//! `offkit extract`: images out of containers, byte for byte.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use offkit_devlib::library_path;
use offkit_object::{DeviceImage, Problem, Storage, target_of};

use super::Source;
use crate::cli::Extract;
use crate::failure::Failure;
use crate::terminal::{Terminal, size};
use offkit_host::files;

pub(crate) fn run(options: &Extract, terminal: Terminal) -> Result<(), Failure> {
    let to_standard_output = files::is_standard_stream(&options.output);
    if !to_standard_output {
        files::create_folder(&options.output).map_err(Failure::input)?;
    }
    let mut extraction = Extraction {
        options,
        terminal,
        names: HashSet::new(),
        written: 0,
        bytes: 0,
        result: Ok(()),
    };
    let mut damaged = false;
    for place in &options.locations {
        let source = Source::open(place)?;
        let problems = source.each_image(&options.filter, &options.limits, &mut |image| {
            extraction.add(image)
        })?;
        extraction.result?;
        extraction.result = Ok(());
        for problem in &problems {
            terminal.warning(problem);
        }
        damaged |= !problems.is_empty();
    }
    if extraction.written > 1 {
        terminal.note(format_args!(
            "{} images, {}",
            extraction.written,
            size(extraction.bytes)
        ));
    }
    if damaged {
        return Err(Failure::input("a file could not be read as a whole"));
    }
    Ok(())
}

/// Images on their way into files.
struct Extraction<'a> {
    options: &'a Extract,
    terminal: Terminal,
    /// The names that are taken.
    names: HashSet<PathBuf>,
    written: usize,
    bytes: u64,
    result: Result<(), Failure>,
}

impl Extraction<'_> {
    fn add(&mut self, image: &DeviceImage<'_>) {
        if self.result.is_ok() {
            self.result = self.write(image);
        }
    }

    fn write(&mut self, image: &DeviceImage<'_>) -> Result<(), Failure> {
        let bytes = if self.options.stored {
            image.stored_bytes()
        } else {
            let damaged = |error| Failure::input(Problem::new(image.location.clone(), error).to_string());
            image.bytes().map_err(damaged)?
        };
        if files::is_standard_stream(&self.options.output) {
            if self.written > 0 {
                return Err(Failure::input("several images cannot go to standard output")
                    .hint("name a folder with -o"));
            }
            files::write(&self.options.output, &[bytes]).map_err(Failure::input)?;
        } else {
            let path = self.name(image);
            if let Some(folder) = path.parent() {
                files::create_folder(folder).map_err(Failure::input)?;
            }
            files::write(&path, &[bytes]).map_err(Failure::input)?;
            self.terminal.note(path.display());
        }
        self.written += 1;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// A file name of its own for each image.
    fn name(&mut self, image: &DeviceImage<'_>) -> PathBuf {
        let name = match &self.options.libdevice {
            None => PathBuf::from(file_name(image, self.options.stored)),
            Some(library) => library_name(image, library.as_deref()),
        };
        let folder = self.options.output.join(name.parent().unwrap_or(Path::new("")));
        let name = name
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut path = folder.join(&name);
        let mut number = 1;
        while !self.names.insert(path.clone()) {
            path = folder.join(format!("{number}-{name}"));
            number += 1;
        }
        path
    }
}

/// The path of an image as a device library of that name, or of the name of the file or archive member it is in.
fn library_name(image: &DeviceImage<'_>, library: Option<&str>) -> PathBuf {
    let file = Path::new(image.location.file());
    // The members of an archive are libraries of their own: what is next behind the file, unless it is a section or
    // number.
    let member = image.location.parts().next();
    let member = member.as_deref().map(Path::new);
    let member = member.filter(|member| {
        ["o", "obj", "bc"]
            .iter()
            .any(|end| member.extension() == Some(end.as_ref()))
    });
    let stem = member
        .unwrap_or(file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let name = library.unwrap_or_else(|| stem.strip_prefix("lib").unwrap_or(&stem));
    let is_safe = |c: char| c.is_alphanumeric() || "-_+.".contains(c);
    let name = name.replace(|c| !is_safe(c), "_");
    let mut target = target_of(image);
    // Containers name targets: what they say must not lead elsewhere.
    target.triple = target.triple.replace(|c| !is_safe(c), "_").into();
    target.arch = target.arch.replace(|c| !is_safe(c), "_").into();
    target.arch = target.processor().into();
    for feature in &mut target.features {
        *feature = feature.replace(|c| !is_safe(c), "_");
    }
    let path = library_path(&name, &target);
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let name = name.strip_suffix("bc").unwrap_or(&name).to_owned() + image.format.extension();
    path.with_file_name(name)
}

/// The location of an image as the name of a file: `lib.so!.hip_fatbin/0/gfx90a` becomes
/// `lib.so.hip_fatbin.0.gfx90a.hsaco`.
fn file_name(image: &DeviceImage<'_>, stored: bool) -> String {
    let file = Path::new(image.location.file()).file_name();
    let mut name = match file {
        Some(file) => file.to_string_lossy().into_owned(),
        None => "image".to_owned(),
    };
    for part in image.location.parts() {
        if !part.starts_with('.') {
            name.push('.');
        }
        name.extend(part.chars().map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' | '+' => c,
            _ => '_',
        }));
    }
    let extension = image.format.extension();
    if !name.ends_with(&format!(".{extension}")) {
        name.push('.');
        name.push_str(extension);
    }
    if stored && let Storage::Compressed(method) = image.storage() {
        name.push('.');
        name.push_str(method.name());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_say_where_an_image_was() {
        let name = |location: &str, bytes: &[u8]| {
            let mut image = DeviceImage::new(bytes.to_vec());
            image.location = location.parse().unwrap();
            file_name(&image, false)
        };
        assert_eq!(
            name("dir/lib.so!.hip_fatbin/0/gfx90a:xnack+", b"?"),
            "lib.so.hip_fatbin.0.gfx90a_xnack+.bin"
        );
        assert_eq!(name("k.spv", b"\x03\x02\x23\x07"), "k.spv");
        assert_eq!(name("-!0", b"BC\xc0\xde"), "-.0.bc");
    }
}
