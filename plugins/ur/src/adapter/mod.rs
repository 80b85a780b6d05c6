//! An adapter's functions, made safe: the only part with unsafe code.
//!
//! What Unified Runtime demands of its callers is seen to by types: an [`Owned`] object is one that the adapter has, and
//! of that adapter; memory of the host comes as [`HostSource`](offkit_pi::plugin::HostSource) or
//! [`HostTarget`](offkit_pi::plugin::HostTarget). What no type can see to is left to the plugin interface's hosts, as the
//! interface says: that a kernel stays within its memory, and that an address is one.

mod context;
mod error;
mod event;
mod functions;
mod image;
mod kernel;
mod object;
mod open;
mod platform;
mod program;
mod queue;
mod usm;

pub(crate) use context::Buffer;
pub(crate) use error::{Error, Result};
pub(crate) use event::Event;
pub(crate) use functions::Functions;
pub(crate) use image::{HostSide, Sampling, Shape};
pub(crate) use kernel::Held;
pub(crate) use object::Owned;
pub(crate) use open::open;
pub(crate) use platform::{Adapter, DeviceId, PlatformId};
pub(crate) use queue::{Order, Transfer};

use core::ffi::c_void;
pub(crate) use offkit_pi::driver::{answer, text, words};

/// Calls a function of an adapter, unsafely, and makes a `Result` of its code.
macro_rules! call {
    ($adapter:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let adapter: &'static $crate::adapter::Adapter = $adapter;
        match adapter.functions.$function {
            Some(function) => adapter.check(stringify!($function), function($($argument),*)),
            None => Err($crate::adapter::Error::missing(stringify!($function))),
        }
    }};
}

/// Asks an info query: [`call!`] without the places for the answer, which are its last arguments. `unsafe` is for the
/// arguments; the places are right.
macro_rules! ask {
    ($adapter:expr, unsafe $function:ident($($argument:expr),* $(,)?)) => {
        $crate::adapter::answer(|size, value, size_ret| {
            // SAFETY: where it is used; `answer` passes a place of the size it says.
            unsafe { $crate::adapter::call!($adapter, $function($($argument,)* size, value, size_ret)) }
        })
    };
}
use {ask, call};

/// The answer as a number of 32 bits.
pub(crate) fn number(bytes: &[u8]) -> Option<u32> {
    words(bytes).next().map(u32::from_ne_bytes)
}

/// An address as C has it.
fn pointer(address: usize) -> *mut c_void {
    core::ptr::with_exposed_provenance_mut(address)
}
