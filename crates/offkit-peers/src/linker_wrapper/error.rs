//! What goes wrong, in the words of the original where it has some.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use offkit_link::device_link::LinkError;
use offkit_link::wrap::WrapError;
use offkit_object::{Producer, Target};

use crate::failure::File;
use crate::options::UsageError;
use crate::{offload_bundler, sycl_linker};

pub(super) type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Usage(#[from] UsageError),
    #[error("argument to '{0}' is missing (expected 1 value)")]
    NoValue(String),
    #[error("unable to find library -l{0}")]
    NoLibrary(String),
    #[error("linker path missing, must pass 'linker-path'")]
    NoLinker,
    #[error("Unable to find '{0}' in path")]
    NoProgram(String),
    #[error("cannot run '{program}': {error}")]
    Run { program: String, error: io::Error },
    // A program that ended by itself has said why.
    #[error("'{program}' failed{}", .status.code().map_or(format!(" ({status})"), |_| String::new()))]
    Failed { program: String, status: ExitStatus },
    #[error("cannot make a temporary folder: {0}")]
    Temporary(io::Error),
    #[error("cannot {action} {}: {error}", .path.display())]
    Intermediate {
        action: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    #[error("Linking images of SYCL offload kind with images of any other kind is not supported")]
    SyclWithOthers,
    /// What was given for SYCL's linker.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    DeviceLinker(Vec<UsageError>),
    #[error("{0} linking is not supported")]
    Architecture(String),
    #[error("{triple}: more than one image was linked")]
    SeveralImages { triple: String },
    #[error("'{0}': no such offload kind")]
    OffloadKind(String),
    #[error("'{}': {error}", .file.display())]
    Override { file: PathBuf, error: io::Error },
    #[error("'{}': not an ELF file", .0.display())]
    NotElf(PathBuf),
    #[error("Expected a single bundled image for direct fat binary output")]
    SeveralContainers,
    #[error("{} wrapping is not supported", .0.name())]
    NotWrapped(Producer),
    #[error("--sycl-images={name}: {reason}")]
    SyclImages { name: String, reason: String },
    #[error("Relocatable linking is not supported on COFF targets")]
    RelocatableCoff,
    #[error("{0}")]
    Damaged(Box<offkit_object::Problem>),
    #[error("{0}")]
    File(#[from] File),
    #[error(transparent)]
    Object(#[from] offkit_object::Error),
    #[error("{}", offkit_host::chain(.0))]
    Link(#[from] LinkError),
    #[error("{error}\nhint: {hint}")]
    NoDeviceRuntime { error: Box<LinkError>, hint: String },
    #[error(transparent)]
    Sycl(#[from] sycl_linker::Error),
    #[error(transparent)]
    Bundle(#[from] offload_bundler::Error),
    #[error(transparent)]
    Wrap(#[from] WrapError),
}

impl Error {
    /// Why device code for a target was not linked.
    pub(super) fn of_device_link(error: LinkError, target: &Target) -> Self {
        let is_missing = match &error {
            LinkError::Undefined { symbols, .. } => {
                let is_openmp = |name: &str| name.starts_with("__kmpc_") || name.starts_with("omp_");
                symbols.iter().any(|symbol| is_openmp(&symbol.name))
            }
            _ => false,
        };
        match is_missing {
            true => Self::NoDeviceRuntime {
                error: error.into(),
                hint: match target.family().is_spirv() {
                    true => "offkit's device runtime for OpenMP has no such function; docs/openmp.md lists what it leaves \
                             out"
                        .to_owned(),
                    false => format!(
                        "OpenMP's device runtime for `{target}` was not linked: it is `libompdevice.a` of an LLVM built \
                         for that target; name it with `-Xoffload-linker -LFOLDER -Xoffload-linker -lompdevice`"
                    ),
                },
            },
            false => Self::Link(error),
        }
    }
}
