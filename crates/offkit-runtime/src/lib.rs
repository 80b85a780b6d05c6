//! offkit-runtime
#![forbid(unsafe_code)]
mod build;
mod collect;
mod discover;
mod image;
mod kernel;
mod kernel_name;
mod registry;

pub use build::BuildError;
pub use collect::{CollectError, Collection, Resolution};
pub use discover::{DeviceError, DiscoveryFailure, PLUGINS_VARIABLE, Runtime};
pub use image::{Description, Image, SharedBytes};
pub use kernel::{Argument, ArgumentError, Kernel, LaunchError, Number, signature};
pub use registry::{ImageId, ImageRegistry, KernelId, KernelNameError};
pub use {offkit_object as object, offkit_pi as pi, offkit_spirv as spirv};
