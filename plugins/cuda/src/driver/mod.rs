//! The driver as safe Rust: opened once, its objects owned, every call checked.

mod error;
pub(crate) mod functions;
mod link;
mod memory;
mod module;
mod open;
mod primary;
mod stream;

pub(crate) use error::{Error, Result};
pub(crate) use link::{Input, link};
pub(crate) use memory::{Allocation, copy_2d};
pub(crate) use module::{Function, JitOptions, Module};
pub(crate) use open::{Driver, Missing, open};
pub(crate) use primary::{DeviceId, Primary};
pub(crate) use stream::{Event, Stream};

/// Calls a needed function of the driver: `call!(driver, cuInit(0))`.
macro_rules! call {
    ($driver:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let driver: &$crate::driver::Driver = $driver;
        driver.check(stringify!($function), (driver.functions.$function)($($argument),*))
    }};
}

/// Calls a function that only newer drivers have.
macro_rules! call_newer {
    ($driver:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        let driver: &$crate::driver::Driver = $driver;
        match driver.functions.$function {
            Some(function) => driver.check(stringify!($function), function($($argument),*)),
            None => Err($crate::driver::Error::missing(stringify!($function))),
        }
    }};
}

pub(crate) use {call, call_newer};
