//! The host's side: plugins as safe objects.
//!
//! [`Plugin`] → [`Platform`] → [`Device`]; [`Context`] → [`Queue`], [`Program`] → [`Kernel`], [`Buffer`],
//! [`Usm`]; commands give [`Event`]s. Every object releases its handle when dropped, keeps what it was made
//! from alive, and may be used from any thread. Cloning one (where it can be cloned) makes another reference
//! to the same object.
//!
//! # What safe means here
//!
//! A plugin is code that runs in this process, as is the driver below it; loading one means trusting it. And
//! a kernel is trusted with the memory of its device as far as that device does not check: on a device that
//! shares the host's memory a wrong kernel, or a kernel given the wrong arguments, can do what a wrong host
//! function can. What this module promises is that *hosts* written in safe Rust cannot misuse handles,
//! buffers and lifetimes.

mod argument;
mod context;
mod device;
mod epochs;
mod error;
mod event;
mod handle;
mod in_use;
mod kernel;
mod load;
mod memory;
mod plugin;
mod program;
mod queue;
mod revisions;
pub mod trace;
mod words;

pub use crate::partition::Partition;
pub use crate::range::NdRange;
pub use argument::{Argument, ValueType};
pub use context::{Context, QueueProperties};
pub use device::{Device, DeviceType, Platform};
pub use error::{LoadError, PiError};
pub use event::{CommandStatus, Event, Pending, Profile, UserEvent};
pub use handle::{Handle, Owned};
pub use kernel::Kernel;
pub use memory::{Buffer, Usm, UsmKind};
pub use plugin::Plugin;
pub use program::{BinaryType, BuildStatus, Program};
pub use queue::Queue;
pub use revisions::NativeQueue;

/// What calls into a plugin return.
pub type Result<T, E = PiError> = core::result::Result<T, E>;
