//! What the files on a command line are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::Files;
use crate::arguments::{Argument, Role};
use offkit_image::Family;

/// An input, and what is to be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// The language that an `-x` before it gave.
    pub language: Option<String>,
    /// What it is.
    pub kind: InputKind,
    /// Of a module of LLVM's representation, the triple that it says it is for.
    pub triple: Option<String>,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// C++ and C: compiled for the host and for devices.
    Shared,
    /// OpenCL C or C++ for OpenCL: compiled for devices, in that version of the language unless another is
    /// asked for.
    Device(&'static str),
    /// LLVM's representation of device code: it needs no compiler.
    DeviceBitcode,
    /// Device code that was linked or generated before: a SYCLBIN, an offload binary, SPIR-V.
    DeviceImages,
    /// Anything else that clang compiles: for the host only.
    Host,
    /// A shared library: its device code is its own business.
    SharedLibrary,
    /// An object or archive, or a file that the linker knows.
    Linkable,
}

impl InputKind {
    /// Whether a compiler has to make an object of it.
    pub fn is_compiled(self) -> bool {
        matches!(
            self,
            Self::Shared | Self::Device(_) | Self::DeviceBitcode | Self::Host
        )
    }
}

/// What can be learnt of a file by looking into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A module of LLVM's representation, for that triple.
    Module(String),
    /// A container of device images or a device image.
    DeviceImages,
    /// Something else, or no file.
    Unknown,
}

/// The inputs of a command line, in order.
pub fn inputs(arguments: &[Argument], files: &dyn Files) -> Vec<Input> {
    let inputs = arguments.iter().filter_map(|argument| match &argument.role {
        Role::Input(language) => Some((argument.words.first()?, language)),
        _ => None,
    });
    inputs
        .map(|(word, language)| {
            let path = PathBuf::from(word);
            let kind = kind(&path, language.as_deref(), files);
            let is_module = kind == InputKind::DeviceBitcode;
            let triple = match is_module.then(|| files.look(&path)) {
                Some(Content::Module(triple)) if !triple.is_empty() => Some(triple),
                _ => None,
            };
            Input {
                path,
                language: language.clone(),
                kind,
                triple,
            }
        })
        .collect()
}

fn kind(path: &Path, language: Option<&str>, files: &dyn Files) -> InputKind {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    // The names of languages that `-x` takes are those of clang.
    let language = language.unwrap_or(match extension {
        "cpp" | "cc" | "cxx" | "c++" | "cp" | "C" | "CC" | "CPP" | "CXX" | "cppm" => "c++",
        "c" => "c",
        "cl" => "cl",
        "clcpp" => "clcpp",
        "bc" | "ll" => "ir",
        // Which of them does not matter here.
        "i" | "ii" | "m" | "mm" | "M" | "mi" | "mii" | "s" | "S" | "asm" | "h" | "hpp" => "another",
        _ => "",
    });
    match language {
        "c++" | "c" => InputKind::Shared,
        // clang's own choices are older: OpenCL C 1.2, and C++ for OpenCL 1.0.
        "cl" => InputKind::Device("CL3.0"),
        "clcpp" => InputKind::Device("CLC++2021"),
        "ir" => match files.look(path) {
            Content::Module(triple) if !triple.is_empty() && !Family::of(&triple).is_device() => {
                InputKind::Host
            }
            // Also one that says no triple, or is not there yet: a command for offloading is more
            // likely to be about device code.
            _ => InputKind::DeviceBitcode,
        },
        "" => match extension {
            "o" | "obj" | "a" | "lib" => InputKind::Linkable,
            "syclbin" | "spv" => InputKind::DeviceImages,
            "so" | "dll" | "dylib" => InputKind::SharedLibrary,
            // Such as `libm.so.6`, whose extension is a number.
            _ if path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().contains(".so.")) =>
            {
                InputKind::SharedLibrary
            }
            _ => match files.look(path) {
                Content::Module(triple) if Family::of(&triple).is_device() => InputKind::DeviceBitcode,
                Content::DeviceImages => InputKind::DeviceImages,
                _ => InputKind::Linkable,
            },
        },
        _ => InputKind::Host,
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoFiles;
    use super::*;

    /// Every file has the same content.
    struct Holds(Content);

    impl Files for Holds {
        fn look(&self, _: &Path) -> Content {
            self.0.clone()
        }
    }

    #[test]
    fn files_are_known_by_their_names() {
        for (name, expected) in [
            ("a.cpp", InputKind::Shared),
            ("a.cl", InputKind::Device("CL3.0")),
            ("a.clcpp", InputKind::Device("CLC++2021")),
            ("a.bc", InputKind::DeviceBitcode),
            ("a.c", InputKind::Shared),
            ("a.S", InputKind::Host),
            ("a.o", InputKind::Linkable),
            ("a.syclbin", InputKind::DeviceImages),
            ("libx.so.1.2", InputKind::SharedLibrary),
            ("script.ld", InputKind::Linkable),
        ] {
            assert_eq!(kind(Path::new(name), None, &NoFiles), expected, "{name}");
        }
        assert_eq!(
            kind(Path::new("a.txt"), Some("cl"), &NoFiles),
            InputKind::Device("CL3.0")
        );
        assert_eq!(
            kind(Path::new("a.cpp"), Some("assembler"), &NoFiles),
            InputKind::Host
        );
    }

    #[test]
    fn bitcode_is_known_by_its_triple() {
        let host = Holds(Content::Module("x86_64-pc-linux-gnu".into()));
        let device = Holds(Content::Module("spirv64-unknown-unknown".into()));
        assert_eq!(kind(Path::new("a.bc"), None, &host), InputKind::Host);
        assert_eq!(kind(Path::new("a.bc"), None, &device), InputKind::DeviceBitcode);
        assert_eq!(
            kind(Path::new("kernels"), None, &device),
            InputKind::DeviceBitcode
        );
        let images = Holds(Content::DeviceImages);
        assert_eq!(
            kind(Path::new("kernels.out"), None, &images),
            InputKind::DeviceImages
        );
    }
}
