//! The author's side: a plugin in safe Rust.
//!
//! A plugin is a type that implements [`Plugin`], and one type for each kind of object: [`Platform`],
//! [`Device`], [`Context`], [`Queue`], [`Memory`], [`Program`], [`Kernel`], [`Event`]. Objects get typed
//! arguments: other objects by [`Ref`], slices, [`Command`]s.
//! [`define_plugin!`](crate::define_plugin) makes a function table of them, and
//! [`export_plugin!`](crate::export_plugin) the symbols of a shared library.
//!
//! The functions in the table do for every plugin what C makes necessary. They check pointers and wait lists,
//! turn handles into objects (a foreign or released handle is refused, never followed), count references,
//! answer queries about what an object was made from, and see to it that no panic gets out: it becomes
//! [`PI_ERROR_UNKNOWN`](crate::ffi::PI_ERROR_UNKNOWN). The message of an [`Error`] is kept for the host to
//! fetch.
//!
//! **No slot of the table is null**, unless the plugin [asks for that](Plugin::provides). What a plugin leaves out
//! (methods with a default, and the parts of the interface that have no method yet: native kernels, bindless images,
//! command buffers) returns [`PI_INVALID_OPERATION`](crate::ffi::PI_INVALID_OPERATION), or
//! [`PI_UNSUPPORTED_FEATURE`](crate::ffi::PI_UNSUPPORTED_FEATURE) where the function came with 15.47, and a message;
//! real hosts call slots without looking, and a null one would end them.

#![expect(
    non_snake_case,
    clippy::too_many_arguments,
    reason = "functions that the C interface names have its names and parameters"
)]

mod below;
mod command;
mod context;
mod device;
mod done;
mod enqueue;
mod error;
mod event;
mod global;
mod host_memory;
mod image;
mod info;
mod init;
mod kernel;
mod memory;
mod native;
mod pattern;
mod program;
mod queue;
mod rect;
mod revisions;
mod shim;
pub mod slab;
mod state;
mod unsupported;
mod usm;

pub use crate::partition::Partition;
pub use command::{Command, Mapping};
pub use context::Context;
pub use device::{Device, Platform};
pub use done::Done;
pub use error::{Error, Result};
pub use event::{Event, StatusCallback};
pub use global::GlobalVariable;
pub use host_memory::{HostSource, HostTarget};
pub use image::{ImageBox, ImageRequest, Pitches, Sampler, SamplerRequest};
pub use info::Info;
pub use kernel::{Argument, Kernel, work_items};
pub use memory::{BufferRequest, Memory};
pub use native::{Count, Counted, NativeHandle, NativeMemory};
pub use pattern::Pattern;
pub use program::{Build, Program};
pub use queue::{NewEvent, Queue};
pub use rect::{BufferRect, Corner};
pub use slab::Ref;
pub use state::{Registered, State};
pub use unsupported::Unsupported;
pub use usm::UsmAllocation;

#[doc(hidden)]
pub use error::get_last_error;
#[doc(hidden)]
pub use init::initialise;
#[doc(hidden)]
pub use offkit_sync::LazyLock;

use crate::table::Function;
use std::sync::Arc;

/// A plugin: its name, its platforms, and the types of its objects.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// A group of devices.
    type Platform: Platform<Self>;
    /// Something that runs kernels.
    type Device: Device<Self>;
    /// Devices that share memory and programs.
    type Context: Context<Self>;
    /// Where commands go.
    type Queue: Queue<Self>;
    /// A buffer or an image.
    type Memory: Memory<Self>;
    /// How images are read.
    type Sampler: Sampler<Self>;
    /// Device code.
    type Program: Program<Self>;
    /// An entry point with its arguments.
    type Kernel: Kernel<Self>;
    /// The progress of a command.
    type Event: Event<Self>;

    /// The name, for messages.
    const NAME: &'static str;

    /// The platforms, the same objects at each call; none if there is nothing to run on.
    ///
    /// # Errors
    ///
    /// [`Error`] if finding out fails.
    fn platforms() -> Result<Vec<Arc<Self::Platform>>>;

    /// Whether native objects are counted along, by [`count_along`](Self::count_along).
    const COUNTS_ALONG: bool = false;

    /// The host has one reference more to an object, beyond the one that it was given the object with, or is about to have
    /// one less: what is below the plugin's object is to be counted alike. Runtimes of SYCL that hand a native object of
    /// OpenCL out retain the plugin's object, and whoever gets the native one releases that.
    ///
    /// # Errors
    ///
    /// [`Error`] if it cannot be counted.
    #[expect(unused_variables, reason = "most have nothing below that is counted")]
    fn count_along(object: Counted<'_, Self>, count: Count) -> Result<()> {
        Ok(())
    }

    /// A host asks for the table of functions, once for each version that it offers.
    ///
    /// # Errors
    ///
    /// [`Error`] if the plugin refuses to be used.
    fn set_up() -> Result<()> {
        Ok(())
    }

    /// Whether the plugin has a function. The place of one that it has not is null in the table, which not every host
    /// can bear.
    #[expect(unused_variables, reason = "plugins have all functions")]
    fn provides(function: Function) -> bool {
        true
    }

    /// Makes a call of a function by calling `body`; what this returns, the host gets. For plugins that watch calls, or
    /// have them fail.
    ///
    /// # Errors
    ///
    /// Those of `body`, and the plugin's own.
    #[expect(unused_variables, reason = "plugins make every call alike")]
    #[inline]
    fn call(function: Function, body: impl FnOnce() -> Result<()>) -> Result<()> {
        body()
    }

    /// The host is about to end, and calls nothing any more.
    ///
    /// # Errors
    ///
    /// [`Error`] if tidying up fails.
    fn tear_down() -> Result<()> {
        Ok(())
    }
}

/// Makes a plugin of a type that implements [`Plugin`](crate::plugin::Plugin): a constant of type
/// [`BuiltIn`](crate::BuiltIn) by which programs that link it in can use it.
/// The [introduction](crate) has an example.
#[macro_export]
macro_rules! define_plugin {
    ($(#[$attribute:meta])* $visibility:vis const $name:ident: $plugin:ty;) => {
        impl $crate::plugin::Registered for $plugin {
            fn state() -> &'static $crate::plugin::State<Self> {
                static STATE: $crate::plugin::LazyLock<$crate::plugin::State<$plugin>> =
                    $crate::plugin::LazyLock::new(::core::default::Default::default);
                &STATE
            }
        }

        $(#[$attribute])*
        $visibility const $name: $crate::BuiltIn = {
            // SAFETY: these are the functions this crate has for the purpose.
            unsafe {
                $crate::BuiltIn::new(
                    <$plugin as $crate::plugin::Plugin>::NAME,
                    $crate::plugin::initialise::<$plugin>,
                    ::core::option::Option::Some($crate::plugin::get_last_error),
                )
            }
        };
    };
}

/// Exports the symbols `piPluginInit` and `offkitPluginGetLastError` from a shared library, and its [note](crate::note),
/// for a plugin that [`define_plugin!`](crate::define_plugin) has been applied to. Use it once in a program or library.
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        // SAFETY: notes are for readers of the file; nothing in the program looks at them.
        #[cfg(all(unix, not(target_vendor = "apple")))]
        #[used]
        #[unsafe(link_section = ".note.offkit.pi")]
        static NOTE: $crate::note::Versions = $crate::note::Versions::OURS;

        /// Entry point of the plugin interface: fills in the plugin record.
        ///
        /// # Safety
        ///
        /// `record` must be null, or point to the plugin record of the version that it names.
        // SAFETY: the plugin interface gives this name to this function, and there is one in a library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn piPluginInit(record: *mut ::core::ffi::c_void) -> $crate::ffi::pi_result {
            // SAFETY: by the caller's promise.
            unsafe { $crate::plugin::initialise::<$plugin>(record) }
        }

        /// Writes a pointer to the message of this thread's last failing call.
        ///
        /// # Safety
        ///
        /// `message` must be null or valid for writing a pointer.
        // SAFETY: the name is this project's own, and there is one in a library.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn offkitPluginGetLastError(
            message: *mut *const ::core::ffi::c_char,
        ) -> $crate::ffi::pi_result {
            // SAFETY: by the caller's promise.
            unsafe { $crate::plugin::get_last_error(message) }
        }
    };
}
