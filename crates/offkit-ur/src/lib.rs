//! Unified Runtime as C sees it, versions 0.11 and 0.12: types, constants, error names, and the tables of functions of
//! an adapter.
//!
//! Unified Runtime came after PI in DPC++ 2025. An adapter is a shared library for one kind of driver,
//! `libur_adapter_NAME.so`. It exports a function for each table, which fills that table in.
//!
//! Releases changed the tables without changing the version: [`Form`] says which forms there are and how to tell them
//! apart. [`for_each_function!`] gives the list of functions, with their place in each form, to other macros.
//! [`adapters`] says which adapters a machine has. Nothing here loads or calls one.

#![expect(non_camel_case_types, reason = "these are the names of the C interface")]

#[macro_use]
mod functions;

mod constants;
mod form;
mod result;
mod search;
mod types;

pub use constants::*;
pub use form::{FUNCTIONS, Form, Function, Shape, Table};
pub use result::*;
pub use search::{Adapter, FORCE_LOAD, NamedBy, SEARCH_PATH, adapters, looked_in};
pub use types::*;
