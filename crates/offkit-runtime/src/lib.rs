//! Device code loaded, linked and launched on real devices.
//!
//! A program has device images in its own files and in those that it loads; a kernel in one image may call functions
//! that another image supplies. This crate keeps the images, finds kernels by the names users know,
//! collects the images a kernel needs, has them built and linked by a device, and launches the kernel:
//!
//! * [`ImageRegistry`] knows the images, and what each offers and needs;
//! * [`ImageRegistry::find_kernel`] finds a kernel by its exact name, without its compiler's prefix, or
//!   demangled;
//! * [`Runtime`] finds the devices of this machine through plugins: those built into the program, and
//!   shared libraries ([`search`]), of which [`filter`] hides what the user wants hidden;
//! * [`ImageRegistry::select`] lets a device choose among the images that have the kernel, and says why it refuses
//!   the others; [`Runtime::choose`] also finds the device;
//! * [`ImageRegistry::collect`] follows imports to exports until nothing is missing, and says which
//!   image supplies which symbol;
//! * [`ImageRegistry::build`] turns a collection into a [`Kernel`] for one device, and checks its arguments against
//!   what the image says before the device sees them;
//! * [`Buffer`] and [`Usm`] are memory of a device by the type of its elements.
//!
//! The crate reaches every device, also the built-in one, through the plugin interface (`offkit-pi`). It reports every
//! choice through `tracing`: which plugin it leaves out and why, which image a device takes, which image supplies which
//! symbol.
//!
//! # Example
//!
//! An app and a library, as images described by hand; [`ImageRegistry::open`] reads them from files.
//!
//! ```
//! use offkit_object::DeviceImage;
//! use offkit_runtime::{ImageRegistry, KernelId};
//!
//! let mut app = DeviceImage::new(b"\x03\x02\x23\x07app");
//! app.kernels = vec!["_Z5saxpyfPf".into()];
//! app.imports = vec!["axpy".into()];
//! let mut library = DeviceImage::new(b"\x03\x02\x23\x07library");
//! library.kernels = vec!["_Z5daxpydPd".into()];
//! library.exports = vec!["axpy".into()];
//!
//! let registry = ImageRegistry::new();
//! let app = registry.add(app);
//! let found = registry.find_kernel("saxpy", |_| true)?;
//! assert_eq!((found.name.as_str(), found.images.as_slice()), ("_Z5saxpyfPf", [app].as_slice()));
//!
//! let kernel = KernelId { image: app, name: found.name };
//! let missing = registry.collect(&kernel).unwrap_err();
//! assert!(missing.to_string().contains("needs `axpy`"));
//!
//! let library = registry.add(library);
//! assert_eq!(registry.collect(&kernel)?.images, [app, library]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On a device it goes like this:
//!
//! ```no_run
//! use offkit_pi::NdRange;
//! use offkit_pi::host::{Context, QueueProperties};
//! use offkit_runtime::{Buffer, ImageRegistry, Runtime};
//! # fn run(registry: &ImageRegistry, cpu: &'static offkit_pi::BuiltIn) -> Result<(), Box<dyn std::error::Error>> {
//! let found = registry.find_kernel("saxpy", |_| true)?;
//! let mut runtime = Runtime::discover(&[cpu]);
//! let (device, kernel) = runtime.choose(None, registry, &found)?;
//! let collection = registry.collect(&kernel)?;
//! let context = Context::new(&[&device])?;
//! let queue = context.queue(&device, QueueProperties::default())?;
//! let mut kernel = registry.build(&collection, &context, &device)?;
//! let y = Buffer::from_slice(&context, &[1.0_f32; 1024])?;
//! let launch = kernel.launch(&queue, &NdRange::new([y.len()]), &[2.5_f32.into(), (&y).into()], &[])?;
//! kernel.wait(&launch)?;
//! println!("{:?}", y.read(&queue, &[])?);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
pub mod advice;
mod build;
mod built;
mod bundle;
mod collect;
mod discover;
mod exporter;
pub mod filter;
mod find;
mod index;
mod kernel;
mod library;
pub mod machine;
mod memory;
#[cfg(all(test, loom))]
mod models;
mod note;
mod packages;
pub mod probe;
mod registry;
mod relink;
mod rule;
mod scope;
pub mod search;
mod select;
mod signatures;
mod similar;
mod source;

pub use build::{BuildError, COMPILE_OPTIONS_VARIABLE, LINK_OPTIONS_VARIABLE};
pub use bundle::{BundleError, DeviceGlobal, Executable, Input, KernelBundle, LinkProperties, Object, State};
pub use collect::{CollectOptions, Collection, Resolution};
pub use discover::{ChoiceError, DeviceError, DiscoveryFailure, FoundDevice, Outcome, Runtime};
pub use exporter::{CollectError, Needed};
pub use find::{FoundKernel, KernelId, KernelNameError};
pub use kernel::{ArgumentError, Kernel, LaunchError, check_arguments};
pub use memory::{Buffer, Plain, Usm, by_value};
pub use offkit_object::SharedBytes;
pub use offkit_pi::host::{Argument, ValueType};
pub use registry::{ImageId, ImageRegistry, LibraryId, Registered};
pub use rule::ExporterRule;
pub use scope::{Loader, SharedObjectId, Visibility};
pub use select::{Reason, Refusal, SelectError, Selection, described};
pub use signatures::Signatures;
pub use source::{ImageError, Lent};
pub use {offkit_object as object, offkit_pi as pi, offkit_spirv as spirv, zerocopy};
