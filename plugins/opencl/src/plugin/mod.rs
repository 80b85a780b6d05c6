//! The plugin: each of its objects has one of a driver.

mod context;
mod device;
mod event;
mod kernel;
mod memory;
mod program;
mod queue;

use offkit_pi::ffi::PI_DEVICE_NOT_FOUND;
use offkit_pi::plugin::{Count, Counted, Error, Plugin, Result};
use offkit_sync::{Arc, LazyLock};

use self::context::ClContext;
use self::device::{ClDevice, ClPlatform};
use self::event::ClEvent;
use self::kernel::ClKernel;
use self::memory::{ClMemory, ClSampler};
use self::program::ClProgram;
use self::queue::ClQueue;
use crate::discover::{Driver, Outcome, drivers, platforms};

/// The plugin.
pub(crate) struct OpenCl;

impl Plugin for OpenCl {
    type Platform = ClPlatform;
    type Device = ClDevice;
    type Context = ClContext;
    type Queue = ClQueue;
    type Memory = ClMemory;
    type Sampler = ClSampler;
    type Program = ClProgram;
    type Kernel = ClKernel;
    type Event = ClEvent;

    const NAME: &'static str = "opencl";

    /// The platforms of all drivers that can be used. It is an error if there are none, and some cannot: a host shows
    /// errors, and the error has the reasons.
    fn platforms() -> Result<Vec<Arc<ClPlatform>>> {
        // Made once: hosts know platforms by handles, which lead to the same objects at each call.
        static PLATFORMS: LazyLock<Vec<Arc<ClPlatform>>> = LazyLock::new(|| {
            platforms()
                .iter()
                .map(|driver| Arc::new(ClPlatform::new(driver)))
                .collect()
        });
        let is_unusable = |driver: &Driver| matches!(driver.outcome, Outcome::Unusable(_));
        if PLATFORMS.is_empty() && drivers().iter().any(is_unusable) {
            let reasons: Vec<String> = drivers().iter().map(ToString::to_string).collect();
            return Err(Error::new(PI_DEVICE_NOT_FOUND, reasons.join("; ")));
        }
        Ok(PLATFORMS.clone())
    }

    const COUNTS_ALONG: bool = true;

    fn count_along(object: Counted<'_, OpenCl>, count: Count) -> Result<()> {
        let counted = match object {
            Counted::Device(device) => device.count(count),
            Counted::Context(context) => context.object().count(count),
            Counted::Queue(queue) => queue.object().count(count),
            Counted::Memory(buffer) => buffer.object().count(count),
            Counted::Sampler(sampler) => sampler.object().count(count),
            Counted::Program(program) => program.object().count(count),
            Counted::Kernel(kernel) => kernel.object().count(count),
            Counted::Event(event) => event.object().count(count),
        };
        Ok(counted?)
    }
}

offkit_pi::define_plugin! {
    /// The plugin, for programs that link it in: `offkit_pi::host::Plugin::built_in(&BUILT_IN)`.
    pub const BUILT_IN: OpenCl;
}

/// The symbols that make a shared library of this crate a plugin.
mod exports {
    offkit_pi::export_plugin!(super::OpenCl);
    offkit_pi::export_below!(
        offkit_pi::below::Kind::OpenCl,
        crate::discover::LEFT_OUT,
        crate::discover::below
    );
}
