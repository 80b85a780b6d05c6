//! Why device code cannot be linked.

use std::io;
use std::path::PathBuf;

use offkit_image::target::Misfit;
use offkit_llvm::WorkerError;
use offkit_object::{FunctionType, backquoted, describe_symbol};

use crate::post_link::PostLinkError;
use offkit_devlib::code::Module;
use offkit_devlib::manifest::ManifestError;
use offkit_devlib::{AbiClash, ReadError};

/// Why device code cannot be linked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// There is nothing to link.
    #[error("no input files")]
    NoInput,
    /// There is no device code in any input.
    #[error("no device code in {}", backquoted(.inputs))]
    NoDeviceCode {
        /// The inputs.
        inputs: Vec<String>,
    },
    /// An input cannot be read, or is damaged.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Something of a container cannot be read or written.
    #[error(transparent)]
    Object(#[from] offkit_object::Error),
    /// There are neither kernels nor functions for others.
    #[error("nothing to put into an image: no kernel and no exported function in {} (names that start with `__` belong to the compiler and are not exported)", backquoted(.inputs))]
    NothingToLink {
        /// The inputs.
        inputs: Vec<String>,
    },
    /// No input has code for a target.
    #[error("no input has code for `{target}`")]
    NoCode {
        /// The target.
        target: String,
    },
    /// An input has no code for any of the targets.
    #[error("{input}: {misfit}: the code is for `{found}`, expected {expected}")]
    Target {
        /// The input.
        input: String,
        /// What it is for.
        found: String,
        /// What it should be.
        expected: String,
        /// Why it does not fit, for the last of them.
        misfit: Misfit,
    },
    /// Two files are for different targets.
    #[error("{second} cannot be linked with {first}: {misfit} (`{second_target}`, not `{first_target}`)")]
    Conflict {
        /// The first file.
        first: String,
        /// Its target.
        first_target: String,
        /// The file that differs.
        second: String,
        /// Its target.
        second_target: String,
        /// Why they do not go together.
        misfit: Box<Misfit>,
    },
    /// It is not known which processor code is for.
    #[error("no input says which processor of `{triple}` the code is for")]
    NoProcessor {
        /// The target triple.
        triple: String,
        /// A target with one.
        example: &'static str,
    },
    /// There is no code generator for a target.
    #[error("no code can be generated for `{triple}`")]
    NoGenerator {
        /// The target triple.
        triple: String,
    },
    /// Kernels in SPIR-V that there is no code for on a target.
    #[error("{label}: {message}")]
    NotCompiled {
        /// The image.
        label: String,
        /// Which kernel, and why.
        message: String,
    },
    /// An image of a format that is not linked.
    #[error("{label}: {what} is not linked: expected bitcode, SPIR-V or an object for the target")]
    Format {
        /// The image.
        label: String,
        /// What it is.
        what: &'static str,
    },
    /// Bitcode that LLVM cannot read.
    #[error("{message}{}", made_by(.producer, .llvm))]
    Bitcode {
        /// LLVM's words, with the name of the file.
        message: String,
        /// The compiler that made it, as it calls itself.
        producer: Option<String>,
        /// The version of LLVM that reads.
        llvm: String,
    },
    /// Two images define the same symbol.
    #[error("{} is defined in both {first} and {second}", describe_symbol(.symbol))]
    Duplicate {
        /// The symbol.
        symbol: String,
        /// The first image.
        first: String,
        /// The other.
        second: String,
    },
    /// A symbol that nothing supplies, in a link that must be complete.
    #[error("{}{}", .symbols.iter().map(UndefinedSymbol::to_string).collect::<Vec<_>>().join("\n"), looked_at(.libraries))]
    Undefined {
        /// The symbols.
        symbols: Vec<UndefinedSymbol>,
        /// The device libraries that were looked at, for people.
        libraries: Vec<String>,
    },
    /// A function is called as it is not defined, for a target whose linkers refuse that.
    #[error("{0}")]
    Signature(Box<SignatureMismatch>),
    /// What is linked together was compiled for different binary interfaces.
    #[error("{0}")]
    Abi(AbiClash),
    /// The manifest of a device library cannot be used.
    #[error(transparent)]
    Manifest(std::sync::Arc<ManifestError>),
    /// LLVM stopped in the middle of generating code.
    #[error("{}", .0.error)]
    Crashed(Box<Crash>),
    /// The linker that images of this target need is not there.
    #[error("linking for `{triple}` needs LLVM's linker, and `ld.lld` was not found")]
    NoLinker {
        /// The target triple.
        triple: String,
    },
    /// The linker failed.
    #[error("`{command}` failed ({status}){}", .stderr.lines().map(|line| format!("\n    {line}")).collect::<String>())]
    Linker {
        /// What was run.
        command: String,
        /// How it ended.
        status: String,
        /// What it printed.
        stderr: String,
    },
    /// SPIR-V modules do not fit each other.
    #[error(transparent)]
    Spirv(#[from] offkit_spirv::LinkError),
    /// A SPIR-V module that cannot be read.
    #[error("{label}: {error}")]
    Module {
        /// The module.
        label: String,
        /// What is wrong.
        error: offkit_spirv::ReadError,
    },
    /// Modules that have to become one say different things about themselves.
    #[error(
        "{first} and {second} have to be linked into one image, but differ in `{property}` of the property set `{set}`"
    )]
    Property {
        /// The first module.
        first: String,
        /// The other.
        second: String,
        /// The set.
        set: String,
        /// The property.
        property: String,
    },
    /// The constants of a module are larger than their description warrants.
    #[error(
        "{label}: its specialization constants have more than {limit} bytes, and no values that they have at first"
    )]
    LargeConstants {
        /// The module.
        label: String,
        /// How many bytes there may be.
        limit: usize,
    },
    /// The worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The linked bitcode cannot be split into images.
    #[error(transparent)]
    PostLink(PostLinkError),
    /// A temporary file.
    #[error("cannot use a temporary file")]
    Temporary(#[from] io::Error),
    /// A file that was to be kept, or the folder for it.
    #[error("cannot write `{}`, which is to be kept", .path.display())]
    Kept {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// LLVM wrote something that is no SPIR-V module.
    #[error("LLVM generated a module that cannot be read: {0}")]
    Generated(offkit_spirv::ReadError),
}

impl LinkError {
    /// Two modules that do not go together.
    pub(super) fn conflict(first: &Module<'_>, second: &Module<'_>, misfit: Misfit) -> Self {
        Self::Conflict {
            first: first.label.clone(),
            first_target: first.image.target.to_string(),
            second: second.label.clone(),
            second_target: second.image.target.to_string(),
            misfit: Box::new(misfit),
        }
    }
}

impl From<PostLinkError> for LinkError {
    fn from(error: PostLinkError) -> Self {
        match error {
            // As from any other step: hints and exit codes look for it there.
            PostLinkError::Worker(error) => Self::Worker(error),
            error => Self::PostLink(error),
        }
    }
}

fn looked_at(libraries: &[String]) -> String {
    libraries
        .iter()
        .map(|library| format!("\n    looked for it in {library}"))
        .collect()
}

/// What is known of a crash.
#[derive(Debug)]
pub struct Crash {
    /// How LLVM stopped, with its words.
    pub error: WorkerError,
    /// The code that led to it, as bitcode.
    pub reproducer: Option<PathBuf>,
    /// A command line that does it again, without the name of the program.
    pub command: String,
}

fn made_by(producer: &Option<String>, llvm: &str) -> String {
    match producer {
        Some(producer) if !is_version(producer, llvm) => {
            format!(" (it was made by {producer}; it is read by LLVM {llvm})")
        }
        _ => String::new(),
    }
}

/// Whether bitcode was made by that LLVM: `LLVM22.1.8`, as modules have it, is 22.1.8.
fn is_version(producer: &str, llvm: &str) -> bool {
    producer
        .strip_prefix("LLVM")
        .is_some_and(|version| version == llvm)
}

/// A function that is called with another signature than it is defined with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureMismatch {
    /// The function.
    pub symbol: String,
    /// How it is defined, and where.
    pub definition: (FunctionType, String),
    /// How it is called, and where.
    pub call: (FunctionType, String),
}

impl std::fmt::Display for SignatureMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ((defined, library), (called, code)) = (&self.definition, &self.call);
        write!(
            f,
            "function signature mismatch: {}, defined as {defined} in {library}, called as {called} in {code}",
            describe_symbol(&self.symbol)
        )
    }
}

/// A symbol that nothing supplies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndefinedSymbol {
    /// The symbol.
    pub name: String,
    /// The target whose link it is missing in.
    pub target: String,
    /// Ways to it, each from a kernel or exported function, the symbol last.
    pub chains: Vec<Vec<String>>,
    /// The images that need it.
    pub images: Vec<String>,
    /// What might have been meant to supply it, for people.
    pub providers: Vec<String>,
}

impl std::fmt::Display for UndefinedSymbol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "undefined symbol {}, needed by ", describe_symbol(&self.name))?;
        let roots: Vec<_> = self.chains.iter().filter_map(|chain| chain.first()).collect();
        if roots.is_empty() {
            write!(f, "{}", self.images.join(", "))?;
        } else {
            write!(f, "{}", backquoted(roots))?;
        }
        for chain in self.chains.iter().filter(|chain| chain.len() > 2) {
            write!(f, "\n    {}", chain.join(" → "))?;
        }
        for provider in &self.providers {
            write!(f, "\n    {provider}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitcode_of_another_llvm_is_told() {
        let text = |producer: Option<&str>| {
            let error = LinkError::Bitcode {
                message: "a.bc: Unknown attribute kind (999)".into(),
                producer: producer.map(str::to_owned),
                llvm: "22.1.8".into(),
            };
            error.to_string()
        };
        assert!(
            text(Some("LLVM24.0.0git"))
                .ends_with("(it was made by LLVM24.0.0git; it is read by LLVM 22.1.8)")
        );
        assert_eq!(text(Some("LLVM22.1.8")), "a.bc: Unknown attribute kind (999)");
        assert_eq!(text(None), "a.bc: Unknown attribute kind (999)");
    }
}
