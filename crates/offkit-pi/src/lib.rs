//! The plugin interface between runtimes and devices, for both of its sides.
//!
//! PI, the plugin interface of DPC++ from 2019 to 2024, separates a runtime from the drivers of its devices.
//! A plugin is a shared library that exports one function, `piPluginInit`. The runtime hands it a record with
//! the version of the interface it speaks; the plugin fills in a table with the addresses of its functions,
//! about a hundred, mostly modelled on OpenCL. From then on everything (devices, contexts, queues, memory,
//! programs, kernels, events) goes through that table.
//!
//! This crate has three parts:
//!
//! * [`ffi`] and [`table`] are the interface as C sees it: types, constants, and function tables by version;
//! * [`host`] loads plugins, or takes those linked into the program, and makes safe objects of what they
//!   offer;
//! * [`plugin`] lets a plugin be written in safe Rust, and does what C makes necessary.
//!
//! # Versions
//!
//! Releases of DPC++ put functions in other places and changed some of them under the same name. A version is a list
//! of functions, each in one of its [revisions](table::Revision), and the shape of the record that holds them:
//!
//! | version | release | functions | record |
//! |---|---|---|---|
//! | [2.3](table::Layout::V2_3) | 2021.2 | 101 | 824 bytes |
//! | [6.8](table::Layout::V6_8) | 2022.1 | 105 | 856 bytes |
//! | [12.27](table::Layout::V12_27) | 2023.2 | 118 | 992 bytes |
//! | [15.47](table::Layout::V15_47) | 2024.2 | 159 | 1328 bytes |
//!
//! [`host`] loads plugins of all of them: its objects have one form of each function, and
//! [`host::Plugin`] turns that into the revision that the plugin has. A plugin written with [`plugin`] is one for hosts
//! of all of them: its `piPluginInit` fills in the table of the version that the host offers. What a version cannot
//! say is an error that names the version.
//!
//! # A plugin, and a host that uses it
//!
//! The smallest plugin has a platform, a device and contexts. It shows up in a list of devices and can do
//! nothing more: kinds of objects it does not have are [`Unsupported`](plugin::Unsupported).
//!
//! ```
//! use offkit_pi::ffi::*;
//! use offkit_image::DeviceImage;
//! use offkit_pi::plugin::{Context, Device, Error, Info, Platform, Plugin, Result, Unsupported};
//! use std::sync::{Arc, LazyLock};
//!
//! struct Toaster;
//! struct Kitchen(Arc<Toaster>);
//! struct Counter;
//!
//! impl Plugin for Kitchen {
//!     type Platform = Kitchen;
//!     type Device = Toaster;
//!     type Context = Counter;
//!     type Queue = Unsupported;
//!     type Memory = Unsupported;
//!     type Sampler = Unsupported;
//!     type Program = Unsupported;
//!     type Kernel = Unsupported;
//!     type Event = Unsupported;
//!     const NAME: &'static str = "kitchen";
//!
//!     fn platforms() -> Result<Vec<Arc<Kitchen>>> {
//!         static KITCHEN: LazyLock<Arc<Kitchen>> = LazyLock::new(|| Arc::new(Kitchen(Arc::new(Toaster))));
//!         Ok(vec![KITCHEN.clone()])
//!     }
//! }
//!
//! impl Platform<Kitchen> for Kitchen {
//!     fn info(&self, name: pi_platform_info) -> Result<Info> {
//!         match name {
//!             PI_PLATFORM_INFO_NAME => Ok("Kitchen".into()),
//!             name => Err(Error::unknown_query(name)),
//!         }
//!     }
//!
//!     fn devices(&self) -> Result<Vec<Arc<Toaster>>> {
//!         Ok(vec![self.0.clone()])
//!     }
//! }
//!
//! impl Device<Kitchen> for Toaster {
//!     fn kind(&self) -> pi_device_type {
//!         PI_DEVICE_TYPE_ACC
//!     }
//!
//!     fn info(&self, name: pi_device_info) -> Result<Info> {
//!         match name {
//!             PI_DEVICE_INFO_NAME => Ok("Toaster".into()),
//!             PI_DEVICE_INFO_MAX_COMPUTE_UNITS => Ok(2u32.into()),
//!             name => Err(Error::unknown_query(name)),
//!         }
//!     }
//!
//!     fn select_binary(&self, _: &[DeviceImage<'_>]) -> Result<Option<usize>> {
//!         Ok(None)
//!     }
//! }
//!
//! impl Context<Kitchen> for Counter {
//!     fn create(_: &[Arc<Toaster>]) -> Result<Counter> {
//!         Ok(Counter)
//!     }
//! }
//!
//! // `export_plugin!(Kitchen)` would add the symbols that make a shared library of this a plugin.
//! offkit_pi::define_plugin! {
//!     const KITCHEN: Kitchen;
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The other side. A plugin in a library is loaded with `host::Plugin::load(path)` instead.
//! let plugin = offkit_pi::host::Plugin::built_in(&KITCHEN)?;
//! let device = plugin.platforms()?[0].devices(PI_DEVICE_TYPE_ALL)?.remove(0);
//! assert_eq!(device.name()?, "Toaster");
//! assert_eq!(device.max_compute_units()?, 2);
//!
//! let context = offkit_pi::host::Context::new(&[&device])?;
//! let error = context.buffer(64).unwrap_err();
//! assert_eq!(error.to_string(), "piMemBufferCreate: PI_INVALID_OPERATION (-59): a buffer is not supported");
//! # Ok(())
//! # }
//! ```
//!
//! # Messages
//!
//! Up to PI 6.8 there are numbers and no words, apart from build logs. Plugins made with this crate export a second
//! function, `offkitPluginGetLastError` ([`table::GetLastError`]); the host side uses it where it is there,
//! and its errors then say what happened. Since 12.27 hosts ask `piPluginGetLastError` when a result is
//! [`PI_PLUGIN_SPECIFIC_ERROR`](ffi::PI_PLUGIN_SPECIFIC_ERROR): plugins made with this crate return that where
//! the result by itself says nothing, such as for a command that failed.

pub mod below;
pub mod driver;
pub mod ffi;
pub mod host;
pub mod note;
pub mod plugin;
pub mod table;

mod binary;
mod built_in;
mod functions;
mod partition;
mod range;

pub use built_in::BuiltIn;
pub use partition::Partition;
pub use range::NdRange;
