//! The plugin over NVIDIA's driver: its driver interface (`libcuda.so.1`), opened at run time, never linked, without an
//! SDK.
//!
//! The driver's devices are devices of one platform. They take PTX, which the driver compiles, and cubins, alone or in
//! fatbins and offload binaries; several are linked by the driver, LTO-IR by `nvJitLink` where that is installed. SPIR-V is
//! compiled to PTX before, by `offkit-llvm-worker`. Which of them a device takes is decided by the rules
//! that `offkit check` has. Drivers of CUDA 10 and later will do; what only newer ones have is left out on older ones,
//! and [`found`] says why there is no device.

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
