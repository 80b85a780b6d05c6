//! Device code loaded, linked and launched on real devices.
//!
//! A program brings device images, in the files it is made of or loads; a kernel in one image may call
//! functions that another supplies. This crate keeps the images, finds kernels by the names users know,
//! collects the images a kernel needs, has them built and linked by a device, and launches the kernel:
//!
//! * [`ImageRegistry`] holds the images, and what each offers and needs;
//! * [`ImageRegistry::find_kernel`] finds a kernel by its exact name, without its compiler's prefix, or
//!   demangled;
//! * [`ImageRegistry::collect`] follows imports to exports until nothing is missing, and says which
//!   image supplies which symbol;
//! * [`Runtime`] finds the devices of this machine through plugins: those built into the program, and
//!   shared libraries ([`PLUGINS_VARIABLE`]);
//! * [`ImageRegistry::build`] turns a collection into a [`Kernel`] for one device, whose arguments are
//!   checked against what the image says about it before the device sees them.
//!
//! Devices are known through the plugin interface only (`offkit-pi`), the built-in one too. Every choice
//! is told through `tracing`: which plugin was left out and why, which image supplies which symbol.
//!
//! # Example
//!
//! An app and a library, as images described by hand; from files they come by
//! [`ImageRegistry::open`].
//!
//! ```
//! use offkit_object::DeviceImage;
//! use offkit_runtime::ImageRegistry;
//!
//! let mut app = DeviceImage::new(b"\x03\x02\x23\x07app");
//! app.kernels = vec!["_Z5saxpyfPf".into()];
//! app.imports = vec!["axpy".into()];
//! let mut library = DeviceImage::new(b"\x03\x02\x23\x07library");
//! library.exports = vec!["axpy".into()];
//!
//! let mut registry = ImageRegistry::new();
//! let app = registry.add(app);
//! let kernel = registry.find_kernel("saxpy", &[app])?;
//!
//! let missing = registry.collect(&kernel).unwrap_err();
//! assert!(missing.to_string().contains("needs `axpy`"));
//!
//! let library = registry.add(library);
//! assert_eq!(registry.collect(&kernel)?.images, [app, library]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On a device it goes on like this:
//!
//! ```no_run
//! use offkit_pi::host::{Context, QueueProperties};
//! use offkit_pi::NdRange;
//! use offkit_runtime::{ImageRegistry, Runtime};
//! # fn run(registry: &ImageRegistry, collection: &offkit_runtime::Collection, cpu: &offkit_pi::BuiltIn)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::discover(&[cpu]);
//! let device = runtime.device(None)?;
//! let context = Context::new(&[device])?;
//! let queue = context.queue(device, QueueProperties::default())?;
//! let mut kernel = registry.build(collection, &context, device)?;
//! let y = context.buffer_from(&[0; 4096])?;
//! kernel.set_arguments(&[2.5_f32.into(), (&y).into()])?;
//! let launch = kernel.launch(&queue, &NdRange::new([1024]), &[])?;
//! kernel.wait(&launch)?;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
mod build;
mod collect;
mod discover;
mod kernel;
mod registry;
mod signatures;
mod similar;

pub use build::BuildError;
pub use collect::{CollectError, Collection, Resolution};
pub use discover::{DeviceError, DiscoveryFailure, PLUGINS_VARIABLE, Runtime};
pub use kernel::{ArgumentError, Kernel, LaunchError, check_arguments};
pub use offkit_object::SharedBytes;
pub use offkit_pi::host::{Argument, ValueType};
pub use registry::{ImageId, ImageRegistry, KernelId, KernelNameError};
pub use signatures::Signatures;
pub use {offkit_object as object, offkit_pi as pi, offkit_spirv as spirv};
