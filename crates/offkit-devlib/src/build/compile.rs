//! The command lines of clang that make a device library.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use offkit_image::target::{Family, HostCpu};
use offkit_object::Target;

use super::Unit;
use crate::manifest::{Language, Manifest, Source};
use crate::processor_options;

/// The options that say what to make code for.
fn target_words(target: &Target) -> Vec<OsString> {
    let mut words = vec![OsString::from(format!("--target={}", target.triple))];
    words.extend(processor_options(target).map(OsString::from));
    words
}

/// Where the host has its headers, and what these expect to be defined. The C library's declare the functions that a
/// device library may call; clang compiles code of CUDA, HIP and OpenMP for devices with the same.
#[derive(Debug, Default)]
pub(super) struct Headers {
    c: Vec<OsString>,
    cxx: Vec<OsString>,
    macros: Vec<OsString>,
}

impl Headers {
    /// Those that clang finds for the host; none where it says nothing of them.
    pub(super) fn of(clang: &Path) -> Self {
        let said = |language: &str| {
            let mut command = Command::new(clang);
            // With `-v` the preprocessor lists its folders before it reads anything; there is
            // nothing to read.
            command
                .args(["-x", language, "-E", "-v", "-"])
                .stdin(Stdio::null());
            let output = command.output().map(|output| output.stderr).unwrap_or_default();
            String::from_utf8_lossy(&output).into_owned()
        };
        let c = said("c");
        let target = c.lines().find_map(|line| line.strip_prefix("Target: "));
        let target = target
            .map(|triple| Target::new(triple.trim(), ""))
            .unwrap_or_default();
        let mut macros = Vec::new();
        // Without it glibc takes the host for one of 32 bits, and includes `gnu/stubs-32.h`, which
        // is there only where 32-bit development files are.
        if target.family() == Family::Host(HostCpu::X86_64) {
            macros.push("-D__x86_64__".into());
        }
        if target.triple.contains("linux") {
            macros.extend(["-D__ELF__", "-D__linux__", "-D__gnu_linux__"].map(OsString::from));
        }
        Self {
            c: folders_of(&c),
            cxx: folders_of(&said("c++")),
            macros,
        }
    }

    /// The options for a source in that language.
    fn words(&self, language: Language) -> Vec<OsString> {
        let folders = match language {
            Language::C => &self.c,
            Language::Cxx => &self.cxx,
            Language::OpenCl => return Vec::new(),
        };
        if folders.is_empty() {
            return Vec::new();
        }
        // clang's own headers are among the folders, in the place that they have for the host.
        let mut words: Vec<OsString> = vec!["-nostdinc".into()];
        for folder in folders {
            words.extend(["-isystem".into(), folder.clone()]);
        }
        words.extend(self.macros.iter().cloned());
        if language == Language::Cxx {
            // As clang for the host: the C++ library's headers need it.
            words.push("-D_GNU_SOURCE".into());
        }
        words
    }
}

/// The folders of headers that `clang -v` lists.
fn folders_of(said: &str) -> Vec<OsString> {
    let listed = said.split_once("#include <...> search starts here:\n");
    let listed = listed.and_then(|(_, rest)| rest.split_once("End of search list."));
    let lines = listed.map_or("", |(list, _)| list).lines();
    lines.map(|line| line.trim().into()).collect()
}

/// The folders in which a command looks for headers that its inputs include, those of the system aside.
pub(super) fn header_folders(words: &[OsString], inputs: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = inputs
        .iter()
        .filter_map(|path| path.parent())
        .map(Path::to_owned)
        .collect();
    let mut words = words.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if ["-I", "-iquote"].contains(&word) {
            folders.extend(words.next().map(PathBuf::from));
        } else if let Some(folder) = word.strip_prefix("-I").or_else(|| word.strip_prefix("-iquote")) {
            folders.push(folder.into());
        }
    }
    folders
}

/// The command that compiles a source to bitcode, without its output.
pub(super) fn words(
    manifest: &Manifest,
    unit: &Unit<'_>,
    source: &Source,
    headers: &Headers,
) -> Vec<OsString> {
    let mut words = vec!["-x".into(), source.language.clang_name().into()];
    words.extend(target_words(unit.target));
    // What the manifest says comes later, and counts.
    words.push("-O2".into());
    if !unit.target.family().is_host() {
        words.extend(headers.words(source.language));
    }
    // Which libraries of vendors are used is for the manifest to say.
    words.extend(["-nogpulib", "-Qunused-arguments"].map(OsString::from));
    words.push(match source.language {
        Language::OpenCl => "-cl-std=CL3.0".into(),
        // A call of `sin` is to stay one: of the intrinsic that clang makes of it where errors are not reported in
        // `errno`, LLVM's back ends for GPUs can make no code.
        Language::C | Language::Cxx => "-fmath-errno".into(),
    });
    for folder in &manifest.include {
        words.extend(["-I".into(), folder.into()]);
    }
    let provider_flags = unit.provider.iter().flat_map(|(provider, _)| &provider.flags);
    let flags = (unit.settings.flags.iter())
        .chain(manifest.languages.get(&source.language).into_iter().flatten())
        .chain(provider_flags)
        .chain(unit.variant_flags);
    words.extend(unit.settings.abi.flags().into_iter().map(OsString::from));
    words.extend(flags.map(OsString::from));
    for file in unit.provider.iter().filter_map(|(_, file)| file.as_ref()) {
        let option = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang"];
        words.extend(option.map(OsString::from));
        words.push(file.into());
    }
    words.extend(["-emit-llvm", "-c"].map(OsString::from));
    words.push((&source.path).into());
    words
}

/// The command that makes one module of what was compiled, without its output. The code is not changed any more.
pub(super) fn link_words(unit: &Unit<'_>, objects: &[PathBuf]) -> Vec<OsString> {
    let mut words = target_words(unit.target);
    words.extend(
        [
            "-nogpulib",
            "-Qunused-arguments",
            "-Xclang",
            "-disable-llvm-passes",
        ]
        .map(OsString::from),
    );
    let [first, others @ ..] = objects else {
        return words;
    };
    for object in others {
        words.extend(["-Xclang", "-mlink-bitcode-file", "-Xclang"].map(OsString::from));
        words.push(object.into());
    }
    words.extend(["-x", "ir", "-emit-llvm", "-c"].map(OsString::from));
    words.push(first.into());
    words
}

/// The name of what a source is compiled to: sources of one name may be in several folders, or be compiled in two
/// languages.
pub(super) fn object_name(source: &Source) -> String {
    // Its keys are fixed, so that the name is the same in every build.
    let mut hasher = DefaultHasher::new();
    (&source.path, source.language.name()).hash(&mut hasher);
    let name = source.path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}-{:08x}.bc", hasher.finish() >> 32)
}
