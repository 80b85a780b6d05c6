//! The plugin over OpenCL drivers: any driver of OpenCL 1.2 to 3.x, found and opened at run time, never linked.
//!
//! Drivers are found by the rules that loaders of drivers have ([`drivers`] says which there are, and what is wrong with
//! the others), and are called through their own tables of functions: there need be no loader on the machine. A driver
//! is used for what it can do. One that takes no SPIR-V still runs OpenCL C and binaries; one without unified shared
//! memory still has buffers; a call for what it does not have fails and names the function.
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
