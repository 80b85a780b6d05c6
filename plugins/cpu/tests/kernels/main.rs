//! Kernels in OpenCL C, compiled by clang 22 in several ways, run on the device.

mod damage;
mod errors;
mod language;
mod modules;
mod support;
mod together;
