//! OpenMP's `target` regions: the functions that code of clang calls, with the meaning that they have in LLVM 22's
//! `libomptarget`.
//!
//! | module | holds |
//! |---|---|
//! | `abi` | what clang's code passes |
//! | `calls` | the functions that clang's code calls: `__tgt_…` |
//! | `library` | those that programs call: `omp_…` |
//! | `items` | what a construct maps, with the members of what mappers map |
//! | `present` | which memory of the host is on a device |
//! | `mapping` | what mapping does to a device |
//! | `launch` | regions on a device |
//! | `programs` | regions and variables of programs that are loaded |
//! | `device` | devices, and their memory |
//! | `policy` | what happens where a region cannot be offloaded, and whose a call is |
//!
//! The device side is in `device-libs/openmp`.

mod abi;
mod calls;
mod device;
mod items;
mod launch;
mod library;
mod mapping;
mod policy;
mod present;
mod programs;

pub(crate) use abi::Descriptor;
pub(crate) use policy::passed_on;
pub(crate) use programs::{register, unregister};
