//! The device as a plugin of the interface that runtimes speak (PI 2.3).
//!
//! Two platforms with a device each: the first compiles kernels, the other one checks every access. Where nothing is to be
//! compiled the other one is alone. They share no platform, for programs put all devices of one into a context and wait for
//! the slowest. A command starts as soon as nothing it waits for is left (`graph`): a small one on the
//! thread that submits it, others on the threads of the device, several at a time if they have nothing to do with each
//! other.

mod context;
mod device;
mod event;
mod kernel;
mod machine;
mod memory;
mod program;
mod queue;
mod spare;
mod transfer;
mod worker;

use offkit_pi::plugin::{Error, Plugin, Result, Unsupported};
use std::sync::Arc;

pub use self::device::CHECKED_NAME;

use self::context::CpuContext;
use self::device::{CpuDevice, CpuPlatform};
use self::event::CpuEvent;
use self::kernel::CpuKernel;
use self::memory::CpuBuffer;
use self::program::CpuProgram;
use self::queue::CpuQueue;
use crate::MemoryError;
use crate::sync::LazyLock;

/// The plugin.
pub(crate) struct Cpu;

impl Plugin for Cpu {
    type Platform = CpuPlatform;
    type Device = CpuDevice;
    type Context = CpuContext;
    type Queue = CpuQueue;
    type Memory = CpuBuffer;
    type Sampler = Unsupported;
    type Program = CpuProgram;
    type Kernel = CpuKernel;
    type Event = CpuEvent;

    const NAME: &'static str = "cpu";

    fn platforms() -> Result<Vec<Arc<CpuPlatform>>> {
        // The same for the process: hosts compare platforms and devices by their handles.
        static PLATFORMS: LazyLock<Vec<Arc<CpuPlatform>>> = LazyLock::new(CpuPlatform::all);
        Ok(PLATFORMS.clone())
    }
}

offkit_pi::define_plugin! {
    /// The plugin, for programs that link it in: `offkit_pi::host::Plugin::built_in(&BUILT_IN)`.
    pub const BUILT_IN: Cpu;
}

/// The symbols that make a shared library of this crate a plugin.
mod exports {
    offkit_pi::export_plugin!(super::Cpu);
}

/// What a request to the device's memory failed with, as the interface puts it.
fn memory_error(error: MemoryError) -> Error {
    use offkit_pi::ffi::*;
    let code = match error {
        MemoryError::ZeroSize => PI_INVALID_BUFFER_SIZE,
        MemoryError::OutOfMemory(_) => PI_MEM_OBJECT_ALLOCATION_FAILURE,
        MemoryError::Overlap { .. } => PI_INVALID_HOST_PTR,
        _ => PI_INVALID_VALUE,
    };
    Error::new(code, error)
}
