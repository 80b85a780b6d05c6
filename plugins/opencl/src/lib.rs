//! The plugin over OpenCL drivers: any driver of OpenCL 1.2 to 3.x, found and opened at run time, never linked.
//!
//! The plugin finds drivers by the rules of loaders ([`drivers`] lists them, and what is wrong with the others), and
//! calls them through their own tables of functions, so the machine needs no loader. It uses a driver for what it can do.
//! One without SPIR-V still runs OpenCL C and binaries; one without unified shared memory still has buffers; a call for
//! something that it lacks fails and names the function.
//!
//! The driver's platforms are platforms of the plugin, its devices devices, and so on; each object of the plugin has one
//! of the driver, images, samplers and parts of devices too.

#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "drivers are C")]
mod cl;
mod discover;
mod plugin;

pub use discover::{Driver, Outcome, drivers};
pub use plugin::BUILT_IN;
