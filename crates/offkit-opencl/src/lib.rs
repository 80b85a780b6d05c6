//! OpenCL as C sees it, up to 3.1: types, constants, error names, and the table of functions of an installable driver
//! (ICD).
//!
//! Nothing here calls a driver or a loader, and nothing is linked: who uses drivers, and who is one, begins here.
//!
//! [`Dispatch`] has a typed place for every function. [`for_each_slot!`] gives the list that it is made from to other
//! macros, [`for_each_extension!`] the functions that are asked for by name. [`icd`] says which drivers a machine has.

#![expect(
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    reason = "these are the names of the C interface"
)]

#[macro_use]
mod functions;

mod constants;
mod error;
pub mod icd;
mod table;
mod types;

pub use constants::*;
pub use error::*;
pub use table::{ALLOCATED_SLOTS, CL_ICD2_TAG_KHR, Dispatch, SLOTS, signature};
pub use types::*;
