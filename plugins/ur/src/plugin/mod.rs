//! The plugin: each of its objects has one of an adapter.

mod context;
mod device;
mod event;
mod image;
mod kernel;
mod machine;
mod memory;
mod program;
mod query;
mod queue;

use offkit_pi::ffi::PI_DEVICE_NOT_FOUND;
use offkit_pi::plugin::{Error, Plugin, Result};
use offkit_sync::{Arc, LazyLock};
use offkit_ur::NamedBy;

use self::context::UrContext;
use self::device::{UrDevice, UrPlatform};
use self::event::UrEvent;
use self::image::UrSampler;
use self::kernel::UrKernel;
use self::memory::UrMemory;
use self::program::UrProgram;
use self::queue::UrQueue;
use crate::discover::{Found, Outcome, adapters, platforms};

/// The plugin.
pub(crate) struct UnifiedRuntime;

impl Plugin for UnifiedRuntime {
    type Platform = UrPlatform;
    type Device = UrDevice;
    type Context = UrContext;
    type Queue = UrQueue;
    type Memory = UrMemory;
    type Sampler = UrSampler;
    type Program = UrProgram;
    type Kernel = UrKernel;
    type Event = UrEvent;

    const NAME: &'static str = "ur";

    /// The platforms of all adapters that can be used. It is an error if there are none, and a variable names one that
    /// cannot: a host shows errors, and the error has the reasons. An adapter that only lies in a folder may be there for
    /// other machines.
    fn platforms() -> Result<Vec<Arc<UrPlatform>>> {
        // Made once: hosts know platforms by handles, which lead to the same objects at each call.
        static PLATFORMS: LazyLock<Vec<Arc<UrPlatform>>> = LazyLock::new(|| {
            let platforms = platforms().iter();
            platforms
                .map(|platform| Arc::new(UrPlatform::new(*platform)))
                .collect()
        });
        let is_missed = |found: &Found| {
            let is_named = matches!(found.adapter.named_by, NamedBy::Variable(_));
            is_named && matches!(found.outcome, Outcome::Unusable(_))
        };
        if PLATFORMS.is_empty() && adapters().iter().any(is_missed) {
            let reasons: Vec<String> = adapters().iter().map(ToString::to_string).collect();
            return Err(Error::new(PI_DEVICE_NOT_FOUND, reasons.join("; ")));
        }
        Ok(PLATFORMS.clone())
    }
}

offkit_pi::define_plugin! {
    /// The plugin, for programs that link it in: `offkit_pi::host::Plugin::built_in(&BUILT_IN)`.
    pub const BUILT_IN: UnifiedRuntime;
}

/// The symbols that make a shared library of this crate a plugin.
mod exports {
    offkit_pi::export_plugin!(super::UnifiedRuntime);
    offkit_pi::export_below!(
        offkit_pi::below::Kind::UnifiedRuntime,
        crate::discover::LEFT_OUT,
        crate::discover::below
    );
}
