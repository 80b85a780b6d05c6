#![doc = include_str!("../README.md")]
//!
//! # Readers
//!
//! [`walk`] goes through any known file, container by container, and hands over what it finds; [`read`] collects it.
//! Reading borrows from the given bytes, so that a large mapped file costs nothing to open, and does not give up: a
//! truncated or damaged file yields what is still readable and a list of [`Problem`]s. The constructors of a single
//! format, [`OffloadBinary::parse`], [`SyclBin::parse`] and [`property_set::parse`], are strict instead: they return the
//! first fault as an [`Error`] with the offset, the expected and the found value.
//!
//! Each format has its module: [`offload_binary`], [`syclbin`], [`property_set`], [`bundle`], [`fatbin`],
//! [`sycl_wrapped`], [`host`] (objects, programs, libraries), [`archive`], [`zip`], and [`registration`] for objects
//! that register images. [`inspect`] looks into the images themselves.
//!
//! # Writers
//!
//! Writers are pure functions of the model: the same content gives the same bytes. If a format cannot express
//! something, that is an error: no writer changes it silently. [`replace`] changes an image in any container that can
//! hold another one.
//!
//! # A program and its library
//!
//! Two compiled modules, an application and the library it uses, become a SYCLBIN; reading it shows who needs
//! what.
//!
//! ```
//! use offkit_object::property_set::{PropertySets, names};
//! use offkit_object::{BundleState, DeviceImage, ImageFormat, Limits, OutputFormat, Target, pack};
//!
//! let spirv = b"\x03\x02\x23\x07\x00\x00\x01\x00".as_slice(); // and so on
//!
//! let mut properties = PropertySets::new();
//! properties.insert_symbols(names::KERNEL_NAMES, ["saxpy"]);
//! properties.insert_symbols(names::IMPORTED_SYMBOLS, ["multiply"]);
//! let mut app = DeviceImage::new(spirv).with_properties(properties);
//! app.target = Target::new("spir64-unknown-unknown", "");
//!
//! let mut properties = PropertySets::new();
//! properties.insert_symbols(names::EXPORTED_SYMBOLS, ["multiply"]);
//! let mut library = DeviceImage::new(spirv).with_properties(properties);
//! library.target = Target::new("spir64-unknown-unknown", "");
//!
//! let packed = pack([app, library], OutputFormat::default(), BundleState::Object)?;
//! let file = packed.content.into_bytes();
//!
//! let contents = offkit_object::read("program.syclbin", &file, &Limits::default());
//! assert!(contents.problems.is_empty());
//! assert_eq!(contents.state, Some(BundleState::Object));
//! let [app, library] = contents.images.as_slice() else { panic!("two images") };
//! assert_eq!(app.location.to_string(), "program.syclbin!0/ir/0");
//! assert_eq!(app.format, ImageFormat::Spirv);
//! assert_eq!(app.kernels, ["saxpy"]);
//! assert_eq!(app.imports, library.exports);
//! # Ok::<(), offkit_object::Error>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(all(feature = "write", feature = "inspect")),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "what writes a format is beside what reads it, and readers of images share one of ELF: without a \
                  feature some of it is only not used"
    )
)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

pub mod archive;
pub mod bundle;
mod chunks;
mod claim;
#[cfg(feature = "inspect")]
mod code_target;
mod compression;
mod container;
mod contents;
#[cfg(feature = "write")]
mod convert;
mod cpio;
mod deb;
mod edits;
mod elf;
pub mod fatbin;
mod file_name;
mod format;
mod gathered;
mod hcf;
mod heads;
pub mod host;
mod in_passing;
#[cfg(feature = "inspect")]
mod inspect;
// The same functions, which find nothing: readers of containers need not ask for the feature.
#[cfg(not(feature = "inspect"))]
#[path = "inspect/none.rs"]
mod inspect;
mod kpack;
mod layout;
mod memory;
mod message_pack;
pub mod offload_binary;
mod offload_entries;
#[cfg(feature = "write")]
mod output_format;
mod parallel;
mod part;
mod part_names;
mod patched;
pub mod property_set;
mod ranges;
mod reading;
#[cfg(feature = "register")]
pub mod registration;
mod repeated;
#[cfg(feature = "write")]
mod replace;
mod rpm;
mod scan;
mod source;
#[cfg(feature = "write")]
pub mod split;
mod stored_target;
pub mod sycl_wrapped;
pub mod syclbin;
mod tar;
#[cfg(feature = "write")]
mod thin;
mod unchanged;
mod unpacked;
mod unpacking;
mod verify;
mod walk;
pub mod zip;

#[cfg(feature = "write")]
pub use chunks::Chunks;
#[cfg(feature = "inspect")]
pub use code_target::{completed_target, target_of};
pub use compression::inflate_whole;
pub use container::looks_like_device_code;
pub use contents::{Contents, images, read};
#[cfg(feature = "write")]
pub use convert::{ConversionInput, Converted, Loss, pack};
pub use file_name::file_name;
pub use gathered::Gathered;
pub use in_passing::in_passing;
#[cfg(feature = "inspect")]
pub use inspect::{
    FunctionType, Inspect, elf_note, embedded_in_bitcode, function_types, header_target, header_version,
    inspect, inspect_for_resources,
};
pub use memory::{Kept, Memory, Outside};
pub use offkit_image::target::decide;
pub use offkit_image::{
    BundleState, ByteArray, Bytes, Code, CodeVersion, Compression, ContainerKind, Detail, DetailValue,
    DeviceImage, Error, ErrorKind, ImageFormat, InspectedKernel, Inspection, KernelName, Limits, Location,
    NameMatch, Problem, Producer, PropertySet, PropertySets, PropertyValue, Resources, SharedBytes, Spills,
    Stack, Storage, Strings, Symbols, Target, backquoted, demangle, describe_symbol, range_within, target,
};
pub use offload_binary::{ImageKind, OffloadBinary, OffloadBinaryVersion, OffloadEntry, OffloadKind};
pub use offload_entries::{FoundEntry, offload_entries};
#[cfg(feature = "write")]
pub use output_format::{BundleForm, OutputFormat};
#[cfg(feature = "write")]
pub use replace::{ReplaceDraft, replace, replace_draft};
pub use stored_target::{Contradiction, contradiction};
pub use syclbin::{AbstractModule, IrModule, IrType, NativeImage, SyclBin, SyclBinVersion};
#[cfg(all(feature = "inspect", feature = "write"))]
pub use thin::{DeviceLoss, Losses};
#[cfg(feature = "write")]
pub use thin::{ThinDraft, Thinned, Thinning, least_driver_to_unpack, thin, thin_draft};
pub use verify::verify;
pub use walk::{Container, Item, Program, RunningDescriptor, walk, walk_names, walk_sparing};
