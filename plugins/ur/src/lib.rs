//! The plugin over adapters of Unified Runtime: any `libur_adapter_*.so` of DPC++ 2025.1 to 2026.2, found and opened at
//! run time, never linked. So Level Zero, CUDA and HIP come with their vendors' own code.
//!
//! [`adapters`] lists the adapters, and what is wrong with those that the plugin does not use. Their functions come in
//! tables, whose form the plugin finds by asking ([`offkit_ur::Form`]); a call of a function that an adapter lacks fails
//! and names it.
//!
//! The adapters' platforms are platforms of the plugin, their devices devices, and so on; each object of the plugin has
//! one of an adapter.

#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "adapters are C")]
mod adapter;
mod discover;
mod plugin;

pub use discover::{Found, Outcome, adapters};
pub use plugin::BUILT_IN;
