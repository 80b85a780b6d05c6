//! `offkit extract`: images out of containers, byte for byte.

use super::filter::{Filter, Selection};
use super::limits::LimitOptions;
use super::written::{Written, keep_apart};
use clap::Args;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use offkit_devlib::library_file;
use offkit_llvm::{Form, Source, Worker, WorkerError};
use offkit_object::{DeviceImage, ImageFormat, Location, Problem};
use serde_json::{Value, json};

use super::link::worker_failure;
use crate::failure::Failure;
use crate::terminal::{Terminal, size};
use offkit_host::files;

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

const EXAMPLES: &str = "\
Examples:
  offkit extract app.o!.llvm.offloading/0 -o images
  offkit extract --arch sm_90 libkernels.so -o images
  offkit extract --libdevice --arch gfx90a,gfx942 \\
      --format bitcode libphysics.a -o lib
  offkit extract --stored 'lib.so!.hip_fatbin/0/gfx90a' \\
      -o - > gfx90a.hsaco
  offkit extract --json libkernels.so -o images |
      jq -r '.written[] | [.path, .images[].location]'";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Extract {
    /// Locations as `offkit ls` prints them, of images or containers, or whole files; `-` is standard input
    #[arg(required = true, value_name = "LOCATION")]
    locations: Vec<PathBuf>,
    /// The folder to write to, created if needed; `-` writes one image to standard output
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    /// Write images as they are stored, without decompressing them
    #[arg(long)]
    stored: bool,
    /// Name images as device libraries, `libdevice/<gpu>/libX-<arch>-<gpu>.bc`; X is NAME, or the name of the file or
    /// archive member that contains the image. Bitcode for one target and name is linked into one library
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "not given, given, given with a name")]
    libdevice: Option<Option<String>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    limits: LimitOptions,
}

pub(crate) fn run(options: &Extract, terminal: Terminal) -> Result<(), Failure> {
    keep_apart(options.json, &options.output)?;
    let to_standard_output = files::is_standard_stream(&options.output);
    if !to_standard_output {
        files::create_folder(&options.output).map_err(Failure::input)?;
    }
    let mut extraction = Extraction {
        options,
        // The JSON says it all.
        terminal: Terminal {
            quiet: terminal.quiet || options.json,
        },
        names: HashSet::new(),
        numbers: HashMap::new(),
        libraries: Vec::new(),
        for_standard_output: Vec::new(),
        only: Vec::new(),
        written: Written::default(),
        count: 0,
        bytes: 0,
        result: Ok(()),
    };
    let mut selection = Selection::new(&options.filter);
    let mut left_out = Vec::new();
    for place in &options.locations {
        let source = super::Source::open(place)?;
        let progress = terminal.progress();
        let mut images = 0_usize;
        let problems = source.each_image(&mut selection, &options.limits, &mut |image| {
            images += 1;
            progress.images(place, images);
            extraction.add(image);
        })?;
        drop(progress);
        extraction.result?;
        extraction.result = Ok(());
        selection.warn(&problems, terminal);
        left_out.extend(problems.iter().map(super::problem_json));
    }
    extraction.write_to_standard_output()?;
    extraction.write_libraries()?;
    if extraction.count > 1 {
        extraction.terminal.note(format_args!(
            "{} images, {}",
            extraction.count,
            size(extraction.bytes)
        ));
    }
    if options.json {
        let names = options.locations.iter().map(|place| place.display().to_string());
        let said = json!({ "inputs": names.collect::<Vec<_>>(), "problems": left_out });
        terminal.json(SCHEMA, &extraction.written.json(said))?;
    }
    selection.check()
}

/// Modules of bitcode as one.
fn linked(parts: &[Module], worker: &mut Option<Worker>) -> Result<Vec<u8>, WorkerError> {
    let worker = match worker {
        Some(worker) => worker,
        none => none.insert(Worker::start()?),
    };
    let sources: Vec<_> = parts
        .iter()
        .map(|(name, bytes)| Source::bytes(name, bytes))
        .collect();
    let module = worker.open(&sources, &[], false)?;
    let whole = worker.emit_whole(module.id, &Form::Bitcode)?;
    worker.close(module.id)?;
    Ok(whole.content)
}

/// Bitcode, and what messages call it.
type Module = (String, Vec<u8>);

/// A device library on its way into a file: what it is made of, and those images as JSON has them.
struct Library {
    path: PathBuf,
    parts: Vec<Module>,
    images: Vec<Value>,
}

/// Images on their way into files.
struct Extraction<'a> {
    options: &'a Extract,
    terminal: Terminal,
    /// The names that are taken.
    names: HashSet<PathBuf>,
    /// The number of the last image that came to a name which was taken.
    numbers: HashMap<PathBuf, usize>,
    /// Those of bitcode.
    libraries: Vec<Library>,
    /// Where the images for standard output are, and the bytes of the first.
    for_standard_output: Vec<Location>,
    only: Vec<u8>,
    written: Written,
    count: usize,
    bytes: u64,
    result: Result<(), Failure>,
}

impl Extraction<'_> {
    fn add(&mut self, image: &DeviceImage<'_>) {
        // The walk cannot be stopped from here: after a failure the rest is met and not written.
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
            // Written once it is known to be the only one.
            if self.for_standard_output.is_empty() {
                self.only = bytes.to_vec();
            }
            self.for_standard_output.push(image.location.clone());
            return Ok(());
        }
        if let Some(library) = &self.options.libdevice
            && image.format == ImageFormat::Bitcode
            && !self.options.stored
        {
            let path = self.options.output.join(library_file(image, library.as_deref()));
            // Copied, as libraries are linked at the end, when the files of all images are closed.
            let part = (image.location.to_string(), bytes.to_vec());
            let row = self.row(image);
            match self.libraries.iter_mut().find(|known| known.path == path) {
                Some(library) => {
                    library.parts.push(part);
                    library.images.extend(row);
                }
                None => self.libraries.push(Library {
                    path,
                    parts: vec![part],
                    images: row.into_iter().collect(),
                }),
            }
            return Ok(());
        }
        let path = self.name(image);
        let row = self.row(image);
        self.write_file(&path, bytes, row.into_iter().collect())
    }

    /// The image as JSON has it, where that is wanted.
    fn row(&mut self, image: &DeviceImage<'_>) -> Option<Value> {
        self.options.json.then(|| self.written.image(image))
    }

    fn write_file(&mut self, path: &Path, bytes: &[u8], images: Vec<Value>) -> Result<(), Failure> {
        if let Some(folder) = path.parent() {
            files::create_folder(folder).map_err(Failure::input)?;
        }
        files::write(path, &[bytes]).map_err(Failure::input)?;
        self.terminal.note(path.display());
        self.written.bare(path, bytes.len() as u64, images);
        self.count += 1;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Writes the one image for standard output.
    fn write_to_standard_output(&mut self) -> Result<(), Failure> {
        const NAMED: usize = 8;
        match self.for_standard_output.as_slice() {
            [] => Ok(()),
            [_] => files::write(&self.options.output, &[&self.only]).map_err(Failure::input),
            several => {
                let names: Vec<_> = several.iter().take(NAMED).map(ToString::to_string).collect();
                let more = if several.len() > NAMED { ", …" } else { "" };
                let message = format!(
                    "{} images cannot go to standard output: {}{more}",
                    several.len(),
                    names.join(", ")
                );
                Err(Failure::input(message).hint("name one of them, or a folder with -o"))
            }
        }
    }

    /// Writes the device libraries of bitcode: `-l` finds one file, so what belongs into it is linked.
    fn write_libraries(&mut self) -> Result<(), Failure> {
        let mut worker = None;
        for library in std::mem::take(&mut self.libraries) {
            let bytes = match library.parts.as_slice() {
                [(_, bytes)] => bytes.clone(),
                parts => linked(parts, &mut worker).map_err(worker_failure)?,
            };
            self.write_file(&library.path, &bytes, library.images)?;
        }
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
        // Two locations may come to one name where files must not have their characters, and so may
        // images of one target as device libraries.
        let path = folder.join(&name);
        if self.names.insert(path.clone()) {
            return path;
        }
        let number = self.numbers.entry(path).or_default();
        loop {
            *number += 1;
            let path = folder.join(format!("{number}-{name}"));
            if self.names.insert(path.clone()) {
                return path;
            }
        }
    }
}
