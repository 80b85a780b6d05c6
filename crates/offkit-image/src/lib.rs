//! The words that everybody speaks about device code.

#![forbid(unsafe_code)]

mod bytes;
mod compression;
mod container;
mod error;
mod format;
mod image;
mod inspection;
mod kernel_name;
mod limits;
mod location;
mod problem;
mod producer;
pub mod property_set;
mod state;
mod strings;
mod symbol_name;
mod symbols;
pub mod target;

pub use bytes::{Bytes, Code, Inflate, SharedBytes, Storage, offset_within};
pub use compression::Compression;
pub use container::ContainerKind;
pub use error::{Error, ErrorKind};
pub use format::{ImageFormat, MACHINE_INTEL_GPU};
pub use image::DeviceImage;
pub use inspection::{Detail, DetailValue, InspectedKernel, Inspection};
pub use kernel_name::{KernelName, NameMatch};
pub use limits::Limits;
pub use location::{Joining, Location, PartName, WrittenParts};
pub use problem::Problem;
pub use producer::Producer;
pub use property_set::{ByteArray, PropertySet, PropertySets, PropertyValue};
pub use state::BundleState;
pub use strings::Strings;
pub use symbol_name::{backquoted, demangle, describe_symbol};
pub use symbols::Symbols;
pub use target::{Family, Target};
