//! Kernels to machine code.

#![allow(dead_code, reason = "nothing is compiled yet")]

mod builder;
mod lanes;
