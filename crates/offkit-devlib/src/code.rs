//! Files of device code: the code in them, and the symbols that it defines and needs.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use offkit_object::{
    Bytes, Code, ContainerKind, DeviceImage, ImageFormat, Limits, Location, Problem, Producer, PropertySets,
    Target, archive, completed_target, inspect,
};

use crate::abi::Abi;

/// A file of device code cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be read at all.
    #[error("cannot read `{}`: {error}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: std::io::Error,
    },
    /// A part of it is damaged.
    #[error("{0}")]
    Damaged(Box<Problem>),
    /// An archive is damaged.
    #[error(transparent)]
    Object(#[from] offkit_object::Error),
}

/// A file to link, what would be in one, or a library to be found.
#[derive(Clone, Debug)]
pub struct Input<'data> {
    name: String,
    /// The library, as `-l` has it.
    pub library: Option<String>,
    /// A file with exactly this content.
    path: Option<PathBuf>,
    bytes: Option<Cow<'data, [u8]>>,
    /// An image that is at hand already.
    image: Option<DeviceImage<'data>>,
    whole_archive: bool,
}

impl<'data> Input<'data> {
    /// A file, read when it is linked.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            name: path.display().to_string(),
            library: None,
            path: Some(path),
            bytes: None,
            image: None,
            whole_archive: false,
        }
    }

    /// A file that was read already.
    pub fn read_file(path: impl Into<PathBuf>, bytes: impl Into<Cow<'data, [u8]>>) -> Self {
        Self {
            bytes: Some(bytes.into()),
            ..Self::file(path)
        }
    }

    /// A library, as `-l` has it, which is looked for by [`Search`](crate::Search) for each
    /// target of the link. One that is not found is no error: it may be for hosts only.
    pub fn library(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            name: format!("-l{name}"),
            library: Some(name),
            path: None,
            bytes: None,
            image: None,
            whole_archive: false,
        }
    }

    /// Bytes that are in no file; `name` is what messages call them.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Cow<'data, [u8]>>) -> Self {
        Self {
            name: name.into(),
            library: None,
            path: None,
            bytes: Some(bytes.into()),
            image: None,
            whole_archive: false,
        }
    }

    /// An image that was read already, for its target; `name` is what messages call it.
    pub fn image(name: impl Into<String>, image: DeviceImage<'data>) -> Self {
        Self {
            name: name.into(),
            library: None,
            path: None,
            bytes: None,
            image: Some(image),
            whole_archive: false,
        }
    }

    /// The same under another name: that of what the file was made of, where people know that better.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..self
        }
    }

    /// The same, with all members linked if it is an archive, needed or not.
    #[must_use]
    pub fn with_whole_archive(self, whole_archive: bool) -> Self {
        Self {
            whole_archive,
            ..self
        }
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is linked as a whole.
    pub fn is_whole_archive(&self) -> bool {
        self.whole_archive
    }
}

impl From<&str> for Input<'_> {
    fn from(path: &str) -> Self {
        Self::file(path)
    }
}

impl From<&Path> for Input<'_> {
    fn from(path: &Path) -> Self {
        Self::file(path)
    }
}

impl From<PathBuf> for Input<'_> {
    fn from(path: PathBuf) -> Self {
        Self::file(path)
    }
}

/// The bytes of an input, or of a file that a thin archive names.
#[derive(Debug)]
pub struct Source<'a> {
    /// The input, or the place in it of the file that it names.
    location: Location,
    path: Option<PathBuf>,
    bytes: Cow<'a, [u8]>,
    /// The image that it is, if that is at hand already.
    image: Option<&'a DeviceImage<'a>>,
    /// The number of the input.
    input: usize,
    /// Whether what is inside is linked only where it is needed.
    on_demand: bool,
}

impl Source<'_> {
    /// The number of the input.
    pub fn input(&self) -> usize {
        self.input
    }

    /// Whether the file is bitcode itself.
    pub fn is_bitcode(&self) -> bool {
        ImageFormat::detect(&self.bytes) == ImageFormat::Bitcode
    }
}

/// One image of an input, as it takes part in the link.
#[derive(Clone, Debug)]
pub struct Module<'a> {
    /// Where it is, as messages say it.
    pub label: String,
    /// The number of the input.
    pub input: usize,
    /// A file with exactly these bytes.
    pub path: Option<PathBuf>,
    /// The code.
    pub bytes: Cow<'a, [u8]>,
    /// What the bytes are.
    pub format: ImageFormat,
    /// What it is for, completed from its bytes.
    pub target: Target,
    /// The language that it was made for.
    pub producer: Producer,
    /// Whether it is linked only where it is needed: a member of an archive.
    pub on_demand: bool,
    /// Whether it is a file by itself.
    pub is_file: bool,
    /// What a SYCLBIN says about it; `None` elsewhere.
    pub properties: Option<PropertySets>,
    /// The same as code for one device each, in a SYCLBIN.
    pub native: Vec<Native>,
    /// Its kernels.
    pub kernels: Vec<String>,
    /// Symbols that others may use.
    pub exports: Vec<String>,
    /// Symbols that others must define.
    pub imports: Vec<String>,
    /// The tool that wrote it, as it calls itself.
    pub tool: Option<String>,
    /// Whether it is a device library, bitcode of which functions are linked one by one.
    pub is_library: bool,
    /// Whether not all of its symbols could be read: LLVM is to say why.
    pub is_damaged: bool,
    /// The targets that it was found for, if it is of a library that was looked for.
    pub found_for: Option<Vec<Target>>,
    /// What it says about its binary interface.
    pub abi: Abi,
}

impl Module<'_> {
    /// The same without the bytes.
    pub fn without_bytes(self) -> Module<'static> {
        let Self {
            label,
            input,
            path,
            format,
            target,
            producer,
            on_demand,
            is_file,
            properties,
            native,
            kernels,
            exports,
            imports,
            tool,
            is_library,
            is_damaged,
            found_for,
            abi,
            bytes: _,
        } = self;
        Module {
            label,
            input,
            path,
            format,
            target,
            producer,
            on_demand,
            is_file,
            properties,
            native,
            kernels,
            exports,
            imports,
            tool,
            is_library,
            is_damaged,
            found_for,
            abi,
            bytes: Cow::Borrowed(&[]),
        }
    }

    /// Whether it can be part of a link for a target.
    pub fn is_for(&self, target: &Target) -> bool {
        match &self.found_for {
            Some(targets) => targets.contains(target),
            None => self.target.fits(target),
        }
    }
}

/// A module as code for one device.
#[derive(Clone, Debug)]
pub struct Native {
    /// What it is for.
    pub target: Target,
    /// What the bytes are.
    pub format: ImageFormat,
    /// The code.
    pub bytes: Vec<u8>,
}

/// Reads the inputs, and the files that thin archives name.
pub fn sources<'a>(inputs: &'a [Input<'_>]) -> Result<Vec<Source<'a>>, ReadError> {
    let mut sources = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        if input.library.is_some() {
            continue;
        }
        let bytes: Cow<'a, [u8]> = match (&input.bytes, &input.image, &input.path) {
            (Some(bytes), _, _) => Cow::Borrowed(bytes),
            (None, Some(image), _) => {
                sources.push(Source {
                    location: Location::of_file(input.name.as_str()),
                    path: None,
                    bytes: Cow::Borrowed(image.bytes()?),
                    image: Some(image),
                    input: number,
                    on_demand: false,
                });
                continue;
            }
            (None, None, path) => {
                let path = path.as_deref().unwrap_or(Path::new(""));
                Cow::Owned(read(path)?)
            }
        };
        let source = Source {
            location: Location::of_file(input.name.as_str()),
            path: input.path.clone(),
            on_demand: is_archive(&bytes) && !input.whole_archive,
            bytes,
            image: None,
            input: number,
        };
        let thin = archive::thin_members(&source.bytes, &Limits::default())
            .map_err(|error| ReadError::Object(error.with_file(source.location.to_string())))?;
        if thin.is_empty() {
            sources.push(source);
            continue;
        }
        let folder = source
            .path
            .as_deref()
            .and_then(Path::parent)
            .unwrap_or(Path::new(""));
        for member in thin {
            let path = folder.join(&member);
            sources.push(Source {
                location: source.location.join_member(&member),
                bytes: Cow::Owned(read(&path)?),
                path: Some(path),
                ..source
            });
        }
    }
    Ok(sources)
}

fn read(path: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(path).map_err(|error| ReadError::Unreadable {
        path: path.to_owned(),
        error,
    })
}

fn is_archive(bytes: &[u8]) -> bool {
    ImageFormat::detect(bytes) == ImageFormat::Archive
}

/// The device code in the sources, in order.
pub fn modules<'a>(sources: impl IntoIterator<Item = &'a Source<'a>>) -> Result<Vec<Module<'a>>, ReadError> {
    let mut modules = Vec::new();
    for source in sources {
        if let Some(image) = source.image {
            modules.push(Module {
                is_file: false,
                ..module(source, image.clone())?
            });
            continue;
        }
        let contents = offkit_object::read(source.location.file(), &source.bytes, &Limits::default());
        if let Some(mut problem) = contents.problems.into_iter().next() {
            problem.location = source.location.join_inside(&problem.location);
            return Err(ReadError::Damaged(Box::new(problem)));
        }
        // The abstract module of a SYCLBIN that the last images were of, if it has IR, and where that is.
        let mut open: Option<(String, usize)> = None;
        for image in contents.images {
            // Its images are two parts below it: what they are, and their number.
            let around = image.location.depth().checked_sub(2);
            let abstract_module = around
                .filter(|_| image.container == ContainerKind::SyclBin)
                .map(|depth| image.location.parts().take(depth).collect::<Vec<_>>().join("!"));
            let is_native =
                ![ImageFormat::Spirv, ImageFormat::Bitcode, ImageFormat::Ptx].contains(&image.format);
            if let (Some(name), Some((opened, at))) = (&abstract_module, &open)
                && name == opened
                && is_native
                && let Some(module) = modules.get_mut(*at)
            {
                let module: &mut Module<'_> = module;
                module.native.push(Native {
                    target: image.target,
                    format: image.format,
                    bytes: unpacked(source, &image.location, image.code)?.into_owned(),
                });
                continue;
            }
            open = abstract_module
                .filter(|_| !is_native)
                .map(|name| (name, modules.len()));
            modules.push(module(source, image)?);
        }
    }
    Ok(modules)
}

/// The bytes of an image; an error that says which image cannot be decompressed.
fn unpacked<'a>(
    source: &Source<'_>,
    location: &Location,
    code: Code<'a>,
) -> Result<Cow<'a, [u8]>, ReadError> {
    let unpacked = code.into_bytes().map_err(|error| {
        let location = source.location.join_inside(location);
        ReadError::Damaged(Box::new(Problem::new(location, error)))
    });
    unpacked.map(Bytes::into_cow)
}

fn module<'a>(source: &Source<'_>, image: DeviceImage<'a>) -> Result<Module<'a>, ReadError> {
    let bytes = unpacked(source, &image.location, image.code)?;
    let shown = inspect(&bytes, image.format, &Limits::default());
    let abi = Abi::of(&shown);
    let mut target = completed_target(&image.target, &shown.target, image.format);
    if target.processor().is_empty() {
        target.arch.clear();
        if target.family().needs_processor() {
            target.arch = shown.target.arch;
        }
    }
    let is_file = image.location.is_file();
    Ok(Module {
        abi,
        is_library: false,
        is_damaged: !shown.problems.is_empty(),
        found_for: None,
        label: source.location.join_inside(&image.location).to_string(),
        input: source.input,
        path: source.path.clone().filter(|_| is_file),
        format: image.format,
        target,
        producer: image.producer,
        on_demand: source.on_demand,
        is_file: is_file && !source.on_demand,
        properties: (image.container == ContainerKind::SyclBin).then_some(image.properties),
        native: Vec::new(),
        kernels: shown.kernels.into_iter().map(|kernel| kernel.name).collect(),
        exports: shown.exports,
        imports: shown.imports,
        tool: shown.producer,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn native_images_are_forms_of_ir_only_where_there_is_ir() {
        use offkit_object::{
            AbstractModule, BundleState, IrModule, IrType, NativeImage, SyclBin, SyclBinVersion,
        };

        let spirv = [
            0x03, 0x02, 0x23, 0x07, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
        ];
        let native = |arch: &str| NativeImage::new(arch, "spir64_gen-unknown-unknown", b"code".as_slice());
        let alone = AbstractModule {
            native_images: vec![native("intel_gpu_pvc"), native("intel_gpu_dg2")],
            ..AbstractModule::default()
        };
        let mut with_ir = alone.clone();
        let ir = IrModule::new(IrType::Spirv, "spirv64-unknown-unknown", spirv.as_slice());
        with_ir.ir_modules.push(ir);
        let mut program = SyclBin::new(BundleState::Object);
        program.modules = vec![alone, with_ir];
        let bytes = program.write(SyclBinVersion::V1).unwrap();
        let inputs = [Input::bytes("a.syclbin", bytes)];
        let sources = sources(&inputs).unwrap();
        let modules = modules(&sources).unwrap();
        let found: Vec<_> = (modules.iter())
            .map(|module| (module.target.arch.as_str(), module.native.len()))
            .collect();
        assert_eq!(found, [("intel_gpu_pvc", 0), ("intel_gpu_dg2", 0), ("", 2)]);
    }
}
