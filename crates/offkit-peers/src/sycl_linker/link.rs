//! The link: modules into one, and that into code.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::{fs, io};

use offkit_host::files;
use offkit_image::Family;
use offkit_llvm::{CodeOptions, Content, Form, ModuleId, Source, Worker, WorkerError};
use offkit_object::{DeviceImage, ImageFormat, Producer, Target};

use super::Options;
use super::compiler::Names;
use crate::failure::File;

/// What goes wrong, in the words of LLVM's tool where it has some.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Output file must be specified")]
    NoOutput,
    #[error("Target triple must be specified")]
    NoTriple,
    #[error("'{0}' is not a SPIR-V target")]
    Triple(String),
    #[error("No input files")]
    NoInput,
    #[error("{0}: Unsupported file type")]
    FileType(String),
    #[error("Number of device library files cannot be zero")]
    NoLibraries,
    #[error("'{}' SYCL device library file is not found", .0.display())]
    Library(PathBuf),
    #[error("Unable to find '{0}' in path")]
    NoCompiler(&'static str),
    #[error("'{program}': {error}")]
    Compiler { program: &'static str, error: io::Error },
    #[error("'{program}' failed ({status})")]
    CompilerFailed {
        program: &'static str,
        status: ExitStatus,
    },
    #[error("cannot use a temporary file: {0}")]
    Temporary(io::Error),
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{0}")]
    File(#[from] File),
    #[error("{}", offkit_host::chain(.0))]
    Worker(#[from] WorkerError),
    #[error(transparent)]
    Object(#[from] offkit_object::Error),
}

impl Error {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io {
            path: path.to_owned(),
            error,
        }
    }
}

/// A module in a worker, linked of all inputs.
pub(super) struct Linked {
    worker: Worker,
    module: ModuleId,
    kernels: Vec<String>,
}

impl Options<'_> {
    /// The device libraries, which must be there.
    pub(super) fn libraries(&self) -> Result<Vec<Source<'static>>, Error> {
        let Some(list) = &self.device_libraries else {
            return Ok(Vec::new());
        };
        if list.is_empty() {
            return Err(Error::NoLibraries);
        }
        let libraries = list.split(',').map(|name| {
            let path = self.library_path.join(name);
            match path.is_file() {
                true => Ok(Source::file(path)),
                false => Err(Error::Library(path)),
            }
        });
        libraries.collect()
    }

    /// Checks that there is something to link, for a target that it can be linked for.
    pub(super) fn check(&self) -> Result<(), Error> {
        let triple = self.triple.as_ref().ok_or(Error::NoTriple)?;
        if !Family::of(triple).is_spirv() {
            return Err(Error::Triple(triple.clone()));
        }
        for input in &self.inputs {
            if format(input)? != ImageFormat::Bitcode {
                return Err(Error::FileType(input.name.clone()));
            }
        }
        match self.inputs.as_slice() {
            [] => Err(Error::NoInput),
            _ => Ok(()),
        }
    }

    /// Links the inputs, and of the libraries what is needed.
    pub(super) fn open(&self, libraries: &[Source<'_>]) -> Result<Linked, Error> {
        let mut worker = Worker::start()?;
        let opened = worker.open(&self.inputs, libraries, false)?;
        let kernels = opened.summary.kernels().map(|kernel| kernel.name.clone());
        Ok(Linked {
            kernels: kernels.collect(),
            module: opened.id,
            worker,
        })
    }
}

/// The format of a module.
fn format(module: &Source<'_>) -> Result<ImageFormat, File> {
    Ok(match &module.content {
        Content::File(path) => ImageFormat::detect(&files::open(path).map_err(File)?),
        Content::Bytes(code) => ImageFormat::detect(code),
    })
}

impl Linked {
    /// The module in LLVM's text form.
    pub(super) fn text(&mut self) -> Result<String, Error> {
        let text = self.worker.emit_whole(self.module, &Form::Text)?;
        Ok(String::from_utf8_lossy(&text.content).into_owned())
    }

    /// The module as code.
    pub(super) fn image(
        &mut self,
        options: &Options<'_>,
        names: &Names,
    ) -> Result<DeviceImage<'static>, Error> {
        // The worker holds the module, and needs no file of it: this one is there to be kept.
        if options.save_temps {
            let bitcode = self.worker.emit_whole(self.module, &Form::Bitcode)?;
            fs::write(&names.linked, bitcode.content).map_err(Error::io(&names.linked))?;
        }
        let triple = options.triple.as_deref().unwrap_or_default();
        let code = Form::Code(Box::new(CodeOptions {
            triple: triple.to_owned(),
            optimization: 2,
            as_it_is: true,
            ..CodeOptions::default()
        }));
        let emitted = self.worker.emit_whole(self.module, &code)?;
        for diagnostic in &emitted.diagnostics {
            say!("clang-sycl-linker: warning: {diagnostic}");
        }
        let spirv = emitted.content;
        if options.save_temps {
            fs::write(&names.spirv, &spirv).map_err(Error::io(&names.spirv))?;
        }
        if let Some(folder) = &options.dump {
            let name = names.spirv.file_name().unwrap_or_default();
            let written = fs::create_dir_all(folder).and_then(|()| fs::write(folder.join(name), &spirv));
            written.map_err(Error::io(folder))?;
        }
        let mut image = DeviceImage::new(match options.compiler(names) {
            None => spirv,
            Some(_) => native(options, names, &spirv)?,
        });
        image.producer = Producer::Sycl;
        // The original has both, known or not.
        image.strings.set("triple", triple.to_owned());
        image.strings.set("arch", options.arch.clone());
        image.target = Target::new(triple, &options.arch);
        image.strings.set("symbols", self.kernels.join("\n"));
        Ok(image)
    }
}

/// What the compiler for the architecture makes of SPIR-V, in files that stay if intermediate files do.
fn native(options: &Options<'_>, names: &Names, spirv: &[u8]) -> Result<Vec<u8>, Error> {
    // A compiler may take minutes: who interrupts it must not leave its files behind.
    let _temporary = offkit_host::temporary::keep_together();
    let folder = tempfile::tempdir().map_err(Error::Temporary)?;
    let file = |path: &Path| match options.save_temps {
        true => path.to_owned(),
        false => folder.path().join(path.file_name().unwrap_or_default()),
    };
    let files = Names {
        linked: names.linked.clone(),
        spirv: file(&names.spirv),
        native: file(&names.native),
    };
    fs::write(&files.spirv, spirv).map_err(Error::io(&files.spirv))?;
    if let Some(compiler) = options.compiler(&files) {
        compiler.run(options.verbose)?;
    }
    fs::read(&files.native).map_err(Error::io(&files.native))
}
