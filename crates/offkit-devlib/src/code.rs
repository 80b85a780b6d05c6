//! Files of device code: the code in them, and the symbols that it defines and needs.

use std::path::{Path, PathBuf};
use std::{fs, io};

use offkit_host::files;
use offkit_object::archive::ThinMembers;
use offkit_object::{
    Bytes, ContainerKind, DeviceImage, ErrorKind, ImageFormat, Inspect, Inspection, Limits, Location,
    Problem, Producer, PropertySets, SharedBytes, Target, completed_target,
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
        error: io::Error,
    },
    /// A part of it is damaged.
    #[error("{0}")]
    Damaged(Box<Problem>),
}

impl ReadError {
    /// Whether it is no file with device code at all, as opposed to a damaged one.
    pub fn is_not_recognized(&self) -> bool {
        match self {
            Self::Damaged(problem) => problem.error.kind() == ErrorKind::NotRecognized,
            Self::Unreadable { .. } => false,
        }
    }
}

/// A file to link, what would be in one, or a library to be found.
#[derive(Clone, Debug)]
pub struct Input<'data> {
    name: String,
    content: Content<'data>,
    whole_archive: bool,
    on_demand: bool,
}

/// What there is of an input.
#[derive(Clone, Debug)]
enum Content<'data> {
    /// A file, read when it is linked.
    File(PathBuf),
    /// A file with exactly these bytes.
    Read(PathBuf, Bytes<'data>),
    /// Bytes that are in no file.
    Bytes(Bytes<'data>),
    /// An image that is at hand already.
    Image(Box<DeviceImage<'data>>),
    /// A library, as `-l` has it.
    Library(String),
}

impl<'data> Input<'data> {
    fn new(name: String, content: Content<'data>) -> Self {
        Self {
            name,
            content,
            whole_archive: false,
            on_demand: false,
        }
    }

    /// A file, read when it is linked.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self::new(path.display().to_string(), Content::File(path))
    }

    /// A file that was read already.
    pub fn read_file(path: impl Into<PathBuf>, bytes: impl Into<Bytes<'data>>) -> Self {
        let path = path.into();
        Self::new(path.display().to_string(), Content::Read(path, bytes.into()))
    }

    /// A library, as `-l` has it, which is looked for by [`Search`](crate::Search) for each
    /// target of the link. One that is not found is no error: it may be for hosts only.
    pub fn library(name: impl Into<String>) -> Self {
        let name = name.into();
        Self::new(format!("-l{name}"), Content::Library(name))
    }

    /// Bytes that are in no file; `name` is what messages call them.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Bytes<'data>>) -> Self {
        Self::new(name.into(), Content::Bytes(bytes.into()))
    }

    /// An image that was read already, for its target; `name` is what messages call it, a location if it was in a file.
    pub fn image(name: impl Into<String>, image: DeviceImage<'data>) -> Self {
        Self::new(name.into(), Content::Image(Box::new(image)))
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

    /// The same file, which counts only where a symbol of it is needed, as a member of an archive does.
    #[must_use]
    pub fn with_on_demand(self, on_demand: bool) -> Self {
        Self { on_demand, ..self }
    }

    /// What messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The library, as `-l` has it, if it is one to be looked for.
    pub fn library_name(&self) -> Option<&str> {
        match &self.content {
            Content::Library(name) => Some(name),
            _ => None,
        }
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

/// What an input has, or a file that a thin archive names.
#[derive(Debug)]
pub struct Source<'a> {
    /// The input, or the place in it of the file that it names.
    location: Location,
    path: Option<PathBuf>,
    code: SourceCode<'a>,
    /// The number of the input.
    input: usize,
    /// Whether what is inside is linked only where it is needed.
    on_demand: bool,
}

/// A file's bytes, or an image that is at hand already.
#[derive(Debug)]
enum SourceCode<'a> {
    File(Bytes<'a>),
    Image(&'a DeviceImage<'a>),
}

impl Source<'_> {
    /// The place of the file.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Its content; that of an image, unpacked.
    pub fn bytes(&self) -> &[u8] {
        match &self.code {
            SourceCode::File(bytes) => bytes,
            SourceCode::Image(image) => image.bytes().unwrap_or_default(),
        }
    }

    /// Whether what is inside counts only where it is needed.
    pub fn is_on_demand(&self) -> bool {
        self.on_demand
    }

    /// Whether the file is bitcode itself.
    pub fn is_bitcode(&self) -> bool {
        let format = match &self.code {
            SourceCode::File(bytes) => ImageFormat::detect(bytes),
            SourceCode::Image(image) => image.format,
        };
        format == ImageFormat::Bitcode
    }

    /// The place and the content of a module in LLVM's text form, which is linked once it is bitcode.
    pub fn text_module(&self) -> Option<(String, &[u8])> {
        let SourceCode::File(bytes) = &self.code else {
            return None;
        };
        // LLVM's tools write `; ModuleID` first. By hand it is left out, and then only the name of the file tells.
        let is_named = (self.path.as_ref()).is_some_and(|path| path.extension() == Some("ll".as_ref()));
        (is_named || bytes.starts_with(b"; ModuleID")).then(|| (self.location.to_string(), &**bytes))
    }

    /// Puts the bitcode of a module in the place of its text.
    pub fn set_bitcode(&mut self, bitcode: Vec<u8>) {
        self.code = SourceCode::File(bitcode.into());
        // What is at the path is still the text: who reads a module by its path would get that.
        self.path = None;
    }
}

/// One image of an input, and its part in the link.
///
/// What it defines and needs is asked of its code, whatever the container lists: a link goes by the code.
#[derive(Clone, Debug)]
pub struct Module<'a> {
    /// The image, unpacked; its target is completed from its bytes.
    pub image: DeviceImage<'a>,
    /// The same as code for one device each, in a SYCLBIN.
    pub natives: Vec<DeviceImage<'a>>,
    /// Where it is, as messages say it.
    pub label: String,
    /// The number of the input.
    pub input: usize,
    /// A file with exactly these bytes.
    pub path: Option<PathBuf>,
    /// Whether it is linked only where it is needed: a member of an archive.
    pub on_demand: bool,
    /// Whether the host's program has nothing of it, so that its kernels are no reason to link it.
    pub is_left_out: bool,
    /// Whether it is a file by itself.
    pub is_file: bool,
    /// Whether it is a device library, bitcode of which functions are linked one by one.
    pub is_library: bool,
    /// The targets that it was found for, if it is of a library that was looked for.
    pub found_for: Option<Vec<Target>>,
    /// What it says about its binary interface, or its library's manifest.
    pub abi: Abi,
}

impl Module<'_> {
    /// Whether it is what `clang -flto` makes instead of an object: bitcode for a host's processor, which no container
    /// says is for a device.
    pub fn is_host_object(&self) -> bool {
        let is_bare = matches!(
            self.image.container,
            ContainerKind::Image | ContainerKind::Archive
        );
        is_bare && self.image.format == ImageFormat::Bitcode && self.image.target.family().is_host()
    }

    /// The code.
    pub fn bytes(&self) -> &[u8] {
        // What cannot be unpacked becomes no module.
        self.image.bytes().unwrap_or_default()
    }

    fn inspection(&self) -> &Inspection {
        self.image.inspect(&Limits::default())
    }

    /// Its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.inspection().kernel_names()
    }

    /// Symbols that others may use.
    pub fn exports(&self) -> impl Iterator<Item = &str> {
        self.inspection().exports.iter().map(String::as_str)
    }

    /// Symbols that others must define.
    pub fn imports(&self) -> impl Iterator<Item = &str> {
        self.inspection().imports.iter().map(String::as_str)
    }

    /// The tool that wrote it, as it calls itself.
    pub fn tool(&self) -> Option<&str> {
        self.inspection().producer.as_deref()
    }

    /// Why not all of its symbols could be read, if they could not: LLVM may say more.
    pub fn problem(&self) -> Option<&offkit_object::Error> {
        self.inspection().problems.first()
    }

    /// What a SYCLBIN says about it; `None` elsewhere.
    pub fn properties(&self) -> Option<&PropertySets> {
        (self.image.container == ContainerKind::SyclBin).then_some(&self.image.properties)
    }

    /// Whether it can be part of a link for a target.
    pub fn is_for(&self, target: &Target) -> bool {
        match &self.found_for {
            Some(targets) => targets.contains(target),
            None => self.image.target.fits(target),
        }
    }

    /// The same, sharing with `file` the code that lies in it and owning the rest.
    pub(crate) fn share(self, file: &SharedBytes) -> Module<'static> {
        let natives = self.natives.into_iter().map(|native| native.share(file));
        Module {
            image: self.image.share(file),
            natives: natives.collect(),
            label: self.label,
            input: self.input,
            path: self.path,
            on_demand: self.on_demand,
            is_left_out: self.is_left_out,
            is_file: self.is_file,
            is_library: self.is_library,
            found_for: self.found_for,
            abi: self.abi,
        }
    }
}

/// Reads the inputs, and the files that thin archives name.
pub fn sources<'a>(inputs: &'a [Input<'_>]) -> Result<Vec<Source<'a>>, ReadError> {
    let mut sources = Vec::new();
    for (number, input) in inputs.iter().enumerate() {
        let location = Location::of_file(input.name.as_str());
        let (path, bytes) = match &input.content {
            Content::Library(_) => continue,
            Content::Image(image) => {
                sources.push(Source {
                    // As a place, which messages can go on inside of; other names are files'.
                    location: input.name.parse().unwrap_or(location),
                    path: None,
                    code: SourceCode::Image(image),
                    input: number,
                    on_demand: input.on_demand,
                });
                continue;
            }
            Content::File(path) => (Some(path), read(path)?.into()),
            Content::Read(path, bytes) => (Some(path), bytes.clone()),
            Content::Bytes(bytes) => (None, bytes.clone()),
        };
        // As for hosts' linkers: members of an archive count where a symbol of theirs is needed.
        let on_demand = input.on_demand || is_archive(&bytes) && !input.whole_archive;
        let limits = Limits::default();
        let at = path.map_or(Path::new(""), PathBuf::as_path);
        let mut thin = ThinMembers::of(at, &bytes, location.clone(), None, &limits);
        // No thin archive, or a damaged one, which names none: `modules` says what is wrong.
        if thin.is_empty() {
            sources.push(Source {
                location,
                path: path.cloned(),
                code: SourceCode::File(bytes),
                input: number,
                on_demand,
            });
        }
        while let Some(member) = thin.next() {
            let bytes = read_member(&member.path)?;
            if !thin.enter(&member, &bytes) {
                sources.push(Source {
                    location: member.location,
                    path: Some(member.path),
                    code: SourceCode::File(bytes.into()),
                    input: number,
                    on_demand,
                });
            }
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

/// Reads a file that an archive names, which could mean a device or a pipe: reading that might never end.
fn read_member(path: &Path) -> Result<Vec<u8>, ReadError> {
    let content = files::open_regular(path).map_err(|error| ReadError::Unreadable {
        path: path.to_owned(),
        error: io::Error::other(error.reason()),
    })?;
    Ok(content.to_vec())
}

fn is_archive(bytes: &[u8]) -> bool {
    ImageFormat::detect(bytes) == ImageFormat::Archive
}

/// The device code in the sources, in order.
pub fn modules<'a>(sources: impl IntoIterator<Item = &'a Source<'a>>) -> Result<Vec<Module<'a>>, ReadError> {
    let mut modules = Vec::new();
    for source in sources {
        let bytes = match &source.code {
            SourceCode::File(bytes) => bytes,
            SourceCode::Image(image) => {
                modules.push(Module {
                    is_file: false,
                    ..module(source, (*image).clone())?
                });
                continue;
            }
        };
        let contents = offkit_object::read(source.location.file(), bytes, &Limits::default());
        // Unlike a listing, a link cannot do with what is left of a file.
        if let Some(mut problem) = contents.problems.into_iter().next() {
            problem.location = source.location.join_inside(&problem.location);
            return Err(ReadError::Damaged(Box::new(problem)));
        }
        // The abstract module of a SYCLBIN that the last images were of, if it has IR, and where that is.
        let mut open: Option<(String, usize)> = None;
        // What a container has for the host is no device code, whatever it is.
        let for_devices = |image: &DeviceImage<'_>| image.producer != Producer::Host;
        for image in contents.images.into_iter().filter(for_devices) {
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
                check(source, &image)?;
                module.natives.push(image);
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

/// Unpacks an image; an error says which one cannot be.
fn check(source: &Source<'_>, image: &DeviceImage<'_>) -> Result<(), ReadError> {
    // The code's own error: that of the image tells a place in a container, which the location tells better.
    let unpacked = image.code.bytes().map_err(|error| {
        let location = source.location.join_inside(&image.location);
        ReadError::Damaged(Box::new(Problem::new(location, error)))
    });
    unpacked.map(drop)
}

fn module<'a>(source: &Source<'_>, mut image: DeviceImage<'a>) -> Result<Module<'a>, ReadError> {
    check(source, &image)?;
    let shown = image.inspect(&Limits::default());
    let abi = Abi::of(shown);
    let mut target = completed_target(&image.target, &shown.target, image.format);
    // `generic` would keep the processor that the code itself names from counting.
    if target.processor().is_empty() {
        target.arch.clear();
        if target.family().needs_processor() {
            target.arch.clone_from(&shown.target.arch);
        }
    }
    image.target = target;
    let is_file = image.location.is_file();
    Ok(Module {
        natives: Vec::new(),
        label: source.location.join_inside(&image.location).to_string(),
        input: source.input,
        // Of a part of a file the path would lead to more than the image's bytes.
        path: source.path.clone().filter(|_| is_file),
        on_demand: source.on_demand,
        is_left_out: false,
        is_file: is_file && !source.on_demand,
        is_library: false,
        found_for: None,
        abi,
        image,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_thin_archive_that_names_a_device_is_refused_and_not_read_for_ever() {
        let name = "/dev/zero/";
        let table = format!("//{:<46}{:<10}`\n{name}\n\n", "", name.len() + 2);
        let member = format!("/0{:<46}{:<10}`\n", "", 4);
        let archive = format!("!<thin>\n{table}{member}");
        let inputs = [Input::read_file("libx.a", archive.as_bytes())];
        let error = sources(&inputs).unwrap_err().to_string();
        assert_eq!(error, "cannot read `/dev/zero`: not a regular file");
    }

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
        let ir = IrModule::new(IrType::SPIRV, "spirv64-unknown-unknown", spirv.as_slice());
        with_ir.ir_modules.push(ir);
        let mut program = SyclBin::new(BundleState::Object);
        program.modules = vec![alone, with_ir];
        let bytes = program.write(SyclBinVersion::V1).unwrap();
        let inputs = [Input::bytes("a.syclbin", bytes)];
        let sources = sources(&inputs).unwrap();
        let modules = modules(&sources).unwrap();
        let found: Vec<_> = (modules.iter())
            .map(|module| (module.image.target.arch.as_str(), module.natives.len()))
            .collect();
        assert_eq!(found, [("intel_gpu_pvc", 0), ("intel_gpu_dg2", 0), ("", 2)]);
    }
}
