//! The plugin over NVIDIA's driver: its driver interface (`libcuda.so.1`), opened at run time, never linked, without an
//! SDK.
//!
//! The driver's devices are devices of one platform. They take PTX, which the driver compiles, and cubins, alone or in
//! fatbins and offload binaries. The driver links several; `nvJitLink`, if installed, links LTO-IR; `offkit-llvm-worker`
//! compiles SPIR-V to PTX. A device chooses among them by the rules of `offkit check`. The plugin works with drivers since
//! CUDA 10, without what only newer ones have, and [`found`] says why there is no device.

#![deny(unsafe_code)]

mod discover;
#[expect(unsafe_code, reason = "the driver is C")]
mod driver;
#[expect(unsafe_code, reason = "the linker is C")]
mod jit_link;
mod plugin;

pub use discover::found;
#[doc(hidden)]
pub use driver::functions::{DECLARATIONS, ENUMERATORS};
pub use plugin::BUILT_IN;
