//! The CPU plugin as a runtime sees it: through the function table, by way of the safe host side. Every test
//! runs with the plugin as it is linked into this program and with the shared library loaded, on the device that compiles and
//! on the one that checks.

mod commands;
mod handles;
mod hosts;
mod kernels;
mod lifetimes;
mod programs;
mod queues;
mod raw;
mod released;
mod shared;
mod support;
