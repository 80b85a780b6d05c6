//! The device link of one target: here where that is possible, else by `clang`, which knows the linker of every target.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use offkit_image::target::{Family, HostCpu, Target, Triple};
use offkit_object::OffloadKind;

use super::commands::Commands;
use super::inputs::TargetInput;
use super::options::{Meaning, Options};
use super::own_link::{self, OwnLink};

/// Code that was linked for a target.
pub(super) struct LinkedImage {
    /// The languages whose code went in.
    pub(super) kinds: Vec<OffloadKind>,
    pub(super) target: Target,
    pub(super) file: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// Every language, in the order of its number.
const KINDS: [OffloadKind; 4] = [
    OffloadKind::OpenMp,
    OffloadKind::Cuda,
    OffloadKind::Hip,
    OffloadKind::Sycl,
];

/// Links the code of one target.
pub(super) fn link(
    input: &TargetInput<'_>,
    options: &Options,
    commands: &Commands,
    executable: &str,
) -> Result<LinkedImage, String> {
    let mut target = input.target.clone();
    target.arch = input.target.processor().into();
    check_target(&target)?;
    let family = target.family();
    let (triple, arch) = (target.triple.as_str(), target.arch_with_features());
    let kinds: Vec<_> = KINDS
        .into_iter()
        .filter(|kind| input.files.iter().any(|file| file.kind == *kind))
        .collect();
    let is_sycl = kinds.contains(&OffloadKind::Sycl);
    if is_sycl && kinds.len() > 1 {
        return Err(
            "Linking images of SYCL offload kind with images of any other kind is not supported".into(),
        );
    }
    let mut files = Vec::new();
    for file in &input.files {
        let path = commands.file(
            &format!(
                "{}-{triple}-{}",
                file.origin.stem,
                input.target.arch_with_features()
            ),
            "o",
        )?;
        commands.write(&path, &file.image)?;
        files.push(path);
    }

    let base = format!(".{}.{arch}", target.parts().architecture());
    let name = Path::new(executable).file_name().unwrap_or_default();
    let output = commands.file(&format!("{}{base}", name.to_string_lossy()), "img")?;
    let for_target = |everywhere: &[String], given: &[String]| -> Vec<String> {
        let given = given.iter().filter_map(|argument| of_target(argument, triple));
        everywhere.iter().cloned().chain(given).collect()
    };
    let for_linker = for_target(&options.linker_arguments, &options.device_linker);
    let for_compiler = for_target(&options.compiler_arguments, &options.device_compiler);
    let linked = |bytes| LinkedImage {
        kinds: kinds.clone(),
        target: target.clone(),
        bytes,
        file: output.clone(),
    };
    if !commands.is_dry() {
        if is_sycl {
            if own_link::link_sycl(&target, &files, &output, &for_compiler, &for_linker, commands)? {
                return Ok(linked(commands.read(&output)?));
            }
        } else if let Some(link) = OwnLink::new(&target, &input.files, options, &for_compiler, &for_linker)
            && let Some(bytes) = link.run(&output, format!("{executable}{base}.temps").as_ref(), commands)?
        {
            commands.write(&output, &bytes)?;
            return Ok(linked(bytes));
        }
    }

    let clang = commands.find("clang", &[])?;
    let mut arguments = Arguments::default();
    arguments.add("--no-default-config");
    arguments.add("-o");
    arguments.add(&output);
    // What the compiler leaves beside its output belongs beside the program.
    arguments.add("-dumpdir");
    arguments.add(format!("{executable}{base}.img."));
    arguments.add(format!("--target={triple}"));
    if !arch.is_empty() {
        arguments.add(format!("{}={arch}", family.clang_processor_option()));
    }
    if family == Family::Amdgcn {
        arguments.add("-flto");
    }
    for (option, _) in &options.llvm {
        arguments.for_linker(&format!("--plugin-opt={option}"));
    }
    if !family.is_nvptx() && !family.is_spirv() {
        arguments.add("-Wl,--no-undefined");
    }
    for file in files {
        arguments.add(file);
    }
    if !is_gpu(family) {
        arguments.add("-Wl,-Bsymbolic");
        arguments.add("-shared");
        arguments.add_libraries(options);
    }
    for (option, _) in options.llvm.iter().filter(|(_, is_for_clang)| *is_for_clang) {
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
    for argument in &for_linker {
        arguments.for_linker(argument);
    }
    for argument in &for_compiler {
        arguments.add(argument);
    }
    commands.run(&clang, &arguments.0)?;
    Ok(linked(commands.read(&output)?))
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

    /// The host's libraries: a device that is a CPU may need them, too.
    fn add_libraries(&mut self, options: &Options) {
        for argument in &options.linker {
            match &argument.meaning {
                Meaning::WholeArchive(true) => self.add("-Wl,--whole-archive"),
                Meaning::WholeArchive(false) => self.add("-Wl,--no-whole-archive"),
                Meaning::Input(path) if !is_library(path) => {}
                Meaning::Input(_) | Meaning::Library(_) | Meaning::LibraryPath(_) | Meaning::RunPath => {
                    self.0.extend(argument.words.iter().cloned());
                }
                Meaning::Output | Meaning::Other => {}
            }
        }
    }
}

/// Whether a file is an archive or a shared library, by its first bytes.
pub(super) fn is_library(path: &Path) -> bool {
    use std::io::Read;
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
        Some((target, "")) if Triple::new(target).has_known_architecture() => Some(target.to_owned()),
        Some((target, value)) if Triple::new(target).has_known_architecture() => {
            (target == triple).then(|| value.to_owned())
        }
        _ => Some(argument.to_owned()),
    }
}

/// Whether code can be linked for a target, by `clang-linker-wrapper`'s list.
fn check_target(target: &Target) -> Result<(), String> {
    let is_linked = match target.family() {
        Family::Spirv64 | Family::Nvptx32 | Family::Nvptx64 | Family::Amdgcn => true,
        Family::Host(cpu) => !matches!(cpu, HostCpu::Arm | HostCpu::Riscv32 | HostCpu::Riscv64),
        _ => false,
    };
    match is_linked {
        true => Ok(()),
        false => Err(format!(
            "{} linking is not supported",
            target.parts().architecture()
        )),
    }
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
