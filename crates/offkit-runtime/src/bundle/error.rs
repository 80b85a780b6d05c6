//! What can go wrong with a bundle.

use std::io;

use offkit_image::BundleState;
use offkit_object::{Location, backquoted, describe_symbol};
use offkit_pi::host::PiError;

use crate::build::BuildError;
use crate::select::SelectError;
use crate::source::ImageError;

/// A bundle cannot be made, or not brought into another state.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The file cannot be read.
    #[error("cannot read `{file}`")]
    Read {
        /// The file.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The bytes are no SYCLBIN, or a damaged one.
    #[error("`{file}` is not a SYCLBIN that can be read")]
    NotSyclBin {
        /// The file.
        file: String,
        /// What is wrong, where something is.
        source: Option<offkit_object::Error>,
    },
    /// The bytes are no SPIR-V.
    #[error("`{file}` is no SPIR-V module")]
    NotSpirv {
        /// The file.
        file: String,
    },
    /// The program in the file is in another state.
    #[error(
        "kernel_bundle state does not match the state of the SYCLBIN file: `{file}` is {is}, not {asked}", is = .is.name(), asked = .asked.name()
    )]
    State {
        /// The file.
        file: String,
        /// Its state.
        is: BundleState,
        /// The state that was asked for.
        asked: BundleState,
    },
    /// There is no device, or none that all bundles have.
    #[error("a kernel bundle needs a device, and there is none that all bundles are for")]
    NoDevice,
    /// There is no bundle.
    #[error("no kernel bundle to link or join")]
    NoBundle,
    /// A device is not in the context, or not one of those that a bundle is for.
    #[error("device `{device}` is not among the devices of the context")]
    ForeignDevice {
        /// The device.
        device: String,
    },
    /// Bundles are of different contexts.
    #[error("kernel bundles of different contexts cannot be linked or joined")]
    OtherContext,
    /// A device of the context cannot compile or link, so no bundle may be in that state.
    #[error("device `{device}` has no {lacks}, which {state} kernel bundles need", state = .state.name())]
    Unable {
        /// The device.
        device: String,
        /// What it lacks: a compiler, a linker.
        lacks: &'static str,
        /// The state.
        state: BundleState,
    },
    /// No image defines a symbol.
    #[error(
        "No exported symbol \"{symbol}\" found in linked images: `{importer}` imports {}{}",
        describe_symbol(.symbol), others(.elsewhere)
    )]
    NotExported {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The image that needs it.
        importer: Location,
        /// Images that define it in a format that cannot be linked with the importer.
        elsewhere: Vec<Location>,
    },
    /// Two images define a symbol.
    #[error("{} is exported by {}", describe_symbol(.symbol), backquoted(.exporters))]
    SeveralExporters {
        /// The symbol as it stands in the images.
        symbol: String,
        /// The images.
        exporters: Vec<Location>,
    },
    /// The device refuses the code.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The device cannot be asked which code it takes.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A registered image cannot be had.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// There is no kernel of that name.
    #[error("no kernel `{name}` in the kernel bundle{}", alike(.similar))]
    NoKernel {
        /// The name that was asked for.
        name: String,
        /// Names of kernels that are there, the most alike first.
        similar: Vec<String>,
    },
    /// There is no specialization constant of that name.
    #[error("no specialization constant `{name}` in the kernel bundle{}", alike(.known))]
    NoConstant {
        /// The name that was asked for.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// A value has the wrong size.
    #[error("specialization constant `{name}` has {expected} bytes, {given} given")]
    ConstantSize {
        /// The constant.
        name: String,
        /// Its size in bytes.
        expected: usize,
        /// That of the value.
        given: usize,
    },
    /// The device does not take the value of a specialization constant.
    #[error("cannot set specialization constant `{name}`")]
    Constant {
        /// The constant.
        name: String,
        /// What the device says.
        source: PiError,
    },
    /// There is no device global of that name.
    #[error("no device global `{name}` in the kernel bundle{}", alike(.known))]
    NoGlobal {
        /// The name that was asked for.
        name: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// Several images have a device global of their own by that name.
    #[error("device global `{name}` has a value for each of {}", backquoted(.images))]
    SeveralGlobals {
        /// The device global.
        name: String,
        /// The images.
        images: Vec<Location>,
    },
    /// Some bytes are not within a device global.
    #[error("device global `{name}` has {size} bytes, {given} bytes at {offset} are asked for")]
    GlobalRange {
        /// The device global.
        name: String,
        /// Its size in bytes.
        size: usize,
        /// The first byte that was asked for.
        offset: usize,
        /// How many were.
        given: usize,
    },
    /// The device does not let the host reach a device global.
    #[error("cannot reach device global `{name}`")]
    Global {
        /// The device global.
        name: String,
        /// What the device says.
        source: PiError,
    },
    /// The images cannot be written, or not linked into one.
    #[error("cannot write the kernel bundle")]
    Write(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl BundleError {
    pub(super) fn of_global(name: &str, source: PiError) -> Self {
        Self::Global {
            name: name.to_owned(),
            source,
        }
    }
}

fn others(elsewhere: &[Location]) -> String {
    match elsewhere {
        [] => String::new(),
        some => format!(" (exported in another format by {})", backquoted(some)),
    }
}

fn alike(names: &[String]) -> String {
    match names {
        [] => String::new(),
        some => format!("; there are {}", backquoted(some)),
    }
}
