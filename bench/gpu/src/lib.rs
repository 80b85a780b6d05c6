//! Kernels of `bench/cpu` for GPUs: with which inputs they are measured, and what they compute.
#![forbid(unsafe_code)]

pub mod reference;
pub mod rows;
