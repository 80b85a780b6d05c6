//! Kernel bundles: device code brought from state to state, run, and exchanged with the real SYCL runtime.

mod choices;
mod constants;
mod globals;
mod machine;
mod states;
mod sycl;
