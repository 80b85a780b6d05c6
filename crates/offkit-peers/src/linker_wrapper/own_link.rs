//! The device link of one target by offkit itself, without a compiler.
//!
//! Bitcode and objects for AMD's devices and for those that are a host's processor are linked here, and so is bitcode
//! for NVIDIA's devices and for SPIR-V, and SYCL's. To `clang` go objects whose linkers are others' (NVIDIA's, and
//! `spirv-link`), hosts without ELF, arguments that only a compiler understands, and bitcode that is to stay such.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

use offkit_devlib::Search;
use offkit_host::files;
use offkit_image::target::{Family, System};
use offkit_link::device_link::{DeviceLink, Input, LinkError};
use offkit_llvm::Source;
use offkit_object::{DeviceImage, ImageFormat};

use super::device_link::{TargetLink, host_libraries};
use super::error::{Error, Result};
use super::inputs::{in_folders, in_sysroot, program};
use super::options::{Argument, Meaning, Options};
use crate::options::Asked;
use crate::sycl_linker;

/// What to link, and how.
pub(super) struct OwnLink<'a> {
    of: &'a TargetLink<'a>,
    /// Files that the arguments for the device's linker name.
    libraries: Vec<PathBuf>,
    /// The libraries of the host's link, which may be there for the device, too, and where they are looked for.
    named_libraries: Vec<String>,
    search: Search,
    /// Whether what is needed besides comes from the libraries of offkit.
    default_libraries: bool,
    linker: Vec<OsString>,
    backend: Vec<String>,
    optimization: u8,
    /// Whether intermediate files stay.
    keeps: bool,
}

impl<'a> OwnLink<'a> {
    /// The link, if it can be done here: the target must be one for it, and so must be all that there is for the
    /// device's compiler and linker.
    pub(super) fn new(of: &'a TargetLink<'a>) -> Option<Self> {
        let (target, options) = (&of.target, of.options);
        let family = target.family();
        let is_host = family.is_host() && family.is_generated() && target.parts().system() == System::Linux;
        let mut formats = of.input.files.iter().map(|file| file.image.format);
        let links_objects = is_host || family == Family::Amdgcn;
        let is_linked = |format| match format {
            ImageFormat::Bitcode => true,
            ImageFormat::Elf | ImageFormat::Amdgpu => links_objects,
            _ => false,
        };
        if !(links_objects || family.is_nvptx() || family.is_spirv())
            || options.embed_bitcode
            || !formats.all(is_linked)
        {
            return None;
        }
        let mut link = Self {
            of,
            libraries: Vec::new(),
            named_libraries: Vec::new(),
            search: Search::default(),
            default_libraries: false,
            linker: Vec::new(),
            backend: Vec::new(),
            optimization: DeviceLink::default().optimization,
            keeps: options.save_temps,
        };
        for argument in &of.for_compiler {
            link.take_for_compiler(argument)?;
        }
        for (option, _) in &options.llvm {
            link.take_for_llvm(option);
        }
        if is_host {
            link.linker
                // As `clang` is given the first two, where it links, and adds the third itself.
                .extend(["--no-undefined", "-Bsymbolic", "--eh-frame-hdr"].map(OsString::from));
            link.linker.extend(host_libraries(options, ""));
        }
        link.take_for_linker(&of.for_linker);
        link.find_device_libraries(options);
        let has_libc = |argument: &Argument| argument.meaning == Meaning::Library("c".into());
        if is_host && !options.linker.iter().any(has_libc) {
            link.add_c_library(&options.sysroot)?;
        }
        Some(link)
    }

    /// An argument for the device's compiler, if it means something for a link.
    fn take_for_compiler(&mut self, argument: &str) -> Option<()> {
        if let Some(level) = argument.strip_prefix("-O") {
            self.optimization = level_of(level)?;
        } else if argument.starts_with("-save-temps") || argument.starts_with("--save-temps") {
            self.keeps = true;
        } else if !SAY_NOTHING.iter().any(|option| argument.starts_with(option)) && argument != "-v" {
            return None;
        }
        Some(())
    }

    /// An option of LLVM. The linker gets it, too: it says so if there is none of this name.
    fn take_for_llvm(&mut self, option: &str) {
        self.backend.push(option.to_owned());
        self.linker.extend(["-mllvm".into(), option.into()]);
    }

    /// Has the libraries of the host's link looked for. Of archives the code was taken with that of the other inputs.
    fn find_device_libraries(&mut self, options: &Options) {
        let mut folders = Vec::new();
        for argument in &options.linker {
            match &argument.meaning {
                Meaning::LibraryPath(folder) => folders.push(in_sysroot(folder, &options.sysroot)),
                Meaning::Library(name) if !self.named_libraries.contains(name) => {
                    self.named_libraries.push(name.clone());
                }
                _ => {}
            }
        }
        // Those that come with offkit are for GPUs: what code for a host's processor needs, the process has.
        self.default_libraries = !options.no_default_libraries && !self.of.target.family().is_host();
        if self.default_libraries || !self.named_libraries.is_empty() {
            self.search = Search::on_this_machine(&folders);
            self.search.only_bitcode = true;
        }
    }

    /// The C library and the compiler's, where the host's link does not name them: one that is to be followed by
    /// another does not.
    fn add_c_library(&mut self, sysroot: &Path) -> Option<()> {
        let system = format!("{}-linux-gnu", self.of.target.parts().architecture());
        let folders = [
            format!("usr/lib/{system}"),
            format!("lib/{system}"),
            format!("usr/{system}/lib"),
            "usr/lib64".into(),
            "lib64".into(),
            "usr/lib".into(),
        ];
        let root = match sysroot.as_os_str().is_empty() {
            true => Path::new("/"),
            false => sysroot,
        };
        let folders = folders.map(|folder| root.join(folder));
        self.linker.push("--as-needed".into());
        for name in [":libc.so", ":libgcc_s.so.1"] {
            // Without a C library clang has to link, which may know another place. That of the
            // compiler need not be there: a system of LLVM alone has none.
            match in_folders(name, &folders) {
                Some(path) => self.linker.push(path.into()),
                None if name == ":libc.so" => return None,
                None => {}
            }
        }
        Some(())
    }

    /// The arguments for the device's linker. What is code or a library for a device without a C library of the
    /// host's is linked as device code is; all else is for the linker.
    fn take_for_linker(&mut self, arguments: &[String]) {
        let mut folders: Vec<PathBuf> = Vec::new();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let mut value = |option: &str| match argument.strip_prefix(option)? {
                "" => rest.next().cloned(),
                value => Some(value.to_owned()),
            };
            if argument == "-mllvm" {
                if let Some(option) = rest.next() {
                    self.take_for_llvm(option);
                }
            } else if let Some(option) =
                (argument.strip_prefix("--plugin-opt=")).or(argument.strip_prefix("-plugin-opt="))
            {
                match option.strip_prefix('O').map(level_of) {
                    Some(Some(level)) => self.optimization = level,
                    _ if option.starts_with('-') => self.take_for_llvm(option),
                    _ => self.linker.push(argument.into()),
                }
            } else if let Some(folder) = value("-L") {
                self.linker.push(format!("-L{folder}").into());
                folders.push(folder.into());
            } else if let Some(name) = value("-l") {
                match in_folders(&name, &folders).filter(|path| self.is_device_code(path)) {
                    Some(path) => self.libraries.push(path),
                    None => self.linker.push(format!("-l{name}").into()),
                }
            } else if !argument.starts_with('-') && self.is_device_code(Path::new(argument)) {
                self.libraries.push(argument.into());
            } else {
                self.linker.push(argument.into());
            }
        }
    }

    /// Whether a file is linked as device code is, and not by the linker for objects: bitcode, and archives for
    /// devices whose code is never a host's.
    fn is_device_code(&self, path: &Path) -> bool {
        let format = |content: files::Content| ImageFormat::detect(&content);
        match files::open(path).map(format) {
            Ok(ImageFormat::Bitcode) => true,
            Ok(ImageFormat::Archive) => self.of.target.family() == Family::Amdgcn,
            _ => false,
        }
    }

    /// Links; `Ok(None)` where the linker for objects is missing. `folder` is for intermediate files, if they are kept.
    pub(super) fn run(&self, folder: &Path) -> Result<Option<DeviceImage<'static>>> {
        let TargetLink {
            target,
            commands,
            output,
            ..
        } = self.of;
        let mut inputs = Vec::new();
        for file in &self.of.input.files {
            let mut image = file.image.clone();
            // What fits the target is linked as code for it, whatever it says that it is for.
            image.target.clone_from(target);
            inputs.push(Input::image(file.origin.label.as_str(), image));
        }
        inputs.extend(self.libraries.iter().cloned().map(Input::file));
        let names: Vec<_> = inputs.iter().map(|input| input.name().to_owned()).collect();
        inputs.extend(self.named_libraries.iter().map(Input::library));
        commands.note(&format!(
            "clang-linker-wrapper: offkit links for {target}: {} -o {}",
            names.join(", "),
            output.display()
        ));
        let link = DeviceLink {
            inputs,
            // Members of archives count like other files, unless what they need is nowhere.
            host_program: Some(program(self.of.input.of_host)),
            search: self.search.clone(),
            default_libraries: self.default_libraries,
            targets: vec![target.clone()],
            // In regions that are not optimised at all, the back end takes lists of pointers for single ones.
            optimization: match target.family().is_spirv() {
                true => self.optimization.max(1),
                false => self.optimization,
            },
            backend_options: self.backend.clone(),
            linker_arguments: self.linker.clone(),
            // NVIDIA's linker leaves nothing open either. Intel's runtime has functions of its own.
            allow_imports: match target.family() {
                family if family.is_nvptx() => false,
                family if family.is_spirv() => !self.default_libraries,
                _ => true,
            },
            keep: self.keeps.then(|| folder.to_owned()),
            ..DeviceLink::default()
        };
        if commands.is_shown() {
            let plan = link.plan()?;
            for command in plan.iter().flat_map(|plan| &plan.commands) {
                // Made in a folder of its own, it becomes this file.
                commands.note(&command.replace("-o 0.out", &format!("-o {}", output.display())));
            }
        }
        let mut step: Option<(&str, Instant)> = None;
        let mut next = |name| {
            let ended = step.replace((name, Instant::now()));
            if let Some((name, start)) = ended {
                commands.trace.note("Device link", name, start, start.elapsed());
            }
        };
        let linked = link.run_alone(&mut next);
        next("end");
        let linked = match linked {
            Ok(linked) => linked,
            Err(LinkError::NoLinker { .. }) => return Ok(None),
            Err(error) => return Err(Error::of_device_link(error, target)),
        };
        for note in &linked.notes {
            say!("clang-linker-wrapper: warning: {note}");
        }
        let mut images = linked.images.into_iter();
        match (images.next(), images.next()) {
            (Some(linked), None) => {
                let mut image = DeviceImage::of_format(linked.code, linked.format);
                image.target = target.clone();
                match image.format {
                    ImageFormat::Ptx => self.assemble(image).map(Some),
                    _ => Ok(Some(image)),
                }
            }
            _ => Err(Error::SeveralImages {
                triple: target.triple.to_string(),
            }),
        }
    }

    /// A cubin of PTX, where there is NVIDIA's assembler; else its driver compiles the PTX when the program runs.
    fn assemble(&self, ptx: DeviceImage<'static>) -> Result<DeviceImage<'static>> {
        let commands = self.of.commands;
        let folder = self.of.options.cuda_path.iter().map(|path| path.join("bin"));
        let Ok(ptxas) = commands.find("ptxas", &folder.collect::<Vec<_>>()) else {
            commands.note("clang-linker-wrapper: there is no `ptxas`: the code stays PTX");
            return Ok(ptx);
        };
        let source = commands.file(&self.of.base, "ptx")?;
        commands.write(&source, ptx.bytes()?)?;
        let words = [
            "-m64".into(),
            "--gpu-name".into(),
            (&*self.of.target.arch).into(),
            format!("-O{}", self.optimization).into(),
            source.into(),
            "--output-file".into(),
            self.of.output.clone().into(),
        ];
        commands.run(&ptxas, &words)?;
        let mut image = DeviceImage::new(commands.read(&self.of.output)?);
        image.target = ptx.target;
        Ok(image)
    }
}

/// The beginnings of options for the device's compiler that say nothing of a link: where a vendor's tools are, the wrapper
/// is told itself.
const SAY_NOTHING: [&str; 4] = ["-flto", "-g", "--cuda-path=", "--rocm-path="];

/// The level of optimisation that `-O` with this behind it means.
fn level_of(text: &str) -> Option<u8> {
    match text {
        "0" => Some(0),
        "" | "1" | "g" => Some(1),
        "2" | "s" | "z" => Some(2),
        // clang takes higher levels for its highest.
        "3" | "4" | "fast" => Some(3),
        _ => None,
    }
}

/// Links SYCL's bitcode, as `clang-sycl-linker` does; `None` if what there is for the device's compiler says something of
/// the link.
pub(super) fn link_sycl(of: &TargetLink<'_>) -> Result<Option<DeviceImage<'static>>> {
    let says_nothing = |argument: &String| argument.starts_with("-O") || argument.starts_with("-g");
    if !of.for_compiler.iter().all(says_nothing) {
        return Ok(None);
    }
    let modules = of.input.files.iter().map(|file| {
        let code = file.image.bytes()?;
        Ok(Source::bytes(file.origin.label.as_str(), code))
    });
    let modules = modules.collect::<Result<Vec<_>>>()?;
    let names: Vec<_> = modules.iter().map(|module| module.name.as_str()).collect();
    let mut words = vec![names.join(", "), format!("-o {}", of.output.display())];
    words.extend(of.for_linker.iter().cloned());
    of.commands.note(&format!(
        "clang-linker-wrapper: offkit links for {}: {}",
        of.target,
        words.join(" ")
    ));
    // What was given for the device's linker is a command line.
    let given = of.for_linker.iter().map(OsString::from).collect();
    let mut link: sycl_linker::Options<'_> =
        match sycl_linker::COMMAND_LINE.read(given, sycl_linker::Options::default()) {
            Ok(Asked::Run(link)) => link,
            // It asks for help.
            Ok(Asked::Show(_)) => return Ok(None),
            Err(errors) => return Err(Error::DeviceLinker(errors)),
        };
    link.inputs.splice(0..0, modules);
    link.output = Some(of.output.clone());
    link.triple = Some(of.target.triple.to_string());
    link.arch = of.target.arch_with_features();
    Ok(Some(link.link()?))
}
