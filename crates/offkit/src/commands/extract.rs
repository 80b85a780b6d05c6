//! `offkit extract`: images out of containers, byte for byte.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use offkit_devlib::library_file;
use offkit_object::{DeviceImage, Problem};

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
            None => PathBuf::from(offkit_object::file_name(image, self.options.stored)),
            Some(library) => library_file(image, library.as_deref()),
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
