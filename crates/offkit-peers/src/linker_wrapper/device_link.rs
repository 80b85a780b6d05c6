//! The device link of one target: here where that is possible, else by `clang`, which knows the linker of every target.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_image::target::{Family, HostCpu, Triple};
use offkit_link::device_link::LinkError;
use offkit_object::{ContainerKind, DeviceImage, ImageFormat, Limits, Producer, Target, read};

use super::commands::Commands;
use super::error::{Error, Result};
use super::inputs::TargetInput;
use super::options::{Meaning, Options};
use super::own_link::{self, OwnLink};

/// Code that was linked for a target.
pub(super) struct Linked {
    /// The languages whose code went in.
    pub(super) producers: Vec<Producer>,
    /// The images: one, but for what SYCL's linker in a compiler writes; none of code without kernels.
    pub(super) images: Vec<ImageFile>,
}

/// An image that was linked, and the file that it has in command lines.
#[derive(Clone)]
pub(super) struct ImageFile {
    pub(super) image: DeviceImage<'static>,
    pub(super) file: PathBuf,
    /// Whether the file is there.
    pub(super) is_written: bool,
}

/// Every language, in the order of its number.
const PRODUCERS: [Producer; 4] = [Producer::OpenMp, Producer::Cuda, Producer::Hip, Producer::Sycl];

/// The link for one target.
pub(super) struct TargetLink<'a> {
    /// The target of what is linked, without an architecture for code that is for none.
    pub(super) target: Target,
    pub(super) input: &'a TargetInput<'a>,
    pub(super) options: &'a Options,
    pub(super) commands: &'a Commands,
    executable: &'a str,
    /// What the names of the files behind that of the program begin with.
    pub(super) base: String,
    /// The image's file.
    pub(super) output: PathBuf,
    /// What was given for the device's linker and compiler.
    pub(super) for_linker: Vec<String>,
    pub(super) for_compiler: Vec<String>,
}

/// Links the code of one target.
pub(super) fn link(
    input: &TargetInput<'_>,
    options: &Options,
    commands: &Commands,
    executable: &str,
) -> Result<Linked> {
    let mut target = input.target.clone();
    // Containers say `generic` where they mean no processor, which no compiler would know by that
    // name.
    target.arch = input.target.processor().into();
    check_target(&target)?;
    let is_there = |producer: &Producer| input.files.iter().any(|file| file.image.producer == *producer);
    let producers: Vec<_> = PRODUCERS.into_iter().filter(is_there).collect();
    let is_sycl = producers.contains(&Producer::Sycl);
    if is_sycl && producers.len() > 1 {
        return Err(Error::SyclWithOthers);
    }
    let base = format!(
        ".{}.{}",
        in_file_name(target.parts().architecture()),
        in_file_name(&target.arch_with_features())
    );
    let name = Path::new(executable).file_name().unwrap_or_default();
    let for_target = |everywhere: &[String], given: &[String]| -> Vec<String> {
        let given = given
            .iter()
            .filter_map(|argument| of_target(argument, &target.triple));
        everywhere.iter().cloned().chain(given).collect()
    };
    let link = TargetLink {
        input,
        options,
        commands,
        executable,
        output: commands.file(&format!("{}{base}", name.to_string_lossy()), "img")?,
        base,
        for_linker: for_target(&options.linker_arguments, &options.device_linker),
        for_compiler: for_target(&options.compiler_arguments, &options.device_compiler),
        target,
    };
    // A dry run shows what LLVM's tool would run, which scripts and its tests look for.
    let here = match (commands.is_dry(), is_sycl) {
        (true, _) => None,
        (false, true) => own_link::link_sycl(&link)?,
        (false, false) => match link.without_compiler() {
            // clang gives files without regions device code all the same: there is nothing in it to be registered.
            Err(Error::Link(LinkError::NothingToLink { .. })) if !options.fatbin_only => {
                return Ok(Linked {
                    producers,
                    images: Vec::new(),
                });
            }
            linked => linked?,
        },
    };
    let images = match here {
        Some(image) => {
            commands.keep(&link.output, image.bytes()?)?;
            vec![ImageFile {
                image,
                file: link.output,
                is_written: options.save_temps,
            }]
        }
        None => link.by_clang(is_sycl)?,
    };
    Ok(Linked { producers, images })
}

impl TargetLink<'_> {
    fn without_compiler(&self) -> Result<Option<DeviceImage<'static>>> {
        let Some(link) = OwnLink::new(self) else {
            return Ok(None);
        };
        let folder = format!("{}{}.temps", self.executable, self.base);
        link.run(folder.as_ref())
    }

    fn by_clang(&self, is_sycl: bool) -> Result<Vec<ImageFile>> {
        let Self {
            target,
            options,
            commands,
            executable,
            base,
            output,
            ..
        } = self;
        let family = target.family();
        let (triple, arch) = (&target.triple, target.arch_with_features());
        let mut files = Vec::new();
        for file in &self.input.files {
            let arch = in_file_name(&self.input.target.arch_with_features());
            let stem = format!("{}-{}-{arch}", file.origin.stem, in_file_name(triple));
            let path = commands.file(&stem, "o")?;
            commands.write(&path, file.image.bytes()?)?;
            files.push(path);
        }
        let clang = commands.find("clang", &[])?;
        let mut arguments = Arguments::default();
        arguments.add("--no-default-config");
        arguments.add("-o");
        arguments.add(output);
        // What the compiler leaves beside its output belongs beside the program.
        arguments.add("-dumpdir");
        arguments.add(format!("{executable}{base}.img."));
        arguments.add(format!("--target={triple}"));
        if !arch.is_empty() {
            arguments.add(format!("{}={arch}", family.clang_processor_option()));
        }
        // Code for AMD comes as bitcode, which its linker is to compile.
        if family == Family::Amdgcn {
            arguments.add("-flto");
        }
        for (option, _) in &options.llvm {
            arguments.for_linker(&format!("--plugin-opt={option}"));
        }
        // Those two have linkers of their own, which do not know the option.
        if !family.is_nvptx() && !family.is_spirv() {
            arguments.add("-Wl,--no-undefined");
        }
        for file in files {
            arguments.add(file);
        }
        // It is loaded into the process of its host, whose symbols of the same names must not take
        // the place of its own.
        if !is_gpu(family) {
            arguments.add("-Wl,-Bsymbolic");
            arguments.add("-shared");
            arguments.0.extend(host_libraries(options, "-Wl,"));
        }
        for (option, _) in options.llvm.iter().filter(|(_, in_compiler)| *in_compiler) {
            arguments.for_linker(&format!("-mllvm={option}"));
        }
        if options.save_temps && does_lto(family) {
            arguments.add("-Wl,--save-temps");
        }
        if options.embed_bitcode {
            arguments.add("-Wl,--lto-emit-llvm");
        }
        if is_sycl {
            arguments.add("--sycl-link");
            arguments.for_linker(&format!("-triple={triple}"));
            arguments.for_linker(&format!("-arch={arch}"));
        }
        for argument in &self.for_linker {
            arguments.for_linker(argument);
        }
        for argument in &self.for_compiler {
            arguments.add(argument);
        }
        commands.run(&clang, &arguments.0)?;
        let bytes = commands.read(output)?;
        let images = match is_sycl && !commands.is_dry() {
            true => self.of_sycl(&bytes)?,
            false => Vec::new(),
        };
        let file = |image| ImageFile {
            image,
            file: output.clone(),
            is_written: true,
        };
        if !images.is_empty() {
            return Ok(images.into_iter().map(file).collect());
        }
        let mut image = DeviceImage::new(bytes);
        image.target = target.clone();
        // What the module shows where nothing was linked.
        match is_sycl {
            _ if !commands.is_dry() => {}
            true => {
                image.target = Target::default();
                image.kernels.push("stub".into());
            }
            false => image.format = ImageFormat::Elf,
        }
        Ok(vec![file(image)])
    }

    /// The images that SYCL's linker put into an offload binary; none if it wrote something else.
    fn of_sycl(&self, bytes: &[u8]) -> Result<Vec<DeviceImage<'static>>> {
        let contents = read(&self.output.to_string_lossy(), bytes, &Limits::default());
        if let Some(problem) = contents.problems.into_iter().next() {
            return Err(Error::Damaged(Box::new(problem)));
        }
        if contents.container != ContainerKind::OffloadBinary {
            say!("warning: SYCL's device linker wrote no offload binary");
            return Ok(Vec::new());
        }
        Ok(contents.images.into_iter().map(DeviceImage::into_owned).collect())
    }
}

/// The libraries of the host's link, as arguments that a compiler passes on behind `prefix`: a device that is a CPU may
/// need them, too.
pub(super) fn host_libraries(options: &Options, prefix: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for argument in &options.linker {
        match &argument.meaning {
            Meaning::WholeArchive(true) => words.push(format!("{prefix}--whole-archive").into()),
            Meaning::WholeArchive(false) => words.push(format!("{prefix}--no-whole-archive").into()),
            // An object is the host's own code, and no library of a device.
            Meaning::Input(path) if !is_library(path) => {}
            Meaning::Input(_) | Meaning::Library(_) | Meaning::LibraryPath(_) | Meaning::RunPath => {
                words.extend(argument.words.iter().cloned());
            }
            Meaning::Output | Meaning::Other => {}
        }
    }
    words
}

#[derive(Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add(&mut self, argument: impl Into<OsString>) {
        self.0.push(argument.into());
    }

    fn for_linker(&mut self, argument: &str) {
        self.add("-Xlinker");
        self.add(argument);
    }
}

/// Whether a file is an archive or a shared library, by its first bytes.
fn is_library(path: &Path) -> bool {
    use std::io::Read;
    // As far as the type of an ELF file, which is at 16.
    let mut start = [0; 18];
    let is_read =
        path.is_file() && std::fs::File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok());
    const SHARED: [u8; 2] = [3, 0];
    is_read
        && (start.starts_with(b"!<arch>\n")
            || start.starts_with(b"!<thin>\n")
            || (start.starts_with(b"\x7fELF") && start.ends_with(&SHARED)))
}

/// An argument that may be for one target alone, `TRIPLE=ARGUMENT`, if it is for this one.
fn of_target(argument: &str, triple: &str) -> Option<String> {
    match argument.split_once('=') {
        // The original passes the word itself on, for every target.
        Some((target, "")) if Triple::new(target).has_known_architecture() => Some(target.to_owned()),
        Some((target, value)) if Triple::new(target).has_known_architecture() => {
            (target == triple).then(|| value.to_owned())
        }
        _ => Some(argument.to_owned()),
    }
}

/// Whether code can be linked for a target, by `clang-linker-wrapper`'s list.
fn check_target(target: &Target) -> Result<()> {
    let is_linked = match target.family() {
        Family::Spirv64 | Family::Nvptx32 | Family::Nvptx64 | Family::Amdgcn => true,
        Family::Host(cpu) => !matches!(cpu, HostCpu::Arm | HostCpu::Riscv32 | HostCpu::Riscv64),
        _ => false,
    };
    match is_linked {
        true => Ok(()),
        false => Err(Error::Architecture(target.parts().architecture().to_owned())),
    }
}

/// A part of a target as names of files have it: containers name targets, and what they say must not lead to other
/// folders.
fn in_file_name(part: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "-_+:.".contains(c);
    part.replace(|c| !is_safe(c), "_")
}

fn is_gpu(family: Family) -> bool {
    does_lto(family) || family.is_spirv()
}

/// Whether the target's linker compiles bitcode.
fn does_lto(family: Family) -> bool {
    family == Family::Amdgcn || family.is_nvptx()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_in_names_of_files_lead_nowhere_else() {
        assert_eq!(in_file_name("gfx90a:sramecc+:xnack-"), "gfx90a:sramecc+:xnack-");
        assert_eq!(in_file_name("amdgcn-amd-amdhsa"), "amdgcn-amd-amdhsa");
        assert_eq!(in_file_name("/../../etc/x"), "_.._.._etc_x");
    }

    #[test]
    fn arguments_may_be_for_one_target() {
        let nvidia = "nvptx64-nvidia-cuda";
        assert_eq!(of_target("foo=bar", nvidia).as_deref(), Some("foo=bar"));
        assert_eq!(of_target("-lm", nvidia).as_deref(), Some("-lm"));
        assert_eq!(
            of_target("nvptx64-nvidia-cuda=-lm", nvidia).as_deref(),
            Some("-lm")
        );
        assert_eq!(
            of_target("nvptx64-nvidia-cuda=a=b", nvidia).as_deref(),
            Some("a=b")
        );
        assert_eq!(of_target("amdgcn-amd-amdhsa=-lm", nvidia), None);
    }
}
