//! The command lines of clang that make a device library.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;

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

/// The command that compiles a source to bitcode, without its output.
pub(super) fn words(manifest: &Manifest, unit: &Unit<'_>, source: &Source) -> Vec<OsString> {
    let mut words = vec!["-x".into(), source.language.clang_name().into()];
    words.extend(target_words(unit.target));
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
    let mut hasher = DefaultHasher::new();
    (&source.path, source.language.name()).hash(&mut hasher);
    let name = source.path.file_name().unwrap_or_default().to_string_lossy();
    format!("{name}-{:08x}.bc", hasher.finish() >> 32)
}
