//! The plugin: its objects over those of the driver.

mod clock;
mod code;
mod compile;
mod context;
mod device;
mod end;
mod event;
mod kernel;
mod memory;
mod program;
mod queue;
mod shape;
mod watcher;

use offkit_pi::plugin::{Plugin, Result, Unsupported};
use offkit_sync::{Arc, LazyLock};

use self::context::CudaContext;
use self::device::{CudaDevice, CudaPlatform, devices};
use self::event::CudaEvent;
use self::kernel::CudaKernel;
use self::memory::CudaMemory;
use self::program::CudaProgram;
use self::queue::CudaQueue;

/// The plugin.
pub(crate) struct Cuda;

impl Plugin for Cuda {
    type Platform = CudaPlatform;
    type Device = CudaDevice;
    type Context = CudaContext;
    type Queue = CudaQueue;
    type Memory = CudaMemory;
    type Sampler = Unsupported;
    type Program = CudaProgram;
    type Kernel = CudaKernel;
    type Event = CudaEvent;

    const NAME: &'static str = "cuda";

    /// One platform with all devices; none where there is nothing of NVIDIA's. Where there is, and no device can be used,
    /// that is an error: hosts show errors, and this one has the reason.
    fn platforms() -> Result<Vec<Arc<CudaPlatform>>> {
        static PLATFORM: LazyLock<Arc<CudaPlatform>> = LazyLock::new(|| Arc::new(CudaPlatform));
        match devices()? {
            [] => Ok(Vec::new()),
            _ => Ok(vec![Arc::clone(&PLATFORM)]),
        }
    }
}

offkit_pi::define_plugin! {
    /// The plugin, for programs that link it in: `offkit_pi::host::Plugin::built_in(&BUILT_IN)`.
    pub const BUILT_IN: Cuda;
}

/// The symbols that make a shared library of this crate a plugin.
mod exports {
    offkit_pi::export_plugin!(super::Cuda);
}
