//! The vocabulary for device code: image, target, format, location, symbols.
//!
//! Compilers for SYCL, OpenMP, CUDA, HIP and OpenCL write code for devices into many containers, and each container
//! describes the code in its own way. This crate has one type for each thing that they describe. It reads no container and
//! no code, so that everything else can build on it: `offkit-object` reads files into these types, `offkit-link`
//! makes new images of them, `offkit-runtime` loads them.
//!
//! * [`DeviceImage`] is code for one target, with what is known about it. Its bytes are borrowed from a file, owned, or
//!   still compressed ([`Code`]); sizes are known without decompressing.
//! * [`ImageFormat`] says what the bytes are: SPIR-V, LLVM bitcode, PTX, cubin, AMDGPU code object, zebin.
//! * [`Target`] is what code is compiled for: a triple, an architecture, features. It knows the ways in which
//!   targets are written, and whether code for one fits or runs on another.
//! * [`Location`] is the place of an image: the file, and the way through its containers. It is what `offkit ls` prints.
//! * [`KernelName`] is a kernel's symbol, and decides which of the names that people type mean it.
//! * [`PropertySets`] are the facts that SYCL's toolchain records about an image, by set and by name.
//! * [`Error`] says what is wrong, where, what was expected and what was found; a [`Problem`] is an error with the
//!   location of the part that has it. [`Limits`] bound the work that a file can cause.
//!
//! # Targets
//!
//! ```
//! use offkit_image::{Family, ImageFormat, Target};
//!
//! // As people write it: an architecture, a triple, or both.
//! let code = Target::named("sm_80");
//! assert_eq!(code.family(), Family::Nvptx64);
//! assert_eq!(code.to_string(), "nvptx64-nvidia-cuda-sm_80");
//!
//! // Machine code for one compute capability runs on later ones of the same generation, and PTX on all later ones.
//! let device = Target::named("sm_90");
//! assert!(Target::named("sm_80").runs_on(ImageFormat::Cubin, &device).is_err());
//! assert!(Target::named("sm_80").runs_on(ImageFormat::Ptx, &device).is_ok());
//! ```
//!
//! # Images
//!
//! ```
//! use offkit_image::property_set::names;
//! use offkit_image::{DeviceImage, ImageFormat, KernelName, Location, PropertySets, Target};
//!
//! let mut properties = PropertySets::new();
//! properties.insert_symbols(names::KERNEL_NAMES, ["_ZTS5saxpy"]);
//! properties.insert_symbols(names::IMPORTED_SYMBOLS, ["multiply"]);
//!
//! let mut image = DeviceImage::new(b"\x03\x02\x23\x07".as_slice()).with_properties(properties);
//! image.target = Target::named("spir64");
//! image.location = Location::of_file("app.syclbin").join(0).join("ir").join(0);
//!
//! // The format shows in the bytes, and the names of kernels and symbols in the properties.
//! assert_eq!(image.format, ImageFormat::Spirv);
//! assert_eq!(image.imports, ["multiply"]);
//! assert!(KernelName::new(&image.kernels[0]).is("saxpy"));
//! assert_eq!(image.location.to_string(), "app.syclbin!0/ir/0");
//! assert_eq!("app.syclbin!0/ir/0".parse::<Location>()?, image.location);
//! # Ok::<(), offkit_image::Error>(())
//! ```

#![forbid(unsafe_code)]

mod bytes;
mod code_version;
mod compression;
mod container;
mod error;
mod format;
mod image;
mod inspection;
mod kernel_name;
mod limits;
mod location;
mod named;
mod problem;
mod producer;
pub mod property_set;
mod resources;
mod state;
mod strings;
mod symbol_name;
mod symbols;
pub mod target;

pub use bytes::{Bytes, Code, Inflate, SharedBytes, Storage, offset_within, range_within};
pub use code_version::CodeVersion;
pub use compression::Compression;
pub use container::ContainerKind;
pub use error::{Error, ErrorKind};
pub use format::{ImageFormat, MACHINE_INTEL_GPU};
pub use image::DeviceImage;
pub use inspection::{Detail, DetailValue, InspectedKernel, Inspection};
pub use kernel_name::{KernelName, NameMatch};
pub use limits::Limits;
pub use location::{Joining, Location, PartName};
pub use problem::Problem;
pub use producer::Producer;
pub use property_set::{ByteArray, PropertySet, PropertySets, PropertyValue};
pub use resources::{Resources, Spills, Stack};
pub use state::BundleState;
pub use strings::{Strings, keys as string_keys};
pub use symbol_name::{backquoted, demangle, describe_symbol, mangled_function};
pub use symbols::Symbols;
pub use target::{Family, Target};
